//! Attaching files to tasks and taking them away. Their bytes are durable under their hash before a change names them.

use std::collections::BTreeSet;

use super::{Tx, tasks::Change};
use crate::{
    docs::{
        About, CHANGES_MOST, Document,
        attachment::{AttachmentRecord, attachments, set_attachment},
        task::Keyed,
    },
    error::{Failure, StoreError},
    facts,
    id::{BlobHash, TaskId, UploadId, Writer},
    model::{Attachment, By},
    refusal::Refusal,
    rules::attachment::can_have_more,
};

/// A file to attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAttachment {
    /// Its name.
    pub name: String,
    /// The hash of its bytes.
    pub hash: BlobHash,
    /// How many bytes it has.
    pub size: u64,
    /// Where its bytes are while they have no name yet; none when they are kept under their hash already.
    pub upload: Option<UploadId>,
}

impl Tx<'_> {
    /// Attaches files to a task. A file that is attached under the same name already stays as it is; its bytes are kept
    /// anew, which mends damaged ones. Answers how many were added.
    ///
    /// # Errors
    /// Refused when the task would have too many, or its document has no room for so many changes; else something could not be
    /// written.
    pub fn attach(&mut self, id: TaskId, files: Vec<NewAttachment>, by: &By) -> Result<usize, Failure> {
        let there: BTreeSet<_> = self.attachments(id)?.into_iter().map(|one| (one.name, one.hash)).collect();
        let asked: BTreeSet<_> = files.iter().map(|file| (file.name.clone(), file.hash)).collect();
        let added = asked.difference(&there).count();
        if let Some(task) = self.task(id)? {
            can_have_more(&task, there.len(), added)?;
        }
        let changes = facts::meta(self.rows, About::Task { task: id }.doc_id())?.map_or(0, |meta| meta.changes);
        if changes + added as u64 > CHANGES_MOST {
            return Err(Refusal::DocumentFull { changes }.into());
        }
        Ok(self.add_files(id, files, by)?)
    }

    fn add_files(&mut self, task: TaskId, files: Vec<NewAttachment>, by: &By) -> Result<usize, StoreError> {
        let mut there: BTreeSet<_> = self.attachments(task)?.into_iter().map(|one| (one.name, one.hash)).collect();
        let mut document = self.document(&About::Task { task })?;
        let mut added = 0;
        for NewAttachment { name, hash, size, upload } in files {
            if let Some(upload) = upload {
                self.desk.writes += 1;
                self.desk.blobs.adopt(upload, hash)?;
            }
            self.named(hash)?;
            if !there.insert((name.clone(), hash)) {
                continue;
            }
            let record = AttachmentRecord::Here { name, hash, size, by: by.clone(), at: self.now };
            let (writer, seq) = (self.writer(), document.next_seq(self.writer()));
            self.write_attachment(task, &mut document, (writer, seq), &record)?;
            added += 1;
        }
        self.put_back(document);
        Ok(added)
    }

    /// Attaches to a task what is attached to another, as a run of a schedule gets what its template has. What it has under
    /// the same name already stays. Nothing is refused: how many there may be was decided when they were attached, and where
    /// several machines attached to one task at once, what it makes has them all too.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn copy_attachments(&mut self, from: TaskId, to: TaskId, by: &By) -> Result<usize, StoreError> {
        let files = self.view.attachments(from)?.into_iter();
        let files = files.map(|Attachment { name, hash, size, .. }| NewAttachment { name, hash, size, upload: None });
        self.add_files(to, files.collect(), by)
    }

    /// Takes a file away from a task. Closing and this are always possible.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn detach(&mut self, task: TaskId, name: &str, hash: BlobHash, by: &By) -> Result<(), StoreError> {
        let mut document = self.document(&About::Task { task })?;
        let is_meant =
            |record: &AttachmentRecord| matches!(record, AttachmentRecord::Here { name: n, hash: h, .. } if n == name && *h == hash);
        let meant: Vec<_> = attachments(&document).into_iter().filter(|one| is_meant(&one.record)).collect();
        for Keyed { writer, seq, .. } in meant {
            let record = AttachmentRecord::Removed { name: name.to_owned(), by: by.clone(), at: self.now };
            self.write_attachment(task, &mut document, (writer, seq), &record)?;
        }
        self.put_back(document);
        Ok(())
    }

    fn write_attachment(
        &mut self,
        task: TaskId,
        document: &mut Document,
        (writer, seq): (Writer, u64),
        record: &AttachmentRecord,
    ) -> Result<(), StoreError> {
        let bytes = document.encode(record)?;
        let mut change = Change::of(move |tx| set_attachment(tx, writer, seq, bytes));
        match record {
            AttachmentRecord::Here { .. } => change.attached = Some(Keyed { writer, seq, record: record.clone() }),
            AttachmentRecord::Removed { .. } => change.detaches = true,
        }
        self.change_task(task, document, change)
    }
}
