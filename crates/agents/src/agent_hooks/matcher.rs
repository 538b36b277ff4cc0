//! The `matcher` of a hook of each agent: the tools, or the sources, for which it runs.

use super::event;
use super::rule::Rule;
use crate::agent::Agent;
use crate::agent::tools;
use crate::dialect::claude::MatcherError;
use crate::event::{Event, EventData, ToolKind};
use crate::text;
use hookbox::event::kind_of_pattern;

/// The tools that a hook of an agent is for; at other events the source, reason or trigger.
#[derive(Clone, Debug)]
pub struct Matcher {
    agent: Agent,
    /// The agent's name of the event.
    name: String,
    rule: Rule,
}

impl Matcher {
    /// Reads a matcher as the agent reads it at its event of this name. Empty or `*` is everything.
    ///
    /// * Claude Code, and Copilot CLI in its PascalCase style: see [`crate::dialect::claude::Matcher::parse`]. Codex: the
    ///   same, without `,` and spaces in a list.
    /// * Gemini CLI, Cursor: a regular expression that may match anywhere in the name of the tool; in Gemini CLI the exact
    ///   word at other events.
    /// * Qwen Code: names separated by `|`, of which a tool may have several, such as `Bash`, `Shell` and `ShellTool`;
    ///   otherwise a regular expression that may match anywhere in the tool's own name.
    /// * Copilot CLI in its camelCase style: a regular expression for the whole name.
    ///
    /// # Errors
    ///
    /// A [`MatcherError`] for a pattern that cannot be compiled within 1 MiB, or is longer than 4096 bytes.
    pub fn parse(agent: Agent, name: &str, pattern: &str) -> Result<Self, MatcherError> {
        let rule = match &agent.spec().hooks {
            Some(hooks) if !matches!(pattern.trim(), "" | "*") => (hooks.matcher)(name, pattern)?,
            _ => Rule::All,
        };
        Ok(Self { agent, name: name.to_owned(), rule })
    }

    /// Returns true if a matcher of the agent at its event of this name means the agent's tool of this name.
    /// Unlike a hook that runs here, the agent knows no other agent's tools and no `kind:`.
    ///
    /// # Errors
    ///
    /// The reason why the pattern cannot be judged.
    pub(crate) fn names(agent: Agent, name: &str, pattern: &str, tool: &str) -> Result<bool, String> {
        let spec = agent.spec();
        let matcher = Self::parse(agent, name, pattern).map_err(|error| error.problem)?;
        if pattern.split(['|', ',']).any(|part| kind_of_pattern(part.trim()).is_some()) {
            return Err(format!("{} knows no kinds of tools", spec.title));
        }
        let is_named = match &matcher.rule {
            Rule::All => true,
            Rule::Listed { names, .. } => {
                names.iter().any(|it| it == tool || (spec.tools.aliases)(tool).contains(it))
            }
            _ => false,
        };
        let is_javascript = spec.hooks.as_ref().is_some_and(|it| it.has_javascript_matchers);
        if is_named {
            Ok(true)
        } else if is_javascript && !is_portable(pattern) {
            Err(format!("{} may mean something else in JavaScript", text::escape(pattern, 100)))
        } else {
            Ok(matcher.names_one_of(&[tool.to_owned()]))
        }
    }

    /// Returns true if the hook is for this event. An event without a subject is for every hook, and so is
    /// one whose subject hookbox does not know.
    pub fn is_for(&self, event: &Event) -> bool {
        if !event::is(self.agent, &self.name, event) {
            return false;
        }
        let spec = self.agent.spec();
        let called = match &event.data {
            EventData::Other { data, .. } => {
                let name = ["tool_name", "toolName"].iter().find_map(|name| data.get(*name)?.as_str());
                name.map(|name| tools::names_of(spec, &self.name, name))
            }
            _ => event.tool_call().map(|call| match event::tool_event(spec, &self.name) {
                Some(it) if it.kinds == [ToolKind::Shell] => {
                    let (_, input) = tools::call(spec, &self.name, event, call);
                    vec![input.get("command").unwrap_or(&input).as_str().unwrap_or_default().to_owned()]
                }
                _ => tools::names_of(spec, &self.name, &call.name),
            }),
        };
        let subject = || spec.hooks.as_ref().and_then(|hooks| (hooks.subject)(event));
        match called {
            Some(names) => self.names_one_of(&names),
            None => subject().is_none_or(|subject| self.matches(&subject, false)),
        }
    }

    /// Returns true if it names a tool with these names.
    fn names_one_of(&self, called: &[String]) -> bool {
        let Rule::Listed { names, regex } = &self.rule else {
            let names_mcp_tool = |name: &String| match &self.rule {
                Rule::Names(matcher) => matcher.names_mcp_tool(name),
                _ => false,
            };
            return called.iter().any(|name| self.matches(name, true) || names_mcp_tool(name));
        };
        let aliases = self.agent.spec().tools.aliases;
        let further = called.iter().flat_map(|name| aliases(name));
        if called.iter().cloned().chain(further).any(|name| names.contains(&name)) {
            return true;
        }
        // An expression sees the agent's own name of a tool alone, and not that of another agent.
        let is_its = |name: &&String| !aliases(name).is_empty();
        let is_known = called.iter().any(|name| is_its(&name));
        let mut seen = called.iter().filter(|name| !is_known || is_its(name));
        seen.any(|name| regex.as_ref().is_some_and(|it| it.is_match(name)))
    }

    fn matches(&self, subject: &str, is_tool: bool) -> bool {
        match &self.rule {
            Rule::All => true,
            Rule::Names(matcher) => matcher.matches(subject),
            Rule::Word { word, .. } if !is_tool => word == subject,
            Rule::Word { regex, .. } | Rule::Regex(regex) => regex.is_match(subject),
            Rule::Listed { names, regex } => {
                names.iter().any(|name| name == subject)
                    || regex.as_ref().is_some_and(|it| it.is_match(subject))
            }
        }
    }
}

/// Returns true if an expression certainly means the same in JavaScript: names, `.`, `.*`, groups,
/// alternatives and ends.
fn is_portable(pattern: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _-,:/().|^$".contains(c);
    pattern.replace(".*", "").chars().all(is_plain)
}
