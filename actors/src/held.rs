//! Messages that are held back: sent when they are due, in the order in which they were written.
//!
//! They wait in rows of this machine alone, so a restart loses none, and one whose time came meanwhile is sent at once.
//! Nothing is looked for while none waits.

use std::time::Duration;

use frith_store::{
    error::Failure,
    model::{HeldFor, HeldMessage},
    refusal::Refusal,
    rules::in_the_way,
    tx::Tx,
};

use crate::{ctx::Ctx, handlers};

/// The longest that the node waits before it asks the clock again, which somebody may have set.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// How long it waits after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Sends held messages as long as the node runs.
pub async fn keep(ctx: Ctx) {
    loop {
        let pause = match ctx.db.read(|view| Ok(view.next_held()?)).await {
            Ok(None) => {
                ctx.held.notified().await;
                continue;
            }
            Ok(Some(due)) => u64::try_from(due.ms() - ctx.db.now().ms()).map(Duration::from_millis).unwrap_or_default(),
            Err(failure) => {
                tracing::warn!(%failure, "the messages that are held back cannot be read");
                AFTER_FAILURE
            }
        };
        if pause.is_zero() {
            send(&ctx).await;
            continue;
        }
        tokio::select! {
            biased;
            () = ctx.held.notified() => {}
            () = tokio::time::sleep(pause.min(LOOK_AGAIN)) => {}
        }
    }
}

/// Sends the first message. One that its thread does not take any more is let go of, and that is said.
async fn send(ctx: &Ctx) {
    let sent = ctx.db.write(|tx| {
        let Some(message) = tx.held_messages()?.into_iter().next().filter(|message| message.due <= tx.now()) else { return Ok(()) };
        deliver(tx, &message)?;
        Ok(tx.release_message(&message)?)
    });
    match sent.await {
        Ok(()) => {}
        Err(Failure::Refused(refusal)) => {
            tracing::warn!(%refusal, "a message that was held back was not sent");
            let let_go = ctx.db.write(|tx| match tx.held_messages()?.first() {
                Some(message) => Ok(tx.release_message(&message.clone())?),
                None => Ok(()),
            });
            if let Err(failure) = let_go.await {
                tracing::error!(%failure, "a message that cannot be sent could not be let go of");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
        Err(failure @ Failure::Broken(_)) => {
            tracing::error!(%failure, "a message that was held back could not be sent, and is tried again");
            tokio::time::sleep(AFTER_FAILURE).await;
        }
    }
}

fn deliver(tx: &mut Tx<'_>, message: &HeldMessage) -> Result<(), Failure> {
    match &message.to {
        HeldFor::Thread(task) => {
            let found = tx.require_task(*task)?;
            if found.deleted.is_some() {
                return Err(Refusal::TaskInTrash { task: in_the_way(&found) }.into());
            }
            tx.add_message(found.id, &message.text, &message.by)
        }
        HeldFor::Mail { to, task } => handlers::mail::send_held(tx, message, to, *task),
    }
}
