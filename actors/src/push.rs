//! What is pushed to an agent at once: whole frames, oldest first, within a budget; of the rest only how many there are. Pure:
//! nothing here knows a mailbox or a host.

use std::collections::BTreeSet;

use frith_store::{
    id::MachineId,
    model::{By, Mail, OutboxEntry},
};

/// The most bytes that an agent is told at once, whatever is configured: hosts cut what is longer than 10,000 characters.
pub const PUSH_MOST: usize = 9_500;

/// A message that waits to be pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Which one it is.
    pub entry: OutboxEntry,
    /// Who sent it.
    pub from: By,
    /// In its frame.
    pub framed: String,
}

/// What one sender is: what it sends from one machine keeps its order.
pub type Sender = (By, MachineId);

/// The sender of a message.
pub fn sender_of(mail: &Mail) -> Sender {
    (mail.from.clone(), mail.entry.machine)
}

impl Waiting {
    /// Its sender.
    pub fn sender(&self) -> Sender {
        (self.from.clone(), self.entry.machine)
    }
}

/// What is pushed at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// The frames, and the line that says how many more there are.
    pub text: String,
    /// The messages whose frames it has.
    pub messages: Vec<OutboxEntry>,
    /// How many more wait.
    pub more: u64,
}

/// What of the messages that wait is pushed within `room` bytes. `waiting` are the oldest of `count` in all; what senders in
/// `held` sent waits for something earlier of theirs. How many more there are is said if `says_more`, and room is left for that.
///
/// One that is larger than the room is never pushed, and nothing that its sender sent after it is pushed before it.
pub fn pushed(waiting: &[Waiting], count: u64, held: &BTreeSet<Sender>, room: usize, says_more: bool) -> Batch {
    let room = room.min(PUSH_MOST);
    let whole = fitting(waiting, held, room);
    if whole.len() as u64 >= count {
        return batch(&whole, 0, false);
    }
    let left = if says_more { room.saturating_sub(more_line(count).len() + 1) } else { room };
    let fits = fitting(waiting, held, left);
    let more = count - fits.len() as u64;
    batch(&fits, more, says_more && more_line(more).len() <= room)
}

fn fitting<'a>(waiting: &'a [Waiting], held: &BTreeSet<Sender>, room: usize) -> Vec<&'a Waiting> {
    let (mut held, mut used, mut fits) = (held.clone(), 0, Vec::new());
    for one in waiting {
        let cost = one.framed.len() + usize::from(used > 0);
        if held.contains(&one.sender()) {
            continue;
        }
        if one.framed.len() > room {
            held.insert(one.sender());
            continue;
        }
        if used + cost > room {
            break;
        }
        used += cost;
        fits.push(one);
    }
    fits
}

fn batch(fits: &[&Waiting], more: u64, says_more: bool) -> Batch {
    let frames = fits.iter().map(|one| one.framed.clone());
    let text = frames.chain(says_more.then(|| more_line(more))).collect::<Vec<_>>().join("\n");
    Batch { text, messages: fits.iter().map(|one| one.entry).collect(), more }
}

fn more_line(more: u64) -> String {
    format!("… and {more} more: `agent_inbox` reads them")
}

#[cfg(test)]
mod tests {
    use frith_store::id::AgentId;
    use proptest::prelude::*;

    use super::*;

    fn waiting(number: u64, sender: u8, length: usize) -> Waiting {
        Waiting {
            entry: OutboxEntry { machine: MachineId::from_bytes([1; 8]), number },
            from: By::Agent(AgentId::from_bytes([sender; 16])),
            framed: "x".repeat(length),
        }
    }

    fn numbers(batch: &Batch) -> Vec<u64> {
        batch.messages.iter().map(|message| message.number).collect()
    }

    fn push(waiting: &[Waiting], room: usize) -> Batch {
        pushed(waiting, waiting.len() as u64, &BTreeSet::new(), room, true)
    }

    #[test]
    fn all_that_fits_is_pushed_and_nothing_more_is_said() {
        let batch = push(&[waiting(0, 1, 50), waiting(1, 2, 49)], 100);
        assert_eq!((numbers(&batch), batch.more, batch.text.len()), (vec![0, 1], 0, 100));
        assert_eq!(push(&[], 100), Batch::default());
    }

    #[test]
    fn b10_of_what_does_not_fit_only_the_number_is_said_and_no_frame_is_cut() {
        let fifty: Vec<Waiting> = (0..50).map(|number| waiting(number, number as u8, 2_000)).collect();
        let batch = push(&fifty, 1024 * 64);
        assert!(batch.text.chars().count() < 10_000 && batch.text.len() <= PUSH_MOST);
        assert_eq!((numbers(&batch), batch.more), (vec![0, 1, 2, 3], 46));
        assert!(batch.text.ends_with("\n… and 46 more: `agent_inbox` reads them"), "{}", batch.text);
        let small = push(&fifty, 1024);
        assert_eq!((small.messages.len(), small.more), (0, 50));
        assert_eq!(small.text, more_line(50));
    }

    #[test]
    fn one_that_never_fits_keeps_its_sender_back_and_nobody_else() {
        let batch = push(&[waiting(0, 1, 900), waiting(1, 1, 10), waiting(2, 2, 10)], 500);
        assert_eq!((numbers(&batch), batch.more), (vec![2], 2));
        let one_in_hand = BTreeSet::from([waiting(0, 2, 0).sender()]);
        let held = pushed(&[waiting(1, 2, 10), waiting(2, 3, 10)], 2, &one_in_hand, 500, false);
        assert_eq!((numbers(&held), held.text.len()), (vec![2], 10));
    }

    #[test]
    fn a_room_too_small_for_anything_stays_empty() {
        assert_eq!(push(&[waiting(0, 1, 10)], 0), Batch { more: 1, ..Batch::default() });
    }

    proptest! {
        #[test]
        fn a_push_keeps_the_order_of_each_sender_and_its_room(
            sizes in proptest::collection::vec((0_u8..4, 1_usize..3_000), 0..60),
            room in 0_usize..20_000,
            says_more: bool,
        ) {
            let all: Vec<Waiting> = (0..).zip(&sizes).map(|(number, (sender, size))| waiting(number, *sender, *size)).collect();
            let batch = pushed(&all, all.len() as u64, &BTreeSet::new(), room, says_more);
            prop_assert!(batch.text.len() <= room.min(PUSH_MOST));
            prop_assert_eq!(batch.messages.len() as u64 + batch.more, all.len() as u64);
            for sender in 0..4 {
                let of_sender = |one: &&Waiting| one.from == By::Agent(AgentId::from_bytes([sender; 16]));
                let sent: Vec<OutboxEntry> = all.iter().filter(of_sender).map(|one| one.entry).collect();
                let got: Vec<OutboxEntry> = batch.messages.iter().copied().filter(|entry| sent.contains(entry)).collect();
                prop_assert_eq!(&sent[..got.len()], &got[..], "the first ones, in order, and none passed over");
            }
        }
    }
}
