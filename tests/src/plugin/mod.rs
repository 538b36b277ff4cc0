//! Plugins: sources, installation, and contents.

mod changes;
mod claude;
mod fetch;
mod fetch_directory;
mod fetch_environment;
mod fetch_killed;
mod full_disk;
mod hostile_trees;
mod kill;
mod program;
mod registry;
mod repository;
mod sample;
mod seen;
mod transaction;
mod trust;
mod update;

use std::process::Command;

use crate::environment::{Output, TestEnvironment, program};

/// `hookbox plugin …`.
pub(crate) fn plugin(env: &TestEnvironment, args: &[&str]) -> Output {
    env.hookbox([&["plugin"], args].concat())
}

/// Runs a plugin command that has to succeed.
#[track_caller]
pub(crate) fn done(env: &TestEnvironment, args: &[&str]) -> Output {
    let output = plugin(env, args);
    assert_eq!(output.code, Some(0), "{output:#?}");
    output
}

/// Runs a plugin command that has to fail with this code, these words and a hint.
#[track_caller]
pub(crate) fn fails(env: &TestEnvironment, args: &[&str], code: i32, words: &[&str]) -> Output {
    let output = plugin(env, args);
    assert_eq!(output.code, Some(code), "{output:#?}");
    for word in words.iter().chain(&["error: ", "hint: "]) {
        assert!(output.stderr.contains(word), "{word}: {output:#?}");
    }
    output
}

/// Runs a plugin command on a terminal, and types this. Both outputs are one there.
pub(crate) fn on_a_terminal(env: &TestEnvironment, args: &[&str], typed: &str) -> Output {
    env.run(&mut terminal(env, args), typed)
}

/// A command that gives `hookbox plugin …` a terminal, and what comes on standard input to that.
pub(crate) fn terminal(env: &TestEnvironment, args: &[&str]) -> Command {
    let words = [&["plugin"], args].concat();
    let line = std::iter::once(program().to_string_lossy().into_owned())
        .chain(words.iter().map(|word| (*word).to_owned()))
        .map(|word| format!("'{word}'"))
        .collect::<Vec<_>>()
        .join(" ");
    let mut command = env.command("script");
    command.args(["-qec", &line, "/dev/null"]);
    command
}

/// Writes a plugin with a skill, a recipe and a native hook that records its directory.
pub(crate) fn written<'e>(env: &'e TestEnvironment, dir: &str) -> &'e TestEnvironment {
    env.file(&format!("{dir}/skills/pdf/SKILL.md"), "# PDF\n")
        .file(&format!("{dir}/recipes/review.md"), "Review it.\n")
        .file(&format!("{dir}/README.md"), "# Tools\n")
        .native(&format!("{dir}/hooks/guard"), "before_tool_call", "echo run >> \"$HOME/ran\"")
}

/// Returns the files that hookbox left in a plugins directory besides plugins and its lock.
pub(crate) fn left_behind(env: &TestEnvironment, root: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(env.path(format!("{root}/plugins"))) else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".hookbox-") && name != ".hookbox-lock").collect()
}
