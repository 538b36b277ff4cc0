//! A server that has answered the handshake.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, PaginatedRequestParams,
};
use rmcp::service::{ClientInitializeError, RunningService, ServiceError};
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Map, Value};

use crate::hook::HookError;
use crate::mcp::client::{Client, Quiet};
use crate::mcp::life::Life;
use crate::mcp::meter::{Flood, Meter};
use crate::mcp::pipes::{Pipes, UNREADABLE};
use crate::mcp::{ServerConfig, Transport, http};
use crate::report::Cause;
use crate::text;

/// How long to wait for the end of a process that has closed its output, to say how it ended.
const LAST_BREATH: Duration = Duration::from_millis(250);

/// How much of what a server says of a failure is repeated, in bytes.
const EXCERPT: usize = 400;

/// How many pages of its tools are looked at for the name of one that it does not know.
const PAGES: usize = 8;

/// A server that has answered the handshake.
pub(super) struct Connection {
    service: RunningService<RoleClient, Client>,
    meter: Arc<Meter>,
    life: Arc<Life>,
    name: String,
}

/// A failed call, and whether the server is of no use any more.
pub(super) struct Failed {
    pub(super) error: HookError,
    pub(super) over: bool,
}

impl Connection {
    /// Starts or reaches the server, and shakes hands. It may say at most `limit` bytes meanwhile, and in one event of
    /// an HTTP stream ever after.
    ///
    /// # Errors
    ///
    /// `not_found` and `spawn` where it cannot be started or reached, `exit` and `signal` where it ends, `output_limit`,
    /// `incompatible` where it answers something else.
    pub(super) async fn open(
        config: &ServerConfig,
        life: Arc<Life>,
        limit: usize,
    ) -> Result<Self, HookError> {
        let meter = Arc::new(Meter::new());
        let waiting = meter.wait(limit);
        let inner_meter = Arc::clone(&meter);
        let served = match &config.transport {
            transport @ Transport::Stdio { .. } => {
                let (stdin, stdout) = life.begin(transport).await?;
                let inner = Pipes::new(stdin, stdout, Arc::clone(&meter), Arc::clone(&life));
                Client.serve(Quiet { inner, meter: inner_meter }).await
            }
            Transport::Http { url, headers } => {
                let inner = http::transport(url, headers, limit, Arc::clone(&meter)).await?;
                // The transport is a worker of its own, which has to be made one here.
                Client.serve(Quiet { inner, meter: inner_meter }).await
            }
        };
        drop(waiting);
        match served {
            Ok(service) => Ok(Self { service, meter, life, name: config.name.clone() }),
            Err(error) => Err(not_opened(error, &life, &meter).await),
        }
    }

    /// Whether it is of no use any more.
    pub(super) fn is_over(&self) -> bool {
        self.service.is_transport_closed() || self.meter.flood().is_some() || self.life.is_over()
    }

    /// Calls a tool. The server may say at most `limit` bytes meanwhile. A call that is dropped is cancelled.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        limit: usize,
    ) -> Result<CallToolResult, Failed> {
        let _waiting = self.meter.wait(limit);
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let answered = tokio::select! {
            answered = self.service.call_tool_once(params) => answered,
            flood = self.meter.flooded() => return Err(Failed { error: too_much(flood), over: true }),
        };
        match answered {
            Ok(CallToolResponse::Complete(result)) if result.is_error == Some(true) => {
                match self.unknown(tool).await {
                    Some(error) => Err(Failed { error, over: false }),
                    None => Ok(result),
                }
            }
            Ok(CallToolResponse::Complete(result)) => Ok(result),
            Ok(CallToolResponse::InputRequired(_)) => {
                Err(malformed("asked for more input, which a hook does not give"))
            }
            Ok(_) => Err(malformed("answered with a task; expected the result of the tool")),
            Err(ServiceError::McpError(error)) if error.code == UNREADABLE => {
                let what = text::escape(&error.message, EXCERPT);
                Err(malformed(&format!("answered with what is no result of a tool: {what}")))
            }
            Err(ServiceError::McpError(error)) => {
                let unknown = self.unknown(tool).await;
                let error = unknown.unwrap_or_else(|| HookError::new(Cause::Exit, rpc(&error)));
                Err(Failed { error, over: self.is_over() })
            }
            Err(ServiceError::UnexpectedResponse) => {
                Err(malformed("answered with what is no result of a tool"))
            }
            Err(ServiceError::TransportSend(error)) if !self.life.is_process() => {
                Err(Failed { error: http::failure(&error), over: true })
            }
            Err(_) => Err(Failed { error: self.gone().await, over: true }),
        }
    }

    /// The failure of a call of a tool that the server does not have; `None` where it has it, or does not say. Servers
    /// say in many ways that they do not know a tool, so it is looked for after a failure.
    async fn unknown(&self, tool: &str) -> Option<HookError> {
        let mut known: Vec<String> = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let page = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let list = self.service.list_tools(page).await.ok()?;
            known.extend(list.tools.into_iter().map(|tool| tool.name.into_owned()));
            cursor = list.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        if cursor.is_some() || known.iter().any(|name| name == tool) {
            return None;
        }
        let (server, tool_shown) = (text::escape(&self.name, 80), text::escape(tool, 80));
        let nearest = text::nearest(tool, known.iter().map(String::as_str));
        let hint = match nearest {
            Some(nearest) => format!("; the nearest is {:?}", text::escape(nearest, 80)),
            None => ", nor any other".to_owned(),
        };
        let message = format!("is not there: the server {server:?} has no tool {tool_shown:?}{hint}");
        Some(HookError::new(Cause::NotFound, message))
    }

    /// Why there is no connection any more.
    async fn gone(&self) -> HookError {
        gone(&self.life, &self.meter).await
    }

    /// Ends it.
    pub(super) fn end(&self) {
        self.service.cancellation_token().cancel();
        self.life.end();
    }
}

fn malformed(what: &str) -> Failed {
    Failed { error: HookError::new(Cause::MalformedOutput, what), over: false }
}

fn too_much(flood: Flood) -> HookError {
    HookError::output_limit(flood.limit, flood.said)
}

async fn gone(life: &Life, meter: &Meter) -> HookError {
    match meter.flood() {
        Some(flood) => too_much(flood),
        None if life.is_process() => life.how_it_ended(LAST_BREATH).await,
        None => HookError::new(Cause::Exit, "its server closed the connection before it answered"),
    }
}

/// An error of the protocol, in words.
fn rpc(error: &ErrorData) -> String {
    format!("answered with error {}: {}", error.code.0, text::escape(&error.message, EXCERPT))
}

/// Why there was no handshake.
async fn not_opened(error: ClientInitializeError, life: &Life, meter: &Meter) -> HookError {
    match error {
        ClientInitializeError::TransportError { error, .. } if !life.is_process() => http::failure(&error),
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => {
            gone(life, meter).await
        }
        ClientInitializeError::JsonRpcError(error) if error.code == UNREADABLE => {
            let what = text::escape(&error.message, EXCERPT);
            HookError::new(
                Cause::Incompatible,
                format!("its server answered the handshake with what is none: {what}"),
            )
        }
        ClientInitializeError::JsonRpcError(error) => {
            HookError::new(Cause::Exit, format!("its server refused the handshake: it {}", rpc(&error)))
        }
        other => {
            let what = text::escape(&other.to_string(), EXCERPT);
            HookError::new(Cause::Incompatible, format!("its server answered the handshake wrongly: {what}"))
        }
    }
}
