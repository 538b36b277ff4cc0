//! Journals receive every event of a session with its verdict.

use std::error::Error;
use std::fmt;
use std::path::Path;

use crate::capability::Capability;
use crate::chain::Fired;
use crate::event::Event;
use crate::hook::{Digest, Settings};
pub use crate::journal_settings::JournalSettings;

/// Receives each event of every session after its verdict, also one that no hook wants
/// ([`Builder::journal`](crate::manager::Builder::journal)).
///
/// The session calls it in the task of the event, once the hooks have ended. So it should not take long. A failure is a
/// warning of the verdict, and changes nothing else. The crate `hookbox-journal` writes files.
///
/// ```
/// use std::sync::Mutex;
///
/// use hookbox::ToolCall;
/// use hookbox::journal::{Journal, Record};
/// use hookbox::manager::Manager;
/// use serde_json::json;
///
/// #[derive(Debug, Default)]
/// struct Tools(Mutex<Vec<String>>);
///
/// impl Journal for &'static Tools {
///     fn record(&self, record: &Record<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///         let tool = record.event.tool_call().map(|call| call.name.clone());
///         self.0.lock().map_err(|error| error.to_string())?.extend(tool);
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let tools: &'static Tools = Box::leak(Box::default());
/// let manager = Manager::builder().directories(false).journal(tools).build().await;
/// drop(manager.session("c").before_tool_call(ToolCall::new("bash", json!({"command": "ls"}))).await);
/// assert_eq!(*tools.0.lock().unwrap(), ["bash"]);
/// # }
/// ```
pub trait Journal: fmt::Debug + Send + Sync {
    /// Records an event.
    ///
    /// # Errors
    ///
    /// The reason why the event is not recorded.
    fn record(&self, record: &Record<'_>) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// An event with its verdict, and the hooks that were asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The event as the agent sent it.
    pub event: &'a Event,
    /// The event as the hooks left it, the verdict and the report.
    pub fired: &'a Fired,
    /// The hooks of the report, in its order.
    pub hooks: Vec<RecordedHook<'a>>,
    /// The home directory, which a tool call may name as `~`.
    pub home: Option<&'a Path>,
    /// The user's settings of the journal.
    pub settings: JournalSettings,
    /// The span of the event, if telemetry made one: a W3C `traceparent`.
    pub trace: Option<String>,
}

/// The part of a hook that its report does not have.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RecordedHook<'a> {
    /// The digest of the hook.
    pub digest: Option<&'a Digest>,
    /// Its own settings.
    pub settings: Option<&'a Settings>,
    /// The permissions that it has, of those that it asks for.
    pub rights: Vec<Capability>,
}
