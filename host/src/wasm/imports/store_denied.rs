//! The host side of `wasi:keyvalue` of a build without the store: opening a bucket is denied.

use wasmtime::component::Resource;

use crate::capability::Capability;
use crate::wasm::bindings::wasi::keyvalue::{atomics, batch, store as keyvalue};
use crate::wasm::bucket::Bucket;
use crate::wasm::state::CallState;

type Answer<T> = wasmtime::Result<Result<T, keyvalue::Error>>;
type Entry = (String, Vec<u8>);

fn denied<T>() -> Answer<T> {
    Ok(Err(keyvalue::Error::AccessDenied))
}

impl keyvalue::Host for CallState {
    fn open(&mut self, identifier: String) -> Answer<Resource<Bucket>> {
        if !matches!(identifier.as_str(), "" | "default") {
            return Ok(Err(keyvalue::Error::NoSuchStore));
        }
        self.deny(&Capability::Store);
        denied()
    }
}

impl keyvalue::HostBucket for CallState {
    async fn get(&mut self, _: Resource<Bucket>, _: String) -> Answer<Option<Vec<u8>>> {
        denied()
    }

    async fn set(&mut self, _: Resource<Bucket>, _: String, _: Vec<u8>) -> Answer<()> {
        denied()
    }

    async fn delete(&mut self, _: Resource<Bucket>, _: String) -> Answer<()> {
        denied()
    }

    async fn exists(&mut self, _: Resource<Bucket>, _: String) -> Answer<bool> {
        denied()
    }

    async fn list_keys(&mut self, _: Resource<Bucket>, _: Option<u64>) -> Answer<keyvalue::KeyResponse> {
        denied()
    }

    fn drop(&mut self, bucket: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl atomics::Host for CallState {
    async fn increment(&mut self, _: Resource<Bucket>, _: String, _: u64) -> Answer<u64> {
        denied()
    }
}

impl batch::Host for CallState {
    async fn get_many(&mut self, _: Resource<Bucket>, _: Vec<String>) -> Answer<Vec<Option<Entry>>> {
        denied()
    }

    async fn set_many(&mut self, _: Resource<Bucket>, _: Vec<Entry>) -> Answer<()> {
        denied()
    }

    async fn delete_many(&mut self, _: Resource<Bucket>, _: Vec<String>) -> Answer<()> {
        denied()
    }
}
