use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::keys::{ALL_HOOKS, HOOK, Key, TABLES};
use super::{Fault, File, Parsed, Table, Tables};
use crate::hook::{Limits, Mode, OnFailure};
use crate::thresholds::AtThreshold;

fn parse(text: &str) -> (Tables, Vec<Fault>) {
    let Parsed { file: File { tables, .. }, faults, .. } = super::parse(text);
    (tables, faults)
}

#[test]
fn a_table_says_all_there_is_to_say_of_a_hook() {
    let (tables, faults) = parse(
        r#"
[hooks."guard.wasm"]
enabled = true
priority = -5
on_failure = "block"
mode = "enforce"
timeout = "250ms"
fuel = 5_000
memory = "16MiB"
output = "1MiB"
log = 1000
copies = "2MiB"
handles = 10
tables = 20
env = ["PATH", "HOME"]
settings = { mode = "strict", depth = 3, ratio = 0.5, deny = ["a", "b"], nested = { on = true } }

[hooks."org/repo/x"]
memory = 1024
"#,
    );
    assert_eq!(faults, []);
    let settings = [
        ("mode", "strict"),
        ("depth", "3"),
        ("ratio", "0.5"),
        ("deny", r#"["a","b"]"#),
        ("nested", r#"{"on":true}"#),
    ];
    let guard = Table {
        line: 2,
        enabled: Some(true),
        priority: Some(-5),
        on_failure: Some(OnFailure::Block),
        mode: Some(Mode::Enforce),
        allow: None,
        allow_once: None,
        grants: None,
        limits: Limits {
            timeout: Some(Duration::from_millis(250)),
            fuel: Some(5_000),
            memory: Some(16 << 20),
            output: Some(1 << 20),
            log: Some(1000),
            copies: Some(2 << 20),
            handles: Some(10),
            tables: Some(20),
        },
        environment: Some(vec!["PATH".to_owned(), "HOME".to_owned()]),
        http: None,
        settings: settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        settings_lines: settings.map(|(key, _)| (key.to_owned(), 16)).into(),
        texts: tables["guard.wasm"].texts.clone(),
        file: PathBuf::new(),
    };
    assert_eq!(tables.get("guard.wasm"), Some(&guard));
    let texts = &guard.texts;
    assert_eq!((texts.len(), &*texts["timeout"], &*texts["settings.depth"]), (18, "250ms", "3"));
    assert_eq!(tables["org/repo/x"].limits.memory, Some(1024));
}

#[test]
fn a_wrong_value_is_named_with_its_line_and_the_rest_of_the_table_holds() {
    for (line, want) in [
        ("enabled = 1", "enabled: expected true or false, found 1"),
        ("priority = \"high\"", "priority: expected a whole number of 32 bits, found \"high\""),
        ("priority = 99999999999", "priority: expected a whole number of 32 bits, found 99999999999"),
        ("timeout = 5", "timeout: expected a time in quotes such as \"2s\", \"500ms\" or \"1m\", found 5"),
        ("allow = \"yes\"", "allow: expected true or false, found \"yes\""),
        ("fuel = 0", "fuel: expected a whole number above zero, found 0"),
        ("fuel = -1", "fuel: expected a whole number above zero, found -1"),
        (
            "memory = \"lots\"",
            "memory: expected a size such as \"64MiB\", or a number of bytes, found \"lots\"",
        ),
        ("settings = []", "settings: expected a table, found an array"),
    ] {
        let (tables, faults) = parse(&format!("[hooks.x]\non_failure = \"block\"\n{line}\n"));
        let fault = Fault { line: 3, hook: Some("x".to_owned()), message: want.to_owned() };
        assert_eq!(faults, [fault], "{line}");
        let texts = tables["x"].texts.clone();
        let rest = Table { line: 1, on_failure: Some(OnFailure::Block), texts, ..Table::default() };
        assert_eq!(tables["x"], rest, "{line}");
    }
}

#[test]
fn an_environment_that_cannot_be_read_gives_nothing_and_a_wrong_name_is_left_out() {
    for (line, want, message) in [
        ("env = []", &[][..], None),
        (
            "env = \"PATH\"",
            &[],
            Some(
                "env: expected a list of names of variables such as [\"PATH\", \"HOME\"], found \"PATH\"; taken as []",
            ),
        ),
        (
            "env = [\"PATH\", 5]",
            &["PATH"],
            Some("env: expected the name of a variable, found 5, which is left out"),
        ),
        (
            "env = [\"A=B\", \"HOME\"]",
            &["HOME"],
            Some("env: expected the name of a variable, found \"A=B\", which is left out"),
        ),
        ("env = [\"\"]", &[], Some("env: expected the name of a variable, found \"\", which is left out")),
    ] {
        let (tables, faults) = parse(&format!("[hooks.x]\n{line}\n"));
        assert_eq!(tables["x"].environment.as_deref().unwrap(), want, "{line}");
        let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
        assert_eq!(messages, message.into_iter().collect::<Vec<_>>(), "{line}");
    }
    assert_eq!(parse("[hooks.x]\n").0["x"].environment, None);
}

#[test]
fn an_unreadable_failure_policy_is_taken_as_the_stricter_one() {
    let (tables, faults) = parse("[hooks.x]\non_failure = \"blok\"\n");
    assert_eq!(tables["x"].on_failure, Some(OnFailure::Block));
    assert!(faults[0].message.contains("found \"blok\"; taken as \"block\""), "{faults:?}");
}

#[test]
fn only_a_mode_that_can_be_read_puts_a_hook_into_shadow_mode() {
    for (lines, want, wrong) in [
        ("", false, None),
        ("mode = \"observe\"", true, None),
        ("mode = \"enforce\"", false, None),
        ("mode = \"obzerve\"", false, Some("\"obzerve\"")),
        ("mode = true", false, Some("true")),
    ] {
        let (tables, faults) = parse(&format!("[hooks.x]\n{lines}\n"));
        assert_eq!(tables["x"].makes_observer(), want, "{lines}");
        let message =
            |found| format!("mode: expected \"enforce\" or \"observe\", found {found}; taken as \"enforce\"");
        let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
        assert_eq!(messages, wrong.map(message).into_iter().collect::<Vec<_>>(), "{lines}");
    }
}

#[test]
fn an_unknown_key_is_a_problem_and_the_rest_holds() {
    let (tables, faults) = parse("colour = 1\n[hooks.x]\npriorty = 1\nenabled = false\n");
    let lines: Vec<_> = faults.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [1, 3]);
    assert_eq!(tables["x"].enabled, Some(false));
}

#[test]
fn a_full_file_is_read_in_no_time_and_its_faults_are_counted() {
    let begin = crate::discovery::tests::processor_time();
    let top: String = (0..110_000).map(|n| format!("a{n}=1\n")).collect();
    let inside = format!("[hooks.x]\n{top}on_failure = \"block\"\n");
    for (file, line) in [(&top, 1), (&inside, 2)] {
        let (tables, faults) = parse(file);
        assert_eq!((faults.len(), faults[0].line), (21, line));
        assert_eq!(faults[20].message, "and 109980 more problems in this file");
        assert_eq!(tables.len(), line - 1);
    }
    let many: String = (0..20_000).map(|n| format!("[hooks.h{n:05}]\n")).collect();
    let (tables, faults) = parse(&many);
    assert_eq!((tables.len(), tables["h00511"].line), (512, 512));
    assert_eq!(faults.len(), 1);
    assert!(faults[0].message.ends_with("by name are used, and 19488 are left out"), "{faults:?}");
    for broken in ["a%x=1\n", "[[\n", "a=1\n"] {
        assert_eq!(parse(&broken.repeat((1 << 20) / broken.len())).1.len(), 1, "{broken:?}");
    }
    // Seconds in a build that is not optimised, minutes where each fault counts its lines.
    let taken = crate::discovery::tests::processor_time() - begin;
    assert!(taken < std::time::Duration::from_secs(30), "{taken:?}");
}

#[test]
fn what_is_no_toml_is_one_problem_with_its_line() {
    for broken in ["[hooks.x]\nenabled = \n", "a = 1\na = 2\n", "\n[[["] {
        let (tables, faults) = parse(broken);
        assert!(tables.is_empty());
        assert_eq!(faults.len(), 1, "{broken:?}");
        assert_eq!(faults[0].line, 2, "{broken:?}: {faults:?}");
    }
}

#[test]
fn a_file_speaks_of_all_hooks_together_beside_its_tables() {
    let toml = "no_hooks = true\nskip_commands = [\"review\", \"pr\"]\nredact_context = false\n[budget]\nwarn = 0.5\nrotate = 1\n\
                at_threshold = \"rotate\"\n[git]\nprogram = \"/opt/git/bin/git\"\n[plugins]\ngit_host = \"https://git.example.com/team/\"\n[hooks.x]\npriority = 1\n";
    let Parsed { file: File { top, tables }, faults, .. } = super::parse(toml);
    assert_eq!(faults, []);
    assert_eq!((top.no_hooks, top.redact_context, tables.len()), (Some(true), Some(false), 1));
    assert_eq!(top.skip_commands, Some(vec!["review".to_owned(), "pr".to_owned()]));
    assert_eq!((top.warn, top.rotate, top.at), (Some(0.5), Some(1.0), Some(AtThreshold::Rotate)));
    assert_eq!(top.git_host.as_deref(), Some("https://git.example.com/team"));
    assert_eq!(top.git.as_deref(), Some(Path::new("/opt/git/bin/git")));
    let mut keys = top.keys;
    keys.sort_unstable();
    assert_eq!(
        keys,
        [
            ("budget", 4),
            ("git", 8),
            ("no_hooks", 1),
            ("plugins", 10),
            ("redact_context", 3),
            ("skip_commands", 2)
        ]
    );
}

#[test]
fn a_wrong_value_beside_the_tables_is_named_and_says_nothing() {
    let host = "plugins.git_host: expected an address such as \"https://github.com\", found";
    let share = "expected a share of the context window above 0 and at most 1, such as 0.7, found";
    for (line, want) in [
        ("no_hooks = \"yes\"", "no_hooks: expected true or false, found \"yes\"".to_owned()),
        ("redact_context = 0", "redact_context: expected true or false, found 0".to_owned()),
        (
            "skip_commands = \"pr\"",
            "skip_commands: expected a list of commands such as [\"commit\", \"pr\"], found \"pr\""
                .to_owned(),
        ),
        ("budget = 0.7", "budget: expected a table, found 0.7".to_owned()),
        ("budget.warn = 70", format!("budget.warn: {share} 70")),
        ("budget.warn = 0.0", format!("budget.warn: {share} 0.0")),
        ("budget.rotate = -0.5", format!("budget.rotate: {share} -0.5")),
        ("budget.rotate = nan", format!("budget.rotate: {share} \"nan\"")),
        ("budget.rotate = inf", format!("budget.rotate: {share} \"inf\"")),
        ("budget.rotate = \"80%\"", format!("budget.rotate: {share} \"80%\"")),
        (
            "budget.at_threshold = \"stop\"",
            "budget.at_threshold: expected \"compact\" or \"rotate\", found \"stop\"".to_owned(),
        ),
        (
            "budget.colour = 1",
            "unknown key \"budget.colour\", which is left out: expected warn, rotate or at_threshold"
                .to_owned(),
        ),
        ("git = \"/usr/bin/git\"", "git: expected a table, found \"/usr/bin/git\"".to_owned()),
        (
            "git.program = \"git\"",
            "git.program: expected an absolute path such as \"/opt/git/bin/git\", found \"git\"".to_owned(),
        ),
        ("git.path = 1", "unknown key \"git.path\", which is left out: expected program".to_owned()),
        ("plugins = 1", "plugins: expected a table, found 1".to_owned()),
        ("plugins.git_host = 1", format!("{host} 1")),
        ("plugins.git_host = \"git.example.com\"", format!("{host} \"git.example.com\"")),
        ("plugins.git_host = \"https://\"", format!("{host} \"https://\"")),
        ("plugins.git_host = \"ssh://-oProxyCommand=x\"", format!("{host} \"ssh://-oProxyCommand=x\"")),
        ("plugins.git_host = \"ext::sh -c x\"", format!("{host} \"ext::sh -c x\"")),
        ("plugins.git_host = \"https://h/ x\"", format!("{host} \"https://h/ x\"")),
        ("plugins.host = 1", "unknown key \"plugins.host\", which is left out: expected git_host".to_owned()),
    ] {
        let Parsed { file: File { top, tables }, faults, .. } = super::parse(&format!("{line}\n[hooks.x]\n"));
        assert_eq!(
            faults.iter().map(|it| it.message.as_str()).collect::<Vec<_>>(),
            [want.as_str()],
            "{line}"
        );
        assert_eq!(
            (top.no_hooks, top.skip_commands, top.warn, top.rotate, top.at, top.git_host),
            (None, None, None, None, None, None)
        );
        assert_eq!((top.redact_context, top.git), (None, None), "{line}");
        assert_eq!(tables.len(), 1, "{line}");
    }
}

#[test]
fn what_is_no_command_is_left_out_of_the_commands() {
    let Parsed { file: File { top, .. }, faults, .. } =
        super::parse("skip_commands = [\"a\", 5, \"\", \"b\"]\n");
    assert_eq!(top.skip_commands, Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(faults.len(), 2);
}

// The lists of keys in the book, and the JSON Schema of `hookbox.toml`. `cargo xtask tables` writes both.

/// Set to write the files instead of comparing them.
const WRITE: &str = "HOOKBOX_WRITE_GOLDEN";

/// Checks that the file has this text, or writes it.
fn assert_written(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os(WRITE).is_some() {
        return fs::write(&path, text).unwrap();
    }
    assert!(fs::read_to_string(&path).is_ok_and(|it| it == text), "{file} is old; hint: cargo xtask tables");
}

/// Replaces the list of the keys of this table in a page.
fn replace<T>(page: &mut String, table: &str, keys: &[Key<T>]) {
    let (begin, end) = (format!("<!-- keys of {table}: `cargo xtask tables` -->\n"), "<!-- end of keys -->");
    let at = page.find(&begin).unwrap_or_else(|| panic!("no list of {table}")) + begin.len();
    let length = page[at..].find(end).unwrap();
    let lines = keys.iter().map(|it| format!("* `{}` ({}): {}\n", it.name, it.default, it.meaning));
    let lines: String = lines.collect();
    page.replace_range(at..at + length, &format!("\n{lines}\n"));
}

#[test]
fn the_list_of_settings_is_the_one_that_is_generated() {
    let file = "../docs/src/settings.md";
    let mut page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    replace(&mut page, "a hook", HOOK);
    replace(&mut page, "all hooks", ALL_HOOKS);
    TABLES.iter().for_each(|(table, keys)| replace(&mut page, &format!("`[{table}]`"), keys));
    assert_written(file, &page);
}

/// Returns Markdown without the addresses of links, which lead nowhere outside the book.
fn without_addresses(markdown: &str) -> String {
    let Some((before, after)) = markdown.split_once("](") else { return markdown.to_owned() };
    let (text, link) = before.rsplit_once('[').unwrap();
    format!("{text}{link}{}", without_addresses(after.split_once(')').unwrap().1))
}

/// Returns the schema of a table with these keys.
fn schema_of<T>(keys: &[Key<T>]) -> Value {
    let schema = |key: &Key<T>| {
        let mut schema: Map<String, Value> = serde_json::from_str(key.form.schema).unwrap();
        let about = without_addresses(&format!("{}. Default: {}.", key.meaning, key.default));
        schema.insert("description".to_owned(), json!(about));
        (key.name.to_owned(), Value::Object(schema))
    };
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": keys.iter().map(schema).collect::<Map<_, _>>(),
    })
}

#[test]
fn the_schema_of_settings_is_the_one_that_is_generated() {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://hookbox.dev/schema/0.1/settings.json",
        "title": "hookbox 0.1: settings",
        "description": "hookbox.toml: the settings of hooks",
    });
    schema.as_object_mut().unwrap().extend(schema_of(ALL_HOOKS).as_object().unwrap().clone());
    let hooks = json!({
        "type": "object",
        "description": "A table for each hook of this root, under its full name.",
        "additionalProperties": schema_of(HOOK),
    });
    let tables = TABLES.iter().map(|(table, keys)| ((*table).to_owned(), schema_of(keys)));
    let tables = std::iter::once(("hooks".to_owned(), hooks)).chain(tables);
    schema["properties"].as_object_mut().unwrap().extend(tables);
    assert_written("schema/0.1/settings.json", &(serde_json::to_string_pretty(&schema).unwrap() + "\n"));
}
