//! The access of a component hook to the world outside its sandbox.

use std::path::{Path, PathBuf};

use super::Runtime;
use crate::capability::{Capability, Denial, Rights};
use crate::clock::TestClock;
use crate::hook::Manifest;
use crate::inputs::{Recording, Taping};
use crate::rules::Counters;
use hookbox_system::text::shell_word;

/// The access of a hook: its rights, and their meaning on this machine.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The rights that the hook asks for and was granted.
    pub rights: Rights,
    /// The directories of `$REPO`, `$HOME` and `$DATA`.
    pub places: Places,
    /// The environment variables that it may read, with their values.
    pub variables: Vec<(String, String)>,
    /// The bucket of the key-value store, with the right `store`.
    #[cfg(feature = "store")]
    pub bucket: Option<crate::store::Bucket>,
    /// The client for its requests, with a right `http:…`.
    #[cfg(feature = "http")]
    pub network: Option<crate::network::Network>,
    /// The program `git` that the user's settings name.
    pub git: Option<PathBuf>,
    /// Its clock, instead of the system's.
    pub clock: Option<TestClock>,
    /// The source of its inputs.
    pub taping: Taping,
    /// The hook as a command names it.
    pub name: String,
    /// The options with which a command finds it, each with a space behind it.
    pub flags: String,
}

/// The directories that rights name; an absent one cannot be reached.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// `$REPO`.
    pub repo: Option<PathBuf>,
    /// `$HOME`.
    pub home: Option<PathBuf>,
    /// `$DATA`; made when it is first needed.
    pub data: Option<PathBuf>,
}

impl Access {
    /// Makes an access without rights, for a hook with this manifest and name.
    pub fn nothing(manifest: &Manifest, name: &str) -> Self {
        Self { rights: Rights::of(&manifest.capabilities, &[]), name: name.to_owned(), ..Self::default() }
    }

    /// Describes the use of a right that the hook does not have.
    pub(super) fn denial(&self, right: &Capability) -> Denial {
        if self.rights.asked().iter().any(|asked| right.intersect(asked).is_some()) {
            return self.denial_of_granted(right);
        }
        let fix = "it does not ask for this in `describe`, so it cannot be granted".to_owned();
        Denial { right: right.to_string(), fix }
    }

    /// Like [`Self::denial`], for a right that counts once it is granted, even if the hook does not ask for
    /// it.
    pub(crate) fn denial_of_granted(&self, right: &Capability) -> Denial {
        let right = right.to_string();
        let (flags, name) = (&self.flags, shell_word(&self.name));
        let command = format!("hookbox grants add {flags}{name} {}", shell_word(&right));
        let fix = format!("allow it with `{command}`");
        Denial { right, fix }
    }
}

/// The store and the network that the rights of all hooks refer to.
#[derive(Debug, Default)]
pub(crate) struct Backends {
    #[cfg(feature = "store")]
    store: Option<crate::store::Store>,
    #[cfg(feature = "http")]
    pub(crate) network: crate::network::Network,
    git: Option<PathBuf>,
    clock: Option<TestClock>,
    recording: Recording,
}

impl Backends {
    /// The store in the data directory, the network of the engine, the user's git, and the switch of recording.
    pub(crate) fn new(
        data: Option<&Path>,
        runtime: &Runtime,
        git: Option<&Path>,
        recording: &Recording,
    ) -> Self {
        // Without these features there is neither.
        let _ = (data, runtime);
        Self {
            #[cfg(feature = "store")]
            store: data.map(|data| crate::store::Store::at(data.to_owned())),
            #[cfg(feature = "http")]
            network: runtime.network().clone(),
            git: git.map(Path::to_owned),
            clock: runtime.clock(),
            recording: recording.clone(),
        }
    }

    /// Returns the counters of rules, in the bucket that `identity` names. Without one they end with the process.
    pub(crate) fn counters(&self, identity: Option<&str>) -> Counters {
        let _ = identity;
        #[cfg(feature = "store")]
        if let (Some(store), Some(identity)) = (&self.store, identity) {
            return Counters::Store(store.bucket([identity]));
        }
        Counters::in_memory()
    }

    /// Returns the clock of all hooks, if it is not the system's.
    pub(crate) fn clock(&self) -> Option<TestClock> {
        self.clock.clone()
    }

    /// Returns the source of the inputs of all hooks.
    pub(crate) fn taping(&self) -> Taping {
        Taping::recorded_by(&self.recording)
    }

    /// Connects what the rights of a hook ask for; `identity` names its bucket in the store.
    pub(crate) fn connect(&self, access: &mut Access, identity: &str) {
        let _ = identity;
        access.git.clone_from(&self.git);
        #[cfg(feature = "store")]
        if access.rights.has(&Capability::Store) {
            access.bucket = self.store.as_ref().map(|store| store.bucket([identity]));
        }
        #[cfg(feature = "http")]
        if access.rights.effective().iter().any(|right| matches!(right, Capability::Http(_))) {
            access.network = Some(self.network.clone());
        }
    }
}
