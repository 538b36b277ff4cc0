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

#[test]
fn the_sample_plugin_installs_with_a_skill_a_recipe_and_three_hooks_that_run() {
    let env = TestEnvironment::new();
    let source = assembled().into_os_string().into_string().unwrap();
    let output = done(&env, &["add", &source, "--name", "hookbox/sample", "--yes", "--grant"]);
    assert_eq!(output.stdout, "Installed hookbox/sample:\n  Skills:  1\n  Recipes: 1\n  Hooks:   3\n");
    let row = &done(&env, &["list", "--json"]).json()[0];
    assert_eq!(row["skills"], json!(["reading-the-audit-log"]));
    assert_eq!(row["recipes"], json!(["what-happened"]));
    assert_eq!(row["hooks"], json!(["audit-log.wasm", "no-force-push", "say-so"]));
    let hooks = row["details"]["hooks"].as_array().unwrap();
    let kinds: Vec<_> = hooks.iter().map(|it| (&it["kind"], &it["status"], &it["trusted"])).collect();
    let active = json!(["component", "native", "command"]);
    for (at, (kind, status, trusted)) in kinds.iter().enumerate() {
        assert_eq!((*kind, *status, *trusted), (&active[at], &json!("active"), &json!(true)));
    }

    let call = |line: &str| json!({"tool_name": "bash", "tool_input": {"command": line}});
    for (line, blocked) in [
        ("git push --force", true),
        ("git push -f origin main", true),
        ("git push --force-with-lease", false),
        ("ls", false),
    ] {
        assert_eq!(env.event(&["before_tool_call"], &call(line))["blocked"], blocked, "{line}");
    }
    let told = env.event(&["session_start"], &json!({"source": "startup"}));
    assert!(told["additional_context"][0].as_str().unwrap().contains("audit log"), "{told}");
    let mut after = call("ls");
    after["tool_output"] = json!({"success": true});
    let report = env.event(&["after_tool_call", "--report"], &after);
    assert_eq!(report["hooks"][0]["status"], "observed", "{report:#}");
    assert_eq!(report["hooks"][0]["denied"], Value::Array(vec![]), "{report:#}");
    let recipes =
        hookbox_agent::Recipes::find(&env.path("repo"), Some(&env.path("repo")), None, &[".hookbox"]);
    assert!(recipes.get("hookbox/sample/what-happened").is_some());
}

#[test]
fn the_page_of_the_sample_plugin_names_what_it_holds() {
    let page = std::fs::read_to_string(repository().join("sample-hooks/plugin/README.md")).unwrap();
    for file in [
        "skills/reading-the-audit-log/",
        "recipes/what-happened.md",
        "hooks/no-force-push",
        "hooks/hooks.json",
        "hooks/lib/",
    ] {
        assert!(repository().join("sample-hooks/plugin").join(file).exists(), "{file}");
        assert!(page.contains(&format!("`{file}`")), "{file}");
    }
    assert!(page.contains("**Enforcing**") && page.contains("**Advisory**"));
}
