//! The hooks that are configured for other agents, as a source for hookbox.

mod file;
mod plugins;

use std::path::{Path, PathBuf};

use hookbox::hook::Digest;

use self::file::{Outside, Within};
use crate::agent::{Agent, Level, Surroundings};
use crate::manager::Problem;
use crate::spec::places::{Holds, HookPlace};
use hookbox::discovery::{Area, Declared, Finder, Handler, HookSource, MAX_FILES, ReadFile, SourceFile};
use hookbox_system::limits;

/// The hooks that are configured for other agents, as a source for
/// [`Builder::source`](hookbox::manager::Builder::source): those of the project and the user, and those of
/// plugins.
///
/// A project's hooks run only as far as the user trusts them; the user's own run.
///
/// ```
/// use hookbox::manager::Manager;
/// use hookbox_agents::{Agent, AgentHooks};
///
/// let hooks = AgentHooks::new().agent(Agent::Claude).plugin(Agent::Claude, "/usr/share/my-agent/plugins/guard");
/// let builder = Manager::builder().source(hooks);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentHooks {
    agents: Vec<Agent>,
    plugins: Vec<(Agent, PathBuf)>,
}

impl AgentHooks {
    /// Returns a source of no agent's hooks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the hooks of this agent: those that the project and the user have configured for it, and those of
    /// the plugins that the agent has installed.
    #[must_use]
    pub fn agent(mut self, agent: Agent) -> Self {
        if !self.agents.contains(&agent) {
            self.agents.push(agent);
        }
        self
    }

    /// Adds the hooks of a plugin that was written for this agent, in its directory, trusted like the user's
    /// own: those of its `hooks/hooks.json` and of its manifest. They run in the project.
    #[must_use]
    pub fn plugin(mut self, agent: Agent, directory: impl Into<PathBuf>) -> Self {
        self.plugins.push((agent, directory.into()));
        self
    }

    /// Returns the agents whose configuration is read.
    fn agents(&self) -> impl Iterator<Item = Agent> {
        Agent::with_commands().filter(|agent| self.agents.contains(agent))
    }
}

impl HookSource for AgentHooks {
    fn find(&self, finder: &mut Finder<'_>) {
        let mut look = Look { finder, files: Vec::new(), plugins: Vec::new() };
        for area in look.finder.repositories() {
            for agent in self.agents() {
                for level in Level::IN_PROJECT {
                    for (place, path) in files(agent, level, &Surroundings::new(area.base())) {
                        look.configured(&area, level, agent, place, &path);
                    }
                }
            }
        }
        if let Some(home) = look.finder.home() {
            for agent in self.agents() {
                look.of_user(&home, agent);
            }
        }
        for (agent, directory) in &self.plugins {
            let directory = look.finder.cwd().join(directory);
            look.plugin(*agent, &directory, None);
        }
        look.switch_off();
        look.pass_environment();
        for Found { area, file, hooks, .. } in look.files {
            look.finder.add(&area, file, hooks);
        }
    }

    fn covers(&self, name: &str) -> bool {
        let of_plugins = self.plugins.iter().map(|(agent, _)| agent);
        agent_of(name).is_some_and(|agent| self.agents.iter().chain(of_plugins).any(|it| *it == agent))
    }

    fn watched(&self, base: &Path, is_home: bool) -> Vec<(PathBuf, Option<String>)> {
        let (around, levels) = if is_home {
            (at_home(base), &[Level::User][..])
        } else {
            (Surroundings::new(base), &Level::IN_PROJECT[..])
        };
        let mut watched = Vec::new();
        for agent in self.agents() {
            for (place, path) in levels.iter().flat_map(|level| files(agent, *level, &around)) {
                match (path.parent(), path.file_name().and_then(|it| it.to_str())) {
                    _ if place.is_directory() => watched.push((path, None)),
                    (Some(parent), Some(name)) => watched.push((parent.to_owned(), Some(name.to_owned()))),
                    _ => {}
                }
            }
        }
        if is_home {
            let directories = self.plugins.iter().map(|(_, directory)| directory.join("hooks"));
            watched.extend(directories.filter(|it| it.is_absolute()).map(|directory| (directory, None)));
        }
        watched
    }
}

/// Returns the agent whose hook has this name: `.claude/settings.json#PreToolUse[0]`,
/// `claude:plugin/NAME#PreToolUse[0]`.
fn agent_of(name: &str) -> Option<Agent> {
    let path = name.strip_prefix("~/").unwrap_or(name);
    Agent::with_commands().find(|agent| {
        let is_in = |place: &HookPlace| {
            let end = if place.is_directory() { '/' } else { '#' };
            place.may_have_hooks() && path.strip_prefix(place.path).is_some_and(|rest| rest.starts_with(end))
        };
        agent.spec().places.iter().any(is_in) || name.starts_with(&format!("{agent}:plugin/"))
    })
}

/// Returns the files with hooks of an agent at a level, each with its path; none if there is no home
/// directory.
fn files(
    agent: Agent,
    level: Level,
    around: &Surroundings,
) -> impl Iterator<Item = (&'static HookPlace, PathBuf)> {
    agent.spec().files(around, level).filter(|(place, _)| place.may_have_hooks())
}

/// Returns the surroundings of a home directory. The variables of this process count only for its own one.
fn at_home(home: &Path) -> Surroundings {
    let is_own = std::env::home_dir().is_some_and(|own| own == home);
    let around = Surroundings { home: Some(home.to_owned()), ..Surroundings::new("") };
    if is_own { around.variables(|name| std::env::var_os(name)) } else { around }
}

/// Reads the configuration of the agents.
struct Look<'l, 'f> {
    finder: &'l mut Finder<'f>,
    files: Vec<Found>,
    /// The plugins of Claude Code that a file switches on or off, each with whether that is a file of the
    /// nearest repository.
    plugins: Vec<(bool, String, bool)>,
}

/// A file that was read.
struct Found {
    agent: Agent,
    area: Area,
    file: SourceFile,
    hooks: Vec<Declared>,
    /// The variables that it sets for the hooks of its agent.
    env: Vec<(String, String)>,
    /// True if it switches off the hooks of its agent: a project's file those of the project, the user's all
    /// of them.
    switches_off: bool,
}

impl Look<'_, '_> {
    /// Reads what the user has configured for an agent, and the plugins that it has installed.
    fn of_user(&mut self, home: &Area, agent: Agent) {
        let mut around = at_home(home.base());
        if let Some((variable, value)) = around.unsettled(agent.spec().moved_by.as_ref()) {
            let message = format!("is the value of {variable}, which must be an absolute path: not used");
            self.finder.problem(home, Problem::new(value, message));
            around.variables.clear();
        }
        for (place, path) in files(agent, Level::User, &around) {
            self.configured(home, Level::User, agent, place, &path);
        }
        for (place, directory) in agent.spec().files(&around, Level::User) {
            if let Holds::Plugins = place.holds {
                self.installed_plugins(home, agent, &directory);
            }
        }
    }

    /// Reads one file, or each file of a directory.
    fn configured(&mut self, area: &Area, level: Level, agent: Agent, place: &HookPlace, path: &Path) {
        let home = if level == Level::User { "~/" } else { "" };
        let mut paths = vec![(path.to_owned(), format!("{home}{}", place.path))];
        // Scripts are usually beside the configuration.
        let mut scripts = path.with_file_name("hooks");
        if place.is_directory() {
            path.clone_into(&mut scripts);
            paths.clear();
            for name in self.finder.names(area, path) {
                let Some(name) = name.to_str().filter(|name| name.ends_with(".json")) else { continue };
                if paths.len() == MAX_FILES {
                    let message = format!(
                        "has more than {MAX_FILES} files: only the first {MAX_FILES} by name are used"
                    );
                    self.finder.hiding_problem(area, Problem::new(path, message));
                    break;
                }
                paths.push((path.join(name), format!("{home}{}/{name}", place.path)));
            }
        }
        let is_settings = place.path.rsplit('/').next().is_some_and(|name| name.starts_with("settings."))
            || matches!(place.holds, Holds::Settings);
        let within = if is_settings { Within::Settings } else { Within::Hooks };
        for (path, shown) in paths {
            let outside = Outside { agent, shown, path, level, plugin: None, within };
            self.read(area, &outside, &scripts, None);
        }
    }

    /// Reads one file and takes its hooks. Returns the other files with hooks that it names.
    fn read(
        &mut self,
        area: &Area,
        outside: &Outside,
        scripts: &Path,
        plugin: Option<&str>,
    ) -> ReadFile<Vec<String>> {
        let file =
            match self.finder.file(area, &outside.path, limits::FILE, |text| file::parse(text, outside)) {
                ReadFile::Read(file) => file,
                ReadFile::Missing => return ReadFile::Missing,
                ReadFile::Unusable => return ReadFile::Unusable,
            };
        let mut problem = |message: String, hint| {
            let problem = Problem { hint, ..Problem::new(&outside.path, message) };
            self.finder.problem(area, problem);
        };
        for fault in file.faults {
            problem(fault.message, fault.hint);
        }
        if file.own > 0 {
            let what = if file.own == 1 { "entry that calls" } else { "entries that call" };
            problem(format!("{} {what} hookbox itself left out: it would start itself", file.own), None);
        }
        let mut hooks = file.hooks;
        if let Some(setting) = file.switches_off {
            let title = outside.agent.title();
            let follows = match outside.within {
                Within::Settings if area.is_repository() => {
                    format!("none of the project's hooks of {title} runs")
                }
                Within::Settings => format!("no hook of {title} runs"),
                // A file of nothing but hooks switches off its own.
                _ => "none of its hooks runs".to_owned(),
            };
            problem(format!("{setting}: {follows}"), None);
            if outside.within != Within::Settings {
                hooks.iter_mut().for_each(|hook| hook.is_disabled = true);
            }
        }
        let is_nearest = area.is_repository() && self.finder.repository() == Some(area.base());
        if is_nearest || !area.is_repository() {
            self.plugins.extend(file.plugins.into_iter().map(|(name, is_on)| (is_nearest, name, is_on)));
        }
        self.files.push(Found {
            agent: outside.agent,
            area: area.clone(),
            file: SourceFile {
                path: outside.path.clone(),
                shown: outside.shown.clone(),
                scripts: scripts.to_owned(),
                plugin: plugin.map(str::to_owned),
                usual_timeout: outside.agent.spec().wait.usual,
                from: outside.agent.as_str(),
            },
            hooks,
            env: file.env,
            switches_off: file.switches_off.is_some() && outside.within == Within::Settings,
        });
        ReadFile::Read(file.files)
    }

    /// Switches off what a configuration switches off: a project's its own hooks, the user's all of them.
    fn switch_off(&mut self) {
        let off = self.files.iter().filter(|it| it.switches_off);
        let off: Vec<_> = off.map(|it| (it.agent, it.area.clone())).collect();
        for found in &mut self.files {
            let is_off = off.iter().any(|(agent, area)| {
                *agent == found.agent && (!area.is_repository() || area.base() == found.area.base())
            });
            found.hooks.iter_mut().for_each(|hook| hook.is_disabled |= is_off);
        }
    }

    /// Gives the hooks of an agent the variables that its settings set: the user's to all of them, a
    /// project's to the project's own, as a part of what the user trusts.
    fn pass_environment(&mut self) {
        let env: Vec<_> = self.files.iter().map(|it| (it.agent, it.area.clone(), it.env.clone())).collect();
        for found in &mut self.files {
            let of = |is_from: &dyn Fn(&Area) -> bool| -> Vec<(String, String)> {
                let files = env.iter().filter(|(agent, area, _)| *agent == found.agent && is_from(area));
                files.flat_map(|(.., env)| env).cloned().collect()
            };
            let user = of(&|area| !area.is_repository());
            let base = Some(found.area.base()).filter(|_| found.area.is_repository());
            let project = of(&|area| area.is_repository() && Some(area.base()) == base);
            let digest = Digest::of(format!("{project:?}").as_bytes()).to_string();
            for hook in &mut found.hooks {
                if !project.is_empty() {
                    hook.text.push_str(&digest);
                }
                if let Ok(Handler::Wired(command)) = &mut hook.handler {
                    command.user_env.clone_from(&user);
                    command.project_env.clone_from(&project);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_hook_says_whose_it_is() {
        for (name, want) in [
            (".claude/settings.json#PreToolUse[0]", Some(Agent::Claude)),
            ("~/.claude/settings.json#Stop[1]", Some(Agent::Claude)),
            ("claude:plugin/guard#PreToolUse[0]", Some(Agent::Claude)),
            (".github/hooks/a.json#preToolUse[0]", Some(Agent::Copilot)),
            (".github/copilot/settings.json#preToolUse[0]", Some(Agent::Copilot)),
            (".cursor/hooks.json#stop[0]", Some(Agent::Cursor)),
            ("hooks.json#PreToolUse[0]", None),
            ("org/repo/guard", None),
            (".claude/settings.jsonx", None),
        ] {
            assert_eq!(agent_of(name), want, "{name}");
        }
    }
}
