//! Plugins: sources, installation, and contents.

mod changes;
mod claude;
mod embedded;
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
mod sync;
mod transaction;
mod trust;
mod update;

use crate::environment::{Output, TestEnvironment};

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
    env.run(&mut env.on_a_terminal(&[&["plugin"], args].concat()), typed)
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
