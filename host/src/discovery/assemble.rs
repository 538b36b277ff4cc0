//! Making hooks and entries of what was found: settings, shadowing, the gate.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::approvable::Approvable;
use super::entry::{Entry, EntryStatus, Problem};
use super::examine::{self, Examined, Examiner, Job, Ready};
use super::gate::{Gate, Judged};
use super::last_good::{Answer, Dated, Kept, LastGood};
use super::refused::Refused;
use super::scan::{Candidate, HooksDir, RootDir, Scan, State};
use super::settings::{self, Table};
use super::shadow::Names;
use super::{Discovery, Options, builtins, missing};
use crate::hook::{Budget, Descriptor, Hook, HookError, Limits, OnFailure, Origin, Subscription, Tier};
use crate::outcome::Answers;
use crate::report::{Cause, Kind};
#[cfg(feature = "component")]
use crate::text;
use crate::trust::{self, TreeError};

/// The place of a hook in the order of registration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) tier: Tier,
    pub(super) root: usize,
    pub(super) plugin_dir: String,
    pub(super) file: String,
}

/// A candidate with what is said of it.
struct Subject<'a> {
    candidate: &'a Candidate,
    table: Option<&'a Table>,
    judged: &'a Judged,
}

/// What became of a candidate.
enum Fate {
    Disabled,
    Shadowed,
    /// With what is broken now, where an older state stays in force.
    Examined(Examined, Option<Box<Kept>>),
}

/// Rows and hooks as they come, with their positions.
#[derive(Default)]
pub(super) struct Assembly {
    rows: Vec<(Position, Entry)>,
    hooks: Vec<(Position, Arc<dyn Hook>)>,
    approvable: Vec<Approvable>,
    pub(super) problems: Vec<Problem>,
    kept: Vec<Kept>,
    details: BTreeMap<PathBuf, String>,
    last: Arc<LastGood>,
    next: LastGood,
}

/// Decides on every candidate and builds what runs.
pub(super) async fn assemble(
    scan: Scan,
    gate: &Gate,
    judged: Vec<Judged>,
    options: &Options,
    examiner: &Examiner,
) -> Discovery {
    let Scan { candidates, roots, problems, last, next, kept, .. } = scan;
    let subjects: Vec<Subject<'_>> = candidates
        .iter()
        .zip(&judged)
        .map(|(candidate, judged)| Subject { candidate, table: table_of(&roots, candidate), judged })
        .collect();
    let fates = decide(&subjects, examiner, &last).await;
    let mut assembly = Assembly { problems, last, next, kept, ..Assembly::default() };
    for (subject, fate) in subjects.iter().zip(fates) {
        assembly.add(subject, fate, gate, &options.limits);
    }
    missing::guards(&roots, &candidates, options, &mut assembly);
    let mut discovery = assembly.finish();
    discovery.builtins = builtins::wishes(&roots, &mut discovery.problems);
    discovery.protected = Arc::clone(&gate.protected);
    discovery
}

/// What the settings say of a candidate.
pub(super) fn table_of<'a>(roots: &'a [RootDir], candidate: &Candidate) -> Option<&'a Table> {
    let HooksDir { tier, root, .. } = &*candidate.dir;
    let root = roots.iter().find(|it| it.origin == tier.origin() && it.root == *root)?;
    root.tables.get(&candidate.name)
}

/// Looks into the candidates in rounds: a later hook is examined only once it is known that no usable earlier one
/// has its name, so that nothing runs which is shadowed anyway.
async fn decide(subjects: &[Subject<'_>], examiner: &Examiner, last: &LastGood) -> Vec<Fate> {
    let mut fates: Vec<Option<Fate>> = Vec::new();
    fates.resize_with(subjects.len(), || None);
    let mut taken = Names::default();
    let mut pending: Vec<usize> = (0..subjects.len()).collect();
    while !pending.is_empty() {
        let mut round = Vec::new();
        let mut names = HashSet::new();
        let mut later = Vec::new();
        for at in pending {
            let (Some(subject), Some(fate)) = (subjects.get(at), fates.get_mut(at)) else { continue };
            let Candidate { name, dir, state, .. } = subject.candidate;
            if matches!(state, State::Disabled) || subject.table.and_then(|it| it.enabled) == Some(false) {
                *fate = Some(Fate::Disabled);
            } else if let State::Unreachable(error) = state {
                *fate = Some(Fate::Examined(Examined::failed(examine::unreadable(error)), None));
            } else if taken.shadows(name, dir.tier) {
                *fate = Some(Fate::Shadowed);
            } else if names.insert(name.as_str()) {
                round.push((at, subject));
            } else {
                later.push(at);
            }
        }
        let jobs = round.iter().map(|(_, subject)| subject.job()).collect();
        for ((at, subject), examined) in round.into_iter().zip(examiner.examine(jobs).await) {
            let (examined, kept) = subject.or_last(examined, last);
            if examined.result.is_ok() {
                taken.take(&subject.candidate.name, subject.judged.standing);
            }
            if let Some(fate) = fates.get_mut(at) {
                *fate = Some(Fate::Examined(examined, kept));
            }
        }
        pending = later;
    }
    fates.into_iter().map(|fate| fate.unwrap_or(Fate::Shadowed)).collect()
}

impl Subject<'_> {
    fn job(&self) -> Job {
        Job {
            place: self.candidate.dir.place.clone(),
            path: self.candidate.path.clone(),
            kind: self.candidate.kind,
            environment: self.table.and_then(|it| it.environment.clone()),
            standing: self.judged.standing,
            tree: self.judged.tree.is_some(),
            digest: self.judged.tree.as_ref().and_then(|(_, digest)| digest.clone().ok()),
            verify: self.judged.verify(),
        }
    }

    /// What was found, or the component that this file was before it broke.
    #[cfg(feature = "component")]
    fn or_last(&self, examined: Examined, last: &LastGood) -> (Examined, Option<Box<Kept>>) {
        let Candidate { name, path, .. } = self.candidate;
        let (Err(error), Some(good)) = (&examined.result, last.components.get(path)) else {
            return (examined, None);
        };
        let digest = good.it.digest();
        let is_theirs = !self.judged.by_record
            || self.judged.record.as_ref().is_some_and(|record| record.digest == *digest);
        // Gone, or led out of its repository: that is no broken file. And what is not trusted now is not kept as it was.
        let is_broken = !matches!(error.cause, Cause::NotFound | Cause::Denied);
        if !is_broken || !self.judged.standing.is_trusted() || !is_theirs {
            return (examined, None);
        }
        let kept = Kept::new(path, Some(name), &good.since, error.message.clone());
        let ready = Ready::Component(Box::new(good.it.clone()));
        (Examined { digest: Some(digest.clone()), result: Ok(ready) }, Some(Box::new(kept)))
    }

    #[cfg(not(feature = "component"))]
    fn or_last(&self, examined: Examined, _last: &LastGood) -> (Examined, Option<Box<Kept>>) {
        (examined, None)
    }

    /// What a row does not show of it: settings and grants.
    fn details(&self) -> String {
        let grants = self.judged.record.as_ref().map(|record| &record.grants);
        format!("{:?} {grants:?}", self.table.map(Table::fields))
    }

    /// The command that approves it.
    fn approve(&self) -> String {
        let Candidate { name, path, .. } = self.candidate;
        trust::approve(name, Some(path), self.judged.is_unique)
    }

    /// Why it does not run, being untrusted.
    fn untrusted(&self) -> HookError {
        let why = if self.judged.has_changed() { trust::CHANGED } else { trust::UNTRUSTED };
        let message = match &self.judged.tree {
            Some((_, Err(error))) if *error != TreeError::Spent => {
                format!("{why}; it cannot be trusted: {error}")
            }
            _ => format!("{why}; {}", self.approve()),
        };
        HookError::new(Cause::Untrusted, message)
    }

    /// The hook as the commands see it that trust and grant.
    fn approvable(&self) -> Approvable {
        let Candidate { name, path, kind, dir, .. } = self.candidate;
        Approvable {
            name: name.clone(),
            path: path.clone(),
            kind: *kind,
            tier: dir.tier,
            status: EntryStatus::Invalid,
            trusted: self.judged.standing.is_trusted(),
            manifest: None,
            key: self.judged.key.clone(),
            record: self.judged.record.clone(),
            bytes: None,
            tree: self.judged.tree.as_ref().map(|(subject, _)| subject.clone()),
        }
    }

    /// The hook before anything is known of its file.
    fn descriptor(&self, flags: &Limits) -> Descriptor {
        let Candidate { dir, name, path, kind, .. } = self.candidate;
        Descriptor {
            tier: dir.tier,
            path: Some(path.clone()),
            plugin: dir.plugin.clone(),
            on_failure: self.table.and_then(|it| it.on_failure).unwrap_or_default(),
            budget: budget(*kind, dir.tier, self.table, flags),
            answers: Answers::NONE,
            trusted: self.judged.standing.is_trusted(),
            ..Descriptor::new(name.clone(), *kind)
        }
    }

    /// Whether the bytes that were loaded are others than those that the gate let pass.
    #[cfg(feature = "component")]
    fn was_replaced(&self, component: &crate::wasm::Component) -> bool {
        let trusted = self.judged.record.as_ref().filter(|_| self.judged.by_record);
        trusted.is_some_and(|record| record.digest != *component.digest())
    }

    fn position(&self) -> Position {
        let Candidate { dir, file, .. } = self.candidate;
        Position { tier: dir.tier, root: dir.root, plugin_dir: dir.plugin_dir.clone(), file: file.clone() }
    }
}

/// What one call of a hook may use up: its settings go before the defaults, where a repository can only lower
/// them, and the flags of the user before both.
pub(super) fn budget(kind: Kind, tier: Tier, table: Option<&Table>, flags: &Limits) -> Budget {
    let limits = table.map(|it| it.limits).unwrap_or_default();
    let default = Budget::for_kind(kind);
    flags.apply(if tier.origin() == Origin::Repo { limits.lower(default) } else { limits.apply(default) })
}

impl Assembly {
    fn add(
        &mut self,
        subject: &Subject<'_>,
        fate: Fate,
        #[cfg_attr(
            not(feature = "component"),
            allow(unused_variables, reason = "only a component has rights")
        )]
        gate: &Gate,
        flags: &Limits,
    ) {
        self.approvable.push(subject.approvable());
        self.note_raised_limits(subject);
        self.note_environment(subject);
        let position = subject.position();
        let mut descriptor = subject.descriptor(flags);
        let priority = subject.table.and_then(|it| it.priority);
        self.details.insert(subject.candidate.path.clone(), subject.details());
        let (Examined { digest, result }, kept) = match fate {
            Fate::Disabled => return self.list(position, &descriptor, EntryStatus::Disabled),
            Fate::Shadowed => return self.list(position, &descriptor, EntryStatus::Shadowed),
            Fate::Examined(examined, kept) => (examined, kept),
        };
        descriptor.digest = digest;
        match result {
            Ok(Ready::Unasked) => {
                self.refuse(position, descriptor, priority, subject.untrusted(), EntryStatus::Untrusted);
            }
            Ok(Ready::Native(event)) => {
                descriptor.subscriptions = vec![Subscription::to(event)];
                descriptor.answers = Answers::ALL;
                prioritise(&mut descriptor, priority);
                self.remember(subject, &descriptor);
                self.list(position.clone(), &descriptor, EntryStatus::Active);
                let program = subject.candidate.path.clone();
                let mut hook = crate::native::NativeHook::new(descriptor, program);
                if let Some(table) = subject.table {
                    hook = hook.with_settings(&table.settings).with_environment(table.environment.clone());
                }
                if let Some(verify) = subject.judged.verify() {
                    hook = hook.with_verify(verify);
                }
                self.hooks.push((position, Arc::new(hook)));
            }
            #[cfg(feature = "component")]
            Ok(Ready::Component(component)) if subject.was_replaced(&component) => {
                let what = "was replaced while it was looked into";
                self.invalid(subject, position, descriptor, HookError::new(Cause::Untrusted, what));
            }
            #[cfg(feature = "component")]
            Ok(Ready::Component(component)) => {
                let manifest = component.manifest();
                descriptor.subscriptions = manifest.subscriptions.clone();
                if subject.judged.standing.is_trusted() {
                    descriptor.answers = manifest.answers;
                }
                if subject.table.and_then(|it| it.on_failure).is_none() {
                    descriptor.on_failure = manifest.on_failure.unwrap_or_default();
                }
                descriptor.digest = Some(component.digest().clone());
                prioritise(&mut descriptor, priority);
                self.list(position.clone(), &descriptor, EntryStatus::Active);
                self.remember_component(subject, &component);
                if let Some(kept) = kept {
                    self.keep(*kept);
                }
                let settings = subject.table.map(|it| it.settings.clone()).unwrap_or_default();
                let access = self.access(subject, gate, &component);
                let hook =
                    crate::wasm::ComponentHook::new(*component, descriptor, settings).with_access(access);
                self.hooks.push((position, Arc::new(hook)));
            }
            Err(error) => self.invalid(subject, position, descriptor, error),
        }
    }

    /// Notes what a native hook answered, for the next look.
    fn remember(&mut self, subject: &Subject<'_>, descriptor: &Descriptor) {
        let event = descriptor.subscriptions.first().map(|it| it.event.clone());
        if let (Some(digest), Some(event)) = (descriptor.digest.clone(), event) {
            let environment = subject.table.and_then(|it| it.environment.clone());
            self.next.answers.insert(subject.candidate.path.clone(), Answer { digest, environment, event });
        }
    }

    /// Notes a component that works, for the next look.
    #[cfg(feature = "component")]
    fn remember_component(&mut self, subject: &Subject<'_>, component: &crate::wasm::Component) {
        let path = &subject.candidate.path;
        let same = self.last.components.get(path).filter(|last| last.it.digest() == component.digest());
        let since = same.map_or_else(trust::now, |last| last.since.clone());
        self.next.components.insert(path.clone(), Dated { since, it: component.clone() });
    }

    /// Says what is broken, where the hook that was listed last stays in force as it was.
    #[cfg(feature = "component")]
    fn keep(&mut self, kept: Kept) {
        let message = format!("{}: the one of {} stays in force", kept.why, kept.since);
        self.explain(message.clone());
        let problem = Problem::new(&kept.path, message);
        self.problems.push(Problem { hook: kept.hook.clone(), ..problem });
        self.kept.push(kept);
    }

    /// What a component may reach, with a problem for what it lost and what it cannot have.
    #[cfg(feature = "component")]
    fn access(
        &mut self,
        subject: &Subject<'_>,
        gate: &Gate,
        component: &crate::wasm::Component,
    ) -> crate::wasm::Access {
        let Candidate { name, path, .. } = subject.candidate;
        if let Some(it) = self.approvable.last_mut() {
            it.manifest = Some(component.manifest().clone());
        }
        let (access, refused) = gate.access(subject.candidate, subject.judged, component);
        let refused = refused.iter().map(|right| {
            let message = format!(
                "is not given {}: it could write hookbox's own files, or what decides which hooks run",
                text::escape(&right.to_string(), 1024)
            );
            Problem::new(path, message).of(name)
        });
        self.problems.extend(refused);
        let lost = match &subject.judged.record {
            Some(record) if record.digest == *component.digest() => None,
            Some(_) if subject.judged.has_changed() => {
                Some("has changed since you trusted it: it may only pass, ask, block and warn")
            }
            Some(record) if !record.grants.is_empty() => {
                Some("has changed since you granted rights to it: it has none of them now")
            }
            _ => None,
        };
        if let Some(message) = lost {
            self.problems.push(Problem::new(path, message).of(name).hint(subject.approve()));
        }
        access
    }

    /// A hook that cannot be used. A guard among them keeps guarding: it fails in every event.
    fn invalid(
        &mut self,
        subject: &Subject<'_>,
        position: Position,
        descriptor: Descriptor,
        error: HookError,
    ) {
        let Candidate { name, path, .. } = subject.candidate;
        let problem = match descriptor.on_failure {
            OnFailure::Pass => Problem::new(path, &error.message),
            OnFailure::Block => Problem::new(path, format!("{}: {BLOCKS}", error.message)),
        };
        self.problems.push(problem.of(name));
        let priority = subject.table.and_then(|it| it.priority);
        if descriptor.on_failure == OnFailure::Block {
            self.refuse(position, descriptor, priority, error, EntryStatus::Invalid);
        } else {
            self.list(position, &descriptor, EntryStatus::Invalid);
            self.explain(error.message);
        }
    }

    /// Lists a hook and registers one in its place that fails in every event.
    pub(super) fn refuse(
        &mut self,
        position: Position,
        descriptor: Descriptor,
        priority: Option<i32>,
        error: HookError,
        status: EntryStatus,
    ) {
        let message = error.message.clone();
        let hook = Refused::new(descriptor, priority, error);
        self.list(position.clone(), hook.descriptor(), status);
        self.explain(message);
        self.hooks.push((position, Arc::new(hook)));
    }

    fn list(&mut self, position: Position, descriptor: &Descriptor, status: EntryStatus) {
        let listed = self.approvable.last_mut().filter(|it| Some(&it.path) == descriptor.path.as_ref());
        if let Some(it) = listed {
            it.status = status;
            it.bytes.clone_from(&descriptor.digest);
        }
        self.rows.push((position, Entry::new(descriptor, status)));
    }

    /// Says why the hook that was listed last does not run.
    fn explain(&mut self, message: String) {
        if let Some((_, entry)) = self.rows.last_mut() {
            entry.problem = Some(message);
        }
    }

    fn note_raised_limits(&mut self, subject: &Subject<'_>) {
        let Candidate { dir, name, kind, .. } = subject.candidate;
        let Some(table) = subject.table.filter(|_| dir.tier.origin() == Origin::Repo) else { return };
        let default = Budget::for_kind(*kind);
        let raised = table.limits.apply(default);
        for (key, is_raised) in [
            ("timeout", raised.wall > default.wall),
            ("fuel", raised.fuel > default.fuel),
            ("memory", raised.memory > default.memory),
            ("output", raised.output > default.output),
            ("log", raised.log > default.log),
            ("copies", raised.hostcall_copies > default.hostcall_copies),
            ("handles", raised.handles > default.handles),
            ("tables", raised.tables > default.tables),
        ] {
            if is_raised {
                let message =
                    format!("{} raises {key}, which a repository cannot: the default holds", settings::FILE);
                self.problems.push(Problem::new(&subject.candidate.path, message).of(name));
            }
        }
    }

    fn note_environment(&mut self, subject: &Subject<'_>) {
        let Candidate { name, path, kind, .. } = subject.candidate;
        if *kind == Kind::Component && subject.table.is_some_and(|it| it.environment.is_some()) {
            let message = format!(
                "{} sets env, which has no effect on a component: it gets the variables that are granted to it",
                settings::FILE
            );
            self.problems.push(Problem::new(path, message).of(name));
        }
    }

    fn finish(mut self) -> Discovery {
        self.rows.sort_by_cached_key(|(position, entry)| {
            (position.tier.origin(), entry.priority, position.clone())
        });
        self.hooks.sort_by(|(a, _), (b, _)| a.cmp(b));
        Discovery {
            entries: self.rows.into_iter().map(|(_, entry)| entry).collect(),
            hooks: self.hooks.into_iter().map(|(_, hook)| hook).collect(),
            problems: self.problems,
            approvable: self.approvable,
            kept: self.kept,
            details: self.details,
            last_good: Some(self.next),
            ..Discovery::default()
        }
    }
}

/// What follows where a guard is missing or broken.
pub(super) const BLOCKS: &str = "on_failure is \"block\", so it fails in every event";

fn prioritise(descriptor: &mut Descriptor, priority: Option<i32>) {
    if let Some(priority) = priority {
        for subscription in &mut descriptor.subscriptions {
            subscription.priority = priority;
        }
    }
}
