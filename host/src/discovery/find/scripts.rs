//! Files in a plugin's hooks directory that are scripts of its commands.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use super::declared::{Contents, Declared, Handler};
use crate::files;

/// The executables in a plugin's hooks directory that are not hooks of their own. A plugin that was written for Claude
/// Code has its scripts there. As a native hook, such a script would be started to name its event.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    /// True if the plugin declares commands in Claude Code's format.
    is_of_claude: bool,
    names: BTreeSet<OsString>,
}

impl Scripts {
    /// Returns the scripts of the commands in Claude Code's format.
    pub(super) fn of(contents: &Contents) -> Self {
        let is_of_claude = |hook: &&Declared| matches!(hook.handler, Ok(Handler::Claude(_)));
        let mut scripts = Self::default();
        for hook in contents.hooks.iter().filter(is_of_claude) {
            scripts.is_of_claude = true;
            let paths = hook.plugin_files().into_iter().map(|file| files::normalize_path(&file.path));
            scripts
                .names
                .extend(paths.filter_map(|path| path.strip_prefix("hooks").ok().map(OsString::from)));
        }
        scripts
    }

    /// Returns true for a script of a command, and for an empty file beside such scripts, such as `__init__.py`.
    pub(super) fn contains(&self, name: &OsStr, len: u64) -> bool {
        self.names.contains(name) || self.is_of_claude && len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::find::declared::{self, Source};

    #[test]
    fn a_script_that_a_command_of_claude_codes_format_runs_is_not_a_hook() {
        let claude = r#"{"hooks": {"Stop": [{"hooks": [
            {"type": "command", "command": "python3 \"${CLAUDE_PLUGIN_ROOT}/hooks/x/../stop.py\""},
            {"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/scripts/run.sh"}]}]}}"#;
        let own = r#"{"hooks": {"PreToolUse": [{"command": "hooks/stop.py"}]}}"#;
        for (text, file, len, want) in [
            (claude, "stop.py", 7, true),
            (claude, "__init__.py", 0, true),
            (claude, "run.sh", 7, false),
            (claude, "guard", 7, false),
            // A command in hookbox's own format leaves a native hook a hook.
            (own, "stop.py", 7, false),
            (own, "__init__.py", 0, false),
        ] {
            let contents = declared::parse(text, Source::HooksJson).unwrap();
            assert_eq!(Scripts::of(&contents).contains(OsStr::new(file), len), want, "{file}: {text}");
        }
    }
}
