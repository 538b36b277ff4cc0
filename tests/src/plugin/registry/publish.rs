//! `hookbox plugin publish`, with a registry on this machine.

use hookbox_plugins::registry::PLUGIN_ARTIFACT_TYPE;
use serde_json::Value;

use super::*;

/// A directory with a plugin, and other files.
fn with_plugin() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.script("repo/plugin/hooks/tidy", "#!/bin/sh\n")
        .file("repo/plugin/skills/tidy/SKILL.md", "Be tidy.")
        .file("repo/plugin/README.md", "# Tidy")
        .copy("repo/plugin/hooks/guard.wasm", &sample("guardrail"));
    env
}

#[tokio::test]
#[ignore = "needs docker-registry: run `cargo xtask test-all`"]
async fn a_directory_is_published_and_named_by_its_digest() {
    let env = with_plugin();
    let local = LocalRegistry::start(&env);
    let target = format!("oci://{}/org/tidy:1.0", local.address);
    let json = env
        .hookbox(["plugin", "publish", "plugin", &target, "--json", "--source", "https://git.example/tidy"])
        .json();
    let digest: Digest = json["digest"].as_str().unwrap().parse().unwrap();
    let exact = format!("oci://{}/org/tidy@{digest}", local.address);
    assert_eq!(
        json,
        serde_json::json!({"reference": exact, "kind": "directory", "tag": "1.0", "digest": digest})
    );
    // Again: the same bytes have the same name.
    let output =
        env.hookbox(["plugin", "publish", "./plugin/", &target, "--source", "https://git.example/tidy"]);
    assert_eq!((output.code, output.stdout.trim()), (Some(0), exact.as_str()), "{output:?}");
    assert!(output.stderr.contains("hookbox plugin add oci://"), "{output:?}");
    assert!(output.stderr.contains("also README.md\n"), "{output:?}");

    let at = local.reference("org/tidy:1.0");
    let (_, staged) = pull(&env, &registry(&env), &at, None, None).await.unwrap();
    for (path, want) in [
        ("hooks/tidy", true),
        ("hooks/guard.wasm", true),
        ("skills/tidy/SKILL.md", true),
        ("README.md", true),
    ] {
        assert_eq!(staged.path().join(path).is_file(), want, "{path}");
    }
    // As other tools see it.
    let accepted = ["application/vnd.oci.image.manifest.v1+json"];
    let anonymous = RegistryAuth::Anonymous;
    let (manifest, _) =
        other_tool().as_ref().pull_manifest_raw(&theirs(&at), &anonymous, &accepted).await.unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["artifactType"], PLUGIN_ARTIFACT_TYPE);
    assert_eq!(manifest["layers"][0]["mediaType"], "application/vnd.oci.image.layer.v1.tar+gzip");
    assert_eq!(manifest["annotations"]["org.opencontainers.image.title"], "org/tidy");
    assert_eq!(manifest["annotations"]["org.opencontainers.image.source"], "https://git.example/tidy");
}

#[tokio::test]
#[ignore = "needs docker-registry: run `cargo xtask test-all`"]
async fn a_component_is_published_with_what_it_says_of_itself() {
    let env = with_plugin();
    let local = LocalRegistry::start(&env);
    let target = format!("oci://{}/org/guard:1.0", local.address);
    let json = env.hookbox(["plugin", "publish", "plugin/hooks/guard.wasm", &target, "--json"]).json();
    assert_eq!(json["kind"], "component");
    let fetched = other_tool()
        .pull(&theirs(&local.reference("org/guard:1.0")), &RegistryAuth::Anonymous)
        .await
        .unwrap();
    assert_eq!(fetched.digest.as_deref(), json["digest"].as_str());
    let annotations = fetched.manifest.unwrap().annotations.unwrap();
    let inspected = env.hookbox(["inspect", "--json", "plugin/hooks/guard.wasm"]).json();
    for (key, field) in [("title", "name"), ("version", "version"), ("description", "description")] {
        assert_eq!(
            annotations[&format!("org.opencontainers.image.{key}")],
            inspected[field].as_str().unwrap()
        );
    }
}

#[test]
#[ignore = "needs docker-registry: run `cargo xtask test-all`"]
fn a_credential_helper_of_docker_says_who_calls() {
    let env = with_plugin();
    env.file("htpasswd", "user:$2y$05$abcdefghijklmnopqrstuubsRD.Ffj/ka0r3BpAjv57rF8oK.y5YW\n");
    let auth = format!("auth:\n  htpasswd:\n    realm: test\n    path: {}\n", env.path("htpasswd").display());
    let local = LocalRegistry::start_with(&env, &auth);
    let target = format!("oci://{}/org/tidy:1.0", local.address);
    let publish = || env.hookbox(["plugin", "publish", "plugin", &target]);
    let output = publish();
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains(&format!("hint: docker login {}", local.address)), "{output:?}");

    let config = serde_json::json!({"credHelpers": {&local.address: "test"}});
    env.file("home/.docker/config.json", config.to_string());
    env.script(
        "bin/docker-credential-test",
        "#!/bin/sh\ncat > /dev/null\necho '{\"ServerURL\":\"x\",\"Username\":\"user\",\"Secret\":\"a-password\"}'\n",
    );
    assert_eq!(publish().code, Some(0));
    env.script("bin/docker-credential-test", "#!/bin/sh\ncat > /dev/null\necho a-password\nexit 1\n");
    let output = publish();
    assert!(output.stderr.contains("the credential helper docker-credential-test failed"), "{output:?}");
    assert!(!output.stderr.contains("a-password"), "{output:?}");
    env.script(
        "bin/docker-credential-test",
        "#!/bin/sh\ncat > /dev/null\necho 'credentials not found in native keychain'\nexit 1\n",
    );
    let output = publish();
    assert!(output.stderr.contains("docker has no credentials for it"), "{output:?}");
}

#[test]
fn a_plugin_that_cannot_be_installed_is_not_published() {
    let env = with_plugin();
    env.directory("repo/empty/hooks")
        .file("repo/no-hook.wasm", b"\0asm\x01\0\0\0")
        .file("repo/broken/hooks/guard.wasm", "no component")
        .file("repo/script/hooks/guard", "#!/bin/sh\n")
        .file("repo/json/hooks/hooks.json", "{")
        .file("repo/torn/hooks/hooks.json", r#"{"hooks": {"PreToolUse": [{"command": "scripts/x.sh"}]}}"#)
        .symlink("repo/leaking/hooks/passwd", "/etc/passwd");
    // No server listens there.
    let target = "oci://127.0.0.1:9/org/name:1";
    let digest = format!("oci://127.0.0.1:9/org/name@sha256:{}", "a".repeat(64));
    for (path, target, code, want) in [
        ("empty", target, 1, "has no skills, no recipes and no hooks"),
        ("script", target, 1, "hooks/guard: is not a hook: it has no execute bit"),
        ("script", target, 1, "repo/script: has no skills, no recipes and no hooks"),
        ("json", target, 1, "hooks/hooks.json: "),
        ("json", target, 1, "repo/json: has no skills, no recipes and no hooks"),
        ("missing", target, 2, "missing: expected a component or a directory, found: No such file"),
        ("no-hook.wasm", target, 2, "is a core WebAssembly module"),
        ("broken", target, 2, "hooks/guard.wasm: is not WebAssembly"),
        (
            "torn",
            target,
            1,
            "its hook hooks.json#PreToolUse[0] runs scripts/x.sh, which is not a file of the plugin",
        ),
        ("leaking", target, 1, "hooks/passwd: is a symlink to /etc/passwd, which is not in the plugin"),
        ("plugin", "org/name", 2, "org/name: expected a place in a registry"),
        ("plugin", "org/name:1", 2, "hint: write oci://HOST/ORG/NAME:TAG"),
        ("plugin", "oci://127.0.0.1:9/Org/name", 2, "expected a repository in small letters"),
        ("plugin", &digest, 2, "expected a tag to publish under, found a digest"),
        ("plugin", target, 1, "127.0.0.1:9/org/name: cannot be reached"),
    ] {
        let output = env.hookbox(["plugin", "publish", path, target]);
        assert_eq!(output.code, Some(code), "{output:?}");
        assert!(output.stderr.contains(want), "{output:?}");
        assert_eq!(output.stdout, "");
    }
    let env = env.variable("HOOKBOX_DEPTH", "1");
    let output = env.hookbox(["plugin", "publish", "plugin", target]);
    assert_eq!(output.code, Some(2), "{output:?}");
}
