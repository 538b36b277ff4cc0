use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::*;

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn corrupt_ones(directory: &Path) -> Vec<String> {
    let mut names = names(directory);
    names.retain(|name| {
        name.starts_with("state.db.corrupt-") && !name.ends_with("-wal") && !name.ends_with("-shm")
    });
    names
}

fn place() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path().to_owned());
    (dir, store)
}

fn key(text: &str) -> String {
    text.to_owned()
}

/// A few random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[tokio::test]
async fn a_bucket_keeps_what_it_is_given() {
    let (dir, store) = place();
    assert!(names(dir.path()).is_empty());
    let bucket = store.bucket(["global", "", "guard"]);
    assert_eq!(bucket.get(key("a")).await.unwrap(), None);
    assert!(!bucket.exists(key("a")).await.unwrap());
    bucket.set(key("a"), vec![0, 255]).await.unwrap();
    bucket.set(key(""), vec![]).await.unwrap();
    bucket.set(key("nul\0 é"), b"x".to_vec()).await.unwrap();
    assert_eq!(bucket.get(key("a")).await.unwrap(), Some(vec![0, 255]));
    assert_eq!(bucket.get(key("")).await.unwrap(), Some(vec![]));
    assert_eq!(bucket.get(key("nul\0 é")).await.unwrap(), Some(b"x".to_vec()));
    assert_eq!(bucket.get(key("nul")).await.unwrap(), None);
    bucket.set(key("a"), b"new".to_vec()).await.unwrap();
    bucket.delete(key("")).await.unwrap();
    bucket.delete(key("was never there")).await.unwrap();
    assert!(bucket.exists(key("a")).await.unwrap() && !bucket.exists(key("")).await.unwrap());

    let many = bucket.get_many(vec![key("b"), key("a"), key("a")]).await.unwrap();
    let a = Some((key("a"), b"new".to_vec()));
    assert_eq!(many, [None, a.clone(), a]);
    bucket.set_many(vec![(key("b"), vec![1]), (key("b"), vec![2]), (key("c"), vec![])]).await.unwrap();
    assert_eq!(bucket.get(key("b")).await.unwrap(), Some(vec![2]), "the last one counts");
    bucket.delete_many(vec![key("a"), key("b"), key("b"), key("d")]).await.unwrap();
    assert_eq!(bucket.list_keys(None).await.unwrap(), (vec![key("nul\0 é"), key("c")], None));

    drop((bucket, store));
    let again = Store::at(dir.path().to_owned()).bucket(["global", "", "guard"]);
    assert_eq!(again.get(key("nul\0 é")).await.unwrap(), Some(b"x".to_vec()), "it outlives the store");
    for name in names(dir.path()) {
        let mode = fs::metadata(dir.path().join(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name} is the user's alone");
    }
}

#[tokio::test]
async fn other_parts_are_another_bucket() {
    let (_dir, store) = place();
    let all: [&[&str]; 6] = [&["a", "bc"], &["ab", "c"], &["abc"], &["abc", ""], &["", "abc"], &[]];
    for (number, parts) in all.iter().enumerate() {
        store.bucket(*parts).set(key("k"), vec![number as u8]).await.unwrap();
    }
    for (number, parts) in all.iter().enumerate() {
        let bucket = store.bucket(*parts);
        assert_eq!(bucket.get(key("k")).await.unwrap(), Some(vec![number as u8]), "{parts:?}");
        assert_eq!(bucket.list_keys(None).await.unwrap(), (vec![key("k")], None));
    }
}

#[tokio::test]
async fn what_is_beyond_a_limit_is_refused_by_name() {
    let (_dir, store) = place();
    let bucket = store.bucket(["b"]);
    let long = "k".repeat(MAX_KEY + 1);
    let too_long = Err(StoreError::KeyTooLong(MAX_KEY + 1));
    assert_eq!(bucket.set(long.clone(), vec![]).await, too_long);
    assert_eq!(bucket.get(long.clone()).await.map(drop), too_long);
    assert_eq!(bucket.get_many(vec![key("a"), long.clone()]).await.map(drop), too_long);
    assert_eq!(bucket.increment(long, 1).await.map(drop), too_long);
    bucket.set("k".repeat(MAX_KEY), vec![]).await.unwrap();

    let many = vec![key("k"); MAX_BATCH + 1];
    assert_eq!(bucket.get_many(many.clone()).await.map(drop), Err(StoreError::TooMany(MAX_BATCH + 1)));
    assert_eq!(bucket.delete_many(many).await, Err(StoreError::TooMany(MAX_BATCH + 1)));

    bucket.set(key("big"), vec![0; 10 << 20]).await.unwrap();
    let twice = bucket.get_many(vec![key("big"), key("big")]).await;
    assert_eq!(twice, Err(StoreError::TooMuch(QUOTA)));
    let wanted = (16 << 20) + 1 + OVERHEAD * 2 + MAX_KEY as u64;
    let full = bucket.set(key("big"), vec![0; (16 << 20) - 2]).await;
    assert_eq!(full, Err(StoreError::Quota { limit: QUOTA, wanted }));
    assert_eq!(bucket.get(key("big")).await.unwrap().unwrap().len(), 10 << 20, "what stood there stands");
}

#[tokio::test]
async fn a_key_is_incremented_as_decimal_digits() {
    let (_dir, store) = place();
    let bucket = store.bucket(["b"]);
    let max = u64::MAX.to_string();
    for (start, delta, want) in [
        (None, 5, Ok(5)),
        (None, 0, Ok(0)),
        (Some("41"), 1, Ok(42)),
        (Some("007"), 1, Ok(8)),
        (Some(max.as_str()), 0, Ok(u64::MAX)),
        (Some(max.as_str()), 1, Err(StoreError::Overflow)),
        (Some("18446744073709551616"), 0, Err(StoreError::NotANumber)),
        (Some("+1"), 1, Err(StoreError::NotANumber)),
        (Some("-1"), 1, Err(StoreError::NotANumber)),
        (Some(" 1"), 1, Err(StoreError::NotANumber)),
        (Some(""), 1, Err(StoreError::NotANumber)),
        (Some("é"), 1, Err(StoreError::NotANumber)),
    ] {
        bucket.delete(key("n")).await.unwrap();
        if let Some(start) = start {
            bucket.set(key("n"), start.into()).await.unwrap();
        }
        assert_eq!(bucket.increment(key("n"), delta).await, want, "{start:?} + {delta}");
        let stands = bucket.get(key("n")).await.unwrap().map(|value| String::from_utf8(value).unwrap());
        assert_eq!(stands, want.map_or(start.map(str::to_owned), |sum| Some(sum.to_string())));
    }
}

#[tokio::test]
async fn every_key_that_stands_is_listed_once() {
    let (_dir, store) = place();
    let bucket = store.bucket(["b"]);
    store.bucket(["other"]).set(key("not mine"), vec![]).await.unwrap();
    let all: Vec<_> = (0..PAGE * 2 + 10).map(|number| format!("{:05}", 99_999 - number)).collect();
    for part in all.chunks(MAX_BATCH) {
        bucket.set_many(part.iter().map(|key| (key.clone(), vec![])).collect()).await.unwrap();
    }
    let (mut listed, mut cursor) = bucket.list_keys(None).await.unwrap();
    assert_eq!(listed.len(), PAGE);
    // Keys that come and go meanwhile move nothing else.
    bucket.delete_many(listed[..10].to_vec()).await.unwrap();
    bucket.set(all[PAGE].clone(), b"again".to_vec()).await.unwrap();
    while let Some(at) = cursor {
        let (page, next) = bucket.list_keys(Some(at)).await.unwrap();
        listed.extend(page);
        cursor = next;
    }
    assert_eq!(listed, all);
    assert_eq!(bucket.list_keys(Some(u64::MAX)).await.unwrap(), (vec![], None));
}

#[tokio::test]
async fn exactly_the_quota_fits() {
    let (dir, store) = place();
    let bucket = store.with_quota(200).bucket(["b"]);
    bucket.set(key("k"), vec![0; 200 - 64 - 1]).await.unwrap();
    let one_more = bucket.set(key("k"), vec![0; 200 - 64]).await;
    assert_eq!(one_more, Err(StoreError::Quota { limit: 200, wanted: 201 }));
    // All or nothing, and what is removed in the same transaction makes room.
    let both = vec![(key("a"), vec![0; 40]), (key("b"), vec![0; 40])];
    assert!(matches!(bucket.set_many(both.clone()).await, Err(StoreError::Quota { .. })));
    assert!(!bucket.exists(key("a")).await.unwrap());
    bucket.set_many([both, vec![(key("k"), vec![]), (key("b"), vec![])]].concat()).await.unwrap_err();
    bucket.delete(key("k")).await.unwrap();
    bucket.increment(key("n"), 9).await.unwrap();
    bucket.set(key("m"), vec![0; 200 - 66 - 65]).await.unwrap();
    let full = bucket.increment(key("n"), 1).await;
    assert_eq!(full, Err(StoreError::Quota { limit: 200, wanted: 201 }), "10 has one digit more than 9");
    assert_eq!(bucket.get(key("n")).await.unwrap(), Some(b"9".to_vec()));

    let lowered = Store::at(dir.path().to_owned()).with_quota(10).bucket(["b"]);
    lowered.set(key("m"), vec![]).await.expect("a bucket over its quota may shrink");
    lowered.delete(key("n")).await.unwrap();
    assert!(lowered.set(key("x"), vec![]).await.is_err());
}

#[tokio::test]
async fn the_count_is_exact_whatever_is_done() {
    const LIMIT: u64 = 2_000;
    let (dir, store) = place();
    let store = store.with_quota(LIMIT);
    // Two connections, as two processes would have.
    let other = Store::at(dir.path().to_owned()).with_quota(LIMIT);
    let buckets = [store.bucket(["b"]), other.bucket(["b"])];
    let mut dice = Dice(7);
    let mut model: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let held = |model: &BTreeMap<String, Vec<u8>>| -> u64 {
        model.iter().map(|(key, value)| key.len() as u64 + value.len() as u64 + OVERHEAD).sum()
    };
    let mut refused = 0;
    for step in 0..600 {
        let bucket = &buckets[dice.below(2) as usize];
        let name = "k".repeat(1 + dice.below(20) as usize);
        let mut next = model.clone();
        let done = match dice.below(4) {
            0 => {
                next.remove(&name);
                bucket.delete(name).await
            }
            1 if next.get(&name).is_none_or(|value| value.is_ascii()) => {
                let delta = dice.below(1_000_000);
                let old = next.get(&name).map_or(0, |value| String::from_utf8_lossy(value).parse().unwrap());
                next.insert(name.clone(), (old + delta).to_string().into());
                bucket.increment(name, delta).await.map(drop)
            }
            2 => {
                let pairs: Vec<_> = (0..dice.below(4))
                    .map(|at| ("k".repeat(1 + at as usize), vec![200; dice.below(400) as usize + 1]))
                    .collect();
                next.extend(pairs.iter().cloned());
                bucket.set_many(pairs).await
            }
            _ => {
                let value = vec![200; dice.below(600) as usize + 1];
                next.insert(name.clone(), value.clone());
                bucket.set(name, value).await
            }
        };
        let wanted = held(&next);
        if wanted > LIMIT && wanted > held(&model) {
            refused += 1;
            assert_eq!(done, Err(StoreError::Quota { limit: LIMIT, wanted }), "step {step}");
        } else {
            assert_eq!(done, Ok(()), "step {step}");
            model = next;
        }
    }
    assert!(refused > 50, "the quota was met: {refused}");
    let keys: Vec<_> = model.keys().cloned().collect();
    let stands = buckets[0].get_many(keys).await.unwrap().into_iter().flatten();
    assert_eq!(stands.collect::<BTreeMap<_, _>>(), model);
}

#[tokio::test(flavor = "multi_thread")]
async fn increments_at_the_same_time_lose_none() {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    // Every second task has a store, and so a connection, of its own; all start on a directory without a database.
    let shared = Store::at(dir.path().to_owned());
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let store = if number % 2 == 0 { shared.clone() } else { Store::at(dir.path().to_owned()) };
            tokio::spawn(async move {
                let bucket = store.bucket(["b"]);
                for _ in 0..50 {
                    bucket.increment(key("n"), 1).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(shared.bucket(["b"]).increment(key("n"), 0).await, Ok(400));
}

#[tokio::test]
async fn a_file_that_is_no_database_is_set_aside() {
    for (what, bytes) in [
        ("text", b"this is no database, and long enough to be looked at as one".repeat(100)),
        ("zeros", vec![0; 8192]),
        ("a header and nothing", [b"SQLite format 3\0".as_slice(), &[0xff; 4080]].concat()),
    ] {
        let (dir, store) = place();
        fs::write(dir.path().join("state.db"), &bytes).unwrap();
        let bucket = store.bucket(["b"]);
        bucket.set(key("a"), b"1".to_vec()).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(bucket.get(key("a")).await.unwrap(), Some(b"1".to_vec()));
        let aside = corrupt_ones(dir.path());
        assert_eq!(aside.len(), 1, "{what}");
        assert_eq!(fs::read(dir.path().join(&aside[0])).unwrap(), bytes, "{what} is kept");
        let [notice] = &store.take_notices()[..] else { panic!("one notice") };
        assert_eq!(notice.set_aside.file_name().unwrap().to_string_lossy(), aside[0]);
        assert!(store.take_notices().is_empty());
    }
}

#[tokio::test]
async fn another_programs_database_is_set_aside_and_a_newer_one_is_left_alone() {
    let (dir, store) = place();
    let path = dir.path().join("state.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE entry (x)").unwrap();
    store.bucket(["b"]).set(key("a"), vec![]).await.unwrap();
    assert_eq!(corrupt_ones(dir.path()).len(), 1);

    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 2").unwrap();
    let error = Store::at(dir.path().to_owned()).bucket(["b"]).get(key("a")).await.unwrap_err();
    assert!(error.to_string().contains("newer hookbox (version 2)"), "{error}");
    assert_eq!(corrupt_ones(dir.path()).len(), 1);
}

/// Makes a store with enough in it that pages beside the first hold it, all of it in the file itself.
async fn filled(directory: &Path) -> PathBuf {
    let bucket = Store::at(directory.to_owned()).bucket(["b"]);
    let pairs = (0..500).map(|number| (format!("key {number}"), vec![7; 100])).collect();
    bucket.set_many(pairs).await.unwrap();
    let path = directory.join("state.db");
    Connection::open(&path).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    path
}

/// Overwrites all but the first page, which is what opening looks at.
fn damage(path: &Path) {
    use std::os::unix::fs::FileExt as _;
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
    file.write_all_at(&vec![0xa5; length - 4096], 4096).unwrap();
}

#[tokio::test]
async fn corruption_behind_the_first_page_is_met_in_use_and_the_call_succeeds() {
    let (dir, store) = place();
    damage(&filled(dir.path()).await);
    let bucket = store.bucket(["b"]);
    assert_eq!(bucket.increment(key("n"), 3).await, Ok(3));
    assert_eq!(bucket.get(key("key 1")).await.unwrap(), None);
    assert_eq!((corrupt_ones(dir.path()).len(), store.take_notices().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_that_meet_a_corrupt_database_one_sets_it_aside_and_no_write_is_lost() {
    for round in 0..5 {
        let dir = tempfile::tempdir().unwrap();
        damage(&filled(dir.path()).await);
        let tasks: Vec<_> = (0..6)
            .map(|number| {
                let store = Store::at(dir.path().to_owned());
                tokio::spawn(async move {
                    for at in 0..10 {
                        store.bucket(["b"]).set(format!("{number}/{at}"), vec![1]).await.unwrap();
                    }
                    store.take_notices().len()
                })
            })
            .collect();
        let mut notices = 0;
        for task in tasks {
            notices += task.await.unwrap();
        }
        assert_eq!((notices, corrupt_ones(dir.path()).len()), (1, 1), "round {round}");
        let (keys, _) = Store::at(dir.path().to_owned()).bucket(["b"]).list_keys(None).await.unwrap();
        assert_eq!(keys.len(), 60, "round {round}");
    }
}

#[tokio::test]
async fn whoever_has_a_database_open_that_another_set_aside_goes_on_with_the_fresh_one() {
    let (dir, early) = place();
    let early_bucket = early.bucket(["b"]);
    early_bucket.set(key("before"), vec![]).await.unwrap();
    // Another process meets a corrupt database, and a user a database that is in the way.
    for step in ["set aside", "removed"] {
        for suffix in ["", "-wal", "-shm"] {
            let path = dir.path().join(format!("state.db{suffix}"));
            match step {
                "set aside" => fs::rename(&path, dir.path().join(format!("old{suffix}"))).unwrap(),
                _ => fs::remove_file(path).unwrap(),
            }
        }
        let late = Store::at(dir.path().to_owned());
        late.bucket(["b"]).set(key("late"), vec![]).await.unwrap();
        assert!(!early_bucket.exists(key("before")).await.unwrap(), "{step}");
        early_bucket.set(key("before"), vec![]).await.unwrap();
        let (keys, _) = late.bucket(["b"]).list_keys(None).await.unwrap();
        assert_eq!(keys, ["late", "before"], "{step}");
        assert!(early.take_notices().is_empty() && late.take_notices().is_empty());
    }
}

#[tokio::test]
async fn a_log_without_its_database_is_not_taken_for_the_fresh_ones() {
    let (dir, store) = place();
    store.bucket(["b"]).set(key("old"), vec![]).await.unwrap();
    drop(store);
    fs::remove_file(dir.path().join("state.db")).unwrap();
    let store = Store::at(dir.path().to_owned());
    assert!(!store.bucket(["b"]).exists(key("old")).await.unwrap());
    store.bucket(["b"]).set(key("new"), vec![]).await.unwrap();
    assert_eq!(store.take_notices().len(), 1);
}

#[tokio::test]
async fn what_cannot_be_used_is_a_typed_error_without_a_path() {
    type Prepare = fn(&Path) -> PathBuf;
    let cases: [(&str, Prepare); 6] = [
        ("a directory that is missing", |dir| dir.join("missing")),
        ("a file in the place of the directory", |dir| {
            fs::write(dir.join("file"), "").unwrap();
            dir.join("file")
        }),
        ("a symlink in the place of the database", |dir| {
            fs::write(dir.join("elsewhere"), "").unwrap();
            symlink(dir.join("elsewhere"), dir.join("state.db")).unwrap();
            dir.to_owned()
        }),
        ("a symlink to nowhere in its place", |dir| {
            symlink(dir.join("nowhere"), dir.join("state.db")).unwrap();
            dir.to_owned()
        }),
        ("a directory in its place", |dir| {
            fs::create_dir(dir.join("state.db")).unwrap();
            dir.to_owned()
        }),
        ("a symlink in the place of the lock", |dir| {
            symlink(dir.join("nowhere"), dir.join("state.lock")).unwrap();
            dir.to_owned()
        }),
    ];
    for (what, prepare) in cases {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(prepare(dir.path()));
        for _ in 0..2 {
            let error = store.bucket(["b"]).set(key("a"), vec![]).await.unwrap_err();
            assert!(matches!(error, StoreError::Unavailable(_)), "{what}: {error}");
            assert!(!error.to_string().contains('/'), "{what}: {error}");
        }
        assert!(!dir.path().join("nowhere").exists(), "{what}");
        assert!(store.take_notices().is_empty(), "{what}");
    }
}

#[tokio::test]
async fn a_directory_that_may_not_be_written_is_a_typed_error() {
    let mut places = vec![PathBuf::from("/proc/self")];
    let dir = tempfile::tempdir().unwrap();
    // Nothing is read-only to root.
    if !rustix::process::geteuid().is_root() {
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o500)).unwrap();
        places.push(dir.path().to_owned());
    }
    for place in places.into_iter().filter(|place| place.exists()) {
        let error = Store::at(place).bucket(["b"]).set(key("a"), vec![]).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    }
}

#[tokio::test]
async fn a_full_disk_is_a_typed_error_and_what_stood_there_stands() {
    let (_dir, store) = place();
    let bucket = store.bucket(["b"]);
    bucket.set(key("a"), b"1".to_vec()).await.unwrap();
    // As SQLite sees a disk that takes no more.
    let fill = |it: &mut Entries<'_>| Ok(it.connection.execute_batch("PRAGMA max_page_count = 1")?);
    bucket.run(fill).await.unwrap();
    let full = bucket.set(key("b"), vec![0; 1 << 20]).await.unwrap_err();
    assert!(matches!(&full, StoreError::Unavailable(why) if why.contains("full")), "{full}");
    assert_eq!(bucket.get(key("a")).await.unwrap(), Some(b"1".to_vec()));
    bucket.delete(key("a")).await.expect("a full disk lets go");
    assert!(store.take_notices().is_empty());
}

#[tokio::test]
async fn a_database_that_another_holds_too_long_is_a_typed_error() {
    let (dir, store) = place();
    let bucket = store.bucket(["b"]);
    bucket.set(key("a"), b"1".to_vec()).await.unwrap();
    let other = Connection::open(dir.path().join("state.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = bucket.set(key("a"), b"2".to_vec()).await.unwrap_err();
    assert!(matches!(&error, StoreError::Unavailable(why) if why.contains("locked")), "{error}");
    assert_eq!(bucket.get(key("a")).await.unwrap(), Some(b"1".to_vec()), "reading goes on meanwhile");
    other.execute_batch("ROLLBACK").unwrap();
    bucket.set(key("a"), b"3".to_vec()).await.unwrap();
}

#[tokio::test]
async fn a_future_that_is_dropped_harms_nothing() {
    let (_dir, store) = place();
    let bucket = store.bucket(["b"]);
    for _ in 0..20 {
        let both = vec![(key("x"), vec![1; 10_000]), (key("y"), vec![1; 10_000])];
        tokio::select! {
            biased;
            _ = bucket.set_many(both) => {}
            () = tokio::task::yield_now() => {}
        }
        let now = bucket.get_many(vec![key("x"), key("y")]).await.unwrap();
        assert_eq!(now[0].is_some(), now[1].is_some(), "both or none");
        bucket.delete_many(vec![key("x"), key("y")]).await.unwrap();
    }
}
