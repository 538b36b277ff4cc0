//! The book: its generated page, its examples and its commands.

use std::fs;
use std::path::PathBuf;

use crate::environment::repository;

mod answers;
mod events;
mod languages;
mod wit_reference;

/// Returns a page of the book.
fn page(name: &str) -> String {
    fs::read_to_string(repository().join("docs/src").join(name)).unwrap()
}

/// Returns the code blocks of a language, in order.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let fence = format!("\n```{language}\n");
    page.split(fence.as_str()).skip(1).map(|rest| rest.split("```\n").next().unwrap()).collect()
}

/// Returns a directory of `cargo xtask tools`; `None`, with a `skipped:` line, if it is missing.
fn tools(directory: &str) -> Option<PathBuf> {
    let path = repository().join("target/tools").join(directory);
    if path.is_dir() {
        return Some(path);
    }
    let line = format!("skipped: target/tools/{directory} is missing; hint: cargo xtask tools");
    assert!(std::env::var_os("HOOKBOX_REQUIRE_TOOLS").is_none(), "{line}");
    println!("{line}");
    None
}
