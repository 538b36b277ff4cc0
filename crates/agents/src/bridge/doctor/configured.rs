//! The hook configuration of an agent, as far as it concerns hookbox.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::agent::bridge_command::{Call, mentions};
use crate::agent::{Agent, EventKind};
use crate::bridge::Bridge;
use crate::bridge::plugin_file::{self, Origin};
use crate::config::{
    Configuration, Entry, Level, Surroundings, Switch, parser_error, read, read_toml, toml_settings,
    toml_switches,
};
use crate::files::FileAccess;
use crate::finding::{Examination, contents, contents_of, real, report_unread, repository_root, shown};
use crate::spec::places::{Holds, HookPlace};
use crate::spec::{Above, PluginFile};
use hookbox::discovery::MAX_FILES;
use hookbox_system::units::parse_duration;

/// A command that runs hookbox, with its file.
pub(super) struct HookCommand {
    pub(super) entry: Entry,
    /// The words that start the program.
    pub(super) program: String,
    /// The agent that it names.
    pub(super) named: Agent,
    /// The time that the bridge may take.
    pub(super) deadline: Duration,
    /// True if it runs every hook of a repository.
    pub(super) trusts_all: bool,
    pub(super) level: Level,
    pub(super) file: PathBuf,
}

impl HookCommand {
    fn of(entry: Entry, level: Level, file: &Path) -> Option<Self> {
        let call = Call::of(&entry.command)?;
        let deadline = call.option("--deadline").and_then(|it| parse_duration(it).ok());
        Some(Self {
            program: call.program.to_owned(),
            named: call.agent,
            deadline: deadline.unwrap_or(Bridge::DEADLINE),
            trusts_all: call.option("--trust") == Some("all"),
            level,
            file: file.to_owned(),
            entry,
        })
    }
}

/// The configuration of one agent.
#[derive(Default)]
pub(super) struct Configured {
    pub(super) commands: Vec<HookCommand>,
    /// The settings that switch hooks off, each with its level and file.
    pub(super) switches: Vec<(Switch, Level, String)>,
    /// The user's own settings in TOML.
    pub(super) settings: toml::Table,
    /// The variables of the settings, the strongest last.
    pub(super) env: Vec<(String, String)>,
    /// The switches that the system's settings set to leave hooks on.
    pub(super) kept_on: Vec<&'static str>,
}

impl Configured {
    /// Reads the files of an agent. A file that cannot be read is a failure: the agent runs no hook of it.
    pub(super) fn read(agent: Agent, surroundings: &Surroundings, found: &mut Examination) -> Self {
        let (all, seen) = (Self::default(), BTreeSet::new());
        let mut look = Look { agent, found, all, disables_all: None, seen };
        look.files(surroundings, &Level::ALL);
        for project in above(agent, surroundings) {
            look.files(&Surroundings { project, ..surroundings.clone() }, &Level::IN_PROJECT);
        }
        let Look { mut all, disables_all, .. } = look;
        if agent.spec().config.takes_strongest_switch {
            // A setting of organizations counts in their own file only.
            all.switches.retain(|(switch, level, _)| {
                *level == Level::System || !matches!(switch, Switch::AllButManaged(_))
            });
            if disables_all == Some(false) {
                all.switches.retain(|(switch, ..)| !matches!(switch, Switch::All(_)));
            }
        }
        // The system's settings are stronger than those of users and projects.
        let Self { switches, kept_on, .. } = &mut all;
        switches.retain(|(switch, level, _)| {
            *level == Level::System || !matches!(switch, Switch::All(it) if kept_on.contains(it))
        });
        all
    }
}

/// Reads the files of an agent.
struct Look<'a> {
    agent: Agent,
    found: &'a mut Examination,
    all: Configured,
    /// The value of `disableAllHooks` in the strongest settings, if these count.
    disables_all: Option<bool>,
    /// The files that were read.
    seen: BTreeSet<PathBuf>,
}

impl Look<'_> {
    fn files(&mut self, surroundings: &Surroundings, levels: &[Level]) {
        let spec = self.agent.spec();
        for level in levels.iter().copied() {
            for (place, path) in spec.files(surroundings, level) {
                match place.holds {
                    Holds::Hooks | Holds::TomlHooks => self.hooks(level, place, &path),
                    Holds::Files => {
                        files(&path, self.found).iter().for_each(|path| self.hooks(level, place, path));
                    }
                    Holds::Settings => self.toml_settings(level, &path),
                    // Its own entry judges what reaches that of the other agent.
                    Holds::HooksOf(_) if spec.config.own_field.is_some() => {}
                    Holds::HooksOf(other) => {
                        let other = Agent::ALL.into_iter().find(|it| it.as_str() == other.name);
                        other.into_iter().for_each(|other| self.also(other, level, &path));
                    }
                    Holds::Plugins | Holds::Beside => {}
                }
            }
            if let Some(plugin) = &spec.plugin
                && let Some(path) = plugin_file::file(spec, level, surroundings)
            {
                self.plugin(plugin, level, &path);
            }
        }
    }

    /// Returns the contents of a file that was not read yet: in the home directory the project's file is the
    /// user's.
    fn contents(&mut self, path: &Path) -> Option<Vec<u8>> {
        self.seen.insert(real(path)).then(|| contents(path, self.found))?
    }

    fn hooks(&mut self, level: Level, place: &HookPlace, path: &Path) {
        let Some(bytes) = self.contents(path) else { return };
        let agent = self.agent;
        let is_toml = matches!(place.holds, Holds::TomlHooks);
        let configuration = match if is_toml { read_toml(agent, &bytes) } else { read(agent, &bytes) } {
            Ok(configuration) => configuration,
            Err(error) => {
                return self.found.fail("configuration", format!("{}: {error}", shown(path)), error.hint);
            }
        };
        if let Some(why) = parser_error(agent.spec(), &bytes).filter(|_| !is_toml) {
            let hint = format!("correct the file by hand: {} runs no hook of it as it is", agent.title());
            self.found.fail("configuration", format!("{}: {why}", shown(path)), hint);
        }
        self.disables_all = configuration.disables_all.or(self.disables_all);
        if level == Level::System {
            self.all.kept_on.extend(&configuration.kept_on);
        }
        let is_own_file = matches!(place.holds, Holds::Files);
        let Configuration { entries, switches, env, problems, .. } = configuration;
        self.all.env.extend(env);
        let calls: Vec<HookCommand> =
            entries.into_iter().filter_map(|entry| HookCommand::of(entry, level, path)).collect();
        // Each file of a directory switches only its own hooks off.
        if !is_own_file || !calls.is_empty() {
            self.off(level, path, switches);
        }
        self.all.commands.extend(calls);
        for problem in problems {
            let own = problem.event.as_deref().map(|name| agent.event(name));
            let is_fatal = agent.spec().config.ignores_whole_file;
            let matters =
                own.is_none_or(|it| it.is_some_and(|it| is_fatal || it.event == EventKind::BeforeToolCall));
            let message = format!("{}: {problem}", shown(path));
            let hint = "correct the file by hand";
            if matters {
                self.found.fail("configuration", message, hint);
            } else {
                self.found.warn("configuration", message, hint);
            }
        }
    }

    fn off(&mut self, level: Level, path: &Path, switches: Vec<Switch>) {
        let place = format!("{level}: {}", shown(path));
        self.all.switches.extend(switches.into_iter().map(|switch| (switch, level, place.clone())));
    }

    /// Reads a file of another agent that this one reads as well: its switches count, and hooks that call
    /// hookbox, too, are reported.
    fn also(&mut self, other: Agent, level: Level, path: &Path) {
        let Some(of_other) = contents_of(path).ok().and_then(|bytes| read(other, &bytes).ok()) else {
            return;
        };
        if of_other.entries.iter().any(|entry| mentions(other.as_str(), &entry.command)) {
            let message = format!("it also runs the project's {}, which calls hookbox as well", shown(path));
            let hint = format!("install hookbox for {} or for {other} in this project", self.agent);
            self.found.warn("event", message, hint);
        }
        let switches = of_other.switches.into_iter().filter(|it| matches!(it, Switch::All(_)));
        self.off(level, path, switches.collect());
    }

    fn toml_settings(&mut self, level: Level, path: &Path) {
        let Some(bytes) = self.contents(path) else { return };
        let settings = match toml_settings(&bytes) {
            Ok(settings) => settings,
            Err(error) => {
                return self.found.fail("configuration", format!("{}: {error}", shown(path)), error.hint);
            }
        };
        self.off(level, path, toml_switches(&settings));
        // Only the user's own file counts for trust.
        if level == Level::User {
            self.all.settings = settings;
        }
    }

    /// Reads an agent's plugin, which runs the same program at each of its events.
    fn plugin(&mut self, plugin: &PluginFile, level: Level, path: &Path) {
        let Some(bytes) = self.contents(path) else { return };
        let agent = self.agent;
        let origin = plugin_file::recognize(plugin, &bytes);
        if let Some(problem) = origin.problem() {
            let (message, hint) = (
                format!("{} {problem}", shown(path)),
                format!("move the file away, then: hookbox install {agent}"),
            );
            match origin {
                Origin::Others => self.found.warn("configuration", message, hint),
                _ => self.found.fail("configuration", message, hint),
            }
        }
        let Origin::Ours { program, home } = origin else { return };
        let entry = |name: &str| Entry {
            event: name.to_owned(),
            matcher: None,
            command: plugin_file::line(agent, &program, &home, name),
            timeout: agent.spec().waits(name, None),
            extra: Map::new(),
            position: (0, 0),
        };
        let entries = agent.events().iter().map(|event| entry(event.name));
        self.all.commands.extend(entries.filter_map(|entry| HookCommand::of(entry, level, path)));
    }
}

impl HookCommand {
    /// Returns the variables that the agent sets for it.
    pub(super) fn variables(&self, agent: Agent, configured: &Configured) -> Vec<(String, String)> {
        let env = self.entry.extra.get("env").filter(|_| agent.spec().config.entry.has_env);
        let env = env.and_then(Value::as_object).into_iter().flatten();
        let own = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        configured.env.iter().cloned().chain(own).collect()
    }

    /// Returns true if a setting switches it off.
    pub(super) fn is_off(&self, agent: Agent, configured: &Configured) -> bool {
        configured.switches.iter().any(|(switch, level, _)| self.is_left_out(agent, switch, *level))
    }

    /// Returns true if this setting, in a file of that level, switches it off.
    pub(super) fn is_left_out(&self, agent: Agent, switch: &Switch, level: Level) -> bool {
        let is_of_system = self.level == Level::System;
        match switch {
            Switch::All(_) => {
                !is_of_system || level == Level::System || !agent.spec().config.keeps_system_hooks
            }
            Switch::AllButManaged(_) => !is_of_system,
            Switch::Named { name, .. } => {
                let own = self.entry.extra.get("name").and_then(Value::as_str);
                own == Some(name) || self.entry.command == *name
            }
        }
    }

    /// Returns the directory in which the agent runs it.
    pub(super) fn directory(&self, agent: Agent, project: &Path) -> PathBuf {
        let own = self.entry.extra.get("cwd").and_then(Value::as_str);
        let own = own.filter(|_| agent.spec().config.entry.has_cwd);
        own.map_or_else(|| project.to_owned(), |own| project.join(own))
    }
}

/// Returns the directories above the working directory whose files the agent reads as well.
fn above(agent: Agent, surroundings: &Surroundings) -> Vec<PathBuf> {
    let project = &surroundings.project;
    let Some(root) = repository_root(project) else { return Vec::new() };
    let between = project.ancestors().skip(1).take_while(|it| it.starts_with(root));
    let is_read = |it: &&Path| match agent.spec().config.reads_above {
        Above::All => true,
        Above::Root => *it == root,
        Above::None => false,
    };
    between.filter(is_read).map(Path::to_owned).collect()
}

/// Returns the files of hooks in a directory, in order.
fn files(directory: &Path, found: &mut Examination) -> Vec<PathBuf> {
    let (names, is_cut) = match FileAccess::Anywhere.names(directory) {
        Ok(names) => names,
        Err(error) => {
            report_unread(directory, &error, found);
            return Vec::new();
        }
    };
    let mut files: Vec<PathBuf> = names.iter().map(|name| directory.join(name)).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "json"));
    if is_cut || files.len() > MAX_FILES {
        let message = format!("{} has more than {MAX_FILES} files of hooks", shown(directory));
        found.fail("configuration", message, "see who put them there: not all of them are read");
    }
    files.truncate(MAX_FILES);
    files
}
