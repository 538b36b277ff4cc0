//! Requests over TLS, to a server of this machine with a certificate authority of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hookbox::capability::{Capability, Origin};
use hookbox::internal::network::http::Request;
use hookbox::internal::network::{Rules, Timeouts};
use hookbox::{Network, NetworkError};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

const LONG: Duration = Duration::from_secs(600);

/// A certificate authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate for these names, and its key, in PEM.
    pub(crate) fn certificate(&self, names: &[&str]) -> (String, String) {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// Returns the TLS configuration of a server with these names.
    fn server(&self, names: &[&str]) -> ServerConfig {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    }

    /// Starts a server with these names that answers every request with its head; returns its port, and the
    /// number of requests so far. It ends with the runtime.
    pub(crate) async fn serve(&self, names: &[&str]) -> (u16, Arc<AtomicUsize>) {
        let acceptor = TlsAcceptor::from(Arc::new(self.server(names)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_) => break,
                    }
                }
                count.fetch_add(1, Ordering::Relaxed);
                let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", head.len());
                let _ = stream.write_all(&[answer.as_bytes(), &head].concat()).await;
                let _ = stream.shutdown().await;
            }
        });
        (port, requests)
    }
}

fn origin(text: &str) -> Origin {
    match format!("http:{text}").parse() {
        Ok(Capability::Http(origin)) => origin,
        other => panic!("{text}: {other:?}"),
    }
}

async fn get(network: &Network, uri: &str, granted: &str, listed: &[&str]) -> Result<String, NetworkError> {
    let timeouts = Timeouts { connect: LONG, first_byte: LONG, between_bytes: LONG, total: LONG };
    let listed = listed.iter().map(|it| origin(it)).collect();
    let rules = Rules { origins: [origin(granted)].into(), listed, timeouts };
    let answer = network.send(Request::get(uri).body(String::new()).unwrap(), &rules).await?;
    Ok(String::from_utf8(answer.into_body().read().await?.to_vec()).unwrap())
}

#[tokio::test]
async fn what_is_granted_is_reached_over_tls_and_nothing_else() {
    let authority = Authority::new();
    let (port, requests) = authority.serve(&["localhost"]).await;
    let network = Network::with_roots(authority.pem.as_bytes()).unwrap();
    let granted = format!("https://localhost:{port}");
    let head = get(&network, &format!("{granted}/x"), &granted, &[]).await.unwrap();
    assert!(head.starts_with("GET /x HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("host: localhost:{port}\r\n")), "{head}");
    assert_eq!(requests.load(Ordering::Relaxed), 1);
    for uri in [
        format!("http://localhost:{port}"),
        "https://localhost".to_owned(),
        format!("https://127.0.0.1:{port}"),
        format!("https://[::ffff:127.0.0.1]:{port}"),
        "http://169.254.169.254".to_owned(),
    ] {
        let refused = get(&network, &uri, &granted, &[]).await;
        assert_eq!(refused, Err(NetworkError::NotGranted(origin(&uri))));
    }
    assert_eq!(requests.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_certificate_of_another_authority_or_host_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (port, requests) = authority.serve(&["localhost", "other.test"]).await;
    let (elsewhere, more) = authority.serve(&["other.test"]).await;
    let ours = Network::with_roots(authority.pem.as_bytes()).unwrap();
    let theirs = Network::with_roots(other.pem.as_bytes()).unwrap();
    for (network, port) in [(&theirs, port), (&Network::new(), port), (&ours, elsewhere)] {
        let granted = format!("https://localhost:{port}");
        let refused = get(network, &granted, &granted, &[]).await;
        assert!(matches!(refused, Err(NetworkError::Certificate(_))), "{refused:?}");
    }
    // An address is checked as well.
    let granted = format!("https://127.0.0.1:{port}");
    let refused = get(&ours, &granted, &granted, &[]).await;
    assert!(matches!(refused, Err(NetworkError::Certificate(_))), "{refused:?}");
    assert_eq!(requests.load(Ordering::Relaxed) + more.load(Ordering::Relaxed), 0);

    for pem in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(matches!(Network::with_roots(pem.as_bytes()), Err(NetworkError::Tls(_))), "{pem}");
    }
}

#[tokio::test]
async fn a_name_that_is_inside_needs_its_address_granted_as_well() {
    let authority = Authority::new();
    let (port, requests) = authority.serve(&["inside.test"]).await;
    let network = Network::with_roots(authority.pem.as_bytes())
        .unwrap()
        .with_resolver(|_| async { Ok(vec!["127.0.0.1".parse().unwrap()]) });
    let granted = format!("https://inside.test:{port}");
    let address = format!("https://127.0.0.1:{port}");
    for listed in [&[][..], &["https://127.0.0.1"], &[&format!("http://127.0.0.1:{port}")]] {
        let refused = get(&network, &granted, &granted, listed).await.unwrap_err();
        assert!(refused.to_string().ends_with(&format!("with the right http:{address}")), "{refused}");
    }
    assert_eq!(requests.load(Ordering::Relaxed), 0);
    assert!(get(&network, &granted, &granted, &[&address]).await.is_ok());
}

#[tokio::test]
async fn a_server_that_never_shakes_hands_ends_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let granted = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let authority = Authority::new();
    let network = Network::with_roots(authority.pem.as_bytes()).unwrap();
    let timeouts = Timeouts { connect: Duration::from_millis(300), ..Timeouts::default() };
    let rules = Rules { origins: [origin(&granted)].into(), listed: Arc::default(), timeouts };
    let failed = network.send(Request::get(&granted).body(String::new()).unwrap(), &rules).await.unwrap_err();
    assert_eq!(failed, NetworkError::ConnectTimeout);
}
