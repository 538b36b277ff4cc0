//! Decides when to warn, when to rotate, and which calls are large work.

use hookbox_sdk::prelude::*;

/// The user's settings.
#[derive(Debug, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    /// At this share of the window there is a warning, from 0 to 1.
    pub(crate) warn: f64,
    /// At this share the session is rotated.
    pub(crate) rotate: f64,
    /// These calls are large work: kinds, or names of tools.
    block: Vec<String>,
    /// A file that is larger than this is large work to read, in bytes; 0: none is.
    max_read: u64,
    /// True to give the handoff to the fresh session.
    pub(crate) inject: bool,
    /// The age from which a handoff is not given any more, in seconds.
    pub(crate) fresh: u32,
    /// The issue that is worked on.
    pub(crate) issue: String,
    /// So many texts of each kind are handed over.
    pub(crate) max_items: usize,
    /// So many bytes are handed over.
    pub(crate) max_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            warn: 0.7,
            rotate: 0.8,
            block: vec!["fetch".to_owned(), "agent".to_owned()],
            max_read: 64 * 1024,
            inject: true,
            fresh: 86_400,
            issue: String::new(),
            max_items: 8,
            max_bytes: 4096,
        }
    }
}

/// The used part of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Not so much that anybody must know.
    Below,
    /// So much that the agent should come to an end.
    Warn,
    /// So much that the session is rotated.
    Rotate,
}

impl Settings {
    pub(crate) fn level(&self, spent: f64) -> Level {
        if spent >= self.rotate {
            Level::Rotate
        } else if spent >= self.warn {
            Level::Warn
        } else {
            Level::Below
        }
    }

    /// Returns whether a call adds much to the conversation.
    pub(crate) fn is_large(&self, call: &ToolCall, size: impl Fn(&str) -> Option<u64>) -> bool {
        if self.block.iter().any(|name| name == call.kind.as_str() || name.eq_ignore_ascii_case(&call.name)) {
            return true;
        }
        // A read with a limit is not large work.
        let whole = || call.input.get::<u64>("/limit").ok().flatten().is_none();
        let files =
            || call.paths.iter().filter_map(|found| size(&found.path)).fold(0_u64, u64::saturating_add);
        call.kind == ToolKind::Read && self.max_read > 0 && whole() && files() > self.max_read
    }
}

/// The share of the window that is spent, by the usage, else the budget, else the threshold that was passed.
pub(crate) fn spent(cx: &Context, usage: Option<Usage>, threshold: Option<f64>) -> Option<f64> {
    #[allow(clippy::cast_precision_loss, reason = "windows are far smaller than 2^53 tokens")]
    let budget = || {
        let budget = cx.budget.filter(|budget| budget.effective_limit > 0)?;
        Some(budget.used_tokens as f64 / budget.effective_limit as f64)
    };
    let spent = usage.and_then(|usage| usage.ratio()).or_else(budget).or(threshold);
    spent.filter(|spent| spent.is_finite())
}

fn percent(share: f64) -> String {
    format!("{:.0}%", (share * 100.0).clamp(0.0, 999.0))
}

/// The reason why a call is blocked.
pub(crate) fn exceeded(spent: f64) -> String {
    format!(
        "Token budget exceeded at {} of effective window; rotate session before continuing.",
        percent(spent)
    )
}

/// Returns the warning for the agent while there is still room.
pub(crate) fn warning(spent: f64, settings: &Settings) -> String {
    format!(
        "{} of the token budget is spent. Finish the step at hand, and note what is open as lines that begin with \
         `Next step:`, `Blocker:` or `Decision:`; at {} the session is rotated.",
        percent(spent),
        percent(settings.rotate)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookbox_sdk::TokenBudget;

    #[test]
    fn a_level_is_reached_at_its_share() {
        let settings = Settings::default();
        for (spent, expected) in [
            (0.0, Level::Below),
            (0.69, Level::Below),
            (0.7, Level::Warn),
            (0.8, Level::Rotate),
            (2.0, Level::Rotate),
        ] {
            assert_eq!(settings.level(spent), expected, "{spent}");
        }
    }

    #[test]
    fn what_is_spent_is_what_the_event_says_best() {
        let usage = |now, max| {
            Some(Usage { current_context_window: now, max_context_window: max, ..Usage::default() })
        };
        let cx = |used_tokens, effective_limit| Context {
            budget: Some(TokenBudget { used_tokens, effective_limit }),
            ..Context::default()
        };
        for (cx, usage, threshold, expected) in [
            (cx(1, 4), usage(1, 2), Some(0.8), Some(0.5)),
            (cx(1, 4), usage(1, 0), Some(0.8), Some(0.25)),
            (cx(1, 0), None, Some(0.8), Some(0.8)),
            (Context::default(), None, None, None),
            (Context::default(), None, Some(f64::NAN), None),
        ] {
            assert_eq!(spent(&cx, usage, threshold), expected);
        }
    }

    #[test]
    fn large_work_is_what_the_settings_say_and_what_is_large() {
        let size = |path: &str| match path {
            "/big" => Some(100_000),
            "/half" => Some(40_000),
            _ => None,
        };
        let none = Settings { block: Vec::new(), max_read: 0, ..Settings::default() };
        let named = Settings { block: vec!["shell".into(), "MyTool".into()], ..Settings::default() };
        for (settings, name, input, expected) in [
            (Settings::default(), "WebFetch", json!({"url": "http://x"}), true),
            (Settings::default(), "Task", json!({}), true),
            (Settings::default(), "Bash", json!({"command": "ls"}), false),
            (Settings::default(), "Read", json!({"file_path": "/big"}), true),
            (Settings::default(), "Read", json!({"file_path": "/big", "limit": 50}), false),
            (Settings::default(), "Read", json!({"file_path": "/half"}), false),
            (Settings::default(), "Read", json!({"file_path": "/unknown"}), false),
            (Settings::default(), "Edit", json!({"file_path": "/big"}), false),
            (none, "Read", json!({"file_path": "/big"}), false),
            (named, "Bash", json!({"command": "ls"}), true),
            (Settings { block: vec!["mytool".into()], ..Settings::default() }, "MyTool", json!({}), true),
        ] {
            assert_eq!(
                settings.is_large(&ToolCall::new(name, input.clone()), size),
                expected,
                "{name} {input}"
            );
        }
    }

    #[test]
    fn the_texts_say_how_much_is_spent() {
        let reason = "Token budget exceeded at 82% of effective window; rotate session before continuing.";
        assert_eq!(exceeded(0.82), reason);
        assert!(exceeded(1e300).contains("999%"));
        assert!(warning(0.723, &Settings::default()).starts_with("72% of the token budget"));
    }
}
