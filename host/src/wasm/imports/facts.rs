//! The host's side of the import `facts`: lines and calls, read as the host reads them.

use std::sync::Arc;

use hookbox_calls::FileUse;
use hookbox_shell::{Arg, Reading};
use wasmtime::component::Linker;
use wasmtime::{StoreContextMut, Trap};

use crate::wasm::bindings::hookbox::hook::facts;
use crate::wasm::state::CallState;

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

/// The size of an argument or a command beside its texts, in bytes.
const ITEM: usize = 32;

/// Links the functions that read a line and the call, which take fuel from the store.
pub(super) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let mut instance = linker.instance(FACTS)?;
    instance.func_wrap_async("read-line", |mut store, (line,): (String,)| {
        Box::new(async move {
            let read = |state: &CallState| {
                let reading = state.commands_of(&line);
                let size = size(&reading);
                (reading, size)
            };
            Ok((self::reading(&*paid(&mut store, line.len(), read).await?),))
        })
    })?;
    instance.func_wrap_async("read-call", |mut store, (): ()| {
        Box::new(async move {
            let input = store.data().size_of_call();
            let read = |state: &CallState| {
                let found = state.facts_of_call();
                let file =
                    |it: &hookbox_calls::File| ITEM + it.path.len() + it.text.as_ref().map_or(0, String::len);
                let size = found.lines.iter().map(String::len).chain(found.files.iter().map(file)).sum();
                (found, size)
            };
            Ok((call_facts(paid(&mut store, input, read).await?),))
        })
    })
}

/// Reads for a guest, which pays for the size of the input before it is read, and for the size of the answer.
async fn paid<T>(
    store: &mut StoreContextMut<'_, CallState>,
    input: usize,
    read: impl FnOnce(&CallState) -> (T, usize),
) -> wasmtime::Result<T> {
    let price = CALL.saturating_add(BYTE.saturating_mul(input as u64));
    spend(store, price)?;
    let (answer, size) = read(store.data());
    let price_of_answer = ANSWER.saturating_mul(size as u64);
    spend(store, price_of_answer)?;
    let copied = price.saturating_add(price_of_answer) / FUEL_PER_COPY;
    store.data_mut().breathe(usize::try_from(copied).unwrap_or(usize::MAX)).await;
    Ok(answer)
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
    /// [`link`] replaces it.
    async fn read_line(&mut self, line: String) -> wasmtime::Result<facts::Reading> {
        std::future::ready(()).await;
        Ok(reading(&self.commands_of(&line)))
    }

    /// [`link`] replaces it.
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
