//! The plugins for OpenCode, Cline, Pi and Amp, by their own tests: in node, with a stub of the program and with the real one.

use std::process::Command;

use crate::environment::{program, repository, sample};

#[test]
#[ignore = "needs node: run `cargo xtask test-all`"]
fn a_plugin_does_what_the_program_says_and_blocks_where_it_says_nothing() {
    for agent in ["opencode", "cline", "pi", "amp"] {
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
