//! Measures every event of a session.

mod measures;

use std::collections::BTreeMap;

use hookbox_sdk::prelude::*;
use hookbox_sdk::state;
use hookbox_sdk::text::{excerpt, hash};

use crate::measures::Added;

/// The hook.
pub struct Telemetry;

/// So many sessions that never ended are kept; a session has some fifty counters.
const SESSIONS: usize = 64;

/// The longest text in a line, in bytes.
const TEXT: usize = 80;

/// The user's settings.
#[derive(Debug, serde::Deserialize)]
#[serde(default)]
struct Settings {
    /// The name of the file; empty: only the log and the report.
    file: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { file: "telemetry.jsonl".to_owned() }
    }
}

impl Hook for Telemetry {
    fn manifest() -> Manifest {
        let manifest = Manifest::new("telemetry", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"));
        let manifest = Event::ALL
            .into_iter()
            .fold(manifest, |manifest, event| manifest.on(event).priority(90).observe());
        manifest.capability(Capability::Store).capability(log_file::right())
    }

    fn session_start(cx: &Context, event: &SessionStart) -> Result<Answer, Error> {
        let session = Session::of(cx);
        let source = event.source.as_deref().unwrap_or_default();
        state::set(&session.key("began"), cx.timestamp_ms.to_string())?;
        if source == "rotate" {
            state::increment("rotations", 1)?;
        }
        session.count(vec![("starts".to_owned(), 1)])
    }

    fn user_message_send(cx: &Context, _event: &UserMessage) -> Result<Answer, Error> {
        let session = Session::of(cx);
        // The time until the user could begin: the start-up and the hooks of session_start.
        if session.get("messages")?.is_none()
            && let Some(began) = session.get("began")?
        {
            session.count(vec![("bootstrap_ms".to_owned(), cx.timestamp_ms.saturating_sub(began))])?;
        }
        session.count(vec![("messages".to_owned(), 1)])
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        Session::of(cx).count(measures::before_tool_call(call))
    }

    fn after_tool_call(cx: &Context, result: &ToolResult) -> Result<Answer, Error> {
        let session = Session::of(cx);
        let mut added = measures::after_tool_call(result);
        if result.duration_ms.is_some() {
            added.push(("duration_ms.count".to_owned(), 1));
        }
        // The same call again is a retry.
        let call = match result.call.input.size() {
            size if size > 64 * 1024 => hash([result.call.name.as_str(), &size.to_string()]),
            _ => hash([result.call.name.as_str(), &result.call.input.text()]),
        };
        let key = session.key("last_call");
        let last = state::get(&key)?;
        if last.as_deref() == Some(call.to_string().as_bytes()) {
            added.push(("retries".to_owned(), 1));
        } else {
            state::set(&key, call.to_string())?;
        }
        session.count(added)
    }

    fn on_error(cx: &Context, event: &ErrorEvent) -> Result<Answer, Error> {
        Session::of(cx).count(measures::on_error(event))
    }

    fn after_turn(cx: &Context, _event: &AfterTurn) -> Result<Answer, Error> {
        Session::of(cx).count(vec![("model_answers".to_owned(), 1)])
    }

    fn turn_end(cx: &Context, _event: &TurnEnd) -> Result<Answer, Error> {
        Session::of(cx).count(vec![("turns".to_owned(), 1)])
    }

    fn agent_stop(cx: &Context, _event: &AgentStop) -> Result<Answer, Error> {
        Session::of(cx).count(vec![("stops".to_owned(), 1)])
    }

    fn pre_compact(cx: &Context, event: &PreCompact) -> Result<Answer, Error> {
        Session::of(cx).count(measures::pre_compact(event.usage))
    }

    fn post_compact(cx: &Context, event: &PostCompact) -> Result<Answer, Error> {
        Session::of(cx).count(measures::post_compact(event.usage))
    }

    fn on_budget_exceeded(cx: &Context, event: &BudgetExceeded) -> Result<Answer, Error> {
        Session::of(cx).count(measures::on_budget_exceeded(event))
    }

    fn session_end(cx: &Context, event: &SessionEnd) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        let session = Session::of(cx);
        let (keys, counters) = session.counters()?;
        let line = line(cx, event, &counters, count_of("rotations")?);
        hookbox_sdk::info!("{line}");
        // Forgotten first: a file that cannot be written must not make the next session count on.
        keys.iter().try_for_each(|key| state::delete(key))?;
        if !settings.file.is_empty() {
            log_file::append(&settings.file, &line.to_string())?;
        }
        Ok(Answer::pass().metadata("telemetry", line))
    }
}

/// Formats the measures of a session as one object; unknown values are absent.
fn line(cx: &Context, event: &SessionEnd, counters: &BTreeMap<String, u64>, rotations: u64) -> Value {
    let text = |text: &Option<String>| text.as_deref().map(|text| excerpt(text, TEXT));
    let began = counters.get("began").copied();
    let mut line = json!({
        "timestamp_ms": cx.timestamp_ms,
        "conversation": excerpt(&cx.conversation_id, TEXT),
        "repository": text(&cx.repository),
        "branch": text(&cx.branch),
        "agent": text(&cx.agent),
        "reason": text(&event.reason),
        "length_ms": began.map(|began| cx.timestamp_ms.saturating_sub(began)),
        "rotations_so_far": rotations,
    });
    if let Some(fields) = line.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
        let shown = counters.iter().filter(|(name, _)| !matches!(name.as_str(), "began" | "last_call"));
        // A line is written at once: with fifty counters it has less than 4000 bytes.
        fields.extend(shown.take(50).map(|(name, count)| (name.clone(), (*count).into())));
        fields.extend(
            measures::derived(counters).into_iter().map(|(name, share)| (name.to_owned(), share.into())),
        );
    }
    line
}

/// The counters of a session: keys that begin with its hash.
struct Session(String);

impl Session {
    fn of(cx: &Context) -> Self {
        Self(format!("session/{:016x}/", hash([cx.conversation_id.as_str(), cx.place()])))
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.0)
    }

    fn get(&self, name: &str) -> Result<Option<u64>, Error> {
        let value = state::get(&self.key(name))?;
        Ok(value.and_then(|value| String::from_utf8(value).ok()?.parse().ok()))
    }

    /// Adds to its counters. Who counts at the same moment is counted as well.
    fn count(&self, added: Added) -> Result<Answer, Error> {
        for (name, by) in added {
            let key = self.key(&name);
            if let Err(error) = state::increment(&key, by) {
                // A damaged or too large counter begins anew; without the store this fails, too.
                state::delete(&key)?;
                hookbox_sdk::warn!("the counter {name:?} begins anew: {error}");
                state::increment(&key, by)?;
            }
        }
        Ok(Answer::pass())
    }

    /// Returns the keys and values of the counters. Sessions that never ended are forgotten if there are too
    /// many.
    fn counters(&self) -> Result<(Vec<String>, BTreeMap<String, u64>), Error> {
        let keys: Vec<String> =
            state::keys()?.into_iter().filter(|key| key.starts_with("session/")).collect();
        let (own, others): (Vec<String>, Vec<String>) =
            keys.into_iter().partition(|key| key.starts_with(&self.0));
        let mut counters = BTreeMap::new();
        for key in &own {
            if let Some(name) = key.strip_prefix(&self.0)
                && let Some(count) = self.get(name)?
            {
                counters.insert(name.to_owned(), count);
            }
        }
        forget_oldest(&others)?;
        Ok((own, counters))
    }
}

/// A counter of all sessions.
fn count_of(key: &str) -> Result<u64, Error> {
    let value = state::get(key)?;
    Ok(value.and_then(|value| String::from_utf8(value).ok()?.parse().ok()).unwrap_or(0))
}

/// Forgets the sessions that began longest ago, and at most so many at once as a call has time for.
fn forget_oldest(keys: &[String]) -> Result<(), Error> {
    let mut sessions: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for key in keys {
        if let Some((session, _)) = key.rsplit_once('/') {
            sessions.entry(session).or_default().push(key);
        }
    }
    if sessions.len() <= SESSIONS {
        return Ok(());
    }
    let mut ages = Vec::new();
    for session in sessions.keys() {
        ages.push((count_of(&format!("{session}/began"))?, *session));
    }
    ages.sort_unstable();
    let surplus = (sessions.len() - SESSIONS).min(8);
    let old = ages.iter().take(surplus).filter_map(|(_, session)| sessions.get(session));
    old.flatten().try_for_each(|key| state::delete(key))
}

hookbox_sdk::export_hook!(Telemetry);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_observes_every_event_and_may_answer_none() {
        let manifest = Telemetry::manifest();
        assert_eq!(manifest.subscriptions.len(), Event::ALL.len());
        assert!(manifest.subscriptions.iter().all(|subscription| subscription.observe));
        assert!(manifest.answers.is_empty());
    }

    #[test]
    fn a_line_is_short_whatever_is_measured() {
        let counters: BTreeMap<String, u64> =
            (0..200).map(|n| (format!("errors.class.some_name_{n:04}"), u64::MAX)).collect();
        for piece in ["x", "\"", "\u{202e}\u{7}", "\u{1F600}"] {
            let text = piece.repeat(10_000);
            let cx = Context {
                conversation_id: text.clone(),
                repository: Some(text.clone()),
                branch: Some(text.clone()),
                agent: Some(text.clone()),
                ..Context::default()
            };
            let line = line(&cx, &SessionEnd { reason: Some(text) }, &counters, u64::MAX).to_string();
            assert!(line.len() < 4096, "{}", line.len());
        }
    }

    #[test]
    fn what_is_not_known_is_not_there() {
        let counters =
            [("began", 40), ("calls", 2), ("last_call", 5)].map(|(name, count)| (name.to_owned(), count));
        let cx = Context { conversation_id: "c".into(), timestamp_ms: 100, ..Context::default() };
        assert_eq!(
            line(&cx, &SessionEnd::default(), &counters.into(), 1).to_string(),
            r#"{"timestamp_ms":100,"conversation":"c","length_ms":60,"rotations_so_far":1,"calls":2}"#
        );
    }
}
