//! The `matcher` of a hook of each agent: for which tools, or which sources, it runs.

use regex::Regex;

use super::{event, javascript};
use crate::agent::tools as tool;
use crate::agent::{Agent, is_pascal};
use crate::dialect::claude::{self, MatcherError, compile};
use crate::event::{ErrorSource, Event, EventData, InvokedBy, ToolKind};
use crate::qwen::aliases::aliases;
use crate::text;

/// Which tools a hook of an agent is for; at other events which source, reason or trigger.
#[derive(Clone, Debug)]
pub struct Matcher {
    agent: Agent,
    /// The agent's name of the event.
    name: String,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    All,
    /// Claude Code's: a list of exact names, or an expression.
    Claude(claude::Matcher),
    /// An expression that may match anywhere in a tool's name; elsewhere the very word.
    Gemini {
        word: String,
        regex: Regex,
    },
    /// Names, of which a tool may have several, and an expression that may match anywhere in its own.
    Qwen {
        names: Vec<String>,
        regex: Option<Regex>,
    },
    /// An expression.
    Regex(Regex),
}

impl Matcher {
    /// Reads a matcher as the agent reads it at its event of this name. Empty or `*` is everything.
    ///
    /// * Claude Code: see [`claude::Matcher::parse`]. Codex: the same, without `,` and spaces in a list. Copilot CLI in its
    ///   PascalCase style: the same as Claude Code.
    /// * Gemini CLI, Cursor: a regular expression that may match anywhere in the name of the tool; in Gemini CLI the very
    ///   word elsewhere.
    /// * Qwen Code: names parted by `|`, where a tool has several, such as `Bash`, `Shell` and `ShellTool`; else a regular
    ///   expression that may match anywhere in the tool's own name.
    /// * Copilot CLI in its camelCase style: a regular expression for the whole name.
    ///
    /// # Errors
    ///
    /// A [`MatcherError`] for a pattern that cannot be compiled within 1 MiB, or is longer than 4096 bytes.
    pub fn parse(agent: Agent, name: &str, pattern: &str) -> Result<Self, MatcherError> {
        let trimmed = pattern.trim();
        let is_list = |c: char| c.is_ascii_alphanumeric() || "_-|".contains(c);
        let rule = match agent {
            _ if matches!(trimmed, "" | "*") => Rule::All,
            Agent::Codex if !pattern.chars().all(is_list) => Rule::Regex(compile(pattern)?),
            Agent::Claude | Agent::Codex => Rule::Claude(claude::Matcher::parse(pattern)?),
            Agent::Copilot if is_pascal(name) => Rule::Claude(claude::Matcher::parse(pattern)?),
            Agent::Copilot => Rule::Regex(compile(&format!("^(?:{pattern})$"))?),
            Agent::Gemini => Rule::Gemini { word: trimmed.to_owned(), regex: compile(trimmed)? },
            Agent::Cursor | Agent::OpenCode => Rule::Regex(compile(trimmed)?),
            Agent::Qwen => qwen(trimmed)?,
        };
        Ok(Self { agent, name: name.to_owned(), rule })
    }

    /// Whether a matcher of the agent at its event of this name means the tool that the agent calls so, by the agent's own
    /// reading: unlike a hook that runs here it knows no other agent's tools and no `kind:`.
    ///
    /// # Errors
    ///
    /// Why nobody can say.
    pub(crate) fn names(agent: Agent, name: &str, pattern: &str, tool: &str) -> Result<bool, String> {
        let matcher = Self::parse(agent, name, pattern).map_err(|error| error.problem)?;
        if pattern.split(['|', ',']).any(|part| ToolKind::of_pattern(part.trim()).is_some()) {
            return Err(format!("{} knows no kinds of tools", agent.title()));
        }
        let is_named = match &matcher.rule {
            Rule::All => true,
            Rule::Qwen { names, .. } => {
                names.iter().any(|it| it == tool || aliases(tool).contains(&it.as_str()))
            }
            _ => false,
        };
        if is_named {
            return Ok(true);
        }
        match javascript::differs(pattern).filter(|_| agent != Agent::Codex) {
            Some(what) => Err(format!("{} may mean something else in JavaScript", text::escape(what, 20))),
            None => Ok(matcher.names_one_of(&[tool.to_owned()])),
        }
    }

    /// Whether the hook is for this event. Events without anything to match are for every hook, and so are those where
    /// hookbox does not know what the agent would match.
    pub fn is_for(&self, event: &Event) -> bool {
        if !event::is(self.agent, &self.name, event) {
            return false;
        }
        if let (Agent::Claude, Rule::Claude(matcher)) = (self.agent, &self.rule) {
            return matcher.is_for(event);
        }
        let called = match &event.data {
            EventData::Other { data, .. } => {
                let name = ["tool_name", "toolName"].iter().find_map(|name| data.get(*name)?.as_str());
                name.map(|name| tool::names_of(self.agent, &self.name, name))
            }
            _ => event.tool_call().map(|call| match self.name.as_str() {
                // These look at the command line.
                "beforeShellExecution" | "afterShellExecution" => {
                    let (_, input) = tool::call(self.agent, &self.name, event, call);
                    vec![input.get("command").unwrap_or(&input).as_str().unwrap_or_default().to_owned()]
                }
                _ => tool::names_of(self.agent, &self.name, &call.name),
            }),
        };
        match called {
            Some(names) => self.names_one_of(&names),
            None => subject(self.agent, event).is_none_or(|subject| self.matches(&subject, false)),
        }
    }

    /// Whether it names a tool with these names.
    fn names_one_of(&self, called: &[String]) -> bool {
        let Rule::Qwen { names, regex } = &self.rule else {
            return called.iter().any(|name| self.matches(name, true));
        };
        let further = || called.iter().flat_map(|name| aliases(name).iter().copied());
        if called.iter().map(String::as_str).chain(further()).any(|name| names.iter().any(|it| it == name)) {
            return true;
        }
        // What another agent calls a tool of Qwen Code's is no name of it, and an expression sees its name alone.
        let is_its = |name: &&String| !aliases(name).is_empty();
        let is_known = called.iter().any(|name| is_its(&name));
        let mut seen = called.iter().filter(|name| !is_known || is_its(name));
        seen.any(|name| regex.as_ref().is_some_and(|it| it.is_match(name)))
    }

    fn matches(&self, word: &str, is_tool: bool) -> bool {
        match &self.rule {
            Rule::All => true,
            Rule::Claude(matcher) => matcher.matches(word),
            Rule::Gemini { word: wanted, .. } if !is_tool => wanted == word,
            Rule::Gemini { regex, .. } | Rule::Regex(regex) => regex.is_match(word),
            Rule::Qwen { names, regex } => {
                names.iter().any(|name| name == word) || regex.as_ref().is_some_and(|it| it.is_match(word))
            }
        }
    }
}

/// Names where they stand alone, and what is left as an expression.
fn qwen(pattern: &str) -> Result<Rule, MatcherError> {
    let is_list = pattern.contains('|') && !pattern.starts_with(['^', '(']);
    let parts = || pattern.split('|').map(str::trim).filter(|part| !part.is_empty());
    if pattern == ".*" || (is_list && parts().any(|part| matches!(part, "*" | ".*"))) {
        return Ok(Rule::All);
    }
    let (names, expression) = if is_list {
        (parts().map(str::to_owned).collect(), parts().collect::<Vec<_>>().join("|"))
    } else {
        (vec![pattern.to_owned()], pattern.to_owned())
    };
    let regex = Some(compile(&expression)?).filter(|_| !expression.is_empty());
    Ok(Rule::Qwen { names, regex })
}

/// What a matcher looks at, where that is no tool; `None` where it counts for nothing.
fn subject(agent: Agent, event: &Event) -> Option<String> {
    if agent == Agent::Cursor {
        let word = match &event.data {
            EventData::UserMessageSend { .. } => "UserPromptSubmit",
            EventData::AgentStop(_) if event.context.invoked_by == InvokedBy::Main => "Stop",
            _ => return None,
        };
        return Some(word.to_owned());
    }
    match &event.data {
        EventData::Other { data, .. } => Some(data.get("notification_type")?.as_str()?.to_owned()),
        // Seen there: a matcher counts for nothing.
        _ if agent == Agent::Copilot => None,
        EventData::SessionStart { source } => Some(super::payload::source(source.as_deref()).to_owned()),
        EventData::SessionEnd { reason } => Some(super::payload::reason(reason.as_deref()).to_owned()),
        EventData::PreCompact { trigger, .. } | EventData::PostCompact { trigger, .. } => trigger.clone(),
        EventData::OnError(error) if matches!(error.source, ErrorSource::Turn(_)) => {
            Some(error.kind.clone().unwrap_or_else(|| "unknown".to_owned()))
        }
        _ => None,
    }
}
