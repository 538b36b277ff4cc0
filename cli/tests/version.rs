//! The version of the program. Because of this file `cargo test --workspace` builds the program, which other
//! tests run.

#![allow(missing_docs, reason = "a test")]

use std::process::Command;

#[test]
fn the_version_names_the_interface_that_it_serves() {
    let output = Command::new(env!("CARGO_BIN_EXE_hookbox")).arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert_eq!(text.trim(), format!("hookbox {} (hookbox:hook@0.1.0)", env!("CARGO_PKG_VERSION")));
}
