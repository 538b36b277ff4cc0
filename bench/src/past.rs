//! A backtest over a million calls of the past.

use std::fmt::Write as _;
use std::fs;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Instant;

use hookbox::ComponentHook;
use hookbox::{Allocation, Descriptor, Hook, Kind, Runtime, Settings};
use hookbox_agents::Agent;
use hookbox_journal::backtest::{self, Options, Progress, SessionFile};
use serde_json::json;
use tempfile::TempDir;

use crate::Extent;
use crate::calls::one_thread;
use crate::place::Place;
use crate::row::Row;

/// The calls of a session file.
const CALLS: usize = 5_000;

/// The aim for a million calls of 1 KB with one guard on two threads, in seconds.
const AIM: f64 = 60.0;

pub(crate) fn rows(extent: Extent, place: &Place) -> Vec<Row> {
    let dir = TempDir::with_prefix("hookbox-bench-").unwrap();
    let files: Vec<SessionFile> = (0..4).map(|number| session(&dir, number)).collect();
    let hook: Arc<dyn Hook> = one_thread().block_on(async {
        let runtime = Runtime::new(Allocation::Pooled, None);
        let component = runtime.load(fs::read(place.hook("guardrail.wasm")).unwrap()).await.unwrap();
        let mut descriptor = Descriptor::new("guardrail", Kind::Component);
        descriptor.subscriptions.clone_from(&component.manifest().subscriptions);
        Arc::new(ComponentHook::new(component, descriptor, Settings::new()))
    });
    let formats = Agent::session_formats();
    let options = Options { formats: &formats, threads: NonZero::new(2), since: None };
    let seconds = |_| {
        let begin = Instant::now();
        let done = backtest::run(std::slice::from_ref(&hook), &files, options, &Progress::default()).unwrap();
        let calls = files.len() * CALLS;
        assert_eq!(done.verdicts.pass + done.verdicts.block, calls as u64);
        begin.elapsed().as_secs_f64() * 1e6 / calls as f64
    };
    let times: Vec<f64> = (0..extent.rounds(20).max(3)).map(seconds).collect();
    vec![Row::alone("a million past calls of 1 KB, one guard", "s", &times, Some(AIM))]
}

/// Writes a session file of Claude Code, with calls of 1 KB.
fn session(dir: &TempDir, number: usize) -> SessionFile {
    let mut text = String::new();
    for at in 0..CALLS {
        let command = if at % 10 == 0 { format!("sudo rm -rf /srv/{at}") } else { format!("make test-{at}") };
        let call = json!({
            "type": "assistant", "sessionId": "s", "cwd": "/srv/p", "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"content": [{
                "type": "tool_use", "id": format!("toolu_{number}_{at}"), "name": "Bash",
                "input": {"command": command, "description": "x".repeat(760)},
            }]},
        });
        let _ = writeln!(text, "{call}");
    }
    let path = dir.path().join(format!("{number}.jsonl"));
    fs::write(&path, &text).unwrap();
    SessionFile { path, bytes: text.len() as u64, is_named: true }
}
