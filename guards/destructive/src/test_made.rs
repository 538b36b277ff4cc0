//! The paths of a session.

use hookbox_judge::Unknown;
use hookbox_sdk::json;

use super::*;

const CWD: &str = "/home/me/p";

fn of(tool: &str, input: Value) -> Effect {
    let cx = Context { cwd: CWD.to_owned(), ..Context::default() };
    Effect::of(&cx, &ToolCall::new(tool, input), &Unknown)
}

fn of_line(line: &str) -> Effect {
    of("bash", json!({ "command": line }))
}

#[test]
fn a_line_makes_paths() {
    for (line, made) in [
        ("mkdir -p -m 755 a b/c", vec!["a", "b/c"]),
        ("cd sub; mkdir a", vec!["sub/a", "a"]),
        ("touch 'a b' $X", vec!["a b"]),
        ("make | tee -a a.txt", vec!["a.txt"]),
        ("echo x > a; echo y >> b 2> /dev/null < c", vec!["a", "b"]),
        ("cp -r src/x y copy", vec!["copy/x", "copy/y", "copy"]),
        ("git clone --depth 1 https://example.com/me/app.git", vec!["app"]),
        ("git clone git@example.com:app.git -b main there/app", vec!["there/app"]),
        ("curl -o a https://example.com/b", vec!["a"]),
        ("mkdir /tmp/x build node_modules", vec![]),
        ("mkdir ~/x", vec![]),
        ("ssh host mkdir x", vec![]),
        ("docker run --rm alpine mkdir x", vec![]),
        ("ls; grep mkdir x", vec![]),
        ("./make-it x", vec![]),
    ] {
        let made = made.iter().map(|it| format!("{CWD}/{it}")).collect();
        assert_eq!(of_line(line), Effect::Makes(made), "{line}");
    }
    let many = format!("mkdir {}", (0..20).map(|it| format!("d{it} ")).collect::<String>());
    assert!(matches!(of_line(&many), Effect::Makes(paths) if paths.len() == MAX_OF_CALL));
}

#[test]
fn a_line_brings_work() {
    for (line, to) in [
        ("mkdir a && mv src a/", Some(vec!["src", "a"])),
        ("git mv docs a", Some(vec!["mv", "docs", "a"])),
        ("mv *.txt a", Some(vec!["a"])),
        ("mv $X a", Some(vec!["a"])),
        ("mv src $X", None),
        ("mv -t a $X", None),
        ("mv --target-directory=a src", None),
        ("mv -ta src", None),
        ("cd $X && ln -s ~/work a", None),
    ] {
        let to = to.map(|it| it.iter().map(|it| format!("{CWD}/{it}")).collect());
        assert!(matches!(of_line(line), Effect::Brings(paths, _) if paths == to), "{line}");
    }
}

#[test]
fn a_file_tool_makes_its_files() {
    let made = of("write", json!({ "file_path": "/no/such/a.txt", "content": "mv a b" }));
    assert_eq!(made, Effect::Makes(vec!["/no/such/a.txt".to_owned()]));
    assert_eq!(of("read", json!({ "file_path": "/no/such/a.txt" })), Effect::nothing());
}

#[test]
fn a_tool_that_moves_brings_work() {
    let to = ["/tmp/w/src", "/tmp/w"].map(|path| Brought { path: path.to_owned(), is_link: false });
    for (tool, from) in [("mcp__fs__move_file", "source"), ("move_file", "path")] {
        let moved = of(tool, json!({ from: "src", "destination": "/tmp/w" }));
        assert!(matches!(&moved, Effect::Brings(_, kept) if *kept == to), "{tool} {moved:?}");
    }
    let patch = "*** Begin Patch\n*** Update File: a\n+x\n*** Update File: src\n*** Move to: /tmp/w/src\n+x\n*** End Patch";
    for (tool, input) in [
        ("move_file", json!({ "destination": "/tmp/w/", "source": "src" })),
        ("rename_file", json!({ "from": "src", "to": "/tmp/w/" })),
        ("mcp__fs__rename", json!({ "from": "src", "to": "/tmp/w/" })),
        ("apply_patch", json!({ "input": patch })),
        ("bash", json!({ "command": format!("apply_patch <<'E'\n{patch}\nE") })),
        ("mcp__x__patch", json!({ "patch": patch })),
    ] {
        let moved = of(tool, input);
        let is_there = |it: &Brought| it.is_at("/tmp/w/src");
        assert!(matches!(&moved, Effect::Brings(_, kept) if kept.iter().any(is_there)), "{tool} {moved:?}");
    }
    let line = of("bash", json!({ "command": "mv src w", "workdir": "/tmp" }));
    assert!(
        matches!(&line, Effect::Brings(Some(paths), _) if paths.contains(&"/tmp/w".to_owned())),
        "{line:?}"
    );
}

/// A disk on which the agent made a file, and nothing else is.
struct Own;

impl Surroundings for Own {
    fn path(&self, path: &str) -> Option<PathState> {
        let kind = if self.is_made(path) { PathKind::File } else { PathKind::Missing };
        Some(PathState { kind, id: None, tracked: false, changed: false, ignored: false })
    }

    fn is_made(&self, path: &str) -> bool {
        path == "/home/me/p/o.txt"
    }

    fn is_brought(&self, path: &str) -> bool {
        Brought { path: "/tmp/old".to_owned(), is_link: false }.is_at(path)
    }
}

#[test]
fn what_the_agent_or_the_line_made_is_no_work() {
    let cx = Context { cwd: CWD.to_owned(), ..Context::default() };
    for (line, kept) in [
        ("mv o.txt dist/", 0),
        ("go build -o app && mv app dist/", 0),
        ("mv /tmp/new dist/", 0),
        ("mv /tmp/old dist/", 1),
        ("ln -s /tmp/old/a dist/", 1),
        ("mv ../*.rs dist/", 1),
    ] {
        let effect = Effect::of(&cx, &ToolCall::new("bash", json!({ "command": line })), &Own);
        assert!(matches!(&effect, Effect::Brings(_, it) if it.len() == kept), "{line} {effect:?}");
    }
}

#[test]
fn code_and_archives_that_take_files_away_may_bring_work_anywhere() {
    for line in [
        "perl -e 'rename $a, $b'",
        "python3 -c \"import shutil; shutil.move(a, 'made')\"",
        "tar --remove-files -cf - src | tar xf - -C made",
    ] {
        assert!(matches!(of_line(line), Effect::Brings(None, _)), "{line}");
    }
    assert_eq!(of_line("python3 -c \"import os; os.remove('a'); 'a'.replace('b', 'c')\""), Effect::nothing());
}

/// Answers for a disk with these paths.
fn disk(paths: &[(&'static str, PathKind)]) -> impl Fn(&str) -> Option<PathKind> {
    let found = paths.to_vec();
    move |path| {
        let known = found.iter().find(|(it, _)| *it == path).map(|(_, kind)| *kind);
        let is_around = path == "/p" || found.iter().any(|(it, _)| is_below(it, path));
        let kind = known.unwrap_or(if is_around { PathKind::Directory } else { PathKind::Missing });
        (!path.starts_with("/elsewhere")).then_some(kind)
    }
}

/// The number of every file and directory, until another one takes its place.
const ID: Option<u64> = Some(7);

fn confirm(made: &mut Made, paths: &[String], kind: impl Fn(&str) -> Option<PathKind>) {
    made.confirm(paths, |it| kind(it).map(|kind| (kind, ID)));
}

fn has(made: &Made, path: &str, now: u64) -> bool {
    made.has(path, || ID, now)
}

fn paths(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn only_what_was_missing_before_a_call_and_is_there_after_it_is_made() {
    use PathKind::{Directory, File, Link};
    let call = paths(&["/p/new/a/b", "/p/old", "/p/link", "/p/failed", "/elsewhere/x"]);
    let mut made = Made::default();
    made.expect(&call, disk(&[("/p/old", File)]), 1);
    assert!(!has(&made, "/p/new", 1), "not yet");
    confirm(&mut made, &call, disk(&[("/p/new/a/b", File), ("/p/old", File), ("/p/link", Link)]));
    let is_made = |it: &&&str| has(&made, it, 2);
    let all = ["/p", "/p/new", "/p/new/a/b", "/p/old", "/p/link", "/p/failed", "/elsewhere/x"];
    // All of the directory was made, so its name is enough.
    assert_eq!(all.iter().filter(is_made).collect::<Vec<_>>(), [&"/p/new"]);
    assert!(!has(&made, "/p/new", 1 + MAX_AGE), "too old");
    assert_eq!(made.paths.len(), 1);
    // A path in a made directory needs no note of its own.
    made.expect(&paths(&["/p/new/c"]), disk(&[("/p/new", Directory)]), 3);
    assert_eq!(made.paths.len(), 1);
}

#[test]
fn what_somebody_else_made_meanwhile_is_not_made() {
    let call = paths(&["/p/x"]);
    let there = || disk(&[("/p/x", PathKind::Directory)]);
    let mut made = Made::default();
    // The first call was blocked. Then somebody made the directory.
    made.expect(&call, disk(&[]), 1);
    made.expect(&call, there(), 2);
    confirm(&mut made, &call, there());
    assert_eq!(made, Made::default());
    // It is gone, and the agent makes it again, but only this call counts.
    made.expect(&call, disk(&[]), 3);
    confirm(&mut made, &call, there());
    assert!(has(&made, "/p/x", 3));
    made.expect(&call, disk(&[]), 4);
    assert!(!has(&made, "/p/x", 4));
    confirm(&mut made, &paths(&["/p/y"]), there());
    assert!(!has(&made, "/p/x", 4), "another call says nothing about it");
}

#[test]
fn another_file_in_the_place_of_a_made_one_is_not_made() {
    let (call, there) = (paths(&["/p/x"]), || disk(&[("/p/x", PathKind::File)]));
    let mut made = Made::default();
    made.expect(&call, disk(&[]), 1);
    confirm(&mut made, &call, there());
    assert!(made.has("/p/x", || ID, 2) && !made.has("/p/x", || Some(8), 2));
    // The agent's own call may put a new file in its place, as an editor does.
    made.expect(&call, there(), 3);
    made.confirm(&call, |it| there()(it).map(|kind| (kind, Some(8))));
    assert!(made.has("/p/x", || Some(8), 4));
}

#[test]
fn what_gets_work_from_elsewhere_is_forgotten() {
    let new = || {
        let call = paths(&["/p/a/b", "/p/c"]);
        let mut made = Made::default();
        made.expect(&call, disk(&[("/p/a", PathKind::Directory)]), 1);
        confirm(&mut made, &call, disk(&[("/p/a/b", PathKind::Directory), ("/p/c", PathKind::Directory)]));
        assert!(has(&made, "/p/a/b", 1) && has(&made, "/p/c", 1));
        made
    };
    for (brought, a, c) in [
        (Some(vec!["/p/a/b/deep"]), false, true),
        (Some(vec!["/p/a"]), false, true),
        (Some(vec!["/p/src", "/p/c"]), true, false),
        (Some(vec!["/p/a/bc"]), true, true),
        (None, false, false),
    ] {
        let mut made = new();
        made.forget(brought.as_deref().map(paths).as_deref());
        assert_eq!((has(&made, "/p/a/b", 1), has(&made, "/p/c", 1)), (a, c), "{brought:?}");
    }
}

#[test]
fn the_oldest_paths_go_first() {
    let mut made = Made::default();
    for number in 0..=MAX_PATHS as u64 {
        made.expect(&[format!("/p/{number}")], disk(&[("/p", PathKind::Directory)]), number);
    }
    assert_eq!(made.paths.len(), MAX_PATHS);
    assert_eq!((made.paths[0].since, made.last()), (1, MAX_PATHS as u64));
}

#[test]
fn where_work_was_moved_or_linked_is_remembered() {
    let kept = |line: &str| match of_line(line) {
        Effect::Brings(_, kept) => kept.into_iter().map(|it| (it.path, it.is_link)).collect(),
        Effect::Makes(_) => Vec::new(),
    };
    for (line, want, is_link) in [
        ("mv src /tmp/w", &["/tmp/w/src", "/tmp/w"][..], false),
        ("mv src /tmp", &["/tmp/src"], false),
        ("mv src target/", &["/home/me/p/target/src"], false),
        ("mv -t /tmp src docs", &["/tmp/src", "/tmp/docs"], false),
        (
            "ln -s ../pkg node_modules/pkg",
            &["/home/me/p/node_modules/pkg/pkg", "/home/me/p/node_modules/pkg"],
            true,
        ),
        ("mv --target-directory=/tmp src", &["/tmp/src"], false),
        ("mv src ~/.cache/w", &["~/.cache/w/src", "~/.cache/w"], false),
        ("mv ~/w w; mv w /tmp", &["/home/me/p/w/w", "/home/me/p/w", "/tmp/w"], false),
        ("perl -e 'rename \"src\", \"/tmp/w\"'", &["/tmp/w/src", "/tmp/w"], false),
        // A program makes it again.
        ("mv target/release/app /usr/local/bin/app", &[], false),
        ("mv dist/a.js dist/b.js", &[], false),
    ] {
        let want: Vec<_> = want.iter().map(|it| ((*it).to_owned(), is_link)).collect();
        assert_eq!(kept(line), want, "{line}");
    }
    let brought = |path: &str, is_link| Brought { path: path.to_owned(), is_link };
    let mut made = Made::default();
    made.bring(&[brought("/tmp/w", false), brought("/tmp/l", true), brought("/p/node_modules/pkg", true)]);
    for (path, is_brought) in [
        ("/tmp/w", true),
        ("/tmp/w/deep", true),
        ("/tmp", true),
        ("/tmp/w2", false),
        ("/tmp/w*", true),
        ("/tmp/?", true),
        ("/tmp/a*", false),
        ("/tmp/$X", true),
        ("/tmp/b-$X", false),
        ("$X/w", false),
        ("/tmp/l", false),
        ("/tmp/l/victim", true),
        ("/tmp/l/*", true),
        ("/p/node_modules", false),
        ("/p/src", false),
    ] {
        assert_eq!(made.has_brought(path), is_brought, "{path}");
    }
    let many: Vec<Brought> = (0..300).map(|at| brought(&format!("/tmp/{at}"), false)).collect();
    made.bring(&many);
    assert_eq!(made.brought.len(), 256);
}
