//! The one list of agents.

use crate::spec::Spec;

/// Defines the agents: a variant for each, with the folder that has its table.
macro_rules! agents {
    ($($(#[$doc:meta])* $name:ident = $folder:ident,)*) => {
        /// An agent that runs commands, or plugins, at the events of a session.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Agent {
            $($(#[$doc])* $name,)*
        }

        impl Agent {
            /// Every agent.
            pub const ALL: [Self; [$(Self::$name),*].len()] = [$(Self::$name),*];

            /// Returns the table of the agent.
            pub(crate) fn spec(self) -> &'static Spec {
                match self {
                    $(Self::$name => &crate::$folder::SPEC,)*
                }
            }
        }
    };
}

agents! {
    /// Claude Code (checked with 2.1).
    Claude = claude,
    /// Codex (checked with 0.169).
    Codex = codex,
    /// Gemini CLI (checked with 0.61).
    Gemini = gemini,
    /// Qwen Code (checked with 0.24).
    Qwen = qwen,
    /// Copilot CLI (checked with 1.0), in both styles of its configuration: `preToolUse` and `PreToolUse`.
    Copilot = copilot,
    /// Cursor, by its documentation.
    Cursor = cursor,
    /// Kimi Code (checked with 2.1).
    Kimi = kimi,
    /// Cline (checked with 3.0), by the plugin in `assets/cline/`.
    Cline = cline,
    /// OpenCode (checked with 1.18), by the plugin in `assets/opencode/`: it runs no commands.
    OpenCode = opencode,
    /// Pi (checked with 0.73), by the extension in `assets/pi/`: it runs no commands.
    Pi = pi,
    /// Droid (checked with 0.225).
    Droid = droid,
    /// Kilo (checked with 7.7), by OpenCode's plugin.
    Kilo = kilo,
    /// Mistral Vibe (checked with 2.26).
    Vibe = vibe,
    /// OpenHands (checked with 1.16).
    OpenHands = openhands,
    /// Auggie (checked with 0.36).
    Auggie = auggie,
    /// Qoder CLI (checked with 1.1).
    Qoder = qoder,
    /// Grok Build (checked with 1.0).
    Grok = grok,
    /// Google Antigravity, by its documentation.
    Antigravity = antigravity,
    /// Crush, by its documentation and source code.
    Crush = crush,
    /// Goose, by its documentation and source code.
    Goose = goose,
    /// Devin CLI, by its documentation.
    Devin = devin,
    /// Amp, by its documentation and the part of its client that runs plugins.
    Amp = amp,
    /// Kiro, by its documentation.
    Kiro = kiro,
}
