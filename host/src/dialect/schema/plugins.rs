//! What the program prints of plugins.

use schemars::{JsonSchema, SchemaGenerator};

use super::Shape;
use super::parts::{OrNull, of};
use super::program::{EntryStatus, Kind, OnFailure};

/// Where a plugin is installed.
#[derive(JsonSchema)]
#[schemars(rename = "location", rename_all = "snake_case")]
enum Location {
    /// In the repository.
    Local,
    /// In the home directory.
    Global,
}

/// A plugin that is installed.
#[derive(JsonSchema)]
#[schemars(rename = "plugin")]
struct Plugin {
    /// Its name, as `org/repo`.
    name: String,
    /// Where it is installed.
    location: Location,
    /// Its directory, absolute.
    path: String,
    /// Its skills.
    skills: Vec<String>,
    /// Its recipes.
    recipes: Vec<String>,
    /// Its hooks that are not disabled, without `org/repo/`.
    hooks: Vec<String>,
    /// What else there is to say.
    details: Details,
}

/// What else there is to say of a plugin.
#[derive(JsonSchema)]
#[schemars(rename = "details")]
struct Details {
    /// Where it came from; null where it was put there by hand, as for all that follows but the last three.
    source: OrNull<String>,
    /// The branch, tag or commit that was asked for.
    r#ref: OrNull<String>,
    /// The commit that this was then.
    commit: OrNull<String>,
    /// The digest of the OCI manifest that this was then, `sha256:<hex>`.
    digest: OrNull<String>,
    /// The digest of all that was installed, `sha256:<hex>`.
    tree: OrNull<String>,
    /// When, in RFC 3339.
    installed: OrNull<String>,
    /// Whether it has other bytes than those that were installed.
    changed: bool,
    /// Whether all of its hooks are trusted that are neither disabled nor invalid.
    trusted: bool,
    /// Its hooks, also those that are disabled.
    hooks: Vec<Hook>,
}

/// A hook of a plugin.
#[derive(JsonSchema)]
#[schemars(rename = "plugin_hook")]
struct Hook {
    /// Its name in the plugin.
    name: String,
    /// Its full name, `org/repo/NAME`.
    full_name: String,
    /// Its file, or the one that declares it, in the plugin.
    file: String,
    /// Its kind.
    kind: Kind,
    /// What becomes of it.
    status: EntryStatus,
    /// Whether the user trusts it.
    trusted: bool,
    /// The events that it subscribes to, in snake case, as far as they are known.
    events: Vec<String>,
    /// The lowest of its subscriptions.
    priority: i32,
    /// What happens when it fails.
    on_failure: OnFailure,
    /// Whether all its subscriptions only observe.
    observe: bool,
    /// What it may answer beside pass, block, ask and warnings; of a component.
    answers: Vec<String>,
    /// The rights that it asks for.
    asks: Vec<String>,
    /// The rights that it was granted.
    granted: Vec<String>,
    /// What an entry of a hooks.json runs.
    runs: OrNull<String>,
    /// What a component says of itself; not escaped.
    description: OrNull<String>,
    /// The digest of its file, `sha256:<hex>`, where it could be read.
    digest: OrNull<String>,
    /// Why it cannot be used.
    problem: OrNull<String>,
}

pub(super) fn list(generator: &mut SchemaGenerator) -> Shape {
    Shape::Whole(of::<Vec<Plugin>>(generator))
}
