//! The rule of a matcher, in the forms that agents have.

use super::payload::cause;
use crate::dialect::claude::{self, Expression, MatcherError, compile};
use crate::event::{ErrorSource, Event, EventData};

/// The tools that a hook is for; at other events the source, reason or trigger.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    /// Everything.
    All,
    /// A list of exact names, or an expression: Claude Code's rule.
    Names(claude::Matcher),
    /// An expression that may match anywhere in a tool's name; at other events the exact word.
    Word { word: String, regex: Expression },
    /// Names, also those that a tool has beside its own, and an expression that may match anywhere in its own
    /// name.
    Listed { names: Vec<String>, regex: Option<Expression> },
    /// An expression.
    Regex(Expression),
}

impl Rule {
    /// Reads a pattern by Claude Code's rule.
    pub(crate) fn names(pattern: &str) -> Result<Self, MatcherError> {
        claude::Matcher::parse(pattern).map(Self::Names)
    }

    /// Reads an expression that may match anywhere.
    pub(crate) fn regex(pattern: &str) -> Result<Self, MatcherError> {
        compile(pattern).map(Self::Regex)
    }
}

/// Returns the word that a matcher is compared with at an event without a tool.
pub(crate) fn subject(event: &Event) -> Option<String> {
    match &event.data {
        EventData::Other { data, .. } => Some(data.get("notification_type")?.as_str()?.to_owned()),
        EventData::SessionStart { source } => Some(cause(source.as_deref(), "startup").to_owned()),
        EventData::SessionEnd { reason } => Some(cause(reason.as_deref(), "other").to_owned()),
        EventData::PreCompact { trigger, .. } | EventData::PostCompact { trigger, .. } => trigger.clone(),
        EventData::OnError(error) if matches!(error.source, ErrorSource::Turn(_)) => {
            Some(error.kind.clone().unwrap_or_else(|| "unknown".to_owned()))
        }
        _ => None,
    }
}
