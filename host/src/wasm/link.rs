//! The imports of components, linked only when a component needs them: most hooks need no files, sockets or
//! requests, and linking those takes longer than a call.

use std::sync::Mutex;

use wasmtime::Engine;
use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::{cli, filesystem, random, sockets};
use wasmtime_wasi::random::WasiRandom;
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};

use super::bindings::HookHost;
use super::imports;
use super::inspect::InterfaceName;
use super::reading;
use super::state::CallState;
use super::{taped_wasi, wasi_overrides};

/// The host's side of an engine: the functions that every component may import, and the parts that were
/// linked since.
pub(super) struct Imports {
    inner: Mutex<Inner>,
}

struct Inner {
    linker: Linker<CallState>,
    linked: Vec<Part>,
}

/// A part that is linked only if a component imports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Files,
    Sockets,
    #[cfg(feature = "http")]
    Http,
}

impl Part {
    /// Returns the part that an import belongs to; `None` if it is always linked, or never.
    fn of(import: &str) -> Option<Self> {
        match import.split_once('/')?.0 {
            "wasi:filesystem" => Some(Self::Files),
            "wasi:sockets" => Some(Self::Sockets),
            #[cfg(feature = "http")]
            "wasi:http" => Some(Self::Http),
            _ => None,
        }
    }

    fn link(self, to: &mut Linker<CallState>) -> wasmtime::Result<()> {
        match self {
            Self::Files => {
                filesystem::types::add_to_linker::<_, WasiFilesystem>(to, CallState::filesystem)?;
                filesystem::preopens::add_to_linker::<_, WasiFilesystem>(to, CallState::filesystem)?;
                // After the functions that it replaces.
                wasi_overrides::link_files(to)
            }
            // Toolchains import them; every call is denied.
            Self::Sockets => {
                let options = sockets::network::LinkOptions::default();
                sockets::tcp::add_to_linker::<_, WasiSockets>(to, CallState::sockets)?;
                sockets::tcp_create_socket::add_to_linker::<_, WasiSockets>(to, CallState::sockets)?;
                sockets::udp::add_to_linker::<_, WasiSockets>(to, CallState::sockets)?;
                sockets::udp_create_socket::add_to_linker::<_, WasiSockets>(to, CallState::sockets)?;
                sockets::instance_network::add_to_linker::<_, WasiSockets>(to, CallState::sockets)?;
                sockets::network::add_to_linker::<_, WasiSockets>(to, &options, CallState::sockets)?;
                sockets::ip_name_lookup::add_to_linker::<_, WasiSockets>(to, CallState::sockets)
            }
            #[cfg(feature = "http")]
            Self::Http => wasmtime_wasi_http::p2::add_only_http_to_linker_async(to),
        }
    }
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
        wasi_overrides::link_environment(to)?;
        taped_wasi::link(to)?;
        HookHost::add_to_linker::<CallState, HasSelf<CallState>>(to, |state| state)?;
        imports::link_text(to)?;
        reading::link_facts(to)?;
        Ok(Self { inner: Mutex::new(Inner { linker, linked: Vec::new() }) })
    }

    /// Links the parts that a component needs, and checks its imports.
    pub(super) fn prepare(
        &self,
        component: &Component,
        imports: &[InterfaceName],
    ) -> wasmtime::Result<InstancePre<CallState>> {
        let mut inner = hookbox_system::mutex::lock(&self.inner);
        let Inner { linker, linked } = &mut *inner;
        for part in imports.iter().filter_map(|import| Part::of(import.as_str())) {
            if !linked.contains(&part) {
                // If it fails half done, linking it again fails as well, and no component gets the half.
                part.link(linker)?;
                linked.push(part);
            }
        }
        linker.instantiate_pre(component)
    }
}
