//! Hooks that are HTTP services: an event is a POST of its JSON, the body of the answer is what a command would print.
//!
//! The rules are those of [`network`](crate::network): the request goes to the declared origin and nowhere else, a redirect
//! is a failure, and the certificate is checked. Connections are kept by the network, which the hooks of a manager share.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use crate::capability::Origin;
use crate::dialect::exact::Exact;
use crate::dialect::fields::Written;
use crate::dialect::{Condition, Wire, base_coat, kodelet};
use crate::event::{Event, EventData, InvokedBy};
use crate::hook::{Budget, Cause, Descriptor, Hook, HookError, Settings};
use crate::native::combine::on_wire;
use crate::native::command::passes_over;
use crate::native::process::Printed;
use crate::native::{Verify, answer, verified_within};
use crate::network::{MAX_BODY, Network, NetworkError, Rules, Timeouts};
use crate::outcome::Outcome;
use hookbox_system::{limits, text};

/// A service as a hook.
pub(crate) struct ServiceHook {
    descriptor: Descriptor,
    network: Network,
    uri: Uri,
    headers: HeaderMap,
    origins: Arc<[Origin]>,
    listed: Arc<[Origin]>,
    /// The form of events and answers.
    pub(crate) wire: Option<Arc<dyn Wire>>,
    /// The check before each request.
    pub(crate) verify: Option<Verify>,
    /// The events that are sent.
    pub(crate) condition: Option<Condition>,
    /// The settings that a service gets with the facts of a call.
    pub(crate) settings: Settings,
}

debug_by!(ServiceHook, origins);

impl ServiceHook {
    /// Makes the hook of the service at `url`, whose host may also be at these addresses. Sends nothing.
    ///
    /// # Errors
    ///
    /// `incompatible` if the address or a header cannot be sent.
    pub(crate) fn new(
        descriptor: Descriptor,
        network: Network,
        url: &str,
        headers: &BTreeMap<String, String>,
        addresses: &[IpAddr],
    ) -> Result<Self, HookError> {
        let wrong = |what: String| HookError::new(Cause::Incompatible, what);
        // A fragment is never sent.
        let url = url.split('#').next().unwrap_or_default();
        let uri: Uri = url.parse().map_err(|error| wrong(format!("its address is not valid: {error}")))?;
        let origin = Network::origin(&uri).map_err(|error| wrong(error.to_string()))?;
        let mut all = HeaderMap::new();
        all.insert(ACCEPT, HeaderValue::from_static("application/json"));
        all.insert(USER_AGENT, HeaderValue::from_static(concat!("hookbox/", env!("CARGO_PKG_VERSION"))));
        for (name, value) in headers {
            let field = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
            let shown = text::escape(name, 80);
            let (field, mut value) =
                field.ok_or_else(|| wrong(format!("its header {shown:?} has no value of a header")))?;
            // A service would read a part of the event, and answer to that.
            if field == CONTENT_LENGTH {
                return Err(wrong("the length of the event is not its to set".to_owned()));
            }
            value.set_sensitive(true);
            all.insert(field, value);
        }
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let listed = addresses.iter().map(|address| origin.with_address(*address)).collect();
        let (wire, verify, condition) = (None, None, None);
        Ok(Self {
            descriptor,
            network,
            uri,
            headers: all,
            origins: [origin].into(),
            listed,
            wire,
            verify,
            condition,
            settings: Settings::new(),
        })
    }

    /// Returns what the envelope of a tool call has no field for, and a service cannot find out.
    fn facts(&self, event: &Event) -> Option<Map<String, Value>> {
        let (call, error) = match &event.data {
            EventData::BeforeToolCall(call) => (call, None),
            EventData::AfterToolCall(result) => (&result.call, result.error.as_deref()),
            _ => return None,
        };
        let (context, mut facts) = (&event.context, Written::default());
        facts.put("cwd", Some(context.cwd.as_str()));
        facts.put("timestampMs", Some(context.timestamp_ms));
        facts.put("subagent", Some(context.invoked_by == InvokedBy::Subagent));
        facts.put("recipeName", context.recipe_name.as_deref().filter(|it| !it.is_empty()));
        facts.put("callId", call.id.as_deref());
        facts.put("error", error);
        facts.put("kind", Some(call.facts.kind.as_str()));
        facts.put("command", call.facts.command.as_deref());
        facts.put("paths", Some(json!(call.facts.paths)));
        facts.put("settings", Some(json!(self.settings)));
        Some(facts.0)
    }

    /// Sends the JSON of an event, and returns the body of the answer.
    async fn send(&self, payload: String, budget: Budget) -> Result<Printed, HookError> {
        let wall = verified_within(self.verify.as_ref(), budget.wall).await?;
        let timeouts = Timeouts { connect: wall, first_byte: wall, between_bytes: wall, total: wall };
        let rules = Rules { origins: Arc::clone(&self.origins), listed: Arc::clone(&self.listed), timeouts };
        let mut request = Request::new(Bytes::from(payload));
        *request.method_mut() = Method::POST;
        request.uri_mut().clone_from(&self.uri);
        request.headers_mut().clone_from(&self.headers);
        let limit = (budget.output as u64).min(MAX_BODY);
        let sent = tokio::time::timeout(wall, self.network.exchange(request, &rules, limit)).await;
        let (status, body) = sent
            .unwrap_or(Err(NetworkError::FirstByteTimeout))
            .map_err(|error| failure(&error, budget.wall, limit))?;
        if !status.is_success() {
            let excerpt = text::escape(String::from_utf8_lossy(&body).trim(), limits::EXCERPT);
            let colon = if excerpt.is_empty() { "" } else { ": " };
            let message = format!("its service answered HTTP {}{colon}{excerpt}", status.as_u16());
            return Err(HookError::new(Cause::Exit, message));
        }
        let is_json = || serde_json::from_slice::<HashMap<String, IgnoredAny>>(&body).is_ok();
        if !body.trim_ascii().is_empty() && !is_json() {
            let excerpt = text::escape(String::from_utf8_lossy(&body).trim(), limits::EXCERPT);
            let message = format!("its service answered with text that is not a JSON object: {excerpt}");
            return Err(HookError::new(Cause::MalformedOutput, message));
        }
        Ok(Printed { stdout: body.into(), log: String::new() })
    }
}

/// Returns the failure of a request.
fn failure(error: &NetworkError, wall: std::time::Duration, limit: u64) -> HookError {
    let (cause, what) = match error {
        NetworkError::ConnectTimeout
        | NetworkError::ResolveTimeout(_)
        | NetworkError::Busy
        | NetworkError::FirstByteTimeout
        | NetworkError::BodyTimeout => return HookError::timeout(wall),
        NetworkError::ResponseTooLarge => {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            return HookError::output_limit(limit, limit.saturating_add(1));
        }
        NetworkError::Prohibited { address, .. } => {
            let message = format!(
                "its service is at {address}, which is not an address of the internet; hint: add \
                 \"addresses\": [\"{address}\"] to its entry"
            );
            return HookError::new(Cause::Denied, message);
        }
        NetworkError::HeadTooLarge | NetworkError::Protocol(_) => {
            (Cause::MalformedOutput, "its service answered wrongly")
        }
        NetworkError::Incomplete => (Cause::Exit, "its service did not answer"),
        _ => (Cause::Spawn, "its service could not be reached"),
    };
    HookError::new(cause, format!("{what}: {error}"))
}

#[async_trait]
impl Hook for ServiceHook {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn passes_over(&self, event: &Event) -> Option<&'static str> {
        passes_over(self.condition.as_ref(), self.wire.as_deref(), event)
    }

    /// Sends the event, within `budget.wall`; the answer has at most `budget.output` bytes, and never more than 4 MiB.
    async fn run(&self, event: &Event, budget: &Budget) -> Result<Outcome, HookError> {
        if let Some(wire) = &self.wire {
            let end = |payload, left| async move { Ok(Some((0, self.send(payload, left).await?))) };
            return on_wire(&**wire, event, budget, end).await;
        }
        let mut payload = base_coat::encode(event).unwrap_or_else(|| kodelet::encode(event));
        if let (Some(facts), Some(payload)) = (self.facts(event), payload.as_object_mut()) {
            payload.insert("facts".to_owned(), Value::Object(facts));
        }
        let printed = self.send(Exact { value: &payload, event }.text(), *budget).await?;
        answer(event, &printed.stdout)
    }
}
