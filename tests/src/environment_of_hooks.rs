//! The environment of native hooks: inherited unchanged, unless their settings narrow it (`env = […]`).

use serde_json::json;

use crate::environment::TestEnvironment;

/// A hook that writes down the names in its environment, when it is asked for its event and when it runs.
fn with_witness(settings: &str) -> TestEnvironment {
    let env = TestEnvironment::new().variable("SECRET", "s3cret").variable("PLAIN", "p");
    // Absolute, for without `PATH` there is nothing to look in.
    let script = "#!/bin/bash\n/usr/bin/env | /usr/bin/cut -d= -f1 | /usr/bin/sort > \"${0%/.hookbox/*}/saw-$1\"\n\
                  [ \"$1\" = hook ] && echo turn_end\nexit 0\n";
    env.script("home/.hookbox/hooks/witness", script).file("home/.hookbox/hookbox.toml", settings);
    env
}

/// The variables that bash itself sets.
const OF_BASH: [&str; 4] = ["OLDPWD", "PWD", "SHLVL", "_"];

fn saw(env: &TestEnvironment, verb: &str) -> Vec<String> {
    let names = env.read(&format!("home/saw-{verb}")).unwrap();
    names.lines().filter(|name| !OF_BASH.contains(name)).map(str::to_owned).collect()
}

#[test]
fn a_hook_gets_the_variables_that_its_settings_name_and_no_other() {
    for (settings, want) in [
        (
            "",
            &[
                "HOME",
                "HOOKBOX_DEPTH",
                "PATH",
                "PLAIN",
                "SECRET",
                "TMPDIR",
                "XDG_CACHE_HOME",
                "XDG_CONFIG_HOME",
                "XDG_DATA_HOME",
            ][..],
        ),
        ("env = []", &["HOOKBOX_DEPTH"]),
        ("env = [\"PLAIN\", \"PATH\", \"NOT_SET\"]", &["HOOKBOX_DEPTH", "PATH", "PLAIN"]),
        ("env = \"PLAIN\"", &["HOOKBOX_DEPTH"]),
    ] {
        let env = with_witness(&format!("[hooks.witness]\n{settings}\n"));
        env.event(&["turn_end"], &json!({"response": "x"}));
        for verb in ["hook", "run"] {
            assert_eq!(saw(&env, verb), want, "{settings} {verb}");
        }
    }
    let env = with_witness("[hooks.witness]\nenv = [\"PLAIN\"]\nsettings = { a = 1 }\n");
    env.event(&["turn_end"], &json!({"response": "x"}));
    assert_eq!(saw(&env, "run"), ["HOOKBOX_DEPTH", "HOOKBOX_SETTINGS", "PLAIN"]);
}

#[test]
fn an_answer_that_was_kept_in_another_environment_is_asked_for_again() {
    let env = TestEnvironment::new().variable("EVENT", "agent_stop");
    env.script("home/.hookbox/hooks/x", "#!/bin/sh\necho ${EVENT:-turn_end}\n");
    let event = |env: &TestEnvironment| env.list(&[])[0]["events"].clone();
    assert_eq!(event(&env), json!(["agent_stop"]));
    env.file("home/.hookbox/hookbox.toml", "[hooks.x]\nenv = []\n");
    assert_eq!(event(&env), json!(["turn_end"]));
    env.file("home/.hookbox/hookbox.toml", "[hooks.x]\nenv = [\"EVENT\"]\n");
    assert_eq!(event(&env), json!(["agent_stop"]));
}

#[test]
fn a_repository_narrows_the_environment_of_its_own_hooks() {
    let env = TestEnvironment::new().variable("SECRET", "s3cret");
    for place in ["repo", "home"] {
        let run = format!("echo \"${{SECRET:-none}}\" > {}", env.path(format!("{place}/secret")).display());
        env.native(&format!("{place}/.hookbox/hooks/{place}-hook"), "turn_end", &run);
    }
    env.file("repo/.hookbox/hookbox.toml", "[hooks.repo-hook]\nenv = []\n[hooks.home-hook]\nenv = []\n");
    env.event(&["turn_end", "--trust", "all"], &json!({"response": "x"}));
    assert_eq!(env.read("repo/secret").as_deref(), Some("none\n"));
    assert_eq!(env.read("home/secret").as_deref(), Some("s3cret\n"));
}

#[test]
fn on_a_component_the_key_is_a_problem() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &crate::environment::sample("guardrail"));
    env.file("home/.hookbox/hookbox.toml", "[hooks.\"guardrail.wasm\"]\nenv = [\"PATH\"]\n");
    let output = env.hookbox(["list", "--json"]);
    assert!(
        output.stderr.contains("hookbox.toml sets env, which has no effect on a component"),
        "{output:#?}"
    );
}
