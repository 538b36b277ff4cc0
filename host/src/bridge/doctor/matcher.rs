//! Whether an agent's matcher reaches its shell tool.

use crate::dialect::agent::{Agent, AgentEvent};
use crate::dialect::claude;

/// How large a compiled pattern may be, in bytes.
const MAX_SIZE: usize = 1 << 20;

/// What Qwen Code calls its shell tool beside its id; these are compared exactly.
const ALSO_IN_QWEN: [&str; 3] = ["Bash", "Shell", "ShellTool"];

/// Whether a matcher of this agent is for its shell tool at this event.
///
/// # Errors
///
/// Why nobody can say: it is no regular expression that is known here.
pub(super) fn reaches_shell(agent: Agent, event: &AgentEvent, matcher: Option<&str>) -> Result<bool, String> {
    let Some(pattern) = matcher.map(str::trim).filter(|it| !matches!(*it, "" | "*")) else { return Ok(true) };
    let tool = agent.shell_tool(event);
    let as_claude =
        || claude::Matcher::parse(pattern).map(|it| it.matches(tool)).map_err(|error| error.problem);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-|".contains(c);
    match agent {
        Agent::Claude => as_claude(),
        Agent::Codex if pattern.chars().all(is_name) => as_claude(),
        Agent::Copilot if event.name != "preToolUse" => as_claude(),
        Agent::Copilot => is_match(&format!("^(?:{pattern})$"), tool),
        Agent::Codex | Agent::Gemini | Agent::Cursor | Agent::OpenCode => is_match(pattern, tool),
        Agent::Qwen => {
            let mut words = pattern.split('|').map(str::trim);
            let named =
                |word: &str| word == tool || word == ".*" || word == "*" || ALSO_IN_QWEN.contains(&word);
            let is_list = !pattern.starts_with(['^', '(']);
            if is_list && words.any(named) { Ok(true) } else { is_match(pattern, tool) }
        }
    }
}

fn is_match(pattern: &str, tool: &str) -> Result<bool, String> {
    let built = regex::RegexBuilder::new(pattern).size_limit(MAX_SIZE).dfa_size_limit(MAX_SIZE).build();
    built.map(|regex| regex.is_match(tool)).map_err(|error| {
        let said = error.to_string();
        crate::text::escape(said.lines().last().unwrap_or_default().trim(), 200)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matcher_reaches_the_shell_tool_by_the_rules_of_its_agent() {
        for (agent, event, pattern, want) in [
            (Agent::Claude, "PreToolUse", "Bash", Ok(true)),
            (Agent::Claude, "PreToolUse", "Edit|Bash", Ok(true)),
            (Agent::Claude, "PreToolUse", "Ba.*", Ok(true)),
            (Agent::Claude, "PreToolUse", "bash", Ok(false)),
            (Agent::Claude, "PreToolUse", "Edit|Write", Ok(false)),
            (Agent::Claude, "PreToolUse", "*", Ok(true)),
            (Agent::Claude, "PreToolUse", "Bash(", Err(())),
            (Agent::Claude, "PreToolUse", "(?!Edit).*", Err(())),
            (Agent::Codex, "PreToolUse", "Bas", Ok(false)),
            (Agent::Codex, "PreToolUse", "^Bas", Ok(true)),
            (Agent::Gemini, "BeforeTool", "shell", Ok(true)),
            (Agent::Gemini, "BeforeTool", "Bash", Ok(false)),
            (Agent::Qwen, "PreToolUse", "Bash", Ok(true)),
            (Agent::Qwen, "PreToolUse", "Edit | Bash", Ok(true)),
            (Agent::Qwen, "PreToolUse", "write_.*", Ok(false)),
            (Agent::Copilot, "preToolUse", "bash", Ok(true)),
            (Agent::Copilot, "preToolUse", "bas", Ok(false)),
            (Agent::Copilot, "PreToolUse", "Bash", Ok(true)),
            (Agent::Cursor, "preToolUse", "Shell|Read", Ok(true)),
            (Agent::Cursor, "preToolUse", "Read", Ok(false)),
        ] {
            let found = reaches_shell(agent, agent.event(event).unwrap(), Some(pattern)).map_err(|_| ());
            assert_eq!(found, want, "{agent} {pattern}");
        }
        assert_eq!(reaches_shell(Agent::Cursor, Agent::Cursor.event("preToolUse").unwrap(), None), Ok(true));
    }
}
