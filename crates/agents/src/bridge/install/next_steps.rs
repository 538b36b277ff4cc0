//! The steps that remain for the user after an installation.

use crate::agent::Agent;
use crate::config::{Level, Surroundings};
use crate::text;

/// Returns the steps that remain for the user.
pub(super) fn next_steps(agent: Agent, level: Level, surroundings: &Surroundings) -> Vec<String> {
    let spec = agent.spec();
    let root = text::escape(&surroundings.project.to_string_lossy(), 500);
    let own = spec.next_steps.iter().filter(|(levels, _)| levels.contains(&level));
    let mut next: Vec<String> = own.map(|(_, step)| step.replace("ROOT", &root)).collect();
    next.push(format!("restart {} if it is running", spec.title));
    if level == Level::Project {
        next.push(format!("everyone who works in {root} needs hookbox on the PATH"));
    }
    next
}
