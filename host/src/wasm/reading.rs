//! The host's side of the imports `facts` and `work-tree`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookbox_calls::FileUse;
use hookbox_shell::{Arg, Reading};
use serde_json::{Value, json};
use wasmtime::component::Linker;
use wasmtime::{StoreContextMut, Trap};

use super::bindings::hookbox::hook::{facts, work_tree};
use super::state::CallState;
use super::tape::Taped;
use crate::capability::{Capability, Denial};
use crate::work_tree::{PathKind, PathState, Tree, WorkTrees};

/// The interface of facts, as hooks import it.
const FACTS: &str = "hookbox:hook/facts@0.2.0";

/// The fuel of a call of `read-line`.
const CALL: u64 = 1_000;
/// The fuel of a byte of the line, read or known: about the time in which a guest would compute as long.
const BYTE: u64 = 100;
/// The fuel of a byte of the reading.
const ANSWER: u64 = 2;
/// The part of the fuel, one in so many, that counts as copied bytes: so a reading gives way to other tasks as often as a
/// guest that computes.
const FUEL_PER_COPY: u64 = 2;

/// The reason why no work tree has a state, and the next step.
const NO_GIT_FIX: &str = "there is no git that only root can change, so every work tree counts as changed: install git for the \
    system, and run `hookbox install` again";

/// The size of an argument or a command beside its texts, in bytes.
const ITEM: usize = 32;

/// Links the functions that read a line and the call, which take fuel from the store.
pub(super) fn link_facts(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker.instance(FACTS)?.func_wrap_async("read-line", |mut store, (line,): (String,)| {
        Box::new(async move {
            let price = CALL.saturating_add(BYTE.saturating_mul(line.len() as u64));
            spend(&mut store, price)?;
            let reading = store.data().commands_of(&line);
            let price_of_answer = ANSWER.saturating_mul(size(&reading) as u64);
            spend(&mut store, price_of_answer)?;
            let copied = price.saturating_add(price_of_answer) / FUEL_PER_COPY;
            store.data_mut().breathe(usize::try_from(copied).unwrap_or(usize::MAX)).await;
            Ok((self::reading(&reading),))
        })
    })?;
    linker.instance(FACTS)?.func_wrap_async("read-call", |mut store, (): ()| {
        Box::new(async move {
            let input = store.data().size_of_call();
            let price = CALL.saturating_add(BYTE.saturating_mul(input as u64));
            spend(&mut store, price)?;
            let found = store.data().facts_of_call();
            let lines = found.lines.iter().map(String::len);
            let files =
                found.files.iter().map(|it| ITEM + it.path.len() + it.text.as_ref().map_or(0, String::len));
            let size: usize = lines.chain(files).sum();
            let price_of_answer = ANSWER.saturating_mul(size as u64);
            spend(&mut store, price_of_answer)?;
            let copied = price.saturating_add(price_of_answer) / FUEL_PER_COPY;
            store.data_mut().breathe(usize::try_from(copied).unwrap_or(usize::MAX)).await;
            Ok((call_facts(found),))
        })
    })?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Takes fuel from the guest.
fn spend(store: &mut StoreContextMut<'_, CallState>, fuel: u64) -> wasmtime::Result<()> {
    let left = store.get_fuel()?.checked_sub(fuel);
    store.set_fuel(left.unwrap_or(0))?;
    if left.is_none() {
        return Err(Trap::OutOfFuel.into());
    }
    Ok(())
}

/// Returns the size of a reading in the guest, about.
fn size(reading: &Reading) -> usize {
    let arg = |it: &Arg| ITEM + it.text.len();
    let text = |it: &str| ITEM + it.len();
    let run = |it: &hookbox_shell::Run| {
        ITEM + it.words.iter().chain(it.whole.iter()).map(arg).sum::<usize>()
            + it.assignments.iter().map(|(name, value)| text(name) + arg(value)).sum::<usize>()
            + it.redirections.iter().map(|it| ITEM + arg(&it.target)).sum::<usize>()
            + it.directory.as_deref().map_or(0, text)
            + it.elsewhere.iter().chain(&it.via).map(|it| text(it)).sum::<usize>()
            + it.call.as_deref().map_or(0, text)
            + it.input.len() * size_of::<u32>()
    };
    reading.runs.iter().map(run).sum::<usize>()
        + reading.values.iter().map(|(name, value)| text(name) + text(value)).sum::<usize>()
        + reading.code.iter().map(|it| ITEM + text(&it.language) + text(&it.text)).sum::<usize>()
}

impl facts::Host for CallState {
    /// [`link_facts`] replaces it.
    async fn read_line(&mut self, line: String) -> wasmtime::Result<facts::Reading> {
        std::future::ready(()).await;
        Ok(reading(&self.commands_of(&line)))
    }

    /// [`link_facts`] replaces it.
    async fn read_call(&mut self) -> wasmtime::Result<facts::CallFacts> {
        std::future::ready(()).await;
        Ok(call_facts(self.facts_of_call()))
    }
}

fn call_facts(found: hookbox_calls::CallFacts) -> facts::CallFacts {
    let file = |it: hookbox_calls::File| facts::File {
        path: it.path,
        usage: match it.usage {
            FileUse::Reads => facts::FileUse::Reads,
            FileUse::Writes => facts::FileUse::Writes,
            FileUse::Removes => facts::FileUse::Removes,
            FileUse::Moves => facts::FileUse::Moves,
        },
        is_pattern: it.is_pattern,
        text: it.text,
    };
    facts::CallFacts { lines: found.lines, files: found.files.into_iter().map(file).collect() }
}

fn reading(reading: &Reading) -> facts::Reading {
    let Reading { runs, code, values, unread, multiplies } = reading;
    let mut commands = Vec::new();
    let mut last: Option<&Arc<[Arg]>> = None;
    let mut found = Vec::with_capacity(runs.len());
    for it in runs {
        // Commands with the same words are beside each other, or have them twice in the answer.
        if !last.is_some_and(|last| Arc::ptr_eq(last, &it.whole)) {
            commands.push(it.whole.iter().map(arg).collect());
            last = Some(&it.whole);
        }
        found.push(run(it, place(commands.len() - 1)));
    }
    facts::Reading {
        runs: found,
        commands,
        code: code
            .iter()
            .map(|it| facts::Code {
                language: it.language.clone(),
                text: it.text.clone(),
                run: place(it.run),
            })
            .collect(),
        values: values.clone(),
        unread: unread
            .iter()
            .map(|it| match it {
                hookbox_shell::Unread::Syntax => facts::Unread::Syntax,
                hookbox_shell::Unread::Limit => facts::Unread::Limit,
                hookbox_shell::Unread::Values => facts::Unread::Values,
                hookbox_shell::Unread::Script => facts::Unread::Script,
                hookbox_shell::Unread::Program => facts::Unread::Program,
            })
            .collect(),
        multiplies: *multiplies,
    }
}

fn run(run: &hookbox_shell::Run, at: u32) -> facts::Run {
    // Each field by its name, so that a new one is not forgotten.
    let hookbox_shell::Run {
        words,
        assignments,
        redirections,
        directory,
        elsewhere,
        place: at_place,
        via,
        input,
        inner,
        is_fed,
        call,
        whole: _,
    } = run;
    facts::Run {
        words: words.iter().map(arg).collect(),
        assignments: assignments.iter().map(|(name, value)| (name.clone(), arg(value))).collect(),
        redirections: redirections
            .iter()
            .map(|it| facts::Redirection {
                descriptor: it.descriptor,
                mode: match it.mode {
                    hookbox_shell::Mode::Read => facts::Mode::Read,
                    hookbox_shell::Mode::Write => facts::Mode::Write,
                    hookbox_shell::Mode::Append => facts::Mode::Append,
                    hookbox_shell::Mode::Both => facts::Mode::Both,
                    hookbox_shell::Mode::Text => facts::Mode::Text,
                    hookbox_shell::Mode::Copy => facts::Mode::Copy,
                },
                target: arg(&it.target),
            })
            .collect(),
        directory: directory.clone(),
        elsewhere: elsewhere.clone(),
        place: match at_place {
            hookbox_shell::Place::Here => facts::Place::Here,
            hookbox_shell::Place::Remote => facts::Place::Remote,
            hookbox_shell::Place::Container => facts::Place::Container,
            hookbox_shell::Place::NewContainer => facts::Place::NewContainer,
        },
        via: via.clone(),
        input: input.iter().map(|it| place(*it)).collect(),
        inner: (place(inner.start), place(inner.end)),
        is_fed: *is_fed,
        call: call.clone(),
        whole: at,
    }
}

fn arg(arg: &Arg) -> facts::Arg {
    facts::Arg {
        text: arg.text.clone(),
        sort: match arg.sort {
            hookbox_shell::Sort::Plain => facts::Sort::Plain,
            hookbox_shell::Sort::Pattern => facts::Sort::Pattern,
            hookbox_shell::Sort::Unknown => facts::Sort::Unknown,
            hookbox_shell::Sort::Input => facts::Sort::Input,
        },
    }
}

/// The place of a command: there are a few thousand at most.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl work_tree::Host for CallState {
    async fn tree(&mut self, directory: String) -> wasmtime::Result<Option<work_tree::TreeState>> {
        let asked = || format!("work_tree.tree {directory:?}");
        let Some((trees, directory)) = self.work_trees(&directory, true).await else { return Ok(None) };
        let outside = async {
            let Some(tree) = trees.tree(&directory).await else { return Ok(Told::nothing(&trees)) };
            let Tree { root, linked, changed, untracked, branch } = tree;
            // A name that is not Unicode cannot be said, so nothing is said about it.
            let root = root.into_os_string().into_string().ok();
            Ok(Told::Answer(root.map(|root| work_tree::TreeState {
                root,
                linked,
                changed,
                untracked,
                branch,
            })))
        };
        let told = self.tape.take(asked, outside).await?;
        Ok(self.answer(told))
    }

    async fn is_pushed(&mut self, directory: String, reference: String) -> wasmtime::Result<Option<bool>> {
        let asked = || format!("work_tree.is_pushed {directory:?} {reference:?}");
        let Some((trees, directory)) = self.work_trees(&directory, true).await else { return Ok(None) };
        let outside = async {
            let is_pushed = trees.is_pushed(&directory, &reference).await;
            Ok(is_pushed.map_or_else(|| Told::nothing(&trees), |it| Told::Answer(Some(it))))
        };
        let told = self.tape.take(asked, outside).await?;
        Ok(self.answer(told))
    }

    async fn path(&mut self, path: String) -> wasmtime::Result<Option<work_tree::PathState>> {
        // A guard asks before most writes, and a warning for each would be noise.
        let asked = || format!("work_tree.path {path:?}");
        let Some((trees, path)) = self.work_trees(&path, false).await else { return Ok(None) };
        let outside = async {
            let Some(PathState { kind, id, tracked, changed, ignored }) = trees.path(&path).await else {
                return Ok(None);
            };
            let kind = match kind {
                PathKind::Missing => work_tree::PathKind::Missing,
                PathKind::File => work_tree::PathKind::File,
                PathKind::Directory => work_tree::PathKind::Directory,
                PathKind::Link => work_tree::PathKind::Link,
                PathKind::Other => work_tree::PathKind::Other,
            };
            Ok(Some(work_tree::PathState { kind, id, tracked, changed, ignored }))
        };
        self.tape.take(asked, outside).await
    }
}

/// The answer of git, or the absence of one.
enum Told<T> {
    Answer(Option<T>),
    /// There is no git that can be asked, which the user is told.
    NoGit,
}

/// The form of [`Told::NoGit`] in a record.
const NO_GIT: &str = "no git";

impl<T> Told<T> {
    fn nothing(trees: &WorkTrees) -> Self {
        if trees.has_git() { Self::Answer(None) } else { Self::NoGit }
    }
}

impl<T: Taped> Taped for Told<T> {
    fn write(&self) -> Value {
        match self {
            Self::Answer(answer) => answer.write(),
            Self::NoGit => json!(NO_GIT),
        }
    }

    fn read(got: &Value) -> Option<Self> {
        if got == NO_GIT { Some(Self::NoGit) } else { Taped::read(got).map(Self::Answer) }
    }
}

impl Taped for work_tree::TreeState {
    fn write(&self) -> Value {
        let Self { root, linked, changed, untracked, branch } = self;
        json!({
            "root": root, "linked": linked, "changed": changed, "untracked": untracked, "branch": branch,
        })
    }

    fn read(got: &Value) -> Option<Self> {
        Some(Self {
            root: Taped::read(got.get("root")?)?,
            linked: Taped::read(got.get("linked")?)?,
            changed: Taped::read(got.get("changed")?)?,
            untracked: Taped::read(got.get("untracked")?)?,
            branch: Taped::read(got.get("branch")?)?,
        })
    }
}

/// Every kind, for its name.
const KINDS: [(work_tree::PathKind, &str); 5] = [
    (work_tree::PathKind::Missing, "missing"),
    (work_tree::PathKind::File, "file"),
    (work_tree::PathKind::Directory, "directory"),
    (work_tree::PathKind::Link, "link"),
    (work_tree::PathKind::Other, "other"),
];

impl Taped for work_tree::PathState {
    fn write(&self) -> Value {
        let kind = KINDS.iter().find(|(kind, _)| *kind == self.kind).map(|(_, name)| *name);
        let (id, tracked, changed, ignored) = (self.id, self.tracked, self.changed, self.ignored);
        json!({ "kind": kind, "id": id, "tracked": tracked, "changed": changed, "ignored": ignored })
    }

    fn read(got: &Value) -> Option<Self> {
        let kind = got.get("kind")?.as_str()?;
        Some(Self {
            kind: KINDS.iter().find(|(_, name)| *name == kind)?.0,
            // A journal of before has none.
            id: got.get("id").and_then(Value::as_u64),
            tracked: Taped::read(got.get("tracked")?)?,
            changed: Taped::read(got.get("changed")?)?,
            ignored: Taped::read(got.get("ignored")?)?,
        })
    }
}

impl CallState {
    /// Returns the repository of the event and the absolute form of a path, if the hook has the right to see them.
    async fn work_trees(&mut self, path: &str, is_loud: bool) -> Option<(Arc<WorkTrees>, PathBuf)> {
        self.breathe(path.len()).await;
        if !self.access.rights.has(&Capability::WorkTree) {
            if is_loud {
                self.deny(&Capability::WorkTree);
            }
            return None;
        }
        let cwd = Path::new(self.cwd()?).to_owned();
        let (wall, git) = (self.wall, self.access.git.as_deref());
        let trees = self.trees.get_or_insert_with(|| Arc::new(WorkTrees::of(&cwd, git, wall)));
        Some((Arc::clone(trees), cwd.join(path)))
    }

    /// Returns the answer of git. Without a git it notes that the right is of no use.
    fn answer<T>(&mut self, told: Told<T>) -> Option<T> {
        match told {
            Told::Answer(answer) => answer,
            Told::NoGit => {
                let right = Capability::WorkTree.to_string();
                self.denied.push(Denial { right, fix: NO_GIT_FIX.to_owned() });
                None
            }
        }
    }
}
