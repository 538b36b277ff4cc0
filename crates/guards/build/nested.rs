//! Builds components with the cargo that runs this program. The build script of this crate and xtask share it, so that
//! each builds what the other one finds built.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target of every component.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// Variables that must not reach a nested cargo: flags and wrappers for the build of the host.
const HOST_ONLY: [&str; 9] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_TARGET_DIR",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTDOCFLAGS",
    "CARGO_INCREMENTAL",
];

/// The beginnings of variables that cargo sets for a program or a build script of a package, or that change a profile.
const OF_PACKAGE: [&str; 5] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CFG_", "CARGO_FEATURE_", "CARGO_PROFILE_"];

/// Returns the cargo that runs this program, for a workspace that is built for another target.
pub(crate) fn cargo(workspace: &Path, target: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let is_unfit = |name: &OsString| {
        let name = name.to_string_lossy();
        HOST_ONLY.contains(&&*name) || OF_PACKAGE.iter().any(|start| name.starts_with(start))
    };
    for name in env::vars_os().map(|(name, _)| name).filter(is_unfit) {
        command.env_remove(name);
    }
    // An argument of the command itself would come after `--`.
    command.current_dir(workspace).env("CARGO_TARGET_DIR", target);
    command
}

/// Builds a crate of a workspace as a component, and returns its path.
pub(crate) fn component(workspace: &Path, target: &Path, name: &str) -> Result<PathBuf, String> {
    let mut command = cargo(workspace, target);
    // With `rlib` beside it there would be no link-time optimization.
    command.args(["rustc", "--quiet", "--release", "--lib", "--crate-type", "cdylib", "--target", TARGET]);
    command.args(["--package", name]);
    let status = command.status().map_err(|error| format!("failed to start cargo: {error}"))?;
    if !status.success() {
        return Err(format!("failed to build {name} of {}", workspace.display()));
    }
    Ok(built(target, name))
}

/// Returns the path of a component that cargo has built.
pub(crate) fn built(target: &Path, name: &str) -> PathBuf {
    target.join(TARGET).join("release").join(format!("{}.wasm", name.replace('-', "_")))
}

/// Fails with a hint if the compiler has no library for components.
pub(crate) fn require_target() -> Result<(), String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .map_err(|error| format!("failed to start rustc: {error}"))?;
    let directory = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && Path::new(directory.trim()).is_dir() {
        return Ok(());
    }
    Err(format!("the target {TARGET} is not installed\nhint: rustup target add {TARGET}"))
}
