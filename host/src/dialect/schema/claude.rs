//! Claude Code's hooks.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::Shape;
use super::parts::{Object, of};

/// What every event has.
#[derive(JsonSchema)]
struct Base {
    /// The conversation.
    session_id: String,
    /// The file that holds the conversation; empty where it is not known.
    transcript_path: String,
    /// The agent's working directory.
    cwd: String,
}

/// A tool call, in Claude Code's words.
#[derive(JsonSchema)]
struct Call {
    /// The tool's name.
    tool_name: Option<String>,
    /// Its input.
    tool_input: Option<Value>,
    /// The call's id.
    tool_use_id: Option<String>,
}

/// How the agent treats calls: `default`, `plan`, `acceptEdits` …
#[derive(JsonSchema)]
struct Mode {
    /// How the agent treats calls: `default`, `plan`, `acceptEdits` …
    permission_mode: String,
}

macro_rules! events {
    ($($(#[$about:meta])* $name:ident $event:tt { $($(#[$field_about:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$about])*
            #[derive(JsonSchema)]
            #[schemars(rename = $event, deny_unknown_fields)]
            struct $name {
                #[schemars(flatten)]
                base: Base,
                /// The event's name.
                #[schemars(extend("const" = $event))]
                hook_event_name: String,
                $($(#[$field_about])* $field: $type,)*
            }
        )*

        /// One of every event that has data of its own.
        pub(super) fn events(generator: &mut SchemaGenerator) -> Shape {
            Shape::OneOf(vec![$(of::<$name>(generator)),*])
        }
    };
}

events! {
    /// A session begins.
    SessionStart "SessionStart" {
        /// Why: `startup`, `resume`, `clear`, `compact`, or the agent's own word.
        source: String,
    }
    /// A session ends.
    SessionEnd "SessionEnd" {
        /// Why.
        #[schemars(extend("enum" = [
            "clear", "resume", "logout", "prompt_input_exit", "bypass_permissions_disabled", "other"
        ]))]
        reason: String,
    }
    /// The user sends a message.
    UserPromptSubmit "UserPromptSubmit" {
        #[schemars(flatten)]
        mode: Mode,
        /// Its text.
        prompt: Option<String>,
    }
    /// A tool is about to run.
    PreToolUse "PreToolUse" {
        #[schemars(flatten)]
        mode: Mode,
        #[schemars(flatten)]
        call: Call,
    }
    /// A tool has run and did not fail.
    PostToolUse "PostToolUse" {
        #[schemars(flatten)]
        mode: Mode,
        #[schemars(flatten)]
        call: Call,
        /// What it gave back, as the agent has it.
        tool_response: Option<Value>,
        /// How long it took, in milliseconds.
        duration_ms: Option<u64>,
    }
    /// A tool failed.
    PostToolUseFailure "PostToolUseFailure" {
        #[schemars(flatten)]
        mode: Mode,
        #[schemars(flatten)]
        call: Call,
        /// What it said.
        error: String,
        /// Whether the user interrupted it.
        is_interrupt: bool,
    }
    /// A call of the model failed.
    StopFailure "StopFailure" {
        #[schemars(flatten)]
        mode: Mode,
        /// The class of the error, or `unknown`.
        error: String,
        /// What it said.
        error_details: String,
    }
    /// The agent would stop.
    Stop "Stop" {
        #[schemars(flatten)]
        mode: Mode,
        /// Whether hooks have made it go on already.
        stop_hook_active: bool,
        /// What it said last.
        last_assistant_message: Option<String>,
    }
    /// A subagent would stop.
    SubagentStop "SubagentStop" {
        #[schemars(flatten)]
        mode: Mode,
        /// Whether hooks have made it go on already.
        stop_hook_active: bool,
        /// What it said last.
        last_assistant_message: Option<String>,
    }
    /// The conversation is about to be compacted.
    PreCompact "PreCompact" {
        /// Why: `auto` or `manual`.
        trigger: Option<String>,
        /// What the user asked to keep; always empty.
        custom_instructions: String,
    }
    /// The conversation has been compacted.
    PostCompact "PostCompact" {
        /// Why: `auto` or `manual`.
        trigger: Option<String>,
        /// What is left of it.
        compact_summary: Option<String>,
    }
}

/// What every answer may have.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Common {
    /// False: the agent must not go on. Before a call, at a message and before a compaction a block.
    r#continue: Option<bool>,
    /// Why not.
    stop_reason: Option<String>,
    /// Without effect.
    suppress_output: Option<bool>,
    /// A note for the user.
    system_message: Option<String>,
    /// `block`: it must not happen; at Stop: the agent must go on.
    #[schemars(extend("enum" = ["block", "approve", "deny", null]))]
    decision: Option<String>,
    /// Why; at Stop the agent's next message.
    reason: Option<String>,
}

macro_rules! answers {
    ($($(#[$about:meta])* $name:ident $specific:ident $event:tt [$($called:literal),+] {
        $($(#[$field_about:meta])* $field:ident: $type:ty,)*
    })*) => {
        $(
            /// What belongs to this event.
            #[derive(JsonSchema)]
            #[schemars(rename_all = "camelCase", inline)]
            struct $specific {
                /// The event's name in Claude Code.
                #[schemars(extend("enum" = [$($called,)+ null]))]
                hook_event_name: Option<String>,
                /// Text for the model.
                additional_context: Option<String>,
                $($(#[$field_about])* $field: $type,)*
            }

            $(#[$about])*
            #[derive(JsonSchema)]
            #[schemars(rename = $event, rename_all = "camelCase")]
            struct $name {
                #[schemars(flatten)]
                common: Common,
                /// What belongs to this event.
                hook_specific_output: Option<$specific>,
            }
        )*

        /// The answer by event, under hookbox's names of the events.
        pub(super) fn answers(generator: &mut SchemaGenerator) -> Shape {
            let all = vec![$(of::<$name>(generator)),*];
            Shape::AnyOf(all)
        }
    };
}

answers! {
    /// At SessionStart.
    SessionStartAnswer SessionStartSpecific "session_start" ["SessionStart"] {}
    /// At SessionEnd.
    SessionEndAnswer SessionEndSpecific "session_end" ["SessionEnd"] {}
    /// At UserPromptSubmit.
    UserMessageSendAnswer UserMessageSendSpecific "user_message_send" ["UserPromptSubmit"] {}
    /// At PreToolUse.
    BeforeToolCallAnswer BeforeToolCallSpecific "before_tool_call" ["PreToolUse"] {
        /// Whether the tool may run.
        #[schemars(extend("enum" = ["allow", "deny", "ask", "defer", null]))]
        permission_decision: Option<String>,
        /// Why.
        permission_decision_reason: Option<String>,
        /// Replaces the tool's input.
        updated_input: Option<Object>,
    }
    /// At PostToolUse.
    AfterToolCallAnswer AfterToolCallSpecific "after_tool_call" ["PostToolUse"] {
        /// Replaces the tool's output.
        updated_tool_output: Option<Value>,
        /// The same, older.
        #[schemars(rename = "updatedMCPToolOutput")]
        updated_mcp_tool_output: Option<Value>,
    }
    /// At PostToolUseFailure and StopFailure.
    OnErrorAnswer OnErrorSpecific "on_error" ["PostToolUseFailure", "StopFailure"] {}
    /// At Stop and SubagentStop.
    AgentStopAnswer AgentStopSpecific "agent_stop" ["Stop", "SubagentStop"] {}
    /// At PreCompact.
    PreCompactAnswer PreCompactSpecific "pre_compact" ["PreCompact"] {}
    /// At PostCompact.
    PostCompactAnswer PostCompactSpecific "post_compact" ["PostCompact"] {}
}
