//! `hookbox install` and `hookbox uninstall`.

mod files;
mod guards;
mod machines;
mod refusals;
mod setup;
mod system;

use hookbox_agents::Agent;
use hookbox_agents::agent::EventKind;
use hookbox_agents::config::{Level, Surroundings, file, read};
use serde_json::json;

use crate::environment::{Output, TestEnvironment, program};

const CLAUDE: &str = "home/.claude/settings.json";

/// A user's own file: without comments, with odd blanks.
const SETTINGS: &str = "{\r\n    \"model\":\"opus\", \r\n    \"hooks\": {\r\n        \"PreToolUse\": [\r\n            {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}\r\n        ]\r\n    }\r\n}";

#[track_caller]
fn done(output: &Output) {
    assert_eq!(output.code, Some(0), "{output:#?}");
}

#[track_caller]
fn refused(output: &Output, code: i32, words: &[&str]) {
    assert_eq!(output.code, Some(code), "{output:#?}");
    for word in words.iter().chain(&["error:", "hint:"]) {
        assert!(output.stderr.contains(word), "no {word:?}: {output:#?}");
    }
}

/// The agents that have a file of commands.
fn agents() -> impl Iterator<Item = Agent> {
    let here = Surroundings { home: Some("/home/ada".into()), ..Surroundings::new("/srv/shop") };
    Agent::ALL.into_iter().filter(move |agent| file(*agent, Level::User, &here).is_some())
}

/// The levels at which such an agent has its file.
fn levels(agent: Agent) -> impl Iterator<Item = Level> {
    let here = Surroundings { home: Some("/home/ada".into()), ..Surroundings::new("/srv/shop") };
    [Level::User, Level::Project].into_iter().filter(move |level| file(agent, *level, &here).is_some())
}

fn path_of(env: &TestEnvironment, agent: Agent, level: Level) -> std::path::PathBuf {
    let surroundings = Surroundings { home: Some(env.path("home")), ..Surroundings::new(env.path("repo")) };
    file(agent, level, &surroundings).unwrap()
}

#[test]
fn the_original_comes_back_byte_for_byte() {
    let env = TestEnvironment::new();
    env.file(CLAUDE, SETTINGS).mode(CLAUDE, 0o640);
    let output = env.hookbox(["install", "claude"]);
    done(&output);
    for word in [".claude/settings.json", "PreToolUse", "the original:"] {
        assert!(output.stdout.contains(word), "{output:#?}");
    }
    assert!(output.stderr.contains("restart Claude Code"), "{output:#?}");
    let installed = env.read(CLAUDE).unwrap();
    assert!(
        installed.contains("\"command\": \"mine\"}")
            && installed.contains("\r\n")
            && installed.ends_with('}')
    );
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(env.path(CLAUDE)).unwrap());
    assert_eq!(mode & 0o777, 0o640);

    let again = env.hookbox(["install", "claude"]);
    assert!(again.stdout.contains("is up to date"), "{again:#?}");
    assert_eq!(env.read(CLAUDE).unwrap(), installed);
    done(&env.hookbox(["install", "claude", "--strict", "--deadline", "5s"]));
    assert!(env.read(CLAUDE).unwrap().contains("exit 2"));

    let output = env.hookbox(["uninstall", "claude"]);
    assert!(output.stdout.contains("byte for byte"), "{output:#?}");
    assert_eq!(env.read(CLAUDE).unwrap(), SETTINGS);
    assert_eq!(
        std::fs::read_dir(env.path("home/.local/share/hookbox/install")).unwrap().count(),
        1,
        "the lock"
    );
    let output = env.hookbox(["uninstall", "claude"]);
    assert!(output.stdout.contains("nothing of hookbox"), "{output:#?}");
    assert_eq!(env.read(CLAUDE).unwrap(), SETTINGS);
}

#[test]
fn a_file_that_was_not_there_goes_with_its_directories() {
    for agent in agents() {
        for level in levels(agent) {
            let env = TestEnvironment::new();
            let path = path_of(&env, agent, level);
            let flag = format!("--{level}");
            let rows = env.hookbox(["install", agent.as_str(), &flag, "--json"]).json();
            assert_eq!((&rows[0]["agent"], &rows[0]["change"]), (&agent.as_str().into(), &"created".into()));
            assert_eq!(rows[0]["path"], path.to_str().unwrap());
            let configuration = read(agent, &std::fs::read(&path).unwrap()).unwrap();
            assert_eq!(configuration.entries.len(), rows[0]["events"].as_array().unwrap().len(), "{agent}");
            assert!(configuration.problems.is_empty(), "{configuration:?}");

            let rows = env.hookbox(["uninstall", agent.as_str(), &flag, "--json"]).json();
            assert_eq!(rows[0]["change"], "deleted", "{agent}");
            let base = env.path(if level == Level::User { "home" } else { "repo" });
            let directory = path.parent().unwrap();
            assert!(
                !path.exists() && (directory == base || !directory.exists()),
                "{agent}: {}",
                path.display()
            );
            let names: Vec<_> = std::fs::read_dir(base).unwrap().map(|it| it.unwrap().file_name()).collect();
            assert!(names.iter().all(|name| name == ".cache" || name == ".local"), "{agent}: {names:?}");
        }
    }
}

#[test]
fn an_entry_that_its_user_wrote_comes_back() {
    for line in [
        "hookbox bridge claude",
        "hookbox bridge claude --deadline 5s",
        "hookbox bridge claude --event PreToolUse",
    ] {
        let env = TestEnvironment::new();
        let own = SETTINGS.replace("mine", line);
        env.file(CLAUDE, &own);
        done(&env.hookbox(["install", "claude"]));
        assert!(!env.read(CLAUDE).unwrap().contains(&format!("\"{line}\"")), "taken over");
        done(&env.hookbox(["install", "claude", "--deadline", "9s"]));
        let output = env.hookbox(["uninstall", "claude"]);
        assert!(output.stdout.contains("byte for byte"), "{output:#?}");
        assert!(output.stderr.contains("an entry runs hookbox"), "{output:#?}");
        assert_eq!(env.read(CLAUDE).unwrap(), own);
    }
}

#[test]
fn what_was_edited_since_stays_as_it_was_edited() {
    let env = TestEnvironment::new();
    env.file(CLAUDE, SETTINGS);
    done(&env.hookbox(["install", "claude"]));
    let edited = env.read(CLAUDE).unwrap().replace("\"opus\"", "\"haiku\"") + "\n";
    env.file(CLAUDE, &edited);
    let output = env.hookbox(["uninstall", "claude"]);
    assert!(output.stdout.contains("removed hookbox's entries"), "{output:#?}");
    assert_eq!(env.read(CLAUDE).unwrap(), SETTINGS.replace("\"opus\"", "\"haiku\"") + "\n");

    // Installed, edited, installed again: the edit is what has to come back.
    env.file(CLAUDE, SETTINGS);
    done(&env.hookbox(["install", "claude"]));
    env.file(CLAUDE, env.read(CLAUDE).unwrap().replace("\"opus\"", "\"haiku\""));
    done(&env.hookbox(["install", "claude", "--event", "PreToolUse"]));
    let output = env.hookbox(["uninstall", "claude"]);
    assert!(output.stdout.contains("byte for byte"), "{output:#?}");
    assert_eq!(env.read(CLAUDE).unwrap(), SETTINGS.replace("\"opus\"", "\"haiku\""));
}

#[test]
fn entries_are_known_without_a_record() {
    let env = TestEnvironment::new();
    env.file(CLAUDE, SETTINGS);
    done(&env.hookbox(["install", "claude"]));
    std::fs::remove_dir_all(env.path("home/.local/share/hookbox")).unwrap();
    let output = env.hookbox(["uninstall", "claude"]);
    assert!(output.stdout.contains("removed hookbox's entries"), "{output:#?}");
    assert_eq!(env.read(CLAUDE).unwrap(), SETTINGS);
}

#[test]
fn a_dry_run_shows_the_difference_and_changes_nothing() {
    let env = TestEnvironment::new();
    env.file("home/.codex/hooks.json", "{\n  \"hooks\": {}\n}\n");
    let output = env.hookbox(["install", "codex", "--event", "Stop", "--dry-run"]);
    done(&output);
    for line in ["-  \"hooks\": {}\n", "+    \"Stop\": [\n", "@@ -1,3 +1,15 @@\n"] {
        assert!(output.stdout.contains(line), "{output:#?}");
    }
    assert_eq!(env.read("home/.codex/hooks.json").unwrap(), "{\n  \"hooks\": {}\n}\n");
    assert!(!env.path("home/.local").exists());
    let rows = env.hookbox(["install", "gemini", "--dry-run", "--json"]).json();
    assert!(rows[0]["diff"].as_str().unwrap().starts_with("--- /dev/null\n+++ "));
    assert!(!env.path("home/.gemini").exists() && rows[0]["backup"].is_null());
    let output = env.hookbox(["install", "opencode", "--dry-run"]);
    assert!(output.stdout.contains("would create") && output.stdout.lines().count() == 1, "{output:#?}");
    done(&env.hookbox(["install", "codex"]));
    let output = env.hookbox(["uninstall", "codex", "--dry-run"]);
    assert!(output.stdout.contains("+  \"hooks\": {}\n"), "{output:#?}");
}

#[test]
fn the_command_is_a_copy_that_stays_if_the_program_goes() {
    let env = TestEnvironment::new();
    let command = |env: &TestEnvironment, agent: &str, level: &str, path: &str| {
        done(&env.hookbox(["install", agent, level]));
        read(agent.parse().unwrap(), env.read(path).unwrap().as_bytes()).unwrap().entries[0].command.clone()
    };
    let copy = env.path("home/.local/share/hookbox/bin/hookbox");
    let of_claude = command(&env, "claude", "--user", CLAUDE);
    assert!(of_claude.starts_with(copy.to_str().unwrap()), "{of_claude}");
    assert!(env.run(env.command(&copy).arg("--version"), "").stdout.starts_with("hookbox "));
    let of_project = command(&env, "claude", "--project", "repo/.claude/settings.json");
    assert!(of_project.starts_with("hookbox bridge claude"), "{of_project}");
    done(&env.hookbox(["install", "claude", "--local", "--program", "/opt/my $box/hookbox"]));
    let of_local = env.read("repo/.claude/settings.local.json").unwrap();
    assert!(of_local.contains("'/opt/my $box/hookbox' bridge claude"), "{of_local}");
}

#[test]
fn all_means_the_agents_that_are_here() {
    let env = TestEnvironment::new();
    refused(&env.hookbox(["install", "--all"]), 2, &["none"]);
    env.directory("home/.codex").directory("home/.copilot");
    let rows = env.hookbox(["install", "--all", "--json"]).json();
    let names: Vec<_> = rows.as_array().unwrap().iter().map(|it| it["agent"].as_str().unwrap()).collect();
    assert_eq!(names, ["codex", "copilot"]);
    done(&env.hookbox(["uninstall", "--all"]));
    assert!(!env.path("home/.codex/hooks.json").exists() && env.path("home/.codex").exists());
}

#[test]
fn it_works_from_every_directory() {
    for directory in ["home", ".", "/"] {
        let env = TestEnvironment::new();
        let cwd = env.path(directory);
        let cwd = ["--cwd", cwd.to_str().unwrap()];
        for agent in ["claude", "opencode"] {
            let rows = env.hookbox([&["install", agent, "--json"][..], &cwd].concat()).json();
            assert_eq!(rows[0]["change"], "created", "{directory}");
            let rows = env.hookbox([&["uninstall", agent, "--json"][..], &cwd].concat()).json();
            assert_eq!(rows[0]["change"], "deleted", "{directory}");
            // Its files would be the user's own there, or those of many projects.
            for command in ["install", "uninstall"] {
                let output = env.hookbox([&[command, agent, "--project"][..], &cwd].concat());
                refused(&output, 2, &["is not a project"]);
            }
        }
    }
    let env = TestEnvironment::new();
    let inside = env.path("repo/data");
    let env = env.variable("XDG_DATA_HOME", inside.to_str().unwrap());
    env.directory("repo/.git");
    refused(&env.hookbox(["install", "claude"]), 1, &["lies inside the repository"]);
    assert!(!inside.exists());
}

#[test]
fn hooks_of_another_agent_run_in_an_agent_that_was_told_so() {
    let guard = json!({"hooks": {"PreToolUse": [{"hooks": [
        {"type": "command", "command": "echo not from codex >&2; exit 2"},
    ]}]}});
    for (agent, path) in [(Agent::Claude, CLAUDE), (Agent::Gemini, "home/.gemini/settings.json")] {
        let env = TestEnvironment::new();
        env.file("home/.codex/hooks.json", guard.to_string());
        done(&env.hookbox(["install", agent.as_str(), "--from", "codex"]));
        done(&env.hookbox(["install", agent.as_str()]));
        assert!(!env.read(path).unwrap().contains("--from"));
        done(&env.hookbox(["install", agent.as_str(), "--from", "all"]));
        let entries = read(agent, env.read(path).unwrap().as_bytes()).unwrap().entries;
        let own = agent.names_of(EventKind::BeforeToolCall).last().unwrap();
        let line = &entries.iter().find(|it| it.event == own).unwrap().command;
        assert!(line.contains(" --from codex") && !line.contains(&format!(" --from {agent}")), "{line}");
        let payload = agent.shell_call(agent.event(own).unwrap(), "ls", &env.path("repo"), "s").to_string();
        let output = env.run(env.command("sh").args(["-c", line]), payload);
        assert!(output.stdout.contains("not from codex"), "{agent}: {output:#?}");
    }
    let env = TestEnvironment::new();
    done(&env.hookbox(["install", "claude", "--from", "codex", "--from", "cursor"]));
    assert_eq!(env.hookbox(["uninstall", "claude", "--json"]).json()[0]["change"], "deleted");
    refused(&env.hookbox(["install", "opencode", "--from", "claude"]), 2, &["fixed", "--from"]);
    refused(&env.hookbox(["install", "claude", "--from", "opencode"]), 2, &["no command hooks"]);
}

#[test]
fn an_installation_without_a_guard_says_so_and_names_the_next_steps() {
    let words = "no hook of yours blocks a tool call yet";
    let env = TestEnvironment::new();
    let output = env.hookbox(["install", "claude", "codex"]);
    done(&output);
    for word in [words, "hookbox guard add --all", "hookbox doctor claude codex"] {
        assert!(output.stderr.contains(word), "{word}: {output:#?}");
    }
    assert_eq!(env.hookbox(["install", "claude", "--json"]).json()[0]["guards"], json!([]));
    // One that only observes, or that nobody trusts, blocks nothing.
    env.native("repo/.hookbox/hooks/brought", "before_tool_call", "echo '{}'");
    env.native("home/.hookbox/hooks/greeter", "session_start", "echo '{}'");
    assert!(env.hookbox(["install", "claude"]).stderr.contains(words));
    env.native("home/.hookbox/hooks/guard", "before_tool_call", "echo '{}'");
    let output = env.hookbox(["install", "claude"]);
    assert!(!output.stderr.contains(words), "{output:#?}");
    assert!(output.stderr.contains("hookbox doctor claude"), "{output:#?}");
    assert_eq!(env.hookbox(["install", "claude", "--json"]).json()[0]["guards"], json!(["guard"]));
}

#[test]
fn a_program_below_a_directory_with_a_sign_in_its_name_is_installed_once() {
    let env = TestEnvironment::new();
    for program in ["/opt/v=1/hookbox", "v=1"] {
        for change in ["created", "unchanged"] {
            let output = env.hookbox(["install", "claude", "--program", program, "--json"]);
            assert_eq!(output.json()[0]["change"], change);
            assert!(output.stderr.contains("no program that can be executed"), "{output:#?}");
        }
        done(&env.hookbox(["uninstall", "claude"]));
        assert!(!env.path(CLAUDE).exists());
    }
}

#[test]
fn a_standard_output_that_is_full_keeps_no_agent_from_it() {
    let env = TestEnvironment::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = env.command(program());
    command.args(["install", "claude", "codex", "--guards", "none"]);
    let status = command.stdout(full).status().unwrap();
    assert!(!status.success());
    assert!(env.path(CLAUDE).exists() && env.path("home/.codex/hooks.json").exists());
}

#[test]
fn kimi_code_keeps_every_other_line_of_its_file() {
    let (path, agent) = ("home/.kimi-code/config.toml", "kimi");
    let mine = "# mine\ndefault_model = \"k2\"\n\n[[hooks]] # notifies me\nevent = \"Stop\"\ncommand = \"\"\"\n[[hooks]]\n\"\"\"\n\n[providers.k]\ntype = \"kimi\"";
    let env = TestEnvironment::new();
    env.file(path, mine);
    done(&env.hookbox(["install", agent]));
    let installed = env.read(path).unwrap();
    assert!(installed.starts_with(mine), "{installed}");
    assert!(installed.contains("\n[[hooks]]\nevent = \"PreToolUse\"\ncommand = \""), "{installed}");
    assert!(env.hookbox(["install", agent]).stdout.contains("is up to date"));
    done(&env.hookbox(["install", agent, "--event", "PreToolUse", "--deadline", "10m"]));
    let narrow = env.read(path).unwrap();
    assert_eq!(narrow.matches(" bridge kimi ").count(), 1, "{narrow}");
    assert!(narrow.contains("--deadline 585s") && narrow.contains("timeout = 600"), "{narrow}");

    // Kimi Code writes the file again, and adds settings of its own.
    let edited = narrow.replace("\"k2\"", "\"k3\"") + "\n[thinking]\nmode = \"on\"\n";
    env.file(path, &edited);
    done(&env.hookbox(["uninstall", agent]));
    let left = env.read(path).unwrap();
    assert_eq!(left, mine.replace("\"k2\"", "\"k3\"") + "\n\n[thinking]\nmode = \"on\"\n");

    env.file(path, mine);
    done(&env.hookbox(["install", agent]));
    done(&env.hookbox(["uninstall", agent]));
    assert_eq!(env.read(path).unwrap(), mine);

    refused(&env.hookbox(["install", agent, "--project"]), 2, &["Kimi Code", "project"]);
    for (text, want) in [
        ("[[hooks]]\nevent = \"Stopp\"\ncommand = \"x\"\n", "unknown event"),
        ("hooks = [{event = \"Stop\", command = \"x\"}]\n", "[[hooks]] tables"),
        ("hooks = []\n", "[[hooks]] tables"),
        ("hooks = ", "expected TOML"),
        ("\u{feff}a = 1\n", "byte order mark"),
    ] {
        env.file(path, text);
        refused(&env.hookbox(["install", agent]), 1, &[want]);
        assert_eq!(env.read(path).unwrap(), text);
    }
}

#[test]
fn opencode_gets_its_plugin_and_loses_it_again() {
    let env = TestEnvironment::new();
    let path = "home/.config/opencode/plugins/hookbox.js";
    done(&env.hookbox(["install", "opencode", "--program", "/opt/my box/hookbox"]));
    let text = env.read(path).unwrap();
    assert!(text.contains("program: \"/opt/my box/hookbox\""));
    let rows = env.hookbox(["install", "opencode", "--json"]).json();
    assert_eq!(rows[0]["change"], "changed");
    refused(&env.hookbox(["install", "opencode", "--event", "dispose"]), 2, &["fixed"]);

    let edited = env.read(path).unwrap() + "// mine\n";
    env.file(path, &edited);
    for command in ["install", "uninstall"] {
        refused(&env.hookbox([command, "opencode"]), 1, &["was changed since"]);
    }
    env.file(path, "export default () => {}\n");
    refused(&env.hookbox(["install", "opencode"]), 1, &["is not a plugin of hookbox"]);
    done(&env.hookbox(["uninstall", "opencode"]));
    assert!(env.path(path).exists(), "somebody else's");
    std::fs::remove_dir_all(env.path("home/.config")).unwrap();

    for level in ["--user", "--project"] {
        done(&env.hookbox(["install", "opencode", level]));
        let rows = env.hookbox(["uninstall", "opencode", level, "--json"]).json();
        assert_eq!(rows[0]["change"], "deleted");
    }
    assert!(!env.path("home/.config").exists() && !env.path("repo/.opencode").exists());
}
