//! Blocks git commands that lose changes, commits, stashes or branches.
//!
//! It judges the commands that a line would really run; see the README.

mod judge;
mod refs;
mod state;

use hookbox_judge::{Told, answer_lines};
use hookbox_sdk::prelude::*;
use hookbox_shell::{FileUse, quoted};

pub use judge::rule;

/// The hook.
pub struct Guard;

/// The schema of the settings, which hookbox checks before the hook runs.
const SCHEMA: &str = include_str!("../settings.schema.json");

/// The lines that the guard sees: those with a program of version control, or a file of git's. A test asks it about the
/// others.
const SHELL: &str = "kind:shell naming git gh hub glab *bfg* hg sl jj svn .git *.git/*";

impl Hook for Guard {
    fn manifest() -> Manifest {
        // A tool that is not known may be a shell by another name.
        let tools = [SHELL, "kind:mcp", "kind:other", "kind:write", "kind:edit"];
        Manifest::new("git", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on_tools(Event::BeforeToolCall, tools)
            // Late, so that it judges what other hooks have made of the call.
            .priority(90)
            .capability(Capability::WorkTree)
            .on_failure_block()
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let mut lines = cx.lines_of(call);
        if call.command.is_none() {
            let files = cx.facts_of(call).files.into_iter().filter(|it| it.usage == FileUse::Writes);
            lines.extend(files.map(|it| format!("tee -a {}", quoted(&it.path))));
        }
        answer_lines(cx, call, lines, rule, &Told)
    }
}

hookbox_sdk::export_hook!(Guard, settings: SCHEMA);

#[cfg(test)]
mod test_state;
#[cfg(test)]
mod tests;
