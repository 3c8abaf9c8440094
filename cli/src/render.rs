//! The text that people read, and the only place where it is made. What a node or an agent wrote is data here: it is
//! stripped of everything that could move the cursor before it is drawn.

mod agents;
mod backup;
mod attachment;
mod fork;
mod hook;
mod install;
mod mail;
mod memory;
mod node;
mod paper;
mod site;
mod skill;
mod service;
mod schedule;
mod task;
mod workspace;
mod worktree;
mod sweep;

pub use agents::{launched, look_ended, sessions, show_agent, status_set, stopped, whoami};
pub use attachment::{attached, detach_question, detached, fetched};
pub use backup::{backed_up, restored};
pub use fork::{merge_question, merged, spun_up};
pub use hook::{folder_gone, hook_to_a_person};
pub use install::{hosts, hosts_done};
pub use mail::{letters, sent, unsent};
pub use memory::{no_note, note, note_deletion_question, notes, saved as note_saved};
pub use node::{doctor, down, quickstart, settings, status};
pub use paper::{Look, Paper, put, put_paths, wants_colour};
pub use service::service;
pub use site::{site_is, sites};
pub use skill::{skill, skill_added, skill_removal_question, skill_removed, skill_switched, skills};
pub use sweep::{cleaned as caches_cleaned, swept as worktrees_swept};
pub use task::{added, delete_tasks_question, deleted_tasks, moved, next, replied, restored_tasks, show_task, task_is, tasks, trash};
pub use workspace::{allowed, delete_question, deleted, made, place, place_is, places, stats};
pub use worktree::{
    added as worktree_added, adopted as worktree_adopted, listed as worktrees, removed as worktree_removed, whoami as worktree_whoami,
};

#[cfg(test)]
mod tests {
    use frith_actors::api::{
        agents::{AgentInfo, Agents, Identity, LinkedBy, MachineName, StatusSet},
        fork::{FolderFate, Merged, MergedFolder},
        node::{BackedUp, NodeStatus, Stopped},
        task::{DeletedTasks, MovedTask, MovedTasks, Replied, RestoredTasks, TaskDetail, TaskInfo, Tasks},
        workspace::{AgentHere, Deleted, Home, PlaceInfo, PlaceName, PlaceStats, Places},
    };
    use frith_actors::terminal::Attention;
    use frith_store::{
        backup::Contents,
        id::{AgentId, BlobHash, CallId, MachineId, PlaceId, TaskId, TeamId},
        model::{
            Agent, AgentEnd, Assignee, Attachment, By, Checkout, CheckoutKind, Counts, EndHow, Holder, HostSession, Launched, Message,
            Notice, PlaceKind, Presence, Revived, Settings, Status, StatusChange, Task, Trashed, Work,
        },
        refusal::PlaceNamed,
        rules::stats::Spread,
        text::PathText,
        time::Timestamp,
    };

    use super::*;
    use crate::{
        restore::{ConfigFate, Made, PlaceFolder, Restored},
        status::Shown,
    };

    const NOW: i64 = 1_796_000_000_000;

    fn oak() -> MachineId {
        MachineId::from_bytes([0xaa; 8])
    }

    fn ago(minutes: i64) -> Timestamp {
        Timestamp::from_ms(NOW - minutes * 60_000)
    }

    fn drawn(width: Option<u16>, draw: impl FnOnce(&mut Paper)) -> String {
        let mut paper = Paper::new(Look { quiet: false, colour: false, width, now: Timestamp::from_ms(NOW) });
        draw(&mut paper);
        paper.text()
    }

    fn ada() -> By {
        By::Person("ada".into())
    }

    fn agent_id() -> AgentId {
        AgentId::from_bytes([0x3f; 16])
    }

    fn place(name: &str, kind: PlaceKind) -> PlaceInfo {
        PlaceInfo {
            id: PlaceId::from_bytes([name.len() as u8; 16]),
            name: name.into(),
            label: name.into(),
            kind,
            description: "the app\u{1b}[31m".into(),
            icon: "🌲".into(),
            fork_of_id: None,
            fork_of: None,
            forks: Vec::new(),
            archived: false,
            deleted: None,
            revived: None,
            merged: None,
            created: ago(300),
            created_by: ada(),
            home: Home { id: oak(), name: "oak".into(), epoch: 1 },
            folder: Some("/home/ada/app".parse::<PathText>().unwrap()),
            checkouts: Vec::new(),
            settings: Settings { notifications: vec![Notice::TaskFinished], allow_all_commands: true, ..Settings::default() },
            settings_from: None,
            tasks: Counts { notstarted: 2, ongoing: 1, ..Counts::default() },
            unfinished_tasks: 3,
            agent: Some(AgentHere { id: agent_id(), kind: "claude".into(), running: true, since: ago(5) }),
        }
    }

    fn fork() -> PlaceInfo {
        let parent = place("app", PlaceKind::Workspace);
        let checkout = Checkout {
            fork: PlaceId::from_bytes([8; 16]),
            machine: oak(),
            path: "/home/ada/.frith/forks/0808".parse().unwrap(),
            start_in: "/home/ada/.frith/forks/0808".parse().unwrap(),
            kind: CheckoutKind::Worktree { branch: "frith/fork-0808".into(), base: "c0ffee".into() },
            made: ago(90),
            removed: None,
        };
        PlaceInfo {
            fork_of_id: Some(parent.id),
            fork_of: Some(parent.name.clone()),
            folder: None,
            checkouts: vec![checkout],
            settings_from: Some(PlaceName { id: parent.id, name: parent.name }),
            tasks: Counts::default(),
            agent: None,
            ..place("app-fork", PlaceKind::Fork { parent: parent.id })
        }
    }

    fn task(number: u8, title: &str, status: Status) -> Task {
        Task {
            id: TaskId::from_bytes([number; 16]),
            title: title.into(),
            status,
            place: PlaceId::from_bytes([3; 16]),
            assignee: Assignee::Agent,
            position: 0,
            created: ago(100),
            created_by: ada(),
            changed: ago(i64::from(number)),
            holder: None,
            messages: 1,
            allow_all_commands: false,
            clear_context: None,
            moved_from: None,
            schedule: None,
            run_of: None,
            deleted: None,
        }
    }

    fn held(left: bool) -> Option<Holder> {
        Some(Holder { by: By::Agent(agent_id()), since: ago(3), call: CallId::from_bytes([1; 16]), left })
    }

    fn app() -> PlaceName {
        PlaceName { id: PlaceId::from_bytes([3; 16]), name: "app".into() }
    }

    fn detail() -> TaskDetail {
        TaskDetail {
            task: Task { holder: held(false), ..task(7, "Explain the build", Status::Ongoing) },
            place: app(),
            body: "In the README:\n- how\n- why\u{1b}[2J\n".into(),
            thread: vec![Message { by: By::Agent(agent_id()), machine: oak(), at: ago(2), text: "done, see\nthe commit".into() }],
            history: vec![
                StatusChange { status: Status::NotStarted, moved_to: None, by: ada(), machine: oak(), at: ago(100) },
                StatusChange { status: Status::Ongoing, moved_to: None, by: By::Node, machine: oak(), at: ago(3) },
            ],
            places: vec![app()],
            attachments: vec![attachment()],
            schedule: None,
            slots: vec![],
        }
    }

    fn attachment() -> Attachment {
        let (name, hash) = ("build\u{1b}[2J.log".into(), BlobHash::from_bytes([0xcd; 32]));
        Attachment { name, hash, size: 2_500_000, by: ada(), machine: oak(), at: ago(4) }
    }

    fn agent(ended: Option<AgentEnd>) -> AgentInfo {
        let launch = Launched {
            epoch: 1,
            by: ada(),
            command: vec!["claude".into(), "--model".into(), "a b".into()],
            model: Some("a b".into()),
            effort: None,
            process: None,
        };
        AgentInfo {
            agent: Agent {
                id: agent_id(),
                host: "claude".into(),
                model: None,
                session: None,
                parent: None,
                machine: oak(),
                place: Some(app().id),
                folder: Some("/home/ada/app".parse().unwrap()),
                started: ago(5),
                ended: ended.clone(),
                launch: Some(launch),
            },
            place: Some(app()),
            machine: "oak".into(),
            attached: 2,
            attention: ended.as_ref().map_or(Some(Attention::NeedsPerson), |_| None),
            presence: ended.map_or(Presence::Live, |_| Presence::Ended),
            seen: None,
            activity: None,
            status: None,
            unread: 0,
            sub_agents: vec![],
            worktrees: vec![],
        }
    }

    fn merge(done: bool, fate: FolderFate) -> Merged {
        Merged {
            fork_id: PlaceId::from_bytes([8; 16]),
            fork: "app-fork".into(),
            parent_id: app().id,
            parent: "app".into(),
            moved_tasks: 2,
            schedules: 1,
            stopped_agent: Some(agent_id()),
            folders: vec![MergedFolder {
                machine: oak(),
                path: "/home/ada/.frith/forks/0808".parse().unwrap(),
                kind: CheckoutKind::Worktree { branch: "frith/fork-0808".into(), base: "c0ffee".into() },
                uncommitted: Some(3),
                fate,
            }],
            done,
        }
    }

    #[test]
    fn places_one_by_one_and_in_a_table() {
        let listed = Places { workspaces: vec![place("app", PlaceKind::Workspace), fork()] };
        insta::assert_snapshot!("workspace_list", drawn(Some(100), |paper| places(&listed, paper)));
        insta::assert_snapshot!("workspace_show", drawn(None, |paper| super::place(&listed.workspaces[0], paper)));
        insta::assert_snapshot!("workspace_show_fork", drawn(None, |paper| super::place(&listed.workspaces[1], paper)));
        let gone = Deleted {
            id: app().id,
            name: "app".into(),
            tasks: Counts { notstarted: 3, ..Counts::default() },
            days_in_trash: 30,
            done: true,
        };
        insta::assert_snapshot!("workspace_delete", delete_question(&gone) + "\n" + &drawn(None, |paper| deleted(&gone, paper)));
    }

    #[test]
    fn a_place_that_is_back_says_why_and_two_of_one_name_are_told_apart() {
        let revived = Revived { retired: ago(60 * 24 * 2), by: ada(), work: Work::Task(TaskId::from_bytes([5; 16])) };
        let back = PlaceInfo { revived: Some(revived), label: "app@oak".into(), ..place("app", PlaceKind::Workspace) };
        insta::assert_snapshot!("workspace_show_revived", drawn(None, |paper| super::place(&back, paper)));
        let listed = Places { workspaces: vec![back, PlaceInfo { label: "app@elm".into(), ..place("app", PlaceKind::Workspace) }] };
        insta::assert_snapshot!("workspace_list_clash", drawn(Some(100), |paper| places(&listed, paper)));
    }

    #[test]
    fn figures_of_a_place() {
        let minute = 60_000;
        let all = PlaceStats {
            place: app(),
            since: None,
            tasks: Counts { completed: 3, ongoing: 1, ..Counts::default() },
            deleted: 2,
            closed: 3,
            start_to_close: Some(Spread { count: 3, p50_ms: 42 * minute, min_ms: 900, max_ms: 60 * 27 * minute }),
            worked_ms: 90 * minute,
            blocked_ms: 0,
            waiting_ms: 5 * minute,
            messages: 12,
            agents: 2,
            agents_ms: 150 * minute,
        };
        let week = PlaceStats { since: Some(ago(60 * 24 * 7)), start_to_close: None, deleted: 0, agents: 0, ..all.clone() };
        let drawn_both = drawn(None, |paper| stats(&all, paper)) + "\n" + &drawn(None, |paper| stats(&week, paper));
        insta::assert_snapshot!("workspace_stats", drawn_both);
    }

    #[test]
    fn tasks_in_the_trash() {
        let gone = |n: u8| Task { deleted: Some(Trashed { at: ago(i64::from(n)), by: ada() }), ..task(n, "Explain", Status::Completed) };
        let listed = Tasks { place: app(), tasks: vec![gone(2), gone(80)], more: 0, schedules: Vec::new() };
        let asked = DeletedTasks { tasks: listed.tasks.clone(), days_in_trash: 30, done: false };
        let done = DeletedTasks { done: true, tasks: vec![gone(2)], ..asked.clone() };
        let back = RestoredTasks { tasks: vec![task(2, "Explain", Status::Completed)] };
        let texts = [
            drawn(Some(80), |paper| trash(&listed, paper)),
            delete_tasks_question(&asked),
            drawn(None, |paper| deleted_tasks(&done, paper)),
            drawn(None, |paper| restored_tasks(&back, paper)),
            drawn(None, |paper| trash(&Tasks { tasks: vec![], ..listed.clone() }, paper)),
        ];
        insta::assert_snapshot!("task_trash", texts.join("\n"));
    }

    #[test]
    fn tasks_one_by_one_and_in_a_table() {
        let listed = Tasks {
            place: app(),
            tasks: vec![
                Task { holder: held(false), ..task(1, "Explain the build", Status::Ongoing) },
                Task {
                    holder: held(true),
                    ..task(2, "A title that does not fit into a terminal of seventy columns at all", Status::Ongoing)
                },
                Task { assignee: Assignee::Person, ..task(70, "Decide", Status::NotStarted) },
            ],
            more: 4,
            schedules: Vec::new(),
        };
        insta::assert_snapshot!("task_list_narrow", drawn(Some(70), |paper| tasks(&listed, false, paper)));
        insta::assert_snapshot!("task_list_no_terminal", drawn(None, |paper| tasks(&listed, false, paper)));
        let none = Tasks { place: app(), tasks: Vec::new(), more: 0, schedules: Vec::new() };
        insta::assert_snapshot!(
            "task_list_empty",
            drawn(None, |paper| tasks(&none, true, paper)) + &drawn(None, |paper| tasks(&none, false, paper))
        );
        insta::assert_snapshot!("task_show", drawn(None, |paper| show_task(&detail(), paper)));
        insta::assert_snapshot!("task_next", drawn(None, |paper| next(&detail(), paper)));
        let moved_tasks = MovedTasks {
            place: app(),
            tasks: vec![MovedTask { id: TaskId::from_bytes([1; 16]), title: "Explain".into(), from: PlaceId::from_bytes([8; 16]) }],
            unchanged: 1,
        };
        insta::assert_snapshot!("task_move", drawn(None, |paper| moved(&moved_tasks, paper)));
        insta::assert_snapshot!(drawn(None, |paper| replied(&Replied { task: TaskId::from_bytes([1; 16]), messages: 1, held: None }, paper)), @"01010101 has 1 message");
    }

    #[test]
    fn what_makes_one_thing_prints_one_line_or_the_full_id() {
        let reply = TaskInfo { task: task(1, "Explain", Status::NotStarted), place: app(), schedule: None };
        assert_eq!(drawn(None, |paper| added(&reply, paper)), "01010101 Explain\n");
        assert_eq!(drawn(None, |paper| task_is(&reply, "completed", paper)), "01010101 Explain: completed\n");
        assert_eq!(drawn(None, |paper| place_is(&place("app", PlaceKind::Workspace), "archived", paper)), "03030303 app: archived\n");
        let mut quiet = Paper::new(Look { quiet: true, colour: true, width: None, now: Timestamp::from_ms(NOW) });
        added(&reply, &mut quiet);
        made(&place("app", PlaceKind::Workspace), &mut quiet);
        assert_eq!(quiet.text(), "01010101-0101-0101-0101-010101010101\n03030303-0303-0303-0303-030303030303\n");
    }

    #[test]
    fn merges_asked_about_and_done() {
        insta::assert_snapshot!("fork_merge_question", merge_question(&merge(false, FolderFate::Kept)));
        insta::assert_snapshot!("fork_merge_dry_run", drawn(None, |paper| merged(&merge(false, FolderFate::Kept), paper)));
        insta::assert_snapshot!("fork_merge_kept", drawn(None, |paper| merged(&merge(true, FolderFate::Kept), paper)));
        let removed = FolderFate::Removed { tip: Some("c0ffee00c0ffee00".into()) };
        insta::assert_snapshot!("fork_merge_removed", drawn(None, |paper| merged(&merge(true, removed), paper)));
    }

    #[test]
    fn agents_running_and_ended() {
        let ended = agent(Some(AgentEnd { at: ago(1), how: EndHow::Signalled(9) }));
        let listed = Agents { agents: vec![agent(None), ended] };
        insta::assert_snapshot!("agents_sessions", drawn(Some(90), |paper| sessions(&listed, 0, paper)));
        let none = Agents { agents: Vec::new() };
        assert_eq!(drawn(None, |paper| sessions(&none, 0, paper)), "no agent runs\n");
        assert_eq!(drawn(None, |paper| sessions(&none, 1, paper)), "no agent runs; 1 other ended: frith agents sessions --all\n");
        insta::assert_snapshot!("agents_show", drawn(None, |paper| show_agent(&listed.agents[0], paper)));
        insta::assert_snapshot!("agents_stop", drawn(None, |paper| stopped(&listed.agents[1], paper)));
    }

    /// A session of a host, as its hooks told of it.
    fn session(n: u8, host: &str) -> AgentInfo {
        let (sample, session) = (agent(None), HostSession { host: host.into(), id: Some(format!("s-{n}")), sub_agent: None });
        AgentInfo {
            agent: Agent { id: AgentId::from_bytes([n; 16]), host: host.into(), session: Some(session), launch: None, ..sample.agent },
            attached: 0,
            attention: None,
            seen: Some(ago(n.into())),
            ..sample
        }
    }

    fn sub_agent(n: u8, of: &AgentInfo) -> AgentInfo {
        let mut below = session(n, &of.agent.host);
        below.agent.parent = Some(of.agent.id);
        below.agent.session.as_mut().unwrap().sub_agent = Some("a4aa\u{1b}[2J".into());
        below
    }

    #[test]
    fn sessions_of_hosts_with_their_sub_agents() {
        let mut claude = session(2, "claude");
        claude.sub_agents = vec![sub_agent(3, &claude)];
        claude.status = Some("writing the \u{1b}[31mparser".into());
        claude.activity = Some("Bash cargo test --workspace".into());
        claude.unread = 3;
        let waits = AgentInfo { attention: Some(Attention::AtPrompt), activity: Some("Read src/lib.rs".into()), ..session(4, "codex") };
        let idle = AgentInfo { presence: Presence::Idle, place: None, ..session(90, "cursor") };
        let mut over = AgentInfo { presence: Presence::Ended, ..session(7, "gemini") };
        over.agent.ended = Some(AgentEnd { at: ago(6), how: EndHow::Gone });
        let mut listed = Agents { agents: vec![claude, waits, idle, over] };
        insta::assert_snapshot!("agents_sessions_hosts", drawn(Some(100), |paper| sessions(&listed, 0, paper)));
        insta::assert_snapshot!("agents_sessions_narrow", drawn(Some(72), |paper| sessions(&listed, 0, paper)));
        insta::assert_snapshot!("agents_show_session", drawn(Some(100), |paper| show_agent(&listed.agents[0], paper)));
        listed.agents[1].machine = "elm".into();
        listed.agents[1].agent.machine = MachineId::from_bytes([0xbb; 8]);
        insta::assert_snapshot!("agents_sessions_machines", drawn(None, |paper| sessions(&listed, 0, paper)));
    }

    #[test]
    fn who_is_calling_and_what_it_says_of_itself() {
        let claude = session(2, "claude");
        let mut caller = Identity {
            id: claude.agent.id,
            host: "claude".into(),
            session: claude.agent.session,
            parent: None,
            folder: claude.agent.folder,
            place: claude.place,
            machine: MachineName { id: oak(), name: "oak".into() },
            holds: vec![TaskId::from_bytes([5; 16])],
            place_id: None,
            linked_by: LinkedBy::Process,
            stands_for_sub_agents: true,
            worktrees: vec![],
        };
        insta::assert_snapshot!("agents_whoami", drawn(None, |paper| whoami(&caller, paper)));
        let ways = [LinkedBy::Launch, LinkedBy::Variable, LinkedBy::Session, LinkedBy::Ancestor, LinkedBy::Folder, LinkedBy::Own];
        let told = ways.map(|way| {
            caller.linked_by = way;
            drawn(None, |paper| whoami(&caller, paper)).lines().last().unwrap_or_default().to_owned()
        });
        insta::assert_snapshot!("agents_whoami_ways", told.join("\n"));
        let mut set = StatusSet { agent: caller.id, status: Some("writing\u{7} the parser".into()) };
        assert_eq!(drawn(None, |paper| status_set(&set, paper)), "02020202: writing the parser\n");
        set.status = None;
        assert_eq!(drawn(None, |paper| status_set(&set, paper)), "02020202 says nothing of itself\n");
    }

    #[test]
    fn a_backup_and_what_was_made_of_it() {
        let contents = Contents { workspaces: 2, forks: 1, tasks: 14, documents: 40 };
        let file: PathText = "/home/ada/my backups/b".parse().unwrap();
        let written = BackedUp { file: file.clone(), made: ago(0), contents, files: 3, left_out: 1, config: true, bytes: 1 << 20 };
        insta::assert_snapshot!("backup", drawn(None, |paper| backed_up(&written, paper)));
        let named = |name: &str| PlaceNamed { id: app().id, name: name.into() };
        let folder = |name: &str| PlaceFolder { place: named(name), folder: format!("/src/{name}").parse().unwrap() };
        let store = Made {
            machine: MachineId::from_bytes([0xbb; 8]),
            name: "elm".into(),
            seats: 3,
            agents: 1,
            kept: vec![folder("app")],
            missing: vec![folder("web")],
            forks: vec![named("side")],
            config: ConfigFate::Kept,
            key_set_aside: Some("/home/ada/.frith/key.before-restore-0".parse().unwrap()),
        };
        let (frith, from, from_name) = ("0.1.0".to_owned(), oak(), "oak".to_owned());
        let mut reply = Restored { file, made: ago(600), frith, from, from_name, contents, files: 3, store: Some(store) };
        let done = drawn(None, |paper| restored(&reply, paper));
        reply.store = None;
        insta::assert_snapshot!("restore", drawn(None, |paper| restored(&reply, paper)) + "\n" + &done);
    }

    #[test]
    fn the_node_up_and_down() {
        let up = NodeStatus {
            machine: oak(),
            name: "oak".into(),
            version: "0.1.0".into(),
            pid: 42,
            started: ago(200),
            home: "/home/ada/.frith".parse().unwrap(),
            binary_replaced: true,
            root: true,
            agents: vec![agent(None), session(7, "codex")],
            max_agents: 16,
            places: 3,
            documents: 12,
            store_bytes: 1 << 20,
            troubles: vec!["place app failed 3 times".into()],
            team: Some(TeamId::from_bytes([0x7e; 16])),
            peers: Vec::new(),
            schedules: 2,
            next_run: Some(ago(-90)),
            store_given_back: 20 << 20,
            unsent: 1,
            unread: 2,
        };
        let up = Shown { node: up, service: Some("/home/ada/.config/systemd/user/frith.service".parse().unwrap()) };
        insta::assert_snapshot!("status", drawn(Some(110), |paper| status(&up, paper)));
        assert_eq!(drawn(None, |paper| down(Some(&Stopped { pid: 42, agents: 1 }), paper)), "the node is down; 1 agent stopped\n");
        assert_eq!(drawn(None, |paper| down(None, paper)), "no node runs\n");
    }
}
