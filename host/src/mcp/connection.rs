//! A server that has answered the handshake.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, PaginatedRequestParams,
};
use rmcp::service::{ClientInitializeError, RunningService, ServiceError};
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Map, Value};

use crate::hook::{Cause, HookError};
use crate::mcp::byte_limit::{ByteLimit, Exceeded};
use crate::mcp::client::{Client, Quiet};
use crate::mcp::pipes::{Pipes, UNREADABLE};
use crate::mcp::process::ServerProcess;
use crate::mcp::{ServerConfig, Transport, http};
use hookbox_system::{limits, text};

/// The longest wait for the exit status of a process that has closed its output.
const EXIT_WAIT: Duration = Duration::from_millis(250);

/// The number of pages of tools that are searched for an unknown name.
const MAX_PAGES: usize = 8;

/// A server that has answered the handshake.
pub(super) struct Connection {
    service: RunningService<RoleClient, Client>,
    bytes: Arc<ByteLimit>,
    process: Arc<ServerProcess>,
    name: String,
}

/// A failed call. `over` if the server takes no further calls.
pub(super) struct Failed {
    pub(super) error: HookError,
    pub(super) over: bool,
}

impl Connection {
    /// Starts or reaches the server, and shakes hands. `limit` is the limit of bytes for the handshake, and
    /// for each event of an HTTP stream.
    ///
    /// # Errors
    ///
    /// `not_found` and `spawn` if it cannot be started or reached, `exit` and `signal` if it ends,
    /// `output_limit`, and `incompatible` for any other answer.
    pub(super) async fn open(
        config: &ServerConfig,
        process: Arc<ServerProcess>,
        limit: usize,
    ) -> Result<Self, HookError> {
        let bytes = Arc::new(ByteLimit::new());
        let call = bytes.begin_call(limit);
        let counted = Arc::clone(&bytes);
        let served = match &config.transport {
            transport @ Transport::Stdio { .. } => {
                let (stdin, stdout) = process.start(transport).await?;
                let inner = Pipes::new(stdin, stdout, Arc::clone(&bytes), Arc::clone(&process));
                Client.serve(Quiet { inner, bytes: counted }).await
            }
            Transport::Http { url, headers } => {
                let inner = http::transport(url, headers, limit, Arc::clone(&bytes)).await?;
                // Only `serve` turns this worker into a transport, so that each branch calls it.
                Client.serve(Quiet { inner, bytes: counted }).await
            }
        };
        drop(call);
        match served {
            Ok(service) => Ok(Self { service, bytes, process, name: config.name.clone() }),
            Err(error) => Err(not_opened(error, &process, &bytes).await),
        }
    }

    /// Returns whether the server takes no further calls.
    pub(super) fn is_over(&self) -> bool {
        self.service.is_transport_closed() || self.bytes.exceeded().is_some() || self.process.has_ended()
    }

    /// Calls a tool, and reads at most `limit` bytes meanwhile. Dropping the call cancels it.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        limit: usize,
    ) -> Result<CallToolResult, Failed> {
        let _call = self.bytes.begin_call(limit);
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let answered = tokio::select! {
            answered = self.service.call_tool_once(params) => answered,
            exceeded = self.bytes.until_exceeded() => return Err(Failed { error: too_much(exceeded), over: true }),
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
                let what = text::escape(&error.message, limits::EXCERPT);
                Err(malformed(&format!("answered with something other than the result of a tool: {what}")))
            }
            Err(ServiceError::McpError(error)) => {
                let unknown = self.unknown(tool).await;
                let error = unknown.unwrap_or_else(|| HookError::new(Cause::Exit, rpc(&error)));
                Err(Failed { error, over: self.is_over() })
            }
            Err(ServiceError::UnexpectedResponse) => {
                Err(malformed("answered with something other than the result of a tool"))
            }
            Err(ServiceError::TransportSend(error)) if !self.process.was_started() => {
                Err(Failed { error: http::failure(&error), over: true })
            }
            Err(_) => Err(Failed { error: self.gone().await, over: true }),
        }
    }

    /// Returns the failure for a tool that the server does not have; `None` if it has the tool, or lists
    /// none. Servers report an unknown tool in many ways, so the list is searched after a failure.
    async fn unknown(&self, tool: &str) -> Option<HookError> {
        let mut known: Vec<String> = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
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
        let hint = match known.is_empty() {
            true => ", nor any other".to_owned(),
            false => text::or_meant(nearest),
        };
        let message = format!("does not exist: the server {server:?} has no tool {tool_shown:?}{hint}");
        Some(HookError::new(Cause::NotFound, message))
    }

    /// Returns the failure of a connection that was lost.
    async fn gone(&self) -> HookError {
        gone(&self.process, &self.bytes).await
    }

    /// Ends the connection and the process.
    pub(super) fn end(&self) {
        self.service.cancellation_token().cancel();
        self.process.kill();
    }
}

fn malformed(what: &str) -> Failed {
    Failed { error: HookError::new(Cause::MalformedOutput, what), over: false }
}

fn too_much(exceeded: Exceeded) -> HookError {
    HookError::output_limit(exceeded.limit, exceeded.read)
}

async fn gone(process: &ServerProcess, bytes: &ByteLimit) -> HookError {
    match bytes.exceeded() {
        Some(exceeded) => too_much(exceeded),
        None if process.was_started() => process.exit_failure(EXIT_WAIT).await,
        None => HookError::new(Cause::Exit, "its server closed the connection before it answered"),
    }
}

/// Describes an error of the protocol.
fn rpc(error: &ErrorData) -> String {
    format!("answered with error {}: {}", error.code.0, text::escape(&error.message, limits::EXCERPT))
}

/// Returns the failure of a handshake.
async fn not_opened(error: ClientInitializeError, process: &ServerProcess, bytes: &ByteLimit) -> HookError {
    match error {
        ClientInitializeError::TransportError { error, .. } if !process.was_started() => {
            http::failure(&error)
        }
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => {
            gone(process, bytes).await
        }
        ClientInitializeError::JsonRpcError(error) if error.code == UNREADABLE => {
            let what = text::escape(&error.message, limits::EXCERPT);
            HookError::new(
                Cause::Incompatible,
                format!("its server answered the handshake with what is none: {what}"),
            )
        }
        ClientInitializeError::JsonRpcError(error) => {
            HookError::new(Cause::Exit, format!("its server refused the handshake: it {}", rpc(&error)))
        }
        other => {
            let what = text::escape(&other.to_string(), limits::EXCERPT);
            HookError::new(Cause::Incompatible, format!("its server answered the handshake wrongly: {what}"))
        }
    }
}
