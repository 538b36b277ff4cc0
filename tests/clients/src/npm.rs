//! The clients, pinned, from the npm registry. That is the only thing that needs a network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::process;

/// The longest time of the registry.
const LIMIT: Duration = Duration::from_secs(900);

/// The directory below `cache` with the package in its `node_modules`; it is installed if it does not exist, with
/// these packages beside it.
pub(crate) fn install(
    cache: &Path,
    package: &str,
    version: &str,
    beside: &[(String, &str)],
) -> Result<PathBuf, String> {
    let dir =
        cache.join(format!("{}-{version}", package.replace(['@', '/', ':'], "-").trim_start_matches('-')));
    let is_installed = || {
        let mut all =
            beside.iter().map(|(package, version)| (package.as_str(), *version)).chain([(package, version)]);
        all.all(|(package, version)| installed(&dir, package).as_deref() == Some(version))
    };
    if is_installed() {
        return Ok(dir);
    }
    if let Some(package) = package.strip_prefix("pypi:") {
        return install_python(&dir, package, version);
    }
    let wanted = format!("{package}@{version}");
    eprintln!("installing {wanted} into {}", dir.display());
    let fail = |error: &dyn std::fmt::Display| format!("cannot install {wanted}: {error}");
    fs::create_dir_all(&dir).map_err(|error| fail(&error))?;
    let mut npm = Command::new("npm");
    npm.current_dir(&dir).arg("install").arg("--prefix").arg(&dir);
    // No package runs a script of its own here.
    npm.args([
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--save-exact",
        &wanted,
    ]);
    npm.args(beside.iter().map(|(package, version)| format!("{package}@{version}")));
    let ended = process::run(&mut npm, LIMIT, &dir).map_err(|error| fail(&error))?;
    match ended.status {
        Some(status) if status.success() && is_installed() => Ok(dir),
        Some(status) => Err(fail(&format!("npm ended with {status}\n{}", ended.stderr.trim()))),
        None => Err(fail(&format!("npm was not ready within {LIMIT:?}"))),
    }
}

/// Installs a package of PyPI into a virtual environment.
fn install_python(dir: &Path, package: &str, version: &str) -> Result<PathBuf, String> {
    let mark = dir.join("installed");
    if mark.is_file() {
        return Ok(dir.to_owned());
    }
    eprintln!("installing {package} {version} into {}", dir.display());
    let fail = |error: &dyn std::fmt::Display| format!("cannot install {package}: {error}");
    fs::create_dir_all(dir).map_err(|error| fail(&error))?;
    let mut venv = Command::new("python3.12");
    let mut pip = Command::new(dir.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", &format!("{package}=={version}")]);
    for command in [venv.args(["-m", "venv"]).arg(dir), &mut pip] {
        let ended = process::run(command, LIMIT, dir).map_err(|error| fail(&error))?;
        if !ended.status.is_some_and(|status| status.success()) {
            return Err(fail(&ended.stderr.trim()));
        }
    }
    fs::write(mark, version).map_err(|error| fail(&error))?;
    Ok(dir.to_owned())
}

fn installed(dir: &Path, package: &str) -> Option<String> {
    let file = fs::read(dir.join("node_modules").join(package).join("package.json")).ok()?;
    let package: Value = serde_json::from_slice(&file).ok()?;
    Some(package.get("version")?.as_str()?.to_owned())
}
