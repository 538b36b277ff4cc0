//! The temporary directories of a case.

use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use hookbox_system::limits;
use serde_json::Value;

/// The files that declare hooks.
const DECLARING: [&str; 2] = ["hooks.json", "mcp.json"];

/// The largest number of files of the working directory that are compared.
const MAX_FILES: usize = 1_000;

/// The deepest directory below the working directory that is looked into.
const MAX_DEPTH: usize = 16;

/// The temporary directories of a case.
pub(super) struct Place {
    root: PathBuf,
}

/// The way in which a file contains hooks.
enum Shape {
    /// It is a hook.
    File,
    /// It declares hooks, whose paths are relative to this directory.
    Root { base: PathBuf },
    /// It declares the hooks of the plugin in this directory.
    Plugin { dir: PathBuf },
}

impl Shape {
    fn of(hook: &Path) -> Self {
        let parent = hook.parent().unwrap_or(hook);
        let above = parent.parent().unwrap_or(parent);
        let called = parent.file_name().unwrap_or_default().to_string_lossy();
        match hook.file_name().and_then(|name| name.to_str()) {
            Some("hooks.json") if called == "hooks" => Self::Plugin { dir: above.to_owned() },
            Some(name) if DECLARING.contains(&name) => {
                let base = if called.starts_with('.') { above } else { parent };
                Self::Root { base: base.to_owned() }
            }
            _ => Self::File,
        }
    }
}

impl Place {
    /// Names the directories below a temporary directory.
    pub(super) fn at(root: &Path) -> io::Result<Self> {
        // Paths in the hook's texts have no symlinks.
        Ok(Self { root: root.canonicalize()? })
    }

    /// Makes the directories. The working directory is below the home directory, so that no repository around the
    /// temporary directory counts.
    pub(super) fn make(&self) -> io::Result<()> {
        fs::create_dir_all(self.work())?;
        fs::create_dir_all(self.settings().parent().unwrap_or(&self.root))?;
        fs::create_dir_all(self.temporary())?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(self.data())
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(super) fn work(&self) -> PathBuf {
        self.root.join("home/work")
    }

    pub(super) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Returns the file with the settings of the hook.
    pub(super) fn settings(&self) -> PathBuf {
        self.home().join(".hookbox/hookbox.toml")
    }

    /// Links the hook, and all that its commands may run, into the home directory. Call it after
    /// [`Place::put_files`]: no file of a case is written through a link.
    pub(super) fn put_hook(&self, hook: &Path) -> io::Result<()> {
        let root = self.home().join(".hookbox");
        match Shape::of(hook) {
            Shape::File => {
                fs::create_dir_all(root.join("hooks"))?;
                symlink(hook, root.join("hooks").join(hook.file_name().unwrap_or_default()))
            }
            Shape::Root { base } => {
                let beside = hook.parent().unwrap_or(hook);
                for name in DECLARING.iter().filter(|name| beside.join(name).is_file()) {
                    symlink(beside.join(name), root.join(name))?;
                }
                // Commands run in the home directory, or those of another shape in the working directory.
                link_entries(&base, &self.home())?;
                link_entries(&base, &self.work())
            }
            Shape::Plugin { dir } => {
                let plugin = root.join("plugins/plugin@test");
                fs::create_dir_all(&plugin)?;
                link_entries(&dir, &plugin)
            }
        }
    }

    /// Returns the identity of a hook's state, which depends on its name, or on the path of a declared component.
    pub(super) fn identity(&self, hook: &Path, name: &str, path: Option<&Path>) -> String {
        let base = match Shape::of(hook) {
            Shape::File => return name.to_owned(),
            Shape::Root { .. } => self.home(),
            Shape::Plugin { .. } => self.home().join(".hookbox/plugins/plugin@test"),
        };
        let path = path.unwrap_or(hook);
        format!("/{}", path.strip_prefix(base).unwrap_or(path).display())
    }

    /// Writes the files of the working directory and the home directory. Their paths were checked when the case was
    /// read.
    pub(super) fn put_files(&self, files: &BTreeMap<String, String>) -> io::Result<()> {
        for (path, text) in files {
            match split(path) {
                Some((Base::Work, path)) => put(&self.work(), path, text)?,
                Some((Base::Home, path)) => put(&self.home(), path, text)?,
                // The hooks are not known yet.
                Some((Base::Data, _)) | None => {}
            }
        }
        Ok(())
    }

    /// Writes the files of the data directory of each hook, by its identity.
    pub(super) fn put_data(&self, files: &BTreeMap<String, String>, identities: &[String]) -> io::Result<()> {
        for (path, text) in files {
            let Some((Base::Data, path)) = split(path) else { continue };
            for identity in identities {
                put(&self.data_of(identity), path, text)?;
            }
        }
        Ok(())
    }

    /// Returns the data directory of a hook with this identity, which may not exist.
    fn data_of(&self, identity: &str) -> PathBuf {
        self.data().join("hooks").join(identity)
    }

    /// Returns the files that are not as they were, and `None` for those that are gone.
    pub(super) fn changed_files(
        &self,
        before: &BTreeMap<String, String>,
        identities: &[String],
    ) -> io::Result<BTreeMap<String, Option<String>>> {
        let mut now = BTreeMap::new();
        collect(&self.work(), "", &mut now, MAX_DEPTH)?;
        for entry in fs::read_dir(self.home())? {
            let entry = entry?;
            let name = entry.file_name();
            if !OWN.iter().any(|own| name == *own) {
                collect_entry(&entry, "$HOME/", &mut now, MAX_DEPTH)?;
            }
        }
        for dir in identities.iter().map(|identity| self.data_of(identity)).filter(|dir| dir.is_dir()) {
            collect(&dir, "$DATA/", &mut now, MAX_DEPTH)?;
        }
        let gone = before.keys().filter(|path| !now.contains_key(*path)).map(|path| (path.clone(), None));
        let gone: Vec<_> = gone.collect();
        now.retain(|path, text| before.get(path) != Some(text));
        Ok(now.into_iter().map(|(path, text)| (path, Some(self.neutral(&text)))).chain(gone).collect())
    }

    /// Replaces the temporary directories in a text by names that do not change.
    pub(super) fn neutral(&self, text: &str) -> String {
        let text = text.replace(&*self.work().to_string_lossy(), "$REPO");
        text.replace(&*self.home().to_string_lossy(), "$HOME").replace(&*self.root.to_string_lossy(), "$TMP")
    }

    /// Replaces the temporary directories in the texts of a value.
    pub(super) fn neutral_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.neutral(text)),
            Value::Array(items) => items.iter().map(|item| self.neutral_value(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(key, value)| (key.clone(), self.neutral_value(value))).collect()
            }
            other => other.clone(),
        }
    }
}

/// Links each entry of a directory into another one, unless that has one of its name.
fn link_entries(from: &Path, into: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let link = into.join(entry.file_name());
        // A repository or a root of its own would change which hooks are found.
        let is_marker = [".git", ".hookbox", ".kodelet"].iter().any(|name| entry.file_name() == *name);
        if !is_marker && link.symlink_metadata().is_err() {
            symlink(entry.path(), link)?;
        }
    }
    Ok(())
}

/// Writes a file, for the user alone, as programs keep their data.
fn put(dir: &Path, path: &str, text: &str) -> io::Result<()> {
    let path = dir.join(path);
    if let Some(parent) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    fs::write(path, text)
}

/// Collects the regular files below a directory, without following links.
fn collect(dir: &Path, below: &str, found: &mut BTreeMap<String, String>, depth: usize) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        collect_entry(&entry?, below, found, depth)?;
    }
    Ok(())
}

fn collect_entry(
    entry: &fs::DirEntry,
    below: &str,
    found: &mut BTreeMap<String, String>,
    depth: usize,
) -> io::Result<()> {
    let kind = entry.file_type()?;
    let name = format!("{below}{}", entry.file_name().to_string_lossy());
    if kind.is_dir() && depth > 0 {
        collect(&entry.path(), &format!("{name}/"), found, depth - 1)?;
    } else if kind.is_file() && found.len() < MAX_FILES && entry.metadata()?.len() <= limits::FILE {
        found.insert(name, String::from_utf8_lossy(&fs::read(entry.path())?).into_owned());
    }
    Ok(())
}

/// The directory that a path of a case begins at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// The working directory.
    Work,
    /// The home directory.
    Home,
    /// The data directory of the hook.
    Data,
}

/// The names in the home directory that are the surroundings of the case itself.
pub(super) const OWN: [&str; 2] = [".hookbox", "work"];

/// The words that say which paths are possible.
pub(super) const PATH_HINT: &str =
    "write a relative path, $HOME/… or $DATA/…, without .., and not below $HOME/.hookbox";

/// Splits the path of a file in a case: the directory, and the path in it. `None` if it leads elsewhere.
pub(super) fn split(path: &str) -> Option<(Base, &str)> {
    let (base, rest) = match path.split_once('/') {
        Some(("$HOME", rest)) => (Base::Home, rest),
        Some(("$DATA", rest)) => (Base::Data, rest),
        _ => (Base::Work, path),
    };
    let mut parts = rest.split('/');
    let first = parts.clone().next().unwrap_or_default();
    let is_plain = parts.all(|part| {
        let mut names = Path::new(part).components();
        matches!((names.next(), names.next()), (Some(Component::Normal(_)), None)) && !part.contains('\0')
    });
    let is_own = base == Base::Home && OWN.contains(&first);
    (is_plain && !first.starts_with('$') && !is_own).then_some((base, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_its_directory() {
        for (path, want) in [
            ("a", Some((Base::Work, "a"))),
            ("sub/a.txt", Some((Base::Work, "sub/a.txt"))),
            (".kodelet/a", Some((Base::Work, ".kodelet/a"))),
            ("$HOME/.kodelet/audit.log", Some((Base::Home, ".kodelet/audit.log"))),
            ("$DATA/audit.jsonl", Some((Base::Data, "audit.jsonl"))),
            ("", None),
            ("/etc/passwd", None),
            ("../up", None),
            ("a/../../up", None),
            ("a//b", None),
            ("a/", None),
            ("./a", None),
            ("a/.", None),
            ("a\0b", None),
            ("$HOME", None),
            ("$HOME/", None),
            ("$HOME//etc/passwd", None),
            ("$HOME/../up", None),
            ("$HOME/.hookbox/hookbox.toml", None),
            ("$HOME/work/a", None),
            ("$DATA/../up", None),
            ("$DAATA/a", None),
            ("$TMP/a", None),
        ] {
            assert_eq!(split(path), want, "{path:?}");
        }
    }
}
