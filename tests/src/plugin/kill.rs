//! A kill at any moment leaves the old plugin or the new one, and the next command sees to the rest.
//!
//! These tests look at the files and do not call `needs_repair`. It takes locks for a moment, and a program that
//! another test starts in that moment would share them until it runs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hookbox_plugins::{Observer, Replace, Silent, Step, repair};

use super::changes::{Change, NAME, add, open, own, tree};
use crate::environment::{TestEnvironment, program};

/// The task of the child: the change, the step to stop at, the repository.
const CHILD: &str = "HOOKBOX_TEST_KILLED_CHILD";

/// Aborts the process at a step.
struct Killer(AtomicUsize);

impl Observer for Killer {
    fn step(&self, _: &Step<'_>) {
        if self.0.fetch_sub(1, Ordering::Relaxed) == 0 {
            std::process::abort();
        }
    }
}

/// The program has no switch for this: the test runs itself.
#[test]
fn the_child_that_stops_at_a_step() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let words: Vec<&str> = what.splitn(3, ' ').collect();
    let [change, step, base] = words.try_into().unwrap();
    let change = Change::ALL.into_iter().find(|it| format!("{it:?}") == change).unwrap();
    let killer = Killer(AtomicUsize::new(step.parse().unwrap()));
    change.make(&open(Path::new(base)), &killer).unwrap();
}

#[test]
fn a_kill_at_any_step_leaves_the_old_plugin_or_the_new_one_and_the_next_command_sees_to_the_rest() {
    let scratch = TestEnvironment::new();
    let reference = open(&scratch.path("repo"));
    let [old, new] = ["old", "new"].map(|text| {
        add(&reference, NAME, text, Replace::Yes, &Silent).unwrap();
        let digest = reference.lock().unwrap().get(&NAME.parse().unwrap()).unwrap().tree.clone();
        (tree(&scratch.path("repo/.hookbox/plugins/org@repo")), digest)
    });
    for change in Change::ALL {
        let (before, after) = match change {
            Change::Install => (None, Some(&new)),
            Change::Replace => (Some(&old), Some(&new)),
            Change::Remove => (Some(&old), None),
        };
        let (mut said_forward, mut said_back) = (false, false);
        for step in 0.. {
            assert!(step < 100, "it never ends");
            let env = TestEnvironment::new();
            let base = env.path("repo");
            let plugins = change.prepare(&base);
            let path = base.join(".hookbox/plugins/org@repo");
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "plugin::kill::the_child_that_stops_at_a_step", "--nocapture"])
                .env(CHILD, format!("{change:?} {step} {}", base.display()))
                .output()
                .unwrap();
            let case = format!("{change:?} at step {step}: {child:?}");

            let left = tree(&path);
            let is = |it: Option<&(_, _)>| left == it.and_then(|(tree, _): &(Option<_>, _)| tree.clone());
            assert!(is(before) || is(after), "{case}");
            let is_cut_short = !own(&base).is_empty();
            let said = repair(&plugins.lock_exclusively().unwrap()).unwrap();
            assert_eq!(said.is_empty(), !is_cut_short, "{case} {said:?}");
            assert_eq!(tree(&path), left, "what stands there is not changed by the repair: {case}");
            let lock = plugins.lock().unwrap();
            let locked = lock.get(&NAME.parse().unwrap()).map(|it| &it.tree);
            let now = if is(before) { before } else { after };
            assert_eq!(locked, now.map(|(_, digest)| digest), "{case}");
            assert!(lock.get(&"a/other".parse().unwrap()).is_some(), "{case}");
            assert!(base.join(".hookbox/plugins/a@other/hooks/guard").is_file(), "{case}");
            assert_eq!(own(&base), [""; 0], "{case}");
            assert_eq!(repair(&plugins.lock_exclusively().unwrap()).unwrap(), [""; 0], "{case}");
            said_back |= said.iter().any(|it| it.contains("cut short before: nothing of it was done"));
            said_forward |= said.iter().any(|it| it.contains("cut short before: it is finished now"));

            if child.status.success() {
                assert!(is(after) && said.is_empty() && step >= 5, "{case}");
                break;
            }
            if is(after) {
                // The change was made, and undoing it works, too.
                let undo = match change {
                    Change::Install | Change::Replace => Change::Remove,
                    Change::Remove => Change::Install,
                };
                undo.make(&plugins, &Silent).unwrap();
            } else {
                change.make(&plugins, &Silent).unwrap();
                assert_eq!(tree(&path), after.and_then(|(tree, _)| tree.clone()), "{case}");
            }
            assert_eq!(own(&base), [""; 0], "{case}");
        }
        assert!(said_forward && said_back, "{change:?}");
    }
}

/// A few numbers that look random, and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        // Knuth's constants for a linear congruence.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

/// The plugin as its author wrote it: enough files that writing them takes a while.
fn source(env: &TestEnvironment, text: &str) {
    let dir = env.path("repo/org/tools");
    drop(fs::remove_dir_all(&dir));
    for number in 0..60 {
        env.file(&format!("repo/org/tools/skills/s{number}/SKILL.md"), format!("{text} {number}"));
    }
    env.script("repo/org/tools/hooks/guard", "#!/bin/sh\necho before_tool_call\n");
}

#[test]
fn the_program_killed_at_any_moment_leaves_the_old_plugin_or_the_new_one() {
    let mut random = Random(5);
    let mut killed = 0;
    for args in [
        &["plugin", "add", "./org/tools", "--no-trust"][..],
        &["plugin", "add", "./org/tools", "--no-trust", "--force"],
        &["plugin", "update", "org/tools", "--no-trust"],
        &["plugin", "remove", "org/tools"],
    ] {
        let mut usual = Duration::ZERO;
        // The first is not killed: it shows how long one takes.
        for round in 0..10 {
            let env = TestEnvironment::new();
            let (base, path) = (env.path("repo"), env.path("repo/.hookbox/plugins/org@tools"));
            let is_new = args[1] == "add" && args.len() == 4;
            source(&env, "old");
            if !is_new {
                let added = env.hookbox(["plugin", "add", "./org/tools", "--no-trust"]);
                assert_eq!(added.code, Some(0), "{added:#?}");
            }
            let before = tree(&path);
            source(&env, "new");
            let after = (args[1] != "remove").then(|| tree(&env.path("repo/org/tools")).unwrap());
            let begin = Instant::now();
            let mut child = env.command(program()).args(args).stdout(Stdio::null()).spawn().unwrap();
            if round > 0 {
                std::thread::sleep(Duration::from_micros(random.below(usual.as_micros() as u64)));
                child.kill().unwrap();
            }
            let output = child.wait_with_output().unwrap();
            usual = if round == 0 { begin.elapsed() } else { usual };
            killed += u32::from(output.status.code().is_none());
            let case = format!("{args:?} {round}: {output:?}");

            let left = tree(&path);
            assert!(left == before || left == after, "{case}");
            let plugins = open(&base);
            let is_cut_short = !own(&base).is_empty();
            let next = env.hookbox(["plugin", "list", "--json"]);
            let rows = next.json();
            assert_eq!(rows.as_array().unwrap().len(), usize::from(left.is_some()), "{case} {next:#?}");
            assert_eq!(next.stderr.contains("cut short"), is_cut_short, "{case} {next:#?}");
            assert_eq!((tree(&path), own(&base)), (left.clone(), vec![]), "{case} {next:#?}");
            let lock = plugins.lock().unwrap();
            assert_eq!(lock.get(&"org/tools".parse().unwrap()).is_some(), left.is_some(), "{case}");
            if round == 0 {
                assert_eq!((output.status.code(), left == after), (Some(0), true), "{case}");
            } else if left == before && before != after {
                let again = env.hookbox(args.iter().copied());
                assert_eq!((again.code, tree(&path) == after), (Some(0), true), "{case} {again:#?}");
            }
        }
    }
    assert!(killed >= 10, "only {killed} of 36 were killed on their way");
}
