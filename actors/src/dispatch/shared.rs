//! What a workspace shares with its forks.

use frith_store::refusal::Refusal;

use super::Call;
use crate::{api::Operation, call::Failed, handlers::memory, local::server::Answer};

impl Call<'_> {
    pub(super) async fn shared(self, operation: Operation) -> Result<Answer, Failed> {
        match operation {
            Operation::MemoryList(request) => self.read(move |view, caller| memory::list(view, caller, &request)).await,
            Operation::MemoryLoad(request) => self.read(move |view, caller| memory::load(view, caller, &request)).await,
            Operation::MemorySave(request) => self.write(move |tx, caller| memory::save(tx, caller, &request)).await,
            Operation::MemoryDelete(request) => self.write(move |tx, caller| memory::delete(tx, caller, &request)).await,
            _ => Err(Refusal::Stale.into()),
        }
    }
}
