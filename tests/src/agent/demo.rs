//! The program `hookbox-agent`, which is the demo.

use std::ffi::OsStr;

use crate::environment::{Output, TestEnvironment, program, sample};

fn demo<A: AsRef<OsStr>>(env: &TestEnvironment, args: impl IntoIterator<Item = A>) -> Output {
    let agent = program().with_file_name("hookbox-agent");
    assert!(agent.is_file(), "no {}; hint: cargo build --workspace", agent.display());
    env.run(env.command(agent).args(args), "")
}

#[test]
fn the_demo_shows_every_hook_at_work() {
    let env = TestEnvironment::new();
    let hooks = sample("guardrail").parent().unwrap().to_owned();
    let output = demo(&env, ["--hooks".as_ref(), hooks.as_os_str()]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let (listed, account) = output.stdout.split_once("session_start").unwrap();
    let listed: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    for sample in ["guardrail", "redactor", "turn-logger", "compact-threshold", "follow-up"] {
        assert!(listed.contains(&&*format!("{sample}.wasm")), "{sample}: {}", output.stdout);
    }
    assert!(listed.contains(&"no-deploys") && listed.contains(&"from-the-repository"), "{listed:?}");
    for hook in &listed {
        assert!(account.contains(hook), "{hook} is not at work: {account}");
    }
    for what in ["blocked", "echo would deploy", "the model sees another output", "untrusted", "fuel"] {
        assert!(account.contains(what), "{what}: {account}");
    }
    assert_eq!(env.read("home/i-ran"), None, "what the repository brought did not run");
    let left: Vec<_> = std::fs::read_dir(env.path("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!env.path("home/.kodelet").exists(), "nothing is written to the real home");
}

#[test]
fn a_demo_without_its_hooks_says_how_to_build_them() {
    let env = TestEnvironment::new();
    let output = demo(&env, ["--hooks", "/no/such"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("error: ") && output.stderr.contains("hint: "), "{output:#?}");
}

#[test]
fn the_demo_of_the_rotation_goes_on_in_a_fresh_conversation() {
    let env = TestEnvironment::new();
    let hooks = sample("guardrail").parent().unwrap().to_owned();
    let output = demo(&env, ["--flow".as_ref(), "rotation".as_ref(), "--hooks".as_ref(), hooks.as_os_str()]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let (_, second) = output.stdout.rsplit_once("with these hooks:").unwrap();
    let mut rest = second;
    for what in [
        "session_start",
        "on_budget_exceeded",
        "Token budget exceeded",
        "pre_compact",
        "post_compact",
        "session_end",
        " goes on as ",
        "session_start",
        "write the tests of the rotation",
        "session_end",
    ] {
        (_, rest) = rest.split_once(what).unwrap_or_else(|| panic!("{what}: {second}"));
    }
    let left: Vec<_> = std::fs::read_dir(env.path("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!env.path("home/.local/share/hookbox").exists(), "the real home's trust is not touched");
}
