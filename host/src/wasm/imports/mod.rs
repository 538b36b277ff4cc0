//! The host's side of the imports of components, a file or folder for each capability with its tape.
//!
//! Files, sockets and requests are linked only when a component needs them: most hooks need none, and linking them takes
//! longer than a call.

mod clocks;
mod facts;
mod files;
#[cfg(feature = "http")]
pub(super) mod http;
#[cfg(feature = "store")]
mod store;
#[cfg(not(feature = "store"))]
#[path = "store_denied.rs"]
mod store;
mod work_tree;

use std::sync::{Arc, Mutex};

use wasmtime::component::{Component, HasSelf, InstancePre, Linker, Resource};
use wasmtime::{Engine, StoreContextMut};
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::p2::bindings::{cli, random, sockets};
use wasmtime_wasi::random::WasiRandom;
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};

use super::bindings::HookHost;
use super::bindings::hookbox::hook::types;
use super::bindings::wasi::config::store as config;
use super::bindings::wasi::logging::logging;
use super::inspect::InterfaceName;
use super::state::CallState;
use super::tape::Named;
use crate::capability::Capability;
use crate::event::Document;

/// The interfaces whose functions are replaced here, in the versions that are linked.
const TYPES: &str = "hookbox:hook/types@0.2.0";
const ENVIRONMENT: &str = "wasi:cli/environment@0.2.12";

/// Links a package.
type Link = fn(&mut Linker<CallState>) -> wasmtime::Result<()>;

/// The packages that are linked only if a component imports them.
const ON_DEMAND: &[(&str, Link)] = &[
    ("wasi:filesystem", files::link),
    ("wasi:sockets", link_sockets),
    #[cfg(feature = "http")]
    ("wasi:http", wasmtime_wasi_http::p2::add_only_http_to_linker_async),
];

/// The host's side of an engine: the functions that every component may import, and the packages that were linked
/// since.
pub(super) struct Imports {
    inner: Mutex<Inner>,
}

struct Inner {
    linker: Linker<CallState>,
    linked: Vec<&'static str>,
}

impl Imports {
    /// Links the imports of nearly every component: streams, clocks, random numbers, the log, settings, the
    /// key-value store.
    pub(super) fn new(engine: &Engine) -> wasmtime::Result<Self> {
        let mut linker: Linker<CallState> = Linker::new(engine);
        let to = &mut linker;
        wasmtime_wasi::p2::add_to_linker_proxy_interfaces_async(to)?;
        random::insecure::add_to_linker::<_, WasiRandom>(to, |state| state.wasi_random())?;
        random::insecure_seed::add_to_linker::<_, WasiRandom>(to, |state| state.wasi_random())?;
        cli::exit::add_to_linker::<_, WasiCli>(to, CallState::cli)?;
        cli::environment::add_to_linker::<_, WasiCli>(to, CallState::cli)?;
        cli::terminal_input::add_to_linker::<_, WasiCli>(to, CallState::cli)?;
        cli::terminal_output::add_to_linker::<_, WasiCli>(to, CallState::cli)?;
        cli::terminal_stdin::add_to_linker::<_, WasiCli>(to, CallState::cli)?;
        cli::terminal_stdout::add_to_linker::<_, WasiCli>(to, CallState::cli)?;
        cli::terminal_stderr::add_to_linker::<_, WasiCli>(to, CallState::cli)?;
        HookHost::add_to_linker::<CallState, HasSelf<CallState>>(to, |state| state)?;
        // After the functions that these replace.
        to.allow_shadowing(true);
        link_variables_and_text(to)?;
        clocks::link(to)?;
        facts::link(to)?;
        to.allow_shadowing(false);
        Ok(Self { inner: Mutex::new(Inner { linker, linked: Vec::new() }) })
    }

    /// Links the packages that a component needs, and checks its imports.
    pub(super) fn prepare(
        &self,
        component: &Component,
        imports: &[InterfaceName],
    ) -> wasmtime::Result<InstancePre<CallState>> {
        let mut inner = hookbox_system::mutex::lock(&self.inner);
        let Inner { linker, linked } = &mut *inner;
        for (package, link) in ON_DEMAND {
            let is_of = |import: &InterfaceName| import.as_str().split('/').next() == Some(*package);
            if imports.iter().any(is_of) && !linked.contains(package) {
                // If it fails half done, linking it again fails as well, and no component gets the half.
                link(linker)?;
                linked.push(package);
            }
        }
        linker.instantiate_pre(component)
    }
}

/// Links sockets, which toolchains import; every call is denied.
fn link_sockets(to: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let options = sockets::network::LinkOptions::default();
    sockets::tcp::add_to_linker::<_, WasiSockets>(to, CallState::sockets)?;
    sockets::tcp_create_socket::add_to_linker::<_, WasiSockets>(to, CallState::sockets)?;
    sockets::udp::add_to_linker::<_, WasiSockets>(to, CallState::sockets)?;
    sockets::udp_create_socket::add_to_linker::<_, WasiSockets>(to, CallState::sockets)?;
    sockets::instance_network::add_to_linker::<_, WasiSockets>(to, CallState::sockets)?;
    sockets::network::add_to_linker::<_, WasiSockets>(to, &options, CallState::sockets)?;
    sockets::ip_name_lookup::add_to_linker::<_, WasiSockets>(to, CallState::sockets)
}

/// Replaces the variables by those that the hook was given, and the text of a document by one that is not copied on its
/// way to the guest.
fn link_variables_and_text(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker.instance(ENVIRONMENT)?.func_wrap(
        "get-environment",
        |mut store: StoreContextMut<'_, CallState>, (): ()| {
            let state = store.data_mut();
            state.deny_lacking(|right| matches!(right, Capability::Env(_)));
            let given = state.tape.take_now("variables", || Ok(Named(state.access.variables.clone())))?;
            Ok((given.0,))
        },
    )?;
    linker.instance(TYPES)?.func_wrap_async(
        "[method]document.text",
        |mut store, (document,): (Resource<Document>,)| {
            Box::new(async move {
                let state: &mut CallState = store.data_mut();
                let text = Arc::clone(state.table.get(&document)?.shared_text());
                state.breathe(text.len()).await;
                Ok((text,))
            })
        },
    )?;
    Ok(())
}

impl types::Host for CallState {}

impl types::HostDocument for CallState {
    async fn get(
        &mut self,
        document: Resource<Document>,
        pointer: String,
    ) -> wasmtime::Result<Option<String>> {
        let value = self.table.get(&document)?.pointer(&pointer).map(ToString::to_string);
        self.breathe(value.as_ref().map_or(0, String::len)).await;
        Ok(value)
    }

    /// [`link_variables_and_text`] replaces it.
    async fn text(&mut self, document: Resource<Document>) -> wasmtime::Result<String> {
        std::future::ready(()).await;
        Ok(self.table.get(&document)?.text().to_owned())
    }

    fn size(&mut self, document: Resource<Document>) -> wasmtime::Result<u64> {
        Ok(self.table.get(&document)?.text().len() as u64)
    }

    fn drop(&mut self, document: Resource<Document>) -> wasmtime::Result<()> {
        self.table.delete(document)?;
        Ok(())
    }
}

impl logging::Host for CallState {
    async fn log(&mut self, level: logging::Level, context: String, message: String) -> wasmtime::Result<()> {
        let level = match level {
            logging::Level::Trace => "trace",
            logging::Level::Debug => "debug",
            logging::Level::Info => "info",
            logging::Level::Warn => "warn",
            logging::Level::Error => "error",
            logging::Level::Critical => "critical",
        };
        let separator = if context.is_empty() { "" } else { ": " };
        self.log.push(&format!("{level} {context}{separator}{message}\n"));
        self.breathe(message.len()).await;
        Ok(())
    }
}

impl config::Host for CallState {
    async fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, config::Error>> {
        let value = self.settings.get(&key).cloned();
        self.breathe(value.as_ref().map_or(0, String::len)).await;
        Ok(Ok(value))
    }

    async fn get_all(&mut self) -> wasmtime::Result<Result<Vec<(String, String)>, config::Error>> {
        let all: Vec<_> = self.settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        self.breathe(all.iter().map(|(key, value)| key.len() + value.len()).sum()).await;
        Ok(Ok(all))
    }
}
