//! The entries that an agent's configuration should have.

use std::time::Duration;

use serde_json::{Map, Value};

use super::outcome::InstallFailure;
use crate::agent::{Agent, AgentEvent, EventKind, bridge_command};
use crate::bridge::Bridge;
use crate::event::EventName;
use crate::text;

/// The time that an agent waits beyond our own deadline: ours ends first, and a busy machine starts a process
/// late.
const SLACK: Duration = Duration::from_secs(15);

/// The options of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallOptions {
    /// The agent's own names of the events; empty for [`usual_events`].
    pub events: Vec<String>,
    /// The program, as a path or a name that the agent's shell finds.
    pub program: String,
    /// The home directory (default: none). If `HOME` is another one when the agent runs hookbox, hookbox
    /// blocks. `None` is for files that others use as well.
    pub home: Option<String>,
    /// The agents whose hooks run as well (default: none). An agent's own are left out: it runs them itself.
    pub from: Vec<Agent>,
    /// The maximum time to answer (default: [`Bridge::DEADLINE`]): above 0, up to
    /// [`InstallOptions::MAX_DEADLINE`].
    pub deadline: Duration,
    /// True if a program that is missing or killed blocks a tool call (default: false).
    pub is_strict: bool,
}

impl InstallOptions {
    /// The longest deadline: 10 min. Agents refuse a time that is much longer, or take it for none at all.
    pub const MAX_DEADLINE: Duration = Duration::from_secs(600);

    /// Returns true if every agent can wait for the deadline.
    pub(crate) fn has_deadline(&self) -> bool {
        !self.deadline.is_zero() && self.deadline <= Self::MAX_DEADLINE
    }

    /// Creates the options for all usual events and this program.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            events: Vec::new(),
            program: program.into(),
            home: None,
            from: Vec::new(),
            deadline: Bridge::DEADLINE,
            is_strict: false,
        }
    }
}

/// Returns the names of the events to install if a hook subscribes to one of the agent's
/// [other events](Agent::other_events): the usual ones and those. Otherwise none, for the usual ones alone: older
/// versions of an agent may refuse a configuration with a name that they do not know.
pub fn wanted_events(agent: Agent, is_wanted: impl Fn(&EventName) -> bool) -> Vec<String> {
    let others = || agent.other_events().iter().filter(|it| is_wanted(&it.event.event_name()));
    let usual = usual_events(agent).filter(|_| others().next().is_some());
    usual.chain(others()).map(|it| it.name.to_owned()).collect()
}

/// Returns the events that are installed by default: all events of an agent but those that fire many times
/// for one answer, and those of Copilot CLI whose payload does not name its event.
pub fn usual_events(agent: Agent) -> impl Iterator<Item = &'static AgentEvent> {
    agent.events().iter().filter(|event| event.is_usual)
}

/// One entry that the configuration should have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DesiredEntry {
    pub(crate) event: &'static str,
    /// Its keys and values, but for its name and type.
    pub(crate) says: Map<String, Value>,
    /// The element for its event's list: the entry, in a group if the agent has groups.
    pub(crate) fresh: Value,
}

impl DesiredEntry {
    /// Returns its command line.
    pub(crate) fn line(&self, agent: Agent) -> &str {
        self.says.get(agent.spec().config.entry.command()).and_then(Value::as_str).unwrap_or_default()
    }
}

/// Returns the entries for these options.
pub(crate) fn desired_entries(
    agent: Agent,
    options: &InstallOptions,
) -> Result<Vec<DesiredEntry>, InstallFailure> {
    let named: Vec<&'static AgentEvent> = if options.events.is_empty() {
        usual_events(agent).collect()
    } else {
        // In the order of a session, and each once, whatever the order of the options.
        let served = || agent.events().iter().chain(agent.other_events());
        if let Some(unknown) = options.events.iter().find(|name| agent.event(name).is_none()) {
            let names: Vec<&str> = served().map(|it| it.name).collect();
            let meant = text::did_you_mean(text::nearest(unknown, names.iter().copied()));
            let meant = meant.map(|it| format!("{it} ")).unwrap_or_default();
            let (title, name) = (agent.title(), text::escape(unknown, 64));
            return Err(InstallFailure::options(
                format!("{title} has no event {name:?} that hookbox serves"),
                format!("{meant}the events are {}", names.join(", ")),
            ));
        }
        served().filter(|it| options.events.iter().any(|name| name == it.name)).collect()
    };
    Ok(named.into_iter().map(|event| one(agent, options, event)).collect())
}

fn one(agent: Agent, options: &InstallOptions, event: &'static AgentEvent) -> DesiredEntry {
    let form = &agent.spec().config.entry;
    let (deadline, waits) = match agent.spec().brief_wait(event.name) {
        // The agent waits so long and no longer, and `Bridge::new` knows it.
        Some(brief) => (None, brief),
        None => {
            let waits = (options.deadline + SLACK).min(form.longest_timeout.unwrap_or(Duration::MAX));
            (Some(options.deadline.min(waits.saturating_sub(SLACK))), waits)
        }
    };
    let is_before = event.event == EventKind::BeforeToolCall;
    let is_strict = (options.is_strict || form.is_always_strict) && is_before;
    let from: Vec<Agent> = options.from.iter().copied().filter(|from| *from != agent).collect();
    let line = bridge_command::write(
        &options.program,
        agent,
        event.name,
        options.home.as_deref(),
        &from,
        deadline,
        is_strict && form.strict_key.is_none(),
    );
    let mut says = Map::new();
    says.insert(form.command().to_owned(), line.into());
    says.insert(form.timeout().to_owned(), agent.spec().wait.unit.number(waits).into());
    if let Some(key) = form.strict_key.filter(|_| is_strict) {
        says.insert(key.to_owned(), true.into());
    }
    if let Some((key, value)) = form.blocks_without_program.filter(|_| is_before) {
        says.insert(key.to_owned(), value.into());
    }
    let mut entry = Map::new();
    if form.has_type {
        entry.insert("type".to_owned(), "command".into());
    }
    if let Some(key) = form.name_key {
        entry.insert(key.to_owned(), "hookbox".into());
    }
    entry.extend(says.clone());
    let entry = Value::Object(entry);
    let is_of_tool = matches!(event.event, EventKind::BeforeToolCall | EventKind::AfterToolCall);
    let fresh = if form.is_grouped() || form.groups_of_tools && is_of_tool {
        serde_json::json!({ "hooks": [entry] })
    } else {
        entry
    };
    DesiredEntry { event: event.name, says, fresh }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Level, Surroundings, file};

    /// The agents that have a file of commands.
    fn agents() -> impl Iterator<Item = Agent> {
        let here = Surroundings { home: Some("/home/ada".into()), ..Surroundings::new("/srv/shop") };
        Agent::ALL.into_iter().filter(move |agent| file(*agent, Level::User, &here).is_some())
    }

    #[test]
    fn our_deadline_ends_before_the_agents() {
        for agent in agents() {
            for deadline in [1, 15, 120, InstallOptions::MAX_DEADLINE.as_secs()] {
                let deadline = Duration::from_secs(deadline);
                let options = InstallOptions { deadline, ..InstallOptions::new("hookbox") };
                assert!(options.has_deadline());
                for desired in desired_entries(agent, &options).unwrap() {
                    let (unit, form) = (agent.spec().wait.unit, &agent.spec().config.entry);
                    let number = desired.says[form.timeout()].as_u64().unwrap();
                    assert!(i32::try_from(number).is_ok(), "{agent} {number}");
                    let says = unit.time(number as f64);
                    let waits = agent.spec().waits(desired.event, says);
                    let line = desired.says[agent.spec().config.entry.command()].as_str().unwrap();
                    assert!(line.contains(&format!("--event {}", desired.event)), "{line}");
                    let ours = match line.split_once("--deadline ") {
                        Some((_, time)) => hookbox_system::units::parse_duration(time).unwrap(),
                        None => Bridge::new(agent, Some(desired.event.to_owned())).known().left(),
                    };
                    assert!(ours < waits, "{agent} {}: {ours:?}, {waits:?}", desired.event);
                }
            }
        }
    }

    #[test]
    fn every_event_is_installed_but_those_that_come_too_often() {
        for agent in agents() {
            let names: Vec<_> = usual_events(agent).map(|it| it.name).collect();
            let left: Vec<_> = agent.events().iter().filter(|it| !names.contains(&it.name)).collect();
            match agent {
                Agent::Gemini => assert_eq!(left.len(), 2),
                Agent::Copilot => assert_eq!((left.len(), names.len()), (12, 12)),
                Agent::Kiro => assert_eq!((left.len(), names.len()), (5, 5)),
                _ => assert!(left.is_empty()),
            }
            let mut events: Vec<_> = usual_events(agent).map(|it| it.event).collect();
            events.dedup();
            assert!(events.contains(&EventKind::BeforeToolCall), "{agent}");
        }
        let options = InstallOptions {
            events: vec!["Stop".into(), "PreToolUse".into(), "Stop".into()],
            ..InstallOptions::new("hookbox")
        };
        let names: Vec<_> =
            desired_entries(Agent::Claude, &options).unwrap().iter().map(|it| it.event).collect();
        assert_eq!(names, ["PreToolUse", "Stop"]);
        let options = InstallOptions { events: vec!["PreToolUs".into()], ..options };
        let error = desired_entries(Agent::Claude, &options).unwrap_err();
        assert!(
            matches!(&error, InstallFailure::Options { hint, .. } if hint.contains("PreToolUse?")),
            "{error:?}"
        );
    }

    #[test]
    fn other_events_are_installed_by_name_or_for_a_hook_that_subscribes_to_them() {
        let named = InstallOptions { events: vec!["ConfigChange".into()], ..InstallOptions::new("hookbox") };
        assert_eq!(desired_entries(Agent::Claude, &named).unwrap()[0].event, "ConfigChange");
        for agent in agents() {
            assert_eq!(wanted_events(agent, |_| false), [""; 0], "{agent}");
            for other in agent.other_events() {
                let wanted = wanted_events(agent, |it| *it == other.event.event_name());
                assert!(
                    wanted.iter().any(|it| it == other.name) && wanted.len() > 1,
                    "{agent} {}",
                    other.name
                );
            }
        }
    }

    #[test]
    fn a_program_that_is_gone_blocks_a_call_of_claude_code() {
        for desired in desired_entries(Agent::Claude, &InstallOptions::new("hookbox")).unwrap() {
            let blocks = desired.says.get("onFailure").is_some_and(|it| it == "block");
            let is_call = ["PreToolUse", "PreSkillShellCommand"].contains(&desired.event);
            assert_eq!(blocks, is_call, "{}", desired.event);
            assert_eq!(desired.fresh.pointer("/hooks/0/onFailure").is_some(), is_call);
        }
    }

    #[test]
    fn what_is_strict_is_so_before_a_tool_and_nowhere_else() {
        for agent in agents() {
            let options = InstallOptions { is_strict: true, ..InstallOptions::new("hookbox") };
            for desired in desired_entries(agent, &options).unwrap() {
                let is_before = agent.event(desired.event).unwrap().event == EventKind::BeforeToolCall;
                let line = desired.says[agent.spec().config.entry.command()].as_str().unwrap();
                let strict = ["failClosed", "strict"].iter().any(|key| desired.says.contains_key(*key));
                let is_strict = line.contains("exit 2") || strict;
                assert_eq!(is_strict, is_before, "{agent} {}", desired.event);
            }
        }
    }
}
