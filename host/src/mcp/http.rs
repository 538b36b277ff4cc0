//! Streamable HTTP: requests to the address that the configuration names, and to no other origin.
//!
//! The user wrote or trusted the configuration. So addresses of the local network are allowed here, unlike in
//! requests of components. Proxies of the environment are not used.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use http::{HeaderName, HeaderValue, StatusCode};
use reqwest::redirect::Policy;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use rmcp::transport::{DynamicTransportError, StreamableHttpClientTransport};
use sse_stream::Sse;
use tokio_rustls::rustls::RootCertStore;

use crate::hook::{Cause, HookError};
use crate::mcp::byte_limit::{ByteLimit, Exceeded};
use crate::mcp::pipes;
use hookbox_system::{limits, text, tls};

/// The number of redirects within the origin.
const MAX_REDIRECTS: usize = 3;

type Fault = StreamableHttpError<reqwest::Error>;
type Events = Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;

/// Prepares the transport to this address, and sends nothing. One event of a stream has at most `limit`
/// bytes.
///
/// # Errors
///
/// `spawn` if the address or a header is invalid, or the system's certificates cannot be read.
pub(super) async fn transport(
    url: &str,
    headers: &std::collections::BTreeMap<String, String>,
    limit: usize,
    bytes: Arc<ByteLimit>,
) -> Result<StreamableHttpClientTransport<Client>, HookError> {
    let wrong = |what: String| HookError::new(Cause::Spawn, what);
    let parsed = url.parse::<reqwest::Url>().ok().filter(|url| url.has_host());
    let scheme = parsed.as_ref().map(|url| url.scheme().to_owned());
    let config = match scheme.as_deref() {
        // The client needs a configuration also without TLS.
        Some("http") => tls::config(RootCertStore::empty()),
        Some("https") => tokio::task::spawn_blocking(tls::system_roots)
            .await
            .unwrap_or_else(|error| Err(error.to_string())),
        _ => {
            let shown = text::escape(url.split(['?', '#']).next().unwrap_or_default(), 120);
            return Err(wrong(format!(
                "its server has no usable address: expected http:// or https://, found {shown:?}"
            )));
        }
    };
    let config = config.map_err(|error| wrong(format!("its server cannot be reached over TLS: {error}")))?;
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        .no_proxy()
        .http1_only()
        .redirect(within_origin())
        // A server may restart between two events, which breaks a kept connection.
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| wrong(format!("its server cannot be reached: {}", text::innermost(&error))))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(fields(headers)?);
    config.max_sse_event_size = limit;
    Ok(StreamableHttpClientTransport::with_client(Client { client, bytes }, config))
}

/// Parses the configured header fields.
fn fields(
    headers: &std::collections::BTreeMap<String, String>,
) -> Result<HashMap<HeaderName, HeaderValue>, HookError> {
    let wrong = |name: &str, what: &str| {
        let name = text::escape(name, 80);
        HookError::new(Cause::Spawn, format!("its server cannot be reached: the header {name:?} {what}"))
    };
    let field = |(name, value): (&String, &String)| {
        let key = HeaderName::try_from(name.as_str()).map_err(|_| wrong(name, "has no name of a header"))?;
        let mut value =
            HeaderValue::try_from(value.as_str()).map_err(|_| wrong(name, "has no value of a header"))?;
        value.set_sensitive(true);
        Ok((key, value))
    };
    headers.iter().map(field).collect()
}

/// Follows a redirect that repeats the request (307, 308) within the origin. Any other redirect is a failure:
/// headers with keys go nowhere else.
fn within_origin() -> Policy {
    Policy::custom(|attempt| {
        let keeps =
            [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT].contains(&attempt.status());
        let stays = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
        if keeps && stays && attempt.previous().len() <= MAX_REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

/// The HTTP client of the transport. It opens no stream without a request, and counts the bytes of the
/// others.
#[derive(Clone)]
pub(super) struct Client {
    client: reqwest::Client,
    bytes: Arc<ByteLimit>,
}

impl StreamableHttpClient for Client {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        self.client.post_message(uri, message, session_id, auth_header, custom_headers).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        limit: usize,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let sent = self.client.post_message_with_max_sse_event_size(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            limit,
        );
        Ok(match sent.await? {
            StreamableHttpPostResponse::Sse(events, session) => {
                let events: Events = Box::pin(Counted { events, limit, bytes: Arc::clone(&self.bytes) });
                StreamableHttpPostResponse::Sse(events, session)
            }
            other => other,
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault> {
        self.client.delete_session(uri, session_id, auth_header, custom_headers).await
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        _: Option<Arc<str>>,
        _: Option<String>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Fault> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

/// The events of an answer. It ends with the last call, and at the limit.
struct Counted {
    events: Events,
    /// The largest event, in bytes.
    limit: usize,
    bytes: Arc<ByteLimit>,
}

impl Stream for Counted {
    type Item = Result<Sse, SseError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut next = std::task::ready!(self.events.as_mut().poll_next(cx));
        let read = match &mut next {
            Some(Ok(event)) => {
                let read = event.data.as_ref().map_or(0, String::len) + 1;
                // The transport would take the last of two values with one name.
                if let Some(data) = &mut event.data
                    && let Some(ServerJsonRpcMessage::Error(error)) = pipes::message(data.as_bytes())
                {
                    *data = serde_json::to_string(&error).unwrap_or_default();
                }
                read
            }
            Some(Err(error)) => {
                // The type of the error is not public; its text is tested.
                if error.to_string().contains("exceeded the maximum size") {
                    self.bytes.exceed(Exceeded { limit: self.limit, read: self.limit.saturating_add(1) });
                }
                0
            }
            None => 0,
        };
        Poll::Ready(next.filter(|_| self.bytes.has_calls() && self.bytes.count(read)))
    }
}

/// Returns the failure to send a request, or to receive an answer.
pub(super) fn failure(error: &DynamicTransportError) -> HookError {
    let failed = |cause: Cause, what: String| HookError::new(cause, what);
    let Some(fault) = error.error.downcast_ref::<Fault>() else {
        return failed(
            Cause::Exit,
            format!("could not be called: {}", text::innermost(error.error.as_ref())),
        );
    };
    match fault {
        StreamableHttpError::Client(error) if error.is_connect() => {
            failed(Cause::Spawn, format!("its server could not be reached: {}", text::innermost(error)))
        }
        StreamableHttpError::Client(error) => {
            failed(Cause::Exit, format!("its server did not answer: {}", text::innermost(error)))
        }
        StreamableHttpError::ResponseBodyTooLarge { max_size } => {
            HookError::output_limit(*max_size, *max_size)
        }
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => failed(
            Cause::Exit,
            "its server wants to know who calls (HTTP 401 or 403); hint: put a key into its headers"
                .to_owned(),
        ),
        other => failed(
            Cause::Exit,
            format!("its server answered wrongly: {}", text::escape(&other.to_string(), limits::EXCERPT)),
        ),
    }
}
