//! The host's side of `wasi:keyvalue`: the hook's own bucket, if it has the right.

use wasmtime::component::Resource;

use super::bindings::wasi::keyvalue::{atomics, batch, store as keyvalue};
use super::bucket::Bucket;
use super::state::CallState;
use crate::capability::Capability;
use crate::store::{Entry, StoreError};

type Answer<T> = wasmtime::Result<Result<T, keyvalue::Error>>;

impl CallState {
    fn bucket(&self, handle: &Resource<Bucket>) -> wasmtime::Result<Bucket> {
        Ok(self.table.get(handle)?.clone())
    }

    /// Returns a result to the guest, after other tasks had a turn. If the store lost its state or cannot be
    /// used, the call's log says so too: the guest may ignore it.
    async fn told<T>(&mut self, bucket: &Bucket, copied: usize, result: Result<T, StoreError>) -> Answer<T> {
        for notice in bucket.take_notices() {
            self.log.push(&format!("warn store: {notice}\n"));
        }
        if let Err(error @ StoreError::Unavailable(_)) = &result {
            self.log.push(&format!("warn {error}\n"));
        }
        self.breathe(copied).await;
        Ok(result.map_err(|error| keyvalue::Error::Other(error.to_string())))
    }
}

impl keyvalue::Host for CallState {
    fn open(&mut self, identifier: String) -> Answer<Resource<Bucket>> {
        if !matches!(identifier.as_str(), "" | "default") {
            return Ok(Err(keyvalue::Error::NoSuchStore));
        }
        let Some(bucket) = self.access.bucket.clone() else {
            self.deny(&Capability::Store);
            return Ok(Err(keyvalue::Error::AccessDenied));
        };
        Ok(Ok(self.table.push(bucket)?))
    }
}

impl keyvalue::HostBucket for CallState {
    async fn get(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<Option<Vec<u8>>> {
        let bucket = self.bucket(&bucket)?;
        let found = bucket.get(key).await;
        let copied = found.as_ref().ok().and_then(Option::as_ref).map_or(0, Vec::len);
        self.told(&bucket, copied, found).await
    }

    async fn set(&mut self, bucket: Resource<Bucket>, key: String, value: Vec<u8>) -> Answer<()> {
        let bucket = self.bucket(&bucket)?;
        let copied = key.len() + value.len();
        let done = bucket.set(key, value).await;
        self.told(&bucket, copied, done).await
    }

    async fn delete(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<()> {
        let bucket = self.bucket(&bucket)?;
        let done = bucket.delete(key).await;
        self.told(&bucket, 0, done).await
    }

    async fn exists(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<bool> {
        let bucket = self.bucket(&bucket)?;
        let found = bucket.exists(key).await;
        self.told(&bucket, 0, found).await
    }

    async fn list_keys(
        &mut self,
        bucket: Resource<Bucket>,
        cursor: Option<u64>,
    ) -> Answer<keyvalue::KeyResponse> {
        let bucket = self.bucket(&bucket)?;
        let page = bucket.list_keys(cursor).await;
        let copied = page.iter().flat_map(|(keys, _)| keys).map(String::len).sum();
        let page = page.map(|(keys, cursor)| keyvalue::KeyResponse { keys, cursor });
        self.told(&bucket, copied, page).await
    }

    fn drop(&mut self, bucket: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl atomics::Host for CallState {
    async fn increment(&mut self, bucket: Resource<Bucket>, key: String, delta: u64) -> Answer<u64> {
        let bucket = self.bucket(&bucket)?;
        let sum = bucket.increment(key, delta).await;
        self.told(&bucket, 0, sum).await
    }
}

impl batch::Host for CallState {
    async fn get_many(&mut self, bucket: Resource<Bucket>, keys: Vec<String>) -> Answer<Vec<Option<Entry>>> {
        let bucket = self.bucket(&bucket)?;
        let found = bucket.get_many(keys).await;
        let copied = found.iter().flatten().flatten().map(size).sum();
        self.told(&bucket, copied, found).await
    }

    async fn set_many(&mut self, bucket: Resource<Bucket>, entries: Vec<Entry>) -> Answer<()> {
        let bucket = self.bucket(&bucket)?;
        let copied = entries.iter().map(size).sum();
        let done = bucket.set_many(entries).await;
        self.told(&bucket, copied, done).await
    }

    async fn delete_many(&mut self, bucket: Resource<Bucket>, keys: Vec<String>) -> Answer<()> {
        let bucket = self.bucket(&bucket)?;
        let copied = keys.iter().map(String::len).sum();
        let done = bucket.delete_many(keys).await;
        self.told(&bucket, copied, done).await
    }
}

fn size((key, value): &Entry) -> usize {
    key.len() + value.len()
}
