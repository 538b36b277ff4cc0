//! The certificates that TLS accepts.

use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Returns a configuration that accepts the certificates of the system (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others), or
/// Mozilla's if the system has none. Reads files.
///
/// # Errors
///
/// A sentence, if the variables name no certificate.
pub fn system_roots() -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    let (accepted, _) = roots.add_parsable_certificates(system.certs);
    if accepted == 0 {
        // A user who names other certificates wants no fallback.
        if ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().any(|name| std::env::var_os(name).is_some()) {
            return Err("no certificate in the place that SSL_CERT_FILE or SSL_CERT_DIR names".to_owned());
        }
        tracing::debug!("no root certificates of the system, using those of Mozilla");
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    config(roots)
}

/// Returns a configuration that accepts these certificates and no others.
///
/// # Errors
///
/// A sentence, if TLS cannot be set up.
pub fn config(roots: RootCertStore) -> Result<ClientConfig, String> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
