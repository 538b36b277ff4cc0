//! The next steps for the user after an installation.

use crate::agent::Agent;
use crate::config::{Level, Surroundings};
use crate::text;

/// Returns what the user still has to do, or to know.
pub(super) fn next_steps(agent: Agent, level: Level, surroundings: &Surroundings) -> Vec<String> {
    let is_project = level == Level::Project;
    let trust = match agent {
        Agent::Codex => Some("start codex and approve the hooks in /hooks: until then it silently runs none"),
        Agent::Gemini => Some("trust the folder when gemini asks: in an untrusted folder it runs no hooks"),
        Agent::Copilot if is_project => {
            Some("trust the folder when copilot asks: it reads the repository's hooks only then")
        }
        Agent::Claude if level != Level::User => {
            Some("trust the folder when claude asks: it runs the hooks of a project only then")
        }
        _ => None,
    };
    let mut next: Vec<String> = trust.into_iter().map(str::to_owned).collect();
    if agent == Agent::Codex && is_project {
        next.push("trust the project when codex asks: it reads the project's hooks only then".to_owned());
    }
    let root = text::escape(&surroundings.project.to_string_lossy(), 500);
    if level != Level::User && matches!(agent, Agent::Claude | Agent::Gemini | Agent::Qwen) {
        next.push(format!("start {agent} in {root}: it does not look above the directory where it starts"));
    }
    next.push(format!("restart {} if it is running", agent.title()));
    if is_project {
        next.push(format!("everyone who works in {root} needs hookbox on the PATH"));
    }
    next
}
