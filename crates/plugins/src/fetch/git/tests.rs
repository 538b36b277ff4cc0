use std::ffi::OsStr;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;

use super::process::{LEASH, REMOVED};
use super::*;
use crate::{Location, Plugins, Silent};

mod hostile;

/// A repository with one commit, and a source for plugins.
struct TestSource(TempDir);

impl TestSource {
    fn new() -> Self {
        let source = Self(tempfile::tempdir().unwrap());
        source.git(["init", "--quiet", "--bare", "--initial-branch=main", "source"]);
        source
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn git<const N: usize>(&self, args: [&str; N]) -> String {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A commit with these files, by `git fast-import`.
    fn commit(&self, files: &[(&str, &[u8])]) {
        let mut stream = b"commit refs/heads/main\ncommitter t <t@t> 1 +0000\ndata 1\nx\n".to_vec();
        for (path, bytes) in files {
            stream.extend(format!("M 644 inline {path}\ndata {}\n", bytes.len()).bytes());
            stream.extend(*bytes);
            stream.push(b'\n');
        }
        let mut command = Command::new("git");
        command.args(["fast-import", "--quiet"]).current_dir(self.path("source")).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(&stream).unwrap();
        assert!(child.wait().unwrap().success());
    }

    fn url(&self) -> String {
        format!("file://{}", self.path("source").display())
    }

    async fn fetch(&self, url: &str, bounds: &Bounds) -> Result<String, PluginError> {
        let plugins = Plugins::open(Location::Local, self.0.path(), ".hookbox").unwrap();
        let mut stage = Stage::new(&plugins, &Silent).unwrap();
        fetch(&url.parse()?, None, None, bounds, &mut stage, &Silent).await
    }
}

fn git(url: &GitUrl) -> Git<'_> {
    let bounds = Bounds::default();
    Git { url, dir: "/nowhere/git".into(), bounds, ends: Instant::now() + bounds.time }
}

#[tokio::test]
async fn a_host_that_never_answers_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("git://{}/a/b", listener.local_addr().unwrap());
    let bounds = Bounds { time: Duration::from_millis(300), ..Bounds::default() };
    let error = TestSource::new().fetch(&url, &bounds).await.unwrap_err();
    assert!(error.to_string().contains("was not fetched within 0.3 seconds"), "{error}");
}

#[tokio::test]
async fn a_repository_that_is_too_large_is_not_fetched_whole() {
    let source = TestSource::new();
    let noise: Vec<u8> = (0..300_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    source.commit(&[("hooks/guard", b"x"), ("noise", &noise)]);
    let bounds = Bounds { disk: 100_000, ..Bounds::default() };
    let error = source.fetch(&source.url(), &bounds).await.unwrap_err();
    assert!(matches!(error.kind, PluginErrorKind::TooLarge(_)), "{error}");
    assert_eq!(source.fetch(&source.url(), &Bounds::default()).await.unwrap().len(), 40);
}

#[tokio::test]
async fn a_tree_without_end_is_not_listed() {
    let source = TestSource::new();
    let names: Vec<String> = (0..50).map(|n| format!("lib/{n}")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|it| (it.as_str(), b"x".as_slice())).collect();
    source.commit(&files);
    let error = source.fetch(&source.url(), &Bounds { listed: 20, ..Bounds::default() }).await.unwrap_err();
    assert!(error.to_string().contains("expected at most 20 files"), "{error}");
}

#[tokio::test]
async fn a_fetch_that_is_dropped_ends_git() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("git://{}/a/b", listener.local_addr().unwrap());
    let (source, bounds) = (TestSource::new(), Bounds::default());
    let mut connection = tokio::select! {
        connection = listener.accept() => connection.unwrap().0,
        fetched = source.fetch(&url, &bounds) => panic!("{fetched:?}"),
    };
    // Git has the other end of the connection.
    let mut received = Vec::new();
    let ended = connection.read_to_end(&mut received);
    drop(tokio::time::timeout(Duration::from_secs(60), ended).await.expect("git still runs"));
    assert_eq!(std::fs::read_dir(source.path(".hookbox/plugins")).unwrap().count(), 0);
}

#[test]
fn variables_that_git_sets_for_its_hooks_do_not_reach_our_git() {
    let source = TestSource::new();
    let local = source.git(["rev-parse", "--local-env-vars"]);
    // These two carry settings of the user, such as `git -c` of the git that runs a hook.
    let settings = ["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"];
    let removed: Vec<&str> = REMOVED.split(' ').collect();
    let left: Vec<&str> =
        local.lines().filter(|it| !settings.contains(it) && !removed.contains(it)).collect();
    assert_eq!(left, [""; 0]);
    let url = source.url().parse().unwrap();
    let git = Git { dir: source.path("source"), ..git(&url) };
    let command = git.command(Path::new("/dev/null"), &["version"]);
    let value = |name: &str| command.get_envs().find(|(it, _)| *it == name).map(|(_, value)| value);
    assert_eq!(value("GIT_DIR"), Some(None));
    assert_eq!(value("LC_ALL"), Some(Some(OsStr::new("C"))));
    assert_eq!(value("GIT_SSH_COMMAND"), None);
    assert_eq!(value("GIT_CONFIG_GLOBAL"), None);
    assert_eq!(command.get_current_dir(), Some(Path::new(source.0.path())));
}

#[test]
fn a_reference_that_git_refuses_is_refused_here() {
    for name in [
        "a", "a/b", "+a", "a@b", "ä", "a..b", "a b", "a~b", "a^b", "a:b", "a?b", "a*b", "a[b", "a\\b", "a.",
        ".a", "a/.b", "a.lock", "a.lock/b", "a@{b", "/a", "a/", "a//b", "a\u{7f}b", "a\tb",
    ] {
        let mut command = Command::new("git");
        let allowed =
            command.args(["check-ref-format", "--allow-onelevel", name]).status().unwrap().success();
        assert_eq!(check(Some(name), None).is_ok(), allowed, "{name:?}");
    }
}

#[test]
fn a_pin_is_a_whole_id_and_nothing_reaches_git_that_it_could_take_for_an_option_or_a_command() {
    let id = "0123456789abcdef0123456789ABCDEF01234567";
    for pin in [&id.to_lowercase(), &"a".repeat(64)] {
        assert!(check(Some("main"), Some(pin)).is_ok(), "{pin}");
    }
    for pin in ["", "main", "0123abc", id, &"g".repeat(40)] {
        assert!(check(None, Some(pin)).is_err(), "{pin}");
    }
    for reference in ["", "-x", "--upload-pack=x", "a:b", "^a", "a~1", "a^{}", "@", "a\nb"] {
        assert!(check(Some(reference), None).is_err(), "{reference:?}");
    }
}

#[tokio::test]
async fn no_git_is_started_when_the_time_is_over() {
    let temp = tempfile::tempdir().unwrap();
    let url = "https://h/a/b".parse().unwrap();
    let git = Git { ends: Instant::now(), dir: temp.path().join("git"), ..git(&url) };
    let error = git.run(&["init", "--bare"]).await.unwrap_err();
    assert_eq!(error.to_string(), "https://h/a/b: was not fetched within 600 seconds");
    assert!(!git.dir.exists());
}

/// Returns the words of a git that fetched this address, as hookbox shows them.
fn shown(url: &str, words: impl AsRef<[u8]>) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), words).unwrap();
    let url = url.parse().unwrap();
    let git = git(&url);
    git.failed(&git.words(file.path())).to_string()
}

#[test]
fn an_error_has_the_words_of_git_without_passwords() {
    let silent = shown("https://h/a/b", "\r\n");
    assert_eq!(silent, "https://h/a/b: git failed: it printed no message");
    let several = shown("https://h/a/b", "remote: no\r\nfatal: \u{fe}end\n");
    assert_eq!(several, "https://h/a/b: git failed: remote: no; fatal: \u{fe}end");
    for line in [
        "fatal: unable to access 'https://me:s3cretpass@h/a/b/': x",
        "fatal: could not read Password for 'https://me:s3cretpass@h'",
        "remote: s3cretpass is wrong",
        "fatal: other 'https://ghp_0123456789abcdefghijABCDEFGHIJ456789@other/x'",
        "fatal: moved to http://u:s3@o/x",
    ] {
        let error = shown("https://me:s3cretpass@h/a/b", line);
        for secret in ["s3", "ghp_"] {
            assert!(!error.contains(secret), "{error}");
        }
    }
}

#[test]
fn of_many_words_of_a_server_the_last_ones_are_shown_and_escaped() {
    let words = format!("remote: {}\nremote: \u{1b}[31m{}\nfatal: end", "é".repeat(100_000), "x".repeat(300));
    let error = shown("https://h/a/b", words);
    assert!(error.contains("remote: \\u{1b}[31mxxx") && error.ends_with("x; fatal: end"), "{error}");
    assert!(error.len() < 1000, "{error}");
}

#[test]
fn a_program_on_the_leash_ends_with_it_unless_all_is_well() {
    let script = ["-c", LEASH, "sh", "2048", "/dev/null"];
    // It would end by itself after a minute, which is a failure.
    let mut command = Command::new("/bin/sh");
    let mut child = command.args(script).args(["sleep", "60"]).stdin(Stdio::piped()).spawn().unwrap();
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    let mut command = Command::new("/bin/sh");
    command.args(script).args(["/bin/sh", "-c", "cat; ulimit -d"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.success(), output.stdout.as_slice()), (true, &b"2048\n"[..]));
}
