//! The host's side of the import `work-tree`: what git knows of the repository of the event.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::capability::{Capability, Denial};
use crate::wasm::bindings::hookbox::hook::work_tree;
use crate::wasm::state::CallState;
use crate::wasm::tape::Taped;
use crate::work_tree::{PathKind, PathState, Tree, WorkTrees};

/// The reason why no work tree has a state, and the next step.
const NO_GIT_FIX: &str = "there is no git that only root can change, so every work tree counts as changed: install git for the \
    system, and run `hookbox install` again";

impl work_tree::Host for CallState {
    async fn tree(&mut self, directory: String) -> wasmtime::Result<Option<work_tree::TreeState>> {
        let asked = || format!("work_tree.tree {directory:?}");
        let Some((trees, directory)) = self.work_trees(&directory, true).await else { return Ok(None) };
        let outside = async {
            let Some(tree) = trees.tree(&directory).await else { return Ok(Told::nothing(&trees)) };
            // A name that is not Unicode cannot be said, so nothing is said about it.
            Ok(Told::Answer(Some(tree).filter(|tree| tree.root.to_str().is_some())))
        };
        let told = self.tape.take(asked, outside).await?;
        Ok(self.answer(told).map(|Tree { root, linked, changed, untracked, branch }| {
            let root = root.to_string_lossy().into_owned();
            work_tree::TreeState { root, linked, changed, untracked, branch }
        }))
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
        let state = self.tape.take(asked, async { Ok(trees.path(&path).await) }).await?;
        Ok(state.map(|PathState { kind, id, tracked, changed, ignored }| {
            let kind = match kind {
                PathKind::Missing => work_tree::PathKind::Missing,
                PathKind::File => work_tree::PathKind::File,
                PathKind::Directory => work_tree::PathKind::Directory,
                PathKind::Link => work_tree::PathKind::Link,
                PathKind::Other => work_tree::PathKind::Other,
            };
            work_tree::PathState { kind, id, tracked, changed, ignored }
        }))
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
