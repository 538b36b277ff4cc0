//! Files whose contents run later: hooks of git, start files of shells, sources of packages, CI.

use hookbox_shell::{Reading, Run, base_name, is_in, join_path};

use hookbox_sdk::{File, FileUse};

use crate::net::{sources, texts};
use crate::{Finding, Preset, Step};

/// Start files of shells.
const START: &str = ".bashrc .zshrc .profile .bash_profile .zprofile .zshenv .bash_login config.fish .npmrc";

const HOOK: Finding = Finding {
    rule: "runs-later",
    from: Preset::Standard,
    what: "This writes a file that other programs run later, without a question.",
    safer: "ls -la .git/hooks",
    step: Step::Look,
};

const CI: Finding = Finding {
    rule: "ci",
    from: Preset::Strict,
    what: "This writes a file of CI, which runs with the secrets of the project.",
    safer: "git diff --stat",
    step: Step::Look,
};

/// Judges a file that a tool uses.
pub(crate) fn of_file(file: &File) -> Option<Finding> {
    let runs = is_in(START, base_name(&file.path)) && file.text.as_deref().is_some_and(downloads);
    let found = if runs { Some(HOOK) } else { of_path(&file.path) };
    found.filter(|_| file.usage == FileUse::Writes)
}

/// Judges a file that is written.
fn of_path(path: &str) -> Option<Finding> {
    let has = |part: &str| path.contains(&format!("/{part}")) || path.starts_with(part);
    if has(".git/hooks/") || has(".husky/") || path.ends_with("/.ssh/authorized_keys") || has("etc/apt/") {
        return Some(HOOK);
    }
    let is_ci = has(".github/workflows/") || has(".circleci/") || has(".buildkite/");
    (is_ci || matches!(base_name(path), ".gitlab-ci.yml" | "Jenkinsfile" | "azure-pipelines.yml"))
        .then_some(CI)
}

/// Judges a command of a line.
pub(crate) fn judge(reading: &Reading, run: &Run) -> Option<Finding> {
    let texts = run.texts();
    let program = run.program().unwrap_or_default();
    let args = texts.get(1..).unwrap_or_default();
    if program == "crontab" && args.first() == Some(&"-") && feeds(reading, run).any(downloads) {
        return Some(HOOK);
    }
    // `wget -P DIRECTORY`
    let directory = args.iter().enumerate().find_map(|(at, it)| match *it {
        "-P" | "--directory-prefix" | "--output-dir" => args.get(at + 1).copied(),
        _ => it.strip_prefix("--directory-prefix=").or_else(|| it.strip_prefix("--output-dir=")),
    });
    let directory = directory.filter(|_| fetches(run)).unwrap_or_default();
    let place = join_path(run.directory.as_deref().unwrap_or("."), directory);
    let targets: Vec<String> = run.writes().map(|it| join_path(&place, it)).collect();
    let starts = targets.iter().any(|it| is_in(START, base_name(it)));
    if starts
        && (sources(reading, run).into_iter().chain([run]).any(fetches) || feeds(reading, run).any(downloads))
    {
        return Some(HOOK);
    }
    // A copy into the directory of the hooks.
    let copies = matches!(program, "cp" | "mv" | "ln" | "install" | "rsync");
    let is_copied = |it: &String| copies && it.ends_with(".git/hooks");
    if targets.iter().any(is_copied) {
        return Some(HOOK);
    }
    targets.iter().find_map(|it| of_path(it))
}

fn fetches(run: &Run) -> bool {
    matches!(run.program(), Some("curl" | "wget"))
}

/// Returns the texts of a command and of those that feed it.
fn feeds<'a>(reading: &'a Reading, run: &'a Run) -> impl Iterator<Item = &'a str> {
    sources(reading, run).into_iter().chain([run]).flat_map(texts)
}

/// Returns true if a text downloads and runs code, or names a registry.
fn downloads(text: &str) -> bool {
    let pipes = text.contains('|') || text.contains("$(") || text.contains("<(");
    pipes && (text.contains("curl") || text.contains("wget")) || text.contains("registry=http://")
}
