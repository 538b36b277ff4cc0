//! Engines: one engine compiles components, others run them, with memory from a pool or on demand.
//!
//! An engine that runs components has no compiler: setting one up takes longer than a call, and in most
//! processes everything is compiled already.

use std::sync::Arc;

use tokio::sync::Semaphore;
use wasmtime::component::Component;
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::call::Prepared;
use super::imports::Imports;
use super::inspect::InterfaceName;
use crate::hook::STACK;

/// The number of pooled calls at once. Each slot reserves 8 GiB of address space and no memory.
const SLOTS: u32 = 64;
/// Memories that a component may have to run in the pool; a larger one is allocated on demand.
const POOL_MEMORIES: u32 = 2;
/// Tables that a component may have to run in the pool.
const POOL_TABLES: u32 = 8;
/// The number of elements of a table in the pool: as many as the default budget allows, so that the budget
/// refuses first.
const POOL_ELEMENTS: usize = 100_000;
/// Core instances per component that the pool plans for (a Rust component has three or four).
const POOL_CORE_INSTANCES: u32 = 16;
/// The part of a slot's memory that stays mapped between calls. The pagemap scan resets only the pages that a
/// call touched, so a large value costs little and saves page faults.
const KEEP_RESIDENT: usize = 16 << 20;
/// The part of a slot's table that stays mapped between calls: the table of an ordinary hook. To write zeros there costs
/// less than to give the page back and to fault it in again.
const KEEP_TABLE: usize = 16 << 10;
/// The number of on-demand calls at once.
const ON_DEMAND_CALLS: usize = 16;

/// The source of the memory of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocation {
    /// A pool of slots that are reused: two to three times faster per call. For an agent that makes many
    /// calls.
    #[default]
    Pooled,
    /// Mapped for each call: the faster start for a process that makes one call.
    OnDemand,
}

/// An engine with everything linked, ready to take components.
#[derive(Clone)]
pub(super) struct Linked {
    pub(super) engine: Engine,
    imports: Arc<Imports>,
    /// One permit per call that may run at once: an exhausted pool would be an error.
    slots: Arc<Semaphore>,
    pooled: bool,
}

impl Linked {
    /// An engine of this kind; a pool that the system does not let us reserve becomes an on-demand engine.
    pub(super) fn new(allocation: Allocation) -> wasmtime::Result<Self> {
        if allocation == Allocation::Pooled {
            match runner(Some(pool())) {
                Ok(engine) => return Self::link(engine, true),
                Err(error) => tracing::debug!(%error, "no pool, allocating on demand"),
            }
        }
        Self::link(runner(None)?, false)
    }

    fn link(engine: Engine, pooled: bool) -> wasmtime::Result<Self> {
        let imports = Arc::new(Imports::new(&engine)?);
        let slots = if pooled { SLOTS as usize } else { ON_DEMAND_CALLS };
        Ok(Self { engine, imports, slots: Arc::new(Semaphore::new(slots)), pooled })
    }

    /// Returns whether its calls take their memory from a pool.
    pub(super) fn is_pooled(&self) -> bool {
        self.pooled
    }

    /// Returns whether a call of this component fits in a slot of this engine.
    pub(super) fn fits(&self, component: &Component) -> bool {
        !self.pooled
            || component
                .resources_required()
                .is_some_and(|needs| needs.num_memories <= POOL_MEMORIES && needs.num_tables <= POOL_TABLES)
    }

    /// Checks the component's imports and exports against the linked functions.
    pub(super) fn prepare(
        &self,
        component: &Component,
        imports: &[InterfaceName],
    ) -> wasmtime::Result<Prepared> {
        Prepared::new(self.imports.prepare(component, imports)?, Arc::clone(&self.slots))
    }
}

/// The engine that compiles. What it makes is for every engine that runs components, with a pool and without.
pub(super) fn compiler() -> wasmtime::Result<Engine> {
    let mut config = config();
    // Deterministic results of floating point: the same verdict for the same event on every machine.
    config.cranelift_nan_canonicalization(true);
    Engine::new(&config)
}

/// Makes an engine that runs compiled code.
fn runner(pool: Option<PoolingAllocationConfig>) -> wasmtime::Result<Engine> {
    let mut config = config();
    config.enable_compiler(false);
    if let Some(pool) = pool {
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    Engine::new(&config)
}

/// Returns the settings that all engines share: compiled code belongs to engines with the same settings.
fn config() -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .max_wasm_stack(STACK)
        // WASI 0.2 has no concurrent calls into one instance. Without them calls are faster and the surface
        // is smaller.
        .concurrency_support(false);
    config
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(SLOTS)
        .total_stacks(SLOTS)
        .total_core_instances(SLOTS * POOL_CORE_INSTANCES)
        .total_memories(SLOTS * POOL_MEMORIES)
        .total_tables(SLOTS * POOL_TABLES)
        .max_core_instances_per_component(POOL_CORE_INSTANCES)
        .table_elements(POOL_ELEMENTS)
        .max_memories_per_component(POOL_MEMORIES)
        .max_tables_per_component(POOL_TABLES)
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(KEEP_TABLE)
        .pagemap_scan(Enabled::Auto);
    pool
}
