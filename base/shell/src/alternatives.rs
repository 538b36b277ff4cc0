//! Commands that may not run: what they change may be so, or as it was before.

use super::machine::{Chain, Machine, unknown};
use super::tree::{Node, Pipeline};
use super::{Arg, Sort};

/// The other directories that a command may run in, and the values of variables that differ.
const MAX_ELSEWHERE: usize = 8;
const MAX_VALUES: usize = 64;

/// The longest value that is kept.
const MAX_VALUE: usize = 4096;

impl Machine<'_> {
    /// Begins a command of a chain.
    pub(crate) fn begin(&mut self, chain: &mut Chain, pipeline: &Pipeline) {
        let may_not_run = pipeline.after_success || pipeline.after_failure;
        if may_not_run && chain.before.is_none() && !self.scope.variables.is_empty() {
            chain.before = Some(self.copied_scope());
        }
        chain.directory.clone_from(&self.scope.directory);
    }

    /// Ends a command of a chain, before this one.
    pub(crate) fn end(&mut self, chain: &mut Chain, next: Option<&Pipeline>) {
        if chain.directory != self.scope.directory {
            chain.left.extend(chain.directory.take());
        }
        let goes_on = next.is_some_and(|it| it.after_success);
        if !goes_on {
            let left = std::mem::take(&mut chain.left);
            // Behind `cd x || exit` nothing else is run in the old directory.
            if !next.is_some_and(|it| it.after_failure && exits(it)) {
                left.into_iter().for_each(|it| self.may_be_in(Some(it)));
            }
        }
        if next.is_some_and(|it| it.after_success || it.after_failure) {
            return;
        }
        let Some(before) = chain.before.take() else { return };
        for (name, value) in before.variables {
            if self.scope.variables.get(&name).is_some_and(|now| *now != value) {
                self.differs(name, &value);
            }
        }
    }

    /// Makes a variable unknown that may have this value, or the one that it has now.
    pub(crate) fn differs(&mut self, name: String, value: &[Arg]) {
        let text = format!("${name}");
        let now = self.scope.variables.insert(name.clone(), vec![unknown(&text)]).unwrap_or_default();
        for value in [value, &now] {
            let joined = value.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" ");
            if value.iter().all(|it| matches!(it.sort, Sort::Plain | Sort::Pattern)) {
                self.may_be(&name, &joined);
            }
        }
    }

    /// Adds a value that a variable may have.
    pub(crate) fn may_be(&mut self, name: &str, value: &str) {
        let all = &mut self.reading.values;
        let is_new = || all.iter().all(|it| (it.0.as_str(), it.1.as_str()) != (name, value));
        if all.len() < MAX_VALUES && value.len() < MAX_VALUE && is_new() {
            all.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Adds a directory that the shell may be in.
    pub(crate) fn may_be_in(&mut self, directory: Option<String>) {
        let Some(directory) = directory else { return };
        let all = &mut self.scope.elsewhere;
        if all.len() < MAX_ELSEWHERE && !all.contains(&directory) {
            all.push(directory);
        }
    }
}

/// Returns true if a command ends the shell.
fn exits(pipeline: &Pipeline) -> bool {
    let Some(Node::Simple { words, .. }) = pipeline.stages.first().map(|it| &it.node) else { return false };
    words.first().and_then(|it| it.bare()).is_some_and(|it| matches!(it, "exit" | "return" | "break"))
}

#[cfg(test)]
mod tests;
