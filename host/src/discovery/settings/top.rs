//! The keys beside the tables of hooks: what holds for all hooks of a session together.

use toml::de::DeValue;

use super::reader::{Reader, SpannedValue, found};
use crate::text;
use crate::thresholds::{AtThreshold, is_threshold};

/// How many commands may be named.
const MAX_COMMANDS: usize = 256;

/// The longest address of a git host, in bytes, without its scheme.
const MAX_HOST: usize = 1024;

/// What a file says of all hooks together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::discovery) struct Top {
    /// Whether no hook runs at all.
    pub(in crate::discovery) no_hooks: Option<bool>,
    /// The agent's commands that get no hooks.
    pub(in crate::discovery) skip_commands: Option<Vec<String>>,
    /// From which share of the context window on the user is warned.
    pub(in crate::discovery) warn: Option<f64>,
    /// From which share on the conversation is compacted or rotated.
    pub(in crate::discovery) rotate: Option<f64>,
    pub(in crate::discovery) at: Option<AtThreshold>,
    /// Where plugins are fetched from that are named by `org/repo`.
    pub(in crate::discovery) git_host: Option<String>,
    /// Which keys stand in the file, also those with a wrong value, and where.
    pub(in crate::discovery) keys: Vec<(&'static str, usize)>,
}

impl Top {
    /// The keys, for the message about one that is not known.
    pub(super) const KEYS: &'static str = "[hooks.\"NAME\"], no_hooks, skip_commands, [budget] or [plugins]";

    /// The line of this key.
    pub(in crate::discovery) fn line(&self, key: &str) -> usize {
        self.keys.iter().find(|(it, _)| *it == key).map_or(1, |(_, line)| *line)
    }
}

/// The address without a slash at its end, if it is one that names of repositories can follow.
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
        let key = match key {
            "no_hooks" => {
                top.no_hooks = self.boolean("no_hooks", value);
                "no_hooks"
            }
            "skip_commands" => {
                top.skip_commands = self.commands(value);
                "skip_commands"
            }
            "budget" => {
                self.budget(top, value);
                "budget"
            }
            "plugins" => {
                self.plugins(top, value);
                "plugins"
            }
            _ => return false,
        };
        top.keys.push((key, at));
        true
    }

    fn commands(&mut self, value: &SpannedValue<'_>) -> Option<Vec<String>> {
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong_type("skip_commands", "a list of commands such as [\"commit\", \"pr\"]", value);
            return None;
        };
        let mut names: Vec<String> = Vec::new();
        for item in items {
            match item.get_ref().as_str() {
                Some(_) if names.len() == MAX_COMMANDS => {
                    let message = format!(
                        "skip_commands: names more than {MAX_COMMANDS} commands: the rest is left out"
                    );
                    self.fault(item.span(), message);
                    break;
                }
                Some(name) if !name.is_empty() => names.push(name.to_owned()),
                _ => {
                    let found = found(item.get_ref());
                    let message = format!(
                        "skip_commands: expected the name of a command, found {found}, which is left out"
                    );
                    self.fault(item.span(), message);
                }
            }
        }
        Some(names)
    }

    fn budget(&mut self, top: &mut Top, value: &SpannedValue<'_>) {
        let DeValue::Table(keys) = value.get_ref() else {
            self.wrong_type("budget", "a table", value);
            return;
        };
        for (key, value) in keys {
            match key.get_ref().as_ref() {
                "warn" => top.warn = self.share("budget.warn", value),
                "rotate" => top.rotate = self.share("budget.rotate", value),
                "at_threshold" => match value.get_ref().as_str() {
                    Some("compact") => top.at = Some(AtThreshold::Compact),
                    Some("rotate") => top.at = Some(AtThreshold::Rotate),
                    _ => self.wrong_type("budget.at_threshold", "\"compact\" or \"rotate\"", value),
                },
                other => {
                    let other = format!("budget.{}", text::prefix(other, 80));
                    self.unknown(key.span(), &other, "warn, rotate or at_threshold");
                }
            }
        }
    }

    fn plugins(&mut self, top: &mut Top, value: &SpannedValue<'_>) {
        let DeValue::Table(keys) = value.get_ref() else {
            self.wrong_type("plugins", "a table", value);
            return;
        };
        for (key, value) in keys {
            match key.get_ref().as_ref() {
                "git_host" => match value.get_ref().as_str().and_then(git_host) {
                    Some(host) => top.git_host = Some(host.to_owned()),
                    None => self.wrong_type(
                        "plugins.git_host",
                        "an address such as \"https://github.com\"",
                        value,
                    ),
                },
                other => {
                    let other = format!("plugins.{}", text::prefix(other, 80));
                    self.unknown(key.span(), &other, "git_host");
                }
            }
        }
    }

    fn share(&mut self, key: &str, value: &SpannedValue<'_>) -> Option<f64> {
        let share = match value.get_ref() {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(number) => {
                i32::from_str_radix(number.as_str(), number.radix()).ok().map(f64::from)
            }
            _ => None,
        };
        let share = share.filter(|share| is_threshold(*share));
        if share.is_none() {
            self.wrong_type(key, "a share of the context window above 0 and at most 1, such as 0.7", value);
        }
        share
    }
}
