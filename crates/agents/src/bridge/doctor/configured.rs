//! The hook configuration of an agent, as far as it concerns hookbox.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::agent::bridge_command::{Call, mentions};
use crate::agent::{Agent, EventKind};
use crate::bridge::Bridge;
use crate::bridge::plugin_file::{self, Origin};
use crate::conditions::{contents, contents_of, real, report_unread, repository_root, shown};
use crate::config::{
    Configuration, Entry, Level, Surroundings, Switch, parser_error, read, toml_settings, toml_switches,
};
use crate::discovery::parse_duration;
use crate::files::FileAccess;
use crate::finding::Examination;
use crate::spec::places::Holds;
use crate::spec::{Above, PluginFile};

/// The number of files that are read of a directory of hooks.
const MAX_FILES: usize = 256;

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
    /// The settings that switch hooks off, each with its file.
    pub(super) switches: Vec<(Switch, String)>,
    /// The user's own settings in TOML.
    pub(super) settings: toml::Table,
    /// The variables of the settings, the strongest last.
    pub(super) env: Vec<(String, String)>,
    /// The value of `disableAllHooks` in the strongest settings, if these count.
    disables_all: Option<bool>,
    /// The files that were read.
    seen: BTreeSet<PathBuf>,
}

impl Configured {
    /// Reads the files of an agent. A file that cannot be read is a failure: the agent runs no hook of it.
    pub(super) fn read(agent: Agent, surroundings: &Surroundings, found: &mut Examination) -> Self {
        let mut all = Self::default();
        all.files(agent, surroundings, &Level::ALL, found);
        for project in above(agent, surroundings) {
            let above = Surroundings { project, ..surroundings.clone() };
            all.files(agent, &above, &[Level::Project, Level::Local], found);
        }
        if let Some(file) = agent.spec().config.managed_file {
            // A setting of organizations counts in their own file only.
            all.switches.retain(|(switch, _)| !matches!(switch, Switch::AllButManaged(_)));
            let managed = contents(Path::new(file), found);
            if let Some(managed) = managed.and_then(|bytes| read(agent, &bytes).ok()) {
                all.take_settings(&managed);
                all.off(format!("managed: {file}"), managed.switches);
            }
            if all.disables_all == Some(false) {
                all.switches.retain(|(switch, _)| !matches!(switch, Switch::All(_)));
            }
        }
        all
    }

    fn files(
        &mut self,
        agent: Agent,
        surroundings: &Surroundings,
        levels: &[Level],
        found: &mut Examination,
    ) {
        for level in levels.iter().copied() {
            for (place, path) in agent.spec().files(surroundings, level) {
                match place.holds {
                    Holds::Hooks => self.hooks(agent, level, &path, false, found),
                    Holds::Files => {
                        for path in files(&path, found) {
                            self.hooks(agent, level, &path, true, found);
                        }
                    }
                    Holds::Settings => self.toml_settings(level, &path, found),
                    Holds::HooksOf(other) => also(other, agent, &path, found),
                    Holds::Plugins | Holds::Beside => {}
                }
            }
            if let Some(plugin) = &agent.spec().plugin {
                let path = plugin_file::file(agent.spec(), level, surroundings);
                path.iter().for_each(|path| self.plugin(agent, plugin, level, path, found));
            }
        }
    }

    /// Returns the contents of a file that was not read yet: in the home directory the project's file is the
    /// user's.
    fn contents(&mut self, path: &Path, found: &mut Examination) -> Option<Vec<u8>> {
        self.seen.insert(real(path)).then(|| contents(path, found))?
    }

    fn hooks(&mut self, agent: Agent, level: Level, path: &Path, is_own_file: bool, found: &mut Examination) {
        let Some(bytes) = self.contents(path, found) else { return };
        let configuration = match read(agent, &bytes) {
            Ok(configuration) => configuration,
            Err(error) => {
                return found.fail("configuration", format!("{}: {error}", shown(path)), error.hint);
            }
        };
        if let Some(why) = parser_error(agent.spec(), &bytes) {
            let hint = format!("correct the file by hand: {} runs no hook of it as it is", agent.title());
            found.fail("configuration", format!("{}: {why}", shown(path)), hint);
        }
        self.take_settings(&configuration);
        let Configuration { entries, switches, problems, .. } = configuration;
        let calls: Vec<HookCommand> =
            entries.into_iter().filter_map(|entry| HookCommand::of(entry, level, path)).collect();
        // Each file of a directory switches only its own hooks off.
        if !is_own_file || !calls.is_empty() {
            self.off(format!("{level}: {}", shown(path)), switches);
        }
        self.commands.extend(calls);
        for problem in problems {
            let own = problem.event.as_deref().map(|name| agent.event(name));
            let is_fatal = agent.spec().config.ignores_whole_file;
            let matters =
                own.is_none_or(|it| it.is_some_and(|it| is_fatal || it.event == EventKind::BeforeToolCall));
            let message = format!("{}: {problem}", shown(path));
            let hint = "correct the file by hand";
            if matters {
                found.fail("configuration", message, hint);
            } else {
                found.warn("configuration", message, hint);
            }
        }
    }

    fn take_settings(&mut self, configuration: &Configuration) {
        self.env.extend(configuration.env.iter().cloned());
        self.disables_all = configuration.disables_all.or(self.disables_all);
    }

    fn off(&mut self, place: String, switches: Vec<Switch>) {
        self.switches.extend(switches.into_iter().map(|switch| (switch, place.clone())));
    }

    fn toml_settings(&mut self, level: Level, path: &Path, found: &mut Examination) {
        let Some(bytes) = self.contents(path, found) else { return };
        let settings = match toml_settings(&bytes) {
            Ok(settings) => settings,
            Err(error) => {
                return found.fail("configuration", format!("{}: {error}", shown(path)), error.hint);
            }
        };
        self.off(format!("{level}: {}", shown(path)), toml_switches(&settings));
        // Only the user's own file counts for trust.
        if level == Level::User {
            self.settings = settings;
        }
    }

    /// Reads an agent's plugin, which runs the same program at each of its events.
    fn plugin(
        &mut self,
        agent: Agent,
        plugin: &PluginFile,
        level: Level,
        path: &Path,
        found: &mut Examination,
    ) {
        let Some(bytes) = self.contents(path, found) else { return };
        let origin = plugin_file::recognize(plugin, &bytes);
        if let Some(problem) = origin.problem() {
            let (message, hint) = (
                format!("{} {problem}", shown(path)),
                format!("move the file away, then: hookbox install {agent}"),
            );
            match origin {
                Origin::Others => found.warn("configuration", message, hint),
                _ => found.fail("configuration", message, hint),
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
        self.commands.extend(entries.filter_map(|entry| HookCommand::of(entry, level, path)));
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

/// Warns if the agent also runs the hooks of another agent's file, and these call hookbox, too.
fn also(other: Agent, agent: Agent, path: &Path, found: &mut Examination) {
    let entries = contents_of(path).ok().and_then(|bytes| read(other, &bytes).ok()).map(|it| it.entries);
    if entries.into_iter().flatten().any(|entry| mentions(other.as_str(), &entry.command)) {
        let message = format!("it also runs the project's {}, which calls hookbox as well", shown(path));
        let hint = format!("install hookbox for {agent} or for {other} in this project");
        found.warn("event", message, hint);
    }
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
