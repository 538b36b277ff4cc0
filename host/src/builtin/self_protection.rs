//! `builtin:self-protection`: an agent must not switch off its own guards.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use hookbox_calls::{RUNS, directories, is_destination, lines, name_words, texts};
use hookbox_shell::{Known, is_in, runs};

use super::command::{self, Finding};
use super::protected::{Patterns, Protected};
use super::realpath_cache::RealpathCache;
use super::{Builtin, BuiltinSettings, Surroundings, hookbox_process};
use crate::event::{Event, EventName, Facts, ToolCall, ToolKind};
use crate::facts;
use crate::hook::{Budget, Descriptor, Hook, HookError, Kind, OnFailure};
use crate::outcome::Outcome;
use crate::trust::TrustFile;
use hookbox_system::{limits, text};

/// The name of the built-in guard of hookbox's own files.
pub const SELF_PROTECTION: &str = "builtin:self-protection";

pub(super) const BUILTIN: Builtin = Builtin {
    name: SELF_PROTECTION,
    description: "Blocks tool calls that change what guards the agent.",
    settings: &[],
    make: |around, user_settings| Arc::new(SelfProtection::new(around, user_settings)),
};

/// Words in the name of a tool: of a tool that only reads, that changes, or that removes or moves.
const READS: &str = "read get list search find view show query fetch describe stat tree grep glob info count check status \
    diff log todo think plan output";
const CHANGES: &str = "write edit create delete remove move copy rename append update set put insert replace patch apply \
    upload save install add make";
const TAKES: &str = "delete remove move rename trash unlink rm mv";

/// Variables of the XDG directories, and their defaults in the home directory.
const XDG: [(&str, &str); 4] = [
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
];

/// The endings of scripts. A file without one counts if it is executable.
const SCRIPTS: [&str; 8] = ["sh", "bash", "py", "rb", "pl", "js", "mjs", "cjs"];

/// Blocks tool calls that change hookbox's settings, trust and hook files, the scripts of hooks, the program itself, `git` or the
/// files of `Protection`, shell lines that run a command for the user only, and programs that would take commands that no
/// hook sees, as far as a call shows it.
pub(crate) struct SelfProtection {
    descriptor: Descriptor,
    protected: Protected,
    home: Option<PathBuf>,
    /// The agents, each with the tool by which the model writes to a program that runs.
    unseen_input: Vec<(&'static str, &'static str)>,
}

impl SelfProtection {
    /// Creates the guard of these files. It reads the file system once, before it lets a call pass that names a path, so
    /// that the targets of symlinks are guarded, too.
    pub(crate) fn new(around: &Surroundings, user_settings: &BuiltinSettings) -> Self {
        let Surroundings { roots, home, repository, mut places, commands, protection, thresholds: _ } =
            around.clone();
        let bases: Vec<PathBuf> = home.iter().cloned().chain(repository).collect();
        places.extend(protection.places.iter().cloned());
        let of_scripts = home.clone();
        let look = move |patterns: &Patterns| {
            places.extend(hookbox_process::files());
            let at = of_scripts.as_deref();
            places.extend(commands.iter().flat_map(|(line, base)| scripts(line, base, at)));
            let by_name: Vec<PathBuf> = bases.iter().flat_map(|base| patterns.below(base)).collect();
            let mut real = RealpathCache::default();
            let led: Vec<PathBuf> = by_name
                .iter()
                .chain(&places)
                .filter_map(|path| real.of(path))
                .filter(|path| !patterns.hold(path))
                .collect();
            let trust = places.iter().map(|place| place.join(TrustFile::NAME));
            let present = trust.chain(by_name).filter(|path| real.is_there(path)).collect();
            [led.into_iter().chain(places).collect(), hookbox_process::gits(), present]
        };
        let protected = Protected::new(&roots, variables(home.as_deref()), &protection, look);
        let descriptor = Descriptor::new(SELF_PROTECTION, Kind::Builtin)
            .on(EventName::BeforeToolCall)
            .on_failure(OnFailure::Block);
        let descriptor = user_settings.prioritise(descriptor);
        Self { descriptor, protected, home, unseen_input: protection.unseen_input }
    }

    /// Returns true if the whole text is a protected path.
    fn holds(&self, text: &str, directories: &[PathBuf]) -> bool {
        let text = text.strip_prefix("file://").unwrap_or(text);
        let is_path = !text.is_empty() && text.len() <= limits::PATH && !text.contains('\n');
        is_path && directories.iter().any(|from| self.protected.holds(&self.protected.path(text, from)))
    }

    /// Returns a protected path that is anywhere in the input of a call whose paths are not all known: input that is not
    /// JSON, or with too many paths.
    fn mentioned(&self, call: &ToolCall, facts: &Facts, directories: &[PathBuf]) -> Option<String> {
        if !facts.paths.is_empty() && facts.paths.len() < hookbox_calls::MAX_PATHS {
            return None;
        }
        let text = call.input.value().as_str().unwrap_or_else(|| call.input.text());
        text.split(|c: char| c.is_whitespace() || "\"'`,;:{}[]()<>=\\".contains(c))
            .find(|word| self.holds(word, directories))
            .map(str::to_owned)
    }

    /// Judges a call of an unknown tool by its texts: any text that is a protected path, for a tool that removes or moves
    /// also one above it, and any script for a tool that runs something.
    fn by_texts(&self, call: &ToolCall, directories: &[PathBuf]) -> Option<Finding> {
        let words = name_words(&call.name);
        let is_one = |list: &str| words.iter().any(|word| is_in(list, word));
        if is_one(READS) && !is_one(CHANGES) && !is_one(RUNS) {
            return None;
        }
        let held =
            texts(call.input.value()).into_iter().map(|it| it.1).find(|it| self.holds(it, directories));
        let found = held.or_else(|| self.taken(call, directories)).map(Finding::Changes);
        found.or_else(|| {
            let lines = lines(&call.as_made(&call.decoded()));
            lines.iter().find_map(|line| command::judge(line, &self.protected, directories))
        })
    }

    /// Returns a path above a protected one that a tool removes or moves.
    fn taken(&self, call: &ToolCall, directories: &[PathBuf]) -> Option<String> {
        let takes = name_words(&call.name).iter().any(|word| is_in(TAKES, word));
        let texts =
            texts(call.input.value()).into_iter().filter(|(field, _)| takes && !is_destination(field));
        texts.map(|it| it.1).find(|text| {
            let is_path = text.starts_with(['/', '~', '.']) && text.len() <= limits::PATH;
            let above =
                |from: &PathBuf| self.protected.beneath(&self.protected.path(text, from)).next().is_some();
            is_path && directories.iter().any(above)
        })
    }

    /// Returns the reason why a shell line is blocked that starts a program that waits for commands.
    fn opening(&self, call: &ToolCall, agent: Option<&str>) -> Option<String> {
        let (_, tool) = self.unseen_input.iter().find(|(name, _)| Some(*name) == agent)?;
        let line = call.facts.command.as_deref().filter(|_| call.facts.kind == ToolKind::Shell)?;
        let program = text::escape(&hookbox_shell::waits_for_commands(line)?, limits::EXCERPT);
        Some(format!(
            "this starts {program}, which would run all that {tool} writes to it, and no hook sees that; run each command \
             in a call of its own, or give the program a script"
        ))
    }

    /// Returns the agent that would run without its hooks by the start file of a shell that a call writes.
    fn written_without_hooks(&self, call: &ToolCall, cwd: &Path) -> Option<&'static str> {
        if !call.facts.paths.iter().any(|it| command::is_start_file(&it.path)) {
            return None;
        }
        let files = call.facts_in(&cwd.to_string_lossy()).files;
        let mut texts = files.into_iter().filter_map(|it| it.text);
        texts.find_map(|text| command::started_without_hooks(&text, &self.protected))
    }

    /// Returns the reason why a call is blocked.
    fn objection(&self, call: &ToolCall, cwd: &Path) -> Option<String> {
        let facts = &call.facts;
        let input = call.decoded();
        let named = directories(&input).map(|it| self.protected.path(it, cwd));
        let directories: Vec<PathBuf> = named.chain([cwd.to_owned()]).collect();
        let found = match facts.kind {
            ToolKind::Shell => match facts.command.as_deref() {
                Some(line) => {
                    command::judge(&hookbox_calls::as_shell(&call.name, line), &self.protected, &directories)?
                }
                None => self.by_texts(call, &directories)?,
            },
            ToolKind::Write | ToolKind::Edit => {
                let elsewhere = directories
                    .iter()
                    .filter(|it| *it != cwd)
                    .flat_map(|from| facts::of(&call.name, &call.input, from, self.home.as_deref()).paths);
                let paths = facts.paths.iter().cloned().chain(elsewhere).map(|it| it.path);
                let named = paths.into_iter().find(|path| self.protected.holds(Path::new(path)));
                let named = named.or_else(|| self.mentioned(call, facts, &directories));
                match named.or_else(|| self.taken(call, &directories)) {
                    Some(path) => Finding::Changes(path),
                    None => Finding::WithoutHooks(self.written_without_hooks(call, cwd)?),
                }
            }
            ToolKind::Mcp | ToolKind::Other => self.by_texts(call, &directories)?,
            _ => return None,
        };
        let what = match found {
            Finding::Runs(subcommand) => {
                format!("this runs `hookbox {subcommand}`, which is the user's to run")
            }
            Finding::Changes(path) => format!(
                "this may change {}, which belongs to the hooks that watch over this agent",
                text::escape(&path, limits::EXCERPT)
            ),
            Finding::WithoutHooks(agent) => format!("this lets {agent} run without its hooks"),
            Finding::Ends => "this may end hookbox, which watches over this agent".to_owned(),
            Finding::Unclear(what) => {
                format!(
                    "this line cannot be read to its end, and mentions {}",
                    text::escape(&what, limits::EXCERPT)
                )
            }
            Finding::Deep => "this line has too many commands within commands to be read".to_owned(),
        };
        // The model reads this: it says nothing of the switch that the user has.
        Some(format!("{what}; ask the user to do it"))
    }
}

/// Returns the variables of this process that hold a path, for shell lines that use them.
fn variables(home: Option<&Path>) -> BTreeMap<String, String> {
    let all = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut all: BTreeMap<String, String> =
        all.filter(|(_, value)| value.starts_with('/') && !value.contains([':', ' ', '\n'])).collect();
    let Some(home) = home else { return all };
    all.insert("HOME".to_owned(), home.to_string_lossy().into_owned());
    for (name, default) in XDG {
        all.entry(name.to_owned()).or_insert_with(|| home.join(default).to_string_lossy().into_owned());
    }
    if let Some(name) = home.file_name() {
        all.insert("USER".to_owned(), name.to_string_lossy().into_owned());
    }
    all
}

/// Returns the scripts that a hook's command line runs: its programs, and their first arguments. A variable at the
/// beginning of a path means the directory of the project or the plugin.
fn scripts(line: &str, base: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let commands = runs(line, &Known { home: home.and_then(Path::to_str), ..Known::default() }).runs;
    let words =
        commands.iter().flat_map(|it| it.words.iter().filter(|word| !word.text.starts_with('-')).take(2));
    let paths = words.map(|word| match word.text.strip_prefix('$') {
        Some(rest) => base.join(rest.split_once('/').map_or("", |(_, path)| path)),
        None => base.join(&word.text),
    });
    let is_script = |path: &PathBuf| {
        let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let file = path.metadata().ok().filter(std::fs::Metadata::is_file);
        file.is_some_and(|it| SCRIPTS.contains(&ending) || it.permissions().mode() & 0o111 != 0)
    };
    paths.filter(is_script).collect()
}

#[async_trait]
impl Hook for SelfProtection {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    async fn run(&self, event: &Event, _: &Budget) -> Result<Outcome, HookError> {
        let cwd = Path::new(&event.context.cwd);
        let agent = event.context.agent.as_deref();
        let objection = event
            .tool_call()
            .and_then(|call| self.objection(call, cwd).or_else(|| self.opening(call, agent)));
        Ok(objection.map_or_else(Outcome::pass, Outcome::block))
    }
}
