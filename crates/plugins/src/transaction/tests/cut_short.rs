//! Changes that end before they are done: by an error, or by a kill.

use super::*;

#[test]
fn a_change_that_fails_on_its_way_is_undone() {
    // A fault at a step, and its repair.
    type Act = fn(&Path);
    let block: Act = |root| {
        fs::rename(root.join("plugins.lock"), root.join("aside")).unwrap();
        fs::create_dir(root.join("plugins.lock")).unwrap();
    };
    let unblock: Act = |root| {
        fs::remove_dir(root.join("plugins.lock")).unwrap();
        fs::rename(root.join("aside"), root.join("plugins.lock")).unwrap();
    };
    for (name, replace, exchanges) in
        [("new/one", Replace::No, true), ("org/repo", Replace::Yes, true), ("org/repo", Replace::Yes, false)]
    {
        let root = TestRoot::new();
        let plugins = root.open();
        add(&plugins, "org/repo", "old", Replace::No, &Silent).unwrap();
        let before = root.all();
        let dir = root.path(".hookbox");
        let observer = At::new("Exchanged", move || block(&dir));
        let staged = staged(&plugins, "new");
        let locked = locked(name, &staged);
        let lock = plugins.lock_exclusively().unwrap();
        let error = put(&lock, staged, locked, replace, &observer, exchanges).unwrap_err();
        assert!(error.to_string().contains("plugins.lock"), "{error}");
        unblock(&root.path(".hookbox"));
        assert_eq!(root.all(), before, "{name} {exchanges}");
        assert_eq!(repair(&lock).unwrap(), [""; 0]);
    }

    let root = TestRoot::new();
    let plugins = root.open();
    add(&plugins, "org/repo", "old", Replace::No, &Silent).unwrap();
    let before = root.all();
    let dir = root.path(".hookbox");
    let observer = At::new("Exchanged", move || block(&dir));
    let lock = plugins.lock_exclusively().unwrap();
    remove(&lock, &"org/repo".parse().unwrap(), &observer).unwrap_err();
    unblock(&root.path(".hookbox"));
    assert_eq!(root.all(), before);
}

#[test]
fn a_directory_that_comes_between_is_not_written_over() {
    let root = TestRoot::new();
    let plugins = root.open();
    let path = root.path(".hookbox/plugins/org@repo");
    let observer = At::new("Prepared", move || fs::create_dir(&path).unwrap());
    let error = add(&plugins, "org/repo", "new", Replace::No, &observer).unwrap_err();
    assert!(
        matches!(&error.kind, PluginErrorKind::Io(it) if it.kind() == io::ErrorKind::AlreadyExists),
        "{error}"
    );
    assert_eq!(root.plugin("org@repo").unwrap().len(), 0);
    assert_eq!((root.own(), plugins.lock().unwrap()), (vec![], Lock::default()));
}

/// The variable with the task of the child: the number of steps before it stops, and a directory.
const CHILD: &str = "HOOKBOX_TEST_TWO_STEPS";

#[test]
fn a_replacement_in_two_steps_is_finished_or_undone_wherever_it_is_killed() {
    let mut withdrawn = false;
    for n in 0.. {
        let root = TestRoot::new();
        let plugins = root.open();
        add(&plugins, "org/repo", "old", Replace::No, &Silent).unwrap();
        let old = root.plugin("org@repo");
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "transaction::tests::cut_short::the_child_that_is_killed", "--nocapture"])
            .env(CHILD, format!("{n} {}", root.dir.path().display()))
            .output()
            .unwrap();
        // `needs_repair` would take locks, which a program that another test starts just now would share.
        let is_cut_short = !root.own().is_empty();
        withdrawn |= root.plugin("org@repo").is_none();
        let done = repair(&plugins.lock_exclusively().unwrap()).unwrap();
        let now = root.plugin("org@repo");
        let is_old = now == old;
        assert!(is_old || now.unwrap()[Path::new("hooks/guard")] == "100755 new", "{n}");
        let lock = plugins.lock().unwrap();
        let said = &lock.get(&"org/repo".parse().unwrap()).unwrap().tree;
        let is = crate::digest(&root.path(".hookbox/plugins/org@repo"), None).unwrap();
        assert_eq!((*said == is, root.own()), (true, vec![]), "{n}");
        if child.status.success() {
            assert!(n >= 4 && !is_old && done.is_empty(), "{n} {child:?} {done:?}");
            break;
        }
        assert_eq!(done.is_empty(), !is_cut_short, "{n} {child:?} {done:?}");
        add(&plugins, "org/repo", "new", Replace::Yes, &Silent).unwrap();
    }
    assert!(withdrawn, "one kill lay between the two steps");
}

#[test]
fn the_child_that_is_killed() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let (steps, base) = what.split_once(' ').unwrap();
    let left = Mutex::new(steps.parse::<usize>().unwrap());
    struct Killer(Mutex<usize>);
    impl Observer for Killer {
        fn step(&self, _: &Step<'_>) {
            let mut left = self.0.lock().unwrap();
            *left = left.checked_sub(1).unwrap_or_else(|| std::process::abort());
        }
    }
    let plugins = open(Path::new(base));
    let staged = staged(&plugins, "new");
    let locked = locked("org/repo", &staged);
    let lock = plugins.lock_exclusively().unwrap();
    put(&lock, staged, locked, Replace::Yes, &Killer(left), false).unwrap();
}
