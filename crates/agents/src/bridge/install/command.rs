//! The command line that an agent runs: writing it, and recognising it.

use std::time::Duration;

use crate::agent::Agent;
pub(crate) use crate::agent::bridge_command::mentions;
use crate::agent::bridge_command::{STRICT, is_assignment};
pub use crate::agent::is_ours;
use crate::discovery::show_duration;
use crate::text::shell_word;

/// Returns the command line for an event. Without a deadline the program's default holds.
pub(crate) fn write(
    program: &str,
    agent: Agent,
    event: &str,
    home: Option<&str>,
    deadline: Option<Duration>,
    is_strict: bool,
) -> String {
    let mut word = shell_word(program);
    if is_assignment(&word) {
        // Its first part would be taken for the name of a variable.
        word = format!("'{word}'");
    }
    let mut line = format!("{word} bridge {agent} --event {event}");
    if let Some(home) = home {
        line.push_str(&format!(" --home {}", shell_word(home)));
    }
    if let Some(deadline) = deadline {
        line.push_str(&format!(" --deadline {}", show_duration(deadline)));
    }
    if is_strict {
        line.push_str(STRICT);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_known_again_whatever_the_path() {
        for program in [
            "hookbox",
            "/usr/bin/hookbox",
            "/home/ada lovelace/$bin/it's \"here\"/hookbox",
            "/opt/hookbox-2.0/hookbox",
            "/opt/Hooks/hb",
            "/opt/v=1/hookbox",
            "V=1/hookbox",
            "v+=1/my hookbox",
            "1=1/hookbox",
        ] {
            for agent in Agent::ALL {
                for strict in [false, true] {
                    let event = agent.events()[0].name;
                    let deadline = Some(Duration::from_millis(1500));
                    let home = "/home/ada lovelace/it's $HOME";
                    assert!(is_ours(agent, &write(program, agent, event, Some(home), deadline, strict)));
                    let line = write(program, agent, event, None, deadline, strict);
                    assert!(is_ours(agent, &line), "{line}");
                    let other = if agent == Agent::Claude { Agent::Codex } else { Agent::Claude };
                    assert!(!is_ours(other, &line), "{line}");
                    let output = std::process::Command::new("sh")
                        .args([
                            "-c",
                            &format!("set -- {}; printf %s \"$1|$2|$3|$#\"", line.replace(STRICT, "")),
                        ])
                        .output()
                        .unwrap();
                    let want = format!("{program}|bridge|{agent}|7");
                    assert_eq!(String::from_utf8(output.stdout).unwrap(), want);
                }
            }
        }
    }

    #[test]
    fn what_is_strict_exits_2_and_says_so_when_the_program_is_gone_or_killed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hookbox");
        let killed = "#!/bin/sh\nkill -9 $$\n";
        for text in [None, Some(killed), Some("#!/bin/sh\nexit 101\n")] {
            if let Some(text) = text {
                std::fs::write(&path, text).unwrap();
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(&path, mode).unwrap();
            }
            let line = write(path.to_str().unwrap(), Agent::Codex, "PreToolUse", None, None, true);
            let output = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(output.status.code(), Some(2));
            assert!(String::from_utf8_lossy(&output.stderr).contains("hookbox did not answer"));
        }
    }
}
