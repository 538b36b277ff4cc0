//! Writing a new project.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use hookbox::EventName;

use super::error::CreateError;
use super::language::Language;
use super::name::Name;
use super::template::{self, NewFile};

/// Writes a new project into the directory `parent/NAME`, which may exist if it is empty. The project appears as a
/// whole: it is written beside that place, and then renamed.
///
/// # Errors
///
/// The place is taken, or it cannot be written.
pub fn create(
    parent: &Path,
    name: &Name,
    language: Language,
    event: &EventName,
) -> Result<PathBuf, CreateError> {
    let to = parent.join(name.as_str());
    let fail = |source| CreateError::Write { path: to.clone(), source };
    if let Ok(there) = to.symlink_metadata() {
        let found = if !there.is_dir() {
            "a file"
        } else if fs::read_dir(&to).map_err(fail)?.next().is_some() {
            "a directory that is not empty"
        } else {
            ""
        };
        if !found.is_empty() {
            return Err(CreateError::Exists { path: to, found });
        }
    }
    let temporary = tempfile::Builder::new()
        .prefix(&format!(".{name}-"))
        .permissions(fs::Permissions::from_mode(0o777))
        .tempdir_in(parent)
        .map_err(fail)?;
    for file in template::files(name, language, event) {
        write(temporary.path(), &file).map_err(fail)?;
    }
    // This fails if the place has been taken meanwhile: only an empty directory is replaced.
    fs::rename(temporary.path(), &to).map_err(fail)?;
    // Nothing is left to remove.
    drop(temporary.keep());
    Ok(to)
}

fn write(base: &Path, file: &NewFile) -> io::Result<()> {
    let path = base.join(&file.path);
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mode = if file.is_executable { 0o777 } else { 0o666 };
    let mut new = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    new.write_all(&file.content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_project_appears_as_a_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let name: Name = "guard".parse().unwrap();
        let new = || create(dir.path(), &name, Language::Script, &EventName::BeforeToolCall);
        let to = new().unwrap();
        assert_eq!(entries(&to), [".gitignore", "README.md", "cases", "guard"]);
        let mode = to.join("guard").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o100, 0o100, "{mode:o}");
        assert_eq!(
            new().unwrap_err().to_string().rsplit(", found ").next(),
            Some("a directory that is not empty")
        );

        fs::remove_dir_all(&to).unwrap();
        fs::write(&to, "mine").unwrap();
        assert!(matches!(new(), Err(CreateError::Exists { found: "a file", .. })));
        assert_eq!(fs::read_to_string(&to).unwrap(), "mine");
        fs::remove_file(&to).unwrap();
        std::os::unix::fs::symlink("elsewhere", &to).unwrap();
        assert!(matches!(new(), Err(CreateError::Exists { .. })));
        assert_eq!(entries(dir.path()), ["guard"]);

        fs::remove_file(&to).unwrap();
        fs::create_dir(&to).unwrap();
        new().unwrap();
        assert_eq!(entries(dir.path()), ["guard"]);
    }
}
