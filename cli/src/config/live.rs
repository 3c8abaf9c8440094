//! The configuration of a running node: read again when its file has changed. A file that is wrong changes nothing: what
//! was read last goes on to count, and the log says why.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use frith_actors::config::{Configured, NodeConfig};

use super::{REPOSITORY_FILE, first_fact, node_config, path, read};
use crate::failure::Failure;

/// What tells one content of a file from another without reading it: number, size, time of the last change in seconds
/// and nanoseconds. None where there is no file.
type Mark = Option<(u64, u64, i64, i64)>;

/// A configuration that follows its file.
#[derive(Debug)]
pub struct Live {
    home: PathBuf,
    flags: Vec<String>,
    last: Mutex<Last>,
}

#[derive(Debug)]
struct Last {
    mark: Mark,
    good: Arc<NodeConfig>,
}

impl Live {
    /// Reads the configuration of the home, with the flags of this run.
    ///
    /// # Errors
    /// As [`read`] and [`node_config`].
    pub fn read(home: &Path, flags: &[String]) -> Result<Self, Failure> {
        // The mark comes first: a change between the two is read once more, and never missed.
        let mark = mark(&path(home));
        let good = Arc::new(node_config(&read(home, None, flags)?)?);
        Ok(Self { home: home.to_owned(), flags: flags.to_owned(), last: Mutex::new(Last { mark, good }) })
    }
}

impl Configured for Live {
    fn now(&self) -> Arc<NodeConfig> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = mark(&path(&self.home));
        if mark != last.mark {
            last.mark = mark;
            let again = read(&self.home, None, &self.flags).and_then(|config| Ok((node_config(&config)?, config.warnings)));
            match again {
                Ok((config, warnings)) => {
                    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
                    last.good = Arc::new(config);
                }
                Err(failure) => tracing::warn!("the configuration was changed and does not count: {}", first_fact(&failure)),
            }
        }
        Arc::clone(&last.good)
    }

    /// What a repository's file says counts for it alone; one that is wrong, or says what it may not, changes nothing.
    fn in_repository(&self, top: Option<&Path>) -> Arc<NodeConfig> {
        let now = self.now();
        let Some(top) = top.filter(|top| top.join(REPOSITORY_FILE).exists()) else { return now };
        match read(&self.home, Some(top), &self.flags).and_then(|config| Ok((node_config(&config)?, config.warnings))) {
            Ok((config, warnings)) => {
                warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
                Arc::new(config)
            }
            // The home's own file is what is wrong: what was read of it last goes on to count.
            Err(failure) => {
                tracing::warn!("a repository's configuration does not count: {}", first_fact(&failure));
                now
            }
        }
    }
}

fn mark(path: &Path) -> Mark {
    fs::metadata(path).ok().map(|facts| (facts.ino(), facts.size(), facts.mtime(), facts.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::edit;

    #[test]
    fn a_changed_file_counts_at_once_and_a_wrong_one_does_not() {
        let home = tempfile::tempdir().unwrap();
        let file = path(home.path());
        let live = Live::read(home.path(), &[]).unwrap();
        assert_eq!(live.now().max_agents, NodeConfig::default().max_agents);
        edit::set(&file, "launch.mine.command", "[\"m\"]").unwrap();
        edit::set(&file, "node.max_agents", "2").unwrap();
        assert!(live.now().kinds.contains_key("mine") && live.now().max_agents == 2);
        fs::write(&file, "[node]\nmax_agents = \"a great many\"\n").unwrap();
        assert!(live.now().kinds.contains_key("mine") && live.now().max_agents == 2);
        fs::remove_file(&file).unwrap();
        assert_eq!(live.now().max_agents, NodeConfig::default().max_agents);
    }

    #[test]
    fn what_a_flag_says_goes_on_to_count() {
        let home = tempfile::tempdir().unwrap();
        let live = Live::read(home.path(), &["node.max_agents=3".to_owned()]).unwrap();
        edit::set(&path(home.path()), "node.max_agents", "9").unwrap();
        assert_eq!(live.now().max_agents, 3);
    }

    #[test]
    fn what_a_repository_says_counts_for_it_alone() {
        let (home, app) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(app.path().join(".git")).unwrap();
        let live = Live::read(home.path(), &[]).unwrap();
        let of_app = || live.in_repository(Some(app.path()));
        assert!(!of_app().skips_lfs);
        fs::write(app.path().join(REPOSITORY_FILE), "[git]\nlfs = \"skip\"\n[node]\nmax_agents = 99\n").unwrap();
        assert!(of_app().skips_lfs && !live.now().skips_lfs && !live.in_repository(None).skips_lfs);
        assert_eq!(of_app().max_agents, NodeConfig::default().max_agents);
        fs::write(app.path().join(REPOSITORY_FILE), "[git\n").unwrap();
        assert!(!of_app().skips_lfs);
    }
}
