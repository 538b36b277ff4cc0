//! The parts that Gemini CLI and Qwen Code share.

pub(crate) mod folder_trust;

use crate::agent::disable_settings::{DisableSetting, LeavesOut};
use crate::dialect::claude::{self, Style, Text};
use crate::dialect::hook_output;
use crate::event::EventName;
use crate::hook::HookError;
use crate::outcome::Outcome;
use crate::spec::Ended;

/// The setting that switches all hooks off.
pub(crate) const ENABLED: DisableSetting = DisableSetting {
    within: Some("hooksConfig"),
    key: "enabled",
    leaves_out: LeavesOut::All(false),
    shown: "\"hooksConfig\": {\"enabled\": false}",
};

/// The setting that switches single hooks off.
pub(crate) const DISABLED: DisableSetting = DisableSetting {
    within: Some("hooksConfig"),
    key: "disabled",
    leaves_out: LeavesOut::Named,
    shown: "\"hooksConfig\": {\"disabled\": […]}",
};

/// The style of an answer in Qwen Code. Gemini CLI's differs in a few fields.
pub(crate) const STYLE: Style = Style {
    approving: &["approve", "allow", "ask"],
    decisions: "\"block\", \"deny\", \"ask\", \"allow\" or \"approve\"",
    allows: false,
    names_event: false,
    text: Text::Context,
    ..claude::CLAUDE
};

/// Reads the answer of a hook that ended with status 0. Without standard output, the answer may be on
/// standard error. An answer may also be JSON in a string.
pub(crate) fn printed(event: &EventName, ended: Ended<'_>, style: &Style) -> Result<Outcome, HookError> {
    let stdout = ended.stdout;
    let inner =
        serde_json::from_slice::<String>(stdout.trim_ascii()).ok().filter(|it| it.trim().starts_with('{'));
    if let Some(inner) = inner {
        return claude::read(event, inner.as_bytes(), style);
    }
    if stdout.trim_ascii().is_empty()
        && let Some(answer) = answer_in(ended.stderr.as_bytes(), event, style)
    {
        return Ok(answer);
    }
    claude::read(event, stdout, style)
}

/// Returns the answer in an output, if there is one.
pub(crate) fn answer_in(printed: &[u8], event: &EventName, style: &Style) -> Option<Outcome> {
    let is_object = hook_output::trim(&String::from_utf8_lossy(printed)).starts_with('{');
    is_object.then(|| claude::read(event, printed, style).ok()).flatten()
}
