//! The open sessions: a small private file for each, which the bridge writes at an event and removes at the
//! end. A file of each agent has the time of its last event.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::parents::{self, Process};
use super::session_file::SessionFile;
use crate::agent::Agent;
use crate::files::{private_dir, write_unsynced};
use hookbox_system::limits;

/// The session of the doctor's payloads, for hooks that keep a record. It is not one of an agent.
pub(super) const DOCTOR: &str = "hookbox-doctor";

/// The directory in the private data directory.
const DIRECTORY: &str = "sessions";

/// The directory of the files whose time is that of an agent's last event.
const SEEN: &str = "seen";

/// The age up to which a note and a time are not written again, so that an event costs one `stat`.
pub(super) const REWRITTEN: Duration = Duration::from_secs(5 * 60);

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
    /// The time of its last event, to [`REWRITTEN`].
    #[serde(skip)]
    noted: Option<SystemTime>,
}

impl Session {
    /// Returns the agent's name in a sentence.
    pub(super) fn title(&self) -> &'static str {
        self.agent.parse::<Agent>().map_or("an agent", Agent::title)
    }

    /// Returns how long it counts as open, in words.
    pub(super) fn lasts(&self) -> String {
        match (&self.process, self.noted.and_then(|noted| noted.elapsed().ok())) {
            (Some(process), _) if process.is_alive() == Some(true) => {
                format!("until process {} ends", process.id)
            }
            (_, age) => {
                let left = OPEN.saturating_sub(age.unwrap_or_default()).as_secs().div_ceil(60);
                let minutes = if left == 1 { "minute" } else { "minutes" };
                format!("for {left} more {minutes}, if it sends no event")
            }
        }
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
    seen: PathBuf,
}

impl Note {
    /// Returns the file of a session; `None` for a session without an id.
    pub(super) fn of(data: &Path, agent: Agent, session: &str) -> Option<Self> {
        if session.is_empty() || session == DOCTOR {
            return None;
        }
        let (file, seen) = (SessionFile::of(data, DIRECTORY, agent, session), seen(data, agent));
        Some(Self { file, agent, seen })
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
        let _ = self.see();
        if !self.is_alive() {
            let _ = self.write(directory);
        }
    }

    /// Removes it, unless the agent's process is known to live: then the note ends with that process.
    pub(super) fn close(&self) {
        let _ = self.see();
        if !self.is_alive() {
            self.file.remove();
        }
    }

    /// Notes the time of the event, unless the last one is as good as it.
    fn see(&self) -> io::Result<()> {
        let last = fs::symlink_metadata(&self.seen).and_then(|about| about.modified());
        if last.is_ok_and(|last| last.elapsed().is_ok_and(|age| age < REWRITTEN)) {
            return Ok(());
        }
        let directory = self.seen.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        private_dir::create_file(&self.seen)?.set_modified(SystemTime::now())
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
        let session = Session { agent: self.agent.to_string(), directory, process, noted: None };
        write_unsynced(&self.file.path, &serde_json::to_vec(&session)?)
    }
}

fn seen(data: &Path, agent: Agent) -> PathBuf {
    data.join(SEEN).join(agent.as_str())
}

/// Returns the time of an agent's last event, which may be [`REWRITTEN`] too early. `None` if there was none.
pub(super) fn last_event(data: &Path, agent: Agent) -> Option<SystemTime> {
    fs::symlink_metadata(seen(data, agent)).ok()?.modified().ok()
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
    let mut session: Session = serde_json::from_slice(&private_dir::read_file(path, limits::FILE)?)?;
    let noted = fs::symlink_metadata(path)?.modified()?;
    session.noted = Some(noted);
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
            let session =
                Session { agent: "cursor".into(), directory: "/".into(), process: None, noted: None };
            fs::write(&one.file.path, serde_json::to_vec(&session).unwrap()).unwrap();
            let file = File::options().write(true).open(&one.file.path).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
            let open = open_at(temp.path(), temp.path());
            assert_eq!(open.is_some(), is_open, "{age:?}");
            let left = (OPEN.as_secs() - age.as_secs().min(OPEN.as_secs())) / 60;
            let lasts = format!("for {left} more minutes, if it sends no event");
            assert!(open.is_none_or(|it| it.lasts() == lasts), "{age:?}");
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
    fn the_time_of_the_last_event_stays_after_the_session() {
        let temp = tempfile::tempdir().unwrap();
        let (one, long_ago) = (note(temp.path(), "one"), SystemTime::now() - 2 * REWRITTEN);
        let last = || last_event(temp.path(), Agent::Cursor);
        assert_eq!(last(), None);
        for event in [|note: &Note| note.open(Path::new("/"), true), Note::close] {
            event(&one);
            assert!(last().unwrap() > long_ago);
            let file = File::options().write(true).open(seen(temp.path(), Agent::Cursor)).unwrap();
            file.set_modified(long_ago).unwrap();
        }
        assert_eq!(last_event(temp.path(), Agent::Claude), None);
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
