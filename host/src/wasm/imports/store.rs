//! The host's side of `wasi:keyvalue`: the hook's own bucket, if it has the right.

use std::path::PathBuf;

use serde_json::Value;
use wasmtime::component::Resource;

use crate::capability::Capability;
use crate::store::{Entry, Store, StoreError};
use crate::wasm::bindings::wasi::keyvalue::{atomics, batch, store as keyvalue};
use crate::wasm::bucket::Bucket;
use crate::wasm::state::CallState;
use crate::wasm::tape::{Logged, Taped};

type Answer<T> = wasmtime::Result<Result<T, keyvalue::Error>>;

impl CallState {
    fn bucket(&self, handle: &Resource<Bucket>) -> wasmtime::Result<Bucket> {
        Ok(self.table.get(handle)?.clone())
    }

    /// Returns the result of an operation to the guest, after other tasks had a turn. If the store lost its state or
    /// cannot be used, the call's log says so too: the guest may ignore it.
    async fn told<T: Taped>(
        &mut self,
        handle: &Resource<Bucket>,
        asked: impl FnOnce() -> String,
        operation: impl AsyncFnOnce(&Bucket) -> Result<T, StoreError>,
        copied: impl FnOnce(&T) -> usize,
    ) -> Answer<T> {
        let bucket = self.bucket(handle)?;
        let outside = async {
            let result = operation(&bucket).await;
            let mut log: Vec<String> =
                bucket.take_notices().iter().map(|notice| format!("warn store: {notice}\n")).collect();
            if let Err(error @ StoreError::Unavailable(_)) = &result {
                log.push(format!("warn {error}\n"));
            }
            Ok(Logged { got: result.map_err(|error| error.to_string()), log })
        };
        let Logged { got, log } = self.tape.take(asked, outside).await?;
        for line in log {
            self.log.push(&line);
        }
        self.breathe(got.as_ref().map_or(0, copied)).await;
        Ok(got.map_err(keyvalue::Error::Other))
    }
}

impl keyvalue::Host for CallState {
    fn open(&mut self, identifier: String) -> Answer<Resource<Bucket>> {
        if !matches!(identifier.as_str(), "" | "default") {
            return Ok(Err(keyvalue::Error::NoSuchStore));
        }
        if !self.tape.take_now("store.open", || Ok(self.access.bucket.is_some()))? {
            self.deny(&Capability::Store);
            return Ok(Err(keyvalue::Error::AccessDenied));
        }
        let bucket = self.access.bucket.clone();
        // A call that is played asks it nothing.
        let bucket = bucket.unwrap_or_else(|| Store::at(PathBuf::new()).bucket(["played"]));
        Ok(Ok(self.table.push(bucket)?))
    }
}

impl keyvalue::HostBucket for CallState {
    async fn get(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<Option<Vec<u8>>> {
        let asked = || format!("store.get {key:?}");
        let copied = |found: &Option<Vec<u8>>| found.as_ref().map_or(0, Vec::len);
        self.told(&bucket, asked, async |bucket| bucket.get(key.clone()).await, copied).await
    }

    async fn set(&mut self, bucket: Resource<Bucket>, key: String, value: Vec<u8>) -> Answer<()> {
        let (asked, copied) = (|| format!("store.set {key:?}"), key.len() + value.len());
        self.told(&bucket, asked, async |bucket| bucket.set(key.clone(), value).await, |()| copied).await
    }

    async fn delete(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<()> {
        let asked = || format!("store.delete {key:?}");
        self.told(&bucket, asked, async |bucket| bucket.delete(key.clone()).await, |()| 0).await
    }

    async fn exists(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<bool> {
        let asked = || format!("store.exists {key:?}");
        self.told(&bucket, asked, async |bucket| bucket.exists(key.clone()).await, |_| 0).await
    }

    async fn list_keys(
        &mut self,
        bucket: Resource<Bucket>,
        cursor: Option<u64>,
    ) -> Answer<keyvalue::KeyResponse> {
        let (asked, list) =
            (|| "store.list_keys".to_owned(), async |bucket: &Bucket| bucket.list_keys(cursor).await);
        let copied = |(keys, _): &(Vec<String>, Option<u64>)| keys.iter().map(String::len).sum();
        let page = self.told(&bucket, asked, list, copied).await?;
        Ok(page.map(|(keys, cursor)| keyvalue::KeyResponse { keys, cursor }))
    }

    fn drop(&mut self, bucket: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl atomics::Host for CallState {
    async fn increment(&mut self, bucket: Resource<Bucket>, key: String, delta: u64) -> Answer<u64> {
        let asked = || format!("store.increment {key:?}");
        self.told(&bucket, asked, async |bucket| bucket.increment(key.clone(), delta).await, |_| 0).await
    }
}

impl batch::Host for CallState {
    async fn get_many(&mut self, bucket: Resource<Bucket>, keys: Vec<String>) -> Answer<Vec<Option<Entry>>> {
        let asked = || format!("store.get_many {keys:?}");
        let copied = |found: &Vec<Option<Entry>>| found.iter().flatten().map(size).sum();
        self.told(&bucket, asked, async |bucket| bucket.get_many(keys.clone()).await, copied).await
    }

    async fn set_many(&mut self, bucket: Resource<Bucket>, entries: Vec<Entry>) -> Answer<()> {
        let copied = entries.iter().map(size).sum();
        let asked = || "store.set_many".to_owned();
        self.told(&bucket, asked, async |bucket| bucket.set_many(entries).await, |()| copied).await
    }

    async fn delete_many(&mut self, bucket: Resource<Bucket>, keys: Vec<String>) -> Answer<()> {
        let copied = keys.iter().map(String::len).sum();
        let asked = || format!("store.delete_many {keys:?}");
        self.told(&bucket, asked, async |bucket| bucket.delete_many(keys.clone()).await, |()| copied).await
    }
}

impl Taped for Vec<Option<Entry>> {
    fn write(&self) -> Value {
        self.iter().map(Taped::write).collect()
    }

    fn read(got: &Value) -> Option<Self> {
        got.as_array()?.iter().map(Taped::read).collect()
    }
}

fn size((key, value): &Entry) -> usize {
    key.len() + value.len()
}
