//! Blocks git commands that lose changes, commits, stashes or branches.
//!
//! It judges the commands that a line would really run; see the README.

mod judge;
mod refs;
mod state;

use hookbox_judge::{BUILDERS, READERS, Told, answer, shell_except};
use hookbox_sdk::prelude::*;

pub use judge::rule;

/// The hook.
pub struct Guard;

/// The schema of the settings, which hookbox checks before the hook runs.
const SCHEMA: &str = include_str!("../settings.schema.json");

/// Further programs that are no version control, and start none without a command of its own in the line.
const OTHERS: &str = "awk chmod cp curl docker find kubectl ln mkdir mv node npx python python3 rm sed tar tee touch unzip \
    wget";

impl Hook for Guard {
    fn manifest() -> Manifest {
        let shell = shell_except(&[READERS, BUILDERS, OTHERS]);
        // A tool that is not known may be a shell by another name.
        let tools = [shell.as_str(), "kind:mcp", "kind:other"];
        Manifest::new("git", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on_tools(Event::BeforeToolCall, tools)
            // Late, so that it judges what other hooks have made of the call.
            .priority(90)
            .capability(Capability::WorkTree)
            .on_failure_block()
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        answer(cx, call, rule, &Told)
    }
}

hookbox_sdk::export_hook!(Guard, settings: SCHEMA);

#[cfg(test)]
mod test_state;
#[cfg(test)]
mod tests;
