//! Git repositories: branches, tags, commits, pins, servers of all kinds, and what is said when it fails.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use hookbox_plugins::limits::Limits;
use hookbox_plugins::{Hosts, Observer, PluginErrorKind, Resolved, Silent, Source, Step, fetch};

use super::repository::{PLUGIN, Repository, fetched, git, staged};
use crate::environment::TestEnvironment;

fn guard(text: &str) -> [(&str, &str, &str); 1] {
    [("100755", "hooks/guard", text)]
}

#[test]
fn all_files_of_a_repository_are_staged() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "org/repo.git");
    let commit = repository.commit("main", &PLUGIN);
    let (tree, resolved) = fetched(&env, &repository.url(), None, None).unwrap();
    assert_eq!(resolved, commit);
    let tree: Vec<(&str, &str)> = tree.iter().map(|(path, is)| (path.as_str(), is.as_str())).collect();
    assert_eq!(
        tree,
        [
            ("README.md", "644 # Tools\n"),
            ("hooks/guard", "755 #!/bin/sh\necho before_tool_call\n"),
            ("hooks/hooks.json", "644 {}"),
            ("recipes/review.md", "644 # Review\n"),
            ("skills/pdf/SKILL.md", "644 # PDF\n"),
            ("skills/pdf/review.md", "link ../../recipes/review.md"),
        ]
    );
}

#[test]
fn a_reference_is_a_branch_a_tag_or_a_commit() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "source");
    let first = repository.commit("main", &guard("1"));
    repository.git(&["tag", "v1"], "");
    let second = repository.commit("main", &guard("2"));
    repository.git(&["tag", "-a", "v2", "-m", "x"], "");
    repository.git(&["branch", "both", &first], "");
    repository.git(&["tag", "both"], "");
    let third = repository.commit("feature/x", &guard("3"));
    let named = repository.commit("tag", &guard("4"));
    let plus = repository.commit("+main", &guard("5"));
    let hexadecimal = repository.commit("abcdef", &guard("6"));
    let last = repository.commit("main", &guard("7"));
    let object = repository.git(&["rev-parse", "v2"], "");
    assert_ne!(object, second);
    for (reference, commit, text) in [
        ("main", &last, "7"),
        ("HEAD", &last, "7"),
        ("v1", &first, "1"),
        ("v2", &second, "2"),
        ("refs/tags/v2", &second, "2"),
        ("feature/x", &third, "3"),
        ("refs/heads/feature/x", &third, "3"),
        ("tag", &named, "4"),
        ("+main", &plus, "5"),
        ("abcdef", &hexadecimal, "6"),
        // As git has it: the tag.
        ("both", &second, "2"),
        ("refs/heads/both", &first, "1"),
        (first.as_str(), &first, "1"),
        (&first.to_uppercase(), &first, "1"),
        (&first[..12], &first, "1"),
        (&object, &second, "2"),
    ] {
        let (tree, resolved) = fetched(&env, &repository.url(), Some(reference), None).unwrap();
        assert_eq!(
            (&resolved, tree["hooks/guard"].as_str()),
            (commit, &*format!("755 {text}")),
            "{reference}"
        );
    }
}

#[test]
fn a_pin_is_that_commit_wherever_the_branch_stands() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "source");
    let first = repository.commit("main", &guard("1"));
    let lost = repository.commit("other", &guard("lost"));
    repository.commit("main", &guard("2"));
    for reference in [None, Some("main"), Some("gone")] {
        let (tree, resolved) = fetched(&env, &repository.url(), reference, Some(&first)).unwrap();
        assert_eq!((resolved, tree["hooks/guard"].as_str()), (first.clone(), "755 1"));
    }
    repository.git(&["update-ref", "-d", "refs/heads/other"], "");
    repository.git(&["reflog", "expire", "--expire=now", "--all"], "");
    repository.git(&["gc", "--quiet", "--prune=now"], "");
    repository.git(&["tag", "-a", "v1", "-m", "x", &first], "");
    let object = repository.git(&["rev-parse", "v1"], "");
    // A commit that is gone, one that never existed, and a tag, which is not a commit.
    for pin in [&lost, &"1".repeat(40), &object] {
        let error = fetched(&env, &repository.url(), Some("main"), Some(pin)).unwrap_err();
        assert!(matches!(error.kind, PluginErrorKind::Mismatch(_)), "{error}");
        assert!(error.to_string().contains(pin.as_str()), "{error}");
        assert!(error.hint.is_some());
    }
}

#[test]
fn a_repository_in_sha256_is_fetched_too() {
    let env = TestEnvironment::new();
    let repository = Repository::with(&env, "source", &["--object-format=sha256"]);
    let commit = repository.commit("main", &PLUGIN);
    assert_eq!(commit.len(), 64);
    for (reference, pin) in [(None, None), (Some(&commit[..10]), None), (None, Some(commit.as_str()))] {
        assert_eq!(fetched(&env, &repository.url(), reference, pin).unwrap().1, commit);
    }
}

#[test]
fn a_clone_without_its_history_is_a_source_as_well() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "source");
    let first = repository.commit("main", &guard("1"));
    let last = repository.commit("main", &guard("2"));
    repository.git(&["clone", "--quiet", "--depth=1", &repository.url(), "../clone"], "");
    let url = format!("file://{}", env.path("clone").display());
    for (reference, pin) in [(None, None), (Some(&last[..10]), None), (Some("main"), Some(last.as_str()))] {
        assert_eq!(fetched(&env, &url, reference, pin).unwrap().1, last);
    }
    let error = fetched(&env, &url, None, Some(&first)).unwrap_err();
    assert!(matches!(error.kind, PluginErrorKind::Mismatch(_)), "{error}");
}

#[test]
fn a_server_of_plain_files_gives_everything_too() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "source");
    let first = repository.commit("main", &guard("1"));
    let last = repository.commit("main", &guard("2"));
    repository.git(&["update-server-info"], "");
    let url = serve(repository.dir.clone());
    for (reference, pin, commit) in [
        (None, None, &last),
        (Some("main"), None, &last),
        (Some(first.as_str()), None, &first),
        (Some(&first[..10]), None, &first),
        (Some("main"), Some(first.as_str()), &first),
        (None, Some(&last), &last),
    ] {
        let (_, resolved) = fetched(&env, &url, reference, pin).unwrap();
        assert_eq!(&resolved, commit, "{reference:?} {pin:?}");
    }
    let error = fetched(&env, &url, None, Some(&"1".repeat(40))).unwrap_err();
    assert!(matches!(error.kind, PluginErrorKind::Mismatch(_)), "{error}");
    let error = fetched(&env, &format!("{url}/nothing"), None, None).unwrap_err();
    assert!(error.to_string().contains("git failed: fatal: repository"), "{error}");
}

#[test]
fn a_missing_repository_or_reference_is_named_with_the_next_step() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "source");
    repository.commit("main", &guard("1"));
    repository.git(&["tag", "v1.0"], "");
    repository.git(&["tag", "v1.1"], "");
    let empty = Repository::new(&env, "empty");
    let unborn = Repository::new(&env, "unborn");
    unborn.commit("other", &guard("1"));
    let blob = Repository::new(&env, "blob");
    let id = blob.blob("x");
    blob.git(&["update-ref", "refs/tags/file", &id], "");
    env.directory("plain");
    let nothing = format!("file://{}", env.path("nothing").display());
    let plain = format!("file://{}", env.path("plain").display());
    for (url, reference, says, hint) in [
        (repository.url(), Some("v1.2"), "has no branch, tag or commit v1.2", "it has v1.0, v1.1"),
        (repository.url(), Some("abcdef12"), "has no branch, tag or commit abcdef12", "it has "),
        (repository.url(), Some("mian"), "has no branch, tag or commit mian", "it has main"),
        (empty.url(), None, "has no branch and no tag: it is empty", "push a commit"),
        (empty.url(), Some("main"), "has no branch and no tag", "push a commit"),
        (unborn.url(), None, "has no default branch", "--ref: other"),
        (blob.url(), Some("file"), "has something else than a commit", "name a branch"),
        (nothing, None, "does not appear to be a git repository", "git ls-remote"),
        (plain, None, "does not appear to be a git repository", "git ls-remote"),
        ("http://127.0.0.1:1/a/b".into(), None, "git failed: fatal: unable to access", "git ls-remote"),
        ("https://no-such-host.invalid/a/b".into(), None, "Could not resolve host", "git ls-remote"),
    ] {
        let error = fetched(&env, &url, reference, None).unwrap_err();
        assert!(error.to_string().starts_with(&url), "{error}");
        assert!(error.to_string().contains(says), "{url} {reference:?}: {error}");
        assert!(error.hint.as_ref().is_some_and(|it| it.contains(hint)), "{url} {reference:?}: {error:?}");
    }
}

#[test]
fn a_password_in_an_address_is_never_shown() {
    let env = TestEnvironment::new();
    let address = "http://me:s3cretpassword@127.0.0.1:1/a/b";
    let source = Source::parse(address, &Hosts::new("/")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mismatch = staged(&env, Limits::default(), |stage| {
        runtime.block_on(fetch::fetch(&source, Some(&Resolved::Directory), stage, &Silent))
    });
    for error in [fetched(&env, address, None, None).unwrap_err(), mismatch.unwrap_err()] {
        let all = format!("{error} {error:?}");
        assert!(!all.contains("s3cret"), "{all}");
        assert!(all.contains("127.0.0.1"), "{all}");
    }
}

#[test]
fn the_begin_of_a_fetch_is_observed() {
    #[derive(Default)]
    struct Seen(Mutex<Vec<String>>);
    impl Observer for Seen {
        fn step(&self, step: &Step<'_>) {
            self.0.lock().unwrap().push(format!("{step:?}"));
        }
    }
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "source");
    repository.commit("main", &PLUGIN);
    let seen = Seen::default();
    staged(&env, Limits::default(), |stage| git(&repository.url().parse()?, None, None, stage, &seen))
        .unwrap();
    let seen = seen.0.into_inner().unwrap();
    // Nothing is shown after that until git is done: it may ask a question.
    assert_eq!(seen, ["Resolving"]);
}

#[test]
fn each_source_is_fetched_on_any_runtime() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "org/repo");
    let commit = repository.commit("main", &guard("1"));
    env.file("dir/hooks/guard", "1");
    let hosts = Hosts::new(env.path("repo"));
    let source = |text: &str| Source::parse(text, &hosts).unwrap();
    let git = source(&repository.url());
    let directory = source("../dir");
    let artifact = source("oci://127.0.0.1:1/org/name:1");
    let pin = Resolved::Commit(commit.clone());
    let one = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let many = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    for runtime in [one(), many()] {
        for (source, pin, resolved) in [
            (&git, None, Ok(Resolved::Commit(commit.clone()))),
            (&git, Some(&pin), Ok(pin.clone())),
            (&directory, None, Ok(Resolved::Directory)),
            (&directory, Some(&Resolved::Directory), Ok(Resolved::Directory)),
            (&directory, Some(&pin), Err("is pinned as another kind of source")),
            (&git, Some(&Resolved::Directory), Err("is pinned as another kind of source")),
            (&artifact, None, Err("127.0.0.1:1/org/name")),
            (&artifact, Some(&pin), Err("is pinned as another kind of source")),
        ] {
            let brought = staged(&env, Limits::default(), |stage| {
                runtime.block_on(fetch::fetch(source, pin, stage, &Silent))
            });
            match resolved {
                Ok(resolved) => assert_eq!(brought.unwrap().1, resolved),
                Err(says) => {
                    let error = brought.unwrap_err().to_string();
                    assert!(error.contains(says), "{says}: {error}");
                }
            }
        }
    }
}

/// A web server of the files in a directory: the oldest way to publish a repository, without any git behind it.
fn serve(dir: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let dir = dir.clone();
            std::thread::spawn(move || answer(stream, &dir));
        }
    });
    url
}

fn answer(mut stream: TcpStream, dir: &Path) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let request = lines.next().unwrap().unwrap();
    while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
    let path =
        request.split(' ').nth(1).unwrap().split('?').next().unwrap().trim_start_matches('/').to_owned();
    let mut bytes = Vec::new();
    let status = match fs::File::open(dir.join(path)).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => "200 OK",
        Err(_) => "404 Not Found",
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&bytes)).ok();
}
