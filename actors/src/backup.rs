//! Backups of the running node: beside everything else it does, from one moment's view of the store.

use frith_store::{backup::BackupError, text::PathText};
use tokio::sync::mpsc;

use crate::{
    api::node::{BackedUp, Backup},
    call::{Failed, Progress},
    env::world::{BackupWanted, blocking},
    node::Node,
};

/// Writes a backup into the file that was named, from where the caller stands.
///
/// # Errors
/// The file is there already, or something cannot be read or written; then nothing is left of it.
pub async fn back_up(node: &Node, request: Backup, folder: Option<PathText>, progress: mpsc::Sender<Progress>) -> Result<BackedUp, Failed> {
    let ctx = node.ctx().clone();
    let to = match folder {
        Some(folder) => folder.as_path().join(request.file.as_path()),
        None => request.file.as_path().to_owned(),
    };
    let wanted = BackupWanted { to, over: request.force, made: ctx.env.clock.now() };
    let (file, made) = (PathText::from(wanted.to.as_path()), wanted.made);
    let blocked = ctx.env.blocking.clone();
    let written = blocking(&blocked, move || {
        let mut watch = |done, of| {
            let (what, part) =
                if of == 0 { (format!("{done} rows copied"), None) } else { ("copying texts and attachments".into(), Some((done, of))) };
            // A caller that does not read its progress is told of a later one.
            let _ = progress.try_send(Progress { what, part });
        };
        ctx.env.disk.back_up(ctx.db.store(), &wanted, &mut watch)
    });
    let written = written.await.map_err(Failed::from_work)?.map_err(|error| failed(error, &file))?;
    tracing::info!(bytes = written.bytes, "a backup was written");
    Ok(BackedUp {
        file,
        made,
        contents: written.contents,
        files: written.files,
        left_out: written.left_out,
        config: written.config,
        bytes: written.bytes,
    })
}

fn failed(error: BackupError, file: &PathText) -> Failed {
    match error {
        BackupError::Refused(refusal) => Failed::Refused(refusal),
        error => {
            let hint = error.hint();
            match Failed::broken_by(&format!("the backup `{file}` could not be written"), &error) {
                Failed::Broken { facts, .. } => Failed::Broken { facts, hint },
                refused => refused,
            }
        }
    }
}
