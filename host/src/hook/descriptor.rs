//! The descriptor of a hook: kind, tier, subscriptions, failure policy.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Budget, Digest, SettingsSchema};
use crate::capability::Capability;
use crate::event::{Event, EventName, ToolCall};
use crate::outcome::Answers;

named! {
    /// The kind of a hook.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum Kind {
        /// An executable in a hooks directory.
        Native = "native",
        /// A WASI component.
        Component = "component",
        /// A command of a hooks.json.
        Command = "command",
        /// A tool of an MCP server.
        Tool = "tool",
        /// An HTTP service.
        Http = "http",
        /// A rules file, `NAME.rules.toml`.
        Rules = "rules",
        /// Part of hookbox.
        Builtin = "builtin",
        /// Registered by the agent.
        Code = "code",
    }
}

impl Kind {
    /// Returns true for a component and for rules: the bytes of one file are all of the hook. It has no access but what
    /// it is given, so that it may run before it is trusted.
    pub fn is_one_file(self) -> bool {
        matches!(self, Self::Component | Self::Rules)
    }

    /// Returns true if a file declares the hook with its event, so that there is nothing to ask it.
    pub fn is_declared(self) -> bool {
        matches!(self, Self::Command | Self::Tool | Self::Http)
    }
}

named! {
    /// The group of directories that a hook was found in. Earlier tiers shadow hooks of the same name in later
    /// ones.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
    pub enum Tier {
        /// The administrator's `hooks/`.
        Managed = "managed",
        /// The administrator's `plugins/<org>@<repo>/hooks/`.
        ManagedPlugin = "managed plugin",
        /// `<repo>/<root>/hooks/`.
        Repo = "repo",
        /// `<repo>/<root>/plugins/<org>@<repo>/hooks/`.
        RepoPlugin = "repo plugin",
        /// `~/<root>/hooks/`.
        Global = "global",
        /// `~/<root>/plugins/<org>@<repo>/hooks/`.
        GlobalPlugin = "global plugin",
        /// Registered by the agent.
        Code = "code",
        /// Part of hookbox.
        Builtin = "built in",
    }
}

impl Tier {
    /// Returns the owner of the tier. It is the first criterion of the order in a chain.
    pub fn origin(self) -> Origin {
        match self {
            Self::Managed | Self::ManagedPlugin => Origin::Managed,
            Self::Repo | Self::RepoPlugin => Origin::Repo,
            Self::Global | Self::GlobalPlugin => Origin::User,
            Self::Code | Self::Builtin => Origin::Host,
        }
    }
}

/// The owner of a hook. After the administrator's hooks, a repository's run first, so that the user's guards judge the call
/// as those changed it, and the host's judge last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// The administrator of the machine. Its hooks judge a call again that a later hook changed.
    Managed,
    /// The repository.
    Repo,
    /// The user.
    User,
    /// The agent that embeds hookbox.
    Host,
}

impl Origin {
    /// Returns the tiers of the hooks in a directory of hooks, and in plugins.
    pub(crate) fn tiers(self) -> (Tier, Tier) {
        match self {
            Self::Managed => (Tier::Managed, Tier::ManagedPlugin),
            Self::Repo => (Tier::Repo, Tier::RepoPlugin),
            Self::User | Self::Host => (Tier::Global, Tier::GlobalPlugin),
        }
    }
}

named! {
    /// The failure policy of a hook.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum OnFailure {
        /// The agent goes on, with a warning.
        #[default]
        Pass = "pass",
        /// The action is blocked, where the event can be blocked.
        Block = "block",
    }
}

named! {
    /// Tells whether the answers of a hook count.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Mode {
        /// They count.
        #[default]
        Enforce = "enforce",
        /// Shadow mode: the hook runs, its report has what it would have done, and nothing is acted on.
        Observe = "observe",
    }
}

/// The priority of a hook that gives none.
pub const DEFAULT_PRIORITY: i32 = 50;

/// A subscription of a hook to an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Subscription {
    /// The event.
    pub event: EventName,
    /// Only for these tools: names as agents spell them, or kinds such as `kind:shell`. A name of a tool of an
    /// MCP server is the tool in every agent's spelling. Empty: all. With `kind:shell naming git gh`, a
    /// component passes over a line that names neither, and with `kind:shell if redact` over every call unless
    /// the user has set `redact = true`.
    pub tools: Vec<String>,
    /// Lower runs first.
    pub priority: i32,
    /// The hook only observes: it also runs after a block, and its answer has no effect.
    pub observe: bool,
}

impl Subscription {
    /// The word before the words that a line must name.
    pub(crate) const NAMING: &str = " naming ";

    /// The word before the setting that must be true.
    pub(crate) const IF: &str = " if ";

    /// Creates a subscription to this event, for every tool, with the default priority.
    pub fn to(event: EventName) -> Self {
        Self { event, tools: Vec::new(), priority: DEFAULT_PRIORITY, observe: false }
    }

    /// Returns true if the hook is to see this event.
    pub fn matches(&self, event: &Event) -> bool {
        if self.event != event.name() {
            return false;
        }
        match event.tool_call() {
            Some(call) if !self.tools.is_empty() => self.tools.iter().any(|it| Self::fits(it, call)),
            _ => true,
        }
    }

    /// Returns true if a pattern is for the tool of this call.
    pub(crate) fn fits(pattern: &str, call: &ToolCall) -> bool {
        let is_kind = |kind: &str| {
            let rest = kind.strip_prefix(call.facts.kind.as_str());
            rest.is_some_and(|it| {
                it.is_empty() || [Self::NAMING, Self::IF].iter().any(|word| it.starts_with(word))
            })
        };
        pattern == call.name
            || pattern.strip_prefix("kind:").is_some_and(is_kind)
            || hookbox_calls::is_same_mcp_tool(pattern, &call.name, call.facts.kind)
    }
}

/// The properties of a hook, fixed for its life.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Descriptor {
    /// The full name: the file name, `org/repo/file` for a plugin's hook.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The tier that it was found in.
    pub tier: Tier,
    /// Its file, if it has one.
    pub path: Option<PathBuf>,
    /// The plugin that it belongs to, as `org/repo`.
    pub plugin: Option<String>,
    /// Its subscriptions.
    pub subscriptions: Vec<Subscription>,
    /// Its failure policy.
    pub on_failure: OnFailure,
    /// Its mode. In shadow mode it only observes, whatever its subscriptions tell, and its failures block nothing.
    pub mode: Mode,
    /// The limits of one call.
    pub budget: Budget,
    /// The answers that it may give: declared and allowed.
    pub answers: Answers,
    /// The way to get the answer `allow`, for a hook that would give it and may not.
    pub(crate) to_allow: Option<String>,
    /// True if the user trusts it. The words of an untrusted hook are for the user's eyes, never for the
    /// model.
    pub trusted: bool,
    /// The digest of what runs, if it has a file.
    pub digest: Option<Digest>,
    /// True if the user may let a call through once that this hook of the administrator's blocks. A user's guard needs no
    /// such leave.
    pub(crate) allow_once: bool,
    /// The priority of the subscriptions that [`Descriptor::on`] adds.
    pub(crate) default_priority: i32,
}

impl Descriptor {
    /// Creates the descriptor of a trusted hook of the agent's own, with no subscriptions, every answer but
    /// `allow`, and the budget of its kind.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            kind,
            tier: if kind == Kind::Builtin { Tier::Builtin } else { Tier::Code },
            path: None,
            plugin: None,
            subscriptions: Vec::new(),
            on_failure: OnFailure::Pass,
            mode: Mode::Enforce,
            budget: Budget::for_kind(kind),
            answers: Answers::USUAL,
            to_allow: None,
            trusted: true,
            digest: None,
            allow_once: false,
            default_priority: DEFAULT_PRIORITY,
        }
    }

    /// Adds a subscription to this event.
    #[must_use]
    pub fn on(mut self, event: EventName) -> Self {
        self.subscriptions.push(Subscription { priority: self.default_priority, ..Subscription::to(event) });
        self
    }

    /// Sets the failure policy (default: [`OnFailure::Pass`]).
    #[must_use]
    pub fn on_failure(mut self, policy: OnFailure) -> Self {
        self.on_failure = policy;
        self
    }

    /// Lets the hook give the answer [`allow`](crate::outcome::Action::Allow).
    #[must_use]
    pub fn allows(mut self) -> Self {
        self.answers.allow = true;
        self
    }

    /// Sets the priority at all its events, including those that [`Descriptor::on`] adds later. A lower one
    /// runs first (default: [`DEFAULT_PRIORITY`]).
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.default_priority = priority;
        for subscription in &mut self.subscriptions {
            subscription.priority = priority;
        }
        self
    }

    /// Returns true if its answers at this subscription of it have no effect.
    pub(crate) fn only_observes(&self, at: &Subscription) -> bool {
        at.observe || self.mode == Mode::Observe
    }

    /// Returns true if it subscribes to this event, at least for some tools.
    pub fn subscribes_to(&self, event: &EventName) -> bool {
        self.subscriptions.iter().any(|subscription| &subscription.event == event)
    }
}

/// The manifest that a component's `describe` returns, checked and in the host's types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// Its name, for people; the file's name is what identifies it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// One sentence.
    pub description: String,
    /// Its subscriptions.
    pub subscriptions: Vec<Subscription>,
    /// The answers that it may give.
    pub answers: Answers,
    /// The capabilities that it asks for.
    pub capabilities: Vec<Capability>,
    /// The failure policy that it asks for. The user's settings override it.
    pub on_failure: Option<OnFailure>,
    /// The schema of its settings, if it declares one.
    #[serde(default)]
    pub settings: Option<SettingsSchema>,
}

/// A hook's own settings, as `wasi:config` serves them: text stays text, anything else is JSON text.
pub type Settings = BTreeMap<String, String>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_holds_whatever_the_order_of_the_calls() {
        let hook = || Descriptor::new("a", Kind::Code);
        let event = || EventName::BeforeToolCall;
        for (order, hook, priorities) in [
            ("none", hook().on(event()), &[50][..]),
            ("first", hook().priority(5).on(event()), &[5]),
            ("last", hook().on(event()).priority(5), &[5]),
            ("between", hook().on(event()).priority(5).on(EventName::OnError), &[5, 5]),
            ("twice", hook().priority(9).on(event()).priority(5), &[5]),
        ] {
            let found: Vec<i32> = hook.subscriptions.iter().map(|it| it.priority).collect();
            assert_eq!(found, priorities, "{order}");
        }
    }
}
