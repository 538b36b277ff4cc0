//! Shell calls that a hook excepts from its subscription, so that no instance is made for them.

use hookbox_shell::{Mode, Reading, Redirection, Run};

use crate::event::{Event, ToolKind};
use crate::hook::Subscription;

impl Subscription {
    /// Returns true if the subscription is to this event only by patterns such as `kind:shell except ls cat`, and one of
    /// them excepts its line: the line does nothing but run these programs. In doubt it is false.
    pub(super) fn excepts(&self, event: &Event) -> bool {
        let Some(call) = event.tool_call().filter(|it| it.facts.kind == ToolKind::Shell) else {
            return false;
        };
        let mut fitting = self.tools.iter().filter(|it| Self::fits(it, call)).peekable();
        let Some(line) = call.facts.command.as_ref().filter(|_| fitting.peek().is_some()) else {
            return false;
        };
        let mut reading = None;
        fitting.all(|pattern| {
            let Some((_, programs)) = pattern.split_once(Self::EXCEPT) else { return false };
            let read = || call.facts.readings.read(line, &event.context.cwd);
            only_runs(reading.get_or_insert_with(read), programs)
        })
    }
}

/// Returns true if a line runs programs of this list and has no other effect that its text shows.
fn only_runs(reading: &Reading, programs: &str) -> bool {
    let is_known = |name: &str| programs.split_ascii_whitespace().any(|it| it == name);
    let Reading { runs, code, values: _, unread, multiplies } = reading;
    code.is_empty()
        && unread.is_empty()
        && !multiplies
        && runs.iter().all(|run| {
            // A variable may change what a program does.
            run.assignments.is_empty()
                && run.call.is_none()
                && run.program().is_some_and(is_known)
                && is_by_name(run)
                && run.via.iter().all(|it| is_known(it))
                && run.redirections.iter().all(is_harmless)
        })
}

/// Returns true for a program without a directory: another one may be anything.
fn is_by_name(run: &Run) -> bool {
    run.words.first().is_some_and(|it| !it.text.contains('/'))
}

/// Returns true for a redirection between descriptors, and for one to nothing.
fn is_harmless(redirection: &Redirection) -> bool {
    match redirection.mode {
        Mode::Copy => redirection.target.text.bytes().all(|it| it.is_ascii_digit()),
        Mode::Write | Mode::Append => redirection.target.text == "/dev/null",
        Mode::Read | Mode::Both | Mode::Text => false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::event::{Context, EventData, EventName, ToolCall};
    use crate::facts;

    fn excepts(tools: &[&str], tool: &str, input: serde_json::Value) -> bool {
        let mut call = ToolCall::new(tool, input);
        call.facts = Arc::new(facts::of(tool, &call.input, Path::new("/w"), None));
        let event =
            Event { context: Arc::new(Context::new("c", "/w")), data: EventData::BeforeToolCall(call) };
        let mut subscription = Subscription::to(EventName::BeforeToolCall);
        subscription.tools = tools.iter().map(|it| (*it).to_owned()).collect();
        // It is the hook that passes over the event, because another hook may change the line before its turn.
        assert_eq!(subscription.matches(&event), tool != "read");
        subscription.excepts(&event)
    }

    #[test]
    fn a_line_is_excepted_only_if_it_does_nothing_but_run_these_programs() {
        for (line, expected) in [
            ("ls", true),
            ("ls -la 'a b' $X && cat *.txt | cat -n 2>&1", true),
            ("cd sub; ls 2>/dev/null", true),
            ("xargs ls", true),
            ("cat $(ls)", true),
            ("# nothing", true),
            ("ls; rm x", false),
            ("cat $(rm x)", false),
            ("sudo ls", false),
            ("A=b ls", false),
            ("A=b; ls", true),
            ("/tmp/ls", false),
            ("./ls", false),
            ("$X", false),
            ("ls > a", false),
            ("ls >> a", false),
            ("ls >& a", false),
            ("cat < a", false),
            ("cat <<< a", false),
            ("> a", false),
            ("ls 'open", false),
            ("ls() { rm x; }; ls", false),
            ("alias ls=rm; ls", false),
            ("eval ls", false),
            ("cat a | sh", false),
            ("python3 -c 'import os'", false),
        ] {
            let tools = ["kind:other", "kind:shell except cat ls cd xargs"];
            assert_eq!(excepts(&tools, "bash", serde_json::json!({ "command": line })), expected, "{line}");
        }
    }

    #[test]
    fn only_such_a_pattern_excepts_a_line() {
        let ls = || serde_json::json!({ "command": "ls" });
        for (tools, tool, expected) in [
            (&[][..], "bash", false),
            (&["kind:shell"], "bash", false),
            (&["kind:shell except ls", "bash"], "bash", false),
            (&["kind:shell except ls", "kind:shell"], "bash", false),
            (&["kind:shell except ls", "kind:shell except cat"], "bash", false),
            (&["kind:shell except ls", "kind:mcp"], "bash", true),
            (&["kind:other", "kind:shell except ls"], "unknown", false),
            (&["kind:shell except ls"], "read", false),
        ] {
            assert_eq!(excepts(tools, tool, ls()), expected, "{tools:?}");
        }
        let odd = serde_json::json!({ "argv": ["ls"] });
        assert!(!excepts(&["kind:shell except ls"], "bash", odd));
    }
}
