//! The state of a session, and its handoff to the next one: values of the store.

use handoff::Handoff;
use hookbox_sdk::text::hash;
use hookbox_sdk::{Context, Error, state};

/// The form of the values.
const VERSION: u32 = 1;

/// So many sessions have a value of their own; of two that share one the later one has it.
const SESSIONS: u64 = 512;

/// So many places have a handoff of their own.
const PLACES: u64 = 256;

/// The state of a session.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Known {
    /// The conversation, as a hash.
    conversation: u64,
    /// The used share of the budget when the session was to be rotated; absent until then.
    pub(crate) over: Option<f64>,
    /// The handoff so far.
    pub(crate) handoff: Handoff,
}

/// The handoff of a session to the next one in its place.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Left {
    /// The repository and the branch, as a hash.
    place: u64,
    /// The time, in milliseconds since 1970.
    at: u64,
    /// The handoff.
    text: String,
}

fn conversation(cx: &Context) -> (u64, String) {
    let conversation = hash([cx.conversation_id.as_str()]);
    (conversation, format!("session/{}", conversation % SESSIONS))
}

/// Without a repository's name it is the working directory.
fn place(cx: &Context) -> (u64, String) {
    let place = hash([cx.place(), cx.branch.as_deref().unwrap_or_default()]);
    (place, format!("handoff/{}", place % PLACES))
}

impl Known {
    pub(crate) fn load(cx: &Context) -> Result<Self, Error> {
        let (conversation, key) = conversation(cx);
        let known: Self = state::load(&key, VERSION)?;
        Ok(if known.conversation == conversation { known } else { Self::default() })
    }

    pub(crate) fn save(&mut self, cx: &Context) -> Result<(), Error> {
        let (conversation, key) = conversation(cx);
        self.conversation = conversation;
        state::save(&key, VERSION, self)
    }

    /// Forgets this session, and no other one.
    pub(crate) fn forget(cx: &Context) -> Result<(), Error> {
        let (conversation, key) = conversation(cx);
        let known: Self = state::load(&key, VERSION)?;
        if known.conversation == conversation { state::delete(&key) } else { Ok(()) }
    }
}

impl Left {
    pub(crate) fn leave(cx: &Context, text: &str) -> Result<(), Error> {
        let (place, key) = place(cx);
        state::save(&key, VERSION, &Self { place, at: cx.timestamp_ms, text: text.to_owned() })
    }

    /// Takes the handoff that was left here within this time, in milliseconds. It is given once.
    pub(crate) fn take(cx: &Context, fresh: u64) -> Result<Option<String>, Error> {
        let (place, key) = place(cx);
        let left: Self = state::load(&key, VERSION)?;
        if left.place != place {
            return Ok(None);
        }
        state::delete(&key)?;
        Ok((cx.timestamp_ms.abs_diff(left.at) <= fresh && !left.text.is_empty()).then_some(left.text))
    }
}
