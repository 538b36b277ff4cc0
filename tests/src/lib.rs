//! The integration tests: one binary, one module for each area.
//!
//! They run the real program, built beside them, and the library, in places of their own (`environment`).

#![cfg(test)]

mod agent;
mod agents;
mod allow;
mod answer_allow;
mod answers;
mod backtest;
mod bad_components;
mod book;
mod bridge;
mod builtins;
mod cache;
mod chain;
mod clients;
mod command_line;
mod compiling;
mod composed;
mod declared;
mod dependency_rules;
mod digits;
mod doctor;
mod embedding;
mod environment;
mod environment_of_hooks;
mod explain;
mod explain_page;
mod foreign;
mod guard;
mod guard_state;
mod hostile;
mod hostile_repository;
mod human;
mod imported_facts;
mod install;
mod interrupt;
mod journal;
mod lean;
mod limits;
mod managed;
mod mcp;
mod mixed;
mod names;
mod nested;
mod network;
mod one_reader;
mod opencode;
mod other_words;
mod outside;
mod parity;
mod plugin;
mod program;
mod projects;
mod protocol;
mod redaction;
mod reload;
mod replay;
mod report_page;
mod rules;
mod samples;
mod samples_after_sessions;
mod samples_of_sessions;
mod samples_with_rights;
mod schemas;
#[cfg(target_os = "linux")]
mod screens;
mod sdk_languages;
mod seeds;
mod self_protection;
mod shadow;
mod store;
mod telemetry;
mod test_command;
mod tighten;
mod trust;

use std::fs;
use std::path::Path;

/// A file that no `mod` names is not compiled, and its tests pass by not running.
#[test]
fn no_module_file_is_forgotten() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut waiting = vec![(src.clone(), src.join("lib.rs"))];
    let mut forgotten = Vec::new();
    while let Some((dir, parent)) = waiting.pop() {
        let declared = fs::read_to_string(&parent).unwrap();
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                waiting.push((path.clone(), path.join("mod.rs")));
            }
            let is_module = path.is_dir() || path.extension().is_some_and(|extension| extension == "rs");
            let is_root = stem == "mod" || path == parent;
            let names_it = |line: &str| line.trim_start_matches("pub(crate) ") == format!("mod {stem};");
            if is_module && !is_root && !declared.lines().map(str::trim).any(names_it) {
                forgotten.push(path);
            }
        }
    }
    assert!(forgotten.is_empty(), "not compiled, for no `mod` names them: {forgotten:?}");
}
