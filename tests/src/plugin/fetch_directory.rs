//! Local directories as sources.

use std::fs;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use hookbox_plugins::limits::Limits;
use hookbox_plugins::{
    Location, Observer, PluginError, PluginErrorKind, Plugins, Silent, Stage, Step, fetch,
};

use super::repository::{Tree, staged};
use crate::environment::TestEnvironment;

/// Puts something at a path.
type Make<'a> = Box<dyn Fn(&TestEnvironment, &str) + 'a>;

const HOSTILE: &str = "Hostile";
const LARGE: &str = "TooLarge";

fn copied(env: &TestEnvironment, dir: &str) -> Result<Tree, PluginError> {
    let path = env.path(dir);
    staged(env, Limits::default(), |stage| fetch::directory(&path, stage, &Silent)).map(|(tree, _)| tree)
}

#[test]
fn all_of_a_directory_is_staged_but_for_its_repository() {
    let env = TestEnvironment::new();
    env.script("plugin/hooks/guard", "g")
        .mode("plugin/hooks/guard", 0o700)
        .file("plugin/hooks/deep/er/data", "d")
        .mode("plugin/hooks/deep/er/data", 0o600)
        .file("plugin/recipes/ä b.md", "r")
        .symlink("plugin/skills/review/r.md", "../../recipes/ä b.md")
        .symlink("plugin/skills/again", "review")
        .file("plugin/README.md", "# Tools")
        .file("plugin/.claude-plugin/plugin.json", "{}")
        .symlink("plugin/CLAUDE.md", "README.md")
        .script("plugin/scripts/run.sh", "s")
        .file("plugin/.git/config", "no")
        .mode("plugin/skills", 0o2755);
    let tree = copied(&env, "plugin").unwrap();
    let tree: Vec<(&str, &str)> = tree.iter().map(|(path, is)| (path.as_str(), is.as_str())).collect();
    assert_eq!(
        tree,
        [
            (".claude-plugin/plugin.json", "644 {}"),
            ("CLAUDE.md", "link README.md"),
            ("README.md", "644 # Tools"),
            ("hooks/deep/er/data", "644 d"),
            ("hooks/guard", "755 g"),
            ("recipes/ä b.md", "644 r"),
            ("scripts/run.sh", "755 s"),
            ("skills/again", "link review"),
            ("skills/review/r.md", "link ../../recipes/ä b.md"),
        ]
    );
}

#[test]
fn an_entry_that_no_plugin_may_have_is_refused_by_name() {
    let env = TestEnvironment::new();
    let pipe = |path: &str| {
        let made = std::process::Command::new("mkfifo").arg(env.path(path)).status().unwrap();
        assert!(made.success());
    };
    let socket = |path: &str| drop(UnixListener::bind(env.path(path)).unwrap());
    let mode = |mode| {
        move |env: &TestEnvironment, path: &str| {
            env.file(path, "x").mode(path, mode);
        }
    };
    let link = |target: &'static str| {
        move |env: &TestEnvironment, path: &str| {
            env.symlink(path, target);
        }
    };
    let cases: [(Make<'_>, &str, &str); 12] = [
        (Box::new(|_, path| pipe(path)), "is a named pipe", HOSTILE),
        (Box::new(|_, path| socket(path)), "is a socket", HOSTILE),
        (Box::new(mode(0o4755)), "has the mode 4755", HOSTILE),
        (Box::new(mode(0o2755)), "has the mode 2755", HOSTILE),
        (Box::new(mode(0o1644)), "has the mode 1644", HOSTILE),
        (Box::new(link("/etc/passwd")), "is a symlink to /etc/passwd", HOSTILE),
        (Box::new(link("../../secret")), "which is not in the plugin", HOSTILE),
        (Box::new(link("nothing")), "which leads nowhere", HOSTILE),
        (Box::new(link("it")), "which cannot be followed", HOSTILE),
        (
            Box::new(|env, path| {
                env.file(&format!("{path}/.git/config"), "x");
            }),
            "has a part `.git`",
            HOSTILE,
        ),
        (
            Box::new(|env, path| {
                env.file(&format!("{path}/a\nb"), "x");
            }),
            "a\\nb: has a control character",
            HOSTILE,
        ),
        (
            Box::new(|env, path| {
                env.file(path, "");
                fs::OpenOptions::new().write(true).open(env.path(path)).unwrap().set_len(10 << 30).unwrap();
            }),
            "is too large: expected a file of at most 67108864 bytes, found 10737418240",
            LARGE,
        ),
    ];
    for (at, (make, says, kind)) in cases.into_iter().enumerate() {
        let dir = format!("plugin{at}");
        env.file(&format!("{dir}/hooks/guard"), "x").file(&format!("{dir}/secret"), "x");
        make(&env, &format!("{dir}/hooks/it"));
        let error = copied(&env, &dir).unwrap_err();
        assert!(
            error.to_string().contains(says) && error.to_string().contains("hooks/it"),
            "{says}: {error}"
        );
        assert!(format!("{:?}", error.kind).starts_with(kind), "{error:?}");
    }
}

#[test]
fn the_top_has_directories_with_something_in_them() {
    let env = TestEnvironment::new();
    env.file("file/hooks", "x").file("target/hooks/guard", "x").file("plain", "x");
    env.symlink("link/hooks", "../target/hooks").directory("empty/skills").directory("other/lib");
    for (dir, says) in [
        ("file", "hooks: is a file: expected a directory"),
        ("link", "hooks: is a symlink: expected a directory"),
        ("empty", "has no skills, no recipes and no hooks"),
        ("other", "has no skills, no recipes and no hooks"),
        ("nothing", "does not exist"),
        ("plain", "is not a directory"),
    ] {
        let error = copied(&env, dir).unwrap_err();
        assert!(error.to_string().contains(says), "{dir}: {error}");
    }
}

#[test]
fn ten_thousand_files_and_directories_without_bottom_are_refused() {
    let env = TestEnvironment::new();
    env.directory("many/hooks").file("deep/skills/x", "");
    for n in 0..10_000 {
        fs::write(env.path(format!("many/hooks/{n}")), "").unwrap();
    }
    fs::create_dir_all(env.path(format!("deep/skills/{}", "d/".repeat(100)))).unwrap();
    let error = copied(&env, "many").unwrap_err();
    assert!(error.to_string().contains("a plugin may have 4096 files and directories"), "{error}");
    let error = copied(&env, "deep").unwrap_err();
    assert!(matches!(error.kind, PluginErrorKind::Hostile(_)), "{error}");
    // What git has committed is smaller.
    env.file("many/.git/HEAD", "x").directory("modules/hooks").file("modules/hooks/guard", "x");
    fs::rename(env.path("many/hooks"), env.path("modules/node_modules")).unwrap();
    fs::rename(env.path("many/.git"), env.path("modules/.git")).unwrap();
    let error = copied(&env, "modules").unwrap_err();
    assert!(error.to_string().contains("node_modules: has too many entries"), "{error}");
    let url = format!("file://{}", env.path("modules").display());
    assert!(error.hint.as_deref().unwrap_or_default().ends_with(&url), "{error:?}");
}

#[test]
fn the_root_of_the_plugins_is_not_copied_into_itself() {
    let env = TestEnvironment::new();
    for (base, source, own) in [
        ("a/hooks", "a", &["hooks/.hookbox"][..]),
        ("b", "b", &[".hookbox"]),
        ("c", "c/.hookbox", &["plugins", "plugins.lock"]),
    ] {
        env.file(&format!("{source}/hooks/guard"), "x");
        env.file(&format!("{base}/.hookbox/plugins/a@b/hooks/x"), "x");
        env.file(&format!("{base}/.hookbox/plugins.lock"), "version = 1\n");
        let plugins = Plugins::open(Location::Local, &env.path(base), ".hookbox").unwrap();
        let mut stage = Stage::new(&plugins, &Silent).unwrap();
        fetch::directory(&env.path(source), &mut stage, &Silent).unwrap();
        let staged = stage.finish().unwrap();
        assert!(staged.path().join("hooks/guard").is_file());
        assert!(own.iter().all(|own| !staged.path().join(own).exists()), "{source}");
    }
}

/// Changes the source when the first file was written.
struct Meddler<'a, F: Fn() + Sync + Send>(&'a F, AtomicBool);

impl<F: Fn() + Sync + Send> Observer for Meddler<'_, F> {
    fn step(&self, step: &Step<'_>) {
        if matches!(step, Step::Staging { bytes: 1.., .. }) && !self.1.swap(true, Ordering::Relaxed) {
            (self.0)();
        }
    }
}

#[test]
fn a_directory_that_changes_meanwhile_is_refused_or_copied_as_it_is_then() {
    let env = TestEnvironment::new();
    let plugins = Plugins::open(Location::Local, &env.path("repo"), ".hookbox").unwrap();
    env.file("outside/secret", "secret");
    let check = |name: &str, meddle: &(dyn Fn() + Sync + Send)| {
        env.file(&format!("{name}/hooks/a"), "x").file(&format!("{name}/hooks/b/c"), "x");
        let meddler = Meddler(&meddle, AtomicBool::new(false));
        let mut stage = Stage::new(&plugins, &meddler).unwrap();
        fetch::directory(&env.path(name), &mut stage, &Silent).unwrap_err().to_string()
    };
    let gone = check("gone", &|| fs::remove_dir_all(env.path("gone/hooks/b")).unwrap());
    assert!(gone.contains("hooks/b: changed while it was copied"), "{gone}");
    // The new symlink leads out, and is judged by its present target.
    let swapped = check("swapped", &|| {
        fs::remove_dir_all(env.path("swapped/hooks/b")).unwrap();
        env.symlink("swapped/hooks/b", "../../outside");
    });
    assert!(swapped.contains("hooks/b: is a symlink to ../../outside"), "{swapped}");
    let written = check("written", &|| {
        env.file("written/hooks/a", "more than before");
    });
    assert!(written.contains("hooks/a: changed while it was copied"), "{written}");
}
