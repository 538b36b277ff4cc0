//! The administrator's plugins: pinned, tried before they replace the old ones, and kept if anything fails.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hookbox::discovery::ManagedDir;
use hookbox_plugins::{
    Hosts, Location, Observer, PluginError, Plugins, Request, Silent, Source, Step, repair,
};
use hookbox_system::files::SystemFiles;

use super::changes::tree;
use super::repository::{File, Repository};
use crate::environment::runtime;
use crate::managed::{builder, call, place, rules};

/// A repository with a plugin of these files, each as a commit.
fn commit(repository: &Repository<'_>, files: &[(&str, &str)]) -> String {
    let files: Vec<File<'_>> = files.iter().map(|(path, text)| ("100644", *path, *text)).collect();
    format!("{}@{}", repository.url(), repository.commit("main", &files))
}

async fn sync(etc: &Path, source: &str, observer: &dyn Observer) -> Result<bool, PluginError> {
    let owner = fs::metadata(etc).unwrap().uid();
    let files = Arc::new(SystemFiles { top: etc.to_owned(), owner });
    let managed = ManagedDir { path: etc.join("hookbox"), files };
    let plugins = Plugins::open(Location::Global, etc, "hookbox")?;
    repair(&plugins.lock_exclusively()?)?;
    let request = Request::new(Source::parse(source, &Hosts::new(etc))?, None)?;
    Ok(request.sync(&plugins, &managed, &runtime(), observer).await?.is_some())
}

const HOOK: &str = "hooks/guard.rules.toml";

#[tokio::test]
async fn a_pinned_plugin_replaces_the_old_one_only_if_it_works() {
    let env = place();
    let repository = Repository::new(&env, "git/org/tools");
    let (make, all) = (rules("make"), rules("true"));
    let [first, second] = ["ls", "cat"].map(|it| commit(&repository, &[(HOOK, &rules(it))]));
    let unusable = commit(&repository, &[(HOOK, &make), ("hooks/broken.wasm", "no component")]);
    let invalid = commit(&repository, &[(HOOK, "[[[")]);
    let blocks = commit(&repository, &[(HOOK, &all)]);
    let empty = commit(&repository, &[("README.md", "nothing")]);
    let branch = format!("{}@main", repository.url());
    let gone = format!("file://{}@{}", env.path("git/org2/tools").display(), "a".repeat(40));
    let directory = env.path("git").display().to_string();
    // The settings of other hooks are no reason to refuse a plugin.
    env.file("etc/hookbox/hookbox.toml", "[hooks.\"gone.wasm\"]\non_failure = \"block\"\n");
    let at = env.path("etc");
    for (source, want, in_force) in [
        (&branch, Err("expected its exact state"), None),
        (&unusable, Err("broken.wasm does not load"), None),
        (&first, Ok(true), Some("ls")),
        (&first, Ok(false), Some("ls")),
        (&branch, Err("expected its exact state"), Some("ls")),
        (&directory, Err("expected its exact state"), Some("ls")),
        (&unusable, Err("broken.wasm does not load"), Some("ls")),
        (&invalid, Err("guard.rules.toml does not load"), Some("ls")),
        (&blocks, Err("does not let a harmless call through"), Some("ls")),
        (&empty, Err("no skills, no recipes and no hooks"), Some("ls")),
        (&gone, Err(""), Some("ls")),
        (&second, Ok(true), Some("cat")),
        (&first, Ok(true), Some("ls")),
    ] {
        match (sync(&at, source, &Silent).await, want) {
            (Ok(found), Ok(want)) => assert_eq!(found, want, "{source}"),
            (Err(error), Err(want)) => assert!(error.to_string().contains(want), "{source}: {error}"),
            (found, want) => panic!("{source}: {found:?}, expected {want:?}"),
        }
        env.file("etc/hookbox/hookbox.toml", "");
        let manager = builder(&env).build().await;
        for line in ["ls", "cat", "true"] {
            let is_blocked = call(&manager, line).await.decision.blocked().is_some();
            assert_eq!(is_blocked, in_force == Some(line), "{source} {line}");
        }
        env.file("etc/hookbox/hookbox.toml", "[hooks.\"gone.wasm\"]\non_failure = \"block\"\n");
        let own = fs::read_dir(env.path("etc/hookbox/plugins")).unwrap();
        let mut own = own.map(|it| it.unwrap().file_name().into_string().unwrap());
        assert!(own.all(|it| it == "org@tools" || it == ".hookbox-lock"), "{source}");
    }
    // A plugin that is current needs no source.
    fs::remove_dir_all(env.path("git")).unwrap();
    assert!(!sync(&at, &first, &Silent).await.unwrap());
    sync(&at, &second, &Silent).await.unwrap_err();
    // A file that somebody changed is brought again.
    assert!(!sync(&at, &first, &Silent).await.unwrap());
    env.file("etc/hookbox/plugins/org@tools/hooks/guard.rules.toml", rules("changed"));
    sync(&at, &first, &Silent).await.unwrap_err();
}

/// The task of the child: the step to stop at, the source, the directory.
const CHILD: &str = "HOOKBOX_TEST_KILLED_SYNC";

/// Aborts the process at a step.
struct Killer(AtomicUsize);

impl Observer for Killer {
    fn step(&self, _: &Step<'_>) {
        if self.0.fetch_sub(1, Ordering::Relaxed) == 0 {
            std::process::abort();
        }
    }
}

#[tokio::test]
async fn the_child_that_is_killed_while_it_brings_a_plugin() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let [step, source, etc] = what.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
    sync(Path::new(etc), source, &Killer(AtomicUsize::new(step.parse().unwrap()))).await.unwrap();
}

#[tokio::test]
async fn a_kill_at_any_step_leaves_the_old_plugin_or_the_new_one_in_force() {
    let env = place();
    let repository = Repository::new(&env, "git/org/tools");
    let [old, new] = ["ls", "cat"].map(|it| commit(&repository, &[(HOOK, &rules(it))]));
    let path = env.path("etc/hookbox/plugins/org@tools");
    for step in 0.. {
        assert!(step < 300, "it never ends");
        sync(&env.path("etc"), &old, &Silent).await.unwrap();
        let before = tree(&path);
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "plugin::sync::the_child_that_is_killed_while_it_brings_a_plugin"])
            .env(CHILD, format!("{step} {new} {}", env.path("etc").display()))
            .output()
            .unwrap();
        let left = tree(&path);
        let manager = builder(&env).build().await;
        let mut blocked = Vec::new();
        for line in ["ls", "cat"] {
            blocked.push(call(&manager, line).await.decision.blocked().is_some());
        }
        assert_eq!(blocked, [left == before, left != before], "step {step}: {child:?}");
        if child.status.success() {
            assert!(left != before && step > 5, "{child:?}");
            break;
        }
        assert!(sync(&env.path("etc"), &new, &Silent).await.is_ok(), "step {step}: the next one repairs it");
        assert_eq!(fs::read_dir(env.path("etc/hookbox/plugins")).unwrap().count(), 2, "step {step}");
    }
}
