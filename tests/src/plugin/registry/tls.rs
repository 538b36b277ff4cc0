//! A registry with TLS, reached by its name through a proxy, as in a company's network.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::LocalRegistry;
use crate::environment::TestEnvironment;
use crate::network::Authority;

/// A proxy that leads every name to one address; its own, and the names that it was asked for.
async fn proxy(to: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let names = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&names);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (to, asked) = (to.clone(), Arc::clone(&asked));
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.ok()?);
                }
                let head = String::from_utf8(head).ok()?;
                asked.lock().unwrap().push(head.lines().next()?.to_owned());
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
                let mut registry = TcpStream::connect(to).await.ok()?;
                tokio::io::copy_bidirectional(&mut stream, &mut registry).await.ok()
            });
        }
    });
    (address, names)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "needs docker-registry: run `cargo xtask test-all`"]
async fn a_registry_elsewhere_has_to_show_a_certificate_that_the_system_accepts() {
    let env = TestEnvironment::new();
    let (authority, other) = (Authority::new(), Authority::new());
    let (certificate, key) = authority.certificate(&["registry.example"]);
    env.file("tls.pem", certificate).file("tls.key", key);
    env.file("ca.pem", &authority.pem).file("other.pem", &other.pem);
    env.script("repo/plugin/hooks/tidy", "#!/bin/sh\n");
    let tls = format!(
        "  tls:\n    certificate: {}\n    key: {}\n",
        env.path("tls.pem").display(),
        env.path("tls.key").display()
    );
    let local = LocalRegistry::start_with(&env, &tls);
    let (address, names) = proxy(local.address.clone()).await;
    let mut env = env.variable("HTTPS_PROXY", &format!("http://{address}"));
    for (roots, registry, want) in [
        ("ca.pem", "registry.example", None),
        ("other.pem", "registry.example", Some("registry.example/org/tidy: cannot be reached: ")),
        ("ca.pem", "elsewhere.example", Some("elsewhere.example/org/tidy: cannot be reached: ")),
    ] {
        let roots = env.path(roots);
        env = env.variable("SSL_CERT_FILE", roots.to_str().unwrap());
        let target = format!("oci://{registry}/org/tidy:1");
        let output = env.hookbox(["plugin", "publish", "plugin", &target]);
        match want {
            None => assert_eq!(output.code, Some(0), "{output:?}"),
            Some(want) => {
                assert_eq!(output.code, Some(1), "{output:?}");
                assert!(output.stderr.contains(want), "{output:?}");
                assert!(output.stderr.to_lowercase().contains("certificate"), "{output:?}");
            }
        }
    }
    let names = names.lock().unwrap();
    assert!(names.iter().all(|it| it.starts_with("CONNECT ") && it.contains(".example:443 ")), "{names:?}");
    assert!(names.len() >= 3, "{names:?}");
}
