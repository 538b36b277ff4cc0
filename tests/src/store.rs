//! The key-value store under several real processes, one of which is killed in the middle.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hookbox::store::{Bucket, Store};

/// The directory and the name of a writer: set for [`one_writer_of_several`] in a process of its own.
const PLACE: &str = "HOOKBOX_TEST_STORE";
const NUMBER: &str = "HOOKBOX_TEST_WRITER";
/// The number of writes of a writer that is not killed.
const WRITES: usize = 300;

fn bucket(directory: &Path) -> Bucket {
    Store::at(directory.to_owned()).bucket(["global", "", "writer"])
}

/// The body of a writer; without its variables it does nothing. It prints the acknowledged writes.
#[tokio::test]
async fn one_writer_of_several() {
    let (Some(place), Ok(number)) = (std::env::var_os(PLACE), std::env::var(NUMBER)) else { return };
    let bucket = bucket(&PathBuf::from(place));
    let endless = number == "victim";
    for at in (0..).take_while(|at| endless || *at < WRITES) {
        let key = format!("{number}/{at}");
        bucket.set(key.clone(), vec![b'x'; 500]).await.unwrap();
        bucket.increment("count".to_owned(), 1).await.unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nwrote {key}").unwrap();
        out.flush().unwrap();
    }
}

fn writer(place: &Path, number: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::one_writer_of_several", "--nocapture"])
        .env(PLACE, place)
        .env(NUMBER, number)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads the output of a writer to its end; kills it after this number of writes, if there is one.
fn acknowledged(mut writer: Child, kill_after: Option<usize>) -> Vec<String> {
    let mut written = Vec::new();
    for line in BufReader::new(writer.stdout.take().unwrap()).lines() {
        // The last line of a killed writer may be cut off.
        let Ok(line) = line else { break };
        written.extend(line.strip_prefix("wrote ").map(str::to_owned));
        if kill_after == Some(written.len()) {
            writer.kill().unwrap();
        }
    }
    assert_eq!(writer.wait().unwrap().success(), kill_after.is_none());
    written
}

#[tokio::test]
async fn a_killed_process_loses_no_write_that_was_acknowledged_and_holds_up_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let others: Vec<_> = ["a", "b"].map(|number| writer(dir.path(), number)).into();
    let readers: Vec<_> =
        others.into_iter().map(|child| std::thread::spawn(|| acknowledged(child, None))).collect();
    let mut written = acknowledged(writer(dir.path(), "victim"), Some(100));
    assert!(written.len() >= 100);
    // The next one starts with the files of the killed one.
    written.extend(acknowledged(writer(dir.path(), "after"), None));
    for reader in readers {
        written.extend(reader.join().unwrap());
    }
    let bucket = bucket(dir.path());
    for key in &written {
        assert!(bucket.exists(key.clone()).await.unwrap(), "{key} is lost");
    }
    let count = bucket.increment("count".to_owned(), 0).await.unwrap();
    // The killed one may have written once more than it could say.
    let said = written.len() as u64;
    assert!((said..=said + 1).contains(&count), "{count} counted, {said} said");
    assert!(bucket.take_notices().is_empty());
}
