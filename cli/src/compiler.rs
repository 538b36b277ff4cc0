//! The program as its own compiler of components: a component that the compiler cannot cope with ends only a
//! child process.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hookbox::discovery::{self, Options};
use hookbox::{Allocation, Compiler, MAX_COMPONENT, Runtime, compile_here};
use hookbox_system::files::private_dir;

use crate::error::say;

/// The argument to compile one component, from standard input to standard output. It is not a command for
/// users.
const ARGUMENT: &str = "compile-component";

/// The argument to compile one component from standard input into the cache in the directory that follows, without an
/// answer. It is not a command for users.
const KEEP: &str = "keep-component";

/// Returns the file of this program, also if another one has replaced it since the start.
pub(crate) fn program() -> Option<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() { Some(link.to_owned()) } else { std::env::current_exe().ok() }
}

/// Returns this program as a compiler.
pub(crate) fn own() -> Option<Compiler> {
    program().map(|program| Compiler::new(program, [ARGUMENT]).keeping([KEEP]))
}

/// Makes an engine for the few calls of one process.
pub(crate) fn runtime(cache: Option<&Path>) -> Runtime {
    Runtime::compiled_by(Allocation::OnDemand, cache, own())
}

/// Makes an engine for the many calls of one process, as [`cached_runtime`] does for few.
pub(crate) fn pooled_runtime(options: &Options) -> Runtime {
    Runtime::compiled_by(Allocation::Pooled, cache(options).as_deref(), own())
}

/// Makes an engine that keeps compiled components in the user's cache. Without a cache it compiles each of
/// them; `hookbox list` gives the reason.
pub(crate) fn cached_runtime(options: &Options) -> Runtime {
    runtime(cache(options).as_deref())
}

/// Opens the user's cache.
pub(crate) fn cache(options: &Options) -> Option<PathBuf> {
    let repository = discovery::repository(options);
    let cache = private_dir::default_cache(options.home.as_deref())?;
    private_dir::open(&cache, repository.as_deref()).ok()
}

/// Compiles a component, if the command line asks for it.
pub(crate) fn run() -> Option<ExitCode> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let done = match arguments.as_slice() {
        [argument] if argument == ARGUMENT => compile_here(std::io::stdin().lock(), std::io::stdout().lock()),
        [argument, cache] if argument == KEEP => keep(Path::new(cache)),
        _ => return None,
    };
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("error: {error}"));
            ExitCode::FAILURE
        }
    })
}

/// Compiles the component on standard input into a cache. Nobody waits for this process, and it ends by itself.
fn keep(cache: &Path) -> std::io::Result<()> {
    let cache = private_dir::open(cache, None).map_err(std::io::Error::other)?;
    let bytes = crate::input::bounded(std::io::stdin().lock(), MAX_COMPONENT)?;
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio.block_on(runtime(Some(&cache)).keep(bytes)).map_err(std::io::Error::other)
}
