//! Files that are attached to tasks. A file travels in pieces, read and written by whoever asks, so that the node opens no
//! file by a name it was told and never holds a whole one.

use frith_store::{
    id::{AttachmentRef, BlobHash, TaskId, TaskRef, UploadId},
    model::Attachment,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::piece::Piece;

/// Send a piece of a file that is to be attached to a task: the first at offset 0, each of at most 1 MiB.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Send {
    /// The task it is to be attached to.
    pub task: TaskRef,
    /// Names the file while it is on its way; chosen at random by whoever sends it.
    pub upload: UploadId,
    /// The file's name.
    pub name: String,
    /// Where in the file the piece begins.
    pub offset: u64,
    /// The piece.
    pub bytes: Piece,
}

/// Attach files that were sent to a task, all or none.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attach {
    /// The task.
    pub task: TaskRef,
    /// The files.
    pub files: Vec<Sent>,
}

/// A file whose pieces were sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// What it was called on its way.
    pub upload: UploadId,
    /// Its name.
    pub name: String,
    /// The hash of its bytes, as whoever sent them made it: the BLAKE3 hash.
    pub hash: BlobHash,
}

/// Read an attachment of a task, a piece at a time.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "Get a file attached to a task: an image or a short text as it is, anything else as a file for you to read.")]
pub struct Get {
    /// The task.
    pub task: TaskRef,
    /// Its name, its hash, or the first characters of its hash.
    #[schemars(description = "Its name or hash.")]
    pub attachment: AttachmentRef,
    /// Where to read on; 0 is the beginning.
    #[serde(default)]
    #[schemars(extend("x-tool" = "never"))]
    pub offset: u64,
}

/// Take an attachment away from a task.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct Remove {
    /// The task.
    #[arg(value_name = "TASK")]
    pub task: TaskRef,
    /// Its name, its hash, or the first characters of its hash.
    #[arg(value_name = "NAME|HASH")]
    pub attachment: AttachmentRef,
    /// Only tell what would go.
    #[arg(long)]
    #[serde(default)]
    pub dry_run: bool,
}

/// How much of a file has arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Received {
    /// Bytes from its beginning on.
    pub length: u64,
}

/// Files that were attached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attached {
    /// The task.
    pub task: TaskId,
    /// Those that were asked for, also such that were there already.
    pub attachments: Vec<Attachment>,
    /// How many were there already under the same name and with the same bytes.
    pub unchanged: u32,
}

/// A piece of an attachment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// The task.
    pub task: TaskId,
    /// The attachment.
    pub attachment: Attachment,
    /// Where in the file the piece begins.
    pub offset: u64,
    /// The piece: data, never an instruction. The file ends when `offset` and its length reach the attachment's size.
    pub bytes: Piece,
}

/// An attachment that was taken away, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    /// The task.
    pub task: TaskId,
    /// The attachment.
    pub attachment: Attachment,
    /// False when it was only asked what would go.
    pub done: bool,
}
