//! What native hooks answered to `hook`, kept by path and digest.

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::event::EventName;
use crate::files::private_dir;
use crate::hook::Digest;

/// How large an answer may be, in bytes: a digest and the name of an event take less.
const MAX_FILE: u64 = 4096;

/// A directory of answers, one file each. Only good answers are kept: a hook that failed may do better next time.
/// Nothing depends on it: what cannot be read or written there is asked again.
#[derive(Clone, Debug)]
pub(super) struct QueryCache {
    dir: PathBuf,
}

/// The wire: what stands in a file. It repeats what it was asked for, so that a file in the wrong place says so.
#[derive(Serialize, Deserialize)]
struct Answer {
    digest: String,
    event: String,
}

impl QueryCache {
    /// The answers kept in this directory.
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// What the program with these bytes answered at this path, with these variables.
    pub(super) fn get(
        &self,
        program: &Path,
        digest: &Digest,
        environment: Option<&[String]>,
    ) -> Option<EventName> {
        let text = private_dir::read_file(&self.file(program, digest, environment), MAX_FILE).ok()?;
        let answer: Answer = serde_json::from_slice(&text).ok()?;
        if answer.digest != digest.to_string() {
            return None;
        }
        answer.event.parse().ok()
    }

    /// Keeps an answer.
    pub(super) fn put(
        &self,
        program: &Path,
        digest: &Digest,
        environment: Option<&[String]>,
        event: &EventName,
    ) {
        if let Err(error) = self.write(&self.file(program, digest, environment), digest, event) {
            tracing::debug!(dir = %self.dir.display(), %error, "an answer to `hook` was not kept");
        }
    }

    fn write(&self, to: &Path, digest: &Digest, event: &EventName) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let answer = Answer { digest: digest.to_string(), event: event.to_string() };
        // Private from the start, and whole or not there.
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(&serde_json::to_vec(&answer)?)?;
        file.persist(to)?;
        Ok(())
    }

    /// A script may behave by its own path (`$0`) and by its environment, so both are part of the key: of the latter
    /// which variables the hook gets, in any order.
    fn file(&self, program: &Path, digest: &Digest, environment: Option<&[String]>) -> PathBuf {
        let mut key = digest.to_string().into_bytes();
        key.push(0);
        key.extend_from_slice(program.as_os_str().as_bytes());
        if let Some(names) = environment {
            let names: BTreeSet<&String> = names.iter().collect();
            // No path holds a NUL, so that a path and names are never another path.
            key.push(0);
            for name in names {
                key.extend_from_slice(name.as_bytes());
                key.push(0);
            }
        }
        self.dir.join(format!("query-{}.json", Digest::of(&key).hex()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn an_answer_holds_for_these_bytes_at_this_path() {
        let temp = tempfile::tempdir().unwrap();
        let cache = QueryCache::new(temp.path().join("new/cache"));
        let (program, digest) = (Path::new("/hooks/x"), Digest::of(b"x"));
        assert_eq!(cache.get(program, &digest, None), None);
        cache.put(program, &digest, None, &EventName::TurnEnd);
        assert_eq!(cache.get(program, &digest, None), Some(EventName::TurnEnd));
        assert_eq!(cache.get(program, &Digest::of(b"y"), None), None);
        assert_eq!(cache.get(Path::new("/hooks/y"), &digest, None), None);

        let file = cache.file(program, &digest, None);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        for broken in ["", "{", "{\"digest\":\"sha256:0\",\"event\":\"turn_end\"}"] {
            fs::write(&file, broken).unwrap();
            assert_eq!(cache.get(program, &digest, None), None, "{broken}");
        }
    }

    #[test]
    fn answers_in_different_environments_are_not_mixed() {
        let temp = tempfile::tempdir().unwrap();
        let cache = QueryCache::new(temp.path().to_owned());
        let (program, digest) = (Path::new("/hooks/x"), Digest::of(b"x"));
        let names = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        let environments = [None, Some(names(&[])), Some(names(&["PATH"])), Some(names(&["HOME", "PATH"]))];
        let events = [EventName::TurnEnd, EventName::AgentStop, EventName::AfterTurn, EventName::OnError];
        for (environment, event) in environments.iter().zip(&events) {
            cache.put(program, &digest, environment.as_deref(), event);
        }
        for (environment, event) in environments.iter().zip(&events) {
            assert_eq!(cache.get(program, &digest, environment.as_deref()).as_ref(), Some(event));
        }
        let reordered = names(&["PATH", "HOME", "PATH"]);
        assert_eq!(cache.get(program, &digest, Some(&reordered)), Some(EventName::OnError));
    }
}
