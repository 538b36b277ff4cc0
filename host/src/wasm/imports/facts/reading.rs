//! Readings and facts in the types of the interface. The component that gives facts to hooks in a service
//! (`guards/service/provider`) has this file as well.

use std::sync::Arc;

use hookbox_calls::FileUse;
use hookbox_shell::{Arg, Reading};

use super::facts;

/// Returns the facts of a call.
pub(super) fn call_facts(found: hookbox_calls::CallFacts) -> facts::CallFacts {
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

/// Returns a reading.
pub(super) fn reading(reading: &Reading) -> facts::Reading {
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
        needs,
        is_sure,
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
        needs: needs.map(place),
        is_sure: *is_sure,
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
