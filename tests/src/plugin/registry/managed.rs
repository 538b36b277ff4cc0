//! `hookbox plugin sync --managed`, with a registry on this machine and a directory in place of `/etc`.

use std::fs;

use rcgen::KeyPair;
use serde_json::{Value, json};

use super::*;
use crate::environment::Output;
use crate::managed::{place, rules, with_etc};

/// Runs the program with this place's `/etc/hookbox`.
fn hookbox(env: &TestEnvironment, args: &[&str], input: &str) -> Output {
    env.run(with_etc(env).unwrap().arg(crate::environment::program()).args(args), input)
}

/// Returns what a command printed, whatever its exit code.
fn parsed(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:#?}"))
}

#[tokio::test]
#[ignore = "needs docker-registry: run `cargo xtask test-all`"]
async fn the_program_brings_what_is_pinned_and_keeps_it_without_a_network() {
    let env = place();
    assert!(with_etc(&env).is_some(), "no file system can be mounted here");
    let local = LocalRegistry::start(&env);
    env.directory("etc/hookbox/plugins").mode("etc/hookbox/plugins", 0o755);
    let publish = |line: &str| -> String {
        env.file("repo/plugin/hooks/p.rules.toml", rules(line));
        let target = format!("oci://{}/org/base:1", local.address);
        let json = env.hookbox(["plugin", "publish", "plugin", &target, "--json"]).json();
        json["reference"].as_str().unwrap().to_owned()
    };
    let (first, bad, second) = (publish("ls"), publish("true"), publish("cat"));
    let pin = |source: &str| {
        env.file("etc/hookbox/hookbox.toml", format!("pinned_plugins = [\"{source}\"]\n"));
    };
    let sync = || hookbox(&env, &["plugin", "sync", "--managed", "--plain-http", "--json"], "");
    let doctor = || hookbox(&env, &["doctor", "--managed", "--json"], "");
    let blocks = |line: &str| {
        let event = json!({"tool_name": "bash", "tool_input": {"command": line}}).to_string();
        let verdict: Value = hookbox(&env, &["run", "before_tool_call"], &event).json();
        verdict["blocked_by"] == "org/base/p.rules.toml"
    };
    pin(&first);
    assert_eq!((doctor().code, &parsed(&doctor())["state"]), (Some(6), &json!("incomplete")));
    for (pinned, code, state, in_force) in [
        (&first, 0, "installed", "ls"),
        (&first, 0, "current", "ls"),
        (&bad, 1, "kept", "ls"),
        (&second, 0, "installed", "cat"),
        (&first, 0, "installed", "ls"),
    ] {
        pin(pinned);
        let output = sync();
        assert_eq!((output.code, &parsed(&output)[0]["state"]), (Some(code), &json!(state)), "{output:#?}");
        for line in ["ls", "cat", "true"] {
            assert_eq!(blocks(line), line == in_force, "{pinned} {line}");
        }
        assert_eq!(doctor().code, Some(0), "{:#?}", doctor());
    }
    // Others may write the directory, so nothing below it would run.
    env.mode("etc/hookbox/plugins", 0o777);
    let output = sync();
    assert_eq!((output.code, &parsed(&output)[0]["state"]), (Some(1), &json!("kept")), "{output:#?}");
    assert!(output.stderr.contains("others"), "{output:#?}");
    env.mode("etc/hookbox/plugins", 0o755);
    // A key, and nobody signed.
    env.file("etc/hookbox/cosign.pub", KeyPair::generate().unwrap().public_key_pem());
    pin(&second);
    let output = sync();
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("signature"), "{output:#?}");
    assert!(blocks("ls"));
    fs::remove_file(env.path("etc/hookbox/cosign.pub")).unwrap();
    drop(local);
    assert_eq!(parsed(&sync())[0]["state"], "kept");
    assert!(blocks("ls"));
    pin(&first);
    assert_eq!(parsed(&sync())[0]["state"], "current");
}
