//! `hookbox cache`, and when components are compiled.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use hookbox::manager::{Manager, Progress};
use hookbox::session::ToolDecision;
use hookbox::{Allocation, Runtime, ToolCall};
use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, program, sample};
use crate::mcp::wait_until;

const COMPILES: &str = "compiling a component";

/// With a cache of its own: the tests share another one.
fn environment() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.directory("repo/.git");
    let cache = env.path("cache");
    env.variable("XDG_CACHE_HOME", cache.to_str().unwrap())
}

/// The same with a guard of the user's and a component of the repository.
fn with_hooks() -> TestEnvironment {
    let env = environment();
    env.copy("home/.hookbox/hooks/guard.wasm", &sample("guardrail"));
    env.copy("repo/.hookbox/hooks/logger.wasm", &sample("turn-logger"));
    env
}

fn compiled(output: &Output) -> usize {
    output.stderr.matches(COMPILES).count()
}

/// An event with the debug log.
fn event(env: &TestEnvironment) -> Output {
    let call = json!({"tool_name": "bash", "tool_input": {"command": "rm -rf build"}});
    let output = env.hookbox_with(["-v", "run", "before_tool_call"], call.to_string());
    assert!(output.stdout.contains("\"blocked\":true"), "{output:#?}");
    output
}

/// The compiled code in this directory. Descriptions are beside it, and the lock and the draft of a process that compiles.
pub(crate) fn code(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).into_iter().flatten().map(|it| it.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|it| it == "cwasm")).collect()
}

#[test]
fn it_is_warmed_shown_and_cleared_from_everywhere() {
    let env = with_hooks();
    let home = env.path("home");
    for (cwd, hooks) in [("repo", 2), ("home", 1), ("/", 1)] {
        let cwd_of = env.path(cwd);
        let cache = |words: &[&str]| {
            let words = [&["cache"], words, &["-C", cwd_of.to_str().unwrap()]].concat();
            env.hookbox(words)
        };
        assert_eq!(cache(&["--json"]).json()["components"], json!([]), "{cwd}");
        let none = json!({"removed": 0, "bytes": 0});
        assert_eq!(cache(&["clear", "--json"]).json(), none, "{cwd}");

        let warmed = |compiled: usize, loaded: usize| json!({"compiled": compiled, "loaded": loaded, "failed": [], "removed": 0});
        assert_eq!(cache(&["warm", "--json"]).json(), warmed(hooks, 0), "{cwd}");
        assert_eq!(cache(&["warm", "--json"]).json(), warmed(0, hooks), "{cwd}");
        let line = cache(&["warm"]);
        assert_eq!(
            (&*line.stdout, &*line.stderr),
            (&*format!("compiled 0 components, {hooks} compiled already\n"), "")
        );
        assert_eq!(compiled(&event(&env)), 2 - hooks, "{cwd}");

        let shown = cache(&["--json"]).json();
        assert_eq!(shown["directory"], json!(env.path("cache/hookbox/code")), "{cwd}");
        let rows = shown["components"].as_array().unwrap();
        let guard = rows.iter().find(|row| row["names"] == json!(["guard.wasm"])).unwrap();
        assert_eq!(guard["path"], json!(home.join(".hookbox/hooks/guard.wasm")), "{cwd}");
        assert_eq!(guard["current"], true, "{cwd}");
        assert_eq!(guard["digest"], json!(hookbox::Digest::of(&fs::read(sample("guardrail")).unwrap())));
        assert!(guard["used"].as_str().unwrap().ends_with('Z'), "{guard}");
        let sum: u64 = rows.iter().map(|row| row["bytes"].as_u64().unwrap()).sum();
        assert_eq!(shown["bytes"], sum, "{cwd}");
        let table = cache(&[]).stdout;
        let last = table.lines().last().unwrap();
        assert!(
            last.starts_with("2 components, ") && last.ends_with("/cache/hookbox/code"),
            "{cwd}: {table}"
        );
        assert!(table.contains("  this     guard.wasm\n") && table.contains(" today "), "{cwd}: {table}");
        // In another directory, the repository's component has the path where it was last found, or its digest: a file
        // that is some seconds old is remembered.
        assert_eq!(table.contains(" logger.wasm\n"), cwd == "repo", "{cwd}: {table}");

        assert_eq!(cache(&["clear", "--json"]).json()["removed"], 2, "{cwd}");
        assert!(!env.path("cache/hookbox/components.json").exists());
        assert_eq!(cache(&["clear"]).stdout, "removed 0 components, 0 B\n", "{cwd}");
    }
}

#[test]
fn what_cannot_be_compiled_is_named_and_the_rest_is_compiled() {
    let env = with_hooks();
    env.file("home/.hookbox/hooks/broken.wasm", "\0asm\x0d\0\x01\0broken");
    let output = env.hookbox(["cache", "warm", "--json"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    let json: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&json["compiled"], &json["failed"][0]["name"]), (&json!(2), &json!("broken.wasm")));
    assert!(output.stderr.contains("broken.wasm: "), "{output:#?}");
    let output = env.hookbox(["cache", "warm"]);
    assert_eq!(output.stdout, "compiled 0 components, 2 compiled already, 1 failed\n");
}

#[test]
fn code_that_cannot_be_kept_is_a_failure_with_a_hint() {
    let env = environment();
    env.copy("home/.hookbox/hooks/guard.wasm", &sample("guardrail"));
    env.hookbox(["cache", "warm"]);
    // A directory replaces the code, and nothing can replace the directory.
    let code = code(&env.path("cache/hookbox/code")).remove(0);
    fs::remove_file(&code).unwrap();
    fs::create_dir_all(code.join("full")).unwrap();
    let output = env.hookbox(["cache", "warm", "--json"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    let json: Value = serde_json::from_str(&output.stdout).unwrap();
    let failed = json!([{"name": "guard.wasm", "problem": "its compiled code cannot be kept"}]);
    assert_eq!((&json["compiled"], &json["failed"]), (&json!(0), &failed));
    assert!(output.stderr.contains("hint: check that "), "{output:#?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_system_without_memory_is_not_the_fault_of_a_component() {
    let env = environment();
    env.copy("home/.hookbox/hooks/guard.wasm", &sample("guardrail"));
    env.hookbox(["cache", "warm"]);
    let mut command = env.command("bash");
    // Enough for the program, and not for the address space of a component.
    command.args(["-c", "ulimit -v 600000; exec \"$@\"", "-"]).arg(program()).args(["cache", "warm"]);
    let output = env.run(&mut command, "");
    assert!(output.stderr.contains("guard.wasm: failed in describe: cannot run now: "), "{output:#?}");
    let output = env.hookbox(["cache", "warm"]);
    assert_eq!(output.stdout, "compiled 0 components, 1 compiled already\n", "its code is still there");
}

#[test]
fn a_directory_that_others_may_write_to_is_an_error_with_a_hint() {
    let env = with_hooks();
    env.directory("cache/hookbox").mode("cache/hookbox", 0o777);
    for words in [&["cache"][..], &["cache", "warm"], &["cache", "clear"]] {
        let output = env.hookbox(words);
        assert_eq!(output.code, Some(1), "{output:#?}");
        assert!(
            output.stderr.contains("others may write to it") && output.stderr.contains("\nhint: "),
            "{output:#?}"
        );
    }
}

#[test]
fn code_is_kept_for_as_long_as_it_is_used() {
    let env = with_hooks();
    let day = Duration::from_secs(24 * 60 * 60);
    let code = || code(&env.path("cache/hookbox/code"));
    event(&env);
    wait_until("both are compiled", || code().len() == 2);
    let age = |days: u32| {
        for path in code() {
            fs::File::open(path).unwrap().set_modified(SystemTime::now() - days * day).unwrap();
        }
    };
    age(29);
    assert_eq!(compiled(&event(&env)), 0);
    let used = |path| fs::metadata(path).unwrap().modified().unwrap();
    // An event that another hook blocks may not need the code of both.
    assert!(code().into_iter().any(|path| used(path) > SystemTime::now() - day), "the use is noted");
    age(31);
    // Something is compiled anyway: then what nobody uses is removed.
    fs::remove_file(env.path("repo/.hookbox/hooks/logger.wasm")).unwrap();
    env.copy("repo/.hookbox/hooks/other.wasm", &sample("redactor"));
    let output = event(&env);
    assert_eq!(compiled(&output), 1, "{output:#?}");
    wait_until("the other one is compiled, and the first is removed", || code().len() == 2);
}

#[test]
fn processes_that_start_at_once_compile_each_component_once() {
    let env = with_hooks();
    let start = || env.command(program()).args(["-v", "list"]).stdin(Stdio::null()).spawn().unwrap();
    let processes: Vec<_> = (0..4).map(|_| start()).collect();
    let logs = processes.into_iter().map(|it| it.wait_with_output().unwrap());
    let logs: Vec<String> = logs.map(|it| String::from_utf8(it.stderr).unwrap()).collect();
    assert_eq!(logs.iter().map(|log| log.matches(COMPILES).count()).sum::<usize>(), 2, "{logs:#?}");
    let left = fs::read_dir(env.path("cache/hookbox/code")).unwrap();
    assert_eq!(left.count(), 4, "the code and the description of both, and no lock");
}

#[test]
fn the_commands_by_which_hooks_come_in_leave_nothing_to_compile() {
    for words in
        [&["install", "claude"][..], &["trust", "logger.wasm", "--yes"], &["doctor", "claude"], &["grants"]]
    {
        let env = with_hooks();
        env.hookbox(words);
        assert_eq!(compiled(&event(&env)), 0, "{words:?}");
    }
    let env = environment();
    env.copy("home/.hookbox/hooks/guard.wasm", &sample("guardrail"));
    env.copy("plugin/hooks/logger.wasm", &sample("turn-logger"));
    let source = env.path("plugin");
    let output = env.hookbox(["plugin", "add", source.to_str().unwrap(), "--name", "a/b", "--yes"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert_eq!(compiled(&event(&env)), 0);
}

#[tokio::test]
async fn a_hook_that_is_loaded_outlives_its_code() {
    let env = with_hooks();
    let cache = env.path("private");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).unwrap();
    let runtime = Runtime::new(Allocation::OnDemand, Some(&cache));
    let progress = Progress::default();
    let builder =
        Manager::builder().cwd(env.path("repo")).home(env.path("home")).data(None).progress(&progress);
    // Its code is there when it is built, also on a busy machine.
    let builder = builder.untrusted_timeout(Duration::from_secs(600));
    let manager = builder.cache(Some(cache)).runtime(runtime.clone()).build().await;
    assert_eq!((progress.found(), progress.examined()), (2, 2));
    assert_eq!(runtime.cached_code().unwrap().len(), 2);
    assert_eq!(runtime.clear_cache().unwrap().components, 2);
    assert_eq!(runtime.cached_code().unwrap(), []);
    let call = ToolCall::new("bash", json!({"command": "rm -rf build"}));
    let verdict = manager.session("s").before_tool_call(call).await;
    assert!(matches!(verdict.decision, ToolDecision::Block(_)), "{verdict:?}");
}

#[tokio::test]
async fn a_component_is_loaded_by_its_first_call_and_its_code_is_made_again_from_the_same_bytes_alone() {
    let hook = "home/.hookbox/hooks/guard.wasm";
    for (what, is_there) in [
        ("as it was", true),
        ("its code is gone", true),
        ("its code is damaged", true),
        ("another file", false),
        ("no file", false),
    ] {
        let env = environment();
        let private = env.path("private");
        env.directory("private").mode("private", 0o700);
        env.symlink(hook, sample("guardrail").to_str().unwrap());
        let manager = async || {
            let runtime = Runtime::new(Allocation::OnDemand, Some(&private));
            env.builder().cache(Some(private.clone())).runtime(runtime).build().await
        };
        // A file that has just been built is remembered when it is some seconds old.
        let is_remembered = || {
            fs::read_to_string(private.join("components.json")).is_ok_and(|text| text.contains("guard.wasm"))
        };
        while !is_remembered() {
            drop(manager().await);
        }
        let manager = manager().await;
        let kept = || code(&private.join("code"));
        // A mapped file keeps its bytes.
        let file = kept().remove(0);
        if what != "as it was" {
            fs::remove_file(&file).unwrap();
        }
        match what {
            "its code is damaged" => fs::write(&file, "no code").unwrap(),
            "another file" | "no file" => fs::remove_file(env.path(hook)).unwrap(),
            _ => {}
        }
        if what == "another file" {
            env.symlink(hook, sample("turn-logger").to_str().unwrap());
        }
        let session = manager.session("s");
        for (line, blocks) in [("ls", !is_there), ("rm -rf build", true)] {
            let verdict = session.before_tool_call(ToolCall::new("bash", json!({"command": line}))).await;
            let block = verdict.decision.blocked();
            assert_eq!(block.is_some(), blocks, "{what}: {line}: {verdict:?}");
            let failed = block.is_some_and(|it| it.for_user().contains("failed (internal)"));
            assert_eq!(failed, !is_there, "{what}: {line}: {verdict:?}");
        }
        let is_code = |file: &PathBuf| fs::metadata(file).unwrap().len() > 1000;
        assert_eq!(kept().iter().filter(|file| is_code(file)).count(), usize::from(is_there), "{what}");
    }
}
