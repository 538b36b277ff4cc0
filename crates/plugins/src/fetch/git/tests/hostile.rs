//! Servers that would have git use more than there is.

use std::io::Read as _;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A server of git's own protocol, which does this after it was asked for a repository.
fn server(answer: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("git://{}/org/repo", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut len = [0; 4];
            stream.read_exact(&mut len).unwrap();
            let len = usize::from_str_radix(str::from_utf8(&len).unwrap(), 16).unwrap();
            stream.read_exact(&mut vec![0; len - 4]).unwrap();
            answer(stream);
        }
    });
    url
}

fn packet(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

/// A git that may have little memory.
fn small() -> Bounds {
    Bounds { memory: 64 << 20, ..Bounds::default() }
}

/// Git has ended itself, because it got no more memory.
#[track_caller]
fn fails_for_want_of_memory(error: &PluginError) {
    let words = error.to_string().to_lowercase();
    assert!(words.contains("git failed: "), "{error}");
    assert!(["out of memory", "allocate", "mmap", "thread"].iter().any(|it| words.contains(it)), "{error}");
}

#[tokio::test]
async fn branches_without_end_do_not_fill_the_memory() {
    let url = server(|mut stream| {
        let id = "a".repeat(40);
        let mut lines = packet(&format!("{id} HEAD\0ofs-delta side-band-64k shallow\n"));
        for number in 0_u64.. {
            lines += &packet(&format!("{id} refs/heads/{number}{}\n", "x".repeat(900)));
            // The write fails after git has ended.
            if number % 100 == 0 && stream.write_all(std::mem::take(&mut lines).as_bytes()).is_err() {
                return;
            }
        }
    });
    fails_for_want_of_memory(&TestSource::new().fetch(&url, &small()).await.unwrap_err());
}

#[tokio::test]
async fn a_file_that_is_small_on_its_way_does_not_fill_the_memory() {
    let source = TestSource::new();
    // The second is a few bytes that refer to the first, which is needed whole for that; it is a few more.
    let (large, larger) = (vec![0; 40 << 20], vec![0; 41 << 20]);
    source.commit(&[("hooks/guard", b"x"), ("a/large", &large), ("b/large", &larger)]);
    source.git(["-C", "source", "repack", "-adfq"]);
    let dir = source.path("source");
    let packs = std::fs::read_dir(dir.join("objects/pack")).unwrap();
    let size: u64 = packs.map(|it| it.unwrap().metadata().unwrap().len()).sum();
    assert!(size < 1 << 20, "{size}");
    let url = server(move |stream| {
        let mut command = Command::new("git");
        let end = || OwnedFd::from(stream.try_clone().unwrap());
        command.arg("upload-pack").arg(&dir).stdin(end()).stdout(end()).status().unwrap();
    });
    fails_for_want_of_memory(&source.fetch(&url, &small()).await.unwrap_err());
    assert_eq!(source.fetch(&url, &Bounds::default()).await.unwrap().len(), 40);
}

#[tokio::test]
async fn a_large_repository_of_honest_people_is_there_as_before() {
    let source = TestSource::new();
    let noise =
        |seed: u32| (0..2500_u32).flat_map(move |n| (seed ^ n).wrapping_mul(2_654_435_761).to_le_bytes());
    let files: Vec<(String, Vec<u8>)> = (0..3000)
        .map(|number| {
            let top = if number % 10 == 0 { "skills" } else { "lib" };
            (format!("{top}/{}/{number}", number % 50), noise(number * 7919).collect())
        })
        .collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (path.as_str(), &**bytes)).collect();
    source.commit(&files);
    assert_eq!(source.fetch(&source.url(), &Bounds::default()).await.unwrap().len(), 40);
}

#[tokio::test]
async fn large_files_of_a_local_repository_are_not_compared_in_all_of_the_memory() {
    let source = TestSource::new();
    let files: Vec<(String, Vec<u8>)> = (0..8).map(|n| (format!("lib/{n}"), vec![n; 24 << 20])).collect();
    let mut files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (path.as_str(), &**bytes)).collect();
    files.push(("hooks/guard", b"x"));
    source.commit(&files);
    let bounds = Bounds { memory: 160 << 20, ..Bounds::default() };
    assert_eq!(source.fetch(&source.url(), &bounds).await.unwrap().len(), 40);
}

#[tokio::test]
async fn a_server_that_always_wants_other_ids_is_asked_twice() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let url = server(move |mut stream| {
        count.fetch_add(1, Ordering::SeqCst);
        stream.write_all(packet("ERR mismatched algorithms: client sha1\n").as_bytes()).unwrap();
    });
    let error = TestSource::new().fetch(&url, &Bounds::default()).await.unwrap_err();
    assert!(error.to_string().contains("mismatched algorithms"), "{error}");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}
