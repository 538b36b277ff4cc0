//! `hookbox.toml`: the settings of the hooks of one root, and of all hooks together.
//!
//! Each key is read on its own: one wrong value is one problem, and the rest of the table counts. A guard must
//! not lose its `on_failure = "block"` to a typing error two lines below.

mod global;
mod keys;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

pub(crate) use self::global::{GlobalSettings, Top, builtin_settings, global};
pub use self::global::{SwitchedOff, collector, git_host};
use super::MAX_OF_REPOSITORY;
use crate::capability::Capability;
use crate::hook::{Limits, Mode, OnFailure, Settings};
use hookbox_system::{limits, text};

/// The name of the file in a root.
pub(crate) const FILE: &str = "hookbox.toml";

/// The tables of one file, by hook name.
pub(crate) type Tables = BTreeMap<String, Table>;

/// The contents of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct File {
    /// The keys beside the tables of hooks.
    pub(crate) top: Top,
    pub(crate) tables: Tables,
}

/// The settings of one hook; the default for a hook without a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    /// The line of the table, from 1.
    pub(crate) line: usize,
    pub(crate) enabled: Option<bool>,
    pub(crate) priority: Option<i32>,
    pub(crate) on_failure: Option<OnFailure>,
    pub(crate) mode: Option<Mode>,
    /// True if the answer `allow` of a hook without a sandbox counts. A repository cannot decide it.
    pub(crate) allow: Option<bool>,
    /// True if users may let a call through once that the hook blocks, for a hook of the administrator's.
    pub(crate) allow_once: Option<bool>,
    /// The rights of a component of the administrator's.
    pub(crate) grants: Option<Vec<Capability>>,
    pub(crate) limits: Limits,
    /// The variables that a native hook gets; `None` means all of them.
    pub(crate) environment: Option<Vec<String>>,
    /// The HTTP service that it declares, as JSON.
    pub(crate) http: Option<String>,
    pub(crate) settings: Settings,
    /// The lines of these settings, by key.
    pub(crate) settings_lines: BTreeMap<String, usize>,
    /// Every known key and its value as text, for a digest. The hook's own settings begin with `settings.`.
    pub(crate) texts: BTreeMap<String, String>,
    /// The file of the table.
    pub(crate) file: PathBuf,
}

impl Table {
    /// Returns true if these settings put a hook into shadow mode. A repository may do it to its own hooks, which
    /// then replace no guard of the user's.
    pub(crate) fn makes_observer(&self) -> bool {
        self.mode == Some(Mode::Observe)
    }

    /// Returns the policy for failures that these settings set. A hook in shadow mode stops nothing, also if it is broken.
    pub(crate) fn failure_policy(&self) -> Option<OnFailure> {
        if self.makes_observer() { Some(OnFailure::Pass) } else { self.on_failure }
    }

    /// Returns true if it sets nothing but these keys.
    pub(crate) fn has_only(&self, keys: &[&str]) -> bool {
        self.texts.keys().all(|it| keys.contains(&it.split('.').next().unwrap_or_default()))
    }
}

/// The result of parsing a settings file.
pub(super) struct Parsed {
    pub(super) file: File,
    pub(super) faults: Vec<Fault>,
    /// The reason why tables are missing: the file as a whole is broken.
    pub(super) broken: Option<String>,
}

pub(super) fn parse(text: &str) -> Parsed {
    let mut reader = Reader::new(text);
    let mut file = File::default();
    match DeTable::parse(text) {
        Err(error) => {
            let at = error.span().unwrap_or_default();
            reader.breaks(&at, format!("is not TOML: {}", text::escape(error.message(), 200)));
            reader.fault(at, format!("is not TOML: {}: no settings of this file apply", error.message()));
        }
        Ok(document) => {
            for (key, value) in document.get_ref() {
                match (key.get_ref().as_ref(), value.get_ref()) {
                    ("hooks", DeValue::Table(hooks)) => {
                        if hooks.len() > MAX_OF_REPOSITORY {
                            let more = hooks.len() - MAX_OF_REPOSITORY;
                            let message = format!(
                                "has more than {MAX_OF_REPOSITORY} tables of hooks: only the first {MAX_OF_REPOSITORY} by name \
                                 are used, and {more} are left out"
                            );
                            reader.breaks(
                                &value.span(),
                                format!("has more than {MAX_OF_REPOSITORY} tables of hooks"),
                            );
                            reader.fault(value.span(), message);
                        }
                        for (name, table) in hooks.iter().take(MAX_OF_REPOSITORY) {
                            let name = name.get_ref().as_ref();
                            if let Some(table) = reader.hook(name, table) {
                                file.tables.insert(name.to_owned(), table);
                            }
                        }
                    }
                    ("hooks", _) => {
                        reader.breaks(&value.span(), "hooks is not a table".to_owned());
                        reader.wrong_type("hooks", &keys::HOOKS, value);
                    }
                    (other, _) => reader.top(&mut file.top, other, key.span(), value),
                }
            }
        }
    }
    let broken = reader.broken.take();
    Parsed { file, faults: reader.finish(), broken }
}

/// A fault in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) hook: Option<String>,
    pub(super) message: String,
}

/// Reads the values of a file and collects faults.
struct Reader {
    /// The offset of the end of each line.
    ends: Vec<usize>,
    /// The hook whose table is being read.
    hook: Option<String>,
    faults: Vec<Fault>,
    /// The first fault that left out whole tables.
    broken: Option<String>,
    /// The number of further faults.
    unnamed: usize,
}

impl Reader {
    fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        Self { ends, hook: None, faults: Vec::new(), broken: None, unnamed: 0 }
    }

    /// Returns the faults: the first ones, and the number of the others.
    fn finish(mut self) -> Vec<Fault> {
        if self.unnamed > 0 {
            let line = self.faults.last().map_or(1, |fault| fault.line);
            let message = format!("and {} more problems in this file", self.unnamed);
            self.faults.push(Fault { line, hook: None, message });
        }
        self.faults
    }

    /// Notes why whole tables are missing.
    fn breaks(&mut self, at: &Range<usize>, why: String) {
        let line = self.line(at);
        self.broken.get_or_insert_with(|| format!("line {line}: {why}"));
    }

    fn fault(&mut self, at: Range<usize>, message: String) {
        if self.faults.len() < limits::NAMED {
            self.faults.push(Fault { line: self.line(&at), hook: self.hook.clone(), message });
        } else {
            self.unnamed += 1;
        }
    }

    fn line(&self, at: &Range<usize>) -> usize {
        1 + self.ends.partition_point(|end| *end < at.start)
    }
}
