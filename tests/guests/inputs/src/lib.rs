//! Uses every input that a component can get from outside: clocks, random numbers, the store, requests, files and
//! variables. It blocks with all of them. `/n` of a tool's input is its number; every fiftieth call panics.

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hookbox_sdk::http::Request;
use hookbox_sdk::prelude::*;
use hookbox_sdk::state;

/// The hook.
pub struct Inputs;

impl Hook for Inputs {
    fn manifest() -> Manifest {
        let text = str::to_owned;
        Manifest::new("inputs", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::BeforeToolCall)
            .capability(Capability::Store)
            .capability(Capability::Http(text("https://api.example.com")))
            .capability(Capability::Read(text("$REPO")))
            .capability(Capability::ReadWrite(text("$DATA")))
            .capability(Capability::Env(text("GIVEN")))
            .capability(Capability::WorkTree)
    }

    fn before_tool_call(_cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let number: u64 = call.input.get("/n")?.unwrap_or_default();
        let began = Instant::now();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let random = RandomState::new().hash_one(number);
        std::thread::sleep(Duration::from_micros(1));
        let count = state::increment("count", 1)?;
        let last = state::get("last")?.map(|it| String::from_utf8_lossy(&it).into_owned());
        state::set("last", format!("{number} {random}"))?;
        let answer = match Request::get(format!("https://api.example.com/{number}")).send() {
            Ok(answer) => format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body)),
            Err(error) => error.to_string(),
        };
        let shown =
            |result: std::io::Result<String>| result.unwrap_or_else(|error| format!("error: {error}"));
        let policy = shown(fs::read_to_string("$REPO/policy.txt"));
        let binary = fs::read("$REPO/binary").unwrap_or_default().len();
        let changed = fs::metadata("$REPO/policy.txt").and_then(|it| it.modified()).ok();
        let mut names: Vec<String> = fs::read_dir("$REPO")?
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let note = fs::OpenOptions::new().append(true).create(true).open("$DATA/notes");
        note.and_then(|mut file| writeln!(file, "{number} {random}"))?;
        let notes = fs::read_to_string("$DATA/notes")?.len();
        let missing = shown(fs::read_to_string("$REPO/missing"));
        hookbox_sdk::info!("call {number} at {now:?}");
        if number % 50 == 7 {
            panic!("the number is {number}, and {random}");
        }
        let all = json!({
            "number": number, "now": now.as_nanos().to_string(), "took": began.elapsed().as_nanos().to_string(),
            "random": random, "count": count, "last": last, "answer": answer, "policy": policy, "binary": binary,
            "changed": format!("{changed:?}"), "names": names, "notes": notes, "missing": missing,
            "given": std::env::var("GIVEN").ok(), "paths": format!("{:?}", call.paths),
        });
        Ok(Answer::block(all.to_string()))
    }
}

hookbox_sdk::export_hook!(Inputs);
