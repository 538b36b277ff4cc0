//! The notes that a session has heard: a small private file for each session, because every event is a process of its own.
//! A note about an untrusted hook or a broken file is told once, and not at every event. The file also has the calls that
//! were blocked.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::follow_ups::tidy;
use crate::agent::Agent;
use crate::event::ToolCall;
use crate::files::private_dir;
use crate::hook::Digest;

/// The directory in the private data directory.
const DIRECTORY: &str = "told";

/// The largest file, in bytes. A larger one begins anew, and each note is told again.
const MAX_FILE: u64 = 64 << 10;

/// The notes that one session has heard.
pub(super) struct Told {
    /// A file with the digest of a note in each line. `None` without a session or a private data directory.
    file: Option<PathBuf>,
}

impl Told {
    /// Returns the notes of an agent's session.
    pub(super) fn of(data: Option<&Path>, agent: Agent, session: &str) -> Self {
        let digest = Digest::of(format!("{agent}\0{session}").as_bytes());
        let data = data.filter(|_| !session.is_empty());
        Self { file: data.map(|data| data.join(DIRECTORY).join(digest.hex())) }
    }

    /// Forgets all notes: the session begins.
    pub(super) fn forget(&self) {
        if let Some(file) = &self.file {
            // A file that stays hides notes that this session has heard before.
            let _ = fs::remove_file(file);
        }
    }

    /// Returns the notes that the session has not heard, and keeps them as heard. A note that cannot be kept is told again.
    pub(super) fn unheard(&self, notes: Vec<String>) -> Vec<String> {
        let Some(file) = self.file.as_ref().filter(|_| !notes.is_empty()) else { return notes };
        let heard = self.kept();
        let unheard: Vec<String> = notes.into_iter().filter(|note| !heard.contains(&key(note))).collect();
        if !unheard.is_empty() {
            let lines: String = unheard.iter().map(|note| key(note) + "\n").collect();
            let _ = append(file, &lines);
        }
        unheard
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
        let kept = self.file.as_ref().and_then(|file| private_dir::read_file(file, MAX_FILE).ok());
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

fn append(file: &Path, lines: &str) -> io::Result<()> {
    let directory = file.parent().ok_or(io::ErrorKind::NotFound)?;
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    match fs::metadata(file) {
        // It begins anew.
        Ok(about) if about.len() > MAX_FILE => fs::remove_file(file)?,
        Ok(_) => {}
        Err(_) => tidy(directory),
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(flags.bits().cast_signed());
    options.open(file)?.write_all(lines.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

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
        let file = told.file.clone().unwrap();
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        symlink("/etc/hostname", &file).unwrap();
        for _ in 0..2 {
            assert_eq!(told.unheard(vec!["a".to_owned()]), ["a"]);
        }
        assert_eq!(Told::of(None, Agent::Claude, "one").unheard(vec!["a".to_owned()]), ["a"]);
    }
}
