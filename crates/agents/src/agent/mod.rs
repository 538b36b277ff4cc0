//! The agents that people already use, from the agent's side: a payload for its hook command becomes an
//! event, and the verdict of a chain becomes an answer that the agent honours.
//!
//! [`Agent::read`] makes a [`Request`] of the agent's JSON, [`Request::answer`] writes the [`Reply`], and
//! [`Agent::failed`] is the reply without a verdict. [`Agent::events`] is the table of an agent's events,
//! with the effect of each answer ([`Fate`]). An answer that an agent cannot follow turns to the safe side,
//! with a warning. Nothing here does I/O.
//!
//! ```
//! use hookbox_agents::Agent;
//! use hookbox::{Context, Verdict};
//!
//! let stdin = br#"{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}"#;
//! let agent: Agent = "codex".parse()?;
//! let request = agent.read(stdin, None, &Context::new("", "/srv/project"))?.ok_or("no event of ours")?;
//! assert_eq!(request.event.name().as_str(), "before_tool_call");
//!
//! let reply = request.answer(&Verdict::default(), &request.event); // no hook had anything to say
//! assert_eq!((reply.exit_code, reply.stdout.as_str()), (0, ""));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod answer;
pub(crate) mod bridge_command;
pub(crate) mod effect;
pub(crate) mod event;
pub(crate) mod failed_calls;
mod list;
pub(crate) mod output;
mod payload;
mod read;
mod reply;
pub(crate) mod tools;
mod translation;

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde_json::Value;

pub use self::bridge_command::is_ours;
pub use self::effect::{Effect, Printed};
pub use self::event::{AgentEvent, EventKind, Fate};
pub use self::list::Agent;
pub use self::read::{ReadError, Request};
pub use self::reply::Reply;
pub use crate::spec::places::{Level, Surroundings};

use self::answer::Plan;
use self::effect::SampleCall;
use hookbox_journal::session_files::Format;

use crate::hook::OnFailure;
use crate::outcome::{Ruling, Verdict};
use crate::spec::CodePlace;
use crate::text;
use hookbox_system::limits;

impl Agent {
    /// Returns true if it runs commands as hooks. Some agents run plugins in JavaScript instead.
    pub fn runs_commands(self) -> bool {
        self.spec().hooks.is_some()
    }

    /// Returns the agents that run commands as hooks.
    pub fn with_commands() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|agent| agent.runs_commands())
    }

    /// Returns the format of the files that it keeps of its sessions, if hookbox reads them.
    pub fn session_files(self) -> Option<&'static Format> {
        self.spec().sessions
    }

    /// Returns all formats of session files, in the order in which they are told apart: lines of Claude Code have the fewest
    /// marks.
    pub fn session_formats() -> Vec<&'static Format> {
        Self::ALL.into_iter().rev().filter_map(Self::session_files).collect()
    }

    /// Returns the name on a command line, such as `claude`.
    pub fn as_str(self) -> &'static str {
        self.spec().name
    }

    /// Returns the name in a sentence, such as `Claude Code`.
    pub fn title(self) -> &'static str {
        self.spec().title
    }

    /// Returns true if it shows its user the warnings of a hook command that exits with 0.
    pub fn shows_warnings(self) -> bool {
        self.spec().answers.shows_warnings
    }

    /// Returns the place where its user, and not its model, reads the code of a blocked tool call: `systemMessage`, or
    /// `standard error`. `None` if there is no such place.
    pub fn code_place(self) -> Option<&'static str> {
        match self.spec().answers.code {
            CodePlace::Nowhere => None,
            CodePlace::SystemMessage => Some("systemMessage"),
            CodePlace::StandardError => Some("standard error"),
        }
    }

    /// Returns its events that are events of hookbox, in the order of a session.
    pub fn events(self) -> &'static [AgentEvent] {
        self.spec().events
    }

    /// Returns its other events that hookbox serves: hooks get the agent's data as it is. `hookbox install`
    /// adds entries for them by name, or for hooks that subscribe to them.
    pub fn other_events(self) -> &'static [AgentEvent] {
        self.spec().other_events
    }

    /// Returns its event of this name, in exactly this case. `None` if that is not an event of hookbox.
    pub fn event(self, name: &str) -> Option<&'static AgentEvent> {
        self.spec().event(name)
    }

    /// Returns its names of an event of hookbox, the usual one first.
    pub fn names_of(self, event: EventKind) -> impl Iterator<Item = &'static str> {
        let all = self.events().iter().chain(self.other_events());
        all.filter(move |it| it.event == event).map(|it| it.name)
    }

    /// Returns the name of the tool that is Claude Code's `claude`; Copilot CLI's in its camelCase style.
    pub fn tool(self, claude: &str) -> Option<&'static str> {
        self.spec().tools.of(claude)
    }

    /// Returns the variable in which it gives its hook command the directory of the project. Codex and
    /// Copilot CLI have none, and send the session's own directory as `cwd`. Claude Code's `cwd` follows the
    /// model's `cd`.
    ///
    /// Seen in the real clients and their documentation; of Cursor in the documentation only. Gemini CLI,
    /// Qwen Code and Cursor set `CLAUDE_PROJECT_DIR` as well. hookbox does not use it there, because it may
    /// come from a Claude Code around them.
    pub fn project_variable(self) -> Option<&'static str> {
        self.spec().project_variable
    }

    /// Returns the variable with which it moves its files in the home directory.
    pub fn home_variable(self) -> Option<&'static str> {
        self.spec().moved_by.as_ref().map(|moved| moved.variable)
    }

    /// Returns the reply to an event that hookbox does not have, or that no hook answers.
    pub fn nothing(self) -> Reply {
        Reply { stdout: self.spec().answers.empty.to_owned(), ..Reply::default() }
    }

    /// Returns the reply without a verdict: the payload could not be read, or hookbox failed.
    ///
    /// `event` is the agent's name of the event, if it is known. `policy` is the failure policy of the
    /// chain's hooks. With [`OnFailure::Block`] the reply blocks if the event can be blocked. For an unknown
    /// event it has exit code 2, which stops a tool call in every agent. Otherwise the event passes, with
    /// `what` as a warning.
    pub fn failed(self, event: Option<&str>, policy: OnFailure, what: &str) -> Reply {
        let spec = self.spec();
        let known = event.and_then(|name| self.event(name));
        match (policy, known, event) {
            (OnFailure::Block, Some(known), _) => {
                let verdict = Verdict::blocked(Ruling::trusted("hookbox", what));
                reply::write(spec, known, Plan::new(spec, known, &verdict, None))
            }
            (OnFailure::Block, None, None) => {
                let reason = if what.trim().is_empty() { "blocked by hookbox" } else { what };
                Reply::stop(text::escape_lines(reason, limits::MESSAGE))
            }
            (_, Some(known), _) => {
                let plan = Plan { warnings: vec![what.to_owned()], ..Plan::default() };
                reply::write(spec, known, plan)
            }
            (_, None, _) => reply::with_warnings(spec, None, vec![what.to_owned()]),
        }
    }

    /// Returns the reply without a verdict about failed calls of a batch, whose outputs the hooks of `policy` would judge.
    pub(crate) fn failed_batch(self, event: &AgentEvent, policy: OnFailure, what: &str) -> Reply {
        match policy {
            OnFailure::Block => failed_calls::stopped(self.spec(), event, what),
            _ => self.failed(Some(event.name), policy, what),
        }
    }

    /// Returns the effect of a hook command's output on the tool call of `event`, one of the agent's names of
    /// `before_tool_call`.
    ///
    /// Seen without a terminal in Claude Code, Codex, Gemini CLI, Qwen Code and Copilot CLI. Cursor's is from
    /// its documentation; there an entry with `failClosed` blocks more.
    pub fn effect(self, event: &AgentEvent, printed: Printed<'_>) -> Effect {
        let answers = &self.spec().answers;
        match printed.exit_code {
            Some(0) => self.effect_of_answer(event, printed.stdout),
            Some(2) if answers.exit_2_needs_words && printed.stderr.trim().is_empty() => {
                Effect::runs("exit code 2 with nothing on standard error")
            }
            Some(2) => Effect::Blocked(printed.stderr.trim().to_owned()),
            Some(_) if answers.failure_blocks => Effect::Blocked(String::new()),
            Some(code) => Effect::runs(format!("exit code {code} counts as a hook that failed")),
            None => Effect::runs("the command did not end by itself in time"),
        }
    }

    fn effect_of_answer(self, event: &AgentEvent, stdout: &str) -> Effect {
        let stdout = stdout.trim();
        if stdout.is_empty() {
            return Effect::runs("the command printed nothing");
        }
        let Ok(Value::Object(answer)) = serde_json::from_str(stdout) else {
            let shown = text::escape(text::prefix(stdout, 100), 200);
            return Effect::runs(format!(
                "the command printed something else than one JSON object: {shown:?}"
            ));
        };
        let specific = answer.get("hookSpecificOutput").and_then(Value::as_object);
        let specific =
            specific.filter(|it| it.get("hookEventName").and_then(Value::as_str) == Some(event.name));
        let effect = (self.spec().answers.effect)(event, &answer, specific);
        effect.unwrap_or_else(|| {
            let names: Vec<String> = answer.keys().take(8).map(|name| text::escape(name, 64)).collect();
            let (title, names) = (self.title(), names.join(", "));
            Effect::runs(format!("{title} takes nothing in {{{names}}} for a block at {}", event.name))
        })
    }

    /// Returns the agent's name of its shell tool in the payloads of this event.
    pub fn shell_tool(self, event: &AgentEvent) -> String {
        tools::tool_name(self.spec(), event.name, "Bash").into_owned()
    }

    /// Returns the payload that the agent writes to its hook command before its shell tool runs this line,
    /// with every field of the real one and made-up ids. `event` is one of its names of `before_tool_call`.
    pub fn shell_call(self, event: &AgentEvent, line: &str, directory: &Path, session: &str) -> Value {
        let (tool, cwd) = (self.shell_tool(event), directory.to_string_lossy());
        (self.spec().sample_call)(&SampleCall { event, tool: &tool, line, cwd: &cwd, session })
    }
}

impl Surroundings {
    /// Adds the agents' variables that this function knows, such as `std::env::var_os`. An empty one counts
    /// as not set, as it does for the agents.
    #[must_use]
    pub fn variables(mut self, value: impl Fn(&str) -> Option<OsString>) -> Self {
        let names = Agent::ALL.into_iter().filter_map(Agent::home_variable);
        let set = names.filter_map(|name| Some((name.to_owned(), value(name)?)));
        self.variables =
            set.filter(|(_, value)| !value.is_empty()).map(|(name, value)| (name, value.into())).collect();
        self
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error for a name that no agent has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown agent {name:?}; hint: {}", advice(*nearest))]
pub struct UnknownAgent {
    /// The name, escaped.
    pub name: String,
    /// The name that was probably meant.
    pub nearest: Option<&'static str>,
}

/// Returns the hint after an unknown name. hookbox does not install entries for other agents.
fn advice(nearest: Option<&str>) -> String {
    text::did_you_mean(nearest).unwrap_or_else(|| {
        let agents = Agent::ALL.map(Agent::as_str).join(", ");
        format!(
            "the agents are {agents}; for another, write its entry yourself: see the page any-language.md"
        )
    })
}

impl FromStr for Agent {
    type Err = UnknownAgent;

    fn from_str(name: &str) -> Result<Self, UnknownAgent> {
        // VS Code's agent runs the entries of Copilot CLI.
        let name = if name == "vscode" { "copilot" } else { name };
        let known = Self::ALL.into_iter().find(|agent| agent.as_str() == name);
        known.ok_or_else(|| UnknownAgent {
            name: text::escape(name, 64),
            nearest: text::nearest(name, Self::ALL.map(Self::as_str)),
        })
    }
}

#[cfg(test)]
mod tests;
