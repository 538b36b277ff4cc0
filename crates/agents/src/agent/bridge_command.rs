//! The command line by which an agent calls hookbox, and its recognition. Nothing here does I/O.

use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;

use hookbox_shell::{Arg, Known, Token, assignment, base_name, runs, tokens};

use super::Agent;
use crate::text::shell_word;
use hookbox_system::units::{parse_duration, show_duration};

/// The end of a line that must not fail: a program that is missing or killed blocks as well. The words on
/// standard error are for Codex, which lets a tool run after an exit code 2 without any.
pub(crate) const STRICT: &str = " || sh -c 'echo hookbox did not answer >&2; exit 2'";

/// Returns the command line for an event. Without a deadline the program's default holds.
pub(crate) fn write(
    program: &str,
    agent: Agent,
    event: &str,
    home: Option<&str>,
    from: &[Agent],
    deadline: Option<Duration>,
    is_strict: bool,
) -> String {
    let mut word = shell_word(program);
    if assignment(&word).is_some() {
        // Its first part would be taken for the name of a variable.
        word = format!("'{word}'");
    }
    let mut line = format!("{word} bridge {agent} --event {event}");
    if let Some(home) = home {
        line.push_str(&format!(" --home {}", shell_word(home)));
    }
    for agent in from {
        line.push_str(&format!(" --from {agent}"));
    }
    if let Some(deadline) = deadline {
        line.push_str(&format!(" --deadline {}", show_duration(deadline)));
    }
    if is_strict {
        line.push_str(" --strict");
        line.push_str(STRICT);
    }
    line
}

/// A call of `hookbox bridge` in a command line, which may do more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call<'l> {
    /// The words before `bridge`, which start the program.
    pub(crate) program: &'l str,
    /// The agent that it names.
    pub(crate) agent: Agent,
    /// The words after the agent.
    rest: &'l str,
}

impl<'l> Call<'l> {
    /// Finds the last call in a line.
    pub(crate) fn of(line: &'l str) -> Option<Self> {
        static CALL: LazyLock<Option<Regex>> = LazyLock::new(|| {
            let agents = Agent::ALL.map(Agent::as_str).join("|");
            Regex::new(&format!(r#"(?s)^(.*\S)\s+["']?bridge["']?\s+["']?({agents})\b["']?(.*)$"#)).ok()
        });
        let found = CALL.as_ref()?.captures(line)?;
        let part = |at: usize| found.get(at).map_or("", |it| it.as_str());
        Some(Self { program: part(1), agent: part(2).parse().ok()?, rest: part(3) })
    }

    /// Returns the value of an option such as `--deadline`, without quotes.
    pub(crate) fn option(&self, name: &str) -> Option<&'l str> {
        let mut words = self.rest.split_whitespace();
        let value = loop {
            match words.next()?.strip_prefix(name) {
                Some("") => break words.next()?,
                Some(rest) if rest.starts_with('=') => break rest.trim_start_matches('='),
                _ => {}
            }
        };
        Some(value.trim_matches(['"', '\'', ';']))
    }
}

/// Returns true if a command line runs hookbox for this agent, whoever wrote it.
pub(crate) fn mentions(agent: &str, line: &str) -> bool {
    Call::of(line).is_some_and(|it| it.agent.as_str() == agent && it.program.contains("hookbox"))
}

/// A command line that any version of `hookbox install` writes: a program, `bridge AGENT` and options. A line that does more
/// is its user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installed {
    pub(crate) agent: Agent,
    pub(crate) program: String,
    pub(crate) home: Option<String>,
    pub(crate) from: Vec<Agent>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) is_strict: bool,
}

impl Installed {
    /// Reads a line.
    pub(crate) fn of(line: &str) -> Option<Self> {
        let line = line.trim();
        let without = line.strip_suffix(STRICT);
        let words = bridge_words(without.unwrap_or(line))?;
        let [program, _, name, options @ ..] = words.as_slice() else { return None };
        let agent = Agent::ALL.into_iter().find(|it| it.as_str() == name)?;
        let mut found = Self {
            agent,
            program: program.clone(),
            home: None,
            from: Vec::new(),
            deadline: None,
            is_strict: without.is_some(),
        };
        let options: Vec<&String> = options.iter().filter(|it| *it != "--strict").collect();
        let mut is_named = base_name(program).starts_with("hookbox");
        for option in options.chunks(2) {
            let [option, value] = option else { return None };
            match option.as_str() {
                "--event" => is_named |= agent.event(value).is_some(),
                "--from" => found.from.push(value.parse().ok()?),
                "--deadline" => found.deadline = parse_duration(value).ok(),
                "--home" => found.home = Some((*value).clone()),
                _ => return None,
            }
        }
        is_named.then_some(found)
    }
}

/// Returns the agent of a command line that any version of `hookbox install` writes.
pub(crate) fn installed_for(line: &str) -> Option<Agent> {
    Installed::of(line).map(|it| it.agent)
}

/// Returns true for a command line that any version of `hookbox install` writes for this agent.
pub fn is_ours(agent: Agent, line: &str) -> bool {
    installed_for(line) == Some(agent)
}

/// Returns the words of a line that is one plain command for a shell. `None` if it has operators or
/// expansions, or if the second word is another than `bridge`.
fn bridge_words(line: &str) -> Option<Vec<String>> {
    let word = |token| if let Token::Word(word) = token { Some(word) } else { None };
    let words: Vec<String> = tokens(line)?.into_iter().map(word).collect::<Option<_>>()?;
    let reading = words.get(1).filter(|it| *it == "bridge").map(|_| runs(line, &Known::default()))?;
    let [run] = reading.runs.as_slice() else { return None };
    (run.words.iter().all(Arg::is_plain) && run.texts() == words).then_some(words)
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
                    let other = if agent == Agent::Claude { Agent::Codex } else { Agent::Claude };
                    let long = write(program, agent, event, Some(home), &[other, agent], deadline, strict);
                    let installed = Installed::of(&long).unwrap();
                    let want = Installed {
                        agent,
                        program: program.to_owned(),
                        home: Some(home.to_owned()),
                        from: vec![other, agent],
                        deadline,
                        is_strict: strict,
                    };
                    assert_eq!(installed, want, "{long}");
                    let line = write(program, agent, event, None, &[], deadline, strict);
                    assert!(is_ours(agent, &line), "{line}");
                    assert!(!is_ours(other, &line), "{line}");
                    let output = std::process::Command::new("sh")
                        .args([
                            "-c",
                            &format!("set -- {}; printf %s \"$1|$2|$3|$#\"", line.replace(STRICT, "")),
                        ])
                        .output()
                        .unwrap();
                    let want = format!("{program}|bridge|{agent}|{}", if strict { 8 } else { 7 });
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
            let line = write(path.to_str().unwrap(), Agent::Codex, "PreToolUse", None, &[], None, true);
            let output = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(output.status.code(), Some(2));
            assert!(String::from_utf8_lossy(&output.stderr).contains("hookbox did not answer"));
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
            "X+=1 hookbox bridge claude",
            "hookbox bridge claude --event Stop --trust all",
            "hookbox bridge claude --cwd /srv/shop --event Stop",
            "hookbox bridge claude --event",
            "hookbox bridge claude --home $HOME",
            "hookbox bridge claude --from nobody",
            "hookbox bridge claude Stop",
            "guard hookbox bridge claude",
            "$HOME/hookbox bridge claude",
            "other bridge claude",
            "other bridge claude --event Unheard",
            "'hookbox bridge claude",
            "hookbox bridge claude; sh -c 'exit 2'",
            "hookbox bridge claude &",
            "hookbox bridge claude >log",
            "hookbox bridge claude 2>&1",
            "(hookbox bridge claude)",
            "! hookbox bridge claude",
            "sudo hookbox bridge claude",
            "hookbox bridge claude --home *",
            "hookbox bridge {claude,codex}",
            "hookbox bridge claude --home `id`",
            "hookbox bridge claude\nid",
        ] {
            assert!(!is_ours(Agent::Claude, line), "{line}");
        }
        for line in [
            " hookbox bridge claude ",
            "hookbox bridge claude # mine",
            "'hookbox' \"bridge\" 'claude' --event Stop",
            "hookbox bridge claude --event Stop --home '/home/ada lovelace' --from codex --deadline 15s",
        ] {
            assert!(is_ours(Agent::Claude, line) && mentions("claude", line), "{line}");
        }
        assert!(is_ours(Agent::Claude, &format!("hookbox bridge claude{STRICT}")));
    }

    #[test]
    fn a_call_is_known_in_any_line() {
        for (line, want) in [
            ("hookbox bridge claude", Some(("hookbox", "claude", None))),
            (
                "'/opt/my tools/hookbox' bridge codex --deadline 10s",
                Some(("'/opt/my tools/hookbox'", "codex", Some("10s"))),
            ),
            (
                "cd /x && FOO=1 hookbox  bridge \"qwen\" --event X --deadline=2m; exit 0",
                Some(("cd /x && FOO=1 hookbox", "qwen", Some("2m"))),
            ),
            ("hookbox bridge copilot --deadline 'soon'", Some(("hookbox", "copilot", Some("soon")))),
            ("hookbox bridge opencode --deadlines 1", Some(("hookbox", "opencode", None))),
            ("hookbox run before_tool_call", None),
            ("bridge claude", None),
            ("hookbox bridge claudette", None),
            ("echo hookbox-bridge claude", None),
        ] {
            let call = Call::of(line);
            let found = call.as_ref().map(|it| (it.program, it.agent.as_str(), it.option("--deadline")));
            assert_eq!(found, want, "{line}");
        }
        assert!(mentions("claude", "X=1 hookbox bridge claude"));
        assert!(!mentions("claude", "hookbox bridge codex") && !mentions("claude", "x bridge claude"));
    }

    #[test]
    fn what_serves_an_agent_and_does_nothing_else_is_hookboxs_own() {
        for (line, want) in [
            ("hookbox bridge claude", true),
            ("/usr/local/bin/hookbox bridge codex --event PreToolUse", true),
            ("'/home/a b/bin/hookbox' bridge gemini", true),
            ("/opt/hb bridge claude --event PreToolUse --deadline 20s", true),
            ("./guard.sh && hookbox bridge claude", false),
            ("hookbox bridge claude; ./guard.sh", false),
            ("hookbox bridge claude || exit 2", false),
            ("./guard.sh | hookbox bridge claude", false),
            ("echo 'see hookbox bridge docs' >&2; exit 2", false),
            ("$(./guard.sh) hookbox bridge claude", false),
            ("HOOKBOX_LOG=debug hookbox bridge claude", false),
            ("exec \"$HOME/bin/hookbox\" bridge cursor", false),
            ("./guard.sh hookbox bridge claude", false),
            ("hookbox run PreToolUse", false),
            ("my-hookbox bridge claude", false),
            ("python3 guard.py", false),
            ("", false),
        ] {
            assert_eq!(installed_for(line).is_some(), want, "{line}");
        }
    }
}
