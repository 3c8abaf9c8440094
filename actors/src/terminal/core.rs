//! The terminal without its process: output in, what viewers see and what the agent is answered out.
//!
//! Pure: it reads no clock, starts nothing and waits for nobody. Rules:
//! - The opening lines are drawn before the agent's first output, and nothing is drawn between two halves of a sequence.
//! - A viewer whose terminal has the screen's size gets the very output; one of another size gets pictures, because
//!   wrapping and scrolling would differ there; one without a terminal gets text.
//! - A viewer that falls behind skips to the screen as it is. Nobody slows the agent.
//! - The node alone answers what an agent asks its terminal, also while viewers are attached: so the answer comes once,
//!   comes at once, and is the same whoever looks, or nobody.

use std::mem;
use std::sync::Arc;

use tokio::time::Instant;

use super::dialect::{Dialect, Said};
use super::queue::ViewerQueue;
use super::screen::Screen;
use super::viewers::{Look, ViewerFacts, ViewerId, Viewers};
use super::wire::TerminalEnd;
use crate::env::process::TerminalSize;

/// What a terminal shows, and to whom.
pub(super) struct TerminalCore {
    dialect: Dialect,
    screen: Screen,
    viewers: Viewers,
    plain: PlainText,
    end: Option<TerminalEnd>,
}

impl TerminalCore {
    pub(super) fn new(size: TerminalSize) -> Self {
        let screen = Screen::new(size);
        Self { dialect: Dialect::new(), screen, viewers: Viewers::default(), plain: PlainText::default(), end: None }
    }

    pub(super) fn size(&self) -> TerminalSize {
        self.screen.size()
    }

    /// Draws a line of the node's own; what is not text in it is left out.
    pub(super) fn line(&mut self, text: &str) {
        let is_shown = |character: &char| !character.is_control();
        let text: String = text.chars().filter(is_shown).collect();
        self.draw(format!("{text}\r\n").into_bytes());
    }

    /// Takes the agent's output; answers what the agent is to be told in return.
    #[must_use]
    pub(super) fn output(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut dialect = mem::take(&mut self.dialect);
        let mut said = Vec::new();
        dialect.read(bytes, &mut |one| said.push(one));
        self.dialect = dialect;
        let mut answers = Vec::new();
        for one in said {
            match one {
                Said::Bytes(bytes) => self.draw(bytes),
                Said::Query(query) => answers.extend(self.screen.answer(query, self.dialect.modes()).into_bytes()),
            }
        }
        answers
    }

    /// Adds a viewer, who finds the screen in its queue. Answers the terminal's new size if that changed by it.
    pub(super) fn attach(&mut self, look: Look, now: Instant) -> (ViewerId, Arc<ViewerQueue>, Option<TerminalSize>) {
        let (id, queue) = self.viewers.add(look, now);
        let resized = self.follow_sizing();
        queue.repaint(self.view_for(look, true));
        if let Some(end) = self.end {
            queue.end(end);
        }
        (id, queue, resized)
    }

    /// Notes that a viewer typed these keys. Telling of focus is not typing. Answers a changed size.
    pub(super) fn typed(&mut self, viewer: ViewerId, keys: &[u8]) -> Option<TerminalSize> {
        if matches!(keys, b"\x1b[I" | b"\x1b[O") {
            return None;
        }
        self.viewers.type_in(viewer);
        self.follow_sizing()
    }

    /// Notes the new size of a viewer's terminal. Answers a changed size.
    pub(super) fn viewer_resized(&mut self, viewer: ViewerId, size: TerminalSize) -> Option<TerminalSize> {
        self.viewers.resize(viewer, size);
        let resized = self.follow_sizing();
        if let Some(viewer) = self.viewers.get(viewer) {
            viewer.queue.fall_behind();
        }
        resized
    }

    /// Removes a viewer. Answers a changed size.
    pub(super) fn detach(&mut self, viewer: ViewerId) -> Option<TerminalSize> {
        self.viewers.remove(viewer);
        self.follow_sizing()
    }

    /// Gives a viewer that skipped the screen as it is now.
    pub(super) fn repaint(&self, viewer: ViewerId) {
        if let Some(viewer) = self.viewers.get(viewer) {
            viewer.queue.repaint(self.view_for(viewer.look, false));
        }
    }

    /// Rings a viewer's bell: its keys were not taken.
    pub(super) fn ring(&self, viewer: ViewerId) {
        if let Some(viewer) = self.viewers.get(viewer) {
            viewer.queue.push(&Arc::from(*b"\x07"));
        }
    }

    /// Tells all viewers, and whoever comes yet, that this is over. The screen stays.
    pub(super) fn end(&mut self, end: TerminalEnd) {
        self.end = Some(end);
        self.viewers.end(end);
    }

    pub(super) fn text(&self) -> String {
        self.screen.text()
    }

    pub(super) fn viewers(&self, now: Instant) -> Vec<ViewerFacts> {
        self.viewers.facts(now)
    }

    fn draw(&mut self, bytes: Vec<u8>) {
        self.screen.draw(&bytes);
        let size = self.screen.size();
        let is_followed = self.viewers.iter().any(|viewer| viewer.look == Look::Follow);
        let text: Arc<[u8]> = if is_followed { self.plain.read(&bytes).into_bytes().into() } else { Arc::default() };
        let bytes: Arc<[u8]> = bytes.into();
        for viewer in self.viewers.iter() {
            match viewer.look {
                Look::Terminal(of_viewer) if of_viewer == size => viewer.queue.push(&bytes),
                Look::Terminal(_) => viewer.queue.fall_behind(),
                Look::Follow => viewer.queue.push(&text),
            }
        }
    }

    /// Gives the screen the size that counts. Then what waits was drawn for another size, so everybody is repainted.
    fn follow_sizing(&mut self) -> Option<TerminalSize> {
        let (_, size) = self.viewers.sizing()?;
        if size == self.screen.size() {
            return None;
        }
        self.screen.resize(size);
        let has_terminal = |look| matches!(look, Look::Terminal(_));
        for viewer in self.viewers.iter().filter(|viewer| has_terminal(viewer.look)) {
            viewer.queue.fall_behind();
        }
        Some(size)
    }

    fn view_for(&self, look: Look, is_new: bool) -> Vec<u8> {
        let modes = self.dialect.modes();
        match look {
            Look::Terminal(size) if size == self.screen.size() => self.screen.repaint(modes, is_new),
            Look::Terminal(size) => self.screen.picture(modes, size),
            Look::Follow if is_new => self.screen.text_with_scrollback().into_bytes(),
            Look::Follow => format!("\n... output skipped ...\n{}\n", self.screen.text()).into_bytes(),
        }
    }
}

/// The text of output for who has no terminal: without sequences, each line ended by a newline.
#[derive(Default)]
struct PlainText {
    /// The last character was a return whose newline may come yet.
    has_returned: bool,
}

impl PlainText {
    /// The text of whole units of the dialect.
    fn read(&mut self, bytes: &[u8]) -> String {
        let mut units = super::stream::UnitStream::new();
        let mut out = String::new();
        units.push(bytes, &mut |unit| {
            if let super::stream::Unit::Text(text) = unit {
                String::from_utf8_lossy(text).chars().for_each(|character| self.push(character, &mut out));
            }
        });
        out
    }

    /// A return without a newline begins a line over; the new text is a line of its own here.
    fn push(&mut self, character: char, out: &mut String) {
        if mem::take(&mut self.has_returned) && character != '\n' && character != '\r' {
            out.push('\n');
        }
        match character {
            '\r' => self.has_returned = true,
            '\n' | '\t' => out.push(character),
            _ if character.is_control() => {}
            _ => out.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::queue::Taken;
    use super::*;
    use crate::env::process::ProcessEnd;

    fn size(rows: u16, cols: u16) -> TerminalSize {
        TerminalSize::new(rows, cols)
    }

    /// A viewer with a real terminal's model: it draws what its queue hands out.
    struct Person {
        id: ViewerId,
        queue: Arc<ViewerQueue>,
        terminal: vt100::Parser,
    }

    impl Person {
        fn attach(core: &mut TerminalCore, size: TerminalSize) -> Self {
            let (id, queue, _) = core.attach(Look::Terminal(size), Instant::now());
            let rows = size.rows().try_into().unwrap();
            let cols = size.cols().try_into().unwrap();
            Self { id, queue, terminal: vt100::Parser::new(rows, cols, 2000) }
        }

        fn look(&mut self, core: &TerminalCore) {
            loop {
                match self.queue.take() {
                    Taken::Bytes(bytes) => self.terminal.process(&bytes),
                    Taken::RepaintDue => core.repaint(self.id),
                    _ => return,
                }
            }
        }

        /// Everything that later output depends on or a person sees.
        fn state(&self) -> Vec<String> {
            let screen = self.terminal.screen();
            let (rows, cols) = screen.size();
            let mut state: Vec<String> = (0..rows.get())
                .flat_map(|row| (0..cols.get()).map(move |col| (row, col)))
                .map(|(row, col)| format!("{row},{col} {}", shown(screen.cell(row, col).unwrap())))
                .collect();
            let cursor = screen.cursor_position();
            state.push(format!("{cursor:?} {} {}", screen.hide_cursor(), screen.alternate_screen()));
            state.push(screen.input_mode_formatted());
            state
        }

        fn text(&self) -> String {
            self.terminal.screen().contents()
        }

        /// The lines of its screen without what cannot be seen of them.
        fn lines(&self) -> String {
            let screen = self.terminal.screen();
            let rows = screen.rows(0, screen.size().1.get());
            let lines: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
            lines.join("\n").trim_end().to_owned()
        }
    }

    /// A cell in words, without the bytes it keeps but does not show.
    fn shown(cell: &vt100::Cell) -> String {
        let attributes = (cell.fgcolor(), cell.bgcolor(), cell.bold(), cell.dim(), cell.italic(), cell.underline(), cell.inverse());
        let text = if cell.has_contents() { cell.contents() } else { " " };
        format!("{text:?} {} {attributes:?}", cell.is_wide())
    }

    fn differences(left: &Person, right: &Person) -> Vec<(String, String)> {
        let pairs = left.state().into_iter().zip(right.state());
        pairs.filter(|(left, right)| left != right).collect()
    }

    #[test]
    fn opening_lines_are_there_before_the_agent_and_after() {
        let mut core = TerminalCore::new(size(24, 80));
        let mut early = Person::attach(&mut core, size(24, 80));
        core.line("git worktree add \x1b[31mx");
        core.line("claude --model x");
        assert_eq!(core.text(), "git worktree add [31mx\nclaude --model x");
        assert_eq!(core.output(b"ready\r\n"), b"");
        early.look(&core);
        let mut late = Person::attach(&mut core, size(24, 80));
        late.look(&core);
        assert_eq!(early.text().trim_end(), "git worktree add [31mx\nclaude --model x\nready");
        assert_eq!(late.text(), early.text());
    }

    #[test]
    fn a_late_viewer_finds_what_scrolled_away_above_its_screen() {
        let mut core = TerminalCore::new(size(5, 20));
        for number in 0..30 {
            core.line(&format!("line {number}"));
        }
        let mut late = Person::attach(&mut core, size(5, 20));
        late.look(&core);
        let screen = late.terminal.screen_mut();
        assert!(screen.contents().starts_with("line 26\nline 27"));
        screen.set_scrollback(usize::MAX);
        let above = screen.scrollback_len();
        assert!(screen.contents().starts_with("line 0\nline 1\nline 2"), "{}", screen.contents());
        assert_eq!(above, 26);
    }

    #[test]
    fn a_slow_viewer_skips_and_then_sees_the_same_screen() {
        let mut core = TerminalCore::new(size(24, 80));
        let mut quick = Person::attach(&mut core, size(24, 80));
        let mut slow = Person::attach(&mut core, size(24, 80));
        for number in 0..40_000 {
            core.line(&format!("\x1b[3{}mline {number}", number % 8));
            quick.look(&core);
        }
        let mut taken = 0;
        while let Taken::Bytes(bytes) = slow.queue.take() {
            taken += bytes.len();
        }
        assert!(taken < 512 * 1024, "{taken}");
        core.repaint(slow.id);
        slow.look(&core);
        assert_eq!(differences(&quick, &slow), []);
        core.line("after");
        quick.look(&core);
        slow.look(&core);
        assert_eq!(differences(&quick, &slow), []);
    }

    #[test]
    fn typing_takes_the_size_and_telling_of_focus_does_not() {
        let mut core = TerminalCore::new(TerminalSize::DEFAULT);
        let first = Person::attach(&mut core, size(30, 100));
        assert_eq!(core.size(), size(30, 100));
        let second = Person::attach(&mut core, size(20, 60));
        assert_eq!(core.typed(second.id, b"\x1b[I"), None);
        assert_eq!(core.typed(second.id, b"x"), Some(size(20, 60)));
        assert_eq!(core.typed(second.id, b"y"), None);
        assert_eq!(core.viewer_resized(first.id, size(40, 90)), None);
        assert_eq!(core.detach(second.id), Some(size(40, 90)));
        assert_eq!(core.detach(first.id), None);
        assert_eq!(core.size(), size(40, 90));
    }

    #[test]
    fn a_viewer_of_another_size_is_shown_what_fits_around_the_cursor() {
        let mut core = TerminalCore::new(size(24, 80));
        let _sizing = Person::attach(&mut core, size(24, 80));
        let mut small = Person::attach(&mut core, size(5, 12));
        let mut large = Person::attach(&mut core, size(40, 120));
        for number in 0..30 {
            core.line(&format!("line {number} is longer than twelve"));
        }
        small.look(&core);
        large.look(&core);
        let small: Vec<&str> = small.terminal.screen().contents().leak().lines().collect();
        assert_eq!(small[..4], ["line 26 is l", "line 27 is l", "line 28 is l", "line 29 is l"]);
        assert!(large.text().starts_with("line 7 is longer than twelve\n"));
        assert_eq!(large.terminal.screen().cursor_position(), (23, 0));
    }

    #[test]
    fn a_wide_character_at_the_edge_of_a_smaller_viewer_is_left_out() {
        let mut core = TerminalCore::new(size(24, 80));
        let _sizing = Person::attach(&mut core, size(24, 80));
        let mut small = Person::attach(&mut core, size(4, 11));
        core.line("12345678 漢字");
        core.line("1234567890漢字");
        small.look(&core);
        assert_eq!(small.lines(), "12345678 漢\n1234567890");
    }

    #[test]
    fn queries_are_answered_by_the_node_where_the_cursor_is_then() {
        let mut core = TerminalCore::new(size(24, 80));
        let mut viewer = Person::attach(&mut core, size(24, 80));
        let answers = core.output(b"\r\nab\x1b[6nc\x1b[6n\x1b[c\x1b[5n\x1b[?25$p\x1b[?7$p\x1b[18t\x1b[?u");
        let want = "\x1b[2;3R\x1b[2;4R\x1b[?62;22c\x1b[0n\x1b[?25;1$y\x1b[?7;0$y\x1b[8;24;80t";
        assert_eq!(String::from_utf8(answers).unwrap(), want);
        let mut shown = Vec::new();
        while let Taken::Bytes(bytes) = viewer.queue.take() {
            shown.extend(bytes);
        }
        viewer.terminal.process(&shown);
        assert!(!String::from_utf8(shown).unwrap().contains("[6n"));
        assert!(viewer.text().trim_end().ends_with("abc"));
    }

    #[test]
    fn who_follows_gets_lines_of_text() {
        let mut core = TerminalCore::new(size(5, 20));
        for number in 0..8 {
            core.line(&format!("line {number}"));
        }
        let (_, queue, resized) = core.attach(Look::Follow, Instant::now());
        assert_eq!(resized, None);
        let _ = core.output(b"\x1b[32mgreen\x1b[m\r\n10%\r");
        let _ = core.output(b"20%\r");
        let _ = core.output(b"\ndone\x07\r\n");
        core.end(TerminalEnd::Process(ProcessEnd::Exited(0)));
        let mut text = String::new();
        while let Taken::Bytes(bytes) = queue.take() {
            text += std::str::from_utf8(&bytes).unwrap();
        }
        let opening: String = (0..8).map(|number| format!("line {number}\n")).collect();
        assert_eq!(text, opening + "green\n10%\n20%\ndone\n");
    }

    #[test]
    fn who_comes_after_the_end_sees_the_last_screen_and_the_end() {
        let mut core = TerminalCore::new(size(24, 80));
        let _ = core.output(b"last words");
        let end = TerminalEnd::Process(ProcessEnd::Signalled(15));
        core.end(end);
        let mut late = Person::attach(&mut core, size(24, 80));
        match late.queue.take() {
            Taken::Bytes(bytes) => late.terminal.process(&bytes),
            other => panic!("{other:?}"),
        }
        assert_eq!(late.text(), "last words");
        assert_eq!(late.queue.take(), Taken::Ended(end));
    }

    /// Output as agents' interfaces write it, in pieces that mean something, and now and then plain noise.
    fn output() -> impl Strategy<Value = Vec<u8>> {
        let place = || (1_u16..14, 1_u16..24);
        let text = |text: String| text.into_bytes();
        let piece = prop_oneof![
            6 => "[ -~]{1,30}".prop_map(text),
            2 => "[a-z漢字äé🦀]{1,8}".prop_map(text),
            3 => Just(b"\r\n".to_vec()),
            1 => prop_oneof![Just("\r"), Just("\n"), Just("\t"), Just("\x08")].prop_map(|it| it.as_bytes().to_vec()),
            3 => place().prop_map(|(row, col)| format!("\x1b[{row};{col}H").into_bytes()),
            3 => (0_u8..50).prop_map(|number| format!("\x1b[{number}m").into_bytes()),
            1 => (0_u8..255).prop_map(|number| format!("\x1b[38;5;{number};48;2;1;2;{number}m").into_bytes()),
            3 => (0_u8..4, prop_oneof![Just('A'), Just('B'), Just('C'), Just('D'), Just('J'), Just('K'), Just('L'), Just('M'),
                Just('P'), Just('X'), Just('@'), Just('S'), Just('T'), Just('G'), Just('d')])
                .prop_map(|(count, last)| format!("\x1b[{count}{last}").into_bytes()),
            1 => place().prop_map(|(top, bottom)| format!("\x1b[{top};{bottom}r").into_bytes()),
            2 => prop_oneof![Just("\x1b7"), Just("\x1b8"), Just("\x1bM"), Just("\x1b[s"), Just("\x1b[u"), Just("\x1bD"),
                Just("\x1bE")].prop_map(|it| it.as_bytes().to_vec()),
            2 => (prop_oneof![Just(1), Just(6), Just(25), Just(1000), Just(1006), Just(1049), Just(2004), Just(1004)],
                prop_oneof![Just('h'), Just('l')]).prop_map(|(mode, last)| format!("\x1b[?{mode}{last}").into_bytes()),
            1 => proptest::collection::vec(any::<u8>(), 1..6),
        ];
        proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// The heart of it: whoever comes late, at whatever byte, sees what everybody sees, then and ever after.
        #[test]
        fn a_late_viewer_sees_what_one_sees_who_was_there_all_along(
            before in output(), after in output(), cut in 1_usize..40,
        ) {
            let mut core = TerminalCore::new(size(12, 22));
            let mut early = Person::attach(&mut core, size(12, 22));
            for chunk in before.chunks(cut) {
                let _ = core.output(chunk);
                early.look(&core);
            }
            let mut late = Person::attach(&mut core, size(12, 22));
            late.terminal.process(b"a mess \x1b[?1049h\x1b[3;5r\x1b[?6h\x1b[31m\x1b[?1003h\x1b[");
            late.look(&core);
            prop_assert_eq!(differences(&early, &late), vec![]);
            for chunk in after.chunks(cut) {
                let _ = core.output(chunk);
                early.look(&core);
                late.look(&core);
            }
            prop_assert_eq!(differences(&early, &late), vec![]);
            prop_assert_eq!(early.lines(), core.text());
        }

        #[test]
        fn no_output_and_no_size_brings_it_down(
            output in output(), noise in proptest::collection::vec(any::<u8>(), 0..300), sizes in proptest::collection::vec((0_u16..60, 0_u16..60), 1..6),
        ) {
            let mut core = TerminalCore::new(TerminalSize::DEFAULT);
            let mut viewer = Person::attach(&mut core, size(10, 10));
            for (rows, cols) in sizes {
                let _ = core.output(&output);
                core.viewer_resized(viewer.id, size(rows, cols));
                let _ = core.output(&noise);
                viewer.look(&core);
                core.text();
            }
        }
    }
}
