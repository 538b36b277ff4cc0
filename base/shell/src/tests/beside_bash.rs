//! Generated lines, run by bash: a command that really ran was seen, and one that did not run was not.
//!
//! Each line has a mark in forms of the shell around it. The mark is a program in a directory of its own, and every other
//! program of a line is harmless. The forms are those of bash 5 and of the programs of GNU.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

use super::generated::Numbers;
use super::*;

/// The lines of a usual run. `cargo xtask corpus --generate` sets the variable.
const LINES: usize = 600;
const VARIABLE: &str = "HOOKBOX_SHELL_LINES";

/// Forms that run a command in their place.
const RUNS: [&str; 58] = [
    "{}; :",
    ": && {}",
    "false || {}",
    "( {} )",
    "{ {}; }",
    "! {}",
    "if :; then {}; fi",
    "if {}; then :; fi",
    "if false; then :; else {}; fi",
    "for i in 1; do {}; done",
    "for ((i=0; i<1; i++)); do {}; done",
    "while {}; do break; done",
    "until {}; do break; done",
    "case x in x) {};; esac",
    "case x in y) :;; *) {} ;; esac",
    "f() { {}; }; f",
    "function g { {}; }; g",
    "function /bin/ls { {}; }; /bin/ls",
    "{} & wait",
    "{} | cat",
    ": | { {}; }",
    "echo $({})",
    "echo \"$({})\"",
    "echo \"a$(: ; {})b\"",
    "x=$({})",
    "x=1 y=$({}) env > /dev/null",
    "export z=\"$({})\"",
    "echo ${y:-$({})}",
    "echo \"${y:+a}${y-$({})}\"",
    "[[ -n $({}) ]] || :",
    "[ -z \"$({})\" ] && :",
    "(( $({}; echo 1) + 1 ))",
    "echo $(( $({}; echo 1) ))",
    "a[$({}; echo 1)]=1",
    "let \"b=$({}; echo 2)\"",
    "cat < <({})",
    "cat <({}) > /dev/null",
    "cat <<E\n$({})\nE\n:",
    "cat <<E\nit's $({}) \"\nE\n:",
    "cat <<< \"$({})\"",
    "echo > \"$({}; echo file)\"",
    "trap : EXIT; {}",
    "time {}",
    "exec 3> file; {}",
    "{} # a comment's quote\n:",
    ": 'a; b' \"c | d\"; {}",
    "select q in a; do {}; break; done <<< 1",
    "echo a\\\n b; {}",
    ": ${c:={}}; :; {}",
    "coproc { {}; }; wait",
    "coproc X ( {} ); wait",
    "echo ${a[$({}; echo 1)]}",
    "a=(1); : ${#a[1 + $({}; echo 1)]}",
    "[ -d . ] && {}",
    "cat <<E\r\nx\r\nE\r\n{}",
    "x() { :; }; {}",
    "f() { local x=1; }; f; {}",
    "{x}> file; {}",
];

/// Forms that run a text as commands in their place, which has quotes around it.
const SCRIPTS: [&str; 42] = [
    "eval {}",
    "bash -c {}",
    "sh -ec {}",
    "$SHELL -c {}",
    "env sh -c {}",
    "timeout 9 bash -c {}",
    "nice -n 1 sh -c {}",
    "setarch $(uname -m) sh -c {}",
    "command eval {}",
    "builtin eval {}",
    "trap {} EXIT",
    "x={}; eval \"$x\"",
    "x={}; bash -c \"$x\"",
    "export x={}; sh -c 'eval \"$x\"'",
    "bash <<< {}",
    "echo {} | bash",
    "printf '%s\\n' {} | sh -s",
    "printf %s {} | tee s | bash",
    "echo {} > s; bash s",
    "echo {} > s; . ./s",
    "echo {} > s; chmod +x s; ./s",
    "source <(echo {})",
    "bash <(echo {})",
    "bash --rcfile <(echo {}) -i",
    "xargs -d '\\n' -I% bash -c % <<< {}",
    "find . -maxdepth 0 -exec sh -c {} \\;",
    "set -- {}; eval \"$1\"",
    "f() { eval \"$1\"; }; f {}",
    "g() { \"$@\"; }; g eval {}",
    "for s in {}; do eval \"$s\"; done",
    "exec 4<<< {}; bash <&4",
    "alias q=:; eval {}",
    "eval -- {}",
    "source /dev/fd/3 3<<< {}",
    "dd of=s <<< {}; bash s",
    "echo {} | gzip | gunzip | bash",
    "echo {} | tail -n 99 | sh",
    "xargs -d '\\n' -n1 bash -c <<< {}",
    ": | xargs bash -c {}",
    "echo {} > s; if false; then echo : > s; fi; bash s",
    "x={}; x=: | cat; eval \"$x\"",
    "x=:; x={} bash -c 'eval \"$x\"'",
];

/// Forms with a text that is not run.
const TEXTS: [&str; 17] = [
    "echo {}",
    ": {}",
    "x={}",
    "echo \"\" {} > file",
    "printf '%s\\n' {} | cat",
    "cat <<< {}",
    "[[ a == {} ]]",
    "case {} in a) ;; esac",
    "for i in {}; do :; done",
    "grep -q {} /dev/null",
    "export y={}",
    "f() { :; }; f {}",
    "sh -c : {}",
    "echo a | sed s/a/b/ > file; test -n {}",
    "git --version {} > /dev/null",
    "read v <<< {}",
    "declare -A m=([k]={})",
];

/// The mark as bash reads it.
const MARKS: [&str; 30] = [
    "mark",
    "mark a b",
    "'mark' a",
    "m\\ark",
    "ma\"r\"k",
    "$'\\x6dark'",
    "$\"mark\"",
    "${unset_variable}mark",
    "$unset_variable mark a",
    "m$@ark",
    "n=mark; $n",
    "n=ark; m${n} a",
    "n=xmarky; ${n:1:4}",
    "n=(mark a); \"${n[@]}\"",
    "command mark",
    "env A=1 mark",
    "A=1 mark",
    "mark > /dev/null 2>&1",
    "{mark,a}",
    "m${unset_variable:+x}ark",
    "IFS=,; n=mark,a; $n",
    "n=mark; declare -n r=n; $r",
    "time -p -- mark",
    "n='a[$(mark)]'; [[ n -eq 1 ]] || :",
    "n='$(mark)'; : \"${n@P}\"",
    "n='a[$(mark)]'; : ${!n}",
    "mark() { :; }; command mark",
    "mark() { :; }; mark | cat; env mark",
    "(mark() { :; }); mark",
    "alias mark=:; mark",
];

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Returns a line, in which the mark is in forms of this depth.
fn line(numbers: &mut Numbers, depth: usize) -> String {
    let inner = if depth == 0 { return numbers.pick(&MARKS).to_owned() } else { line(numbers, depth - 1) };
    // A here-document's text ends at a line, and backquotes would have to be escaped in it.
    match numbers.below(8) {
        0..=3 => numbers.pick(&RUNS).replace("{}", &inner),
        4..=6 => numbers.pick(&SCRIPTS).replace("{}", &quoted(&inner)),
        _ => numbers.pick(&TEXTS).replace("{}", &quoted(&inner)),
    }
}

/// A directory with the mark, in which lines run.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let dir = env::temp_dir().join(format!("hookbox-shell-{}", std::process::id()));
        fs::create_dir_all(dir.join("bin")).unwrap();
        let mark = dir.join("bin/mark");
        fs::write(&mark, "#!/bin/sh\n: > \"$MARKED\"\n").unwrap();
        fs::set_permissions(&mark, fs::Permissions::from_mode(0o755)).unwrap();
        // On many systems it is.
        std::os::unix::fs::symlink("/bin/bash", dir.join("bin/sh")).unwrap();
        Self(dir)
    }

    /// Returns true if bash runs the mark in a line.
    fn runs(&self, line: &str, number: usize) -> bool {
        let work = self.0.join(number.to_string());
        fs::create_dir(&work).unwrap();
        let marked = work.join("marked");
        let path = format!("{}:/usr/bin:/bin", self.0.join("bin").display());
        // Every process of the line has the descriptor, so its end is the end of them all, also in the background.
        let held = "exec 8>&1 >/dev/null 2>&1; exec bash -c \"$1\"";
        let mut command = Command::new("timeout");
        command.args(["-k", "1", "20", "bash", "-c", held, "bash", line]).current_dir(&work).env_clear();
        command.env("PATH", path).env("HOME", &work).env("MARKED", &marked).env("SHELL", "/bin/bash");
        command.stdin(Stdio::null()).output().unwrap();
        let has_run = marked.exists();
        fs::remove_dir_all(&work).unwrap();
        has_run
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns true if the reader sees the mark among the commands.
fn is_seen(line: &str) -> bool {
    let variables = [("SHELL", "/bin/bash")];
    let reading = runs(line, &Known { cwd: Some("/work"), variables: &variables, ..Known::default() });
    reading.runs.iter().any(|run| run.program() == Some("mark"))
}

/// Returns the lines whose mark ran unseen, and those whose mark was seen and did not run.
fn compared(lines: &[String]) -> (Vec<String>, Vec<String>) {
    let (next, place) = (AtomicUsize::new(0), Place::new());
    let workers = thread::available_parallelism().map_or(2, usize::from);
    let found = thread::scope(|scope| {
        let work = || {
            let mut found = (Vec::new(), Vec::new());
            while let Some((at, line)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, lines.get(at)?)))
            {
                match (place.runs(line, at), is_seen(line)) {
                    (true, false) => found.0.push(line.clone()),
                    (false, true) => found.1.push(line.clone()),
                    _ => {}
                }
            }
            found
        };
        let all: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        all.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    found.into_iter().fold((Vec::new(), Vec::new()), |mut all, it| {
        all.0.extend(it.0);
        all.1.extend(it.1);
        all
    })
}

#[test]
fn what_bash_runs_is_seen_and_little_else() {
    let count = env::var(VARIABLE).ok().and_then(|it| it.parse().ok()).unwrap_or(LINES);
    let mut numbers = Numbers(u64::try_from(count).unwrap());
    let lines: Vec<String> = (0..count).map(|at| line(&mut numbers, 1 + at % 3)).collect();
    let (unseen, false_alarms) = compared(&lines);
    println!(
        "{count} lines, {} that bash ran unseen, {} seen that bash did not run",
        unseen.len(),
        false_alarms.len()
    );
    assert!(
        unseen.is_empty(),
        "bash runs the mark, and the reader does not see it:\n{}",
        unseen.join("\n---\n")
    );
    // A reader may doubt: a condition, or a function that is not called.
    assert!(false_alarms.len() * 200 <= count.max(200), "{}", false_alarms.join("\n---\n"));
}
