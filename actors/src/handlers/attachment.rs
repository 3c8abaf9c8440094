//! Files attached to tasks: what may be sent, attached, read and taken away. Their bytes are moved by the dispatcher.

use frith_store::{
    error::Failure,
    id::BlobHash,
    model::Attachment,
    refusal::Refusal,
    rules::{
        attachment::{can_attach, can_find},
        moves::{Standing, can_change},
    },
    tx::{NewAttachment, Tx},
    view::View,
};

use super::task::find;
use crate::{
    api::attachment::{self, Attached, Removed},
    caller::Caller,
};

/// What came of a file on its way: the hash and length of what arrived, or nothing.
pub type Arrived = Option<(BlobHash, u64)>;

/// Whether a piece may be sent.
///
/// # Errors
/// The task is none the caller may write to, or the file is none or becomes too large.
pub fn may_send(view: &View<'_>, caller: &Caller, request: &attachment::Send) -> Result<(), Failure> {
    can_change(&find(view, caller, &request.task)?)?;
    Ok(can_attach(&request.name, request.offset.saturating_add(request.bytes.0.len() as u64))?)
}

/// Attaches files that have arrived.
///
/// # Errors
/// The task takes no writes, or a file did not arrive as it was sent.
pub fn attach(tx: &mut Tx<'_>, caller: &Caller, request: &attachment::Attach, arrived: &[Arrived]) -> Result<Attached, Failure> {
    let standing = find(tx, caller, &request.task)?;
    can_change(&standing)?;
    let mut files = Vec::with_capacity(request.files.len());
    for (sent, arrived) in request.files.iter().zip(arrived) {
        let Some((hash, size)) = arrived.filter(|(hash, _)| *hash == sent.hash) else {
            return Err(Refusal::UploadLost { name: sent.name.clone() }.into());
        };
        can_attach(&sent.name, size)?;
        files.push(NewAttachment { name: sent.name.clone(), hash, size, upload: Some(sent.upload) });
    }
    let asked = files.len();
    let added = tx.attach(standing.task.id, files, &caller.by())?;
    let is_asked = |one: &Attachment| request.files.iter().any(|sent| sent.name == one.name && sent.hash == one.hash);
    let attachments = tx.attachments(standing.task.id)?.into_iter().filter(is_asked).collect();
    Ok(Attached { task: standing.task.id, attachments, unchanged: u32::try_from(asked - added).unwrap_or(u32::MAX) })
}

/// The attachment that is to be read.
///
/// # Errors
/// The task is none the caller may see, or has no such attachment.
pub fn meant(view: &View<'_>, caller: &Caller, request: &attachment::Get) -> Result<(Standing, Attachment), Failure> {
    let standing = find(view, caller, &request.task)?;
    let attachments = view.attachments(standing.task.id)?;
    let attachment = can_find(&attachments, &request.attachment)?.clone();
    Ok((standing, attachment))
}

/// What taking an attachment away would take.
///
/// # Errors
/// The task takes no writes, or has no such attachment.
pub fn removal(view: &View<'_>, caller: &Caller, request: &attachment::Remove) -> Result<Removed, Failure> {
    let standing = find(view, caller, &request.task)?;
    can_change(&standing)?;
    let attachments = view.attachments(standing.task.id)?;
    let attachment = can_find(&attachments, &request.attachment)?.clone();
    Ok(Removed { task: standing.task.id, attachment, done: false })
}

/// Takes an attachment away.
///
/// # Errors
/// As [`removal`].
pub fn remove(tx: &mut Tx<'_>, caller: &Caller, request: &attachment::Remove) -> Result<Removed, Failure> {
    let removed = removal(tx, caller, request)?;
    tx.detach(removed.task, &removed.attachment.name, removed.attachment.hash, &caller.by())?;
    Ok(Removed { done: true, ..removed })
}
