use super::*;
use hookbox::event::EventName;
use hookbox::hook::Kind;
use hookbox::hook::{Digest, OnFailure, Subscription};
use hookbox::manager::EntryStatus;

fn hook(name: &str) -> PluginHook {
    PluginHook {
        name: name.to_owned(),
        full_name: format!("org/repo/{name}"),
        file: format!("hooks/{name}").into(),
        kind: Kind::Component,
        status: EntryStatus::Active,
        subscriptions: vec![Subscription::to(EventName::BeforeToolCall)],
        priority: 50,
        on_failure: OnFailure::Pass,
        observe: false,
        answers: vec!["inject"],
        asks: vec!["store".parse().unwrap()],
        runs: None,
        files: Vec::new(),
        timeout: "3s".to_owned(),
        description: None,
        digest: Some(Digest::of(b"1")),
        entry: None,
        problem: None,
    }
}

fn of(hooks: Vec<PluginHook>) -> Contents {
    Contents { hooks, ..Contents::default() }
}

#[test]
fn each_changed_property_of_a_hook_is_named_before_and_after() {
    type Change = fn(&mut PluginHook);
    let cases: [(Change, &str); 13] = [
        (|_| {}, ""),
        (|it| it.kind = Kind::Command, "kind: component -> command"),
        (|it| it.status = EntryStatus::Disabled, "status: active -> disabled"),
        (|it| it.subscriptions.push(Subscription::to(EventName::AgentStop)), "events: +agent_stop"),
        (
            |it| it.subscriptions[0].tools.push("kind:shell".to_owned()),
            "events: +before_tool_call (kind:shell) -before_tool_call",
        ),
        (|it| it.priority = 7, "priority: 50 -> 7"),
        (|it| it.on_failure = OnFailure::Block, "on_failure: pass -> block"),
        (|it| it.observe = true, "observe: false -> true"),
        (|it| it.answers = vec!["modify", "inject"], "answers: +modify"),
        (|it| it.answers.clear(), "answers: -inject"),
        (
            |it| it.asks = vec!["read:$HOME".parse().unwrap(), "env:TOKEN".parse().unwrap()],
            "asks: +read:$HOME +env:TOKEN -store",
        ),
        (|it| it.runs = Some("rm\u{1b}[2K x".to_owned()), "runs: rm\\u{1b}[2K x"),
        (|it| it.digest = Some(Digest::of(b"2")), "bytes: changed"),
    ];
    for (change, want) in cases {
        let mut after = hook("a");
        change(&mut after);
        let difference = Difference::between(&of(vec![hook("a")]), &of(vec![after]));
        let lines: Vec<String> = difference
            .hooks_changed
            .iter()
            .flat_map(|it| it.changes.iter().map(ToString::to_string))
            .collect();
        assert_eq!(lines.join("\n"), want);
        assert_eq!(difference.is_empty(), want.is_empty(), "{want}");
        assert_eq!(difference.hooks_changed.len(), usize::from(!want.is_empty()), "{want}");
    }
}

#[test]
fn additions_and_removals_are_listed() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let before = Contents {
        skills: names(&["a", "b"]),
        recipes: names(&["x"]),
        hooks: vec![hook("gone"), hook("stays")],
        ..Contents::default()
    };
    let after = Contents {
        skills: names(&["b", "c"]),
        recipes: names(&["x", "y\n"]),
        hooks: vec![hook("new"), hook("stays")],
        ..Contents::default()
    };
    let difference = Difference::between(&before, &after);
    let shown = difference.to_string();
    let (head, new) = shown.split_once("  + hook new\n").unwrap();
    assert_eq!(head, "  + skill c\n  - skill a\n  + recipe y\\n\n  - hook gone\n");
    // All of a new hook is new, also the rights that it asks for.
    for line in ["      kind: component", "      on_failure: pass", "      timeout: 3s"] {
        assert!(new.contains(line), "{line}: {new}");
    }
    let asking = PluginHook { asks: vec!["read:$REPO".parse().unwrap()], ..hook("asking") };
    let shown = Difference::between(&before, &of(vec![asking])).to_string();
    assert!(shown.contains("      asks: +read:$REPO"), "{shown}");
    assert_eq!((difference.hooks_added.len(), difference.hooks_changed.len()), (1, 0));
    assert!(Difference::between(&after, &after).is_empty());
    let back = Difference::between(&after, &before);
    let added: Vec<_> = back.hooks_added.iter().map(|it| it.name.clone()).collect();
    assert_eq!((added, back.hooks_removed), (names(&["gone"]), names(&["new"])));
}

#[test]
fn other_files_are_named_up_to_a_limit() {
    let temp = tempfile::tempdir().unwrap();
    let dirs = ["before", "after"].map(|name| temp.path().join(name));
    let put = |at: usize, path: &str, text: &str| {
        let path = dirs[at].join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for (at, text) in [(0, "1"), (1, "2")] {
        put(at, "hooks/a", text);
        put(at, "hooks/lib/h.sh", text);
        put(at, "skills/pdf/SKILL.md", text);
    }
    put(0, "recipes/old.md", "x");
    put(0, "hooks/lib/gone\u{1b}", "x");
    put(1, "skills/new/SKILL.md", "x");
    let changed = PluginHook { digest: Some(Digest::of(b"2")), ..hook("a") };
    let states = [
        Contents { recipes: vec!["old".to_owned()], ..of(vec![hook("a")]) },
        Contents { skills: vec!["new".to_owned()], ..of(vec![changed]) },
    ];
    let between = || {
        let [before, after] = [0, 1].map(|at| Files::of(&dirs[at]).unwrap());
        Difference::of_files((&states[0], &before), (&states[1], &after))
    };
    assert_eq!(
        between().to_string(),
        "  + skill new\n  - recipe old\n  ~ hook a\n      bytes: changed\n  - file hooks/lib/gone\\u{1b}\n  \
         ~ file hooks/lib/h.sh\n  ~ file skills/pdf/SKILL.md"
    );
    (0..30).for_each(|n| put(1, &format!("hooks/lib/{n}"), "x"));
    let many = between();
    assert_eq!(many.other_files.added.len(), 30, "data is whole");
    assert!(many.to_string().ends_with("\n  … and 13 more files"), "{many}");
}
