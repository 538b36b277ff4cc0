//! Which hooks keep the trust that they have when a plugin is replaced, and which need a new yes. No I/O.

use hookbox::Kind;
use hookbox::discovery::EntryStatus;
use hookbox::text::escape;
use hookbox_plugins::{Contents, PluginHook};

/// The hooks of the new state that can be used, by their full names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// Trusted, and the same byte for byte.
    pub(super) kept: Vec<String>,
    /// The same byte for byte, and not trusted: nobody asks about them.
    pub(super) left: Vec<String>,
    /// New, or of other bytes.
    pub(super) changed: Vec<String>,
    /// Not components, and the same but for other files of the plugin, which count as theirs.
    pub(super) beside: Vec<String>,
}

impl Standing {
    /// A component is its bytes and what declares it, anything else every file of the plugin. Which hooks are trusted now, `trusted` says by
    /// their full names.
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
        let mut standing = Self::default();
        for hook in after.enabled().filter(|it| it.status != EntryStatus::Invalid) {
            let list = match is_as_before(hook) {
                same if same_bytes || (same && hook.kind == Kind::Component) => {
                    match trusted(&hook.full_name) {
                        true => &mut standing.kept,
                        false => &mut standing.left,
                    }
                }
                true => &mut standing.beside,
                false => &mut standing.changed,
            };
            list.push(hook.full_name.clone());
        }
        standing
    }

    /// Whether there is anything to ask about.
    pub(super) fn is_asked(&self) -> bool {
        !self.changed.is_empty() || !self.beside.is_empty()
    }

    /// The hooks that nobody asks about.
    pub(super) fn besides(&self) -> Vec<String> {
        self.kept.iter().chain(&self.left).cloned().collect()
    }

    /// It in lines, safe to show.
    pub(super) fn lines(&self) -> Vec<String> {
        let said = [
            ("unchanged byte for byte, so that trust and grants stay", &self.kept),
            ("unchanged byte for byte and not trusted, which stays so", &self.left),
            ("new or changed, so that a new yes is needed", &self.changed),
            ("unchanged beside other files that changed, so that a new yes is needed", &self.beside),
        ];
        let said = said.into_iter().filter(|(_, names)| !names.is_empty());
        said.map(|(what, names)| {
            let names: Vec<String> = names.iter().map(|name| escape(name, 200)).collect();
            format!("  {what}: {}", names.join(" "))
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookbox::{Digest, OnFailure};

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
        let standing = Standing::between(&before, &after, false, trusted);
        let want = Standing {
            kept: names(&["a.wasm"]),
            left: names(&["taken-back.wasm"]),
            changed: names(&["b.wasm", "c.wasm", "kind", "unread.wasm"]),
            beside: names(&["guard"]),
        };
        assert_eq!(standing, want);
        assert_eq!(
            (standing.is_asked(), standing.besides()),
            (true, names(&["a.wasm", "taken-back.wasm"])),
            "what is not asked about is neither trusted nor taken back"
        );
        let standing = Standing::between(&before, &before, true, trusted);
        let kept = names(&["a.wasm", "b.wasm", "guard", "kind"]);
        assert_eq!(standing, Standing { kept, left: names(&["taken-back.wasm"]), ..Standing::default() });
        assert!(!standing.is_asked());
    }

    #[test]
    fn what_a_hooks_json_says_of_the_same_component_is_asked_about() {
        let guard = |entry: &[u8]| PluginHook {
            entry: Some(Digest::of(entry)),
            ..hook("guard", Kind::Component, b"1")
        };
        let before = of(vec![guard(b"1")]);
        for after in
            [guard(b"2"), hook("guard", Kind::Component, b"1"), hook("another", Kind::Component, b"1")]
        {
            let name = after.full_name.clone();
            let standing = Standing::between(&before, &of(vec![after]), false, |_| true);
            assert_eq!((standing.kept, standing.changed), (Vec::new(), vec![name]));
        }
    }

    #[test]
    fn each_reason_has_a_line_of_its_own() {
        let standing = Standing {
            left: names(&["x"]),
            changed: names(&["a", "b\u{1b}"]),
            beside: names(&["guard"]),
            ..Standing::default()
        };
        assert_eq!(
            standing.lines(),
            [
                "  unchanged byte for byte and not trusted, which stays so: o/r/x",
                "  new or changed, so that a new yes is needed: o/r/a o/r/b\\u{1b}",
                "  unchanged beside other files that changed, so that a new yes is needed: o/r/guard",
            ]
        );
    }
}
