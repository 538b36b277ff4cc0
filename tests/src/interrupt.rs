//! Programs that are asked to end by a signal.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::environment::{TestEnvironment, program};
use crate::mcp::{lives, wait_until};

#[test]
fn a_program_that_is_asked_to_end_leaves_neither_a_hook_nor_a_server_behind() {
    for (signal, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let env = TestEnvironment::new();
        let hang = r#"echo $$ > "$HOME/hook"; sleep 1000"#;
        env.native("home/.hookbox/hooks/hangs", "before_tool_call", hang);
        env.script("home/server", "#!/bin/bash\necho $$ > \"$HOME/server.pid\"\nsleep 1000\n");
        let mcp = json!({
            "mcpServers": {"silent": {"command": "./server"}},
            "hooks": {"PreToolUse": [{"tool": "silent.load", "priority": 1, "timeout": 0.2}]},
        });
        env.file("home/.hookbox/mcp.json", mcp.to_string());
        let mut host = env.command(program());
        let mut host = host.args(["run", "before_tool_call"]).stdin(Stdio::piped()).spawn().unwrap();
        host.stdin
            .take()
            .unwrap()
            .write_all(br#"{"tool_name":"bash","tool_input":{"command":"ls"}}"#)
            .unwrap();
        let pid = |name: &str| env.read(&format!("home/{name}")).filter(|it| it.ends_with('\n'));
        wait_until("the hook runs", || pid("hook").is_some() && pid("server.pid").is_some());
        let asked =
            Command::new("kill").args([format!("-{signal}"), host.id().to_string()]).status().unwrap();
        assert!(asked.success());
        assert_eq!(host.wait().unwrap().code(), Some(code), "{signal}");
        for name in ["hook", "server.pid"] {
            let pid = pid(name).unwrap();
            wait_until("what it started has ended", || !lives(pid.trim()));
        }
    }
}
