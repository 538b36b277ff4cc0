//! The book: its generated page, its examples and its commands.

use std::fs;

use crate::environment::repository;

mod answers;
mod events;
mod first_hook;
mod languages;
mod links;
mod sdk_events;
mod wit_reference;

/// Checks that a generated file has this text, or writes it if the variable is set.
#[track_caller]
fn assert_is_generated(file: &str, text: &str) {
    let path = repository().join(file);
    if std::env::var_os("HOOKBOX_WRITE_GOLDEN").is_some() {
        return fs::write(&path, text).unwrap();
    }
    let is_new = fs::read_to_string(&path).is_ok_and(|it| it == text);
    assert!(is_new, "{file} is old; hint: cargo xtask tables");
}

/// Returns a page of the book.
fn page(name: &str) -> String {
    fs::read_to_string(repository().join("docs/src").join(name)).unwrap()
}

/// Returns a file of the example that answers every event.
fn example(name: &str) -> String {
    fs::read_to_string(repository().join("examples/every-event").join(name)).unwrap()
}

/// `docs/theme/tabs.js` makes a tab of each label, by its text.
#[test]
fn each_group_of_tabs_ends_and_has_its_labels() {
    let names = ["Rules", "Python", "TypeScript", "Rust", "Script"];
    let mut groups = 0;
    for entry in fs::read_dir(repository().join("docs/src")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| it != "md") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for group in text.split("<div class=\"tabs\">\n\n").skip(1) {
            let (group, _) = group.split_once("\n</div>\n").unwrap_or_else(|| panic!("{}", path.display()));
            let label = |line: &str| {
                let bold = line.strip_prefix("**").and_then(|it| it.strip_suffix("**"));
                bold.or_else(|| line.strip_prefix("### ")).map(str::to_owned)
            };
            let labels: Vec<String> = group.lines().filter_map(label).collect();
            let clients = ["Python", "TypeScript", "Go"];
            assert!(
                labels == names || labels == names[..4] || labels == clients,
                "{}: {labels:?}",
                path.display()
            );
            groups += 1;
        }
    }
    assert!(groups > 0, "{groups}");
}
