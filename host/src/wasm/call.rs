//! One call into a component, within its budget, and the meaning of its failures.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use tokio::sync::Semaphore;
use wasmtime::component::{ComponentExportIndex, Instance, InstancePre, ResourceTableError, TypedFunc};
use wasmtime::{Store, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use super::access::Access;
use super::bindings::hookbox::hook::types::{Context, Event, Manifest, Response};
use super::bindings::{HookHost, HookHostPre};
use super::clock;
use super::state::{self, CallState, Clock};
use crate::hook::{Budget, Cause, HookError, LimitKind, STACK, Settings};
use crate::outcome::Spent;
use hookbox_system::text;

/// The export with the functions of a hook. The name finds those of its patch versions as well.
const HOOK: &str = "hookbox:hook/hook@0.2.0";

/// The parameters and the result of `run`.
type Params<'a> = (&'a Context, &'a Event);
type Returned = (Result<Response, String>,);

/// A component that is linked, ready for calls.
pub(super) struct Prepared {
    pre: InstancePre<CallState>,
    slots: Arc<Semaphore>,
    /// The export `run`.
    run: ComponentExportIndex,
    /// True after an instance has shown that `run` has its type.
    is_checked: AtomicBool,
}

impl Prepared {
    /// Checks that a linked component exports a hook.
    pub(super) fn new(pre: InstancePre<CallState>, slots: Arc<Semaphore>) -> wasmtime::Result<Self> {
        HookHostPre::new(pre.clone())?;
        let component = pre.component();
        let hook = component.get_export_index(None, HOOK);
        let run = hook.and_then(|hook| component.get_export_index(Some(&hook), "run"));
        let run = run.ok_or_else(|| wasmtime::format_err!("{HOOK} exports no `run`"))?;
        Ok(Self { pre, slots, run, is_checked: AtomicBool::new(false) })
    }

    /// Asks an instance of this component for its manifest.
    pub(super) async fn describe(
        &self,
        store: &mut Store<CallState>,
        instance: &Instance,
    ) -> wasmtime::Result<Manifest> {
        HookHost::new(&mut *store, instance)?.hookbox_hook_hook().call_describe(store).await
    }

    /// Calls the function `run` of an instance of this component. Only the first instance checks its type: the check
    /// takes a twelfth of a call.
    #[allow(unsafe_code, reason = "the type is checked once for all instances; see SAFETY")]
    pub(super) async fn run(
        &self,
        store: &mut Store<CallState>,
        instance: &Instance,
        event: Params<'_>,
    ) -> wasmtime::Result<Result<Response, String>> {
        let function = instance.get_func(&mut *store, self.run);
        let function = function.ok_or_else(|| wasmtime::format_err!("`run` is not a function"))?;
        let is_checked = self.is_checked.load(Ordering::Relaxed);
        if !is_checked {
            function.typed::<Params<'_>, Returned>(&store)?;
            self.is_checked.store(true, Ordering::Relaxed);
        }
        // SAFETY: the signature has been checked, because `is_checked` is set only after that. All instances have it:
        // `Prepared::call` makes them from one `InstancePre`, which fixes the component with its types and the imported
        // resource types, and `self.run` names one export of that component.
        let run = unsafe { TypedFunc::<_, Returned>::new_unchecked(function) };
        Ok(run.call_async(store, event).await?.0)
    }

    /// Makes a fresh instance and runs `body` with it. The budget's fuel, memory and wall-clock time count
    /// from the start of the instantiation to the end of `body`. Waiting for a free slot does not count. The
    /// time that other tasks have the thread counts for a guest that computes much ([`clock`]).
    ///
    /// # Errors
    ///
    /// As [`HookError`] says; with the resources that the call had used.
    pub(super) async fn call<R>(
        &self,
        budget: &Budget,
        settings: Arc<Settings>,
        access: Arc<Access>,
        clock: Clock,
        body: impl AsyncFnOnce(&Instance, &mut Store<CallState>) -> wasmtime::Result<R>,
    ) -> Result<(R, Spent), HookError> {
        let _slot = self.slots.acquire().await.map_err(internal)?;
        let state = CallState::new(budget, settings, access, clock);
        let mut store = state::store(self.pre.engine(), state, budget).map_err(internal)?;
        let run = async {
            let instance = self.pre.instantiate_async(&mut store).await?;
            body(&instance, &mut store).await
        };
        // Fuel makes a computing guest yield, and a guest that waits in a host call waits in a future. So the
        // deadline ends both by dropping them. Nothing else interrupts a host call.
        let ended = clock::within(budget.wall, run).await;
        let spent = state::spent(&store, budget);
        if let Some(difference) = store.data().tape.difference() {
            return Err(internal(difference).spent(spent));
        }
        match ended {
            Ok(Ok(result)) => Ok((result, spent)),
            Ok(Err(error)) => Err(failure(&error, store.data(), budget, &spent).spent(spent)),
            Err(_) => Err(HookError::timeout(budget.wall).spent(spent)),
        }
    }
}

pub(super) fn internal(error: impl std::fmt::Display) -> HookError {
    HookError::new(Cause::Internal, error.to_string())
}

/// Returns the meaning of the error that ended a call.
fn failure(error: &wasmtime::Error, state: &CallState, budget: &Budget, spent: &Spent) -> HookError {
    let exceeded = |cause, of, limit: usize, used, what: String| {
        HookError::exceeded(cause, of, limit as u64, used, what)
    };
    if let Some(printed) = state.printed_too_much() {
        return HookError::output_limit(budget.output, printed);
    }
    if copied_too_much(error) {
        let limit = budget.hostcall_copies;
        let what = format!("passed more than {limit} bytes to the host");
        return exceeded(Cause::OutputLimit, LimitKind::Copies, limit, None, what);
    }
    if let Some(I32Exit(status)) = error.downcast_ref::<I32Exit>() {
        return HookError::new(Cause::Exit, format!("ended itself with exit status {status}"));
    }
    if let Some(ResourceTableError::Full) = error.downcast_ref::<ResourceTableError>() {
        let what = format!("wanted more than {} handles", budget.handles);
        let used = Some(budget.handles as u64 + 1);
        return exceeded(Cause::Memory, LimitKind::Handles, budget.handles, used, what);
    }
    let trap = error.downcast_ref::<Trap>();
    if trap == Some(&Trap::OutOfFuel) {
        let what = format!("used up its fuel of {}", budget.fuel);
        return HookError::exceeded(Cause::Fuel, LimitKind::Fuel, budget.fuel, spent.fuel, what);
    }
    // A guest that is refused memory aborts in some way of its own, so this comes before every other trap.
    if let Some(wanted) = state.memory.refused {
        let what = format!("wanted {wanted} bytes of memory, {} are allowed", budget.memory);
        return HookError::exceeded(Cause::Memory, LimitKind::Memory, budget.memory, Some(wanted), what);
    }
    if let Some(wanted) = state.memory.refused_elements {
        let what = format!("wanted {wanted} elements in tables, {} are allowed", budget.tables);
        return exceeded(Cause::Memory, LimitKind::Tables, budget.tables, Some(wanted), what);
    }
    if is_of_system(error) {
        return internal(format!("cannot run now: {}", root(error)));
    }
    if trap == Some(&Trap::StackOverflow) {
        let what = format!("used up its stack of {STACK} bytes{}", place(error, spent));
        return exceeded(Cause::Trap, LimitKind::Stack, STACK, None, what);
    }
    match trap {
        Some(trap) => HookError::new(Cause::Trap, format!("{trap}{}", place(error, spent))),
        None if error.downcast_ref::<WasmBacktrace>().is_some() => {
            HookError::new(Cause::Trap, format!("{}{}", text::escape(&root(error), 200), place(error, spent)))
        }
        // The guest has returned, but its result does not fit the interface.
        None => HookError::new(
            Cause::MalformedOutput,
            format!("its answer cannot be read: {}", text::escape(&root(error), 200)),
        ),
    }
}

/// Returns true if the system refused memory or a file. That is no fault of the component, and the next try may pass.
pub(super) fn is_of_system(error: &wasmtime::Error) -> bool {
    let root = error.root_cause();
    root.is::<Errno>() || root.is::<io::Error>()
}

fn root(error: &wasmtime::Error) -> String {
    error.root_cause().to_string()
}

/// Returns whether the guest passed more data than host calls and answers may copy.
///
/// This is the one place that reads a text of wasmtime's: its type (`HostcallFuelExhausted`) is private. A
/// test keeps the wording. If it changed, such an answer would be `malformed_output` instead, and still
/// refused.
fn copied_too_much(error: &wasmtime::Error) -> bool {
    root(error).contains("fuel allocated for hostcalls has been exhausted")
}

/// Returns the place of a trap, and the last line of the log: of a Rust guest that is the panic's message.
fn place(error: &wasmtime::Error, spent: &Spent) -> String {
    let function = error
        .downcast_ref::<WasmBacktrace>()
        .and_then(|trace| trace.frames().first())
        .and_then(|frame| frame.func_name())
        .map(|name| format!(" in {}", text::escape(name, 80)));
    let said = spent.log.lines().rev().find(|line| !line.trim().is_empty() && !line.starts_with("note: "));
    let said = said.map(|line| format!(": {}", text::escape(line, 200)));
    format!("{}{}", function.unwrap_or_default(), said.unwrap_or_default())
}
