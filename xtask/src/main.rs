//! Builds the hooks of this repository that run as components: `cargo hooks`. Checks the packages of its crates.
//!
//! They have workspaces and a target directory of their own, so that this never waits for the build that
//! started it.

mod bench;
mod corpus;
mod dist;
#[path = "../../crates/guards/build/nested.rs"]
mod nested;
mod package;
mod release;
mod screenshots;
mod tests;
mod tools;

use std::env;
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::SystemTime;

use tests::Load;

const USAGE: &str = "\
usage: cargo run -p xtask -- COMMAND

  hooks       build every sample hook into target/hooks/NAME.wasm, and the sample plugin into target/plugin
  demo        build every sample, and start the demo of the reference agent
  plugin      build the sample plugin into target/plugin, and nothing else
  twins       build the native form of the sample hooks that have one into target/hooks/native/NAME
  test-twins  build it for the tests, without optimization, into target/test-hooks/native/NAME
  test        run the tests of the README (`--under-load`: beside eight busy processes; `--beside PROGRAM`: beside this)
  test-all    run the tests, and those that need tools of PyPI or npm, node, a browser or a registry (same options)
  test-hooks  build the hooks of the tests into target/test-hooks/NAME.wasm
  test-clients  run real agents against a mock model, with hookbox as their hook command
  bench       measure hookbox beside what people would use instead (`--quick`: in two minutes, without the network; `--unoptimized`: only to see that it works; `--guards`: the guards only)
  fleet       test three servers of a composed service under load, of which one dies, one hangs and one is slow (`N`: the number of sessions; `--unoptimized`; `--demo`: a whole fleet, with users, a registry, a collector and Ray)
  tables      write what is generated: docs/src/wit.md and the events of the SDKs from wit/, the keys of hookbox.toml in the book and as a schema
  guards      build every guard into target/guards/NAME.wasm
  corpus      measure the guards with labelled commands (`--misses`, `--dir DIR`, `--write`, `--check`, `--preset PRESET`, `--peer`, `--generate N`)
  lines       count the code of each crate, and compare it with ceilings.toml (`--lower`: write lower numbers there)
  dist        build the program as packages have it, into target/dist/hookbox
  release     make the files of a release in target/release-files, for each target that can be built here (`TARGET…`: for these; `--check`: the packages of this system with the program of the tests, installed and used; `--join DIR`: with the programs of archives below a directory)
  screenshots  draw the pictures of the terminal in the book, and record one, with the program of the tests (`--check`: compare them)
  tools       install what the tests of Python, TypeScript, the report and composed services need into target/tools
  package     package every published crate, and compile the packages together, outside the repository's tree";

/// The sample that is the component of the sample plugin.
const OF_PLUGIN: &str = "audit-log";

/// The crate of the test hooks that writes components instead of being one.
const FORGE: &str = "forge";

/// The crate of the guards that measures them.
const RATES: &str = "rates";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let tree = Tree::here();
    let done = match args.as_slice() {
        ["hooks"] => tree.components("sample-hooks", "hooks").and_then(|()| tree.plugin()),
        ["demo", args @ ..] => tree.demo(args),
        ["plugin"] => nested::require_target()
            .map_err(Into::into)
            .and_then(|()| tree.component("sample-hooks", "hooks", OF_PLUGIN))
            .and_then(|()| tree.plugin()),
        ["twins"] => tree.twins("release", "hooks/native"),
        ["test-twins"] => tree.twins("dev", "test-hooks/native"),
        ["test", args @ ..] => Load::of(args).and_then(|load| tree.test(&load)),
        ["test-all", args @ ..] => Load::of(args).and_then(|load| tree.test_all(&load)),
        ["test-hooks"] => tree.test_hooks(),
        ["test-clients", args @ ..] => tree.test_clients(args),
        ["bench", args @ ..] => tree.bench(args),
        ["fleet", args @ ..] => tree.fleet(args),
        ["tables"] => tree.tables(),
        ["guards"] => tree.components("guards", "guards"),
        ["corpus", args @ ..] => tree.corpus(args),
        ["lines", args @ ..] => tree.lines(args),
        ["dist"] => tree.dist(),
        ["release", "--check"] => tree.check_release(),
        ["release", "--join", directory] => tree.join_release(directory),
        ["release", targets @ ..] => tree.release(targets),
        ["screenshots"] => tree.screenshots(false),
        ["screenshots", "--check"] => tree.screenshots(true),
        ["tools"] => tree.tools(),
        ["package"] => tree.package(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The repository and its target directory.
struct Tree {
    root: PathBuf,
    target: PathBuf,
}

impl Tree {
    fn here() -> Self {
        let xtask = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = xtask.parent().unwrap_or(&xtask).to_owned();
        let target = match env::var_os("CARGO_TARGET_DIR").map(PathBuf::from) {
            Some(dir) if dir.is_absolute() => dir,
            Some(dir) => env::current_dir().unwrap_or_else(|_| root.clone()).join(dir),
            None => root.join("target"),
        };
        Self { root, target }
    }

    /// Builds every crate of a workspace as a component, and copies it to `target/<out>/<name>.wasm`.
    fn components(&self, workspace: &str, out: &str) -> Result<(), Box<dyn Error>> {
        nested::require_target()?;
        for name in self.crates(workspace)?.iter().filter(|name| *name != RATES) {
            self.component(workspace, out, name)?;
        }
        Ok(())
    }

    /// Builds one crate of a workspace as a component, and copies it to `target/<out>/<name>.wasm`.
    fn component(&self, workspace: &str, out: &str, name: &str) -> Result<(), Box<dyn Error>> {
        let built = nested::component(&self.root.join(workspace), &self.guests(), name)?;
        self.install(&built, &self.target.join(out).join(format!("{name}.wasm")))
    }

    /// Builds the components of the tests. One cargo builds most of them at the same time: they have no native form.
    fn test_hooks(&self) -> Result<(), Box<dyn Error>> {
        nested::require_target()?;
        let workspace = "tests/guests";
        let mut build = nested::cargo(&self.root.join(workspace), &self.guests());
        build.args(["build", "--quiet", "--release", "--lib", "--target", nested::TARGET]);
        run(build.args(["--workspace", "--exclude", FORGE]), "build the hooks of the tests")?;
        for name in self.crates(workspace)?.iter().filter(|name| *name != FORGE) {
            let built = nested::built(&self.guests(), name);
            self.install(&built, &self.target.join(format!("test-hooks/{name}.wasm")))?;
        }
        self.forge()
    }

    /// Copies the sample plugin and its component to `target/plugin`, and removes older files there.
    fn plugin(&self) -> Result<(), Box<dyn Error>> {
        let (from, to) = (self.root.join("sample-hooks/plugin"), self.target.join("plugin"));
        let component = format!("{OF_PLUGIN}.wasm");
        let mut wanted = files(&from)?;
        for file in &wanted {
            self.install(&from.join(file), &to.join(file))?;
        }
        let place = Path::new("hooks").join(&component);
        self.install(&self.target.join("hooks").join(&component), &to.join(&place))?;
        wanted.push(place);
        for file in files(&to)?.iter().filter(|file| !wanted.contains(file)) {
            fs::remove_file(to.join(file))?;
        }
        Ok(())
    }

    /// Builds the native form of the samples that have one into this directory: for the tests with the profile `dev`, because
    /// link-time optimization takes long.
    fn twins(&self, profile: &str, out: &str) -> Result<(), Box<dyn Error>> {
        let mut build = nested::cargo(&self.root.join("sample-hooks"), &self.guests());
        build.args(["build", "--quiet", "--workspace", "--bins", "--profile", profile]);
        run(&mut build, "build the native samples")?;
        let built = self.guests().join(if profile == "dev" { "debug" } else { profile });
        for name in self.crates("sample-hooks")? {
            if self.root.join("sample-hooks").join(&name).join("src/main.rs").is_file() {
                let file = format!("{name}{}", env::consts::EXE_SUFFIX);
                self.install(&built.join(&file), &self.target.join(out).join(&file))?;
            }
        }
        Ok(())
    }

    /// Builds and runs what writes the components that no compiler would make, for the tests, if there is anything new for
    /// it to read.
    fn forge(&self) -> Result<(), Box<dyn Error>> {
        self.cargo("tests/guests", &["build", "--package"], FORGE)?;
        let program = self.guests().join("debug").join(format!("{FORGE}{}", env::consts::EXE_SUFFIX));
        let (wat, wit) = (self.root.join("tests/guests/wat"), self.root.join("wit"));
        let real = self.guests().join("wasm32-wasip2/release/answers.wasm");
        let mut inputs = vec![program.clone(), real];
        for dir in [&wat, &wit] {
            inputs.extend(files(dir)?.into_iter().map(|file| dir.join(file)));
        }
        let inputs = inputs.iter().map(changed).collect::<Result<Vec<_>, _>>()?;
        let out = self.target.join("test-hooks");
        let stamp = out.join("random/forged");
        if changed(&stamp).is_ok_and(|made| inputs.iter().all(|input| *input < made)) {
            return Ok(());
        }
        run(Command::new(&program).args([&wat, &wit, &out, &out]), "forge components")?;
        fs::write(&stamp, "").map_err(|error| format!("failed to write {}: {error}", stamp.display()).into())
    }

    /// Writes the files that are generated. Their writers are the tests that compare them, because the tests have a parser
    /// of WIT anyway.
    fn tables(&self) -> Result<(), Box<dyn Error>> {
        let mut command = cargo();
        command.current_dir(&self.root).env("HOOKBOX_WRITE_GOLDEN", "1");
        command.args(["test", "--workspace", "--quiet", "--", "is_the_one_that_is_generated"]);
        run(&mut command, "write the files")
    }

    /// Runs the crate `lines`. It is a crate of its own because it has a parser of Rust, which no other task needs.
    fn lines(&self, args: &[&str]) -> Result<(), Box<dyn Error>> {
        let mut command = cargo();
        command.current_dir(&self.root).args(["run", "--quiet", "--package", "lines", "--"]).args(args);
        run(&mut command, "keep the code below its ceilings")
    }

    /// Builds programs with the features that `cargo test --workspace` gives to their dependencies, so that it does not
    /// compile wasmtime once more.
    fn programs(&self, names: &[&str]) -> Result<(), Box<dyn Error>> {
        let mut build = cargo();
        build.current_dir(&self.root).args(["build", "--workspace"]);
        build.args(names.iter().flat_map(|name| ["--bin", name]));
        run(&mut build, &format!("build {}", names.join(" and ")))
    }

    /// Builds the reference agent and beside it the samples, and starts its demo in the directory of the caller.
    fn demo(&self, args: &[&str]) -> Result<(), Box<dyn Error>> {
        // The lines about each component would come between those of the other build.
        let hooks = Command::new(env::current_exe()?).arg("hooks").stdout(Stdio::null()).spawn();
        let mut hooks = hooks.map_err(|error| format!("failed to build the samples: {error}"))?;
        let programs = self.programs(&["hookbox-agent"]);
        let are_built = hooks.wait()?.success();
        programs?;
        if !are_built {
            return Err("failed to build the samples".into());
        }
        let mut command = Command::new(self.target.join("debug/hookbox-agent"));
        run(command.args(args), "show the demo")
    }

    /// Builds the programs of the test with real clients, and runs it.
    fn test_clients(&self, args: &[&str]) -> Result<(), Box<dyn Error>> {
        self.components("sample-hooks", "hooks")?;
        self.test_hooks()?;
        self.programs(&["hookbox", "test-clients"])?;
        let mut command = Command::new(self.target.join("debug").join("test-clients"));
        run(command.arg("--target").arg(&self.target).args(args), "make each client do what it must")
    }

    /// The target directory of the nested cargo.
    fn guests(&self) -> PathBuf {
        self.target.join("guests")
    }

    /// The crates of a workspace: its directories with a `Cargo.toml`, by name.
    fn crates(&self, workspace: &str) -> Result<Vec<String>, Box<dyn Error>> {
        let dir = self.root.join(workspace);
        let entries =
            fs::read_dir(&dir).map_err(|error| format!("failed to read {}: {error}", dir.display()))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            // A sample in several languages has its crate in a directory of its own.
            if ["Cargo.toml", "rust/Cargo.toml"].iter().any(|file| entry.path().join(file).is_file()) {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Runs the cargo that runs this, in another workspace.
    fn cargo(&self, workspace: &str, args: &[&str], package: &str) -> Result<(), Box<dyn Error>> {
        let mut command = nested::cargo(&self.root.join(workspace), &self.guests());
        run(command.args(args).args([package, "--quiet"]), &format!("build {package} of {workspace}"))
    }

    /// Copies a file atomically, and prints its size.
    fn install(&self, from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
        let fail = |error| format!("failed to copy {} to {}: {error}", from.display(), to.display());
        if let Some(dir) = to.parent() {
            fs::create_dir_all(dir).map_err(fail)?;
        }
        let part = to.with_extension(format!("part{}", std::process::id()));
        let size = fs::copy(from, &part).map_err(fail)?;
        fs::rename(&part, to).map_err(fail)?;
        let shown = to.strip_prefix(&self.root).unwrap_or(to);
        println!("{:>8} KiB  {}", format!("{}.{}", size / 1024, size % 1024 * 10 / 1024), shown.display());
        Ok(())
    }
}

/// Runs a command; an error names the purpose.
fn run(command: &mut Command, purpose: &str) -> Result<(), Box<dyn Error>> {
    let status = command.status().map_err(|error| format!("failed to {purpose}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("failed to {purpose}").into()) }
}

/// Makes an empty directory, or empties the one that is there.
fn emptied(dir: &Path) -> io::Result<()> {
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    fs::create_dir_all(dir)
}

/// Returns the cargo that runs this program, without the variables that it sets for this program: build
/// scripts of dependencies that read them would run again, and everything above them would be rebuilt.
fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into()));
    for (name, _) in env::vars_os() {
        let shown = name.to_string_lossy();
        if shown.starts_with("CARGO_PKG_") || shown.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Returns the time of a file's last change.
fn changed(path: impl AsRef<Path>) -> io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

/// The files below a directory, by their paths there.
fn files(dir: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(below) = waiting.pop() {
        let read = fs::read_dir(dir.join(&below));
        for entry in read.map_err(|error| format!("failed to read {}: {error}", dir.display()))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() { waiting.push(path) } else { files.push(path) }
        }
    }
    Ok(files)
}
