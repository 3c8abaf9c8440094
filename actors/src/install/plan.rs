//! What is to be changed in one file, and why each change is made or not. Pure: a text and what is known of it in, a text
//! out; nothing is read or written here.

use serde::Serialize;

use crate::{
    edit::{self, EditError, Match, Step},
    install::{
        ours::{Basis, Place, Standing, State, standing},
        record::Piece,
        wanted::{Form, Wanted, What},
    },
};

/// What becomes of one thing of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Act {
    /// It is entered.
    Added,
    /// It is entered in place of what stood there.
    Replaced,
    /// It is taken out.
    Removed,
    /// It stands as it should.
    Unchanged,
    /// Somebody changed it, so it stays as they want it.
    LeftEdited,
    /// Something else stands in its place and stays.
    LeftForeign,
}

impl Act {
    /// Whether the file is another one for it.
    pub fn changes(self) -> bool {
        matches!(self, Self::Added | Self::Replaced | Self::Removed)
    }
}

/// What is to become of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FilePlan {
    /// Its text; none when there is no file.
    pub text: Option<String>,
    /// What becomes of each thing.
    pub acts: Vec<(What, Act)>,
    /// What will then stand there of ours, in the order in which it was entered.
    pub pieces: Vec<Piece>,
    /// Whether it is a program.
    pub is_program: bool,
}

/// Enters what is wanted. `replace`: also where somebody changed it.
///
/// # Errors
/// The text is not of its format, or has no room for what is wanted.
pub fn enter(text: Option<&str>, wanted: &[Wanted], basis: &Basis<'_>, replace: bool) -> Result<FilePlan, EditError> {
    let mut plan = FilePlan { text: text.map(str::to_owned), acts: Vec::new(), pieces: basis.recorded.to_vec(), is_program: false };
    let outdated: Vec<_> = basis.recorded.iter().filter(|piece| wanted.iter().all(|it| it.what != piece.what)).cloned().collect();
    for piece in outdated.iter().rev() {
        plan.take_recorded(piece, wanted, basis)?;
    }
    for it in wanted {
        plan.enter_one(it, basis, replace)?;
    }
    Ok(plan)
}

/// Takes out what was entered, then whatever else of ours could be there. `replace`: also what somebody changed that no
/// record knows.
///
/// # Errors
/// The text is not of its format.
pub fn take_out(text: Option<&str>, possible: &[Wanted], basis: &Basis<'_>, replace: bool) -> Result<FilePlan, EditError> {
    let mut plan = FilePlan { text: text.map(str::to_owned), acts: Vec::new(), pieces: basis.recorded.to_vec(), is_program: false };
    for piece in basis.recorded.iter().rev() {
        plan.take_recorded(piece, possible, basis)?;
    }
    let unrecorded = Basis { recorded: &[], ..*basis };
    for it in possible {
        plan.take_unrecorded(it, &unrecorded, replace)?;
    }
    Ok(plan)
}

impl FilePlan {
    fn enter_one(&mut self, wanted: &Wanted, basis: &Basis<'_>, replace: bool) -> Result<(), EditError> {
        let Standing { state, places } = standing(self.text.as_deref(), wanted, basis)?;
        let act = match state {
            State::Current => Act::Unchanged,
            State::Missing => Act::Added,
            State::Stale | State::Doubled => Act::Replaced,
            State::Edited | State::Foreign if replace && !matches!(wanted.what, What::Setting(_)) => Act::Replaced,
            State::Edited => Act::LeftEdited,
            State::Foreign => Act::LeftForeign,
        };
        if act.changes() {
            match &wanted.form {
                Form::Whole { text, is_program } => self.whole(wanted, text, *is_program),
                Form::Value { .. } => self.value(wanted, state, &places)?,
            }
        }
        self.say(&wanted.what, act);
        Ok(())
    }

    fn whole(&mut self, wanted: &Wanted, text: &str, is_program: bool) {
        self.text = Some(text.to_owned());
        self.is_program = is_program;
        self.note(Piece { what: wanted.what.clone(), at: Vec::new(), value: text.into(), made: 1 });
    }

    fn value(&mut self, wanted: &Wanted, state: State, places: &[Place]) -> Result<(), EditError> {
        let Form::Value { format, at, value } = &wanted.form else { return Ok(()) };
        let is_element = matches!(wanted.what, What::Hook(_));
        let kept = usize::from(state == State::Doubled);
        if is_element {
            // An element is known by what it says, so another is put behind the ones that stay. Of several, one stays.
            for place in places.iter().skip(kept) {
                self.text = edit::take(*format, self.text.as_deref(), &place.at, 0)?;
            }
        }
        if is_element && kept == 1 {
            return Ok(());
        }
        let at = if is_element { [at.as_slice(), &[Step::Item(Match::Equal(value.clone()))]].concat() } else { at.clone() };
        let put = edit::put(*format, self.text.as_deref(), &at, value)?;
        self.text = Some(put.text);
        // What was made for it earlier goes with it, also when somebody took it out by hand meanwhile.
        let made = put.made.max(self.piece(&wanted.what).map_or(0, |piece| piece.made));
        self.note(Piece { what: wanted.what.clone(), at, value: value.clone(), made });
        Ok(())
    }

    fn piece(&self, what: &What) -> Option<&Piece> {
        self.pieces.iter().find(|piece| piece.what == *what)
    }

    /// Notes what stands there now: in the place of what it replaced, since things are taken out in the reverse order.
    fn note(&mut self, piece: Piece) {
        match self.pieces.iter_mut().find(|it| it.what == piece.what) {
            Some(there) => *there = piece,
            None => self.pieces.push(piece),
        }
    }

    fn take_recorded(&mut self, piece: &Piece, possible: &[Wanted], basis: &Basis<'_>) -> Result<(), EditError> {
        self.pieces.retain(|it| it.what != piece.what);
        let wanted = possible.iter().find(|it| it.what == piece.what);
        let Some(Form::Value { format, .. }) = wanted.map(|it| &it.form).or_else(|| any_value(possible)) else {
            let is_ours = self.text.as_deref().is_some_and(|text| piece.value == text || text.contains(super::ours::MARK));
            if is_ours {
                self.text = None;
                self.say(&piece.what, Act::Removed);
            }
            return Ok(());
        };
        let format = *format;
        let there = edit::read(format, self.text.as_deref(), &piece.at)?;
        let at = match (&piece.what, there) {
            (_, Some(there)) if there == piece.value => Some(piece.at.clone()),
            // What is set beside hooks and was set otherwise since is somebody's.
            (What::Setting(_), _) => None,
            _ => self.changed_place(wanted, basis)?,
        };
        if let Some(at) = at {
            self.text = edit::take(format, self.text.as_deref(), &at, piece.made)?;
            self.say(&piece.what, Act::Removed);
        }
        Ok(())
    }

    /// Where something stands that was entered and changed since, as long as it is ours.
    fn changed_place(&self, wanted: Option<&Wanted>, basis: &Basis<'_>) -> Result<Option<Vec<Step>>, EditError> {
        let Some(wanted) = wanted else { return Ok(None) };
        let Standing { state, places } = standing(self.text.as_deref(), wanted, basis)?;
        Ok(places.into_iter().next().filter(|_| state != State::Foreign).map(|place| place.at))
    }

    fn take_unrecorded(&mut self, wanted: &Wanted, basis: &Basis<'_>, replace: bool) -> Result<(), EditError> {
        if matches!(wanted.what, What::Setting(_)) {
            return Ok(());
        }
        let Standing { state, places } = standing(self.text.as_deref(), wanted, basis)?;
        let act = match state {
            State::Missing => return Ok(()),
            State::Current | State::Stale | State::Doubled => Act::Removed,
            State::Edited if replace => Act::Removed,
            State::Edited => Act::LeftEdited,
            State::Foreign => Act::LeftForeign,
        };
        if act == Act::Removed {
            for place in &places {
                self.text = match &wanted.form {
                    Form::Whole { .. } => None,
                    Form::Value { format, .. } => edit::take(*format, self.text.as_deref(), &place.at, 0)?,
                };
            }
        }
        self.say(&wanted.what, act);
        Ok(())
    }

    /// What becomes of a thing, told once: what was entered comes before what stands there besides.
    fn say(&mut self, what: &What, act: Act) {
        if self.acts.iter().all(|(told, _)| told != what) {
            self.acts.push((what.clone(), act));
        }
    }
}

/// The form of any value in a file, which tells its format for one that is not wanted any more.
fn any_value(possible: &[Wanted]) -> Option<&Form> {
    possible.iter().map(|it| &it.form).find(|form| matches!(form, Form::Value { .. }))
}
