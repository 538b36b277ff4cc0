//! `hookbox mcp`.

use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use hookbox::dialect::{Dialect, schema::Schema};
use hookbox::manager::Manager;
use hookbox::outcome::Warning;
use hookbox::session::Session;
use hookbox::{Context, EventName};
use hookbox_system::{json, text};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::error::{note, warn_of_problems, warn_with_hint};
use crate::given::{self, Given};
use crate::input::MAX_EVENT;
use crate::interrupt::unless_interrupted;
use crate::{options, output};

/// The versions of the protocol that this server speaks, newest first. It uses only parts that all of them
/// have; a server of 2025-03-26 would have to read batches.
const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];

/// The error codes of JSON-RPC.
const UNREADABLE: i64 = -32_700;
const INVALID: i64 = -32_600;
const NO_METHOD: i64 = -32_601;
const WRONG_PARAMS: i64 = -32_602;

/// Serve the hooks as an MCP server on standard input and output.
///
/// For an agent that has no hooks and can call MCP tools: each event is a tool (before_tool_call, …) whose
/// arguments are the event's data and whose result is the verdict of `hookbox run`. The connection is one
/// session.
#[derive(Args, Debug)]
pub(crate) struct Mcp {
    /// The timeout of each hook, such as 500ms or 2s.
    #[arg(long, value_name = "D", value_parser = options::duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    discover: options::Discover,
}

impl Mcp {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.discover.enter()?;
        if std::io::stdin().is_terminal() {
            note("waiting for an MCP client on standard input; an agent starts this command itself");
        }
        let mut lines = lines();
        let manager = unless_interrupted(self.discover.lasting(self.timeout)).await??;
        warn_of_problems(&manager);
        let mut server = Server::new(manager);
        while let Some(line) = unless_interrupted(lines.recv()).await? {
            let answer = match line {
                Ok(line) => unless_interrupted(server.answer(&line)).await?,
                Err(error) => Some(failure(&Value::Null, UNREADABLE, &error.to_string())),
            };
            if let Some(answer) = answer {
                // One message is one line, also on a terminal.
                output::line(&text::escape_json(&answer.to_string()))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Reads the lines of standard input in a thread, because the system cannot wait for a terminal and a signal
/// at once.
fn lines() -> mpsc::Receiver<std::io::Result<Vec<u8>>> {
    let (send, receive) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let read = input.by_ref().take(MAX_EVENT).read_until(b'\n', &mut line);
            let is_cut = line.len() as u64 == MAX_EVENT && line.last() != Some(&b'\n');
            let (line, is_end) = match read {
                Ok(0) => return,
                Ok(_) if is_cut => (Err(std::io::Error::other("the message is too long")), true),
                Ok(_) => (Ok(line), false),
                Err(error) => (Err(error), true),
            };
            if send.blocking_send(line).is_err() || is_end {
                return;
            }
        }
    });
    receive
}

/// The state of a connection.
struct Server {
    manager: Manager,
    session: Session,
    /// The context of an event that does not name its conversation or directory.
    defaults: Context,
}

impl Server {
    fn new(manager: Manager) -> Self {
        let defaults = given::context();
        let session = manager.session(defaults.conversation_id.clone());
        Self { manager, session, defaults }
    }

    /// Answers one message; a notification and an answer of the client get none.
    async fn answer(&mut self, line: &[u8]) -> Option<Value> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let message = match json::object(line) {
            Ok(message) => message,
            Err(error) => return Some(failure(&Value::Null, UNREADABLE, &error.to_string())),
        };
        let field = |name: &str| message.iter().rev().find(|(found, _)| found == name).map(|(_, raw)| raw);
        let id = json::value(field("id")?);
        let method = field("method").map(|raw| json::value(raw));
        let Some(method) = method.as_ref().and_then(Value::as_str) else {
            let is_answer = field("result").is_some() || field("error").is_some();
            return (!is_answer).then(|| failure(&id, INVALID, "the message has no method"));
        };
        let params = field("params").and_then(|raw| json::object(raw.get().as_bytes()).ok());
        let params = params.unwrap_or_default();
        let params: Map<String, Value> =
            params.iter().map(|(name, raw)| (name.clone(), json::value(raw))).collect();
        let result = match method {
            "initialize" => Ok(initialized(&params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": EventName::ALL.iter().map(tool).collect::<Vec<_>>() })),
            "tools/call" => self.call(params).await,
            _ => Err((NO_METHOD, format!("this server has no method {:?}", text::escape(method, 80)))),
        };
        Some(match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, message)) => failure(&id, code, &message),
        })
    }

    /// Runs the event that a tool is named after. Data that is not the event's is an error of the tool: the
    /// agent must not go on, because no hook ran.
    async fn call(&mut self, mut params: Map<String, Value>) -> Result<Value, (i64, String)> {
        let tool = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(name) = EventName::ALL.into_iter().find(|name| name.as_str() == tool) else {
            return Err((WRONG_PARAMS, format!("there is no tool {:?}", text::escape(tool, 80))));
        };
        let data = match params.remove("arguments") {
            Some(Value::Object(data)) => data,
            None | Some(Value::Null) => Map::new(),
            Some(_) => return Err((WRONG_PARAMS, "the arguments are not an object".to_owned())),
        };
        let wrong = |what: &str| Ok(json!({ "content": [content(what)], "isError": true }));
        let Given { event, warnings } = match given::event(&name, data, &self.defaults) {
            Ok(given) => given,
            Err(error) => return wrong(&error),
        };
        // The hooks of this event are those that are there now, as in a process of its own.
        for problem in self.manager.reload().await.problems {
            warn_with_hint(&problem, problem.hint.as_ref());
        }
        let mut fired = self.session.fire_event(event).await;
        fired.verdict.warnings.extend(warnings.into_iter().map(Warning::new));
        given::tell(&fired, &[]);
        let verdict = Dialect::Kodelet.verdict(&fired.verdict, &fired.event);
        Ok(json!({ "content": [content(&verdict.to_string())], "structuredContent": verdict }))
    }
}

fn content(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn failure(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn initialized(params: &Map<String, Value>) -> Value {
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.into_iter().find(|version| Some(*version) == wanted).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "hookbox", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Call before_tool_call with tool_name and tool_input before you run a tool. If the \
                         result has \"blocked\": true, \"ask\", or is an error, do not run the tool. Run it \
                         with \"input\" if the result has one. Call after_tool_call when it has run.",
    })
}

/// Describes the tool of an event.
fn tool(name: &EventName) -> Value {
    let mut input = input_schema(name);
    let description = input.shift_remove("description").unwrap_or_default();
    json!({
        "name": name.as_str(),
        "description": format!("Runs the user's hooks. {}", description.as_str().unwrap_or_default()),
        "inputSchema": input,
    })
}

/// Returns the schema of an event's data, with its description.
fn input_schema(name: &EventName) -> Map<String, Value> {
    let document = Schema::named("kodelet-event").map(Schema::document).unwrap_or_default();
    let definition = |name: &str| document.get("$defs")?.get(name)?.as_object().cloned();
    let mut input = definition(name.as_str()).unwrap_or_default();
    let has_tool = input.get("properties").is_some_and(|it| it.get("tool_name").is_some());
    if let Some(required) = input.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !FILLED.iter().any(|filled| name == filled));
        // Without them the event would go past every guard.
        required.extend((has_tool && name != &EventName::OnError).then(|| json!("tool_name")));
        let further = match name {
            EventName::BeforeToolCall => Some("tool_input"),
            EventName::UserMessageSend => Some("message"),
            _ => None,
        };
        let is_new = further.filter(|field| required.iter().all(|it| it != field));
        required.extend(is_new.map(Value::from));
    }
    if let Some(properties) = input.get_mut("properties").and_then(Value::as_object_mut) {
        properties.shift_remove("event");
        if properties.contains_key("usage") {
            input.insert("$defs".to_owned(), json!({ "usage": definition("usage") }));
        }
    }
    input
}

/// The fields that hookbox fills in.
const FILLED: [&str; 4] = ["event", "conv_id", "cwd", "invoked_by"];
