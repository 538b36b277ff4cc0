//! The command line that an agent runs: how it is written, and how it is known again.

use std::time::Duration;

use crate::dialect::agent::Agent;
use crate::discovery::show_duration;
use crate::text::shell_word;

/// What follows a command that may not fail: a program that is gone or was killed blocks, too. The words on standard
/// error are for Codex, which lets a tool run after an exit code 2 without any.
const STRICT: &str = " || sh -c 'echo hookbox did not answer >&2; exit 2'";

/// The command line for an event. Without a deadline the program's own holds.
pub(super) fn write(
    program: &str,
    agent: Agent,
    event: &str,
    deadline: Option<Duration>,
    is_strict: bool,
) -> String {
    let mut line = format!("{} bridge {agent} --event {event}", shell_word(program));
    if let Some(deadline) = deadline {
        line.push_str(&format!(" --deadline {}", show_duration(deadline)));
    }
    if is_strict {
        line.push_str(STRICT);
    }
    line
}

/// Whether a command line is one that [`write`] writes: a program, `bridge AGENT`, options, and nothing else. A line
/// that does more than that is somebody's own.
pub fn is_ours(agent: Agent, line: &str) -> bool {
    let line = line.trim();
    let Some(words) = words(line.strip_suffix(STRICT).unwrap_or(line)) else { return false };
    let [program, bridge, name, options @ ..] = words.as_slice() else { return false };
    let is_named = program.rsplit('/').next().is_some_and(|name| name.starts_with("hookbox"));
    let event = options.iter().position(|it| it == "--event").and_then(|at| options.get(at + 1));
    let has_event = event.is_some_and(|event| agent.event(event).is_some());
    bridge == "bridge" && name == agent.as_str() && !program.contains('=') && (is_named || has_event)
}

/// Whether a command line runs hookbox for this agent in a way of its own.
pub(super) fn mentions(agent: Agent, line: &str) -> bool {
    line.contains("hookbox") && line.contains(&format!("bridge {agent}"))
}

/// The words of a line that is one plain command for a shell. `None` for anything more: operators, expansions.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' => return None,
                        '\\' => match chars.next()? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            c if "|&;<>()$`\n\r#*?[]{}!".contains(c) => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
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
        ] {
            for agent in Agent::ALL {
                for strict in [false, true] {
                    let event = agent.events()[0].name;
                    let line = write(program, agent, event, Some(Duration::from_millis(1500)), strict);
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
    fn a_line_of_somebody_else_is_not_ours() {
        for line in [
            "",
            "hookbox",
            "hookbox bridge",
            "hookbox list",
            "hookbox bridge gemini --event BeforeTool",
            "hookbox bridge claude | tee log",
            "hookbox bridge claude && rm x",
            "hookbox bridge claude || true",
            "X=1 hookbox bridge claude",
            "guard hookbox bridge claude",
            "$HOME/hookbox bridge claude",
            "other bridge claude",
            "other bridge claude --event Unheard",
            "'hookbox bridge claude",
            "hookbox bridge claude; sh -c 'exit 2'",
        ] {
            assert!(!is_ours(Agent::Claude, line), "{line}");
        }
        assert!(is_ours(Agent::Claude, " hookbox bridge claude "));
        assert!(mentions(Agent::Claude, "X=1 hookbox bridge claude"));
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
            let line = write(path.to_str().unwrap(), Agent::Codex, "PreToolUse", None, true);
            let output = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(output.status.code(), Some(2));
            assert!(String::from_utf8_lossy(&output.stderr).contains("hookbox did not answer"));
        }
    }
}
