use super::*;
use crate::discovery::find::{HooksDir, State, Table};
use crate::hook::Tier;
use hookbox_system::files::FileAccess;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

fn job(path: PathBuf, kind: Kind, standing: TrustLevel) -> Arc<Judged> {
    let dir = Arc::new(HooksDir::new(&FileAccess::Global, Tier::Global, 0, PathBuf::new(), Path::new("")));
    let candidate = Candidate::of_file(&dir, "x".to_owned(), path, State::Usable);
    let candidate = Candidate { kind, ..candidate };
    Arc::new(Judged {
        reference: candidate.reference(),
        candidate,
        table: Table::default(),
        standing,
        key: None,
        record: None,
        digest_input: None,
        tree_digest: None,
        bytes: None,
        is_current: false,
        by_record: false,
        is_unique: true,
        flags: String::new(),
        namesakes: Vec::new(),
    })
}

#[tokio::test]
async fn the_users_hooks_never_wait_for_what_is_not_trusted_and_results_keep_their_order() {
    let temp = tempfile::tempdir().unwrap();
    let at = |name: &str| temp.path().join(name);
    fs::write(at("draft"), "#!/bin/sh\necho turn_end\n").unwrap();
    fs::set_permissions(at("draft"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(std::process::Command::new("cp").arg(at("draft")).arg(at("hook")).status().unwrap().success());

    let options = Options::new(temp.path(), None);
    let mut examiner = Examiner::new(&options, &Runtime::default());
    examiner.together = Duration::from_millis(200);
    // Something untrusted has used it up.
    *examiner.used.lock().unwrap() = examiner.together;
    let examiner = Arc::new(examiner);
    for _round in 0..2 {
        let jobs = vec![
            job(at("hook"), Kind::Component, TrustLevel::Confined),
            job(at("hook"), Kind::Native, TrustLevel::Trusted),
            job(at("hook"), Kind::Native, TrustLevel::Refused),
            job(at("hook"), Kind::Native, TrustLevel::Trusted),
            job(at("hook"), Kind::Component, TrustLevel::Confined),
        ];
        let [a, b, c, d, e] = <[Examined; 5]>::try_from(examiner.examine(jobs).await).ok().unwrap();
        for late in [&a, &e] {
            let error = late.result.as_ref().err().unwrap();
            assert_eq!(error.cause, Cause::Timeout);
            assert_eq!(
                error.message,
                "was not examined: untrusted files of a repository may take 200ms together; it is tried again at the \
                 start of a session"
            );
        }
        for trusted in [&b, &d] {
            assert!(matches!(&trusted.result, Ok(Ready::Native(EventName::TurnEnd))));
        }
        // It is reported in every event all the same.
        assert!(matches!((&c.digest, &c.result), (None, Ok(Ready::Refused))));
    }
}

#[tokio::test]
async fn hooks_are_asked_at_the_same_time_and_once_for_all_processes() {
    for one_event in [true, false] {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        for pipe in ["to_a", "to_b"] {
            assert!(std::process::Command::new("mkfifo").arg(at(pipe)).status().unwrap().success());
        }
        // Each of them waits for the other.
        for (name, lines) in [("a", "echo >to_b; read x <to_a"), ("b", "read x <to_b; echo >to_a")] {
            let directory = temp.path().display();
            let text = format!("#!/bin/sh\ncd '{directory}'\necho . >>asked\n{lines}\necho turn_end\n");
            fs::write(at(name), text).unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut options = Options::new(temp.path(), None);
        (options.cache, options.one_event) = (Some(at("cache")), one_event);
        for _process in 0..2 {
            let examiner = Arc::new(Examiner::new(&options, &Runtime::default()));
            let jobs = ["a", "b"].map(|name| job(at(name), Kind::Native, TrustLevel::Trusted));
            for examined in examiner.examine(jobs.into()).await {
                assert!(
                    matches!(&examined.result, Ok(Ready::Native(EventName::TurnEnd))),
                    "one event: {one_event}"
                );
            }
            examiner.save_cache();
        }
        assert_eq!(fs::read_to_string(at("asked")).unwrap().lines().count(), 2, "one event: {one_event}");
    }
}
