//! `docs/src/hooks.md`: each command of the page runs, in the order of the page, and prints what the page shows.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use hookbox::manager::DEFAULT_ROOTS;

use super::page;
use crate::environment::{Output, TestEnvironment, language_tools, program, repository};
use crate::projects::with_rust;

/// The section that follows that of a component.
const IN_PLACE: &str = "## Put it in place";

/// A part of the page that a reader follows.
enum Step {
    /// A command, and the lines that it prints.
    Command(String, Vec<String>),
    /// The code of a file: all of it if the reader has to save it in the home directory, else a part of the project.
    Code { file: String, text: String, is_whole: bool },
}

/// Returns the steps of a section: the text below a heading, up to the next one.
fn steps(page: &str, heading: &str) -> Vec<Step> {
    let section = page.split(&format!("\n{heading}\n")).nth(1).unwrap_or_else(|| panic!("no {heading}"));
    let (mut steps, mut said) = (Vec::new(), "");
    let mut lines = section.lines().take_while(|line| !line.starts_with("##"));
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            said = if line.is_empty() { said } else { line };
            continue;
        };
        let code: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if language != "console" {
            let file = said.rsplit('`').nth(1).unwrap_or_else(|| panic!("a file: {said}")).to_owned();
            steps.push(Step::Code { is_whole: file.starts_with('~'), file, text: code.join("\n") });
            continue;
        }
        for line in code {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step::Command(command.to_owned(), Vec::new())),
                (None, Some(Step::Command(_, printed))) => printed.push(line.to_owned()),
                (None, _) => panic!("{heading}: expected a command, found {line}"),
            }
        }
    }
    assert!(steps.len() > 1, "{heading} has no steps");
    steps
}

/// A reader in a directory of the place.
struct Reader<'e> {
    env: &'e TestEnvironment,
    dir: PathBuf,
}

impl<'e> Reader<'e> {
    /// Puts a program `hookbox` on the PATH. If the user who runs the tests has hooks, it gets the home directory of the
    /// test, because the program would report those hooks as hidden.
    fn new(env: &'e TestEnvironment) -> Self {
        let own = std::env::home_dir().unwrap_or_default();
        let has_hooks = DEFAULT_ROOTS.iter().any(|root| own.join(root).exists());
        let home =
            if has_hooks { format!(" --home '{}'", env.path("home").display()) } else { String::new() };
        let program = program();
        env.script(
            "bin/hookbox",
            &format!(
                "#!/bin/sh\ncase \"$1\" in\nexplain) exec '{0}' \"$@\"{home} ;;\n*) exec '{0}' \"$@\" ;;\nesac\n",
                program.display()
            ),
        );
        Self { env, dir: env.path("repo") }
    }

    /// Follows the steps of sections. `prepare` runs after each command.
    fn follow(mut self, headings: &[&str], prepare: impl Fn(&str, &Path)) {
        let page = page("hooks.md");
        for step in headings.iter().flat_map(|heading| steps(&page, heading)) {
            match step {
                Step::Command(command, printed) => {
                    if let Some(dir) = command.strip_prefix("cd ") {
                        self.dir.push(dir);
                    } else {
                        self.run(&command, &printed);
                    }
                    prepare(&command, &self.dir);
                }
                Step::Code { file, text, is_whole: true } => {
                    let path = file.replace('~', self.env.path("home").to_str().unwrap());
                    fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
                    fs::write(&path, text + "\n").unwrap();
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
                }
                Step::Code { file, text, is_whole: false } => {
                    let found = fs::read_to_string(self.dir.join(&file)).unwrap();
                    assert!(found.contains(&text), "{file} has not what the page shows:\n{text}\n{found}");
                }
            }
        }
    }

    fn run(&self, line: &str, printed: &[String]) {
        let mut command = self.env.command("/bin/sh");
        let output = self.env.run(command.current_dir(&self.dir).args(["-c", line]), "");
        assert_eq!(output.code, Some(0), "{line}: {output:#?}");
        // What other tools print is theirs.
        if line.starts_with("hookbox ") {
            assert_prints(line, &output, printed);
        }
    }
}

/// Checks the output: a line `...` stands for any lines, a hint is on standard error.
#[track_caller]
fn assert_prints(line: &str, output: &Output, printed: &[String]) {
    let (hints, printed): (Vec<&str>, Vec<&str>) =
        printed.iter().map(String::as_str).partition(|it| it.starts_with("hint: "));
    for hint in hints {
        assert!(output.stderr.lines().any(|it| it == hint), "{line}: {hint}: {output:#?}");
    }
    let mut left: Vec<&str> = output.stdout.lines().collect();
    let mut is_open = false;
    for wanted in &printed {
        if *wanted == "..." {
            is_open = true;
            continue;
        }
        let at = left.iter().position(|it| is_same(wanted, it));
        let Some(at) = at.filter(|at| is_open || *at == 0) else {
            panic!("{line}: expected {wanted:?} in {left:#?}\n{output:#?}")
        };
        left.drain(..=at);
        is_open = false;
    }
    assert!(is_open || left.is_empty(), "{line}: more than the page has: {left:#?}");
}

/// Compares two lines. The size of a component differs between versions of a compiler.
fn is_same(wanted: &str, found: &str) -> bool {
    let is_size = |line: &str| line.starts_with("size ") && line.ends_with(" bytes");
    wanted == found || (is_size(wanted) && is_size(found))
}

#[test]
fn the_rules_of_the_page_guard() {
    let env = TestEnvironment::new();
    Reader::new(&env).follow(&["### Rules"], |_, _| {});
}

#[test]
fn the_script_of_the_page_guards() {
    let env = TestEnvironment::new();
    Reader::new(&env).follow(&["## A script"], |_, _| {});
}

/// Returns the PATH of this test behind the directory of the program.
fn path(env: &TestEnvironment) -> String {
    format!("{}:{}", env.path("bin").display(), std::env::var("PATH").unwrap())
}

#[test]
fn the_rust_project_of_the_page_guards() {
    let env = with_rust();
    let path = path(&env);
    let env = env.variable("PATH", &path);
    Reader::new(&env).follow(&["### Rust", IN_PLACE], |command, dir| {
        if command.starts_with("hookbox new") {
            // The versions that the samples are built with are on this machine.
            let lock = repository().join("sample-hooks/Cargo.lock");
            fs::copy(lock, dir.join("push-guard/Cargo.lock")).unwrap();
        }
    });
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn the_python_project_of_the_page_guards() {
    let wheels = language_tools("wheels");
    let env = TestEnvironment::new();
    let path = path(&env);
    // The page's own commands, without the network.
    let env = env
        .variable("PATH", &path)
        .variable("PIP_NO_INDEX", "1")
        .variable("PIP_FIND_LINKS", wheels.to_str().unwrap())
        .variable("PIP_DISABLE_PIP_VERSION_CHECK", "1");
    Reader::new(&env).follow(&["### Python", IN_PLACE], |_, _| {});
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn the_typescript_project_of_the_page_guards() {
    let cache = language_tools("npm-cache");
    let env = TestEnvironment::new();
    let path = path(&env);
    let env = env
        .variable("PATH", &path)
        .variable("npm_config_offline", "true")
        .variable("npm_config_cache", cache.to_str().unwrap())
        .variable("npm_config_update_notifier", "false");
    Reader::new(&env).follow(&["### TypeScript", IN_PLACE], |_, _| {});
}
