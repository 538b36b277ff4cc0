//! Blocks a shell command that keeps failing.

mod history;

use std::num::NonZeroU8;

use hookbox_sdk::prelude::*;
use hookbox_sdk::state;

use crate::history::History;

/// The hook.
pub struct LoopDetector;

/// What the user can set.
#[derive(Debug, serde::Deserialize)]
#[serde(default)]
struct Settings {
    /// So many failures of one command …
    times: NonZeroU8,
    /// … within so many seconds.
    within: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { times: NonZeroU8::MIN.saturating_add(2), within: 360 }
    }
}

impl Settings {
    fn window_ms(&self) -> u64 {
        u64::from(self.within) * 1000
    }
}

impl Hook for LoopDetector {
    fn manifest() -> Manifest {
        Manifest::new("loop-detector", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on_tools(Event::BeforeToolCall, ["kind:shell"])
            .on_tools(Event::AfterToolCall, ["kind:shell"])
            .observe()
            .capability(Capability::Store)
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let Some(command) = command(cx, call) else { return Ok(Answer::pass()) };
        let settings: Settings = settings()?;
        let history: Option<History> = state::get_json(&history::key(command))?;
        let failures = history.unwrap_or_default().failures(command, cx.timestamp_ms, settings.window_ms());
        Ok(decide(&settings, failures))
    }

    fn after_tool_call(cx: &Context, result: &ToolResult) -> Result<Answer, Error> {
        let (Some(command), Some(failed)) = (command(cx, &result.call), failed(result)) else {
            return Ok(Answer::pass());
        };
        let settings: Settings = settings()?;
        let key = history::key(command);
        let mut history: History = state::get_json(&key)?.unwrap_or_default();
        let changed = if failed {
            let times = usize::from(settings.times.get());
            history.failed(command, cx.timestamp_ms, settings.window_ms(), times)
        } else {
            history.succeeded(command)
        };
        if changed {
            state::set_json(&key, &history)?;
        }
        Ok(Answer::pass())
    }
}

/// What stands for this command in this directory and conversation.
fn command(cx: &Context, call: &ToolCall) -> Option<u64> {
    if call.kind != ToolKind::Shell {
        return None;
    }
    let line = call.command.as_deref().map(str::trim).filter(|line| !line.is_empty())?;
    Some(history::hash([&cx.conversation_id, &cx.cwd, line]))
}

/// Whether the command failed; `None` where the agent does not say.
fn failed(result: &ToolResult) -> Option<bool> {
    match (result.success, result.exit_status) {
        (None, None) => None,
        (success, status) => Some(success == Some(false) || status.is_some_and(|status| status != 0)),
    }
}

fn decide(settings: &Settings, failures: usize) -> Answer {
    if failures < usize::from(settings.times.get()) {
        return Answer::pass();
    }
    let within = match settings.within {
        seconds if seconds >= 120 && seconds % 60 == 0 => format!("{} minutes", seconds / 60),
        seconds => format!("{seconds} seconds"),
    };
    let times = if failures == 1 { "once".to_owned() } else { format!("{failures} times") };
    Answer::block(format!(
        "This command has failed {times} within {within}. Change what makes it fail, or try something else."
    ))
}

hookbox_sdk::export_hook!(LoopDetector);

#[cfg(test)]
mod tests {
    use super::*;
    use hookbox_sdk::Action;

    #[test]
    fn the_third_failure_is_the_last() {
        let settings = Settings::default();
        assert_eq!(decide(&settings, 2), Answer::pass());
        let reason = "This command has failed 3 times within 6 minutes. Change what makes it fail, or try something else.";
        assert_eq!(decide(&settings, 3), Answer::block(reason));
        let pairs =
            |text: &str| vec![("times".to_owned(), text.to_owned()), ("within".to_owned(), "90".to_owned())];
        let once: Settings = hookbox_sdk::settings_from(pairs("1")).unwrap();
        let Action::Block(reason) = decide(&once, 1).action else { panic!("it passes") };
        assert!(reason.starts_with("This command has failed once within 90 seconds."), "{reason}");
        assert!(
            hookbox_sdk::settings_from::<Settings>(pairs("0")).unwrap_err().to_string().contains("`times`")
        );
    }

    #[test]
    fn a_command_is_what_it_says_and_where() {
        let cx = |id: &str, cwd: &str| Context {
            conversation_id: id.into(),
            cwd: cwd.into(),
            ..Context::default()
        };
        let call = |line: &str| ToolCall::new("bash", json!({"command": line}));
        let this = command(&cx("c", "/w"), &call("make test"));
        assert!(this.is_some());
        assert_eq!(command(&cx("c", "/w"), &call(" make test\n")), this);
        for (cx, call) in [
            (cx("c", "/w"), call("make test2")),
            (cx("d", "/w"), call("make test")),
            (cx("c", "/w/x"), call("make test")),
            (cx("c", "/wm"), call("ake test")),
        ] {
            assert_ne!(command(&cx, &call), this, "{cx:?} {call:?}");
        }
        assert_eq!(command(&cx("c", "/w"), &call(" ")), None);
        assert_eq!(command(&cx("c", "/w"), &ToolCall::new("read", json!({"command": "make"}))), None);
    }

    #[test]
    fn a_failure_is_what_the_agent_or_the_status_calls_one() {
        for (success, exit_status, expected) in [
            (None, None, None),
            (Some(true), None, Some(false)),
            (Some(false), Some(0), Some(true)),
            (Some(true), Some(1), Some(true)),
            (None, Some(0), Some(false)),
            (None, Some(-9), Some(true)),
        ] {
            let result = ToolResult { success, exit_status, ..ToolResult::default() };
            assert_eq!(failed(&result), expected, "{success:?} {exit_status:?}");
        }
    }
}
