//! The pages and cases of the guards.

use std::fs;

use crate::environment::repository;

/// The guards, by the names of their directories.
const GUARDS: [&str; 5] = ["destructive", "git", "injection", "secrets", "supply-chain"];

#[test]
fn every_guard_is_in_the_list_and_has_cases_a_page_and_a_line_in_the_book() {
    let book = fs::read_to_string(repository().join("docs/src/guards.md")).unwrap();
    let page = fs::read_to_string(repository().join("guards/README.md")).unwrap();
    let dirs = fs::read_dir(repository().join("guards")).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<String> = dirs
        .filter(|dir| dir.join("settings.schema.json").is_file())
        .map(|dir| dir.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort();
    assert_eq!(found, GUARDS);
    for name in GUARDS {
        let dir = repository().join("guards").join(name);
        let cases = fs::read_to_string(dir.join(format!("cases/{name}.toml"))).unwrap();
        assert!(cases.matches("[[case]]").count() >= 2, "{name}");
        assert!(dir.join("README.md").is_file(), "{name}");
        assert!(book.contains(&format!("| `{name}` |")), "{name} is not in docs/src/guards.md");
        assert!(page.contains(&format!("[`{name}`]({name}/README.md)")), "{name} is not in guards/README.md");
    }
}
