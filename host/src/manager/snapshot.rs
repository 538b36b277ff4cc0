//! What was found at one moment. An event runs with one snapshot from beginning to end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::discovery::{Approvable, Discovery, Entry, GlobalSettings, Kept, Problem};
use crate::hook::Hook;
use crate::trust::{ProtectedDirs, TrustFile};

/// The hooks of a manager at one moment, and what is to be said of them.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub(crate) hooks: Arc<[Arc<dyn Hook>]>,
    pub(super) entries: Arc<[Entry]>,
    pub(super) problems: Arc<[Problem]>,
    pub(super) approvable: Arc<[Approvable]>,
    pub(super) repository: Option<PathBuf>,
    /// The repositories that it lies in.
    #[cfg_attr(not(feature = "watch"), allow(dead_code, reason = "only who follows changes asks"))]
    pub(super) outer: Vec<PathBuf>,
    pub(super) protected: Arc<ProtectedDirs>,
    /// What holds for all hooks together.
    pub(super) global: GlobalSettings,
    pub(super) trust_file: Option<TrustFile>,
    /// How long it took to look into what is not trusted.
    pub(super) untrusted_look: Duration,
    /// What of the last look stays in force.
    pub(super) kept: Vec<Kept>,
    /// What a row does not show of a hook, by its name and file.
    pub(super) details: BTreeMap<(String, PathBuf), String>,
}

impl Snapshot {
    pub(super) fn new(hooks: Vec<Arc<dyn Hook>>, found: Discovery, trust_file: Option<TrustFile>) -> Self {
        Self {
            hooks: hooks.into(),
            entries: found.entries.into(),
            problems: found.problems.into(),
            approvable: found.approvable.into(),
            repository: found.repo,
            outer: found.outer,
            protected: found.protected,
            global: found.global,
            trust_file,
            untrusted_look: found.untrusted_look,
            kept: found.kept,
            details: found.details,
        }
    }
}
