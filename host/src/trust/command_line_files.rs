//! The words of a command line that may name files. A wrong guess only costs a look-up.

use std::collections::BTreeSet;

use hookbox_shell::{Known, join_path, runs};
use hookbox_system::limits;

/// Characters that separate the words of a shell line, and the paths within a word.
const SEPARATORS: &[char] =
    &[' ', '\t', '\n', '\r', ';', '|', '&', '(', ')', '<', '>', '"', '\'', '`', '=', ',', ':', '{', '}', '@'];

/// The number of lines within lines that are read, as in `sh -c 'sh -c "…"'`.
const MAX_DEPTH: usize = 4;

/// Returns the words of these lines that may name a file or a directory. After a variable that the
/// line does not set, the rest of the word may be a path in the repository, and so may the default of `${NAME:-DEFAULT}`.
pub(super) fn words(lines: &[String]) -> BTreeSet<String> {
    let (mut found, mut last) = (BTreeSet::new(), String::new());
    for line in lines {
        found.insert(line.clone());
        // A quoted path may contain separators, and a line may have an unmatched quote.
        found.extend(line.split(['"', '\'']).map(str::to_owned));
        line.split(SEPARATORS).for_each(|word| add_paths(word, &mut found));
        split(line, 0, &mut last, &mut found);
        add_followed(line, &mut found);
    }
    found.retain(|word| !word.is_empty() && word.len() <= limits::PATH);
    found
}

/// Adds the words of the commands that a line runs, with its variables and directories.
fn add_followed(line: &str, found: &mut BTreeSet<String>) {
    for run in runs(line, &Known::default()).runs {
        let directory = run.directory.as_deref().filter(|it| !matches!(*it, "." | "~"));
        for word in &run.words {
            add_paths(&word.text, found);
            found.extend(directory.map(|it| join_path(it, &word.text)));
        }
    }
}

/// Adds the words of a line as a shell splits it.
fn split(line: &str, depth: usize, last: &mut String, found: &mut BTreeSet<String>) {
    let Ok(words) = shell_words::split(line) else { return };
    for word in words {
        add_paths(&word, found);
        word.split(SEPARATORS).for_each(|part| add_paths(part, found));
        if last == "-m" {
            // A module of Python.
            let module = word.replace('.', "/");
            found.extend(word.split('.').next().map(str::to_owned));
            found.extend([format!("{module}.py"), module]);
        }
        if depth < MAX_DEPTH && word != line && word.contains([' ', '\t', '\n', '\\', '\'', '"']) {
            split(&word, depth + 1, &mut String::new(), found);
        }
        *last = word;
    }
}

/// Adds the paths that one word may mean.
fn add_paths(word: &str, found: &mut BTreeSet<String>) {
    // `${NAME:-DEFAULT}` without its name, and `${NAME-DEFAULT}`.
    let default = word.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    found.extend([word, default.trim_start_matches(['-', '+', '?'])].map(str::to_owned));
    // An option with its value, as in `-fFILE`.
    if word.starts_with('-')
        && let Some((at, _)) = word.char_indices().nth(2)
    {
        found.extend(word.get(at..).map(str::to_owned));
    }
    if word.starts_with(['$', '/'])
        && let Some((_, rest)) = word.split_once('/')
    {
        found.insert(rest.trim_start_matches('/').to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_however_a_line_spells_it() {
        for line in [
            "python hooks/x.py",
            "python 'hooks/x.py'",
            "cd /tmp; hooks/x.py --now",
            "cd /tmp&&hooks/x.py",
            "CONFIG=hooks/x.py run",
            "\"$CLAUDE_PROJECT_DIR\"/hooks/x.py",
            "${CLAUDE_PROJECT_DIR}/hooks/x.py",
            "$(git rev-parse --show-toplevel)/hooks/x.py",
            "$HERE/hooks/x.py",
            "cat <hooks/x.py",
            "hooks/x.py",
            "python hook\\s/x.py",
            "python hook's/x'.py",
            "python hook\"s\"/x.py",
            "python ${NOSUCH:-hooks/x.py}",
            "python ${NOSUCH-hooks/x.py}",
            "sh -c 'cd /tmp && sh -c \"hook\\s/x.py\"'",
            "python hooks/\\\nx.py",
            "awk -fhooks/x.py",
            "curl -d @hooks/x.py",
            "python -m hooks.x",
            "d=hooks; python \"$d/x.py\"",
            "cd hooks && ./x.py",
            "cd \"$CLAUDE_PROJECT_DIR\" && for f in x; do hooks/$f.py; done",
            "echo 'unmatched; hooks/x.py",
            "echo one #two 'hooks/x.py'",
        ] {
            let words = words(&[line.to_owned()]);
            assert!(words.contains("hooks/x.py"), "{line}: {words:?}");
        }
        assert!(words(&["sh \"my hooks/x y.sh\"".to_owned()]).contains("my hooks/x y.sh"));
    }

    #[test]
    fn a_hostile_line_ends() {
        for line in ["\\".repeat(100_001), "'\"".repeat(50_000), "${".repeat(50_000), "${A:-".repeat(20_000)]
        {
            words(&[line]);
        }
    }
}
