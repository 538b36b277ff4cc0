//! The files that a command writes.

use crate::tree::Mode;
use crate::{Arg, Run};

/// The lines of a patch for `apply_patch` that name a file.
const PATCH_LINES: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// Returns the files that a patch for `apply_patch` names.
pub fn patched(text: &str) -> impl Iterator<Item = &str> {
    let named = |line: &'_ str| -> Option<usize> {
        let line = line.trim();
        PATCH_LINES.iter().find(|head| line.starts_with(**head)).map(|head| head.len())
    };
    text.lines().filter_map(move |line| Some(line.trim().get(named(line)?..)?.trim()))
}

/// Returns true for short options with this letter among them.
fn is_short(word: &str, letter: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

/// Returns the name of the file that an address has.
fn of_address(word: &str) -> Option<&str> {
    let (_, place) = word.split_once("://")?;
    let path = place.split(['?', '#']).next().unwrap_or(place);
    path.rsplit_once('/').map(|(_, name)| name).filter(|name| !name.is_empty())
}

impl Run {
    /// Returns the files that the command writes, as its words name them: the targets of its redirections, the operands
    /// of programs that write, and the files of a patch that it is given. Paths in a script of another language are not
    /// among them.
    pub fn writes(&self) -> Vec<&str> {
        let is_written = |mode: Mode| matches!(mode, Mode::Write | Mode::Append | Mode::Both);
        let redirected = self.redirections.iter().filter(|it| is_written(it.mode));
        let mut files: Vec<&str> = redirected.map(|it| it.target.text.as_str()).collect();
        let args = self.args();
        let texts = || args.iter().map(|it: &Arg| it.text.as_str());
        match self.program().unwrap_or_default() {
            "tee" => files.extend(texts().filter(|it| !it.starts_with('-'))),
            "cp" | "mv" | "install" | "ln" => files.extend(texts().next_back()),
            "sed" | "perl" if texts().any(|it| it.starts_with("-i")) => files.extend(texts().next_back()),
            // A file is named by its address.
            "curl" if texts().any(|it| it.starts_with("--remote-name") || is_short(it, 'O')) => {
                files.extend(texts().filter_map(of_address));
            }
            "wget" if !texts().any(|it| it.starts_with("--output-document") || is_short(it, 'O')) => {
                files.extend(texts().filter_map(of_address));
            }
            "apply_patch" | "applypatch" => {
                let given = self.redirections.iter().filter(|it| it.mode == Mode::Text);
                let given = given.map(|it| it.target.text.as_str());
                files.extend(texts().chain(given).flat_map(patched));
            }
            _ => {}
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use crate::{Known, runs};

    #[test]
    fn a_command_writes_what_its_words_and_its_patch_name() {
        let patch = "*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+x\n*** Update File: a b\n*** Move to: c\n\
                     *** End Patch";
        for (line, want) in [
            ("echo x > a >> b 2>&1 < c", &["a", "b"][..]),
            ("tee -a a b", &["a", "b"]),
            ("cp a b", &["b"]),
            ("sed -i s/a/b/ f", &["f"]),
            ("sed s/a/b/ f", &[]),
            ("curl -sSLO https://example.com/a/tool?x=1", &["tool"]),
            ("curl https://example.com/a/tool", &[]),
            ("wget -q https://example.com/tool", &["tool"]),
            ("wget -qO- https://example.com/tool", &[]),
            (&format!("apply_patch <<'EOF'\n{patch}\nEOF"), &[".git/hooks/pre-commit", "a b", "c"]),
            (&format!("apply_patch '{patch}'"), &[".git/hooks/pre-commit", "a b", "c"]),
            (&format!("cd x && apply_patch <<EOF\n{patch}\nEOF"), &[".git/hooks/pre-commit", "a b", "c"]),
            (&format!("cat <<'EOF'\n{patch}\nEOF"), &[]),
        ] {
            let reading = runs(line, &Known::default());
            let found: Vec<&str> = reading.runs.iter().flat_map(|run| run.writes()).collect();
            assert_eq!(found, want, "{line}");
        }
    }
}
