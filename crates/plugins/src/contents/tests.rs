use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;
use hookbox::Allocation;

fn put(dir: &Path, path: &str, text: &str, mode: u32) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn no_skill_and_no_recipe_hides_among_other_files() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    for number in 0..400 {
        put(dir, &format!("skills/a{number}"), "", 0o644);
        put(dir, &format!("recipes/a{number}.txt"), "", 0o644);
    }
    for number in 0..300 {
        put(dir, &format!("recipes/r{number:03}.md"), "x", 0o644);
    }
    put(dir, "skills/evil/SKILL.md", "x", 0o644);
    put(dir, "recipes/evil.md", "x", 0o644);
    let runtime = Runtime::new(Allocation::OnDemand, None);
    let contents = Contents::look(dir, "org@repo", Location::Local, &runtime).await;
    assert_eq!(contents.skills, ["evil"]);
    assert_eq!((contents.recipes.len(), contents.recipes[0].as_str()), (256, "evil"));
    let problems: Vec<_> = contents.problems.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(problems, ["has 301 recipes: only the first 256 by name are listed"]);
}

#[tokio::test]
async fn the_tools_and_the_timeout_of_an_entry_are_part_of_its_hook() {
    let temp = tempfile::tempdir().unwrap();
    let entry = r#"{"name": "x", "command": "true", "matcher": "Bash", "timeout": 2}"#;
    put(temp.path(), "hooks/hooks.json", &format!(r#"{{"hooks": {{"PreToolUse": [{entry}]}}}}"#), 0o644);
    let runtime = Runtime::new(Allocation::OnDemand, None);
    let contents = Contents::look(temp.path(), "org@repo", Location::Local, &runtime).await;
    let hook = &contents.hooks[0];
    assert_eq!((hook.subscriptions[0].tools.join(" "), hook.timeout.as_str()), ("Bash".into(), "2s"));
}

#[tokio::test]
async fn a_plugin_holds_skills_recipes_and_hooks_and_says_what_is_wrong_with_them() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("plugin");
    put(temp.path(), "secret.md", "secret", 0o644);
    put(&dir, "skills/pdf/SKILL.md", "x", 0o644);
    put(&dir, "skills/empty/README.md", "x", 0o644);
    put(&dir, "skills/SKILL.md", "x", 0o644);
    put(&dir, "recipes/review.md", "x", 0o644);
    put(&dir, "recipes/notes.txt", "x", 0o644);
    put(&dir, "recipes/large.md", &"x".repeat(70_000), 0o644);
    fs::create_dir(dir.join("recipes/folder.md")).unwrap();
    symlink("../../secret.md", dir.join("recipes/out.md")).unwrap();
    let script = format!("#!/bin/sh\ntouch {}/ran\n", temp.path().display());
    put(&dir, "hooks/guard", &script, 0o755);
    put(&dir, "hooks/off.disable", &script, 0o755);
    put(&dir, "hooks/broken.wasm", "no component", 0o644);
    put(&dir, "hooks/text", "no hook", 0o644);
    put(
        &dir,
        "hooks/hooks.json",
        r#"{"hooks": {"PreToolUse": [
            {"command": "sh hooks/lib/x $MORE", "priority": 7, "on_failure": "block", "observe": true},
            {"component": "hooks/gone.wasm", "name": "gone"}]}}"#,
        0o644,
    );
    let runtime = Runtime::new(Allocation::OnDemand, None);
    let contents = Contents::look(&dir, "org@repo", Location::Local, &runtime).await;
    assert_eq!((contents.skills.join(" "), contents.recipes.join(" ")), ("pdf".into(), "review".into()));
    assert!(!temp.path().join("ran").exists(), "nothing of it runs");

    let hooks: Vec<_> =
        contents.hooks.iter().map(|it| (it.name.as_str(), it.kind.as_str(), it.status.as_str())).collect();
    assert_eq!(
        hooks,
        [
            ("broken.wasm", "component", "invalid"),
            ("guard", "native", "untrusted"),
            ("off.disable", "native", "disabled"),
            ("hooks.json#PreToolUse[0]", "command", "untrusted"),
            ("gone", "component", "invalid"),
        ]
    );
    assert_eq!((contents.enabled().count(), contents.disabled()), (4, 1));
    let guard = &contents.hooks[1];
    assert_eq!(guard.full_name, "org/repo/guard");
    assert_eq!(
        (guard.file.as_path(), &guard.digest),
        (Path::new("hooks/guard"), &Some(Digest::of(script.as_bytes())))
    );
    assert_eq!((guard.events(), &guard.problem), (vec![], &None));
    let entry = &contents.hooks[3];
    assert_eq!(entry.events(), [EventName::BeforeToolCall]);
    assert_eq!(entry.runs.as_deref(), Some("sh hooks/lib/x $MORE"));
    assert_eq!((entry.priority, entry.on_failure), (7, OnFailure::Block));
    assert!(contents.hooks[0].problem.is_some() && contents.hooks[4].problem.is_some());
    assert_eq!(contents.hooks[4].digest, None);

    let locked: Vec<_> = contents.locked().into_iter().map(|it| it.name).collect();
    assert_eq!(locked, ["broken.wasm", "guard", "hooks.json#PreToolUse[0]", "off.disable"]);
    let problems = contents.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for want in [
        "recipes/folder.md: is not a recipe: expected a file",
        "recipes/large.md",
        "recipes/out.md",
        "hooks/broken.wasm: ",
    ] {
        assert!(problems.contains(want), "{want}: {problems}");
    }
    assert!(!problems.contains(&*temp.path().to_string_lossy()), "no path of this place: {problems}");
    assert_eq!(digest(&dir, None).unwrap(), digest(&dir, None).unwrap());
}

#[tokio::test]
async fn a_program_without_an_execute_bit_is_named_unless_a_command_names_it() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    put(dir, "hooks/guard", "#!/bin/sh\n", 0o755);
    put(dir, "hooks/run.sh", "#!/bin/sh\n", 0o644);
    put(dir, "hooks/off.disable", "#!/bin/sh\n", 0o644);
    put(dir, "hooks/README.md", "# words\n", 0o644);
    put(dir, "hooks/lib/part.sh", "#!/bin/sh\n", 0o644);
    symlink("/etc/profile", dir.join("hooks/out")).unwrap();
    put(dir, "hooks/hooks.json", r#"{"hooks": {"PreToolUse": [{"command": "sh hooks/run.sh"}]}}"#, 0o644);
    let runtime = Runtime::new(Allocation::OnDemand, None);
    let mut lines = Vec::new();
    for add in ["", "left\u{1b}", "#many"] {
        match add {
            "" => {}
            "#many" => (0..30).for_each(|n| put(dir, &format!("hooks/m{n:02}"), "#!/bin/sh\n", 0o644)),
            name => put(dir, &format!("hooks/{name}"), "#!/bin/sh\n", 0o644),
        }
        // A directory that somebody put there by hand, under a name of their own.
        let contents = Contents::look(dir, "my-hooks", Location::Local, &runtime).await;
        assert_eq!(contents.hooks[0].full_name, "my-hooks/guard");
        let told = contents.problems.iter().map(ToString::to_string);
        lines.push(told.filter(|it| it.contains("execute bit")).collect::<Vec<_>>());
    }
    assert_eq!(lines[0], [""; 0]);
    assert_eq!(lines[1], ["hooks/left\\u{1b}: is not a hook: it has no execute bit"]);
    assert_eq!(lines[2].len(), limits::NAMED + 1);
    assert_eq!(lines[2].last().unwrap(), "hooks: has 11 more programs without an execute bit");
}

#[tokio::test]
async fn a_directory_that_holds_nothing_of_a_plugin_is_empty() {
    let temp = tempfile::tempdir().unwrap();
    put(temp.path(), "README.md", "x", 0o644);
    put(temp.path(), "hooks/text", "no hook", 0o644);
    let runtime = Runtime::new(Allocation::OnDemand, None);
    assert!(Contents::look(temp.path(), "org@repo", Location::Local, &runtime).await.is_empty());
    let gone = Contents::look(&temp.path().join("gone"), "org@repo", Location::Local, &runtime).await;
    assert!(gone.is_empty() && !gone.problems.is_empty());
}
