//! Compiling in a process of its own, with limits of memory and time.
//!
//! The memory of the compiler depends on the component and cannot be predicted. A thread cannot be ended, and
//! an allocation that fails ends its process; so the compiler runs in another process.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::{engine, invalid};
use crate::hook::{COMPILE, Cause, HookError, LimitKind};
use crate::native::process::Process;

/// The most memory for compiling one component, in bytes. Each processor works on one function at a time, and
/// 33 MB of large ones took 165 MiB on two.
pub(super) const MAX_MEMORY: u64 = 1 << 30;
/// The longest start of a process.
const START: Duration = Duration::from_secs(5);
/// The most compiled code that is read, in bytes.
const MAX_CODE: usize = 512 << 20;

/// The first byte of an answer: code follows, or the fault of the component.
const CODE: u8 = b'+';
const PROBLEM: u8 = b'-';

/// A program that compiles components, in a process of its own for each.
///
/// Its output is run as code. So it has to be a program of the host's own that calls [`compile_here`], of the
/// same version of this library: best the host itself, with an argument for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    program: PathBuf,
    args: Vec<String>,
    /// The arguments of a process that outlives this one, without the directory of the cache.
    keeps: Option<Vec<String>>,
}

impl Compiler {
    /// The program in this file, with these arguments.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { program: program.into(), args: args.into_iter().map(Into::into).collect(), keeps: None }
    }

    /// Sets the arguments with which the program calls [`Runtime::keep`](super::Runtime::keep) for the component on
    /// standard input. The last argument is the directory of the cache, which is added. With them a compilation that
    /// an event does not wait for goes on, in a process that outlives the event (default: it ends with the event).
    #[must_use]
    pub fn keeping(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.keeps = Some(args.into_iter().map(Into::into).collect());
        self
    }

    /// Returns true if it compiles in a process that outlives an event.
    pub(super) fn keeps(&self) -> bool {
        self.keeps.is_some()
    }

    /// Starts a process that compiles a component into this cache, and does not wait for it.
    pub(super) async fn launch(&self, bytes: Vec<u8>, cache: &Path) -> Result<(), HookError> {
        let cache =
            cache.to_str().ok_or_else(|| HookError::new(Cause::Internal, "its cache has no UTF-8 path"))?;
        let args: Vec<&str> = self.keeps.iter().flatten().map(String::as_str).chain([cache]).collect();
        let process = self.process(&args, bytes, START);
        process.launch().await.map_err(|error| explain(&error))
    }

    fn process<'a>(&'a self, args: &'a [&'a str], bytes: Vec<u8>, wall: Duration) -> Process<'a> {
        Process {
            program: &self.program,
            args,
            environment: Some(&[]),
            variables: &[],
            directory: Some(Path::new("/")),
            stdin: Some(bytes),
            wall,
            output: MAX_CODE,
            log: 4096,
        }
    }

    /// Compiles a component. The process ends with this future.
    pub(super) async fn compile(&self, bytes: Vec<u8>, wall: Duration) -> Result<Compiled, HookError> {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let process = self.process(&args, bytes, wall);
        let mut printed = process.run().await.map_err(|error| explain(&error))?.stdout;
        match printed.first() {
            Some(&CODE) => {
                printed.remove(0);
                Ok(Compiled(printed))
            }
            Some(&PROBLEM) => {
                let what = String::from_utf8_lossy(printed.get(1..).unwrap_or_default()).into_owned();
                Err(HookError::new(Cause::Incompatible, what))
            }
            _ => Err(HookError::new(Cause::Internal, "the compiler answered nothing")),
        }
    }
}

/// Returns the meaning of a compiler's failure for the component.
fn explain(error: &HookError) -> HookError {
    match error.cause {
        Cause::Timeout => took_too_long(),
        // The standard library ends a process that has no memory left by SIGABRT. Any other signal is from outside.
        Cause::Signal if error.signal == Some(Signal::ABORT.as_raw()) => {
            let most = MAX_MEMORY >> 20;
            HookError::new(Cause::Memory, format!("compiling it took more than {most} MiB of memory"))
        }
        Cause::Signal if error.signal == Some(Signal::XCPU.as_raw()) => HookError::new(
            Cause::Timeout,
            format!("compiling it took more than {} s of processor time", COMPILE.as_secs()),
        ),
        Cause::OutputLimit => {
            HookError::new(Cause::Memory, format!("its code has more than {} MiB", MAX_CODE >> 20))
        }
        _ => HookError::new(Cause::Internal, format!("the compiler {}", error.message)),
    }
}

/// The failure of a component that took too long to compile.
pub(super) fn took_too_long() -> HookError {
    let limit = u64::try_from(COMPILE.as_millis()).unwrap_or(u64::MAX);
    let what = format!("took longer than {COMPILE:?} to compile");
    HookError::exceeded(Cause::Timeout, LimitKind::Compile, limit, Some(limit), what)
}

/// Compiles the component on `from`, and writes its code or its fault: the work of a [`Compiler`]. Afterwards
/// this process has a limit of memory, and ends when it reaches it.
///
/// # Errors
///
/// If the component cannot be read, the answer not written, or the limits not set.
pub fn compile_here(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    for (resource, most) in
        [(Resource::Data, MAX_MEMORY), (Resource::Cpu, COMPILE.as_secs()), (Resource::Core, 0)]
    {
        let current = getrlimit(resource).current.map_or(most, |current| current.min(most));
        // At the soft limit of processor time the signal has a name of its own (SIGXCPU).
        let maximum = if resource == Resource::Cpu { current.saturating_add(1) } else { current };
        let maximum = getrlimit(resource).maximum.map_or(maximum, |before| before.min(maximum));
        setrlimit(resource, Rlimit { current: Some(current), maximum: Some(maximum) })?;
    }
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes)?;
    let compiler = engine::compiler().map_err(|error| io::Error::other(format!("{error:#}")))?;
    match Compiled::new(&compiler, &bytes) {
        Ok(code) => {
            to.write_all(&[CODE])?;
            to.write_all(code.bytes())?;
        }
        Err(error) => {
            to.write_all(&[PROBLEM])?;
            to.write_all(invalid(&error).message.as_bytes())?;
        }
    }
    to.flush()
}

/// Loads code that was compiled for this process.
pub(super) fn load_compiled(engine: &Engine, code: &Compiled) -> wasmtime::Result<Component> {
    #[allow(unsafe_code, reason = "deserialising compiled code is unsafe by nature; see SAFETY")]
    // SAFETY: `deserialize` requires bytes that `Engine::precompile_component` made. A `Compiled` holds
    // nothing else: it was made here, or by the compiler program that the host has named, which printed all
    // of it and ended well.
    unsafe {
        Component::deserialize(engine, &code.0)
    }
}

/// Code that was compiled for this process.
pub(super) struct Compiled(Vec<u8>);

impl Compiled {
    /// Compiles a component.
    ///
    /// # Errors
    ///
    /// If the bytes are not a valid component.
    pub(super) fn new(compiler: &Engine, bytes: &[u8]) -> wasmtime::Result<Self> {
        compiler.precompile_component(bytes).map(Self)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
