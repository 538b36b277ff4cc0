//! The guards beside `cc-safety-net`, a guard for agents that npm has: the same commands, and the same meaning of deny.
//!
//! Its own library decides, in one process of node, and its hook confirms a part of the answers. Neither runs a command.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::corpus::Line;
use crate::guards::GUARDS;
use crate::table::{Row, rate, row_of};

/// The program that asks the peer.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/peer.mjs");

/// The categories that the peer's own pages name: files, git and secrets, plain and inside other commands.
const COVERED: [&str; 5] = ["filesystem", "git", "interpreters", "quoting", "secrets"];

/// The home directory in the lines of the corpus.
const HOME: &str = "/home/dev";

/// The first line of the answers.
#[derive(Deserialize)]
struct Who {
    version: String,
    date: String,
}

/// Writes the row of a category, whose lines the guards and the peer stopped.
fn write(row: &Row, out: &mut String) {
    let [ours, theirs] = row.stopped.as_slice() else { return };
    let _ = write!(out, "| {} |", row.name);
    for ((lines, ours), theirs) in row.lines.iter().zip(ours).zip(theirs) {
        let (our_rate, their_rate) = (rate(*ours, *lines), rate(*theirs, *lines));
        let _ = write!(out, " {lines} | {ours} ({our_rate}) | {theirs} ({their_rate}) |");
    }
    out.push('\n');
}

/// Returns the table of both, in Markdown. The directory has the peer, as npm installs it.
pub(crate) fn compare(lines: &[Line], dir: &Path) -> Result<String, String> {
    let lines: Vec<&Line> = lines.iter().filter(|it| !it.is_output).collect();
    let (who, theirs) = ask(&lines, dir)?;
    let (mut rows, mut covered, mut all) =
        (Vec::<Row>::new(), Row::new("**what the peer covers**"), Row::new("**all**"));
    for (line, theirs) in lines.iter().zip(theirs) {
        let acts = GUARDS.iter().map(|it| it.acts(line)).collect::<Result<Vec<bool>, _>>();
        let ours = acts.map_err(|error| error.to_string())?.contains(&true);
        let is_covered = COVERED.contains(&line.category.as_str());
        let row = row_of(&mut rows, &line.category);
        for row in [row, &mut all].into_iter().chain(is_covered.then_some(&mut covered)) {
            row.add(line.label, &[ours, theirs]);
        }
    }
    let mut table = format!(
        "`cc-safety-net` {} with its preset `standard`, on {}:\n\n\
         | category | dangerous | guards | cc-safety-net | safe | guards | cc-safety-net |\n|{}\n",
        who.version,
        who.date,
        " --- |".repeat(7)
    );
    let is_known = covered.lines != [0; 2];
    rows.iter().chain(is_known.then_some(&covered)).chain([&all]).for_each(|row| write(row, &mut table));
    Ok(table)
}

/// Asks the peer about every line, in an empty home directory with an empty repository.
fn ask(lines: &[&Line], dir: &Path) -> Result<(Who, Vec<bool>), String> {
    let dir = dir.canonicalize().map_err(|error| format!("cannot find {}: {error}", dir.display()))?;
    // Not below a temporary directory: the peer lets everything there be removed.
    let home = dir.join("home");
    let cwd = home.join("app");
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", cwd.display());
    if home.exists() {
        fs::remove_dir_all(&home).map_err(fail)?;
    }
    fs::create_dir_all(&cwd).map_err(fail)?;
    // The peer looks for the repository, and must not find the one that this directory is in.
    let git = Command::new("git").args(["init", "--quiet"]).current_dir(&cwd).status();
    if !git.is_ok_and(|it| it.success()) {
        return Err("cannot make a repository for the peer\nhint: is git installed?".to_owned());
    }
    let input: Vec<u8> = lines
        .iter()
        .flat_map(|line| {
            let text = line.text.replace(HOME, &home.to_string_lossy());
            format!("{}\n", hookbox_sdk::json!(text)).into_bytes()
        })
        .collect();
    let mut node = Command::new("node");
    node.arg(SCRIPT).arg(dir.join("node_modules")).arg(&cwd);
    node.current_dir(&cwd).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    node.env("HOME", &home).stdin(Stdio::piped()).stdout(Stdio::piped());
    let failed = |error: std::io::Error| format!("cannot run node: {error}\nhint: apt-get install nodejs");
    let mut node = node.spawn().map_err(failed)?;
    let mut stdin = node.stdin.take();
    let writer = std::thread::spawn(move || stdin.as_mut().map(|it| it.write_all(&input)));
    let output = node.wait_with_output().map_err(failed)?;
    // If node has ended early, its own message says more than the pipe that broke.
    let _ = writer.join();
    if !output.status.success() {
        return Err(format!("the peer failed ({})", output.status));
    }
    answers(&String::from_utf8_lossy(&output.stdout), lines.len())
}

/// Reads the output of the script.
fn answers(output: &str, count: usize) -> Result<(Who, Vec<bool>), String> {
    let (first, rest) = output.split_once('\n').ok_or("the peer has said nothing")?;
    let who = serde_json::from_str(first).map_err(|error| format!("cannot read {first:?}: {error}"))?;
    let answers = rest.lines().map(|it| it.parse().map_err(|_| format!("cannot read {it:?}")));
    let answers = answers.collect::<Result<Vec<bool>, String>>()?;
    if answers.len() != count {
        return Err(format!("the peer answered {} of {count} lines", answers.len()));
    }
    Ok((who, answers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Label;

    #[test]
    fn answers_have_a_version_and_one_line_for_each_command() {
        let (who, found) =
            answers("{\"version\":\"2.0.0\",\"date\":\"2026-01-02\"}\ntrue\nfalse\n", 2).unwrap();
        assert_eq!((who.version.as_str(), who.date.as_str()), ("2.0.0", "2026-01-02"));
        assert_eq!(found, [true, false]);
        for wrong in ["", "x\ntrue\n", "{\"version\":\"2.0.0\",\"date\":\"x\"}\ntrue\n"] {
            assert!(answers(wrong, 2).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_covered_categories_are_in_the_corpus() {
        let lines = crate::corpus::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")).unwrap();
        for name in COVERED {
            assert!(lines.iter().any(|it| it.category == name), "{name}");
        }
    }

    #[test]
    fn both_are_counted_by_label() {
        let (mut row, mut out) = (Row::new("x"), String::new());
        row.add(Label::Danger, &[true, false]);
        row.add(Label::Danger, &[true, true]);
        row.add(Label::Safe, &[false, true]);
        write(&row, &mut out);
        assert_eq!(out, "| x | 2 | 2 (100.0 %) | 1 (50.0 %) | 1 | 0 (0.0 %) | 1 (100.0 %) |\n");
    }
}
