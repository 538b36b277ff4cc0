//! The user's settings for all hooks together, and for built-in hooks. A repository's do not count: it could switch off
//! the user's guards.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;

use crate::builtin::{self, Builtin, BuiltinSettings};
use crate::discovery::Problem;
use crate::discovery::find::files::Files;
use crate::discovery::find::managed::PluginPolicy;
use crate::discovery::find::roots::RootDir;
use crate::discovery::find::{Options, absolute};
use crate::hook::{Origin, Settings};
use crate::journal_settings::{DAY, JournalSettings};
use crate::thresholds::{AtThreshold, Thresholds};
use hookbox_system::files::FileAccess;
use hookbox_system::text;

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
    /// The address of the collector that gets the records.
    pub(crate) collector: Option<String>,
    /// True if only the administrator's hooks run.
    pub(crate) only_managed: Option<bool>,
    /// The plugins that the administrator pins, and the sources and digests that others may have.
    pub(crate) pinned_plugins: Option<Vec<String>>,
    pub(crate) plugin_sources: Option<Vec<String>>,
    pub(crate) plugin_digests: Option<Vec<String>>,
    /// The keys of the file and their lines, also of keys with a wrong value.
    pub(crate) keys: Vec<(&'static str, usize)>,
}

impl Top {
    /// Returns the line of this key.
    pub(crate) fn line(&self, key: &str) -> usize {
        self.keys.iter().find(|(it, _)| *it == key).map_or(1, |(_, line)| *line)
    }
}

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
    for (file, top, problems) in tops(options) {
        let is_set = top.keys.iter().any(|(key, _)| *key == "plugins");
        let is_unusable = is_set && top.git_host.is_none();
        let matters = |it: &Problem| it.hides || is_unusable && it.message.contains("plugins");
        if let Some(problem) = problems.into_iter().find(matters) {
            return Err(problem);
        }
        match top.git_host {
            None if is_set => return Err(Problem::new(&file, "says nothing usable of plugins.git_host")),
            None => {}
            host => return Ok(host),
        }
    }
    Ok(None)
}

/// Returns the address of the collector that gets the records of the journal: `[journal] collector` in the user's settings,
/// of the first root that has it. A repository's settings do not count. No hook is searched for.
///
/// # Errors
///
/// A file that cannot be read, or a value that cannot be used.
pub fn collector(options: &Options) -> Result<Option<String>, Problem> {
    for (_, top, problems) in tops(options) {
        let matters = |it: &Problem| it.hides || it.message.contains("journal.collector");
        if let Some(problem) = problems.into_iter().find(matters) {
            return Err(problem);
        }
        if top.collector.is_some() {
            return Ok(top.collector);
        }
    }
    Ok(None)
}

/// Returns the settings file of the administrator and each one of the user, its keys beside the tables of hooks, and its
/// problems.
fn tops(options: &Options) -> impl Iterator<Item = (PathBuf, Top, Vec<Problem>)> {
    let managed = options.managed.iter().map(|it| (it.access(), it.settings_file()));
    let home = options.home.as_deref().map(absolute);
    let own = options.roots.iter().filter_map(move |root| Some(home.as_ref()?.join(root).join(super::FILE)));
    managed.chain(own.map(|file| (FileAccess::Global, file))).map(|(access, file)| {
        let mut files = Files::default();
        let top = files.settings(&access, &file).top;
        (file, top, files.problems)
    })
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
                let file = text::shown_path(file);
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
    /// The administrator's file, if only the hooks beside it run.
    pub(crate) only_managed: Option<PathBuf>,
    /// The administrator's rules for plugins.
    pub(crate) plugins: PluginPolicy,
    pub(crate) switched_off: Option<SwitchedOff>,
    pub(crate) thresholds: Thresholds,
    /// True if secrets stay in the text that hooks give the model (`redact_context = false`).
    pub(crate) keeps_secrets: bool,
    /// The program `git` that guards ask, instead of the system's.
    pub(crate) git: Option<PathBuf>,
    /// The same, as far as the administrator named it.
    pub(crate) managed_git: Option<PathBuf>,
    /// The table `[journal]`.
    pub(crate) journal: JournalSettings,
}

impl GlobalSettings {
    /// Returns the defaults.
    pub(crate) fn without_settings(options: &Options) -> Self {
        global(&[], options, &mut Vec::new())
    }
}

/// The keys that only the administrator's file can have.
const MANAGED: [&str; 4] = ["only_managed", "pinned_plugins", "plugin_sources", "plugin_digests"];

/// Merges the administrator's file and the user's: for each key the first one that has it counts.
pub(crate) fn global(roots: &[RootDir], options: &Options, problems: &mut Vec<Problem>) -> GlobalSettings {
    for root in roots.iter().filter(|root| root.origin != Origin::Managed) {
        for (key, line) in &root.top.keys {
            let whose = match (MANAGED.contains(key), root.origin) {
                (true, _) => "the administrator's",
                (_, Origin::Repo) => "the user's own",
                _ => continue,
            };
            let message = format!("line {line}: {key} is for {whose} file to say: it is left out");
            problems.push(Problem::new(root.settings_file(), message));
        }
    }
    // The administrator's root is the first.
    let user = || roots.iter().filter(|root| root.origin != Origin::Repo);
    let managed = || roots.iter().filter(|root| root.origin == Origin::Managed);
    let no_hooks = user().find_map(|root| Some((root, root.top.no_hooks?)));
    let skipped = user().find_map(|root| root.top.skip_commands.as_deref());
    let is_skipped = |command: &str| match skipped {
        Some(names) => names.iter().any(|name| name == command),
        None => DEFAULT_SKIP_COMMANDS.contains(&command),
    };
    let switched_off = match no_hooks {
        _ if options.no_hooks => Some(SwitchedOff::Asked),
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
        sends: user().any(|root| root.top.collector.is_some()),
    };
    let git = user().find_map(|root| root.top.git.clone());
    let managed_git = managed().find_map(|root| root.top.git.clone());
    let only_managed = managed().find(|root| root.top.only_managed == Some(true)).map(RootDir::settings_file);
    let plugins = managed().next().map(|root| PluginPolicy::of(&root.top)).unwrap_or_default();
    GlobalSettings {
        only_managed,
        plugins,
        switched_off,
        thresholds,
        keeps_secrets,
        git,
        managed_git,
        journal,
    }
}

/// Returns the user's settings of each built-in hook, by its name. For each key the first root with a value
/// counts. The settings of a repository do not.
pub(crate) fn builtin_settings(
    roots: &[RootDir],
    problems: &mut Vec<Problem>,
) -> BTreeMap<&'static str, BuiltinSettings> {
    builtin::ALL.iter().map(|builtin| (builtin.name, settings_of(builtin, roots, problems))).collect()
}

fn settings_of(builtin: &Builtin, roots: &[RootDir], problems: &mut Vec<Problem>) -> BuiltinSettings {
    let mut found = BuiltinSettings::default();
    for root in roots {
        let Some(table) = root.tables.get(builtin.name) else { continue };
        let mut note = |message: &str| {
            let message = format!("line {}: {message}", table.line);
            problems.push(Problem::new(root.settings_file(), message).of(builtin.name));
        };
        if root.origin == Origin::Repo {
            note("a repository has no say in a built-in hook: the table is left out");
            continue;
        }
        if !table.has_only(&["enabled", "priority", "settings"]) {
            note("a built-in hook has only enabled, priority and settings: the other keys are left out");
        }
        found.enabled = found.enabled.or(table.enabled);
        found.priority = found.priority.or(table.priority);
        for (key, value) in own_settings(builtin, &table.settings, note) {
            found.settings.entry(key).or_insert(value);
        }
    }
    found
}

/// Returns the settings that the hook has, with valid values; the others are problems.
fn own_settings(builtin: &Builtin, said: &Settings, mut note: impl FnMut(&str)) -> Settings {
    let mut own = Settings::new();
    for (key, value) in said {
        let shown = text::escape(key, 80);
        match builtin.settings.iter().find(|setting| setting.key == key) {
            Some(setting) if (setting.is_valid)(value) => {
                own.insert(key.clone(), value.clone());
            }
            Some(setting) => note(&format!(
                "settings.{shown}: expected {}, found {}, which is left out",
                setting.expected,
                text::escape(value, 80)
            )),
            None => {
                let known: Vec<&str> = builtin.settings.iter().map(|setting| setting.key).collect();
                let known =
                    if known.is_empty() { "none, it has no settings".to_owned() } else { known.join(", ") };
                note(&format!("unknown setting {shown:?}, which is left out: expected {known}"));
            }
        }
    }
    own
}
