//! Tests of the trust file.

use super::*;
use crate::hook::{Digest, OnFailure};
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn record(name: &str) -> Record {
    Record {
        scope: Scope::Repository("/repo".into()),
        name: name.to_owned(),
        path: name.into(),
        kind: Kind::Component,
        digest: Digest::of(name.as_bytes()),
        trusted: true,
        grants: vec!["read:$REPO".parse().unwrap()],
        asked: vec!["read:$REPO".parse().unwrap(), "store".parse().unwrap()],
        on_failure: OnFailure::Block,
        replaces: vec![(Scope::Global, ".hookbox/hooks/x".into())],
        when: "2026-01-01T00:00:00Z".to_owned(),
    }
}

#[test]
fn records_are_read_again_from_a_private_file() {
    let temp = tempfile::tempdir().unwrap();
    let file = TrustFile::new(temp.path());
    assert_eq!(file.read().unwrap(), Records::default());
    file.update(|records| records.insert(record("x"))).unwrap();
    assert_eq!(file.read().unwrap().iter().collect::<Vec<_>>(), [&record("x")]);
    assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(file.path()).unwrap();
    assert!(text.contains("\"version\": 1") && text.contains("\"repository\": \"/repo\""), "{text}");
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let temp = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let file = TrustFile::new(temp.path());
            scope.spawn(move || {
                for n in 0..5 {
                    file.update(|records| records.insert(record(&format!("{writer}-{n}")))).unwrap();
                }
            });
        }
    });
    assert_eq!(TrustFile::new(temp.path()).read().unwrap().iter().count(), 40);
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 2, "no temporary file stays");
}

#[test]
fn a_broken_file_is_refused_and_left_alone() {
    let whole = {
        let temp = tempfile::tempdir().unwrap();
        let file = TrustFile::new(temp.path());
        file.update(|records| records.insert(record("x"))).unwrap();
        fs::read_to_string(file.path()).unwrap()
    };
    for (text, want) in [
        ("", "contains no record"),
        ("garbage", "contains no record"),
        ("{}", "contains no record"),
        ("{\"version\":2,\"records\":[],\"more\":1}", "has version 2"),
        ("{\"version\":1,\"records\":[],\"more\":1}", "contains no record"),
        (&whole[..whole.len() / 2], "contains no record"),
        (&whole.replace("sha256:", "md5:"), "contains no record"),
        (&whole.replace("read:$REPO", "everything"), "contains no record"),
    ] {
        let temp = tempfile::tempdir().unwrap();
        let file = TrustFile::new(temp.path());
        fs::write(file.path(), text).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        let error = file.read().unwrap_err().to_string();
        assert!(error.contains(want), "{text}: {error}");
        assert!(file.update(|records| records.insert(record("y"))).is_err());
        assert_eq!(fs::read_to_string(file.path()).unwrap(), text);
    }
}

#[test]
fn a_file_that_is_not_private_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let file = TrustFile::new(temp.path());
    let refused = || file.read().unwrap_err().to_string();
    symlink("elsewhere", file.path()).unwrap();
    assert!(refused().contains("it is a symlink"));
    fs::remove_file(file.path()).unwrap();

    assert!(std::process::Command::new("mkfifo").arg(file.path()).status().unwrap().success());
    assert!(refused().contains("not a regular file"));
    fs::remove_file(file.path()).unwrap();

    fs::write(file.path(), "{\"version\":1,\"records\":[]}").unwrap();
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(refused().contains("others may write it"));
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(file.read().is_ok());
    File::create(file.path()).unwrap().set_len((16 << 20) + 1).unwrap();
    assert!(refused().contains("has more than"));
}
