//! Asks for rights, and uses files and variables as the test wants: `/do` of a tool's input is a list of
//! deeds, each a list of words such as `["read", PATH]`. It blocks with a JSON list of the results: the text,
//! or `error: …`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};

use hookbox_sdk::prelude::*;

/// The hook.
pub struct Asks;

impl Hook for Asks {
    fn manifest() -> Manifest {
        let text = str::to_owned;
        Manifest::new("asks", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::BeforeToolCall)
            .on(Event::AgentStop)
            .capability(Capability::Read(text("$REPO")))
            .capability(Capability::ReadWrite(text("$REPO/out")))
            .capability(Capability::ReadWrite(text("$DATA")))
            .capability(Capability::Env(text("GIVEN")))
            .capability(Capability::Conversation)
    }

    fn before_tool_call(_cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let deeds: Vec<Vec<String>> = call.input.get("/do")?.unwrap_or_default();
        let results: Vec<String> = deeds
            .iter()
            .map(|deed| {
                let words: Vec<&str> = deed.iter().map(String::as_str).collect();
                act(&words).unwrap_or_else(|error| format!("error: {error}"))
            })
            .collect();
        Ok(Answer::block(json!(results).to_string()))
    }

    fn agent_stop(_cx: &Context, event: &AgentStop) -> Result<Answer, Error> {
        Ok(Answer::pass().warn(event.messages.text()))
    }
}

fn act(words: &[&str]) -> io::Result<String> {
    let done = |()| "done".to_owned();
    match words {
        ["read", path] => fs::read_to_string(path),
        ["list", path] => {
            let mut names: Vec<String> = fs::read_dir(path)?
                .flatten()
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            Ok(names.join(" "))
        }
        ["write", path, text] => fs::write(path, text).map(done),
        ["append", path, text] => {
            OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes()).map(done)
        }
        ["truncate", path] => File::create(path).map(|_| "done".to_owned()),
        ["remove", path] => fs::remove_file(path).map(done),
        ["mkdir", path] => fs::create_dir(path).map(done),
        ["rename", from, to] => fs::rename(from, to).map(done),
        ["hard-link", from, to] => fs::hard_link(from, to).map(done),
        ["symlink", to, at] =>
        {
            #[allow(deprecated, reason = "the portable one does not exist on this target")]
            fs::soft_link(to, at).map(done)
        }
        ["var", name] => std::env::var(name).map_err(|error| io::Error::other(error.to_string())),
        ["vars"] => {
            Ok(std::env::vars().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
        }
        unknown => Err(io::Error::other(format!("no such deed: {unknown:?}"))),
    }
}

hookbox_sdk::export_hook!(Asks);
