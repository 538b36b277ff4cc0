//! Programs that start the program in their words.

use super::{Arg, Run};

/// Programs that run the words after their own: their names, the letters of their options that have a value, their long
/// options that have a value in the next word, and the number of their own words that are not options.
const WRAPPERS: [(&str, &str, &str, usize); 40] = [
    ("sudo", "CDghpRrTtUu", "--user --group --host --prompt --chdir --chroot --role --type --close-from", 0),
    ("doas", "uC", "", 0),
    ("pkexec", "", "--user", 0),
    ("run0", "uD", "--user --chdir", 0),
    ("timeout", "ks", "--kill-after --signal", 1),
    ("nice", "n", "--adjustment", 0),
    ("ionice", "cnpPu", "--class --classdata", 0),
    (
        "nohup command builtin noglob nocorrect setsid unbuffer busybox toybox firejail bunx coproc entr \
        winpty valgrind arch setarch x86_64 i386 i686 aarch64 linux32 linux64 uname26 cross-env shx \
        chronic",
        "",
        "",
        0,
    ),
    ("time", "fo", "--format --output", 0),
    ("exec", "a", "", 0),
    ("stdbuf", "ioe", "--input --output --error", 0),
    ("chrt", "TPD", "", 1),
    ("taskset gosu su-exec", "", "", 1),
    ("strace", "aeEIoOpPsSuUbX", "", 0),
    ("ltrace", "aeFlnopsuADxw", "", 0),
    ("caffeinate", "tw", "", 0),
    ("chroot", "", "--userspec --groups", 1),
    ("unshare", "SGRw", "--setuid --setgid --root --wd", 0),
    ("nsenter", "tSGrw", "--target --setuid --setgid", 0),
    ("systemd-run", "uptpEGMH", "--unit --property --slice --description --uid --gid --setenv", 0),
    ("systemd-inhibit", "", "--what --who --why --mode", 0),
    ("flock", "wE", "--timeout --conflict-exit-code", 1),
    ("xvfb-run", "efnps", "--server-num --server-args --error-file", 0),
    ("npx", "pc", "--package --call", 0),
    ("uvx", "p", "--python --from --with", 0),
    ("dotenv", "ef", "", 0),
    ("faketime", "f", "", 1),
    ("proxychains proxychains4", "f", "", 0),
    ("cgexec", "g", "", 0),
    (
        "setpriv",
        "",
        "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig",
        0,
    ),
    ("prlimit", "p", "--pid", 0),
    ("numactl", "CNimPp", "--interleave --membind --cpunodebind --physcpubind --preferred", 0),
    ("fakeroot", "lsib", "--lib --faked", 0),
    ("dbus-run-session", "", "--config-file --dbus-daemon", 0),
    ("ld.so", "", "--library-path --preload --audit --argv0", 0),
    ("watchexec", "wefisdo", "--watch --exts --filter --ignore --signal --debounce", 0),
    ("tini", "p", "", 0),
    ("dumb-init", "r", "--rewrite", 0),
    ("aws-vault", "d", "--duration", 2),
    ("env", "CSu", "--chdir --unset --split-string", 0),
];

/// Programs whose subcommands run the words after them: their names, the subcommands, the letters of their options that
/// have a value, and their long options that have a value in the next word.
const RUNNERS: [(&str, &str, &str, &str); 19] = [
    ("poetry", "run", "CP", "--directory --project"),
    (
        "uv",
        "run",
        "p",
        "--with --python --extra --group --package --env-file --with-requirements --directory --project --index-url",
    ),
    ("pipenv", "run", "", "--python"),
    ("pdm", "run", "p", "--project --venv"),
    ("hatch", "run", "ep", "--env --project"),
    ("rye", "run", "p", "--pyproject"),
    ("bundle", "exec", "", "--gemfile"),
    ("pnpm", "exec dlx", "FC", "--filter --dir --package"),
    ("yarn", "exec dlx", "p", "--cwd --package"),
    ("npm", "exec x", "wp", "--workspace --prefix --package"),
    ("mise", "exec x", "C", "--cd"),
    ("asdf", "exec", "", ""),
    ("conda mamba micromamba", "run", "np", "--name --prefix --cwd"),
    ("pixi", "run", "e", "--environment --manifest-path"),
    ("devbox", "run", "ec", "--env --config"),
    ("perf", "stat record", "eopCtr", "--event --output --pid"),
    ("doppler", "run", "pc", "--project --config --token"),
    ("op", "run", "", "--env-file --account"),
    ("podman", "unshare", "", ""),
];

/// The options of a program, read up to the first word that is not one of them.
pub(crate) struct Options<'a> {
    /// The options and their values.
    pub(crate) read: Vec<(&'a str, Option<&'a Arg>)>,
    /// The words behind them.
    pub(crate) rest: &'a [Arg],
}

impl<'a> Options<'a> {
    /// Reads the options at the beginning of these words.
    pub(crate) fn of(words: &'a [Arg], letters: &str, long: &str) -> Self {
        let (mut read, mut rest) = (Vec::new(), words);
        while let [first, more @ ..] = rest {
            let text = first.text.as_str();
            if text == "--" {
                rest = more;
                break;
            }
            if !text.starts_with('-') || text == "-" {
                break;
            }
            let has_value = if text.starts_with("--") {
                is_in(long, text)
            } else {
                let at = text.find(|it| letters.contains(it));
                at.is_some_and(|at| at + 1 == text.len())
            };
            read.push((text, more.first().filter(|_| has_value)));
            rest = more.get(usize::from(has_value)..).unwrap_or_default();
        }
        Self { read, rest }
    }

    /// Returns the value of an option: in the next word, after `=`, or in the same word.
    pub(crate) fn value(&self, letter: char, long: &str) -> Option<String> {
        self.read.iter().find_map(|(option, value)| {
            let is_long = option.starts_with("--");
            let same = match option.split_once('=') {
                Some((name, value)) if is_long && name == long => Some(value),
                _ if is_long => (*option == long).then_some(""),
                _ => option.split_once(letter).map(|(_, value)| value),
            }?;
            Some(value.map_or(same, |it| it.text.as_str()).to_owned())
        })
    }
}

/// Returns true if a list of words, with spaces between them, has this one.
pub fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|it| it == word)
}

/// The command that a wrapper runs.
#[derive(Default)]
pub(crate) struct Wrapped {
    /// The words.
    pub(crate) words: Vec<Arg>,
    /// A directory that it changes to.
    pub(crate) directory: Option<String>,
    /// The text that it runs as a script instead.
    pub(crate) script: Option<String>,
    /// The variables that it sets.
    pub(crate) assignments: Vec<(String, Arg)>,
    /// The file that it writes.
    pub(crate) output: Option<String>,
}

/// Returns what the program of a run starts, if it is one that only does that.
pub(crate) fn unwrapped(run: &Run) -> Option<Wrapped> {
    let name = run.program()?;
    let args = run.args();
    let mut found = Wrapped::default();
    if let Some((_, subcommands, letters, long)) = RUNNERS.iter().find(|(names, ..)| is_in(names, name)) {
        let [sub, rest @ ..] = Options::of(args, letters, long).rest else { return None };
        if !is_in(subcommands, &sub.text) {
            return None;
        }
        // `npm exec -c 'SCRIPT'`, and `pnpm -c exec 'SCRIPT'`.
        if matches!(name, "npm" | "pnpm")
            && let Some(script) = script_of(args)
        {
            return Some(Wrapped { script: Some(script), ..found });
        }
        let rest = Options::of(rest, letters, long).rest;
        let tools = rest.iter().take_while(|it| name == "mise" && (it.text.contains('@') || it.text == "--"));
        found.words = rest.get(tools.count()..)?.to_vec();
        return (!found.words.is_empty()).then_some(found);
    }
    // The loader starts the program in its words.
    let is_loader = name.starts_with("ld-linux") || name.starts_with("ld-musl");
    let known = if is_loader { "ld.so" } else { name };
    let (_, letters, long, own_words) = WRAPPERS.iter().find(|(names, ..)| is_in(names, known))?;
    if name == "command" && args.first().is_some_and(|it| matches!(it.text.as_str(), "-v" | "-V")) {
        return None;
    }
    // The options behind `env -S` are those of its program.
    let is_split = |it: &Arg| {
        it.text.starts_with("--split-string")
            || it.text.starts_with('-') && !it.text.starts_with("--") && it.text.contains('S')
    };
    let splits =
        args.iter().take_while(|it| it.text.starts_with('-')).position(is_split).filter(|_| name == "env");
    let has_next =
        |at: usize| args.get(at).is_some_and(|it| it.text == "--split-string" || it.text.ends_with('S'));
    let end = splits.map_or(args.len(), |at| (at + 1 + usize::from(has_next(at))).min(args.len()));
    let (own, behind) = args.split_at_checked(end)?;
    let options = Options::of(own, letters, long);
    if name == "nice" && options.read.is_empty() && args.is_empty() {
        return None;
    }
    found.directory = match name {
        "sudo" => options.value('D', "--chdir"),
        "env" => options.value('C', "--chdir"),
        _ => None,
    };
    if matches!(name, "strace" | "ltrace" | "time") {
        found.output = options.value('o', "--output").filter(|it| !it.starts_with('|') && !it.is_empty());
    }
    if matches!(name, "sudo" | "doas") && options.read.iter().any(|(it, _)| *it == "-l" || *it == "-v") {
        return None;
    }
    let mut rest = if splits.is_some() { behind } else { options.rest.get(*own_words..)? };
    // The name of a machine, such as `$(uname -m)`.
    if let ("setarch", [first, more @ ..]) = (name, rest)
        && !first.is_plain()
    {
        rest = more;
    }
    if name == "env" {
        found.script = options.value('S', "--split-string").map(|it| spaced(&it));
    }
    if name == "npx"
        && let Some(script) = script_of(args)
    {
        return Some(Wrapped { script: Some(script), ..found });
    }
    if name == "flock" {
        let text = rest.first().filter(|it| it.text == "-c" || it.text == "--command");
        found.script = text.and(rest.get(1)).map(|it| it.text.clone());
    }
    while let ("sudo" | "doas" | "env" | "dotenv" | "cross-env", [first, more @ ..]) = (name, rest) {
        // `env -` forgets the environment.
        if first.text == "-" {
            rest = more;
            continue;
        }
        let Some((variable, value)) = crate::assignment(&first.text) else { break };
        found.assignments.push((variable.to_owned(), Arg { text: value.to_owned(), sort: first.sort }));
        rest = more;
    }
    if let Some(script) = &mut found.script {
        for word in rest {
            script.push(' ');
            script.push_str(&quoted(&word.text));
        }
    }
    if let [first, more @ ..] = rest
        && first.text == "--"
    {
        rest = more;
    }
    found.words = rest.to_vec();
    (found.script.is_some() || !found.words.is_empty()).then_some(found)
}

/// Returns the script of the option `-c` of npm and its kin.
fn script_of(args: &[Arg]) -> Option<String> {
    let end = args.iter().position(|it| it.text == "--").unwrap_or(args.len());
    let args = args.get(..end)?;
    let at = args.iter().position(|it| {
        matches!(it.text.as_str(), "-c" | "--call" | "--shell-mode") || it.text.starts_with("--call=")
    })?;
    let option = args.get(at)?;
    match option.text.strip_prefix("--call=") {
        Some(script) => Some(script.to_owned()),
        None => {
            let is_sub = |it: &&Arg| !it.text.starts_with('-') && it.text != "exec";
            args.get(at + 1..)?.iter().find(is_sub).map(|it| it.text.clone())
        }
    }
}

/// Returns a text in the quotes that keep it one word.
pub fn quoted(text: &str) -> String {
    let is_safe = |it: u8| it.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&it);
    if !text.is_empty() && text.bytes().all(is_safe) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Returns a text of `env -S` with a space for each `\_` outside single quotes, as `env` reads it.
fn spaced(text: &str) -> String {
    let (mut found, mut letters) = (String::with_capacity(text.len()), text.chars());
    let (mut is_single, mut is_double) = (false, false);
    while let Some(letter) = letters.next() {
        match letter {
            '\'' if !is_double => is_single = !is_single,
            '"' if !is_single => is_double = !is_double,
            '\\' if !is_single => {
                match letters.next() {
                    // Between double quotes the space does not end the word, for a shell as well.
                    Some('_') => found.push(' '),
                    next => found.extend(['\\'].into_iter().chain(next)),
                }
                continue;
            }
            _ => {}
        }
        found.push(letter);
    }
    found
}
