use super::*;
use crate::hook::Digest;

#[test]
fn a_name_has_two_parts_of_plain_letters() {
    for (name, dir) in [
        ("org/repo", "org@repo"),
        ("Org-1/re.po_2", "Org-1@re.po_2"),
        (".tmp1/x", ".tmp1@x"),
        ("a/b.git", "a@b.git"),
        ("c++/x~1", "c++@x~1"),
    ] {
        let parsed: PluginName = name.parse().unwrap();
        assert_eq!((parsed.to_string().as_str(), parsed.dir().as_str()), (name, dir));
        assert_eq!(PluginName::from_dir(dir).unwrap(), parsed);
    }
    let long = format!("org/{}", "x".repeat(101));
    for name in [
        "",
        "org",
        "/",
        "org/",
        "/repo",
        "org//repo",
        "org/repo/",
        "a/b/c",
        "../x",
        "x/..",
        "./x",
        "x/.",
        "-x/y",
        ".hookbox-x/y",
        ".Hookbox-stage-1/y",
        "x/-y",
        "~x/y",
        "a@b/c",
        "a/b@c",
        "a/b c",
        "a/b\n",
        "a/b\0",
        "a/b\u{1b}[2J",
        "a\\b/c",
        "é/x",
        "a/ｂ",
        &long,
    ] {
        assert!(name.parse::<PluginName>().is_err(), "{name:?}");
    }
    for dir in ["", "x", "a@b@c", "a/b@c", "@x", "x@", "..@x", "x@.."] {
        assert!(PluginName::from_dir(dir).is_err(), "{dir:?}");
    }
}

fn plugin(rest: &str) -> String {
    let tree = Digest::of(b"tree");
    format!(
        "[[plugin]]\nname = \"a/b\"\nsource = \"https://github.com/a/b\"\ntree = \"{tree}\"\n\
         installed = \"2026-01-01T00:00:00Z\"\n{rest}\n"
    )
}

#[test]
fn a_file_is_read_whole_or_not_at_all() {
    let (one, digest) = (plugin(""), Digest::of(b"x"));
    let hook = |name: &str| {
        format!("[[plugin.hook]]\nname = \"{name}\"\nkind = \"native\"\ndigest = \"{digest}\"\n")
    };
    let lock = Lock::parse(&format!("version = 1\n{one}{}{}", hook("z"), hook("a"))).unwrap();
    let only = lock.iter().next().unwrap();
    assert_eq!(only.hooks.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["a", "z"]);
    assert!(lock.of_directory("A@b").is_some() && lock.of_directory("a@c").is_none());
    assert_eq!(Lock::parse("version = 1").unwrap(), Lock::default());

    for (file, expected) in [
        (String::new(), "missing field"),
        ("version = 2\nelse = 1".to_owned(), "has version 2"),
        ("version = \"1\"".to_owned(), "is not a plugins.lock"),
        (format!("version = 1\n{one}{one}"), "line 8: a/b: appears twice"),
        (format!("version = 1\n{one}{}", one.replace("a/b\"", "A/b\"")), "appears twice"),
        (format!("version = 1\n{}", one.replace("\"a/b\"", "\"../b\"")), "line 3: \"..\" cannot be"),
        (format!("version = 1\n{}", one.replace("\"a/b\"", "\"a/b/c\"")), "expected ORG/REPO"),
        (format!("version = 1\n{}", plugin("commit = \"--upload-pack=x\"")), "commit: expected 40"),
        (format!("version = 1\n{}", plugin("reference = \"\"")), "reference: expected one line"),
        (format!("version = 1\n{}", plugin("manifest = \"sha256:xyz\"")), "line 7"),
        (
            format!("version = 1\n{}", plugin(&format!("key = \"{digest}\""))),
            "key: expected a manifest beside it",
        ),
        (format!("version = 1\n{}", plugin("extra = 1")), "unknown field"),
        (
            format!("version = 1\n{}", plugin("files = [\"a\", \"../b\"]")),
            "files: expected paths in the plugin",
        ),
        (format!("version = 1\n{}", plugin("files = [\"/a\"]")), "files: expected paths in the plugin"),
        (format!("version = 1\n{}", one.replace("2026-01-01T", "yesterday")), "installed: expected a time"),
        (format!("version = 1\n{one}{}{}", hook("a"), hook("a")), "a name appears twice"),
    ] {
        let error = Lock::parse(&file).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn the_command_that_moves_it_aside_can_be_pasted() {
    for (path, command) in [
        (
            "/home/ada/.hookbox/plugins.lock",
            "mv /home/ada/.hookbox/plugins.lock /home/ada/.hookbox/plugins.lock.old",
        ),
        ("/a b/plugins.lock", "mv '/a b/plugins.lock' '/a b/plugins.lock.old'"),
        ("/$(x)'/plugins.lock", r"mv '/$(x)'\''/plugins.lock' '/$(x)'\''/plugins.lock.old'"),
        ("/\u{1b}/plugins.lock", r"mv '/\u{1b}/plugins.lock' '/\u{1b}/plugins.lock.old'"),
    ] {
        assert_eq!(*hint(Path::new(path)), *format!("repair it, or move it aside: {command}"));
    }
}

#[test]
fn a_directory_was_installed_with_a_file_below_it() {
    let files: InstalledFiles =
        ["hooks", "hooks/a", "hooks/lib/b", "hooks.log", "empty"].map(Into::into).into_iter().collect();
    let kept: Vec<&Path> = files.iter().collect();
    assert_eq!(kept, ["empty", "hooks/a", "hooks/lib/b", "hooks.log"].map(Path::new));
    for path in ["", "hooks", "hooks/a", "hooks/lib", "empty", "hooks.log"] {
        assert!(files.contains(Path::new(path)), "{path}");
    }
    for path in ["hooks/li", "hooks/c", "log", "empty/x"] {
        assert!(!files.contains(Path::new(path)), "{path}");
    }
    assert!(InstalledFiles::default().contains(Path::new("any")));
}
