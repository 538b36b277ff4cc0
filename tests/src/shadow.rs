//! Shadow mode in the program: a guard is tried, and every command shows that it does not guard.

use serde_json::json;

use crate::environment::{TestEnvironment, sample};
use crate::schemas::faults;

const SETTINGS: &str = "home/.hookbox/hookbox.toml";

/// A guard of the user's with this mode.
fn place(mode: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.file(SETTINGS, format!("[hooks.\"guardrail.wasm\"]\nmode = {mode}\n"));
    env
}

fn sudo() -> serde_json::Value {
    json!({"tool_name": "bash", "tool_input": {"command": "sudo ls"}})
}

#[test]
fn a_guard_in_shadow_mode_is_shown_as_one_and_stops_nothing() {
    let env = place("\"observe\"");
    let list = env.list(&[]);
    assert_eq!((&list[0]["mode"], &list[0]["observe"]), (&json!("observe"), &json!(true)), "{list:#?}");
    assert_eq!(faults("list", None, &json!(list)), [""; 0]);
    let table = env.hookbox(["list"]);
    assert!(table.stdout.contains("shadow mode"), "{table:#?}");

    let seen = env.event(&["before_tool_call", "--report"], &sudo());
    assert_eq!(seen["verdict"], json!({"blocked": false}), "{seen:#}");
    assert_eq!(faults("report", None, &seen), [""; 0]);
    let hook = &seen["hooks"][0];
    assert_eq!((&hook["status"], &hook["would"]), (&json!("observed"), &json!("blocked")), "{seen:#}");
    assert_eq!(hook["message"], "Security policy: 'sudo' is not allowed");

    let explained = env.hookbox(["explain", "sudo ls", "--json"]).json();
    assert_eq!(explained["hooks"][0]["report"]["would"], "blocked", "{explained:#}");
    for (line, want) in [
        (
            "sudo ls",
            "In shadow mode: it would have blocked: Security policy: 'sudo' is not allowed. Nothing was acted on.",
        ),
        ("ls", "In shadow mode: it would have let the event pass."),
    ] {
        let text = env.hookbox(["explain", line]).stdout;
        assert!(text.contains(want) && text.starts_with("Passes.\n"), "{text}");
    }
}

#[test]
fn a_mode_that_cannot_be_read_is_a_problem_and_the_guard_guards() {
    for mode in ["\"obzerve\"", "true"] {
        let env = place(mode);
        let listed = env.hookbox(["list", "--json"]);
        assert_eq!(listed.json()[0]["mode"], "enforce", "{mode}");
        assert!(listed.stderr.contains("line 2: mode: expected \"enforce\" or \"observe\""), "{listed:#?}");
        assert_eq!(env.event(&["before_tool_call"], &sudo())["blocked"], true, "{mode}");
    }
}

#[test]
fn a_repository_puts_its_own_hooks_into_shadow_mode_and_none_of_the_users() {
    let env = place("\"enforce\"");
    let theirs = "[hooks.\"guardrail.wasm\"]\nmode = \"observe\"\n";
    env.directory("repo/.git").file("repo/.hookbox/hookbox.toml", theirs);
    assert_eq!(env.event(&["before_tool_call"], &sudo())["blocked_by"], "guardrail.wasm");
    // With a hook of that name, the table is about it, and both run.
    env.copy("repo/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    let seen = env.event(&["before_tool_call", "--report", "--trust", "all"], &sudo());
    assert_eq!(seen["verdict"]["blocked_by"], "guardrail.wasm", "{seen:#}");
    let statuses = [&seen["hooks"][0]["status"], &seen["hooks"][1]["status"]];
    assert_eq!(statuses, ["observed", "blocked"], "{seen:#}");
}

#[test]
fn a_trusted_guard_that_its_repository_puts_into_shadow_mode_is_told() {
    let env = TestEnvironment::new();
    env.directory("repo/.git").copy("repo/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    let trusted = env.hookbox(["trust", "guardrail.wasm", "--yes"]);
    assert_eq!(trusted.code, Some(0), "{trusted:#?}");
    assert_eq!(env.hookbox(["list"]).stderr, "");
    env.file("repo/.hookbox/hookbox.toml", "[hooks.\"guardrail.wasm\"]\nmode = \"observe\"\n");
    let told = env.hookbox(["list"]).stderr;
    assert!(told.contains("was put into shadow mode by its repository since you trusted it"), "{told}");
}
