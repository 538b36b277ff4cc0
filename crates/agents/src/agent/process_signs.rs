//! The signs by which a process knows that an agent runs it: variables that the agents set for their
//! commands, and the programs of the agents.

use super::Agent;

/// A variable of all agents by convention: @vercel/detect-agent.
const ANY_AGENT: &str = "AI_AGENT";

/// An agent that has hookbox built in.
const KODELET: &str = "kodelet";

/// Programs that run a script; several agents are scripts in JavaScript.
const INTERPRETERS: [&str; 4] = ["node", "nodejs", "bun", "deno"];

/// Returns the first variable that only an agent sets, and the agent's title. `is_set` returns true for a
/// variable that is set and not empty.
pub(crate) fn variable(is_set: impl Fn(&str) -> bool) -> Option<(&'static str, &'static str)> {
    variables().find(|(name, _)| is_set(name))
}

fn variables() -> impl Iterator<Item = (&'static str, &'static str)> {
    let specs = Agent::ALL.into_iter().map(Agent::spec);
    let all = specs.flat_map(|spec| spec.process.variables.iter().map(|name| (*name, spec.title)));
    all.chain([(ANY_AGENT, "an agent")])
}

/// Returns the title of the agent that a process is: by the path of its program, by its name in the system,
/// and by its arguments.
pub(crate) fn program(path: &str, name: &str, arguments: &[&str]) -> Option<&'static str> {
    let called = arguments.first().copied().unwrap_or_default();
    let names = [path.trim_end_matches(" (deleted)"), name, called].map(file_name);
    if names.contains(&KODELET) {
        return Some(KODELET);
    }
    let specs = || Agent::ALL.into_iter().map(Agent::spec);
    let is_named =
        |names: &[&str]| specs().find(|it| it.process.processes.iter().any(|it| names.contains(it)));
    if let Some(spec) = is_named(&names) {
        return Some(spec.title);
    }
    if !names.iter().any(|it| INTERPRETERS.contains(it)) {
        return None;
    }
    let script = arguments.iter().skip(1).find(|it| !it.starts_with('-'))?;
    let stem = file_name(script);
    let stem = [".js", ".mjs", ".cjs"].iter().find_map(|it| stem.strip_suffix(it)).unwrap_or(stem);
    let is_in = |package: &&str| script.contains(&format!("/{package}/"));
    let by_package = || specs().find(|it| it.process.packages.iter().any(&is_in));
    is_named(&[stem]).or_else(by_package).map(|it| it.title)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_is_known_by_its_variables_and_no_setting_of_a_user_is_one() {
        for (name, agent) in variables() {
            assert_eq!(variable(|it| it == name), Some((name, agent)));
        }
        for name in ["CODEX_HOME", "CLAUDE_CONFIG_DIR", "CURSOR_TRACE_ID", "AGENT", "GEMINI_API_KEY", ""] {
            assert_eq!(variable(|it| it == name), None, "{name}");
        }
    }

    #[test]
    fn a_process_is_an_agent_by_its_program_or_by_its_script() {
        let modules = "/usr/lib/node_modules";
        for (path, name, arguments, want) in [
            ("/home/u/.local/share/claude/versions/2.1.300", "claude", "claude -c", Some("Claude Code")),
            ("/usr/bin/node", "claude", "claude", Some("Claude Code")),
            ("/opt/codex/codex (deleted)", "codex", "codex exec", Some("Codex")),
            ("/opt/codex-x86_64-unknown-linux-musl", "codex-x86_64-un", "", Some("Codex")),
            ("/usr/bin/node", "MainThread", "node /usr/local/bin/gemini -p x", Some("Gemini CLI")),
            (
                "/usr/bin/node",
                "node",
                "node --no-warnings MODULES/@qwen-code/qwen-code/cli.js",
                Some("Qwen Code"),
            ),
            ("/usr/bin/node", "node", "node MODULES/@github/copilot/index.js", Some("Copilot CLI")),
            ("/home/u/x/node", "node", "/home/u/.local/bin/cursor-agent --x", Some("Cursor")),
            ("", "opencode", "", Some("OpenCode")),
            ("/opt/node_modules/@cline/cli-linux-x64/bin/cline", "cline", "cline -i", Some("Cline")),
            ("/usr/bin/node", "kimi-code", "kimi-code", Some("Kimi Code")),
            ("/usr/bin/node", "node", "node MODULES/@moonshot-ai/kimi-code/dist/main.mjs", Some("Kimi Code")),
            ("/usr/bin/kodelet", "kodelet", "kodelet run", Some("kodelet")),
            ("/bin/bash", "kodelet", "/bin/bash /usr/bin/kodelet", Some("kodelet")),
            ("/usr/share/cursor/cursor", "cursor", "/usr/share/cursor/cursor .", None),
            ("/usr/bin/vim", "vim", "vim MODULES/@openai/codex/codex.js", None),
            ("/usr/bin/node", "node", "node server.js claude", None),
            ("/bin/bash", "bash", "bash", None),
            ("", "", "", None),
        ] {
            let arguments = arguments.replace("MODULES", modules);
            let arguments: Vec<&str> = arguments.split(' ').collect();
            assert_eq!(program(path, name, &arguments), want, "{path} {name} {arguments:?}");
        }
    }
}
