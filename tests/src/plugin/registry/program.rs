//! `hookbox plugin add` and `update` from a registry on this machine.

use serde_json::{Value, json};

use super::*;
use crate::plugin::{done, fails};

#[test]
#[ignore = "needs docker-registry: run `cargo xtask test-all`"]
fn a_published_plugin_is_installed_pinned_and_updated() {
    let env = TestEnvironment::new();
    let local = LocalRegistry::start(&env);
    let target = format!("oci://{}/org/tidy:1.0", local.address);
    let publish = |what: &str, target: &str| -> Value {
        done(&env, &["publish", what, target, "--json"]).json()["digest"].clone()
    };
    env.native("repo/tidy/hooks/guard", "before_tool_call", "true")
        .file("repo/tidy/recipes/tidy.md", "Tidy.");
    let first = publish("./tidy", &target);
    let row = done(&env, &["add", &target, "--yes", "--json"]).json()[0].clone();
    assert_eq!((&row["name"], &row["digest"], &row["trusted"]), (&json!("org/tidy"), &first, &json!(true)));
    assert_eq!((&row["source"], &row["commit"]), (&json!(target), &Value::Null));
    assert_eq!(done(&env, &["update"]).stdout, "org/tidy is up to date\n");

    // The tag goes on; what was installed is what is installed again.
    env.file("repo/tidy/recipes/more.md", "More.");
    let second = publish("./tidy", &target);
    std::fs::remove_dir_all(env.path("repo/.hookbox/plugins/org@tidy")).unwrap();
    let row = done(&env, &["add", "--json"]).json()[0].clone();
    assert_eq!((&row["digest"], &row["recipes"]), (&first, &json!(["tidy"])));
    let row = done(&env, &["update", "--json"]).json()[0].clone();
    assert_eq!((&row["from"]["digest"], &row["to"]["digest"]), (&first, &second));
    assert_eq!(row["difference"]["recipes"]["added"], json!(["more"]));

    // A component is a plugin with one hook.
    env.copy("repo/guard.wasm", &sample("guardrail"));
    let component = format!("oci://{}/org/guard:1.0", local.address);
    publish("guard.wasm", &component);
    let row = done(&env, &["add", &component, "--json"]).json()[0].clone();
    assert_eq!((&row["name"], &row["hooks"]), (&json!("org/guard"), &json!(["guard.wasm"])));

    // RFC 8410, section 10.1.
    let key = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=";
    env.file("repo/cosign.pub", format!("-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n"));
    let unsigned = ["add", &component, "--force", "--key", "cosign.pub", "--name", "a/b"];
    fails(&env, &unsigned, 1, &["sign"]);
    fails(&env, &["add", &format!("oci://{}/org/none:1.0", local.address)], 1, &["org/none"]);
    let names = done(&env, &["list", "--json"]).json();
    assert_eq!(names.as_array().unwrap().len(), 2, "{names:#}");
}
