//! Compiling in a process of its own, with limits of memory and time.
//!
//! The memory of the compiler depends on the component and cannot be predicted. A thread cannot be ended, and
//! an allocation that fails ends its process; so the compiler runs in another process.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::cache::Compiled;
use super::{engine, invalid};
use crate::hook::{Cause, HookError};
use crate::native::process::Process;

/// The most memory for compiling one component, in bytes. Each processor works on one function at a time, and
/// 33 MB of large ones took 165 MiB on two.
pub(super) const MAX_MEMORY: u64 = 1 << 30;
/// The limit of processor time, in seconds: for a process that outlives its host.
const MAX_CPU: u64 = 300;
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
}

impl Compiler {
    /// The program in this file, with these arguments.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { program: program.into(), args: args.into_iter().map(Into::into).collect() }
    }

    /// Compiles a component. The process ends with this future.
    pub(super) async fn compile(&self, bytes: Vec<u8>, wall: Duration) -> Result<Compiled, HookError> {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let process = Process {
            program: &self.program,
            args: &args,
            environment: Some(&[]),
            variables: &[],
            directory: Some(Path::new("/")),
            stdin: Some(bytes),
            wall,
            output: MAX_CODE,
            log: 4096,
        };
        let mut printed = process.run().await.map_err(|error| explain(&error))?.stdout;
        match printed.first() {
            Some(&CODE) => {
                printed.remove(0);
                Ok(Compiled::of_compiler(printed))
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
        Cause::Timeout => super::took_too_long(),
        // The standard library ends a process that has no memory left by SIGABRT. Any other signal is from outside.
        Cause::Signal if error.message.contains("SIGABRT") => {
            let most = MAX_MEMORY >> 20;
            HookError::new(Cause::Memory, format!("compiling it took more than {most} MiB of memory"))
        }
        Cause::OutputLimit => {
            HookError::new(Cause::Memory, format!("its code has more than {} MiB", MAX_CODE >> 20))
        }
        _ => HookError::new(Cause::Internal, format!("the compiler {}", error.message)),
    }
}

/// Compiles the component on `from`, and writes its code or its fault: the work of a [`Compiler`]. Afterwards
/// this process has a limit of memory, and ends when it reaches it.
///
/// # Errors
///
/// If the component cannot be read, the answer not written, or the limits not set.
pub fn compile_here(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    for (resource, most) in [(Resource::Data, MAX_MEMORY), (Resource::Cpu, MAX_CPU), (Resource::Core, 0)] {
        let maximum = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) })?;
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
