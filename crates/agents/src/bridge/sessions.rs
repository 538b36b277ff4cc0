//! The open sessions: a small private file for each, which the bridge writes at an event and removes at the
//! end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::parents::{self, Process};
use super::session_file::SessionFile;
use crate::agent::Agent;
use crate::files::{private_dir, write_atomic};
use hookbox_system::limits;

/// The directory in the private data directory.
const DIRECTORY: &str = "sessions";

/// The age up to which a note is not written again, so that an event costs one `stat`.
const REWRITTEN: Duration = Duration::from_secs(5 * 60);

/// The time after its last event for which a session counts as open, if the agent's process is not known. A
/// command of an agent follows an event closely.
const OPEN: Duration = Duration::from_secs(60 * 60);

/// The note of an open session.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Session {
    agent: String,
    /// The repository, or the directory in which the agent works.
    pub(super) directory: PathBuf,
    /// The agent's process, if it is certain.
    process: Option<Process>,
}

impl Session {
    /// Returns the agent's name in a sentence.
    pub(super) fn title(&self) -> &'static str {
        self.agent.parse::<Agent>().map_or("an agent", Agent::title)
    }

    fn is_open(&self, noted: SystemTime) -> bool {
        let alive = self.process.as_ref().and_then(Process::is_alive);
        alive.unwrap_or_else(|| noted.elapsed().map_or(true, |age| age < OPEN))
    }
}

/// The file of one session.
pub(super) struct Note {
    file: SessionFile,
    agent: Agent,
}

impl Note {
    /// Returns the file of a session; `None` for a session without an id.
    pub(super) fn of(data: &Path, agent: Agent, session: &str) -> Option<Self> {
        if session.is_empty() || session == super::doctor::SESSION {
            return None;
        }
        Some(Self { file: SessionFile::of(data, DIRECTORY, agent, session), agent })
    }

    /// Notes that it is open in a directory. A failure is only one sign less. While the agent's process
    /// lives, its note stays as it is: anybody can write an event, and a model could end or move its session
    /// in this way.
    pub(super) fn open(&self, directory: &Path, begins: bool) {
        let noted = fs::symlink_metadata(&self.file.path).and_then(|about| about.modified());
        let is_fresh = noted.as_ref().is_ok_and(|at| at.elapsed().is_ok_and(|age| age < REWRITTEN));
        if is_fresh && !begins {
            return;
        }
        if !self.is_alive() {
            let _ = self.write(directory);
        }
    }

    /// Removes it, unless the agent's process is known to live: then the note ends with that process.
    pub(super) fn close(&self) {
        if !self.is_alive() {
            self.file.remove();
        }
    }

    fn is_alive(&self) -> bool {
        read(&self.file.path).is_ok_and(|session| session.process.and_then(|it| it.is_alive()) == Some(true))
    }

    fn write(&self, directory: &Path) -> io::Result<()> {
        self.file.make_room()?;
        // The nearest agent above may be another one than this, around it.
        let mut parents = parents::agents().into_iter();
        let process = parents.find(|it| it.agent == self.agent.title()).map(|it| it.process);
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let session = Session { agent: self.agent.to_string(), directory, process };
        write_atomic(&self.file.path, &serde_json::to_vec(&session)?)
    }
}

/// Returns a session that is open in this directory, above it or below it.
pub(super) fn open_at(data: &Path, directory: &Path) -> Option<Session> {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let entries = fs::read_dir(data.join(DIRECTORY)).ok()?;
    entries.filter_map(Result::ok).filter_map(|entry| read(&entry.path()).ok()).find(|session| {
        session.directory.starts_with(&directory) || directory.starts_with(&session.directory)
    })
}

/// Reads the note of a session that is open.
fn read(path: &Path) -> io::Result<Session> {
    let session: Session = serde_json::from_slice(&private_dir::read_file(path, limits::FILE)?)?;
    let noted = fs::symlink_metadata(path)?.modified()?;
    session.is_open(noted).then_some(session).ok_or_else(|| io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn note(data: &Path, session: &str) -> Note {
        Note::of(data, Agent::Cursor, session).unwrap()
    }

    #[test]
    fn a_session_is_open_in_its_directory_until_its_end() {
        let temp = tempfile::tempdir().unwrap();
        let at = |path: &str| temp.path().join(path);
        fs::create_dir_all(at("repo/src")).unwrap();
        fs::create_dir_all(at("other")).unwrap();
        let (one, two) = (note(&at("data"), "../one"), note(&at("data"), "two"));
        let is_open = |path: &str| open_at(&at("data"), &at(path)).is_some();
        assert!(!is_open("repo"));
        one.open(&at("repo"), false);
        two.open(&at("repo"), true);
        assert_eq!(["repo", "repo/src", "", "other"].map(is_open), [true, true, true, false]);
        assert_eq!(open_at(&at("data"), &at("repo")).unwrap().title(), "Cursor");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&one.file.path), mode(one.file.path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(fs::read_dir(at("data/sessions")).unwrap().count(), 2);
        one.close();
        assert!(is_open("repo"));
        two.close();
        assert!(!is_open("repo"));
    }

    #[test]
    fn a_session_without_a_known_process_ends_an_hour_after_its_last_event() {
        let temp = tempfile::tempdir().unwrap();
        let one = note(temp.path(), "one");
        for (age, is_open) in [(Duration::ZERO, true), (OPEN - REWRITTEN, true), (OPEN + REWRITTEN, false)] {
            one.open(temp.path(), true);
            // Under an agent of this name its process is noted, and lives.
            let session = Session { agent: "cursor".into(), directory: "/".into(), process: None };
            fs::write(&one.file.path, serde_json::to_vec(&session).unwrap()).unwrap();
            let file = File::options().write(true).open(&one.file.path).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
            assert_eq!(open_at(temp.path(), temp.path()).is_some(), is_open, "{age:?}");
        }
        // The next event opens it again.
        one.open(temp.path(), false);
        assert!(open_at(temp.path(), temp.path()).is_some());
    }

    #[test]
    fn an_event_soon_after_another_writes_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let one = note(temp.path(), "one");
        one.open(temp.path(), false);
        fs::write(&one.file.path, "as it was").unwrap();
        one.open(temp.path(), false);
        assert_eq!(fs::read_to_string(&one.file.path).unwrap(), "as it was");
        one.open(temp.path(), true);
        assert!(open_at(temp.path(), temp.path()).is_some());
    }

    #[test]
    fn what_is_no_note_is_no_session() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(DIRECTORY).join(name);
        fs::create_dir_all(at("directory")).unwrap();
        fs::write(at("garbage"), "{\"agent\": 1}").unwrap();
        fs::write(at("long"), vec![b' '; 1 << 20]).unwrap();
        symlink("/dev/zero", at("link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        assert!(open_at(temp.path(), temp.path()).is_none());
        assert!(Note::of(temp.path(), Agent::Claude, "").is_none());
    }
}
