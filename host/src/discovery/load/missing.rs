//! Reports hooks that the user relies on and that do not run, and tables `[hooks.NAME]` of hooks that do not exist: none of
//! them is silent.

use std::path::{Path, PathBuf};

use hookbox_system::files::EntryKind;
use hookbox_system::text;

use super::assembly::{Assembly, BLOCKS};
use super::entry::EntryStatus;
use super::gate::{Gate, Judgement};
use super::judged_candidate::{JudgedCandidate, Position, budget};
use super::shadow::Shadower;
use super::tighten::{Wishes, has};
use crate::discovery::find::candidate::{Candidate, MANIFEST, kind_by_name};
use crate::discovery::find::declared::Source;
use crate::discovery::find::options::Options;
use crate::discovery::find::roots::RootDir;
use crate::discovery::find::settings::Table;
use crate::discovery::find::source;
use crate::discovery::problem::Problem;
use crate::hook::{Budget, Cause, Descriptor, HookError, Kind, OnFailure, Origin, Tier};
use crate::outcome::Answers;
use crate::trust::{self, Record, TrustLevel};
use crate::{builtin, rules};

/// Finds the tables of missing hooks. One with `on_failure = "block"` is a guard that somebody removed: it
/// fails in every event. Any other is a problem, because its name may be misspelt.
pub(super) fn guards(
    roots: &[RootDir],
    candidates: &[Candidate],
    options: &Options,
    wishes: &Wishes,
    assembly: &mut Assembly,
) {
    for root in roots {
        let here = |name: &str| has(candidates, root, name);
        for (name, table) in &root.tables {
            // A hook renamed to `….disable` is switched off, not lost.
            let is_there = here(name) || here(&format!("{name}.disable"));
            // Built-in hooks have no file, and their settings are read elsewhere. A source that was not given finds no
            // hooks.
            let is_searched = !source::is_name(name) || options.covers(name);
            let is_wish = root.origin == Origin::Repo && wishes.covers(name, table);
            if !is_there && !is_wish && !builtin::is_builtin(name) && is_searched {
                let names = candidates.iter().filter(|it| {
                    it.dir.root == root.root && it.dir.tier.origin() == root.origin && it.declared.is_none()
                });
                let meant = meant(name, names.map(|it| it.name.as_str()));
                missing(root, name, table, meant, options, assembly);
            }
        }
    }
}

/// The message about a guard whose file is not the one that hookbox wrote.
pub(super) const CHANGED: &str = "is not the guard that hookbox wrote: it was changed or damaged";

/// The message about a guard whose file is gone.
const GONE: &str = "does not exist, and hookbox wrote a guard there: somebody removed it";

/// Finds the guards that hookbox wrote and that are gone: each fails in every event.
pub(super) fn written(
    roots: &[RootDir],
    candidates: &[Candidate],
    options: &Options,
    gate: &Gate,
    assembly: &mut Assembly,
) {
    for (path, _) in gate.written() {
        let Some(name) = path.file_name().and_then(|it| it.to_str()) else { continue };
        let is_its =
            |root: &&RootDir| root.origin == Origin::User && path.parent() == Some(&*root.path.join("hooks"));
        let Some(root) = roots.iter().find(is_its) else { continue };
        let table = root.tables.iter().find(|(of, _)| *of == name).map(|(_, table)| table);
        let is_off = table.is_some_and(|it| it.enabled == Some(false));
        // A table that blocks is reported as one of a missing hook.
        let is_reported = table.is_some_and(|it| it.on_failure == Some(OnFailure::Block));
        let is_there = has(candidates, root, name) || has(candidates, root, &format!("{name}.disable"));
        if is_there || is_off || is_reported {
            continue;
        }
        assembly.problems.push(guard_problem(path, GONE));
        let on_failure = table.and_then(|it| it.on_failure).unwrap_or(OnFailure::Block);
        absent(root, name, table, (on_failure, GONE), options, assembly);
    }
}

/// Returns the problem of a guard that hookbox wrote.
pub(super) fn guard_problem(path: &Path, message: &str) -> Problem {
    let name = path.file_name().map(|it| it.to_string_lossy()).unwrap_or_default();
    let guard = text::escape(without_ending(&name), 80);
    let hint = format!(
        "write it again: hookbox guard add {guard} --force; give it up: hookbox guard remove {guard}"
    );
    Problem::new(path, message).of(&name).off().hint(hint)
}

/// Returns the hook that a table probably means: its name without its ending or its plugin, or
/// misspelt.
fn meant<'a>(name: &str, hooks: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let stem = |name: &'a str| {
        let file = name.rsplit('/').next().unwrap_or(name);
        without_ending(file)
    };
    let whole = without_ending(name);
    hooks.clone().find(|hook| stem(hook) == whole).or_else(|| {
        let nearest = text::nearest(name, hooks)?;
        (text::distance(name, nearest) <= MAX_TYPOS && name.len() > 2 * MAX_TYPOS).then_some(nearest)
    })
}

/// Returns the name of a component or a rules file without its ending.
fn without_ending(file: &str) -> &str {
    file.strip_suffix(".wasm").or_else(|| file.strip_suffix(rules::ENDING)).unwrap_or(file)
}

/// The letters by which a misspelt name differs at most.
const MAX_TYPOS: usize = 2;

fn missing(
    root: &RootDir,
    name: &str,
    table: &Table,
    meant: Option<&str>,
    options: &Options,
    assembly: &mut Assembly,
) {
    // The name would be shown in every report; so a name that no hook can have is only a problem.
    if root.origin == Origin::Repo && !can_be_a_name(name) {
        let message = format!("line {}: {:?} cannot be a hook's name", table.line, text::escape(name, 80));
        assembly.problems.push(Problem::new(root.settings_file(), message));
        return;
    }
    if root.origin == Origin::Repo && source::is_users(name) {
        let message = format!("line {}: {:?} is a hook of the user's", table.line, text::escape(name, 200));
        let hint = "a repository cannot set a user's hook: take its table out";
        assembly.problems.push(Problem::new(root.settings_file(), message).of(name).hint(hint));
        return;
    }
    let expected = Expected::of(root, name);
    let is_guard =
        table.on_failure == Some(OnFailure::Block) && table.enabled != Some(false) && !table.makes_observer();
    let shown = text::escape(name, 200);
    let message = format!("line {}: {shown:?} is not a hook of this root", table.line);
    let message = if is_guard { format!("{message}; {BLOCKS}") } else { message };
    let problem = Problem::new(root.settings_file(), message).of(name);
    let path = text::escape(&expected.path.to_string_lossy(), 4096);
    let approve = match root.origin {
        Origin::Repo => format!(
            " and {}",
            trust::approve(&options.flags(), name, Some(&expected.path), !options.whole_paths)
        ),
        _ => String::new(),
    };
    assembly.problems.push(match root.access.entry_kind(&expected.path) {
        _ if name.starts_with("builtin:") => {
            let known: Vec<&str> = builtin::ALL.iter().map(|builtin| builtin.name).collect();
            problem.hint(format!("built-in hooks are {}", known.join(", ")))
        }
        _ if source::is_name(name) => {
            let file = text::escape(name.split('#').next().unwrap_or(name), 200);
            problem.hint(format!("configure it in {file}, or take its table out"))
        }
        _ if expected.kind != kind_by_name(&expected.position.file) => {
            problem.hint(format!("declare it in {path}, or take its table out"))
        }
        Ok(EntryKind::File { executable: false, .. }) => {
            problem.hint(format!("make it executable: chmod +x {path}{approve}"))
        }
        _ => match meant {
            Some(meant) => problem
                .hint(format!("did you mean \"{0}\"? then write [hooks.\"{0}\"]", text::escape(meant, 200))),
            None => problem.hint(format!("put the hook at {path}{approve}, or take its table out")),
        },
    });
    if !is_guard {
        return;
    }
    let why = "does not exist, but its settings say that it must";
    absent(root, name, Some(table), (OnFailure::Block, why), options, assembly);
}

/// Lists a hook that does not exist, and lets it fail in every event.
fn absent(
    root: &RootDir,
    name: &str,
    table: Option<&Table>,
    (on_failure, why): (OnFailure, &str),
    options: &Options,
    assembly: &mut Assembly,
) {
    let expected = Expected::of(root, name);
    let kind = expected.kind;
    let tier = expected.position.tier;
    let descriptor = Descriptor {
        tier,
        path: Some(expected.path),
        plugin: expected.plugin,
        on_failure,
        budget: budget(Budget::for_kind(kind), tier, table, &options.limits),
        answers: Answers::NONE,
        trusted: TrustLevel::of(options.trust, tier, kind).is_trusted(),
        ..Descriptor::new(name, kind)
    };
    let error = HookError::new(Cause::NotFound, why);
    let priority = table.and_then(|it| it.priority);
    assembly.refuse(expected.position, descriptor, priority, error, EntryStatus::Invalid);
}

/// Returns true if a hook can have this full name: a printable file name, perhaps after its plugin's name.
fn can_be_a_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && text::escape(name, MAX_NAME + 1) == name
        && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// The longest name of a file, in bytes.
const MAX_NAME: usize = 255;

/// The place in which a hook of this name is expected.
struct Expected {
    position: Position,
    plugin: Option<String>,
    path: PathBuf,
    kind: Kind,
}

impl Expected {
    fn of(root: &RootDir, name: &str) -> Self {
        let is_repo = root.origin == Origin::Repo;
        let (tier, plugin, plugin_dir, file) = match name.rsplit_once('/') {
            Some((plugin, file)) => (
                if is_repo { Tier::RepoPlugin } else { Tier::GlobalPlugin },
                Some(plugin.to_owned()),
                plugin.replacen('/', "@", 1),
                file,
            ),
            None => (if is_repo { Tier::Repo } else { Tier::Global }, None, String::new(), name),
        };
        let beneath = match &plugin {
            Some(_) => Path::new("plugins").join(&plugin_dir).join("hooks"),
            None => PathBuf::from("hooks"),
        };
        let source = Source::of_name(file);
        let (kind, path) = match source {
            Source::File | Source::Outside => (kind_by_name(file), root.path.join(beneath).join(file)),
            Source::Manifest => {
                let plugin = Path::new("plugins").join(&plugin_dir);
                (Kind::Command, root.path.join(plugin).join(MANIFEST))
            }
            Source::HooksJson if plugin.is_some() => {
                (Kind::Command, root.path.join(beneath).join(source.file()))
            }
            Source::HooksJson => (Kind::Command, root.path.join(source.file())),
            Source::McpJson => (Kind::Tool, root.path.join(source.file())),
        };
        let position = Position { tier, root: root.root, plugin_dir, source, at: 0, file: file.to_owned() };
        Self { position, plugin, path, kind }
    }
}

/// Returns the problem of a hook that has changed since the user trusted it.
pub(super) fn changed(judged: &JudgedCandidate<'_>) -> Option<Problem> {
    judged.judgement.has_changed().then(|| {
        let problem = Problem::new(&judged.candidate.path, trust::CHANGED).of(&judged.candidate.name).off();
        problem.hint(format!("look at what has changed, then {}", judged.approve()))
    })
}

/// Returns the problem of a hook that its repository switched off since the user trusted it.
pub(super) fn disabled(judged: &JudgedCandidate<'_>) -> Option<Problem> {
    let is_repositorys = judged.candidate.dir.tier.origin() == Origin::Repo;
    (is_repositorys && judged.judgement.was_trusted()).then(|| {
        let message = "was switched off by its repository since you trusted it, so it does not run";
        untrust(Problem::new(&judged.candidate.path, message).off(), &judged.candidate.name)
    })
}

/// Returns the problem of a guard that its repository put into shadow mode since the user trusted it.
pub(super) fn observing(judged: &JudgedCandidate<'_>) -> Option<Problem> {
    let is_repositorys = judged.candidate.dir.tier.origin() == Origin::Repo;
    let record = judged.judgement.record.as_ref();
    let was_guard = record.is_some_and(|it| it.trusted && it.on_failure == OnFailure::Block);
    (is_repositorys && was_guard && judged.is_made_observer()).then(|| {
        let message = "was put into shadow mode by its repository since you trusted it, so it does not guard";
        untrust(Problem::new(&judged.candidate.path, message).off(), &judged.candidate.name)
    })
}

/// Returns the problem of a hook that another one replaced without the user's consent: a hook that the user
/// trusted, one of the user's own behind a repository's, or a guard.
pub(super) fn shadowed(judged: &JudgedCandidate<'_>, shadower: &Shadower<PathBuf>) -> Option<Problem> {
    let is_users = judged.candidate.dir.tier.origin() == Origin::User;
    let is_guard = judged.on_failure() == Some(OnFailure::Block);
    let counts = judged.judgement.was_trusted() || (is_users && (is_guard || shadower.is_foreign));
    (counts && !shadower.is_agreed).then(|| {
        let by = text::escape(&shadower.by.to_string_lossy(), 1024);
        let message = format!("does not run: {by} has its name and comes first");
        let problem = Problem::new(&judged.candidate.path, message).of(&judged.candidate.name).off();
        problem.hint("give one of them another name")
    })
}

/// Returns problems for the guards that the user trusted in the repository and that are missing.
pub(super) fn gone(gate: &Gate, judgements: &[Judgement], options: &Options) -> Vec<Problem> {
    let Some(repo) = gate.repository() else { return Vec::new() };
    // A source may not be given any more, and a root may not be a root any more.
    let is_searched = |record: &Record| match source::is_name(&record.name) {
        true => options.covers(&record.name),
        false => options.roots.iter().any(|root| record.path.starts_with(root)),
    };
    let guards = gate.gone(judgements, is_searched).filter(|record| record.on_failure == OnFailure::Block);
    guards
        .map(|record| {
            let message = "no longer exists, and you trusted it as a guard: it does not run";
            untrust(Problem::new(repo.join(&record.path), message).off(), &record.name)
        })
        .collect()
}

/// Adds the name and, for a user who agrees with the change, the command to withdraw trust.
fn untrust(problem: Problem, name: &str) -> Problem {
    let path = problem.path.clone();
    let word = text::escape(&text::shell_word(&trust::handle(name, Some(&path), true)), 4096);
    problem
        .of(name)
        .hint(format!("look at what has changed; where that is as it should be: hookbox untrust {word}"))
}
