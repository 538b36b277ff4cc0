//! Warns with the facts that a tool's input asks for: `{"lines": [LINE, …]}`, `{"facts": true}` (those of the call), `{"tree": DIRECTORY}`, `{"pushed":
//! [DIRECTORY, REFERENCE]}`, `{"path": PATH}`; one warning for each, in the form of `Debug`. `{"allow": REASON}` is the
//! answer `allow`.

use hookbox_sdk::prelude::*;
use hookbox_sdk::work_tree;

/// The hook.
pub struct Facts;

impl Hook for Facts {
    fn manifest() -> Manifest {
        Manifest::new("facts", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::BeforeToolCall)
            .answers([Give::Allow])
            .capability(Capability::WorkTree)
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let mut answer = match call.input.get::<String>("/allow")? {
            Some(reason) => Answer::allow(reason),
            None => Answer::pass(),
        };
        for line in call.input.get::<Vec<String>>("/lines")?.unwrap_or_default() {
            answer = answer.warn(format!("{:?}", cx.read_line(&line)));
        }
        if call.input.get::<bool>("/facts")? == Some(true) {
            answer = answer.warn(format!("{:?}", cx.facts_of(call)));
        }
        if let Some(directory) = call.input.get::<String>("/tree")? {
            answer = answer.warn(format!("{:?}", work_tree::tree(&directory)));
        }
        if let Some((directory, reference)) = call.input.get::<(String, String)>("/pushed")? {
            answer = answer.warn(format!("{:?}", work_tree::is_pushed(&directory, &reference)));
        }
        if let Some(path) = call.input.get::<String>("/path")? {
            answer = answer.warn(format!("{:?}", work_tree::path(&path)));
        }
        Ok(answer)
    }
}

hookbox_sdk::export_hook!(Facts);
