//! Composes hooks into an HTTP service, a component of the world `wasi:http/proxy`.
//!
//! Each hook has a path of its own, so that the chain of the caller folds their answers. A hook gets the facts that the
//! caller sends, and nothing of the machine on which the service runs but its clocks and random numbers.

use std::error::Error;

use hookbox::capability::Capability;
use hookbox::{Component, EventName, Hint, escape};
use thiserror::Error;
use wac_graph::types::{Package, are_semver_compatible};
use wac_graph::{CompositionGraph, EncodeOptions, NodeId, PackageId};

/// The interface of a service, which the adapter exports.
const HANDLER: &str = "wasi:http/incoming-handler@0.2.12";

/// The interfaces between the parts, which are not for hooks.
const OURS: &str = "hookbox:service/";

/// The interfaces that every server of `wasi:http/proxy` has, and that give a hook no right: a whole package, or one
/// interface.
const OF_SERVER: [&str; 6] = [
    "wasi:io/",
    "wasi:clocks/",
    "wasi:random/random@",
    "wasi:cli/stdin@",
    "wasi:cli/stdout@",
    "wasi:cli/stderr@",
];

/// The components around the hooks of a service (`guards/service`).
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// Reads requests, and answers with the answers of a hook.
    pub adapter: &'a [u8],
    /// Gives a hook what it imports from hookbox.
    pub provider: &'a [u8],
    /// Gives the others what a toolchain imports and a server need not have.
    pub surroundings: &'a [u8],
}

/// The reason why a hook cannot be part of a service. It reads after the name of the hook.
#[derive(Debug, Error)]
#[error("{what}")]
pub struct ServiceError {
    what: String,
    /// The next step.
    pub hint: Hint,
}

impl ServiceError {
    fn new(what: String, hint: &'static str) -> Self {
        Self { what, hint: hint.into() }
    }
}

/// The next step for a hook that needs more than a service gives.
const BESIDE_AGENT: &str = "let it run on the machine of the agent, as a component in ~/.hookbox/hooks/";

/// The next step for a hook whose name gives no path of its own.
const RENAME: &str = "change the name in its manifest";

/// A result of the composer, whose errors are of several types.
type Joined<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Composes hooks, each with its bytes, into a service. It answers `POST /NAME`, with the name in a hook's manifest.
///
/// The permission `work-tree` may be asked for, and is not given: the hook then takes files for ones that git does not know.
///
/// # Errors
///
/// The place of the first hook that cannot be part of a service, and the reason.
pub fn compose(parts: &Parts<'_>, hooks: &[(&Component, &[u8])]) -> Result<Vec<u8>, (usize, ServiceError)> {
    let mut graph = CompositionGraph::new();
    let at = |place: usize| move |error: Box<dyn Error + Send + Sync>| (place, unfit(&*error));
    let parts = Placed::add(&mut graph, parts).map_err(at(0))?;
    for (place, (hook, _)) in hooks.iter().enumerate() {
        let before = hooks.iter().take(place).map(|(it, _)| it.manifest().name.as_str());
        check(hook, before, &parts.given(&graph)).map_err(|error| (place, error))?;
    }
    // The adapter of the first hook is in front. Behind that of the last one is the provider, which has no path.
    let mut next = parts.provider;
    for (place, (_, bytes)) in hooks.iter().enumerate().rev() {
        next = parts.add_hook(&mut graph, place, bytes, next).map_err(at(place))?;
    }
    finish(&mut graph, next).map_err(at(0))
}

/// Checks that a hook can do its work with these interfaces, and has a path beside the hooks before it.
fn check<'a>(
    hook: &Component,
    mut before: impl Iterator<Item = &'a str>,
    given: &[&str],
) -> Result<(), ServiceError> {
    let manifest = hook.manifest();
    if let Some(right) = manifest.capabilities.iter().find(|it| **it != Capability::WorkTree) {
        let explained = right.explain();
        let what = format!("asks for the permission {right}, which a service cannot give: {explained}");
        return Err(ServiceError::new(what, BESIDE_AGENT));
    }
    let is_of_call = |it: &EventName| matches!(it, EventName::BeforeToolCall | EventName::AfterToolCall);
    if let Some(other) = manifest.subscriptions.iter().map(|it| &it.event).find(|it| !is_of_call(it)) {
        let what =
            format!("subscribes to {other}: a service answers before_tool_call and after_tool_call only");
        return Err(ServiceError::new(what, BESIDE_AGENT));
    }
    let is_given = |name: &str| {
        given.iter().any(|it| *it == name || are_semver_compatible(it, name))
            || OF_SERVER.iter().any(|it| name.starts_with(it))
    };
    if let Some(import) = hook.imports().iter().find(|it| !is_given(it.as_str())) {
        let (interface, explained) = (import.as_str(), import.explain());
        let what = format!("imports {interface}, which a service cannot give: {explained}");
        return Err(ServiceError::new(what, BESIDE_AGENT));
    }
    let name = &manifest.name;
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(is_of_path) {
        let what =
            format!("calls itself {name:?}, which is not a path: expected letters, digits, `-`, `_` and `.`");
        return Err(ServiceError::new(what, RENAME));
    }
    if before.any(|it| it == name) {
        let what = format!("calls itself {name:?}, as a hook before it does");
        return Err(ServiceError::new(what, RENAME));
    }
    Ok(())
}

/// The parts of a service beside its hooks, in a graph.
struct Placed {
    adapter: PackageId,
    provider: NodeId,
    surroundings: NodeId,
}

impl Placed {
    fn add(graph: &mut CompositionGraph, parts: &Parts<'_>) -> Joined<Self> {
        let adapter = add(graph, "adapter", parts.adapter)?;
        let provider = add(graph, "provider", parts.provider)?;
        let surroundings = add(graph, "surroundings", parts.surroundings)?;
        let (provider, surroundings) = (graph.instantiate(provider), graph.instantiate(surroundings));
        join(graph, provider, surroundings)?;
        Ok(Self { adapter, provider, surroundings })
    }

    /// Returns the interfaces that a hook may import.
    fn given<'g>(&self, graph: &'g CompositionGraph) -> Vec<&'g str> {
        let exports = [self.provider, self.surroundings].into_iter().flat_map(|it| exports(graph, it));
        exports.filter(|it| *it != HANDLER && !it.starts_with(OURS)).collect()
    }

    /// Adds a hook and its adapter in front of the next one.
    fn add_hook(
        &self,
        graph: &mut CompositionGraph,
        place: usize,
        bytes: &[u8],
        next: NodeId,
    ) -> Joined<NodeId> {
        let package = add(graph, &format!("hook{place}"), bytes)?;
        let (hook, adapter) = (graph.instantiate(package), graph.instantiate(self.adapter));
        for from in [self.provider, self.surroundings] {
            join(graph, hook, from)?;
        }
        for from in [hook, next, self.provider, self.surroundings] {
            join(graph, adapter, from)?;
        }
        Ok(adapter)
    }
}

fn add(graph: &mut CompositionGraph, name: &str, component: &[u8]) -> Joined<PackageId> {
    let package = Package::from_bytes(&format!("hookbox:{name}"), None, component, graph.types_mut())?;
    Ok(graph.register_package(package)?)
}

fn exports(graph: &CompositionGraph, instance: NodeId) -> impl Iterator<Item = &str> {
    let world = graph[instance].package().map(|it| &graph.types()[graph[it].ty()]);
    world.into_iter().flat_map(|it| it.exports.keys().map(String::as_str))
}

/// Gives the exports of an instance to another one that imports them, if no other instance has.
fn join(graph: &mut CompositionGraph, to: NodeId, from: NodeId) -> Joined<()> {
    let world = graph[to].package().map(|it| &graph.types()[graph[it].ty()]);
    let imports = world.into_iter().flat_map(|it| it.imports.keys());
    let open = imports.filter(|name| graph.get_instantiation_arguments(to).all(|(it, _)| it != *name));
    let found = open.filter_map(|import| {
        let export = exports(graph, from).find(|it| *it == import || are_semver_compatible(it, import))?;
        Some((import.clone(), export.to_owned()))
    });
    for (import, export) in found.collect::<Vec<_>>() {
        let given = graph.alias_instance_export(from, &export)?;
        graph.set_instantiation_argument(to, &import, given)?;
    }
    Ok(())
}

/// Exports the adapter in front, and writes the component.
fn finish(graph: &mut CompositionGraph, front: NodeId) -> Joined<Vec<u8>> {
    let handler = graph.alias_instance_export(front, HANDLER)?;
    graph.export(handler, HANDLER)?;
    Ok(graph.encode(EncodeOptions::default())?)
}

fn unfit(error: &(dyn Error + Send + Sync + 'static)) -> ServiceError {
    let causes = std::iter::successors(error.source(), |it| (*it).source());
    let why = causes.fold(error.to_string(), |said, it| format!("{said}: {it}"));
    let what = format!("does not fit into a service: {}", escape(&why, 1000));
    ServiceError::new(what, "build it with the SDK of this version")
}
