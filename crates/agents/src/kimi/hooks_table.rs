//! The `[[hooks]]` tables of Kimi Code's `config.toml`, as its parser reads them (2.1). For one malformed
//! entry it ignores all hooks and goes on with a warning.

use serde::Deserialize;

use super::{LONGEST, SPEC};
use crate::dialect::claude::compile;
use crate::text;

/// Returns the reason why Kimi Code ignores the hooks of this file, or one of them.
pub(super) fn check(toml: &str) -> Option<String> {
    let file: KimiFile = match toml::from_str(toml) {
        Ok(file) => file,
        Err(error) => return Some(text::escape(error.to_string().trim(), 500)),
    };
    file.hooks
        .iter()
        .enumerate()
        .find_map(|(at, entry)| entry.problem().map(|what| format!("hooks[{at}]: {what}")))
}

#[derive(Deserialize)]
struct KimiFile {
    #[serde(default)]
    hooks: Vec<KimiEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KimiEntry {
    event: String,
    matcher: Option<String>,
    command: String,
    timeout: Option<u64>,
}

impl KimiEntry {
    fn problem(&self) -> Option<String> {
        let is_known = SPEC.has_event(&self.event);
        let longest = LONGEST.as_secs();
        if !is_known {
            return Some(format!(
                "unknown event \"{}\": it ignores all hooks",
                text::escape(&self.event, 64)
            ));
        }
        if self.command.is_empty() {
            return Some("expected a command: it ignores all hooks".to_owned());
        }
        if self.timeout.is_some_and(|it| !(1..=longest).contains(&it)) {
            return Some(format!("expected a timeout from 1 to {longest} seconds: it ignores all hooks"));
        }
        let matcher = self.matcher.as_deref().unwrap_or_default();
        compile(matcher).is_err().then(|| {
            format!("the matcher \"{}\" is not an expression: it matches nothing", text::escape(matcher, 64))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_malformed_entry_is_an_error_of_the_whole_file() {
        let entry = |more: &str| format!("[[hooks]]\nevent = \"Stop\"\ncommand = \"x\"\n{more}");
        for (toml, want) in [
            (entry(""), None),
            (entry("timeout = 600\nmatcher = \"Bash|Write\""), None),
            (entry("timeout = 601"), Some("1 to 600")),
            (entry("timeout = 0"), Some("1 to 600")),
            (entry("timeout = 0.5"), Some("timeout")),
            (entry("extra = 1"), Some("unknown field")),
            (entry("matcher = \"*\""), Some("matches nothing")),
            (entry("").replace("Stop", "Stopp"), Some("unknown event \"Stopp\"")),
            (entry("").replace("\"x\"", "\"\""), Some("expected a command")),
            ("[[hooks]]\nevent = \"Stop\"\n".to_owned(), Some("missing field")),
            ("hooks = 5".to_owned(), Some("line 1")),
            ("hooks = [{event = \"TurnStarted\", command = \"x\"}]".to_owned(), None),
            ("default_model = \"k2\"\n[providers.x]\ntype = \"kimi\"\n".to_owned(), None),
        ] {
            let found = check(&toml);
            assert_eq!(found.is_some(), want.is_some(), "{toml} {found:?}");
            assert!(found.as_deref().is_none_or(|it| it.contains(want.unwrap())), "{toml} {found:?}");
        }
    }
}
