//! The program as its own compiler of components.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hookbox::wasm::{Compiler, compile_here};

use crate::error::say;

/// The argument with which the program compiles one component, from standard input to standard output. It is no command
/// of the user's.
const ARGUMENT: &str = "compile-component";

/// This program, as it was started: also where its file was replaced since.
pub(crate) fn own() -> Option<Compiler> {
    let link = Path::new("/proc/self/exe");
    let program: Option<PathBuf> =
        if link.exists() { Some(link.to_owned()) } else { std::env::current_exe().ok() };
    program.map(|program| Compiler::new(program, [ARGUMENT]))
}

/// Compiles, where the command line asks for it.
pub(crate) fn run() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != ARGUMENT || arguments.next().is_some() {
        return None;
    }
    Some(match compile_here(std::io::stdin().lock(), std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("error: {error}"));
            ExitCode::FAILURE
        }
    })
}
