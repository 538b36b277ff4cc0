//! Remembers the results of a session for the next one.

mod memory;

use std::time::Instant;

use handoff::{Anchor, Bounds, Handoff, said};
use hookbox_sdk::prelude::*;

use crate::memory::{Memory, Scope};

/// The hook.
pub struct SessionMemory;

/// The user's settings.
#[derive(Debug, serde::Deserialize)]
#[serde(default)]
struct Settings {
    /// The issue that is worked on.
    issue: String,
    /// The scope of a memory.
    scope: Scope,
    /// So many texts of each kind are kept.
    max_items: usize,
    /// So many bytes are kept, and injected.
    max_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { issue: String::new(), scope: Scope::Branch, max_items: 8, max_bytes: 4096 }
    }
}

impl Settings {
    /// Returns the bounds of the memory, whatever the settings are.
    fn bounds(&self) -> Bounds {
        Bounds { max_items: self.max_items.min(50), max_bytes: self.max_bytes.min(16 * 1024) }
    }
}

impl Hook for SessionMemory {
    fn manifest() -> Manifest {
        Manifest::new("session-memory", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::SessionStart)
            .priority(10)
            .on(Event::AgentStop)
            .observe()
            .on(Event::PreCompact)
            .observe()
            .on(Event::PostCompact)
            .on(Event::SessionEnd)
            .priority(20)
            .observe()
            .answers([Give::Inject])
            .capability(Capability::Store)
            .capability(Capability::Conversation)
    }

    fn session_start(cx: &Context, event: &SessionStart) -> Result<Answer, Error> {
        let began = Instant::now();
        if is_subagent(cx) {
            return Ok(Answer::pass());
        }
        let settings: Settings = settings()?;
        let memory = Memory::load(cx, settings.scope, &settings.issue)?;
        let source = event.source.as_deref().unwrap_or_default();
        let answer = begin(cx, &settings, &memory, source);
        Ok(answer.metadata("bootstrap_us", u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX)))
    }

    fn agent_stop(cx: &Context, event: &AgentStop) -> Result<Answer, Error> {
        persist(cx, Some(&event.messages), event.usage)
    }

    fn pre_compact(cx: &Context, event: &PreCompact) -> Result<Answer, Error> {
        persist(cx, Some(&event.messages), event.usage)
    }

    fn post_compact(cx: &Context, event: &PostCompact) -> Result<Answer, Error> {
        if is_subagent(cx) {
            return Ok(Answer::pass());
        }
        let settings: Settings = settings()?;
        let memory = Memory::load(cx, settings.scope, &settings.issue)?;
        Ok(verify(cx, &settings, memory, event))
    }

    fn session_end(cx: &Context, _event: &SessionEnd) -> Result<Answer, Error> {
        let answer = persist(cx, None, None)?;
        memory::forget_oldest()?;
        Ok(answer)
    }
}

/// A subagent works for a conversation that has its own memory.
fn is_subagent(cx: &Context) -> bool {
    cx.invoked_by == InvokedBy::Subagent
}

/// Returns the text for a new session.
fn begin(cx: &Context, settings: &Settings, memory: &Memory, source: &str) -> Answer {
    // Whoever goes on with a conversation still has it.
    let known = source == "resume" && memory.conversation == memory::conversation(cx);
    let text = if known { None } else { memory.handoff.render(settings.bounds().max_bytes) };
    let hits = if text.is_some() { memory.handoff.items() } else { 0 };
    let mut answer = Answer::pass();
    if source == "rotate" {
        // The text begins with the anchors; those that did not fit into a small `max_bytes` come after it.
        let anchors = place(memory.handoff.clone(), cx, settings).anchors();
        let all = anchors.len();
        let lost = handoff::missing(anchors, text.as_deref().unwrap_or_default());
        answer = answer.metadata("anchors", all).metadata("retained_anchors", all - lost.len());
        let reminder = remind(&lost, settings);
        answer.context.extend(text.iter().cloned().chain(reminder));
    } else {
        answer.context.extend(text.iter().cloned());
    }
    answer.metadata("memory_hits", hits).metadata("handoff_bytes", text.map_or(0, |text| text.len()))
}

/// Keeps the content of the conversation, in the memory of its place.
fn persist(cx: &Context, messages: Option<&Document>, usage: Option<Usage>) -> Result<Answer, Error> {
    if is_subagent(cx) {
        return Ok(Answer::pass());
    }
    let settings: Settings = settings()?;
    let mut memory = Memory::load(cx, settings.scope, &settings.issue)?;
    let answer = take_in(&mut memory, cx, &settings, messages, usage);
    if memory.handoff.items() > 0 {
        memory.save(cx, settings.scope, &settings.issue)?;
    }
    Ok(answer)
}

fn take_in(
    memory: &mut Memory,
    cx: &Context,
    settings: &Settings,
    messages: Option<&Document>,
    usage: Option<Usage>,
) -> Answer {
    let mut answer = Answer::pass();
    let mut handoff = place(std::mem::take(&mut memory.handoff), cx, settings);
    if let Some(messages) = messages {
        let said = said(messages);
        handoff.hear(said.texts.iter().map(String::as_str));
        memory.conversation_bytes = said.size;
        answer = answer.metadata("conversation_bytes", said.size).metadata("conversation_cut", said.cut);
    }
    handoff.bound(settings.bounds());
    if let Some(usage) = usage {
        memory.tokens = usage.current_context_window;
        answer = answer.metadata("token_load", usage.current_context_window);
    }
    memory.conversation = memory::conversation(cx);
    memory.at = cx.timestamp_ms;
    let (facts, size) = (handoff.items(), handoff.size());
    memory.handoff = handoff;
    answer.metadata("persisted_facts", facts).metadata("handoff_bytes", size)
}

/// Adds this place to the handoff.
fn place(mut handoff: Handoff, cx: &Context, settings: &Settings) -> Handoff {
    handoff.place(cx, &settings.issue);
    handoff
}

/// Repeats the anchors that a summary has lost.
fn verify(cx: &Context, settings: &Settings, memory: Memory, event: &PostCompact) -> Answer {
    let anchors = place(memory.handoff, cx, settings).anchors();
    let all = anchors.len();
    let summary = event.summary.as_deref();
    let lost = handoff::missing(anchors, summary.unwrap_or_default());
    let mut answer = Answer::pass().metadata("anchors", all).metadata("retained_anchors", all - lost.len());
    answer.context.extend(remind(&lost, settings));
    if let Some(ratio) = compression(&memory.tokens, &memory.conversation_bytes, event) {
        answer = answer.metadata("compression_ratio", ratio);
    }
    answer
}

/// Returns the size of the conversation now, as a share of its size before: in tokens if both are known, else
/// in bytes.
fn compression(tokens: &u64, bytes: &u64, event: &PostCompact) -> Option<f64> {
    let now = event.usage.map(|usage| usage.current_context_window);
    let (now, before) = match (now, event.summary.as_ref()) {
        (Some(now), _) if *tokens > 0 => (now, *tokens),
        (_, Some(summary)) if *bytes > 0 => (summary.len() as u64, *bytes),
        _ => return None,
    };
    #[allow(clippy::cast_precision_loss, reason = "sizes are far smaller than 2^53")]
    let ratio = now as f64 / before as f64;
    Some((ratio * 1000.0).round() / 1000.0)
}

/// The lost anchors as text, each as a line that can be read again.
fn remind(lost: &[Anchor], settings: &Settings) -> Option<String> {
    let mut text = "Still true, and lost on the way:".to_owned();
    for Anchor { label, text: said } in lost {
        let line = format!("\n{label}: {said}");
        if text.len() + line.len() > settings.bounds().max_bytes.max(1024) {
            break;
        }
        text.push_str(&line);
    }
    (!lost.is_empty()).then_some(text)
}

hookbox_sdk::export_hook!(SessionMemory);

#[cfg(test)]
mod tests {
    use super::*;

    fn cx(branch: &str) -> Context {
        Context {
            conversation_id: "c".into(),
            repository: Some("o/r".into()),
            branch: Some(branch.into()),
            ..Context::default()
        }
    }

    fn messages(text: &str) -> Document {
        json!([{"role": "user", "content": "go on"}, {"role": "assistant", "content": text}]).into()
    }

    fn heard(text: &str) -> Memory {
        let mut memory = Memory::default();
        drop(take_in(&mut memory, &cx("feat/145-x"), &Settings::default(), Some(&messages(text)), None));
        memory
    }

    fn metadata<'a>(answer: &'a Answer, name: &str) -> &'a Value {
        answer.metadata.iter().find(|(key, _)| key == name).map_or(&Value::Null, |(_, value)| value)
    }

    #[test]
    fn what_was_said_is_told_to_the_next_session_and_not_to_one_that_goes_on() {
        let memory = heard("Next step: run tests\nFact: a");
        let settings = Settings::default();
        for (conversation, source, told) in [
            ("d", "startup", true),
            ("c", "startup", true),
            ("d", "resume", true),
            ("c", "resume", false),
            ("d", "rotate", true),
            ("d", "", true),
        ] {
            let cx = Context { conversation_id: conversation.into(), ..cx("feat/145-x") };
            let answer = begin(&cx, &settings, &memory, source);
            assert_eq!(answer.context.len(), usize::from(told), "{source}");
            assert_eq!(metadata(&answer, "memory_hits"), if told { 2 } else { 0 });
            assert_eq!(
                metadata(&answer, "retained_anchors"),
                &if source == "rotate" { json!(3) } else { Value::Null }
            );
        }
        assert_eq!(begin(&cx("main"), &settings, &Memory::default(), "startup").context, [""; 0]);
        // Anchors that do not fit into a small text come after it.
        let small = Settings { max_bytes: 110, ..settings };
        let answer = begin(&cx("feat/145-x"), &small, &memory, "rotate");
        assert!(answer.context.last().unwrap().ends_with("Next step: run tests"), "{answer:?}");
    }

    #[test]
    fn a_later_session_adds_and_takes_away() {
        let mut memory = heard("Blocker: no key\nNext step: a");
        let settings = Settings::default();
        let answer = take_in(
            &mut memory,
            &cx("main"),
            &settings,
            Some(&messages("Resolved: no key\nNext step: b")),
            None,
        );
        assert_eq!((memory.handoff.blockers.len(), memory.handoff.next_step.as_str()), (0, "b"));
        assert_eq!(metadata(&answer, "persisted_facts"), 1);
        // A session's end has no conversation, and changes nothing.
        let before = memory.handoff.clone();
        drop(take_in(&mut memory, &cx("main"), &settings, None, None));
        assert_eq!(memory.handoff, before);
    }

    #[test]
    fn what_a_summary_lost_is_said_again() {
        let memory = || {
            let mut memory = heard(
                "Next step: run tests
Blocker: no key",
            );
            memory.tokens = 1000;
            memory
        };
        for (summary, context, retained) in [
            (Some("issue 145, feat/145-x, no key, run tests"), None, 4),
            (
                Some("issue 145, run tests"),
                Some("Still true, and lost on the way:\nBranch: feat/145-x\nBlocker: no key"),
                2,
            ),
            (
                None,
                Some(
                    "Still true, and lost on the way:\nIssue: #145\nBranch: feat/145-x\nNext step: run tests\nBlocker: no key",
                ),
                0,
            ),
        ] {
            let usage = Some(Usage { current_context_window: 250, ..Usage::default() });
            let event = PostCompact { summary: summary.map(Into::into), usage, trigger: None };
            let answer = verify(&cx("feat/145-x"), &Settings::default(), memory(), &event);
            assert_eq!(answer.context, context.into_iter().collect::<Vec<_>>());
            assert_eq!(metadata(&answer, "retained_anchors"), retained);
            assert_eq!(metadata(&answer, "compression_ratio"), 0.25);
        }
    }

    #[test]
    fn hostile_conversations_stay_small_and_on_their_lines() {
        let settings = Settings { max_items: usize::MAX, max_bytes: usize::MAX, ..Settings::default() };
        for piece in
            ["Fact: \u{1b}]0;x\u{7}\u{202e}", "Blocker: 漢\u{1F600}\r", "Next step: \\\"}]", "- [ ] a\u{0}b"]
        {
            let text: String = (0..10_000).map(|n| format!("{piece}{n}\n")).collect();
            let memory = &heard(&text);
            let answer = begin(&cx("b"), &settings, memory, "rotate");
            let told = answer.context.join("\n");
            assert!(told.len() < 20_000 && !told.is_empty(), "{}", told.len());
            assert!(told.chars().all(|c| c == '\n' || !c.is_control()), "{told:?}");
            assert!(!told.contains('\u{202e}'));
        }
    }

    #[test]
    fn settings_are_read() {
        let pairs = |scope: &str| {
            vec![("scope".to_owned(), scope.to_owned()), ("issue".to_owned(), "145".to_owned())]
        };
        let settings: Settings = hookbox_sdk::settings_from(pairs("issue")).unwrap();
        assert_eq!((settings.scope, settings.issue.as_str()), (Scope::Issue, "145"));
        assert!(
            hookbox_sdk::settings_from::<Settings>(pairs("world"))
                .unwrap_err()
                .to_string()
                .contains("`scope`")
        );
    }
}
