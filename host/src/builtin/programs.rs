//! The programs that hookbox must know by their names: itself, and those that end, remove or move things.

use hookbox_shell::{Use, assignment, base_name, is_in};

use super::protected::is_match;

/// Programs that end other programs.
const ENDERS: &str = "kill pkill killall killall5 skill fuser prlimit tskill taskkill";

/// Programs that remove or move a directory with everything beneath it.
const DESTROYERS: &str = "rm rmdir mv shred unlink trash trash-put srm wipe rimraf mount";

/// Subcommands of hookbox that anybody may run, and those that only the user may run.
const HOOKBOX_READS: &str = "list exec inspect explain demo help doctor schema completions";
/// An event by hand could end the session that asks for a human, or use up an allowance.
const PRIVILEGED: &str =
    "allow approve bridge grants guard install mcp plugin remove run setup trust uninstall untrust upgrade";

/// The number of words between `hookbox` and its subcommand.
const MAX_BETWEEN: usize = 16;

/// Returns true if a word names hookbox: with a directory, a version, or as a pattern.
pub(super) fn is_hookbox(word: &str) -> bool {
    let name = base_name(word).to_ascii_lowercase();
    let is_pattern = name.contains(['*', '?', '[']) && name.len() > 3 && is_match(&name, "hookbox");
    is_pattern
        || name.strip_prefix("hookbox").is_some_and(|rest| {
            matches!(rest, "" | ".exe")
                || rest.starts_with(|c: char| c == '-' || c == '_' || c.is_ascii_digit())
        })
}

pub(super) fn ends(word: &str) -> bool {
    is_in(ENDERS, base_name(word))
}

/// Returns true if a program of this name removes or moves directories.
pub(super) fn destroys(word: &str) -> bool {
    is_in(DESTROYERS, &base_name(word).to_ascii_lowercase())
}

/// Returns the subcommand of hookbox that only the user may run, if the words after its name run one. The flag of each word
/// is true for a word of its own.
pub(super) fn privileged(words: &[(&str, bool)]) -> Option<&'static str> {
    let mut after_option = false;
    for (at, (word, _)) in words.iter().take(MAX_BETWEEN).enumerate() {
        let rest = words.get(at + 1..).unwrap_or_default();
        let has = |option: &str| {
            let own = words.iter().take_while(|(word, _)| *word != "--");
            own.clone().any(|word| *word == (option, true)) && words.iter().all(|(_, is_whole)| *is_whole)
        };
        // `pytest tests/hookbox -k run` names a test.
        let is_value = after_option && matches!(*word, "bridge" | "mcp" | "run");
        if let Some(found) = PRIVILEGED.split(' ').find(|it| it == word && !is_value) {
            let named = |words: &[&str]| rest.iter().any(|(word, _)| words.contains(word));
            let first = rest.iter().map(|(word, _)| *word).find(|word| !word.starts_with('-'));
            let reads = match found {
                "grants" => {
                    !named(&["add", "remove"]) && !rest.iter().any(|(word, _)| word.contains(['$', '`']))
                }
                "guard" | "plugin" => matches!(first, Some("list" | "show" | "help")),
                "install" | "setup" | "uninstall" => has("--dry-run"),
                _ => false,
            };
            return (!reads && !has("--help") && !has("-h")).then_some(found);
        }
        // `hookbox $WORD` may run any subcommand.
        if word.starts_with(['$', '`', '%']) && !after_option {
            return Some("trust");
        }
        if word.starts_with('-') {
            after_option = !word.contains('=');
        } else if !std::mem::take(&mut after_option) {
            return None;
        }
    }
    None
}

/// Returns the effect of a command on its words, after the variables that are set for it. hookbox only reads, unless the
/// user's subcommands run.
pub(super) fn use_of(words: &[&str]) -> Use {
    let at = words.iter().take_while(|word| assignment(word).is_some()).count();
    let (set, command) = words.split_at(at);
    // A program may run the value of a variable.
    let names_hookbox = |word: &&str| assignment(word).is_some_and(|(_, value)| is_hookbox(value));
    if set.iter().any(names_hookbox) && !command.is_empty() {
        return Use::Any;
    }
    match command {
        [program, rest @ ..] if base_name(program) == "hookbox" => {
            let sub = rest.iter().copied().find(|word| !word.starts_with('-')).unwrap_or_default();
            let all: Vec<(&str, bool)> = rest.iter().map(|word| (*word, true)).collect();
            let may = sub.is_empty() || is_in(HOOKBOX_READS, sub) || is_in(PRIVILEGED, sub);
            let reads = may && privileged(&all).is_none();
            if reads { Use::Reads } else { Use::Any }
        }
        _ => hookbox_shell::use_of(words),
    }
}
