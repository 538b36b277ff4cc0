//! Changes of plugins by several processes, and by one that may not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Output};

use hookbox_plugins::{Replace, Silent, installed};

use super::changes::{add, open, own, tree};
use crate::environment::{TestEnvironment, program};

fn begin(env: &TestEnvironment, args: &[&str]) -> Child {
    env.command(program()).args(args).spawn().unwrap()
}

fn end(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

#[test]
fn programs_that_add_different_plugins_at_the_same_time_add_all_of_them() {
    let env = TestEnvironment::new();
    let names = ["one", "two", "three", "four"];
    for name in names {
        env.file(&format!("repo/org/{name}/recipes/r.md"), name);
    }
    let children = names.map(|name| begin(&env, &["plugin", "add", "--no-trust", &format!("./org/{name}")]));
    for output in children.map(end) {
        assert!(output.status.success(), "{output:#?}");
    }
    let plugins = open(&env.path("repo"));
    assert_eq!((installed(&plugins).unwrap().len(), plugins.lock().unwrap().iter().count()), (4, 4));
    assert_eq!(own(&env.path("repo")), [""; 0]);
}

#[test]
fn of_programs_that_add_the_same_plugin_at_the_same_time_one_wins_and_the_others_say_so() {
    let env = TestEnvironment::new();
    env.file("repo/org/tools/recipes/r.md", "text");
    let children = [(); 4].map(|()| begin(&env, &["plugin", "add", "--no-trust", "./org/tools"]));
    let outputs = children.map(end);
    let mut wins = 0;
    for output in &outputs {
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => wins += 1,
            Some(1) => assert!(said.contains("already") && said.contains("--force"), "{said}"),
            _ => panic!("{output:#?}"),
        }
    }
    assert_eq!((wins, own(&env.path("repo"))), (1, vec![]), "{outputs:#?}");
}

#[test]
fn a_directory_that_may_not_be_written_is_named_and_nothing_changes() {
    let env = TestEnvironment::new();
    let base = env.path("repo");
    let plugins = open(&base);
    add(&plugins, "org/repo", "old", Replace::No, &Silent).unwrap();
    let before = tree(&base);
    let mode = |mode| fs::set_permissions(plugins.path(), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    let result = add(&plugins, "org/repo", "new", Replace::Yes, &Silent);
    mode(0o755);
    let Err(error) = result else {
        println!("skipped: this user may write everywhere");
        return;
    };
    assert!(error.to_string().contains("plugins: Permission denied"), "{error}");
    assert!(error.hint.unwrap().contains("that you may read and write"));
    assert_eq!(tree(&base), before);
}
