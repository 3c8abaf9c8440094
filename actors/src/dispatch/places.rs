//! Workspaces: what changes one looks at folders beside the store.

use frith_store::{
    error::Failure,
    model::Place,
    refusal::{FolderFault, Refusal},
    text::PathText,
    tx::Tx,
};

use super::{Call, reply};
use crate::{
    api::{Operation, workspace},
    call::Failed,
    caller::Caller,
    env::world::blocking,
    handlers::{self, workspace::RealFolder},
    local::server::Answer,
    place::PlaceMsg,
};

impl Call<'_> {
    pub(super) async fn workspace(self, operation: Operation) -> Result<Answer, Failed> {
        use handlers::{stats, workspace as place};
        match operation {
            Operation::WorkspaceCreate(request) => self.create_workspace(request).await,
            Operation::WorkspaceList(request) => self.read(move |view, caller| place::list(view, caller, &request)).await,
            Operation::WorkspaceShow(request) => self.read(move |view, caller| place::show(view, caller, &request)).await,
            Operation::WorkspaceSet(request) => self.set_workspace(request).await,
            Operation::WorkspaceArchive(request) => self.write_place(move |tx, caller| place::archive(tx, caller, &request)).await,
            Operation::WorkspaceUnarchive(request) => self.write_place(move |tx, caller| place::unarchive(tx, caller, &request)).await,
            Operation::WorkspaceDelete(request) if request.dry_run => {
                self.read(move |view, caller| place::deletion(view, caller, &request)).await
            }
            Operation::WorkspaceDelete(request) => self.write_place(move |tx, caller| place::delete(tx, caller, &request)).await,
            Operation::WorkspaceAllow(request) => self.change_workspace(move |tx, caller| place::allow(tx, caller, &request)).await,
            Operation::WorkspaceStats(request) => {
                let now = self.node.ctx().db.now();
                self.read(move |view, caller| stats::stats(view, caller, &request, now)).await
            }
            _ => Err(Refusal::Stale.into()),
        }
    }

    async fn create_workspace(self, request: workspace::Create) -> Result<Answer, Failed> {
        let folder = self.look(request.folder.as_ref()).await?;
        let id = self.node.ctx().fresh_id();
        self.write(move |tx, caller| handlers::workspace::create(tx, caller, &request, folder.as_ref(), id)).await
    }

    async fn set_workspace(self, request: workspace::Set) -> Result<Answer, Failed> {
        let folder = self.look(request.folder.as_ref()).await?;
        self.change_workspace(move |tx, caller| handlers::workspace::set(tx, caller, &request, folder.as_ref())).await
    }

    /// Changes what agents may get to feel at once: those that run in the place and its forks are told.
    async fn change_workspace(
        self,
        write: impl FnOnce(&mut Tx<'_>, &Caller) -> Result<workspace::PlaceInfo, Failure> + Send + 'static,
    ) -> Result<Answer, Failed> {
        let (caller, ctx) = (self.caller.clone(), self.node.ctx());
        let changed = ctx.db.write_once(self.envelope.call, move |tx| write(tx, &caller)).await?;
        let id = changed.id;
        let places = ctx.db.read(move |view| {
            let forks = view.forks_of(id)?.into_iter().filter(Place::is_live).map(|fork| fork.id);
            let mut places = Vec::new();
            for place in std::iter::once(id).chain(forks) {
                if view.agent_in(place)?.is_some() {
                    places.push(place);
                }
            }
            Ok(places)
        });
        for place in places.await? {
            if let Some(actor) = self.node.place(place).await {
                // One that failed gives its agent the rules when it is started again.
                let _ = actor.cast(PlaceMsg::SettingsChanged);
            }
        }
        reply(&changed)
    }

    /// A folder that was named, from where the caller stands.
    async fn look(&self, named: Option<&PathText>) -> Result<Option<RealFolder>, Failed> {
        let Some(named) = named else { return Ok(None) };
        if named.as_bytes().is_empty() {
            return Err(Refusal::BadFolder { path: named.clone(), fault: FolderFault::Gone }.into());
        }
        let path = match &self.caller.folder {
            Some(folder) => folder.as_path().join(named.as_path()),
            None => named.as_path().to_owned(),
        };
        let folders = self.node.ctx().env.folders.clone();
        let shown = PathText::from(path.as_path());
        let looked = blocking(&self.node.ctx().env.blocking, move || folders.look(&path)).await.map_err(Failed::from_work)?;
        match looked {
            Ok(folder) => Ok(Some(RealFolder(folder))),
            Err(fault) => Err(Refusal::BadFolder { path: shown, fault }.into()),
        }
    }
}
