//! A file of lines in the hook's own directory. Its name is a setting of the hook.

use hookbox_sdk::prelude::*;
use hookbox_sdk::{append_line, directory};

/// The directory of the file, as in its right.
const DIRECTORY: &str = "$DATA";

/// The right to write the file.
pub fn right() -> Capability {
    Capability::ReadWrite(DIRECTORY.to_owned())
}

/// Checks the setting `file`: a name leads nowhere else.
///
/// # Errors
///
/// It is not the name of a file.
pub fn check(file: &str) -> Result<(), Error> {
    let is_name = !matches!(file, "" | "." | "..") && !file.contains(['/', '\\', '\0']);
    let wrong = || Error::new(format!("setting `file`: expected the name of a file, found {file:?}"));
    is_name.then_some(()).ok_or_else(wrong)
}

/// Appends a line to the file of this name.
///
/// # Errors
///
/// That of [`check`]; or the file cannot be written.
pub fn append(file: &str, line: &str) -> Result<(), Error> {
    check(file)?;
    append_line(directory(DIRECTORY)?.join(file), line).map_err(|error| {
        error.within(format_args!("cannot write {DIRECTORY}/{file} (was read-write:{DIRECTORY} granted?)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_stays_in_its_directory() {
        for (name, good) in [
            ("audit.jsonl", true),
            ("..log", true),
            ("", false),
            (".", false),
            ("..", false),
            ("a/b", false),
            ("../x", false),
            ("/x", false),
            ("..\\a", false),
            ("a\0", false),
        ] {
            assert_eq!(check(name).is_ok(), good, "{name}");
        }
    }
}
