//! Counters of rules, in a window of time.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::rule::{Count, Per, Rule};
use crate::event::Event;
#[cfg(feature = "store")]
use crate::hook::Cause;
use crate::hook::{Digest, HookError};
#[cfg(feature = "store")]
use crate::store::Bucket;
use hookbox_system::mutex;

/// The number of keys that a rule counts apart: the latest ones.
const MAX_KEYS: usize = 1_000;

/// The times of the events that a rule counts, in milliseconds since 1970, by the key of the events.
type Times = BTreeMap<String, Vec<u64>>;

/// The counters of a hook.
#[derive(Debug)]
pub(crate) enum Counters {
    /// In this process only.
    Memory(Mutex<BTreeMap<String, Times>>),
    /// In the hook's bucket of the store.
    #[cfg(feature = "store")]
    Store(Bucket),
}

impl Counters {
    /// Makes counters that end with the process.
    pub(crate) fn in_memory() -> Self {
        Self::Memory(Mutex::default())
    }

    /// Counts an event of a rule. Returns true if it is at least the number of times that the rule waits for.
    pub(super) async fn reaches(&self, rule: &Rule, count: &Count, event: &Event) -> Result<bool, HookError> {
        let (key, now, count) = (key(count.per, event), event.context.timestamp_ms, *count);
        match self {
            Self::Memory(all) => {
                let mut all = mutex::lock(all);
                Ok(add(all.entry(rule.name.clone()).or_default(), key, now, &count))
            }
            #[cfg(feature = "store")]
            Self::Store(bucket) => {
                let changed = bucket.update(rule.name.clone(), move |old| {
                    let mut times: Times =
                        old.and_then(|it| serde_json::from_slice(&it).ok()).unwrap_or_default();
                    let reaches = add(&mut times, key.clone(), now, &count);
                    // A map of texts and numbers is JSON.
                    (serde_json::to_vec(&times).unwrap_or_default(), reaches)
                });
                changed.await.map_err(|error| {
                    HookError::new(Cause::Internal, format!("its counter cannot be kept: {error}"))
                })
            }
        }
    }
}

/// Returns the key of the events that are counted with this one.
fn key(per: Per, event: &Event) -> String {
    let session = &event.context.conversation_id;
    let parts = match (per, event.tool_call()) {
        (Per::All, _) => return String::new(),
        (Per::Input, Some(call)) => vec![session.as_str(), &call.name, call.input.text()],
        (Per::Session | Per::Input, _) => vec![session.as_str()],
    };
    Digest::of(parts.join("\0").as_bytes()).hex()
}

/// Adds an event, drops those that are out of the window, and returns true if enough of them are left.
fn add(times: &mut Times, key: String, now: u64, count: &Count) -> bool {
    let within = u64::try_from(count.within.as_millis()).unwrap_or(u64::MAX);
    for times in times.values_mut() {
        // A clock may be set back.
        times.retain(|time| now.abs_diff(*time) < within);
    }
    let mine = times.entry(key).or_default();
    mine.push(now);
    let reaches = mine.len() >= count.times;
    // More than that make no difference.
    let more = mine.len().saturating_sub(count.times);
    mine.drain(..more);
    times.retain(|_, times| !times.is_empty());
    while times.len() > MAX_KEYS {
        let oldest = times.iter().min_by_key(|(_, times)| times.last()).map(|(key, _)| key.clone());
        times.remove(&oldest.unwrap_or_default());
    }
    reaches
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_third_time_in_ten_minutes_is_reached_and_old_events_do_not_count() {
        let count = Count { times: 3, within: Duration::from_secs(600), per: Per::All };
        let mut times = Times::new();
        let minutes = |now: u64| now * 60_000;
        for (key, now, expected) in [
            ("a", 100, false),
            ("a", 101, false),
            ("b", 101, false),
            ("a", 105, true),
            ("a", 106, true),
            ("a", 115, false),
            ("a", 114, true),
            ("a", 200, false),
        ] {
            assert_eq!(add(&mut times, key.to_owned(), minutes(now), &count), expected, "{key} {now}");
        }
        assert_eq!(times.len(), 1, "keys without events are dropped");
    }

    #[test]
    fn the_keys_of_a_rule_are_limited_and_the_oldest_are_dropped() {
        let count = Count { times: 2, within: Duration::from_secs(600), per: Per::Session };
        let mut times = Times::new();
        for now in 0..1_500_u64 {
            add(&mut times, now.to_string(), now, &count);
        }
        assert_eq!((times.len(), times.contains_key("499"), times.contains_key("500")), (1_000, false, true));
    }
}
