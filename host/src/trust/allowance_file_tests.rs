//! Tests of the file of allowances.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::hook::Digest;
use crate::trust::PrivateFileErrorKind;

fn call(tool: &str) -> BlockedCall {
    BlockedCall {
        tool: tool.to_owned(),
        input: Digest::of(b"{}"),
        directory: "/repo".to_owned(),
        session: None,
        agent: Some("claude".to_owned()),
        guard: "guard".to_owned(),
        digest: Some(Digest::of(b"guard")),
        cause: None,
        managed: false,
    }
}

fn allow(file: &AllowanceFile, tool: &str, term: Term) {
    let code = file.note(call(tool), "{}", "no").unwrap().unwrap();
    file.update(|all| all.grant(&code, term, now_ms())).unwrap().unwrap();
}

#[test]
fn records_are_read_again_from_a_private_file() {
    let temp = tempfile::tempdir().unwrap();
    let file = AllowanceFile::new(temp.path());
    assert_eq!(file.read().unwrap(), Allowances::default());
    allow(&file, "a", Term::For(5_000));
    let code = file.note(call("b"), "{}", "no").unwrap().unwrap();
    assert_eq!(file.note(call("b"), "{}", "no").unwrap().as_ref(), Some(&code));
    let all = file.read().unwrap();
    assert_eq!((all.pending.len(), all.granted.len(), all.pending[0].code == code), (1, 1, true));
    assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
    let long = file.note(call("c"), &"x".repeat(MAX_SHOWN + 1), "no").unwrap();
    assert_eq!(long, None);
    assert_eq!(file.read().unwrap(), all);
}

#[test]
fn exactly_one_of_many_takes_what_is_allowed_once() {
    let temp = tempfile::tempdir().unwrap();
    for _ in 0..5 {
        allow(&AllowanceFile::new(temp.path()), "a", Term::Once);
        let taken = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let (file, taken) = (AllowanceFile::new(temp.path()), &taken);
                scope.spawn(move || {
                    loop {
                        match file.take(&[call("a")]) {
                            Ok(result) => {
                                taken.fetch_add(result.map_or(0, |_| 1), Ordering::SeqCst);
                                return;
                            }
                            // A machine with much to do.
                            Err(PrivateFileError { kind: PrivateFileErrorKind::Locked(_), .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
        });
        assert_eq!(taken.into_inner(), 1);
        assert_eq!(AllowanceFile::new(temp.path()).read().unwrap().granted, []);
    }
}

#[test]
fn a_broken_file_allows_nothing_and_is_left_alone() {
    let temp = tempfile::tempdir().unwrap();
    let file = AllowanceFile::new(temp.path());
    allow(&file, "a", Term::Always);
    let whole = fs::read_to_string(file.path()).unwrap();
    let write = |text: &str| fs::write(file.path(), text).unwrap();
    for (text, want) in [
        ("", "contains no allowances"),
        ("garbage", "contains no allowances"),
        ("{\"version\":2,\"more\":1}", "has version 2"),
        ("{\"version\":1,\"pending\":[],\"granted\":[],\"more\":1}", "contains no allowances"),
        (&whole[..whole.len() / 2], "contains no allowances"),
        (&whole.replace("sha256:", "md5:"), "contains no allowances"),
        (&whole.replace("\"always\"", "\"ever\""), "contains no allowances"),
        (&whole.replace("\"directory\"", "\"dir\""), "contains no allowances"),
    ] {
        write(text);
        let error = file.read().unwrap_err().to_string();
        assert!(error.contains(want), "{text}: {error}");
        assert!(file.take(&[call("a")]).is_err() && file.note(call("b"), "{}", "no").is_err());
        assert_eq!(fs::read_to_string(file.path()).unwrap(), text);
    }
    write(&whole);
    assert_eq!(file.take(&[call("a")]).unwrap(), Some(vec![Term::Always]));
}

#[test]
fn a_file_that_is_not_private_allows_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let file = AllowanceFile::new(temp.path());
    allow(&file, "a", Term::Always);
    let elsewhere = temp.path().join("elsewhere");
    fs::rename(file.path(), &elsewhere).unwrap();
    let refused = || {
        assert!(file.take(&[call("a")]).is_err());
        file.read().unwrap_err().to_string()
    };
    symlink(&elsewhere, file.path()).unwrap();
    refused();
    fs::remove_file(file.path()).unwrap();
    fs::create_dir(file.path()).unwrap();
    assert!(refused().contains("is not a private file"), "{}", refused());
    fs::remove_dir(file.path()).unwrap();
    fs::rename(&elsewhere, file.path()).unwrap();
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(refused().contains("is not a private file"), "{}", refused());
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(file.take(&[call("a")]).unwrap().is_some());
}
