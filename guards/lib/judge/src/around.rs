//! The state of the disk around a line, as far as a guard may know it.
//!
//! Every answer may be absent, and a rule takes that as work that would be lost.

use hookbox_sdk::work_tree::{self, PathState, Tree};
use hookbox_shell::{Arg, Mode, Run, Sort, is_in, join_path};

use crate::{Preset, Scene};

/// The answers about the disk. Paths are absolute. Without an answer, anything may be there.
pub trait Surroundings {
    /// Returns the work tree of git that a directory belongs to.
    fn tree(&self, _directory: &str) -> Option<Tree> {
        None
    }

    /// Returns true if each commit of a reference is at a remote, as far as this machine knows.
    fn is_pushed(&self, _directory: &str, _reference: &str) -> Option<bool> {
        None
    }

    /// Returns the state of a path.
    fn path(&self, _path: &str) -> Option<PathState> {
        None
    }

    /// Returns true if the agent made the file or directory in this session.
    fn is_made(&self, _path: &str) -> bool {
        false
    }

    /// Returns true if the agent moved or linked other work to this path, below it or around it in this session.
    fn is_brought(&self, _path: &str) -> bool {
        false
    }
}

/// Surroundings that nobody knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unknown;

impl Surroundings for Unknown {}

/// Surroundings in which anything may have happened before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doubtful;

impl Surroundings for Doubtful {
    fn is_brought(&self, _: &str) -> bool {
        true
    }
}

/// Surroundings that hookbox tells to a component with the right `work-tree`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told;

impl Surroundings for Told {
    fn tree(&self, directory: &str) -> Option<Tree> {
        work_tree::tree(directory)
    }

    fn is_pushed(&self, directory: &str, reference: &str) -> Option<bool> {
        work_tree::is_pushed(directory, reference)
    }

    fn path(&self, path: &str) -> Option<PathState> {
        work_tree::path(path)
    }
}

/// Programs that change no file, by their names. Shells have some of them.
const READERS: &str = "cd pushd popd echo printf pwd ls cat head tail wc true : test [ [[ date which type rg grep sleep stat du";

/// Subcommands of git that change neither files nor references of this repository, whatever their options.
const GIT_READERS: &str = "status diff log show rev-parse ls-files ls-tree rev-list merge-base describe cat-file blame \
    shortlog ls-remote for-each-ref";

/// Words with which a line runs a command more than once, or later than its place.
const REPEATS: &str = "while until for select xargs parallel watch function trap";

impl Scene<'_> {
    /// Returns true if the state of the disk may excuse a command: the preset wants that, the command runs on this
    /// machine, and the commands before it leave the state as it is now. Those for which `also` is true do.
    pub fn is_excusable(&self, also: impl Fn(&Run) -> bool) -> bool {
        let keeps = |run: &Run| !writes(run) && (is_reader(run) || also(run));
        let is_odd = || {
            let mut words = self.line.split(|it: char| !it.is_alphanumeric());
            words.any(|it| is_in(REPEATS, it)) || self.line.contains("()")
        };
        self.preset != Preset::Strict
            && self.run.place == hookbox_shell::Place::Here
            && self.reading.unread.is_empty()
            && self.cwd.starts_with('/')
            && self.before().iter().all(keeps)
            && !self.is_redirected()
            && (!is_odd() || self.reading.runs.iter().all(keeps))
    }

    /// Returns true if a variable may name another repository than that of the directory.
    pub fn is_redirected(&self) -> bool {
        let mut set = self.run.assignments.iter();
        self.line.contains("GIT_") || set.any(|(name, _)| name.starts_with("GIT_"))
    }

    /// Returns the absolute paths that an argument may mean, one for each directory in which the command may run; none if
    /// one of them is not known.
    pub fn absolute(&self, arg: &Arg) -> Vec<String> {
        let Some(directory) = self.run.directory.as_deref().filter(|_| arg.is_plain()) else { return vec![] };
        let of = |directory: &str| {
            let path = join_path(&join_path(self.cwd, directory), &arg.text);
            (path.starts_with('/') && !path.contains(['$', '`', '~'])).then_some(path)
        };
        let elsewhere = self.run.elsewhere.iter().map(String::as_str);
        [directory].into_iter().chain(elsewhere).map(of).collect::<Option<_>>().unwrap_or_default()
    }
}

/// Returns true if a command changes neither files nor references, apart from its redirections.
fn is_reader(run: &Run) -> bool {
    let Some(program) = run.program() else { return run.words.is_empty() };
    let args = run.args();
    let text = |at: usize| args.get(at).filter(|it| it.is_plain()).map(|it| it.text.as_str());
    match program {
        "git" => match text(0) {
            Some(sub) if is_in(GIT_READERS, sub) => !args.iter().any(|it| it.text.starts_with("--output")),
            Some("branch") => args.iter().skip(1).all(|it| {
                matches!(it.text.as_str(), "--show-current" | "--list" | "-a" | "-r" | "-v" | "-vv")
            }),
            // A reference with a `:` may move a branch of this repository.
            Some("fetch") => args.iter().all(|it| it.is_plain() && !it.text.contains([':', '+'])),
            Some("worktree" | "stash") => text(1) == Some("list"),
            _ => false,
        },
        _ => is_in(READERS, program),
    }
}

/// Returns true if a redirection may write to a file.
fn writes(run: &Run) -> bool {
    run.redirections.iter().any(|it| {
        let is_null = it.target.sort == Sort::Plain && it.target.text == "/dev/null";
        matches!(it.mode, Mode::Write | Mode::Append | Mode::Both) && !is_null
    })
}

#[cfg(test)]
mod tests {
    use hookbox_shell::{Known, runs};

    use super::*;

    fn is_excusable(line: &str, preset: Preset) -> bool {
        let reading = runs(line, &Known { cwd: Some("/p"), ..Known::default() });
        let at = reading.runs.iter().position(|it| it.program() == Some("x")).unwrap();
        let run = reading.runs.get(at).unwrap();
        Scene { reading: &reading, run, at, cwd: "/p", preset, line, around: &Unknown }
            .is_excusable(|_| false)
    }

    #[test]
    fn the_state_excuses_a_command_only_if_the_line_has_not_changed_it() {
        for (line, expected) in [
            ("x", true),
            ("cd a && x", true),
            ("git fetch origin && git status --short 2>/dev/null; x", true),
            ("x --force && make", true),
            ("make && x", false),
            ("git stash pop; x", false),
            ("git fetch origin main:main && x", false),
            ("git -c a=b status && x", false),
            ("git diff --output=a && x", false),
            ("echo a > b; x", false),
            ("$Y; x", false),
            ("GIT_DIR=y x", false),
            ("env G\\IT_DIR=y x", false),
            ("export GIT_DIR=y; x", false),
            ("while :; do x; git stash pop; done", false),
            ("for i in a b; do x; make; done", false),
            ("ssh host x", false),
            ("f() { x; make; }; f", false),
        ] {
            assert_eq!(is_excusable(line, Preset::Standard), expected, "{line}");
        }
        assert!(is_excusable("x", Preset::Relaxed));
        assert!(!is_excusable("x", Preset::Strict));
    }

    #[test]
    fn a_path_is_known_in_each_directory_in_which_the_command_may_run() {
        for (line, expected) in [
            ("x a", vec!["/p/a"]),
            ("cd b && x ../a/.", vec!["/p/a"]),
            ("cd /b; x a", vec!["/b/a", "/p/a"]),
            ("x /a", vec!["/a"]),
            ("x $Y", vec![]),
            ("x ~/a", vec![]),
            ("cd $Y && x a", vec![]),
        ] {
            let reading = runs(line, &Known { cwd: Some("/p"), ..Known::default() });
            let at = reading.runs.len() - 1;
            let run = &reading.runs[at];
            let scene = Scene {
                reading: &reading,
                run,
                at,
                cwd: "/p",
                preset: Preset::Standard,
                line,
                around: &Unknown,
            };
            assert_eq!(scene.absolute(&run.args()[0]), expected, "{line}");
        }
    }
}
