//! Hosts that have no hooks, as far as is known.

use super::super::{
    Adopt, AgentRow, ConfigFile, Entry, Environment, Fact,
    Fact::Known,
    Format::{Json, Jsonc, Yaml},
    Host,
    Key::{List, Name, Named, Own},
    Mcp, PostCreate, PostCreateEntry,
    Source::{Hearsay, Nobody, Practice, Vendor},
    Surface, Value,
    Value::{Arguments, CommandLine, EmptyTable, Flag, Number, Program, Text},
    Worktrees,
};
use super::here;

pub(super) static KILO: Host = Host {
    id: "kilo",
    name: "Kilo Code",
    surfaces: &[Surface::Cli, Surface::Extension],
    agents: AgentRow::Mcp,
    here: &here::KILO,
    mcp: Mcp {
        entry: Known(Entry {
            formats: &[Jsonc],
            at: &[Name("mcp"), Own],
            fields: &[("type", Text("local")), ("command", CommandLine), ("enabled", Flag(true))],
        }),
        files: &[ConfigFile::new("~/.config/kilo/kilo.json", "%USERPROFILE%\\.config\\kilo\\kilo.json")],
        repository_files: Known(&["kilo.json"]),
        path_variables: Fact::None,
        source: Vendor,
    },
    hooks: Fact::None,
    plugin_functions: &[],
    environment: Environment::empty(Practice).others(&["WORKTREE_PATH", "REPO_PATH"]),
    worktrees: Worktrees::pooled(".kilo/worktrees/", ".kilo/worktrees/<name>", "kilo", Practice).post_create(PostCreate {
        files: &[".kilo/setup-script", ".kilo/setup-script.sh"],
        keys: Fact::None,
        windows: None,
        entry: PostCreateEntry::MarkedLines,
        variables: &["WORKTREE_PATH", "REPO_PATH"],
        worktree: Some("WORKTREE_PATH"),
        source: Vendor,
    }),
    unverified: &[],
    not_looked_up: &[],
    looked_up: &["@kilocode/cli 7.8.1, its own guide to its configuration: files, skills, setup scripts"],
};

pub(super) static MIMO: Host = Host {
    id: "mimo",
    name: "MiMo Code",
    surfaces: &[Surface::Cli],
    agents: AgentRow::Mcp,
    here: &here::MIMO,
    mcp: Mcp {
        entry: Known(Entry {
            formats: &[Jsonc],
            at: &[Name("mcp"), Own],
            fields: &[("type", Text("local")), ("command", CommandLine), ("enabled", Flag(true))],
        }),
        files: &[ConfigFile::new("~/.config/mimocode/mimocode.json", "%USERPROFILE%\\.config\\mimocode\\mimocode.json")],
        repository_files: Known(&["mimocode.json"]),
        path_variables: Known(&["MIMOCODE_HOME", "MIMOCODE_CONFIG"]),
        source: Practice,
    },
    hooks: Fact::None,
    plugin_functions: &[],
    environment: Environment::empty(Practice),
    worktrees: Worktrees::pooled(
        "auto_worktree and orchestrator mode",
        "~/.local/share/mimocode/worktree/<project>/<name>",
        "other",
        Vendor,
    ),
    unverified: &["hooks in .mimocode/settings.json, which its source names"],
    not_looked_up: &[],
    looked_up: &[
        "XiaomiMiMo/MiMo-Code packages/opencode/src/config/paths.ts: files",
        "XiaomiMiMo/MiMo-Code docs/compose/specs/auto-worktree.md: worktrees",
        "mimo.mi.com/docs: command",
    ],
};

pub(super) static OMP: Host = Host {
    id: "omp",
    name: "oh-my-pi (omp)",
    surfaces: &[Surface::Cli],
    agents: AgentRow::Mcp,
    here: &here::OMP,
    mcp: Mcp {
        entry: Known(Entry { formats: &[Json], at: &[Name("mcpServers"), Own], fields: &[("command", Program), ("args", Arguments)] }),
        files: &[ConfigFile::new("~/.omp/agent/mcp.json", "%USERPROFILE%\\.omp\\agent\\mcp.json")],
        repository_files: Known(&[".omp/mcp.json"]),
        path_variables: Known(&["PI_CODING_AGENT_DIR"]),
        source: Vendor,
    },
    hooks: Fact::None,
    plugin_functions: &[],
    environment: Environment::empty(Practice),
    worktrees: Worktrees::pooled("per-task isolation", "~/.omp/wt/<task>", "other", Vendor),
    unverified: &[],
    not_looked_up: &[],
    looked_up: &["@oh-my-pi/pi-coding-agent 18.3.4 src/discovery/builtin.ts: files, skills", "@oh-my-pi/pi-utils src/dirs.ts: worktrees"],
};

pub(super) static OPENCODE: Host = Host {
    id: "opencode",
    name: "OpenCode",
    surfaces: &[Surface::Cli, Surface::Desktop],
    agents: AgentRow::Mcp,
    here: &here::OPENCODE,
    mcp: Mcp {
        entry: Known(Entry {
            formats: &[Jsonc],
            at: &[Name("mcp"), Own],
            fields: &[("type", Text("local")), ("command", CommandLine), ("enabled", Flag(true))],
        }),
        files: &[
            ConfigFile::new("~/.config/opencode/opencode.json", "%USERPROFILE%\\.config\\opencode\\opencode.json").of("cli"),
            ConfigFile::new("~/.config/ai.opencode.desktop/opencode.json", "%APPDATA%\\ai.opencode.desktop\\opencode.json")
                .on_macos("~/Library/Application Support/ai.opencode.desktop/opencode.json")
                .of("desktop"),
        ],
        repository_files: Known(&["opencode.json"]),
        path_variables: Fact::None,
        source: Practice,
    },
    hooks: Fact::None,
    plugin_functions: &["event", "chat.message", "tool.execute.after", "shell.env"],
    environment: Environment::empty(Practice).others(&["OPENCODE_PID"]),
    worktrees: Worktrees::pooled(
        "<data>/worktree/<project>/<name>, where the desktop or the server makes one",
        "~/.local/share/opencode/worktree/<project>/<name>",
        "other",
        Vendor,
    ),
    unverified: &[],
    not_looked_up: &[],
    looked_up: &["measured: opencode 1.18.33", "opencode-linux-x64 1.18.33: files, skills, worktrees"],
};

pub(super) static PI: Host = Host {
    id: "pi",
    name: "pi coding agent",
    surfaces: &[Surface::Cli],
    agents: AgentRow::None,
    here: &here::PI,
    mcp: Mcp { entry: Fact::None, files: &[], repository_files: Fact::None, path_variables: Fact::None, source: Vendor },
    hooks: Fact::None,
    plugin_functions: &[],
    environment: Environment::empty(Practice),
    worktrees: Worktrees::without(Fact::None, Fact::None, Practice).adopted_by(Adopt::CommandOnly),
    unverified: &[],
    not_looked_up: &[],
    looked_up: &["@earendil-works/pi-coding-agent 0.74.2 README and docs/skills.md: no MCP, skills"],
};

pub(super) static ROO: Host = Host {
    id: "roo",
    name: "Roo Code",
    surfaces: &[Surface::Extension],
    agents: AgentRow::Mcp,
    here: &here::ROO,
    mcp: Mcp {
        entry: Known(Entry { formats: &[Json], at: &[Name("mcpServers"), Own], fields: &[("command", Program), ("args", Arguments)] }),
        files: &[ConfigFile::new(
            "~/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            "%APPDATA%\\Code\\User\\globalStorage\\rooveterinaryinc.roo-cline\\settings\\mcp_settings.json",
        )
        .on_macos("~/Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json")],
        repository_files: Known(&[".roo/mcp.json"]),
        path_variables: Fact::None,
        source: Practice,
    },
    hooks: Fact::None,
    plugin_functions: &[],
    environment: Environment::empty(Practice),
    worktrees: Worktrees::without(Fact::Unchecked, Fact::Unchecked, Hearsay),
    unverified: &[],
    not_looked_up: &[],
    looked_up: &["vercel-labs/skills src/agents.ts: skills"],
};

pub(super) static JUNIE: Host = Host {
    id: "junie",
    name: "JetBrains Junie CLI",
    surfaces: &[Surface::Cli],
    agents: AgentRow::Mcp,
    here: &here::JUNIE,
    mcp: Mcp {
        entry: Known(Entry { formats: &[Json], at: &[Name("mcpServers"), Own], fields: &[("command", Program), ("args", Arguments)] }),
        files: &[ConfigFile::new("~/.junie/mcp/mcp.json", "%USERPROFILE%\\.junie\\mcp\\mcp.json")],
        repository_files: Known(&[".junie/mcp/mcp.json"]),
        path_variables: Fact::None,
        source: Vendor,
    },
    hooks: Fact::None,
    plugin_functions: &[],
    environment: Environment::empty(Nobody),
    worktrees: Worktrees::without(Fact::Unchecked, Fact::Unchecked, Hearsay),
    unverified: &[],
    not_looked_up: &[],
    looked_up: &["docs.rs/agent-config 0.3.2: files; no hooks (JUNIE-1961)", "vercel-labs/skills src/agents.ts: skills"],
};

pub(super) static AMP: Host = Host {
    id: "amp",
    name: "Amp (Sourcegraph)",
    surfaces: &[Surface::Cli, Surface::Extension],
    agents: AgentRow::Mcp,
    here: &here::AMP,
    mcp: Mcp {
        entry: Known(Entry { formats: &[Jsonc], at: &[Name("amp.mcpServers"), Own], fields: &[("command", Program), ("args", Arguments)] }),
        files: &[ConfigFile::new("~/.config/amp/settings.json", "%USERPROFILE%\\.config\\amp\\settings.json")],
        repository_files: Known(&[".amp/settings.json"]),
        path_variables: Fact::None,
        source: Vendor,
    },
    hooks: Fact::Undocumented,
    plugin_functions: &[],
    environment: Environment::empty(Nobody),
    worktrees: Worktrees::without(Fact::Unchecked, Fact::Unchecked, Hearsay),
    unverified: &["Windows path"],
    not_looked_up: &[],
    looked_up: &["vercel-labs/skills src/agents.ts: skills"],
};

pub(super) static WARP: Host = Host {
    id: "warp",
    name: "Warp",
    surfaces: &[Surface::App],
    agents: AgentRow::Mcp,
    here: &here::WARP,
    mcp: Mcp {
        entry: Known(Entry { formats: &[Json], at: &[Name("mcpServers"), Own], fields: &[("command", Program), ("args", Arguments)] }),
        files: &[ConfigFile::new("~/.warp/.mcp.json", "%USERPROFILE%\\.warp\\.mcp.json")],
        repository_files: Known(&[".warp/.mcp.json"]),
        path_variables: Fact::None,
        source: Vendor,
    },
    hooks: Fact::None,
    plugin_functions: &[],
    environment: Environment::empty(Nobody),
    worktrees: Worktrees::without(Fact::Unchecked, Fact::Unchecked, Hearsay),
    unverified: &[],
    not_looked_up: &[],
    looked_up: &["warpdotdev/warp, its skill agent-add-mcp: files"],
};

pub(super) static GOOSE: Host = Host {
    id: "goose",
    name: "Goose (Block)",
    surfaces: &[Surface::Cli, Surface::Desktop],
    agents: AgentRow::Mcp,
    here: &here::GOOSE,
    mcp: Mcp {
        entry: Known(Entry {
            formats: &[Yaml],
            at: &[Name("extensions"), Own],
            fields: &[
                ("enabled", Flag(true)),
                ("type", Text("stdio")),
                ("name", Value::Own),
                ("cmd", Program),
                ("args", Arguments),
                ("timeout", Number(300)),
                ("description", Text("")),
                ("envs", EmptyTable),
                ("env_keys", Value::List(&[])),
            ],
        }),
        files: &[ConfigFile::new("~/.config/goose/config.yaml", "%APPDATA%\\Block\\goose\\config\\config.yaml")],
        repository_files: Fact::None,
        path_variables: Fact::None,
        source: Vendor,
    },
    hooks: Fact::None,
    plugin_functions: &[],
    environment: Environment::empty(Nobody),
    worktrees: Worktrees::without(Fact::Unchecked, Fact::Unchecked, Hearsay),
    unverified: &["its hooks, which only plugins have: ~/.agents/plugins/<plugin>/hooks/hooks.json"],
    not_looked_up: &[],
    looked_up: &[
        "block.github.io/goose/docs/guides/config-files: file, Windows path",
        "block/goose documentation/docs/guides/context-engineering/hooks.md",
        "vercel-labs/skills src/agents.ts: skills",
    ],
};

pub(super) static CONTINUE: Host = Host {
    id: "continue",
    name: "Continue (IDE ext, cn CLI)",
    surfaces: &[Surface::Extension, Surface::Cli],
    agents: AgentRow::Mcp,
    here: &here::CONTINUE,
    mcp: Mcp {
        entry: Known(Entry {
            formats: &[Yaml],
            at: &[List("mcpServers"), Named("name")],
            fields: &[("name", Value::Own), ("command", Program), ("args", Arguments)],
        }),
        files: &[ConfigFile::new("~/.continue/config.yaml", "%USERPROFILE%\\.continue\\config.yaml")],
        repository_files: Known(&[".continue/mcpServers/*.yaml"]),
        path_variables: Fact::None,
        source: Vendor,
    },
    hooks: Fact::None,
    plugin_functions: &[],
    environment: Environment::empty(Vendor).others(&["CONTINUE_PROJECT_DIR"]).attributes("CONTINUE_PROJECT_DIR"),
    worktrees: Worktrees::without(Fact::Unchecked, Fact::Unchecked, Hearsay),
    unverified: &["its hooks, of the command only: it reads those of ~/.claude/settings.json and ~/.continue/settings.json"],
    not_looked_up: &[],
    looked_up: &["@continuedev/cli 1.5.47 src/hooks: files, variables", "vercel-labs/skills src/agents.ts: skills"],
};

pub(super) static AIDER: Host = Host {
    id: "aider",
    name: "aider",
    surfaces: &[Surface::Cli],
    agents: AgentRow::None,
    here: &here::AIDER,
    mcp: Mcp { entry: Fact::None, files: &[], repository_files: Fact::None, path_variables: Fact::None, source: Practice },
    hooks: Fact::None,
    plugin_functions: &[],
    environment: Environment::empty(Practice),
    worktrees: Worktrees::without(Fact::None, Fact::None, Practice).adopted_by(Adopt::CommandOnly),
    unverified: &[],
    not_looked_up: &[],
    looked_up: &[],
};

pub(super) static ZED: Host = Host {
    id: "zed",
    name: "Zed",
    surfaces: &[Surface::Ide],
    agents: AgentRow::Mcp,
    here: &here::ZED,
    mcp: Mcp {
        entry: Known(Entry {
            formats: &[Jsonc],
            at: &[Name("context_servers"), Own],
            fields: &[("command", Program), ("args", Arguments)],
        }),
        files: &[ConfigFile::new("~/.config/zed/settings.json", "%APPDATA%\\Zed\\settings.json")],
        repository_files: Fact::None,
        path_variables: Fact::None,
        source: Practice,
    },
    hooks: Fact::None,
    plugin_functions: &[],
    environment: Environment::empty(Practice),
    worktrees: Worktrees::somewhere(Known("threads can point at a worktree you made"), Fact::None, Hearsay),
    unverified: &[],
    not_looked_up: &[],
    looked_up: &["zed-industries/zed docs/src/ai/mcp.md: entry", "vercel-labs/skills src/agents.ts: configuration folder on Windows"],
};
