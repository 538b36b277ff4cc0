//! The number of times in a row that hooks made an agent go on. The agents report at most whether a hook has,
//! and every event is a process of its own, so the number is in a small private file for each session.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;

use crate::agent::Agent;
use crate::files::private_dir;
use crate::hook::Digest;
use crate::session::MAX_FOLLOW_UPS;

/// The directory in the private data directory.
const DIRECTORY: &str = "follow-ups";

/// The largest number of sessions that are kept: far more than a user has at once.
const MAX_SESSIONS: usize = 256;

/// The time for which a session that did not go on is kept.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of one session.
pub(super) struct FollowUps {
    /// A file with one byte for each follow-up: two processes can append at the same time. `None` without a
    /// private data directory.
    file: Option<PathBuf>,
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
        let digest = Digest::of(format!("{agent}\0{who}\0{session}").as_bytes());
        Self { file: data.map(|data| data.join(DIRECTORY).join(digest.hex())), goes_on }
    }

    /// Returns the number so far. It starts again only if the agent reports that no hook has made it go on. A
    /// number that cannot be kept or read counts as the maximum: otherwise the agent might go on forever.
    pub(super) fn so_far(&self) -> u32 {
        if self.goes_on == Some(false) {
            if let Some(file) = &self.file {
                // A file that stays ends the next turn early.
                let _ = fs::remove_file(file);
            }
            return 0;
        }
        let Some(file) = &self.file else { return MAX_FOLLOW_UPS };
        match private_dir::open_file(file).and_then(|file| length(&file)) {
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
        let Some((file, directory)) = self.file.as_ref().and_then(|file| Some((file, file.parent()?))) else {
            return Err(io::Error::other("there is no private data directory"));
        };
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        if !file.exists() {
            tidy(directory);
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).custom_flags(flags.bits().cast_signed());
        let mut file = options.open(file)?;
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

/// Removes the files of old sessions, and the oldest of too many. A file that cannot be removed stays.
pub(super) fn tidy(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut found: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    found.sort();
    let too_many = (found.len() + 1).saturating_sub(MAX_SESSIONS);
    let now = SystemTime::now();
    let is_old = |at: SystemTime| now.duration_since(at).is_ok_and(|age| age > KEPT);
    for (index, (at, path)) in found.into_iter().enumerate() {
        if index < too_many || is_old(at) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
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
            let file = one().file.unwrap();
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
            fs::create_dir(temp.path().join(DIRECTORY)).unwrap();
            symlink("/etc/hostname", one.file.as_ref().unwrap()).unwrap();
            assert_eq!(one.so_far(), MAX_FOLLOW_UPS, "a symlink");
            one.add().unwrap_err();
        }
        let first = FollowUps::of(None, Agent::Claude, "one", false, Some(false));
        assert_eq!((first.so_far(), first.add().unwrap()), (0, 1));
    }

    #[test]
    fn the_oldest_sessions_go_and_there_are_never_too_many() {
        let temp = tempfile::tempdir().unwrap();
        let directory = temp.path().join(DIRECTORY);
        fs::create_dir(&directory).unwrap();
        let now = SystemTime::now();
        for number in 0..MAX_SESSIONS as u64 + 20 {
            let file = File::create(directory.join(number.to_string())).unwrap();
            file.set_modified(now - Duration::from_secs(10_000 - number)).unwrap();
        }
        of(temp.path(), "new", None).add().unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), MAX_SESSIONS);
        assert!(!directory.join("0").exists() && directory.join("275").exists());
        let old = File::options().write(true).open(directory.join("275")).unwrap();
        old.set_modified(now - 2 * KEPT).unwrap();
        of(temp.path(), "newer", None).add().unwrap();
        assert!(!directory.join("275").exists());
    }
}
