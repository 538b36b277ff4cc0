//! A scratch place for one run of a client.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// `home/` is HOME, `work/` the repository in which the client works.
pub(crate) struct Place {
    root: PathBuf,
    /// The program under test.
    pub(crate) hookbox: PathBuf,
    /// The directory of the client.
    pub(crate) client: PathBuf,
    /// The address of the model.
    pub(crate) url: String,
}

impl Place {
    /// An empty one in a directory.
    pub(crate) fn new(root: &Path, hookbox: &Path, client: &Path, url: String) -> io::Result<Self> {
        let place =
            Self { root: root.to_owned(), hookbox: hookbox.to_owned(), client: client.to_owned(), url };
        // A repository, as far as anyone looks.
        for dir in [place.home(), place.work().join(".git"), place.work().join("victim"), place.tmp()] {
            fs::create_dir_all(dir)?;
        }
        fs::write(place.work().join(".git/HEAD"), "ref: refs/heads/main\n")?;
        fs::write(place.work().join("victim/file"), "precious\n")?;
        Ok(place)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Returns the file of the warnings that a client without a terminal does not show.
    pub(crate) fn warnings(&self) -> PathBuf {
        self.root.join("warnings")
    }

    /// Returns the program that the client calls: the one under test, or a script that keeps the warnings if
    /// the client does not show them.
    pub(crate) fn program(&self, shows_warnings: bool) -> io::Result<PathBuf> {
        if shows_warnings {
            return Ok(self.hookbox.clone());
        }
        let script = self.root.join("hookbox");
        let (hookbox, warnings) = (self.hookbox.display(), self.warnings().display().to_string());
        fs::write(&script, format!("#!/bin/sh\nexec '{hookbox}' \"$@\" 2>>'{warnings}'\n"))?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        Ok(script)
    }

    /// Writes a file in the home.
    pub(crate) fn home_file(&self, path: &str, text: &str) -> io::Result<()> {
        write(&self.home().join(path), text)
    }

    /// Writes a file in the repository.
    pub(crate) fn work_file(&self, path: &str, text: &str) -> io::Result<()> {
        write(&self.work().join(path), text)
    }

    /// Puts a component among the user's hooks.
    pub(crate) fn component(&self, file: &Path) -> io::Result<()> {
        let name = file.file_name().unwrap_or_default();
        let to = self.home().join(".hookbox/hooks").join(name);
        fs::create_dir_all(to.parent().unwrap_or(&to))?;
        fs::copy(file, to).map(|_| ())
    }

    /// Puts a native hook of an event among the user's hooks, whose `run` is these lines.
    pub(crate) fn native(&self, name: &str, event: &str, run: &str) -> io::Result<()> {
        let path = format!(".hookbox/hooks/{name}");
        let text = format!(
            "#!/bin/sh\ncase \"$1\" in\nhook) echo {event} ;;\nrun)\n{run}\n;;\n*) exit 1 ;;\nesac\n"
        );
        self.home_file(&path, &text)?;
        fs::set_permissions(self.home().join(path), fs::Permissions::from_mode(0o755))
    }

    /// Returns the content of a file of the repository, if it exists.
    pub(crate) fn worked(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.work().join(path)).ok()
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    fs::write(path, text)
}
