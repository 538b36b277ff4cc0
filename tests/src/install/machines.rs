//! Machines on which something is missing that hookbox uses.

use std::process::Command;

use super::{CLAUDE, done, refused};
use crate::environment::{TestEnvironment, program};

/// Returns the command that runs the program of its further arguments on a machine.
type Machine = fn(&TestEnvironment) -> Command;

/// The machines, with the words of the refusal. On a machine without any the agent is guarded.
const MACHINES: [(&str, Machine, &[&str]); 5] = [
    (
        "no git",
        |env| {
            env.script("programs/sh", "#!/bin/sh\nexec /bin/sh \"$@\"\n");
            let mut command = env.command("/usr/bin/env");
            command.env("PATH", env.path("programs"));
            command
        },
        &[],
    ),
    (
        "no entry of the user in the system's accounts",
        |env| {
            let mut command = env.command("setpriv");
            command.args(["--reuid", "54321", "--clear-groups"]).env("XDG_CACHE_HOME", env.path("tmp"));
            for path in ["home", "home/.claude", "tmp"] {
                // Without the right to do this, there is none to be another user either.
                drop(std::os::unix::fs::chown(env.path(path), Some(54_321), None));
            }
            command
        },
        &[],
    ),
    (
        "neither HOME nor an entry",
        |env| {
            let mut command = env.command("setpriv");
            command.args(["--reuid", "54321", "--clear-groups"]);
            for name in ["HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
                command.env_remove(name);
            }
            command
        },
        &["HOME"],
    ),
    (
        "the home directory of another user",
        |env| {
            let mut command = env.command("setpriv");
            command.args(["--reuid", "54321", "--clear-groups"]);
            command
        },
        &["Permission denied"],
    ),
    (
        "a home directory that is read only",
        |env| {
            let mut command = env.command("unshare");
            let mount =
                "mount --bind \"$HOME\" \"$HOME\" && mount -o remount,bind,ro \"$HOME\" && exec \"$@\"";
            command.args(["--mount", "--map-root-user", "sh", "-c", mount, "sh"]);
            command
        },
        &["Read-only file system"],
    ),
];

#[test]
fn a_machine_that_lacks_something_is_guarded_or_its_user_is_told_what_to_do() {
    for (name, machine, refusal) in MACHINES {
        let env = TestEnvironment::new();
        env.directory("home/.claude").mode(".", 0o755).mode("home", 0o755);
        let on = |args: &[&str]| {
            let mut command = machine(&env);
            command.arg(program()).args(args).args(["--cwd", "/"]);
            command
        };
        if !machine(&env).args(["/bin/sh", "-c", ":"]).output().unwrap().status.success() {
            println!("skipped: {name} cannot be made here");
            continue;
        }
        let output = env.run(&mut on(&["setup", "--yes", "--agent", "claude"]), "");
        if !refusal.is_empty() {
            refused(&output, output.code.filter(|it| *it != 0).unwrap(), refusal);
            assert_eq!(env.read(CLAUDE), None, "{name}");
            continue;
        }
        done(&output);
        assert!(output.stdout.contains("Claude Code: guarded"), "{name}: {output:#?}");
        let call = r#"{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "rm -rf ~"}}"#;
        let output = env.run(&mut on(&["bridge", "claude"]), call);
        done(&output);
        assert!(output.stdout.contains(r#""permissionDecision":"deny""#), "{name}: {output:#?}");
    }
}
