//! Files on their way to the node and back. They are read and written by this process, with the rights of whoever runs it,
//! a piece at a time; what is read must not change meanwhile, and what is written was checked whole first.

use std::{
    fs,
    io::{self, IsTerminal as _, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use frith_actors::api::{
    attachment::{Attach, Attached, Get, Part, Send, Sent},
    piece::{PIECE_MOST, Piece},
};
use frith_store::{
    id::{AttachmentRef, BlobHasher, TaskRef, UploadId},
    model::Attachment,
    refusal::{ATTACHMENT_MOST, AttachmentFault, Refusal},
    text::{PathText, drawable},
};
use serde::Serialize;

use crate::{
    args::{TaskAttach, TaskAttachment},
    ask::Run,
    failure::{Failure, Told},
};

/// A file that is open and fit to be attached.
struct Opened {
    name: String,
    file: fs::File,
    size: u64,
    changed: (i64, i64),
}

/// An attachment and where it was written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fetched {
    /// The attachment.
    pub attachment: Attachment,
    /// The file it was written to; null when it went to standard output.
    pub file: Option<PathText>,
}

/// Attaches files to a task, all or none: each is looked at before the first is sent.
///
/// # Errors
/// A file is none that can be attached or changes meanwhile; the node's refusal or failure.
pub fn attach(run: &Run, args: &TaskAttach) -> Result<Attached, Failure> {
    let opened = args.files.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    let files = opened.into_iter().map(|file| send(run, &args.task, file)).collect::<Result<Vec<_>, _>>()?;
    run.ask(Attach { task: args.task.clone(), files })
}

fn bad(name: &str, fault: AttachmentFault) -> Failure {
    Failure::Refused(Box::new(Refusal::BadAttachment { name: name.to_owned(), fault }))
}

/// Opens a file. What it is is looked at before, since opening a device may do something, and after, since another may
/// stand there by then: a FIFO is not waited for.
fn open(path: &Path) -> Result<Opened, Failure> {
    let shown = path.to_string_lossy().into_owned();
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => bad(&shown, AttachmentFault::Gone),
        _ => bad(&shown, AttachmentFault::Unreadable),
    };
    let require_fit = |metadata: &fs::Metadata| fault_of(metadata).map_or(Ok(()), |fault| Err(bad(&shown, fault)));
    require_fit(&fs::metadata(path).map_err(failed)?)?;
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    require_fit(&metadata)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Opened { name, file, size: metadata.len(), changed: changed(&metadata) })
}

fn fault_of(metadata: &fs::Metadata) -> Option<AttachmentFault> {
    match metadata.len() {
        _ if metadata.is_dir() => Some(AttachmentFault::Folder),
        _ if !metadata.is_file() => Some(AttachmentFault::Special),
        size if size > ATTACHMENT_MOST => Some(AttachmentFault::TooLarge(size)),
        _ => None,
    }
}

/// When a file last changed, as exactly as its file system tells.
fn changed(metadata: &fs::Metadata) -> (i64, i64) {
    (metadata.mtime(), metadata.mtime_nsec())
}

/// Sends a file whole. One that grows, shrinks or is written to on the way is not attached.
fn send(run: &Run, task: &TaskRef, opened: Opened) -> Result<Sent, Failure> {
    let Opened { name, file, size, changed: before } = opened;
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| Failure::Broken(Told::because("no file can be named", &error)))?;
    let (upload, mut hasher, mut offset) = (UploadId::from_random(id), BlobHasher::default(), 0_u64);
    loop {
        let mut bytes = Vec::new();
        let read = (&file).take(PIECE_MOST as u64).read_to_end(&mut bytes);
        read.map_err(|_| bad(&name, AttachmentFault::Unreadable))?;
        if bytes.is_empty() && offset > 0 {
            break;
        }
        hasher.update(&bytes);
        let ends = bytes.len() < PIECE_MOST;
        let next = offset + bytes.len() as u64;
        if next > size {
            return Err(bad(&name, AttachmentFault::Changed));
        }
        run.ask(Send { task: task.clone(), upload, name: name.clone(), offset, bytes: Piece(bytes) })?;
        offset = next;
        if ends {
            break;
        }
    }
    let after = file.metadata().map_err(|_| bad(&name, AttachmentFault::Unreadable))?;
    if offset != size || after.len() != size || changed(&after) != before {
        return Err(bad(&name, AttachmentFault::Changed));
    }
    Ok(Sent { upload, name, hash: hasher.finish() })
}

/// Fetches an attachment into a file, or to standard output.
///
/// # Errors
/// The node's refusal or failure; a file is in the way; what came is not what was attached.
pub fn fetch(run: &Run, args: &TaskAttachment) -> Result<Fetched, Failure> {
    if args.output.is_none() && run.global.json {
        let told = Told::new("an attachment has no JSON form");
        return Err(Failure::Broken(told.hint("name a file for it, `-o <file>`, or leave `--json` out")));
    }
    let first = run.ask(Get { task: args.task.clone(), attachment: args.attachment.clone(), offset: 0 })?;
    let attachment = first.attachment.clone();
    let Some(output) = &args.output else {
        let mut bytes = Vec::new();
        receive(run, args, first, &mut bytes)?;
        to_standard_output(&attachment.name, bytes)?;
        return Ok(Fetched { attachment, file: None });
    };
    let target = target(output, &attachment)?;
    write_file(&target, args.force, |file| receive(run, args, first, file))?;
    let file = std::path::absolute(&target).unwrap_or(target);
    Ok(Fetched { attachment, file: Some(file.as_path().into()) })
}

/// Where to write: into a folder under the attachment's own name, which must be one part of a path.
fn target(output: &Path, attachment: &Attachment) -> Result<PathBuf, Failure> {
    if !output.is_dir() {
        return Ok(output.to_owned());
    }
    let name = Path::new(&attachment.name);
    if name.file_name() != Some(name.as_os_str()) || drawable(&attachment.name, false) != attachment.name {
        let told = Told::new(format!("`{}` is no name for a file", attachment.name));
        return Err(Failure::Declined(told.hint("name the file: `-o <file>`")));
    }
    Ok(output.join(name))
}

/// The file appears whole, or not at all, and in nobody's place unless that was asked for.
fn write_file(target: &Path, force: bool, fill: impl FnOnce(&mut fs::File) -> Result<(), Failure>) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Broken(Told::because(format!("`{}` could not be written", target.display()), &error));
    let in_the_way = || {
        let told = Told::new(format!("`{}` is there already", target.display()));
        Failure::Declined(told.hint("name another file, or write over it: `--force`"))
    };
    match target.symlink_metadata() {
        Ok(_) if !force => return Err(in_the_way()),
        Ok(there) if !there.is_file() && !there.is_symlink() => {
            let told = Told::new(format!("`{}` is no regular file, and is not written over", target.display()));
            return Err(Failure::Declined(told.hint("name another file")));
        }
        _ => {}
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666);
    let mut file = tempfile::Builder::new().prefix(".frith-").permissions(mode).tempfile_in(folder).map_err(failed)?;
    fill(file.as_file_mut())?;
    let kept = if force { file.persist(target) } else { file.persist_noclobber(target) };
    kept.map(drop).map_err(|error| if error.error.kind() == io::ErrorKind::AlreadyExists { in_the_way() } else { failed(error.error) })
}

/// Takes all pieces in and checks the whole.
fn receive(run: &Run, args: &TaskAttachment, first: Part, into: &mut impl io::Write) -> Result<(), Failure> {
    let (hash, size) = (first.attachment.hash, first.attachment.size);
    // Named by its hash from now on: another file may get its name meanwhile.
    let named = AttachmentRef(hash.to_string());
    let (mut hasher, mut part) = (BlobHasher::default(), first);
    let mut offset = 0;
    loop {
        hasher.update(&part.bytes.0);
        into.write_all(&part.bytes.0).map_err(|error| Failure::Broken(Told::because("the attachment could not be written", &error)))?;
        offset += part.bytes.0.len() as u64;
        if part.bytes.0.is_empty() || offset >= size {
            break;
        }
        part = run.ask(Get { task: args.task.clone(), attachment: named.clone(), offset })?;
    }
    if hasher.finish() != hash {
        let told = Told::new(format!("what came is not `{}` as it was attached", part.attachment.name));
        return Err(Failure::Broken(told.hint("run it again; `frith doctor` looks at the disk")));
    }
    Ok(())
}

/// Writes a file to standard output: a terminal is shown text without anything that moves its cursor; whoever else reads gets
/// the bytes as they are.
///
/// # Errors
/// It is no text and this is a terminal, or nobody reads.
pub fn to_standard_output(name: &str, bytes: Vec<u8>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let bytes = match String::from_utf8(bytes) {
        Ok(text) if out.is_terminal() => drawable(&text, true).into_bytes(),
        Ok(text) => text.into_bytes(),
        Err(_) if out.is_terminal() => {
            let told = Told::new(format!("`{name}` is no text, and this is a terminal"));
            return Err(Failure::Declined(told.hint("let it go into a file: `> <file>`")));
        }
        Err(error) => error.into_bytes(),
    };
    match out.write_all(&bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::NoReader),
        done => done.map_err(|error| Failure::Broken(Told::because("the answer could not be written", &error))),
    }
}
