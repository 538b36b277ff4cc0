//! The matcher of a hook of each agent: the tools, or the sources, for which it runs.

use super::rule::Rule;
use super::{AgentHook, tool_event};
use crate::agent::{Agent, tools};
use crate::event::{Event, EventData, ToolKind};
use crate::text;
use hookbox::event::kind_of_pattern;

impl AgentHook {
    /// Returns true if the agent's matcher at its event of this name means the agent's tool of this name.
    /// Unlike a hook that runs here, the agent knows no other agent's tools and no `kind:`.
    ///
    /// # Errors
    ///
    /// The reason why the pattern cannot be judged.
    pub(crate) fn names_tool(agent: Agent, name: &str, pattern: &str, tool: &str) -> Result<bool, String> {
        // The hooks of a plugin have no matcher.
        let Ok(hook) = Self::new(agent, name) else { return Ok(true) };
        let hook = hook.matching(pattern).map_err(|error| error.problem)?;
        let spec = hook.spec;
        if pattern.split(['|', ',']).any(|part| kind_of_pattern(part.trim()).is_some()) {
            return Err(format!("{} knows no kinds of tools", spec.title));
        }
        let is_named = match &hook.rule {
            Rule::All => true,
            Rule::Listed { names, .. } => {
                names.iter().any(|it| it == tool || (spec.tools.aliases)(tool).contains(it))
            }
            _ => false,
        };
        if is_named {
            Ok(true)
        } else if hook.hooks.has_javascript_matchers && !is_portable(pattern) {
            Err(format!("{} may mean something else in JavaScript", text::escape(pattern, 100)))
        } else {
            Ok(hook.names_one_of(&[tool.to_owned()]))
        }
    }

    /// Returns true if its matcher is for this event of its agent. An event without a subject is for every hook, and so is
    /// one whose subject hookbox does not know.
    pub(super) fn is_meant(&self, event: &Event) -> bool {
        let spec = self.spec;
        let called = match &event.data {
            EventData::Other { data, .. } => {
                let name = ["tool_name", "toolName"].iter().find_map(|name| data.get(*name)?.as_str());
                name.map(|name| tools::names_of(spec, &self.name, name))
            }
            _ => event.tool_call().map(|call| match tool_event(spec, &self.name) {
                Some(it) if it.kinds == [ToolKind::Shell] => {
                    let (_, input) = tools::call(spec, &self.name, event, call);
                    vec![input.get("command").unwrap_or(&input).as_str().unwrap_or_default().to_owned()]
                }
                _ => tools::names_of(spec, &self.name, &call.name),
            }),
        };
        let subject = || (self.hooks.subject)(event);
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
        let aliases = self.spec.tools.aliases;
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
