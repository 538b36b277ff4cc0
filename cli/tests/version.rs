//! The version of the program. Because of this file `cargo test --workspace` builds the program, which other
//! tests run.

#![allow(missing_docs, reason = "a test")]

use std::process::Command;

#[test]
fn the_version_names_the_interface_that_it_serves_and_the_commit() {
    let output = Command::new(env!("CARGO_BIN_EXE_hookbox")).arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    let start = format!("hookbox {} (hookbox:hook@0.2.0", env!("CARGO_PKG_VERSION"));
    let rest = text.trim_end().strip_prefix(&start).and_then(|it| it.strip_suffix(')')).unwrap();
    // A build outside of a repository has no commit, and one from a package no date.
    if std::path::Path::new("../.git").exists() {
        let (commit, date) = rest.strip_prefix("; ").unwrap().split_once(' ').unwrap();
        assert!(commit.len() >= 7 && commit.bytes().all(|it| it.is_ascii_hexdigit()), "{text}");
        assert!(date.len() == 10 && date.bytes().all(|it| it.is_ascii_digit() || it == b'-'), "{text}");
    }
}
