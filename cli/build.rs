//! Tells the linker to pack relocations if the loader of this system can unpack them. Unpacked, 40,000 of
//! them are a megabyte that every start of the program would read.
//!
//! The program then needs glibc 2.36 (2022) or later. Set `HOOKBOX_PACK_RELOCATIONS=0` to build one for older
//! systems.
//!
//! Links the program of the tests at a fixed address: they start it some thousand times, and every start would adjust
//! addresses in 700 pages. A program for use keeps its random address, which an attacker cannot know.
//!
//! Links the unwinder into the program, where the C compiler has it as a library for that. Every start would load
//! `libgcc_s.so.1` only for panics.
//!
//! Tells the program the commit that it is built from, as `HOOKBOX_COMMIT`: `04ea38a 2026-11-22`. A packager
//! may set the variable. Without it and without a repository, the version has no commit.

use std::path::Path;
use std::process::Command;

/// The first glibc whose loader unpacks relocations (`DT_RELR`).
const SINCE: (u32, u32) = (2, 36);

/// The variable with the commit, for the program and from a packager.
const COMMIT: &str = "HOOKBOX_COMMIT";

fn main() {
    pack_relocations();
    fix_address();
    link_unwinder();
    tell_commit();
}

fn tell_commit() {
    println!("cargo::rerun-if-env-changed={COMMIT}");
    if std::env::var_os(COMMIT).is_some() {
        return;
    }
    if let Some(commit) = packaged().or_else(checked_out) {
        println!("cargo::rustc-env={COMMIT}={commit}");
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Returns true if the program is for this system, and this system has glibc. The loader and the compiler of another
/// system are not known here.
fn is_glibc() -> bool {
    let has = |name: &str, value: &str| variable(name) == value;
    has("CARGO_CFG_TARGET_OS", "linux")
        && has("CARGO_CFG_TARGET_ENV", "gnu")
        && has("HOST", &variable("TARGET"))
}

fn pack_relocations() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HOOKBOX_PACK_RELOCATIONS");
    let is_wanted = variable("HOOKBOX_PACK_RELOCATIONS") != "0";
    if is_glibc() && is_wanted && glibc().is_some_and(|version| version >= SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

fn fix_address() {
    // The profiles `dev` and `test`, and no profile that is made from `release`.
    if is_glibc() && variable("PROFILE") == "debug" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

/// Puts a linker script before the shared library of the same name, like `-static-libgcc` for what rustc names itself.
fn link_unwinder() {
    if !is_glibc() || !has_unwinder() {
        return;
    }
    let directory = variable("OUT_DIR");
    if std::fs::write(Path::new(&directory).join("libgcc_s.so"), "INPUT(-lgcc_eh -lgcc)\n").is_ok() {
        println!("cargo::rustc-link-arg-bins=-L{directory}");
    }
}

/// Returns true if the C compiler, which links, has the unwinder as a static library.
fn has_unwinder() -> bool {
    // It answers with the bare name of a file that it does not have.
    let output = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    let text = output.ok().and_then(|it| String::from_utf8(it.stdout).ok());
    text.is_some_and(|path| Path::new(path.trim()).is_absolute())
}

/// Returns the version of glibc, such as 2.36.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

/// Returns the commit that `cargo package` noted in the package.
fn packaged() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let commit = text.split_once("\"sha1\"")?.1.split('"').nth(1)?;
    commit.get(..7).filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit())).map(str::to_owned)
}

/// Returns the commit of the working tree. Another repository around it, such as one in which a package is
/// built, does not count.
fn checked_out() -> Option<String> {
    Path::new("../.git").exists().then_some(())?;
    // A new commit appends to this log, so that only this crate is built again.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["show", "--no-patch", "--no-show-signature", "--format=%h %cs", "--abbrev=7", "HEAD"])
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    let is_line = output.status.success() && !text.is_empty() && !text.contains('\n');
    is_line.then_some(text)
}
