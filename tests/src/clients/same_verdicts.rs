//! The five guards give the same verdicts by every way: the library, `hookbox run`, the three clients, and the interceptor
//! of AGENT-HOOKS.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use hookbox::ToolCall;
use hookbox::session::ToolDecision;
use serde_json::{Value, json};

use super::{client, go, run, typescript};
use crate::environment::{TestEnvironment, program, repository};

/// The number of calls.
const CALLS: usize = 300;

/// Returns commands of the corpus of the guards, a few of each file.
fn commands() -> Vec<String> {
    let mut files: Vec<_> =
        fs::read_dir(repository().join("guards/corpus")).unwrap().map(|it| it.unwrap().path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "jsonl"));
    files.sort();
    let texts = files.iter().map(|it| fs::read_to_string(it).unwrap()).collect::<Vec<_>>();
    let commands = texts.iter().flat_map(|it| it.lines()).filter_map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        Some(line["command"].as_str()?.to_owned())
    });
    let all: Vec<String> = commands.collect();
    let step = all.len() / CALLS;
    all.into_iter().step_by(step).take(CALLS).collect()
}

/// Returns the decisions of a client that prints them.
fn printed(env: &TestEnvironment, mut command: Command, input: &str) -> Vec<Value> {
    command.current_dir(env.path("repo")).env("HOOKBOX_PROGRAM", program());
    let output = env.run(&mut command, input);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

async fn by_the_library(env: &TestEnvironment, commands: &[String]) -> Vec<Value> {
    let manager = env.builder().builtins(true).build().await;
    let mut found = Vec::new();
    for (at, line) in commands.iter().enumerate() {
        let session = manager.session(format!("library-{at}"));
        let verdict = session.before_tool_call(ToolCall::new("bash", json!({"command": line}))).await;
        let (action, ruling) = match &verdict.decision {
            ToolDecision::Run(_) => ("run", None),
            ToolDecision::Ask { ruling, .. } => ("ask", Some(ruling)),
            ToolDecision::Block(ruling) => ("block", Some(ruling)),
        };
        let mut row = json!({ "action": action });
        if let Some(ruling) = ruling {
            row["reason"] = json!(ruling.needed_for_model());
            row["by"] = json!(ruling.by);
            row["cause"] = json!(ruling.cause.map_or("decision", |cause| cause.as_str()));
            let hook = verdict.notes.report.hooks.iter().find(|it| it.name == ruling.by).unwrap();
            if let Some(rule) = hook.metadata.get("rule") {
                row["rule"] = rule.clone();
            }
        }
        found.push(row);
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs packages of PyPI and npm: `cargo xtask tools`"]
async fn five_guards_give_the_same_verdicts_by_every_way() {
    let env = TestEnvironment::new();
    let added = env.hookbox(["guard", "add", "--all", "--yes"]);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    let commands = commands();
    let input = json!(commands).to_string();
    let library = by_the_library(&env, &commands).await;
    let blocked = library.iter().filter(|it| it["action"] == "block").count();
    assert!(
        library.len() == CALLS && (CALLS / 5..CALLS).contains(&blocked),
        "{blocked} of {}",
        library.len()
    );
    assert!(
        library
            .iter()
            .filter(|it| it["by"].as_str().is_some_and(|by| by.ends_with(".wasm")))
            .all(|it| !it["rule"].is_null())
    );

    let by_run = commands.iter().enumerate().map(|(at, line)| {
        let data =
            json!({"conv_id": format!("run-{at}"), "tool_name": "bash", "tool_input": {"command": line}});
        let verdict = env.event(&["before_tool_call"], &data);
        json!({"blocked": verdict["blocked"], "by": verdict["blocked_by"], "reason": verdict["reason"]})
    });
    for ((found, row), line) in by_run.zip(&library).zip(&commands) {
        let expected = json!({"blocked": row["action"] == "block", "by": row["by"], "reason": row["reason"]});
        assert_eq!(found, expected, "hookbox run: {line}");
    }

    let script = |name: &str| repository().join("tests/data/clients").join(name);
    let compare = |way: &str, found: Vec<Value>| {
        assert_eq!(found.len(), CALLS, "{way}");
        for ((found, row), line) in found.iter().zip(&library).zip(&commands) {
            assert_eq!(found, row, "{way}: {line}");
        }
    };
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", program().parent().unwrap().display());
    for (way, name) in [("Python", "verdicts.py"), ("AGENT-HOOKS", "interceptor.py")] {
        let mut python = env.command("python3");
        python.arg(script(name)).env("PYTHONPATH", client("python")).env("PATH", &path);
        compare(way, printed(&env, python, &input));
    }

    let (_dir, compiled) = typescript();
    let mut node = env.command("node");
    node.arg(script("verdicts.mjs")).arg(compiled.join("dist/src/index.js")).env("PATH", &path);
    compare("TypeScript", printed(&env, node, &input));

    let module = env.path("go");
    fs::create_dir(&module).unwrap();
    symlink(script("verdicts.go"), module.join("main.go")).unwrap();
    let manifest = format!(
        "module verdicts\ngo 1.22\nrequire github.com/hookbox/hookbox/clients/go v0.0.0\nreplace github.com/hookbox/hookbox/clients/go => {}\n",
        client("go").display()
    );
    fs::write(module.join("go.mod"), manifest).unwrap();
    run(go().args(["build", "-o", "verdicts", "."]).current_dir(&module));
    compare("Go", printed(&env, env.command(module.join("verdicts")), &input));
}
