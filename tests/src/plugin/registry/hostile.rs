//! Registries that lie, send too much or too little, or nothing at all.

use super::server::{Answer, Answers, Body, MANIFEST, Server, blob, descriptor};
use super::*;
use serde_json::{Value, json};

const TAR: &str = "application/vnd.oci.image.layer.v1.tar";
const GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const WASM: &str = "application/vnd.wasm.config.v0+json";
const CONFIG: &[u8] = b"{}";

/// An archive with this in it; the modes and kinds are `tar`'s own.
fn archive(path: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0; 512];
    header[..path.len()].copy_from_slice(path.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    header[148..156].copy_from_slice(b"        ");
    header[156] = b'0';
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut bytes = [&header[..], content].concat();
    bytes.resize(bytes.len().next_multiple_of(512) + 1024, 0);
    bytes
}

fn manifest(config: &str, artifact_type: Option<&str>, layers: &[(&str, &[u8])]) -> Value {
    let layers: Vec<Value> = layers.iter().map(|(kind, bytes)| descriptor(kind, bytes)).collect();
    let mut manifest = json!({"schemaVersion": 2, "config": descriptor(config, CONFIG), "layers": layers});
    if let Some(kind) = artifact_type {
        manifest["artifactType"] = kind.into();
    }
    manifest
}

fn plugin(layer: &[u8]) -> Value {
    manifest("application/vnd.oci.empty.v1+json", Some("application/vnd.hookbox.plugin.v1"), &[(TAR, layer)])
}

/// The answers of a registry that has this plugin.
fn honest(layer: &[u8]) -> Answers {
    Answers::from([
        (MANIFEST.to_owned(), Answer::ok(plugin(layer).to_string())),
        (blob(layer), Answer::ok(layer)),
        (blob(CONFIG), Answer::ok(CONFIG)),
    ])
}

/// Pulls `org/name:1`; the error, and nothing that was left behind.
#[track_caller]
fn refused(env: &TestEnvironment, pulled: Result<(Digest, Staged), PluginError>) -> String {
    let error = pulled.expect_err("it was pulled");
    let left: Vec<_> = std::fs::read_dir(env.path("repo/.hookbox/plugins")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    error.to_string()
}

#[tokio::test]
async fn a_registry_that_sends_other_bytes_than_it_says_is_refused() {
    let layer = archive("hooks/guard", b"#!/bin/sh\n");
    let at = |path: &str, answer: Answer| (path.to_owned(), answer);
    let longer = [&layer[..], b"more"].concat();
    let endless = || Answer::body(Body::Endless(vec![b' '; 64 << 10]));
    let promised =
        |promised: u64, bytes: &[u8]| Answer::body(Body::Cut { promised, bytes: bytes.to_owned() });
    let mut other = layer.clone();
    other[0] ^= 1;
    let large = |size: u64| {
        let mut manifest = plugin(&layer);
        manifest["layers"][0]["size"] = size.into();
        Answer::ok(manifest.to_string())
    };
    let lie =
        Answer::ok(plugin(&layer).to_string()).header("Docker-Content-Digest", Digest::of(b"").to_string());
    for (name, change, want) in [
        ("another digest in the head", at(MANIFEST, lie), "which the registry says it is, found sha256:"),
        ("an endless manifest", at(MANIFEST, endless()), "a manifest of at most 4194304 bytes, found more"),
        (
            "a huge manifest",
            at(MANIFEST, promised(1 << 40, b"{")),
            "a manifest of at most 4194304 bytes, found more",
        ),
        (
            "no manifest",
            at(MANIFEST, Answer::ok("<html>")),
            "expected a manifest of OCI, found something else",
        ),
        ("another layer", at(&blob(&layer), Answer::ok(other)), "expected the content sha256:"),
        ("a longer layer", at(&blob(&layer), Answer::ok(longer)), "bytes of sha256:"),
        ("a shorter layer", at(&blob(&layer), Answer::ok("x")), "found 1"),
        ("an endless layer", at(&blob(&layer), endless()), "found more"),
        ("a layer that breaks off", at(&blob(&layer), promised(2048, b"x")), "cannot be reached"),
        ("no layer", at(&blob(&layer), Answer::status(404)), "expected the content sha256:"),
        (
            "a layer of 10 GB",
            at(MANIFEST, large(10 << 30)),
            "bytes of application/vnd.oci.image.layer.v1.tar, found 10737418240",
        ),
        (
            "a failure",
            at(MANIFEST, Answer { status: 500, ..endless() }),
            "expected to send content, found HTTP 500",
        ),
        (
            "a denial",
            at(
                MANIFEST,
                Answer {
                    status: 418,
                    ..Answer::ok(r#"{"errors":[{"code":"TEAPOT","message":"\u001b[31m"}]}"#)
                },
            ),
            "found HTTP 418: TEAPOT \\u{1b}[31m",
        ),
        (
            "redirects",
            at(MANIFEST, Answer::status(307).header("Location", MANIFEST)),
            "found more than 5 redirects",
        ),
        (
            "a way out of this machine without TLS",
            at(MANIFEST, Answer::status(302).header("Location", "http://192.0.2.1/x")),
            "redirected to \"http://192.0.2.1/x\": expected an address with https",
        ),
        (
            "a way to a file",
            at(MANIFEST, Answer::status(302).header("Location", "file:///etc/passwd")),
            "redirected to \"file:///etc/passwd\"",
        ),
        ("a redirect to nowhere", at(MANIFEST, Answer::status(302)), "redirected nowhere"),
    ] {
        let env = TestEnvironment::new();
        let server = Server::new(honest(&layer)).await;
        let reference = reference(&format!("{}/org/name:1", server.address));
        let registry = registry(&env);
        pull(&env, &registry, &reference, None, None).await.unwrap();
        server.answer(&change.0, change.1);
        let error = refused(&env, pull(&env, &registry, &reference, None, None).await);
        assert!(error.contains(want), "{name}: {error}");
    }
}

#[tokio::test]
async fn another_manifest_than_the_digest_names_is_refused_before_anything_else_is_fetched() {
    let env = TestEnvironment::new();
    let layer = archive("hooks/guard", b"#!/bin/sh\n");
    let server = Server::new(honest(&layer)).await;
    let wanted = Digest::of(b"what was locked");
    server.answer(&format!("/v2/org/name/manifests/{wanted}"), Answer::ok(plugin(&layer).to_string()));
    let tag = reference(&format!("{}/org/name:1", server.address));
    let registry = registry(&env);
    for (reference, pin) in [(&tag, Some(&wanted)), (&pinned(&tag, &wanted), None)] {
        let error = refused(&env, pull(&env, &registry, reference, pin, None).await);
        assert!(error.contains(&format!("expected the manifest {wanted}, found sha256:")), "{error}");
    }
    let other = Digest::of(b"another one");
    let error = refused(&env, pull(&env, &registry, &pinned(&tag, &other), Some(&wanted), None).await);
    assert!(error.contains(&format!("found a reference to {other}")), "{error}");
    assert!(!server.was_asked_for("/blobs/"));
}

#[tokio::test]
async fn an_artifact_that_is_not_a_plugin_is_named_before_its_layers_are_fetched() {
    let env = TestEnvironment::new();
    let layer = archive("hooks/guard", b"#!/bin/sh\n");
    let server = Server::new(honest(&layer)).await;
    let reference = reference(&format!("{}/org/name:1", server.address));
    let index =
        json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []});
    for (manifest, want) in [
        (
            manifest("application/vnd.oci.image.config.v1+json", None, &[(GZIP, &layer)]),
            "found a container image",
        ),
        (manifest("application/vnd.cncf.helm.config.v1+json", None, &[(GZIP, &layer)]), "found a Helm chart"),
        (
            manifest(WASM, None, &[("application/wasm", &layer[..]); 2]),
            "expected a component in one layer, found 2 layers",
        ),
        (manifest(WASM, None, &[("application/wasm", &layer)]), "expected the configuration of a component"),
        (index, "found an image index, which lists several manifests"),
    ] {
        server.answer(MANIFEST, Answer::ok(manifest.to_string()));
        let error = refused(&env, pull(&env, &registry(&env), &reference, None, None).await);
        assert!(error.contains(want), "{error}");
    }
    assert!(!server.was_asked_for(&blob(&layer)));
}

#[tokio::test]
async fn a_registry_that_takes_its_time_is_left() {
    let layer = archive("hooks/guard", b"#!/bin/sh\n");
    let (short, long) = (Duration::from_millis(300), Duration::from_secs(60));
    for (body, at, read, whole, want) in [
        (Body::Silent, MANIFEST, short, long, "expected an answer, found none within 300ms"),
        (Body::Silent, &blob(&layer)[..], short, long, "expected an answer, found none within 300ms"),
        (Body::Drip, MANIFEST, long, short, "expected all of it within 300ms"),
    ] {
        let env = TestEnvironment::new();
        let server = Server::new(honest(&layer)).await;
        server.answer(at, Answer::body(body));
        let reference = reference(&format!("{}/org/name:1", server.address));
        let registry = impatient(&env, read, whole);
        let error = refused(&env, pull(&env, &registry, &reference, None, None).await);
        assert!(error.contains(want), "{error}");
    }
    let env = TestEnvironment::new();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = pull(&env, &registry(&env), &reference(&format!("{nobody}/org/name:1")), None, None)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn a_hostile_archive_writes_nothing() {
    for (path, size, want) in [
        ("../../../../escaped", 1, "has a part `..`"),
        ("/tmp/hookbox-escaped", 1, "is absolute"),
        ("hooks/../../../escaped", 1, "has a part `..`"),
        ("hooks/large", (64 << 20) + 1, "hooks/large: is too large"),
    ] {
        let env = TestEnvironment::new();
        let layer = archive(path, &vec![b'x'; size]);
        let server = Server::new(honest(&layer)).await;
        let reference = reference(&format!("{}/org/name:1", server.address));
        let error = refused(&env, pull(&env, &registry(&env), &reference, None, None).await);
        assert!(error.contains(want), "{error}");
        assert!(!env.path("escaped").exists() && !env.path("repo/escaped").exists());
    }
}

/// A registry that hands out tokens, and what docker knows of it.
async fn with_tokens(env: &TestEnvironment, layer: &[u8], login: Value) -> (Server, OciReference) {
    let server = Server::new(honest(layer)).await;
    let realm =
        format!("Bearer realm=\"http://{}/token\",service=\"here\",scope=\"everything\"", server.address);
    server.answer(MANIFEST, Answer::status(401).header("WWW-Authenticate", realm));
    env.file("home/.docker/config.json", json!({"auths": {&server.address: login}}).to_string());
    let reference = reference(&format!("{}/org/name:1", server.address));
    (server, reference)
}

#[tokio::test]
async fn a_token_is_asked_for_what_is_wanted_and_no_more() {
    let layer = archive("hooks/guard", b"#!/bin/sh\n");
    let scope = "scope=repository%3Aorg%2Fname%3Apull";
    for (login, shown) in [
        (json!({}), "GET /token?"),
        (json!({"auth": "dXNlcjpzZWNyZXQ="}), "authorization: Basic dXNlcjpzZWNyZXQ="),
        (
            json!({"identitytoken": "long-lived"}),
            "grant_type=refresh_token&client_id=hookbox&refresh_token=long-lived",
        ),
    ] {
        let env = TestEnvironment::new();
        let (server, reference) = with_tokens(&env, &layer, login.clone()).await;
        server.answer("/token", Answer::ok(json!({"token": "short-lived"}).to_string()));
        // The registry asks for a login whatever it is shown: one token, one more try, and no third.
        let error = refused(&env, pull(&env, &registry(&env), &reference, None, None).await);
        let want = if login == json!({}) {
            "docker has no credentials for it"
        } else {
            "docker's credentials were refused"
        };
        assert!(error.contains(want), "{error}");
        let requests = server.requests();
        assert_eq!(requests.len(), 3, "{requests:?}");
        assert!(requests[1].contains(shown) && requests[1].contains(scope), "{}", requests[1]);
        assert!(
            requests[1].contains("service=here") && !requests[1].contains("everything"),
            "{}",
            requests[1]
        );
        assert!(requests[2].contains("authorization: Bearer short-lived"), "{}", requests[2]);
        assert!(!error.contains("-lived"), "{error}");
    }
}

#[tokio::test]
async fn a_token_service_is_believed_no_more_than_a_registry() {
    let layer = archive("hooks/guard", b"#!/bin/sh\n");
    let challenge =
        |realm: &str| Answer::status(401).header("WWW-Authenticate", format!("Bearer realm=\"{realm}\""));
    for (manifest, token, want) in [
        (
            None,
            Answer::body(Body::Endless(vec![b'x'; 64 << 10])),
            "a token of at most 4194304 bytes, found more",
        ),
        (None, Answer::ok("no json"), "expected a token, found something else"),
        (None, Answer::ok(json!({"token": "a\r\nb: c"}).to_string()), "docker's credentials were refused"),
        (None, Answer::status(500), "expected a token, found HTTP 500"),
        (
            None,
            Answer::status(302).header("Location", "http://192.0.2.1/"),
            "expected a token, found HTTP 302",
        ),
        (None, Answer::status(401), "docker's credentials were refused"),
        (
            Some(challenge("http://192.0.2.1/token")),
            Answer::ok("{}"),
            "a token service with https, found \"http://192.0.2.1/token\"",
        ),
        (Some(challenge("nonsense")), Answer::ok("{}"), "a token service with https, found \"nonsense\""),
        (Some(Answer::status(401)), Answer::ok("{}"), "docker's credentials were refused"),
    ] {
        let env = TestEnvironment::new();
        let (server, reference) = with_tokens(&env, &layer, json!({"auth": "dXNlcjpzZWNyZXQ="})).await;
        server.answer("/token", token);
        if let Some(manifest) = manifest {
            server.answer(MANIFEST, manifest);
        }
        let error = refused(&env, pull(&env, &registry(&env), &reference, None, None).await);
        assert!(error.contains(want) && !error.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn a_password_goes_to_the_registry_and_nowhere_else() {
    let env = TestEnvironment::new();
    let layer = archive("hooks/guard", b"#!/bin/sh\n");
    let storage = Server::new(honest(&layer)).await;
    let server = Server::new(honest(&layer)).await;
    server.guard("authorization: Basic dXNlcjpzZWNyZXQ=");
    let elsewhere = format!("http://{}{}", storage.address, blob(&layer));
    server.answer(&blob(&layer), Answer::status(307).header("Location", elsewhere));
    let login = json!({"auths": {&server.address: {"auth": "dXNlcjpzZWNyZXQ="}}});
    env.file("home/.docker/config.json", login.to_string());
    let reference = reference(&format!("{}/org/name:1", server.address));
    pull(&env, &registry(&env), &reference, None, None).await.unwrap();
    assert!(storage.was_asked_for(&blob(&layer)));
    assert!(storage.requests().iter().all(|head| !head.to_ascii_lowercase().contains("authorization")));
    // The storage asks as well: it is not told.
    storage.guard("authorization: Basic dXNlcjpzZWNyZXQ=");
    let error = refused(&env, pull(&env, &registry(&env), &reference, None, None).await);
    assert!(error.contains("expected to send content, found HTTP 401"), "{error}");
    assert!(storage.requests().iter().all(|head| !head.to_ascii_lowercase().contains("authorization")));
}
