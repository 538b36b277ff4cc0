//! `hookbox plugin add`, `list`, `show` and `remove`, through the real program.

use std::process::Stdio;

use serde_json::{Value, json};

use super::repository::{PLUGIN, Repository};
use super::{done, fails, left_behind, on_a_terminal, plugin, written};
use crate::environment::{TestEnvironment, program};
use crate::mcp::wait_until;

fn lock(env: &TestEnvironment) -> String {
    env.read("repo/.hookbox/plugins.lock").unwrap_or_default()
}

#[test]
fn a_directory_is_installed_and_said_to_be() {
    let env = TestEnvironment::new();
    written(&env, "repo/org/tools");
    let output = done(&env, &["add", "./org/tools"]);
    assert_eq!(output.stdout, "Installed org/tools:\n  Skills:  1\n  Recipes: 1\n  Hooks:   1\n");
    assert!(!output.stderr.contains('\r') && !output.stderr.contains('\u{1b}'), "no bar: {output:#?}");
    for file in ["hooks/guard", "skills/pdf/SKILL.md", "recipes/review.md", "README.md"] {
        let installed = env.read(&format!("repo/.hookbox/plugins/org@tools/{file}"));
        assert_eq!(installed, env.read(&format!("repo/org/tools/{file}")), "{file}");
    }
    assert!(output.stderr.contains("\n  others  README.md\n"), "{output:#?}");
    assert!(lock(&env).contains("source = \"./org/tools\""), "{}", lock(&env));
    assert_eq!(left_behind(&env, "repo/.hookbox"), [""; 0]);

    let again = fails(&env, &["add", "./org/tools"], 1, &["org/tools: is installed already", "--force"]);
    assert_eq!(again.stdout, "");
    for force in [&[][..], &["--force"]] {
        let args = [&["add", "./org/tools", "--name", "Org/tools"], force].concat();
        fails(&env, &args, 1, &["Org/tools: differs from org/tools, which is installed, by the case"]);
    }
    env.file("repo/org/tools/recipes/second.md", "x");
    let row = done(&env, &["add", "./org/tools", "--force", "--json"]).json()[0].clone();
    assert_eq!(row["recipes"], json!(["review", "second"]));
    assert_eq!(
        (&row["source"], &row["commit"], &row["digest"], &row["trusted"]),
        (&json!("./org/tools"), &Value::Null, &Value::Null, &json!(false))
    );
}

#[test]
fn a_git_repository_is_reached_by_its_name_its_url_and_the_users_own_host() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "git/org/tools");
    let first = repository.commit("main", &PLUGIN);
    repository.git(&["tag", "v1", &first], "");
    let second = repository.commit("main", &[("100644", "recipes/only.md", "x")]);
    let host = format!("file://{}", env.path("git").display());
    env.file("home/.gitconfig", format!("[url \"{host}/\"]\n\tinsteadOf = https://github.com/\n"));

    let added = |args: &[&str]| done(&env, &[&["add", "--force", "--json"], args].concat()).json()[0].clone();
    for (args, commit, hooks) in [
        (&["org/tools"][..], &second, json!([])),
        (&["org/tools@v1"], &first, json!(["guard"])),
        (&["org/tools", "--ref", &first], &first, json!(["guard"])),
        (&[&repository.url()], &second, json!([])),
        (&[&repository.url(), "--ref", "v1"], &first, json!(["guard"])),
    ] {
        let row = added(args);
        assert_eq!(
            (&row["name"], &row["commit"], &row["hooks"]),
            (&json!("org/tools"), &json!(commit), &hooks),
            "{args:?}"
        );
    }
    assert!(lock(&env).contains(&format!("commit = \"{first}\"")), "{}", lock(&env));
    // A directory of that name is another thing, and the user may have meant it.
    env.file("repo/no/such/recipes/x.md", "x");
    fails(&env, &["add", "no/such"], 1, &["the directory of this name is ./no/such"]);
    let named = added(&["org/tools", "--name", "my/own"]);
    assert_eq!(named["name"], "my/own");

    env.file("home/.gitconfig", "")
        .file("home/.hookbox/hookbox.toml", format!("[plugins]\ngit_host = \"{host}/\"\n"));
    assert_eq!(added(&["org/tools"])["details"]["source"], format!("{host}/org/tools"));
    // A repository's own file has no say.
    env.file("home/.hookbox/hookbox.toml", "");
    env.file("repo/.hookbox/hookbox.toml", format!("[plugins]\ngit_host = \"{host}\"\n"));
    env.file("home/.gitconfig", "[url \"file:///nowhere/\"]\n\tinsteadOf = https://github.com/\n");
    fails(&env, &["add", "org/tools", "--force"], 1, &["https://github.com/org/tools"]);
    let told = env.hookbox(["list"]).stderr;
    assert!(told.contains("line 1: plugins is for the user's own file to say"), "{told}");
}

#[test]
fn installed_plugins_are_listed_as_a_table_and_as_data() {
    let env = TestEnvironment::new();
    let nothing = done(&env, &["list"]);
    assert_eq!(nothing.stdout, "");
    assert!(nothing.stderr.contains("hint: no plugins are installed"), "{nothing:#?}");
    assert_eq!(done(&env, &["list", "--json"]).json(), json!([]));

    written(&env, "a").native("a/hooks/off.disable", "turn_end", "true");
    env.file("b/recipes/x.md", "x").file("b/recipes/y.md", "y");
    done(&env, &["add", "../a", "--name", "jingkaihe/skills"]);
    done(&env, &["add", "../b", "--name", "anthropic/recipes", "--global"]);
    let kept = "repo/.kodelet/plugins/by@hand";
    env.file(&format!("{kept}/hooks/bad.wasm"), "no component");
    env.native("repo/.kodelet/plugins/odd/hooks/x", "turn_end", "true");
    let table = done(&env, &["list"]);
    assert_eq!(
        table.stdout,
        "NAME               TIER    SKILLS  RECIPES  HOOKS\n\
         jingkaihe/skills   repo    1       1        1 (1 disabled)\n\
         by/hand            repo    0       0        1\n\
         odd                repo    0       0        1\n\
         anthropic/recipes  global  0       2        0\n"
    );
    assert!(table.stderr.contains("warning: by/hand: hooks/bad.wasm: "), "{table:#?}");
    for (flag, names) in [
        ("--global", json!(["anthropic/recipes"])),
        ("--local", json!(["jingkaihe/skills", "by/hand", "odd"])),
    ] {
        let rows = done(&env, &["list", "--json", flag]).json();
        let found: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| &row["name"]).collect();
        assert_eq!(json!(found), names);
    }

    let rows = done(&env, &["list", "--json"]).json();
    let row = rows[0].as_object().unwrap();
    assert_eq!(
        row.keys().collect::<Vec<_>>(),
        ["name", "location", "path", "skills", "recipes", "hooks", "details"]
    );
    let path = env.path("repo/.hookbox/plugins/jingkaihe@skills");
    assert_eq!((&row["location"], &row["path"]), (&json!("local"), &json!(path)));
    assert_eq!(
        (&row["skills"], &row["recipes"], &row["hooks"]),
        (&json!(["pdf"]), &json!(["review"]), &json!(["guard"]))
    );
    let hooks = row["details"]["hooks"].as_array().unwrap();
    let statuses: Vec<_> =
        hooks.iter().map(|it| (it["name"].as_str().unwrap(), it["status"].as_str().unwrap())).collect();
    assert_eq!(statuses, [("guard", "untrusted"), ("off.disable", "disabled")]);
    assert_eq!(hooks[0]["full_name"], "jingkaihe/skills/guard");

    let shown = done(&env, &["show", "jingkaihe/skills"]);
    for words in [
        "jingkaihe/skills (repo)",
        "source    ../a",
        "guard (native)",
        "off.disable (native, disabled)",
        "trusted   no",
    ] {
        let words = words.replace("../a", &env.path("a").to_string_lossy());
        assert!(shown.stdout.contains(&words), "{words}: {shown:#?}");
    }
    assert_eq!(done(&env, &["show", "jingkaihe/skills", "--json"]).json(), rows[0]);
    // A directory that the user named is shown without a source.
    let odd = done(&env, &["show", "odd", "--json"]).json();
    assert_eq!(
        (&odd["details"]["hooks"][0]["full_name"], &odd["details"]["source"]),
        (&json!("odd/x"), &Value::Null)
    );
    done(&env, &["remove", "odd"]);
    assert!(!env.path("repo/.kodelet/plugins/odd").exists());
    fails(&env, &["show", "no/such"], 1, &["no/such: not found"]);
    fails(&env, &["show", "such"], 1, &["such: not found"]);
    fails(&env, &["show", "such/"], 2, &["expected ORG/REPO"]);
}

#[test]
fn a_plugin_in_both_places_is_named_with_its_place() {
    let env = TestEnvironment::new();
    written(&env, "tools");
    for place in ["--global", "--no-trust"] {
        done(&env, &["add", "../tools", "--name", "org/tools", place]);
    }
    fails(&env, &["show", "org/tools"], 2, &["expected one plugin, found", "--project or --global"]);
    done(&env, &["remove", "org@tools"]);
    fails(&env, &["remove", "org/tools"], 1, &["org/tools: not found", "give --global"]);
    assert!(env.path("home/.hookbox/plugins/org@tools").exists());
    let removed = done(&env, &["remove", "org/tools", "--global", "--json"]).json();
    assert_eq!((&removed[0]["name"], &removed[0]["location"]), (&json!("org/tools"), &json!("global")));
    assert_eq!(done(&env, &["list", "--json"]).json(), json!([]));
}

#[test]
fn two_plugins_of_one_name_are_listed_with_their_roots() {
    let env = TestEnvironment::new();
    env.file("repo/.hookbox/plugins/a@b/recipes/x.md", "x")
        .file("repo/.kodelet/plugins/a@b/recipes/x.md", "x")
        .file("repo/.hookbox/plugins/c@d/recipes/x.md", "x");
    let table = done(&env, &["list"]).stdout;
    for line in ["a/b   repo (.hookbox)", "a/b   repo (.kodelet)", "c/d   repo  "] {
        assert!(table.contains(line), "{line}: {table}");
    }
}

#[test]
fn a_plugin_that_only_the_lock_file_names_is_said_to_be_missing() {
    let env = TestEnvironment::new();
    written(&env, "x/gone").file("x/here/recipes/a.md", "a");
    done(&env, &["add", "../x/gone", "../x/here", "--yes"]);
    std::fs::remove_dir_all(env.path("repo/.hookbox/plugins/x@gone")).unwrap();
    let missing = "x/gone: is named by plugins.lock, and is not here";
    let list = done(&env, &["list", "--json"]);
    assert_eq!(list.json().as_array().unwrap().len(), 1);
    assert!(list.stderr.contains(missing), "{list:#?}");
    assert!(list.stderr.contains("hint: install what plugins.lock names with `hookbox plugin add`"));
    fails(&env, &["show", "x/gone"], 1, &[missing, "hookbox plugin add"]);
    let update = fails(&env, &["update"], 1, &[missing, "x/gone was not updated"]);
    assert_eq!(update.stdout, "x/here is up to date\n");
    let removed = done(&env, &["remove", "x/gone", "--json"]).json();
    assert_eq!(removed[0]["untrusted"], json!(["x/gone/guard"]), "{removed:#}");
    assert!(!lock(&env).contains("x/gone"), "{}", lock(&env));
    assert!(!done(&env, &["list"]).stderr.contains("x/gone"));

    done(&env, &["remove", "x/here"]);
    let nothing = done(&env, &["add"]);
    assert!(nothing.stderr.contains("plugins.lock names no plugin"), "{nothing:#?}");
}

#[test]
fn names_and_sources_that_could_lead_elsewhere_are_wrong_usage() {
    let env = TestEnvironment::new();
    written(&env, "tools");
    for name in [
        "",
        "tools",
        "../tools",
        "org/..",
        "org/tools/x",
        "/etc",
        "org//x",
        "org/\u{1b}[2J",
        "org\\x/y",
        "-x/y",
        "org@x/y",
    ] {
        let args = format!("--name={name}");
        fails(&env, &["add", "../tools", &args], 2, &[]);
        if !name.starts_with('-') {
            let code = if name == "tools" { 1 } else { 2 };
            fails(&env, &["remove", name], code, &[]);
        }
    }
    for source in [
        "",
        "tools",
        "a/b/c",
        "ext::sh -c touch% x",
        "ftp://h/a/b",
        "oci://host",
        "org/repo@a..b",
        "https://user:secret@example.com/a/b",
    ] {
        let output = fails(&env, &["add", source], 2, &[]);
        assert!(!output.stderr.contains("secret"), "{output:#?}");
    }
    for args in [
        &["add", "a/b", "c/d", "--name", "x/y"][..],
        &["add", "../tools", "--ref", "v1"],
        &["add"],
        &["add", "--ref", "v1"],
        &["add", "../tools", "--key", "none.pub"],
    ] {
        assert_eq!(plugin(&env, args).code, Some(2), "{args:?}");
    }
    assert!(!env.path("repo/.hookbox/plugins/org@tools").exists());
    let home = env.path("home").into_os_string().into_string().unwrap();
    fails(&env, &["add", "../tools", "--cwd", &home], 2, &["expected a repository", "--global"]);
}

#[test]
fn a_bar_is_drawn_on_a_terminal_and_without_colour_where_none_is_wanted() {
    for (variable, colour) in [("X", true), ("NO_COLOR", false)] {
        let env = TestEnvironment::new().variable("TERM", "xterm").variable(variable, "1");
        written(&env, "tools");
        let output = on_a_terminal(&env, &["add", "../tools", "--name", "org/tools", "--yes"], "");
        assert_eq!(output.code, Some(0), "{output:#?}");
        assert!(output.stdout.contains("unpacking org/tools"), "{output:#?}");
        assert_eq!(output.stdout.contains("\u{1b}[36m"), colour, "{output:#?}");
    }
}

#[test]
fn only_an_artifact_is_signed_and_only_a_public_key_verifies() {
    let env = TestEnvironment::new();
    written(&env, "tools")
        .file("repo/cosign.key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    fails(
        &env,
        &["add", "oci://127.0.0.1:1/org/name:1", "--key", "cosign.key"],
        2,
        &["expected one public key"],
    );
    fails(&env, &["add", "oci://127.0.0.1:1/org/name:1", "--key", "none"], 2, &["none"]);
    // RFC 8410, section 10.1.
    let key = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=";
    env.file("repo/cosign.pub", format!("-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n"));
    fails(&env, &["add", "../tools", "--key", "cosign.pub"], 2, &["expected a source of oci:// for --key"]);
    let output = plugin(&env, &["add", "oci://127.0.0.1:1/org/name:1", "--key", "cosign.pub"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("error: ") && output.stderr.contains("127.0.0.1:1"), "{output:#?}");
    assert!(!env.path("repo/.hookbox").exists());
}

#[test]
fn an_empty_source_is_not_a_plugin() {
    let env = TestEnvironment::new();
    env.file("empty/README.md", "x").file("text/hooks/notes", "no hook").directory("none/skills/a");
    env.file("script/hooks/guard", "#!/bin/sh\n").file("json/hooks/hooks.json", "{");
    for (dir, why) in [
        ("empty", "hint: expected files in skills/"),
        ("text", "hint: expected skills/NAME"),
        ("none", "hint: "),
        ("script", "hooks/guard: is not a hook: it has no execute bit"),
        ("json", "hooks/hooks.json: "),
    ] {
        let path = env.path(dir).into_os_string().into_string().unwrap();
        let error = format!("error: {path}: has no skills, no recipes and no hooks");
        fails(&env, &["add", &format!("../{dir}")], 1, &[&error, why]);
    }
    fails(&env, &["add", "../gone"], 1, &[]);
    assert!(!env.path("repo/.hookbox").exists(), "not even an empty root stays");
    assert_eq!(done(&env, &["list", "--json"]).json(), json!([]));
}

#[test]
fn of_several_sources_the_first_that_fails_is_the_last_unless_it_is_told_to_go_on() {
    let env = TestEnvironment::new();
    env.file("x/a/recipes/a.md", "a").file("x/b/recipes/b.md", "b");
    let names = || {
        let rows = done(&env, &["list", "--json"]).json();
        rows.as_array()
            .unwrap()
            .iter()
            .map(|row| row["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let output = fails(&env, &["add", "../x/a", "../x/gone", "../x/b"], 1, &[]);
    assert!(output.stdout.contains("Installed x/a:"), "{output:#?}");
    assert_eq!(names(), ["x/a"]);
    let output = fails(&env, &["add", "../x/a", "../x/gone", "--force", "--json"], 1, &[]);
    let rows: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(rows[0]["name"], "x/a", "{output:#?}");
    let output = fails(
        &env,
        &["add", "../x/a", "../x/gone", "nonsense", "../x/b", "--continue-on-error"],
        1,
        &["x/a: is installed already", "../x/gone was not installed", "nonsense was not installed"],
    );
    assert_eq!(output.stdout, "Installed x/b:\n  Skills:  0\n  Recipes: 1\n  Hooks:   0\n");
    assert_eq!(names(), ["x/a", "x/b"]);
}

#[test]
fn without_a_source_exactly_what_the_lock_file_says_is_installed() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "git/org/tools");
    let first = repository.commit("main", &PLUGIN);
    written(&env, "repo/vendor/own");
    done(&env, &["add", &repository.url(), "./vendor/own", "--yes"]);
    let whole = lock(&env);
    let installed = |name: &str| env.path(format!("repo/.hookbox/plugins/{name}"));
    // The branch goes on; what was installed is what is installed again.
    repository.commit("main", &[("100644", "recipes/other.md", "x")]);
    let again = done(&env, &["add"]);
    assert_eq!(
        (again.stdout.as_str(), again.stderr.contains("org/tools is installed")),
        ("", true),
        "{again:#?}"
    );
    for name in ["org@tools", "vendor@own"] {
        std::fs::remove_dir_all(installed(name)).unwrap();
    }
    let rows = done(&env, &["add", "--yes", "--json"]).json();
    assert_eq!((&rows[0]["commit"], &rows[0]["trusted"]), (&json!(first), &json!(true)));
    assert_eq!(rows.as_array().unwrap().len(), 2);
    assert_eq!(lock(&env), whole, "the lock file stays as it is");

    // Other bytes in place.
    let guard = "repo/.hookbox/plugins/org@tools/hooks/guard";
    env.file(guard, "#!/bin/sh\necho turn_end\n");
    fails(&env, &["add"], 1, &["org/tools: is installed with other bytes than plugins.lock says", "--force"]);
    done(&env, &["add", "--force"]);
    assert_eq!(env.read(guard).as_deref(), Some(PLUGIN[0].2));

    // Another source than the one that was locked, and lock files that somebody changed.
    let (tree, other) = (format!("sha256:{}", "0".repeat(64)), "1".repeat(40));
    let line = |key: &str| whole.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    let hook = whole.lines().find(|line| line.starts_with("digest = ")).unwrap();
    std::fs::remove_dir_all(installed("org@tools")).unwrap();
    for (from, to, words) in [
        (line("tree = "), format!("tree = \"{tree}\""), "tree: expected sha256:0000"),
        (hook.to_owned(), format!("digest = \"{tree}\""), "hook guard: expected native sha256:0000"),
        (line("commit = "), format!("commit = \"{other}\""), other.as_str()),
        (line("name = "), "name = \"../../x\"".to_owned(), "line "),
    ] {
        env.file("repo/.hookbox/plugins.lock", whole.replacen(&from, &to, 1));
        let output = plugin(&env, &["add", "--yes"]);
        assert_eq!(output.code, Some(1), "{words}: {output:#?}");
        assert!(output.stderr.contains(words), "{words}: {output:#?}");
        assert!(!installed("org@tools").exists(), "{words}");
        assert_eq!(left_behind(&env, "repo/.hookbox"), [""; 0]);
    }
    env.file("repo/.hookbox/plugins.lock", &whole);
    env.file("repo/vendor/own/recipes/new.md", "x");
    std::fs::remove_dir_all(installed("vendor@own")).unwrap();
    fails(
        &env,
        &["add", "--continue-on-error"],
        1,
        &["vendor/own: is not what plugins.lock says: tree: expected"],
    );
    assert!(installed("org@tools").exists() && !installed("vendor@own").exists());
}

#[test]
fn there_is_one_question_for_all_plugins_of_the_lock_file() {
    let env = TestEnvironment::new();
    written(&env, "x/a");
    written(&env, "x/b");
    done(&env, &["add", "../x/a", "../x/b"]);
    for name in ["x@a", "x@b"] {
        std::fs::remove_dir_all(env.path(format!("repo/.hookbox/plugins/{name}"))).unwrap();
    }
    let output = on_a_terminal(&env, &["add"], "y\n");
    assert_eq!(output.stdout.matches("[y/N]").count(), 1, "{output:#?}");
    assert!(output.stdout.contains("Trust the hooks of x/a and x/b as shown?"), "{output:#?}");
    let rows = done(&env, &["list", "--json"]).json();
    for row in rows.as_array().unwrap() {
        assert_eq!(row["details"]["trusted"], true, "{row:#}");
    }
    assert_eq!(rows.as_array().unwrap().len(), 2);
}

#[test]
fn an_interrupted_installation_leaves_nothing_behind() {
    let env = TestEnvironment::new();
    let started = env.path("started");
    env.script("bin/git", &format!("#!/bin/sh\ntouch '{}'\nexec sleep 20\n", started.display()));
    let mut command = env.command(program());
    command.args(["plugin", "add", "https://example.invalid/org/tools"]).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_until("git is at work", || started.exists());
    let signal = env.run(env.command("kill").args(["-INT", &child.id().to_string()]), "");
    assert_eq!(signal.code, Some(0), "{signal:#?}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!env.path("repo/.hookbox").exists());
    assert_eq!(done(&env, &["list", "--json"]).json(), json!([]));
}

#[test]
fn the_change_of_a_killed_process_is_repaired_and_reported() {
    let env = TestEnvironment::new();
    env.file("x/a/recipes/a.md", "a");
    done(&env, &["add", "../x/a"]);
    env.directory("repo/.hookbox/plugins/.hookbox-stage-0badcafe/tree");
    let output = done(&env, &["list"]);
    assert!(output.stderr.contains("note: "), "{output:#?}");
    assert!(output.stdout.contains("x/a"), "{output:#?}");
    assert_eq!(left_behind(&env, "repo/.hookbox"), [""; 0]);
    assert!(!done(&env, &["list"]).stderr.contains("note: "));
}
