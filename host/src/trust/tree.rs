//! The digest of a hook that needs the user's trust: all that belongs to it, so that what is trusted is what runs.
//!
//! A component is its bytes, the entry that declares it and the repository's settings for it. Scripts load other files,
//! so the digest of any other hook covers everything below the hooks directory (or the plugin) that the hook is in, the
//! directories to which symlinks there lead scripts, the files of the repository that its command line and its shebang
//! name with what is beside scripts among them, its entry and its settings (design, section 7).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::words::{self, Variables};
use crate::files::{self, EntryKind, FileAccess};
use crate::hook::Digest;

/// How many files and directories one digest covers.
pub const MAX_FILES: usize = 4096;

/// How many bytes of files one digest covers.
const MAX_BYTES: u64 = 64 << 20;

/// How deep directories stand in each other.
const MAX_DEPTH: usize = 64;

/// How long a shebang line is read; the kernel reads 256 bytes.
const MAX_SHEBANG: u64 = 512;

/// How often an interpreter may be a script itself, as in the kernel.
const MAX_INTERPRETERS: usize = 5;

/// How many files and bytes are looked at beside one script that a line names.
const BESIDE: (usize, u64) = (1024, 16 << 20);

/// What a language finds a script by that is named without its ending.
const ENDINGS: [&str; 8] = [".js", ".mjs", ".cjs", ".ts", ".json", ".rb", ".pl", ".lua"];

/// The endings of scripts, which need neither an execute bit nor a shebang where a program is told to run them.
const SCRIPTS: [&str; 18] = [
    "sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "mts", "cts", "rb", "pl", "php", "lua",
    "tcl", "r", "ps1",
];

/// Why what belongs to a hook has no digest, so that it cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// Too many files.
    #[error("more than {MAX_FILES} files belong to it, and nobody can say what it loads")]
    TooManyFiles,
    /// Too many bytes.
    #[error("more than {} MiB of files belong to it, and nobody can say what it loads", MAX_BYTES >> 20)]
    TooLarge,
    /// What has not been looked at has a smaller allowance for all together.
    #[error("the repository brings too much to look at all of it")]
    Spent,
    /// A symlink of the repository leads out of it, and nobody would see what it leads to change.
    #[error(
        "the symlink {path} leads out of the repository, and what stands there may change unseen; put the file itself \
         into the repository, or name it by its own path"
    )]
    LeadsOut {
        /// The symlink, escaped.
        path: String,
    },
    /// A hook is a symlink to a file in the root of the repository, from where it may load anything.
    #[error(
        "the symlink {path} leads to a file in the root of the repository, which may load what all work there changes; \
         put that file into a directory of its own"
    )]
    AtRoot {
        /// The symlink, escaped.
        path: String,
    },
    /// A file cannot be read, so that nobody can say what it holds.
    #[error("{path} {why}")]
    Unreadable {
        /// The file, escaped.
        path: String,
        /// Why, in words that read after the path.
        why: String,
    },
}

/// How much may still be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    files: usize,
    bytes: u64,
    over: fn(bool) -> TreeError,
}

impl Allowance {
    /// What one hook may have.
    pub(crate) fn of_one() -> Self {
        let over = |files| if files { TreeError::TooManyFiles } else { TreeError::TooLarge };
        Self { files: MAX_FILES, bytes: MAX_BYTES, over }
    }

    /// What all hooks together may have that the user has not approved: their digest is only shown, and an agent
    /// waits for it before its first event.
    pub(crate) fn of_unapproved() -> Self {
        Self { files: 2 * MAX_FILES, bytes: MAX_BYTES / 4, over: |_| TreeError::Spent }
    }

    fn file(&mut self) -> Result<(), TreeError> {
        self.files = self.files.checked_sub(1).ok_or_else(|| (self.over)(true))?;
        Ok(())
    }

    fn read(&mut self, len: u64) -> Result<(), TreeError> {
        self.bytes = self.bytes.checked_sub(len).ok_or_else(|| (self.over)(false))?;
        Ok(())
    }
}

/// All that belongs to a hook that needs the user's trust: its digest depends on this.
#[derive(Clone, Debug)]
pub(crate) struct Belongings {
    /// The repository, as its paths are written.
    pub(crate) repo: PathBuf,
    /// The hooks directory, or the plugin's.
    pub(crate) dir: PathBuf,
    /// The hook's file.
    pub(crate) file: PathBuf,
    /// Where the hook runs that a file declares: the directory that holds the root, or the plugin's.
    pub(crate) base: PathBuf,
    /// What a hooks.json or mcp.json says of it, key by key; nothing of a file that is the hook itself.
    pub(crate) declared: BTreeMap<String, String>,
    /// Its command line, and what else in its declaration may name files.
    pub(crate) words: Vec<String>,
    /// The variables that it finds.
    pub(crate) variables: Variables,
    /// Where the agent works, and a file runs that is the hook: relative words of its shebang are looked for here, too.
    pub(crate) cwd: PathBuf,
    /// The repository's settings for it, key by key.
    pub(crate) settings: BTreeMap<String, String>,
}

/// A directory that was gone through.
#[derive(Clone, Debug)]
struct Covered {
    digest: Digest,
    /// The directories, without symlinks, of the scripts that symlinks in it lead to.
    led_to: BTreeSet<PathBuf>,
}

/// Directories that were gone through once, for many hooks in one directory.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<BTreeMap<PathBuf, Result<Covered, TreeError>>>);

impl Seen {
    fn cover(&self, dir: &Path, files: &FileAccess, allowance: &mut Allowance) -> Result<Covered, TreeError> {
        if let Some(kept) = self.0.lock().ok().and_then(|seen| seen.get(dir).cloned()) {
            return kept;
        }
        let mut walk = Walk::new(files, dir, allowance);
        let result = walk.any(dir, 0).map(|()| Covered { digest: walk.fields.digest(), led_to: walk.led_to });
        if let Ok(mut seen) = self.0.lock() {
            seen.insert(dir.to_owned(), result.clone());
        }
        result
    }
}

impl Belongings {
    /// The digest of a component of these bytes. Where nobody says anything of it, it is that of its bytes.
    pub(crate) fn of_component(&self, bytes: &Digest) -> Digest {
        if self.declared.is_empty() && self.settings.is_empty() {
            return bytes.clone();
        }
        let mut fields = Fields::default();
        fields.add("hookbox component 1", b"");
        fields.add("bytes", bytes.hex().as_bytes());
        self.add_what_is_said(&mut fields);
        fields.digest()
    }

    /// The digest of anything but a component, worked out anew from what is there now. The repository is opened anew as
    /// well.
    pub(crate) fn digest(&self) -> Result<Digest, TreeError> {
        let files = FileAccess::repository(&self.repo).map_err(|error| unreadable(&self.repo, &error))?;
        self.digest_in(&files, &mut Allowance::of_one(), &Seen::default())
    }

    /// The files and directories of the repository that its command line and its shebang name, and whether it may use
    /// more than these.
    pub(crate) fn names(&self) -> Result<(Vec<PathBuf>, bool), TreeError> {
        let files = FileAccess::repository(&self.repo).map_err(|error| unreadable(&self.repo, &error))?;
        let allowance = &mut Allowance::of_one();
        let mut named = self.named(&files, allowance)?;
        // What cannot be trusted has names all the same.
        let directories =
            self.directories(&files, allowance, &Seen::default(), &mut named).unwrap_or_default();
        let beside = directories.into_keys().filter(|dir| *dir != self.dir);
        let beside = beside.map(|dir| beneath(&self.repo, &dir).join(""));
        let names: BTreeSet<PathBuf> = named.files.into_keys().chain(beside).collect();
        Ok((names.into_iter().collect(), named.more))
    }

    /// The same within an allowance, where `seen` keeps the directories.
    pub(crate) fn digest_in(
        &self,
        files: &FileAccess,
        allowance: &mut Allowance,
        seen: &Seen,
    ) -> Result<Digest, TreeError> {
        // The directory first: it is looked at once for all hooks in it.
        seen.cover(&self.dir, files, allowance)?;
        let mut named = self.named(files, allowance)?;
        let mut directories = self.directories(files, allowance, seen, &mut named)?;
        let mut fields = Fields::default();
        fields.add("hookbox native hook 1", b"");
        if let Some(own) = directories.remove(&self.dir) {
            fields.add("directory", own.hex().as_bytes());
        }
        fields.add("hook", beneath(&self.dir, &self.file).as_os_str().as_bytes());
        for (dir, digest) in directories {
            fields.add("led to", beneath(&self.repo, &dir).as_os_str().as_bytes());
            fields.add("digest", digest.hex().as_bytes());
        }
        for (named, digest) in named.files {
            fields.add("named", named.as_os_str().as_bytes());
            fields.add("digest", digest.hex().as_bytes());
        }
        self.add_what_is_said(&mut fields);
        Ok(fields.digest())
    }

    fn add_what_is_said(&self, fields: &mut Fields) {
        for (key, value) in &self.declared {
            fields.add("declared", key.as_bytes());
            fields.add("value", value.as_bytes());
        }
        for (key, value) in &self.settings {
            fields.add("setting", key.as_bytes());
            fields.add("value", value.as_bytes());
        }
    }

    /// The digests of its own directory and of all directories that symlinks to scripts lead to: Python and Node.js load
    /// from there what such a script asks for. The root of the repository is none of them.
    fn directories(
        &self,
        files: &FileAccess,
        allowance: &mut Allowance,
        seen: &Seen,
        named: &mut Named,
    ) -> Result<BTreeMap<PathBuf, Digest>, TreeError> {
        let real = |path: &Path| files.canonicalize(path).map_err(|error| unreadable(path, &error));
        let root = real(&self.repo)?;
        let own = seen.cover(&self.dir, files, allowance)?;
        let mut covered = BTreeMap::from([(self.dir.clone(), own.digest)]);
        // Beside a file that declares hooks there need be no directory.
        let mut inside = Vec::from_iter(real(&self.dir).ok());
        let mut next: Vec<PathBuf> =
            own.led_to.into_iter().chain(std::mem::take(&mut named.led_to)).collect();
        while let Some(dir) = next.pop() {
            if inside.iter().any(|it| dir.starts_with(it)) {
                continue;
            }
            if dir == root {
                let leads_there = real(&self.file).is_ok_and(|file| file.parent() == Some(&*root));
                if self.declared.is_empty() && leads_there {
                    let path = crate::text::escape(&self.file.to_string_lossy(), 1024);
                    return Err(TreeError::AtRoot { path });
                }
                named.more = true;
                continue;
            }
            let path = self.repo.join(beneath(&root, &dir));
            let it = seen.cover(&path, files, allowance)?;
            covered.insert(path, it.digest);
            inside.push(dir);
            next.extend(it.led_to);
        }
        Ok(covered)
    }

    /// What of the repository the command line and the shebang name, and the shebangs of those files that are scripts
    /// themselves.
    fn named(&self, files: &FileAccess, allowance: &mut Allowance) -> Result<Named, TreeError> {
        let line = words::of(&self.words, &self.variables, &self.repo, &self.base);
        let bases = self.bases(&line.directories);
        let mut named = Named { more: line.more, ..Named::default() };
        let mut words: Vec<Vec<u8>> = line.words.into_iter().map(String::into_bytes).collect();
        let of_file = if self.declared.is_empty() { self.shebang(files, &self.file) } else { Vec::new() };
        words.extend(of_file);
        let mut looked = BTreeSet::new();
        for _ in 0..=MAX_INTERPRETERS {
            let mut next = Vec::new();
            for word in &words {
                // A line of very many words is looked up at nobody's cost but its own.
                allowance.file()?;
                for path in self.places_of(word, &bases) {
                    let path = if line.loads { completed(files, path) } else { path };
                    if looked.insert(path.clone()) {
                        next.extend(self.look(&path, files, allowance, &mut named)?);
                    }
                }
            }
            words = next;
        }
        // A script outside of the hook's own directory loads what it likes.
        named.more |= line.loads && named.scripts.iter().any(|script| !script.starts_with(&self.dir));
        for script in std::mem::take(&mut named.scripts) {
            self.beside(&script, files, allowance, &mut named)?;
        }
        let mut used = line.used.iter().filter(|word| !word.is_empty());
        named.more |= used.any(|word| {
            let places = self.places_of(word.as_bytes(), &bases);
            places.iter().any(|path| self.is_all(files, path))
        });
        Ok(named)
    }

    /// Adds what stands at a path, and says what its shebang names.
    fn look(
        &self,
        path: &Path,
        files: &FileAccess,
        allowance: &mut Allowance,
        named: &mut Named,
    ) -> Result<Vec<Vec<u8>>, TreeError> {
        let name = beneath(&self.repo, path);
        match files.entry_kind(path) {
            Ok(EntryKind::File { len, executable }) => {
                allowance.file()?;
                allowance.read(len)?;
                let digest = files.digest(path, MAX_BYTES).map_err(|error| unreadable(path, &error))?;
                named.files.insert(name.to_owned(), digest);
                let interpreter = self.shebang(files, path);
                if executable || has_ending_of_script(path) || !interpreter.is_empty() {
                    named.scripts.insert(path.to_owned());
                }
                Ok(interpreter)
            }
            Ok(EntryKind::Directory) if !self.is_all(files, path) => {
                let mut walk = Walk::new(files, path, allowance);
                walk.any(path, 0)?;
                named.files.insert(name.join(""), walk.fields.digest());
                named.led_to.extend(walk.led_to);
                Ok(Vec::new())
            }
            // What is outside by its letters, as `../x` is, the line says.
            Err(error) if files::is_escape(&error) && files::normalize_path(path).starts_with(&self.repo) => {
                Err(leads_out(files, &self.repo, path))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Adds what stands beside a script, which scripts load: all below its directory, and below the one that it stands in
    /// behind symlinks. The root of the repository is no such directory. What is too much to look at may change, and
    /// that is said.
    fn beside(
        &self,
        script: &Path,
        files: &FileAccess,
        allowance: &mut Allowance,
        named: &mut Named,
    ) -> Result<(), TreeError> {
        let real_repo = files.canonicalize(&self.repo).map_err(|error| unreadable(&self.repo, &error))?;
        let real = files
            .canonicalize(script)
            .ok()
            .and_then(|real| Some(self.repo.join(real.strip_prefix(&real_repo).ok()?)));
        for file in [Some(script.to_owned()), real].into_iter().flatten() {
            let Some(dir) = file.parent() else { continue };
            let plain = files::normalize_path(dir);
            let dir = if files.canonicalize(&plain).ok() == files.canonicalize(dir).ok() {
                plain.as_path()
            } else {
                dir
            };
            let name = beneath(&self.repo, dir).join("");
            // What is named itself, or is a part of what is covered anyhow, has been looked at.
            if dir.starts_with(&self.dir) || self.is_all(files, dir) || named.files.contains_key(&name) {
                continue;
            }
            let over = allowance.over;
            let most = (BESIDE.0.min(allowance.files), BESIDE.1.min(allowance.bytes));
            let mut own = Allowance { files: most.0, bytes: most.1, over };
            let mut walk = Walk::new(files, dir, &mut own);
            let result = walk.any(dir, 0).map(|()| walk.fields.digest());
            let led_to = walk.led_to;
            allowance.files -= most.0 - own.files;
            allowance.bytes -= most.1 - own.bytes;
            match result {
                Ok(digest) => {
                    named.files.insert(name, digest);
                    named.led_to.extend(led_to);
                }
                Err(_) if most == BESIDE => {
                    named.files.insert(name, Digest::of(b"more than is looked at"));
                    named.more = true;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether a path is the whole repository, which changes with all work, so that no trust in it would hold.
    fn is_all(&self, files: &FileAccess, path: &Path) -> bool {
        let real = files.canonicalize(path).ok();
        real.is_some() && real == files.canonicalize(&self.repo).ok()
    }

    /// The words of a shebang line, and what follows a `=` in one.
    fn shebang(&self, files: &FileAccess, script: &Path) -> Vec<Vec<u8>> {
        let mut line = Vec::new();
        let read = files.open(script).and_then(|file| file.take(MAX_SHEBANG).read_to_end(&mut line));
        let first = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let Some(words) = read.ok().and_then(|_| first.strip_prefix(b"#!")) else { return Vec::new() };
        let words = words.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words
            .flat_map(|word| {
                let value = word.iter().position(|byte| *byte == b'=').and_then(|at| word.get(at + 1..));
                [Some(word), value].into_iter().flatten().map(<[u8]>::to_vec)
            })
            .collect()
    }

    /// Where relative words may be meant from. What is declared runs in its base, wherever the agent works.
    fn bases(&self, directories: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let mut bases = BTreeSet::from([self.repo.clone(), self.base.clone()]);
        if self.declared.is_empty() {
            bases.extend([self.cwd.clone(), self.file.parent().unwrap_or(&self.dir).to_owned()]);
        }
        let entered: Vec<PathBuf> =
            bases.iter().flat_map(|base| directories.iter().map(|it| base.join(it))).collect();
        bases.extend(entered);
        bases
    }

    /// The paths in the repository that a word may mean.
    fn places_of(&self, word: &[u8], bases: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let word = Path::new(std::ffi::OsStr::from_bytes(word));
        bases.iter().map(|base| base.join(word)).filter(|path| path.starts_with(&self.repo)).collect()
    }
}

/// What a command line and a shebang name.
#[derive(Default)]
struct Named {
    /// The digests of files and of all that stands below directories, by their paths in the repository.
    files: BTreeMap<PathBuf, Digest>,
    /// Those of the files that run, and may load what stands beside them.
    scripts: BTreeSet<PathBuf>,
    /// The directories, without symlinks, of the scripts that symlinks beside them lead to.
    led_to: BTreeSet<PathBuf>,
    /// Whether more may be used than this.
    more: bool,
}

fn has_ending_of_script(path: &Path) -> bool {
    let ending = path.extension().and_then(|it| it.to_str()).map(str::to_ascii_lowercase);
    ending.is_some_and(|it| SCRIPTS.contains(&it.as_str()))
}

/// The path with the ending that a language would look for, where nothing stands at it as it is.
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

/// The digest of all that stands in a directory: names, modes and bytes, where that is at most so many files and bytes.
/// Symlinks are followed within it only, and count with what they lead to.
///
/// # Errors
///
/// Where something cannot be read, or there is more than that.
pub fn of_plugin(dir: &Path, files: usize, bytes: u64) -> Result<Digest, TreeError> {
    let allowance = &mut Allowance { files, bytes, ..Allowance::of_one() };
    let files = FileAccess::repository(dir).map_err(|error| unreadable(dir, &error))?;
    let mut walk = Walk { may_lead_out: true, ..Walk::new(&files, dir, allowance) };
    walk.any(dir, 0)?;
    Ok(walk.fields.digest())
}

/// Goes through a directory.
struct Walk<'a> {
    files: &'a FileAccess,
    base: &'a Path,
    allowance: &'a mut Allowance,
    fields: Fields,
    /// Directories that were gone into, so that a symlink to one of them is no endless way.
    real: BTreeSet<PathBuf>,
    /// The directories, without symlinks, of the scripts that symlinks lead to.
    led_to: BTreeSet<PathBuf>,
    /// Whether a symlink that leads out counts with its target alone.
    may_lead_out: bool,
}

impl<'a> Walk<'a> {
    fn new(files: &'a FileAccess, base: &'a Path, allowance: &'a mut Allowance) -> Self {
        let (fields, real, led_to) = (Fields::default(), BTreeSet::new(), BTreeSet::new());
        Self { files, base, allowance, fields, real, led_to, may_lead_out: false }
    }

    /// Whatever stands at a path. A symlink counts with its target, and with what it leads to in the repository.
    fn any(&mut self, path: &Path, depth: usize) -> Result<(), TreeError> {
        self.allowance.file()?;
        self.fields.add("path", beneath(self.base, path).as_os_str().as_bytes());
        let is_symlink = self.files.is_symlink(path);
        if is_symlink {
            let target = self.files.read_link(path).unwrap_or_default();
            self.fields.add("link", target.as_os_str().as_bytes());
        }
        match self.files.entry_kind(path) {
            Ok(EntryKind::File { executable, len }) => {
                self.allowance.read(len)?;
                // No more than was allowed for, also where it grows meanwhile.
                let digest = self.files.digest(path, len).map_err(|error| unreadable(path, &error))?;
                self.fields.add(if executable { "program" } else { "file" }, digest.hex().as_bytes());
                if is_symlink && (executable || has_ending_of_script(path)) {
                    let real = self.files.canonicalize(path).map_err(|error| unreadable(path, &error))?;
                    self.led_to.extend(real.parent().map(Path::to_owned));
                }
                Ok(())
            }
            Ok(EntryKind::Directory) => self.directory(path, depth),
            Ok(EntryKind::Special) => {
                self.fields.add("special", b"");
                Ok(())
            }
            Err(error) if files::is_escape(&error) && !self.may_lead_out => {
                Err(leads_out(self.files, self.base, path))
            }
            // Where a symlink leads out or nowhere, its target is all there is to say.
            Err(error) if files::is_escape(&error) || error.kind() == io::ErrorKind::NotFound => {
                self.fields.add("elsewhere", b"");
                Ok(())
            }
            Err(error) => Err(unreadable(path, &error)),
        }
    }

    fn directory(&mut self, path: &Path, depth: usize) -> Result<(), TreeError> {
        let real = self.files.canonicalize(path).map_err(|error| unreadable(path, &error))?;
        if !self.real.insert(real) {
            self.fields.add("again", b"");
            return Ok(());
        }
        if depth > MAX_DEPTH {
            return Err(TreeError::TooManyFiles);
        }
        let (names, more) = self.files.names(path).map_err(|error| unreadable(path, &error))?;
        if more {
            return Err(TreeError::TooManyFiles);
        }
        self.fields.add("directory", &(names.len() as u64).to_le_bytes());
        names.iter().try_for_each(|name| self.any(&path.join(name), depth + 1))
    }
}

/// Fields, each with its length before it, so that none can be taken for another.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn add(&mut self, kind: &str, value: &[u8]) {
        for part in [kind.as_bytes(), value] {
            self.0.extend_from_slice(&(part.len() as u64).to_le_bytes());
            self.0.extend_from_slice(part);
        }
    }

    fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

fn beneath<'a>(base: &Path, path: &'a Path) -> &'a Path {
    path.strip_prefix(base).unwrap_or(path)
}

/// Names the symlink below `base` over which a path leads out of the repository.
fn leads_out(files: &FileAccess, base: &Path, path: &Path) -> TreeError {
    let mut at = base.to_owned();
    for part in beneath(base, path) {
        at.push(part);
        if files.is_symlink(&at) && files.entry_kind(&at).is_err() {
            break;
        }
    }
    TreeError::LeadsOut { path: crate::text::escape(&at.to_string_lossy(), 1024) }
}

fn unreadable(path: &Path, error: &io::Error) -> TreeError {
    let path = crate::text::escape(&path.to_string_lossy(), 1024);
    TreeError::Unreadable { path, why: files::explain(error) }
}

#[cfg(test)]
mod tests;
