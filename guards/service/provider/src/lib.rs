//! Gives a hook in a service what it imports from hookbox: the event's documents, the facts of a call, its settings,
//! a log, and a work tree of which nothing is known.
//!
//! The event comes from the caller, with the facts and settings that only its machine has. A request has an instance of its own.

// Its exports do not link on the host.
#![cfg(target_arch = "wasm32")]

mod answer;
mod body;
#[path = "../../../../host/src/wasm/imports/facts/reading.rs"]
mod reading;

use std::cell::RefCell;

use hookbox_shell::{Known, runs};
use serde_json::Value;

use bindings::exports::hookbox::hook::types::{self as wit, Context, Event, Response};
use bindings::exports::hookbox::hook::{facts, work_tree};
use bindings::exports::hookbox::service::exchange;
use bindings::exports::wasi::config::store as settings;
use bindings::exports::wasi::http::incoming_handler;
use bindings::exports::wasi::logging::logging;
use bindings::wasi::http::types::{Fields, IncomingRequest, OutgoingResponse, ResponseOutparam};
use body::Seen;

#[allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = "generated from wit/"
)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit", "../wit"],
        world: "hookbox:service/provider",
        generate_all,
    });
}

/// The component.
struct Provider;

thread_local! {
    /// The event of the request.
    static SEEN: RefCell<Option<Seen>> = const { RefCell::new(None) };
}

impl exchange::Guest for Provider {
    fn read(body: Vec<u8>, subscribed: Vec<String>) -> Result<(Context, Event), String> {
        let (context, event, seen) = body::read(&body, &subscribed)?;
        SEEN.set(Some(seen));
        Ok((context, event))
    }

    fn write(response: Response) -> Result<String, String> {
        SEEN.with_borrow(|seen| answer::write(seen.as_ref().is_some_and(|it| it.is_over), response))
    }
}

/// A JSON value, with its text.
struct Document {
    value: Value,
    text: String,
}

impl wit::Guest for Provider {
    type Document = Document;
}

impl wit::GuestDocument for Document {
    fn get(&self, pointer: String) -> Option<String> {
        self.value.pointer(&pointer).map(Value::to_string)
    }

    fn text(&self) -> String {
        self.text.clone()
    }

    fn size(&self) -> u64 {
        self.text.len() as u64
    }
}

impl facts::Guest for Provider {
    fn read_line(line: String) -> facts::Reading {
        SEEN.with_borrow(|seen| {
            let cwd = seen.as_ref().map(|it| it.cwd.as_str()).filter(|it| it.starts_with('/'));
            reading::reading(&runs(&line, &Known { cwd, ..Known::default() }))
        })
    }

    fn read_call() -> facts::CallFacts {
        SEEN.with_borrow(|seen| {
            let found = seen.as_ref().map(|it| {
                let paths: Vec<&str> = it.paths.iter().map(String::as_str).collect();
                let (kind, command) = (it.kind, it.command.as_deref());
                let call = hookbox_calls::Call { name: &it.name, kind, command, input: &it.input };
                hookbox_calls::facts(&call, &paths, &it.cwd)
            });
            reading::call_facts(found.unwrap_or_default())
        })
    }
}

/// As without the permission.
impl work_tree::Guest for Provider {
    fn tree(_directory: String) -> Option<work_tree::TreeState> {
        None
    }

    fn is_pushed(_directory: String, _reference: String) -> Option<bool> {
        None
    }

    fn path(_path: String) -> Option<work_tree::PathState> {
        None
    }
}

impl logging::Guest for Provider {
    fn log(level: logging::Level, context: String, message: String) {
        let level = match level {
            logging::Level::Trace => "trace",
            logging::Level::Debug => "debug",
            logging::Level::Info => "info",
            logging::Level::Warn => "warn",
            logging::Level::Error => "error",
            logging::Level::Critical => "critical",
        };
        let separator = if context.is_empty() { "" } else { ": " };
        // A message may have the text of others, which a terminal would obey.
        eprintln!("{level} {}{separator}{}", context.escape_debug(), message.escape_debug());
    }
}

/// The settings of the caller.
impl settings::Guest for Provider {
    fn get(key: String) -> Result<Option<String>, settings::Error> {
        Ok(SEEN.with_borrow(|seen| seen.as_ref()?.settings.get(&key).cloned()))
    }

    fn get_all() -> Result<Vec<(String, String)>, settings::Error> {
        let all = |seen: &Option<Seen>| seen.as_ref().map(|it| it.settings.clone()).unwrap_or_default();
        Ok(SEEN.with_borrow(all).into_iter().collect())
    }
}

impl incoming_handler::Guest for Provider {
    fn handle(_request: IncomingRequest, out: ResponseOutparam) {
        let response = OutgoingResponse::new(Fields::new());
        let set = response.set_status_code(404);
        ResponseOutparam::set(out, set.map(|()| response).map_err(|()| internal()));
    }
}

fn internal() -> bindings::wasi::http::types::ErrorCode {
    bindings::wasi::http::types::ErrorCode::InternalError(None)
}

#[allow(unsafe_code, reason = "a component's exports are functions with fixed names")]
mod exported {
    use super::{Provider, bindings};

    bindings::export!(Provider with_types_in bindings);
}
