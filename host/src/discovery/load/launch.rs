//! The builder of the hooks of a scan, and the hooks that it makes of declared commands, tools and services.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;

use hookbox_system::text;

use super::LastGood;
use super::gate::Gate;
use super::judged::Judged;
use super::select::Wishes;
use crate::discovery::find::{
    Declared, Handler, Kept, Options, PLUGIN_DATA_VARIABLE, Position, Service, WiredCommand,
};
use crate::discovery::{Entry, Problem};
use crate::event::Event;
use crate::hook::{Budget, Cause, Descriptor, Hook, HookError, Kind, Settings};
#[cfg(feature = "mcp")]
use crate::mcp::{Server, ToolHook};
use crate::native::command::{CommandHook, CommandLine};
use crate::outcome::Outcome;

/// Builds the entries and hooks of a scan, one candidate after another.
pub(super) struct Builder<'a> {
    pub(super) gate: &'a Gate,
    pub(super) judged: &'a [Arc<Judged>],
    pub(super) options: &'a Options,
    pub(super) wishes: &'a Wishes,
    pub(super) rows: Vec<(Position, Built)>,
    pub(super) problems: Vec<Problem>,
    pub(super) kept: Vec<Kept>,
    /// The state of the last discovery: its servers may be running.
    pub(super) last: &'a LastGood,
    pub(super) next: LastGood,
}

/// The entry of a hook, and the hook that runs for it.
pub(super) type Built = (Entry, Option<Arc<dyn Hook>>);

impl Builder<'_> {
    /// Adds the next hook in the order of registration.
    pub(super) fn push(&mut self, position: Position, (mut entry, hook): Built) {
        entry.found.order = self.rows.len();
        self.rows.push((position, (entry, hook)));
    }

    /// Makes the hook of this declaration. A server is not started, and the hooks of one root share it.
    ///
    /// # Errors
    ///
    /// `not_found` if its command is missing; `incompatible` if its server or service cannot be configured.
    pub(super) fn launched(
        &mut self,
        judged: &Judged,
        descriptor: Descriptor,
    ) -> Result<Arc<dyn Hook>, HookError> {
        let Some(declared) = judged.declared() else {
            return Err(HookError::new(Cause::Internal, "is not declared"));
        };
        match &declared.handler {
            Ok(Handler::Command(line)) => {
                let base = judged.candidate.dir.base.clone();
                Ok(Arc::new(command(judged, descriptor, line, base, &[])?))
            }
            Ok(Handler::Wired(command)) => Ok(Arc::new(self.wired(judged, descriptor, command)?)),
            Ok(Handler::Tool { server, tool, .. }) => self.tool(judged, declared, descriptor, server, tool),
            Ok(Handler::Http(service)) => self.service(judged, descriptor, service),
            Ok(Handler::Component(_)) => Err(HookError::new(Cause::Internal, "is a component")),
            Err(message) => Err(HookError::new(Cause::Incompatible, message)),
        }
    }

    /// A command with the protocol of an agent, which finds the project in the variables of the agent.
    fn wired(
        &self,
        judged: &Judged,
        descriptor: Descriptor,
        it: &WiredCommand,
    ) -> Result<CommandHook, HookError> {
        let project = self.gate.repository().unwrap_or(&self.options.cwd);
        let base = it.directory.as_deref().unwrap_or(project);
        let directory = it.cwd.as_ref().map_or_else(|| base.to_owned(), |cwd| base.join(cwd));
        let mut values: Vec<(&str, &Path)> =
            it.project_variables.iter().map(|name| (*name, project)).collect();
        values.extend(it.variables.iter().map(|(name, path)| (*name, path.as_path())));
        let dir = &judged.candidate.dir;
        let own = dir.plugin.as_ref().map(|_| dir.base.as_path());
        let plugin = it.plugin.as_deref().or(own);
        if let Some(plugin) = plugin {
            values.extend(it.plugin_variables.iter().map(|name| (*name, plugin)));
        } else if let Some(name) = it.plugin_variables.iter().find(|name| it.names(name)) {
            let message = format!("needs ${{{name}}}, and is not a hook of a plugin");
            return Err(HookError::new(Cause::Incompatible, message));
        }
        let name = dir.plugin.as_ref().map(|_| text::plain_name(&dir.plugin_dir));
        let data = name.and_then(|name| Some(self.options.data.as_ref()?.join("plugin-data").join(name)));
        values.extend(data.iter().map(|data| (PLUGIN_DATA_VARIABLE, data.as_path())));
        let line = it.line.clone().with_values(&values);
        let mut hook = command(judged, descriptor, &line, directory, &values)?;
        hook.wire = Some(Arc::clone(&it.wire));
        hook.data = data.clone();
        let only = judged.table.environment.as_ref();
        let of_settings = it.user_env.iter().chain(&it.project_env);
        let of_settings = of_settings.filter(|(name, _)| only.is_none_or(|only| only.contains(name)));
        for (name, value) in of_settings.chain(&it.env) {
            hook = hook.with_variable(name, value);
        }
        // No setting replaces a directory. A program that finds `PLUGIN_ROOT` takes its agent for another one.
        let is_odd = |name: &str| it.plugin.is_none() && name == "PLUGIN_ROOT" && !it.names(name);
        for (name, path) in values.iter().filter(|(name, _)| !is_odd(name)) {
            hook = hook.with_variable(name, path);
        }
        Ok(hook)
    }

    /// Makes the hook that asks the service of a declaration before this component, if it has one and is trusted.
    ///
    /// # Errors
    ///
    /// `incompatible` if the service cannot be configured.
    pub(super) fn with_service(
        &self,
        judged: &Judged,
        local: Arc<dyn Hook>,
    ) -> Result<Arc<dyn Hook>, HookError> {
        let service = judged.declared().and_then(|it| it.service.as_ref());
        let Some(service) = service.filter(|_| judged.standing.is_trusted()) else { return Ok(local) };
        let service = self.service(judged, local.descriptor().clone(), service)?;
        Ok(Arc::new(WithFallback::new(service, local)))
    }

    #[cfg(feature = "http")]
    fn service(
        &self,
        judged: &Judged,
        descriptor: Descriptor,
        it: &Service,
    ) -> Result<Arc<dyn Hook>, HookError> {
        let headers = it
            .filled(&|name| std::env::var(name).ok())
            .map_err(|why| HookError::new(Cause::Incompatible, text::escape(&why, 400)))?;
        let network = self.gate.network();
        let mut hook =
            crate::service::ServiceHook::new(descriptor, network, &it.url, &headers, &it.addresses)?;
        hook.wire.clone_from(&it.wire);
        hook.verify = judged.verify();
        hook.condition = judged.declared().and_then(|it| it.condition.clone());
        hook.settings.clone_from(&judged.table.settings);
        Ok(Arc::new(hook))
    }

    #[cfg(not(feature = "http"))]
    fn service(&self, _: &Judged, _: Descriptor, _: &Service) -> Result<Arc<dyn Hook>, HookError> {
        let what = "is an HTTP service, and this build has no HTTP (feature `http`)";
        Err(HookError::new(Cause::Incompatible, what))
    }

    #[cfg(not(feature = "mcp"))]
    fn tool(
        &self,
        _: &Judged,
        _: &Declared,
        _: Descriptor,
        _: &str,
        _: &str,
    ) -> Result<Arc<dyn Hook>, HookError> {
        let what = "is a tool of an MCP server, and this build has no MCP (feature `mcp`)";
        Err(HookError::new(Cause::Incompatible, what))
    }

    #[cfg(feature = "mcp")]
    fn tool(
        &mut self,
        judged: &Judged,
        declared: &Declared,
        descriptor: Descriptor,
        name: &str,
        tool: &str,
    ) -> Result<Arc<dyn Hook>, HookError> {
        let dir = &judged.candidate.dir;
        // A plugin uses the servers of the root that contains it.
        let root = match &dir.plugin {
            Some(_) => dir.base.ancestors().nth(3).unwrap_or(&dir.base),
            None => dir.base.as_path(),
        };
        let key = (root.to_owned(), dir.root, name.to_owned());
        let server = match (self.next.servers.get(&key), &declared.server) {
            (Some(server), _) => Arc::clone(server),
            (None, Some(server)) => {
                let config = server.transport.filled(name, root)?;
                // A server whose configuration did not change goes on running.
                let server = match self.last.servers.get(&key).filter(|last| *last.config() == config) {
                    Some(last) => Arc::clone(last),
                    None => Server::shared(config)?,
                };
                self.next.servers.insert(key, Arc::clone(&server));
                server
            }
            (None, None) => return Err(HookError::new(Cause::Internal, "its server was not declared")),
        };
        Ok(Arc::new(ToolHook::new(descriptor, server, tool.to_owned()).with_verify(judged.verify())))
    }
}

fn command(
    judged: &Judged,
    descriptor: Descriptor,
    line: &CommandLine,
    directory: PathBuf,
    values: &[(&str, &Path)],
) -> Result<CommandHook, HookError> {
    line.look(&directory, values)?;
    let declared = judged.declared();
    let mut hook =
        CommandHook::new(descriptor, line.clone(), directory).with_settings(&judged.table.settings);
    hook.environment.clone_from(&judged.table.environment);
    hook.verify = judged.verify();
    hook.is_in_background = declared.is_some_and(|it| it.background);
    hook.condition = declared.and_then(|it| it.condition.clone());
    Ok(hook)
}

/// A hook that answers in place of another one that fails.
struct WithFallback {
    descriptor: Descriptor,
    service: Arc<dyn Hook>,
    local: Arc<dyn Hook>,
}

impl WithFallback {
    fn new(service: Arc<dyn Hook>, local: Arc<dyn Hook>) -> Self {
        // A replay cannot repeat what a service decides.
        let descriptor = Descriptor { kind: Kind::Http, ..local.descriptor().clone() };
        Self { descriptor, service, local }
    }
}

#[async_trait]
impl Hook for WithFallback {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn passes_over(&self, event: &Event) -> Option<&'static str> {
        self.local.passes_over(event)
    }

    fn tried_with(&self, settings: &Settings) -> Option<Arc<dyn Hook>> {
        self.local.tried_with(settings)
    }

    /// Asks the service within half of the time, so that the other half is left for the component.
    async fn run(&self, event: &Event, budget: &Budget) -> Result<Outcome, HookError> {
        let begin = Instant::now();
        let half = Budget { wall: budget.wall / 2, ..*budget };
        let error = match self.service.run(event, &half).await {
            Ok(outcome) => return Ok(outcome),
            Err(error) => error,
        };
        let left = Budget { wall: budget.wall.saturating_sub(begin.elapsed()), ..*budget };
        let mut answer = self.local.run(event, &left).await;
        let why = format!("{}; its fallback answered", error.message);
        match &mut answer {
            Ok(outcome) => outcome.noticed.push(why),
            Err(failed) => failed.message = format!("{}; {}", error.message, failed.message),
        }
        answer
    }
}
