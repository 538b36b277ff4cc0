//! A hook between the gate and its entry.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::discovery::find::{Candidate, Declared, Handler, SETTINGS_FILE, State, Table};
use crate::discovery::{Found, Namesake, Problem};
use crate::hook::{
    Budget, Cause, Descriptor, Digest, HookError, Kind, Limits, Manifest, Mode, OnFailure, Origin,
    SettingsFault, Tier,
};
use crate::native::Verify;
use crate::outcome::Answers;
use crate::trust::native_digest::DigestInput;
use crate::trust::{self, Record, Scope, TreeError, TrustLevel};
use hookbox_system::{text, units};

/// The time limit of a command in Claude Code's shape that has none, as in Claude Code.
const USUAL_OF_CLAUDE: Duration = Duration::from_secs(600);

/// The reason why a hook of a repository is never given the answer `allow`, trusted or not.
pub(super) const NEVER_ALLOWS: &str = "no hook of a repository can have it";

/// A hook from the gate to its entry: a candidate with its settings, its trust and its digest.
pub(super) struct Judged {
    pub(super) candidate: Candidate,
    /// Its settings; the default without any.
    pub(super) table: Table,
    pub(super) standing: TrustLevel,
    /// Its key in the trust file; `None` if nothing can be recorded of it.
    pub(super) key: Option<(Scope, PathBuf)>,
    /// The user's record of it, also if it has changed since.
    pub(super) record: Option<Record>,
    /// The files and settings that its digest covers, if it needs trust.
    pub(super) digest_input: Option<DigestInput>,
    /// Their digest; `None` for a component that nobody trusted.
    pub(super) tree_digest: Option<Result<Digest, TreeError>>,
    /// The digest of the component's bytes at that time.
    pub(super) bytes: Option<Digest>,
    /// True if the record is of its present digest.
    pub(super) is_current: bool,
    /// True if it is trusted by a record, not by the policy.
    pub(super) by_record: bool,
    /// True if its name is enough to find it.
    pub(super) is_unique: bool,
    /// The options with which a command finds it, each with a space behind it.
    pub(super) flags: String,
    /// The hooks of its name that it replaces if the user agrees.
    pub(super) namesakes: Vec<Namesake>,
    /// The path by which a command finds it.
    pub(super) reference: PathBuf,
}

impl Judged {
    /// Returns the tier's owner.
    pub(super) fn origin(&self) -> Origin {
        self.candidate.dir.tier.origin()
    }

    /// Returns the key of its file for the next discovery.
    pub(super) fn file(&self) -> (Kind, PathBuf) {
        (self.candidate.kind, self.candidate.path.clone())
    }

    /// Returns true if its owner has switched it off.
    pub(super) fn is_off(&self) -> bool {
        matches!(self.candidate.state, State::Disabled) || self.table.enabled == Some(false)
    }

    /// Returns true if it has changed since the user trusted it.
    pub(super) fn has_changed(&self) -> bool {
        self.standing != TrustLevel::Trusted && self.was_trusted()
    }

    /// Returns true if the user trusts it, or trusted it before it changed.
    pub(super) fn was_trusted(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.trusted)
    }

    /// Returns true if the record is of a component with these bytes.
    pub(super) fn holds_for(&self, bytes: &Digest) -> bool {
        match &self.digest_input {
            Some(_) => self.is_current && self.bytes.as_ref() == Some(bytes),
            None => self.record.as_ref().is_some_and(|record| record.digest == *bytes),
        }
    }

    /// Returns a problem of it.
    pub(super) fn problem(&self, message: impl Into<String>) -> Problem {
        Problem::new(&self.candidate.path, message).of(&self.candidate.name)
    }

    /// Returns the command that approves it.
    pub(super) fn approve(&self) -> String {
        let path = Some(self.reference.as_path());
        let outside = self.declared().and_then(|it| it.outside.as_ref());
        let from = outside.map_or_else(String::new, |it| format!("--from {} ", it.from));
        trust::approve(&format!("{}{from}", self.flags), &self.candidate.name, path, self.is_unique)
    }

    /// Returns a check of the digest of a hook that is trusted by a record and is not a component.
    pub(super) fn verify(&self) -> Option<Verify> {
        let record = self.record.as_ref().filter(|record| record.trusted)?;
        let digest_input = self.digest_input.clone().filter(|_| self.by_record && self.bytes.is_none())?;
        let (trusted, approve) = (record.digest.clone(), self.approve());
        Some(Arc::new(move || match digest_input.digest() {
            Ok(digest) if digest == trusted => Ok(()),
            Ok(_) => Err(HookError::new(Cause::Untrusted, format!("{}; {approve}", trust::CHANGED))),
            Err(error) => Err(HookError::new(Cause::Untrusted, format!("{}: {error}", trust::CHANGED))),
        }))
    }

    /// Returns the digest of a hook that is more than one file: of everything that belongs to a repository's
    /// hook, or of the user's own entry.
    pub(super) fn digest(&self) -> Option<Digest> {
        match (&self.tree_digest, self.declared()) {
            (Some(digest), _) => digest.clone().ok(),
            (None, Some(declared)) => Some(Digest::of(declared.text.as_bytes())),
            (None, None) => None,
        }
    }

    /// Returns true if it takes its name, if it is usable. A repository's hook in shadow mode leaves it to your guard.
    pub(super) fn takes_name(&self) -> bool {
        self.origin() != Origin::Repo || !self.table.makes_observer()
    }

    /// Returns the failure of an untrusted hook.
    pub(super) fn untrusted(&self) -> HookError {
        let why = match self.origin() {
            _ if self.has_changed() => trust::CHANGED,
            Origin::Repo => trust::UNTRUSTED,
            _ => trust::NOT_APPROVED,
        };
        let message = match &self.tree_digest {
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
            reference: self.reference.clone(),
            order: 0,
            declared_at: declared.map(|it| it.spot.clone()),
            runs: declared.and_then(Declared::runs),
            unquoted: declared.and_then(|it| it.unquoted(&dir.base)),
            plugin_files: declared
                .filter(|_| dir.plugin.is_some())
                .map(Declared::plugin_files)
                .unwrap_or_default(),
            events: declared.and_then(|it| it.event.clone()).into_iter().collect(),
            tools: declared.map(|it| it.tools.clone()).unwrap_or_default(),
            matcher: declared.and_then(|it| it.matcher.clone()),
            condition: declared.and_then(|it| it.condition.as_ref()).map(|it| it.as_str().to_owned()),
            needs_trust: dir.needs_trust,
            manifest: None,
            key: self.key.clone(),
            record: self.record.clone(),
            namesakes: self.namesakes.clone(),
            settings: self.table.settings.clone(),
            settings_line: Some(self.table.line).filter(|line| *line > 0),
            shadowed_by: None,
            digest_input: self.digest_input.clone(),
            rest: format!("{:?} {declared:?}", self.table.texts),
        }
    }

    /// Returns its descriptor as far as it is known before its file is examined.
    pub(super) fn descriptor(&self, flags: &Limits) -> Descriptor {
        let Candidate { dir, name, path, kind, .. } = &self.candidate;
        Descriptor {
            tier: dir.tier,
            path: Some(path.clone()),
            plugin: dir.plugin.clone(),
            subscriptions: self.declared().map(Declared::subscriptions).unwrap_or_default(),
            on_failure: self.on_failure().unwrap_or_default(),
            mode: self.table.mode.unwrap_or(Mode::Enforce),
            budget: budget(self.default_budget(), dir.tier, &self.table, flags),
            answers: Answers::NONE,
            trusted: self.standing.is_trusted(),
            allow_once: self.table.allow_once == Some(true),
            ..Descriptor::new(name.clone(), *kind)
        }
    }

    /// Gives an executable or a tool its answers. It declares none, so the user's settings decide about `allow`.
    pub(super) fn may_answer(&self, descriptor: &mut Descriptor) {
        let is_repo = self.origin() == Origin::Repo;
        let allow = !is_repo && self.table.allow == Some(true);
        descriptor.answers = Answers { allow, ..Answers::USUAL };
        descriptor.to_allow = (!allow).then(|| match is_repo {
            true => NEVER_ALLOWS.to_owned(),
            false => {
                let name = text::escape(&self.candidate.name, 200);
                format!(
                    "allow it with `allow = true` in the table [hooks.{name:?}] of your {}",
                    SETTINGS_FILE
                )
            }
        });
    }

    /// Returns its declaration.
    pub(super) fn declared(&self) -> Option<&Declared> {
        self.candidate.declared.as_ref()
    }

    /// Returns its owner's policy for its failures: the settings go before the declaration.
    pub(super) fn on_failure(&self) -> Option<OnFailure> {
        self.table.failure_policy().or_else(|| self.declared()?.on_failure)
    }

    /// Returns true if its own description decides what follows its failures: a component or a rules file of
    /// the user's for which nobody else decides. One of a repository and an untrusted one cannot decide it: they
    /// could stop the user.
    pub(super) fn speaks_for_itself(&self) -> bool {
        let Candidate { dir, kind, .. } = &self.candidate;
        kind.is_one_file()
            && self.origin() != Origin::Repo
            && self.on_failure().is_none()
            && (!dir.needs_trust || self.was_trusted())
    }

    /// Returns its owner's priority, if there is one.
    pub(super) fn priority(&self) -> Option<i32> {
        self.table.priority.or_else(|| self.declared()?.priority)
    }

    /// Returns the budget of a call without settings.
    pub(super) fn default_budget(&self) -> Budget {
        let Candidate { kind, dir, .. } = &self.candidate;
        let default = Budget::for_kind(*kind);
        let declared = self.declared();
        let usual = declared.and_then(|it| match (&it.outside, &it.handler) {
            (Some(outside), _) => Some(outside.usual_timeout),
            (None, Ok(Handler::Wired(_))) => Some(USUAL_OF_CLAUDE),
            (None, Ok(Handler::Http(service))) if service.wire.is_some() => Some(USUAL_OF_CLAUDE),
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
        let is_for_managed = self.table.allow_once.is_some() || self.table.grants.is_some();
        if is_for_managed && self.origin() != Origin::Managed {
            notes.push(format!(
                "{SETTINGS_FILE} sets allow_once or grants, which only the administrator's file can"
            ));
        }
        notes.into_iter().map(|message| self.problem(message)).collect()
    }

    /// Returns the problems of its own settings, by the schema that its component declares.
    pub(super) fn settings_problems(&self, manifest: &Manifest) -> Vec<Problem> {
        let table = &self.table;
        let problem = |fault: SettingsFault| {
            let line = table.settings_lines.get(&fault.key).unwrap_or(&table.line);
            Problem::new(&table.file, format!("line {line}: {}", fault.message)).of(&self.candidate.name)
        };
        let faults = manifest.settings.iter().flat_map(|schema| schema.faults(&table.settings));
        faults.map(problem).collect()
    }

    fn raised_limits(&self) -> Vec<String> {
        let mut messages = Vec::new();
        if self.origin() != Origin::Repo {
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
        let raised = self.table.limits.apply(default);
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
                let file = SETTINGS_FILE;
                messages.push(format!("{file} raises {key}, which a repository cannot: the default applies"));
            }
        }
        messages
    }

    fn about_allowing(&self) -> Option<String> {
        let what = match (self.origin(), self.candidate.kind) {
            (Origin::Repo, _) => "which a repository cannot: its hooks spare you no question",
            (_, Kind::Component) => "which has no effect on a component: grant it with `hookbox grants add`",
            (_, Kind::Rules) => "which has no effect on rules: they do not have this answer",
            _ => return None,
        };
        (self.table.allow == Some(true)).then(|| format!("{} sets allow, {what}", SETTINGS_FILE))
    }

    fn without_effect(&self) -> Option<String> {
        let (has_env, has_settings) = (self.table.environment.is_some(), !self.table.settings.is_empty());
        let what = match self.candidate.kind {
            Kind::Component if has_env => {
                "env, which has no effect on a component: it gets the variables that are granted to it"
            }
            Kind::Rules if has_env => "env, which has no effect on rules",
            Kind::Rules if has_settings => "settings, which have no effect on rules",
            Kind::Tool if has_env => {
                "env, which has no effect on a tool: its server gets the env of mcp.json"
            }
            Kind::Tool if has_settings => "settings, which have no effect on a tool",
            Kind::Http if has_env => {
                "env, which has no effect on an HTTP service: it gets the variables of its allowedEnvVars"
            }
            Kind::Http if has_settings => "settings, which have no effect on an HTTP service",
            _ => return None,
        };
        Some(format!("{} sets {what}", SETTINGS_FILE))
    }
}

/// Returns the budget of a call. Settings go before the defaults, which a repository can only lower, and the
/// user's flags go before both, except for the administrator's hooks.
pub(super) fn budget(default: Budget, tier: Tier, table: &Table, flags: &Limits) -> Budget {
    let limits = table.limits;
    match tier.origin() {
        Origin::Managed => limits.apply(default),
        Origin::Repo => flags.apply(limits.lower(default)),
        Origin::User | Origin::Host => flags.apply(limits.apply(default)),
    }
}
