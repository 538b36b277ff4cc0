//! The page on `hookbox explain`: its files are written, its commands run, and their output is the page's.

use std::env;
use std::fs;

use crate::environment::{TestEnvironment, repository};

const PAGE: &str = "docs/src/explain.md";

/// Returns the output of a command of the page, with the directories of the page and without times.
fn output(env: &TestEnvironment, command: &str) -> String {
    let line = command.strip_prefix("hookbox explain '").and_then(|it| it.strip_suffix('\''));
    let output = env.hookbox(["explain", line.unwrap_or_else(|| panic!("{command}"))]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let (home, repo) = (env.path("home"), env.path("repo"));
    let text = output.stdout.replace(repo.to_str().unwrap(), "/home/ada/app");
    let text = text.replace(home.to_str().unwrap(), "/home/ada");
    let is_time = |line: &&str| !line.starts_with("  used ");
    text.lines().filter(is_time).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_output_on_the_page_is_real() {
    let page = fs::read_to_string(repository().join(PAGE)).unwrap();
    let (mut real, mut count) = (String::new(), 0);
    let mut env = TestEnvironment::new();
    let (mut file, mut command): (Option<String>, Option<String>) = (None, None);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        real.push_str(&format!("{line}\n"));
        if line.starts_with("## ") {
            env = TestEnvironment::new();
            env.directory("repo/.git");
        } else if let Some(name) = line.strip_prefix('`').and_then(|it| it.strip_suffix("`:")) {
            file = Some(match name.strip_prefix("~/") {
                Some(name) => format!("home/{name}"),
                None => format!("repo/{name}"),
            });
        } else if line.starts_with("```") {
            let block = lines.by_ref().take_while(|it| *it != "```").map(|it| format!("{it}\n"));
            let block: String = block.collect();
            let block = match (file.take(), line, command.take()) {
                (Some(file), ..) if block.starts_with("#!") => {
                    env.script(&file, &block);
                    block
                }
                (Some(file), ..) => {
                    env.file(&file, &block);
                    block
                }
                (None, "```text", Some(command)) => {
                    count += 1;
                    output(&env, &command)
                }
                (None, ..) => {
                    command = Some(block.trim_end().to_owned());
                    block
                }
            };
            real.push_str(&format!("{block}```\n"));
        }
    }
    assert!(count >= 1, "{count}");
    if env::var_os("HOOKBOX_WRITE_GOLDEN").is_some() {
        fs::write(repository().join(PAGE), &real).unwrap();
    }
    assert_eq!(page, real, "write it again with HOOKBOX_WRITE_GOLDEN=1");
}
