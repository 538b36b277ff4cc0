//! The errors of the agents' own parsers, which are stricter than the one that edits. The agent then runs no
//! hook of the file, or does not start.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::agent::Agent;
use crate::agent::comments::without_comments;
use crate::text;

/// A byte order mark.
const MARK: char = '\u{feff}';

/// Returns the reason why an agent does not read these bytes as its configuration, with line and column. An
/// empty file is no error. Cursor's parser is not known: nothing is an error there.
///
/// Claude Code 2.1 and Copilot CLI 1.0 read JSON, Gemini CLI 0.61 and Qwen Code 0.24 JSON with comments.
/// Codex 0.169 also refuses a key beside `hooks` and `description`, and any malformed entry. Only Claude Code
/// and Qwen Code read a byte order mark. Claude Code also ignores a file in which any setting has another
/// type than it expects; of these only the settings about hooks and permissions are checked here.
pub fn parser_error(agent: Agent, bytes: &[u8]) -> Option<String> {
    let Ok(whole) = str::from_utf8(bytes) else { return Some("it is not UTF-8".to_owned()) };
    let takes_mark = match agent {
        Agent::Claude | Agent::Qwen => true,
        Agent::Codex | Agent::Gemini | Agent::Copilot => false,
        Agent::Cursor | Agent::OpenCode => return None,
    };
    let text = whole.strip_prefix(MARK).unwrap_or(whole);
    if text.len() < whole.len() && !takes_mark {
        return Some(format!("line 1, column 1: {} reads no file with a byte order mark", agent.title()));
    }
    let plain = if agent.takes_comments() { without_comments(text) } else { Cow::Borrowed(text) };
    if plain.chars().all(char::is_whitespace) {
        return None;
    }
    let read = match agent {
        Agent::Codex => serde_json::from_str::<CodexFile>(&plain).map(drop),
        _ => serde_json::from_str::<IgnoredAny>(&plain).map(drop),
    };
    let Err(error) = read else { return claude(&plain).filter(|_| agent == Agent::Claude) };
    let whole = error.to_string();
    let what = whole.rsplit_once(" at line ").map_or(whole.as_str(), |(what, _)| what);
    let (line, column) = (error.line(), error.column());
    Some(format!(
        "line {line}, column {column}: {}, which {} does not read",
        text::escape(what, 300),
        agent.title()
    ))
}

/// The type of a setting.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Boolean,
    Object,
    Strings,
}

/// Settings of Claude Code about hooks and permissions, by their JSON pointer.
const CLAUDE: [(&str, Kind); 8] = [
    ("/allowManagedHooksOnly", Kind::Boolean),
    ("/disableAllHooks", Kind::Boolean),
    ("/env", Kind::Object),
    ("/hooks", Kind::Object),
    ("/permissions", Kind::Object),
    ("/permissions/allow", Kind::Strings),
    ("/permissions/ask", Kind::Strings),
    ("/permissions/deny", Kind::Strings),
];

/// Returns the first of these settings that has another type than Claude Code expects.
fn claude(text: &str) -> Option<String> {
    let settings: Value = serde_json::from_str(text).ok()?;
    let expected = |kind: Kind, value: &Value| match kind {
        Kind::Boolean => (!value.is_boolean()).then_some("true or false"),
        Kind::Object => (!value.is_object()).then_some("an object"),
        Kind::Strings => {
            let is_list = value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
            (!is_list).then_some("a list of strings")
        }
    };
    CLAUDE.into_iter().find_map(|(pointer, kind)| {
        let expected = expected(kind, settings.pointer(pointer)?)?;
        let name = pointer.trim_start_matches('/').replace('/', ".");
        Some(format!(
            "expected {expected} for \"{name}\"; with anything else Claude Code ignores the whole file"
        ))
    })
}

/// Codex's `hooks.json`. A duplicate key is an error here as there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only whether it can be parsed counts")]
struct CodexFile {
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    hooks: CodexEvents,
}

/// Its events. Codex ignores others.
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
#[expect(dead_code, reason = "only whether it can be parsed counts")]
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
    use crate::config::Document;

    #[test]
    fn what_the_agents_parser_refuses_is_refused_with_its_place() {
        let all = [Agent::Claude, Agent::Codex, Agent::Copilot, Agent::Gemini, Agent::Qwen];
        for (text, agents) in [
            ("{\"hooks\": {\"Unheard\": \"a\tb\"}}", &all[..]),
            ("{\"hooks\":\u{a0}{}}", &all),
            ("{\"hooks\":\u{b}{}}", &all),
            ("\u{feff}\u{feff}{}", &all),
            ("\u{feff}{}", &[Agent::Codex, Agent::Copilot, Agent::Gemini]),
            ("{\"hooks\": {},}", &all),
            ("{\"hooks\": {/* x */}} // y\n", &[Agent::Claude, Agent::Codex, Agent::Copilot]),
            ("{\"hooks\": {}, \"version\": 1}", &[Agent::Codex]),
            ("{\"hooks\": {}, \"description\": 1}", &[Agent::Codex]),
            ("{\"hooks\": {}, \"description\": null}", &[]),
            ("{\"hooks\": {\"Unheard\": [5], \"state\": {}}}", &[]),
            ("{}", &[]),
            (" \n", &[]),
        ] {
            for agent in all {
                let found = parser_error(agent, text.as_bytes());
                assert_eq!(found.is_some(), agents.contains(&agent), "{agent} {text:?} {found:?}");
                assert!(found.is_none_or(|it| it.contains("line 1, column")), "{agent} {text:?}");
            }
        }
        assert_eq!(parser_error(Agent::Cursor, "\u{feff}{\"a\": 1,} // x".as_bytes()), None);
        let error = parser_error(Agent::Gemini, "{\n  // \u{e9} \"\n  \"a\": 1,\n}".as_bytes()).unwrap();
        assert!(error.starts_with("line 4, column 1: "), "{error}");
        assert!(parser_error(Agent::Claude, b"\xff").is_some());
    }

    #[test]
    fn a_setting_of_another_type_makes_claude_code_leave_the_whole_file_out() {
        for (text, want) in [
            (r#"{"disableAllHooks": "yes"}"#, Some("true or false for \"disableAllHooks\"")),
            (
                r#"{"permissions": {"allow": ["Bash", 5]}}"#,
                Some("a list of strings for \"permissions.allow\""),
            ),
            (r#"{"permissions": []}"#, Some("an object for \"permissions\"")),
            (r#"{"hooks": null}"#, Some("an object for \"hooks\"")),
            (r#"{"env": {"A": 1}, "model": "x", "unheard": [null]}"#, None),
        ] {
            let found = parser_error(Agent::Claude, text.as_bytes());
            assert_eq!(found.is_some(), want.is_some(), "{text} {found:?}");
            assert!(found.is_none_or(|it| it.contains(want.unwrap())), "{text}");
            assert_eq!(parser_error(Agent::Gemini, text.as_bytes()), None, "{text}");
        }
    }

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
            let found = parser_error(Agent::Codex, text.as_bytes());
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
            assert_eq!(parser_error(Agent::Codex, text.as_bytes()).is_none(), is_read, "{text}");
        }
    }

    #[test]
    fn all_that_hookbox_knows_of_an_event_of_codex_is_checked() {
        for event in Agent::Codex.events() {
            let text = format!("{{\"hooks\": {{\"{}\": [5]}}}}", event.name);
            assert!(parser_error(Agent::Codex, text.as_bytes()).is_some(), "{text}");
        }
    }

    #[test]
    fn what_is_refused_here_is_read_by_the_parser_that_edits() {
        for (agent, text) in [
            (Agent::Claude, "{\"a\": \"x\ty\"}"),
            (Agent::Codex, "\u{feff}{\"version\": 1}"),
            (Agent::Gemini, "{\"a\": 1,}"),
        ] {
            assert!(
                Document::parse(agent, text.as_bytes()).is_ok()
                    && parser_error(agent, text.as_bytes()).is_some()
            );
        }
    }
}
