//! A store from a backup, in a home that has none. No node is asked: none may run meanwhile.
//!
//! The store gets its name last, when all of it was checked and the new key is there; until then the home has no store, and
//! the same command begins anew. A key that is there is set aside, never removed.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use frith_actors::{
    call::Progress,
    local::lock::{HomeLock, Locked},
};
use frith_net::{error::KEY_LENGTH, key::MachineKey};
use frith_store::{
    backup::{self, BackupError, Contents, Here, Reader},
    blobs::BlobFolder,
    id::MachineId,
    open::{Disk, Identity, Options, file_backend},
    refusal::{PlaceNamed, Refusal},
    text::PathText,
    time::Timestamp,
    tx,
};
use serde::Serialize;

use crate::{
    args::Restore,
    ask::Run,
    config, environment,
    failure::{Failure, Told},
    progress::Story,
    start,
};

/// What a backup holds, and what was made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// The backup.
    pub file: PathText,
    /// When what it holds was true.
    pub made: Timestamp,
    /// The version of frith that made it.
    pub frith: String,
    /// The machine that made it.
    pub from: MachineId,
    /// That machine's name.
    pub from_name: String,
    /// What it holds, counted.
    pub contents: Contents,
    /// How many long texts and attachments it holds.
    pub files: u64,
    /// What was made of it; nothing when it was only looked at.
    pub store: Option<Made>,
}

/// What was made of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Made {
    /// The machine that goes on, under its new key.
    pub machine: MachineId,
    /// Its name.
    pub name: String,
    /// How many places are decided here now.
    pub seats: u64,
    /// How many agents were running when the backup was made; they count as lost.
    pub agents: u64,
    /// The places whose folder is here too.
    pub kept: Vec<PlaceFolder>,
    /// The places whose folder is not here.
    pub missing: Vec<PlaceFolder>,
    /// The forks whose folder is not here.
    pub forks: Vec<PlaceNamed>,
    /// What became of the configuration.
    pub config: ConfigFate,
    /// Where a key that was there lies now.
    pub key_set_aside: Option<PathText>,
}

/// A place and its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaceFolder {
    /// The place.
    pub place: PlaceNamed,
    /// The folder.
    pub folder: PathText,
}

/// What became of the configuration of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ConfigFate {
    /// The backup has none.
    None,
    /// It is the home's now.
    Restored,
    /// The home has one, which stays.
    Kept,
}

/// Restores a backup, or says what is in it.
///
/// # Errors
/// The home has a store or a node, or the backup cannot be used. Then nothing of the home was changed.
pub fn run(run: &Run, args: &Restore) -> Result<Restored, Failure> {
    let mut story = Story::new(run.is_quiet());
    story.tell(&Progress { what: "reading the backup".into(), part: None });
    let file = args.file.as_path();
    let mut reader = Reader::open(file).map_err(|error| failed(file, error))?;
    let store = if args.dry_run { None } else { Some(restore(&run.home, file, &mut reader, &mut story)?) };
    story.end();
    let (header, figures) = (reader.header().clone(), *reader.figures());
    Ok(Restored {
        file: args.file.clone(),
        made: header.made,
        frith: header.frith,
        from: header.machine,
        from_name: header.machine_name,
        contents: header.contents,
        files: figures.files,
        store,
    })
}

fn failed(file: &Path, error: BackupError) -> Failure {
    match error {
        BackupError::Refused(refusal) => Failure::Refused(refusal),
        error => {
            let hint = error.hint();
            let told = Told::because(format!("the backup `{}` cannot be used", file.display()), &error);
            Failure::Broken(Told { hint, ..told })
        }
    }
}

type OpenBackup = Reader<io::BufReader<fs::File>>;

fn restore(home: &Path, file: &Path, reader: &mut OpenBackup, story: &mut Story) -> Result<Made, Failure> {
    start::make_home(home)?;
    let files = HomeFiles::of(home);
    files.require_no_store()?;
    let _lock = lock(home)?;
    files.require_no_store()?;
    let (key, secret) = new_key()?;
    let machine = key.machine();
    let name = start::machine_name();
    let had_blobs = files.blobs.exists();
    let made = make_store(home, &files, key, name.clone(), reader, story).map_err(|error| failed(file, error));
    let (restored, text) = made.inspect_err(|_| files.forget(had_blobs))?;
    let home_failed = |error: io::Error| Failure::Broken(Told::because(format!("the home `{}` cannot be written", home.display()), &error));
    let config = put_config(home, text).map_err(home_failed)?;
    let key_set_aside = files.set_key_aside().map_err(home_failed)?;
    MachineKey::create(&files.key, &secret).map_err(|error| Failure::Broken(Told { hint: error.hint(), ..Told::of(&error) }))?;
    files.name_store().map_err(home_failed)?;
    let pair = |(place, folder)| PlaceFolder { place, folder };
    Ok(Made {
        machine,
        name,
        seats: restored.seats,
        agents: restored.agents,
        kept: restored.kept.into_iter().map(pair).collect(),
        missing: restored.missing.into_iter().map(pair).collect(),
        forks: restored.forks,
        config,
        key_set_aside: key_set_aside.map(|path| path.as_path().into()),
    })
}

fn lock(home: &Path) -> Result<HomeLock, Failure> {
    match HomeLock::take(home)? {
        Locked::Ours(lock) => Ok(lock),
        Locked::Taken(_) => {
            let told = Told::new(format!("a node has the home `{}`", home.display()));
            Err(Failure::Declined(told.hint("`frith down` ends it, or restore into another home: set `FRITH_HOME`")))
        }
    }
}

fn new_key() -> Result<(MachineKey, [u8; KEY_LENGTH]), Failure> {
    let mut secret = [0; KEY_LENGTH];
    getrandom::fill(&mut secret).map_err(|error| Failure::Broken(Told::because("no key can be made", &error)))?;
    Ok((MachineKey::from_secret(&secret), secret))
}

fn make_store(
    home: &Path,
    files: &HomeFiles,
    key: MachineKey,
    name: String,
    reader: &mut OpenBackup,
    story: &mut Story,
) -> Result<(tx::Restored, Option<Vec<u8>>), BackupError> {
    let mut incarnation = [0; 8];
    getrandom::fill(&mut incarnation)
        .map_err(|error| frith_store::error::StoreError::from_io("draw randomness", io::Error::other(error)))?;
    files.remove_begun();
    let disk = Disk { backend: file_backend(&files.begun)?, blobs: Arc::new(BlobFolder::new(files.blobs.clone())) };
    let forks = fs::canonicalize(home).unwrap_or_else(|_| home.to_owned()).join("forks");
    let here = Here {
        disk,
        identity: Identity { machine: key.machine(), incarnation, signer: Arc::new(key) },
        name,
        now: environment::now(),
        is_place: &|path| path.is_dir(),
        is_fork: &|path| path.is_dir() && (path.starts_with(&forks) || path.starts_with(home.join("forks"))),
    };
    backup::restore(reader, here, Options::at(&files.store), &mut |what, done, of| {
        story.tell(&Progress { what: what.to_owned(), part: (of > 0).then_some((done, of)) });
    })
}

/// Writes the configuration of the backup where there is none.
fn put_config(home: &Path, text: Option<Vec<u8>>) -> io::Result<ConfigFate> {
    let Some(text) = text else { return Ok(ConfigFate::None) };
    let opened = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(config::path(home));
    match opened {
        Ok(mut file) => file.write_all(&text).map(|()| ConfigFate::Restored),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(ConfigFate::Kept),
        Err(error) => Err(error),
    }
}

/// A store that is being restored, below its home, until it is whole.
pub const BEGUN: &str = "store.redb.new";

/// The files of a home that a restored store needs.
struct HomeFiles {
    home: PathBuf,
    store: PathBuf,
    /// The store until it is one.
    begun: PathBuf,
    blobs: PathBuf,
    key: PathBuf,
}

impl HomeFiles {
    fn of(home: &Path) -> Self {
        let [store, begun, blobs, key] = ["store.redb", BEGUN, "blobs", "key"].map(|name| home.join(name));
        Self { home: home.to_owned(), store, begun, blobs, key }
    }

    fn require_no_store(&self) -> Result<(), Failure> {
        match self.store.symlink_metadata() {
            Ok(_) => Err(Failure::Refused(Box::new(Refusal::StoreThere { path: self.store.as_path().into() }))),
            Err(_) => Ok(()),
        }
    }

    /// Takes away what an attempt left that did not come to its end; nobody ever used it.
    fn remove_begun(&self) {
        // What cannot be removed cannot be opened as new either, which is told.
        let _ = fs::remove_file(&self.begun);
    }

    /// Takes away what a failed attempt made.
    fn forget(&self, had_blobs: bool) {
        self.remove_begun();
        if !had_blobs {
            let _ = fs::remove_dir_all(&self.blobs);
        }
    }

    /// Gives a key that is there a name of its own, so that the new one can have its name.
    fn set_key_aside(&self) -> io::Result<Option<PathBuf>> {
        if self.key.symlink_metadata().is_err() {
            return Ok(None);
        }
        let mut numbered = (0_u32..).map(|number| self.home.join(format!("key.before-restore-{number}")));
        let free = numbered.find(|path| path.symlink_metadata().is_err());
        let aside = free.expect("one of all numbers is free");
        fs::rename(&self.key, &aside)?;
        Ok(Some(aside))
    }

    fn name_store(&self) -> io::Result<()> {
        fs::rename(&self.begun, &self.store)?;
        fs::File::open(&self.home)?.sync_all()
    }
}
