//! How often in a row hooks made an agent go on. The agents only say whether a hook has; every event is a process of its
//! own, so that the number is kept in a small private file for each session.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::dialect::agent::Agent;
use crate::hook::Digest;
use crate::session::MAX_FOLLOW_UPS;

/// The directory in the private data directory.
const DIRECTORY: &str = "follow-ups";

/// How many sessions are kept: far more than a user has at work at once.
const MAX_SESSIONS: usize = 256;

/// How long a session that did not go on is kept.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// How large a file is read, in bytes: it holds one number.
const MAX_FILE: u64 = 16;

/// The number of one session.
pub(super) struct FollowUps {
    /// `None` where there is no private data directory.
    file: Option<PathBuf>,
}

impl FollowUps {
    /// Of this session of an agent, and of its subagents apart from it.
    pub(super) fn of(data: Option<&Path>, agent: Agent, session: &str, is_subagent: bool) -> Self {
        let who = if is_subagent { "subagent" } else { "main" };
        let digest = Digest::of(format!("{agent}\0{who}\0{session}").as_bytes()).to_string();
        let name: String = digest.chars().filter(char::is_ascii_hexdigit).collect();
        Self { file: data.map(|data| data.join(DIRECTORY).join(name)) }
    }

    /// How often so far, where the agent says that a hook made it go on. A number that cannot be kept or read counts as
    /// the most: otherwise nothing would end it.
    pub(super) fn so_far(&self) -> u32 {
        let Some(file) = &self.file else { return MAX_FOLLOW_UPS };
        match read(file) {
            Ok(text) => text.trim().parse().unwrap_or(MAX_FOLLOW_UPS).max(1),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 1,
            Err(_) => MAX_FOLLOW_UPS,
        }
    }

    /// Keeps how often it was with this one. The first needs no file: the agent says it.
    ///
    /// # Errors
    ///
    /// Where it cannot be kept.
    pub(super) fn keep(&self, count: u32) -> io::Result<()> {
        if count < 2 {
            self.forget();
            return Ok(());
        }
        let Some((file, directory)) = self.file.as_ref().and_then(|file| Some((file, file.parent()?))) else {
            return Err(io::Error::other("there is no private data directory"));
        };
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        tidy(directory);
        // Mode 0600 from the start.
        let mut temporary = tempfile::NamedTempFile::new_in(directory)?;
        temporary.write_all(count.to_string().as_bytes())?;
        temporary.as_file().sync_all()?;
        temporary.persist(file).map_err(|error| error.error)?;
        Ok(())
    }

    /// Begins anew.
    pub(super) fn forget(&self) {
        if let Some(file) = &self.file {
            // Mostly there is none. One that stays is not looked at before it is written again.
            let _ = fs::remove_file(file);
        }
    }
}

fn read(file: &Path) -> io::Result<String> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(file)?;
    let mut text = String::new();
    file.take(MAX_FILE).read_to_string(&mut text)?;
    Ok(text)
}

/// Removes old sessions, and the oldest where there are too many. What cannot be removed stays.
fn tidy(directory: &Path) {
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

    fn of(data: &Path, session: &str) -> FollowUps {
        FollowUps::of(Some(data), Agent::Claude, session, false)
    }

    #[test]
    fn the_number_of_a_session_is_kept_and_forgotten() {
        let temp = tempfile::tempdir().unwrap();
        let (one, other) = (of(temp.path(), "one"), of(temp.path(), "other"));
        assert_eq!(one.so_far(), 1, "the agent says that there was one");
        one.keep(1).unwrap();
        assert!(!temp.path().join(DIRECTORY).exists(), "the first needs no file");
        one.keep(5).unwrap();
        assert_eq!((one.so_far(), other.so_far()), (5, 1));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = one.file.clone().unwrap();
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        let subagent = FollowUps::of(Some(temp.path()), Agent::Claude, "one", true);
        let elsewhere = FollowUps::of(Some(temp.path()), Agent::Codex, "one", false);
        assert_eq!((subagent.so_far(), elsewhere.so_far()), (1, 1));
        one.forget();
        assert_eq!(one.so_far(), 1);
    }

    #[test]
    fn a_number_that_cannot_be_kept_or_read_is_the_most() {
        let none = FollowUps::of(None, Agent::Claude, "one", false);
        assert_eq!(none.so_far(), MAX_FOLLOW_UPS);
        none.keep(1).unwrap();
        none.keep(2).unwrap_err();
        let temp = tempfile::tempdir().unwrap();
        let one = of(temp.path(), "one");
        let file = one.file.clone().unwrap();
        fs::create_dir(temp.path().join(DIRECTORY)).unwrap();
        for garbage in ["", "x", "-1", "99999999999999999999"] {
            fs::write(&file, garbage).unwrap();
            assert_eq!(one.so_far(), MAX_FOLLOW_UPS, "{garbage:?}");
        }
        fs::remove_file(&file).unwrap();
        symlink("/etc/hostname", &file).unwrap();
        assert_eq!(one.so_far(), MAX_FOLLOW_UPS, "a symlink");
        one.keep(2).unwrap();
        assert_eq!(one.so_far(), 2, "replaced, not followed");
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
        of(temp.path(), "new").keep(2).unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), MAX_SESSIONS);
        assert!(!directory.join("0").exists() && directory.join("275").exists());
        let old = File::options().write(true).open(directory.join("275")).unwrap();
        old.set_modified(now - 2 * KEPT).unwrap();
        of(temp.path(), "new").keep(3).unwrap();
        assert!(!directory.join("275").exists());
    }
}
