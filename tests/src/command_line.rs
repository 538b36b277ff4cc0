//! The program's options, help, completions and man pages.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use crate::answers::{Backend, user};
use crate::environment::{TestEnvironment, program, sample};

const BEFORE: &hookbox::EventName = &hookbox::EventName::BeforeToolCall;

#[test]
fn a_word_that_is_no_command_is_answered_with_the_command_that_was_meant() {
    let env = TestEnvironment::new();
    for (word, hint) in [
        ("lsit", "hint: did you mean `hookbox list`?"),
        ("rm", "hookbox plugin remove NAME"),
        ("status", "hookbox doctor"),
        ("why", "hookbox explain COMMAND"),
        ("zebra", "hint: see `hookbox --help`"),
    ] {
        let output = env.hookbox([word]);
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output:#?}");
        assert!(output.stderr.contains(hint), "{output:#?}");
        assert_eq!(output.stderr.lines().count(), 2, "{output:#?}");
    }
    assert_eq!(env.hookbox(["ls", "--json"]).code, Some(0));
}

#[test]
fn a_command_that_may_ask_accepts_yes() {
    let env = TestEnvironment::new();
    for words in [
        &["untrust", "x"][..],
        &["grants", "remove", "x"],
        &["plugin", "remove", "x"],
        &["guard", "enforce"],
        &["uninstall", "claude"],
    ] {
        for yes in ["--yes", "-y"] {
            let output = env.hookbox([words, &[yes]].concat());
            assert!(!output.stderr.contains("unexpected argument"), "{output:#?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_a_failure() {
    let env = TestEnvironment::new();
    for words in [&["--help"][..], &["list", "--help"], &["--version"], &["list"]] {
        let mut command = env.command(program());
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command.args(words).stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains("No space left on device"), "{words:?}: {said}");
    }
}

#[test]
fn a_hook_without_its_ending_is_the_one_that_was_meant() {
    let env = TestEnvironment::new();
    env.file("home/.hookbox/hooks/g-rust.rules.toml", "");
    let output = env.hookbox(["trust", "g-rust"]);
    assert!(output.stderr.contains("hint: did you mean g-rust.rules.toml?"), "{output:#?}");
}

#[test]
fn a_script_of_another_agent_is_led_to_the_page_about_those() {
    let env = TestEnvironment::new();
    env.script("home/.hookbox/hooks/c.sh", "#!/bin/sh\necho no >&2; exit 2\n");
    let output = env.hookbox(["list"]);
    for words in
        ["did not answer when asked for its event (`hook`): ended with status 2: no", "foreign-hooks.md"]
    {
        assert!(output.stderr.contains(words), "{words}: {output:#?}");
    }
}

#[test]
fn an_argument_that_is_not_utf_8_is_wrong_usage() {
    let env = TestEnvironment::new();
    for command in ["allow", "explain", "new"] {
        let output = env.hookbox([OsStr::new(command), OsStr::from_bytes(b"\xff")]);
        assert_eq!(output.code, Some(2), "{output:#?}");
        assert!(
            output.stderr.contains("invalid UTF-8") && !output.stderr.contains("panicked"),
            "{output:#?}"
        );
    }
}

#[test]
fn quiet_leaves_out_warnings_and_hints_but_no_error() {
    let env = TestEnvironment::new();
    env.file("home/.hookbox/hookbox.toml", "colour = 1\n").file("home/.hookbox/hooks/plain", "#!/bin/sh\n");
    let said = env.hookbox(["list"]).stderr;
    for words in ["warning: ", "is a script without an execute bit: it does not run", "hint: run `chmod +x "]
    {
        assert!(said.contains(words), "{said}");
    }
    for args in [["list", "-q"], ["--quiet", "list"]] {
        assert_eq!(env.hookbox(args).stderr, "", "{args:?}");
    }
    let output = env.hookbox(["-q", "run", "fly"]);
    assert!(output.stderr.starts_with("error: ") && output.stderr.contains("hint: "), "{output:#?}");
}

#[test]
fn a_file_name_with_terminal_escapes_is_escaped_in_every_message() {
    let env = TestEnvironment::new();
    env.file("repo/\u{1b}[5mx.wasm", "")
        .script("repo/\u{1b}[5my", "#!/bin/sh\nprintf '\\033[5m' >&2; exit 3\n");
    for args in [
        &["inspect", "\u{1b}[5mx.wasm"][..],
        &["inspect", "no\u{202e}"],
        &["exec", "./\u{1b}[5my", "hook"],
        &["list", "--cwd", "\u{1b}[5mgone"],
        &["list", "--\u{1b}[5m"],
        &["trust", "\u{1b}[5mgone"],
    ] {
        let output = env.hookbox([&["--color", "always"], args].concat());
        assert_ne!(output.code, Some(0), "{args:?}");
        let escaped = ["\\u{1b}[5m", "\\u{202e}"].iter().any(|it| output.stderr.contains(it));
        let is_raw = output.stderr.contains("\u{1b}[5m") || output.stderr.contains('\u{202e}');
        assert!(escaped && !is_raw, "{args:?}: {:?}", output.stderr);
    }
    env.native(
        "home/.hookbox/hooks/guard",
        "before_tool_call",
        "printf '{\"blocked\": true, \"reason\": \"a\\342\\200\\256b\"}'",
    );
    let payload =
        json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let reply = env.hookbox_with(["bridge", "claude"], payload.to_string());
    assert!(reply.stdout.contains(r"a\u202eb") || reply.stdout.contains(r"a\u{202e}b"), "{reply:#?}");
}

#[test]
fn colors_and_the_log_follow_their_options() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/a", "turn_end", ":");
    for (args, is_coloured) in [
        (&["list", "--color", "always"][..], true),
        (&["--color=always", "list"], true),
        (&["list"], false),
        (&["list", "--color", "never"], false),
    ] {
        assert_eq!(env.hookbox(args).stdout.contains('\u{1b}'), is_coloured, "{args:?}");
    }
    assert!(!env.hookbox(["list", "--json", "--color", "always"]).stdout.contains('\u{1b}'));
    let log = env.hookbox_with(["-vv", "run", "turn_end"], "{}").stderr;
    assert!(log.contains("DEBUG") || log.contains("TRACE"), "{log}");
}

#[test]
fn short_and_former_names_of_options_work() {
    let env = TestEnvironment::new();
    user(&env, Backend::Native, "guard", BEFORE, &json!({"block": "no"}));
    env.directory("elsewhere");
    let blocked = |args: &[&str]| {
        env.event(
            &[&["before_tool_call"], args].concat(),
            &json!({"tool_name": "bash", "tool_input": {"command": "ls"}}),
        )["blocked"]
            .clone()
    };
    assert_eq!(blocked(&["-C", "../elsewhere"]), true);
    for option in ["--agent-command", "--command"] {
        assert_eq!(blocked(&[option, "commit"]), false, "{option}");
    }
    for options in [
        ["--global", "--json"],
        ["--user", "--json"],
        ["-g", "--json"],
        ["--local", "--json"],
        ["--project", "--json"],
    ] {
        assert_eq!(env.hookbox([&["plugin", "list"][..], &options].concat()).stdout, "[]\n", "{options:?}");
    }
    assert_eq!(env.hookbox(["install", "claude", "-n"]).code, Some(0));
    assert_eq!(env.read("home/.claude/settings.json"), None);
    for option in ["--try", "--command"] {
        assert_eq!(env.hookbox(["doctor", option, "sudo ls", "--json"]).code, Some(1), "{option}");
    }
}

#[test]
fn the_exit_code_of_run_is_the_verdict_if_the_caller_asks_for_it() {
    let env = TestEnvironment::new();
    user(&env, Backend::Native, "guard", BEFORE, &json!({"block": "no"}));
    for (args, code) in [
        (&["run", "before_tool_call"][..], 0),
        (&["run", "before_tool_call", "--exit-code"], 2),
        (&["run", "agent_stop", "--exit-code"], 0),
        (&["run", "before_tool_call", "--exit-code", "--no-hooks"], 0),
    ] {
        let output = env.hookbox_with(args, r#"{"tool_name":"bash","tool_input":{"command":"ls"}}"#);
        assert_eq!(output.code, Some(code), "{args:?}: {output:#?}");
        assert!(output.stdout.starts_with('{'), "{args:?}: {output:#?}");
    }
}

#[test]
fn a_component_that_lacks_grants_shows_that_in_the_list() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/error-kb.wasm", &sample("error-kb"));
    let hook = &env.list(&[])[0];
    assert_eq!((&hook["status"], &hook["trusted"]), (&json!("active"), &json!(true)));
    let lacks: Vec<&str> = hook["lacks"].as_array().unwrap().iter().filter_map(|it| it.as_str()).collect();
    assert!(!lacks.is_empty(), "{hook:#}");
    let output = env.hookbox(["list"]);
    assert!(output.stdout.contains("lacks grants"), "{output:#?}");
    let hint = format!("error-kb.wasm has no {}: `hookbox trust error-kb.wasm` grants it", lacks.join(", "));
    assert!(output.stderr.contains(&hint), "{output:#?}");

    assert_eq!(env.hookbox(["trust", "error-kb.wasm", "-y"]).code, Some(0));
    assert_eq!(env.list(&[])[0]["lacks"], json!([]));
    assert!(!env.hookbox(["list"]).stdout.contains("lacks grants"));
}

#[test]
fn the_commands_that_are_named_for_a_component_work_as_printed() {
    for (name, at, list) in [
        ("audit-log.wasm", "repo", &["list"][..]),
        ("audit-log.wasm", "repo/sub", &["list"]),
        ("audit-log.wasm", "elsewhere", &["list", "--cwd", "../repo"]),
        ("err'or k\"b.wasm", "repo", &["list"]),
        ("e$(x)`x`;.wasm", "elsewhere", &["list", "--cwd", "../other"]),
        ("-e.wasm", "repo", &["list"]),
    ] {
        let env = TestEnvironment::new();
        env.directory("repo/sub").directory("elsewhere").directory("other/.git");
        for repo in ["repo", "other"] {
            env.copy(&format!("{repo}/.hookbox/hooks/{name}"), &sample("audit-log"));
        }
        let at = env.path(at);
        let listed = env.run(env.command(program()).args(list).current_dir(&at), "");
        let hint = listed.stderr.lines().find(|line| line.starts_with("hint: "));
        let command = hint.and_then(|hint| hint.split_once(": `")?.1.rsplit_once('`')).unwrap().0;
        let mut shell = env.symlink("bin/hookbox", program().to_str().unwrap()).command("/bin/sh");
        let trusted = env.run(shell.args(["-c", &format!("{command} --yes")]).current_dir(&at), "");
        assert_eq!(trusted.code, Some(0), "{command}: {trusted:#?}");
        let again = env.run(env.command(program()).args(list).current_dir(&at), "");
        assert!(!again.stderr.contains("hint: "), "{command}: {again:#?}");
    }
}

#[test]
fn an_error_repeats_no_byte_of_a_file() {
    let env = TestEnvironment::new();
    env.file("repo/secret", "hunter2-hunter2-hunter2");
    let output = env.hookbox(["inspect", "secret"]);
    assert!(output.stderr.contains("is not WebAssembly"), "{output:#?}");
    assert!(!output.stderr.contains("hunter2"), "{output:#?}");
}

#[test]
fn help_names_each_command_once_and_offers_no_option_without_use() {
    let env = TestEnvironment::new();
    let help = env.hookbox(["--help"]).stdout;
    for words in ["Guard an agent:", "Examples:", "Documentation: https://", "--color <WHEN>", "-q, --quiet"]
    {
        assert!(help.contains(words), "{words}: {help}");
    }
    for (args, hidden) in [
        (&["install", "--help"][..], "--root"),
        (&["uninstall", "--help"], "--root"),
        (&["list", "--help"], "--no-hooks"),
        (&["list", "--help"], "--agent-command"),
        (&["run", "-h"], "--home"),
    ] {
        assert!(!env.hookbox(args).stdout.contains(hidden), "{args:?} {hidden}");
    }
    let run = env.hookbox(["run", "--help"]).stdout;
    assert!(run.find("--timeout").unwrap() < run.find("Where hooks are found:").unwrap(), "{run}");
}

#[test]
fn shells_complete_agents_events_schemas_and_hooks() {
    let env = TestEnvironment::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = env.hookbox(["completions", shell]).stdout;
        for word in ["claude", "opencode", "before_tool_call", "kodelet-answer", "completions --hooks"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let fish = env.hookbox(["completions", "fish"]).stdout;
    for line in [
        "\"__fish_hookbox_using_subcommand doctor\" -f -a \"claude codex",
        "\"__fish_hookbox_using_subcommand trust\" -f -a \"(hookbox completions --hooks 2>/dev/null)\"",
        "\"__fish_hookbox_using_subcommand grants; and __fish_seen_subcommand_from add\" -f -a \"(hookbox",
    ] {
        assert!(fish.contains(line), "{line} in {fish}");
    }
}

#[test]
fn a_shell_completes_the_names_of_the_hooks_and_runs_nothing_of_them() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/mine", "before_tool_call", ":");
    let touched = env.path("touched");
    let script = format!("#!/bin/sh\ntouch {}\n", touched.display());
    // Shells evaluate the words that they offer.
    for name in ["theirs", "$(touch touched)", "-C", "two words", "`x`"] {
        env.script(&format!("repo/.hookbox/hooks/{name}"), &script);
    }
    env.copy("repo/.hookbox/hooks/guard.wasm", &sample("guardrail"));
    let names = env.hookbox(["completions", "--hooks"]);
    assert_eq!((&*names.stdout, &*names.stderr), ("guard.wasm\nmine\ntheirs\n", ""));
    env.symlink("bin/hookbox", program().to_str().unwrap());
    let bash = env.hookbox(["completions", "bash"]).stdout;
    let line = "COMP_WORDS=(hookbox trust t); COMP_CWORD=2; _hookbox hookbox t trust; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut shell = env.command("/bin/bash");
    let offered = env.run(shell.arg("-s"), format!("{bash}\n{line}"));
    assert_eq!((&*offered.stdout, &*offered.stderr), ("theirs\n", ""));
    assert!(!touched.exists() && !env.path("repo/touched").exists());
}

#[test]
fn man_has_a_page_for_each_command() {
    let env = TestEnvironment::new();
    let page = env.hookbox(["man"]).stdout;
    assert!(page.contains(".TH hookbox 1") && page.contains("install"), "{page}");
    assert_eq!(env.hookbox(["man", "--write", "man1"]).code, Some(0));
    for name in ["hookbox.1", "hookbox-run.1", "hookbox-plugin-add.1"] {
        assert!(env.read(&format!("repo/man1/{name}")).is_some(), "{name}");
    }
}
