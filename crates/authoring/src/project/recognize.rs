//! A project: its language and its name, and how its files tell them.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, io};

use hookbox::rules;
use hookbox_system::files::FileAccess;
use serde_json::Value;
use thiserror::Error;

use super::error::BuildError;
use hookbox_system::limits;

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

/// Reads the name of the project.
fn name(dir: &Path, access: &FileAccess, language: Language) -> Result<String, BuildError> {
    let (file, pointer, field) = match language {
        Language::Rust => ("Cargo.toml", "/package/name", "the name of a package, `package.name`"),
        Language::Python => ("pyproject.toml", "/project/name", "the name of the project, `project.name`"),
        _ => ("package.json", "/name", "the name of the package, `name`"),
    };
    let path = dir.join(file);
    let bytes =
        access.read(&path, limits::FILE).map_err(|source| BuildError::File { path: path.clone(), source })?;
    let text = String::from_utf8_lossy(&bytes);
    let document: Option<Value> = match language {
        Language::Rust | Language::Python => toml::from_str(&text).ok(),
        _ => serde_json::from_str(&text).ok(),
    };
    let named = document.as_ref().and_then(|it| it.pointer(pointer)?.as_str());
    // The name becomes that of a file. An npm package may have a scope before its name.
    let name = named.map(|it| it.rsplit('/').next().unwrap_or_default().to_owned());
    let is_plain = |name: &String| {
        let is_letter = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
        !name.is_empty() && name.len() <= MAX_NAME && !name.starts_with('.') && name.chars().all(is_letter)
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

/// The language of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A component, built by cargo.
    Rust,
    /// A component with a Python interpreter, built by componentize-py.
    Python,
    /// A component with a JavaScript interpreter, built by esbuild and componentize-qjs.
    TypeScript,
    /// Data without code: a rules file.
    Rules,
    /// An executable, outside of a sandbox.
    Script,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 5] = [Self::Rust, Self::Python, Self::TypeScript, Self::Rules, Self::Script];

    /// Returns the name, as `hookbox new --lang` reads it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::TypeScript => "typescript",
            Self::Rules => "rules",
            Self::Script => "script",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(text: &str) -> Result<Self, UnknownLanguage> {
        let name = match text {
            "js" | "ts" | "javascript" => "typescript",
            "py" => "python",
            "rs" => "rust",
            name => name,
        };
        Self::ALL.into_iter().find(|it| it.as_str() == name).ok_or(UnknownLanguage)
    }
}

/// The text is not the name of a language.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("expected a language: {}", Language::ALL.map(Language::as_str).join(", "))]
pub struct UnknownLanguage;

/// The longest name, in bytes: it is part of file names, of a crate's name and of an npm package's.
const MAX_NAME: usize = 64;

/// Words that cargo or a compiler does not accept as the name of a crate, or that the project's own SDK has.
const RESERVED: &str = "abstract alloc as async await become box break const continue core crate do dyn else enum \
    extern false final fn for gen hookbox-calls hookbox-redact hookbox-sdk hookbox-shell if impl in \
    let loop match mod move mut pub ref return self static std struct super test trait true type \
    unsafe use while";

/// The name of a project: lower-case letters, digits and single hyphens, with a letter first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
        };
        if text.len() > MAX_NAME {
            return Err(InvalidName::Long);
        }
        if !text.split('-').all(is_word) || text.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(InvalidName::Letters);
        }
        if RESERVED.split(' ').any(|word| word == text) {
            return Err(InvalidName::Reserved);
        }
        Ok(Self(text.to_owned()))
    }
}

/// The text is not the name of a project.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum InvalidName {
    /// A letter is not allowed.
    #[error(
        "expected lower-case letters, digits and single hyphens, with a letter first, such as no-force-push"
    )]
    Letters,
    /// It is too long.
    #[error("expected at most {MAX_NAME} letters")]
    Long,
    /// It means something else to a compiler.
    #[error("expected a name that is not a word of the language")]
    Reserved,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_language_has_short_names() {
        for (name, want) in [
            ("rs", Ok(Language::Rust)),
            ("py", Ok(Language::Python)),
            ("ts", Ok(Language::TypeScript)),
            ("js", Ok(Language::TypeScript)),
            ("typescript", Ok(Language::TypeScript)),
            ("perl", Err(UnknownLanguage)),
        ] {
            assert_eq!(name.parse(), want, "{name}");
        }
    }

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

    #[test]
    fn a_name_fits_a_file_a_crate_and_a_package() {
        for (text, want) in [
            ("no-force-push", Ok("no-force-push")),
            ("guard2", Ok("guard2")),
            ("a-1", Ok("a-1")),
            ("", Err(InvalidName::Letters)),
            ("No", Err(InvalidName::Letters)),
            ("a_b", Err(InvalidName::Letters)),
            ("-a", Err(InvalidName::Letters)),
            ("a--b", Err(InvalidName::Letters)),
            ("a-", Err(InvalidName::Letters)),
            ("2a", Err(InvalidName::Letters)),
            ("../a", Err(InvalidName::Letters)),
            ("a/b", Err(InvalidName::Letters)),
            ("ä", Err(InvalidName::Letters)),
            ("hookbox-shell", Err(InvalidName::Reserved)),
            ("fn", Err(InvalidName::Reserved)),
        ] {
            assert_eq!(text.parse::<Name>().as_ref().map(Name::as_str), want.as_ref().copied(), "{text}");
        }
        assert_eq!("a".repeat(65).parse::<Name>(), Err(InvalidName::Long));
    }
}
