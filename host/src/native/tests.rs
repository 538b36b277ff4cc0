//! Scripts that behave, and scripts that do not.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::event::{Context, EventData, ToolCall};
use crate::hook::Kind;

/// Far more than any of these scripts needs, on a slow machine too.
const LONG: Duration = Duration::from_secs(600);

/// Enough for a script to start and to block on something.
const SHORT: Duration = Duration::from_millis(400);

/// A directory for scripts and their output; `$DIR` in a script.
struct House(TempDir);

impl House {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A bash script whose `run` is this.
    fn hook(&self, run: &str) -> PathBuf {
        let dir = self.0.path().display();
        self.file("hook", &format!("#!/bin/bash\nDIR='{dir}'\n{run}\n"))
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.0.path().join(name)).ok()
    }

    /// Waits until a script has written this file, and reads it.
    async fn wait_for(&self, name: &str) -> String {
        let start = Instant::now();
        loop {
            match self.read(name) {
                Some(text) if text.ends_with('\n') => return text.trim().to_owned(),
                _ => assert!(start.elapsed() < LONG, "{name} was never written"),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn event(input: Value) -> Event {
    let data = EventData::BeforeToolCall(ToolCall::new("bash", input));
    Event { context: Arc::new(Context::new("c", "/w")), data }
}

fn budget(wall: Duration) -> Budget {
    Budget::for_kind(Kind::Native).within(wall)
}

async fn run_with(program: &Path, input: Value, budget: Budget) -> Result<Outcome, HookError> {
    let descriptor = Descriptor::new("hook", Kind::Native);
    NativeHook::new(descriptor, program.to_owned()).run(&event(input), &budget).await
}

async fn run(program: &Path) -> Result<Outcome, HookError> {
    run_with(program, json!({"command": "ls"}), budget(LONG)).await
}

/// Returns whether a process runs, and does not only wait to be collected by its parent.
fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

async fn wait_until_dead(pid: &str) {
    let start = Instant::now();
    while lives(pid) {
        assert!(start.elapsed() < LONG, "process {pid} lives");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_hook_reads_the_event_and_prints_its_answer() {
    let house = House::new();
    let hook = house.hook(
        r#"echo "$1 $HOOKBOX_DEPTH" > "$DIR/args"; cat > "$DIR/seen"; echo note >&2
        echo '{"blocked":true,"reason":"r"}'"#,
    );
    let found = run(&hook).await.unwrap();
    assert_eq!((found.action, found.spent.log.as_str()), (crate::Action::Block("r".into()), "note\n"));
    assert_eq!(house.read("args").unwrap().trim(), format!("run {}", depth() + 1));
    assert_eq!(house.read("seen").unwrap(), kodelet::encode(&event(json!({"command": "ls"}))).to_string());
}

#[tokio::test]
async fn the_event_of_a_hook_is_exactly_one_name() {
    let house = House::new();
    for (script, want) in [
        ("echo before_tool_call", Ok(EventName::BeforeToolCall)),
        ("printf ' \\n PreToolUse\\t\\n'", Ok(EventName::BeforeToolCall)),
        ("cat; echo turn_end", Ok(EventName::TurnEnd)),
        ("echo before_tool_call agent_stop", Err(Cause::Incompatible)),
        ("echo Before_Tool_Call", Err(Cause::Incompatible)),
        ("printf '\\377'", Err(Cause::Incompatible)),
        (":", Err(Cause::Incompatible)),
        ("echo before_tool_call; exit 1", Err(Cause::Exit)),
        ("yes", Err(Cause::OutputLimit)),
    ] {
        let hook = house.hook(script);
        assert_eq!(query(&hook, None, &[], LONG).await.map_err(|error| error.cause), want, "{script}");
    }
    let error = query(&house.hook("echo before_tool_cal"), None, &[], LONG).await.unwrap_err();
    assert!(error.message.ends_with(" (did you mean before_tool_call?)"), "{error}");
}

#[tokio::test]
async fn a_failure_is_no_decision_whatever_was_printed() {
    let house = House::new();
    let deny = r#"echo '{"blocked":true}'"#;
    for (script, cause, message) in [
        ("exit 2".to_owned(), Cause::Exit, "ended with status 2"),
        (format!("{deny}; exit 1"), Cause::Exit, "ended with status 1"),
        (format!("{deny}; kill -9 $$"), Cause::Signal, "was ended by signal 9 (SIGKILL)"),
        (
            "for i in 1 2 3 4; do echo line $i >&2; done; printf '\\033[2J' >&2; exit 3".to_owned(),
            Cause::Exit,
            "ended with status 3: line 3 | line 4 | \\u{1b}[2J",
        ),
        (
            "printf '{\"reason\":\"\\377\"}'".to_owned(),
            Cause::MalformedOutput,
            "printed what is not UTF-8, at byte 11: {\"reason\":\"\u{fffd}\"}",
        ),
        (
            format!("{deny}; {deny}"),
            Cause::MalformedOutput,
            "printed what is not one JSON object: trailing characters at line 2 column 1: {\"blocked\":true}\\n{\"blocked\":true}\\n",
        ),
    ] {
        let error = run(&house.hook(&script)).await.unwrap_err();
        assert_eq!((error.cause, error.message.as_str()), (cause, message), "{script}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_says_why_and_is_never_handed_to_a_shell() {
    let house = House::new();
    let marker = house.0.path().join("ran");
    let bare = house.file("bare", &format!("echo x > {}\n", marker.display()));
    let no_interpreter = house.file("gone", "#!/no/such/interpreter -x\n");
    let windows = house.file("crlf", "#!/bin/sh\r\necho\r\n");
    let plain = house.file("plain", "#!/bin/sh\n");
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).unwrap();
    let missing = house.0.path().join("missing");
    for (program, cause, words) in [
        (&bare, Cause::Spawn, "no shebang line"),
        (&no_interpreter, Cause::Spawn, "the interpreter of its shebang is missing: /no/such/interpreter -x"),
        (&windows, Cause::Spawn, "/bin/sh\\r; the line ends with a carriage return"),
        (&plain, Cause::Spawn, "permission denied"),
        (&missing, Cause::NotFound, "does not exist"),
    ] {
        let error = run(program).await.unwrap_err();
        assert_eq!(error.cause, cause, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    assert!(!marker.exists());
}

#[tokio::test]
async fn a_file_that_is_just_being_written_is_tried_again() {
    let house = House::new();
    let hook = house.hook(r#"echo '{"blocked":true,"reason":"r"}'"#);
    let open = OpenOptions::new().append(true).open(&hook).unwrap();
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        drop(open);
    });
    assert_eq!(run(&hook).await.unwrap().action, crate::Action::Block("r".into()));
    writer.join().unwrap();
}

#[tokio::test]
async fn at_the_deadline_the_whole_group_is_killed() {
    let house = House::new();
    let hook = house.hook(
        r#"trap '' TERM INT HUP
        (trap '' TERM; echo $BASHPID > "$DIR/inner"; while :; do sleep 1; done) &
        echo $$ > "$DIR/outer"; echo '{"blocked":true}'; echo said >&2
        while :; do sleep 1; done"#,
    );
    let error = run_with(&hook, json!({}), budget(SHORT)).await.unwrap_err();
    assert_eq!((error.cause, error.spent.log.as_str()), (Cause::Timeout, "said\n"));
    for name in ["outer", "inner"] {
        wait_until_dead(&house.wait_for(name).await).await;
    }
}

#[tokio::test]
async fn a_process_that_left_the_group_delays_nothing_and_the_answer_stands() {
    let house = House::new();
    let escape = r#"setsid bash -c 'echo $$ > "$0/escaped"; exec sleep 300' "$DIR" &
        until [ -s "$DIR/escaped" ]; do sleep 0.01; done
        echo '{"blocked":true,"reason":"r"}'"#;

    let found = run(&house.hook(escape)).await.unwrap();
    assert_eq!(found.action, crate::Action::Block("r".into()));
    assert!(found.spent.log.contains("held its output open"), "{:?}", found.spent.log);
    let first = house.wait_for("escaped").await;

    fs::remove_file(house.0.path().join("escaped")).unwrap();
    let error =
        run_with(&house.hook(&format!("{escape}; sleep 300")), json!({}), budget(SHORT)).await.unwrap_err();
    assert_eq!(error.cause, Cause::Timeout);
    let second = house.wait_for("escaped").await;
    for pid in [first, second] {
        let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}

#[tokio::test]
async fn what_is_left_behind_lives_if_it_lets_go_of_the_pipes_and_dies_if_not() {
    let house = House::new();
    let hook = house.hook(
        r#"sleep 300 >/dev/null 2>&1 </dev/null & echo $! > "$DIR/free"
        sleep 300 & echo $! > "$DIR/holding"
        echo '{"blocked":true,"reason":"r"}'"#,
    );
    let found = run(&hook).await.unwrap();
    assert_eq!(found.action, crate::Action::Block("r".into()));
    // One that holds the pipe takes the group with it.
    wait_until_dead(&house.wait_for("holding").await).await;

    let hook = house.hook(r#"sleep 300 >/dev/null 2>&1 </dev/null & echo $! > "$DIR/free"; echo '{}'"#);
    assert_eq!(run(&hook).await.unwrap(), Outcome::pass());
    let pid = house.wait_for("free").await;
    assert!(lives(&pid));
    let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn output_is_bounded_and_standard_error_is_drained() {
    let house = House::new();
    let flood = house.hook(r#"echo $$ > "$DIR/pid"; exec yes"#);
    let error = run(&flood).await.unwrap_err();
    assert_eq!((error.cause, error.limit.map(|limit| limit.limit)), (Cause::OutputLimit, Some(4 << 20)));
    wait_until_dead(&house.wait_for("pid").await).await;

    let chatty =
        house.hook(r#"head -c 10000000 /dev/zero | tr '\0' e >&2; echo '{"blocked":true,"reason":"r"}'"#);
    let found = run(&chatty).await.unwrap();
    assert_eq!((found.action, found.spent.log.len()), (crate::Action::Block("r".into()), 64 << 10));
}

#[tokio::test]
async fn a_hook_need_not_read_its_input_and_may_answer_while_it_reads() {
    let house = House::new();
    let big = json!({"command": "x".repeat(10_000_000)});
    for script in [
        r#"echo '{"blocked":true,"reason":"r"}'"#,
        r#"exec <&-; echo '{"blocked":true,"reason":"r"}'; sleep 0.05"#,
        r#"[ "$(wc -c)" -gt 10000000 ] && echo '{"blocked":true,"reason":"r"}'"#,
        // Fills both pipes before it reads.
        r#"head -c 1000000 /dev/zero | tr '\0' ' '; cat >/dev/null; echo '{"blocked":true,"reason":"r"}'"#,
    ] {
        let found = run_with(&house.hook(script), big.clone(), budget(LONG)).await.unwrap();
        assert_eq!(found.action, crate::Action::Block("r".into()), "{script}");
    }
}

#[tokio::test]
async fn dropping_the_future_kills_the_hook() {
    let house = House::new();
    let hook = house.hook(r#"echo $$ > "$DIR/outer"; (echo $BASHPID > "$DIR/inner"; sleep 300); sleep 300"#);
    let call = tokio::spawn(async move { run(&hook).await.is_ok() });
    let (outer, inner) = (house.wait_for("outer").await, house.wait_for("inner").await);
    assert!(lives(&outer) && lives(&inner));
    call.abort();
    wait_until_dead(&outer).await;
    wait_until_dead(&inner).await;
}

#[tokio::test]
async fn a_hook_is_collected_and_its_pipes_are_closed() {
    let house = House::new();
    let hook = house.hook(r#"echo $$ > "$DIR/pid""#);
    run(&hook).await.unwrap();
    let pid = house.wait_for("pid").await;
    assert!(!Path::new("/proc").join(pid).exists());
}

#[tokio::test]
async fn a_command_runs_in_the_directory_that_it_is_given() {
    let house = House::new();
    house.hook("pwd");
    let gone = house.0.path().join("gone");
    for (directory, want) in [(house.0.path(), Ok(())), (gone.as_path(), Err(Cause::Spawn))] {
        let process = Process {
            program: Path::new("hook"),
            args: &[],
            environment: None,
            variables: &[],
            directory: Some(directory),
            stdin: None,
            wall: LONG,
            output: 1024,
            log: 1024,
        };
        let found = process.run().await;
        assert_eq!(found.as_ref().map(|_| ()).map_err(|error| error.cause), want);
        if let Ok(printed) = found {
            let printed = String::from_utf8(printed.stdout).unwrap();
            assert_eq!(Path::new(printed.trim()), directory.canonicalize().unwrap());
        }
    }
}

#[tokio::test]
async fn a_hook_finds_its_settings_in_its_environment_and_nothing_where_it_has_none() {
    let house = House::new();
    let program = house.hook("printf '%s\\n' \"${HOOKBOX_SETTINGS-unset}\" > \"$DIR/settings\"");
    let settings = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect::<Settings>()
    };
    for (settings, want) in [
        (settings(&[]), "unset"),
        (settings(&[("deny", "[\"dd\"]"), ("name", "x y")]), r#"{"deny":["dd"],"name":"x y"}"#),
    ] {
        let descriptor = Descriptor::new("hook", Kind::Native).on(EventName::BeforeToolCall);
        let hook = NativeHook::new(descriptor, program.clone()).with_settings(&settings);
        hook.run(&event(json!({})), &budget(LONG)).await.unwrap();
        assert_eq!(house.read("settings").unwrap().trim(), want);
    }
}

#[tokio::test]
async fn a_timeout_says_what_the_hook_wrote_last() {
    let house = House::new();
    let budget = budget(SHORT);
    let hook = house.hook("echo 'asking the server' >&2\nexec sleep 60");
    let error = run_with(&hook, json!({}), budget).await.unwrap_err();
    assert_eq!(error.message, "did not answer within 400ms (on standard error: asking the server)");
    let silent = run_with(&house.hook("exec sleep 60"), json!({}), budget).await.unwrap_err();
    assert_eq!(silent.message, "did not answer within 400ms");
}
