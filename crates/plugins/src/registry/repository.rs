//! One repository of a registry: manifests and content (OCI distribution specification 1.1). Content is
//! checked against its digest.

use std::path::Path;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use reqwest::{Method, Request, Response, StatusCode, Url};
use tokio::io::AsyncWriteExt as _;

use super::connection::Repository;
use super::manifest::{self, Content, Descriptor};
use crate::{PluginError, PluginErrorKind};
use hookbox::escape;
use hookbox::hook::Digest;
use hookbox_system::limits;

impl Repository {
    /// Gets the bytes of the manifest with this tag or digest; `None` if there is none. The caller compares
    /// the digest.
    pub(super) async fn manifest(&mut self, reference: &str) -> Result<Option<Bytes>, PluginError> {
        let types = [manifest::MANIFEST, manifest::INDEX, manifest::DOCKER_MANIFEST, manifest::DOCKER_INDEX];
        let request = self.transport.client.get(self.url(&["manifests", reference]));
        let request = types.into_iter().fold(request, |request, kind| request.header(ACCEPT, kind));
        let Some(response) = self.get(request).await? else { return Ok(None) };
        let announced = announced(&response);
        let bytes = self.transport.read(response, limits::FILE, "a manifest").await?;
        let digest = Digest::of(&bytes);
        match announced.filter(|it| *it != digest) {
            Some(other) => Err(self.mismatch(format!(
                "expected the manifest {other}, which the registry says it is, found {digest}"
            ))),
            None => Ok(Some(bytes)),
        }
    }

    /// Gets the index of the artifacts of this type that refer to an artifact; `None` if there is none.
    pub(super) async fn referrers(
        &mut self,
        artifact: &Digest,
        kind: &str,
    ) -> Result<Option<Bytes>, PluginError> {
        let mut url = self.url(&["referrers", &artifact.to_string()]);
        // A registry may leave out artifacts of other types, of which there can be many.
        url.query_pairs_mut().append_pair("artifactType", kind);
        let request = self.transport.client.get(url).header(ACCEPT, manifest::INDEX);
        // Registries before version 1.1 of the specification have a tag with the index instead.
        if let Ok(Some(response)) = self.get(request).await {
            let index = self.transport.read(response, limits::FILE, "a list of referrers").await;
            return index.map(Some);
        }
        self.manifest(&format!("sha256-{}", artifact.hex())).await
    }

    /// Gets small content.
    pub(super) async fn bytes(&mut self, blob: &Descriptor) -> Result<Bytes, PluginError> {
        let response = self.blob(blob, limits::FILE).await?;
        let bytes = self.transport.read(response, blob.size, "content").await?;
        self.check(blob, bytes.len() as u64, &Digest::of(&bytes))?;
        Ok(bytes)
    }

    /// Gets large content, and writes it to a new file. `progress` is called with the number of bytes so far.
    pub(super) async fn file(
        &mut self,
        blob: &Descriptor,
        limit: u64,
        to: &Path,
        mut progress: impl FnMut(u64),
    ) -> Result<(), PluginError> {
        use sha2::Digest as _;
        let mut response = self.blob(blob, limit).await?;
        let local = |error: std::io::Error| PluginError::io(to, error);
        let mut options = tokio::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(to).await.map_err(local)?;
        let (mut hash, mut done) = (sha2::Sha256::new(), 0);
        while let Some(chunk) = self.transport.chunk(&mut response).await? {
            done += chunk.len() as u64;
            if done > blob.size {
                return Err(self.too_long(blob));
            }
            hash.update(&chunk);
            file.write_all(&chunk).await.map_err(local)?;
            progress(done);
        }
        file.flush().await.map_err(local)?;
        self.check(blob, done, &Digest::from_hash(hash.finalize().into()))
    }

    async fn blob(&mut self, blob: &Descriptor, limit: u64) -> Result<Response, PluginError> {
        if blob.size > limit {
            let kind = escape(&blob.media_type, 120);
            let what = format!("expected at most {limit} bytes of {kind}, found {}", blob.size);
            return Err(PluginError::new(&self.transport.name, PluginErrorKind::TooLarge(what)));
        }
        let request = self.transport.client.get(self.url(&["blobs", &blob.digest.to_string()]));
        self.get(request).await?.ok_or_else(|| {
            let what = format!("expected the content {}, found nothing", blob.digest);
            self.transport.failed(what).hint("publish the plugin again")
        })
    }

    /// Uploads content, unless the registry has it already.
    pub(super) async fn upload(&mut self, content: Content) -> Result<(), PluginError> {
        let digest = content.digest.to_string();
        let head = Request::new(Method::HEAD, self.url(&["blobs", &digest]));
        if self.send(&head).await?.status() == StatusCode::OK {
            return Ok(());
        }
        // Some registries require this header, and an empty body has none by default.
        let begin =
            self.transport.client.post(self.url(&["blobs", "uploads", ""])).header(CONTENT_LENGTH, "0");
        let begun = self.expect(begin, StatusCode::ACCEPTED, "to begin an upload").await?;
        let mut url = self.transport.location(&begun)?;
        url.query_pairs_mut().append_pair("digest", &digest);
        let put = self.transport.client.put(url).header(CONTENT_TYPE, "application/octet-stream");
        self.expect(put.body(content.bytes), StatusCode::CREATED, "to store content").await.map(drop)
    }

    /// Stores a manifest under a tag.
    pub(super) async fn put_manifest(&mut self, tag: &str, manifest: Bytes) -> Result<(), PluginError> {
        let digest = Digest::of(&manifest);
        let url = self.url(&["manifests", tag]);
        let put = self.transport.client.put(url).header(CONTENT_TYPE, manifest::MANIFEST).body(manifest);
        let response = self.expect(put, StatusCode::CREATED, "to store a manifest").await?;
        match announced(&response).filter(|it| *it != digest) {
            Some(other) => {
                Err(self.mismatch(format!("expected it to store the manifest {digest}, found {other}")))
            }
            None => Ok(()),
        }
    }

    /// Returns an address below this repository.
    fn url(&self, parts: &[&str]) -> Url {
        let mut url = self.transport.root.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(self.path.split('/')).extend(parts);
        }
        url
    }

    fn too_long(&self, blob: &Descriptor) -> PluginError {
        self.mismatch(format!("expected {} bytes of {}, found more", blob.size, blob.digest))
    }

    /// Checks the size and the digest of received content.
    fn check(&self, blob: &Descriptor, size: u64, digest: &Digest) -> Result<(), PluginError> {
        let wanted = &blob.digest;
        if size > blob.size {
            return Err(self.too_long(blob));
        }
        if size < blob.size {
            return Err(self.mismatch(format!("expected {} bytes of {wanted}, found {size}", blob.size)));
        }
        if digest != wanted {
            return Err(self.mismatch(format!("expected the content {wanted}, found {digest}")));
        }
        Ok(())
    }

    /// Returns the error about other bytes than the requested ones.
    pub(super) fn mismatch(&self, what: String) -> PluginError {
        PluginError::new(&self.transport.name, PluginErrorKind::Mismatch(what))
            .hint("the registry, or an attacker between, sends other bytes than announced")
    }
}

/// Returns the digest that the registry announces for a manifest.
fn announced(response: &Response) -> Option<Digest> {
    response.headers().get("docker-content-digest")?.to_str().ok()?.parse().ok()
}
