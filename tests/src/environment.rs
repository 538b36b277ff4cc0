//! A place of its own for each test, with nothing of the real user's in it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use hookbox::manager::DEFAULT_ROOTS;
use hookbox::manager::{Builder, Manager};
use hookbox::{Allocation, Runtime};
use serde_json::Value;
use tempfile::TempDir;

/// A temporary directory with `repo/` (the working directory), `home/` (HOME) and `bin/` (first on PATH).
pub(crate) struct TestEnvironment {
    dir: TempDir,
    variables: BTreeMap<String, String>,
}

/// The commands of the program that find hooks.
const TAKES_HOME: [&str; 15] = [
    "allow", "approve", "bridge", "cache", "explain", "grants", "guard", "list", "log", "mcp", "plugin",
    "replay", "run", "trust", "untrust",
];

/// The result of the program.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// The one JSON value on standard output of a program that succeeded.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:#?}");
        assert_eq!(self.stdout.lines().count(), 1, "one line of JSON: {self:#?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

impl TestEnvironment {
    pub(crate) fn new() -> Self {
        let dir = TempDir::with_prefix("hookbox-test-").unwrap();
        let env = Self { dir, variables: BTreeMap::new() };
        for name in ["repo", "home", "bin", "tmp"] {
            env.directory(name);
        }
        // Compiled code is shared by all tests, so that each component is compiled once; nothing else is.
        env.directory("home/.cache/hookbox");
        fs::set_permissions(env.path("home/.cache/hookbox"), fs::Permissions::from_mode(0o700)).unwrap();
        symlink(compiled(), env.path("home/.cache/hookbox/code")).unwrap();
        env
    }

    /// A path in it; an absolute one stays.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        // The system may keep its temporary files behind a symlink.
        self.dir.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }

    pub(crate) fn directory(&self, path: &str) -> &Self {
        fs::create_dir_all(self.path(path)).unwrap();
        self
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn mode(&self, path: &str, mode: u32) -> &Self {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    /// An executable file.
    pub(crate) fn script(&self, path: &str, text: &str) -> &Self {
        self.file(path, text).mode(path, 0o755)
    }

    pub(crate) fn symlink(&self, path: &str, target: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    /// A copy of a component, or of another file.
    pub(crate) fn copy(&self, path: &str, from: &Path) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(from, path).unwrap();
        self
    }

    /// A native hook for this event whose `run` is these lines of bash.
    pub(crate) fn native(&self, path: &str, event: &str, run: &str) -> &Self {
        self.script(
            path,
            &format!(
                "#!/bin/bash\ncase \"$1\" in\nhook) echo {event};;\nrun)\n{run}\n;;\n*) exit 1;;\nesac\n"
            ),
        )
    }

    /// A variable for the program.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// A program that sees this place and nothing else of the machine than the system's own programs.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path("repo"))
            .env_clear()
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.path("bin").display()))
            .env("XDG_CACHE_HOME", self.path("home/.cache"))
            .env("XDG_DATA_HOME", self.path("home/.local/share"))
            .env("XDG_CONFIG_HOME", self.path("home/.config"))
            .envs(&self.variables)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program `hookbox` with nothing on standard input.
    pub(crate) fn hookbox<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        finish(self.command(program()).args(self.args(args)).spawn().unwrap(), None)
    }

    /// Returns the arguments. If the user who runs the tests has hooks, they name the home directory of the
    /// test, because the program would report those hooks as hidden. `install` adds no guards, which take their time to
    /// compile, unless a test gives `--guards` or `--preset`.
    fn args<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Vec<OsString> {
        let mut args: Vec<OsString> = args.into_iter().map(|it| it.as_ref().to_owned()).collect();
        let takes_home = args.first().is_some_and(|it| TAKES_HOME.iter().any(|name| it == name));
        let names_home = args.iter().any(|it| it == "--home") || self.variables.contains_key("HOME");
        let own = std::env::home_dir().unwrap_or_default();
        let says = |options: &[&str]| args.iter().any(|it| options.iter().any(|option| it == option));
        if says(&["install"]) && !says(&["--guards", "--preset", "--project", "--system", "--system-root"]) {
            args.extend(["--guards".into(), "none".into()]);
        }
        if takes_home && !names_home && DEFAULT_ROOTS.iter().any(|root| own.join(root).exists()) {
            args.extend(["--home".into(), self.path("home").into()]);
        }
        args
    }

    /// Runs the program `hookbox` with this on standard input.
    pub(crate) fn hookbox_with<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        input: impl AsRef<[u8]>,
    ) -> Output {
        self.run(self.command(program()).args(self.args(args)), input)
    }

    /// Returns a command that gives the program a terminal, and takes the words that are typed there on standard input.
    /// The terminal shows no typed word, which would land in the middle of another line.
    pub(crate) fn on_a_terminal(&self, args: &[&str]) -> Command {
        self.on_a_terminal_after("true", args)
    }

    /// Does the same with a terminal on which this shell command, such as `stty cols 80`, was run.
    pub(crate) fn on_a_terminal_after(&self, first: &str, args: &[&str]) -> Command {
        let program = program().to_string_lossy().into_owned();
        let words = std::iter::once(program.as_str()).chain(args.iter().copied());
        let line = words.map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        let mut command = self.command("script");
        command.args(["-qe", "--echo", "never", "-c", &format!("{first}; {line}"), "/dev/null"]);
        command
    }

    /// Returns a command that runs the program of its further arguments with a disk of its own in this directory; `None` if
    /// no file system can be mounted here.
    pub(crate) fn with_disk(&self, directory: &str, size: &str) -> Option<Command> {
        let mount = format!(r#"mount -t tmpfs -o size={size},mode=700 none "$DISK" && exec "$@""#);
        // Not everybody may mount, but some may in a namespace of their own.
        [&["--mount"][..], &["--mount", "--map-root-user"]].into_iter().find_map(|namespace| {
            let command = || {
                let mut command = self.command("unshare");
                command.args(namespace).args(["sh", "-c", &mount, "sh"]).env("DISK", self.path(directory));
                command
            };
            command().arg("true").output().is_ok_and(|it| it.status.success()).then(command)
        })
    }

    /// Compiles a component, so that no event waits for it: on a busy machine that takes longer than an event may.
    #[track_caller]
    pub(crate) fn warm(&self, file: &Path) {
        let output = self.hookbox(["cache".as_ref(), "warm".as_ref(), file.as_os_str()]);
        assert_eq!(output.code, Some(0), "{output:#?}");
    }

    /// `hookbox run EVENT …` with this event; the JSON that it printed.
    #[track_caller]
    pub(crate) fn event(&self, args: &[&str], event: &Value) -> Value {
        self.hookbox_with([&["run"], args].concat(), event.to_string()).json()
    }

    /// `hookbox list --json …`; the array without the built-in hooks.
    #[track_caller]
    pub(crate) fn list(&self, args: &[&str]) -> Vec<Value> {
        let mut rows = self.list_all(args);
        rows.retain(|row| row["kind"] != "builtin");
        rows
    }

    /// `hookbox list --json …`; the array.
    #[track_caller]
    pub(crate) fn list_all(&self, args: &[&str]) -> Vec<Value> {
        self.hookbox([&["list", "--json"], args].concat()).json().as_array().unwrap().clone()
    }

    /// Runs a command with this on standard input.
    pub(crate) fn run(&self, command: &mut Command, input: impl AsRef<[u8]>) -> Output {
        command.stdin(Stdio::piped());
        loop {
            match command.spawn() {
                // A process that another test starts has the file of a new program open until it runs its own.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                child => return finish(child.unwrap(), Some(input.as_ref())),
            }
        }
    }

    /// A builder of a manager for this place. Components are compiled once a process.
    pub(crate) fn builder(&self) -> Builder {
        Manager::builder()
            .cwd(self.path("repo"))
            .home(self.path("home"))
            .cache(None)
            .data(Some(self.path("home/.local/share/hookbox")))
            .runtime(runtime())
            .managed(None)
            .builtins(false)
    }
}

/// Does this with each item at the same time, because hooks that hang and deadlines take no processor.
pub(crate) fn side_by_side<T: Send>(items: impl IntoIterator<Item = T>, each: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        for item in items {
            scope.spawn(|| each(item));
        }
    });
}

fn finish(mut child: Child, input: Option<&[u8]>) -> Output {
    let stdin = child.stdin.take();
    std::thread::scope(|scope| {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // The program need not read it.
            scope.spawn(move || drop(stdin.write_all(input)));
        }
        let output = child.wait_with_output().unwrap();
        Output {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    })
}

/// Returns the directory of the build: the test runs as `<target>/<profile>/deps/<name>`.
fn profile() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    exe.parent().and_then(Path::parent).unwrap().to_owned()
}

pub(crate) fn target() -> PathBuf {
    profile().parent().unwrap().to_owned()
}

/// Returns a directory of `cargo xtask tools`.
pub(crate) fn language_tools(directory: &str) -> PathBuf {
    let path = repository().join("target/tools").join(directory);
    assert!(path.is_dir(), "target/tools/{directory} is missing; hint: cargo xtask tools");
    path
}

/// The program. `cli/tests/version.rs` sees to it that `cargo test --workspace` builds it.
pub(crate) fn program() -> PathBuf {
    let program = profile().join("hookbox");
    assert!(program.is_file(), "no {}; hint: cargo build -p hookbox-cli", program.display());
    program
}

/// The repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The compiled code that all tests share.
fn compiled() -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let dir = target().join("tmp/hookbox-tests/code");
        fs::create_dir_all(&dir).unwrap();
        dir
    })
}

/// The engine that all tests of the library share.
pub(crate) fn runtime() -> Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new(Allocation::Pooled, compiled().parent())).clone()
}

/// A sample component, such as `guardrail`.
pub(crate) fn sample(name: &str) -> PathBuf {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    built(&BUILT, "hooks", format!("hooks/{name}.wasm"))
}

/// The native form of a sample.
pub(crate) fn twin(name: &str) -> PathBuf {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    built(&BUILT, "test-twins", format!("test-hooks/native/{name}"))
}

/// A component of `tests/guests`, such as `hostile`.
pub(crate) fn guest(name: &str) -> PathBuf {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    built(&BUILT, "test-hooks", format!("test-hooks/{name}.wasm"))
}

fn built(once: &OnceLock<Result<(), String>>, task: &str, file: String) -> PathBuf {
    if let Err(error) = once.get_or_init(|| xtask(task)) {
        panic!("cannot build the hooks that the tests need (`cargo run -p xtask -- {task}`): {error}");
    }
    let path = target().join(file);
    assert!(path.is_file(), "`cargo run -p xtask -- {task}` does not build {}", path.display());
    path
}

fn xtask(task: &str) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "-q", "-p", "xtask", "--", task])
        .current_dir(repository())
        .env("CARGO_TARGET_DIR", target())
        .output()
        .map_err(|error| format!("failed to start cargo: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let hint = if said.contains("wasm32-wasip2") { "\nhint: rustup target add wasm32-wasip2" } else { "" };
    Err(format!("{said}{hint}"))
}

#[test]
fn nothing_of_the_real_users_environment_reaches_the_program() {
    let env = TestEnvironment::new().variable("ASKED_FOR", "yes");
    let output = env.run(&mut env.command("/usr/bin/env"), "");
    let mut names: Vec<&str> =
        output.stdout.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["ASKED_FOR", "HOME", "PATH", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"]
    );
}
