//! The state of one call: its WASI context, its limits, its log. It is made for the call and dropped with it.

use std::sync::Arc;
use std::time::Duration;

use hookbox_shell::Reading;
use wasmtime::component::ResourceTable;
use wasmtime::{ResourceLimiter, Store};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use super::access::Access;
use super::output::{Denials, Log, Sink};
use super::tape::Tape;
use crate::capability::Capability;
use crate::event::{Context, Event, Readings, ToolCall};
use crate::hook::{Budget, Settings};
use crate::outcome::Spent;
use crate::work_tree::WorkTrees;

/// The fuel after which guest code yields to the runtime (some tens of microseconds), so that a deadline can
/// fire and other tasks run. An ordinary hook ends before its first yield.
const YIELD_EVERY: u64 = 100_000;

/// The number of copied bytes after which a host call yields, each call counting for [`CALL`] of them. Host
/// calls cost the guest hardly any fuel, so one that copies much would hold up the thread between two yields.
const BREATHE_EVERY: usize = 64 << 10;
/// The cost of a host call, added to the bytes that it copies.
const CALL: usize = 64;

/// Random bytes that one host call may ask for: few, because making them costs the guest no fuel.
const MAX_RANDOM: u64 = 4 << 10;

/// The state of one call.
pub(super) struct CallState {
    /// Made when the guest first uses it: most hooks never do, and making it costs more than they compute.
    wasi: Option<WasiCtx>,
    clock: Clock,
    #[cfg(feature = "http")]
    http: Option<super::imports::http::Http>,
    /// The end of the call, if a clock can reach it.
    #[cfg(feature = "http")]
    deadline: Option<std::time::Instant>,
    pub(super) table: ResourceTable,
    pub(super) memory: MemoryLimiter,
    pub(super) settings: Arc<Settings>,
    /// The access of the hook.
    pub(super) access: Arc<Access>,
    pub(super) tape: Tape,
    pub(super) denied: Denials,
    /// The place of the event, and the lines that were read for it.
    place: Option<(Arc<Context>, Readings)>,
    /// The tool call of the event.
    call: Option<ToolCall>,
    /// The repository of the event, from the first question about it on.
    pub(super) trees: Option<Arc<WorkTrees>>,
    /// The time limit of the call.
    pub(super) wall: Duration,
    pub(super) log: Log,
    stdout: Sink,
    /// Bytes that host calls have copied since they last yielded.
    copied: usize,
}

/// The clock of the guest: it is frozen for `describe`, whose answer must not depend on the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    Running,
    /// It shows this time since 1970. The monotonic clock goes on.
    At(Duration),
    Frozen,
}

impl CallState {
    /// A state with this access and no other.
    pub(super) fn new(budget: &Budget, settings: Arc<Settings>, access: Arc<Access>, clock: Clock) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(budget.handles);
        let tape = Tape::of(&access.taping);
        Self {
            wasi: None,
            clock,
            #[cfg(feature = "http")]
            http: None,
            #[cfg(feature = "http")]
            deadline: std::time::Instant::now().checked_add(budget.wall),
            table,
            memory: MemoryLimiter::new(budget.memory, budget.tables),
            settings,
            access,
            tape,
            denied: Denials::default(),
            place: None,
            call: None,
            trees: None,
            wall: budget.wall,
            log: Log::new(budget.log),
            stdout: Sink::counted(budget.output),
            copied: 0,
        }
    }

    /// Counts copied bytes of a host call, and now and then lets other tasks run and the deadline fire.
    pub(super) async fn breathe(&mut self, copied: usize) {
        self.copied = self.copied.saturating_add(copied).saturating_add(CALL);
        if self.copied >= BREATHE_EVERY {
            self.copied = 0;
            super::clock::give_way().await;
        }
    }

    /// Sets the event of the call.
    pub(super) fn begin(&mut self, event: &Event) {
        self.call = event.tool_call().cloned();
        let readings = self.call.as_ref().map(|call| call.facts.readings.clone()).unwrap_or_default();
        self.place = Some((Arc::clone(&event.context), readings));
    }

    /// Returns the directory of the event.
    pub(super) fn cwd(&self) -> Option<&str> {
        self.place.as_ref().map(|(context, _)| context.cwd.as_str())
    }

    /// Returns the commands of a line in the directory of the event.
    pub(super) fn commands_of(&self, line: &str) -> Arc<Reading> {
        match &self.place {
            Some((context, readings)) => readings.read(line, &context.cwd),
            None => Readings::default().read(line, ""),
        }
    }

    /// Returns the size of the input of the event's call, in bytes.
    pub(super) fn size_of_call(&self) -> usize {
        self.call.as_ref().map_or(0, |call| call.input.text().len())
    }

    /// Returns the facts of the event's call.
    pub(super) fn facts_of_call(&self) -> hookbox_calls::CallFacts {
        let cwd = self.cwd().unwrap_or_default();
        self.call.as_ref().map(|call| call.facts_in(cwd)).unwrap_or_default()
    }

    /// Notes that the guest made use of a right that it does not have.
    pub(super) fn deny(&mut self, right: &Capability) {
        self.denied.push(self.access.denial(right));
    }

    /// Notes each right of a kind that the hook asks for and does not have, because it has just tried to use
    /// one of them.
    pub(super) fn deny_lacking(&mut self, kind: impl Fn(&Capability) -> bool) {
        let access = Arc::clone(&self.access);
        for right in access.rights.lacking().iter().filter(|right| kind(right)) {
            self.deny(right);
        }
    }

    /// Returns the length of the guest's output, if it is over the limit.
    pub(super) fn printed_too_much(&self) -> Option<usize> {
        self.stdout.is_over().then(|| self.stdout.written())
    }
}

/// A WASI context without files, sockets, arguments and variables.
fn wasi(clock: Clock, log: &Log, stdout: &Sink) -> WasiCtx {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdout(stdout.clone())
        .stderr(Sink::into_log(log.clone()))
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .max_random_size(MAX_RANDOM);
    if let Clock::At(time) = clock {
        wasi.wall_clock(StandingStill(time));
    }
    if clock == Clock::Frozen {
        wasi.wall_clock(StandingStill(Duration::ZERO))
            .monotonic_clock(StandingStill(Duration::ZERO))
            .secure_random(wasmtime_wasi::Deterministic::new(vec![0x5a]))
            .insecure_random(wasmtime_wasi::Deterministic::new(vec![0x5a]))
            .insecure_random_seed(0);
    }
    wasi.build()
}

/// A store with every limit of the budget set.
pub(super) fn store(
    engine: &wasmtime::Engine,
    state: CallState,
    budget: &Budget,
) -> wasmtime::Result<Store<CallState>> {
    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.memory);
    store.set_fuel(budget.fuel)?;
    store.fuel_async_yield_interval(Some(YIELD_EVERY))?;
    store.set_hostcall_fuel(budget.hostcall_copies);
    store.set_max_component_handles(budget.handles);
    Ok(store)
}

/// Returns the resources that the call has used so far.
pub(super) fn spent(store: &Store<CallState>, budget: &Budget) -> Spent {
    Spent {
        fuel: store.get_fuel().ok().map(|left| budget.fuel.saturating_sub(left)),
        memory_peak: Some(store.data().memory.peak),
        log: store.data().log.text(),
        denied: store.data().denied.all(),
        inputs: store.data().tape.take_inputs(),
    }
}

impl CallState {
    /// The random numbers of `wasi:random`.
    pub(super) fn wasi_random(&mut self) -> &mut wasmtime_wasi::random::WasiRandomCtx {
        self.ctx().ctx.random()
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let Self { wasi: ctx, clock, log, stdout, table, .. } = self;
        WasiCtxView { ctx: ctx.get_or_insert_with(|| wasi(*clock, log, stdout)), table }
    }
}

#[cfg(feature = "http")]
impl wasmtime_wasi_http::WasiHttpView for CallState {
    fn http(&mut self) -> wasmtime_wasi_http::WasiHttpCtxView<'_> {
        let Self { http, access, tape, denied, log, deadline, table, .. } = self;
        let new = || {
            super::imports::http::Http::new(
                Arc::clone(access),
                tape.clone(),
                denied.clone(),
                log.clone(),
                *deadline,
            )
        };
        http.get_or_insert_with(new).view(table)
    }
}

/// Limits the memory of a call over all its memories together, and the elements of all its tables. It
/// remembers a refusal: a guest that is refused memory usually aborts, and then the cause is *memory*, not
/// *trap*.
pub(super) struct MemoryLimiter {
    limit: u64,
    held: u64,
    pub(super) peak: u64,
    pub(super) refused: Option<u64>,
    max_elements: u64,
    elements: u64,
    pub(super) refused_elements: Option<u64>,
}

impl MemoryLimiter {
    fn new(limit: u64, elements: usize) -> Self {
        Self {
            limit,
            held: 0,
            peak: 0,
            refused: None,
            max_elements: elements as u64,
            elements: 0,
            refused_elements: None,
        }
    }
}

/// Adds growth to the total, or notes the refused total.
fn grow(
    held: &mut u64,
    limit: u64,
    refused: &mut Option<u64>,
    from: usize,
    to: usize,
    max: Option<usize>,
) -> bool {
    let wanted = held.saturating_add(to.saturating_sub(from) as u64);
    if wanted > limit {
        *refused = Some(refused.unwrap_or(0).max(wanted));
        return false;
    }
    // Growth above the declared maximum of a memory or table is the guest's own limit, not ours.
    if max.is_some_and(|max| to > max) {
        return false;
    }
    *held = wanted;
    true
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(&mut self, from: usize, to: usize, max: Option<usize>) -> wasmtime::Result<bool> {
        let grows = grow(&mut self.held, self.limit, &mut self.refused, from, to, max);
        self.peak = self.peak.max(self.held);
        Ok(grows)
    }

    fn table_growing(&mut self, from: usize, to: usize, max: Option<usize>) -> wasmtime::Result<bool> {
        Ok(grow(&mut self.elements, self.max_elements, &mut self.refused_elements, from, to, max))
    }
}

/// A clock that always shows this time since 1970.
struct StandingStill(Duration);

impl HostWallClock for StandingStill {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

impl HostMonotonicClock for StandingStill {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_limited_over_all_memories_together() {
        let mut limiter = MemoryLimiter::new(100, 10);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(!limiter.memory_growing(0, 60, None).unwrap(), "a second memory counts with the first");
        assert_eq!(limiter.refused, Some(120));
        assert!(limiter.memory_growing(60, 100, None).unwrap());
        assert_eq!(limiter.peak, 100);
        assert!(limiter.table_growing(0, 6, None).unwrap());
        assert!(!limiter.table_growing(0, 6, None).unwrap(), "a second table counts with the first");
        assert_eq!(limiter.refused_elements, Some(12));
    }
}
