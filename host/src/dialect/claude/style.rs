//! The differences between the agents whose hooks answer as those of Claude Code do.

/// The differences between the agents whose hooks answer in this shape.
pub struct Style {
    /// The words of `decision` that let a thing pass; `block` and `deny` block everywhere.
    pub approving: &'static [&'static str],
    /// The values of `decision`, for messages.
    pub decisions: &'static str,
    /// The fields with which an answer changes the input of a tool.
    pub inputs: &'static [&'static str],
    /// The fields with which it changes the output.
    pub outputs: &'static [&'static str],
    /// True if a changed input counts only beside `permissionDecision: allow`.
    pub input_needs_allow: bool,
    /// True if the fields of `hookSpecificOutput` may be at the top as well.
    pub is_flat: bool,
    /// True if `permissionDecision: allow` spares the agent's user a question.
    pub allows: bool,
    /// True if `hookSpecificOutput` must name its event.
    pub names_event: bool,
    /// The meaning of text that is not an answer.
    pub text: Text,
}

/// The meaning of text that is not an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Context for the model when a message is sent and when a session starts; ignored elsewhere.
    Context,
    /// Words for the user.
    Shown,
    /// Nothing.
    Nothing,
}

/// Claude Code's.
pub const CLAUDE: Style = Style {
    approving: &["approve"],
    decisions: "\"block\" or \"approve\"",
    inputs: &["updatedInput"],
    outputs: &["updatedToolOutput", "updatedMCPToolOutput"],
    input_needs_allow: false,
    is_flat: false,
    allows: true,
    names_event: true,
    text: Text::Context,
};
