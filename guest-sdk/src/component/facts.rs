//! CallFacts, over the imports `facts` and `work-tree`.

use std::sync::Arc;

use hookbox_calls::{CallFacts, File, FileUse};
use hookbox_shell::{Arg, Code, Mode, Place, Reading, Redirection, Run, Sort, Unread};

use super::bindings::hookbox::hook::{facts as wit, work_tree};
use crate::work_tree::state::{PathKind, PathState, Tree};

pub(crate) fn read_line(line: &str) -> Reading {
    let wit::Reading { runs, commands, code, values, unread, multiplies } = wit::read_line(line);
    let commands: Vec<Arc<[Arg]>> =
        commands.into_iter().map(|it| it.into_iter().map(arg).collect()).collect();
    let of_code = |it: wit::Code| Code { language: it.language, text: it.text, run: it.run as usize };
    Reading {
        runs: runs.into_iter().map(|it| run(it, &commands)).collect(),
        code: code.into_iter().map(of_code).collect(),
        values,
        unread: unread
            .into_iter()
            .map(|it| match it {
                wit::Unread::Syntax => Unread::Syntax,
                wit::Unread::Limit => Unread::Limit,
                wit::Unread::Values => Unread::Values,
                wit::Unread::Script => Unread::Script,
                wit::Unread::Program => Unread::Program,
            })
            .collect(),
        multiplies,
    }
}

pub(crate) fn read_call() -> CallFacts {
    let wit::CallFacts { lines, files } = wit::read_call();
    let file = |it: wit::File| File {
        path: it.path,
        usage: match it.usage {
            wit::FileUse::Reads => FileUse::Reads,
            wit::FileUse::Writes => FileUse::Writes,
            wit::FileUse::Removes => FileUse::Removes,
            wit::FileUse::Moves => FileUse::Moves,
        },
        is_pattern: it.is_pattern,
        text: it.text,
    };
    CallFacts { lines, files: files.into_iter().map(file).collect() }
}

fn run(run: wit::Run, commands: &[Arc<[Arg]>]) -> Run {
    Run {
        words: run.words.into_iter().map(arg).collect(),
        assignments: run.assignments.into_iter().map(|(name, value)| (name, arg(value))).collect(),
        redirections: run
            .redirections
            .into_iter()
            .map(|it| Redirection {
                descriptor: it.descriptor,
                mode: match it.mode {
                    wit::Mode::Read => Mode::Read,
                    wit::Mode::Write => Mode::Write,
                    wit::Mode::Append => Mode::Append,
                    wit::Mode::Both => Mode::Both,
                    wit::Mode::Text => Mode::Text,
                    wit::Mode::Copy => Mode::Copy,
                },
                target: arg(it.target),
            })
            .collect(),
        directory: run.directory,
        elsewhere: run.elsewhere,
        place: match run.place {
            wit::Place::Here => Place::Here,
            wit::Place::Remote => Place::Remote,
            wit::Place::Container => Place::Container,
            wit::Place::NewContainer => Place::NewContainer,
        },
        via: run.via,
        input: run.input.into_iter().map(|it| it as usize).collect(),
        inner: run.inner.0 as usize..run.inner.1 as usize,
        is_fed: run.is_fed,
        needs: run.needs.map(|it| it as usize),
        is_sure: run.is_sure,
        call: run.call,
        whole: commands.get(run.whole as usize).cloned().unwrap_or_default(),
    }
}

fn arg(arg: wit::Arg) -> Arg {
    let sort = match arg.sort {
        wit::Sort::Plain => Sort::Plain,
        wit::Sort::Pattern => Sort::Pattern,
        wit::Sort::Unknown => Sort::Unknown,
        wit::Sort::Input => Sort::Input,
    };
    Arg { text: arg.text, sort }
}

pub(crate) fn tree(directory: &str) -> Option<Tree> {
    let found = work_tree::tree(directory)?;
    Some(Tree {
        root: found.root,
        linked: found.linked,
        changed: found.changed,
        untracked: found.untracked,
        branch: found.branch,
    })
}

pub(crate) fn is_pushed(directory: &str, reference: &str) -> Option<bool> {
    work_tree::is_pushed(directory, reference)
}

pub(crate) fn path(path: &str) -> Option<PathState> {
    let found = work_tree::path(path)?;
    let kind = match found.kind {
        work_tree::PathKind::Missing => PathKind::Missing,
        work_tree::PathKind::File => PathKind::File,
        work_tree::PathKind::Directory => PathKind::Directory,
        work_tree::PathKind::Link => PathKind::Link,
        work_tree::PathKind::Other => PathKind::Other,
    };
    Some(PathState {
        kind,
        id: found.id,
        tracked: found.tracked,
        changed: found.changed,
        ignored: found.ignored,
    })
}
