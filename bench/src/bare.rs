//! The bare engine: what a call costs at least. A fresh instance on the pool that hookbox uses, synchronous, without
//! fuel, deadline, limits, WASI, facts and report.

use std::sync::Arc;

use serde_json::Value;
use wasmtime::component::{Component, HasSelf, InstancePre, Linker, Resource, ResourceTable};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};

use crate::place::Place;

wasmtime::component::bindgen!({
    path: "../host/wit",
    inline: "
        package bench:bare;

        world bare {
            import hookbox:hook/types@0.2.0;
            import wasi:config/store@0.2.0-rc.1;
            export hookbox:hook/hook@0.2.0;
        }
    ",
    world: "bench:bare/bare",
    imports: { default: trappable },
    with: { "hookbox:hook/types@0.2.0.document": crate::bare::Shared },
});

use self::exports::hookbox::hook::hook::Response;
use self::hookbox::hook::types;

/// A document, as the caller has it.
#[allow(unreachable_pub, reason = "the generated code exports it again")]
pub type Shared = Arc<Value>;

/// The documents of a call.
struct State(ResourceTable);

impl types::Host for State {}

impl types::HostDocument for State {
    fn get(&mut self, this: Resource<Shared>, pointer: String) -> wasmtime::Result<Option<String>> {
        Ok(self.0.get(&this)?.pointer(&pointer).map(Value::to_string))
    }

    fn text(&mut self, this: Resource<Shared>) -> wasmtime::Result<String> {
        Ok(self.0.get(&this)?.to_string())
    }

    fn size(&mut self, this: Resource<Shared>) -> wasmtime::Result<u64> {
        Ok(self.0.get(&this)?.to_string().len() as u64)
    }

    fn drop(&mut self, this: Resource<Shared>) -> wasmtime::Result<()> {
        self.0.delete(this)?;
        Ok(())
    }
}

type Settings<T> = Result<T, wasi::config::store::Error>;

impl wasi::config::store::Host for State {
    fn get(&mut self, _: String) -> wasmtime::Result<Settings<Option<String>>> {
        Ok(Ok(None))
    }

    fn get_all(&mut self) -> wasmtime::Result<Settings<Vec<(String, String)>>> {
        Ok(Ok(Vec::new()))
    }
}

/// An engine with the pool of hookbox.
pub(crate) fn engine() -> Engine {
    let mut pool = PoolingAllocationConfig::new();
    pool.linear_memory_keep_resident(16 << 20).table_keep_resident(16 << 10).pagemap_scan(Enabled::Auto);
    let mut config = Config::new();
    config.concurrency_support(false).allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config).unwrap()
}

/// Defines the import from which the hash maps of a guest take their seed.
fn seed<T: 'static>(linker: &mut Linker<T>) {
    let mut instance = linker.instance("wasi:random/insecure-seed@0.2.6").unwrap();
    instance.func_wrap("insecure-seed", |_, ()| Ok(((1_u64, 2_u64),))).unwrap();
}

/// The guest `floor`: it is handed the payload as text.
pub(crate) struct Floor {
    engine: Engine,
    pre: InstancePre<()>,
}

impl Floor {
    pub(crate) fn new(place: &Place) -> Self {
        let engine = engine();
        let component = Component::from_file(&engine, place.test_hook("floor.wasm")).unwrap();
        let mut linker = Linker::new(&engine);
        seed(&mut linker);
        // The standard library imports the rest of WASI; this guest never calls it.
        linker.define_unknown_imports_as_traps(&component).unwrap();
        let pre = linker.instantiate_pre(&component).unwrap();
        Self { engine, pre }
    }

    pub(crate) fn call(&self, payload: &str) -> Option<String> {
        let mut store = Store::new(&self.engine, ());
        let instance = self.pre.instantiate(&mut store).unwrap();
        let check = instance.get_typed_func::<(&str,), (Option<String>,)>(&mut store, "check").unwrap();
        check.call(&mut store, (payload,)).unwrap().0
    }
}

/// A hook component, with a document and no settings.
pub(crate) struct BareHook {
    engine: Engine,
    pre: BarePre<State>,
}

impl BareHook {
    pub(crate) fn new(path: &std::path::Path) -> Self {
        let engine = engine();
        let component = Component::from_file(&engine, path).unwrap();
        let mut linker: Linker<State> = Linker::new(&engine);
        types::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state).unwrap();
        wasi::config::store::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state).unwrap();
        seed(&mut linker);
        // The standard library imports the rest of WASI; these guests never call it.
        linker.define_unknown_imports_as_traps(&component).unwrap();
        let pre = BarePre::new(linker.instantiate_pre(&component).unwrap()).unwrap();
        Self { engine, pre }
    }

    /// Sends `before_tool_call` of a shell tool.
    pub(crate) fn call(&self, input: &Arc<Value>, line: &str) -> Response {
        let mut store = Store::new(&self.engine, State(ResourceTable::new()));
        let hook = self.pre.instantiate(&mut store).unwrap();
        let input = store.data_mut().0.push(Arc::clone(input)).unwrap();
        let call = types::ToolCall {
            id: None,
            name: "bash".to_owned(),
            kind: types::ToolKind::Shell,
            command: Some(line.to_owned()),
            paths: Vec::new(),
            input,
        };
        let context = types::Context {
            conversation_id: "bench".to_owned(),
            cwd: "/".to_owned(),
            invoked_by: types::InvokedBy::Main,
            recipe_name: None,
            agent: None,
            repository: None,
            branch: None,
            mode: None,
            timestamp_ms: 0,
            budget: None,
        };
        let event = types::Event::BeforeToolCall(call);
        hook.hookbox_hook_hook().call_run(&mut store, &context, &event).unwrap().unwrap()
    }
}
