//! The page on the specifications: every file and test that it names exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::environment::repository;

/// The names of all tests in the source files below a directory.
fn tests_below(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            tests_below(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let mut lines = text.lines().map(str::trim);
            while let Some(line) = lines.next() {
                if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                    let name = lines.find_map(|line| line.split("fn ").nth(1)).unwrap();
                    found.extend(name.split('(').next().map(str::to_owned));
                }
            }
        }
    }
}

/// Returns the texts between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn every_statement_of_the_four_documents_has_its_place_and_its_test() {
    let repository = repository();
    let mut tests = BTreeSet::new();
    for directory in ["host", "crates", "cli", "examples", "guest-sdk", "sample-hooks", "tests"] {
        tests_below(&repository.join(directory), &mut tests);
    }
    let page = fs::read_to_string(repository.join("docs/internal/specification-coverage.md")).unwrap();
    let tables = page.split("## Where they disagree").next().unwrap();
    let mut rows = 0;
    for line in tables.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [.., place, test] = cells.as_slice() else { panic!("{line}") };
        if *place == "where" {
            continue;
        }
        for path in quoted(place) {
            assert!(repository.join(path).exists(), "{path} does not exist: {line}");
        }
        for name in quoted(test).filter(|_| !test.starts_with("not yet")) {
            assert!(tests.contains(name), "no test is called {name}: {line}");
        }
        assert!(
            quoted(test).next().is_some() || ["–", "not yet"].iter().any(|it| test.starts_with(it)),
            "{line}"
        );
        rows += 1;
    }
    assert!(rows > 100, "{rows}");
}
