//! Blocks an agent that goes round in circles.

mod compactions;
mod history;
mod kept;
mod outcome;
mod turns;

use std::num::NonZeroU8;

use hookbox_sdk::prelude::*;
use hookbox_sdk::state;
use hookbox_sdk::text::hash;

use crate::compactions::Compactions;
use crate::history::History;
use crate::kept::key;
use crate::turns::{Call, Turns};

/// The hook.
pub struct LoopDetector;

/// The form of the values in the store.
const VERSION: u32 = 2;

/// The first words of every reason, by which this hook recognises a call that it has blocked.
const DETECTED: &str = "Loop detected: ";

/// The user's settings.
#[derive(Debug, serde::Deserialize)]
#[serde(default)]
struct Settings {
    /// So many failures of one command …
    times: NonZeroU8,
    /// … within so many seconds.
    within: u32,
    /// So many rounds of two calls that take turns, in the same time; 0 and 1: never.
    turns: u8,
    /// So many compactions in a row that do not help; 0: never …
    compactions: u8,
    /// … within so many seconds.
    compactions_within: u32,
    /// A compaction has helped if this share of the tokens is gone.
    reduction: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            times: NonZeroU8::MIN.saturating_add(2),
            within: 360,
            turns: 3,
            compactions: 3,
            compactions_within: 3600,
            reduction: 0.1,
        }
    }
}

impl Settings {
    fn window_ms(&self) -> u64 {
        u64::from(self.within) * 1000
    }

    fn times(&self) -> usize {
        usize::from(self.times.get())
    }

    /// One round is not a loop.
    fn turns(&self) -> Option<usize> {
        (self.turns > 1).then(|| usize::from(self.turns))
    }
}

impl Hook for LoopDetector {
    fn manifest() -> Manifest {
        Manifest::new("loop-detector", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::BeforeToolCall)
            .on(Event::AfterToolCall)
            .priority(20)
            .on(Event::PreCompact)
            .on(Event::PostCompact)
            .on(Event::SessionEnd)
            .observe()
            .answers([Give::Inject])
            .capability(Capability::Store)
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        if let Some(command) = command(cx, call) {
            let history: History = state::load(&key(history::KEY, command), VERSION)?;
            let failures = history.failures(command, cx.timestamp_ms, settings.window_ms());
            if failures >= settings.times() {
                return Ok(Answer::block(failing(&settings, failures)));
            }
        }
        if let Some(turns) = settings.turns() {
            let conversation = conversation(cx);
            let known: Turns = state::load(&key(turns::KEY, conversation), VERSION)?;
            let rounds = known.rounds(conversation, cx.timestamp_ms, settings.window_ms());
            if rounds >= turns && known.goes_on(conversation, outcome::call(call)) {
                return Ok(Answer::block(turning(rounds)));
            }
        }
        Ok(Answer::pass())
    }

    fn after_tool_call(cx: &Context, result: &ToolResult) -> Result<Answer, Error> {
        if result.error.as_deref().is_some_and(|error| error.starts_with(DETECTED)) {
            return Ok(Answer::pass());
        }
        let settings: Settings = settings()?;
        let failures = note_failure(cx, &settings, result)?;
        let rounds = note_turn(cx, &settings, result)?;
        let score = {
            // Any two calls are one round.
            let turns = settings.turns().unwrap_or(1) - 1;
            score(failures, settings.times()).max(score(rounds.saturating_sub(1), turns))
        };
        let answer = if failures >= settings.times() {
            Answer::block(failing(&settings, failures))
        } else if settings.turns().is_some_and(|turns| rounds >= turns) {
            Answer::block(turning(rounds))
        } else {
            Answer::pass()
        };
        Ok(answer.metadata("loop_score", score))
    }

    fn pre_compact(cx: &Context, event: &PreCompact) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        let (Some(usage), true) = (event.usage, settings.compactions > 0) else { return Ok(Answer::pass()) };
        let conversation = conversation(cx);
        let key = key(compactions::KEY, conversation);
        let mut known: Compactions = state::load(&key, VERSION)?;
        let useless =
            known.useless(conversation, cx.timestamp_ms, u64::from(settings.compactions_within) * 1000);
        if useless >= usize::from(settings.compactions) {
            let reason = compacting(&settings, useless);
            // A compaction that the user asks for goes ahead.
            let manual = event.trigger.as_deref() == Some("manual");
            if !manual {
                return Ok(Answer::block(reason).metadata("loop_score", 1));
            }
            known.begins(session(cx), conversation, usage.current_context_window);
            state::save(&key, VERSION, &known)?;
            return Ok(Answer::pass().warn(reason).metadata("loop_score", 1));
        }
        known.begins(session(cx), conversation, usage.current_context_window);
        state::save(&key, VERSION, &known)?;
        Ok(Answer::pass())
    }

    fn post_compact(cx: &Context, event: &PostCompact) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        let (Some(usage), true) = (event.usage, settings.compactions > 0) else { return Ok(Answer::pass()) };
        let conversation = conversation(cx);
        let key = key(compactions::KEY, conversation);
        let times = usize::from(settings.compactions);
        let mut known: Compactions = state::load(&key, VERSION)?;
        let helped = known.ends(
            session(cx),
            conversation,
            usage.current_context_window,
            settings.reduction,
            cx.timestamp_ms,
            times,
        );
        state::save(&key, VERSION, &known)?;
        let useless =
            known.useless(conversation, cx.timestamp_ms, u64::from(settings.compactions_within) * 1000);
        let mut answer = Answer::pass().metadata("loop_score", score(useless, times));
        if helped == Some(false) && useless >= times {
            let reason = compacting(&settings, useless);
            answer = answer.inject(reason.clone()).warn(reason);
        }
        Ok(answer)
    }

    fn session_end(cx: &Context, _event: &SessionEnd) -> Result<Answer, Error> {
        let session = session(cx);
        for key in state::keys()? {
            match key.split_once('/') {
                Some((history::KEY, _)) => History::forget_in(&key, session)?,
                Some((turns::KEY, _)) => Turns::forget_in(&key, session)?,
                Some((compactions::KEY, _)) => Compactions::forget_in(&key, session)?,
                _ => {}
            }
        }
        Ok(Answer::pass())
    }
}

/// Notes the result of a command; returns the number of times that it has failed this way.
fn note_failure(cx: &Context, settings: &Settings, result: &ToolResult) -> Result<usize, Error> {
    let (Some(command), Some(failed)) = (command(cx, &result.call), failed(result)) else { return Ok(0) };
    let key = key(history::KEY, command);
    let mut history: History = state::load(&key, VERSION)?;
    let changed = if failed {
        history.failed(
            session(cx),
            command,
            outcome::error(result),
            cx.timestamp_ms,
            settings.window_ms(),
            settings.times(),
        )
    } else {
        history.succeeded(command)
    };
    if changed {
        state::save(&key, VERSION, &history)?;
    }
    Ok(history.failures(command, cx.timestamp_ms, settings.window_ms()))
}

/// Notes a call; returns the number of times that it has alternated with another one.
fn note_turn(cx: &Context, settings: &Settings, result: &ToolResult) -> Result<usize, Error> {
    let Some(turns) = settings.turns() else { return Ok(0) };
    let conversation = conversation(cx);
    let key = key(turns::KEY, conversation);
    let mut known: Turns = state::load(&key, VERSION)?;
    let call = Call { call: outcome::call(&result.call), outcome: outcome::of(result), at: cx.timestamp_ms };
    known.called(session(cx), conversation, call, turns);
    state::save(&key, VERSION, &known)?;
    Ok(known.rounds(conversation, cx.timestamp_ms, settings.window_ms()))
}

/// Returns the session, on every branch that it works on. Without an id it is the place.
fn session(cx: &Context) -> u64 {
    match cx.conversation_id.as_str() {
        "" => hash(["", cx.place()]),
        id => hash([id]),
    }
}

/// Returns the key of this conversation in this repository, on this branch.
fn conversation(cx: &Context) -> u64 {
    hash([cx.conversation_id.as_str(), cx.place(), cx.branch.as_deref().unwrap_or_default()])
}

/// Returns the key of this command in this conversation, repository, branch and directory.
fn command(cx: &Context, call: &ToolCall) -> Option<u64> {
    if call.kind != ToolKind::Shell {
        return None;
    }
    let line = call.command.as_deref().map(str::trim).filter(|line| !line.is_empty())?;
    let branch = cx.branch.as_deref().unwrap_or_default();
    Some(hash([cx.conversation_id.as_str(), cx.place(), branch, &cx.cwd, line]))
}

/// Returns whether the command failed; `None` if the agent does not report it.
fn failed(result: &ToolResult) -> Option<bool> {
    match (result.success, result.exit_status) {
        (None, None) => None,
        (success, status) => Some(success == Some(false) || status.is_some_and(|status| status != 0)),
    }
}

/// Returns how close a loop is, from 0 to 1.
fn score(count: usize, limit: usize) -> f64 {
    if limit == 0 {
        return 0.0;
    }
    #[allow(clippy::cast_precision_loss, reason = "both are small")]
    let share = count as f64 / limit as f64;
    (share.min(1.0) * 100.0).round() / 100.0
}

fn failing(settings: &Settings, failures: usize) -> String {
    let times = if failures == 1 { "once".to_owned() } else { format!("{failures} times") };
    format!(
        "{DETECTED}identical failing command executed {times} in {}. Escalate or change strategy.",
        time(settings.within)
    )
}

fn turning(rounds: usize) -> String {
    format!(
        "{DETECTED}two calls have taken turns {rounds} times without progress. Escalate or change strategy."
    )
}

fn compacting(settings: &Settings, useless: usize) -> String {
    let percent = settings.reduction * 100.0;
    let times = if useless == 1 {
        "a compaction has".to_owned()
    } else {
        format!("{useless} compactions in a row have")
    };
    format!(
        "{DETECTED}{times} not reduced the context by {percent:.0} %. Rotate the session, or leave large inputs out."
    )
}

fn time(seconds: u32) -> String {
    match seconds {
        seconds if seconds >= 120 && seconds % 60 == 0 => format!("{} minutes", seconds / 60),
        seconds => format!("{seconds} seconds"),
    }
}

hookbox_sdk::export_hook!(LoopDetector);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reasons_say_what_was_detected() {
        let settings = Settings::default();
        let pairs =
            |text: &str| vec![("times".to_owned(), text.to_owned()), ("within".to_owned(), "90".to_owned())];
        let once: Settings = hookbox_sdk::settings_from(pairs("1")).unwrap();
        for (reason, expected) in [
            (
                failing(&settings, 3),
                "Loop detected: identical failing command executed 3 times in 6 minutes. Escalate or change strategy.",
            ),
            (
                failing(&once, 1),
                "Loop detected: identical failing command executed once in 90 seconds. Escalate or change strategy.",
            ),
            (
                turning(3),
                "Loop detected: two calls have taken turns 3 times without progress. Escalate or change strategy.",
            ),
            (
                compacting(&settings, 3),
                "Loop detected: 3 compactions in a row have not reduced the context by 10 %. Rotate the session, or leave large inputs out.",
            ),
        ] {
            assert_eq!(reason, expected);
        }
        assert!(
            hookbox_sdk::settings_from::<Settings>(pairs("0")).unwrap_err().to_string().contains("`times`")
        );
    }

    #[test]
    fn a_score_says_how_near_a_loop_is() {
        for (count, limit, expected) in
            [(0, 3, 0.0), (1, 3, 0.33), (2, 3, 0.67), (3, 3, 1.0), (9, 3, 1.0), (1, 0, 0.0)]
        {
            assert_eq!(score(count, limit).to_string(), expected.to_string());
        }
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
        let on = |repository: &str, branch: &str, cwd: &str| Context {
            repository: Some(repository.into()),
            branch: Some(branch.into()),
            ..cx("c", cwd)
        };
        let here = on("o/r", "main", "/w");
        for other in [on("o/s", "main", "/w"), on("o/r", "fix", "/w")] {
            assert_ne!(command(&other, &call("make test")), command(&here, &call("make test")), "{other:?}");
            assert_ne!(conversation(&other), conversation(&here), "{other:?}");
        }
        assert_eq!(conversation(&on("o/r", "main", "/w/x")), conversation(&here), "after cd");
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
