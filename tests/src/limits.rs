//! Hooks that misbehave, one after another in one process: each ends within its budget with the right cause,
//! and a healthy guard beside it still answers correctly.

use std::fs;
use std::time::{Duration, Instant};

use hookbox::event::EventData;
use hookbox::hook::Cause;
use hookbox::report::HookReport;
use hookbox::session::Fired;
use hookbox::{Status, ToolCall};
use serde_json::{Value, json};

use crate::answers::{Backend, user};
use crate::environment::{TestEnvironment, guest, sample};

const BEFORE: &hookbox::EventName = &hookbox::EventName::BeforeToolCall;
const QUICK: &str = "fuel = 20_000_000\ntimeout = \"10m\"";

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(600);

/// The misbehaving component with these lines of settings before the sample guardrail.
fn place(settings: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/hostile.wasm", &guest("hostile"));
    guard(&env, "hostile.wasm", settings);
    env
}

fn guard(env: &TestEnvironment, hostile: &str, settings: &str) {
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.file(
        "home/.hookbox/hookbox.toml",
        format!("redact_context = false\n[hooks.\"{hostile}\"]\npriority = 1\n{settings}\n"),
    );
}

fn event(deed: &str) -> EventData {
    let input = json!({"command": "sudo ls", "do": deed, "address": "127.0.0.1:9"});
    EventData::BeforeToolCall(ToolCall::new("bash", input))
}

async fn fire(env: &TestEnvironment, deed: &str) -> Fired {
    // A busy machine gets its time: the hook's own limits end it.
    let manager = env.builder().chain_deadline(Duration::from_secs(3600)).build().await;
    manager.session("c").fire(event(deed)).await
}

fn hostile(fired: &Fired) -> &HookReport {
    &fired.report.hooks[0]
}

/// The guard ran after what misbehaved, and judged rightly.
#[track_caller]
fn guarded(fired: &Fired, what: &str) {
    let block = fired.verdict.block.as_ref().map(|ruling| (ruling.by.as_str(), ruling.for_user()));
    let want = Some(("guardrail.wasm", "Security policy: 'sudo' is not allowed"));
    assert_eq!(block, want, "{what}: {:#?}", fired.report);
}

#[tokio::test]
async fn a_component_ends_within_its_budget_and_the_chain_goes_on() {
    use Cause::{Exit, Fuel, Memory, OutputLimit, Timeout, Trap};
    let quick = "fuel = 50_000_000\ntimeout = \"10m\"";
    let endless = "fuel = 1_000_000_000_000_000\ntimeout = \"300ms\"";
    let large = "memory = \"1GiB\"\ntimeout = \"10m\"\nfuel = 100_000_000_000";
    let normal = "timeout = \"10m\"";
    for (deed, settings, causes, words) in [
        ("loop", quick, &[Fuel][..], "50000000"),
        ("loop", endless, &[Timeout], "300ms"),
        ("fill", quick, &[Fuel], ""),
        ("fill", endless, &[Timeout], ""),
        ("alloc", normal, &[Memory], "67108864"),
        ("alloc", "memory = \"8MiB\"\ntimeout = \"10m\"", &[Memory], "8388608"),
        ("print", normal, &[OutputLimit], "4194304"),
        ("eprint", quick, &[Fuel], ""),
        ("eprint", endless, &[Timeout], ""),
        ("log", quick, &[Fuel], ""),
        ("trap", normal, &[Trap], "asked to panic"),
        ("sleep", endless, &[Timeout], "300ms"),
        ("big-answer", normal, &[Memory], ""),
        ("big-answer", large, &[OutputLimit], "4194304"),
        ("big-modify", large, &[OutputLimit], "4194304"),
        ("many-answers", large, &[OutputLimit], ""),
        ("documents", quick, &[Fuel, OutputLimit], ""),
        ("recurse", normal, &[Trap], "wasm trap"),
        // WASI 0.2 has success and failure only.
        ("exit", normal, &[Exit], "exit status 1"),
        ("exit-0", normal, &[Exit], "exit status 0"),
        ("err", normal, &[Exit], "asked to fail"),
    ] {
        let fired = fire(&place(settings), deed).await;
        let report = hostile(&fired);
        let what = format!("{deed} with {settings}");
        assert_eq!(report.status, Status::Failed, "{what}: {report:#?}");
        assert!(causes.contains(&report.cause.unwrap()), "{what}: {report:#?}");
        assert!(report.message.as_ref().unwrap().contains(words), "{what}: {report:#?}");
        assert!(report.fuel.is_some() && report.memory_peak.is_some(), "{what}: {report:#?}");
        // 64 KiB, and what escaping and the note of the cut add.
        assert!(report.log.len() < 100 << 10, "{what}: a log of {} bytes", report.log.len());
        if settings != large {
            assert!(report.memory_peak.unwrap() <= 64 << 20, "{what}: {report:#?}");
        }
        guarded(&fired, &what);
    }
}

#[tokio::test]
async fn the_default_budget_ends_what_never_ends() {
    for (deed, causes) in [
        ("loop", [Cause::Fuel, Cause::Timeout]),
        ("alloc", [Cause::Memory; 2]),
        ("print", [Cause::OutputLimit; 2]),
        ("sleep", [Cause::Timeout; 2]),
    ] {
        let fired = fire(&place(""), deed).await;
        assert!(causes.contains(&hostile(&fired).cause.unwrap()), "{deed}: {:#?}", hostile(&fired));
        guarded(&fired, deed);
    }
}

#[tokio::test]
async fn a_component_reaches_nothing_that_it_was_not_given() {
    let env = place("timeout = \"10m\"\nsettings = { answer = 42 }");
    env.file("repo/secret", "x");
    for (deed, want) in [
        ("stdin", json!("Ok(0) \"\"")),
        ("env", json!({"env": [], "args": []})),
        ("fs", json!(["/etc/passwd", "/", ".", "..", "write"])),
        ("net", json!(["tcp", "udp", "name"])),
        ("spawn", json!(["thread", "process"])),
        ("settings", json!({"answer": 42})),
    ] {
        let fired = fire(&env, deed).await;
        assert_eq!(hostile(&fired).status, Status::Blocked, "{deed}: {:#?}", hostile(&fired));
        let said = fired.verdict.block.as_ref().unwrap().for_user();
        if deed == "stdin" {
            assert_eq!(&json!(said), &want);
            continue;
        }
        let said: Value = serde_json::from_str(said).unwrap();
        let Some(tries) = want.as_array() else {
            assert_eq!(said, want, "{deed}");
            continue;
        };
        for what in tries {
            let result = said[what.as_str().unwrap()].as_str().unwrap();
            assert!(result.starts_with("error: "), "{deed} of {what}: {result}");
        }
    }
    let written: Vec<_> =
        ["repo/hostile.txt", "home/hostile.txt"].iter().filter_map(|it| env.read(it)).collect();
    assert!(written.is_empty());
}

#[tokio::test]
async fn one_process_survives_them_all_and_the_guard_is_well() {
    let env = place("fuel = 20_000_000\ntimeout = \"500ms\"");
    let manager = env.builder().build().await;
    let session = manager.session("c");
    for _ in 0..2 {
        for deed in [
            "loop",
            "alloc",
            "print",
            "eprint",
            "log",
            "trap",
            "sleep",
            "big-answer",
            "recurse",
            "exit",
            "err",
        ] {
            let fired = session.fire(event(deed)).await;
            assert_eq!(hostile(&fired).status, Status::Failed, "{deed}: {:#?}", hostile(&fired));
            guarded(&fired, deed);
            let healthy = session.before_tool_call(ToolCall::new("bash", json!({"command": "ls"}))).await;
            assert_eq!(
                healthy.decision.permitted().unwrap().input,
                json!({"command": "ls"}).into(),
                "after {deed}"
            );
        }
    }
}

#[tokio::test]
async fn many_at_once_end_as_well() {
    let env = place(QUICK);
    let manager = env.builder().build().await;
    let calls = (0..40).map(|number| {
        let session = manager.session(format!("c{number}"));
        tokio::spawn(async move { session.fire(event(["loop", "alloc", "print", "trap"][number % 4])).await })
    });
    for call in calls.collect::<Vec<_>>() {
        let fired = call.await.unwrap();
        assert_eq!(hostile(&fired).status, Status::Failed, "{:#?}", hostile(&fired));
        guarded(&fired, "at once");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn an_endless_loop_does_not_stall_the_other_tasks_of_its_thread() {
    let env = place("fuel = 1_000_000_000_000_000\ntimeout = \"500ms\"");
    let manager = env.builder().build().await;
    let session = manager.session("c");
    let looping = session.fire(event("loop"));
    let mut turns = 0_u32;
    let others = async {
        loop {
            turns += 1;
            tokio::task::yield_now().await;
        }
    };
    let fired = tokio::select! {
        fired = looping => fired,
        () = others => unreachable!(),
    };
    assert_eq!(hostile(&fired).cause, Some(Cause::Timeout));
    assert!(turns > 20, "others ran {turns} times");
}

#[tokio::test]
async fn a_flood_of_log_is_cut_and_no_failure() {
    let env = TestEnvironment::new();
    let text = "0123456789abcdef".repeat(20_000);
    let name = user(&env, Backend::Component, "loud", BEFORE, &json!({"log": text}));
    env.native("home/.hookbox/hooks/loud", "before_tool_call", "head -c 320000 /dev/zero | tr '\\0' x >&2");
    let fired = fire(&env, "nothing").await;
    for name in [name.as_str(), "loud"] {
        let report = fired.report.hook(name).unwrap();
        assert_eq!((report.status, report.cause), (Status::Passed, None), "{name}");
        let length = report.log.len();
        assert!(((60 << 10)..(66 << 10)).contains(&length), "{name}: {length} bytes");
    }
}

/// Returns whether a process runs, and does not only wait to be collected.
fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

async fn dies(pid: &str) {
    let started = Instant::now();
    while lives(pid) {
        assert!(started.elapsed() < LONG, "process {pid} lives");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_native_hook_ends_within_its_budget_and_the_chain_goes_on() {
    for (run, timeout, cause) in [
        ("yes", "10m", Some(Cause::OutputLimit)),
        ("sleep 1000", "300ms", Some(Cause::Timeout)),
        ("trap '' TERM HUP INT; while :; do sleep 1000; done", "300ms", Some(Cause::Timeout)),
        ("while :; do echo x >&2; done", "300ms", Some(Cause::Timeout)),
        ("sleep 1000 & echo $! > $PID; sleep 1000", "1s", Some(Cause::Timeout)),
        ("sleep 1000 & echo $! > $PID; exit 4", "10m", Some(Cause::Exit)),
        ("sleep 1000 & echo $! > $PID; echo '{}'", "10m", None),
        (
            "(trap '' TERM; sleep 1000 & echo $! > $PID; wait) & while :; do :; done",
            "1s",
            Some(Cause::Timeout),
        ),
        ("kill -9 $$", "10m", Some(Cause::Signal)),
        ("exit 2", "10m", Some(Cause::Exit)),
        ("echo '{\"blocked\":true}'; exit 1", "10m", Some(Cause::Exit)),
        ("printf '\\377\\376'", "10m", Some(Cause::MalformedOutput)),
        ("exec 0<&-; echo '{}'", "10m", None),
    ] {
        let env = TestEnvironment::new();
        let pid = env.path("pid");
        let run = run.replace("$PID", &pid.to_string_lossy());
        env.native("home/.hookbox/hooks/hostile", "before_tool_call", &run);
        guard(&env, "hostile", &format!("timeout = \"{timeout}\""));
        let mut input = json!({"command": "sudo ls"});
        input["padding"] = json!("x".repeat(1 << 20));
        let manager = env.builder().build().await;
        let fired = manager.session("c").fire(EventData::BeforeToolCall(ToolCall::new("bash", input))).await;
        assert_eq!(hostile(&fired).cause, cause, "{run}: {:#?}", hostile(&fired));
        guarded(&fired, &run);
        if let Some(pid) = env.read("pid") {
            dies(&pid).await;
        }
    }
}
