//! What in a command line may be the name of a file. Rather too much than too little: a word that names no file costs a
//! look.

use std::collections::BTreeSet;
use std::path::Path;

/// What parts words in a shell line, and what stands around a path in one.
const BETWEEN: &[char] =
    &[' ', '\t', '\n', '\r', ';', '|', '&', '(', ')', '<', '>', '"', '\'', '`', '=', ',', ':', '{', '}'];

/// The words of these lines that may name a file. Variables that hookbox sets stand for what they hold; of a word that
/// begins with any other variable, or with `/`, the rest may be a path in the repository.
pub(super) fn of(lines: &[String], repo: &Path, base: &Path) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for line in lines {
        let mut line = line.clone();
        for (variable, path) in [("CLAUDE_PROJECT_DIR", repo), ("CLAUDE_PLUGIN_ROOT", base)] {
            for form in [format!("${{{variable}}}"), format!("${variable}")] {
                line = line.replace(&form, &path.to_string_lossy());
            }
        }
        words.insert(line.clone());
        // In quotes a path may hold what parts words elsewhere.
        words.extend(line.split(['"', '\'']).map(str::to_owned));
        for word in line.split(BETWEEN) {
            words.insert(word.to_owned());
            if word.starts_with(['$', '/'])
                && let Some((_, rest)) = word.split_once('/')
            {
                words.insert(rest.trim_start_matches('/').to_owned());
            }
        }
    }
    words.remove("");
    // No path is longer, on any system.
    words.retain(|word| word.len() <= 4096);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_path_in_a_line_is_seen() {
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
        ] {
            let words = of(&[line.to_owned()], Path::new("/repo"), Path::new("/repo/plugin"));
            let found = words.contains("hooks/x.py") || words.contains("/repo/hooks/x.py");
            assert!(found, "{line}: {words:?}");
        }
        let spaced = of(&["sh \"my hooks/x y.sh\"".to_owned()], Path::new("/"), Path::new("/"));
        assert!(spaced.contains("my hooks/x y.sh"));
    }
}
