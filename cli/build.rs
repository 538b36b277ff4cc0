//! Tells the linker to pack relocations if the loader of this system can unpack them. Unpacked, 40,000 of
//! them are a megabyte that every start of the program would read.
//!
//! The program then needs glibc 2.36 (2022) or later. Set `HOOKBOX_PACK_RELOCATIONS=0` to build one for older
//! systems.

use std::process::Command;

/// The first glibc whose loader unpacks relocations (`DT_RELR`).
const SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HOOKBOX_PACK_RELOCATIONS");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_glibc = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    // The loader of another system is not known here.
    let is_this_system = variable("HOST") == variable("TARGET");
    let is_wanted = variable("HOOKBOX_PACK_RELOCATIONS") != "0";
    if is_glibc && is_this_system && is_wanted && glibc().is_some_and(|version| version >= SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Returns the version of glibc, such as 2.36.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
