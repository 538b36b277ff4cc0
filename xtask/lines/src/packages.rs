//! The packages of the repository, and the numbers of each crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::DocumentMut;

use crate::modules::{Modules, internal_names};
use crate::source;

/// The row of the integration tests. They count only where they use `hookbox::internal`.
pub(crate) const TESTS: &str = "tests";

/// The row of all crates together.
pub(crate) const ALL: &str = "all";

/// A thing that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Lines,
    Internal,
    Constants,
    Circles,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Lines, Self::Internal, Self::Constants, Self::Circles];

    /// The name of its table in `ceilings.toml`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Internal => "internal",
            Self::Constants => "constants",
            Self::Circles => "circles",
        }
    }

    /// Returns the number with its noun.
    pub(crate) fn count(self, number: usize) -> String {
        let (noun, rest) = match self {
            Self::Lines => ("line", ""),
            Self::Internal => ("name", " of hookbox::internal"),
            Self::Constants => ("numeric constant", ""),
            Self::Circles => ("circle", " of modules"),
        };
        format!("{} {noun}{}{rest}", grouped(number), if number == 1 { "" } else { "s" })
    }
}

/// Returns a number with a comma after each thousand.
pub(crate) fn grouped(number: usize) -> String {
    match (number / 1000, number % 1000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{},{rest:03}", grouped(thousands)),
    }
}

/// A number for each kind and row.
pub(crate) type Numbers = BTreeMap<(Kind, String), usize>;

/// The counts of a repository.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) numbers: Numbers,
    /// The modules of each circle, with its package.
    pub(crate) circles: Vec<(String, String)>,
}

/// Returns true for a row that users get.
pub(crate) fn is_product(row: &str) -> bool {
    ["host", "cli", "guest-sdk"].contains(&row) || row.contains('/')
}

/// Counts all crates of the repository.
pub(crate) fn count(root: &Path) -> Result<Counts, String> {
    let mut counts = Counts::default();
    let (mut seen, mut rows) = (BTreeSet::new(), BTreeMap::<String, BTreeSet<String>>::new());
    for package in packages(root)? {
        let row = row(&package);
        for file in roots(&root.join(&package))? {
            let modules = Modules::read(&file, row == TESTS)?;
            let places: Vec<_> = modules.places().collect();
            rows.entry(row.clone()).or_default().extend(internal_names(&places));
            if row == TESTS {
                continue;
            }
            for (path, (file, text)) in &modules.files {
                let path = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
                if seen.insert(path) {
                    counts.add(Kind::Lines, &row, source::lines(file, text));
                    counts.add(Kind::Constants, &row, source::constants(file));
                }
            }
            for circle in modules.circles() {
                counts.add(Kind::Circles, &row, 1);
                let names: Vec<String> = circle.iter().map(|it| it.join("::")).collect();
                counts.circles.push((package.display().to_string(), names.join(", ")));
            }
        }
    }
    let all: BTreeSet<String> = rows.values().flatten().cloned().collect();
    rows.insert(ALL.to_owned(), all);
    for (row, names) in rows {
        counts.add(Kind::Internal, &row, names.len());
    }
    Ok(counts)
}

impl Counts {
    fn add(&mut self, kind: Kind, row: &str, number: usize) {
        *self.numbers.entry((kind, row.to_owned())).or_default() += number;
    }
}

/// Returns the row of a package: its directory at the top level, or in `base/` or `crates/`.
fn row(package: &Path) -> String {
    let names: Vec<_> = package.iter().map(|it| it.to_string_lossy()).collect();
    let depth = if names.first().is_some_and(|it| it == "base" || it == "crates") { 2 } else { 1 };
    names.into_iter().take(depth).collect::<Vec<_>>().join("/")
}

/// Finds the directories with a package, by their paths in the repository.
fn packages(root: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let mut packages = BTreeSet::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(dir) = waiting.pop() {
        let fail = |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", dir.display());
        for entry in fs::read_dir(root.join(&dir)).map_err(|error| fail(&error))? {
            let entry = entry.map_err(|error| fail(&error))?;
            let name = entry.file_name();
            let is_made =
                name == "target" || name == "node_modules" || name.to_string_lossy().starts_with('.');
            if entry.file_type().is_ok_and(|it| it.is_dir()) && !is_made {
                waiting.push(dir.join(&name));
            } else if name == "Cargo.toml" && !dir.as_os_str().is_empty() {
                let text = fs::read_to_string(entry.path()).map_err(|error| fail(&error))?;
                if text.parse::<DocumentMut>().map_err(|error| fail(&error))?.contains_key("package") {
                    packages.insert(dir.clone());
                }
            }
        }
    }
    Ok(packages)
}

/// The files with which the library, the programs and the build script of a package begin.
fn roots(package: &Path) -> Result<Vec<PathBuf>, String> {
    let names = ["src/lib.rs", "src/main.rs", "build.rs"];
    let mut roots: Vec<PathBuf> = names.iter().map(|it| package.join(it)).filter(|it| it.is_file()).collect();
    let programs = package.join("src/bin");
    if programs.is_dir() {
        let entries = fs::read_dir(&programs).map_err(|error| format!("{}: {error}", programs.display()))?;
        let files = entries.flatten().map(|it| it.path());
        roots.extend(files.filter(|it| it.extension().is_some_and(|it| it == "rs")));
    }
    Ok(roots)
}
