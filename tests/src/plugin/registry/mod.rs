//! OCI registries: a real one on this machine, and hostile ones.

mod hostile;
mod managed;
mod program;
mod publish;
mod server;
mod signatures;
mod tls;

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hookbox::Digest;
use hookbox_plugins::registry::{Options, PublicKey, Registry, Timeouts};
use hookbox_plugins::{
    Hosts, Location, OciReference, PluginError, Plugins, Resolved, Silent, Source, Stage, Staged,
};
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference};
use oci_wasm::{Component, WasmClient, WasmConfig};

use crate::environment::{TestEnvironment, sample};

/// The program, as Debian calls it.
const PROGRAM: &str = "docker-registry";
/// The longest wait until it listens. It takes some hundredths of a second.
const START: Duration = Duration::from_secs(20);

/// A registry on this machine, for one test.
struct LocalRegistry {
    child: Child,
    /// Host and port.
    address: String,
}

impl Drop for LocalRegistry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(PROGRAM)).find(|program| program.is_file())
}

impl LocalRegistry {
    /// Starts a registry that everybody may write to.
    fn start(env: &TestEnvironment) -> Self {
        Self::start_with(env, "")
    }

    /// One with this beside its usual configuration.
    fn start_with(env: &TestEnvironment, configuration: &str) -> Self {
        let program = program()
            .unwrap_or_else(|| panic!("{PROGRAM} is not installed; hint: apt-get install {PROGRAM}"));
        // Somebody else may take the port between the look and the start.
        for _ in 0..5 {
            let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let storage = env.path("registry");
            env.file(
                "registry.yml",
                format!(
                    "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: {free}\n  secret: test\n{configuration}",
                    storage.display()
                ),
            );
            let log = File::create(env.path("registry.log")).unwrap();
            let mut child = Command::new(&program)
                .arg("serve")
                .arg(env.path("registry.yml"))
                .env_clear()
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .spawn()
                .unwrap();
            let since = Instant::now();
            while since.elapsed() < START && child.try_wait().unwrap().is_none() {
                if TcpStream::connect(free).is_ok() {
                    return Self { child, address: free.to_string() };
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        panic!("{PROGRAM} does not start: {}", env.read("registry.log").unwrap_or_default());
    }

    fn reference(&self, rest: &str) -> OciReference {
        reference(&format!("{}/{rest}", self.address))
    }
}

/// The part after `oci://`.
fn reference(text: &str) -> OciReference {
    match Source::parse(&format!("oci://{text}"), &Hosts::new("/")).unwrap() {
        Source::Oci(reference) => reference,
        other => panic!("{other:?}"),
    }
}

/// Returns the reference with this digest.
fn pinned(of: &OciReference, digest: &Digest) -> OciReference {
    OciReference { tag: None, digest: Some(digest.clone()), ..of.clone() }
}

fn options(env: &TestEnvironment) -> Options {
    Options { docker_config: Some(env.path("home/.docker")), ..Options::default() }
}

fn registry(env: &TestEnvironment) -> Registry {
    Registry::new(options(env))
}

fn plugins(env: &TestEnvironment) -> Plugins {
    Plugins::open(Location::Local, &env.path("repo"), ".hookbox").unwrap()
}

/// Pulls into a stage, and says what it was.
async fn pull(
    env: &TestEnvironment,
    registry: &Registry,
    reference: &OciReference,
    pin: Option<&Digest>,
    key: Option<&PublicKey>,
) -> Result<(Digest, Staged), PluginError> {
    let plugins = plugins(env);
    let mut stage = Stage::new(&plugins, &Silent)?;
    let name = Source::Oci(reference.clone()).name()?;
    match registry.pull(reference, &name, pin, key, &mut stage, &Silent).await? {
        Resolved::Manifest(digest) => Ok((digest, stage.finish()?)),
        other => panic!("{other:?}"),
    }
}

/// A plugin directory, staged as `publish` does.
fn directory(env: &TestEnvironment) -> Staged {
    let plugins = plugins(env);
    let mut stage = Stage::new(&plugins, &Silent).unwrap();
    for (path, executable, text) in [
        ("hooks/guard", true, "#!/bin/sh\n"),
        ("skills/tidy/SKILL.md", false, "Be tidy."),
        ("recipes/review.md", false, "Review."),
    ] {
        let path = stage.path(path.as_bytes()).unwrap();
        stage.file(&path, executable, None, text.as_bytes()).unwrap();
    }
    stage.finish().unwrap()
}

/// The client that other WebAssembly tools use.
fn other_tool() -> WasmClient {
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let protocol = ClientProtocol::Http;
    WasmClient::new(Client::try_from(ClientConfig { protocol, ..ClientConfig::default() }).unwrap())
}

fn theirs(reference: &OciReference) -> Reference {
    reference.to_string().trim_start_matches("oci://").parse().unwrap()
}

#[tokio::test]
#[ignore = "needs docker-registry: run `cargo xtask test-all`"]
async fn a_component_and_a_directory_come_back_as_they_were_published() {
    let env = TestEnvironment::new();
    let local = LocalRegistry::start(&env);
    let registry = registry(&env);
    let description = Default::default();
    let bytes = std::fs::read(sample("guardrail")).unwrap();
    let (component, plugin) = (local.reference("org/guard:1.0"), local.reference("org/plugin"));

    let first = registry.push_component(&component, bytes.clone(), &description, &Silent).await.unwrap();
    let again = registry.push_component(&component, bytes.clone(), &description, &Silent).await.unwrap();
    assert_eq!(first, again, "the same component has the same name");
    for (reference, pin) in
        [(&component, None), (&pinned(&component, &first), None), (&component, Some(&first))]
    {
        let (digest, staged) = pull(&env, &registry, reference, pin, None).await.unwrap();
        assert_eq!(digest, first);
        assert_eq!(std::fs::read(staged.path().join("hooks/guard.wasm")).unwrap(), bytes);
        assert_eq!(staged.entries(), 2);
    }

    let staged = directory(&env);
    let name = "org/plugin".parse().unwrap();
    let first = registry.push_directory(&plugin, &name, &staged, &description, &Silent).await.unwrap();
    let (digest, back) = pull(&env, &registry, &plugin, None, None).await.unwrap();
    assert_eq!((&digest, back.digest()), (&first, staged.digest()));
    // A tag that has moved on does not change what a pin names.
    registry.push_component(&plugin, bytes, &description, &Silent).await.unwrap();
    let (digest, back) = pull(&env, &registry, &plugin, Some(&first), None).await.unwrap();
    assert_eq!((&digest, back.digest()), (&first, staged.digest()));

    for (reference, want) in [
        ("org/guard:2.0", "expected an artifact 2.0, found nothing"),
        ("org/other", "expected an artifact latest, found nothing"),
    ] {
        let error = pull(&env, &registry, &local.reference(reference), None, None).await.unwrap_err();
        assert!(error.to_string().contains(want), "{error}");
    }
}

#[tokio::test]
#[ignore = "needs docker-registry: run `cargo xtask test-all`"]
async fn components_of_other_webassembly_tools_install_and_they_can_fetch_ours() {
    let env = TestEnvironment::new();
    let local = LocalRegistry::start(&env);
    let (registry, client) = (registry(&env), other_tool());
    let bytes = std::fs::read(sample("guardrail")).unwrap();

    let ours = local.reference("org/ours:1.0");
    let description = hookbox_plugins::registry::Description {
        title: "guard".to_owned(),
        version: "1.0".to_owned(),
        ..Default::default()
    };
    registry.push_component(&ours, bytes.clone(), &description, &Silent).await.unwrap();
    let fetched = client.pull(&theirs(&ours), &RegistryAuth::Anonymous).await.unwrap();
    assert_eq!(fetched.layers[0].data, bytes);
    let manifest = fetched.manifest.unwrap();
    let annotations = manifest.annotations.unwrap();
    assert_eq!(annotations["org.opencontainers.image.title"], "guard");
    assert_eq!(annotations.len(), 2, "{annotations:?}");
    let config = WasmConfig::try_from(fetched.config.data.to_vec()).unwrap();
    let exports = config.component.unwrap().exports;
    assert!(exports.iter().any(|it| it.starts_with("hookbox:hook/hook@")), "{exports:?}");

    let other = local.reference("org/theirs:1.0");
    let (config, layer) = WasmConfig::from_raw_component(bytes.clone(), Some("somebody".to_owned())).unwrap();
    client.push(&theirs(&other), &RegistryAuth::Anonymous, layer, config, None).await.unwrap();
    let (_, staged) = pull(&env, &registry, &other, None, None).await.unwrap();
    assert_eq!(std::fs::read(staged.path().join("hooks/theirs.wasm")).unwrap(), bytes);

    // One that says of itself that it is a program.
    let (mut config, layer) = WasmConfig::from_raw_component(bytes, None).unwrap();
    let exports = vec!["wasi:cli/run@0.2.0".to_owned()];
    config.component = Some(Component { exports, imports: Vec::new(), target: None });
    client.push(&theirs(&other), &RegistryAuth::Anonymous, layer, config, None).await.unwrap();
    let error = pull(&env, &registry, &other, None, None).await.unwrap_err().to_string();
    assert!(error.contains("expected a hook: a component that exports hookbox:hook/hook"), "{error}");
    assert!(error.contains("found a component that exports wasi:cli/run@0.2.0"), "{error}");
}

#[tokio::test]
#[ignore = "needs docker-registry: run `cargo xtask test-all`"]
async fn a_registry_is_told_who_calls_as_docker_knows_it() {
    let env = TestEnvironment::new();
    // The user `user` with the password `a-password`.
    env.file("htpasswd", "user:$2y$05$abcdefghijklmnopqrstuubsRD.Ffj/ka0r3BpAjv57rF8oK.y5YW\n");
    let auth = format!("auth:\n  htpasswd:\n    realm: test\n    path: {}\n", env.path("htpasswd").display());
    let local = LocalRegistry::start_with(&env, &auth);
    let registry = registry(&env);
    let reference = local.reference("org/private:1");
    let bytes = std::fs::read(sample("guardrail")).unwrap();
    let description = Default::default();
    let log_in = |user: &str, password: &str| {
        use base64::Engine as _;
        let auth = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
        let config = serde_json::json!({"auths": {&local.address: {"auth": auth}}});
        env.file("home/.docker/config.json", config.to_string());
    };

    let error = registry.push_component(&reference, bytes.clone(), &description, &Silent).await.unwrap_err();
    assert!(error.to_string().contains("to write to it, but docker has no credentials for it"), "{error}");
    assert_eq!(*error.hint.unwrap(), *format!("docker login {}", local.address));

    log_in("user", "a-password");
    registry.push_component(&reference, bytes.clone(), &description, &Silent).await.unwrap();
    pull(&env, &registry, &reference, None, None).await.unwrap();

    log_in("user", "another-password");
    let error = pull(&env, &registry, &reference, None, None).await.unwrap_err();
    assert!(error.to_string().contains("to read it, but docker's credentials were refused"), "{error}");
    assert!(!format!("{error:?}").contains("another-password"));
    assert_eq!(*error.hint.unwrap(), *format!("docker login {}", local.address));

    env.file("home/.docker/config.json", "no json: secret");
    let error = pull(&env, &registry, &reference, None, None).await.unwrap_err().to_string();
    assert!(error.contains("config.json: ") && error.contains("is not a configuration of docker"), "{error}");
    assert!(!error.contains("secret"), "{error}");
}

/// One that waits so long for the next byte, and for everything.
fn impatient(env: &TestEnvironment, read: Duration, whole: Duration) -> Registry {
    let timeouts = Timeouts { read, whole, ..Timeouts::default() };
    Registry::new(Options { timeouts, ..options(env) })
}
