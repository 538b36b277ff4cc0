//! The tape of a call: each input that a guest gets from outside is recorded on it, or comes from it.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::event::{Event, Facts, ResolvedPath, ToolKind};
use crate::inputs::{Input, Source, Taping};
use crate::redact;
use crate::work_tree::{PathState, Tree};
use hookbox_system::json;
use hookbox_system::mutex;

/// The most bytes of inputs that are recorded of a call: a record of an event has room for two such calls.
const MAX_RECORDED: usize = 2 << 20;

/// The cost of an input beside its texts, in bytes.
const INPUT: usize = 64;

/// The tape of a call. Clones share it, because requests run beside the call. Without a tape nothing is recorded.
#[derive(Clone, Default)]
pub(super) struct Tape(Option<Arc<Mutex<Inner>>>);

enum Inner {
    Recorded { inputs: Vec<Input>, size: usize },
    Played { inputs: Arc<[Input]>, next: usize, difference: Option<Difference> },
}

/// A call that is played asked for something else than the record has next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("asked for {asked}; the record has {recorded}")]
pub(super) struct Difference {
    asked: String,
    recorded: String,
}

/// The place of an input that was asked for and is not known yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot(
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only requests are answered later"))] usize,
);

/// A value that can be on a tape.
pub(super) trait Taped: Sized {
    fn write(&self) -> Value;
    fn read(got: &Value) -> Option<Self>;
}

impl Tape {
    pub(super) fn of(taping: &Taping) -> Self {
        let inner = match &taping.0 {
            Source::Outside(recording) if recording.is_on() => {
                Inner::Recorded { inputs: Vec::new(), size: 0 }
            }
            Source::Outside(_) => return Self::default(),
            Source::Record(inputs) => Inner::Played { inputs: Arc::clone(inputs), next: 0, difference: None },
        };
        Self(Some(Arc::new(Mutex::new(inner))))
    }

    /// Returns true if the call records its inputs, or gets them from a record.
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Returns true if the inputs come from a record.
    pub(super) fn is_played(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| matches!(*mutex::lock(inner), Inner::Played { .. }))
    }

    /// Returns an input from outside, and records it; or returns the one of the record.
    pub(super) async fn take<T: Taped>(
        &self,
        asked: impl FnOnce() -> String,
        outside: impl Future<Output = wasmtime::Result<T>>,
    ) -> wasmtime::Result<T> {
        if !self.is_on() {
            return outside.await;
        }
        let asked = asked();
        if self.is_played() {
            return self.play(&asked);
        }
        let got = outside.await?;
        self.record(asked, got.write());
        Ok(got)
    }

    /// Like [`Self::take`], for an input that needs no waiting.
    pub(super) fn take_now<T: Taped>(
        &self,
        asked: &str,
        outside: impl FnOnce() -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        if self.is_played() {
            return self.play(asked);
        }
        let got = outside()?;
        if self.is_on() {
            self.record(asked.to_owned(), got.write());
        }
        Ok(got)
    }

    /// Returns the next input of the record.
    ///
    /// # Errors
    ///
    /// A [`Difference`], also for every later question.
    pub(super) fn play<T: Taped>(&self, asked: &str) -> wasmtime::Result<T> {
        let Some(inner) = &self.0 else { wasmtime::bail!("no record is played") };
        let Inner::Played { inputs, next, difference } = &mut *mutex::lock(inner) else {
            wasmtime::bail!("no record is played")
        };
        if let Some(difference) = difference {
            return Err(difference.clone().into());
        }
        let input = inputs.get(*next);
        if let Some(got) = input.filter(|it| it.asked == asked).and_then(|it| T::read(&it.got)) {
            *next += 1;
            return Ok(got);
        }
        let recorded = match input {
            Some(input) if input.asked == asked => format!("an answer that means nothing: {}", input.got),
            Some(input) => input.asked.clone(),
            None => "nothing more".to_owned(),
        };
        let found = Difference { asked: asked.to_owned(), recorded };
        *difference = Some(found.clone());
        Err(found.into())
    }

    /// Records an input.
    pub(super) fn record(&self, asked: String, got: Value) -> Slot {
        let Some(inner) = &self.0 else { return Slot(0) };
        let Inner::Recorded { inputs, size } = &mut *mutex::lock(inner) else { return Slot(0) };
        *size = size.saturating_add(INPUT + asked.len() + json::size(&got));
        if *size <= MAX_RECORDED {
            inputs.push(Input { asked, got });
        } else {
            inputs.clear();
        }
        Slot(inputs.len().saturating_sub(1))
    }

    /// Changes an input that was asked for and became known later, which adds about `more` to its size.
    #[cfg(feature = "http")]
    pub(super) fn amend(&self, slot: Slot, more: &Value, change: impl FnOnce(&mut Value)) {
        let Some(inner) = &self.0 else { return };
        let Inner::Recorded { inputs, size } = &mut *mutex::lock(inner) else { return };
        *size = size.saturating_add(json::size(more));
        if *size > MAX_RECORDED {
            inputs.clear();
        } else if let Some(input) = inputs.get_mut(slot.0) {
            change(&mut input.got);
        }
    }

    /// Takes the recorded inputs; `None` if there are none, because they were too large or are not to be written, or
    /// because nothing is recorded.
    pub(super) fn take_inputs(&self) -> Option<Vec<Input>> {
        let Inner::Recorded { inputs, size } = &mut *mutex::lock(self.0.as_ref()?) else { return None };
        let is_whole = *size <= MAX_RECORDED && !splits_a_secret(inputs);
        is_whole.then(|| std::mem::take(inputs))
    }

    /// Returns the first difference between the call and the record.
    pub(super) fn difference(&self) -> Option<Difference> {
        match &*mutex::lock(self.0.as_ref()?) {
            Inner::Played { difference, .. } => difference.clone(),
            Inner::Recorded { .. } => None,
        }
    }

    /// Returns the event with the paths of the record. The host works out paths from the file system, so they are an
    /// input, too.
    pub(super) fn paths(&self, event: &Event) -> wasmtime::Result<Option<Event>> {
        let reads_files = |it: &ToolKind| {
            matches!(it, ToolKind::Read | ToolKind::Write | ToolKind::Edit | ToolKind::Search)
        };
        let call = event.tool_call().filter(|call| self.is_on() && reads_files(&call.facts.kind));
        let Some(call) = call else { return Ok(None) };
        let paths = self.take_now("paths", || Ok(call.facts.paths.clone()))?;
        if !self.is_played() {
            return Ok(None);
        }
        let Facts { kind, command, .. } = &*call.facts;
        let facts = Facts { kind: *kind, command: command.clone(), paths, ..Facts::default() };
        let mut event = event.clone();
        if let Some(call) = event.tool_call_mut() {
            call.facts = Arc::new(facts);
        }
        Ok(Some(event))
    }
}

/// Returns true if a secret begins in one piece of a file or an answer and ends in the next one: the rules that remove
/// secrets from a record look at each text alone.
fn splits_a_secret(inputs: &[Input]) -> bool {
    let is_read = |input: &&Input| input.asked.starts_with("file.read");
    let of_files: Vec<&str> = inputs.iter().filter(is_read).flat_map(|it| texts(&it.got)).collect();
    let bodies = inputs.iter().filter_map(|it| it.got.get("body")).map(texts);
    std::iter::once(of_files).chain(bodies).any(|pieces| {
        let (whole, parts) = (pieces.concat(), pieces.iter().map(|piece| redact::whole_text(piece)));
        pieces.len() > 1 && redact::whole_text(&whole) != parts.collect::<String>()
    })
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect(),
    }
}

macro_rules! as_json {
    ($($type:ty),*) => {$(
        impl Taped for $type {
            fn write(&self) -> Value {
                json!(self)
            }

            fn read(got: &Value) -> Option<Self> {
                serde::Deserialize::deserialize(got).ok()
            }
        }
    )*};
}

as_json!((), bool, i32, u32, u64, String, Value, Vec<u32>, Vec<String>, Vec<ResolvedPath>, Tree, PathState);

/// Text stays text. Other data is base64, unless a secret would be hidden in it: then it is text that the rules change.
impl Taped for Vec<u8> {
    fn write(&self) -> Value {
        match str::from_utf8(self) {
            Ok(text) => text.into(),
            Err(_) => {
                let text = String::from_utf8_lossy(self);
                match redact::whole_text(&text) == text {
                    true => json!({ "base64": BASE64.encode(self) }),
                    false => text.into(),
                }
            }
        }
    }

    fn read(got: &Value) -> Option<Self> {
        match got {
            Value::String(text) => Some(text.clone().into_bytes()),
            got => BASE64.decode(got.get("base64")?.as_str()?).ok(),
        }
    }
}

impl<T: Taped> Taped for Option<T> {
    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::write)
    }

    fn read(got: &Value) -> Option<Self> {
        if got.is_null() { Some(None) } else { T::read(got).map(Some) }
    }
}

impl<A: Taped, B: Taped> Taped for (A, B) {
    fn write(&self) -> Value {
        json!([self.0.write(), self.1.write()])
    }

    fn read(got: &Value) -> Option<Self> {
        Some((A::read(got.get(0)?)?, B::read(got.get(1)?)?))
    }
}

/// An error is an object with the key `error`, which no other answer has.
impl<T: Taped, E: Taped> Taped for Result<T, E> {
    fn write(&self) -> Value {
        match self {
            Ok(value) => value.write(),
            Err(error) => json!({ "error": error.write() }),
        }
    }

    fn read(got: &Value) -> Option<Self> {
        match got.get("error") {
            Some(error) => E::read(error).map(Err),
            None => T::read(got).map(Ok),
        }
    }
}

/// Names with values, each an object of its own: a name may tell that its value is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named<T>(pub(super) Vec<(String, T)>);

impl<T: Taped> Taped for Named<T> {
    fn write(&self) -> Value {
        self.0.iter().map(|(name, value)| json!({ name: value.write() })).collect()
    }

    fn read(got: &Value) -> Option<Self> {
        let pair = |it: &Value| {
            let (name, value) = it.as_object()?.iter().next()?;
            Some((name.clone(), T::read(value)?))
        };
        got.as_array()?.iter().map(pair).collect::<Option<_>>().map(Self)
    }
}

/// An answer that the host explains in the log of the call.
pub(super) struct Logged<T> {
    pub(super) got: T,
    pub(super) log: Vec<String>,
}

impl<T: Taped> Taped for Logged<T> {
    fn write(&self) -> Value {
        if self.log.is_empty() {
            self.got.write()
        } else {
            json!({ "got": self.got.write(), "log": self.log })
        }
    }

    fn read(got: &Value) -> Option<Self> {
        match got.get("log") {
            Some(log) => Some(Self { got: T::read(got.get("got")?)?, log: Taped::read(log)? }),
            None => Some(Self { got: T::read(got)?, log: Vec::new() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(tape: &Tape, asked: &str, outside: u64) -> Result<u64, String> {
        tape.take_now(asked, || Ok(outside)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_tape_plays_what_it_recorded_and_names_the_first_difference() {
        let recorded = Tape::of(&Taping::record());
        assert_eq!((asked(&recorded, "a", 1), asked(&recorded, "b", 2)), (Ok(1), Ok(2)));
        let inputs = recorded.take_inputs().unwrap();
        assert_eq!(inputs.len(), 2);
        let played = || Tape::of(&Taping::play(inputs.clone()));
        let again = played();
        assert_eq!((asked(&again, "a", 8), asked(&again, "b", 9)), (Ok(1), Ok(2)));
        let more = Err("asked for c; the record has nothing more".to_owned());
        assert_eq!(asked(&again, "c", 3), more);
        let other = played();
        let difference = Err("asked for b; the record has a".to_owned());
        assert_eq!((asked(&other, "b", 9), asked(&other, "a", 8)), (difference.clone(), difference));
        assert!(other.difference().is_some() && played().difference().is_none());
        let off = Tape::of(&Taping::default());
        assert_eq!((asked(&off, "a", 5), off.take_inputs(), off.is_on()), (Ok(5), None, false));
    }

    #[test]
    fn too_many_inputs_are_not_recorded_and_do_not_fill_the_memory() {
        let tape = Tape::of(&Taping::record());
        for _ in 0..3 {
            tape.record("file.read".to_owned(), "x".repeat(1 << 20).into());
        }
        assert_eq!(tape.take_inputs(), None);
    }

    #[test]
    fn data_is_text_if_it_can_be_and_a_secret_is_never_hidden_in_it() {
        let secret = b"\xff ghp_0123456789abcdefghijklmnopqrstuvwxyz";
        for (data, is_text) in [(&b"plain"[..], true), (b"\xff\x00", false), (secret, true)] {
            let written = data.to_vec().write();
            assert_eq!(written.is_string(), is_text, "{written}");
            assert_eq!(Vec::read(&written).as_deref() == Some(data), data != secret);
        }
        let tape = Tape::of(&Taping::record());
        for piece in ["ghp_0123456789abcd", "efghijklmnopqrstuvwxyz"] {
            tape.record("file.read".to_owned(), piece.into());
        }
        assert_eq!(tape.take_inputs(), None, "its parts look harmless");
    }
}
