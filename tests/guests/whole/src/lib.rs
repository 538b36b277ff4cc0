//! The job of `floor` as a hook: it reads the whole input of a tool as text, parses it and looks at one field.

use hookbox_sdk::prelude::*;

/// The hook.
pub struct Whole;

impl Hook for Whole {
    fn manifest() -> Manifest {
        Manifest::new("whole", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::BeforeToolCall)
    }

    fn before_tool_call(_cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let input: serde_json::Value = serde_json::from_str(&call.input.text())?;
        let command = input.pointer("/command").and_then(serde_json::Value::as_str).unwrap_or_default();
        Ok(["rm -rf", "sudo", "curl | bash", "wget | sh"]
            .into_iter()
            .find(|denied| command.contains(denied))
            .map_or_else(Answer::pass, |denied| {
                Answer::block(format!("Security policy: '{denied}' is not allowed"))
            }))
    }
}

hookbox_sdk::export_hook!(Whole);
