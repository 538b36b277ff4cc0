//! Descriptions of components, and their failures to compile.
//!
//! A component whose file is unchanged is known by its description: its code is loaded when an event needs it. And a
//! component that is not compiled yet cannot tell whether its failures block: that is still known after its code was
//! pruned, and after an update of hookbox.

use std::fs;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Cache, CacheDir};
use crate::hook::{Cause, Digest, HookError, Manifest, OnFailure, Subscription};
use crate::wasm::inspect::InterfaceName;
use hookbox_system::files::private_dir;
use hookbox_system::{limits, text};

/// The version of a description: another version of hookbox may have read the component in another way.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/1");

/// The facts about a component that count before it is compiled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// The failure policy that it asks for; `None` if it was never described.
    pub on_failure: Option<OnFailure>,
    description: Option<Kept>,
    /// The reason why it cannot be compiled.
    failure: Option<Failure>,
}

/// The answers of a component about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::wasm) struct Description {
    pub(in crate::wasm) manifest: Manifest,
    pub(in crate::wasm) wit_version: String,
    pub(in crate::wasm) imports: Vec<InterfaceName>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    /// The version of hookbox that has read it.
    version: String,
    /// The settings of the engine in which it ran.
    settings: u64,
    of: Description,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Failure {
    /// The settings of the engine that it was compiled for.
    settings: u64,
    cause: Cause,
    message: String,
}

impl Known {
    /// Returns its subscriptions; none if they are not known.
    pub fn subscriptions(self) -> Vec<Subscription> {
        self.description.map(|it| it.of.manifest.subscriptions).unwrap_or_default()
    }
}

fn name(digest: &Digest) -> String {
    format!("{}.json", digest.hex())
}

impl CacheDir {
    fn known(&self, digest: &Digest) -> Option<Known> {
        let text = private_dir::read_file(&self.path.join(name(digest)), limits::FILE).ok()?;
        serde_json::from_slice(&text).ok().filter(|_| self.is_private())
    }

    fn is_recent(&self, digest: &Digest) -> bool {
        let written = fs::metadata(self.path.join(name(digest))).and_then(|about| about.modified());
        written
            .is_ok_and(|written| SystemTime::now().duration_since(written).is_ok_and(|age| age < limits::DAY))
    }
}

impl Cache {
    /// Returns the facts about a component, as far as they are known.
    pub(in crate::wasm) fn known(&self, digest: &Digest) -> Known {
        self.dirs().find_map(|dir| dir.known(digest)).unwrap_or_default()
    }

    /// Returns the description of a component whose code is kept for the engine that described it.
    pub(in crate::wasm) fn described(&self, digest: &Digest) -> Option<Description> {
        let Kept { version, settings, of } = self.known(digest).description?;
        (version == VERSION && self.has(digest, settings)).then_some(of)
    }

    /// Returns the reason why a component could not be compiled for an engine with these settings during the last day.
    pub(in crate::wasm) fn failure(&self, digest: &Digest, settings: u64) -> Option<HookError> {
        let recent = self.dirs().filter(|dir| dir.is_recent(digest));
        let mut failures = recent.filter_map(|dir| dir.known(digest)?.failure);
        let failure = failures.find(|it| it.settings == settings)?;
        Some(HookError::new(failure.cause, failure.message))
    }

    /// Remembers the description of a component.
    pub(in crate::wasm) fn describe(&self, digest: &Digest, settings: u64, of: &Description) {
        let on_failure = Some(of.manifest.on_failure.unwrap_or_default());
        let description = Some(Kept { version: VERSION.to_owned(), settings, of: of.clone() });
        self.put(digest, Known { on_failure, description, failure: None });
    }

    /// Remembers that a component cannot be compiled, unless the next try may end in another way.
    pub(in crate::wasm) fn fail(&self, digest: &Digest, settings: u64, error: &HookError) {
        if error.cause == Cause::Internal {
            return;
        }
        let message = text::prefix(&error.message, limits::MESSAGE).to_owned();
        let failure = Some(Failure { settings, cause: error.cause, message });
        self.put(digest, Known { failure, ..self.known(digest) });
    }

    /// Writes what changed, and once a day what did not: unused files are removed by their time.
    fn put(&self, digest: &Digest, mut known: Known) {
        if self.known(digest) == known && self.dirs().any(|dir| dir.is_recent(digest)) {
            return;
        }
        let text = serde_json::to_vec(&known).ok().filter(|text| text.len() as u64 <= limits::FILE);
        let text = text.or_else(|| {
            known.description = None;
            serde_json::to_vec(&known).ok()
        });
        self.write(&name(digest), &text.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventName;
    use crate::outcome::Answers;

    const SETTINGS: u64 = 7;

    fn description(tools: usize) -> Description {
        let tools = (0..tools).map(|number| format!("tool-{number}")).collect();
        let manifest = Manifest {
            name: "guard".to_owned(),
            version: "1".to_owned(),
            description: String::new(),
            subscriptions: vec![Subscription { tools, ..Subscription::to(EventName::BeforeToolCall) }],
            answers: Answers::NONE,
            capabilities: Vec::new(),
            on_failure: Some(OnFailure::Block),
            settings: None,
        };
        Description { manifest, wit_version: "0.2.0".to_owned(), imports: Vec::new() }
    }

    #[test]
    fn the_policy_of_a_component_outlives_its_failure_to_compile() {
        let temp = tempfile::tempdir().unwrap();
        let cache = Cache::new(temp.path(), None);
        let digest = Digest::of(b"guard");
        assert_eq!(cache.known(&digest), Known::default());
        cache.describe(&digest, SETTINGS, &description(1));
        cache.fail(&digest, SETTINGS, &HookError::new(Cause::Internal, "by chance"));
        assert_eq!(cache.failure(&digest, SETTINGS), None);
        cache.fail(&digest, SETTINGS, &HookError::new(Cause::Memory, "took too much"));
        let failure = HookError::new(Cause::Memory, "took too much");
        assert_eq!(cache.failure(&digest, SETTINGS), Some(failure));
        assert_eq!(cache.failure(&digest, 8), None, "another version of hookbox tries again");
        let known = cache.known(&digest);
        assert_eq!(known.on_failure, Some(OnFailure::Block));
        assert_eq!(known.subscriptions(), description(1).manifest.subscriptions);
        let yesterday = SystemTime::now() - limits::DAY - limits::DAY;
        let file = cache.first.path.join(name(&digest));
        fs::File::open(&file).unwrap().set_modified(yesterday).unwrap();
        assert_eq!(cache.failure(&digest, SETTINGS), None, "the next day tries again");
        cache.prune(SETTINGS).unwrap();
        assert_eq!(cache.known(&digest).on_failure, Some(OnFailure::Block));
        fs::File::open(&file).unwrap().set_modified(SystemTime::now() - 31 * limits::DAY).unwrap();
        cache.prune(SETTINGS).unwrap();
        assert_eq!(cache.known(&digest), Known::default(), "nobody has used it for a month");
        cache.describe(&digest, SETTINGS, &description(1));
        cache.clear().unwrap();
        assert_eq!(cache.known(&digest), Known::default());
    }

    #[test]
    fn a_description_counts_with_its_code_and_its_version_in_a_directory_of_the_users_own() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tempfile::tempdir().unwrap();
        let open = || Cache::new(temp.path(), None);
        let (digest, is) = (Digest::of(b"guard"), |digest: &Digest| open().described(digest).is_some());
        let code = open().first.path.join(super::super::kept::code_name(&digest, SETTINGS));
        open().describe(&digest, SETTINGS, &description(1));
        assert!(!is(&digest), "it has no code");
        fs::write(&code, "code").unwrap();
        assert!(is(&digest) && !is(&Digest::of(b"other")));
        let file = open().first.path.join(name(&digest));
        let whole = fs::read_to_string(&file).unwrap();
        for broken in ["", "{", "[]", &whole.replace(VERSION, "0.0.0/1"), &whole.replace(":7", ":8")] {
            fs::write(&file, broken).unwrap();
            assert!(!is(&digest), "{broken}");
        }
        fs::write(&file, whole).unwrap();
        for (mode, used) in [(0o700, true), (0o720, false), (0o702, false)] {
            fs::set_permissions(&open().first.path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is(&digest), used, "{mode:o}");
        }
    }

    #[test]
    fn a_description_that_is_too_large_is_kept_as_a_policy() {
        let temp = tempfile::tempdir().unwrap();
        let cache = Cache::new(temp.path(), None);
        let digest = Digest::of(b"guard");
        cache.describe(&digest, SETTINGS, &description(400_000));
        let known = cache.known(&digest);
        assert_eq!((known.on_failure, known.subscriptions()), (Some(OnFailure::Block), Vec::new()));
    }
}
