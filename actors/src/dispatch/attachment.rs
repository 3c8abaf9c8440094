//! Files attached to tasks: their bytes go to the disk and come from it beside the runtime, a piece at a time.

use frith_store::{error::Failure, error::StoreError, refusal::Refusal};

use super::{Call, reply};
use crate::{
    api::{
        Operation,
        attachment::{Attach, Get, Part, Received, Send},
        piece::{PIECE_MOST, Piece},
    },
    call::Failed,
    db::Db,
    env::world::blocking,
    handlers::attachment,
    local::server::Answer,
};

impl Call<'_> {
    pub(super) async fn attachment(self, operation: Operation) -> Result<Answer, Failed> {
        match operation {
            Operation::AttachmentSend(request) => self.receive(request).await,
            Operation::TaskAttach(request) => self.attach_files(request).await,
            Operation::AttachmentGet(request) => self.read_attachment(request).await,
            Operation::AttachmentRemove(request) if request.dry_run => {
                self.read(move |view, caller| attachment::removal(view, caller, &request)).await
            }
            Operation::AttachmentRemove(request) => self.write(move |tx, caller| attachment::remove(tx, caller, &request)).await,
            _ => Err(Refusal::Stale.into()),
        }
    }

    /// Whether the piece may come is asked at each, so that nothing comes that could not be attached.
    async fn receive(self, request: Send) -> Result<Answer, Failed> {
        let caller = self.caller.clone();
        let request = self.node.ctx().db.read(move |view| attachment::may_send(view, &caller, &request).map(|()| request)).await?;
        let length = request.offset + request.bytes.0.len() as u64;
        let Send { upload, name, offset, bytes, .. } = request;
        if self.with_disk(move |db| db.store().blobs().receive(upload, offset, &bytes.0)).await? {
            return reply(&Received { length });
        }
        Err(Refusal::UploadLost { name }.into())
    }

    /// What arrived is made durable and looked at before the write begins, which then only gives it its name.
    async fn attach_files(self, request: Attach) -> Result<Answer, Failed> {
        let uploads: Vec<_> = request.files.iter().map(|sent| sent.upload).collect();
        let complete = move |db: &Db| uploads.into_iter().map(|upload| db.store().blobs().complete(upload)).collect::<Result<Vec<_>, _>>();
        let arrived = self.with_disk(complete).await?;
        self.write(move |tx, caller| attachment::attach(tx, caller, &request, &arrived)).await
    }

    /// The whole is checked before its first piece is handed out.
    async fn read_attachment(self, request: Get) -> Result<Answer, Failed> {
        let (caller, offset) = (self.caller.clone(), request.offset);
        let (standing, attachment) = self.node.ctx().db.read(move |view| attachment::meant(view, &caller, &request)).await?;
        let hash = attachment.hash;
        let bytes = self.with_disk(move |db| {
            let blobs = db.store().blobs();
            if offset == 0 {
                blobs.check(hash)?;
            }
            blobs.part(hash, offset, PIECE_MOST)
        });
        let bytes = Piece(bytes.await?);
        reply(&Part { task: standing.task.id, attachment, offset, bytes })
    }

    /// Does something with the disk, beside the runtime.
    pub(super) async fn with_disk<T: std::marker::Send + 'static>(
        &self,
        work: impl FnOnce(&Db) -> Result<T, StoreError> + std::marker::Send + 'static,
    ) -> Result<T, Failed> {
        let db = self.node.ctx().db.clone();
        let done = blocking(&self.node.ctx().env.blocking, move || work(&db)).await.map_err(Failed::from_work)?;
        done.map_err(|error| Failure::Broken(error).into())
    }
}
