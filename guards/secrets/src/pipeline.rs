//! The commands that feed a command, or are fed by it.

use std::collections::BTreeSet;

use hookbox_shell::{Arg, Mode, Reading, Redirection, Run, assignment, base_name};

use crate::hides::{hides_all, hides_values, keeps_lines};
use crate::programs::{READERS, SENDERS, is_dump};

/// Returns true if the output of a command goes to a file, or to another descriptor.
pub(crate) fn has_output(run: &Run) -> bool {
    run.redirections.iter().any(|it| writes(it) || it.mode == Mode::Copy)
}

fn writes(redirection: &Redirection) -> bool {
    matches!(redirection.mode, Mode::Write | Mode::Append | Mode::Both)
}

/// The commands of a pipeline that are looked at one by one. A longer one hides nothing.
const MAX_MEMBERS: usize = 100;

/// The other commands of a pipeline.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipeline {
    /// One of them sends what it gets.
    pub(crate) sends: bool,
    /// One of them reads the files that it is given.
    pub(crate) reads: bool,
    /// One of them prints every variable, or the history.
    pub(crate) dumps: bool,
    /// Its output reaches the model, or a file.
    pub(crate) is_shown: bool,
    /// Its output goes to a file.
    pub(crate) is_kept: bool,
    /// True if the output does not have the contents of a file.
    pub(crate) hides_all: bool,
    /// True if the output has no values of variables.
    pub(crate) hides_values: bool,
}

/// The commands that share their data.
#[derive(Debug, Default)]
struct Flow {
    /// Their places in the reading.
    members: Vec<usize>,
    /// Their knowledge of each other.
    shared: Pipeline,
}

/// The pipelines of a line.
#[derive(Debug)]
pub(crate) struct Pipelines<'r> {
    reading: &'r Reading,
    /// The pipeline of each command.
    of: Vec<usize>,
    flows: Vec<Flow>,
    /// True for the commands whose output is the value of a variable.
    is_value: Vec<bool>,
    /// True for those whose output is variables for the programs of the line.
    is_exported: Vec<bool>,
}

impl<'r> Pipelines<'r> {
    /// Looks at each command of a line once.
    pub(crate) fn of(reading: &'r Reading) -> Self {
        let of = numbers(reading);
        let mut flows: Vec<Flow> = of.iter().map(|_| Flow::default()).collect();
        for ((place, run), number) in reading.runs.iter().enumerate().zip(&of) {
            let Some(flow) = flows.get_mut(*number) else { continue };
            flow.members.push(place);
            let words = run.texts();
            let Some((program, rest)) = words.split_first() else { continue };
            let program = base_name(program);
            flow.shared.sends |= SENDERS.contains(&program);
            let is_fed = run.via.iter().any(|it| it == "xargs" || it == "parallel");
            flow.shared.reads |= is_fed && READERS.contains(&program);
            let is_history = rest.iter().any(|word| word.ends_with("_history"));
            flow.shared.dumps |= is_dump(program, rest) || is_history && READERS.contains(&program);
        }
        let (is_value, is_exported) = (inside(reading, sets), inside(reading, exports));
        Self { reading, of, flows, is_value, is_exported }
    }

    /// Returns the pipeline of a command, as the command has it.
    pub(crate) fn at(&self, at: usize) -> Pipeline {
        let Some(flow) = self.of.get(at).and_then(|it| self.flows.get(*it)) else {
            return Pipeline::default();
        };
        let mut found = Pipeline { is_shown: true, ..flow.shared.clone() };
        found.is_kept = self.reading.runs.get(at).is_some_and(|it| it.redirections.iter().any(writes));
        if flow.members.len() <= MAX_MEMBERS {
            self.follow(at, &flow.members, &mut found);
        }
        let is = |list: &[bool]| list.get(at).is_some_and(|it| *it);
        found.is_shown &= !is(&self.is_value);
        found.hides_values |=
            is(&self.is_exported) && !found.sends && self.is_whole_export(at, &flow.members);
        found
    }

    /// Follows the output of a command through those that it feeds, directly or through others.
    fn follow(&self, at: usize, members: &[usize], found: &mut Pipeline) {
        let mut is_whole = true;
        let mut fed = BTreeSet::from([at]);
        for &place in members {
            let Some(run) = self.reading.runs.get(place) else { continue };
            if place != at && !run.input.iter().any(|it| fed.contains(it)) {
                continue;
            }
            let words = run.texts();
            let Some((program, rest)) = words.split_first() else { continue };
            let program = base_name(program);
            let keeps = keeps_lines(program) && !has_output(run);
            if place == at {
                is_whole = keeps;
                continue;
            }
            fed.insert(place);
            if is_whole && !has_output(run) {
                found.hides_all |= hides_all(program, rest);
                found.hides_values |= hides_values(program, rest);
            }
            is_whole &= keeps;
            found.is_shown &= READERS.contains(&program) || SENDERS.contains(&program) || program == "tee";
        }
    }

    /// Returns true if a pipeline in `export $(…)` only selects lines, and `xargs` joins them.
    fn is_whole_export(&self, at: usize, members: &[usize]) -> bool {
        members.len() <= MAX_MEMBERS
            && members.iter().filter_map(|it| self.reading.runs.get(*it)).all(|it| {
                let words = it.texts();
                let is_join = words.first() == Some(&"echo") && it.via.last().is_some_and(|it| it == "xargs");
                let keeps = is_join || words.first().is_some_and(|it| keeps_lines(it));
                it.inner.contains(&at) || !has_output(it) && keeps
            })
    }
}

/// Returns the number that each command shares with those that it may feed or be fed by.
fn numbers(reading: &Reading) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..reading.runs.len()).collect();
    let root = |numbers: &[usize], mut at: usize| {
        while let Some(next) = numbers.get(at).filter(|it| **it != at) {
            at = *next;
        }
        at
    };
    for (at, run) in reading.runs.iter().enumerate() {
        for other in run.input.iter().copied().chain(run.inner.clone()) {
            let (a, b) = (root(&numbers, at), root(&numbers, other));
            if let Some(place) = numbers.get_mut(a.max(b)) {
                *place = a.min(b);
            }
        }
    }
    (0..numbers.len()).map(|at| root(&numbers, at)).collect()
}

/// Returns for each command whether it is in a substitution of one of these.
fn inside(reading: &Reading, is_one: fn(&Run) -> bool) -> Vec<bool> {
    let mut found = vec![false; reading.runs.len()];
    for run in reading.runs.iter().filter(|it| !it.inner.is_empty() && is_one(it)) {
        found.get_mut(run.inner.clone()).into_iter().for_each(|it| it.fill(true));
    }
    found
}

/// Returns true if the substitutions of a command are values of variables only.
fn sets(run: &Run) -> bool {
    let is_value = |it: &&Arg| it.text.contains("$(") || it.text.contains('`');
    let mut values = run.whole.iter().filter(is_value).peekable();
    values.peek().is_some() && values.all(|it| assignment(&it.text).is_some())
}

/// Returns true if a command exports what its substitution prints.
fn exports(run: &Run) -> bool {
    matches!(run.texts().as_slice(), ["export", it] if it.starts_with("$(") && it.ends_with(')'))
}
