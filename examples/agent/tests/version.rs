//! The presence of this file makes `cargo test --workspace` build the program, which the tests of the
//! workspace run.

#![allow(missing_docs, reason = "a test")]

use std::process::Command;

#[test]
fn the_program_says_its_version() {
    let output = Command::new(env!("CARGO_BIN_EXE_hookbox-agent")).arg("--version").output().unwrap();
    assert!(output.status.success());
    let version = format!("hookbox-agent {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), version);
}
