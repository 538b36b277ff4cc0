//! The hooks that keep their trust when a plugin is replaced, and those that need a new yes. No I/O.

use super::{Contents, Decision, PluginHook};
use hookbox::escape;
use hookbox::manager::EntryStatus;

/// The usable hooks of the new plugin, by their full names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustChanges {
    /// Trusted, and identical.
    pub kept: Vec<String>,
    /// Identical and not trusted: the user is not asked about them.
    pub left: Vec<String>,
    /// New or changed.
    pub changed: Vec<String>,
    /// Identical, but the digest of such a hook covers other files of the plugin, which changed.
    pub beside: Vec<String>,
}

impl TrustChanges {
    /// Compares two states of a plugin. A component or a rules file is compared by its bytes and its declaration,
    /// every other hook by all files of the plugin. `trusted` tells by a full name if that hook is trusted now.
    pub(super) fn between(
        before: &Contents,
        after: &Contents,
        same_bytes: bool,
        trusted: impl Fn(&str) -> bool,
    ) -> Self {
        let is_as_before = |hook: &PluginHook| {
            let was = before.hooks.iter().find(|it| it.name == hook.name && it.kind == hook.kind);
            hook.digest.is_some() && was.is_some_and(|it| it.digest == hook.digest && it.entry == hook.entry)
        };
        let mut changes = Self::default();
        for hook in after.enabled().filter(|it| it.status != EntryStatus::Invalid) {
            let list = match is_as_before(hook) {
                same if same_bytes || (same && hook.kind.is_one_file()) => match trusted(&hook.full_name) {
                    true => &mut changes.kept,
                    false => &mut changes.left,
                },
                true => &mut changes.beside,
                false => &mut changes.changed,
            };
            list.push(hook.full_name.clone());
        }
        changes
    }

    /// Returns true if the user has to be asked.
    pub fn is_asked(&self) -> bool {
        !self.changed.is_empty() || !self.beside.is_empty()
    }

    /// Returns the decision about the hooks that the user was asked about. The others stay as they are.
    pub fn decision(&self, trust: bool, grant: bool) -> Decision {
        let besides = self.kept.iter().chain(&self.left).cloned().collect();
        Decision { trust, grant: grant && self.is_asked(), besides }
    }

    /// Describes the changes in lines, escaped.
    pub fn lines(&self) -> Vec<String> {
        let lists = [
            ("unchanged byte for byte, so that trust and grants stay", &self.kept),
            ("unchanged byte for byte and not trusted, which stays so", &self.left),
            ("new or changed, so that a new yes is needed", &self.changed),
            ("unchanged beside other files that changed, so that a new yes is needed", &self.beside),
        ];
        let lists = lists.into_iter().filter(|(_, names)| !names.is_empty());
        lists
            .map(|(what, names)| {
                let names: Vec<String> = names.iter().map(|name| escape(name, 200)).collect();
                format!("  {what}: {}", names.join(" "))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookbox::{Digest, Kind, OnFailure};

    fn hook(name: &str, kind: Kind, bytes: &[u8]) -> PluginHook {
        PluginHook {
            name: name.to_owned(),
            full_name: format!("o/r/{name}"),
            file: name.into(),
            kind,
            status: EntryStatus::Active,
            subscriptions: Vec::new(),
            priority: 50,
            on_failure: OnFailure::Pass,
            observe: false,
            answers: Vec::new(),
            asks: Vec::new(),
            runs: None,
            files: Vec::new(),
            timeout: "3s".to_owned(),
            description: None,
            digest: Some(Digest::of(bytes)),
            entry: None,
            problem: None,
        }
    }

    fn of(hooks: Vec<PluginHook>) -> Contents {
        Contents { hooks, ..Contents::default() }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|it| format!("o/r/{it}")).collect()
    }

    #[test]
    fn only_a_trusted_and_unchanged_component_keeps_its_trust_when_anything_changes() {
        let before = of(vec![
            hook("a.wasm", Kind::Component, b"1"),
            hook("b.wasm", Kind::Component, b"1"),
            hook("taken-back.wasm", Kind::Component, b"1"),
            hook("guard", Kind::Native, b"1"),
            hook("kind", Kind::Command, b"1"),
        ]);
        let after = of(vec![
            hook("a.wasm", Kind::Component, b"1"),
            hook("b.wasm", Kind::Component, b"2"),
            hook("c.wasm", Kind::Component, b"1"),
            hook("taken-back.wasm", Kind::Component, b"1"),
            hook("guard", Kind::Native, b"1"),
            hook("kind", Kind::Component, b"1"),
            PluginHook { status: EntryStatus::Disabled, ..hook("off.disable", Kind::Native, b"1") },
            PluginHook { status: EntryStatus::Invalid, ..hook("bad.wasm", Kind::Component, b"1") },
            PluginHook { digest: None, ..hook("unread.wasm", Kind::Component, b"1") },
        ]);
        let trusted = |name: &str| !name.contains("taken-back");
        let changes = TrustChanges::between(&before, &after, false, trusted);
        let want = TrustChanges {
            kept: names(&["a.wasm"]),
            left: names(&["taken-back.wasm"]),
            changed: names(&["b.wasm", "c.wasm", "kind", "unread.wasm"]),
            beside: names(&["guard"]),
        };
        assert_eq!(changes, want);
        assert_eq!(
            (changes.is_asked(), changes.decision(true, true).besides),
            (true, names(&["a.wasm", "taken-back.wasm"])),
            "what is not asked about is neither trusted nor taken back"
        );
        let changes = TrustChanges::between(&before, &before, true, trusted);
        let kept = names(&["a.wasm", "b.wasm", "guard", "kind"]);
        assert_eq!(
            changes,
            TrustChanges { kept, left: names(&["taken-back.wasm"]), ..TrustChanges::default() }
        );
        assert!(!changes.is_asked());
    }

    #[test]
    fn a_changed_entry_of_the_same_component_needs_a_new_yes() {
        let guard = |entry: &[u8]| PluginHook {
            entry: Some(Digest::of(entry)),
            ..hook("guard", Kind::Component, b"1")
        };
        let before = of(vec![guard(b"1")]);
        for after in
            [guard(b"2"), hook("guard", Kind::Component, b"1"), hook("another", Kind::Component, b"1")]
        {
            let name = after.full_name.clone();
            let changes = TrustChanges::between(&before, &of(vec![after]), false, |_| true);
            assert_eq!((changes.kept, changes.changed), (Vec::new(), vec![name]));
        }
    }

    #[test]
    fn each_reason_has_a_line_of_its_own() {
        let changes = TrustChanges {
            left: names(&["x"]),
            changed: names(&["a", "b\u{1b}"]),
            beside: names(&["guard"]),
            ..TrustChanges::default()
        };
        assert_eq!(
            changes.lines(),
            [
                "  unchanged byte for byte and not trusted, which stays so: o/r/x",
                "  new or changed, so that a new yes is needed: o/r/a o/r/b\\u{1b}",
                "  unchanged beside other files that changed, so that a new yes is needed: o/r/guard",
            ]
        );
    }
}
