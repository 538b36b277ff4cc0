//! Git repositories as sources, made by hand where git would not make them, and what is staged of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use hookbox_plugins::limits::Limits;
use hookbox_plugins::{GitUrl, Location, Observer, PluginError, Plugins, Resolved, Silent, Stage, fetch};

use crate::environment::TestEnvironment;

/// A bare repository.
pub(crate) struct Repository<'a> {
    env: &'a TestEnvironment,
    pub(crate) dir: PathBuf,
    clock: RefCell<u64>,
}

/// A file of a commit: its mode, its path, its bytes.
pub(crate) type File<'a> = (&'a str, &'a str, &'a str);

/// A plugin as a user would write it.
pub(crate) const PLUGIN: [File<'static>; 6] = [
    ("100755", "hooks/guard", "#!/bin/sh\necho before_tool_call\n"),
    ("100644", "hooks/hooks.json", "{}"),
    ("100644", "recipes/review.md", "# Review\n"),
    ("100644", "skills/pdf/SKILL.md", "# PDF\n"),
    ("120000", "skills/pdf/review.md", "../../recipes/review.md"),
    ("100644", "README.md", "# Tools\n"),
];

impl<'a> Repository<'a> {
    pub(crate) fn new(env: &'a TestEnvironment, name: &str) -> Self {
        Self::with(env, name, &[])
    }

    pub(crate) fn with(env: &'a TestEnvironment, name: &str, options: &[&str]) -> Self {
        let repository = Self { env, dir: env.path(name), clock: RefCell::new(1_000_000_000) };
        fs::create_dir_all(&repository.dir).unwrap();
        let init = ["init", "--quiet", "--bare", "--initial-branch=main"];
        repository.git(&[&init, options].concat(), "");
        repository
    }

    pub(crate) fn url(&self) -> String {
        format!("file://{}", self.dir.display())
    }

    /// Runs git in it; what it printed.
    pub(crate) fn git(&self, args: &[&str], input: impl AsRef<[u8]>) -> String {
        let mut command = self.env.command("git");
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "Test")
                .env(format!("GIT_{who}_EMAIL"), "test@example.org");
        }
        command.current_dir(&self.dir).stdin(Stdio::piped());
        let output = self.env.run(command.args(args), input);
        assert_eq!(output.code, Some(0), "git {args:?}: {output:#?}");
        output.stdout.trim_end().to_owned()
    }

    /// Writes an object of any bytes, well-formed or not.
    pub(crate) fn object(&self, kind: &str, bytes: impl AsRef<[u8]>) -> String {
        self.git(&["hash-object", "-w", "-t", kind, "--literally", "--stdin"], bytes)
    }

    pub(crate) fn blob(&self, bytes: impl AsRef<[u8]>) -> String {
        self.object("blob", bytes)
    }

    /// A tree of any names.
    pub(crate) fn tree<N: AsRef<[u8]>>(&self, entries: &[(&str, N, &str)]) -> String {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend(mode.trim_start_matches('0').bytes().chain([b' ']));
            bytes.extend(name.as_ref());
            bytes.push(0);
            bytes.extend((0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()));
        }
        self.object("tree", bytes)
    }

    /// A commit of a tree on this branch.
    pub(crate) fn commit_tree(&self, branch: &str, tree: &str) -> String {
        *self.clock.borrow_mut() += 1;
        let who = format!("Test <test@example.org> {} +0000", self.clock.borrow());
        let text = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\nx\n");
        let id = self.object("commit", text);
        self.git(&["update-ref", &format!("refs/heads/{branch}"), &id], "");
        id
    }

    /// Commits these files on this branch.
    pub(crate) fn commit(&self, branch: &str, files: &[File<'_>]) -> String {
        *self.clock.borrow_mut() += 1;
        let branch = format!("refs/heads/{branch}");
        let mut stream = format!(
            "commit {branch}\ncommitter T <t@example.org> {} +0000\ndata 1\nx\n",
            self.clock.borrow()
        );
        if !self.git(&["for-each-ref", &branch], "").is_empty() {
            stream += &format!("from {branch}^0\n");
        }
        stream += "deleteall\n";
        for (mode, path, bytes) in files {
            stream += &format!("M {mode} inline {path}\ndata {}\n{bytes}\n", bytes.len());
        }
        self.git(&["fast-import", "--quiet"], stream);
        self.git(&["rev-parse", &branch], "")
    }
}

/// The staged tree: every path with its kind and bytes.
pub(crate) type Tree = BTreeMap<String, String>;

/// Stages a plugin, and returns its files. Checks that nothing else has changed.
pub(crate) fn staged(
    env: &TestEnvironment,
    limits: Limits,
    bring: impl FnOnce(&mut Stage<'_>) -> Result<Resolved, PluginError>,
) -> Result<(Tree, Resolved), PluginError> {
    let plugins = Plugins::open(Location::Local, &env.path("repo"), ".hookbox").unwrap();
    let before = everything(&env.path(""));
    let result = (|| {
        let mut stage = Stage::within(&plugins, limits, &Silent)?;
        let resolved = bring(&mut stage)?;
        let staged = stage.finish()?;
        Ok((everything(&staged.path()), resolved))
    })();
    assert_eq!(everything(&env.path("")), before, "something stays, or was written elsewhere");
    result
}

/// Fetches a git repository, and blocks.
pub(crate) fn git(
    url: &GitUrl,
    reference: Option<&str>,
    pin: Option<&str>,
    stage: &mut Stage<'_>,
    observer: &dyn Observer,
) -> Result<Resolved, PluginError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(fetch::git(url, reference, pin, stage, observer))
}

/// Stages a git repository.
pub(crate) fn fetched(
    env: &TestEnvironment,
    url: &str,
    reference: Option<&str>,
    pin: Option<&str>,
) -> Result<(Tree, String), PluginError> {
    let brought = staged(env, Limits::default(), |stage| git(&url.parse()?, reference, pin, stage, &Silent));
    brought.map(|(tree, resolved)| match resolved {
        Resolved::Commit(commit) => (tree, commit),
        other => panic!("{other:?}"),
    })
}

/// Every path below a directory, but for the objects of repositories.
fn everything(top: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut dirs = vec![top.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let about = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(top).unwrap().to_string_lossy().into_owned();
            let is = if about.is_symlink() {
                format!("link {}", fs::read_link(&path).unwrap().display())
            } else if about.is_dir() {
                if !name.ends_with("objects") && !name.ends_with(".cache") {
                    dirs.push(path);
                }
                continue;
            } else if about.is_file() && about.len() < 10_000 {
                format!("{:o} {}", about.mode() & 0o7777, String::from_utf8_lossy(&fs::read(&path).unwrap()))
            } else {
                format!("{:o} of {}", about.mode(), about.len())
            };
            tree.insert(name, is);
        }
    }
    tree
}
