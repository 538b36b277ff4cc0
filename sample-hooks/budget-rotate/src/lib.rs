//! Hands over to a fresh session before the context window is full.

mod policy;
mod session;

use handoff::{Bounds, Handoff, said};
use hookbox_sdk::prelude::*;
use hookbox_sdk::state;

use crate::policy::{Level, Settings};
use crate::session::{Known, Left};

/// The hook.
pub struct BudgetRotate;

/// The recipe that rotates the session.
const ROTATE: &str = "rotate";

impl Hook for BudgetRotate {
    fn manifest() -> Manifest {
        Manifest::new("budget-rotate", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::OnBudgetExceeded)
            .on(Event::BeforeToolCall)
            .priority(20)
            .on(Event::AfterTurn)
            .observe()
            .on(Event::PreCompact)
            .observe()
            .on(Event::PostCompact)
            .observe()
            .on(Event::SessionEnd)
            .priority(10)
            .observe()
            .on(Event::SessionStart)
            .priority(10)
            .answers([Give::Inject, Give::Callback])
            .capability(Capability::Store)
            .capability(Capability::Conversation)
            .capability(Capability::Read("$REPO".to_owned()))
    }

    fn on_budget_exceeded(cx: &Context, event: &BudgetExceeded) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        let Some(spent) = policy::spent(cx, event.usage, event.threshold) else { return Ok(Answer::pass()) };
        let answer = match settings.level(spent) {
            Level::Below => return Ok(Answer::pass()),
            // A subagent ends by itself.
            Level::Rotate if !is_subagent(cx) => {
                let mut known = Known::load(cx)?;
                known.over = Some(spent);
                let text = hand_over(cx, &settings, &mut known)?;
                known.save(cx)?;
                let rotations = state::increment("rotations", 1)?;
                Answer::callback(ROTATE)
                    .arg("handoff", text.as_str())
                    .warn(policy::exceeded(spent))
                    .metadata("handoff_bytes", text.len())
                    .metadata("rotations", rotations)
            }
            _ => {
                let text = policy::warning(spent, &settings);
                Answer::pass().inject(text.clone()).warn(text)
            }
        };
        Ok(answer.metadata("trigger_threshold", event.threshold).metadata("spent", spent))
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        Ok(match Known::load(cx)?.over {
            Some(spent) if settings.is_large(call, size_of) => Answer::block(policy::exceeded(spent)),
            _ => Answer::pass(),
        })
    }

    fn after_turn(cx: &Context, event: &AfterTurn) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        // Long before the budget is used up a handoff is not needed, and reading a conversation costs time.
        let early = policy::spent(cx, event.usage, None).is_some_and(|spent| spent < settings.warn / 2.0);
        if !early {
            draft(cx, &settings, &event.messages)?;
        }
        Ok(Answer::pass())
    }

    fn pre_compact(cx: &Context, event: &PreCompact) -> Result<Answer, Error> {
        draft(cx, &settings()?, &event.messages)?;
        Ok(Answer::pass())
    }

    fn post_compact(cx: &Context, event: &PostCompact) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        let spent = policy::spent(cx, event.usage, None);
        let mut known = Known::load(cx)?;
        if known.over.is_some() && spent.is_some_and(|spent| settings.level(spent) == Level::Below) {
            known.over = None;
            known.save(cx)?;
        }
        Ok(Answer::pass())
    }

    fn session_end(cx: &Context, event: &SessionEnd) -> Result<Answer, Error> {
        if is_subagent(cx) {
            return Ok(Answer::pass());
        }
        let mut answer = Answer::pass();
        if event.reason.as_deref() == Some(ROTATE) {
            // Also if another hook has asked for the rotation; with the additions of the last turn.
            let text = hand_over(cx, &settings()?, &mut Known::load(cx)?)?;
            answer = answer.metadata("handoff_bytes", text.len());
        }
        Known::forget(cx)?;
        Ok(answer)
    }

    fn session_start(cx: &Context, event: &SessionStart) -> Result<Answer, Error> {
        if is_subagent(cx) {
            return Ok(Answer::pass());
        }
        let settings: Settings = settings()?;
        Known::forget(cx)?;
        if event.source.as_deref() != Some(ROTATE) {
            return Ok(Answer::pass());
        }
        let left = Left::take(cx, u64::from(settings.fresh) * 1000)?.unwrap_or_default();
        let answer = Answer::pass().metadata("handoff_bytes", left.len());
        Ok(if settings.inject && !left.is_empty() { answer.inject(left) } else { answer })
    }
}

fn is_subagent(cx: &Context) -> bool {
    cx.invoked_by == InvokedBy::Subagent
}

/// Returns the size of a file, if the right to read it was granted.
fn size_of(path: &str) -> Option<u64> {
    std::fs::metadata(path).ok().map(|file| file.len())
}

/// Takes the conversation into the draft of its handoff.
fn draft(cx: &Context, settings: &Settings, messages: &Document) -> Result<(), Error> {
    if is_subagent(cx) {
        return Ok(());
    }
    let said = said(messages);
    let mut known = Known::load(cx)?;
    known.handoff.hear(said.texts.iter().map(String::as_str));
    known.handoff.bound(bounds(settings));
    if known.handoff != Handoff::default() { known.save(cx) } else { Ok(()) }
}

/// Writes the handoff document, and leaves it for the next session.
fn hand_over(cx: &Context, settings: &Settings, known: &mut Known) -> Result<String, Error> {
    known.handoff.place(cx, &settings.issue);
    let text = known
        .handoff
        .render(bounds(settings).max_bytes)
        .unwrap_or_else(|| "Handoff of an earlier session: nothing was noted.".to_owned());
    Left::leave(cx, &text)?;
    Ok(text)
}

fn bounds(settings: &Settings) -> Bounds {
    Bounds { max_items: settings.max_items.min(50), max_bytes: settings.max_bytes.clamp(256, 12 * 1024) }
}

hookbox_sdk::export_hook!(BudgetRotate);
