//! The small private files that the bridge keeps for each session, because every event is a process of its own: how often
//! hooks made the agent go on, and the notes that the session has heard.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::OFlags;

use crate::agent::Agent;
use crate::event::ToolCall;
use crate::files::private_dir;
use crate::hook::Digest;
use crate::session::MAX_FOLLOW_UPS;
use hookbox_system::limits;

/// The directories in the private data directory.
const FOLLOW_UPS: &str = "follow-ups";
const TOLD: &str = "told";

/// The largest number of sessions that are kept or counted: far more than a user has at once.
pub(super) const MAX_SESSIONS: usize = 256;

/// The largest file of notes, in bytes. A larger one begins anew, and each note is told again.
const MAX_TOLD: u64 = 64 << 10;

/// A small private file of one session.
pub(super) struct SessionFile {
    directory: PathBuf,
    pub(super) path: PathBuf,
}

impl SessionFile {
    /// Returns the file of an agent's session in this directory of the private data directory.
    pub(super) fn of(data: &Path, directory: &str, agent: Agent, session: &str) -> Self {
        let directory = data.join(directory);
        let digest = Digest::of(format!("{agent}\0{session}").as_bytes());
        Self { path: directory.join(digest.hex()), directory }
    }

    /// Removes the file, if it can be removed.
    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Makes the directory. Before the first file of a session, those of old sessions go, and the oldest of too many.
    pub(super) fn make_room(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        if self.path.exists() {
            return Ok(());
        }
        let entries = fs::read_dir(&self.directory)?.filter_map(Result::ok);
        let mut found: Vec<(SystemTime, PathBuf)> = entries
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        found.sort();
        let too_many = (found.len() + 1).saturating_sub(MAX_SESSIONS);
        for (index, (at, path)) in found.into_iter().enumerate() {
            if index < too_many || at.elapsed().is_ok_and(|age| age > limits::DAY) {
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }

    /// Opens the file to append: two processes can do that at the same time.
    fn appending(&self) -> io::Result<File> {
        self.make_room()?;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).custom_flags(flags.bits().cast_signed());
        options.open(&self.path)
    }
}

/// The number of times in a row that hooks made an agent go on. The agents report at most whether a hook has.
pub(super) struct FollowUps {
    /// A file with one byte for each follow-up. `None` without a private data directory.
    file: Option<SessionFile>,
    /// True if the agent reports that a hook has made it go on; `None` if it reports nothing.
    goes_on: Option<bool>,
}

impl FollowUps {
    /// Returns the number of an agent's session, or of its subagents. `goes_on` is the agent's report at this
    /// stop.
    pub(super) fn of(
        data: Option<&Path>,
        agent: Agent,
        session: &str,
        is_subagent: bool,
        goes_on: Option<bool>,
    ) -> Self {
        let who = if is_subagent { "subagent" } else { "main" };
        let file = data.map(|data| SessionFile::of(data, FOLLOW_UPS, agent, &format!("{who}\0{session}")));
        Self { file, goes_on }
    }

    /// Returns the number so far. It starts again only if the agent reports that no hook has made it go on. A
    /// number that cannot be kept or read counts as the maximum: otherwise the agent might go on forever.
    pub(super) fn so_far(&self) -> u32 {
        if self.goes_on == Some(false) {
            // A file that stays ends the next turn early.
            self.file.iter().for_each(SessionFile::remove);
            return 0;
        }
        let Some(file) = &self.file else { return MAX_FOLLOW_UPS };
        match private_dir::open_file(&file.path).and_then(|file| length(&file)) {
            Ok(number) => number.max(u32::from(self.goes_on == Some(true))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => u32::from(self.goes_on == Some(true)),
            Err(_) => MAX_FOLLOW_UPS,
        }
    }

    /// Counts one more, and returns the new number. The first of a turn needs no file if the agent reports it
    /// at the next stop.
    ///
    /// # Errors
    ///
    /// The number cannot be kept.
    pub(super) fn add(&self) -> io::Result<u32> {
        if self.goes_on == Some(false) {
            return Ok(1);
        }
        let none = || io::Error::other("there is no private data directory");
        let mut file = self.file.as_ref().ok_or_else(none)?.appending()?;
        // The first one, which the agent reported, is counted with the second.
        let more: &[u8] = if length(&file)? == 0 && self.goes_on == Some(true) { b"++" } else { b"+" };
        file.write_all(more)?;
        length(&file)
    }
}

/// Returns the length of a regular file in bytes; a huge one counts as the maximum.
fn length(file: &File) -> io::Result<u32> {
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(u32::try_from(about.len()).unwrap_or(u32::MAX))
}

/// The notes that one session has heard: a note about an untrusted hook or a broken file is told once, and not at every
/// event. The calls that were blocked are among them.
pub(super) struct Told {
    /// A file with the digest of a note in each line. `None` without a session or a private data directory.
    file: Option<SessionFile>,
}

impl Told {
    /// Returns the notes of an agent's session.
    pub(super) fn of(data: Option<&Path>, agent: Agent, session: &str) -> Self {
        let data = data.filter(|_| !session.is_empty());
        Self { file: data.map(|data| SessionFile::of(data, TOLD, agent, session)) }
    }

    /// Forgets all notes: the session begins. A file that stays hides notes that this session has heard before.
    pub(super) fn forget(&self) {
        self.file.iter().for_each(SessionFile::remove);
    }

    /// Returns the notes that the session has not heard, and keeps them as heard. A note that cannot be kept is told again.
    pub(super) fn unheard(&self, mut notes: Vec<String>) -> Vec<String> {
        let Some(file) = self.file.as_ref().filter(|_| !notes.is_empty()) else { return notes };
        let heard = self.kept();
        notes.retain(|note| !heard.contains(&key(note)));
        if !notes.is_empty() {
            if fs::metadata(&file.path).is_ok_and(|about| about.len() > MAX_TOLD) {
                file.remove();
            }
            let lines: String = notes.iter().map(|note| key(note) + "\n").collect();
            let _ = file.appending().and_then(|mut file| file.write_all(lines.as_bytes()));
        }
        notes
    }

    /// Keeps that a call was blocked.
    pub(super) fn block(&self, call: &ToolCall) {
        self.unheard(blocked(call).into_iter().collect());
    }

    /// Returns true if this call was blocked.
    pub(super) fn has_blocked(&self, call: &ToolCall) -> bool {
        blocked(call).is_some_and(|note| self.kept().contains(&key(&note)))
    }

    /// Returns the keys of the notes that are kept.
    fn kept(&self) -> BTreeSet<String> {
        let kept = self.file.as_ref().and_then(|file| private_dir::read_file(&file.path, MAX_TOLD).ok());
        String::from_utf8_lossy(&kept.unwrap_or_default()).lines().map(str::to_owned).collect()
    }
}

/// Returns the key of a note in the file.
fn key(note: &str) -> String {
    Digest::of(note.as_bytes()).hex()
}

/// Returns the note of a blocked call, if the agent gave it an id. Some agents give an id again: another call with it is
/// another note.
fn blocked(call: &ToolCall) -> Option<String> {
    let id = call.id.as_deref().filter(|id| !id.is_empty())?;
    Some(format!("blocked {id} {} {}", call.name, call.input.value()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn of(data: &Path, session: &str, goes_on: Option<bool>) -> FollowUps {
        FollowUps::of(Some(data), Agent::Claude, session, false, goes_on)
    }

    #[test]
    fn the_number_of_a_session_begins_anew_only_where_the_agent_says_so() {
        for says in [Some(true), None] {
            let temp = tempfile::tempdir().unwrap();
            let first = u32::from(says == Some(true));
            let one = || of(temp.path(), "one", says);
            assert_eq!((one().so_far(), one().add().unwrap()), (first, first + 1), "{says:?}");
            for number in first + 1..20 {
                assert_eq!((one().so_far(), one().add().unwrap()), (number, number + 1), "{says:?}");
            }
            let file = one().file.unwrap().path;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
            let subagent = FollowUps::of(Some(temp.path()), Agent::Claude, "one", true, says);
            let elsewhere = FollowUps::of(Some(temp.path()), Agent::Codex, "one", false, says);
            let other = of(temp.path(), "../one", says);
            assert_eq!([subagent, elsewhere, other].map(|it| it.so_far()), [first; 3]);
            let anew = of(temp.path(), "one", Some(false));
            assert_eq!((anew.so_far(), anew.add().unwrap(), file.exists()), (0, 1, false));
            assert_eq!(one().so_far(), first);
        }
    }

    #[test]
    fn none_is_lost_where_several_are_counted_at_the_same_time() {
        let temp = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| of(temp.path(), "one", None).add().unwrap());
            }
        });
        assert_eq!(of(temp.path(), "one", None).so_far(), 8);
    }

    #[test]
    fn a_number_that_cannot_be_kept_or_read_is_the_most() {
        for says in [Some(true), None] {
            let none = FollowUps::of(None, Agent::Claude, "one", false, says);
            assert_eq!(none.so_far(), MAX_FOLLOW_UPS);
            none.add().unwrap_err();
            let temp = tempfile::tempdir().unwrap();
            let one = of(temp.path(), "one", says);
            fs::create_dir(temp.path().join(FOLLOW_UPS)).unwrap();
            symlink("/etc/hostname", &one.file.as_ref().unwrap().path).unwrap();
            assert_eq!(one.so_far(), MAX_FOLLOW_UPS, "a symlink");
            one.add().unwrap_err();
        }
        let first = FollowUps::of(None, Agent::Claude, "one", false, Some(false));
        assert_eq!((first.so_far(), first.add().unwrap()), (0, 1));
    }

    #[test]
    fn the_oldest_sessions_go_and_there_are_never_too_many() {
        let temp = tempfile::tempdir().unwrap();
        let directory = temp.path().join(FOLLOW_UPS);
        fs::create_dir(&directory).unwrap();
        let now = SystemTime::now();
        for number in 0..MAX_SESSIONS as u64 + 20 {
            let file = File::create(directory.join(number.to_string())).unwrap();
            file.set_modified(now - std::time::Duration::from_secs(10_000 - number)).unwrap();
        }
        of(temp.path(), "new", None).add().unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), MAX_SESSIONS);
        assert!(!directory.join("0").exists() && directory.join("275").exists());
        let old = File::options().write(true).open(directory.join("275")).unwrap();
        old.set_modified(now - 2 * limits::DAY).unwrap();
        of(temp.path(), "newer", None).add().unwrap();
        assert!(!directory.join("275").exists());
    }

    #[test]
    fn a_session_hears_each_note_once() {
        let temp = tempfile::tempdir().unwrap();
        let of = |session: &str| Told::of(Some(temp.path()), Agent::Claude, session);
        let hears = |session: &str, notes: &[&str]| {
            of(session).unheard(notes.iter().map(|it| (*it).to_owned()).collect())
        };
        assert_eq!(hears("../one", &["a", "b"]), ["a", "b"]);
        assert_eq!(hears("../one", &["a", "b", "c"]), ["c"]);
        assert_eq!(hears("two", &["a"]), ["a"]);
        of("../one").forget();
        assert_eq!(hears("../one", &["a"]), ["a"]);
        assert_eq!((hears("", &["a"]), hears("", &["a"])), (vec!["a".to_owned()], vec!["a".to_owned()]));
    }

    #[test]
    fn a_blocked_call_is_known_by_its_id() {
        let temp = tempfile::tempdir().unwrap();
        let told = Told::of(Some(temp.path()), Agent::Claude, "one");
        let other = |id: &str| {
            let mut call = ToolCall::new("Bash", serde_json::json!({"command": "ls"}));
            call.id = Some(id.to_owned());
            call
        };
        let call = |id: Option<&str>| {
            let mut call = ToolCall::new("Bash", serde_json::json!({}));
            call.id = id.map(str::to_owned);
            call
        };
        for id in [Some("toolu_1"), Some(""), None] {
            assert!(!told.has_blocked(&call(id)), "{id:?}");
            told.block(&call(id));
        }
        assert!(told.has_blocked(&call(Some("toolu_1"))) && !told.has_blocked(&call(Some("toolu_2"))));
        assert!(!told.has_blocked(&other("toolu_1")), "the id of another call");
        assert!(!told.has_blocked(&call(Some(""))) && !told.has_blocked(&call(None)));
    }

    #[test]
    fn a_note_that_cannot_be_kept_is_told_again() {
        let temp = tempfile::tempdir().unwrap();
        let told = Told::of(Some(temp.path()), Agent::Claude, "one");
        let file = &told.file.as_ref().unwrap().path;
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        symlink("/etc/hostname", file).unwrap();
        for _ in 0..2 {
            assert_eq!(told.unheard(vec!["a".to_owned()]), ["a"]);
        }
        assert_eq!(Told::of(None, Agent::Claude, "one").unheard(vec!["a".to_owned()]), ["a"]);
    }
}
