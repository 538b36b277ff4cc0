//! Stops code that nobody has read: pipes from the net into a shell, unknown registries, and hook files.
//!
//! See the README for what it stops in each preset.

mod net;
mod packages;
mod writes;

use hookbox_judge::{Preset, Step, is_allowed};
use hookbox_sdk::prelude::*;
use hookbox_sdk::shell::Reading;
use hookbox_sdk::state;

/// The hook.
pub struct SupplyChain;

/// The schema of the settings, which hookbox checks before the hook runs.
const SCHEMA: &str = include_str!("../settings.schema.json");

/// The user's settings. A misspelled one is an error, because a guard must not do less than its user asked for.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// The strictness.
    preset: Preset,
    /// Further hosts of packages that are trusted.
    hosts: Vec<String>,
    /// Command lines that pass.
    allow: Vec<String>,
}

/// The reason to stop a line.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// The name of the rule, which stays the same when sentences change.
    rule: &'static str,
    /// The loosest preset that stops it.
    from: Preset,
    /// The danger, in sentences: the deed, and its effect.
    what: &'static str,
    /// The command of the next step; empty if there is none.
    safer: &'static str,
    /// The next step.
    step: Step,
}

impl Settings {
    /// Returns those with which the guard stops whatever it stops with any others.
    fn strictest() -> Self {
        Self { preset: Preset::Strict, ..Self::default() }
    }

    /// Returns the reason to stop a line. `serves` is true if the agent may have started a server on this machine.
    fn objection(&self, line: &str, reading: &Reading, serves: bool) -> Option<Finding> {
        if is_allowed(&self.allow, line) {
            return None;
        }
        let mut found = net::judge(reading, serves).into_iter();
        let each = reading.runs.iter().flat_map(|run| {
            [packages::judge(run, &self.hosts), writes::judge(reading, run)].into_iter().flatten()
        });
        let exported = packages::exported(reading, &self.hosts);
        found.by_ref().chain(exported).chain(each).find(|it| self.stops(it))
    }

    fn stops(&self, finding: &Finding) -> bool {
        self.preset >= finding.from
    }
}

/// The lines that the guard sees: those with a download, a URL, a switch or variable of a package manager, or a file that
/// other programs run. A test asks it about the others.
const SHELL: &str = "kind:shell naming *curl* *wget* gh fetch http https xh aria2c lwp-download lynx nc ncat socat dig ftp \
    openssl --remote* */dev/fd* */dev/tcp* *$(* *`* *<(* *://* *github:* *unauthenticated* *gpg* *trusted* *--force-yes* \
    *strict-ssl* *insecure* *--dangerous* *disable-tls* --registry *scripts.* *index_url* *default_index* \
    *npm_config_registry* *goproxy* *gosumdb* *gonosum* *goflags* *node_tls* *pythonhttpsverify* *git_ssl* apt-key \
    *hookspath* *fsmonitor* *sshcommand* *sslverify* *protocol.ext* *core.editor* *ext::* crontab *.git/hooks* *.husky* \
    *authorized_keys* *http.server* *httpserver* *serve* uvicorn gunicorn flask port-forward dev start -p -L* -fNL* httpd -S -run *httpd caddy miniserve *etc/apt* *.github* *.circleci* *.buildkite* *gitlab-ci* *jenkinsfile* *azure-pipelines*";

impl Hook for SupplyChain {
    fn manifest() -> Manifest {
        // A tool that is not known may be a shell by another name.
        let tools = [SHELL, "kind:mcp", "kind:other", "kind:write", "kind:edit"];
        Manifest::new("supply-chain", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on_tools(Event::BeforeToolCall, tools)
            // Late, so that it judges what other hooks have made of the call.
            .priority(90)
            .capability(Capability::Store)
            .on_failure_block()
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        // The files of a line are judged with the commands that write them.
        let files = if call.command.is_some() { Vec::new() } else { cx.facts_of(call).files };
        let written = files.iter().find_map(writes::of_file);
        let lines: Vec<_> =
            cx.lines_of(call).into_iter().map(|it| (cx.read_line_of(call, &it), it)).collect();
        let strictest = Settings::strictest();
        // Most calls pass the strictest settings, and need no others.
        if written.is_none()
            && lines.iter().all(|(reading, line)| strictest.objection(line, reading, true).is_none())
        {
            if lines.iter().any(|(reading, _)| net::serves(reading)) {
                remember(cx);
            }
            return Ok(Answer::pass());
        }
        let settings: Settings = settings()?;
        let found = written.filter(|it| settings.stops(it));
        let any = |serves| lines.iter().find_map(|(reading, line)| settings.objection(line, reading, serves));
        // Only code of a server on this machine needs the store. Without it, only a server of the same line is known.
        let is_own = || servers().is_ok_and(|it| it.contains(&cx.conversation_id));
        let found = found.or_else(|| any(false)).or_else(|| any(true).filter(|_| is_own()));
        Ok(found.map_or_else(Answer::pass, |Finding { rule, what, safer, step, .. }| {
            step.block(what, safer).metadata("rule", rule)
        }))
    }
}

/// The number of sessions with a server that are remembered; the oldest go first.
const MAX_SESSIONS: usize = 32;

/// Returns the sessions in which the agent has started a server.
fn servers() -> Result<Vec<String>, Error> {
    state::load("servers", 1)
}

/// Remembers that the agent of this session has started a server. A session without an id is not told from others.
fn remember(cx: &Context) {
    let Some(mut all) = servers().ok().filter(|_| !cx.conversation_id.is_empty()) else { return };
    all.retain(|it| *it != cx.conversation_id);
    all.push(cx.conversation_id.clone());
    let surplus = all.len().saturating_sub(MAX_SESSIONS);
    all.drain(..surplus);
    // A store that cannot be written is mostly one that cannot be read.
    let _ = state::save("servers", 1, &all);
}

hookbox_sdk::export_hook!(SupplyChain, settings: SCHEMA);

#[cfg(test)]
mod tests;
