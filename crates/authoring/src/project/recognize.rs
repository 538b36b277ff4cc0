//! Recognizing a project by its files.

use std::io;
use std::path::{Path, PathBuf};

use hookbox::rules;
use hookbox_system::files::FileAccess;
use serde::Deserialize;

use super::error::BuildError;
use super::language::Language;

/// The largest file with the name of a project, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A directory with the project of one hook.
#[derive(Debug)]
pub struct Project {
    pub(super) dir: PathBuf,
    pub(super) language: Language,
    pub(super) name: String,
}

impl Project {
    /// Recognizes the project in a directory: by `Cargo.toml`, `hook.py`, `package.json`, the one rules file, or the
    /// one executable file.
    ///
    /// # Errors
    ///
    /// The directory has none of them, or several; or the name of the project cannot be read.
    pub fn open(dir: &Path) -> Result<Self, BuildError> {
        let fail = |source| BuildError::File { path: dir.to_owned(), source };
        let dir = dir.canonicalize().map_err(fail)?;
        let access = FileAccess::repository(&dir).map_err(fail)?;
        let project = |language, name| Ok(Self { dir: dir.clone(), language, name });
        let known = [
            ("Cargo.toml", Language::Rust),
            ("hook.py", Language::Python),
            ("package.json", Language::TypeScript),
        ];
        let found: Vec<_> = known.into_iter().filter(|(file, _)| dir.join(file).is_file()).collect();
        match found.as_slice() {
            [] => {
                let (language, name) = plain(&dir, &access)?;
                project(language, name)
            }
            [(_, language)] => project(*language, name(&dir, &access, *language)?),
            several => Err(BuildError::Unknown {
                found: several.iter().map(|(file, _)| *file).collect::<Vec<_>>().join(" and "),
                dir: dir.clone(),
            }),
        }
    }

    /// Returns the name, which is also that of the result.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the language.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Returns the path of the finished hook.
    pub fn output(&self) -> PathBuf {
        match self.language {
            Language::Script => self.dir.join(&self.name),
            Language::Rules => self.dir.join(format!("{}{}", self.name, rules::ENDING)),
            _ => self.dir.join(format!("{}.wasm", self.name)),
        }
    }
}

/// The part of a project's own file that has its name.
#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct CargoToml {
    package: Named,
}

#[derive(Deserialize)]
struct PyprojectToml {
    project: Named,
}

/// Reads the name of the project.
fn name(dir: &Path, access: &FileAccess, language: Language) -> Result<String, BuildError> {
    let (file, field) = match language {
        Language::Rust => ("Cargo.toml", "the name of a package, `package.name`"),
        Language::Python => ("pyproject.toml", "the name of the project, `project.name`"),
        _ => ("package.json", "the name of the package, `name`"),
    };
    let path = dir.join(file);
    let bytes =
        access.read(&path, MAX_FILE).map_err(|source| BuildError::File { path: path.clone(), source })?;
    let text = String::from_utf8_lossy(&bytes);
    let named = match language {
        Language::Rust => toml::from_str(&text).map(|it: CargoToml| it.package.name).ok(),
        Language::Python => toml::from_str(&text).map(|it: PyprojectToml| it.project.name).ok(),
        _ => serde_json::from_str(&text).map(|it: Named| it.name).ok(),
    };
    // The name becomes that of a file. An npm package may have a scope before its name.
    let name = named.map(|it| it.rsplit('/').next().unwrap_or_default().to_owned());
    let is_plain = |name: &String| {
        let is_letter = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
        !name.is_empty() && name.len() <= 64 && !name.starts_with('.') && name.chars().all(is_letter)
    };
    name.filter(is_plain).ok_or_else(|| BuildError::Invalid { path, expected: field.to_owned() })
}

/// Returns the language and the name of the one hook that needs no build: a rules file or a script.
fn plain(dir: &Path, access: &FileAccess) -> Result<(Language, String), BuildError> {
    use std::os::unix::fs::PermissionsExt as _;

    let unknown = |found: &str| BuildError::Unknown { dir: dir.to_owned(), found: found.to_owned() };
    let names =
        access.names(dir).map_err(|source: io::Error| BuildError::File { path: dir.to_owned(), source })?.0;
    let (mut rules, mut scripts) = (Vec::new(), Vec::new());
    for name in names.into_iter().filter_map(|it| it.into_string().ok()) {
        let Ok(metadata) = dir.join(&name).symlink_metadata() else { continue };
        if !metadata.is_file() {
            continue;
        }
        if let Some(stem) = name.strip_suffix(rules::ENDING) {
            rules.push(stem.to_owned());
        } else if metadata.permissions().mode() & 0o111 != 0 {
            scripts.push(name);
        }
    }
    match (rules.as_slice(), scripts.as_slice()) {
        ([name], []) => Ok((Language::Rules, name.clone())),
        ([], [name]) => Ok((Language::Script, name.clone())),
        ([], []) => {
            Err(unknown("none of Cargo.toml, hook.py, package.json, a .rules.toml and an executable file"))
        }
        ([], _) => Err(unknown("several executable files")),
        (_, []) => Err(unknown("several rules files")),
        _ => Err(unknown("a rules file and an executable file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_project_is_known_by_its_files() {
        let package = "[package]\nname = \"a-b\"\n";
        for (files, want) in [
            (&[("Cargo.toml", package)][..], "rust a-b.wasm"),
            (&[("hook.py", ""), ("pyproject.toml", "[project]\nname = \"p\"\n")], "python p.wasm"),
            (&[("package.json", "{\"name\": \"@org/t\"}")], "typescript t.wasm"),
            (&[("package.json", "{\"name\": \"../t/..\"}")], "expected the name of the package, `name`"),
            (&[("package.json", "{}")], "expected the name of the package, `name`"),
            (&[("Cargo.toml", "[workspace]\n")], "expected the name of a package, `package.name`"),
            (&[("hook.py", "")], "pyproject.toml"),
            (&[("Cargo.toml", package), ("hook.py", "")], "found Cargo.toml and hook.py"),
            (&[("a.rules.toml", ""), ("README.md", "")], "rules a.rules.toml"),
            (&[("a.rules.toml", ""), ("b.rules.toml", "")], "found several rules files"),
            (
                &[("README.md", "")],
                "found none of Cargo.toml, hook.py, package.json, a .rules.toml and an executable file",
            ),
        ] {
            let dir = tempfile::tempdir().unwrap();
            for (name, text) in files {
                fs::write(dir.path().join(name), text).unwrap();
            }
            let found = match Project::open(dir.path()) {
                Ok(project) => {
                    let output = project.output();
                    format!("{} {}", project.language(), output.file_name().unwrap().to_str().unwrap())
                }
                Err(error) => error.to_string(),
            };
            assert!(found.ends_with(want), "{files:?}: {found}");
        }
    }
}
