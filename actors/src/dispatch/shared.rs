//! What a workspace shares with its forks: notes, skills, sites.

use frith_store::refusal::Refusal;

use super::{Call, reply};
use crate::{
    api::{Operation, piece::Piece, skill::Load},
    call::Failed,
    handlers::{memory, site, skill},
    local::server::Answer,
};

impl Call<'_> {
    pub(super) async fn shared(self, operation: Operation) -> Result<Answer, Failed> {
        use Operation as Op;
        match operation {
            Op::MemoryList(request) => self.read(move |view, caller| memory::list(view, caller, &request)).await,
            Op::MemoryLoad(request) => self.read(move |view, caller| memory::load(view, caller, &request)).await,
            Op::MemorySave(request) => self.write(move |tx, caller| memory::save(tx, caller, &request)).await,
            Op::MemoryDelete(request) => self.write(move |tx, caller| memory::delete(tx, caller, &request)).await,
            Op::SkillAdd(request) => self.write(move |tx, caller| skill::add(tx, caller, &request)).await,
            Op::SkillList(request) => self.read(move |view, caller| skill::list(view, caller, &request)).await,
            Op::SkillLoad(request) => self.load_skill(request).await,
            Op::SkillOn(on) => self.write(move |tx, caller| skill::switch(tx, caller, &on.name, on.workspace.as_ref(), true)).await,
            Op::SkillOff(off) => self.write(move |tx, caller| skill::switch(tx, caller, &off.name, off.workspace.as_ref(), false)).await,
            Op::SkillRemove(request) if request.dry_run => self.read(move |view, _| skill::removal(view, &request)).await,
            Op::SkillRemove(request) => self.write(move |tx, caller| skill::remove(tx, caller, &request)).await,
            Op::SiteAdd(request) => self.write(move |tx, caller| site::add(tx, caller, &request)).await,
            Op::SiteList(request) => self.read(move |view, caller| site::list(view, caller, &request)).await,
            Op::SiteRemove(request) => self.write(move |tx, caller| site::remove(tx, caller, &request)).await,
            _ => Err(Refusal::Stale.into()),
        }
    }

    async fn load_skill(self, request: Load) -> Result<Answer, Failed> {
        let caller = self.caller.clone();
        let (mut loaded, hash) = self.node.ctx().db.read(move |view| skill::meant(view, &caller, &request)).await?;
        match String::from_utf8(self.with_disk(move |db| db.store().blobs().get(hash)).await?) {
            Ok(text) => loaded.text = Some(text),
            Err(error) => loaded.bytes = Some(Piece(error.into_bytes())),
        }
        reply(&loaded)
    }
}
