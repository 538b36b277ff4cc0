//! Which certificates a server may show.

use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// What TLS accepts with the certificates of the system (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others), or else those
/// of Mozilla. Reads files. An error is in words.
pub fn system_roots() -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    let (accepted, _) = roots.add_parsable_certificates(system.certs);
    if accepted == 0 {
        // Who names other roots means them.
        if ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().any(|name| std::env::var_os(name).is_some()) {
            return Err("no certificate in the place that SSL_CERT_FILE or SSL_CERT_DIR names".to_owned());
        }
        tracing::debug!("no root certificates of the system, using those of Mozilla");
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    config(roots)
}

/// What TLS accepts with these certificates and no others.
pub fn config(roots: RootCertStore) -> Result<ClientConfig, String> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
