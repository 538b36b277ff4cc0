//! The cases of the samples, and those of the book.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hookbox_agents::Agent;

use super::{GUARD, test};
use crate::environment::{TestEnvironment, repository, sample};

#[test]
fn the_samples_pass_their_cases() {
    let env = TestEnvironment::new();
    for (name, dir) in samples() {
        let mut args = vec!["test".into(), dir.clone().into_os_string()];
        if dir.join("Cargo.toml").is_file() {
            args.extend(["--hook".into(), sample(&name).into_os_string()]);
        }
        let output = env.hookbox(args);
        assert_eq!(output.code, Some(0), "{name}: {}{}", output.stdout, output.stderr);
    }
}

/// Returns the directories of samples with their names. The guard in several languages has a test of its own.
fn samples() -> BTreeMap<String, PathBuf> {
    let dirs = fs::read_dir(repository().join("sample-hooks")).unwrap().map(|entry| entry.unwrap().path());
    let named = dirs.filter(|path| path.is_dir()).map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, path)
    });
    let others = ["lib", "no-force-push", "target"];
    named.filter(|(name, _)| !name.starts_with('.') && !others.contains(&name.as_str())).collect()
}

#[test]
fn every_sample_has_several_cases() {
    for (name, dir) in samples() {
        let files = fs::read_dir(dir.join("cases")).into_iter().flatten();
        let cases: usize = files.map(|entry| cases_in(&entry.unwrap().path())).sum();
        assert!(cases >= 2, "{name} has {cases} cases: write at least two into its cases/");
    }
    // Each script has a file of its own.
    for (hooks, cases) in [("native", "native/cases"), ("plugin/hooks", "plugin/cases")] {
        let samples = repository().join("sample-hooks");
        for entry in fs::read_dir(samples.join(hooks)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && path.extension().is_none_or(|ending| ending != "md") {
                let file = samples.join(cases).join(path.file_stem().unwrap()).with_extension("toml");
                let cases = cases_in(&file);
                assert!(cases >= 2, "{} has {cases} cases", file.display());
            }
        }
    }
}

/// Returns the number of cases in a file.
fn cases_in(file: &Path) -> usize {
    fs::read_to_string(file).unwrap_or_default().lines().filter(|line| *line == "[[case]]").count()
}

/// Returns the blocks of the page about cases in a language, in their order.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let start = format!("\n```{language}\n");
    let parts = page.split(&start).skip(1);
    parts.map(|part| format!("{}\n", part.split("\n```").next().unwrap())).collect()
}

#[test]
fn the_examples_of_the_page_about_cases_are_right() {
    let page = fs::read_to_string(repository().join("docs/src/testing.md")).unwrap();
    let env = TestEnvironment::new();
    env.native("repo/guard", "before_tool_call", GUARD);
    for name in ["audit-log", "guardrail"] {
        env.copy(&format!("repo/{name}.wasm"), &sample(name));
    }
    let mut files = Vec::new();
    for block in blocks(&page, "toml") {
        // The first line has the name of the file.
        let name = block.lines().next().unwrap().strip_prefix("# ").unwrap().to_owned();
        env.file(&format!("repo/{name}"), &block);
        files.extend(name.starts_with("cases/").then_some(name));
    }
    assert!(files.len() >= 4, "{files:?}");
    let output = test(&env, &[]);
    assert!(output.stdout.ends_with("\n4 passed, 1 failed\n"), "{output:#?}");
    // The first one fails, and its output is on the page.
    let output = test(&env, &["cases/guard.toml"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(blocks(&page, "text").contains(&output.stdout), "{}", output.stdout);
    assert_eq!(env.path("repo/cases").read_dir().unwrap().count(), files.len());
}

#[test]
fn a_guard_gives_the_same_verdicts_through_the_wire_of_each_agent() {
    let env = TestEnvironment::new();
    let cases = repository().join("sample-hooks/guardrail");
    let hook = sample("guardrail");
    for agent in Agent::with_commands() {
        let args = ["test".as_ref(), cases.as_os_str(), "--hook".as_ref(), hook.as_os_str()];
        let output = env.hookbox(args.into_iter().chain(["--dialect".as_ref(), agent.as_str().as_ref()]));
        assert_eq!(output.code, Some(0), "{agent:?}: {}{}", output.stdout, output.stderr);
        assert!(output.stdout.contains("sudo is blocked  "), "{agent:?}: {}", output.stdout);
    }
}
