use super::*;
use crate::event::EventName;
use std::os::unix::fs::PermissionsExt as _;

fn open(cache: &Path) -> HookCache {
    HookCache::open(cache, false)
}

fn row(path: &Path) -> Row {
    let stamp = Stamp::of(path).unwrap();
    let (digest, on_failure) = (Some(Digest::of(b"x")), Some(OnFailure::Block));
    Row { stamp, read: now(), trusted: true, digest, on_failure, failure: None }
}

#[test]
fn a_saved_component_is_valid_until_its_file_changes() {
    let temp = tempfile::tempdir().unwrap();
    let (path, other) = (temp.path().join("x.wasm"), temp.path().join("y.wasm"));
    let write = |text: &str| fs::write(&path, text).unwrap();
    write("12");
    let kept = |row: &Row| {
        let known = open(temp.path());
        known.insert(&path, row.clone());
        known.save();
        open(temp.path()).row(&path)
    };
    let as_it_is = row(&path);
    assert_eq!(kept(&as_it_is).as_ref(), Some(&as_it_is));
    assert_eq!(open(temp.path()).row(&other), None);
    let mode = fs::metadata(temp.path().join(FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    for field in ["device", "inode", "size", "modified", "changed"] {
        let mut then = as_it_is.clone();
        match field {
            "device" => then.stamp.device += 1,
            "inode" => then.stamp.inode += 1,
            "size" => then.stamp.size += 1,
            "modified" => then.stamp.modified.1 -= 1,
            _ => then.stamp.changed.1 -= 1,
        }
        assert_eq!(kept(&then), None, "{field}");
    }
    assert!(kept(&as_it_is).is_some());
    fs::remove_file(&path).unwrap();
    assert_eq!(open(temp.path()).row(&path), None);
}

#[test]
fn a_file_that_has_just_changed_is_not_remembered() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("x.wasm");
    fs::write(&path, "12").unwrap();
    assert_eq!(open(temp.path()).stamp(&path), None);
    let stamp = Stamp::of(&path).unwrap();
    let changed = stamp.changed.0;
    for (now, want) in [(changed - 100, false), (changed, false), (changed + 2, false), (changed + 3, true)] {
        assert_eq!(stamp.is_settled(now), want, "{}", now - changed);
    }
    // Any program can set the time of modification: a time in the future is not a reason to trust it.
    let ahead = Stamp { modified: (changed + 1000, 0), ..stamp };
    assert!(!ahead.is_settled(changed + 10));
}

#[test]
fn a_file_in_another_form_is_learned_again() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("x.wasm");
    fs::write(&path, "12").unwrap();
    let known = open(temp.path());
    known.insert(&path, row(&path));
    known.save();
    let file = temp.path().join(FILE);
    let whole = fs::read_to_string(&file).unwrap();
    for broken in [
        String::new(),
        "{".to_owned(),
        "[]".to_owned(),
        whole.replace(VERSION, "0.0.0/6"),
        whole.replace("sha256:", "md5:"),
        whole.replace("\"block\"", "\"sometimes\""),
        format!("{whole}{}", " ".repeat(usize::try_from(MAX_FILE).unwrap())),
    ] {
        fs::write(&file, &broken).unwrap();
        assert_eq!(open(temp.path()).row(&path), None, "{}", &broken[..broken.len().min(200)]);
    }
    fs::write(&file, whole).unwrap();
    assert!(open(temp.path()).row(&path).is_some());
}

#[test]
fn a_file_is_read_again_after_a_day() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("x.wasm");
    fs::write(&path, "12").unwrap();
    let row = row(&path);
    for (age, want) in [(-1, false), (0, true), (86_399, true), (86_400, false)] {
        assert_eq!(row.is_recent(row.read + age), want, "{age}");
    }
}

#[test]
fn a_failure_is_remembered_unless_more_time_may_end_it() {
    let second = Duration::from_secs(1);
    for (cause, within, reread, tried_again) in [
        (Cause::Incompatible, 60 * second, true, false),
        (Cause::Memory, 60 * second, true, false),
        (Cause::Timeout, second, false, false),
        (Cause::Timeout, second + second / 2, false, false),
        (Cause::Timeout, 3 * second, false, true),
        (Cause::Timeout, second, true, true),
    ] {
        let failure = Failure::of(&HookError::new(cause, "no"), second).unwrap();
        assert_eq!(failure.may_pass(within, reread), tried_again, "{cause} {within:?} {reread}");
    }
    for cause in [Cause::Compiling, Cause::Internal, Cause::Spawn, Cause::NotFound] {
        assert_eq!(Failure::of(&HookError::new(cause, "no"), second), None, "{cause}");
    }
}

#[test]
fn untrusted_components_do_not_push_out_the_users() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("own.wasm");
    fs::write(&path, "12").unwrap();
    let known = open(temp.path());
    known.insert(&path, row(&path));
    for n in 0..MAX_ROWS {
        let theirs = Row { trusted: false, read: now() + 10, ..row(&path) };
        known.insert(&temp.path().join(format!("{n}.wasm")), theirs);
    }
    known.save();
    assert!(open(temp.path()).row(&path).is_some());
}

#[test]
fn there_is_room_for_the_longest_paths_and_none_that_is_not_text() {
    use std::ffi::OsStr;
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("x.wasm");
    fs::write(&path, "12").unwrap();
    let known = open(temp.path());
    for number in 0..MAX_ROWS {
        // Each byte of it is six in the file.
        known.insert(Path::new(&format!("/{number}{}", "\u{1}".repeat(4090))), row(&path));
    }
    known.insert(Path::new(OsStr::from_bytes(b"/\xff")), row(&path));
    known.save();
    assert_eq!(open(temp.path()).state().contents.components.len(), MAX_ROWS);
}

#[test]
fn only_so_many_are_remembered() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("zzz.wasm");
    fs::write(&path, "12").unwrap();
    let known = open(temp.path());
    for n in 0..MAX_ROWS {
        known.insert(&temp.path().join(format!("{n}.wasm")), Row { read: now() - 10, ..row(&path) });
    }
    known.insert(&path, row(&path));
    known.save();
    let known = open(temp.path());
    assert_eq!(known.state().contents.components.len(), MAX_ROWS);
    assert!(known.row(&path).is_some());
    for n in 0..=MAX_ANSWERS {
        known.learn_answer(key(&path, &Digest::of(&n.to_le_bytes()), None), &EventName::TurnEnd);
    }
    assert!(known.state().contents.answers.len() <= MAX_ANSWERS);
}

#[test]
fn an_answer_holds_for_these_bytes_at_this_path_in_this_environment() {
    let temp = tempfile::tempdir().unwrap();
    let (program, digest) = (Path::new("/hooks/x"), Digest::of(b"x"));
    let names = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let environments = [None, Some(names(&[])), Some(names(&["PATH"])), Some(names(&["HOME", "PATH"]))];
    let events = [EventName::TurnEnd, EventName::AgentStop, EventName::AfterTurn, EventName::OnError];
    let cache = HookCache::open(&temp.path().join("new/cache"), false);
    for (environment, event) in environments.iter().zip(&events) {
        cache.learn_answer(key(program, &digest, environment.as_deref()), event);
    }
    cache.save();
    let cache = HookCache::open(&temp.path().join("new/cache"), false);
    for (environment, event) in environments.iter().zip(&events) {
        assert_eq!(cache.answer(&key(program, &digest, environment.as_deref())).as_ref(), Some(event));
    }
    let reordered = names(&["PATH", "HOME", "PATH"]);
    assert_eq!(cache.answer(&key(program, &digest, Some(&reordered))), Some(EventName::OnError));
    assert_eq!(cache.answer(&key(program, &Digest::of(b"y"), None)), None);
    assert_eq!(cache.answer(&key(Path::new("/hooks/y"), &digest, None)), None);
}
