//! A hook that the user names by its file: trusted, and with no permissions.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use hookbox::native;
use hookbox::rules::RulesHook;
use hookbox::{Component, ComponentHook};
use hookbox::{Descriptor, Hook, Kind, Manifest, Settings, escape};

use crate::error::InputError;
use crate::input;

/// The longest wait for a native hook's answer to `hook`.
const QUERY: Duration = Duration::from_secs(5);

/// Loads rules or an executable. Returns nothing for a component.
pub(crate) async fn plain(file: &Path) -> anyhow::Result<Option<Arc<dyn Hook>>> {
    input::regular_file(file)?;
    let name = name(file);
    if input::is_rules(file) {
        let rules = input::rules(file)?;
        let descriptor = descriptor(file, Kind::Rules, rules.manifest());
        return Ok(Some(Arc::new(RulesHook::new(descriptor, rules, std::env::home_dir()))));
    }
    if input::is_wasm(file) {
        return Ok(None);
    }
    let program = std::path::absolute(file)?;
    let event =
        native::query(&program, None, &[], QUERY).await.map_err(|error| anyhow!("{name}: {error}"))?;
    let descriptor = Descriptor::new(name, Kind::Native).on(event);
    Ok(Some(Arc::new(native::NativeHook::new(descriptor, program))))
}

/// Returns the hook of a component.
pub(crate) fn component(file: &Path, component: Component) -> Arc<dyn Hook> {
    let descriptor = descriptor(file, Kind::Component, component.manifest());
    Arc::new(ComponentHook::new(component, descriptor, Settings::new()))
}

/// Returns the name of a hook with this file.
pub(crate) fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn descriptor(file: &Path, kind: Kind, manifest: &Manifest) -> Descriptor {
    let mut descriptor = Descriptor::new(name(file), kind);
    descriptor.subscriptions.clone_from(&manifest.subscriptions);
    descriptor.answers = manifest.answers;
    descriptor.on_failure = manifest.on_failure.unwrap_or_default();
    descriptor.path = Some(file.to_owned());
    descriptor
}

/// Returns the files of a directory that are hooks as `is_wanted` says, by name. `wanted` names these hooks.
pub(crate) fn files(
    directory: &Path,
    wanted: &str,
    is_wanted: fn(&Path) -> bool,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_file() && is_wanted(&path) {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        let directory = escape(&directory.to_string_lossy(), 4096);
        let what = format!("{directory}: expected {wanted}, found none");
        return Err(InputError::new(what, format!("give a directory with {wanted}")).into());
    }
    Ok(files)
}
