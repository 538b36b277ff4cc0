//! The host's side of the hook's imports: its log, its settings and documents. The key-value store and HTTP
//! have files of their own.

use std::sync::Arc;

use wasmtime::component::{Linker, Resource};

use super::bindings::hookbox::hook::types;
use super::bindings::wasi::config::store as config;
use super::bindings::wasi::logging::logging;
use super::state::CallState;
use crate::event::Document;

/// The interface of documents, as hooks import it.
const TYPES: &str = "hookbox:hook/types@0.2.0";

/// Replaces the text of a document by one that is not copied on its way to the guest.
pub(super) fn link_text(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
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
    linker.allow_shadowing(false);
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

    /// [`link_text`] replaces it.
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
