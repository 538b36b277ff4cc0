//! The schema of `hookbox.toml`, and its reader.

use std::fs;

use hookbox_system::toml_value;

use super::faults;
use crate::environment::{TestEnvironment, repository};

#[test]
fn every_example_of_settings_in_the_book_fits_the_schema() {
    let mut examples = 0;
    for page in ["settings", "guards", "team", "built-in-hooks"] {
        let page = fs::read_to_string(repository().join(format!("docs/src/{page}.md"))).unwrap();
        let blocks = page.split("```toml\n").skip(1).map(|it| it.split("```").next().unwrap());
        for text in blocks.filter(|it| it.contains("[hooks.\"")) {
            assert_eq!(
                faults("settings", None, &toml_value::json(text).unwrap()),
                Vec::<String>::new(),
                "{text}"
            );
            examples += 1;
        }
    }
    assert!(examples >= 4, "{examples}");
}

#[test]
fn the_schema_of_settings_refuses_the_lines_that_the_reader_refuses() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/x", "turn_end", "true");
    let of_hook = |line: &str| format!("[hooks.x]\n{line}\n");
    let (right, wrong) = (
        [
            "priority = -5\non_failure = \"block\"\nmode = \"observe\"\nenabled = true\nallow = true",
            "timeout = \"250 ms\"\nfuel = 5_000\nmemory = \"16MiB\"\noutput = 1000\nlog = \"2B\"\ncopies = \"1 KB\"",
            "handles = 10\ntables = 20\nenv = [\"PATH\"]\nsettings = { a = 1, b = [\"c\"] }",
        ],
        [
            "enabled = 1",
            "priority = \"high\"",
            "priority = 99999999999",
            "on_failure = \"blok\"",
            "mode = true",
            "allow = \"yes\"",
            "timeout = 5",
            "timeout = \"0s\"",
            "timeout = \"2h\"",
            "fuel = 0",
            "fuel = \"many\"",
            "memory = \"lots\"",
            "memory = \"0KiB\"",
            "log = -1",
            "handles = 1.5",
            "env = \"PATH\"",
            "env = [\"A=B\"]",
            "env = [5]",
            "settings = []",
            "priorty = 1",
        ],
    );
    let right_beside = [
        "no_hooks = false\nskip_commands = [\"a\"]\nredact_context = false\ngit.program = \"/opt/git/bin/git\"",
        "budget = { warn = 0.5, rotate = 1, at_threshold = \"rotate\" }\nplugins.git_host = \"file:///srv/git/\"",
        "journal = { enabled = true, keep_days = 5, max_size = \"1GB\" }\nplugins.git_host = \"ssh://git@example.com\"",
    ];
    let wrong_beside = [
        "no_hooks = \"yes\"",
        "skip_commands = \"pr\"",
        "skip_commands = [\"\"]",
        "budget = 0.7",
        "budget.warn = 0.0",
        "budget.rotate = 70",
        "budget.rotate = nan",
        "budget.at_threshold = \"stop\"",
        "budget.colour = 1",
        "git.program = \"git\"",
        "journal.keep_days = 0",
        "journal.max_size = true",
        "plugins.git_host = \"git.example.com\"",
        "plugins.git_host = \"https://\"",
        "plugins.git_host = \"ssh://-oProxyCommand=x\"",
        "plugins.git_host = \"https://h/ x\"",
        "colour = 1",
        "hooks = 5",
        "hooks.x = 5",
    ];
    let right = right.iter().map(|it| of_hook(it)).chain(right_beside.map(str::to_owned));
    let wrong = wrong.iter().map(|it| of_hook(it)).chain(wrong_beside.map(str::to_owned));
    for (text, is_right) in right.map(|it| (it, true)).chain(wrong.map(|it| (it, false))) {
        env.file("home/.hookbox/hookbox.toml", &text);
        let said = env.hookbox(["list"]).stderr;
        assert_eq!(!said.contains("hookbox.toml"), is_right, "the reader: {text}: {said}");
        let found = faults("settings", None, &toml_value::json(&text).unwrap());
        assert_eq!(found.is_empty(), is_right, "the schema: {text}: {found:?}");
    }
}

#[test]
fn the_program_checks_a_settings_file() {
    let env = TestEnvironment::new();
    env.file("repo/hookbox.toml", "[hooks.x]\npriorty = 1\n");
    let output = env.hookbox(["schema", "settings", "--check", "hookbox.toml"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stdout.starts_with("/hooks/x: "), "{output:#?}");
}
