//! The last descriptions of components, by digest, beside their compiled code.
//!
//! A component that is not compiled yet cannot tell whether its failures block. These files tell it after the code was
//! pruned, and after an update of hookbox, which compiles every component again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::hook::{Cause, Digest, HookError, Manifest, OnFailure, Subscription};
use hookbox_system::files::{private_dir, write_atomic};

/// The time after which the description and the code of an unused component are removed.
pub(super) const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The time for which a failure counts, and after which a description is written again.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The size limit of a file, in bytes. A description with more subscriptions than fit is kept without them.
const MAX_FILE: usize = 64 << 10;
/// The most bytes of a message that are kept.
const MAX_MESSAGE: usize = 1000;

/// The facts about a component that count before it is compiled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// The failure policy that it asks for; `None` if it was never described.
    pub on_failure: Option<OnFailure>,
    /// Its subscriptions; empty if they are not known.
    pub subscriptions: Vec<Subscription>,
    /// The reason why it cannot be compiled.
    failure: Option<Failure>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Failure {
    /// The settings of the engine that it was compiled for.
    settings: u64,
    cause: Cause,
    message: String,
}

/// The directory of these files.
#[derive(Debug)]
pub(super) struct KnownComponents {
    dir: PathBuf,
}

impl KnownComponents {
    /// Names the directory in one that is already private to the user.
    pub(super) fn new(private: &Path) -> Self {
        Self { dir: private.join("known") }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.dir.join(format!("{}.json", digest.hex()))
    }

    /// Returns the facts about a component, as far as they are known.
    pub(super) fn get(&self, digest: &Digest) -> Known {
        let text = private_dir::read_file(&self.path(digest), MAX_FILE as u64);
        text.ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Returns the reason why a component could not be compiled for an engine with these settings during the last day.
    pub(super) fn failure(&self, digest: &Digest, settings: u64) -> Option<HookError> {
        let failure =
            self.get(digest).failure.filter(|it| it.settings == settings && self.is_recent(digest))?;
        Some(HookError::new(failure.cause, failure.message))
    }

    /// Remembers the description of a component.
    pub(super) fn describe(&self, digest: &Digest, manifest: &Manifest) {
        let on_failure = Some(manifest.on_failure.unwrap_or_default());
        self.put(digest, Known { on_failure, subscriptions: manifest.subscriptions.clone(), failure: None });
    }

    /// Remembers that a component cannot be compiled, unless the next try may end in another way.
    pub(super) fn fail(&self, digest: &Digest, settings: u64, error: &HookError) {
        if error.cause == Cause::Internal {
            return;
        }
        let message = hookbox_system::text::prefix(&error.message, MAX_MESSAGE).to_owned();
        let failure = Some(Failure { settings, cause: error.cause, message });
        self.put(digest, Known { failure, ..self.get(digest) });
    }

    /// Writes what changed, and once a day what did not: unused files are removed by their time.
    fn put(&self, digest: &Digest, mut known: Known) {
        if self.get(digest) == known && self.is_recent(digest) {
            return;
        }
        let written = (|| {
            let mut text = serde_json::to_vec(&known)?;
            if text.len() > MAX_FILE {
                known.subscriptions.clear();
                text = serde_json::to_vec(&known)?;
            }
            private_dir::open(&self.dir, None).map_err(io::Error::other)?;
            write_atomic(&self.path(digest), &text)
        })();
        if let Err(error) = written {
            tracing::debug!(%digest, %error, "the description of a component is not kept");
        }
    }

    fn is_recent(&self, digest: &Digest) -> bool {
        let written = fs::metadata(self.path(digest)).and_then(|about| about.modified());
        written.is_ok_and(|written| SystemTime::now().duration_since(written).is_ok_and(|age| age < DAY))
    }

    /// Removes the files that were written before this time.
    fn remove_before(&self, time: SystemTime) -> io::Result<()> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let is_ours = entry.path().extension().is_some_and(|it| it == "json");
            // Another process may have removed it.
            let is_old = entry.metadata().and_then(|about| about.modified()).is_ok_and(|it| it < time);
            if is_ours && is_old {
                match fs::remove_file(entry.path()) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Removes the files of components that were not described for long.
    pub(super) fn prune(&self) -> io::Result<()> {
        self.remove_before(SystemTime::now() - UNUSED)
    }

    /// Removes all files.
    pub(super) fn clear(&self) -> io::Result<()> {
        self.remove_before(SystemTime::now() + DAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventName;
    use crate::outcome::Answers;

    fn manifest(tools: usize) -> Manifest {
        let tools = (0..tools).map(|number| format!("tool-{number}")).collect();
        Manifest {
            name: "guard".to_owned(),
            version: "1".to_owned(),
            description: String::new(),
            subscriptions: vec![Subscription { tools, ..Subscription::to(EventName::BeforeToolCall) }],
            answers: Answers::NONE,
            capabilities: Vec::new(),
            on_failure: Some(OnFailure::Block),
            settings: None,
        }
    }

    #[test]
    fn the_policy_of_a_component_outlives_its_failure_to_compile() {
        let temp = tempfile::tempdir().unwrap();
        let known = KnownComponents::new(temp.path());
        let digest = Digest::of(b"guard");
        assert_eq!(known.get(&digest), Known::default());
        known.describe(&digest, &manifest(1));
        known.fail(&digest, 7, &HookError::new(Cause::Internal, "by chance"));
        assert_eq!(known.failure(&digest, 7), None);
        known.fail(&digest, 7, &HookError::new(Cause::Memory, "took too much"));
        assert_eq!(known.failure(&digest, 7), Some(HookError::new(Cause::Memory, "took too much")));
        assert_eq!(known.failure(&digest, 8), None, "another version of hookbox tries again");
        let Known { on_failure, subscriptions, .. } = known.get(&digest);
        assert_eq!((on_failure, subscriptions), (Some(OnFailure::Block), manifest(1).subscriptions));
        let yesterday = SystemTime::now() - DAY - DAY;
        fs::File::open(known.path(&digest)).unwrap().set_modified(yesterday).unwrap();
        assert_eq!(known.failure(&digest, 7), None, "the next day tries again");
        known.prune().unwrap();
        assert_eq!(known.get(&digest).on_failure, Some(OnFailure::Block));
        known.clear().unwrap();
        assert_eq!(known.get(&digest), Known::default());
    }

    #[test]
    fn a_description_that_is_too_large_is_kept_without_its_subscriptions() {
        let temp = tempfile::tempdir().unwrap();
        let known = KnownComponents::new(temp.path());
        let digest = Digest::of(b"guard");
        known.describe(&digest, &manifest(10_000));
        let Known { on_failure, subscriptions, .. } = known.get(&digest);
        assert_eq!((on_failure, subscriptions), (Some(OnFailure::Block), Vec::new()));
    }
}
