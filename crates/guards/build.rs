//! Puts the components of the guards where the library embeds them.
//!
//! In the repository they are built from `guards/`. A published package has them in `carried/`.

#[path = "build/nested.rs"]
mod nested;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

/// The guards, by the names of their crates.
const GUARDS: [&str; 5] = ["destructive", "git", "injection", "secrets", "supply-chain"];

/// The components around a hook in a service, by the names of their crates in `guards/service`.
const PARTS: [&str; 3] = ["adapter", "provider", "surroundings"];

fn main() -> ExitCode {
    match embed() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn embed() -> Result<(), Box<dyn Error>> {
    let directory = |name: &str| env::var_os(name).map(PathBuf::from).ok_or(format!("{name} is not set"));
    let (package, out) = (directory("CARGO_MANIFEST_DIR")?, directory("OUT_DIR")?);
    let sources = package.join("../../guards");
    changed(&package.join("build.rs"));
    changed(&package.join("build"));
    let is_repository = sources.join("Cargo.toml").is_file();
    if is_repository {
        nested::require_target()?;
    }
    let parts = PARTS.map(|name| (name, format!("service/{name}")));
    let guards = GUARDS.map(|name| (name, name.to_owned()));
    for (name, directory) in guards.into_iter().chain(parts) {
        let file = format!("{name}.wasm");
        let from = if is_repository {
            let target = guests(&out)?;
            let built = nested::component(&sources, &target, name)?;
            watch(&sources, &built, &directory);
            built
        } else {
            let carried = package.join("carried").join(&file);
            changed(&carried);
            carried
        };
        fs::copy(&from, out.join(&file))
            .map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    }
    Ok(())
}

/// Returns the target directory of components, which xtask uses as well: `guests` in that of this build. The output
/// directory is `<target>/[<triple>/]<profile>/build/<package>/…/out`.
fn guests(out: &Path) -> Result<PathBuf, String> {
    let build = out.ancestors().find(|it| it.file_name().is_some_and(|name| name == "build"));
    let target = build.and_then(Path::parent).and_then(Path::parent);
    let triple = env::var_os("TARGET").unwrap_or_default();
    let target = target.and_then(|it| if it.file_name() == Some(&triple) { it.parent() } else { Some(it) });
    let target = target.ok_or_else(|| format!("{} is not in a target directory", out.display()))?;
    Ok(target.join("guests"))
}

/// Runs this again after a change of a file from which cargo has built a component.
fn watch(sources: &Path, built: &Path, directory: &str) {
    let listed = fs::read_to_string(built.with_extension("d")).unwrap_or_default();
    let files = listed.split_once(".wasm: ").map(|(_, files)| files.trim()).unwrap_or_default();
    // A space in a path has a backslash before it.
    for file in files.replace("\\ ", "\0").split(' ').filter(|it| !it.is_empty()) {
        changed(Path::new(&file.replace('\0', " ")));
    }
    for file in
        ["Cargo.toml", "Cargo.lock", "lib/judge/Cargo.toml", "../Cargo.toml", "../guest-sdk/Cargo.toml"]
    {
        changed(&sources.join(file));
    }
    changed(&sources.join(directory).join("Cargo.toml"));
}

fn changed(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}
