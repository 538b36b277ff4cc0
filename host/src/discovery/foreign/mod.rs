//! Hooks that are configured for other agents: which files there are, and what they say beside their hooks. Looked for
//! only where somebody asks for them.

mod plugins;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::candidate::{Candidate, HooksDir, State};
use super::declared::{ForeignFile, Handler, Outside, Within};
use super::entry::Problem;
use super::limits::MAX_CANDIDATES;
use super::options::Options;
use super::scan::Scan;
use crate::dialect::agent::{Agent, Holds, HookPlace, Level, Surroundings};
use crate::files::FileAccess;
use crate::hook::{Digest, Origin, Tier};

/// The place of other agents' files in the order of a tier, behind every root.
const BEHIND_ROOTS: usize = 1 << 20;

/// What the files of other agents say beside their hooks.
#[derive(Default)]
pub(super) struct Said {
    /// Plugins of Claude Code that the user's file, or the project's, switches on or off.
    plugins: Vec<(Origin, String, bool)>,
    /// Variables that Claude Code's settings of the user, or of the project, set for hooks.
    env: Vec<(Origin, Vec<(String, String)>)>,
    /// How many files were looked at: the order of their hooks.
    files: usize,
}

/// Whose hook is called so: `.claude/settings.json#PreToolUse[0]`, `claude:plugin/NAME#PreToolUse[0]`.
pub(super) fn agent_of(name: &str) -> Option<Agent> {
    let path = name.strip_prefix("~/").unwrap_or(name);
    Agent::WITH_COMMANDS.into_iter().find(|agent| {
        let is_in = |place: &HookPlace| {
            let end = if place.holds == Holds::Files { '/' } else { '#' };
            place.has_hooks() && path.strip_prefix(place.path).is_some_and(|rest| rest.starts_with(end))
        };
        agent.places().iter().any(is_in) || name.starts_with(&format!("{agent}:plugin/"))
    })
}

/// Whether such a hook is the user's: it stands beneath the home directory, or is a plugin's.
pub(super) fn is_users(name: &str) -> bool {
    agent_of(name)
        .is_some_and(|agent| name.starts_with("~/") || name.starts_with(&format!("{agent}:plugin/")))
}

/// Whether anybody asked for hooks of this agent.
pub(super) fn is_asked(options: &Options, agent: Agent) -> bool {
    options.from.contains(&agent) || options.agent_plugins.iter().any(|(it, _)| *it == agent)
}

/// The agents that are asked for, each once.
fn asked(options: &Options) -> impl Iterator<Item = Agent> {
    Agent::WITH_COMMANDS.into_iter().filter(|agent| options.from.contains(agent))
}

/// The files with hooks of an agent at a level, and where each stands; `None` where nobody has a home.
fn files(
    agent: Agent,
    level: Level,
    around: &Surroundings,
) -> impl Iterator<Item = (&'static HookPlace, PathBuf)> {
    let places = agent.places_at(level).filter(|place| place.has_hooks());
    places.filter_map(move |place| Some((place, around.path(agent, level, place.path)?)))
}

/// What decides where the user's files stand. Variables that are set for another home directory than the process's own say
/// nothing.
fn at_home(home: &Path) -> Surroundings {
    let is_own = std::env::home_dir().is_some_and(|own| own == home);
    let around = Surroundings { home: Some(home.to_owned()), ..Surroundings::new("") };
    if is_own { around.variables(|name| std::env::var_os(name)) } else { around }
}

/// The directories in which a change of the files of other agents matters, and the names there; all where there is none.
#[cfg(feature = "watch")]
pub(crate) fn places(options: &Options, base: &Path, of_user: bool) -> Vec<(PathBuf, Option<String>)> {
    let (around, levels) = if of_user {
        (at_home(base), &[Level::User][..])
    } else {
        (Surroundings::new(base), &Level::IN_PROJECT[..])
    };
    let mut places = Vec::new();
    for agent in asked(options) {
        for (place, path) in levels.iter().flat_map(|level| files(agent, *level, &around)) {
            match (path.parent(), path.file_name().and_then(|it| it.to_str())) {
                _ if place.holds == Holds::Files => places.push((path, None)),
                (Some(parent), Some(name)) => places.push((parent.to_owned(), Some(name.to_owned()))),
                _ => {}
            }
        }
    }
    places
}

impl Scan {
    /// What a project configures for other agents.
    pub(super) fn of_project(&mut self, place: &FileAccess, repo: &Path, options: &Options) {
        for agent in asked(options) {
            let before = self.candidates.len();
            for level in Level::IN_PROJECT {
                for (file, path) in files(agent, level, &Surroundings::new(repo)) {
                    self.configured(place, level, agent, file, &path, repo);
                }
            }
            self.switch_off(before, agent, Some(Origin::Repo));
        }
    }

    /// What the user configures for other agents, and the plugins of theirs.
    pub(super) fn of_user(&mut self, repo: Option<&Path>, options: &Options) {
        for agent in asked(options) {
            let Some(home) = &options.home else { continue };
            let mut around = at_home(home);
            if let Some((variable, value)) = around.unsettled(agent) {
                let message = format!("is what {variable} names, expected an absolute path: not looked at");
                self.problems.push(Problem::new(value, message));
                around.variables.clear();
            }
            for (file, path) in files(agent, Level::User, &around) {
                self.configured(&FileAccess::Global, Level::User, agent, file, &path, home);
            }
            let plugins = agent.places_at(Level::User).filter(|place| place.holds == Holds::Plugins);
            for plugins in plugins.filter_map(|place| around.path(agent, Level::User, place.path)) {
                self.claude_plugins(&plugins, repo);
            }
            self.switch_off(0, agent, None);
        }
        for (agent, directory) in &options.agent_plugins {
            self.agent_plugin(*agent, &options.cwd.join(directory), None);
        }
        self.pass_environment();
    }

    /// Applies what the user's own files say of a project's hooks, as another scan has read them.
    pub(super) fn as_the_user_says(&mut self, options: &Options, read: &Self) {
        let is_users = |origin: &Origin| *origin == Origin::User;
        self.foreign_off.extend(read.foreign_off.iter().filter(|(origin, _)| is_users(origin)));
        self.foreign.env.extend(read.foreign.env.iter().filter(|(origin, _)| is_users(origin)).cloned());
        for agent in asked(options) {
            self.switch_off(0, agent, None);
        }
        self.pass_environment();
    }

    /// Gives Claude Code's hooks the variables that its settings set: the user's to all of them, the project's to the
    /// project's own, as a part of what the user trusts.
    fn pass_environment(&mut self) {
        let of = |wanted: Origin| -> Vec<(String, String)> {
            let files = self.foreign.env.iter().filter(|(origin, _)| *origin == wanted);
            files.flat_map(|(_, env)| env).cloned().collect()
        };
        let (user, project) = (of(Origin::User), of(Origin::Repo));
        let digest = Digest::of(format!("{project:?}").as_bytes()).to_string();
        for candidate in &mut self.candidates {
            let Some(declared) = &mut candidate.declared else { continue };
            if declared.outside.as_ref().is_none_or(|it| it.agent != Agent::Claude) {
                continue;
            }
            let is_projects = candidate.dir.tier.origin() == Origin::Repo && !project.is_empty();
            if is_projects {
                declared.text.push_str(&digest);
            }
            if let Ok(Handler::Foreign(command)) = &mut declared.handler {
                command.user_env.clone_from(&user);
                if is_projects {
                    command.project_env.clone_from(&project);
                }
            }
        }
    }

    /// One file, or each file of a directory.
    fn configured(
        &mut self,
        place: &FileAccess,
        level: Level,
        agent: Agent,
        file: &HookPlace,
        path: &Path,
        base: &Path,
    ) {
        let (origin, home) = if level == Level::User { (Origin::User, "~/") } else { (Origin::Repo, "") };
        let mut paths = vec![(path.to_owned(), format!("{home}{}", file.path))];
        // Scripts usually stand beside the configuration.
        let mut scripts = path.with_file_name("hooks");
        if file.holds == Holds::Files {
            path.clone_into(&mut scripts);
            paths.clear();
            for name in self.names(place, path) {
                let Some(name) = name.to_str().filter(|name| name.ends_with(".json")) else { continue };
                if paths.len() == MAX_CANDIDATES {
                    let message = format!(
                        "holds more than {MAX_CANDIDATES} files: only the first {MAX_CANDIDATES} by name are used"
                    );
                    self.problems.push(Problem::new(path, message).hiding(place));
                    break;
                }
                paths.push((path.join(name), format!("{home}{}/{name}", file.path)));
            }
        }
        let settings = file.path.rsplit('/').next().is_some_and(|name| name.starts_with("settings."));
        for (path, shown) in paths {
            let within = if settings { Within::Settings } else { Within::Hooks };
            let outside = Arc::new(Outside { agent, shown, path, level, plugin: None, within });
            let dir = HooksDir {
                place: place.clone(),
                tier: if origin == Origin::Repo { Tier::Repo } else { Tier::Global },
                root: self.next_root(),
                plugin_dir: String::new(),
                plugin: None,
                path: scripts.clone(),
                needs_trust: origin == Origin::Repo,
                base: base.to_owned(),
            };
            self.outside(place, origin, &Arc::new(dir), &outside);
        }
    }

    /// Files come in their order, one after another.
    fn next_root(&mut self) -> usize {
        self.foreign.files += 1;
        BEHIND_ROOTS + self.foreign.files
    }

    /// Takes the hooks of one file, and gives back what else it says.
    fn outside(
        &mut self,
        place: &FileAccess,
        origin: Origin,
        dir: &Arc<HooksDir>,
        outside: &Arc<Outside>,
    ) -> Option<ForeignFile> {
        let mut file = self.foreign_file(place, origin, outside)?;
        for fault in std::mem::take(&mut file.faults) {
            self.problems.push(Problem { hint: fault.hint, ..Problem::new(&outside.path, fault.message) });
        }
        if file.own > 0 {
            let what = if file.own == 1 { "entry that calls" } else { "entries that call" };
            let message = format!("{} {what} hookbox itself left out: it would start itself", file.own);
            self.problems.push(Problem::new(&outside.path, message));
        }
        for (name, is_on) in std::mem::take(&mut file.plugins) {
            self.foreign.plugins.push((origin, name, is_on));
        }
        self.foreign.env.push((origin, std::mem::take(&mut file.env)));
        if let Some(setting) = file.switches_off {
            let title = outside.agent.title();
            let follows = match (outside.within, origin) {
                (Within::Settings, Origin::Repo) => format!("none of the project's hooks of {title} runs"),
                (Within::Settings, _) => format!("no hook of {title} runs"),
                // A file of hooks speaks for itself.
                _ => "none of its hooks runs".to_owned(),
            };
            self.problems.push(Problem::new(&outside.path, format!("{setting}: {follows}")));
            if outside.within == Within::Settings {
                self.foreign_off.push((origin, outside.agent));
            } else {
                file.hooks.iter_mut().for_each(|hook| hook.is_disabled = true);
            }
        }
        for hook in std::mem::take(&mut file.hooks) {
            if self.has_room(dir) {
                self.candidates.push(Candidate::of_entry(dir, &outside.path, hook));
            }
        }
        Some(file)
    }

    /// Switches off what a configuration switches off: a project's its own hooks, the user's all of them.
    fn switch_off(&mut self, from: usize, agent: Agent, only: Option<Origin>) {
        let wanted = only.unwrap_or(Origin::User);
        if !self.foreign_off.contains(&(wanted, agent)) {
            return;
        }
        for candidate in self.candidates.iter_mut().skip(from) {
            let outside = candidate.declared.as_ref().and_then(|it| it.outside.as_ref());
            let is_theirs = outside.is_some_and(|it| it.agent == agent);
            if is_theirs && matches!(candidate.state, State::Usable) {
                candidate.state = State::Disabled;
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
