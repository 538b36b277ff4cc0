//! The user's settings for all hooks together. A repository's do not count: it could switch off the user's
//! guards.

use std::fmt;
use std::path::PathBuf;

use super::options::Options;
use super::roots::RootDir;
use super::settings;
use crate::discovery::problem::Problem;
use crate::hook::Origin;
use crate::journal_settings::{DAY, JournalSettings};
use crate::thresholds::Thresholds;
use hookbox_system::files::FileAccess;
use hookbox_system::text;

/// The commands of an agent that get no hooks by default, as in kodelet.
pub(crate) const DEFAULT_SKIP_COMMANDS: [&str; 2] = ["commit", "pr"];

/// Returns the address from which plugins named `org/repo` are fetched: `[plugins] git_host` in the user's
/// settings, of the first root that has it. A repository's settings do not count. No hook is searched for.
///
/// # Errors
///
/// A file that cannot be read, or a value that cannot be used: another host may have something else by the
/// same name. Other problems of a file are reported by the discovery.
pub fn git_host(options: &Options) -> Result<Option<String>, Problem> {
    let Some(home) = options.home.as_deref().map(super::absolute) else { return Ok(None) };
    for root in &options.roots {
        let file = home.join(root).join(settings::FILE);
        let mut problems = Vec::new();
        let file_settings = match settings::read(&FileAccess::Global, &file, None, &mut problems) {
            Ok(file_settings) => file_settings,
            Err(broken) => return Err(Problem::new(&file, broken.why)),
        };
        match file_settings.top.git_host {
            Some(host) => return Ok(Some(host)),
            None if file_settings.top.keys.iter().any(|(key, _)| *key == "plugins") => {
                let what = "says nothing usable of plugins.git_host".to_owned();
                return Err(problems
                    .into_iter()
                    .find(|it| it.message.contains("plugins"))
                    .unwrap_or_else(|| Problem::new(&file, what)));
            }
            None => {}
        }
    }
    Ok(None)
}

/// The reason why no hook runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SwitchedOff {
    /// The builder of the manager asked for that (`--no-hooks`).
    Asked,
    /// The user's settings have `no_hooks = true`.
    Settings(PathBuf),
    /// The agent runs this command, which is one of `skip_commands`.
    Command(String),
}

impl fmt::Display for SwitchedOff {
    /// Writes a clause without a full stop, safe to show.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("no hook runs: hooks are switched off"),
            Self::Settings(file) => {
                let file = text::escape(&file.to_string_lossy(), 4096);
                write!(f, "no hook runs: no_hooks is true in {file}")
            }
            Self::Command(name) => {
                let name = text::escape(name, 80);
                write!(f, "no hook runs: the command \"{name}\" is one of skip_commands")
            }
        }
    }
}

/// The settings for all hooks together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GlobalSettings {
    pub(crate) switched_off: Option<SwitchedOff>,
    pub(crate) thresholds: Thresholds,
    /// True if secrets stay in the text that hooks give the model (`redact_context = false`).
    pub(crate) keeps_secrets: bool,
    /// The program `git` that guards ask, instead of the system's.
    pub(crate) git: Option<PathBuf>,
    /// The table `[journal]`.
    pub(crate) journal: JournalSettings,
}

impl GlobalSettings {
    /// Returns the defaults.
    pub(crate) fn without_settings(options: &Options) -> Self {
        of(&[], options, &mut Vec::new())
    }
}

/// Merges the user's files: for each key the first root that has it counts.
pub(crate) fn of(roots: &[RootDir], options: &Options, problems: &mut Vec<Problem>) -> GlobalSettings {
    for root in roots.iter().filter(|root| root.origin != Origin::User) {
        for (key, line) in &root.top.keys {
            let message = format!("line {line}: {key} is for the user's own file to say: it is left out");
            problems.push(Problem::new(root.settings_file(), message));
        }
    }
    let user = || roots.iter().filter(|root| root.origin == Origin::User);
    let no_hooks = user().find_map(|root| Some((root, root.top.no_hooks?)));
    let skipped = user().find_map(|root| root.top.skip_commands.as_deref());
    let is_skipped = |command: &str| match skipped {
        Some(names) => names.iter().any(|name| name == command),
        None => DEFAULT_SKIP_COMMANDS.contains(&command),
    };
    let switched_off = match no_hooks {
        Some((root, true)) => Some(SwitchedOff::Settings(root.settings_file())),
        _ => options.command.clone().filter(|command| is_skipped(command)).map(SwitchedOff::Command),
    };
    let default = options.thresholds;
    let mut thresholds = Thresholds {
        warn: user().find_map(|root| root.top.warn).unwrap_or(default.warn),
        rotate: user().find_map(|root| root.top.rotate).unwrap_or(default.rotate),
        at: user().find_map(|root| root.top.at).unwrap_or(default.at),
    };
    if thresholds.warn > thresholds.rotate {
        let Thresholds { warn, rotate, .. } = thresholds;
        // A default that does not fit is not a mistake of the user's.
        let set = user().find(|root| root.top.warn.is_some());
        problems.extend(set.map(|root| {
            let message = format!(
                "line {}: budget.warn: expected at most rotate ({rotate}), found {warn}: taken as {rotate}",
                root.top.line("budget"),
            );
            Problem::new(root.settings_file(), message)
        }));
        thresholds.warn = thresholds.rotate;
    }
    let keeps_secrets = user().find_map(|root| root.top.redact_context) == Some(false);
    let default = JournalSettings::default();
    let journal = JournalSettings {
        enabled: user().find_map(|root| root.top.journal).unwrap_or(default.enabled),
        keep: user().find_map(|root| root.top.keep_days).map_or(default.keep, |days| DAY * days.get()),
        max_size: user().find_map(|root| root.top.journal_size).unwrap_or(default.max_size),
    };
    let git = user().find_map(|root| root.top.git.clone());
    GlobalSettings { switched_off, thresholds, keeps_secrets, git, journal }
}
