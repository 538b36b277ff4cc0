//! A candidate with its settings and the gate's judgement.

use std::path::PathBuf;
use std::time::Duration;

use super::discovered::LastGood;
use super::entry::Found;
use super::examine::{Examined, Job, Ready};
use super::gate::Judgement;
use super::shadow::Claim;
use crate::discovery::find::PluginFile;
use crate::discovery::find::candidate::Candidate;
use crate::discovery::find::declared::{Declared, Handler, Source};
use crate::discovery::find::last_read::Kept;
use crate::discovery::find::settings::{self, Table};
use crate::discovery::problem::Problem;
use crate::hook::{
    Budget, Cause, Descriptor, Digest, HookError, Kind, Limits, Manifest, Mode, OnFailure, Origin,
    SettingsFault, Tier,
};
use crate::outcome::Answers;
use crate::trust::{self, TreeError};
use hookbox_system::text;
use hookbox_system::units;

/// The time limit of a command in Claude Code's shape that has none, as in Claude Code.
const USUAL_OF_CLAUDE: Duration = Duration::from_secs(600);

/// The reason why a hook of a repository is never given the answer `allow`, trusted or not.
pub(super) const NEVER_ALLOWS: &str = "no hook of a repository can have it";

/// The position of a hook in the order of registration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) tier: Tier,
    pub(super) root: usize,
    pub(super) plugin_dir: String,
    /// The source that declares it; files come first.
    pub(super) source: Source,
    /// Its index in the source.
    pub(super) at: usize,
    pub(super) file: String,
}

/// A candidate with its settings and judgement.
pub(super) struct JudgedCandidate<'a> {
    pub(super) candidate: &'a Candidate,
    pub(super) table: Option<&'a Table>,
    pub(super) judgement: &'a Judgement,
}

impl JudgedCandidate<'_> {
    pub(super) fn job(&self) -> Job {
        Job {
            access: self.candidate.dir.access.clone(),
            path: self.candidate.path.clone(),
            kind: self.candidate.kind,
            environment: self.table.and_then(|it| it.environment.clone()),
            standing: self.judgement.standing,
            tree: self.judgement.digest.is_some(),
            digest: self.digest(),
            verify: self.judgement.verify(),
        }
    }

    /// Returns the result of examining it, or the last working version of a file that is broken now.
    pub(super) fn or_last(&self, examined: Examined, last: &LastGood) -> (Examined, Option<Box<Kept>>) {
        let Candidate { name, path, kind, .. } = self.candidate;
        let component = last.components.get(path).filter(|_| *kind == Kind::Component);
        let rules = last.rules.get(path).filter(|_| *kind == Kind::Rules);
        let good = match (component, rules) {
            (Some(it), _) => Some((it.value.digest(), &it.since)),
            (_, Some(it)) => Some((it.value.digest(), &it.since)),
            _ => None,
        };
        let (Err(error), Some((digest, since))) = (&examined.result, good) else {
            return (examined, None);
        };
        let is_theirs = !self.judgement.by_record || self.judgement.holds_for(digest);
        // A missing file, or one that leads out of its repository, is not a broken one. And a hook that is
        // not trusted now is not kept.
        let is_broken = !matches!(error.cause, Cause::NotFound | Cause::Denied);
        if !is_broken || !self.judgement.standing.is_trusted() || !is_theirs {
            return (examined, None);
        }
        let kept = Kept::new(path, Some(name), since, error.message.clone());
        let component = component.map(|it| Ready::Component(Box::new(it.value.clone())));
        let ready = component.or(rules.map(|it| Ready::Rules(Box::new(it.value.clone()))));
        match ready {
            Some(ready) => (Examined::new(Some(digest.clone()), Ok(ready)), Some(Box::new(kept))),
            None => (examined, None),
        }
    }

    /// Returns the digest of a hook that is more than one file: of everything that belongs to a repository's
    /// hook, or of the user's own entry.
    fn digest(&self) -> Option<Digest> {
        match (&self.judgement.digest, self.declared()) {
            (Some(digest), _) => digest.clone().ok(),
            (None, Some(declared)) => Some(Digest::of(declared.text.as_bytes())),
            (None, None) => None,
        }
    }

    /// Returns true if it takes its name, if it is usable. A repository's hook in shadow mode leaves it to your guard.
    pub(super) fn takes_name(&self) -> bool {
        self.candidate.dir.tier.origin() != Origin::Repo || !self.is_made_observer()
    }

    /// Returns the properties that count if another hook has its name.
    pub(super) fn claim(&self) -> Claim<'_> {
        Claim {
            origin: self.candidate.dir.tier.origin(),
            standing: self.judgement.standing,
            key: self.judgement.key.as_ref(),
            replaces: self.judgement.replaces(),
        }
    }

    /// Returns the path by which a command finds it.
    pub(super) fn reference(&self) -> PathBuf {
        self.judgement.reference.clone()
    }

    /// Returns the command that approves it.
    pub(super) fn approve(&self) -> String {
        self.judgement.approve(&self.candidate.name)
    }

    /// Returns the failure of an untrusted hook.
    pub(super) fn untrusted(&self) -> HookError {
        let why = match self.candidate.dir.tier.origin() {
            _ if self.judgement.has_changed() => trust::CHANGED,
            Origin::Repo => trust::UNTRUSTED,
            _ => trust::NOT_APPROVED,
        };
        let message = match &self.judgement.digest {
            Some(Err(error)) if *error != TreeError::Spent => {
                format!("{why}; it cannot be trusted: {error}")
            }
            _ => format!("{why}; {}", self.approve()),
        };
        HookError::new(Cause::Untrusted, message)
    }

    /// Returns the part of its entry that a list does not show.
    pub(super) fn found(&self) -> Found {
        let dir = &self.candidate.dir;
        let declared = self.declared();
        Found {
            reference: self.reference(),
            order: 0,
            declared_at: declared.map(|it| it.spot.clone()),
            runs: declared.and_then(Declared::runs),
            unquoted: declared.and_then(|it| it.unquoted(&dir.base)),
            plugin_files: self.plugin_files(),
            events: declared.and_then(|it| it.event.clone()).into_iter().collect(),
            tools: declared.map(|it| it.tools.clone()).unwrap_or_default(),
            matcher: declared.and_then(|it| it.matcher.clone()),
            condition: declared.and_then(|it| it.condition.as_ref()).map(|it| it.as_str().to_owned()),
            needs_trust: dir.needs_trust,
            manifest: None,
            key: self.judgement.key.clone(),
            record: self.judgement.record.clone(),
            namesakes: self.judgement.namesakes.clone(),
            settings: self.table.map(|table| table.settings.clone()).unwrap_or_default(),
            settings_line: self.table.map(|table| table.line),
            shadowed_by: None,
            digest_input: self.judgement.digest_input.clone(),
            rest: format!("{:?} {declared:?}", self.table.map(Table::fields)),
        }
    }

    /// Returns the files of its plugin that its command runs.
    fn plugin_files(&self) -> Vec<PluginFile> {
        let declared = self.declared().filter(|_| self.candidate.dir.plugin.is_some());
        declared.map(Declared::plugin_files).unwrap_or_default()
    }

    /// Returns its descriptor as far as it is known before its file is examined.
    pub(super) fn descriptor(&self, flags: &Limits) -> Descriptor {
        let Candidate { dir, name, path, kind, .. } = self.candidate;
        Descriptor {
            tier: dir.tier,
            path: Some(path.clone()),
            plugin: dir.plugin.clone(),
            subscriptions: self.declared().map(Declared::subscriptions).unwrap_or_default(),
            on_failure: self.on_failure().unwrap_or_default(),
            mode: if self.is_made_observer() { Mode::Observe } else { Mode::Enforce },
            budget: budget(self.default_budget(), dir.tier, self.table, flags),
            answers: Answers::NONE,
            trusted: self.judgement.standing.is_trusted(),
            ..Descriptor::new(name.clone(), *kind)
        }
    }

    /// Gives an executable or a tool its answers. It declares none, so the user's settings decide about `allow`.
    pub(super) fn may_answer(&self, descriptor: &mut Descriptor) {
        let is_repo = self.candidate.dir.tier.origin() == Origin::Repo;
        let allow = !is_repo && self.table.is_some_and(|it| it.allow == Some(true));
        descriptor.answers = Answers { allow, ..Answers::USUAL };
        descriptor.to_allow = (!allow).then(|| match is_repo {
            true => NEVER_ALLOWS.to_owned(),
            false => {
                let name = text::escape(&self.candidate.name, 200);
                format!(
                    "allow it with `allow = true` in the table [hooks.{name:?}] of your {}",
                    settings::FILE
                )
            }
        });
    }

    /// Returns true if other bytes were loaded than those that the gate judged.
    pub(super) fn was_replaced(&self, bytes: &Digest) -> bool {
        self.judgement.by_record && !self.judgement.holds_for(bytes)
    }

    pub(super) fn position(&self) -> Position {
        let Candidate { dir, file, .. } = self.candidate;
        let (source, at) = self.declared().map_or((Source::File, 0), |it| (it.source, it.at));
        let (plugin_dir, file) = (dir.plugin_dir.clone(), file.clone());
        Position { tier: dir.tier, root: dir.root, plugin_dir, source, at, file }
    }

    /// Returns its declaration.
    pub(super) fn declared(&self) -> Option<&Declared> {
        self.candidate.declared.as_ref()
    }

    /// Returns true if settings put it into shadow mode.
    pub(super) fn is_made_observer(&self) -> bool {
        self.table.is_some_and(Table::makes_observer)
    }

    /// Returns its owner's policy for its failures: the settings go before the declaration. A hook in shadow mode
    /// stops nothing, also if it is broken.
    pub(super) fn on_failure(&self) -> Option<OnFailure> {
        if self.is_made_observer() {
            return Some(OnFailure::Pass);
        }
        self.table.and_then(|it| it.on_failure).or_else(|| self.declared()?.on_failure)
    }

    /// Returns true if its own description decides what follows its failures: a component or a rules file of
    /// the user's for which nobody else decides. One of a repository and an untrusted one cannot decide it: they
    /// could stop the user.
    pub(super) fn speaks_for_itself(&self) -> bool {
        let Candidate { dir, kind, .. } = self.candidate;
        let was_trusted = || self.judgement.record.as_ref().is_some_and(|record| record.trusted);
        kind.is_one_file()
            && dir.tier.origin() == Origin::User
            && self.on_failure().is_none()
            && (!dir.needs_trust || was_trusted())
    }

    /// Returns its owner's priority, if there is one.
    pub(super) fn priority(&self) -> Option<i32> {
        self.table.and_then(|it| it.priority).or_else(|| self.declared()?.priority)
    }

    /// Returns the budget of a call without settings.
    pub(super) fn default_budget(&self) -> Budget {
        let Candidate { kind, dir, .. } = self.candidate;
        let default = Budget::for_kind(*kind);
        let declared = self.declared();
        let usual = declared.and_then(|it| match (&it.outside, &it.handler) {
            (Some(outside), _) => Some(outside.usual_timeout),
            (None, Ok(Handler::Wired(_))) => Some(USUAL_OF_CLAUDE),
            _ => None,
        });
        let Some(timeout) = declared.and_then(|it| it.timeout).or(usual) else { return default };
        let wall = match (dir.tier.origin(), kind) {
            (Origin::Repo, Kind::Component) => timeout.min(default.wall),
            // The user trusted it with this time, but not with more than an executable has.
            (Origin::Repo, _) => timeout.min(Budget::for_kind(Kind::Native).wall),
            _ => timeout,
        };
        Budget { wall, ..default }
    }

    /// Returns problems for settings that a repository cannot make, and for settings without effect.
    pub(super) fn notes(&self) -> Vec<Problem> {
        let mut notes = self.raised_limits();
        notes.extend(self.without_effect());
        notes.extend(self.about_allowing());
        let Candidate { name, path, .. } = self.candidate;
        notes.into_iter().map(|message| Problem::new(path, message).of(name)).collect()
    }

    /// Returns the problems of its own settings, by the schema that its component declares.
    pub(super) fn settings_problems(&self, manifest: &Manifest) -> Vec<Problem> {
        let (Some(table), Some(schema)) = (self.table, &manifest.settings) else { return Vec::new() };
        let problem = |fault: SettingsFault| {
            let line = table.settings_lines.get(&fault.key).unwrap_or(&table.line);
            Problem::new(&table.file, format!("line {line}: {}", fault.message)).of(&self.candidate.name)
        };
        schema.faults(&table.settings).into_iter().map(problem).collect()
    }

    fn raised_limits(&self) -> Vec<String> {
        let mut messages = Vec::new();
        if self.candidate.dir.tier.origin() != Origin::Repo {
            return messages;
        }
        let default = self.default_budget();
        if let Some(declared) =
            self.declared().filter(|it| it.timeout.is_some_and(|time| time > default.wall))
        {
            let (limit, file, label) = (units::show_duration(default.wall), declared.file(), &declared.label);
            messages.push(format!(
                "{label} in {file} has a timeout above {limit}, the limit here: {limit} applies"
            ));
        }
        let Some(table) = self.table else { return messages };
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
                let file = settings::FILE;
                messages.push(format!("{file} raises {key}, which a repository cannot: the default applies"));
            }
        }
        messages
    }

    fn about_allowing(&self) -> Option<String> {
        self.table.filter(|it| it.allow == Some(true))?;
        let what = match (self.candidate.dir.tier.origin(), self.candidate.kind) {
            (Origin::Repo, _) => "which a repository cannot: its hooks spare you no question",
            (_, Kind::Component) => "which has no effect on a component: grant it with `hookbox grants add`",
            (_, Kind::Rules) => "which has no effect on rules: they do not have this answer",
            _ => return None,
        };
        Some(format!("{} sets allow, {what}", settings::FILE))
    }

    fn without_effect(&self) -> Option<String> {
        let table = self.table?;
        let what = match self.candidate.kind {
            Kind::Component if table.environment.is_some() => {
                "env, which has no effect on a component: it gets the variables that are granted to it"
            }
            Kind::Rules if table.environment.is_some() => "env, which has no effect on rules",
            Kind::Rules if !table.settings.is_empty() => "settings, which have no effect on rules",
            Kind::Tool if table.environment.is_some() => {
                "env, which has no effect on a tool: its server gets the env of mcp.json"
            }
            Kind::Tool if !table.settings.is_empty() => "settings, which have no effect on a tool",
            _ => return None,
        };
        Some(format!("{} sets {what}", settings::FILE))
    }
}

/// Returns the budget of a call. Settings go before the defaults, which a repository can only lower, and the
/// user's flags go before both.
pub(super) fn budget(default: Budget, tier: Tier, table: Option<&Table>, flags: &Limits) -> Budget {
    let limits = table.map(|it| it.limits).unwrap_or_default();
    flags.apply(if tier.origin() == Origin::Repo { limits.lower(default) } else { limits.apply(default) })
}
