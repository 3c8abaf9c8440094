//! What a repository's file is to hold so that a host has a worktree adopted that it just made: one entry more where the host
//! looks for what it runs then.
//!
//! Pure: a text and what was entered before in, a text out. The file is everybody's who has the repository, so the entry names
//! no path of any machine: the program is found on the search path, and where it is not, nothing happens.

use frith_store::hosts::{Format, PostCreate, PostCreateEntry};
use serde_json::{Value, json};

use crate::{
    edit::{self, EditError, Match, Step},
    install::{
        block::{self, NoEnd},
        plan::Act,
        record::Piece,
        wanted::What,
    },
};

/// What tells an entry of ours, or one that somebody wrote for the same.
const ADOPTS: &str = "frith worktree adopt";
/// For the shell of Windows, whichever of its two reads it.
const ON_WINDOWS: &str = "cmd /d /c \"frith worktree adopt <nul & exit 0\"";

/// What is to become of a repository's file.
#[derive(Debug, Clone, PartialEq)]
pub struct AdoptionPlan {
    /// Its text; none when there is no file.
    pub text: Option<String>,
    /// What becomes of each entry.
    pub acts: Vec<Act>,
    /// What will then stand there of ours, in the order in which it was entered.
    pub pieces: Vec<Piece>,
    /// What a person has to add, and under which key.
    pub by_hand: Vec<(Option<&'static str>, String)>,
}

/// Why a repository's file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdoptionError {
    /// It is not of its format, or has something else where the entry belongs.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The mark below what was entered is gone.
    #[error("line {line}: the mark that ends what was entered here is missing")]
    NoEnd {
        /// The line of the mark above it.
        line: usize,
    },
}

impl From<NoEnd> for AdoptionError {
    fn from(NoEnd { line }: NoEnd) -> Self {
        Self::NoEnd { line }
    }
}

/// Whether a file is the one from which a host takes what it runs, where it could be several.
pub fn is_in_use(text: Option<&str>, way: &PostCreate) -> Result<bool, AdoptionError> {
    let Some(text) = text else { return Ok(false) };
    match (way.entry, way.keys.known().and_then(|keys| keys.first())) {
        (PostCreateEntry::CommandTable, Some(first)) => Ok(edit::read(Format::Jsonc, Some(text), &[key(first)])?.is_some()),
        _ => Ok(true),
    }
}

/// Enters what has a worktree adopted. `replace`: also where somebody changed it.
///
/// # Errors
/// The text is not of its format, has no room for it, or has a mark without its end.
pub fn enter(text: Option<&str>, way: &PostCreate, recorded: &[Piece], replace: bool) -> Result<AdoptionPlan, AdoptionError> {
    let mut plan = AdoptionPlan::new(text, recorded);
    if way.entry == PostCreateEntry::MarkedLines {
        plan.enter_block(way, replace)?;
        return Ok(plan);
    }
    for list in plan.lists(way)? {
        match edit::read(Format::Jsonc, text, &list.at)? {
            Some(Value::String(script)) if script.contains(ADOPTS) => plan.say(Act::Unchanged),
            Some(Value::String(_)) => plan.by_hand.push((Some(list.key), list.line)),
            _ => plan.enter_element(&list, replace)?,
        }
    }
    Ok(plan)
}

/// Takes it out. `replace`: also what somebody changed, which stays otherwise. What no record tells of goes with everything
/// around it that would be left empty.
///
/// # Errors
/// As [`enter`].
pub fn take_out(text: Option<&str>, way: &PostCreate, recorded: &[Piece], replace: bool) -> Result<AdoptionPlan, AdoptionError> {
    let mut plan = AdoptionPlan::new(text, recorded);
    if way.entry == PostCreateEntry::MarkedLines {
        plan.take_blocks(way, replace)?;
        return Ok(plan);
    }
    for list in plan.lists(way)?.iter().rev() {
        plan.take_elements(list, replace)?;
    }
    Ok(plan)
}

/// A list of what a host runs.
struct List {
    key: &'static str,
    at: Vec<Step>,
    /// The element that is ours.
    element: Value,
    /// What it runs.
    line: String,
}

impl AdoptionPlan {
    fn new(text: Option<&str>, recorded: &[Piece]) -> Self {
        Self { text: text.map(str::to_owned), acts: Vec::new(), pieces: recorded.to_vec(), by_hand: Vec::new() }
    }

    /// The lists that are there; where there is none, the first one, which is to be made.
    fn lists(&self, way: &PostCreate) -> Result<Vec<List>, EditError> {
        let keys = *way.keys.known().unwrap_or(&&[][..]);
        let list = |key: &'static str, at: Vec<Step>| {
            let line = if way.windows == Some(key) { ON_WINDOWS.to_owned() } else { for_any_shell() };
            let element = if way.entry == PostCreateEntry::CommandTable { json!({ "command": line }) } else { line.as_str().into() };
            List { key, at, element, line }
        };
        if way.entry == PostCreateEntry::CommandTable {
            return Ok(keys.last().map(|last| list(last, keys.iter().map(|it| key(it)).collect())).into_iter().collect());
        }
        let mut lists = Vec::new();
        for name in keys {
            if edit::read(Format::Jsonc, self.text.as_deref(), &[key(name)])?.is_some() {
                lists.push(list(name, vec![key(name)]));
            }
        }
        if lists.is_empty() {
            lists.extend(keys.first().map(|first| list(first, vec![key(first)])));
        }
        Ok(lists)
    }

    fn enter_element(&mut self, list: &List, replace: bool) -> Result<(), AdoptionError> {
        let there = self.ours(list)?;
        let known = self.pieces.clone();
        let is_known = |value: &Value| *value == list.element || known.iter().any(|piece| piece.value == *value);
        let act = match there.as_slice() {
            [] => Act::Added,
            [one] if *one == list.element => Act::Unchanged,
            all if replace || all.iter().all(is_known) => Act::Replaced,
            _ => Act::LeftEdited,
        };
        if act.changes() {
            for element in &there {
                self.text = edit::take(Format::Jsonc, self.text.as_deref(), &list.to(element), 0)?;
            }
            let at = list.to(&list.element);
            let put = edit::put(Format::Jsonc, self.text.as_deref(), &at, &list.element)?;
            self.text = Some(put.text);
            self.note(act, &list.at, Piece { what: What::Adoption, at, value: list.element.clone(), made: put.made });
        }
        self.say(act);
        Ok(())
    }

    fn take_elements(&mut self, list: &List, replace: bool) -> Result<(), AdoptionError> {
        let mut stays = false;
        for element in self.ours(list)? {
            let recorded = self.pieces.iter().find(|piece| piece.at.starts_with(&list.at)).cloned();
            let is_known = element == list.element || recorded.as_ref().is_some_and(|piece| piece.value == element);
            let act = if is_known || replace { Act::Removed } else { Act::LeftEdited };
            if act == Act::Removed {
                let at = list.to(&element);
                let made = recorded.map_or(at.len(), |piece| piece.made);
                self.text = edit::take(Format::Jsonc, self.text.as_deref(), &at, made)?;
            }
            stays |= act == Act::LeftEdited;
            self.say(act);
        }
        self.pieces.retain(|piece| stays || !piece.at.starts_with(&list.at));
        Ok(())
    }

    /// The elements of a list that have a worktree adopted, whoever wrote them.
    fn ours(&self, list: &List) -> Result<Vec<Value>, EditError> {
        let there = edit::read(Format::Jsonc, self.text.as_deref(), &list.at)?;
        let elements = there.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        Ok(elements.iter().filter(|element| adopts(element)).cloned().collect())
    }

    fn enter_block(&mut self, way: &PostCreate, replace: bool) -> Result<(), AdoptionError> {
        let text = self.text.clone().unwrap_or_default();
        let line = for_script(way);
        if !block::is_of_a_shell(&text) {
            self.by_hand.push((None, line));
            return Ok(());
        }
        let there = block::blocks(&text)?;
        let is_known = |inside: &str| inside == format!("{line}\n") || self.pieces.iter().any(|piece| piece.value == inside);
        let act = match there.as_slice() {
            [] if block::runs(&text, ADOPTS) => Act::Unchanged,
            [] => Act::Added,
            [one] if one.inside == format!("{line}\n") => Act::Unchanged,
            all if replace || all.iter().all(|it| is_known(&it.inside)) => Act::Replaced,
            _ => Act::LeftEdited,
        };
        if act.changes() {
            let made = usize::from(self.text.is_none());
            let left = self.text.as_ref().map(|text| there.iter().rev().fold(text.clone(), |text, it| block::without(&text, it)));
            self.text = Some(block::put(left.as_deref(), &line));
            self.note(act, &[], Piece { what: What::Adoption, at: Vec::new(), value: format!("{line}\n").into(), made });
        }
        self.say(act);
        Ok(())
    }

    fn take_blocks(&mut self, way: &PostCreate, replace: bool) -> Result<(), AdoptionError> {
        let Some(text) = self.text.clone() else {
            self.pieces.clear();
            return Ok(());
        };
        let wanted = format!("{}\n", for_script(way));
        let made = self.pieces.first().map_or(1, |piece| piece.made);
        let mut left = text.clone();
        for block in block::blocks(&text)?.iter().rev() {
            let is_known = block.inside == wanted || self.pieces.iter().any(|piece| piece.value == block.inside.as_str());
            let act = if is_known || replace { Act::Removed } else { Act::LeftEdited };
            if act == Act::Removed {
                left = block::without(&left, block);
            }
            self.say(act);
        }
        self.pieces.retain(|_| self.acts.contains(&Act::LeftEdited));
        self.text = (left == text || made == 0 || !block::is_bare(&left)).then_some(left);
        Ok(())
    }

    /// Notes what stands there now. What was made for what it replaces goes with it; where nothing was, the record is of a file
    /// that git has put another one in the place of.
    fn note(&mut self, act: Act, list: &[Step], piece: Piece) {
        match self.pieces.iter_mut().find(|it| it.at.starts_with(list)) {
            Some(there) if act == Act::Replaced => *there = Piece { made: piece.made.max(there.made), ..piece },
            Some(there) => *there = piece,
            None => self.pieces.push(piece),
        }
    }

    fn say(&mut self, act: Act) {
        if !self.acts.contains(&act) {
            self.acts.push(act);
        }
    }
}

impl List {
    fn to(&self, element: &Value) -> Vec<Step> {
        [self.at.as_slice(), &[Step::Item(Match::Equal(element.clone()))]].concat()
    }
}

fn key(name: &str) -> Step {
    Step::Key(name.to_owned())
}

/// Whether an element of a list runs the adoption.
fn adopts(element: &Value) -> bool {
    match element {
        Value::String(text) => text.contains(ADOPTS),
        Value::Object(fields) => fields.values().any(adopts),
        _ => false,
    }
}

/// The command for whichever shell a host hands it to.
fn for_any_shell() -> String {
    format!("/bin/sh -c '{}'", adopting(""))
}

/// The line for a script, which may have moved elsewhere before.
fn for_script(way: &PostCreate) -> String {
    adopting(&way.worktree.map(|variable| format!(" \"${{{variable}:-.}}\"")).unwrap_or_default())
}

/// The adoption in a shell of its own, which always ends well and reads nothing.
fn adopting(path: &str) -> String {
    format!("(command -v frith >/dev/null 2>&1 && {ADOPTS}{path} </dev/null) || true")
}
