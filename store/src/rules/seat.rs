//! Who decides for a place: what must not happen twice is decided by the home alone.

use super::named;
use crate::{id::MachineId, model::Place, refusal::Refusal};

/// That this machine decides for a place under this epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decides {
    epoch: u64,
}

impl Decides {
    /// The epoch of the seat under which a decision is made.
    pub fn epoch(self) -> u64 {
        self.epoch
    }
}

/// Whether `machine` decides for `place`.
///
/// # Errors
/// [`Refusal::HomeAway`] when another machine does.
pub fn can_decide(place: &Place, machine: MachineId) -> Result<Decides, Refusal> {
    if place.seat.home == machine {
        Ok(Decides { epoch: place.seat.epoch })
    } else {
        Err(Refusal::HomeAway { place: named(place), home: place.seat.home })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::samples::{HERE, place};

    #[test]
    fn only_the_home_decides() {
        let place = place(1, "app");
        assert_eq!(can_decide(&place, HERE).unwrap().epoch(), 1);
        let other = MachineId::from_bytes([2; 8]);
        assert!(matches!(can_decide(&place, other), Err(Refusal::HomeAway { home, .. }) if home == HERE));
    }
}
