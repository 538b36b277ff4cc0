//! The presets and modes of the guards, their git, and the journal, in the user's settings file. Everything else in the file stays as
//! it is.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use hookbox::Mode;
use hookbox_system::files::{FileAccess, NewFile};
use hookbox_system::text::escape;
use toml_edit::{DocumentMut, Item, Table, TableLike, TomlError, Value, value};

use crate::{GUARDS, Guard, GuardsError, GuardsErrorKind, Preset};

/// The name of the file in a root.
const FILE: &str = "hookbox.toml";

/// The largest file that hookbox reads, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The mode of a new file, before the umask.
const MODE: u32 = 0o600;

/// The settings file of a root, such as `~/.hookbox/hookbox.toml`.
#[derive(Debug)]
pub struct SettingsFile {
    path: PathBuf,
    /// The text when it was read; `None` if there was no file.
    before: Option<String>,
    document: DocumentMut,
}

impl SettingsFile {
    /// Reads the file of a root of the user. A missing file has no settings.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or that is not TOML.
    pub fn read(root: &Path) -> Result<Self, GuardsError> {
        let path = root.join(FILE);
        let before = text(&path)?;
        let parsed = before.as_deref().unwrap_or_default().parse::<DocumentMut>();
        let document = parsed.map_err(|error| {
            let place = line(before.as_deref().unwrap_or_default(), &error);
            let message = format!("expected TOML, found at line {place}: {}", escape(error.message(), 200));
            GuardsError::new(&path, GuardsErrorKind::Settings(message))
        })?;
        Ok(Self { path, before, document })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text of the preset of a guard, which may not be one; `None` if the file sets none.
    pub fn preset(&self, guard: &Guard) -> Option<String> {
        let preset = self.settings(guard)?.get("preset")?;
        Some(preset.as_str().map_or_else(|| preset.to_string().trim().to_owned(), str::to_owned))
    }

    fn settings(&self, guard: &Guard) -> Option<&Item> {
        self.hook(guard)?.get("settings")
    }

    fn hook(&self, guard: &Guard) -> Option<&Item> {
        self.document.as_table().get("hooks")?.get(guard.hook())
    }

    /// Returns the mode of a guard.
    pub fn mode(&self, guard: &Guard) -> Mode {
        let mode = self.hook(guard).and_then(|it| it.get("mode")?.as_str());
        if mode == Some(Mode::Observe.as_str()) { Mode::Observe } else { Mode::Enforce }
    }

    /// Sets the preset of a guard.
    ///
    /// # Errors
    ///
    /// If another value is where a table belongs.
    pub fn set_preset(&mut self, guard: &Guard, preset: Preset) -> Result<(), GuardsError> {
        let heading = format!("[hooks.\"{}\".settings]", guard.hook());
        if self.settings(guard).is_none() && self.append(&heading, "preset", preset.as_str()) {
            return Ok(());
        }
        self.set(&["hooks", &guard.hook(), "settings"], "preset", preset.as_str())
    }

    /// Sets the mode of a guard.
    ///
    /// # Errors
    ///
    /// If another value is where a table belongs.
    pub fn set_mode(&mut self, guard: &Guard, mode: Mode) -> Result<(), GuardsError> {
        let heading = format!("[hooks.\"{}\"]", guard.hook());
        if self.hook(guard).is_none() && self.append(&heading, "mode", mode.as_str()) {
            return Ok(());
        }
        self.set(&["hooks", &guard.hook()], "mode", mode.as_str())
    }

    /// Sets a key of a table, which is made if it is missing.
    fn set(&mut self, keys: &[&str], name: &str, text: &str) -> Result<(), GuardsError> {
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for (depth, key) in keys.iter().enumerate() {
            let mut new = Table::new();
            // A table that only has tables needs no heading.
            new.set_implicit(depth + 1 < keys.len());
            let item = table.entry(key).or_insert(Item::Table(new));
            table = item.as_table_like_mut().ok_or_else(|| {
                let shown = keys.get(..=depth).unwrap_or_default().join(".");
                let message = format!("expected a table {shown}, found another value");
                GuardsError::new(&self.path, GuardsErrorKind::Settings(message))
            })?;
        }
        match table.get_mut(name).and_then(Item::as_value_mut) {
            // A comment behind the value stays.
            Some(old) => {
                let decor = old.decor().clone();
                *old = Value::from(text);
                *old.decor_mut() = decor;
            }
            None => {
                table.insert(name, value(text));
            }
        }
        Ok(())
    }

    /// Returns the program `git` that the file names.
    pub fn git(&self) -> Option<&Path> {
        self.document.as_table().get("git")?.get("program")?.as_str().map(Path::new)
    }

    /// Sets the program `git` that guards ask.
    ///
    /// # Errors
    ///
    /// If another value is where a table belongs.
    pub fn set_git(&mut self, program: &str) -> Result<(), GuardsError> {
        if self.append("[git]", "program", program) {
            return Ok(());
        }
        self.set(&["git"], "program", program)
    }

    /// Returns true if the file has settings of the journal.
    pub fn has_journal(&self) -> bool {
        self.document.contains_key("journal")
    }

    /// Makes hookbox record events, or not. Returns false if the file has settings of the journal.
    pub fn set_journal(&mut self, enabled: bool) -> bool {
        self.append("[journal]", "enabled", enabled)
    }

    /// Appends a table with one key, so that it comes after every comment. Returns false if the file has this table, or a
    /// value or an inline table where it belongs.
    fn append(&mut self, heading: &str, name: &str, set: impl Into<Value>) -> bool {
        let before = self.document.to_string();
        let gap = match before.as_str() {
            "" => "",
            it if it.ends_with("\n\n") => "",
            it if it.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        let appended = format!("{before}{gap}{heading}\n{name} = {}\n", set.into());
        match appended.parse() {
            Ok(document) => self.document = document,
            Err(_) => return false,
        }
        true
    }

    /// Removes all settings of a guard. Returns false if there are none.
    pub fn forget(&mut self, guard: &Guard) -> bool {
        let hooks = self.document.get_mut("hooks").and_then(Item::as_table_like_mut);
        hooks.is_some_and(|hooks| hooks.remove(&guard.hook()).is_some())
    }

    /// Removes the settings that commands write for the user: of the guards, of the journal and of `git`.
    pub fn forget_all(&mut self) {
        for guard in &GUARDS {
            self.forget(guard);
        }
        for key in ["journal", "git"] {
            self.document.remove(key);
        }
    }

    /// Removes the file, if it has nothing but blanks. Otherwise writes it.
    ///
    /// # Errors
    ///
    /// As [`Self::write`] does.
    pub fn write_or_remove(&self) -> Result<(), GuardsError> {
        let is_ours = self.before.as_ref().is_some_and(|before| !before.trim().is_empty());
        if !is_ours || !self.document.to_string().trim().is_empty() {
            return self.write();
        }
        if text(&self.path)? != self.before {
            return Err(GuardsError::new(&self.path, GuardsErrorKind::Changed));
        }
        fs::remove_file(&self.path).map_err(|error| GuardsError::io(&self.path, error))
    }

    /// Writes the file in one step, if it was changed. A symlink stays, and so do the mode and the owner's rights.
    ///
    /// # Errors
    ///
    /// The system's own, and [`GuardsErrorKind::Changed`] if another process changed the file since it was read.
    pub fn write(&self) -> Result<(), GuardsError> {
        let mut after = self.document.to_string();
        // The document has forgotten these.
        if self.before.as_ref().is_some_and(|before| before.contains("\r\n")) {
            after = after.replace('\n', "\r\n");
        }
        if self.before.as_deref().unwrap_or_default() == after {
            return Ok(());
        }
        if text(&self.path)? != self.before {
            return Err(GuardsError::new(&self.path, GuardsErrorKind::Changed));
        }
        self.replace(after.as_bytes()).map_err(|error| GuardsError::io(&self.path, error))
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        if let Some(root) = self.path.parent() {
            fs::create_dir_all(root)?;
        }
        // A dotfile manager keeps the file elsewhere.
        let real = if self.before.is_some() { self.path.canonicalize()? } else { self.path.clone() };
        let (Some(directory), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let directory = Dir::open_ambient_dir(directory, ambient_authority())?;
        NewFile::sweep(&directory, Path::new(name));
        let new = NewFile::create(&directory, Path::new(name), MODE)?;
        new.file().write_all(bytes)?;
        if self.before.is_none() {
            return new.place();
        }
        let mode = fs::metadata(&real)?.permissions().mode() & 0o7777;
        new.file().set_permissions(Permissions::from_mode(mode))?;
        new.replace()
    }
}

/// Reads a file; `None` if it does not exist.
fn text(path: &Path) -> Result<Option<String>, GuardsError> {
    let Some(read) = FileAccess::Global.read_if_exists(path, MAX_BYTES) else { return Ok(None) };
    let bytes = read.map_err(|error| GuardsError::io(path, error))?;
    let text = String::from_utf8(bytes);
    let message = "expected text in UTF-8".to_owned();
    text.map(Some).map_err(|_| GuardsError::new(path, GuardsErrorKind::Settings(message)))
}

/// Returns the number of the line of an error.
fn line(text: &str, error: &TomlError) -> usize {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    before.bytes().filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn git() -> &'static Guard {
        Guard::named("git").unwrap()
    }

    /// The text after a change of a file with this text.
    fn after(text: &str, change: impl FnOnce(&mut SettingsFile)) -> String {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(FILE), text).unwrap();
        let mut file = SettingsFile::read(temp.path()).unwrap();
        change(&mut file);
        file.write().unwrap();
        fs::read_to_string(temp.path().join(FILE)).unwrap()
    }

    #[test]
    fn a_preset_is_set_and_everything_else_stays() {
        let mine = "# mine\nno_hooks = false # not now\n\n[hooks.\"b.sh\"]\nenabled = false\n";
        let table = "[hooks.\"git.wasm\".settings]\n";
        for (before, want) in [
            ("", format!("{table}preset = \"strict\"\n")),
            (mine, format!("{mine}\n{table}preset = \"strict\"\n")),
            (
                &format!("{table}preset = \"relaxed\" # for now\nallow = [\"git clean\"] # always\n"),
                format!("{table}preset = \"strict\" # for now\nallow = [\"git clean\"] # always\n"),
            ),
            (
                "[hooks]\n\"git.wasm\".settings = { allow = [] }\n",
                "[hooks]\n\"git.wasm\".settings = { allow = [] , preset = \"strict\" }\n".to_owned(),
            ),
            (
                "hooks = { \"git.wasm\" = { timeout = 3 } }\n",
                "hooks = { \"git.wasm\" = { timeout = 3 , settings.preset = \"strict\" } }\n".to_owned(),
            ),
            (
                "[hooks.\"git.wasm\"]\ntimeout = 3\n\n[plugins]\ngit_host = \"x\"\n",
                format!(
                    "[hooks.\"git.wasm\"]\ntimeout = 3\n\n[plugins]\ngit_host = \"x\"\n\n{table}preset = \"strict\"\n"
                ),
            ),
            ("# mine", format!("# mine\n\n{table}preset = \"strict\"\n")),
            ("a = 1\r\n", "a = 1\r\n\r\n[hooks.\"git.wasm\".settings]\r\npreset = \"strict\"\r\n".to_owned()),
        ] {
            let found = after(before, |file| {
                file.set_preset(git(), Preset::Strict).unwrap();
                assert_eq!(file.preset(git()).as_deref(), Some("strict"));
            });
            assert_eq!(found, want, "{before}");
        }
    }

    #[test]
    fn a_git_is_set_and_replaced() {
        let table = "[git]\nprogram = \"/opt/git\"\n";
        for (before, was, want) in [
            ("", None, table.to_owned()),
            ("# mine\n", None, format!("# mine\n\n{table}")),
            (
                "[git]\nprogram = \"/old/git\" # mine\n",
                Some("/old/git"),
                table.replace("t\"\n", "t\" # mine\n"),
            ),
            ("git = {}\n", None, "git = { program = \"/opt/git\" }\n".to_owned()),
        ] {
            let found = after(before, |file| {
                assert_eq!(file.git(), was.map(Path::new), "{before}");
                file.set_git("/opt/git").unwrap();
                assert_eq!(file.git(), Some(Path::new("/opt/git")));
            });
            assert_eq!(found, want, "{before}");
        }
    }

    #[test]
    fn a_mode_is_set_beside_the_settings() {
        let settings = "[hooks.\"git.wasm\".settings]\npreset = \"strict\"\n";
        for (before, was, want) in [
            ("", Mode::Enforce, "[hooks.\"git.wasm\"]\nmode = \"observe\"\n".to_owned()),
            (
                "[hooks.\"git.wasm\"]\nmode = \"enforce\" # now\n",
                Mode::Enforce,
                "[hooks.\"git.wasm\"]\nmode = \"observe\" # now\n".to_owned(),
            ),
            (settings, Mode::Enforce, format!("[hooks.\"git.wasm\"]\nmode = \"observe\"\n{settings}")),
        ] {
            let found = after(before, |file| {
                assert_eq!(file.mode(git()), was, "{before}");
                file.set_mode(git(), Mode::Observe).unwrap();
                assert_eq!(file.mode(git()), Mode::Observe);
            });
            assert_eq!(found, want, "{before}");
        }
        for text in ["mode = \"obzerve\"", "mode = 3", "observe = true"] {
            let text = format!("[hooks.\"git.wasm\"]\n{text}\n");
            after(&text, |file| assert_eq!(file.mode(git()), Mode::Enforce, "{text}"));
        }
    }

    #[test]
    fn the_settings_of_a_guard_are_forgotten_and_no_others() {
        let mine = "[hooks.\"secrets.wasm\".settings]\npreset = \"strict\"\n";
        let text = format!("[hooks.\"git.wasm\".settings]\npreset = \"relaxed\"\n\n{mine}");
        let found = after(&text, |file| {
            assert!(file.forget(git()));
            assert!(!file.forget(git()));
            assert_eq!(file.preset(git()), None);
        });
        assert_eq!(found.trim_start(), mine);
        assert_eq!(after(mine, |file| assert!(!file.forget(git()))), mine);
    }

    #[test]
    fn a_preset_that_is_not_one_is_shown_as_it_is() {
        for (text, want) in [("\"strickt\"", "strickt"), ("3", "3"), ("[]", "[]")] {
            let text = format!("[hooks.\"git.wasm\".settings]\npreset = {text}\n");
            after(&text, |file| assert_eq!(file.preset(git()).as_deref(), Some(want)));
        }
    }

    #[test]
    fn a_file_that_cannot_be_changed_stays() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join(FILE);
        for (text, want) in
            [("a = 1\nb = \n", "line 2"), ("hooks = 3\n", "expected a table hooks"), ("a = \"\\x\"", "TOML")]
        {
            fs::write(&path, text).unwrap();
            let done =
                SettingsFile::read(temp.path()).and_then(|mut it| it.set_preset(git(), Preset::Strict));
            let error = done.unwrap_err().to_string();
            assert!(error.contains(want) && error.contains(FILE), "{error}");
        }
        fs::write(&path, [0xff]).unwrap();
        assert!(SettingsFile::read(temp.path()).unwrap_err().to_string().contains("UTF-8"));
        // Another process was faster.
        fs::write(&path, "").unwrap();
        let mut file = SettingsFile::read(temp.path()).unwrap();
        file.set_preset(git(), Preset::Strict).unwrap();
        fs::write(&path, "# theirs\n").unwrap();
        assert!(matches!(file.write().unwrap_err().kind, GuardsErrorKind::Changed));
        assert_eq!(fs::read_to_string(&path).unwrap(), "# theirs\n");
    }

    #[test]
    fn a_symlink_and_a_mode_stay_and_a_new_file_is_private() {
        let temp = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
        let set = |root: &Path| {
            let mut file = SettingsFile::read(root).unwrap();
            file.set_preset(git(), Preset::Strict).unwrap();
            file.write().unwrap();
        };
        let new = temp.path().join("new");
        set(&new);
        assert_eq!(mode(&new.join(FILE)), 0o600);
        let (real, root) = (temp.path().join("real.toml"), temp.path().join("root"));
        fs::write(&real, "# mine\n").unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        fs::create_dir(&root).unwrap();
        symlink(&real, root.join(FILE)).unwrap();
        set(&root);
        assert!(fs::symlink_metadata(root.join(FILE)).unwrap().is_symlink());
        assert_eq!(mode(&real), 0o640);
        assert!(fs::read_to_string(&real).unwrap().starts_with("# mine\n"));
    }
}
