//! Tests of a hook in `cargo test`: its cases, and its answer to one event.
//!
//! [`run`] runs the cases of `hookbox test`, and needs the program. [`answer`] calls the hook in the test's own process, so
//! that a debugger and a coverage tool see its code:
//!
//! ```no_run
//! use hookbox_sdk::prelude::*;
//! use hookbox_sdk::testing;
//!
//! struct AskBeforePublish;
//!
//! impl Hook for AskBeforePublish {
//!     fn manifest() -> Manifest {
//!         Manifest::new("ask-before-publish", "0.1.0", "Asks before anything is published.").on(Event::BeforeToolCall)
//!     }
//!
//!     fn before_tool_call(_cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
//!         Ok(match call.command.as_deref() {
//!             Some(line) if line.starts_with("cargo publish") => Answer::ask("This publishes a crate."),
//!             _ => Answer::pass(),
//!         })
//!     }
//! }
//!
//! # const _: &str = stringify!(
//! #[test]
//! # );
//! fn the_cases_pass() -> Result<(), Error> {
//!     testing::run("cases")
//! }
//!
//! # const _: &str = stringify!(
//! #[test]
//! # );
//! fn a_publication_is_a_question() -> Result<(), Error> {
//!     let call = json!({"tool_name": "bash", "tool_input": {"command": "cargo publish"}});
//!     let answer = testing::answer::<AskBeforePublish>("before_tool_call", call, json!({}))?;
//!     assert_eq!(answer, Answer::ask("This publishes a crate."));
//!     Ok(())
//! }
//! # a_publication_is_a_question().unwrap();
//! ```

pub(crate) mod surroundings;

use std::path::Path;
use std::process::{Command, Output};

use serde::Deserialize;
use serde_json::{Map, Value};

use self::surroundings::Entered;
use crate::native::{pairs, payload};
use crate::{Answer, Error, Event, Hook, hook};

/// Runs the cases of a directory or of a file with `hookbox test`, for the component that is built. A relative path begins
/// at the package, because cargo runs a test there.
///
/// The program is the one that the variable `HOOKBOX` names, else `hookbox` of the `PATH`.
///
/// # Errors
///
/// A case fails, with its differences as `hookbox test` shows them; the component is older than its sources; there are no
/// cases; a case file is wrong; or the program does not start.
pub fn run(cases: impl AsRef<Path>) -> Result<(), Error> {
    let named = std::env::var_os("HOOKBOX").filter(|name| !name.is_empty());
    let program = named.unwrap_or_else(|| "hookbox".into());
    let output = Command::new(&program).args(["test", "--json", "--"]).arg(cases.as_ref()).output();
    judge(&output.map_err(|error| {
        let program = program.display();
        Error::new(format!("cannot start {program}: {error}\nhint: {GET_IT}"))
    })?)
}

/// The next step if there is no program.
const GET_IT: &str =
    "install hookbox (https://github.com/hookbox/hookbox), or name the program in the variable HOOKBOX";

/// The output of `hookbox test --json`.
#[derive(Deserialize)]
struct Results {
    cases: Vec<Case>,
    outdated: Vec<String>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    passed: bool,
    text: Option<String>,
}

fn judge(output: &Output) -> Result<(), Error> {
    let Ok(Results { cases, outdated }) = serde_json::from_slice(&output.stdout) else {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("hookbox test failed ({})\n{reason}", output.status)));
    };
    let failed = cases.into_iter().filter(|case| !case.passed).map(|case| case.text.unwrap_or(case.name));
    let faults: Vec<String> = outdated.into_iter().chain(failed).collect();
    if faults.is_empty() { Ok(()) } else { Err(Error::new(faults.join("\n\n"))) }
}

/// Returns the answer of a hook to one event, in this process. The host's rules do not apply: the method is called whatever
/// the manifest has, and each answer comes back as it is.
///
/// `data` is an object with the fields of the event, as in a case, and `settings` an object with the hook's settings. The
/// state is empty at each call, and in memory. Other services return an error, as in a [native](crate::native) hook: cases
/// that need them are for [`run`].
///
/// # Errors
///
/// The hook fails; `data` or `settings` is not an object; or a field has a wrong type.
pub fn answer<H: Hook>(event: &str, data: Value, settings: Value) -> Result<Answer, Error> {
    let _entered = Entered::new(pairs(object("settings", settings)?));
    let (cx, data) = payload::read(&Event::named(event), &object("data", data)?)?;
    hook::dispatch::<H>(&cx, &data)
}

fn object(name: &str, value: Value) -> Result<Map<String, Value>, Error> {
    match value {
        Value::Object(fields) => Ok(fields),
        other => Err(Error::new(format!("{name}: expected an object, found {other}"))),
    }
}

#[cfg(test)]
mod tests;
