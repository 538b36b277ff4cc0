//! Reports hooks that the user relies on and that do not run, and tables `[hooks.NAME]` of hooks that do not exist: none of
//! them is silent. A guard among them fails in every event.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use hookbox_system::files::EntryKind;
use hookbox_system::text;

use super::judged::{Judged, budget};
use super::launch::{Builder, Built};
use super::select::{Shadower, has};
use crate::discovery::find::{
    Candidate, HooksDir, Options, RootDir, Source, State, Table, kind_by_name, source,
};
use crate::discovery::{Entry, EntryStatus, Found, Problem};
use crate::event::{Event, EventName};
use crate::hook::{
    Budget, Cause, DEFAULT_PRIORITY, Descriptor, Hook, HookError, Kind, Mode, OnFailure, Origin,
    Subscription, Tier,
};
use crate::outcome::{Answers, Outcome};
use crate::trust::{self, Record, TrustLevel};
use crate::{builtin, rules};

/// The consequence of a missing or broken guard.
pub(super) const BLOCKS: &str = "on_failure is \"block\", so it fails in every event";

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

/// The name of the hook that blocks while the administrator's policy cannot be applied.
const MANAGED: &str = "managed policy";

/// Returns a hook that blocks every tool call, because of this problem of the administrator's policy, which has to be in
/// force.
pub(super) fn managed_guard(problem: &Problem) -> Arc<dyn Hook> {
    let message = format!(
        "{problem}; the policy of this machine is not in force, so no tool runs; hint: tell your administrator"
    );
    let descriptor = Descriptor {
        tier: Tier::Managed,
        on_failure: OnFailure::Block,
        ..Descriptor::new(MANAGED, Kind::Native).on(EventName::BeforeToolCall)
    };
    Arc::new(FailingHook::new(descriptor, Some(i32::MIN), HookError::new(Cause::NotFound, message)))
}

impl Builder<'_> {
    /// Finds the tables of a root for missing hooks. One with `on_failure = "block"` is a guard that somebody removed: it
    /// fails in every event. Any other is a problem, because its name may be misspelt.
    pub(super) fn tables_of_missing(&mut self, root: &RootDir) {
        for (name, table) in &root.tables {
            // Built-in hooks have no file, and their settings are read elsewhere. A source that was not given finds no
            // hooks.
            let is_searched = !source::is_name(name) || self.options.covers(name);
            let is_wish = self.wishes.covers(name, table);
            if !self.is_there(root, name) && !is_wish && !builtin::is_builtin(name) && is_searched {
                self.missing(root, name, table);
            }
        }
    }

    /// Returns true if a root has a hook of this name. One renamed to `….disable` is switched off, not lost.
    fn is_there(&self, root: &RootDir, name: &str) -> bool {
        has(self.judged, root, name) || has(self.judged, root, &format!("{name}.disable"))
    }

    /// Finds the guards that hookbox wrote and that are gone: each fails in every event.
    pub(super) fn written(&mut self, roots: &[RootDir]) {
        for (path, _) in self.gate.written() {
            let Some(name) = path.file_name().and_then(|it| it.to_str()) else { continue };
            let is_its = |root: &&RootDir| {
                root.origin == Origin::User && path.parent() == Some(&*root.path.join("hooks"))
            };
            let Some(root) = roots.iter().find(is_its) else { continue };
            let table = root.tables.get(name).cloned().unwrap_or_default();
            let on_failure = table.failure_policy();
            // A table that blocks is reported as one of a missing hook.
            let is_reported = on_failure == Some(OnFailure::Block) || table.enabled == Some(false);
            if is_reported || self.is_there(root, name) {
                continue;
            }
            self.problems.push(guard_problem(path, GONE));
            self.absent(expected(root, name), &table, (on_failure.unwrap_or(OnFailure::Block), GONE));
        }
    }

    /// Reports the table of a missing hook.
    fn missing(&mut self, root: &RootDir, name: &str, table: &Table) {
        // The name would be shown in every report; so a name that no hook can have is only a problem.
        let about = |max: usize, what: &str| {
            let message = format!("line {}: {:?} {what}", table.line, text::escape(name, max));
            Problem::new(root.settings_file(), message)
        };
        let is_repo = root.origin == Origin::Repo;
        if is_repo && !can_be_a_name(name) {
            return self.problems.push(about(80, "cannot be a hook's name"));
        }
        if is_repo && source::is_users(name) {
            let hint = "a repository cannot set a user's hook: take its table out";
            return self.problems.push(about(200, "is a hook of the user's").of(name).hint(hint));
        }
        let (expected, source) = expected(root, name);
        let is_guard = table.failure_policy() == Some(OnFailure::Block) && table.enabled != Some(false);
        let what = if is_guard { format!("; {BLOCKS}") } else { String::new() };
        let problem = about(200, &format!("is not a hook of this root{what}")).of(name);
        let path = text::shown_path(&expected.path);
        let Options { whole_paths, .. } = self.options;
        let approve = is_repo.then(|| {
            let flags = self.options.flags();
            format!(" and {}", trust::approve(&flags, name, Some(&expected.path), !whole_paths))
        });
        let approve = approve.unwrap_or_default();
        self.problems.push(match root.access.entry_kind(&expected.path) {
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
            _ => match self.meant(root, name) {
                Some(meant) => problem.hint(format!(
                    "did you mean \"{0}\"? then write [hooks.\"{0}\"]",
                    text::escape(meant, 200)
                )),
                None => problem.hint(format!("put the hook at {path}{approve}, or take its table out")),
            },
        });
        if is_guard {
            let why = "does not exist, but its settings say that it must";
            self.absent((expected, source), table, (OnFailure::Block, why));
        }
    }

    /// Returns the hook that a table probably means: its name without its ending or its plugin, or misspelt.
    fn meant(&self, root: &RootDir, name: &str) -> Option<&str> {
        let in_root = self.judged.iter().map(|it| &it.candidate);
        let in_root = in_root.filter(|it| it.declared.is_none() && it.is_of(root));
        let hooks = in_root.map(|it| it.name.as_str());
        let whole = without_ending(name);
        let is_it = |hook: &&str| without_ending(hook.rsplit('/').next().unwrap_or(hook)) == whole;
        hooks.clone().find(is_it).or_else(|| text::nearest(name, hooks))
    }

    /// Lists a hook that does not exist, and lets it fail in every event.
    fn absent(
        &mut self,
        (expected, source): (Candidate, Source),
        table: &Table,
        (on_failure, why): (OnFailure, &str),
    ) {
        let Candidate { kind, ref dir, .. } = expected;
        let descriptor = Descriptor {
            tier: dir.tier,
            path: Some(expected.path.clone()),
            plugin: dir.plugin.clone(),
            on_failure,
            mode: table.mode.unwrap_or(Mode::Enforce),
            budget: budget(Budget::for_kind(kind), dir.tier, table, &self.options.limits),
            answers: Answers::NONE,
            trusted: TrustLevel::of(self.options.trust, dir.tier, kind).is_trusted(),
            ..Descriptor::new(&expected.name, kind)
        };
        let error = HookError::new(Cause::NotFound, why);
        let mut position = expected.position();
        position.source = source;
        let built = failing(Found::default(), descriptor, table.priority, error, EntryStatus::Invalid);
        self.push(position, built);
    }

    /// Reports the guards that the user trusted in the repository and that are missing.
    pub(super) fn gone(&mut self) {
        let Some(repo) = self.gate.repository() else { return };
        let options = self.options;
        // A source may not be given any more, and a root may not be a root any more.
        let is_searched = |record: &Record| match source::is_name(&record.name) {
            true => options.covers(&record.name),
            false => options.roots.iter().any(|root| record.path.starts_with(root)),
        };
        let guards = self.gate.gone(self.judged, is_searched);
        self.problems.extend(guards.filter(|record| record.on_failure == OnFailure::Block).map(|record| {
            let message = "no longer exists, and you trusted it as a guard: it does not run";
            untrust(Problem::new(repo.join(&record.path), message).off(), &record.name)
        }));
    }
}

/// The message about a guard whose file is not the one that hookbox wrote.
pub(super) const CHANGED: &str = "is not the guard that hookbox wrote: it was changed or damaged";

/// The message about a guard whose file is gone.
const GONE: &str = "does not exist, and hookbox wrote a guard there: somebody removed it";

/// Returns the problem of a guard that hookbox wrote.
pub(super) fn guard_problem(path: &Path, message: &str) -> Problem {
    let name = path.file_name().map(|it| it.to_string_lossy()).unwrap_or_default();
    let guard = text::escape(without_ending(&name), 80);
    let hint = format!(
        "write it again: hookbox guard add {guard} --force; give it up: hookbox guard remove {guard}"
    );
    Problem::new(path, message).of(&name).off().hint(hint)
}

/// Returns the name of a component or a rules file without its ending.
fn without_ending(file: &str) -> &str {
    file.strip_suffix(".wasm").or_else(|| file.strip_suffix(rules::ENDING)).unwrap_or(file)
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
            let tier = root.origin.tiers().1;
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
        Source::Settings => (Kind::Http, dir.declaring(source)),
        Source::HooksJson | Source::Manifest => (Kind::Command, dir.declaring(source)),
    };
    let candidate = Candidate::of_file(&dir, file.to_owned(), path, State::Usable);
    (Candidate { name: name.to_owned(), kind, ..candidate }, source)
}

/// Returns the problem of a hook that has changed since the user trusted it.
pub(super) fn changed(judged: &Judged) -> Option<Problem> {
    judged.has_changed().then(|| {
        let hint = format!("look at what has changed, then {}", judged.approve());
        judged.problem(trust::CHANGED).off().hint(hint)
    })
}

/// Returns the problem of a hook that its repository switched off since the user trusted it.
pub(super) fn disabled(judged: &Judged) -> Option<Problem> {
    let is_repositorys = judged.origin() == Origin::Repo;
    (is_repositorys && judged.was_trusted()).then(|| {
        let message = "was switched off by its repository since you trusted it, so it does not run";
        untrust(judged.problem(message).off(), &judged.candidate.name)
    })
}

/// Returns the problem of a guard that its repository put into shadow mode since the user trusted it.
pub(super) fn observing(judged: &Judged) -> Option<Problem> {
    let is_repositorys = judged.origin() == Origin::Repo;
    let was_guard = judged.record.as_ref().is_some_and(|it| it.trusted && it.on_failure == OnFailure::Block);
    (is_repositorys && was_guard && judged.table.makes_observer()).then(|| {
        let message = "was put into shadow mode by its repository since you trusted it, so it does not guard";
        untrust(judged.problem(message).off(), &judged.candidate.name)
    })
}

/// Returns the problem of a hook that another one replaced without the user's consent: a hook that the user
/// trusted, one of the user's own behind a repository's, or a guard.
pub(super) fn shadowed(judged: &Judged, shadower: &Shadower) -> Option<Problem> {
    let is_users = judged.origin() == Origin::User;
    let is_guard = judged.on_failure() == Some(OnFailure::Block);
    let counts = judged.was_trusted() || (is_users && (is_guard || shadower.is_foreign));
    (counts && !shadower.is_agreed).then(|| {
        let by = text::shown_path(&shadower.by);
        let problem = judged.problem(format!("does not run: {by} has its name and comes first"));
        problem.off().hint("give one of them another name")
    })
}

/// Adds the name and, for a user who agrees with the change, the command to withdraw trust.
fn untrust(problem: Problem, name: &str) -> Problem {
    let path = problem.path.clone();
    let word = text::escape(&text::shell_word(&trust::handle(name, Some(&path), true)), 4096);
    problem.of(name).hint(format!("look at the change; if you expected it: hookbox untrust {word}"))
}
