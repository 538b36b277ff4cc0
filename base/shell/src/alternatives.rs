//! Commands that may not run: what they change may be so, or as it was before.

use std::rc::Rc;

use super::machine::{Feed, Machine, SIZE, Scope, size, unknown};
use super::tree::{List, Node, Pipeline, Stage, Word};
use super::{Arg, Sort};

/// The other directories that a command may run in, and the values of variables that differ.
const MAX_ELSEWHERE: usize = 8;
const MAX_VALUES: usize = 64;

/// The longest value that is kept.
const MAX_VALUE: usize = 4096;

impl Machine<'_> {
    /// Follows commands with `&&` and `||` between them.
    pub(crate) fn chain(&mut self, chain: &[Pipeline], feed: &Feed, output: &mut Option<String>) {
        let (mut before, mut is_sure, mut has_other) = (None, true, false);
        let outer = self.needs;
        for (at, pipeline) in chain.iter().enumerate() {
            let may_not_run = at > 0 && !(is_sure && pipeline.after_success);
            if may_not_run && before.is_none() {
                before = Some(self.copied_scope());
            }
            let (directory, elsewhere) = (self.scope.directory.clone(), self.scope.elsewhere.clone());
            // A command behind `&&` runs in none of them, and one behind `||` may run in each.
            let left = std::mem::take(&mut self.scope.left);
            if pipeline.after_failure {
                left.iter().for_each(|it| self.may_be_in(Some(it.clone())));
                if let Some(last) = left.last() {
                    let now = self.scope.directory.replace(last.clone());
                    self.may_be_in(now.filter(|_| at > 1));
                }
            }
            // Behind `||`, either side may have succeeded.
            has_other |= pipeline.after_failure;
            self.needs = self.needs.filter(|_| !has_other).or(outer);
            self.doubt(may_not_run, |it| it.printed_by(pipeline, feed, output));
            self.needs = self.only_command(pipeline).or(self.needs);
            if pipeline.after_failure {
                let now = std::mem::replace(&mut self.scope.directory, directory);
                if self.exits(pipeline) {
                    self.scope.elsewhere = elsewhere;
                } else if now != self.scope.directory {
                    self.may_be_in(now);
                }
                self.settle();
            } else {
                left.into_iter().for_each(|it| self.may_have_left(Some(it)));
                if may_not_run && directory != self.scope.directory {
                    self.may_have_left(directory);
                }
            }
            is_sure &= !pipeline.after_failure && self.scope.left.is_empty() && succeeds(pipeline);
        }
        self.needs = outer;
        // With `set -e` a script ends at such a command. A list in another one may be a condition.
        let ends = self.scope.variables.get("-e").and_then(|it| it.first()).is_some_and(|it| it.text == "on");
        if ends && chain.len() == 1 && self.nesting == 1 {
            self.scope.left.clear();
        }
        if let Some(before) = before {
            self.meet_values(&before);
        }
    }

    /// Follows something that may not run.
    pub(crate) fn doubt<T>(&mut self, may_not_run: bool, follow: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.is_doubtful;
        self.is_doubtful |= may_not_run;
        let found = follow(self);
        self.is_doubtful = before;
        found
    }

    /// Follows commands behind a condition, and goes back. Returns the shell at their end, and what they print.
    pub(crate) fn branch(&mut self, body: &List, feed: &Feed) -> (Scope, Option<String>) {
        let before = self.copied_scope();
        self.scope.left.clear();
        let output = self.doubt(true, |it| it.list(body, feed));
        self.settle();
        (std::mem::replace(&mut self.scope, before), output)
    }

    /// Goes on behind commands of which one ran. What they do not agree about is unknown.
    pub(crate) fn meet(&mut self, ends: Vec<Scope>, is_one_of_them: bool) {
        let mut ends = ends;
        self.settle();
        if is_one_of_them && let Some(last) = ends.pop() {
            self.scope = last;
        }
        for end in ends {
            self.meet_values(&end);
            end.elsewhere.into_iter().for_each(|it| self.may_be_in(Some(it)));
            if end.directory != self.scope.directory {
                let now = self.scope.directory.take();
                self.may_be_in(now);
                self.may_be_in(end.directory);
            }
        }
    }

    /// Goes on with the variables and parameters of this shell or of another one.
    pub(crate) fn meet_values(&mut self, other: &Scope) {
        if self.scope.parameters != other.parameters {
            let of = |scope: &Scope| scope.parameters.as_ref().map_or(0, Vec::len);
            let count = of(&self.scope).max(of(other));
            self.charge(count * SIZE);
            let same = |at: usize| {
                let [a, b] = [&self.scope, other].map(|it| it.parameters.as_ref().and_then(|it| it.get(at)));
                // One that was set in one case only is the only one that is known.
                let one = if a.is_none() || a == b { b } else { a.filter(|_| b.is_none()) };
                one.cloned().unwrap_or_else(|| unknown(&format!("${at}")))
            };
            self.scope.parameters = Some((0..count).map(same).collect());
        }
        if Rc::ptr_eq(&self.scope.variables, &other.variables) {
            return;
        }
        for (name, value) in other.variables.iter() {
            self.charge(name.len() + SIZE);
            match self.scope.variables.get(name) {
                Some(now) if now == value => {}
                // A value that was set in one case only is the only one that is known.
                None if self.initial(name).is_none() => {
                    self.charge(size(value));
                    self.variables().insert(name.clone(), value.clone());
                }
                _ => self.differs(name.clone(), value),
            }
        }
    }

    /// Makes a variable unknown that may have this value, or the one that it has now.
    pub(crate) fn differs(&mut self, name: String, value: &[Arg]) {
        let text = format!("${name}");
        let now = self.variables().insert(name.clone(), vec![unknown(&text)]).unwrap_or_default();
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

    /// Adds a directory that the shell is in if the last command failed.
    pub(crate) fn may_have_left(&mut self, directory: Option<String>) {
        if self.scope.left.len() < MAX_ELSEWHERE {
            self.scope.left.extend(directory);
        }
    }

    /// Goes on behind a command that may have failed.
    pub(crate) fn settle(&mut self) {
        for directory in std::mem::take(&mut self.scope.left) {
            self.may_be_in(Some(directory));
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

    /// Returns the place of the command that a pipeline is, if it succeeds when that one does.
    fn only_command(&self, pipeline: &Pipeline) -> Option<usize> {
        let word = first_word(pipeline).filter(|_| !pipeline.is_negated)?;
        let is_own = !self.functions.contains_key(word) && !self.aliases.contains_key(word);
        let at = self.reading.runs.len().checked_sub(1)?;
        let run = self.reading.runs.get(at).filter(|it| is_own && it.via == self.via)?;
        run.words.first().is_some_and(|it| it.text == word).then_some(at)
    }

    /// Returns true if a command ends the shell, or the function that is running.
    fn exits(&self, pipeline: &Pipeline) -> bool {
        match pipeline.stages.as_slice() {
            [Stage { node: Node::Group(list), .. }] => {
                list.pipelines.split_last().is_some_and(|(last, before)| {
                    !last.after_failure && self.exits(last) && before.iter().all(succeeds)
                })
            }
            _ => match first_word(pipeline) {
                Some("return") => !self.calls.is_empty(),
                word => word == Some("exit") && !self.functions.contains_key("exit"),
            },
        }
    }
}

/// Returns the first word of a pipeline that is one command.
fn first_word(pipeline: &Pipeline) -> Option<&str> {
    let [Stage { node: Node::Simple { words, .. }, .. }] = pipeline.stages.as_slice() else { return None };
    words.first()?.bare().filter(|_| !pipeline.background)
}

/// Returns true for a command that does not fail, or only for reasons that nobody thinks of.
fn succeeds(pipeline: &Pipeline) -> bool {
    let [Stage { node: Node::Simple { words, .. }, .. }] = pipeline.stages.as_slice() else { return false };
    let makes_parents = || words.iter().filter_map(Word::bare).any(|it| it.starts_with("-p"));
    match first_word(pipeline) {
        None => words.is_empty(),
        Some("mkdir") => makes_parents(),
        Some(word) => matches!(word, "true" | ":" | "echo" | "printf" | "export" | "cd" | "pwd"),
    }
}

#[cfg(test)]
mod tests;
