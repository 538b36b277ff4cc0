use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use hookbox::journal::JournalSettings;
use hookbox::manager::Manager;
use hookbox::{EventName, Outcome, ToolCall};
use serde_json::{Value, json};

use super::append::{append, longest};
use super::read::{DayFile, all_files};
use super::*;

/// Appends records with these texts.
fn write(directory: &Path, texts: &[&str]) {
    for text in texts {
        append(directory, &format!("{{\"v\":1,\"text\":{text:?}"), &JournalSettings::default()).unwrap();
    }
}

fn texts(directory: &Path) -> Vec<String> {
    let records = Reader::open(directory, None).unwrap().filter_map(|it| it.unwrap().record());
    records.map(|it| it["text"].as_str().unwrap().to_owned()).collect()
}

fn only_file(directory: &Path) -> PathBuf {
    let [file] = &all_files(directory).unwrap()[..] else { panic!("not one file") };
    file.path.clone()
}

#[test]
fn records_are_read_as_they_were_written_in_a_file_of_the_users_own() {
    let temp = tempfile::tempdir().unwrap();
    let directory = temp.path().join("journal");
    assert_eq!(texts(&directory), [""; 0], "no journal yet");
    write(&directory, &["one", "two\n\"hash\":\"x\"}", "three"]);
    assert_eq!(texts(&directory), ["one", "two\n\"hash\":\"x\"}", "three"]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&directory), mode(&only_file(&directory))), (0o700, 0o600));
    let found = verify(&directory, None).unwrap();
    assert_eq!((found.records, found.begins_later, found.faults), (3, false, vec![]));
}

#[test]
fn a_record_that_was_changed_removed_or_inserted_is_found() {
    let lines = |text: &str| text.lines().map(|it| format!("{it}\n")).collect::<Vec<_>>();
    type Change = fn(&mut Vec<String>);
    type Case = (&'static str, Change, &'static [(usize, FaultKind)]);
    let changes: [Case; 13] = [
        ("none", |_| {}, &[]),
        ("changed", |it| it[1] = it[1].replace("two", "TWO"), &[(2, FaultKind::Changed)]),
        ("removed", |it| drop(it.remove(1)), &[(2, FaultKind::Broken)]),
        (
            "moved",
            |it| it.swap(1, 2),
            &[(2, FaultKind::Broken), (3, FaultKind::Broken), (4, FaultKind::Broken)],
        ),
        ("copied", |it| it.insert(2, it[1].clone()), &[(3, FaultKind::Broken)]),
        ("no record", |it| it.insert(2, "{\"v\":1}\n".into()), &[(3, FaultKind::Broken)]),
        ("garbage", |it| it.insert(2, "garbage\n".into()), &[(3, FaultKind::Broken)]),
        ("an empty line", |it| it.insert(0, "  \n".into()), &[(1, FaultKind::Broken)]),
        (
            "two lines in one",
            |it| it[1] = it[1].replace('\n', "\r") + &it[1],
            &[(2, FaultKind::Broken), (3, FaultKind::Broken)],
        ),
        ("a byte order mark", |it| it[3].insert(0, '\u{feff}'), &[(4, FaultKind::Broken)]),
        (
            "a cut first record",
            |it| it[0] = format!("{}\n", &it[0][..50]),
            &[(1, FaultKind::Torn), (2, FaultKind::Broken)],
        ),
        (
            "a cut record",
            |it| it[1] = format!("{}\n", &it[1][..50]),
            &[(2, FaultKind::Torn), (3, FaultKind::Broken)],
        ),
        (
            "another chain",
            |it| {
                let text = format!("{{\"v\":1,\"prev\":\"{}\"", "0".repeat(64));
                let hash = hookbox::Digest::of(text.as_bytes()).hex();
                it.insert(2, format!("{text},\"hash\":\"{hash}\"}}\n"));
            },
            &[(3, FaultKind::Broken), (4, FaultKind::Broken)],
        ),
    ];
    for (name, change, expected) in changes {
        let temp = tempfile::tempdir().unwrap();
        write(temp.path(), &["one", "two", "three", "four"]);
        let file = only_file(temp.path());
        let mut all = lines(&fs::read_to_string(&file).unwrap());
        change(&mut all);
        fs::write(&file, all.concat()).unwrap();
        let faults: Vec<_> =
            verify(temp.path(), None).unwrap().faults.iter().map(|it| (it.line, it.kind)).collect();
        assert_eq!(faults, expected, "{name}");
    }
}

#[test]
fn a_torn_record_is_skipped_and_breaks_no_chain() {
    for cut in [1, 10, 100] {
        let temp = tempfile::tempdir().unwrap();
        write(temp.path(), &["one", "two"]);
        let file = fs::OpenOptions::new().append(true).open(only_file(temp.path())).unwrap();
        let length = file.metadata().unwrap().len();
        write(temp.path(), &["torn"]);
        file.set_len(length + cut).unwrap();
        write(temp.path(), &["three"]);
        assert_eq!(texts(temp.path()), ["one", "two", "three"]);
        let found = verify(temp.path(), None).unwrap();
        assert_eq!(
            found.faults.iter().map(|it| (it.line, it.kind)).collect::<Vec<_>>(),
            [(3, FaultKind::Torn)]
        );
        assert_eq!(found.records, 3);
    }
}

#[test]
fn old_and_large_days_are_removed_and_the_chain_goes_on() {
    let temp = tempfile::tempdir().unwrap();
    write(temp.path(), &["one"]);
    let file = only_file(temp.path());
    for day in ["2020-01-01", "2020-01-02"] {
        fs::copy(&file, temp.path().join(format!("{day}.jsonl"))).unwrap();
    }
    fs::remove_file(&file).unwrap();
    write(temp.path(), &["two"]);
    assert_eq!(texts(temp.path()), ["two"], "older than the 90 days of the default");
    let found = verify(temp.path(), None).unwrap();
    assert!(found.begins_later && found.faults.is_empty());

    let small = tempfile::tempdir().unwrap();
    let settings: JournalSettings = settings(4_000);
    for number in 0..100 {
        append(small.path(), &format!("{{\"v\":1,\"text\":\"{number}\""), &settings).unwrap();
    }
    let size: u64 = all_files(small.path()).unwrap().iter().map(DayFile::size).sum();
    assert!(size <= 4_000, "{size}");
    let texts = texts(small.path());
    assert_eq!(texts.last().unwrap(), "99");
    assert!(texts.len() > 5, "{texts:?}");
    assert_eq!(verify(small.path(), None).unwrap().faults, []);
}

#[test]
fn blocked_events_are_the_last_to_go() {
    let temp = tempfile::tempdir().unwrap();
    let settings = settings(8_000);
    let append = |text: &str, is_blocked: bool| {
        let object = format!("{{\"v\":1,\"text\":\"{text}\",\"verdict\":{{\"blocked\":{is_blocked}}}");
        append(temp.path(), &object, &settings).unwrap();
    };
    append("first", true);
    for number in 0..200 {
        append(&number.to_string(), false);
    }
    let found = verify(temp.path(), None).unwrap();
    assert_eq!((found.faults, found.begins_later), (vec![], true));
    assert_eq!(
        (texts(temp.path())[0].as_str(), texts(temp.path()).last().unwrap().as_str()),
        ("first", "199")
    );
    // One of them that is changed is found.
    let thinned = all_files(temp.path()).unwrap().remove(0).path;
    let text = fs::read_to_string(&thinned).unwrap();
    fs::write(&thinned, text.replace("first", "other")).unwrap();
    assert!(verify(temp.path(), None).unwrap().faults.iter().any(|it| it.kind == FaultKind::Changed));
    fs::write(&thinned, text).unwrap();
    // They go, too, once there are too many of them.
    for number in 0..200 {
        append(&number.to_string(), true);
    }
    assert_ne!(texts(temp.path())[0], "first");
    let size: u64 = all_files(temp.path()).unwrap().iter().map(DayFile::size).sum();
    assert!(size <= 8_000, "{size}");
}

/// Works on a small disk, in the process of the test below. Without its variable it does nothing.
#[test]
fn too_many_events_on_a_disk_with_room_for_one() {
    let Some(directory) = std::env::var_os("JOURNAL_TEST_DISK") else { return };
    let directory = Path::new(&directory).join("journal");
    let settings = settings(8_000);
    let append = |text: &str, is_blocked: bool| {
        let object = format!("{{\"v\":1,\"text\":\"{text}\",\"verdict\":{{\"blocked\":{is_blocked}}}");
        append(&directory, &object, &settings).unwrap();
    };
    append("blocked", true);
    let parts = || all_files(&directory).unwrap();
    // The next record begins a part, and the parts before it are too large together.
    while parts().len() < 7 || parts().last().unwrap().size() < 1_000 {
        append("passed", false);
    }
    let before = texts(&directory);
    let path = directory.with_file_name("filler");
    let mut filler = fs::File::create(&path).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    filler.set_len(filler.metadata().unwrap().len() - 4096).unwrap();
    append("last", false);
    assert_eq!(texts(&directory), [&before[..], &["last".to_owned()]].concat(), "nothing is lost");

    drop(filler);
    fs::remove_file(path).unwrap();
    for _ in 0..20 {
        append("later", false);
    }
    let texts = texts(&directory);
    assert_eq!((texts[0].as_str(), verify(&directory, None).unwrap().faults), ("blocked", vec![]));
    assert!(texts.len() < before.len() + 21, "it became smaller as soon as the disk had room: {texts:?}");
    println!("all of it was tried");
}

#[test]
fn a_full_disk_loses_no_event_and_the_next_new_file_makes_room() {
    let temp = tempfile::tempdir().unwrap();
    let mount = r#"mount -t tmpfs -o size=64k,mode=700 none "$JOURNAL_TEST_DISK" && exec "$@""#;
    // Not everybody may mount, but some may in a namespace of their own.
    for namespace in [&["--mount"][..], &["--mount", "--map-root-user"]] {
        let run = |command: &[&str]| {
            let mut unshare = Command::new("unshare");
            unshare.args(namespace).args(["sh", "-c", mount, "sh"]).args(command);
            unshare.env("JOURNAL_TEST_DISK", temp.path()).output()
        };
        if run(&["true"]).is_ok_and(|it| it.status.success()) {
            let me = std::env::current_exe().unwrap();
            let test = "journal::tests::too_many_events_on_a_disk_with_room_for_one";
            let output = run(&[me.to_str().unwrap(), "--exact", test, "--nocapture"]).unwrap();
            assert!(String::from_utf8_lossy(&output.stdout).contains("all of it was tried"), "{output:#?}");
            return;
        }
    }
    println!("skipped: no file system can be mounted here, not even in a namespace of one's own");
}

#[test]
fn in_a_journal_that_is_half_full_a_record_is_small() {
    let temp = tempfile::tempdir().unwrap();
    let settings = settings(5_000);
    let sizes = (0..6).map(|_| {
        let longest = longest(temp.path(), &settings);
        let object = format!("{{\"v\":1,\"text\":\"{}\"", "x".repeat(1_000));
        append(temp.path(), &object, &settings).unwrap();
        longest
    });
    let sizes: Vec<_> = sizes.collect();
    assert_eq!(sizes[..2], [MAX_RECORD; 2]);
    assert_eq!(sizes[3..], [SMALL_RECORD; 3]);
}

#[test]
fn a_record_is_one_line_for_every_reader() {
    let temp = tempfile::tempdir().unwrap();
    append(temp.path(), "{\"text\":\"a\u{2028}b\u{2029}\"", &JournalSettings::default()).unwrap();
    assert!(!fs::read_to_string(only_file(temp.path())).unwrap().contains(['\u{2028}', '\u{2029}']));
    assert_eq!(texts(temp.path()), ["a\u{2028}b\u{2029}"]);
}

fn settings(max_size: u64) -> JournalSettings {
    let mut settings = JournalSettings::default();
    settings.max_size = max_size;
    settings
}

#[test]
fn threads_lose_and_mix_no_records() {
    let temp = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let directory = temp.path();
            scope.spawn(move || {
                for number in 0..25 {
                    write(directory, &[&format!("{thread} {number}")]);
                }
            });
        }
    });
    let found = verify(temp.path(), None).unwrap();
    assert_eq!((found.records, found.faults), (200, vec![]));
    let texts = texts(temp.path());
    for thread in 0..8 {
        let own: Vec<_> = texts.iter().filter_map(|it| it.strip_prefix(&format!("{thread} "))).collect();
        assert_eq!(own, (0..25).map(|it| it.to_string()).collect::<Vec<_>>());
    }
}

#[test]
fn a_follower_reads_what_is_new() {
    let temp = tempfile::tempdir().unwrap();
    let mut early = Follower::new(&temp.path().join("missing")).unwrap();
    assert_eq!(early.poll().unwrap(), []);
    write(temp.path(), &["old"]);
    let mut follower = Follower::new(temp.path()).unwrap();
    let mut poll = || -> Vec<String> {
        let new = follower.poll().unwrap();
        new.iter().map(|it| it.record().unwrap()["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(poll(), [""; 0]);
    write(temp.path(), &["one", "two"]);
    assert_eq!(poll(), ["one", "two"]);
    let file = only_file(temp.path());
    let half = b"{\"v\":1,";
    fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(half).unwrap();
    assert_eq!(poll(), [""; 0], "a line without an end is not read yet");
}

#[test]
fn a_directory_that_cannot_be_used_is_an_error() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("file"), "").unwrap();
    assert!(append(&temp.path().join("file"), "{", &JournalSettings::default()).is_err());
    let link = temp.path().join("journal");
    fs::create_dir(&link).unwrap();
    fs::set_permissions(&link, fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(temp.path().join("file"), link.join("lock")).unwrap();
    assert!(append(&link, "{", &JournalSettings::default()).is_err());
    assert_eq!(fs::read(temp.path().join("file")).unwrap(), b"", "no symlink is followed");

    let own = temp.path().join("own");
    write(&own, &["one"]);
    let linked = temp.path().join("linked");
    std::os::unix::fs::symlink(&own, &linked).unwrap();
    assert!(append(&linked, "{", &JournalSettings::default()).is_err());
    assert!(Reader::open(&linked, None).is_err() && verify(&linked, None).is_err());
    fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(append(&own, "{", &JournalSettings::default()).is_err());
    assert!(Reader::open(&own, None).is_err() && Follower::new(&own).is_err());
}

/// Sends events through a session with a journal, and returns the records.
async fn recorded(calls: &[(&str, Value)], journal: Journal) -> Vec<Value> {
    let directory = journal.directory().to_owned();
    let manager = Manager::builder()
        .directories(false)
        .builtins(false)
        .journal(journal)
        .on("guard", EventName::BeforeToolCall, |event| async move {
            let call = event.tool_call().unwrap();
            Ok(if call.name == "rm" { Outcome::block("no") } else { Outcome::pass() })
        })
        .build()
        .await;
    let session = manager.session("c").cwd("/w");
    for (tool, input) in calls {
        drop(session.before_tool_call(ToolCall::new(*tool, input.clone())).await);
    }
    drop(session.turn_end("done", 1).await);
    Reader::open(&directory, None).unwrap().map(|it| it.unwrap().record().unwrap()).collect()
}

#[tokio::test]
async fn an_event_is_recorded_with_its_verdict_and_its_hooks() {
    let temp = tempfile::tempdir().unwrap();
    let calls = [("rm", json!({"file": "a"})), ("ls", json!({"n": 12345678901234567890123_f64}))];
    let [blocked, passed, end] = &recorded(&calls, Journal::new(temp.path(), Some("claude"))).await[..]
    else {
        panic!("not three records");
    };
    assert_eq!(blocked["verdict"]["blocked"], true);
    assert_eq!(blocked["report"]["hooks"][0]["name"], "guard");
    assert_eq!(
        (&blocked["agent"], &blocked["conversation"], &blocked["cwd"]),
        (&json!("claude"), &json!("c"), &json!("/w"))
    );
    let event = event_of(&Stored::of(blocked), b"").unwrap();
    assert_eq!(event.tool_call().unwrap().name, "rm");
    assert_eq!(passed["verdict"]["blocked"], false);
    assert_ne!(blocked["id"], passed["id"]);
    assert_eq!(end["event"]["event"], "turn_end", "an event that no hook wants is recorded, too");
    assert!(blocked.get("redacted").is_none());
}

#[tokio::test]
async fn secrets_are_removed_and_a_large_record_is_cut() {
    let temp = tempfile::tempdir().unwrap();
    let secret = "sk-live0123456789abcdefghijklmnop";
    let calls = [
        ("bash", json!({"command": format!("export API_KEY={secret}")})),
        ("write", json!({"text": "a ".repeat(3 << 20)})),
    ];
    let records = recorded(&calls, Journal::new(temp.path(), None)).await;
    assert!(!format!("{records:?}").contains(secret));
    assert_eq!((&records[0]["redacted"], records[0].get("cut")), (&json!(true), None));
    assert_eq!(records[1]["cut"], true);
    assert!(records[1]["event"]["tool_input"]["text"].as_str().unwrap().ends_with('…'));
}

#[tokio::test]
async fn no_event_makes_a_record_that_is_not_read() {
    let control = "\u{1}".repeat(1 << 20);
    let list: Vec<Vec<String>> = vec![vec!["\u{1}".repeat(4_000); 40]; 40];
    // As deep as serde_json reads.
    let deep = (0..127).fold(json!("ls"), |inner, _| json!([inner]));
    for input in [
        json!({ "command": control }),
        json!({ "list": list }),
        json!({ "command": "ls", "long": control }),
        deep,
    ] {
        let temp = tempfile::tempdir().unwrap();
        let journal = Journal::new(temp.path(), None);
        let directory = journal.directory().to_owned();
        let [record, _] = &recorded(&[("rm", input)], journal).await[..] else { panic!("not two records") };
        assert_eq!((&record["cut"], &record["verdict"]["blocked"]), (&json!(true), &json!(true)));
        assert_eq!(
            (&record["event"]["tool_name"], &record["report"]["hooks"][0]["name"]),
            (&json!("rm"), &json!("guard"))
        );
        let found = verify(&directory, None).unwrap();
        assert_eq!((found.records, found.faults), (2, vec![]));
    }
}

#[tokio::test]
async fn a_journal_that_cannot_be_written_is_a_warning() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join(DIRECTORY), "").unwrap();
    let manager = Manager::builder()
        .directories(false)
        .journal(Journal::new(temp.path(), None))
        .on("guard", EventName::BeforeToolCall, |_| async { Ok(Outcome::block("no")) })
        .build()
        .await;
    let verdict = manager.session("c").before_tool_call(ToolCall::new("ls", json!({}))).await;
    assert!(matches!(verdict.decision, hookbox::session::ToolDecision::Block(_)));
    let warnings: Vec<_> = verdict.notes.warnings.iter().map(|it| it.text.as_str()).collect();
    assert!(matches!(warnings[..], [one] if one.contains("not in the journal")), "{warnings:?}");
}

#[test]
fn a_filter_wants_records_that_meet_all_of_its_conditions() {
    let record = json!({
        "time": "2026-11-26T04:00:00Z", "agent": "claude",
        "event": {"event": "before_tool_call", "tool_name": "Bash", "tool_input": {"command": "git push --force"}},
        "verdict": {"blocked": true},
        "report": {"hooks": [{"name": "git.wasm", "cause": null, "message": "Overwrites"}]},
    });
    let filter = Filter::default;
    let text = |text: &str| Filter { text: Some(text.to_owned()), ..filter() };
    for (filter, wanted) in [
        (filter(), true),
        (Filter { since: Some("2026-11-26T04:00:00Z".parse().unwrap()), ..filter() }, true),
        (Filter { since: Some("2026-11-26T04:00:01Z".parse().unwrap()), ..filter() }, false),
        (Filter { agent: Some("claude".into()), ..filter() }, true),
        (Filter { agent: Some("codex".into()), ..filter() }, false),
        (Filter { hook: Some("git.wasm".into()), blocked: true, ..filter() }, true),
        (Filter { hook: Some("git".into()), ..filter() }, false),
        (Filter { failed: true, ..filter() }, false),
        (text("PUSH --force"), true),
        (text("overwrites"), true),
        (text("pull"), false),
    ] {
        assert_eq!(filter.wants(&record), wanted, "{filter:?}");
    }
}

#[test]
fn its_calls_are_those_of_a_session_file_if_nobody_changed_them() {
    use crate::session_files::{Found, JOURNAL, read};
    let temp = tempfile::tempdir().unwrap();
    let call = |id: &str, command: &str, more: &str| {
        format!(
            r#"{{"v":1,"id":"{id}","cwd":"/p","event":{{"event":"before_tool_call","tool_name":"Bash","tool_input":{{"command":"{command}"}}}},"verdict":{{}},"report":{{}}{more}"#
        )
    };
    for object in [
        call("a", "ls", ""),
        call("b", "ls", "").replace("before", "after"),
        call("c", "l…", ",\"cut\":true"),
        call("d", "[REDACTED:jwt]", ",\"redacted\":true"),
        call("e", "ls", ",\"redacted\":true"),
        call("f", "changed", ""),
    ] {
        append(temp.path(), &object, &JournalSettings::default()).unwrap();
    }
    let file = only_file(temp.path());
    let text = fs::read_to_string(&file).unwrap().replace("changed", "other");
    let inserted = call("g", "inserted", "}\n");
    let mut found = Vec::new();
    read((text + &inserted).as_bytes(), &[&JOURNAL], |_, it| found.push(it)).unwrap();
    let calls = found.into_iter().map(|it| match it {
        Found::Call(call) => (call.id.unwrap(), call.judged.is_some()),
        Found::Hook(_) => panic!("a hook"),
    });
    let calls: Vec<_> = calls.collect();
    let want = [("a", true), ("c", false), ("d", false), ("e", true)];
    assert_eq!(calls, want.map(|(id, is_read)| (id.to_owned(), is_read)));
}

/// Appends without end, in the process of the test below. Without its variable it does nothing.
#[test]
fn append_without_end() {
    let Some(directory) = std::env::var_os("JOURNAL_TEST_DIRECTORY") else { return };
    println!("begins");
    let _ = std::io::stdout().flush();
    loop {
        write(Path::new(&directory), &["again"]);
    }
}

#[test]
fn a_process_that_is_killed_leaves_whole_records() {
    use std::io::{BufRead as _, BufReader};
    let temp = tempfile::tempdir().unwrap();
    for _ in 0..5 {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "journal::tests::append_without_end", "--nocapture"])
            .env("JOURNAL_TEST_DIRECTORY", temp.path())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("begins")));
        write(temp.path(), &["mine"]);
        process.kill().unwrap();
        process.wait().unwrap();
        write(temp.path(), &["mine"]);
    }
    assert_eq!(texts(temp.path()).iter().filter(|it| *it == "mine").count(), 10);
    let found = verify(temp.path(), None).unwrap();
    assert!(found.faults.iter().all(|it| it.kind == FaultKind::Torn), "{:?}", found.faults);
}
