//! What is to be changed in one file, and why each change is made or not. Pure: a text and what is known of it in, a text
//! out; nothing is read or written here.

use frith_store::hosts::Format;
use serde::Serialize;

use crate::{
    edit::{self, EditError, Match, Step},
    install::{
        ours::{self, Basis, Place, Standing, State, standing},
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
    /// Whether something goes that somebody changed.
    pub loses_edit: bool,
}

/// Enters what is wanted. `replace`: also where somebody changed it. What is somebody else's is never replaced.
///
/// # Errors
/// The text is not of its format, or has no room for what is wanted.
pub fn enter(text: Option<&str>, wanted: &[Wanted], basis: &Basis<'_>, replace: bool) -> Result<FilePlan, EditError> {
    let mut plan = FilePlan::new(text, basis);
    let outdated: Vec<_> = basis.recorded.iter().filter(|piece| wanted.iter().all(|it| it.what != piece.what)).cloned().collect();
    for piece in outdated.iter().rev() {
        plan.take_recorded(piece, wanted, basis, replace)?;
    }
    for it in wanted {
        plan.enter_one(it, basis, replace)?;
    }
    Ok(plan)
}

/// Takes out what was entered, then whatever else of ours could be there. `replace`: also what somebody changed, which stays
/// otherwise and stays recorded.
///
/// # Errors
/// The text is not of its format.
pub fn take_out(text: Option<&str>, possible: &[Wanted], basis: &Basis<'_>, replace: bool) -> Result<FilePlan, EditError> {
    let mut plan = FilePlan::new(text, basis);
    for piece in basis.recorded.iter().rev() {
        plan.take_recorded(piece, possible, basis, replace)?;
    }
    let unrecorded = Basis { recorded: &[], ..*basis };
    for it in possible {
        plan.take_unrecorded(it, &unrecorded, replace)?;
    }
    Ok(plan)
}

impl FilePlan {
    fn new(text: Option<&str>, basis: &Basis<'_>) -> Self {
        let (text, pieces) = (text.map(str::to_owned), basis.recorded.to_vec());
        Self { text, acts: Vec::new(), pieces, is_program: false, loses_edit: false }
    }

    fn enter_one(&mut self, wanted: &Wanted, basis: &Basis<'_>, replace: bool) -> Result<(), EditError> {
        let Standing { state, places } = standing(self.text.as_deref(), wanted, basis)?;
        let act = match state {
            State::Current => Act::Unchanged,
            State::Missing => Act::Added,
            State::Stale | State::Doubled => Act::Replaced,
            State::Edited if replace => Act::Replaced,
            State::Edited => Act::LeftEdited,
            State::Foreign => Act::LeftForeign,
        };
        if act.changes() {
            match &wanted.form {
                Form::Whole { text, is_program } => self.whole(wanted, text, *is_program),
                Form::Value { .. } => self.value(wanted, state, &places, basis)?,
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

    fn value(&mut self, wanted: &Wanted, state: State, places: &[Place], basis: &Basis<'_>) -> Result<(), EditError> {
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
        let whole = ours::with_host_adds(value, places.first().map(|place| &place.value).filter(|_| !is_element), basis.host);
        // Where the host wrote it as it cannot be written back, it asks the person anew.
        let put =
            edit::put(*format, self.text.as_deref(), &at, &whole).or_else(|_| edit::put(*format, self.text.as_deref(), &at, value))?;
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

    fn take_recorded(&mut self, piece: &Piece, possible: &[Wanted], basis: &Basis<'_>, replace: bool) -> Result<(), EditError> {
        let wanted = possible.iter().find(|it| it.what == piece.what);
        let place = match wanted.map(|it| &it.form).or_else(|| any_value(possible)) {
            Some(Form::Value { format, .. }) => self.recorded_value(piece, *format, wanted, basis)?.map(|place| (place, Some(*format))),
            Some(Form::Whole { text, .. }) => self.recorded_whole(piece, Some(text)).map(|place| (place, None)),
            None => self.recorded_whole(piece, None).map(|place| (place, None)),
        };
        let act = place.as_ref().map(|(place, _)| taken(place.state, replace));
        // What stays as somebody changed it is still what was entered once, and goes as that when they say so.
        if act != Some(Act::LeftEdited) {
            self.pieces.retain(|it| it.what != piece.what);
        }
        let (Some((place, format)), Some(act)) = (place, act) else { return Ok(()) };
        if act == Act::Removed {
            self.take(&place, format, piece.made)?;
        }
        self.say(&piece.what, act);
        Ok(())
    }

    /// What stands in a file that was entered whole.
    fn recorded_whole(&self, piece: &Piece, wanted: Option<&String>) -> Option<Place> {
        let text = self.text.as_ref()?;
        let state = match () {
            () if piece.value == *text || wanted == Some(text) => State::Current,
            () if text.contains(super::ours::MARK) => State::Edited,
            () => State::Foreign,
        };
        Some(Place { at: Vec::new(), value: text.as_str().into(), state })
    }

    /// What stands where a value was entered, or where that was moved to.
    fn recorded_value(
        &self,
        piece: &Piece,
        format: Format,
        wanted: Option<&Wanted>,
        basis: &Basis<'_>,
    ) -> Result<Option<Place>, EditError> {
        let there = edit::read(format, self.text.as_deref(), &piece.at)?;
        let place = |value, state| Place { at: piece.at.clone(), value, state };
        Ok(match (&piece.what, there, wanted) {
            (_, Some(there), _) if there == piece.value => Some(place(there, State::Current)),
            // What is set beside hooks and was set otherwise since is somebody's.
            (What::Setting(_), ..) => None,
            (_, _, Some(wanted)) => standing(self.text.as_deref(), wanted, basis)?.places.into_iter().next(),
            (_, there, None) => there.map(|there| place(there, State::Edited)),
        })
    }

    fn take_unrecorded(&mut self, wanted: &Wanted, basis: &Basis<'_>, replace: bool) -> Result<(), EditError> {
        if matches!(wanted.what, What::Setting(_)) {
            return Ok(());
        }
        let format = match &wanted.form {
            Form::Whole { .. } => None,
            Form::Value { format, .. } => Some(*format),
        };
        let Standing { state, places } = standing(self.text.as_deref(), wanted, basis)?;
        if state == State::Foreign {
            self.say(&wanted.what, Act::LeftForeign);
        }
        for place in places.iter().filter(|place| place.state != State::Foreign) {
            let act = taken(place.state, replace);
            if act == Act::Removed {
                self.take(place, format, 0)?;
            }
            self.say(&wanted.what, act);
        }
        Ok(())
    }

    /// Takes out what stands at a place: of a file without a format, all of it.
    fn take(&mut self, place: &Place, format: Option<Format>, made: usize) -> Result<(), EditError> {
        self.loses_edit |= place.state == State::Edited;
        self.text = match format {
            None => None,
            Some(format) => edit::take(format, self.text.as_deref(), &place.at, made)?,
        };
        Ok(())
    }

    /// What becomes of a thing, each told once: what was entered comes before what stands there besides.
    fn say(&mut self, what: &What, act: Act) {
        if self.acts.iter().all(|(told, how)| told != what || *how != act) {
            self.acts.push((what.clone(), act));
        }
    }
}

/// What becomes of something that is there, when ours is taken out.
fn taken(state: State, replace: bool) -> Act {
    match state {
        State::Foreign => Act::LeftForeign,
        State::Edited if !replace => Act::LeftEdited,
        _ => Act::Removed,
    }
}

/// The form of any value in a file, which tells its format for one that is not wanted any more.
fn any_value(possible: &[Wanted]) -> Option<&Form> {
    possible.iter().map(|it| &it.form).find(|form| matches!(form, Form::Value { .. }))
}
