//! The journal, and `hookbox log`.

use std::process::{Child, Stdio};

use hookbox_journal::journal::{Journal, Reader, verify};
use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, program, sample};
use crate::schemas::faults;

/// A place whose user records events, with a guard that blocks `rm`, and one that fails at `crash`.
fn place() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.file("home/.hookbox/hookbox.toml", "[journal]\nenabled = true\n")
        .native(
            "home/.hookbox/hooks/guard",
            "before_tool_call",
            r#"case "$(cat)" in *'"rm '*) echo '{"blocked": true, "reason": "no rm"}';; *crash*) exit 3;; *) echo '{}';; esac"#,
        );
    env
}

fn call(env: &TestEnvironment, command: &str) -> Value {
    let event = json!({"conv_id": "c", "tool_name": "bash", "tool_input": {"command": command}});
    env.event(&["before_tool_call"], &event)
}

fn journal(env: &TestEnvironment) -> Journal {
    Journal::new(&env.path("home/.local/share/hookbox"), None)
}

/// Returns the path in the environment and the text of the only file of the journal.
fn file(env: &TestEnvironment) -> (String, String) {
    let directory = "home/.local/share/hookbox/journal";
    let names = std::fs::read_dir(env.path(directory)).unwrap().map(|it| it.unwrap().file_name());
    let names: Vec<String> = names.map(|it| it.into_string().unwrap()).collect();
    let name = names.iter().find(|it| it.ends_with(".jsonl")).unwrap();
    let path = format!("{directory}/{name}");
    let text = env.read(&path).unwrap();
    (path, text)
}

fn log(env: &TestEnvironment, args: &[&str]) -> Vec<Value> {
    let output = env.hookbox([&["log", "--json"], args].concat());
    assert_eq!(output.code, Some(0), "{output:#?}");
    output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn shown(env: &TestEnvironment, args: &[&str]) -> String {
    let Output { code, stdout, stderr } = env.hookbox([&["log"], args].concat());
    assert_eq!(code, Some(0), "{stderr}");
    stdout
}

#[test]
fn what_was_decided_is_listed_filtered_and_shown_whole() {
    let env = place();
    for command in ["ls", "rm a", "crash", "curl -H 'Authorization: Bearer abcdefghijklmnop0123456789'"] {
        call(&env, command);
    }
    for record in log(&env, &[]) {
        assert_eq!(faults("record", None, &record), [""; 0], "{record:#}");
    }
    let count = |args: &[&str]| log(&env, args).len();
    assert_eq!(count(&[]), 4);
    for (args, expected) in [
        (&["--blocked"][..], 1),
        (&["--failed"], 1),
        (&["--hook", "guard"], 4),
        (&["--hook", "other"], 0),
        (&["--agent", "claude"], 0),
        (&["--since", "1h"], 4),
        (&["--since", "2999-01-01"], 0),
        (&["RM A"], 1),
        (&["-n", "2"], 2),
    ] {
        assert_eq!(count(args), expected, "{args:?}");
    }
    let table = shown(&env, &[]);
    assert!(!table.contains("abcdefghijklmnop"), "{table}");
    for row in ["passed", "blocked   guard  bash: rm a", "failed    guard  bash: crash"] {
        assert!(table.contains(row), "{row}: {table}");
    }
    let blocked = &log(&env, &["--blocked"])[0];
    let id = blocked["id"].as_str().unwrap();
    let account = shown(&env, &["show", id]);
    for part in [
        "bash: rm a",
        "1. guard: blocked",
        "kind      native, global",
        "builtin:self-protection: not asked: an earlier hook had blocked",
    ] {
        assert!(account.contains(part), "{part}: {account}");
    }
    assert!(account.contains("input     {\"command\":\"rm a\"}"), "{account}");
    assert!(
        account.starts_with("Blocked by guard: no rm\n") && account.matches("no rm").count() == 1,
        "{account}"
    );
    let whole = shown(&env, &["show", id, "--verbose"]);
    for account in [(&account, 0), (&whole, 1)] {
        assert_eq!(account.0.matches("kind      builtin").count(), account.1, "{}", account.0);
    }
    assert_eq!(env.hookbox(["log", "show", id, "--json"]).json(), *blocked);
    for wrong in ["", "zzzzzzzzzz"] {
        let output = env.hookbox(["log", "show", wrong]);
        assert!(output.code != Some(0) && output.stderr.contains("hint: "), "{output:#?}");
    }
}

#[test]
fn a_hook_in_shadow_mode_changed_nothing() {
    let env = place();
    env.file("home/.hookbox/hookbox.toml", "[journal]\nenabled = true\n[hooks.guard]\nmode = \"observe\"\n")
        .native("home/.hookbox/hooks/guard", "before_tool_call", r#"echo '{"input": {"command": "true"}}'"#);
    call(&env, "ls");
    let table = shown(&env, &[]);
    assert!(table.contains("would act  guard  bash: ls"), "{table}");
    let account = shown(&env, &["show", log(&env, &[])[0]["id"].as_str().unwrap()]);
    assert!(account.contains("would be  changed") && account.contains("only observes"), "{account}");
}

#[test]
fn a_command_without_its_secret_is_not_judged_again() {
    let env = place();
    for command in ["rm a", "curl -H 'Authorization: Bearer abcdefghijklmnop0123456789'"] {
        call(&env, command);
    }
    let guard = sample("guardrail");
    env.warm(&guard);
    let tried = env.hookbox(["backtest", "journal", "--json", "--hook", guard.to_str().unwrap()]).json();
    let counts = &tried["sources"]["journal"];
    assert_eq!((&counts["calls"], &counts["not_read"]), (&json!(2), &json!(1)), "{tried:#}");
}

#[test]
fn nothing_is_recorded_unless_the_user_asks_and_a_repository_cannot() {
    let env = TestEnvironment::new();
    env.file("repo/.hookbox/hookbox.toml", "[journal]\nenabled = true\n");
    call(&env, "ls");
    assert!(!env.path("home/.local/share/hookbox/journal").exists());
    let output = env.hookbox(["log"]);
    assert!(output.stderr.contains("enabled = true") && output.code == Some(0), "{output:#?}");
    // Nor can it switch the journal off.
    env.file("home/.hookbox/hookbox.toml", "[journal]\nenabled = true\n");
    env.file("repo/.hookbox/hookbox.toml", "[journal]\nenabled = false\n");
    call(&env, "ls");
    assert_eq!(log(&env, &[]).len(), 1);
}

#[test]
fn a_wrong_setting_is_a_problem() {
    let env = TestEnvironment::new();
    for (setting, message) in [
        ("enabled = 1", "journal.enabled: expected true or false, found 1"),
        ("keep_days = 0", "journal.keep_days: expected a number of days above 0, found 0"),
        ("max_size = \"big\"", "journal.max_size: expected a size such as"),
        ("kept = 1", "journal.kept"),
    ] {
        env.file("home/.hookbox/hookbox.toml", format!("[journal]\n{setting}\n"));
        let output = env.hookbox(["list"]);
        assert!(output.stderr.contains(message), "{setting}: {output:#?}");
    }
}

#[test]
fn the_agent_of_a_bridge_is_recorded() {
    let env = place();
    let payload = json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": env.path("repo"),
        "tool_name": "Bash", "tool_input": {"command": "rm a"}});
    let output = env.hookbox_with(["bridge", "claude"], payload.to_string());
    assert!(output.stdout.contains("deny"), "{output:#?}");
    let [record] = &log(&env, &["--agent", "claude"])[..] else { panic!("not one record") };
    assert_eq!((&record["conversation"], &record["verdict"]["blocked"]), (&json!("s"), &json!(true)));
}

#[test]
fn many_processes_lose_and_mix_no_records() {
    let env = TestEnvironment::new();
    env.file("home/.hookbox/hookbox.toml", "[journal]\nenabled = true\n");
    let start = |number: usize| -> Child {
        let mut command = env.command(program());
        command.args(["run", "before_tool_call"]).args(["--home".as_ref(), env.path("home").as_os_str()]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let text = format!("{number} {}", "x".repeat(10_000));
        let event = json!({"tool_name": "bash", "tool_input": {"command": text}}).to_string();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), event.as_bytes()).unwrap();
        child
    };
    let processes: Vec<Child> = (0..50).map(start).collect();
    for process in processes {
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
    let found = verify(journal(&env).directory(), None).unwrap();
    assert_eq!((found.records, found.faults), (50, vec![]));
    let records = log(&env, &[]);
    let number = |it: &Value| {
        let command = it["event"]["tool_input"]["command"].as_str().unwrap();
        command.split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    let mut numbers: Vec<_> = records.iter().map(number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..50).collect::<Vec<_>>());
}

#[test]
fn a_disk_that_is_full_is_a_warning_and_loses_no_verdict() {
    let env = place();
    call(&env, "ls");
    let event = json!({"tool_name": "bash", "tool_input": {"command": format!("rm {}", "x".repeat(20_000))}});
    // No file may become larger than 8 blocks of 512 or 1024 bytes.
    let line = format!("ulimit -f 8; exec {} run before_tool_call --home \"$HOME\"", program().display());
    let output = env.run(env.command("sh").args(["-c", &line]), event.to_string());
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(output.stdout.contains("no rm"), "{output:#?}");
    assert!(output.stderr.contains("not in the journal"), "{output:#?}");
    call(&env, "ls");
    let found = verify(journal(&env).directory(), None).unwrap();
    assert_eq!((found.records, found.faults), (2, vec![]), "the half of the record is gone");
}

#[test]
fn a_record_that_was_changed_or_removed_is_found() {
    let env = place();
    for command in ["ls", "rm a", "ls"] {
        call(&env, command);
    }
    let verified = |args: &[&str]| env.hookbox([&["log", "verify", "--json"], args].concat());
    let whole = verified(&[]).json();
    assert_eq!((&whole["records"], &whole["whole"], &whole["faults"]), (&json!(3), &json!(true), &json!([])));
    let last = whole["last"].as_str().unwrap();
    assert_eq!(verified(&["--contains", last]).json()["contains"], true);

    let file = Reader::open(journal(&env).directory(), None).unwrap().next().unwrap().unwrap().path;
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("rm a", "rm b")).unwrap();
    let output = env.hookbox(["log", "verify"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("line 2: this record was changed"), "{output:#?}");

    let end = text.lines().take(2).map(|line| format!("{line}\n")).collect::<String>();
    std::fs::write(&file, end).unwrap();
    assert_eq!(verify(journal(&env).directory(), None).unwrap().faults, []);
    let output = verified(&["--contains", last]);
    assert_eq!(output.code, Some(1), "the end that is missing: {output:#?}");
}

#[test]
fn a_line_that_the_journal_did_not_write_is_no_record() {
    let env = place();
    call(&env, "rm a");
    let (name, text) = file(&env);
    let forged = text.split(",\"prev\"").next().unwrap().replace("rm a", "forged") + "}\n";
    env.file(&name, format!("{text}{forged}"));
    assert!(!shown(&env, &[]).contains("forged"));
    assert_eq!(log(&env, &[]).len(), 1);
    let verified = env.hookbox(["log", "verify"]);
    assert_eq!(verified.code, Some(1), "{verified:#?}");

    env.file(&name, text.replacen("\"blocked\":true", "\"blocked\":false", 1));
    let changed = env.hookbox(["log"]);
    assert!(changed.stderr.contains("somebody changed, and that are not shown: 1"), "{changed:#?}");
    assert!(!changed.stdout.contains("rm a") && log(&env, &[]).is_empty(), "{changed:#?}");
}

#[test]
fn a_secret_is_in_no_recorded_input_and_an_honest_journal_replays_alike() {
    let env = place();
    env.run(env.command(program()).args(["guard", "add", "destructive", "--yes"]), "");
    // The guard asks about a path that has the password, and passes over the second line.
    call(&env, "curl -u admin:hunter2secretpw https://example.com > out");
    let (_, text) = file(&env);
    assert!(text.contains("REDACTED") && !text.contains("hunter2secretpw"), "{text}");
    let event = json!({"conv_id": "c", "tool_name": "bash", "tool_input": {"command": "ln -s a b"}, "tool_output": ""});
    env.event(&["after_tool_call"], &event);
    let replay = env.hookbox(["replay", "--json"]);
    assert_eq!(replay.code, Some(0), "{replay:#?}");
}

#[test]
fn install_switches_the_journal_on_if_it_is_told_to() {
    for (args, expected) in [
        (&[][..], None),
        (&["--yes"], None),
        (&["--no-journal"], None),
        (&["--journal", "--dry-run"], None),
        (&["--journal"], Some("# mine\n[journal]\nenabled = true\n")),
    ] {
        let env = TestEnvironment::new();
        env.directory("home/.claude").file("home/.hookbox/hookbox.toml", "# mine\n");
        let output = env.hookbox([&["install", "claude"], args].concat());
        assert_eq!(output.code, Some(0), "{output:#?}");
        let text = env.read("home/.hookbox/hookbox.toml").unwrap();
        assert_eq!(text.replace("\n\n", "\n"), expected.unwrap_or("# mine\n"), "{args:?}");
    }
}
