//! Clocks, random numbers and waiting, with the tape of the call in between. wasmtime implements them.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::clocks::WasiClocksView as _;
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::bindings::io::poll::{Host as _, HostPollable as _};
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

use crate::wasm::state::CallState;
use crate::wasm::tape::Taped;

/// The interfaces whose functions are replaced, in the version that wasmtime links.
const WALL_CLOCK: &str = "wasi:clocks/wall-clock@0.2.12";
const MONOTONIC_CLOCK: &str = "wasi:clocks/monotonic-clock@0.2.12";
const RANDOM: &str = "wasi:random/random@0.2.12";
const INSECURE: &str = "wasi:random/insecure@0.2.12";
const INSECURE_SEED: &str = "wasi:random/insecure-seed@0.2.12";
const POLL: &str = "wasi:io/poll@0.2.12";

/// Replaces the functions, after wasmtime's own were linked.
pub(super) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    clocks(linker)?;
    random_numbers(linker)?;
    waiting(linker)
}

type Store<'a> = StoreContextMut<'a, CallState>;

/// Returns the answer of the tape, or of the world outside.
fn take<T: Taped>(
    store: &mut Store<'_>,
    asked: &str,
    outside: impl FnOnce(&mut CallState) -> wasmtime::Result<T>,
) -> wasmtime::Result<(T,)> {
    let state = store.data_mut();
    let tape = state.tape.clone();
    Ok((tape.take_now(asked, || outside(state))?,))
}

fn clocks(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker.instance(WALL_CLOCK)?.func_wrap("now", |mut store: Store<'_>, (): ()| {
        let ((seconds, nanoseconds),) = take(&mut store, "clock.wall", |state| {
            let now = wall_clock::Host::now(&mut state.clocks())?;
            Ok((now.seconds, now.nanoseconds))
        })?;
        Ok((wall_clock::Datetime { seconds, nanoseconds },))
    })?;
    let mut monotonic = linker.instance(MONOTONIC_CLOCK)?;
    monotonic.func_wrap("now", |mut store: Store<'_>, (): ()| {
        take(&mut store, "clock.monotonic", |state| monotonic_clock::Host::now(&mut state.clocks()))
    })?;
    monotonic.func_wrap("subscribe-instant", |mut store: Store<'_>, (when,): (u64,)| {
        timer(&mut store, |state| monotonic_clock::Host::subscribe_instant(&mut state.clocks(), when))
    })?;
    monotonic.func_wrap("subscribe-duration", |mut store: Store<'_>, (time,): (u64,)| {
        timer(&mut store, |state| monotonic_clock::Host::subscribe_duration(&mut state.clocks(), time))
    })?;
    Ok(())
}

/// Returns a timer. The record tells which of them were ready, so nobody waits for the time again.
fn timer(
    store: &mut Store<'_>,
    outside: impl FnOnce(&mut CallState) -> wasmtime::Result<Resource<DynPollable>>,
) -> wasmtime::Result<(Resource<DynPollable>,)> {
    let state = store.data_mut();
    Ok((if state.tape.is_played() { ready(state)? } else { outside(state)? },))
}

fn random_numbers(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let mut secure = linker.instance(RANDOM)?;
    secure.func_wrap("get-random-bytes", |mut store: Store<'_>, (length,): (u64,)| {
        take(&mut store, "random.bytes", |state| random::Host::get_random_bytes(state.wasi_random(), length))
    })?;
    secure.func_wrap("get-random-u64", |mut store: Store<'_>, (): ()| {
        take(&mut store, "random.u64", |state| random::Host::get_random_u64(state.wasi_random()))
    })?;
    let mut insecure = linker.instance(INSECURE)?;
    insecure.func_wrap("get-insecure-random-bytes", |mut store: Store<'_>, (length,): (u64,)| {
        take(&mut store, "random.insecure.bytes", |state| {
            insecure::Host::get_insecure_random_bytes(state.wasi_random(), length)
        })
    })?;
    insecure.func_wrap("get-insecure-random-u64", |mut store: Store<'_>, (): ()| {
        take(&mut store, "random.insecure.u64", |state| {
            insecure::Host::get_insecure_random_u64(state.wasi_random())
        })
    })?;
    linker.instance(INSECURE_SEED)?.func_wrap("insecure-seed", |mut store: Store<'_>, (): ()| {
        take(&mut store, "random.seed", |state| insecure_seed::Host::insecure_seed(state.wasi_random()))
    })?;
    Ok(())
}

/// The order in which events are ready is an input. A call that is played waits for those that were ready.
fn waiting(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let mut poll = linker.instance(POLL)?;
    poll.func_wrap_async("poll", |mut store, (all,): (Vec<Resource<DynPollable>>,)| {
        Box::new(async move {
            let state: &mut CallState = store.data_mut();
            if !state.tape.is_played() {
                let ready = state.table.poll(all).await?;
                if state.tape.is_on() {
                    state.tape.record("poll".to_owned(), ready.write());
                }
                return Ok((ready,));
            }
            let ready: Vec<u32> = state.tape.play("poll")?;
            for at in &ready {
                if let Some(one) = all.get(*at as usize) {
                    state.table.block(Resource::new_borrow(one.rep())).await?;
                }
            }
            Ok((ready,))
        })
    })?;
    poll.func_wrap_async("[method]pollable.ready", |mut store, (one,): (Resource<DynPollable>,)| {
        Box::new(async move {
            let state: &mut CallState = store.data_mut();
            let (tape, rep) = (state.tape.clone(), one.rep());
            let is_ready = tape.take(|| "ready".to_owned(), state.table.ready(one)).await?;
            if is_ready && tape.is_played() {
                state.table.block(Resource::new_borrow(rep)).await?;
            }
            Ok((is_ready,))
        })
    })?;
    Ok(())
}

/// An event that has happened.
struct Past;

#[wasmtime_wasi::async_trait]
impl Pollable for Past {
    async fn ready(&mut self) {}
}

fn ready(state: &mut CallState) -> wasmtime::Result<Resource<DynPollable>> {
    let past = state.table.push(Past)?;
    subscribe(&mut state.table, past)
}
