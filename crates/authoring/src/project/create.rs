//! Writing a new project. The program carries the files, so that a project needs nothing that is not published.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use hookbox::EventName;
use include_dir::{Dir, include_dir};

use super::error::CreateError;
use super::recognize::{Language, Name};

/// Writes a new project into the directory `parent/NAME`, which may exist if it is empty. The project appears as a
/// whole: it is written beside that place, and then renamed.
///
/// # Errors
///
/// The place is taken, or it cannot be written.
pub fn create(
    parent: &Path,
    name: &Name,
    language: Language,
    event: &EventName,
) -> Result<PathBuf, CreateError> {
    let to = parent.join(name.as_str());
    let fail = |source| CreateError::Write { path: to.clone(), source };
    if let Ok(there) = to.symlink_metadata() {
        let found = if !there.is_dir() {
            "a file"
        } else if fs::read_dir(&to).map_err(fail)?.next().is_some() {
            "a directory that is not empty"
        } else {
            ""
        };
        if !found.is_empty() {
            return Err(CreateError::Exists { path: to, found });
        }
    }
    let temporary = tempfile::Builder::new()
        .prefix(&format!(".{name}-"))
        .permissions(fs::Permissions::from_mode(0o777))
        .tempdir_in(parent)
        .map_err(fail)?;
    for file in files(name, language, event) {
        write(temporary.path(), &file).map_err(fail)?;
    }
    // This fails if the place has been taken meanwhile: only an empty directory is replaced.
    fs::rename(temporary.path(), &to).map_err(fail)?;
    // Nothing is left to remove.
    drop(temporary.keep());
    Ok(to)
}

fn write(base: &Path, file: &NewFile) -> io::Result<()> {
    let path = base.join(&file.path);
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mode = if file.is_executable { 0o777 } else { 0o666 };
    let mut new = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    new.write_all(&file.content)
}

static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates");

// Links to directories of the repository, which a package of this crate contains as files.
static WIT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/carried/wit");
static CALLS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/carried/calls");
static SHELL: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/carried/shell");
static SDK: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/carried/sdk");
static REDACT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/carried/redact");
static PYTHON: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/carried/python");
static TYPESCRIPT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/carried/typescript");

/// The end of the name of a template. It is removed, and keeps tools from taking a template for a file of theirs.
const TEMPLATE: &str = ".in";

/// The name of the sample guard, whose sources are the templates of a guard.
const SAMPLE: &str = "no-force-push";

/// One file of a new project.
pub(super) struct NewFile {
    /// The path below the project's directory.
    pub(super) path: PathBuf,
    pub(super) content: Vec<u8>,
    pub(super) is_executable: bool,
}

/// Returns the files of a new project.
pub(super) fn files(name: &Name, language: Language, event: &EventName) -> Vec<NewFile> {
    let values = values(name, language, event);
    let kind = if *event == EventName::BeforeToolCall { "guard" } else { "observer" };
    let of_language = language.as_str();
    let mut files = Vec::new();
    for dir in [format!("{of_language}/common"), format!("{of_language}/{kind}"), format!("cases/{kind}")] {
        let Some(dir) = TEMPLATES.get_dir(&dir) else { continue };
        each(dir, dir.path(), &mut |path, content| files.push(fill(path, content, name, &values)));
    }
    for (dir, to) in carried(language) {
        each(dir, Path::new(""), &mut |path, content| {
            files.push(NewFile {
                path: Path::new(to).join(path),
                content: content.to_owned(),
                is_executable: false,
            });
        });
    }
    files
}

/// Returns the directories that a project of a language contains, with their places in it.
fn carried(language: Language) -> Vec<(&'static Dir<'static>, &'static str)> {
    match language {
        Language::Rust => vec![
            (&SDK, "vendor/hookbox-sdk/src"),
            (&WIT, "vendor/hookbox-sdk/wit"),
            (&REDACT, "vendor/hookbox-redact/src"),
            (&CALLS, "vendor/hookbox-calls/src"),
            (&SHELL, "vendor/hookbox-shell/src"),
        ],
        Language::Python => vec![(&PYTHON, "vendor/hookbox_sdk"), (&WIT, "vendor/wit")],
        Language::TypeScript => vec![(&TYPESCRIPT, "vendor/hookbox-sdk"), (&WIT, "vendor/wit")],
        Language::Rules | Language::Script => Vec::new(),
    }
}

/// Calls `found` with every file below a directory, by its path below `base`.
fn each<'a>(dir: &'a Dir<'a>, base: &Path, found: &mut dyn FnMut(&'a Path, &'a [u8])) {
    for file in dir.files() {
        // A tool of the developer of hookbox may have left others, such as compiled Python.
        let is_text = file.path().extension().is_none_or(|extension| extension != "pyc");
        if let (Ok(path), true) = (file.path().strip_prefix(base), is_text) {
            found(path, file.contents());
        }
    }
    dir.dirs().for_each(|dir| each(dir, base, found));
}

/// Returns the placeholders and their values.
fn values(name: &Name, language: Language, event: &EventName) -> Vec<(&'static str, String)> {
    let is_guard = *event == EventName::BeforeToolCall;
    let does = match (is_guard, language) {
        (true, _) => "Blocks a forced push, and suggests --force-with-lease.".to_owned(),
        (false, Language::Rules) => format!("Warns at {event}."),
        (false, _) => format!("Logs {event}."),
    };
    let attempt = if is_guard { "hookbox explain 'git push --force'" } else { "hookbox list" };
    vec![
        ("{{name}}", name.to_string()),
        ("{{event}}", event.to_string()),
        ("{{Event}}", camel_case(event)),
        ("{{Data}}", data(event)),
        ("{{description}}", does),
        ("{{try}}", attempt.to_owned()),
        ("{{version}}", env!("CARGO_PKG_VERSION").to_owned()),
        ("{{book}}", concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/src").to_owned()),
    ]
}

/// Returns the name of the type of an event's data in the SDKs.
fn data(event: &EventName) -> String {
    match event {
        EventName::UserMessageSend => "UserMessage".to_owned(),
        EventName::BeforeToolCall => "ToolCall".to_owned(),
        EventName::AfterToolCall => "ToolResult".to_owned(),
        EventName::OnError => "ErrorEvent".to_owned(),
        EventName::OnBudgetExceeded => "BudgetExceeded".to_owned(),
        other => camel_case(other),
    }
}

/// Returns the name of an event with a capital letter for each word.
fn camel_case(event: &EventName) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|it| it.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    event.as_str().split('_').map(capital).collect()
}

/// Makes a file of a template.
fn fill(path: &Path, content: &[u8], name: &Name, values: &[(&str, String)]) -> NewFile {
    let path = path.to_string_lossy();
    let path = path.strip_suffix(TEMPLATE).unwrap_or(&path);
    let is_executable = path == "script";
    let path = match path {
        "gitignore" => ".gitignore".to_owned(),
        "script" => name.to_string(),
        "rules" => format!("{name}.rules.toml"),
        other => other.replace(SAMPLE, name.as_str()),
    };
    // First, because the name of the project may have that of the sample in it.
    let mut text = String::from_utf8_lossy(content).replace(SAMPLE, name.as_str());
    for (placeholder, value) in values {
        text = text.replace(placeholder, value);
    }
    NewFile { path: PathBuf::from(path), content: text.into_bytes(), is_executable }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_project_appears_as_a_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let name: Name = "guard".parse().unwrap();
        let new = || create(dir.path(), &name, Language::Script, &EventName::BeforeToolCall);
        let to = new().unwrap();
        assert_eq!(entries(&to), [".gitignore", "README.md", "cases", "guard"]);
        let mode = to.join("guard").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o100, 0o100, "{mode:o}");
        assert_eq!(
            new().unwrap_err().to_string().rsplit(", found ").next(),
            Some("a directory that is not empty")
        );

        fs::remove_dir_all(&to).unwrap();
        fs::write(&to, "mine").unwrap();
        assert!(matches!(new(), Err(CreateError::Exists { found: "a file", .. })));
        assert_eq!(fs::read_to_string(&to).unwrap(), "mine");
        fs::remove_file(&to).unwrap();
        std::os::unix::fs::symlink("elsewhere", &to).unwrap();
        assert!(matches!(new(), Err(CreateError::Exists { .. })));
        assert_eq!(entries(dir.path()), ["guard"]);

        fs::remove_file(&to).unwrap();
        fs::create_dir(&to).unwrap();
        new().unwrap();
        assert_eq!(entries(dir.path()), ["guard"]);
    }

    #[test]
    fn a_project_has_its_own_name_and_not_that_of_the_sample() {
        for language in Language::ALL {
            for name in ["x", "guard", "hook", "no-force-push", "my-no-force-push-2"] {
                let name: Name = name.parse().unwrap();
                let mut texts = String::new();
                for file in files(&name, language, &EventName::BeforeToolCall) {
                    let path = file.path.to_string_lossy().into_owned();
                    if !path.starts_with("vendor/") {
                        texts += &format!("{path}\n{}\n", String::from_utf8(file.content).unwrap());
                    }
                }
                let own = texts.matches(name.as_str()).count();
                let of_sample = texts.matches(SAMPLE).count();
                assert!(own >= 3, "{language} {name}: {texts}");
                assert_eq!(
                    of_sample,
                    if name.as_str().contains(SAMPLE) { own } else { 0 },
                    "{language} {name}"
                );
            }
        }
    }

    #[test]
    fn every_language_and_event_has_files_without_placeholders() {
        let name: Name = "my-hook".parse().unwrap();
        for language in Language::ALL {
            for event in EventName::ALL {
                let files = files(&name, language, &event);
                let has = |path: &str| files.iter().any(|it| it.path == Path::new(path));
                for path in ["README.md", ".gitignore", "cases/first.toml"] {
                    assert!(has(path), "{language} {event} {path}");
                }
                for file in files {
                    let text = String::from_utf8(file.content).unwrap();
                    let (language, path) = (language.as_str(), file.path.display());
                    assert!(
                        !text.contains("{{") || path.to_string().ends_with(".rs"),
                        "{language} {event} {path}"
                    );
                    assert!(!path.to_string().contains(TEMPLATE), "{language} {event} {path}");
                    let readme = path.to_string() == "README.md";
                    assert!(!readme || text.lines().count() <= 16, "{language} {event}\n{text}");
                }
            }
        }
    }
}
