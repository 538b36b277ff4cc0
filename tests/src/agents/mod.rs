//! Payloads of agents, and hookbox's answers to them.

mod golden;
mod odd_answers;
mod pages;
mod properties;
mod table;

use std::fs;
use std::path::PathBuf;

use hookbox::outcome::{Author, Fold};
use hookbox::{Context, Outcome};
use hookbox_agents::agent::{Agent, Reply, Request};

use crate::bridge::needed;
use crate::environment::repository;

fn data() -> PathBuf {
    repository().join("tests/data/agents")
}

/// The payloads of an agent by their file names without the ending, in order.
pub(crate) fn payloads(agent: Agent) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(data().join(agent.as_str())).unwrap();
    let mut all: Vec<_> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())
        })
        .collect();
    all.sort();
    all
}

/// Returns the agent's name of the event of a file, if the agent's payloads do not name theirs.
pub(crate) fn given(agent: Agent, file: &str) -> Option<&str> {
    file.split(['-', '.']).next().and_then(|event| needed(agent, event))
}

fn defaults() -> Context {
    let mut context = Context::new("none", "/");
    context.timestamp_ms = 1_795_219_200_000;
    context
}

pub(crate) fn read(agent: Agent, file: &str, payload: &[u8]) -> Option<Request> {
    agent
        .read(payload, given(agent, file), &defaults())
        .unwrap_or_else(|error| panic!("{agent}/{file}: {error}"))
}

/// The reply to what a hook of the user's answered, as a chain folds it.
fn replied(request: &Request, outcome: Outcome) -> Reply {
    let (mut fold, mut event) = (Fold::new(), request.event.clone());
    fold.apply(&mut event, Author::trusted("guard"), outcome);
    request.answer(&fold.finish(&event), &event)
}
