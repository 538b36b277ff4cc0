//! The files that the bench needs: built hooks, the program, and the peers.

use std::path::{Path, PathBuf};

/// The repository and its target directory, with everything that `cargo xtask bench` has built.
pub(crate) struct Place {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
}

impl Place {
    pub(crate) fn find() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        Self { root, target }
    }

    /// A sample hook, such as `guardrail.wasm`, or `native/guardrail`.
    pub(crate) fn hook(&self, name: &str) -> PathBuf {
        self.target.join("hooks").join(name)
    }

    /// A guard, as a component.
    pub(crate) fn guard(&self, name: &str) -> PathBuf {
        self.target.join("guards").join(format!("{name}.wasm"))
    }

    /// A component of the tests, such as `floor.wasm`.
    pub(crate) fn test_hook(&self, name: &str) -> PathBuf {
        self.target.join("test-hooks").join(name)
    }

    /// A peer that `cargo xtask bench` has installed; `None` with a line on standard error if it is absent.
    pub(crate) fn peer(&self, path: &str) -> Option<PathBuf> {
        let path = self.target.join("bench/peers").join(path);
        if !path.exists() {
            eprintln!("   absent: {} (a full `cargo xtask bench` installs it)", path.display());
            return None;
        }
        Some(path)
    }

    /// The program `hookbox`, as packages have it, in a directory of its own; `None` if it is not built.
    ///
    /// It is a copy, as every installed program is one: the system keeps the file that a linker has written in single
    /// pages, and starting that one takes half as long again.
    pub(crate) fn program(&self, installed: &Path) -> Option<PathBuf> {
        let built = self.target.join("dist/hookbox");
        if !built.exists() {
            eprintln!("   absent: {} (a full `cargo xtask bench` builds it)", built.display());
            return None;
        }
        let path = installed.join("hookbox");
        std::fs::copy(built, &path).unwrap();
        Some(path)
    }
}

/// Returns the interpreter of python itself: a version manager puts a slow script before it.
pub(crate) fn python() -> &'static Path {
    static PYTHON: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    PYTHON.get_or_init(|| {
        let args = ["-c", "import sys; print(sys.executable)"];
        let output = std::process::Command::new("python3").args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().into()
    })
}
