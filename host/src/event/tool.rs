//! Tool calls, their results, and what the host works out about them.

use std::borrow::Cow;
use std::sync::Arc;

use hookbox_calls::ToolKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::context::{now_ms, rfc3339};
use super::document::Document;
#[cfg(feature = "component")]
use super::readings::Readings;
use hookbox_system::text;

/// Returns the kind that a pattern such as `kind:shell` means, whatever its case and the spaces around its words; else the
/// pattern that was probably meant. `None` for a pattern that means no kind.
pub fn kind_of_pattern(pattern: &str) -> Option<Result<ToolKind, Option<String>>> {
    let (head, name) = pattern.split_once(':')?;
    let name = name.trim();
    head.trim().eq_ignore_ascii_case("kind").then(|| {
        let known = ToolKind::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(name));
        known.ok_or_else(|| {
            text::nearest(name, ToolKind::ALL.map(ToolKind::as_str)).map(|it| format!("kind:{it}"))
        })
    })
}

/// A path that a file tool names, resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResolvedPath {
    /// Absolute, without `.` and `..`, symlinks followed as far as they exist.
    pub path: String,
    /// True if it is inside the working directory.
    pub inside: bool,
}

/// Facts about a tool call that the host works out, so that a guard need not parse the input of each agent's
/// tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Facts {
    /// The purpose of the tool.
    pub kind: ToolKind,
    /// The shell line of a shell tool.
    pub command: Option<String>,
    /// The paths of a file tool; empty for a shell line.
    pub paths: Vec<ResolvedPath>,
    /// The readings of shell lines.
    #[cfg(feature = "component")]
    #[serde(skip)]
    pub(crate) readings: Readings,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The call's id (kodelet's `tool_user_id`).
    pub id: Option<String>,
    /// The tool's name; empty when it was not given.
    pub name: String,
    /// The input.
    pub input: Document,
    /// The facts of the call. The chain fills them in before the first hook runs, and again after a hook
    /// changed the input.
    pub facts: Arc<Facts>,
}

impl ToolCall {
    /// Creates a call of this tool with this input.
    pub fn new(name: impl Into<String>, input: impl Into<Document>) -> Self {
        Self { id: None, name: name.into(), input: input.into(), facts: Arc::default() }
    }

    /// Creates a call with input that a model wrote: JSON, or text that should have been JSON.
    pub fn from_text(name: impl Into<String>, input: &str) -> Self {
        Self::new(name, Document::from_text(input))
    }

    /// Returns the input as its tool takes it: a text with a JSON object or list is that.
    pub(crate) fn decoded(&self) -> Cow<'_, Value> {
        hookbox_calls::decoded(self.input.value())
    }

    /// Returns the call with its decoded input as the reader of calls takes it.
    pub(crate) fn as_made<'a>(&'a self, input: &'a Value) -> hookbox_calls::Call<'a> {
        let (kind, command) = (self.facts.kind, self.facts.command.as_deref());
        hookbox_calls::Call { name: &self.name, kind, command, input }
    }

    /// Returns the lines that the call may run in a directory, and the files that it uses.
    pub(crate) fn facts_in(&self, cwd: &str) -> hookbox_calls::CallFacts {
        let paths: Vec<&str> = self.facts.paths.iter().map(|it| it.path.as_str()).collect();
        hookbox_calls::facts(&self.as_made(&self.decoded()), &paths, cwd)
    }

    /// Returns the call with this id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// A tool call that is over: [`PermittedCall::finished`](crate::session::PermittedCall::finished) makes one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The call, with the input that the tool got.
    pub call: ToolCall,
    /// The output of the tool.
    pub output: Document,
    /// True if the tool succeeded.
    pub success: Option<bool>,
    /// The error of the tool.
    pub error: Option<String>,
    /// The duration in milliseconds.
    pub duration_ms: Option<u64>,
    /// The exit status of a command.
    pub exit_status: Option<i32>,
    /// The cost in tokens.
    pub cost_tokens: Option<u64>,
}

impl ToolResult {
    /// Creates the result of a call with this output. `success` and `error` are taken from the output if it
    /// is a kodelet `StructuredToolResult`. An agent gets results from the call that the verdict permits.
    pub(crate) fn new(call: ToolCall, output: impl Into<Document>) -> Self {
        let output = output.into();
        let success = output.pointer("/success").and_then(Value::as_bool);
        let error = output.pointer("/error").and_then(Value::as_str).map(str::to_owned);
        Self { call, output, success, error, duration_ms: None, exit_status: None, cost_tokens: None }
    }

    /// Creates the result of a call that did not run, with the reason as the error: after a block, or if the
    /// agent refuses the call.
    pub fn blocked(call: ToolCall, reason: &str) -> Self {
        let output = json!({
            "toolName": call.name, "success": false, "error": reason, "timestamp": rfc3339(now_ms()),
        });
        Self::new(call, output)
    }
}
