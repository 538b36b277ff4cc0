//! The `matcher` of a hook of Claude Code: for which tools, or which sources, it runs.

use std::borrow::Cow;

use super::{name, payload, tool_name};
use crate::event::{ErrorSource, Event, EventData, ToolKind, kind_of_pattern};
pub use crate::pattern::Expression;
use crate::pattern::MAX_LENGTH;
use hookbox_system::text;

/// The tools that a hook of Claude Code is for; at other events the source, reason or trigger.
#[derive(Clone, Debug)]
pub struct Matcher {
    rule: Rule,
    text: String,
}

#[derive(Clone, Debug)]
enum Rule {
    All,
    Names(Vec<String>),
    /// Names, and kinds of tools.
    Kinds(Vec<String>, Vec<ToolKind>),
    Pattern(Expression),
}

/// A matcher that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a list of names or a regular expression, found \"{pattern}\": {problem}")]
pub struct MatcherError {
    /// The pattern, cut and escaped.
    pub pattern: String,
    /// The fault, on one line.
    pub problem: String,
}

impl Matcher {
    /// Reads a matcher. Empty or `*` is everything. Only letters, digits, `_`, `-`, spaces, `|` and `,` are a
    /// list of exact names, separated by `|` or `,`. A name may be a kind of tools such as `kind:shell`, in
    /// any case. Anything else is a regular expression that may match anywhere in the name.
    ///
    /// # Errors
    ///
    /// A [`MatcherError`] for a pattern that cannot be compiled within 1 MiB, or is longer than 4096 bytes.
    pub fn parse(pattern: &str) -> Result<Self, MatcherError> {
        Ok(Self { rule: Rule::parse(pattern)?, text: pattern.to_owned() })
    }

    /// Returns the matcher as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether the matcher has this name: a tool in Claude Code's words, a source, a trigger.
    pub fn matches(&self, name: &str) -> bool {
        match &self.rule {
            Rule::All => true,
            Rule::Names(names) => names.iter().any(|known| known == name),
            Rule::Kinds(names, kinds) => {
                names.iter().any(|known| known == name) || kinds.contains(&hookbox_calls::kind_of(name))
            }
            Rule::Pattern(regex) => regex.is_match(name),
        }
    }

    /// Returns true if one of its names, or its pattern, is for this tool of an MCP server, in the spelling of
    /// any agent.
    pub fn names_mcp_tool(&self, called: &str) -> bool {
        let names = match &self.rule {
            Rule::All => return false,
            Rule::Pattern(regex) => return has_tool(regex, called),
            Rule::Names(names) | Rule::Kinds(names, _) => names,
        };
        let kind = hookbox_calls::kind_of(called);
        names.iter().any(|name| hookbox_calls::is_same_mcp_tool(name, called, kind))
    }

    /// Returns whether the hook is for this event. The matcher may have any name of a tool: the agent's own,
    /// and Claude Code's. Events without anything to match (`UserPromptSubmit`, `Stop`) are for every hook.
    pub fn is_for(&self, event: &Event) -> bool {
        if let (Some(call), Some(_)) = (event.tool_call(), name(event)) {
            return names_of(&call.name).any(|name| self.matches(&name)) || self.names_mcp_tool(&call.name);
        }
        subject(event).is_none_or(|subject| self.matches(&subject))
    }
}

impl Rule {
    fn parse(pattern: &str) -> Result<Self, MatcherError> {
        let wrong = |problem: String| MatcherError { pattern: text::escape(pattern, 80), problem };
        if pattern.len() > MAX_LENGTH {
            return Err(wrong(format!("has more than {MAX_LENGTH} bytes")));
        }
        if matches!(pattern.trim(), "" | "*") {
            return Ok(Self::All);
        }
        let parts = || pattern.split(['|', ',']).map(str::trim).filter(|part| !part.is_empty());
        if parts().any(|part| kind_of_pattern(part).is_some()) {
            let (mut names, mut kinds) = (Vec::new(), Vec::new());
            for part in parts() {
                match kind_of_pattern(part) {
                    Some(Ok(kind)) => kinds.push(kind),
                    Some(Err(nearest)) => {
                        return Err(wrong(format!(
                            "unknown kind of tool{}",
                            text::or_meant(nearest.as_deref())
                        )));
                    }
                    None if is_list(part) => names.push(part.to_owned()),
                    None => return Err(wrong("a kind can be combined with names only".to_owned())),
                }
            }
            return Ok(Self::Kinds(names, kinds));
        }
        if is_list(pattern) {
            return Ok(Self::Names(parts().map(str::to_owned).collect()));
        }
        compile(pattern).map(Self::Pattern)
    }
}

/// Returns the names of a tool that a rule may have: the agent's own, and Claude Code's.
fn names_of<'a>(tool: &'a str) -> impl Iterator<Item = Cow<'a, str>> {
    let claude = hookbox_calls::claude_names(tool).map(|name| -> Cow<'a, str> { Cow::Borrowed(name) });
    // An unknown tool with such a joint is probably one of an MCP server.
    let joined = if hookbox_calls::kind_of(tool) == ToolKind::Other { tool } else { "" };
    let cuts = ["-", "__"].into_iter().filter_map(|joint| joined.split_once(joint));
    let cuts = cuts.filter(|(server, tool)| !server.is_empty() && !tool.is_empty());
    let mcp = hookbox_calls::mcp_names(tool).chain(cuts.map(|(server, tool)| (Some(server), tool)));
    let mcp = mcp.map(|(server, tool)| Cow::Owned(format!("mcp__{}__{tool}", server.unwrap_or(ANY_SERVER))));
    [Cow::Borrowed(tool), tool_name(tool)].into_iter().chain(claude).chain(mcp)
}

/// The name of a server that an agent does not tell.
const ANY_SERVER: &str = "server";

/// The number of words of a pattern that may be the name of a server.
const MAX_SERVERS: usize = 32;

/// Returns true if a pattern has one of the names of a tool. If its agent does not tell the server of an MCP
/// tool, or joins the two by one letter, the server may be each one that the pattern names.
pub(super) fn has_tool(pattern: &Expression, tool: &str) -> bool {
    let kind = hookbox_calls::kind_of(tool);
    let text = pattern.as_str().replace('\\', "");
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)));
    let mut servers = words.flat_map(|word| word.split("__")).filter(|it| !it.is_empty()).take(MAX_SERVERS);
    let is = |server: &str, tool: &str| pattern.is_match(&format!("mcp__{server}__{tool}"));
    names_of(tool).any(|name| pattern.is_match(&name))
        || servers.any(|server| hookbox_calls::tools_on(server, tool, kind).any(|tool| is(server, tool)))
}

/// Compiles a pattern of limited length and size.
pub fn compile(pattern: &str) -> Result<Expression, MatcherError> {
    Expression::compile(pattern)
        .map_err(|problem| MatcherError { pattern: text::escape(pattern, 80), problem })
}

/// Returns whether this is a name, or a list of names.
fn is_list(pattern: &str) -> bool {
    pattern.chars().all(|c| c.is_ascii_alphanumeric() || "_- |,".contains(c))
}

/// Returns the subject of a matcher at an event without a tool.
fn subject(event: &Event) -> Option<Cow<'_, str>> {
    let some = |text: &'_ Option<String>| text.clone().unwrap_or_default().into();
    Some(match &event.data {
        EventData::SessionStart { source } => payload::source(source.as_deref()).into(),
        EventData::SessionEnd { reason } => payload::reason(reason.as_deref()).into(),
        EventData::PreCompact { trigger, .. } | EventData::PostCompact { trigger, .. } => some(trigger),
        EventData::OnError(error) if matches!(error.source, ErrorSource::Turn(_)) => {
            error.kind.as_deref().unwrap_or("unknown").into()
        }
        EventData::Other { name, data } => {
            let field = match name.as_str() {
                "notification" => "notification_type",
                "permission_request" => "tool_name",
                "subagent_stop" => "agent_type",
                _ => return None,
            };
            data.get(field)?.as_str()?.into()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::event::{AgentStop, Context, ToolCall};

    #[test]
    fn a_matcher_is_everything_or_a_list_or_a_pattern() {
        for (pattern, yes, no) in [
            ("", &["Bash", ""][..], &[][..]),
            ("*", &["Bash", "mcp__a__b"], &[]),
            ("Bash", &["Bash"], &["bash", "BashOutput", "MyBash"]),
            ("Edit|Write", &["Edit", "Write"], &["NotebookEdit", "MultiEdit", "Edit|Write"]),
            (" Edit , Write |", &["Edit", "Write"], &["", " "]),
            ("my-tool", &["my-tool"], &["my-tool-2"]),
            ("Notebook.*", &["NotebookEdit", "NotebookRead", "MyNotebook"], &["Edit"]),
            ("^Bash$", &["Bash"], &["BashOutput"]),
            ("Edit.?", &["Edit", "MultiEdit", "Edits"], &["Write"]),
            ("Kind: Shell|Edit", &["bash", "run_shell_command", "Edit"], &["Write", "MultiEdit"]),
            ("mcp__.*__write", &["mcp__fs__write_file"], &["mcp__fs__read"]),
            ("^(?!Read$)", &["Bash", "ReadMcp"], &["Read"]),
            ("^(?!.*__delete)mcp__", &["mcp__a__b"], &["mcp__a__delete", "Bash"]),
        ] {
            let matcher = Matcher::parse(pattern).unwrap();
            for name in yes {
                assert!(matcher.matches(name), "{pattern:?} {name:?}");
            }
            for name in no {
                assert!(!matcher.matches(name), "{pattern:?} {name:?}");
            }
        }
    }

    #[test]
    fn a_pattern_that_cannot_be_used_says_why() {
        for (pattern, want) in [
            ("Bash(", "unclosed group"),
            ("kind:shel", "did you mean kind:shell?"),
            ("kind:shell|Ba.*", "combined with names only"),
            ("(\\w{1000}){1000}", "size"),
            ("\u{1b}[", "unclosed character class"),
        ] {
            let error = Matcher::parse(pattern).unwrap_err();
            assert!(error.problem.contains(want), "{error}");
            assert!(!error.to_string().contains(['\n', '\u{1b}']), "{error}");
        }
        assert!(Matcher::parse(&"(".repeat(3000)).is_err());
        assert!(Matcher::parse(&"x".repeat(5000)).unwrap_err().problem.contains("4096"));
    }

    #[test]
    fn a_pattern_takes_no_time_on_a_name_made_for_it() {
        let matcher = Matcher::parse("(a*)*b$").unwrap();
        assert!(!matcher.matches(&"a".repeat(100_000)));
        // With look-around it takes a bounded number of steps, and then it is for the tool.
        let matcher = Matcher::parse("^(?!x)(a*)*\\1b$").unwrap();
        assert!(matcher.matches(&"a".repeat(1_000)));
    }

    #[test]
    fn a_tool_is_meant_by_each_of_its_names_and_other_events_by_their_source() {
        let is_for = |pattern: &str, data| {
            let event = Event { context: Arc::new(Context::new("s", "/w")), data };
            Matcher::parse(pattern).unwrap().is_for(&event)
        };
        let call = |name: &str| EventData::BeforeToolCall(ToolCall::new(name, Value::Null));
        for (pattern, data, want) in [
            ("Bash", call("run_shell_command"), true),
            ("run_shell_command", call("run_shell_command"), true),
            ("Write", call("run_shell_command"), false),
            ("Edit|Write", call("apply_patch"), true),
            ("Task", call("subagent"), true),
            ("mcp__t__echo", call("mcp_t_echo"), true),
            ("mcp__my_server__.*", call("mcp_my_server_tool"), true),
            ("mcp__t__echo", call("mcp_t_other"), false),
            ("mcp__git_hub__.*", call("MCP:create_issue"), true),
            ("mcp__.*", call("MCP:create_issue"), true),
            ("mcp__(git_hub|x)__create_.*", call("git-hub-create_issue"), true),
            ("mcp__git-hub__.*", call("git_hub_create_issue"), true),
            ("mcp__git_hub__delete.*", call("git_hub_create_issue"), false),
            ("mcp__other__.*", call("git-hub-create_issue"), false),
            ("mcp__.*", call("github-create_issue"), true),
            ("mcp__.*", call("github__create_issue"), true),
            ("^mcp__github__create_issue$", call("github__create_issue"), true),
            ("mcp__.*", call("update_plan"), false),
            ("Bash", call(""), false),
            ("startup|clear", EventData::SessionStart { source: Some("rotate".into()) }, true),
            ("resume", EventData::SessionStart { source: None }, false),
            ("other", EventData::SessionEnd { reason: Some("exit".into()) }, true),
            ("nothing", EventData::AgentStop(AgentStop::default()), true),
            ("nothing", EventData::UserMessageSend { message: None }, true),
            (
                "idle_prompt",
                EventData::Other {
                    name: "notification".into(),
                    data: json!({"notification_type": "idle_prompt"}).as_object().unwrap().clone(),
                },
                true,
            ),
        ] {
            let shown = format!("{pattern} {data:?}");
            assert_eq!(is_for(pattern, data), want, "{shown}");
        }
    }
}
