//! The settings and the environment of the user, which git is given, and of a git around us, which it is not.
//!
//! A process has one environment, so that each case runs in a process of its own: this test binary again.

use std::process::Stdio;

use hookbox_plugins::{Hosts, Location, Plugins, Silent, Source, Stage, fetch};

use super::repository::{PLUGIN, Repository};
use crate::environment::TestEnvironment;

/// The source that a process of its own fetches. Without it there is nothing to do.
const SOURCE: &str = "HOOKBOX_TEST_SOURCE";

#[test]
fn in_a_process_of_its_own() {
    let Some(source) = std::env::var_os(SOURCE) else { return };
    let cwd = std::env::current_dir().unwrap();
    let source = Source::parse(source.to_str().unwrap(), &Hosts::new(&cwd)).unwrap();
    let plugins = Plugins::open(Location::Local, &cwd, ".hookbox").unwrap();
    let mut stage = Stage::new(&plugins, &Silent).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(fetch::fetch(&source, None, &mut stage, &Silent)) {
        Ok(resolved) => println!("\nresult: {resolved:?} with {} entries", stage.finish().unwrap().entries()),
        Err(error) => println!("\nresult: {error}"),
    }
}

/// Fetches this with these variables; the result in words.
fn fetched(env: &TestEnvironment, source: &str, variables: &[(&str, &str)]) -> String {
    let mut command = env.command(std::env::current_exe().unwrap());
    command.args(["plugin::fetch_environment::in_a_process_of_its_own", "--exact", "--nocapture"]);
    command.env(SOURCE, source).envs(variables.iter().copied()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = stdout.lines().find_map(|line| line.strip_prefix("result: "));
    line.unwrap_or_else(|| panic!("{output:?}")).to_owned()
}

/// Returns the description of a source with this commit of the plugin.
fn whole(commit: &str) -> String {
    format!("Commit(\"{commit}\") with 10 entries")
}

#[test]
fn org_and_repo_lead_where_the_users_settings_say() {
    let env = TestEnvironment::new();
    let commit = Repository::new(&env, "mirror/org/repo").commit("main", &PLUGIN);
    let mirror = env.path("mirror").display().to_string();
    let elsewhere = env.path("settings").display().to_string();
    // A plain path is an address for git, too, and the settings may stand elsewhere.
    for (address, file, variables) in [
        (format!("file://{mirror}/"), "home/.gitconfig", &[][..]),
        (format!("{mirror}/"), "settings", &[("GIT_CONFIG_GLOBAL", elsewhere.as_str())]),
    ] {
        env.file(file, format!("[url \"{address}\"]\n\tinsteadOf = https://github.com/\n"));
        for source in ["org/repo", "org/repo@main"] {
            assert_eq!(fetched(&env, source, variables), whole(&commit), "{address}");
        }
        std::fs::remove_file(env.path(file)).unwrap();
    }
    let settings = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", &format!("url.{mirror}/.insteadOf")),
        ("GIT_CONFIG_VALUE_0", "https://github.com/"),
    ];
    assert_eq!(fetched(&env, "org/repo", &settings), whole(&commit));
}

#[test]
fn an_address_of_ssh_goes_through_the_users_ssh() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "org/repo");
    let commit = repository.commit("main", &PLUGIN);
    // A server runs the last argument of ssh.
    env.script(
        "bin/our-ssh",
        "#!/bin/sh\necho \"$@\" >> \"$HOME/calls\"\nfor last; do :; done\nexec sh -c \"$last\"\n",
    );
    let ssh = env.path("bin/our-ssh").display().to_string();
    let path = repository.dir.display();
    for address in [format!("git@host.example:{path}"), format!("ssh://git@host.example{path}")] {
        assert_eq!(fetched(&env, &address, &[("GIT_SSH_COMMAND", &ssh)]), whole(&commit), "{address}");
    }
    env.file("home/.gitconfig", format!("[core]\n\tsshCommand = {ssh}\n"));
    assert_eq!(fetched(&env, &format!("git@host.example:{path}"), &[]), whole(&commit));
    let calls = env.read("home/calls").unwrap();
    assert_eq!(calls.matches("git@host.example git-upload-pack").count(), 3, "{calls}");
}

#[test]
fn a_git_around_us_is_left_alone() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "org/repo");
    let commit = repository.commit("main", &PLUGIN);
    let other = Repository::new(&env, "other");
    let stays = other.commit("main", &[("100644", "hooks/other", "x")]);
    let path = |name: &str| env.path(name).display().to_string();
    let variables = [
        ("GIT_DIR", path("other")),
        ("GIT_WORK_TREE", path("repo")),
        ("GIT_INDEX_FILE", path("other/index")),
        ("GIT_OBJECT_DIRECTORY", path("other/objects")),
        ("GIT_QUARANTINE_PATH", path("other/objects")),
        ("GIT_NAMESPACE", "x".to_owned()),
        ("GIT_DEFAULT_HASH", "sha256".to_owned()),
        ("GIT_TEMPLATE_DIR", path("home/template")),
        ("LC_ALL", "de_DE.UTF-8".to_owned()),
        ("LANGUAGE", "de".to_owned()),
    ];
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    // Hooks of the user run where the user works, and not here.
    for name in ["reference-transaction", "post-checkout", "fsmonitor-watchman"] {
        env.script(&format!("home/template/hooks/{name}"), "#!/bin/sh\necho ran >> \"$HOME/ran\"\n");
    }
    env.file("home/.gitconfig", format!("[core]\n\thooksPath = {}\n", path("home/template/hooks")));
    let before = other.git(&["count-objects", "-v"], "");
    assert_eq!(fetched(&env, &repository.url(), &variables), whole(&commit));
    assert_eq!(other.git(&["count-objects", "-v"], ""), before);
    assert_eq!(
        other.git(&["for-each-ref", "--format=%(objectname) %(refname)"], ""),
        format!("{stays} refs/heads/main")
    );
    assert_eq!(env.read("home/ran"), None);
    let missing = fetched(&env, &format!("{}@mian", repository.url()), &variables);
    assert!(missing.contains("has no branch, tag or commit mian"), "{missing}");
}

#[test]
fn no_setting_brings_back_what_runs_commands() {
    let env = TestEnvironment::new();
    let touch = format!("ext::touch% {}", env.path("home/ran").display());
    env.file(
        "home/.gitconfig",
        format!(
            "[url \"{touch}\"]\n\tinsteadOf = https://github.com/\n[protocol \"ext\"]\n\tallow = always\n"
        ),
    );
    for variables in [&[][..], &[("GIT_ALLOW_PROTOCOL", "ext:https")]] {
        let error = fetched(&env, "org/repo", variables);
        assert!(error.contains("' not allowed"), "{error}");
    }
    assert_eq!(env.read("home/ran"), None);
    // A protocol that the user has forbidden stays forbidden.
    let repository = Repository::new(&env, "org/repo");
    repository.commit("main", &PLUGIN);
    let error = fetched(&env, &repository.url(), &[("GIT_ALLOW_PROTOCOL", "https")]);
    assert!(error.contains("' not allowed"), "{error}");
}

#[test]
fn without_git_the_error_says_so() {
    let env = TestEnvironment::new();
    let path = env.path("bin").display().to_string();
    let error = fetched(&env, "org/repo", &[("PATH", &path)]);
    assert_eq!(error, "https://github.com/org/repo: git is not installed, or not on PATH");
}

#[test]
fn where_nobody_can_answer_nobody_is_asked() {
    let env = TestEnvironment::new();
    // A server that wants a password for everything.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/org/repo", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let head = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.read(&mut request).and_then(|_| stream.write_all(head.as_bytes())).ok();
        }
    });
    let error = fetched(&env, &address, &[]);
    assert!(error.contains("could not read Username"), "{error}");
    // The user's helper is asked, and what it says stays with git.
    let helper = "#!/bin/sh\necho $1 >> \"$HOME/asked\"\necho username=me\necho password=s3cretpassword\n";
    env.script("bin/git-credential-ours", helper);
    env.file("home/.gitconfig", "[credential]\n\thelper = ours\n");
    let error = fetched(&env, &address, &[]);
    assert!(error.contains("Authentication failed") && !error.contains("s3cret"), "{error}");
    assert!(env.read("home/asked").unwrap().starts_with("get\n"));
}
