//! The signs by which a process knows that an agent runs it: variables that the agents set for their commands, and the
//! processes above this one, on Linux by `/proc`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use hookbox_system::limits;

/// The largest number of processes that are read, upwards.
const MOST: usize = 256;

/// A process. Its start distinguishes it from a later one with the same number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    pub(super) id: u32,
    /// The time of its start, in the system's ticks.
    start: u64,
    /// The namespace of the number.
    namespace: PathBuf,
}

/// A process above this one that is an agent.
#[derive(Debug)]
pub(super) struct Parent {
    pub(super) process: Process,
    /// The agent's name in a sentence.
    pub(super) agent: &'static str,
}

/// The parts of `/proc/ID/stat`.
struct Stat {
    name: String,
    parent: u32,
    start: u64,
}

impl Process {
    /// Returns true if it lives. `None` if it is in another namespace.
    pub(super) fn is_alive(&self) -> Option<bool> {
        (namespace()? == self.namespace)
            .then(|| stat(&self.id.to_string()).is_some_and(|it| it.start == self.start))
    }

    /// Returns the environment that it was started with; `None` if it cannot be read.
    pub(super) fn environment(&self) -> Option<BTreeMap<OsString, OsString>> {
        let bytes = read(&self.at("environ"), limits::FILE)?;
        let pairs = bytes.split(|byte| *byte == 0).filter_map(|pair| {
            let end = pair.iter().position(|byte| *byte == b'=')?;
            let (name, value) = pair.split_at_checked(end)?;
            Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.get(1..)?.to_vec())))
        });
        Some(pairs.collect())
    }

    /// Returns its working directory.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        fs::read_link(self.at("cwd")).ok()
    }

    fn at(&self, file: &str) -> PathBuf {
        Path::new("/proc").join(self.id.to_string()).join(file)
    }
}

/// Returns the agents above this process, the nearest first.
pub(super) fn agents() -> Vec<Parent> {
    agents_from(std::os::unix::process::parent_id())
}

/// Returns the agents among a process and those above it, the nearest first.
pub(super) fn agents_from(mut id: u32) -> Vec<Parent> {
    let Some(namespace) = namespace() else { return Vec::new() };
    let mut found = Vec::new();
    for _ in 0..MOST {
        let Some(stat) = stat(&id.to_string()) else { break };
        let process = Process { id, start: stat.start, namespace: namespace.clone() };
        found.extend(agent(&process, &stat.name).map(|agent| Parent { process, agent }));
        if stat.parent == 0 {
            break;
        }
        id = stat.parent;
    }
    found
}

/// Returns the title of the agent that a process is.
fn agent(process: &Process, name: &str) -> Option<&'static str> {
    let path = fs::read_link(process.at("exe")).unwrap_or_default();
    let arguments = read(&process.at("cmdline"), limits::FILE).unwrap_or_default();
    let arguments = String::from_utf8_lossy(&arguments);
    let arguments: Vec<&str> = arguments.split('\0').collect();
    program(&path.to_string_lossy(), name, &arguments)
}

/// Returns the namespace of the numbers of processes.
fn namespace() -> Option<PathBuf> {
    fs::read_link("/proc/self/ns/pid").ok()
}

fn stat(id: &str) -> Option<Stat> {
    let text = read(&Path::new("/proc").join(id).join("stat"), 4096)?;
    parse(&String::from_utf8_lossy(&text))
}

/// Parses a line of `stat`. The name is in parentheses, and may contain some.
fn parse(stat: &str) -> Option<Stat> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let mut fields = after.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some(Stat { name: name.to_owned(), parent, start })
}

fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

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
    fn the_line_of_a_process_is_read_whatever_it_is_called() {
        let rest = "S 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1 2";
        for name in ["claude", "a) S 9 (b", "", "a b"] {
            let stat = parse(&format!("12 ({name}) {rest}")).unwrap();
            assert_eq!((stat.name.as_str(), stat.parent, stat.start), (name, 7, 4242));
        }
        for text in ["", "12 (x", "12 (x) S", "12 (x) S y", "x"] {
            assert!(parse(text).is_none(), "{text}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_lives_until_it_ends() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let start = stat(&child.id().to_string()).unwrap().start;
        let process = Process { id: child.id(), start, namespace: namespace().unwrap() };
        assert_eq!(process.is_alive(), Some(true));
        assert_eq!(Process { start: start + 1, ..process.clone() }.is_alive(), Some(false));
        assert_eq!(Process { namespace: "pid:[1]".into(), ..process.clone() }.is_alive(), None);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(process.is_alive(), Some(false));
    }

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
            ("/usr/bin/node", "pi", "pi -p x", Some("Pi")),
            ("/usr/bin/node", "node", "node MODULES/@mariozechner/pi-coding-agent/dist/cli.js", Some("Pi")),
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
