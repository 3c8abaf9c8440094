//! Writing a backup: rows of one read transaction, then every long text and attachment. Those are on disk before a change
//! names them, and nothing takes one away while they are copied, so all that the rows name is copied too.

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::Path,
};

use flate2::{Compression, write::ZlibEncoder};

use super::{BackupError, Contents, Figures, Header, Kind, MARK, VERSION, io_error};
use crate::{
    error::StoreError,
    facts,
    migrate::FORMAT,
    model::{Place, PlaceKind},
    open::Store,
    refusal::Refusal,
    rows::{Scan, Table},
    time::Timestamp,
    view::{View, is_backed_up},
};

/// How well it is packed: more takes several times as long for a tenth less.
const PACKING: u32 = 3;
/// After how many rows whoever waits is told.
const TOLD_EVERY: u64 = 4_096;

/// What goes into a backup besides the store.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// When it is made.
    pub made: Timestamp,
    /// The version of frith that makes it.
    pub frith: String,
    /// The text of the configuration, if there is one.
    pub config: Option<Vec<u8>>,
}

/// Writes a backup into the file at `to`: whole and on disk, closed to others, or not at all. A file that is there is
/// written over only when `over` says so. `watch` is told how much is done of how much; both grow.
///
/// # Errors
/// [`Refusal::FileThere`]; the store or the file failed.
pub fn write_file(
    store: &Store,
    extras: &Extras,
    to: &Path,
    over: bool,
    watch: &mut dyn FnMut(u64, u64),
) -> Result<(Header, Figures), BackupError> {
    let is_there = || to.symlink_metadata().is_ok();
    if is_there() && !over {
        return Err(Refusal::FileThere { path: to.into() }.into());
    }
    let written = io_error(to, "written");
    if to.is_dir() {
        return Err(written(io::ErrorKind::IsADirectory.into()));
    }
    if to.symlink_metadata().is_ok_and(|there| !there.is_file() && !there.is_symlink()) {
        return Err(written(io::Error::other("it is no regular file, and is not written over")));
    }
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = tempfile::Builder::new().prefix(".frith-backup-").tempfile_in(folder).map_err(&written)?;
    let made = write(store, extras, &mut BufWriter::new(beside.as_file_mut()), watch, &written)?;
    beside.as_file().sync_all().map_err(&written)?;
    let named = if over { beside.persist(to) } else { beside.persist_noclobber(to) };
    named.map_err(|failed| if !over && is_there() { Refusal::FileThere { path: to.into() }.into() } else { written(failed.error) })?;
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(&written)?;
    Ok(made)
}

fn write(
    store: &Store,
    extras: &Extras,
    out: &mut impl Write,
    watch: &mut dyn FnMut(u64, u64),
    written: &impl Fn(io::Error) -> BackupError,
) -> Result<(Header, Figures), BackupError> {
    let _pin = store.pin_blobs();
    let mut out = Hashing { out, hasher: blake3::Hasher::new(), length: 0 };
    let (header, mut figures) = store.read(|view| {
        let header = header(store, view, extras)?;
        begin(&mut out, &header).map_err(written)?;
        let mut packer = Packer { out: ZlibEncoder::new(&mut out, Compression::new(PACKING)), rows: 0, files: 0, left_out: 0, unpacked: 0 };
        packer.rows(view, watch, written)?;
        packer.files(store, watch, written)?;
        if let Some(config) = &extras.config {
            packer.put(Kind::Config, &[], config).map_err(written)?;
        }
        packer.put(Kind::End, &[], &[]).map_err(written)?;
        let figures = Figures { rows: packer.rows, files: packer.files, left_out: packer.left_out, unpacked: packer.unpacked, length: 0 };
        packer.out.finish().map_err(written)?;
        Ok::<_, BackupError>((header, figures))
    })?;
    figures.length = out.length;
    end(&mut out, &figures).map_err(written)?;
    Ok((header, figures))
}

fn header(store: &Store, view: &View<'_>, extras: &Extras) -> Result<Header, StoreError> {
    let places = view.places()?;
    let of_kind = |is: fn(&PlaceKind) -> bool| places.iter().filter(|place| is(&place.kind)).count() as u64;
    let tasks = |place: &Place| view.counts(place.id).map(|counts| counts.total());
    let contents = Contents {
        workspaces: of_kind(|kind| matches!(kind, PlaceKind::Workspace)),
        forks: of_kind(|kind| matches!(kind, PlaceKind::Fork { .. })),
        tasks: places.iter().filter(|place| place.merged.is_none()).map(tasks).sum::<Result<u64, _>>()?,
        documents: facts::document_count(view.rows())?,
    };
    let name = view.machine(store.machine())?.map(|machine| machine.name).unwrap_or_default();
    Ok(Header { made: extras.made, frith: extras.frith.clone(), machine: store.machine(), machine_name: name, format: FORMAT, contents })
}

fn begin(out: &mut impl Write, header: &Header) -> io::Result<()> {
    let header = postcard::to_stdvec(header).map_err(io::Error::other)?;
    out.write_all(MARK)?;
    out.write_all(&VERSION.to_be_bytes())?;
    out.write_all(&length(&header)?.to_be_bytes())?;
    out.write_all(&header)
}

fn end<W: Write>(out: &mut Hashing<'_, W>, figures: &Figures) -> io::Result<()> {
    for number in [figures.rows, figures.files, figures.left_out, figures.unpacked, figures.length] {
        out.write_all(&number.to_be_bytes())?;
    }
    let hash = out.hasher.finalize();
    out.write_all(hash.as_bytes())?;
    out.flush()
}

fn length(bytes: &[u8]) -> io::Result<u32> {
    u32::try_from(bytes.len()).map_err(io::Error::other)
}

/// The records on their way into the packed stream.
struct Packer<W: Write> {
    out: ZlibEncoder<W>,
    rows: u64,
    files: u64,
    left_out: u64,
    unpacked: u64,
}

impl<W: Write> Packer<W> {
    fn rows(
        &mut self,
        view: &View<'_>,
        watch: &mut dyn FnMut(u64, u64),
        written: &impl Fn(io::Error) -> BackupError,
    ) -> Result<(), BackupError> {
        for (table, kind) in [(Table::Facts, Kind::Fact), (Table::Local, Kind::Local)] {
            let mut failed = None;
            view.rows().scan(table, std::ops::Bound::Unbounded, &[u8::MAX], &mut |key, value| {
                if kind == Kind::Local && !is_backed_up(key) {
                    return Ok(Scan::On);
                }
                self.rows += 1;
                if self.rows.is_multiple_of(TOLD_EVERY) {
                    watch(self.rows, 0);
                }
                failed = self.put(kind, key, value).err();
                Ok(if failed.is_some() { Scan::Enough } else { Scan::On })
            })?;
            if let Some(error) = failed {
                return Err(written(error));
            }
        }
        Ok(())
    }

    fn files(
        &mut self,
        store: &Store,
        watch: &mut dyn FnMut(u64, u64),
        written: &impl Fn(io::Error) -> BackupError,
    ) -> Result<(), BackupError> {
        let hashes = store.blobs().list()?;
        for (done, hash) in (1..).zip(&hashes) {
            match store.blobs().get(*hash) {
                Ok(bytes) => {
                    self.put(Kind::File, &[], &bytes).map_err(written)?;
                    self.files += 1;
                }
                // One that is gone or damaged is so in the store as well, which says so where it is shown.
                Err(StoreError::Blob { hash, .. }) => {
                    tracing::warn!(%hash, "a text is damaged and not in the backup");
                    self.left_out += 1;
                }
                Err(error) => return Err(error.into()),
            }
            watch(done, hashes.len() as u64);
        }
        Ok(())
    }

    fn put(&mut self, kind: Kind, key: &[u8], value: &[u8]) -> io::Result<()> {
        let mut head = [0; 9];
        head[0] = kind as u8;
        head[1..5].copy_from_slice(&length(key)?.to_be_bytes());
        head[5..9].copy_from_slice(&length(value)?.to_be_bytes());
        for part in [&head[..], key, value] {
            self.out.write_all(part)?;
            self.unpacked += part.len() as u64;
        }
        Ok(())
    }
}

/// Hashes and counts what goes through.
struct Hashing<'a, W> {
    out: &'a mut W,
    hasher: blake3::Hasher,
    length: u64,
}

impl<W: Write> Write for Hashing<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
