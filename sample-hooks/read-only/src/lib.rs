//! Allows calls that only read: shell lines of known commands, and tools that read or search in the working directory.
//!
//! It answers `allow` or passes. It never blocks, so a mistake here costs a question and nothing else, or spares one that
//! should have been asked. In doubt it passes.

mod git;
mod line;
mod options;
mod paths;
mod programs;
mod text;

use hookbox_sdk::prelude::*;
use hookbox_shell::is_in;

/// The hook.
pub struct ReadOnly;

/// The fields of a shell tool's input that change neither its program nor its rights.
const FIELDS: &str = "command cmd description timeout timeout_ms yield_time_ms max_output_tokens \
    run_in_background is_background block_until_ms";

/// The fields with the directory of a shell tool.
const DIRECTORIES: &str = "workdir cwd directory";

/// Returns the reason to allow a line that would run in this directory.
pub fn reason_for_line(cx: &Context, line: &str) -> Option<&'static str> {
    let is_reading = text::is_simple(line) && line::only_reads(&cx.read_line(line), &cx.cwd);
    is_reading.then_some("these commands only read")
}

/// Returns the reason to allow a call.
fn reason(cx: &Context, call: &ToolCall) -> Option<&'static str> {
    if paths::is_home(&cx.cwd) {
        return None;
    }
    match (call.kind, &call.command) {
        (ToolKind::Shell, Some(line)) => {
            let input = call.input.parse::<Value>().ok()?;
            let mut fields = input.as_object()?.iter();
            let is_plain = |(name, value): (&String, &Value)| {
                is_in(FIELDS, name)
                    || value.is_null()
                    || (is_in(DIRECTORIES, name) && value.as_str() == Some(&cx.cwd))
            };
            if fields.all(is_plain) { reason_for_line(cx, line) } else { None }
        }
        (ToolKind::Read | ToolKind::Search, _) => {
            let is_named = call.kind == ToolKind::Search || !call.paths.is_empty();
            let is_near = |path: &hookbox_sdk::ResolvedPath| path.inside && !paths::is_private(&path.path);
            let input = call.input.parse::<Value>().ok()?;
            let is_reading =
                is_named && call.paths.iter().all(is_near) && paths::stays_inside(&input, &cx.cwd);
            is_reading.then_some("it reads in the working directory")
        }
        _ => None,
    }
}

impl Hook for ReadOnly {
    fn manifest() -> Manifest {
        Manifest::new("read-only", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on_tools(Event::BeforeToolCall, ["kind:shell", "kind:read", "kind:search"])
            // Late, so that it judges what other hooks have made of the call.
            .priority(95)
            .answers([Give::Allow])
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        Ok(reason(cx, call).map_or_else(Answer::pass, Answer::allow))
    }
}

hookbox_sdk::export_hook!(ReadOnly);

#[cfg(test)]
mod tests;
