//! What components import, linked as far as one of them imports it: most hooks want no files, no sockets and no
//! requests, and linking those takes longer than a call.

use std::sync::{Mutex, PoisonError};

use wasmtime::Engine;
use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::{cli, filesystem, random, sockets};
use wasmtime_wasi::random::WasiRandom;
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};

use super::bindings::HookHost;
use super::inspect::InterfaceName;
use super::state::CallState;
use super::wasi_overrides;

/// The host's side of an engine: what every component may import, and more where one asks for it.
pub(super) struct Imports {
    inner: Mutex<Inner>,
}

struct Inner {
    linker: Linker<CallState>,
    linked: Vec<Part>,
}

/// What is linked only where it is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Files,
    Sockets,
    #[cfg(feature = "http")]
    Http,
}

impl Part {
    /// The part that an import belongs to; `None` where it is always linked, or never.
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
                // After what it replaces.
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
    /// With what nearly every component imports: streams, clocks, random numbers, the log, settings, the key-value store.
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
        HookHost::add_to_linker::<CallState, HasSelf<CallState>>(to, |state| state)?;
        Ok(Self { inner: Mutex::new(Inner { linker, linked: Vec::new() }) })
    }

    /// Checks the imports of a component against what is linked, after what it needs of the rest.
    pub(super) fn prepare(
        &self,
        component: &Component,
        imports: &[InterfaceName],
    ) -> wasmtime::Result<InstancePre<CallState>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { linker, linked } = &mut *inner;
        for part in imports.iter().filter_map(|import| Part::of(import.as_str())) {
            if !linked.contains(&part) {
                // Where it fails half done, linking it again fails as well, and no component gets the half.
                part.link(linker)?;
                linked.push(part);
            }
        }
        linker.instantiate_pre(component)
    }
}
