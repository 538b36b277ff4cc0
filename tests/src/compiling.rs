//! Components that take long to compile: no event waits for them, and none is served without them.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use hookbox_agents::Agent;
use hookbox_agents::agent::Effect;
use serde_json::{Value, json};

use crate::bridge::{args, call, effect};
use crate::environment::{Output, TestEnvironment, program, sample};
use crate::mcp::wait_until;

/// A component that is no hook, with so many functions of so many instructions: a long work for the compiler.
pub(crate) fn heavy(functions: u32, steps: u32) -> Vec<u8> {
    let mut body = vec![0];
    for step in 0..steps {
        // local.get 0, i64.const STEP, i64.mul, local.get 1, i64.xor, local.tee 1, local.set 0
        body.extend(
            [&[0x20, 0, 0x42][..], &leb(step % (1 << 20)), &[0x7e, 0x20, 1, 0x85, 0x22, 1, 0x21, 0]].concat(),
        );
    }
    body.push(0x0b);
    let count = leb(functions);
    let function = [leb(u32::try_from(body.len()).unwrap()), body].concat();
    let section =
        |id: u8, content: &[u8]| [&[id][..], &leb(u32::try_from(content.len()).unwrap()), content].concat();
    let module = [
        b"\0asm\x01\0\0\0".to_vec(),
        // One type: two i64, nothing.
        section(1, &[1, 0x60, 2, 0x7e, 0x7e, 0]),
        section(3, &[&count[..], &vec![0; functions as usize]].concat()),
        section(10, &[count.clone(), function.repeat(functions as usize)].concat()),
    ]
    .concat();
    [b"\0asm\x0d\0\x01\0".to_vec(), section(1, &module)].concat()
}

/// A number as WebAssembly has it. Below 64 the last byte is no sign of a negative one.
fn leb(mut number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).unwrap();
        number >>= 7;
        if number == 0 && low < 0x40 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// A hook that takes longer to compile than an event of a second waits. A core module that nothing uses is compiled with
/// the rest.
fn slow(name: &str) -> Vec<u8> {
    let module = heavy(24, 60_000).split_off(8);
    [fs::read(sample(name)).unwrap(), module].concat()
}

/// A place with a cache of its own.
fn environment() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.directory("repo/.git").directory("cache/hookbox").mode("cache/hookbox", 0o700);
    let cache = env.path("cache");
    env.variable("XDG_CACHE_HOME", cache.to_str().unwrap()).variable("HOOKBOX_LOG", "hookbox=debug")
}

/// Takes all places in which components are compiled: until they are dropped, every component takes too long.
fn hold(env: &TestEnvironment) -> Vec<File> {
    let places = std::thread::available_parallelism().unwrap().get();
    let place = |number| {
        let path = format!("cache/hookbox/compiling-{number}.lock");
        env.file(&path, "").mode(&path, 0o600);
        let file = File::open(env.path(path)).unwrap();
        file.lock().unwrap();
        file
    };
    (0..places).map(place).collect()
}

const GUARD: &str = "home/.hookbox/hooks/slow.wasm";
const STARTS: &str = "a process compiles a component";
const COMPILING: &str = "is being compiled for the first time";

fn run(env: &TestEnvironment, event: &str, line: &str) -> (Value, Output) {
    let call = json!({"tool_name": "bash", "tool_input": {"command": line}});
    let data = if event == "before_tool_call" { call } else { json!({}) };
    let output = env.hookbox_with(["run", event], data.to_string());
    (output.json(), output)
}

/// The answer to Claude Code, which waits for four seconds: a fifth of that is for compiling.
fn ask(env: &TestEnvironment, line: &str) -> (Effect, Output) {
    let payload = call(env, Agent::Claude, "PreToolUse", line).to_string();
    let output = env.hookbox_with(args(Agent::Claude, None, &["--deadline", "4s"]), payload);
    (effect(Agent::Claude, "PreToolUse", &output), output)
}

#[track_caller]
fn reason((effect, output): (Effect, Output)) -> String {
    match effect {
        Effect::Blocked(reason) => reason,
        other => panic!("{other:?}: {output:#?}"),
    }
}

/// The processes that compile into the cache of this place.
fn compilers(env: &TestEnvironment) -> Vec<String> {
    let cache = env.path("cache/hookbox");
    let is_one = |pid: &String| {
        let line = fs::read(Path::new("/proc").join(pid).join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0).skip(1);
        words.next() == Some(b"keep-component") && words.next() == Some(cache.as_os_str().as_encoded_bytes())
    };
    let pids = fs::read_dir("/proc").unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    pids.filter(is_one).collect()
}

fn code(env: &TestEnvironment) -> usize {
    crate::cache::code(&env.path("cache/hookbox/code")).len()
}

/// Waits for the compilation, as the reason of a block advises.
#[track_caller]
fn warm(env: &TestEnvironment) -> Output {
    let path = env.path(GUARD);
    let output = env.hookbox(["cache", "warm", path.to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    wait_until("it was joined", || compilers(env).is_empty());
    output
}

#[test]
fn an_event_is_answered_by_policy_and_a_later_one_by_the_hook() {
    let env = environment();
    env.file(GUARD, slow("guardrail"));
    // Nobody has ever asked it, and it may be a guard.
    let said = reason(ask(&env, "ls"));
    let command = format!("`hookbox cache warm {}`", env.path(GUARD).display());
    assert!(said.contains(COMPILING) && said.contains(&command), "{said}");
    let joined = warm(&env);
    assert!(joined.stdout.starts_with("compiled 1 component,"), "{joined:#?}");
    assert!(!joined.stderr.contains("compiling a component"), "nothing is compiled twice: {joined:#?}");
    let (effect, output) = ask(&env, "ls");
    assert!(matches!(effect, Effect::Runs(_)), "{output:#?}");
    assert!(reason(ask(&env, "sudo ls")).contains("'sudo' is not allowed"));
}

#[test]
fn a_component_that_was_described_before_fails_by_its_policy_in_its_events() {
    let env = environment();
    env.copy(GUARD, &sample("guardrail"));
    env.copy("home/.hookbox/hooks/logger.wasm", &sample("turn-logger"));
    let warmed = env.hookbox(["cache", "warm"]);
    assert_eq!(warmed.code, Some(0), "{warmed:#?}");
    // As after an update of hookbox: no code fits, and the components are known.
    crate::cache::code(&env.path("cache/hookbox/code")).iter().for_each(|it| fs::remove_file(it).unwrap());
    // A file that has just been written is not remembered.
    let _ = fs::remove_file(env.path("cache/hookbox/components.json"));
    let held = hold(&env);
    let (verdict, output) = run(&env, "before_tool_call", "ls");
    assert!(verdict["reason"].as_str().unwrap().contains("slow.wasm failed (compiling)"), "{output:#?}");
    let explained = env.hookbox(["explain", "ls", "--json"]).json();
    let guard = explained["hooks"].as_array().unwrap().iter().find(|it| it["name"] == "slow.wasm").unwrap();
    assert_eq!(guard["report"]["cause"], "compiling", "{explained:#}");
    assert!(explained["to_pass"].is_null(), "it will judge the event soon: {explained:#}");
    let (verdict, output) = run(&env, "after_turn", "");
    assert_ne!(verdict["blocked"], true, "{output:#?}");
    assert!(output.stderr.contains("logger.wasm failed (compiling)"), "{output:#?}");
    assert!(!output.stderr.contains("slow.wasm failed"), "it does not subscribe to that: {output:#?}");
    assert!(!output.stderr.contains(STARTS), "it joins: {output:#?}");
    for (policy, blocks) in [("pass", false), ("block", true)] {
        let settings = format!("[hooks.\"slow.wasm\"]\non_failure = \"{policy}\"\n");
        env.file("home/.hookbox/hookbox.toml", settings);
        let (verdict, output) = run(&env, "before_tool_call", "ls");
        assert_eq!(verdict["blocked"], blocks, "{output:#?}");
        assert!(output.stderr.contains(COMPILING), "{output:#?}");
    }
    drop(held);
    warm(&env);
    let (verdict, output) = run(&env, "before_tool_call", "ls");
    assert_eq!(verdict["blocked"], false, "{output:#?}");
}

#[test]
fn events_at_once_share_one_compilation_that_starts_again_after_it_was_killed() {
    let env = environment();
    env.copy(GUARD, &sample("guardrail"));
    let held = hold(&env);
    let start = || {
        let mut event = env.command(program());
        event.args(["run", "session_start"]).stdin(Stdio::null()).spawn().unwrap()
    };
    let events: Vec<_> = (0..4).map(|_| start()).collect();
    for event in events {
        assert!(event.wait_with_output().unwrap().status.success());
    }
    // Another one that started in the same moment ends at once.
    wait_until("one compiles", || compilers(&env).len() == 1);
    let pid = compilers(&env).remove(0);
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    wait_until("it is gone", || compilers(&env).is_empty());
    assert_eq!(code(&env), 0, "nothing is half written");
    let (effect, output) = ask(&env, "ls");
    assert!(matches!(effect, Effect::Blocked(_)) && output.stderr.contains(STARTS), "{output:#?}");
    drop(held);
    warm(&env);
    assert!(matches!(ask(&env, "ls").0, Effect::Runs(_)));
}

#[test]
fn a_component_that_cannot_be_compiled_is_tried_once() {
    let env = environment();
    env.file(GUARD, heavy(1, 10));
    let held = hold(&env);
    assert!(reason(ask(&env, "ls")).contains(COMPILING));
    drop(held);
    wait_until("it ends by itself", || compilers(&env).is_empty());
    let (effect, output) = ask(&env, "ls");
    assert!(!output.stderr.contains(STARTS), "{output:#?}");
    let said = reason((effect, output));
    assert!(said.contains("is a component but no hook"), "{said}");
}

#[test]
fn an_untrusted_component_gets_no_process_of_its_own_until_it_is_trusted() {
    let env = environment();
    env.copy("repo/.hookbox/hooks/slow.wasm", &sample("guardrail"));
    let held = hold(&env);
    let (effect, output) = ask(&env, "ls");
    assert!(matches!(effect, Effect::Runs(_)), "{output:#?}");
    assert!(!output.stderr.contains(STARTS) && compilers(&env).is_empty(), "{output:#?}");
    // Its own time or that of all untrusted files ends first.
    let is_late =
        ["slow.wasm: took longer than", "slow.wasm: was not examined"].map(|it| output.stderr.contains(it));
    assert!(is_late.contains(&true), "{output:#?}");
    drop(held);
    // The session of the agent would have to end first.
    fs::remove_dir_all(env.path("home/.local/share/hookbox/sessions")).unwrap();
    let output = env.hookbox(["trust", "slow.wasm", "--yes"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(reason(ask(&env, "sudo ls")).contains("'sudo' is not allowed"));
}

#[test]
fn a_component_that_serves_as_an_executable_fails_by_its_policy_too() {
    let env = environment();
    env.copy(GUARD, &sample("guardrail"));
    let path = env.path(GUARD);
    let exec = |verb: &str| {
        let call = json!({"event": "before_tool_call", "tool_name": "bash", "tool_input": {"command": "ls"}});
        env.hookbox_with(["exec", path.to_str().unwrap(), verb], call.to_string())
    };
    let held = hold(&env);
    let asked = exec("hook");
    assert!(asked.code == Some(1) && asked.stderr.contains(COMPILING), "{asked:#?}");
    let verdict = exec("run").json();
    assert!(verdict["reason"].as_str().unwrap().contains(COMPILING), "{verdict}");
    drop(held);
    warm(&env);
    assert_eq!(exec("hook").stdout, "before_tool_call\n");
    assert_eq!(exec("run").json()["blocked"], false);
}

#[test]
fn an_event_is_judged_if_no_code_can_be_kept_and_the_runtime_directory_is_the_second_place() {
    let below_a_file = |env: &TestEnvironment| {
        if env.path("cache").is_dir() {
            fs::remove_dir_all(env.path("cache")).unwrap();
            env.file("cache", "");
        }
        Some(env.command(program()))
    };
    let on_a_full_disk = |env: &TestEnvironment| {
        let mut command = env.with_disk("cache/hookbox", "64k")?;
        command.arg(program());
        Some(command)
    };
    let judge = |env: &TestEnvironment, command: Option<Command>| {
        let Some(mut command) = command else {
            println!("skipped: no file system can be mounted here, not even in a namespace of one's own");
            return None;
        };
        let call = json!({"tool_name": "bash", "tool_input": {"command": "sudo ls"}});
        let output = env.run(command.args(["run", "before_tool_call"]), call.to_string());
        let reason = output.json()["reason"].as_str().unwrap_or_default().to_owned();
        assert!(reason.contains("'sudo' is not allowed"), "{output:#?}");
        Some(output.stderr)
    };
    let compiles = "compiling a component";
    type Start<'a> = &'a dyn Fn(&TestEnvironment) -> Option<Command>;
    let ways: [(Start<'_>, &str, &str); 2] = [
        (
            &below_a_file,
            "Not a directory (os error 20); compiled code is not kept",
            "compiled code is kept in",
        ),
        (&on_a_full_disk, "No space left on device", "No space left on device"),
    ];
    for (command, without, with) in ways {
        let env = environment();
        env.copy(GUARD, &sample("guardrail"));
        for said in [judge(&env, command(&env)), judge(&env, command(&env))].into_iter().flatten() {
            assert!(said.contains(without) && said.contains(compiles), "{said}");
        }
        let (env, runtime) = (environment(), env.path("runtime"));
        env.copy(GUARD, &sample("guardrail"));
        let env = env.variable("XDG_RUNTIME_DIR", runtime.to_str().unwrap());
        // Others may write it, as /tmp, or it is private.
        fs::create_dir_all(&runtime).unwrap();
        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o777)).unwrap();
        if let Some(said) = judge(&env, command(&env)) {
            assert!(said.contains(without) && said.contains(compiles), "{said}");
        }
        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)).unwrap();
        // However busy the machine is: the first event may be over before the code is there.
        let Some(mut first) = command(&env) else { continue };
        env.run(first.args(["run", "before_tool_call"]), "{\"tool_name\": \"bash\", \"tool_input\": {}}");
        wait_until("the code is kept", || !crate::cache::code(&runtime.join("hookbox/code")).is_empty());
        let said = judge(&env, command(&env)).unwrap();
        assert!(!said.contains(compiles), "{said}");
        let is_said = with == without || said.contains(with);
        assert!(is_said, "{said}");
    }
}
