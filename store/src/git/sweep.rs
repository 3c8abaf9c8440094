//! Finishing, or taking back, what killed calls left of worktrees, wherever on the machine those stand.

use std::path::Path;

use super::error::RemoveError;
use super::home::SiblingKind;
use super::journal::{self, Doing};
use super::leftovers::{Swept, io_error, set_aside_if_dead};
use super::relock;
use super::watch::{Limits, Watch};

/// Goes through what calls of this FRITH_HOME wrote down before they changed anything. What a living call is at work with is
/// not touched, and neither is anything that nothing was written down about.
pub fn sweep_worktrees(home: &Path, limits: Limits, watch: &mut dyn Watch) -> Result<Swept, RemoveError> {
    let home = home.canonicalize().unwrap_or_else(|_| home.to_path_buf());
    let mut swept = Swept::default();
    for (own, doing) in journal::lines(&home).map_err(io_error("looked at", &home))? {
        if own.siblings().map_err(io_error("listed", own.beside()))?.iter().any(|one| one.kind == SiblingKind::Making) {
            set_aside_if_dead(&own)?;
        }
        for sibling in own.siblings().map_err(io_error("listed", own.beside()))? {
            swept.add(sibling, limits, watch)?;
        }
        if let Doing::Relocking { stamp } = doing {
            match relock::give_back(&own, stamp, limits, watch) {
                Err(halted @ RemoveError::Halted { .. }) => return Err(halted),
                Err(error) => {
                    swept.kept.push((own.folder(), error));
                    continue;
                }
                Ok(()) => {}
            }
        }
        journal::close(&own, doing).map_err(io_error("written", &home))?;
    }
    Ok(swept)
}
