//! The kodelet protocol through the program: the cases of `cases/kodelet.jsonl`.
//!
//! A line is `{name, event, setup, payload, expect}`, and sometimes `timeout_ms` and `host_env`. A hook that must be
//! stopped sleeps for minutes, and a late answer would change the verdict: no case needs a clock.

use serde_json::{Map, Value, json};

use crate::environment::TestEnvironment;

const CASES: &str = include_str!("../cases/kodelet.jsonl");

#[test]
fn every_case_of_the_protocol_holds() {
    let cases: Vec<Value> = CASES.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(cases.len(), 93);
    let failed: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let faults = check(case);
            (!faults.is_empty()).then(|| format!("{}:\n    {}", case["name"], faults.join("\n    ")))
        })
        .collect();
    assert!(failed.is_empty(), "{} of {} cases fail:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

/// Returns the faults of a case.
fn check(case: &Value) -> Vec<String> {
    let mut env = TestEnvironment::new();
    for (name, value) in case["host_env"].as_object().into_iter().flatten() {
        env = env.variable(name, value.as_str().unwrap());
    }
    for file in case["setup"]["files"].as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        if let Some(target) = file["symlink"].as_str() {
            env.symlink(path, target);
            continue;
        }
        match file["content"].as_str() {
            Some(content) => env.file(path, content),
            None => env.directory(path),
        };
        if let Some(mode) = file["mode"].as_str() {
            env.mode(path, u32::from_str_radix(mode, 8).unwrap());
        }
    }
    match case["event"].as_str().unwrap() {
        "discover" => check_discovery(&env, case),
        "plugin_remove" => check_removal(&env, case),
        _ => check_event(&env, case),
    }
}

fn check_removal(env: &TestEnvironment, case: &Value) -> Vec<String> {
    let output = env.hookbox(["plugin", "remove", case["payload"]["name"].as_str().unwrap()]);
    let expect = &case["expect"];
    let mut faults = Vec::new();
    match expect["error_contains"].as_str() {
        Some(part) if output.code == Some(0) || !output.stderr.contains(part) => {
            faults.push(format!("expected an error with {part:?}: {output:?}"));
        }
        None if output.code != Some(0) => faults.push(format!("{output:?}")),
        _ => {}
    }
    let paths = |key: &str| expect[key].as_array().cloned().unwrap_or_default();
    for path in paths("exists") {
        let path = path.as_str().unwrap().replace("$HOME", "home").replace("$REPO", "repo");
        if !env.path(&path).exists() {
            faults.push(format!("{path} is gone"));
        }
    }
    for path in paths("files_absent") {
        let path = format!("repo/{}", path.as_str().unwrap());
        if env.path(&path).exists() {
            faults.push(format!("{path} is not removed"));
        }
    }
    faults
}

fn check_discovery(env: &TestEnvironment, case: &Value) -> Vec<String> {
    let mut found = Map::new();
    let mut faults = Vec::new();
    for hook in env.list(&["--trust", "all"]) {
        if hook["status"] != "active" || hook["kind"] == "builtin" {
            continue;
        }
        for event in hook["events"].as_array().unwrap() {
            let names = found.entry(event.as_str().unwrap()).or_insert(json!([]));
            names.as_array_mut().unwrap().push(hook["name"].clone());
        }
        if let Some(path) = case["expect"]["paths"].get(hook["name"].as_str().unwrap()) {
            let want = env.path("repo").join(path.as_str().unwrap());
            differ(&mut faults, "path", &hook["path"], &json!(want.to_str().unwrap()));
        }
    }
    differ(&mut faults, "discovered", &Value::Object(found), &case["expect"]["discovered"]);
    faults
}

fn check_event(env: &TestEnvironment, case: &Value) -> Vec<String> {
    let timeout = case["timeout_ms"].as_u64().map(|ms| format!("{ms}ms"));
    let mut args = vec!["run", case["event"].as_str().unwrap(), "--trust", "all"];
    args.extend(timeout.iter().flat_map(|timeout| ["--timeout", timeout]));
    let payload = expand(&case["payload"]);
    let output = env.hookbox_with(&args, payload.to_string());
    if output.code != Some(0) {
        return vec![format!("{output:?}")];
    }
    let verdict: Value = match serde_json::from_str(&output.stdout) {
        Ok(verdict) => verdict,
        Err(error) => return vec![format!("{error}: {output:?}")],
    };
    let mut faults = Vec::new();
    for (key, want) in case["expect"].as_object().unwrap() {
        let or = |name: &str, default: Value| verdict.get(name).cloned().unwrap_or(default);
        let found = match key.as_str() {
            "blocked" => or("blocked", json!(false)),
            "reason" => or("reason", json!("")),
            "reason_len" => json!(or("reason", json!("")).as_str().unwrap().chars().count()),
            "input" if verdict["blocked"] == true => Value::Null,
            "input" => or("input", payload["tool_input"].clone()),
            "modified" => json!(verdict.get("output").is_some()),
            "follow_up_messages" => or("follow_up_messages", json!([])),
            "output" | "result" | "messages" => or(key, Value::Null),
            "files_after" | "json_files_after" => {
                check_files(env, &mut faults, want, key == "json_files_after");
                continue;
            }
            other => {
                faults.push(format!("nobody checks \"{other}\""));
                continue;
            }
        };
        differ(&mut faults, key, &found, want);
    }
    if !faults.is_empty() {
        faults.push(format!("standard error: {}", output.stderr.trim()));
    }
    faults
}

fn check_files(env: &TestEnvironment, faults: &mut Vec<String>, wanted: &Value, is_json: bool) {
    for (name, want) in wanted.as_object().unwrap() {
        let found = env.read(&format!("repo/{name}"));
        let (found, want) = if is_json {
            (found.and_then(|text| serde_json::from_str(&text).ok()), want.clone())
        } else {
            let want = want.as_str().unwrap().replace("$REPO", &env.path("repo").to_string_lossy());
            (found.map(Value::from), json!(want))
        };
        differ(faults, name, &found.unwrap_or_default(), &want);
    }
}

/// The order of the fields of an object does not count.
fn differ(faults: &mut Vec<String>, what: &str, found: &Value, want: &Value) {
    if found != want {
        let cut = |value: &Value| value.to_string().chars().take(400).collect::<String>();
        faults.push(format!("{what}: expected {}, found {}", cut(want), cut(found)));
    }
}

/// Replaces `{"$repeat": {"text", "times"}}` by the text, repeated.
fn expand(value: &Value) -> Value {
    match value {
        Value::Object(fields) => match fields.get("$repeat") {
            Some(repeat) => {
                let times = usize::try_from(repeat["times"].as_u64().unwrap()).unwrap();
                json!(repeat["text"].as_str().unwrap().repeat(times))
            }
            None => fields.iter().map(|(name, value)| (name.clone(), expand(value))).collect(),
        },
        Value::Array(items) => items.iter().map(expand).collect(),
        other => other.clone(),
    }
}
