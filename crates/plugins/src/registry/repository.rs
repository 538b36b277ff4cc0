//! What a registry keeps in one repository: manifests and content (OCI distribution specification 1.1). What is named
//! by a digest is checked against it.

use std::path::Path;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use reqwest::{Method, Response, StatusCode, Url};
use tokio::io::AsyncWriteExt as _;

use super::Options;
use super::artifact::Blob;
use super::connection::{Access, Connection, Request};
use super::manifest;
use crate::{OciReference, PluginError, PluginErrorKind};
use hookbox::hook::Digest;
use hookbox::internal::text::escape;

/// How large a manifest may be, in bytes: what registries must accept (OCI distribution specification 1.1).
const MAX_MANIFEST: u64 = 4 << 20;

/// One repository of a registry.
pub(super) struct Repository {
    connection: Connection,
    /// Its name in the registry.
    name: String,
}

impl Repository {
    /// The repository that a reference names. Nothing is sent yet.
    pub(super) async fn new(
        reference: &OciReference,
        access: Access,
        options: &Options,
    ) -> Result<Self, PluginError> {
        let connection = Connection::new(reference, access, options).await?;
        Ok(Self { connection, name: reference.repository.clone() })
    }

    /// The host and the name, as people write them.
    pub(super) fn name(&self) -> &str {
        &self.connection.name
    }

    /// The manifest with this tag or digest, as its bytes; `None` where there is none. What a digest names is not
    /// checked here.
    pub(super) async fn manifest(&mut self, reference: &str) -> Result<Option<Bytes>, PluginError> {
        let types = [manifest::MANIFEST, manifest::INDEX, manifest::DOCKER_MANIFEST, manifest::DOCKER_INDEX];
        let request = Request::new(Method::GET, self.url(&["manifests", reference]));
        let request = types.into_iter().fold(request, |request, kind| request.header(ACCEPT, kind));
        let Some(response) = self.connection.get(request).await? else { return Ok(None) };
        let said = said(&response);
        let bytes = self.connection.read(response, MAX_MANIFEST, "a manifest").await?;
        if let Some(said) = said
            && said != Digest::of(&bytes)
        {
            let what = format!("expected the manifest {said}, which the registry says it is");
            return Err(self.mismatch(format!("{what}, found {}", Digest::of(&bytes))));
        }
        Ok(Some(bytes))
    }

    /// What refers to the artifact with this digest, at least what is of this artifact type: an index, as its bytes;
    /// `None` where there is nothing.
    pub(super) async fn referrers(
        &mut self,
        artifact: &Digest,
        kind: &str,
    ) -> Result<Option<Bytes>, PluginError> {
        let mut url = self.url(&["referrers", &artifact.to_string()]);
        // A registry may leave out the others, of which there can be many.
        url.query_pairs_mut().append_pair("artifactType", kind);
        let request = Request::new(Method::GET, url).header(ACCEPT, manifest::INDEX);
        // Registries before 1.1 of the specification do not know the question, and keep the list under a tag.
        if let Ok(Some(response)) = self.connection.get(request).await {
            return self.connection.read(response, MAX_MANIFEST, "a list of referrers").await.map(Some);
        }
        self.manifest(&format!("sha256-{}", artifact.hex())).await
    }

    /// A small piece of content.
    pub(super) async fn bytes(&mut self, blob: &Blob, limit: u64) -> Result<Bytes, PluginError> {
        let response = self.blob(blob, limit).await?;
        let bytes = self.connection.read(response, blob.size, "content").await?;
        self.check(blob, bytes.len() as u64, &Digest::of(&bytes))?;
        Ok(bytes)
    }

    /// A large piece of content, into a new file. `progress` hears how many bytes have come.
    pub(super) async fn file(
        &mut self,
        blob: &Blob,
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
        while let Some(chunk) = self.connection.chunk(&mut response).await? {
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

    async fn blob(&mut self, blob: &Blob, limit: u64) -> Result<Response, PluginError> {
        if blob.size > limit {
            let kind = escape(&blob.media_type, 120);
            let what = format!("expected at most {limit} bytes of {kind}, found {}", blob.size);
            return Err(PluginError::new(self.name(), PluginErrorKind::TooLarge(what)));
        }
        let request = Request::new(Method::GET, self.url(&["blobs", &blob.digest.to_string()]));
        self.connection.get(request).await?.ok_or_else(|| {
            let what = format!("expected the content {}, found nothing", blob.digest);
            PluginError::new(self.name(), PluginErrorKind::Fetch(what)).hint("publish the plugin again")
        })
    }

    /// Makes sure that the registry has this content, which has this digest.
    pub(super) async fn upload(&mut self, digest: &Digest, bytes: Bytes) -> Result<(), PluginError> {
        let digest = digest.to_string();
        let there = Request::new(Method::HEAD, self.url(&["blobs", &digest]));
        if self.connection.send(there).await?.status() == StatusCode::OK {
            return Ok(());
        }
        // Some registries insist on a length, and an empty body has none of its own.
        let begin =
            Request::new(Method::POST, self.url(&["blobs", "uploads", ""])).header(CONTENT_LENGTH, "0");
        let response = self.connection.send(begin).await?;
        let begun = self.connection.accepted(response, StatusCode::ACCEPTED, "to begin an upload").await?;
        let mut at = self.connection.location(&begun)?;
        at.query_pairs_mut().append_pair("digest", &digest);
        let mut put = Request::new(Method::PUT, at).header(CONTENT_TYPE, "application/octet-stream");
        put.body = Some(bytes);
        let response = self.connection.send(put).await?;
        self.connection.accepted(response, StatusCode::CREATED, "to store content").await.map(|_| ())
    }

    /// Stores a manifest under a tag or its digest.
    pub(super) async fn put_manifest(&mut self, reference: &str, manifest: Bytes) -> Result<(), PluginError> {
        let url = self.url(&["manifests", reference]);
        let mut put = Request::new(Method::PUT, url).header(CONTENT_TYPE, manifest::MANIFEST);
        put.body = Some(manifest.clone());
        let response = self.connection.send(put).await?;
        let response = self.connection.accepted(response, StatusCode::CREATED, "to store a manifest").await?;
        match said(&response) {
            Some(said) if said != Digest::of(&manifest) => {
                let wanted = Digest::of(&manifest);
                Err(self.mismatch(format!("expected it to store the manifest {wanted}, found {said}")))
            }
            _ => Ok(()),
        }
    }

    /// An address below this repository.
    fn url(&self, parts: &[&str]) -> Url {
        let mut url = self.connection.root.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(self.name.split('/')).extend(parts);
        }
        url
    }

    fn too_long(&self, blob: &Blob) -> PluginError {
        self.mismatch(format!("expected {} bytes of {}, found more", blob.size, blob.digest))
    }

    fn check(&self, blob: &Blob, size: u64, digest: &Digest) -> Result<(), PluginError> {
        let Blob { digest: wanted, size: length, .. } = blob;
        if size > *length {
            return Err(self.too_long(blob));
        }
        if size < *length {
            return Err(self.mismatch(format!("expected {length} bytes of {wanted}, found {size}")));
        }
        if digest != wanted {
            return Err(self.mismatch(format!("expected the content {wanted}, found {digest}")));
        }
        Ok(())
    }

    /// Bytes that are not those that were asked for.
    pub(super) fn mismatch(&self, what: String) -> PluginError {
        PluginError::new(self.name(), PluginErrorKind::Mismatch(what))
            .hint("the registry, or somebody on the way to it, sends other bytes than it says")
    }

    /// A failure to get or to store something.
    pub(super) fn failed(&self, what: impl Into<String>) -> PluginError {
        self.connection.failed(what)
    }
}

/// What a registry says that a manifest is called.
fn said(response: &Response) -> Option<Digest> {
    response.headers().get("docker-content-digest")?.to_str().ok()?.parse().ok()
}
