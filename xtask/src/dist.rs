//! `cargo xtask dist`: builds the program as packages have it, with the functions of an event side by side.
//!
//! A linker leaves the functions of a program in any order. An event needs a tenth of them, and the system maps each part
//! of the program in which it finds one. So the program is linked twice: the first one runs a few events, which shows the
//! functions that they use, and the second one has these together.

use std::collections::HashSet;
use std::env::consts::{ARCH, OS};
use std::error::Error;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::tools::Venv;
use crate::{Tree, cargo, run};

/// The sample that judges the events.
const GUARD: &str = "guardrail";

impl Tree {
    /// Builds `target/dist/hookbox`. If its functions cannot be traced or put in order, it is linked once.
    pub(crate) fn dist(&self) -> Result<(), Box<dyn Error>> {
        Dist { tree: self, cross: None }.build().map(drop)
    }

    /// Builds the program for a target, with the tools of this environment. Returns its path.
    pub(crate) fn dist_for(&self, target: &str, venv: &Venv) -> Result<PathBuf, Box<dyn Error>> {
        Dist { tree: self, cross: Some((target, venv)) }.build()
    }
}

/// A build of the program as packages have it.
struct Dist<'a> {
    tree: &'a Tree,
    /// The target, with the environment that has zig; `None` for this system.
    cross: Option<(&'a str, &'a Venv)>,
}

impl Dist<'_> {
    /// Builds the program, and returns its path.
    fn build(&self) -> Result<PathBuf, Box<dyn Error>> {
        crate::nested::require_target()?;
        if let Some((target, _)) = self.cross {
            run(Command::new("rustup").args(["target", "add", target]), "add the target")?;
        }
        let runs_here = self.cross.is_none_or(|(it, _)| it.starts_with(ARCH) && it.contains(OS));
        if !trace::IS_SUPPORTED || !runs_here {
            self.link(&[])?;
            return Ok(self.program());
        }
        self.tree.component("sample-hooks", "hooks", GUARD)?;
        self.link(&["-Cstrip=none".to_owned()])?;
        self.link_in_order().or_else(|error| {
            eprintln!("warning: {error}: the functions stay in any order");
            self.link(&[])
        })?;
        Ok(self.program())
    }

    fn program(&self) -> PathBuf {
        let target = self.cross.map_or("", |(target, _)| target);
        self.tree.target.join(target).join("dist/hookbox")
    }

    /// Links the program again, with the functions of an event side by side. Only lld can do this: rustc's linker here,
    /// unless a configuration names another.
    fn link_in_order(&self) -> Result<(), Box<dyn Error>> {
        let order = self.hot_functions()?;
        eprintln!("{} functions serve an event; they are put side by side", order.len());
        let list = self.program().with_file_name("functions.txt");
        fs::write(&list, order.join("\n"))?;
        let options =
            ["--no-warn-symbol-ordering".to_owned(), format!("--symbol-ordering-file={}", list.display())];
        // The linker itself, or the C compiler before it.
        let before = if self.cross.is_some() { "" } else { "-Wl," };
        self.link(&options.map(|it| format!("-Clink-arg={before}{it}")))
    }

    /// Links the program, with these options of rustc.
    fn link(&self, options: &[String]) -> Result<(), Box<dyn Error>> {
        let mut command = match self.cross {
            None => cargo(),
            Some((_, venv)) => venv.command("cargo-zigbuild"),
        };
        command.current_dir(&self.tree.root);
        command.args(["rustc", "--profile", "dist", "--package", "hookbox-cli", "--bin", "hookbox"]);
        if let Some((target, _)) = self.cross {
            // zig's linker puts no functions in order.
            let linker = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
            command.args(["--target", target]).env(linker, "rust-lld");
        }
        command.arg("--").args(options);
        if self.cross.is_some_and(|(target, _)| target.contains("musl")) {
            // Relocations as a bit map, which musl unpacks since 1.2.4: every start would read a megabyte of them.
            command.arg("-Clink-arg=--pack-dyn-relocs=relr");
        }
        run(&mut command, "build the program")
    }

    /// Runs events with the program, and returns the functions that they use, each once, in the order of their first use.
    fn hot_functions(&self) -> Result<Vec<String>, Box<dyn Error>> {
        // Not in the repository, which may bring no cache.
        let home = std::env::temp_dir().join(format!("hookbox-dist-{}", std::process::id()));
        // It fails if somebody else has made the directory.
        fs::DirBuilder::new().mode(0o700).create(&home)?;
        let order = self.hot_functions_in(&home);
        fs::remove_dir_all(&home)?;
        order
    }

    fn hot_functions_in(&self, home: &Path) -> Result<Vec<String>, Box<dyn Error>> {
        let hooks = home.join(".hookbox/hooks");
        fs::create_dir_all(&hooks)?;
        fs::copy(
            self.tree.target.join("hooks").join(GUARD).with_extension("wasm"),
            hooks.join("guard.wasm"),
        )?;
        let program = self.program();
        let mut warm = Command::new(&program);
        warm.args(["cache", "warm"]).current_dir(home).env_clear().env("HOME", home);
        run(warm.stdout(Stdio::null()), "compile the guard")?;
        let claude = |line: &str| {
            format!(
                r#"{{"session_id":"s","cwd":"{}","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"{line}"}}}}"#,
                home.display()
            )
        };
        let kodelet = r#"{"tool_name":"bash","tool_input":{"command":"ls"}}"#.to_owned();
        let (bridge, run) = (&["bridge", "claude"][..], &["run", "before_tool_call"][..]);
        // A file counts as unchanged after three seconds; the next event notes that.
        std::thread::sleep(Duration::from_secs(4));
        trace::functions(&program, bridge, home, &claude("ls"))?;
        let mut order = Vec::new();
        let mut known = HashSet::new();
        let (plain, recorded) = ("", "[journal]\nenabled = true\n");
        for (settings, args, event) in [
            (plain, bridge, claude("ls")),
            (plain, bridge, claude("rm -rf /")),
            (plain, run, kodelet),
            (recorded, bridge, claude("ls")),
        ] {
            fs::write(home.join(".hookbox/hookbox.toml"), settings)?;
            let functions = trace::functions(&program, args, home, &event)?;
            order.extend(functions.into_iter().filter(|function| known.insert(function.clone())));
        }
        Ok(order)
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod trace {
    use std::error::Error;
    use std::path::Path;

    pub(super) const IS_SUPPORTED: bool = false;

    pub(super) fn functions(_: &Path, _: &[&str], _: &Path, _: &str) -> Result<Vec<String>, Box<dyn Error>> {
        Err("functions cannot be traced on this system".into())
    }
}

/// The functions that a process runs, by breakpoints.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod trace {
    use std::collections::BTreeMap;
    use std::error::Error;
    use std::fs::{self, File};
    use std::io::{self, Write as _};
    use std::os::unix::fs::FileExt as _;
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use nix::sys::ptrace::{self, Options};
    use nix::sys::signal::Signal;
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    use nix::unistd::Pid;

    pub(super) const IS_SUPPORTED: bool = true;

    /// The instruction of one byte that stops a traced process.
    const BREAKPOINT: [u8; 1] = [0xcc];

    /// Runs a program with `input`, and returns the functions that it runs, in the order of their first use.
    ///
    /// Each function begins with a breakpoint, which is removed when the process meets it.
    pub(super) fn functions(
        program: &Path,
        args: &[&str],
        home: &Path,
        input: &str,
    ) -> Result<Vec<String>, Box<dyn Error>> {
        let names = names(program)?;
        let (stdin, mut writer) = io::pipe()?;
        writer.write_all(input.as_bytes())?;
        drop(writer);
        let mut command = Command::new(program);
        command.args(args).current_dir(home).env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin");
        // A pipe: an answer that nobody reads is another way through the program.
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::null());
        #[allow(unsafe_code, reason = "the only way to be traced from the start; see SAFETY")]
        // SAFETY: the closure makes one system call, allocates nothing and touches no lock.
        unsafe {
            command.pre_exec(|| Ok(ptrace::traceme()?));
        }
        let child = command.spawn()?;
        let process = Pid::from_raw(i32::try_from(child.id())?);
        // It has stopped at the start of the program.
        waitpid(process, None)?;
        ptrace::setoptions(process, Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL)?;
        let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
        let base = maps.split('-').next().ok_or("no map of the program")?;
        let base = u64::from_str_radix(base, 16)?;
        let memory = File::options().read(true).write(true).open(format!("/proc/{process}/mem"))?;
        let mut hidden = BTreeMap::new();
        for address in names.keys() {
            let mut byte = [0];
            memory.read_exact_at(&mut byte, base + address)?;
            memory.write_all_at(&BREAKPOINT, base + address)?;
            hidden.insert(*address, byte);
        }
        let mut order = Vec::new();
        ptrace::cont(process, None)?;
        loop {
            let status = waitpid(None, Some(WaitPidFlag::__WALL))?;
            let signal = match status {
                WaitStatus::Exited(thread, 0) if thread == process => return Ok(order),
                WaitStatus::Exited(thread, _) | WaitStatus::Signaled(thread, ..) if thread == process => {
                    return Err(format!("the traced program failed: {status:?}").into());
                }
                WaitStatus::Stopped(thread, Signal::SIGTRAP) => {
                    let mut registers = ptrace::getregs(thread)?;
                    let address = registers.rip.wrapping_sub(base + 1);
                    if let (Some(byte), Some(name)) = (hidden.get(&address), names.get(&address)) {
                        memory.write_all_at(byte, base + address)?;
                        registers.rip -= 1;
                        ptrace::setregs(thread, registers)?;
                        order.push(name.clone());
                    }
                    None
                }
                // A new thread begins with this signal, which is not for it.
                WaitStatus::Stopped(_, Signal::SIGSTOP) => None,
                WaitStatus::Stopped(_, signal) => Some(signal),
                _ => None,
            };
            if let Some(thread) = status.pid().filter(|_| !matches!(status, WaitStatus::Exited(..))) {
                ptrace::cont(thread, signal)?;
            }
        }
    }

    /// Returns the names of the functions in a program, by their addresses.
    fn names(program: &Path) -> Result<BTreeMap<u64, String>, Box<dyn Error>> {
        let output = Command::new("nm").args(["--defined-only", "--print-size"]).arg(program).output()?;
        let text = String::from_utf8(output.stdout)?;
        let mut names = BTreeMap::new();
        for line in text.lines() {
            // Data between functions has no size, or another kind.
            if let [address, _, "t" | "T", name] = line.split(' ').collect::<Vec<_>>()[..] {
                names.insert(u64::from_str_radix(address, 16)?, name.to_owned());
            }
        }
        if names.is_empty() { Err("nm has found no functions".into()) } else { Ok(names) }
    }
}
