//! The links of the book, and the paths of its readers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::page;
use crate::environment::repository;

/// The most pages that a reader has to read before the first result.
const PAGES_OF_A_PATH: usize = 6;

/// Returns the targets of the links in a text.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// Returns the anchor that mdBook and GitHub make of a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
    kept.map(|it| if it == ' ' { '-' } else { it }).collect()
}

fn anchors(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().filter(|line| line.starts_with('#')).map(anchor).collect()
}

/// Returns the file of a target, if it is one of this repository.
fn file_of(target: &str, directory: &Path) -> Option<PathBuf> {
    let own = target.strip_prefix("https://github.com/hookbox/hookbox/");
    if let Some(path) = own.and_then(|it| it.strip_prefix("blob/main/").or(it.strip_prefix("tree/main/"))) {
        return Some(repository().join(path));
    }
    (!target.contains(':')).then(|| directory.join(target))
}

#[test]
fn every_link_of_the_book_leads_to_a_file_and_to_its_heading() {
    let pages = fs::read_dir(repository().join("docs/src")).unwrap().map(|it| it.unwrap().path());
    let pages = pages.filter(|it| it.extension().is_some_and(|it| it == "md"));
    let others = ["README.md", "CONTRIBUTING.md"].map(|it| repository().join(it));
    let mut count = 0;
    for page in pages.chain(others) {
        for target in targets(&fs::read_to_string(&page).unwrap()) {
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let Some(file) = file_of(path, page.parent().unwrap()) else { continue };
            let file = if path.is_empty() { page.clone() } else { file };
            assert!(file.exists(), "{}: {target}", page.display());
            let leads = heading.is_empty() || anchors(&file).contains(heading);
            assert!(leads, "{}: {target} has no such heading", page.display());
            count += 1;
        }
    }
    assert!(count > 500, "{count}");
}

#[test]
fn each_of_the_four_readers_has_a_path_of_at_most_six_pages() {
    let introduction = page("introduction.md");
    let section = introduction.split("## Start here\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let paths: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    assert_eq!(paths.len(), 4, "{section}");
    for path in paths {
        let pages = targets(path).count();
        assert!((1..=PAGES_OF_A_PATH).contains(&pages), "{pages}: {path}");
    }
}
