//! The digest of a hook that needs the user's trust. It covers everything that the hook loads, as far as that is known,
//! so that the code that was trusted is the code that runs.
//!
//! A component is its bytes, the entry that declares it and the repository's settings for it. Scripts load other files, so
//! the digest of any other hook covers everything below its hooks directory or plugin, the directories of the scripts that
//! symlinks there lead to, the files of the repository that its command line and its shebang name, the directories of the
//! scripts among them, its entry and its settings.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::command_line_files;
use super::tree_digest::{
    Allowance, Covered, Fields, MAX_BYTES, MAX_FILES, TreeDigest, TreeError, beneath, is_script, leads_out,
    unreadable,
};
use crate::hook::Digest;
use hookbox_system::files::{self, EntryKind, FileAccess};
use hookbox_system::text;

/// The length of a shebang line that is read, in bytes; the kernel reads 256.
const MAX_SHEBANG: u64 = 512;

/// The number of interpreters that may be scripts themselves, as in the kernel.
const MAX_INTERPRETERS: usize = 5;

/// The number of named directories from which the other words of a command line are looked up.
const MAX_DIRECTORIES: usize = 8;

/// The number of files and bytes that are covered beside one script that a command line names.
const BESIDE: (usize, u64) = (1024, 16 << 20);

/// The endings with which languages complete the name of a script.
const ENDINGS: [&str; 8] = [".js", ".mjs", ".cjs", ".ts", ".json", ".rb", ".pl", ".lua"];

/// Everything that the digest of a hook depends on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DigestInput {
    /// The repository, as its paths are written.
    pub(crate) repo: PathBuf,
    /// The hooks directory or the plugin's directory.
    pub(crate) dir: PathBuf,
    /// The hook's file.
    pub(crate) file: PathBuf,
    /// The working directory of a declared hook: the directory of the root, or the plugin's.
    pub(crate) base: PathBuf,
    /// The entry of a hooks.json or mcp.json, key by key; empty for a file that is the hook itself.
    pub(crate) declared: BTreeMap<String, String>,
    /// The command line, and the other texts of the entry that may name files.
    pub(crate) lines: Vec<String>,
    /// The working directory of the agent, in which a file that is the hook itself runs.
    pub(crate) cwd: PathBuf,
    /// The repository's settings for the hook, key by key.
    pub(crate) settings: BTreeMap<String, String>,
    /// The files of its plugin that count.
    pub(crate) covered: Covered,
}

/// The digests of directories that several hooks share.
#[derive(Debug, Default)]
pub(crate) struct SharedTrees(Mutex<BTreeMap<PathBuf, Result<TreeDigest, TreeError>>>);

impl SharedTrees {
    fn digest(
        &self,
        dir: &Path,
        files: &FileAccess,
        allowance: &mut Allowance,
        covered: &Covered,
    ) -> Result<TreeDigest, TreeError> {
        if let Some(kept) = self.0.lock().ok().and_then(|trees| trees.get(dir).cloned()) {
            return kept;
        }
        let result = TreeDigest::of(files, dir, allowance, covered);
        if let Ok(mut trees) = self.0.lock() {
            trees.insert(dir.to_owned(), result.clone());
        }
        result
    }
}

/// The files that a command line and a shebang name.
#[derive(Default)]
struct NamedFiles {
    /// The digests of files and of directories with everything below them, by their paths in the repository.
    digests: BTreeMap<PathBuf, Digest>,
    /// The files that run, and may load files beside them.
    scripts: BTreeSet<PathBuf>,
    /// The directories, without symlinks, of the scripts that symlinks beside the named scripts lead to.
    script_dirs: BTreeSet<PathBuf>,
}

impl DigestInput {
    /// Returns the digest of a component of these bytes: the digest of its bytes, if nothing is declared or set for it.
    pub(crate) fn of_component(&self, bytes: &Digest) -> Digest {
        if self.declared.is_empty() && self.settings.is_empty() {
            return bytes.clone();
        }
        let mut fields = Fields::default();
        fields.add("hookbox component 1", b"");
        fields.add("bytes", bytes.hex().as_bytes());
        self.add_declaration(&mut fields);
        fields.digest()
    }

    /// Computes the digest of any other hook from the files as they are now. The repository is opened again.
    pub(crate) fn digest(&self) -> Result<Digest, TreeError> {
        let files = FileAccess::repository(&self.repo).map_err(|error| unreadable(&self.repo, &error))?;
        self.digest_in(&files, &mut Allowance::of_one(), &SharedTrees::default())
    }

    /// Returns the files and directories of the repository that the digest covers beside the hook's own directory.
    pub(crate) fn names(&self) -> Result<Vec<PathBuf>, TreeError> {
        let files = FileAccess::repository(&self.repo).map_err(|error| unreadable(&self.repo, &error))?;
        let allowance = &mut Allowance::of_one();
        let mut named = self.named_files(&files, allowance)?;
        // A hook that cannot be trusted has names nevertheless.
        let dirs =
            self.script_dirs(&files, allowance, &SharedTrees::default(), &mut named).unwrap_or_default();
        let dirs = dirs.into_keys().filter(|dir| *dir != self.dir);
        let dirs = dirs.map(|dir| beneath(&self.repo, &dir).join(""));
        let names: BTreeSet<PathBuf> = named.digests.into_keys().chain(dirs).collect();
        Ok(names.into_iter().collect())
    }

    /// Computes the digest within an allowance.
    pub(crate) fn digest_in(
        &self,
        files: &FileAccess,
        allowance: &mut Allowance,
        trees: &SharedTrees,
    ) -> Result<Digest, TreeError> {
        // Its own directory first: all hooks in it share that digest.
        trees.digest(&self.dir, files, allowance, &self.covered)?;
        let mut named = self.named_files(files, allowance)?;
        let mut dirs = self.script_dirs(files, allowance, trees, &mut named)?;
        let mut fields = Fields::default();
        fields.add("hookbox native hook 1", b"");
        if let Some(own) = dirs.remove(&self.dir) {
            fields.add("directory", own.hex().as_bytes());
        }
        // A file that declares hooks is beside the hooks directory. Other clones have the same digest.
        let own = self.file.strip_prefix(&self.dir).unwrap_or_else(|_| beneath(&self.repo, &self.file));
        fields.add("hook", own.as_os_str().as_bytes());
        for (dir, digest) in dirs {
            fields.add("led to", beneath(&self.repo, &dir).as_os_str().as_bytes());
            fields.add("digest", digest.hex().as_bytes());
        }
        for (path, digest) in named.digests {
            fields.add("named", path.as_os_str().as_bytes());
            fields.add("digest", digest.hex().as_bytes());
        }
        self.add_declaration(&mut fields);
        Ok(fields.digest())
    }

    fn add_declaration(&self, fields: &mut Fields) {
        for (key, value) in &self.declared {
            fields.add("declared", key.as_bytes());
            fields.add("value", value.as_bytes());
        }
        for (key, value) in &self.settings {
            fields.add("setting", key.as_bytes());
            fields.add("value", value.as_bytes());
        }
    }

    /// Returns the digests of its own directory and of all directories of scripts that symlinks lead to: Python and
    /// Node.js load the modules of such a script from there. The root of the repository is left out, because all work
    /// changes it.
    fn script_dirs(
        &self,
        files: &FileAccess,
        allowance: &mut Allowance,
        trees: &SharedTrees,
        named: &mut NamedFiles,
    ) -> Result<BTreeMap<PathBuf, Digest>, TreeError> {
        let real = |path: &Path| files.canonicalize(path).map_err(|error| unreadable(path, &error));
        let root = real(&self.repo)?;
        let own = trees.digest(&self.dir, files, allowance, &self.covered)?;
        let mut digests = BTreeMap::from([(self.dir.clone(), own.digest)]);
        // A file that declares hooks may have no hooks directory beside it.
        let mut covered = Vec::from_iter(real(&self.dir).ok());
        let mut next: Vec<PathBuf> =
            own.script_dirs.into_iter().chain(std::mem::take(&mut named.script_dirs)).collect();
        while let Some(dir) = next.pop() {
            if covered.iter().any(|it| dir.starts_with(it)) {
                continue;
            }
            if dir == root {
                let is_hook = real(&self.file).is_ok_and(|file| file.parent() == Some(&*root));
                if self.declared.is_empty() && is_hook {
                    return Err(TreeError::AtRoot { path: text::shown_path(&self.file) });
                }
                continue;
            }
            let path = self.repo.join(beneath(&root, &dir));
            let tree = trees.digest(&path, files, allowance, &self.covered)?;
            digests.insert(path, tree.digest);
            covered.push(dir);
            next.extend(tree.script_dirs);
        }
        Ok(digests)
    }

    /// Returns the files of the repository that the command line and the shebang name, and those that the shebangs of
    /// named scripts name.
    fn named_files(&self, files: &FileAccess, allowance: &mut Allowance) -> Result<NamedFiles, TreeError> {
        let mut words = command_line_files::words(&self.lines);
        if self.declared.is_empty() {
            words.extend(shebang(files, &self.file));
        }
        let mut bases = self.bases();
        // After `cd DIR`, a word is relative to a directory that another word names.
        let is_dir = |path: &PathBuf| {
            files.entry_kind(path).is_ok_and(|it| it == EntryKind::Directory) && !self.is_root(files, path)
        };
        let paths = words.iter().take(MAX_FILES).flat_map(|word| self.paths_of(word, &bases));
        let named_dirs: Vec<PathBuf> = paths.filter(is_dir).take(MAX_DIRECTORIES).collect();
        bases.extend(named_dirs);
        let mut named = NamedFiles::default();
        let mut seen = BTreeSet::new();
        for _ in 0..=MAX_INTERPRETERS {
            let mut next = BTreeSet::new();
            for word in &words {
                // The allowance also bounds the words of a hostile line.
                allowance.file()?;
                for path in self.paths_of(word, &bases) {
                    let path = if word.contains('/') { completed(files, path) } else { path };
                    if seen.insert(path.clone()) {
                        next.extend(self.add_named(&path, files, allowance, &mut named)?);
                    }
                }
            }
            words = next;
        }
        for script in std::mem::take(&mut named.scripts) {
            self.add_beside(&script, files, allowance, &mut named)?;
        }
        Ok(named)
    }

    /// Adds the file or directory at a path, and returns the words of its shebang.
    fn add_named(
        &self,
        path: &Path,
        files: &FileAccess,
        allowance: &mut Allowance,
        named: &mut NamedFiles,
    ) -> Result<BTreeSet<String>, TreeError> {
        let name = beneath(&self.repo, path);
        match files.entry_kind(path) {
            Ok(EntryKind::File { len, executable }) => {
                allowance.file()?;
                allowance.read(len)?;
                let digest = files.digest(path, MAX_BYTES).map_err(|error| unreadable(path, &error))?;
                named.digests.insert(name.to_owned(), digest);
                let interpreter = shebang(files, path);
                if executable || is_script(path) || !interpreter.is_empty() {
                    named.scripts.insert(path.to_owned());
                }
                Ok(interpreter)
            }
            Ok(EntryKind::Directory) if !self.is_root(files, path) => {
                let tree = TreeDigest::of(files, path, allowance, &self.covered)?;
                named.digests.insert(name.join(""), tree.digest);
                named.script_dirs.extend(tree.script_dirs);
                Ok(BTreeSet::new())
            }
            // A path such as `../x` leads out by its own words, so the user sees it.
            Err(error) if files::is_escape(&error) && files::normalize_path(path).starts_with(&self.repo) => {
                Err(leads_out(files, &self.repo, path))
            }
            _ => Ok(BTreeSet::new()),
        }
    }

    /// Adds the files that a script may load: everything below its directory, and below the directory that a symlink to
    /// it leads to. Too large a directory counts as such, so that the digest changes when it becomes too large.
    fn add_beside(
        &self,
        script: &Path,
        files: &FileAccess,
        allowance: &mut Allowance,
        named: &mut NamedFiles,
    ) -> Result<(), TreeError> {
        let real_repo = files.canonicalize(&self.repo).map_err(|error| unreadable(&self.repo, &error))?;
        let real = files.canonicalize(script).ok();
        let real = real.and_then(|real| Some(self.repo.join(real.strip_prefix(&real_repo).ok()?)));
        for file in [Some(script.to_owned()), real].into_iter().flatten() {
            let Some(dir) = file.parent() else { continue };
            let normal = files::normalize_path(dir);
            let is_same = files.canonicalize(&normal).ok() == files.canonicalize(dir).ok();
            let dir = if is_same { normal.as_path() } else { dir };
            let name = beneath(&self.repo, dir).join("");
            let is_covered = dir.starts_with(&self.dir) || named.digests.contains_key(&name);
            if is_covered || self.is_root(files, dir) {
                continue;
            }
            let limits = (BESIDE.0.min(allowance.files), BESIDE.1.min(allowance.bytes));
            let mut own = Allowance { files: limits.0, bytes: limits.1, ..*allowance };
            let result = TreeDigest::of(files, dir, &mut own, &self.covered);
            allowance.files -= limits.0 - own.files;
            allowance.bytes -= limits.1 - own.bytes;
            match result {
                Ok(tree) => {
                    named.digests.insert(name, tree.digest);
                    named.script_dirs.extend(tree.script_dirs);
                }
                Err(_) if limits == BESIDE => {
                    named.digests.insert(name, Digest::of(b"more than is looked at"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns true if a path is the root of the repository. All work changes it, so trust in it would end at once.
    fn is_root(&self, files: &FileAccess, path: &Path) -> bool {
        let real = files.canonicalize(path).ok();
        real.is_some() && real == files.canonicalize(&self.repo).ok()
    }

    /// Returns the directories that relative words may be relative to. A declared hook runs in its base, wherever the agent
    /// works.
    fn bases(&self) -> BTreeSet<PathBuf> {
        let mut bases = BTreeSet::from([self.repo.clone(), self.base.clone()]);
        if self.declared.is_empty() {
            bases.extend([self.cwd.clone(), self.file.parent().unwrap_or(&self.dir).to_owned()]);
        }
        bases
    }

    /// Returns the paths in the repository that a word may mean.
    fn paths_of(&self, word: &str, bases: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        bases.iter().map(|base| base.join(word)).filter(|path| path.starts_with(&self.repo)).collect()
    }
}

/// Returns the words of a script's shebang line that may name files.
fn shebang(files: &FileAccess, script: &Path) -> BTreeSet<String> {
    let mut line = Vec::new();
    let read = files.open(script).and_then(|file| file.take(MAX_SHEBANG).read_to_end(&mut line));
    let first = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let words = read.ok().and_then(|_| first.strip_prefix(b"#!"));
    words.map(|it| command_line_files::words(&[String::from_utf8_lossy(it).into_owned()])).unwrap_or_default()
}

/// Returns the path with the ending that a language would add, if no file has the path as it is.
fn completed(files: &FileAccess, path: PathBuf) -> PathBuf {
    let is_missing = files.entry_kind(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if !is_missing || path.file_name().is_none() {
        return path;
    }
    let with = |ending: &&str| {
        let mut name = path.clone().into_os_string();
        name.push(ending);
        PathBuf::from(name)
    };
    let found = ENDINGS.iter().map(with).find(|path| files.entry_kind(path).is_ok());
    found.unwrap_or(path)
}

#[cfg(test)]
mod tests;
