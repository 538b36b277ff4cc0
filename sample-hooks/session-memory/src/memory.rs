//! The memory of a place: a value of the store.

use handoff::{Handoff, issue_of};
use hookbox_sdk::prelude::*;
use hookbox_sdk::state;
use hookbox_sdk::text::hash;

/// The form of a value.
const VERSION: u32 = 1;

/// The prefix of keys.
const KEY: &str = "memory/";

/// So many places are remembered.
const PLACES: usize = 256;

/// The scope of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// A repository.
    Repo,
    /// A branch of a repository.
    Branch,
    /// An issue of a repository; where none is known, the branch.
    Issue,
}

/// The memory of a place.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Memory {
    /// The place, as a key's hash may be that of another one as well.
    place: Vec<String>,
    /// The conversation that wrote it, as a hash.
    pub(crate) conversation: String,
    /// The time, in milliseconds since 1970.
    pub(crate) at: u64,
    /// The size of that conversation, in bytes of JSON.
    pub(crate) conversation_bytes: u64,
    /// The number of its tokens.
    pub(crate) tokens: u64,
    /// Its handoff.
    pub(crate) handoff: Handoff,
}

/// Returns the key of the conversation.
pub(crate) fn conversation(cx: &Context) -> String {
    format!("{:016x}", hash([cx.conversation_id.as_str()]))
}

/// Returns the parts of a memory's key. Without a repository's name it is the working directory.
fn place(cx: &Context, scope: Scope, issue: &str) -> Vec<String> {
    let repository = cx.place().to_owned();
    let branch = || vec!["branch".to_owned(), cx.branch.clone().unwrap_or_default()];
    let part = match scope {
        Scope::Repo => Vec::new(),
        Scope::Branch => branch(),
        Scope::Issue => match issue_of(cx, issue) {
            Some(issue) => vec!["issue".to_owned(), issue],
            None => branch(),
        },
    };
    [vec![repository], part].concat()
}

fn key(place: &[String]) -> String {
    format!("{KEY}{:016x}", hash(place.iter().map(String::as_str)))
}

impl Memory {
    /// Loads the memory of this place.
    pub(crate) fn load(cx: &Context, scope: Scope, issue: &str) -> Result<Self, Error> {
        let place = place(cx, scope, issue);
        let memory: Self = state::load(&key(&place), VERSION)?;
        Ok(if memory.place == place { memory } else { Self::default() })
    }

    /// Keeps it. Of two sessions of one place that end at the same moment the later one's holds.
    pub(crate) fn save(mut self, cx: &Context, scope: Scope, issue: &str) -> Result<(), Error> {
        self.place = place(cx, scope, issue);
        state::save(&key(&self.place), VERSION, &self)
    }
}

/// Forgets the places that were left longest ago, if there are too many.
pub(crate) fn forget_oldest() -> Result<(), Error> {
    let keys: Vec<String> = state::keys()?.into_iter().filter(|key| key.starts_with(KEY)).collect();
    if keys.len() <= PLACES {
        return Ok(());
    }
    let mut known = Vec::new();
    for key in keys {
        known.push((state::load::<Memory>(&key, VERSION)?.at, key));
    }
    known.sort();
    let surplus = known.len() - PLACES;
    known.iter().take(surplus).try_for_each(|(_, key)| state::delete(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_what_the_scope_says() {
        let cx = |repository: Option<&str>, branch: Option<&str>| Context {
            cwd: "/w".into(),
            repository: repository.map(Into::into),
            branch: branch.map(Into::into),
            ..Context::default()
        };
        let of = |repository, branch, scope, issue| place(&cx(repository, branch), scope, issue).join(" ");
        for (repository, branch, scope, issue, expected) in [
            (Some("o/r"), Some("main"), Scope::Repo, "7", "o/r"),
            (Some("o/r"), Some("main"), Scope::Branch, "7", "o/r branch main"),
            (Some("o/r"), None, Scope::Branch, "", "o/r branch "),
            (Some("o/r"), Some("main"), Scope::Issue, "#7", "o/r issue 7"),
            (Some("o/r"), Some("fix/9-x"), Scope::Issue, "", "o/r issue 9"),
            (Some("o/r"), Some("main"), Scope::Issue, "", "o/r branch main"),
            (None, Some("main"), Scope::Repo, "", "/w"),
        ] {
            assert_eq!(of(repository, branch, scope, issue), expected);
        }
        let keys: std::collections::BTreeSet<String> = [
            place(&cx(Some("o/r"), Some("main")), Scope::Repo, ""),
            place(&cx(Some("o/r"), Some("main")), Scope::Branch, ""),
            place(&cx(Some("o/r"), Some("dev")), Scope::Branch, ""),
            place(&cx(Some("o/s"), Some("main")), Scope::Branch, ""),
            place(&cx(Some("o/r"), Some("main")), Scope::Issue, "main"),
        ]
        .iter()
        .map(|place| key(place))
        .collect();
        assert_eq!(keys.len(), 5);
    }
}
