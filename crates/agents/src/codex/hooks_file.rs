//! Codex's `hooks.json`, as its parser reads it (0.169). It refuses the whole file for an unknown key beside
//! `hooks` and `description`, and for any malformed entry, and then runs no hook.

use serde::Deserialize;

use super::SPEC;
use crate::config::json_error;

/// Returns the reason why Codex refuses this file.
pub(super) fn check(text: &str) -> Option<String> {
    serde_json::from_str::<CodexFile>(text).err().map(|error| json_error(&error, SPEC.title))
}

/// The file. A duplicate key is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the errors of the parser count")]
struct CodexFile {
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    hooks: CodexEvents,
}

/// The events. Codex ignores others.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct CodexEvents {
    pre_tool_use: Vec<CodexGroup>,
    permission_request: Vec<CodexGroup>,
    post_tool_use: Vec<CodexGroup>,
    pre_compact: Vec<CodexGroup>,
    post_compact: Vec<CodexGroup>,
    session_start: Vec<CodexGroup>,
    session_end: Vec<CodexGroup>,
    user_prompt_submit: Vec<CodexGroup>,
    subagent_start: Vec<CodexGroup>,
    subagent_stop: Vec<CodexGroup>,
    stop: Vec<CodexGroup>,
    interrupt: Vec<CodexGroup>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CodexGroup {
    matcher: Option<String>,
    hooks: Vec<CodexEntry>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "only the errors of the parser count")]
enum CodexEntry {
    #[serde(rename_all = "camelCase")]
    Command {
        command: String,
        #[serde(default, alias = "command_windows")]
        command_windows: Option<String>,
        #[serde(default)]
        timeout: Option<u64>,
        #[serde(default)]
        r#async: bool,
        #[serde(default)]
        status_message: Option<String>,
    },
    McpTool {},
    Prompt {},
    Agent {},
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_of_codex_is_what_it_expects_or_it_runs_none() {
        for (list, want) in [
            ("[]", None),
            ("5", Some("invalid type")),
            ("null", Some("invalid type")),
            ("[5]", Some("invalid type")),
            ("[], \"Stop\": []", Some("duplicate field")),
            ("[{}]", None),
            ("[{\"matcher\": null, \"other\": 1, \"other\": 2}]", None),
            ("[{\"matcher\": \"a\", \"matcher\": \"b\"}]", Some("duplicate field")),
            ("[{\"matcher\": 5}]", Some("invalid type")),
            ("[{\"hooks\": null}]", Some("invalid type")),
            ("[{\"hooks\": [{\"type\": \"prompt\"}, {\"type\": \"agent\", \"x\": 1}]}]", None),
            ("[{\"hooks\": [{\"type\": \"http\", \"url\": \"x\"}]}]", Some("unknown variant")),
            ("[{\"hooks\": [{\"command\": \"x\"}]}]", Some("missing field")),
            ("[{\"hooks\": [{\"type\": \"command\"}]}]", Some("missing field")),
        ] {
            let text = format!("{{\"hooks\": {{\"Stop\": {list}}}}}");
            let found = check(&text);
            match want {
                None => assert_eq!(found, None, "{text}"),
                Some(want) => assert!(found.as_ref().is_some_and(|it| it.contains(want)), "{text} {found:?}"),
            }
        }
        for (keys, is_read) in [
            ("\"timeout\": 5", true),
            ("\"timeout\": null", true),
            ("\"timeout\": 1.5", false),
            ("\"timeout\": \"5\"", false),
            ("\"timeout\": -1", false),
            ("\"timeoutSec\": \"5\"", true),
            ("\"async\": \"x\"", false),
            ("\"statusMessage\": 5", false),
            ("\"status_message\": 5", true),
            ("\"commandWindows\": 5", false),
            ("\"command_windows\": 5", false),
            ("\"command\": \"y\"", false),
            ("\"type\": \"command\"", false),
            ("\"other\": [1]", true),
        ] {
            let entry = format!("{{\"type\": \"command\", \"command\": \"x\", {keys}}}");
            let text = format!("{{\"hooks\": {{\"Stop\": [{{\"hooks\": [{entry}]}}]}}}}");
            assert_eq!(check(&text).is_none(), is_read, "{text}");
        }
    }

    #[test]
    fn all_that_hookbox_knows_of_an_event_of_codex_is_checked() {
        for event in SPEC.events {
            let text = format!("{{\"hooks\": {{\"{}\": [5]}}}}", event.name);
            assert!(check(&text).is_some(), "{text}");
        }
    }
}
