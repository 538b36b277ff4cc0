//! Has the linker pack the addresses that the loader has to adjust, where the system's loader can unpack them: some
//! 40,000 of them are a megabyte that every start of the program would read.
//!
//! A program that is linked so needs glibc 2.36 (2022) or later, as the system has that builds it. Set
//! `HOOKBOX_PACK_RELOCATIONS=0` to build one that runs on older systems.

use std::process::Command;

/// The first glibc whose loader knows packed addresses (`DT_RELR`).
const SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HOOKBOX_PACK_RELOCATIONS");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_glibc = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    // Of another system nobody knows here what its loader can do.
    let is_this_system = variable("HOST") == variable("TARGET");
    let is_wanted = variable("HOOKBOX_PACK_RELOCATIONS") != "0";
    if is_glibc && is_this_system && is_wanted && glibc().is_some_and(|version| version >= SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The system's glibc, such as 2.36.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
