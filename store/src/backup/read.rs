//! Reading a backup. Nothing in it is believed before the whole has the hash that stands at its end, and no length in it
//! before its bytes are there.

use std::{
    fs,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use flate2::read::ZlibDecoder;

use super::{BackupError, Figures, HEADER_MOST, Header, KEY_MOST, Kind, MARK, TAIL, VALUE_MOST, VERSION, io_error};
use crate::text::PathText;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Record {
    Fact { key: Vec<u8>, value: Vec<u8> },
    Local { key: Vec<u8>, value: Vec<u8> },
    File(Vec<u8>),
    Config(Vec<u8>),
}

/// A backup whose bytes are those that were written.
pub struct Reader<R> {
    file: R,
    path: PathText,
    /// Where the packed stream begins.
    packed: u64,
    header: Header,
    figures: Figures,
}

impl Reader<BufReader<fs::File>> {
    /// Opens the backup at `path` and reads it once, to see that it is whole.
    ///
    /// # Errors
    /// It cannot be read, is no backup, is a later frith's, is cut short or damaged.
    pub fn open(path: &Path) -> Result<Self, BackupError> {
        let read = io_error(path, "read");
        if !fs::metadata(path).map_err(&read)?.is_file() {
            return Err(read(io::Error::other("it is no regular file")));
        }
        let file = fs::File::open(path).map_err(&read)?;
        if !file.metadata().map_err(&read)?.is_file() {
            return Err(BackupError::Foreign);
        }
        Self::over(BufReader::with_capacity(256 * 1024, file), path.into())
    }
}

impl<R: Read + Seek> Reader<R> {
    /// The backup in `file`, read once, to see that it is whole. `path` is what people know it as.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn over(mut file: R, path: PathText) -> Result<Self, BackupError> {
        let read = io_error(path.as_path(), "read");
        let length = file.seek(SeekFrom::End(0)).map_err(&read)?;
        file.rewind().map_err(&read)?;
        let mut mark = [0; MARK.len()];
        let known = read_up_to(&mut file, &mut mark).map_err(&read)?;
        if known == 0 || mark[..known] != MARK[..known] {
            return Err(BackupError::Foreign);
        }
        let version = number32(&mut file).map_err(cut_or(&read))?;
        if version != VERSION {
            return Err(if version > VERSION {
                BackupError::Newer { found: version }
            } else {
                BackupError::Damaged { fault: "its version is none" }
            });
        }
        let header_length = number32(&mut file).map_err(cut_or(&read))?;
        let packed = (MARK.len() + 8) as u64 + u64::from(header_length);
        let Some(body) = length.checked_sub(TAIL).filter(|body| *body >= packed) else { return Err(BackupError::Cut) };
        let figures = require_whole(&mut file, body).map_err(|fault| fault.told(&read))?;
        if header_length > HEADER_MOST {
            return Err(BackupError::Damaged { fault: "its header is too long" });
        }
        file.seek(SeekFrom::Start((MARK.len() + 8) as u64)).map_err(&read)?;
        let mut header = vec![0; header_length as usize];
        file.read_exact(&mut header).map_err(&read)?;
        let header = postcard::from_bytes(&header).map_err(|_| BackupError::Damaged { fault: "its header cannot be read" })?;
        Ok(Self { file, path, packed, header, figures })
    }

    /// What it says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What it has, counted.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Unpacks every record, in the order in which they were written.
    pub(super) fn records(&mut self, mut visit: impl FnMut(Record) -> Result<(), BackupError>) -> Result<(), BackupError> {
        let read = io_error(self.path.as_path(), "read");
        self.file.seek(SeekFrom::Start(self.packed)).map_err(&read)?;
        let packed = self.file.by_ref().take(self.figures.length.saturating_sub(self.packed));
        let mut unpacked = BufReader::new(ZlibDecoder::new(packed).take(self.figures.unpacked));
        let (mut rows, mut files) = (0, 0);
        while let Some(record) = next_record(&mut unpacked)? {
            match record {
                Record::Fact { .. } | Record::Local { .. } => rows += 1,
                Record::File(_) => files += 1,
                Record::Config(_) => {}
            }
            visit(record)?;
        }
        if (rows, files) != (self.figures.rows, self.figures.files) {
            return Err(BackupError::Damaged { fault: "it does not have as many records as it says" });
        }
        Ok(())
    }
}

/// Why a file is not whole.
enum Fault {
    Read(io::Error),
    Cut,
    Hash,
}

impl Fault {
    fn told(self, read: &impl Fn(io::Error) -> BackupError) -> BackupError {
        match self {
            Self::Read(error) => read(error),
            Self::Cut => BackupError::Cut,
            Self::Hash => BackupError::Damaged { fault: "its bytes are not those that were written" },
        }
    }
}

/// Reads the first `body` bytes, then the figures and the hash behind them.
fn require_whole(file: &mut (impl Read + Seek), body: u64) -> Result<Figures, Fault> {
    file.rewind().map_err(Fault::Read)?;
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; 256 * 1024];
    let mut rest = file.take(body);
    loop {
        match rest.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => drop(hasher.update(&chunk[..count])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Fault::Read(error)),
        }
    }
    let file = rest.into_inner();
    let mut tail = [0; TAIL as usize];
    file.read_exact(&mut tail).map_err(Fault::Read)?;
    let (numbers, hash) = tail.split_at(40);
    hasher.update(numbers);
    let mut numbers = numbers.chunks_exact(8).map(|bytes| u64::from_be_bytes(bytes.try_into().unwrap_or_default()));
    let mut next = || numbers.next().unwrap_or_default();
    let figures = Figures { rows: next(), files: next(), left_out: next(), unpacked: next(), length: next() };
    match (hasher.finalize() == *<&[u8; 32]>::try_from(hash).unwrap_or(&[0; 32]), figures.length == body) {
        (true, true) => Ok(figures),
        // A file that lost its end has other bytes where its figures would be.
        (false, false) => Err(Fault::Cut),
        _ => Err(Fault::Hash),
    }
}

fn next_record(from: &mut impl Read) -> Result<Option<Record>, BackupError> {
    let damaged = |_: io::Error| BackupError::Damaged { fault: "its records cannot be unpacked" };
    let mut head = [0; 9];
    from.read_exact(&mut head).map_err(damaged)?;
    let number = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let kind = Kind::of(head[0]).ok_or(BackupError::Damaged { fault: "it has a record of no known kind" })?;
    if kind == Kind::End {
        return Ok(None);
    }
    let (key_length, value_length) = (number(1), number(5));
    if key_length > KEY_MOST || value_length > VALUE_MOST {
        return Err(BackupError::Damaged { fault: "it has a record that is too long" });
    }
    let mut part = |length: u32| -> Result<Vec<u8>, BackupError> {
        let mut bytes = Vec::new();
        let count = from.by_ref().take(length.into()).read_to_end(&mut bytes).map_err(damaged)?;
        if count == length as usize { Ok(bytes) } else { Err(BackupError::Damaged { fault: "its last record is cut" }) }
    };
    let (key, value) = (part(key_length)?, part(value_length)?);
    Ok(Some(match kind {
        Kind::Fact => Record::Fact { key, value },
        Kind::Local => Record::Local { key, value },
        Kind::Config => Record::Config(value),
        Kind::File | Kind::End => Record::File(value),
    }))
}

fn number32(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

fn read_up_to(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < into.len() {
        match from.read(&mut into[done..]) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

fn cut_or(read: &impl Fn(io::Error) -> BackupError) -> impl Fn(io::Error) -> BackupError {
    move |error| if error.kind() == io::ErrorKind::UnexpectedEof { BackupError::Cut } else { read(error) }
}
