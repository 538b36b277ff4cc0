//! `hookbox approve`: the user of an agent that cannot ask answers in another terminal.

use std::io::{BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use hookbox_agents::agent::{Agent, Effect, Fate};
use serde_json::Value;

use super::{BEFORE, args, blocked, call, effect, needed, passed, reads_exit_codes};
use crate::environment::{Output, TestEnvironment, program};

/// Far longer than any of this takes.
const LONG: Duration = Duration::from_secs(300);

/// The end of what the user reads before the answer.
const PROMPT: &str = "Let this run? [y/N] ";

/// A place in which a guard of the user asks about `make`.
fn place() -> TestEnvironment {
    let env = TestEnvironment::new();
    let rule = "[[rule]]\ncommand = \"make\"\nanswer = \"ask\"\nreason = \"Really make?\"\n";
    env.file("home/.hookbox/hooks/guard.rules.toml", rule);
    env
}

/// `hookbox approve` with pipes for a terminal.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: Receiver<u8>,
}

impl Terminal {
    /// Returns once the program listens.
    fn open(env: &TestEnvironment, more: &[&str]) -> Self {
        let mut command = env.command(program());
        let mut child = command.arg("approve").args(more).stdin(Stdio::piped()).spawn().unwrap();
        let (sent, screen) = channel();
        let shown = child.stderr.take().unwrap();
        std::thread::spawn(move || {
            for byte in BufReader::new(shown).bytes().map_while(Result::ok) {
                let _ = sent.send(byte);
            }
        });
        let keys = child.stdin.take().unwrap();
        let mut terminal = Self { child, keys, screen };
        terminal.reads("Ctrl-C ends this\n");
        terminal
    }

    /// Returns what is written up to and with this.
    #[track_caller]
    fn reads(&mut self, end: &str) -> String {
        let mut bytes = Vec::new();
        while !bytes.ends_with(end.as_bytes()) {
            match self.screen.recv_timeout(LONG) {
                Ok(byte) => bytes.push(byte),
                Err(error) => panic!("{error}: {}", String::from_utf8_lossy(&bytes)),
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    /// Runs the bridge, and types this when the question is there. Returns the question as well.
    #[track_caller]
    fn answers(&mut self, typed: &str, bridge: impl FnOnce() -> Output + Send) -> (String, Output) {
        std::thread::scope(|scope| {
            let bridge = scope.spawn(bridge);
            let shown = self.reads(PROMPT);
            self.keys.write_all(typed.as_bytes()).unwrap();
            (shown, bridge.join().unwrap())
        })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Answers an agent's call of its shell tool.
fn bridge(env: &TestEnvironment, agent: Agent, event: &str, payload: &Value) -> Output {
    env.hookbox_with(args(agent, needed(agent, event), &["--deadline", "300s"]), payload.to_string())
}

/// The agents that cannot ask about a tool call, with their names of that event.
fn cannot_ask() -> Vec<(Agent, &'static str)> {
    BEFORE.iter().copied().filter(|(agent, event)| agent.event(event).unwrap().ask == Fate::Blocks).collect()
}

#[test]
fn the_user_of_an_agent_that_cannot_ask_answers_in_a_terminal() {
    let env = place();
    let mut terminal = Terminal::open(&env, &[]);
    let agents = cannot_ask();
    assert!(agents.len() >= 4, "{agents:?}");
    for (agent, event) in agents {
        let payload = call(&env, agent, event, "make all");
        let (shown, output) = terminal.answers("y\n", || bridge(&env, agent, event, &payload));
        for words in ["make all", "guard.rules.toml", "Really make?", agent.title(), "/repo", "  session "] {
            assert!(shown.contains(words), "{agent}: {words}: {shown}");
        }
        passed(agent, event, &output, "yes");
        assert!(output.stderr.contains("and you said yes"), "{agent}: {output:#?}");

        let (_, output) = terminal.answers("\n", || bridge(&env, agent, event, &payload));
        let reason = blocked(agent, event, &output, "no");
        assert!(reason.contains("Really make?"), "{agent}: {reason}");
        assert!(reason.contains("the user was asked, and said no"), "{agent}: {reason}");
    }
}

#[test]
fn a_call_is_blocked_if_the_terminal_goes_away() {
    for (agent, event) in cannot_ask() {
        // A session that is open here asks for a real terminal.
        let env = place();
        let mut terminal = Terminal::open(&env, &[]);
        let payload = call(&env, agent, event, "make");
        std::thread::scope(|scope| {
            let bridge = scope.spawn(|| bridge(&env, agent, event, &payload));
            terminal.reads(PROMPT);
            drop(terminal);
            let output = bridge.join().unwrap();
            let reason = blocked(agent, event, &output, "no answer");
            assert!(reason.contains("did not answer in time"), "{agent}: {reason}");
        });
    }
}

#[test]
fn without_a_terminal_that_answers_the_call_is_blocked_and_only_the_user_reads_why() {
    let env = place();
    for (agent, event) in cannot_ask() {
        let output = bridge(&env, agent, event, &call(&env, agent, event, "make"));
        let reason = blocked(agent, event, &output, "nobody answers");
        assert!(reason.contains("Really make?") && !reason.contains("approve"), "{agent}: {reason}");
        assert!(!output.stdout.contains("approve"), "{agent}: {output:#?}");
        // The model reads standard error of exit code 2.
        let is_told = output.stderr.contains("of your own: hookbox approve");
        assert_eq!(is_told, !reads_exit_codes(agent), "{agent}: {output:#?}");
    }
}

#[test]
fn nobody_is_asked_where_the_agent_asks_or_the_call_is_none_or_too_long() {
    let env = place();
    let _terminal = Terminal::open(&env, &[]);
    // An answer that waits for the terminal would not come.
    let output = bridge(&env, Agent::Claude, "PreToolUse", &call(&env, Agent::Claude, "PreToolUse", "make"));
    assert!(matches!(effect(Agent::Claude, "PreToolUse", &output), Effect::Asked(_)), "{output:#?}");
    let (agent, event) = (Agent::Codex, "PreToolUse");
    passed(agent, event, &bridge(&env, agent, event, &call(&env, agent, event, "ls")), "no question");
    let of_doctor =
        agent.shell_call(agent.event(event).unwrap(), "make", &env.path("repo"), "hookbox-doctor");
    blocked(agent, event, &bridge(&env, agent, event, &of_doctor), "the doctor");
    let mut long = call(&env, agent, event, "make");
    long["tool_input"]["more"] = "x".repeat(70_000).into();
    let output = bridge(&env, agent, event, &long);
    blocked(agent, event, &output, "too long");
    assert!(output.stderr.contains("too long to be shown by `hookbox approve`"), "{output:#?}");
}

#[test]
fn one_terminal_answers_and_once_it_is_enough() {
    let env = place();
    let mut terminal = Terminal::open(&env, &["--once"]);
    let second = env.hookbox(["approve"]);
    assert_eq!(second.code, Some(1), "{second:#?}");
    assert!(second.stderr.contains("another `hookbox approve` runs already"), "{second:#?}");
    let payload = call(&env, Agent::Codex, "PreToolUse", "make");
    let (_, output) = terminal.answers("y\n", || bridge(&env, Agent::Codex, "PreToolUse", &payload));
    passed(Agent::Codex, "PreToolUse", &output, "yes");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
    assert!(!env.path("home/.local/share/hookbox/approve.sock").exists());
}

#[test]
fn nobody_answers_without_a_terminal_or_in_a_hook() {
    // The tests beside this one have temporary data, which needs none.
    for (name, value) in [("XDG_DATA_HOME", "/nonexistent/data"), ("HOOKBOX_DEPTH", "1"), ("CLAUDECODE", "1")]
    {
        let output = place().variable(name, value).hookbox(["approve"]);
        assert_ne!(output.code, Some(0), "{name}: {output:#?}");
        assert!(output.stderr.starts_with("error: "), "{name}: {output:#?}");
    }
}
