//! The host's side of the import `facts`: lines and calls, read as the host reads them.

mod reading;

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
            Ok((reading::reading(&*paid(&mut store, line.len(), read).await?),))
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
            Ok((reading::call_facts(paid(&mut store, input, read).await?),))
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
        Ok(reading::reading(&self.commands_of(&line)))
    }

    /// [`link`] replaces it.
    async fn read_call(&mut self) -> wasmtime::Result<facts::CallFacts> {
        std::future::ready(()).await;
        Ok(reading::call_facts(self.facts_of_call()))
    }
}
