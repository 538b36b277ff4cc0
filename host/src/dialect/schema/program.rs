//! What the program prints.

use std::collections::BTreeMap;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::Shape;
use super::parts::{Message, Object, OrNull, of};

/// What kind of hook it is.
#[derive(JsonSchema)]
#[schemars(rename = "kind", rename_all = "snake_case")]
pub(super) enum Kind {
    /// An executable in a hooks directory.
    Native,
    /// A WASI component.
    Component,
    /// A command of a hooks.json.
    Command,
    /// A tool of an MCP server.
    Tool,
    /// Part of hookbox.
    Builtin,
    /// Registered by the agent.
    Code,
}

/// Where a hook was found.
#[derive(JsonSchema)]
#[schemars(rename = "tier", rename_all = "snake_case")]
enum Tier {
    /// The repository.
    Repo,
    /// A plugin of the repository.
    #[schemars(rename = "repo plugin")]
    RepoPlugin,
    /// The home directory.
    Global,
    /// A plugin of the home directory.
    #[schemars(rename = "global plugin")]
    GlobalPlugin,
    /// The agent.
    Code,
    /// hookbox.
    #[schemars(rename = "built in")]
    BuiltIn,
}

/// What becomes of a hook that was found.
#[derive(JsonSchema)]
#[schemars(rename = "entry_status", rename_all = "snake_case")]
pub(super) enum EntryStatus {
    /// It runs.
    Active,
    /// Its owner has switched it off.
    Disabled,
    /// An earlier hook of the same name runs in its place.
    Shadowed,
    /// A repository brought it, and the user has not trusted it.
    Untrusted,
    /// It cannot be used.
    Invalid,
}

/// What happens when a hook fails.
#[derive(JsonSchema)]
#[schemars(rename = "on_failure", rename_all = "snake_case")]
pub(super) enum OnFailure {
    /// The agent goes on, with a warning.
    Pass,
    /// It is a block.
    Block,
}

/// A hook that was found.
#[derive(JsonSchema)]
#[schemars(rename = "entry")]
struct Entry {
    /// The full name.
    name: String,
    /// Its file, absolute, if it has one.
    path: OrNull<String>,
    /// Its kind.
    kind: Kind,
    /// The events that it subscribes to, in snake case; empty unless it is active.
    events: Vec<String>,
    /// The lowest of its subscriptions.
    priority: i32,
    /// Where it was found.
    tier: Tier,
    /// The plugin that it belongs to, as `org/repo`.
    plugin: OrNull<String>,
    /// Whether the user trusts it.
    trusted: bool,
    /// What becomes of it.
    status: EntryStatus,
    /// Why it does not run, where that is not its owner's wish.
    problem: OrNull<String>,
    /// The digest of what would run, `sha256:<hex>`.
    digest: OrNull<String>,
    /// What happens when it fails.
    on_failure: OnFailure,
    /// Whether all its subscriptions only observe.
    observe: bool,
    /// Its wall-clock limit, such as `30s`.
    timeout: String,
}

/// A question for the user.
#[derive(JsonSchema)]
#[schemars(rename = "ask")]
struct Ask {
    /// Why.
    reason: String,
    /// The hook that asks.
    by: String,
}

/// What the agent is to be done with.
#[derive(JsonSchema)]
#[schemars(rename = "result", rename_all = "snake_case", inline)]
enum Turned {
    /// The conversation is replaced.
    Mutate,
    /// A recipe is run.
    Callback,
}

/// What the hooks of one event decided together, in kodelet's dialect.
#[derive(JsonSchema)]
#[schemars(rename = "verdict")]
struct Verdict {
    /// It must not happen; there for every event that can be blocked.
    blocked: Option<bool>,
    /// Why, as the model may read it.
    reason: Option<String>,
    /// The hook that blocked.
    blocked_by: Option<String>,
    /// The tool's input, if changed.
    input: Option<Value>,
    /// The tool's output, if changed.
    output: Option<Value>,
    /// The message, if changed.
    message: Option<String>,
    /// The error's text, if changed.
    error: Option<String>,
    /// Messages of the user with which the agent goes on.
    follow_up_messages: Option<Vec<String>>,
    /// What is to be done.
    result: Option<Turned>,
    /// With `mutate`: the new conversation.
    messages: Option<Vec<Message>>,
    /// With `callback`: the recipe.
    callback: Option<String>,
    /// Its arguments.
    callback_args: Option<BTreeMap<String, String>>,
    /// The user is to decide.
    ask: Option<Ask>,
    /// Text for the model.
    additional_context: Option<Vec<String>>,
    /// Notes for the user.
    warnings: Option<Vec<String>>,
}

/// How a hook fared.
#[derive(JsonSchema)]
#[schemars(rename = "status", rename_all = "snake_case")]
enum Status {
    /// It ran and wants nothing.
    Passed,
    /// It ran and changed, injected or asked for something that was applied.
    Changed,
    /// It ran and wants the user to decide.
    Asked,
    /// It blocked.
    Blocked,
    /// It ran to observe; its answer was not acted on.
    Observed,
    /// It failed; `cause` says how.
    Failed,
    /// It did not run because the user has not trusted it.
    Untrusted,
    /// It did not run because another hook had blocked.
    Skipped,
}

/// A limit that was exceeded.
#[derive(JsonSchema)]
#[schemars(rename = "limit")]
struct Limit {
    /// What was limited, such as `fuel`, `wall` (milliseconds) or `memory` (bytes).
    of: String,
    /// The limit.
    limit: u64,
    /// What was used or wanted, where that is known.
    used: Option<u64>,
}

/// A right that a hook made use of without having it.
#[derive(JsonSchema)]
#[schemars(rename = "denial")]
struct Denial {
    /// The right.
    right: String,
    /// What allows it.
    fix: String,
}

/// One change that one hook made.
#[derive(JsonSchema)]
#[schemars(rename = "change")]
struct Change {
    /// What it changed, such as `input`.
    what: String,
    /// What stood there before.
    before: Value,
    /// What stands there now.
    after: Value,
}

/// What one hook did.
#[derive(JsonSchema)]
#[schemars(rename = "hook")]
struct Hook {
    /// Its full name.
    name: String,
    /// Its kind.
    kind: Kind,
    /// Whether the user trusts it.
    trusted: bool,
    /// How it fared.
    status: Status,
    /// Why it failed, such as `timeout`, or which right it lacked.
    cause: OrNull<String>,
    /// How long it took, in microseconds.
    duration_us: u64,
    /// Fuel used; components.
    fuel: OrNull<u64>,
    /// The most memory held at once, in bytes; components.
    memory_peak_bytes: OrNull<u64>,
    /// The reason, or what went wrong; escaped.
    message: OrNull<String>,
    /// The limit that was exceeded.
    limit: OrNull<Limit>,
    /// What it changed.
    changes: Vec<Change>,
    /// The rights that it looked for and does not have.
    denied: Vec<Denial>,
    /// Standard error or log, escaped.
    log: String,
    /// The hook's own.
    metadata: Object,
}

/// What `on_error` hooks did about one failure.
#[derive(JsonSchema)]
#[schemars(rename = "failure")]
struct Failure {
    /// The hook that failed.
    of: String,
    /// What they did.
    hooks: Vec<Hook>,
}

/// The verdict with what each hook did.
#[derive(JsonSchema)]
#[schemars(rename = "report")]
struct Report {
    /// The verdict, in the dialect that was asked for.
    verdict: Object,
    /// The event.
    event: String,
    /// How long the chain took, in microseconds.
    duration_us: u64,
    /// The hooks, in run order.
    hooks: Vec<Hook>,
    /// What `on_error` hooks did about hooks that failed here.
    on_error: Vec<Failure>,
}

pub(super) fn list(generator: &mut SchemaGenerator) -> Shape {
    Shape::Whole(of::<Vec<Entry>>(generator))
}

pub(super) fn verdict(generator: &mut SchemaGenerator) -> Shape {
    Shape::Whole(of::<Verdict>(generator))
}

pub(super) fn report(generator: &mut SchemaGenerator) -> Shape {
    Shape::Whole(of::<Report>(generator))
}
