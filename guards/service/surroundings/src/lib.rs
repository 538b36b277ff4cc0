//! Gives the components of a service what a toolchain imports and a server need not have: no variables, no terminal, an exit
//! that is a trap, and random numbers of the server.
//!
//! It has no standard library, which would import the same.

// Its exports do not link on the host.
#![cfg(target_arch = "wasm32")]
#![no_std]

extern crate alloc;

use alloc::string::String;
use alloc::vec::Vec;
use core::arch::wasm32::unreachable;
use core::panic::PanicInfo;

use bindings::exports::wasi::cli::{
    environment, exit, terminal_input, terminal_output, terminal_stderr, terminal_stdin, terminal_stdout,
};
use bindings::exports::wasi::random::{insecure, insecure_seed};
use bindings::wasi::random::random;

#[allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = "generated from wit/"
)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit", "../wit"],
        world: "hookbox:service/surroundings",
        generate_all,
    });
}

#[global_allocator]
static MEMORY: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    unreachable()
}

/// The component.
struct Surroundings;

/// A terminal, of which there is none.
enum Terminal {}

impl environment::Guest for Surroundings {
    fn get_environment() -> Vec<(String, String)> {
        Vec::new()
    }

    fn get_arguments() -> Vec<String> {
        Vec::new()
    }

    fn initial_cwd() -> Option<String> {
        None
    }
}

impl exit::Guest for Surroundings {
    fn exit(_: Result<(), ()>) {
        unreachable()
    }

    fn exit_with_code(_: u8) {
        unreachable()
    }
}

impl terminal_input::GuestTerminalInput for Terminal {}
impl terminal_output::GuestTerminalOutput for Terminal {}

impl terminal_input::Guest for Surroundings {
    type TerminalInput = Terminal;
}

impl terminal_output::Guest for Surroundings {
    type TerminalOutput = Terminal;
}

impl terminal_stdin::Guest for Surroundings {
    fn get_terminal_stdin() -> Option<terminal_input::TerminalInput> {
        None
    }
}

impl terminal_stdout::Guest for Surroundings {
    fn get_terminal_stdout() -> Option<terminal_output::TerminalOutput> {
        None
    }
}

impl terminal_stderr::Guest for Surroundings {
    fn get_terminal_stderr() -> Option<terminal_output::TerminalOutput> {
        None
    }
}

impl insecure_seed::Guest for Surroundings {
    fn insecure_seed() -> (u64, u64) {
        (random::get_random_u64(), random::get_random_u64())
    }
}

impl insecure::Guest for Surroundings {
    fn get_insecure_random_bytes(len: u64) -> Vec<u8> {
        (0..len).map(|_| random::get_random_u64().to_le_bytes()[0]).collect()
    }

    fn get_insecure_random_u64() -> u64 {
        random::get_random_u64()
    }
}

#[allow(unsafe_code, reason = "a component's exports are functions with fixed names")]
mod exported {
    use super::{Surroundings, bindings};

    bindings::export!(Surroundings with_types_in bindings);
}
