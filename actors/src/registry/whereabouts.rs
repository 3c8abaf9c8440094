//! Where an agent works: its folder, and the place that follows from it.

use frith_store::{
    error::StoreError,
    id::{MachineId, PlaceId},
    text::PathText,
    view::View,
};

use crate::{ctx::Ctx, env::world::blocking};

/// Where an agent works.
#[derive(Debug, Clone, Default)]
pub struct Whereabouts {
    /// Its folder, without symbolic links; none where it is not told, or is gone.
    pub folder: Option<PathText>,
    /// What stands for it in the main checkout, when it is in a linked worktree.
    pub main_folder: Option<PathText>,
}

impl Whereabouts {
    /// The deepest place that contains the folder; in a linked worktree that is in none, the main checkout's.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn place(&self, view: &View<'_>, machine: MachineId) -> Result<Option<PlaceId>, StoreError> {
        for folder in [&self.folder, &self.main_folder].into_iter().flatten() {
            if let Some(place) = view.place_with_folder(folder.as_path(), machine)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }
}

/// Looks at a folder that a hook told.
pub async fn look(ctx: &Ctx, folder: Option<PathText>) -> Whereabouts {
    let Some(folder) = folder else { return Whereabouts::default() };
    let folders = ctx.env.folders.clone();
    let looked = blocking(&ctx.env.blocking, move || {
        let folder = folders.real(folder.as_path());
        let main_folder = folder.as_ref().and_then(|folder| folders.in_main_checkout(folder.as_path()));
        Whereabouts { folder, main_folder }
    });
    looked.await.unwrap_or_default()
}
