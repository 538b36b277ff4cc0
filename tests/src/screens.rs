//! Texts for a person fit the terminal.

use serde_json::json;

use crate::environment::{Output, TestEnvironment};

const RULES: &str = "[[rule]]\ncommand = \"git push\"\nanswer = \"block\"\nreason = \"A push from this machine \
     reaches everybody at once, and nobody can take it back afterwards: ask a colleague who knows the branch.\"\n";

/// Every line fits, but for a path or another word that is longer than the line.
#[track_caller]
fn fits(args: &[&str], output: &Output) {
    for line in output.stdout.lines() {
        let line = line.trim_end();
        let last = line.rsplit(' ').next().unwrap_or_default().chars().count();
        assert!(line.chars().count() <= 80 || last > 40, "{args:?}: {line:?} in {}", output.stdout);
    }
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let env = TestEnvironment::new();
    env.directory("repo/.git").directory("home/.claude");
    env.file("home/.hookbox/hookbox.toml", "[journal]\nenabled = true\n");
    env.file("home/.hookbox/hooks/push.rules.toml", RULES);
    let call = json!({"tool_name": "bash", "tool_input": {"command": "git push && echo pushed it all to the \
        remote branch of the others who work on this, too"}});
    assert_eq!(env.event(&["before_tool_call"], &call)["blocked"], true);
    let code = env.hookbox(["allow", "--json"]).json()[0]["code"].as_str().unwrap().to_owned();
    let id = env.hookbox(["log", "--json"]).stdout;
    let id = id.split("\"id\":\"").nth(1).unwrap()[..10].to_owned();
    let rules = "../home/.hookbox/hooks/push.rules.toml";
    let commands: [(&[&str], &str); 12] = [
        (&["explain", "git push"], "colleague"),
        (&["explain", "git push", "--verbose"], "limits"),
        (&["inspect", rules], "colleague"),
        (&["allow", &code], "colleague"),
        (&["log", "show", &id], "colleague"),
        (&["guard", "add", "--all"], "is granted"),
        (&["setup", "--agent", "claude"], "is granted"),
        (&["install", "claude", "--guards", "none"], "events"),
        (&["doctor", "claude"], "guard"),
        (&["install", "claude", "--event", "PreTool"], "did you mean"),
        (&["trust", "nothing-of-this-name-is-here"], "error"),
        (&["run", "before_tool"], "error"),
    ];
    for (args, want) in commands {
        let output = env.run(&mut env.on_a_terminal_after("stty cols 80", args), "n\n");
        assert!(output.stdout.contains(want), "{args:?}: {output:#?}");
        fits(args, &output);
    }
    // A pipe has any width.
    let piped = env.hookbox(["explain", "git push"]).stdout;
    assert!(piped.lines().next().unwrap().ends_with("the branch."), "{piped}");
}
