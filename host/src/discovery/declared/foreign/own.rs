//! Entries that call hookbox itself.

/// Whether a command line is one that `hookbox install` writes: it serves the agent, and would start itself from itself.
pub(super) fn is_own(line: &str) -> bool {
    let mut words = line
        .split(|c: char| c.is_ascii_whitespace() || ";&|()".contains(c))
        .map(|word| word.trim_matches(['"', '\'']))
        .filter(|word| !word.is_empty());
    let is_program = |word: &str| word.rsplit('/').next().is_some_and(|name| name == "hookbox");
    while let Some(word) = words.next() {
        if is_program(word) {
            return words.next() == Some("bridge");
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serves_the_agent_is_hookboxs_own() {
        for (line, want) in [
            ("hookbox bridge claude", true),
            ("/usr/local/bin/hookbox bridge codex --event PreToolUse", true),
            ("'/home/a b/bin/hookbox' bridge gemini", true),
            ("HOOKBOX_LOG=debug hookbox bridge claude", true),
            ("exec \"$HOME/bin/hookbox\" bridge cursor", true),
            ("hookbox run PreToolUse", false),
            ("my-hookbox bridge claude", false),
            ("python3 guard.py", false),
            ("", false),
        ] {
            assert_eq!(is_own(line), want, "{line}");
        }
    }
}
