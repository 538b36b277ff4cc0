//! Reports hooks that the user relies on and that do not run, and tables `[hooks.NAME]` of hooks that do not exist: none of
//! them is silent. A guard among them fails in every event.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use hookbox_system::files::EntryKind;
use hookbox_system::text;

use super::entry::{Entry, EntryStatus, Found};
use super::gate::Gate;
use super::judged::{Judged, budget};
use super::select::Shadower;
use super::tighten::{Wishes, has};
use crate::discovery::Problem;
use crate::discovery::find::Options;
use crate::discovery::find::candidate::{Candidate, HooksDir, Position, State, kind_by_name};
use crate::discovery::find::declared::Source;
use crate::discovery::find::roots::RootDir;
use crate::discovery::find::settings::Table;
use crate::discovery::find::source;
use crate::event::{Event, EventName};
use crate::hook::{
    Budget, Cause, DEFAULT_PRIORITY, Descriptor, Hook, HookError, Kind, OnFailure, Origin, Subscription, Tier,
};
use crate::outcome::{Answers, Outcome};
use crate::trust::{self, Record, TrustLevel};
use crate::{builtin, rules};

/// The consequence of a missing or broken guard.
pub(super) const BLOCKS: &str = "on_failure is \"block\", so it fails in every event";

/// The entry of a hook, and the hook that runs for it.
pub(super) type Built = (Entry, Option<Arc<dyn Hook>>);

/// Returns the entry of a hook with this descriptor, and one in its place that fails in its known events, else in all
/// of them.
pub(super) fn failing(
    found: Found,
    descriptor: Descriptor,
    priority: Option<i32>,
    error: HookError,
    status: EntryStatus,
) -> Built {
    let problem = Some(error.message.clone());
    let hook = FailingHook::new(descriptor, priority, error);
    let entry = Entry { found, problem, ..Entry::new(hook.descriptor(), status) };
    (entry, Some(Arc::new(hook)))
}

/// The rows and the problems of a scan.
pub(super) struct Listed {
    pub(super) rows: Vec<(Position, Built)>,
    pub(super) problems: Vec<Problem>,
}

impl Listed {
    /// Adds the next hook in the order of registration.
    pub(super) fn push(&mut self, position: Position, (mut entry, hook): Built) {
        entry.found.order = self.rows.len();
        self.rows.push((position, (entry, hook)));
    }
}

/// A hook that does not run and fails in every event: an untrusted one, or a guard that is missing or broken.
/// If its events are not known it subscribes to all.
struct FailingHook {
    descriptor: Descriptor,
    error: HookError,
}

impl FailingHook {
    /// Makes a hook that fails with `error` in its known events, else in all of them, at this priority.
    fn new(mut descriptor: Descriptor, priority: Option<i32>, error: HookError) -> Self {
        let priority = priority.unwrap_or(DEFAULT_PRIORITY);
        if descriptor.subscriptions.is_empty() {
            descriptor.subscriptions = EventName::subscribable().map(Subscription::to).collect();
        }
        for subscription in &mut descriptor.subscriptions {
            subscription.priority = priority;
        }
        Self { descriptor, error }
    }
}

#[async_trait]
impl Hook for FailingHook {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    async fn run(&self, _event: &Event, _budget: &Budget) -> Result<Outcome, HookError> {
        Err(self.error.clone())
    }
}

/// The name of the hook that blocks while hooks of the user's cannot be read.
const UNREADABLE: &str = "unreadable hooks";

/// The next step, if a problem has none.
const HINT: &str = "mend it, or move it aside";

/// Returns a hook that fails in every event, and blocks there, if a problem hides hooks of the user's: one of
/// them may be a guard. It is the last of the user's hooks, so that those that can be read judge before it.
pub(crate) fn unreadable_guard(problems: &[Problem]) -> Option<Arc<dyn Hook>> {
    let mut hiding = problems.iter().filter(|problem| problem.hides);
    let first = hiding.next()?;
    let more = match hiding.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let hint = text::escape(first.hint.as_deref().unwrap_or(HINT), 1000);
    let message = format!("{first}{more}; there may be a guard that blocks; hint: {hint}");
    let descriptor = Descriptor {
        tier: Tier::Global,
        on_failure: OnFailure::Block,
        trusted: true,
        ..Descriptor::new(UNREADABLE, Kind::Native)
    };
    Some(Arc::new(FailingHook::new(descriptor, Some(i32::MAX), HookError::new(Cause::NotFound, message))))
}

/// Finds the tables of missing hooks. One with `on_failure = "block"` is a guard that somebody removed: it
/// fails in every event. Any other is a problem, because its name may be misspelt.
pub(super) fn guards(
    roots: &[RootDir],
    judged: &[Arc<Judged>],
    options: &Options,
    wishes: &Wishes,
    listed: &mut Listed,
) {
    for root in roots {
        let here = |name: &str| has(judged, root, name);
        for (name, table) in &root.tables {
            // A hook renamed to `….disable` is switched off, not lost.
            let is_there = here(name) || here(&format!("{name}.disable"));
            // Built-in hooks have no file, and their settings are read elsewhere. A source that was not given finds no
            // hooks.
            let is_searched = !source::is_name(name) || options.covers(name);
            let is_wish = root.origin == Origin::Repo && wishes.covers(name, table);
            if !is_there && !is_wish && !builtin::is_builtin(name) && is_searched {
                let candidates = judged.iter().map(|it| &it.candidate);
                let names = candidates.filter(|it| {
                    it.dir.root == root.root && it.dir.tier.origin() == root.origin && it.declared.is_none()
                });
                let meant = meant(name, names.map(|it| it.name.as_str()));
                missing(root, name, table, meant, options, listed);
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
    judged: &[Arc<Judged>],
    options: &Options,
    gate: &Gate,
    listed: &mut Listed,
) {
    for (path, _) in gate.written() {
        let Some(name) = path.file_name().and_then(|it| it.to_str()) else { continue };
        let is_its =
            |root: &&RootDir| root.origin == Origin::User && path.parent() == Some(&*root.path.join("hooks"));
        let Some(root) = roots.iter().find(is_its) else { continue };
        let table = root.tables.get(name).cloned().unwrap_or_default();
        // A table that blocks is reported as one of a missing hook.
        let is_reported = table.on_failure == Some(OnFailure::Block);
        let is_there = has(judged, root, name) || has(judged, root, &format!("{name}.disable"));
        if is_there || table.enabled == Some(false) || is_reported {
            continue;
        }
        listed.problems.push(guard_problem(path, GONE));
        let on_failure = table.on_failure.unwrap_or(OnFailure::Block);
        absent(expected(root, name), &table, (on_failure, GONE), options, listed);
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
    listed: &mut Listed,
) {
    // The name would be shown in every report; so a name that no hook can have is only a problem.
    if root.origin == Origin::Repo && !can_be_a_name(name) {
        let message = format!("line {}: {:?} cannot be a hook's name", table.line, text::escape(name, 80));
        listed.problems.push(Problem::new(root.settings_file(), message));
        return;
    }
    if root.origin == Origin::Repo && source::is_users(name) {
        let message = format!("line {}: {:?} is a hook of the user's", table.line, text::escape(name, 200));
        let hint = "a repository cannot set a user's hook: take its table out";
        listed.problems.push(Problem::new(root.settings_file(), message).of(name).hint(hint));
        return;
    }
    let (expected, source) = expected(root, name);
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
    listed.problems.push(match root.access.entry_kind(&expected.path) {
        _ if name.starts_with("builtin:") => {
            let known: Vec<&str> = builtin::ALL.iter().map(|builtin| builtin.name).collect();
            problem.hint(format!("built-in hooks are {}", known.join(", ")))
        }
        _ if source::is_name(name) => {
            let file = text::escape(name.split('#').next().unwrap_or(name), 200);
            problem.hint(format!("configure it in {file}, or take its table out"))
        }
        _ if expected.kind != kind_by_name(&expected.file) => {
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
    absent((expected, source), table, (OnFailure::Block, why), options, listed);
}

/// Lists a hook that does not exist, and lets it fail in every event.
fn absent(
    (expected, source): (Candidate, Source),
    table: &Table,
    (on_failure, why): (OnFailure, &str),
    options: &Options,
    listed: &mut Listed,
) {
    let Candidate { kind, ref dir, .. } = expected;
    let descriptor = Descriptor {
        tier: dir.tier,
        path: Some(expected.path.clone()),
        plugin: dir.plugin.clone(),
        on_failure,
        budget: budget(Budget::for_kind(kind), dir.tier, table, &options.limits),
        answers: Answers::NONE,
        trusted: TrustLevel::of(options.trust, dir.tier, kind).is_trusted(),
        ..Descriptor::new(&expected.name, kind)
    };
    let error = HookError::new(Cause::NotFound, why);
    let mut position = expected.position();
    position.source = source;
    let built = failing(Found::default(), descriptor, table.priority, error, EntryStatus::Invalid);
    listed.push(position, built);
}

/// Returns true if a hook can have this full name: a printable file name, perhaps after its plugin's name.
fn can_be_a_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && text::escape(name, MAX_NAME + 1) == name
        && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// The longest name of a file, in bytes.
const MAX_NAME: usize = 255;

/// Returns the hook of this name as it would be found, and what would declare it.
fn expected(root: &RootDir, name: &str) -> (Candidate, Source) {
    let (plugin, file) = name.rsplit_once('/').map_or((None, name), |(plugin, file)| (Some(plugin), file));
    let dir = Arc::new(match plugin {
        Some(plugin) => {
            let plugin_dir = plugin.replacen('/', "@", 1);
            let tier = if root.origin == Origin::Repo { Tier::RepoPlugin } else { Tier::GlobalPlugin };
            let base = root.path.join("plugins").join(&plugin_dir);
            let dir = HooksDir::of_plugin(&root.access, tier, root.root, plugin_dir, &base);
            HooksDir { plugin: Some(plugin.to_owned()), ..dir }
        }
        None => HooksDir::of_root(root),
    });
    let source = Source::of_name(file);
    let (kind, path) = match source {
        Source::File | Source::Outside => (kind_by_name(file), dir.path.join(file)),
        Source::McpJson => (Kind::Tool, root.mcp_file()),
        Source::HooksJson | Source::Manifest => (Kind::Command, dir.declaring(source)),
    };
    let candidate = Candidate::of_file(&dir, file.to_owned(), path, State::Usable);
    (Candidate { name: name.to_owned(), kind, ..candidate }, source)
}

/// Returns the problem of a hook that has changed since the user trusted it.
pub(super) fn changed(judged: &Judged) -> Option<Problem> {
    judged.has_changed().then(|| {
        let problem = Problem::new(&judged.candidate.path, trust::CHANGED).of(&judged.candidate.name).off();
        problem.hint(format!("look at what has changed, then {}", judged.approve()))
    })
}

/// Returns the problem of a hook that its repository switched off since the user trusted it.
pub(super) fn disabled(judged: &Judged) -> Option<Problem> {
    let is_repositorys = judged.origin() == Origin::Repo;
    (is_repositorys && judged.was_trusted()).then(|| {
        let message = "was switched off by its repository since you trusted it, so it does not run";
        untrust(Problem::new(&judged.candidate.path, message).off(), &judged.candidate.name)
    })
}

/// Returns the problem of a guard that its repository put into shadow mode since the user trusted it.
pub(super) fn observing(judged: &Judged) -> Option<Problem> {
    let is_repositorys = judged.origin() == Origin::Repo;
    let was_guard = judged.record.as_ref().is_some_and(|it| it.trusted && it.on_failure == OnFailure::Block);
    (is_repositorys && was_guard && judged.is_made_observer()).then(|| {
        let message = "was put into shadow mode by its repository since you trusted it, so it does not guard";
        untrust(Problem::new(&judged.candidate.path, message).off(), &judged.candidate.name)
    })
}

/// Returns the problem of a hook that another one replaced without the user's consent: a hook that the user
/// trusted, one of the user's own behind a repository's, or a guard.
pub(super) fn shadowed(judged: &Judged, shadower: &Shadower) -> Option<Problem> {
    let is_users = judged.origin() == Origin::User;
    let is_guard = judged.on_failure() == Some(OnFailure::Block);
    let counts = judged.was_trusted() || (is_users && (is_guard || shadower.is_foreign));
    (counts && !shadower.is_agreed).then(|| {
        let by = text::escape(&shadower.by.to_string_lossy(), 1024);
        let message = format!("does not run: {by} has its name and comes first");
        let problem = Problem::new(&judged.candidate.path, message).of(&judged.candidate.name).off();
        problem.hint("give one of them another name")
    })
}

/// Returns problems for the guards that the user trusted in the repository and that are missing.
pub(super) fn gone(gate: &Gate, judged: &[Arc<Judged>], options: &Options) -> Vec<Problem> {
    let Some(repo) = gate.repository() else { return Vec::new() };
    // A source may not be given any more, and a root may not be a root any more.
    let is_searched = |record: &Record| match source::is_name(&record.name) {
        true => options.covers(&record.name),
        false => options.roots.iter().any(|root| record.path.starts_with(root)),
    };
    let guards = gate.gone(judged, is_searched).filter(|record| record.on_failure == OnFailure::Block);
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
