//! The plugins for OpenCode and Cline, by their own tests: in node, with a stub of the program and with the real one.

use std::process::Command;

use crate::environment::{program, repository, sample};

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|it| !it.is_empty() && it != "0" && it != "false")
}

/// Returns true if there is a node that can run them.
fn has_node() -> bool {
    let version = Command::new("node").arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let major = version.ok().and_then(|it| it.trim().strip_prefix('v')?.split('.').next()?.parse().ok());
    major.is_some_and(|major: u32| major >= 18)
}

#[test]
fn a_plugin_does_what_the_program_says_and_blocks_where_it_says_nothing() {
    if !has_node() {
        let required = is_set("CI") || is_set("HOOKBOX_REQUIRE_NODE");
        assert!(!required, "node 18 or later is not installed; hint: apt-get install nodejs");
        println!("skipped: the tests of the plugins need node 18 or later");
        return;
    }
    for agent in ["opencode", "cline"] {
        let plugin = repository().join("crates/agents/assets").join(agent);
        let output = Command::new("node")
            .current_dir(&plugin)
            .args(["--test", "hookbox.test.js"])
            .env("HOOKBOX_PROGRAM", program())
            .env("HOOKBOX_GUARD", sample("guardrail"))
            .env_remove("NODE_OPTIONS")
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{out}\n{err}");
        assert!(!out.contains("# SKIP"), "{out}");
    }
}
