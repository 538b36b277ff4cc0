//! Entries that call hookbox itself.

use crate::agent::bridge_command::installed_for;

/// Returns true for a command line that `hookbox install` writes: hookbox would start itself again and again.
/// A line that does more is run, because it may be a guard; hookbox runs no hooks inside of a hook.
pub(super) fn is_own(line: &str) -> bool {
    installed_for(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serves_an_agent_and_does_nothing_else_is_hookboxs_own() {
        for (line, want) in [
            ("hookbox bridge claude", true),
            ("/usr/local/bin/hookbox bridge codex --event PreToolUse", true),
            ("'/home/a b/bin/hookbox' bridge gemini", true),
            ("/opt/hb bridge claude --event PreToolUse --deadline 20s", true),
            ("./guard.sh && hookbox bridge claude", false),
            ("hookbox bridge claude; ./guard.sh", false),
            ("hookbox bridge claude || exit 2", false),
            ("./guard.sh | hookbox bridge claude", false),
            ("echo 'see hookbox bridge docs' >&2; exit 2", false),
            ("$(./guard.sh) hookbox bridge claude", false),
            ("HOOKBOX_LOG=debug hookbox bridge claude", false),
            ("exec \"$HOME/bin/hookbox\" bridge cursor", false),
            ("./guard.sh hookbox bridge claude", false),
            ("hookbox run PreToolUse", false),
            ("my-hookbox bridge claude", false),
            ("python3 guard.py", false),
            ("", false),
        ] {
            assert_eq!(is_own(line), want, "{line}");
        }
    }
}
