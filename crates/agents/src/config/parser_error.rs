//! The errors of the agents' own parsers, which are stricter than the one that edits. The agent then runs no
//! hook of the file, or does not start.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::document::without_comments;
use crate::spec::Spec;
use crate::text;

/// A byte order mark.
const MARK: char = '\u{feff}';

/// Returns the reason why an agent does not read these bytes as its configuration, with line and column. An
/// empty file is not an error, and neither is anything in a file of an agent whose parser is not known.
///
/// Seen in Claude Code 2.1 and Copilot CLI 1.0, which read JSON, and in Gemini CLI 0.61 and Qwen Code 0.24,
/// which read JSON with comments. Only Claude Code and Qwen Code read a byte order mark.
pub(crate) fn parser_error(spec: &Spec, bytes: &[u8]) -> Option<String> {
    let parser = spec.config.parser?;
    let Ok(whole) = str::from_utf8(bytes) else { return Some("it is not UTF-8".to_owned()) };
    let text = whole.strip_prefix(MARK).unwrap_or(whole);
    if text.len() < whole.len() && !parser.reads_mark {
        return Some(format!("line 1, column 1: {} reads no file with a byte order mark", spec.title));
    }
    if spec.config.is_toml {
        return (parser.check)(text);
    }
    let plain = if spec.config.reads_comments { without_comments(text) } else { Cow::Borrowed(text) };
    if plain.chars().all(char::is_whitespace) {
        return None;
    }
    match serde_json::from_str::<IgnoredAny>(&plain) {
        Ok(_) => (parser.check)(&plain),
        Err(error) => Some(json_error(&error, spec.title)),
    }
}

/// Returns an error of a JSON parser with its position.
pub(crate) fn json_error(error: &serde_json::Error, title: &str) -> String {
    let whole = error.to_string();
    let what = whole.rsplit_once(" at line ").map_or(whole.as_str(), |(what, _)| what);
    let (line, column) = (error.line(), error.column());
    format!("line {line}, column {column}: {}, which {title} does not read", text::escape(what, 300))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agent;
    use crate::config::document::ConfigText;

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
                let found = parser_error(agent.spec(), text.as_bytes());
                assert_eq!(found.is_some(), agents.contains(&agent), "{agent} {text:?} {found:?}");
                assert!(found.is_none_or(|it| it.contains("line 1, column")), "{agent} {text:?}");
            }
        }
        assert_eq!(parser_error(Agent::Cursor.spec(), "\u{feff}{\"a\": 1,} // x".as_bytes()), None);
        let error =
            parser_error(Agent::Gemini.spec(), "{\n  // \u{e9} \"\n  \"a\": 1,\n}".as_bytes()).unwrap();
        assert!(error.starts_with("line 4, column 1: "), "{error}");
        assert!(parser_error(Agent::Claude.spec(), b"\xff").is_some());
    }

    #[test]
    fn what_is_refused_here_is_read_by_the_parser_that_edits() {
        for (agent, text) in [
            (Agent::Claude, "{\"a\": \"x\ty\"}"),
            (Agent::Codex, "\u{feff}{\"version\": 1}"),
            (Agent::Gemini, "{\"a\": 1,}"),
        ] {
            assert!(
                ConfigText::new(agent.spec(), text.as_bytes()).unwrap().tree().is_ok()
                    && parser_error(agent.spec(), text.as_bytes()).is_some()
            );
        }
    }
}
