//! The keys beside the tables of hooks: they apply to all hooks of a session together.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use super::reader::Reader;
use crate::thresholds::{AtThreshold, is_threshold};
use hookbox_system::text;
use hookbox_system::toml_value::{SpannedValue, typed};

/// The number of commands that may be named.
const MAX_COMMANDS: usize = 256;

/// The longest address of a git host, in bytes, without its scheme.
const MAX_HOST: usize = 1024;

/// The settings of a file for all hooks together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Top {
    /// True if no hook runs.
    pub(crate) no_hooks: Option<bool>,
    /// The agent's commands that get no hooks.
    pub(crate) skip_commands: Option<Vec<String>>,
    /// True if secrets are removed from the text that hooks give the model.
    pub(crate) redact_context: Option<bool>,
    /// The share of the context window from which on the user is warned.
    pub(crate) warn: Option<f64>,
    /// The share from which on the conversation is compacted or rotated.
    pub(crate) rotate: Option<f64>,
    pub(crate) at: Option<AtThreshold>,
    /// The address from which plugins named `org/repo` are fetched.
    pub(crate) git_host: Option<String>,
    /// The program `git` that guards ask.
    pub(crate) git: Option<PathBuf>,
    /// True if the program records events.
    pub(crate) journal: Option<bool>,
    /// The days after which records are removed.
    pub(crate) keep_days: Option<NonZeroU32>,
    /// The most bytes of all records.
    pub(crate) journal_size: Option<u64>,
    /// The keys of the file and their lines, also of keys with a wrong value.
    pub(crate) keys: Vec<(&'static str, usize)>,
}

impl Top {
    /// The known keys, for the message about an unknown one.
    pub(super) const KEYS: &'static str =
        "[hooks.\"NAME\"], no_hooks, skip_commands, redact_context, [budget], [git], [journal] or [plugins]";

    /// Returns the line of this key.
    pub(crate) fn line(&self, key: &str) -> usize {
        self.keys.iter().find(|(it, _)| *it == key).map_or(1, |(_, line)| *line)
    }
}

/// Returns the address without a slash at its end, if names of repositories can follow it.
fn git_host(text: &str) -> Option<&str> {
    let host = text.trim_end_matches('/');
    let rest =
        ["https://", "http://", "ssh://", "file://"].iter().find_map(|scheme| host.strip_prefix(scheme))?;
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !"?#\\".contains(c);
    let fits = (1..=MAX_HOST).contains(&rest.len()) && !rest.starts_with('-') && rest.chars().all(is_plain);
    fits.then_some(host)
}

impl Reader {
    /// Reads this key, if it is one of them.
    pub(super) fn top(&mut self, top: &mut Top, key: &str, at: usize, value: &SpannedValue<'_>) -> bool {
        let known = ["no_hooks", "skip_commands", "redact_context", "budget", "git", "journal", "plugins"];
        let Some(key) = known.into_iter().find(|it| *it == key) else {
            return false;
        };
        top.keys.push((key, at));
        match key {
            "no_hooks" => top.no_hooks = self.get(key, "true or false", value),
            "skip_commands" => {
                let expected = "a list of commands such as [\"commit\", \"pr\"]";
                let items = self.checked(key, expected, value, value.get_ref().as_array());
                top.skip_commands =
                    items.map(|items| self.names((key, "command", MAX_COMMANDS), items, |it| !it.is_empty()));
            }
            "redact_context" => top.redact_context = self.get(key, "true or false", value),
            "budget" => self.budget(top, value),
            "git" => self.git(top, value),
            "journal" => self.journal(top, value),
            _ => self.plugins(top, value),
        }
        true
    }

    fn budget(&mut self, top: &mut Top, value: &SpannedValue<'_>) {
        for (key, at, value) in self.keys("budget", value) {
            let name = format!("budget.{}", text::prefix(key, 80));
            match key {
                "warn" => top.warn = self.share(&name, value),
                "rotate" => top.rotate = self.share(&name, value),
                "at_threshold" => top.at = self.get(&name, "\"compact\" or \"rotate\"", value),
                _ => self.unknown(at, &name, "warn, rotate or at_threshold"),
            }
        }
    }

    fn git(&mut self, top: &mut Top, value: &SpannedValue<'_>) {
        for (key, at, value) in self.keys("git", value) {
            let name = format!("git.{}", text::prefix(key, 80));
            if key == "program" {
                let path = value.get_ref().as_str().map(Path::new).filter(|path| path.is_absolute());
                let expected = "an absolute path such as \"/opt/git/bin/git\"";
                top.git = self.checked(&name, expected, value, path.map(Path::to_owned));
            } else {
                self.unknown(at, &name, "program");
            }
        }
    }

    fn journal(&mut self, top: &mut Top, value: &SpannedValue<'_>) {
        for (key, at, value) in self.keys("journal", value) {
            let name = format!("journal.{}", text::prefix(key, 80));
            match key {
                "enabled" => top.journal = self.get(&name, "true or false", value),
                "keep_days" => top.keep_days = self.get(&name, "a number of days above 0", value),
                "max_size" => top.journal_size = self.size(&name, value),
                _ => self.unknown(at, &name, "enabled, keep_days or max_size"),
            }
        }
    }

    fn plugins(&mut self, top: &mut Top, value: &SpannedValue<'_>) {
        for (key, at, value) in self.keys("plugins", value) {
            let name = format!("plugins.{}", text::prefix(key, 80));
            if key == "git_host" {
                let host = value.get_ref().as_str().and_then(git_host).map(str::to_owned);
                let expected = "an address such as \"https://github.com\"";
                top.git_host = self.checked(&name, expected, value, host);
            } else {
                self.unknown(at, &name, "git_host");
            }
        }
    }

    fn share(&mut self, key: &str, value: &SpannedValue<'_>) -> Option<f64> {
        let share = typed(value).filter(|share| is_threshold(*share));
        let expected = "a share of the context window above 0 and at most 1, such as 0.7";
        self.checked(key, expected, value, share)
    }
}
