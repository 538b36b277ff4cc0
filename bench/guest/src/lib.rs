//! The job of the test guest `floor` as a plugin of Extism: it gets the whole payload, parses it and looks at one
//! field.

#![allow(missing_docs, reason = "the macro writes a function without documentation")]

use extism_pdk::{FnResult, plugin_fn};

/// Returns the reason to block a call, or an empty text.
#[plugin_fn]
pub fn check(payload: String) -> FnResult<String> {
    let payload: serde_json::Value = serde_json::from_str(&payload)?;
    let command = payload.pointer("/tool_input/command").and_then(|it| it.as_str()).unwrap_or_default();
    let denied =
        ["rm -rf", "sudo", "curl | bash", "wget | sh"].into_iter().find(|denied| command.contains(denied));
    Ok(denied.map_or_else(String::new, |denied| format!("Security policy: '{denied}' is not allowed")))
}
