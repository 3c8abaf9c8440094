//! What these tests share: a watch without a clock, and one row found by its folder.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use frith_store::git::{Checkout, Inventory, Judged, Known, Progress, Step, Want, Watch, inventory, judge};

/// A watch that nobody looks through.
pub struct Nobody;

impl Watch for Nobody {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn progress(&mut self, _progress: Progress) {}

    fn step(&mut self, _step: Step) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

pub fn read(folder: &Path) -> Inventory {
    inventory(folder).unwrap().unwrap()
}

#[track_caller]
pub fn row<'a>(inventory: &'a Inventory, folder: &Path) -> &'a Checkout {
    let real = folder.canonicalize();
    let path = real.as_deref().unwrap_or(folder);
    inventory.checkouts.iter().find(|one| one.path == path).unwrap_or_else(|| panic!("{path:?} in {inventory:#?}"))
}

/// The verdict on one worktree, read anew.
#[track_caller]
pub fn verdict(folder: &Path, tree: &Path) -> Judged {
    let inventory = read(folder);
    judge(&inventory, &[row(&inventory, tree)], Want::Verdict, &Known::none(), &mut Nobody).remove(0)
}
