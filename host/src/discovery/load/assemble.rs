//! Makes hooks and entries of candidates by settings, shadowing and the gate's judgement.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::assembly::{Assembly, BLOCKS};
use super::assembly::{declared_subscriptions, describe, settle};
use super::discovered::LastGood;
use super::entry::EntryStatus;
use super::examine::{Examined, Examiner, Ready};
use super::gate::{Gate, Judgement};
use super::judged_candidate::{JudgedCandidate, NEVER_ALLOWS, Position};
use super::launch::Launcher;
use super::selection::{Selection, select};
use super::tighten::Wishes;
use super::{builtins, discovered::Discovery, missing};
use crate::capability::Capability;
use crate::discovery::find::candidate::{Candidate, State};
use crate::discovery::find::last_read::{Kept, Since};
use crate::discovery::find::options::Options;
use crate::discovery::find::scan::Scan;
use crate::discovery::problem::Problem;
use crate::hook::{
    Cause, Descriptor, Digest, HookError, Kind, Limits, Manifest, OnFailure, Origin, Settings, Subscription,
};
use crate::rules::RulesHook;
use crate::wasm::{Access, Component, ComponentHook};
use hookbox_system::files;
use hookbox_system::text;

/// Selects and examines the candidates of a scan, and builds their hooks.
pub(super) async fn assemble(
    mut scan: Scan,
    gate: &Gate,
    judgements: Vec<Judgement>,
    options: &Options,
    examiner: &Examiner,
    last: &Arc<LastGood>,
    wishes: &Wishes,
) -> Discovery {
    let (problems, kept) = (std::mem::take(&mut scan.problems), std::mem::take(&mut scan.kept));
    let judged: Vec<JudgedCandidate<'_>> = scan
        .candidates
        .iter()
        .zip(&judgements)
        .map(|(candidate, judgement)| JudgedCandidate {
            candidate,
            table: scan.table_of(candidate),
            judgement,
        })
        .collect();
    let selections = select(&judged, examiner, last).await;
    let unread = if options.unseen_blocks { OnFailure::Block } else { OnFailure::Pass };
    let mut assembly = Assembly { problems, last: Arc::clone(last), kept, unread, ..Assembly::default() };
    let mut launcher = Launcher::new(options, gate.repository(), last);
    for (judged, selection) in judged.iter().zip(selections) {
        assembly.add(judged, selection, (gate, wishes), &options.limits, &mut launcher);
    }
    assembly.next.servers = launcher.into_servers();
    missing::guards(&scan.roots, &scan.candidates, options, wishes, &mut assembly);
    missing::written(&scan.roots, &scan.candidates, options, gate, &mut assembly);
    assembly.problems.extend(missing::gone(gate, &judgements, options));
    let mut discovery = assembly.finish();
    discovery.builtins = builtins::user_settings(&scan.roots, &mut discovery.problems);
    discovery.protected = Arc::clone(&gate.protected);
    discovery
}

impl Assembly {
    fn add(
        &mut self,
        judged: &JudgedCandidate<'_>,
        selection: Selection,
        (gate, wishes): (&Gate, &Wishes),
        flags: &Limits,
        launcher: &mut Launcher,
    ) {
        self.problems.extend(judged.notes());
        let position = judged.position();
        let mut descriptor = judged.descriptor(flags);
        let priority = judged.priority();
        let mut found = judged.found();
        if let Selection::Shadowed(shadower) = &selection {
            found.shadowed_by = Some(shadower.by.clone());
        }
        self.found = found;
        let (Examined { digest, result, policy, subscriptions }, kept) = match selection {
            Selection::Disabled => {
                self.list(position, &descriptor, EntryStatus::Disabled);
                return self.lapse(missing::disabled(judged));
            }
            Selection::Shadowed(shadower) => {
                self.list(position, &descriptor, EntryStatus::Shadowed);
                return self.lapse(missing::shadowed(judged, &shadower));
            }
            Selection::Examined(examined, kept) => (examined, kept),
        };
        self.problems.extend(missing::observing(judged));
        descriptor.digest = digest;
        let path = &judged.candidate.path;
        let mut written = gate.written().filter(|(of, _)| kept.is_none() && of == path);
        if written.any(|(_, digest)| descriptor.digest.as_ref() != Some(digest)) {
            descriptor.on_failure = judged.on_failure().unwrap_or(OnFailure::Block);
            let error = HookError::new(Cause::Incompatible, missing::CHANGED);
            self.problems.push(missing::guard_problem(path, missing::CHANGED));
            return self.refuse(position, descriptor, priority, error, EntryStatus::Invalid);
        }
        if result.is_err() && judged.speaks_for_itself() {
            descriptor.on_failure = policy.unwrap_or(self.unread);
        }
        match result {
            Ok(Ready::Refused) => {
                self.problems.extend(missing::changed(judged));
                self.refuse(position, descriptor, priority, judged.untrusted(), EntryStatus::Untrusted);
            }
            Ok(Ready::Native(event)) => {
                descriptor.subscriptions = vec![Subscription::to(event)];
                judged.may_answer(&mut descriptor);
                settle(&mut descriptor, judged);
                self.list(position.clone(), &descriptor, EntryStatus::Active);
                let program = judged.candidate.path.clone();
                let mut hook = crate::native::NativeHook::new(descriptor, program);
                if let Some(table) = judged.table {
                    hook = hook.with_settings(&table.settings).with_environment(table.environment.clone());
                }
                if let Some(verify) = judged.judgement.verify() {
                    hook = hook.with_verify(verify);
                }
                self.hooks.push((position, Arc::new(hook)));
            }
            Ok(Ready::Declared) => {
                judged.may_answer(&mut descriptor);
                settle(&mut descriptor, judged);
                let hook = judged.declared().map(|it| launcher.hook(judged, it, descriptor.clone()));
                match hook {
                    Some(Ok(hook)) => {
                        self.list(position.clone(), &descriptor, EntryStatus::Active);
                        self.hooks.push((position, hook));
                    }
                    Some(Err(error)) => self.invalid(judged, position, descriptor, error, BLOCKED),
                    None => {}
                }
            }
            Ok(Ready::Component(component)) => {
                if let Err(error) =
                    describe(&mut descriptor, judged, component.manifest(), component.digest())
                {
                    return self.invalid(judged, position, descriptor, error, BLOCKED);
                }
                let faults = judged.settings_problems(component.manifest());
                let fault = faults.first().filter(|_| descriptor.on_failure == OnFailure::Block);
                let error = fault.map(|fault| {
                    HookError::new(Cause::Incompatible, format!("cannot use its settings: {fault}"))
                });
                self.problems.extend(faults);
                if let Some(error) = error {
                    self.refuse(position, descriptor, judged.priority(), error, EntryStatus::Invalid);
                    if let Some(found) = self.listed() {
                        found.manifest = Some(component.manifest().clone());
                    }
                    return;
                }
                self.list_described(position.clone(), &descriptor, component.manifest(), kept);
                remember(&self.last.components, &mut self.next.components, judged, &*component, |it| {
                    it.digest()
                });
                let settings = self.tightened(judged, wishes, component.manifest());
                let access = self.access(judged, gate, &component);
                permit(&mut descriptor, component.manifest(), &access);
                let hook = ComponentHook::new(*component, descriptor, settings).with_access(access);
                self.hooks.push((position, Arc::new(hook)));
            }
            Ok(Ready::Rules(rules)) => {
                if let Err(error) = describe(&mut descriptor, judged, rules.manifest(), rules.digest()) {
                    return self.invalid(judged, position, descriptor, error, BLOCKED);
                }
                self.list_described(position.clone(), &descriptor, rules.manifest(), kept);
                remember(&self.last.rules, &mut self.next.rules, judged, &*rules, |it| it.digest());
                self.report_lost(judged, rules.digest());
                let counters = gate.counters(judged.candidate, judged.judgement);
                let home = gate.home().map(Path::to_owned);
                let hook = RulesHook::new(descriptor, *rules, home).with_counters(counters);
                self.hooks.push((position, Arc::new(hook)));
            }
            Err(error) if error.cause == Cause::Compiling => {
                descriptor.on_failure = judged.on_failure().or(policy).unwrap_or(OnFailure::Block);
                self.compiling(judged, position, descriptor, (error, subscriptions));
            }
            Err(error) => {
                let undeclared = if policy.is_some() { BLOCKED } else { UNREAD };
                self.invalid(judged, position, descriptor, error, undeclared);
            }
        }
    }

    /// Lists a component that is being compiled. Until then it fails by its policy, in its events as far as they are
    /// known.
    fn compiling(
        &mut self,
        judged: &JudgedCandidate<'_>,
        position: Position,
        mut descriptor: Descriptor,
        (error, described): (HookError, Vec<Subscription>),
    ) {
        let known = match judged.declared() {
            Some(declared) => declared_subscriptions(declared, &described).ok(),
            None => Some(described),
        };
        if let Some(known) = known.filter(|known| !known.is_empty()) {
            descriptor.subscriptions = known;
        }
        settle(&mut descriptor, judged);
        self.refuse(position, descriptor, judged.priority(), error, EntryStatus::Invalid);
    }

    /// Lists a component or a rules file that works.
    fn list_described(
        &mut self,
        position: Position,
        descriptor: &Descriptor,
        manifest: &Manifest,
        kept: Option<Box<Kept>>,
    ) {
        self.list(position, descriptor, EntryStatus::Active);
        if let Some(found) = self.listed() {
            found.manifest = Some(manifest.clone());
        }
        if let Some(kept) = kept {
            self.keep(*kept);
        }
    }

    /// Reports a broken file whose last version stays in force.
    fn keep(&mut self, kept: Kept) {
        let message = format!("{}: the one of {} stays in force", kept.why, kept.since);
        self.explain(message.clone());
        let problem = Problem::new(&kept.path, message);
        self.problems.push(Problem { hook: kept.hook.clone(), ..problem });
        self.kept.push(kept);
    }

    /// Returns the settings of a component, as far as a repository made them stricter, and reports what it cannot set.
    fn tightened(&mut self, judged: &JudgedCandidate<'_>, wishes: &Wishes, manifest: &Manifest) -> Settings {
        let mut settings = judged.table.map(|it| it.settings.clone()).unwrap_or_default();
        let (tightened, problems) = wishes.apply(judged.candidate, manifest.settings.as_ref(), &mut settings);
        self.problems.extend(problems);
        if let Some((_, entry)) = self.rows.last_mut() {
            entry.tightened = tightened;
        }
        if let Some(found) = self.listed() {
            found.settings.clone_from(&settings);
        }
        settings
    }

    /// Returns the access of a component, and reports the rights that it lost and those that it cannot have.
    fn access(&mut self, judged: &JudgedCandidate<'_>, gate: &Gate, component: &Component) -> Access {
        let Candidate { name, path, .. } = judged.candidate;
        let (access, refused) = gate.access(judged.candidate, judged.judgement, component);
        if let Some((_, entry)) = self.rows.last_mut() {
            entry.lacks = access.rights.lacking().to_vec();
        }
        let refused = refused.iter().map(|right| {
            let message = format!(
                "is not given {}: it could write hookbox's own files, or what decides which hooks run",
                text::escape(&right.to_string(), 1024)
            );
            Problem::new(path, message).of(name)
        });
        self.problems.extend(refused);
        self.report_lost(judged, component.digest());
        access
    }

    /// Reports the trust or the rights that a component or a rules file lost by a change.
    fn report_lost(&mut self, judged: &JudgedCandidate<'_>, bytes: &Digest) {
        let Candidate { name, path, .. } = judged.candidate;
        let is_lost = !judged.judgement.holds_for(bytes);
        let lost = match judged.judgement.record.as_ref().filter(|_| is_lost) {
            Some(_) if judged.judgement.has_changed() => {
                let what = "has changed since you trusted it: it may only pass, ask, block and warn";
                Some(Problem::new(path, what).off())
            }
            Some(record) if !record.grants.is_empty() => {
                let what = "has changed since you granted rights to it: it has none of them now";
                Some(Problem::new(path, what))
            }
            _ => None,
        };
        self.problems.extend(lost.map(|problem| problem.of(name).hint(judged.approve())));
    }

    /// Lists a hook that cannot be used. A guard keeps guarding: it fails in every event. `undeclared` is the
    /// consequence if only its own description makes it a guard.
    fn invalid(
        &mut self,
        judged: &JudgedCandidate<'_>,
        position: Position,
        descriptor: Descriptor,
        mut error: HookError,
        undeclared: &str,
    ) {
        let Candidate { name, path, dir, .. } = judged.candidate;
        // The message about a component is about its own file, and others need the position of their
        // declaration.
        if let Some(declared) = judged.declared().filter(|it| it.handler.is_ok()) {
            let file = dir.declaring(declared.source);
            let file = text::escape(&file.to_string_lossy(), 1024);
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
            _ => problem,
        };
        let is_reported =
            judged.declared().is_some_and(|it| it.is_reported) && descriptor.on_failure == OnFailure::Pass;
        if !is_reported {
            self.problems.push(problem.of(name));
        }
        let priority = judged.priority();
        if descriptor.on_failure == OnFailure::Block {
            if is_undeclared {
                let path = text::escape(&path.to_string_lossy(), 1024);
                error.message = format!("{path}: {}; {undeclared}; hint: {MEND}", error.message);
            }
            self.refuse(position, descriptor, priority, error, EntryStatus::Invalid);
        } else {
            self.list(position, &descriptor, EntryStatus::Invalid);
            self.explain(error.message);
        }
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

/// Like [`BLOCKS`], for a guard whose events are known.
const BLOCKS_WHERE_IT_RUNS: &str =
    "on_failure is \"block\", so it fails in every event that it is declared for";

/// Keeps a working component or rules file for the next discovery, with the time since which it works.
fn remember<T: Clone>(
    last: &HashMap<PathBuf, Since<T>>,
    next: &mut HashMap<PathBuf, Since<T>>,
    judged: &JudgedCandidate<'_>,
    value: &T,
    digest: impl Fn(&T) -> &Digest,
) {
    let path = &judged.candidate.path;
    let same = last.get(path).filter(|last| digest(&last.value) == digest(value));
    let since = same.map_or_else(crate::trust::now, |last| last.since.clone());
    next.insert(path.clone(), Since { since, value: value.clone() });
}
