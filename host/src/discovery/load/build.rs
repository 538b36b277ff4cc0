//! Builds hooks and entries of candidates by settings, shadowing and the gate's judgement.

use std::path::Path;
use std::sync::Arc;

use super::examine::{Described, Examined, Examiner, Ready};
use super::judged::{Judged, NEVER_ALLOWS};
use super::launch::{Builder, Built};
use super::missing::{self, BLOCKS};
use super::select::{Selection, Wishes, select};
use super::{Discovery, JudgedScan, LastGood};
use crate::capability::Capability;
use crate::discovery::find::{Candidate, Declared, Kept, Options, Since, State, builtin_settings};
use crate::discovery::{Entry, EntryStatus, Problem};
use crate::hook::{
    Cause, Descriptor, Digest, Hook, HookError, Kind, Manifest, OnFailure, Origin, Settings, Subscription,
};
use crate::rules::RulesHook;
use crate::wasm::{Access, Component, ComponentHook};
use hookbox_system::{files, text};

/// Selects and examines the candidates of a scan, and builds their hooks.
pub(super) async fn build(
    scan: JudgedScan,
    options: &Options,
    examiner: &Arc<Examiner>,
    last: &LastGood,
    wishes: &Wishes,
) -> Discovery {
    let JudgedScan { scan, gate, judged } = scan;
    let selections = select(&judged, examiner, last).await;
    let mut builder = Builder {
        gate: &gate,
        judged: &judged,
        options,
        wishes,
        rows: Vec::new(),
        problems: scan.files.problems,
        kept: scan.files.kept,
        last,
        next: LastGood::default(),
    };
    for (judged, selection) in judged.iter().zip(selections) {
        builder.problems.extend(judged.notes());
        let built = builder.built(judged, selection);
        builder.push(judged.candidate.position(), built);
    }
    scan.roots.iter().for_each(|root| builder.tables_of_missing(root));
    builder.written(&scan.roots);
    if !scan.only_managed {
        builder.gone();
    }
    let Builder { mut rows, mut problems, kept, next, .. } = builder;
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    let (mut entries, hooks): (Vec<_>, Vec<_>) = rows.into_iter().map(|(_, built)| built).unzip();
    entries.sort_by_key(|entry| (entry.tier.origin(), entry.priority));
    Discovery {
        entries,
        hooks: hooks.into_iter().flatten().collect(),
        builtins: builtin_settings(&scan.roots, &mut problems),
        problems,
        kept,
        last_good: Some(next),
        protected: Arc::clone(&gate.protected),
        ..Discovery::default()
    }
}

impl Builder<'_> {
    fn built(&mut self, judged: &Judged, selection: Selection) -> Built {
        let mut descriptor = judged.descriptor(&self.options.limits);
        let Examined { digest, result, policy, subscriptions, kept } = match selection {
            Selection::Disabled => {
                let entry = entry(judged, &descriptor, EntryStatus::Disabled);
                return (self.lapsed(entry, missing::disabled(judged)), None);
            }
            Selection::Shadowed(shadower) => {
                let problem = missing::shadowed(judged, &shadower);
                let mut entry = entry(judged, &descriptor, EntryStatus::Shadowed);
                entry.found.shadowed_by = Some(shadower.by);
                return (self.lapsed(entry, problem), None);
            }
            Selection::Examined(examined) => *examined,
        };
        self.problems.extend(missing::observing(judged));
        descriptor.digest = digest;
        let path = &judged.candidate.path;
        let mut written = self.gate.written().filter(|(of, _)| kept.is_none() && of == path);
        if written.any(|(_, digest)| descriptor.digest.as_ref() != Some(digest)) {
            descriptor.on_failure = judged.on_failure().unwrap_or(OnFailure::Block);
            let error = HookError::new(Cause::Incompatible, missing::CHANGED);
            self.problems.push(missing::guard_problem(path, missing::CHANGED));
            return failing(judged, descriptor, error, EntryStatus::Invalid);
        }
        if result.is_err() && judged.speaks_for_itself() {
            let blocks = self.options.unseen_blocks || judged.origin() == Origin::Managed;
            let unread = if blocks { OnFailure::Block } else { OnFailure::Pass };
            descriptor.on_failure = policy.unwrap_or(unread);
        }
        match result {
            Ok(Ready::Refused) => {
                self.problems.extend(missing::changed(judged));
                failing(judged, descriptor, judged.untrusted(), EntryStatus::Untrusted)
            }
            Ok(Ready::Native(event)) => {
                descriptor.subscriptions = vec![Subscription::to(event)];
                judged.may_answer(&mut descriptor);
                settle(&mut descriptor, judged);
                let entry = entry(judged, &descriptor, EntryStatus::Active);
                let hook = crate::native::NativeHook::new(descriptor, path.clone())
                    .with_settings(&judged.table.settings)
                    .with_environment(judged.table.environment.clone())
                    .with_verify(judged.verify());
                (entry, Some(Arc::new(hook)))
            }
            Ok(Ready::Declared) => {
                judged.may_answer(&mut descriptor);
                settle(&mut descriptor, judged);
                match self.launched(judged, descriptor.clone()) {
                    Ok(hook) => (entry(judged, &descriptor, EntryStatus::Active), Some(hook)),
                    Err(error) => self.invalid(judged, descriptor, error, BLOCKED),
                }
            }
            Ok(Ready::Described(described)) => self.described(judged, descriptor, described, kept),
            Err(error) if error.cause == Cause::Compiling => {
                descriptor.on_failure = judged.on_failure().or(policy).unwrap_or(OnFailure::Block);
                compiling(judged, descriptor, error, subscriptions)
            }
            Err(error) => {
                let undeclared = if policy.is_some() { BLOCKED } else { UNREAD };
                self.invalid(judged, descriptor, error, undeclared)
            }
        }
    }

    /// Builds a component or a rules file that was read.
    fn described(
        &mut self,
        judged: &Judged,
        mut descriptor: Descriptor,
        described: Described,
        kept: Option<Kept>,
    ) -> Built {
        if let Err(error) = describe(&mut descriptor, judged, &described) {
            return self.invalid(judged, descriptor, error, BLOCKED);
        }
        let manifest = described.manifest().clone();
        let faults = judged.settings_problems(&manifest);
        if let (Some(fault), OnFailure::Block) = (faults.first(), descriptor.on_failure) {
            let error = HookError::new(Cause::Incompatible, format!("cannot use its settings: {fault}"));
            self.problems.extend(faults);
            let (mut entry, hook) = failing(judged, descriptor, error, EntryStatus::Invalid);
            entry.found.manifest = Some(manifest);
            return (entry, hook);
        }
        self.problems.extend(faults);
        let mut entry = entry(judged, &descriptor, EntryStatus::Active);
        if let Some(kept) = kept {
            let message = format!("{}: the one of {} stays in force", kept.why, kept.since);
            entry.problem = Some(message.clone());
            let problem = Problem::new(&kept.path, message);
            self.problems.push(Problem { hook: kept.hook.clone(), ..problem });
            self.kept.push(kept);
        }
        self.remember(judged, &described);
        let bytes = described.digest().clone();
        let hook: Arc<dyn Hook> = match described {
            Described::Component(component) => {
                let settings = self.tightened(judged, &manifest, &mut entry);
                let access = self.access(judged, &component, &mut entry);
                permit(&mut descriptor, &manifest, &access);
                let local = ComponentHook::new(component, descriptor.clone(), settings).with_access(access);
                match self.with_service(judged, Arc::new(local)) {
                    Ok(hook) => hook,
                    Err(error) => return self.invalid(judged, descriptor, error, BLOCKED),
                }
            }
            Described::Rules(rules) => {
                let home = self.gate.home().map(Path::to_owned);
                let counters = self.gate.counters(judged);
                Arc::new(RulesHook::new(descriptor, *rules, home).with_counters(counters))
            }
        };
        self.problems.extend(lost(judged, &bytes));
        entry.found.manifest = Some(manifest);
        (entry, Some(hook))
    }

    /// Keeps a working component or rules file for the next discovery, with the time since which it works.
    fn remember(&mut self, judged: &Judged, described: &Described) {
        let key = judged.file();
        let same = self.last.described.get(&key).filter(|last| last.value.digest() == described.digest());
        let since = same.map_or_else(crate::trust::now, |last| last.since.clone());
        self.next.described.insert(key, Since { since, value: described.clone() });
    }

    /// Reports why a hook does not run, if its user relies on it.
    fn lapsed(&mut self, entry: Entry, problem: Option<Problem>) -> Entry {
        let message = problem.as_ref().map(|it| it.message.clone());
        self.problems.extend(problem);
        Entry { problem: message, ..entry }
    }

    /// Returns the settings of a component, as far as a repository made them stricter, and reports what it cannot set.
    fn tightened(&mut self, judged: &Judged, manifest: &Manifest, entry: &mut Entry) -> Settings {
        let mut settings = judged.table.settings.clone();
        let (tightened, problems) =
            self.wishes.apply(&judged.candidate, manifest.settings.as_ref(), &mut settings);
        self.problems.extend(problems);
        entry.tightened = tightened;
        entry.found.settings.clone_from(&settings);
        settings
    }

    /// Returns the access of a component, and reports the rights that it cannot have.
    fn access(&mut self, judged: &Judged, component: &Component, entry: &mut Entry) -> Access {
        let (access, refused) = self.gate.access(judged, component);
        entry.lacks = access.rights.lacking().to_vec();
        let refused = refused.iter().map(|right| {
            judged.problem(format!(
                "is not given {}: it could write hookbox's own files, or what decides which hooks run",
                text::escape(&right.to_string(), 1024)
            ))
        });
        self.problems.extend(refused);
        access
    }

    /// Lists a hook that cannot be used. A guard keeps guarding: it fails in every event. `undeclared` is the
    /// consequence if only its own description makes it a guard.
    fn invalid(
        &mut self,
        judged: &Judged,
        descriptor: Descriptor,
        mut error: HookError,
        undeclared: &str,
    ) -> Built {
        let Candidate { name, path, dir, .. } = &judged.candidate;
        // The message about a component is about its own file, and others need the position of their
        // declaration.
        if let Some(declared) = judged.declared().filter(|it| it.handler.is_ok()) {
            let file = dir.declaring(declared.source);
            let file = text::shown_path(&file);
            error.message = match declared.kind {
                Kind::Component => format!("{file}: {}: {}", declared.spot, error.message),
                _ => format!("{}: {}", declared.spot, error.message),
            };
        }
        // A hook with known events fails in those.
        let blocks = match judged.on_failure() {
            None => undeclared,
            Some(_) if descriptor.subscriptions.is_empty() => BLOCKS,
            Some(_) => BLOCKS_WHERE_IT_RUNS,
        };
        let problem = match descriptor.on_failure {
            OnFailure::Pass => Problem::new(path, &error.message),
            OnFailure::Block => Problem::new(path, format!("{}: {blocks}", error.message)),
        };
        let problem = match &judged.candidate.state {
            State::Unreachable(error) if files::is_exposed(error) => problem.hiding(&dir.access),
            _ => problem,
        };
        let is_undeclared = descriptor.on_failure == OnFailure::Block && judged.on_failure().is_none();
        let problem = match descriptor.on_failure {
            OnFailure::Block if is_undeclared => problem.hint(MEND),
            OnFailure::Pass if judged.speaks_for_itself() && problem.hint.is_none() => problem.hint(IF_GUARD),
            OnFailure::Pass if error.cause == Cause::Exit && problem.hint.is_none() => {
                problem.hint(NO_ANSWER)
            }
            _ => problem,
        };
        let is_reported =
            judged.declared().is_some_and(|it| it.is_reported) && descriptor.on_failure == OnFailure::Pass;
        if !is_reported {
            self.problems.push(problem.of(name));
        }
        if descriptor.on_failure == OnFailure::Block {
            if is_undeclared {
                let path = text::shown_path(path);
                error.message = format!("{path}: {}; {undeclared}; hint: {MEND}", error.message);
            }
            return failing(judged, descriptor, error, EntryStatus::Invalid);
        }
        let entry = entry(judged, &descriptor, EntryStatus::Invalid);
        (Entry { problem: Some(error.message), ..entry }, None)
    }
}

/// Returns the entry of a hook.
fn entry(judged: &Judged, descriptor: &Descriptor, status: EntryStatus) -> Entry {
    Entry { found: judged.found(), ..Entry::new(descriptor, status) }
}

/// Returns the entry of a hook that fails in every event.
fn failing(judged: &Judged, descriptor: Descriptor, error: HookError, status: EntryStatus) -> Built {
    missing::failing(judged.found(), descriptor, judged.priority(), error, status)
}

/// Returns the entry of a component that is being compiled. Until then it fails by its policy, in its events as far as
/// they are known.
fn compiling(
    judged: &Judged,
    mut descriptor: Descriptor,
    error: HookError,
    described: Vec<Subscription>,
) -> Built {
    let known = match judged.declared() {
        Some(declared) => declared_subscriptions(declared, &described).ok(),
        None => Some(described),
    };
    if let Some(known) = known.filter(|known| !known.is_empty()) {
        descriptor.subscriptions = known;
    }
    settle(&mut descriptor, judged);
    failing(judged, descriptor, error, EntryStatus::Invalid)
}

/// Returns the problem of the trust or the rights that a component or a rules file lost by a change.
fn lost(judged: &Judged, bytes: &Digest) -> Option<Problem> {
    let record = judged.record.as_ref().filter(|_| !judged.holds_for(bytes))?;
    let problem = if judged.has_changed() {
        judged.problem("has changed since you trusted it: it may only pass, ask, block and warn").off()
    } else if !record.grants.is_empty() {
        judged.problem("has changed since you granted rights to it: it has none of them now")
    } else {
        return None;
    };
    Some(problem.hint(judged.approve()))
}

/// Completes the descriptor of a component or a rules file by its own description.
fn describe(descriptor: &mut Descriptor, judged: &Judged, described: &Described) -> Result<(), HookError> {
    let (manifest, bytes) = (described.manifest(), described.digest());
    if judged.by_record && !judged.holds_for(bytes) {
        if judged.speaks_for_itself() {
            descriptor.on_failure = manifest.on_failure.unwrap_or_default();
        }
        return Err(HookError::new(Cause::Untrusted, "was replaced while it was examined"));
    }
    if judged.on_failure().is_none() {
        descriptor.on_failure = manifest.on_failure.unwrap_or_default();
    }
    descriptor.subscriptions = match judged.declared() {
        None => manifest.subscriptions.clone(),
        Some(declared) => declared_subscriptions(declared, &manifest.subscriptions)?,
    };
    if judged.standing.is_trusted() {
        descriptor.answers = manifest.answers;
    }
    descriptor.digest = Some(bytes.clone());
    settle(descriptor, judged);
    Ok(())
}

/// Returns the subscriptions of a component that an entry declares for one event: its own there, as far as
/// the entry does not replace them.
fn declared_subscriptions(
    declared: &Declared,
    asked: &[Subscription],
) -> Result<Vec<Subscription>, HookError> {
    let here = asked.iter().filter(|it| Some(&it.event) == declared.event.as_ref());
    let subscriptions: Vec<Subscription> = here
        .map(|it| Subscription {
            event: it.event.clone(),
            tools: if declared.tools.is_empty() { it.tools.clone() } else { declared.tools.clone() },
            priority: declared.priority.unwrap_or(it.priority),
            observe: declared.observe || it.observe,
        })
        .collect();
    if subscriptions.is_empty() {
        let asks: Vec<&str> = asked.iter().map(|it| it.event.as_str()).collect();
        let what =
            format!("is declared for an event that it does not subscribe to; it does to {}", asks.join(", "));
        return Err(HookError::new(Cause::Incompatible, text::escape(&what, 400)));
    }
    Ok(subscriptions)
}

/// Applies what its owner decides about all subscriptions of a hook.
fn settle(descriptor: &mut Descriptor, judged: &Judged) {
    for subscription in &mut descriptor.subscriptions {
        subscription.priority = judged.priority().unwrap_or(subscription.priority);
        subscription.observe |= judged.table.makes_observer();
    }
}

/// Takes the answer `allow` from a component that declares it and was not granted it.
fn permit(descriptor: &mut Descriptor, manifest: &Manifest, access: &Access) {
    descriptor.answers.allow &= access.rights.has(&Capability::Allow);
    if manifest.answers.allow && !descriptor.answers.allow {
        descriptor.to_allow = Some(match descriptor.tier.origin() {
            Origin::Repo => NEVER_ALLOWS.to_owned(),
            _ => access.denial_of_granted(&Capability::Allow).fix,
        });
    }
}

/// Like [`BLOCKS`], for a broken component whose last description makes it a guard.
const BLOCKED: &str = "it declared that its failures block, so it fails in every event";

/// Like [`BLOCKS`], for a component that was never read.
const UNREAD: &str =
    "it may be a guard, because it could never tell whether its failures block, so it fails in every event";

/// The next step for such a component.
const MEND: &str = "mend it, rename it to end in .disable, or set its on_failure in hookbox.toml";

/// The next step for a broken component that never told its failure policy, if events pass without it.
const IF_GUARD: &str = "if it is a guard, set on_failure = \"block\" in hookbox.toml: `hookbox run` and agents that embed \
                        hookbox go on without it";

/// The next step for an executable that does not answer `hook`.
const NO_ANSWER: &str = "hooks of other agents are configured, and not put here: see foreign-hooks.md, and `hookbox list --from AGENT`";

/// Like [`BLOCKS`], for a guard whose events are known.
const BLOCKS_WHERE_IT_RUNS: &str =
    "on_failure is \"block\", so it fails in every event that it is declared for";
