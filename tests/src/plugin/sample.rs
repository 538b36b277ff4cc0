//! The sample plugin: what its page says holds.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::done;
use crate::environment::{TestEnvironment, repository, sample};

/// The plugin that `cargo hooks` puts together.
fn assembled() -> PathBuf {
    let component = sample("audit-log");
    let plugin = component.parent().and_then(std::path::Path::parent).unwrap().join("plugin");
    assert!(
        plugin.join("hooks/audit-log.wasm").is_file(),
        "`cargo hooks` does not build {}",
        plugin.display()
    );
    plugin
}

/// Installs the plugin in a repository, with trust and grants.
fn install(env: &TestEnvironment) -> String {
    let source = assembled().into_os_string().into_string().unwrap();
    done(env, &["add", &source, "--name", "hookbox/sample", "--yes", "--grant"]).stdout
}

/// Returns the log of a component of the plugin.
fn log(env: &TestEnvironment) -> Vec<Value> {
    let file = crate::samples_with_rights::find(&env.path("home/.local/share"), "audit.jsonl");
    let text = file.first().map(|file| std::fs::read_to_string(file).unwrap()).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn the_sample_plugin_has_a_hook_for_every_call_and_two_for_one_recipe_each() {
    let env = TestEnvironment::new();
    assert_eq!(install(&env), "Installed hookbox/sample:\n  Skills:  1\n  Recipes: 2\n  Hooks:   3\n");
    let row = &done(&env, &["list", "--json"]).json()[0];
    assert_eq!(row["skills"], json!(["reading-the-audit-log"]));
    assert_eq!(row["recipes"], json!(["code-review", "deploy"]));
    assert_eq!(row["hooks"], json!(["audit-log.wasm", "deploy-notifier", "review-validator"]));
    let hooks = row["details"]["hooks"].as_array().unwrap();
    let kinds: Vec<_> = hooks.iter().map(|it| (&it["kind"], &it["status"], &it["trusted"])).collect();
    for (kind, found) in ["component", "native", "native"].iter().zip(kinds) {
        assert_eq!(found, (&json!(kind), &json!("active"), &json!(true)));
    }

    let review = [Some("code-review"), Some("hookbox/sample/code-review")];
    let other = [Some(""), Some("deploy"), Some("not-code-review"), Some("code-review/other"), None];
    let script = env.path("repo/.hookbox/plugins/hookbox@sample/hooks/review-validator");
    for (recipe, is_review) in review.map(|it| (it, true)).into_iter().chain(other.map(|it| (it, false))) {
        for (tool, input, refused) in [
            ("write_file", json!({"path": "a", "content": "\"recipe_name\":\"code-review\""}), true),
            ("Edit", json!({"file_path": "a", "recipe_name": "code-review"}), true),
            ("bash", json!({"command": "cd x && git -C y commit -m z"}), true),
            ("bash", json!({"command": "git diff | cat"}), false),
            ("read_file", json!({"path": "a"}), false),
            ("bash", Value::Null, false),
        ] {
            let event = json!({"tool_name": tool, "tool_input": input, "recipe_name": recipe});
            let answer = env.run(env.command(&script).arg("run"), event.to_string()).json();
            assert_eq!(answer["blocked"], refused && is_review, "{event}: {answer}");
        }
    }
    for (recipe, blocked) in [(review[0], true), (review[1], true), (other[1], false), (None, false)] {
        let call = json!({"tool_name": "Edit", "tool_input": {}, "tool_output": {}, "recipe_name": recipe});
        assert_eq!(env.event(&["before_tool_call"], &call)["blocked"], blocked, "{call}");
        let report = env.event(&["after_tool_call", "--report"], &call);
        assert_eq!(report["hooks"][0]["status"], "observed", "{report:#}");
        assert_eq!(report["hooks"][0]["denied"], json!([]), "{report:#}");
    }
    assert_eq!(log(&env).len(), 4, "every call is logged, with any recipe and without one");
}

#[test]
fn the_sample_plugin_tells_of_deployments_and_of_nothing_else() {
    // The address is no argument of curl, which other users could read.
    let env = TestEnvironment::new().variable("DEPLOY_WEBHOOK_URL", "https://ops.example/secret");
    env.script("bin/curl", "#!/bin/sh\necho \"$@\" > args\ncat > config\n");
    install(&env);
    let words = r#"","recipe_name":"deploy","x":""#;
    for (recipe, response) in [(None, words), (Some("code-review"), words), (Some("deploys"), "")] {
        let event = json!({"conv_id": words, "response": response, "recipe_name": recipe});
        env.event(&["turn_end"], &event);
        assert_eq!(env.read("home/.kodelet/deploys.log"), None, "{event}");
    }
    for recipe in ["deploy", "hookbox/sample/deploy"] {
        env.event(&["turn_end"], &json!({"conv_id": "42", "response": "done", "recipe_name": recipe}));
    }
    let log = env.read("home/.kodelet/deploys.log").unwrap();
    let lines: Vec<&str> = log.lines().filter_map(|line| line.split_once(' ')).map(|it| it.1).collect();
    assert_eq!(lines, ["deploy: a turn of conversation 42 is over"; 2], "{log}");
    let args = env.read("repo/args").unwrap();
    assert!(args.contains(lines[0]) && !args.contains("secret"), "{args}");
    assert_eq!(env.read("repo/config").unwrap(), "url = \"https://ops.example/secret\"\n");
}

#[test]
fn the_page_of_the_sample_plugin_names_what_it_holds() {
    let page = std::fs::read_to_string(repository().join("sample-hooks/plugin/README.md")).unwrap();
    for file in [
        "skills/reading-the-audit-log/",
        "recipes/code-review.md",
        "recipes/deploy.md",
        "hooks/review-validator",
        "hooks/deploy-notifier",
    ] {
        assert!(repository().join("sample-hooks/plugin").join(file).exists(), "{file}");
        assert!(page.contains(&format!("`{file}`")), "{file}");
    }
    assert!(page.contains("**Enforcing**") && page.contains("**Advisory**"));
}
