use super::*;

#[test]
fn a_source_is_what_its_letters_say() {
    let hosts = Hosts::new("/work/here");
    let hex = "a".repeat(64);
    let pinned = format!("oci://localhost:5000/org/name@sha256:{hex}");
    let both = format!("oci://r.example/org/name:1@sha256:{hex}");
    for (text, prints, name) in [
        ("org/repo", "https://github.com/org/repo", "org/repo"),
        ("org/repo@v1.2", "https://github.com/org/repo@v1.2", "org/repo"),
        ("org/repo@feat/x", "https://github.com/org/repo@feat/x", "org/repo"),
        ("https://git.example/a/b/c.git", "https://git.example/a/b/c.git", "b/c"),
        ("https://git.example/b/c@v1", "https://git.example/b/c@v1", "b/c"),
        ("https://git.example/b/c/", "https://git.example/b/c/", "b/c"),
        ("https://git.example/c.git", "https://git.example/c.git", "git.example/c"),
        ("http://u:p@h:8080/c", "http://u:p@h:8080/c", "h/c"),
        ("ssh://git@h:22/b/c.git", "ssh://git@h:22/b/c.git", "b/c"),
        ("git@github.com:b/c.git", "git@github.com:b/c.git", "b/c"),
        ("h:c.git", "h:c.git", "h/c"),
        ("file:///srv/b/c.git", "file:///srv/b/c.git", "b/c"),
        ("./plugin", "/work/here/plugin", "here/plugin"),
        (".", "/work/here", "work/here"),
        ("../x@y", "/work/x@y", "x/y"),
        ("/a b/c", "/a b/c", "local/c"),
        ("/c", "/c", "local/c"),
        ("oci://ghcr.io/org/name:1.0", "oci://ghcr.io/org/name:1.0", "org/name"),
        ("oci://localhost:5000/name", "oci://localhost:5000/name", "localhost/name"),
        ("oci://[::1]:5000/a/b/c:x", "oci://[::1]:5000/a/b/c:x", "b/c"),
        (&pinned, &pinned, "org/name"),
        (&both, &both, "org/name"),
    ] {
        let source = Source::parse(text, &hosts).unwrap();
        assert_eq!(source.to_string(), prints, "{text}");
        assert_eq!(source.name().unwrap().to_string(), name, "{text}");
        // The text of the lock file is the same source.
        let base = Hosts::new("/work");
        let locked = Source::parse(&source.text(&base.cwd), &base).unwrap();
        assert_eq!(locked.at(source.reference()).unwrap().to_string(), prints.replace("u:p@", ""), "{text}");
    }
    let base = Path::new("/work");
    assert_eq!(Source::parse("./plugin", &hosts).unwrap().text(base), "./here/plugin");
    assert_eq!(Source::parse("/else", &hosts).unwrap().text(base), "/else");
}

#[test]
fn text_that_git_or_a_shell_could_misread_is_not_a_source() {
    let hosts = Hosts::new("/");
    let long = format!("org/{}", "x".repeat(3000));
    for text in [
        "",
        "repo",
        "a/b/c",
        "../../x/../..\n",
        "org/",
        "/repo\0",
        "org//repo",
        "org/..",
        "org/repo@",
        "org/repo@-x",
        "org/repo@a..b",
        "org/repo@a b",
        "org/repo@a:b",
        "org/repo@x.lock",
        "org/repo@@{u}",
        "--upload-pack=touch x",
        "ext::sh -c touch% x",
        "fd::17",
        "ftp://h/a/b",
        "javascript://x/y",
        "ssh://-oProxyCommand=x/a/b",
        "https://",
        "https://u@h",
        "oci://",
        "oci://host",
        "oci://host/",
        "oci://host/Org/name",
        "oci://host/org/../name",
        "oci://host/org//name",
        "oci://host/org/name:",
        "oci://host/org/name:-x",
        "oci://host/org/name@sha256:abc",
        "oci://host/org/name@sha512:abc",
        "oci://ho st/org/name",
        "oci://host:0/org/name",
        "oci://host:x/org/name",
        "oci://[zz]/org/name",
        &long,
    ] {
        assert!(Source::parse(text, &hosts).is_err(), "{text:?}");
    }
}

#[test]
fn a_directory_that_the_lock_file_could_not_name_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let hosts = Hosts::new(Path::new(std::ffi::OsStr::from_bytes(b"/work/\xff")));
    for text in [".", "./plugin", "./a/.."] {
        let error = Source::parse(text, &hosts).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("not UTF-8"), "{error}");
    }
    assert!(Source::parse("..", &hosts).is_ok());
    assert!(Source::parse("/work/plugin", &hosts).is_ok());
}

#[test]
fn a_password_is_neither_shown_nor_locked_and_the_rest_is() {
    let long = format!("https://h/a/b{}", "\u{feff}".repeat(600));
    for (text, shown, has_password) in [
        ("https://u:secret@h/a/b@v1", "https://…@h/a/b@v1", true),
        ("ssh://git@h/a/b", "ssh://git@h/a/b", false),
        ("/x://u:secret@h/a", "/x:/u:secret@h/a", false),
        ("oci://h/a/b:1", "oci://h/a/b:1", false),
        (&long, "https://h/a/b\\u{feff}", false),
    ] {
        let source = Source::parse(text, &Hosts::new("/")).unwrap();
        assert!(source.shown().starts_with(shown), "{text}: {}", source.shown());
        assert_eq!(source.has_password(), has_password, "{text}");
        assert_eq!(source.text(Path::new("/else")).contains("secret"), text.starts_with('/'));
    }
}

#[test]
fn no_error_shows_a_password() {
    let read = |text: &str| Source::parse(text, &Hosts::new("/"));
    for error in [
        read("ftp://u:secret@h/a").unwrap_err(),
        read("https://u:secret@h/a@b..c").unwrap_err(),
        read("https://u:secret@h/a@v1").unwrap().at(Some("v2")).unwrap_err(),
        read("https://u:secret@h").unwrap_err(),
        read("https://u:secret@h/é").unwrap().name().unwrap_err(),
    ] {
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn a_reference_is_given_once() {
    let hosts = Hosts::new("/");
    let parse = |text: &str| Source::parse(text, &hosts).unwrap();
    assert_eq!(parse("a/b").at(Some("v1")).unwrap(), parse("a/b@v1"));
    assert_eq!(parse("a/b@v1").at(Some("v1")).unwrap(), parse("a/b@v1"));
    assert_eq!(parse("a/b@v1").at(None).unwrap(), parse("a/b@v1"));
    assert!(parse("a/b@v1").at(Some("v2")).is_err());
    assert!(parse("a/b").at(Some("--x")).is_err());
    assert!(parse("./x").at(Some("v1")).is_err());
    assert!(parse("oci://h/a/b:1").at(Some("v1")).is_err());
}
