//! The administrator's policy, and users and repositories that would weaken it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown, symlink};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use hookbox::discovery::ManagedDir;
use hookbox::hook::Tier;
use hookbox::manager::{Builder, Manager};
use hookbox::session::{ToolDecision, ToolVerdict};
use hookbox::trust::{AllowanceFile, Term, TrustPolicy, now_ms};
use hookbox::{Limits, Status, ToolCall};
use hookbox_system::files::SystemFiles;
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, program, sample};

const DATA: &str = "home/.local/share/hookbox";
const GUARD: &str = "etc/hookbox/hooks/guard.rules.toml";
const SETTINGS: &str = "etc/hookbox/hookbox.toml";
const USERS: &str = "home/.hookbox/hookbox.toml";
const THEIRS: &str = "repo/.hookbox/hookbox.toml";

/// Rules that block a command.
pub(crate) fn rules(command: &str) -> String {
    format!("[[rule]]\ncommand = \"{command}\"\nanswer = \"block\"\nreason = \"No {command}.\"\n")
}

/// A place with a guard of the administrator's that blocks `make`.
pub(crate) fn place() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.file(GUARD, rules("make")).file(SETTINGS, "");
    env.mode("etc", 0o755).mode("etc/hookbox", 0o755).mode("etc/hookbox/hooks", 0o755);
    env.mode(GUARD, 0o644).mode(SETTINGS, 0o644);
    env
}

pub(crate) fn builder(env: &TestEnvironment) -> Builder {
    let owner = fs::metadata(env.path("etc")).unwrap().uid();
    let files = Arc::new(SystemFiles { top: env.path("etc"), owner });
    env.builder().managed(Some(ManagedDir { path: env.path("etc/hookbox"), files }))
}

pub(crate) async fn call(manager: &Manager, line: &str) -> ToolVerdict {
    manager.session("s").before_tool_call(ToolCall::new("bash", json!({"command": line}))).await
}

/// Returns the name of the hook that blocks this line.
async fn blocker(manager: &Manager, line: &str) -> Option<String> {
    match call(manager, line).await.decision {
        ToolDecision::Block(ruling) => Some(ruling.by),
        _ => None,
    }
}

fn said(manager: &Manager) -> String {
    manager.problems().iter().map(|it| format!("{it}\n")).collect()
}

/// The ways in which a user without root attacks the policy: files, and the program that embeds hookbox.
type Attack = (&'static str, fn(&TestEnvironment), fn(Builder) -> Builder);

const NOTHING: fn(Builder) -> Builder = |it| it;

#[tokio::test]
async fn no_user_and_no_repository_weakens_the_policy() {
    let attacks: &[Attack] = &[
        ("nothing", |_| {}, NOTHING),
        (
            "a hook of the user's with its name",
            |env| {
                env.file("home/.hookbox/hooks/guard.rules.toml", rules("x"));
            },
            NOTHING,
        ),
        (
            "a hook of the repository with its name",
            |env| {
                env.file("repo/.hookbox/hooks/guard.rules.toml", rules("x"));
            },
            |it| it.trust(TrustPolicy::All),
        ),
        (
            "the user's settings of it",
            |env| {
                env.file(USERS, OFF);
            },
            NOTHING,
        ),
        (
            "the repository's settings of it",
            |env| {
                env.file(THEIRS, OFF);
            },
            |it| it.trust(TrustPolicy::All),
        ),
        (
            "a name that ends in .disable",
            |env| {
                env.file("home/.hookbox/hooks/guard.rules.toml.disable", "");
            },
            NOTHING,
        ),
        (
            "no_hooks in the user's settings",
            |env| {
                env.file(USERS, "no_hooks = true\n");
            },
            NOTHING,
        ),
        (
            "skip_commands in the user's settings",
            |env| {
                env.file(USERS, "skip_commands = [\"go\"]\n");
            },
            |it| it.command("go"),
        ),
        ("a command that gets no hooks", |_| {}, |it| it.command("commit")),
        ("the flag for no hooks", |_| {}, |it| it.no_hooks(true)),
        ("other roots", |_| {}, |it| it.roots([".other"])),
        ("no roots", |_| {}, |it| it.roots(Vec::<String>::new())),
        ("another home directory", |_| {}, |it| it.home("/nonexistent")),
        ("another working directory", |_| {}, |it| it.cwd("/")),
        ("no data directory", |_| {}, |it| it.data(None)),
        (
            "no time",
            |_| {},
            |it| it.limits(Limits { timeout: Some(Duration::from_nanos(1)), ..Limits::default() }),
        ),
        (
            "a broken settings file of the user's",
            |env| {
                env.file(USERS, "[[[");
            },
            NOTHING,
        ),
        (
            "a plugin of its name",
            |env| {
                env.file("home/.hookbox/plugins/guard@rules/hooks/toml", "#!/bin/sh\n");
            },
            NOTHING,
        ),
        (
            "a call that the user's hook makes of a harmless one",
            |env| {
                let run = r#"echo '{"input":{"command":"make"}}'"#;
                env.native("home/.hookbox/hooks/rewrite", "before_tool_call", run);
            },
            NOTHING,
        ),
    ];
    for (name, attack, configure) in attacks {
        let env = place();
        attack(&env);
        let manager = configure(builder(&env)).build().await;
        let line = if name.starts_with("a call") { "true" } else { "make" };
        assert_eq!(
            blocker(&manager, line).await.as_deref(),
            Some("guard.rules.toml"),
            "{name}: {}",
            said(&manager)
        );
        let entries = manager.entries();
        assert_eq!((entries[0].tier, entries[0].trusted), (Tier::Managed, true), "{name}: it is the first");
    }
}

/// Settings that would switch the guard off.
const OFF: &str = "[hooks.\"guard.rules.toml\"]\nenabled = false\nmode = \"observe\"\nallow_once = true\n";

#[tokio::test]
async fn the_administrators_hooks_run_first_and_again_only_if_a_later_hook_changed_the_call() {
    let env = place();
    env.native("home/.hookbox/hooks/rewrite", "before_tool_call", r#"echo '{"input":{"command":"true"}}'"#);
    env.file("home/.hookbox/hooks/z.rules.toml", rules("other"));
    let manager = builder(&env).build().await;
    for (line, want) in [
        ("false", &["guard.rules.toml", "rewrite", "z.rules.toml", "guard.rules.toml"][..]),
        ("true", &["guard.rules.toml", "rewrite", "z.rules.toml"]),
    ] {
        let verdict = call(&manager, line).await;
        let names: Vec<_> = verdict.report.hooks.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, want, "{line}");
    }
}

#[tokio::test]
async fn a_user_passes_a_guard_of_the_administrators_once_if_the_policy_lets_him() {
    for (policy, terms) in [
        ("", &[][..]),
        ("[hooks.\"guard.rules.toml\"]\nallow_once = false\n", &[]),
        ("[hooks.\"guard.rules.toml\"]\nallow_once = true\n", &[Term::Once]),
    ] {
        let env = place();
        env.file(SETTINGS, policy);
        // The user's own guard of the same bytes can always be passed.
        env.file("home/.hookbox/hooks/guard.rules.toml", rules("make")).file(USERS, OFF);
        let manager = builder(&env).build().await;
        let ToolDecision::Block(ruling) = call(&manager, "make").await.decision else { panic!("{policy}") };
        assert_eq!(ruling.code.is_some(), !terms.is_empty(), "{policy}");
        let Some(code) = ruling.code.map(|it| it.parse().unwrap()) else { continue };
        let file = AllowanceFile::new(env.path(DATA));
        for term in [Term::Always, Term::AlwaysHere, Term::For(600_000), Term::Once] {
            let granted = file.update(|all| all.grant(&code, term, now_ms())).unwrap();
            assert_eq!(granted.is_ok(), terms.contains(&term), "{term:?}");
        }
        assert_eq!(call(&manager, "make").await.report.hooks[0].status, Status::Allowed);
        assert_eq!(blocker(&manager, "make").await.as_deref(), Some("guard.rules.toml"), "once");
        // A record that was written by hand.
        let record = env.read("home/.local/share/hookbox/allowances.json").unwrap();
        assert!(record.contains("\"managed\":true") || record.contains("\"managed\": true"), "{record}");
    }
}

#[tokio::test]
async fn a_policy_that_may_not_be_in_force_blocks_every_tool_call_and_names_the_file_and_the_administrator() {
    type Break = (&'static str, fn(&TestEnvironment), &'static str);
    let faults: &[Break] = &[
        ("no settings", |env| fs::remove_file(env.path(SETTINGS)).unwrap(), "hookbox.toml: does not exist"),
        (
            "broken settings",
            |env| {
                env.file(SETTINGS, "[[[");
            },
            "hookbox.toml: line 1: is not TOML",
        ),
        (
            "a directory of the group",
            |env| {
                env.mode("etc/hookbox", 0o775);
            },
            "others may write it (mode 775)",
        ),
        (
            "hooks of everybody",
            |env| {
                env.mode("etc/hookbox/hooks", 0o777);
            },
            "others may write it (mode 777)",
        ),
        (
            "a directory above",
            |env| {
                env.mode("etc", 0o777);
            },
            "etc, above it: others may write it",
        ),
        (
            "a guard of the group",
            |env| {
                env.mode(GUARD, 0o664);
            },
            "guard.rules.toml: is not used: others may",
        ),
        (
            "a symlink to the user's settings",
            |env| {
                fs::remove_file(env.path(SETTINGS)).unwrap();
                env.file("home/policy.toml", "")
                    .symlink(SETTINGS, env.path("home/policy.toml").to_str().unwrap());
            },
            "hookbox.toml: is not used: it is a symlink",
        ),
        (
            "a symlink to the user's guard",
            |env| {
                fs::remove_file(env.path(GUARD)).unwrap();
                env.file("home/guard", rules("x")).symlink(GUARD, env.path("home/guard").to_str().unwrap());
            },
            "guard.rules.toml: is not used: it is a symlink",
        ),
        (
            "a symlink to the user's hooks",
            |env| {
                fs::remove_dir_all(env.path("etc/hookbox/hooks")).unwrap();
                env.directory("home/hooks");
                symlink(env.path("home/hooks"), env.path("etc/hookbox/hooks")).unwrap();
            },
            "hooks: is not used: it is a symlink",
        ),
        (
            "a symlink to nothing",
            |env| {
                fs::remove_file(env.path(GUARD)).unwrap();
                env.symlink(GUARD, "/nonexistent");
            },
            "guard.rules.toml: is not used: it is a symlink",
        ),
        (
            "a symlink to a plugin",
            |env| {
                env.directory("home/plugin")
                    .directory("etc/hookbox/plugins")
                    .mode("etc/hookbox/plugins", 0o755);
                symlink(env.path("home/plugin"), env.path("etc/hookbox/plugins/o@r")).unwrap();
            },
            "o@r: is not used: it is a symlink",
        ),
        (
            "the user's guard",
            |env| {
                // Only root can give a file away.
                if chown(env.path(GUARD), Some(12_345), None).is_err() {
                    fs::set_permissions(env.path(GUARD), std::os::unix::fs::PermissionsExt::from_mode(0o666))
                        .unwrap();
                }
            },
            "guard.rules.toml: is not used: ",
        ),
    ];
    for (name, fault, want) in faults {
        for required in [false, true] {
            let env = place();
            if required {
                env.file("etc/hookbox/required", "");
            }
            fault(&env);
            // The user cannot get around it either.
            env.file(USERS, "no_hooks = true\n");
            let manager = builder(&env).build().await;
            let verdict = call(&manager, "true").await;
            let reason = verdict.decision.blocked().map(|it| it.for_user()).unwrap_or_default().to_owned();
            // A guard that cannot be used blocks by itself.
            assert!(!required || !reason.is_empty(), "{name}: {}", said(&manager));
            if required {
                assert!(reason.contains(want) && reason.contains("administrator"), "{name}: {reason}");
            } else if *name != "no settings" {
                assert!(said(&manager).contains(want), "{name}: {}", said(&manager));
            }
        }
    }
}

#[tokio::test]
async fn only_managed_runs_no_hooks_of_users_and_repositories_and_says_which() {
    let env = place();
    env.file("home/.hookbox/hooks/mine.rules.toml", rules("ls"));
    env.file("home/.hookbox/plugins/org@tools/hooks/p.rules.toml", rules("cat"));
    env.file("repo/.hookbox/hooks/theirs.rules.toml", rules("id"));
    // A guard that is missing blocks, but not here.
    env.file(USERS, "only_managed = false\n[hooks.gone]\non_failure = \"block\"\n");
    for (policy, runs) in [("", true), ("only_managed = true\n", false)] {
        env.file(SETTINGS, policy);
        let manager = builder(&env).trust(TrustPolicy::All).build().await;
        for line in ["ls", "cat", "id"] {
            assert_eq!(blocker(&manager, line).await.is_some(), runs, "{line}");
        }
        assert_eq!(blocker(&manager, "make").await.as_deref(), Some("guard.rules.toml"));
        let named = said(&manager)
            .contains("these hooks do not run: mine.rules.toml, org/tools/p.rules.toml, theirs.rules.toml");
        assert_eq!(named, !runs, "{}", said(&manager));
        assert!(said(&manager).contains("is for the administrator's file to say"), "{}", said(&manager));
    }
}

#[tokio::test]
async fn a_component_of_the_administrators_has_the_permissions_of_the_file_and_no_others() {
    for (policy, lacks) in [("", true), ("[hooks.\"rights.wasm\"]\ngrants = [\"store\"]\n", false)] {
        let env = place();
        env.copy("etc/hookbox/hooks/rights.wasm", &sample("error-kb"))
            .mode("etc/hookbox/hooks/rights.wasm", 0o644);
        env.file(SETTINGS, policy);
        let manager = builder(&env).build().await;
        let entries = manager.entries();
        let entry = entries.iter().find(|it| it.name == "rights.wasm").unwrap();
        assert_eq!(!entry.lacks.is_empty(), lacks, "{policy} {:?} {}", entry.lacks, said(&manager));
    }
}

#[tokio::test]
async fn a_program_of_the_administrators_gets_no_variable_that_leads_to_the_users_files() {
    let env = place();
    env.native(
        "etc/hookbox/hooks/native",
        "before_tool_call",
        r#"echo "{\"blocked\":true,\"reason\":\"$(env | sort | cut -d= -f1 | tr '\n' ' ')\"}""#,
    );
    let manager = builder(&env).build().await;
    let verdict = call(&manager, "ls").await;
    let reason = verdict.decision.blocked().unwrap().for_user().to_owned();
    assert!(reason.contains("HOME") && !reason.contains("PATH") && !reason.contains("CARGO"), "{reason}");
}

/// A command that runs the program of its further arguments with this place's `etc/hookbox` as `/etc/hookbox`; `None` if
/// no file system can be mounted here.
pub(crate) fn with_etc(env: &TestEnvironment) -> Option<Command> {
    let mount = r#"mount -t overlay -o lowerdir="$OURS":/etc overlay /etc && mount --bind "$OURS/hookbox" /etc/hookbox &&
        test "$(stat -c %u /)" = 0 && exec "$@""#;
    [&["--mount"][..], &["--mount", "--map-root-user"]].into_iter().find_map(|namespace| {
        let command = || {
            let mut command = env.command("unshare");
            command.args(namespace).args(["sh", "-c", mount, "sh"]).env("OURS", env.path("etc"));
            command
        };
        command().arg("true").output().is_ok_and(|it| it.status.success()).then(command)
    })
}

#[test]
fn the_program_finds_the_policy_of_the_system_and_no_flag_and_no_variable_of_the_users_hides_it() {
    let env = place();
    let Some(_) = with_etc(&env) else { return eprintln!("no file system can be mounted here: not tried") };
    let event = json!({"tool_name": "bash", "tool_input": {"command": "make"}}).to_string();
    for (args, variables) in [
        (&[][..], &[][..]),
        (&["--no-hooks"], &[]),
        (&["--root", ".other"], &[]),
        (&["--home", "/nonexistent"], &[]),
        (&["--trust", "all"], &[]),
        (&["--timeout", "1ms"], &[]),
        (&["--agent-command", "commit"], &[]),
        (&["--cwd", "/"], &[]),
        (&[], &[("HOME", "/nonexistent")]),
        (&[], &[("HOOKBOX_DEPTH", "1")]),
        (
            &[],
            &[
                ("XDG_DATA_HOME", "/nonexistent"),
                ("XDG_CONFIG_HOME", "/nonexistent"),
                ("XDG_CACHE_HOME", "/nonexistent"),
            ],
        ),
    ] {
        let mut command = with_etc(&env).unwrap();
        command.arg(program()).args(["run", "before_tool_call"]).args(args).envs(variables.iter().copied());
        let output = env.run(&mut command, &event);
        let verdict: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
        assert_eq!(verdict["blocked_by"], "guard.rules.toml", "{args:?} {variables:?}: {output:#?}");
    }
    let list = env.run(with_etc(&env).unwrap().arg(program()).args(["list", "--json"]), "").json();
    assert_eq!((&list[0]["tier"], &list[0]["trusted"]), (&json!("managed"), &json!(true)), "{list}");
}

#[tokio::test]
async fn plugins_of_users_and_repositories_run_only_from_allowed_sources_and_with_allowed_digests() {
    let env = place();
    let plugin = "home/.hookbox/plugins/org@tools";
    env.file(&format!("{plugin}/hooks/p.rules.toml"), rules("ls"));
    env.file("repo/.hookbox/plugins/org@other/hooks/p.rules.toml", rules("cat"));
    let digest = hookbox_plugins::digest(&env.path(plugin), None).unwrap();
    let lock = format!(
        "version = 1\n[[plugin]]\nname = \"org/tools\"\nsource = \"https://git.example.com/org/tools\"\n\
         tree = \"{digest}\"\ninstalled = \"2026-01-01T00:00:00Z\"\n"
    );
    env.file("home/.hookbox/plugins.lock", lock);
    for (policy, runs) in [
        (String::new(), [true, true]),
        ("plugin_sources = [\"https://git.example.com\"]\n".to_owned(), [true, false]),
        ("plugin_sources = [\"https://git.example.com/org/\"]\n".to_owned(), [true, false]),
        ("plugin_sources = [\"https://git.example\"]\n".to_owned(), [false, false]),
        ("plugin_sources = [\"https://git.example.com/org/tool\"]\n".to_owned(), [false, false]),
        ("plugin_sources = []\n".to_owned(), [false, false]),
        ("plugin_sources = 5\n".to_owned(), [false, false]),
        (format!("plugin_digests = [\"{digest}\"]\n"), [true, false]),
        (format!("plugin_digests = [\"sha256:{}\"]\n", "0".repeat(64)), [false, false]),
    ] {
        env.file(SETTINGS, &policy);
        let manager = builder(&env).trust(TrustPolicy::All).build().await;
        for (line, runs) in ["ls", "cat"].into_iter().zip(runs) {
            assert_eq!(blocker(&manager, line).await.is_some(), runs, "{policy} {line}: {}", said(&manager));
        }
        let count = said(&manager).matches("its hooks do not run: the administrator does not allow").count();
        assert_eq!(count, runs.iter().filter(|it| !**it).count(), "{policy} {}", said(&manager));
    }
}

#[test]
fn the_state_of_the_policy_has_an_exit_code_for_device_management() {
    let env = place();
    let Some(_) = with_etc(&env) else { return eprintln!("no file system can be mounted here: not tried") };
    type Fault = (&'static str, u8, fn(&TestEnvironment));
    let faults: [Fault; 7] = [
        ("in force", 0, |_| {}),
        ("in force", 0, |env| fs::remove_file(env.path(SETTINGS)).unwrap()),
        ("absent", 3, |env| {
            fs::remove_file(env.path(SETTINGS)).unwrap();
            fs::remove_file(env.path(GUARD)).unwrap();
        }),
        ("unusable", 4, |env| {
            fs::remove_file(env.path(SETTINGS)).unwrap();
            env.file("etc/hookbox/required", "");
        }),
        ("unusable", 4, |env| {
            env.mode(GUARD, 0o666);
        }),
        ("broken", 5, |env| {
            env.file("etc/hookbox/hooks/x.wasm", "no component").mode("etc/hookbox/hooks/x.wasm", 0o644);
        }),
        ("incomplete", 6, |env| {
            env.file(SETTINGS, "pinned_plugins = [\"https://h/org/tools@main\"]\n");
        }),
    ];
    for (state, code, fault) in faults {
        let env = place();
        fault(&env);
        let doctor =
            |args: &[&str]| env.run(with_etc(&env).unwrap().arg(program()).arg("doctor").args(args), "");
        let output = doctor(&["--managed", "--json"]);
        assert_eq!(output.code, Some(code.into()), "{state}: {output:#?}");
        let json: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(json["state"], state, "{json}");
        let text = doctor(&["--managed"]);
        assert!(text.stdout.contains(&format!("/etc/hookbox: {state}")), "{text:#?}");
    }
}

#[test]
fn a_user_cannot_add_a_plugin_that_the_administrator_does_not_allow() {
    let env = place();
    let Some(_) = with_etc(&env) else { return eprintln!("no file system can be mounted here: not tried") };
    env.file("repo/tools/hooks/p.rules.toml", rules("ls"));
    for (policy, code) in [
        ("", 0),
        ("plugin_sources = [\"oci://registry.example.com\"]\n", 1),
        ("plugin_digests = []\n", 1),
        ("[[[", 1),
    ] {
        env.file(SETTINGS, policy);
        let args = ["plugin", "add", "./tools", "--force", "--no-trust"];
        let output = env.run(with_etc(&env).unwrap().arg(program()).args(args), "");
        assert_eq!(output.code, Some(code), "{policy}: {output:#?}");
        assert_eq!(output.stderr.contains("ask your administrator"), code == 1, "{policy}: {output:#?}");
    }
}
