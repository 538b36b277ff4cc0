//! Programs that start the program in their words.

use super::{Arg, Run};

/// A program that runs the words after its own.
struct Wrapper {
    name: &'static str,
    /// The letters of its options that have a value.
    letters: &'static str,
    /// Its long options that have a value in the next word.
    long: &'static str,
    /// The number of its own words that are not options.
    own: usize,
}

const fn wrapper(name: &'static str, letters: &'static str, long: &'static str, own: usize) -> Wrapper {
    Wrapper { name, letters, long, own }
}

const WRAPPERS: [Wrapper; 71] = [
    wrapper(
        "sudo",
        "CDghpRrTtUu",
        "--user --group --host --prompt --chdir --chroot --role --type --close-from",
        0,
    ),
    wrapper("doas", "uC", "", 0),
    wrapper("pkexec", "", "--user", 0),
    wrapper("run0", "uD", "--user --chdir", 0),
    wrapper("timeout", "ks", "--kill-after --signal", 1),
    wrapper("gtimeout", "ks", "--kill-after --signal", 1),
    wrapper("nice", "n", "--adjustment", 0),
    wrapper("ionice", "cnpPu", "--class --classdata", 0),
    wrapper("nohup", "", "", 0),
    wrapper("time", "fo", "--format --output", 0),
    wrapper("gtime", "fo", "--format --output", 0),
    wrapper("command", "", "", 0),
    wrapper("exec", "a", "", 0),
    wrapper("builtin", "", "", 0),
    wrapper("noglob", "", "", 0),
    wrapper("nocorrect", "", "", 0),
    wrapper("stdbuf", "ioe", "--input --output --error", 0),
    wrapper("setsid", "", "", 0),
    wrapper("chrt", "TPD", "", 1),
    wrapper("taskset", "", "", 1),
    wrapper("strace", "aeEIoOpPsSuUbX", "", 0),
    wrapper("ltrace", "aeFlnopsuADxw", "", 0),
    wrapper("caffeinate", "tw", "", 0),
    wrapper("unbuffer", "", "", 0),
    wrapper("chroot", "", "--userspec --groups", 1),
    wrapper("busybox", "", "", 0),
    wrapper("toybox", "", "", 0),
    wrapper("gosu", "", "", 1),
    wrapper("su-exec", "", "", 1),
    wrapper("firejail", "", "", 0),
    wrapper("unshare", "SGRw", "--setuid --setgid --root --wd", 0),
    wrapper("nsenter", "tSGrw", "--target --setuid --setgid", 0),
    wrapper("systemd-run", "uptpEGMH", "--unit --property --slice --description --uid --gid --setenv", 0),
    wrapper("systemd-inhibit", "", "--what --who --why --mode", 0),
    wrapper("flock", "wE", "--timeout --conflict-exit-code", 1),
    wrapper("xvfb-run", "efnps", "--server-num --server-args --error-file", 0),
    wrapper("npx", "pc", "--package --call", 0),
    wrapper("bunx", "", "", 0),
    wrapper("uvx", "p", "--python --from --with", 0),
    wrapper("coproc", "", "", 0),
    wrapper("entr", "", "", 0),
    wrapper("dotenv", "ef", "", 0),
    wrapper("faketime", "f", "", 1),
    wrapper("proxychains", "f", "", 0),
    wrapper("proxychains4", "f", "", 0),
    wrapper("cgexec", "g", "", 0),
    wrapper(
        "setpriv",
        "",
        "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig",
        0,
    ),
    wrapper("prlimit", "p", "--pid", 0),
    wrapper("numactl", "CNimPp", "--interleave --membind --cpunodebind --physcpubind --preferred", 0),
    wrapper("fakeroot", "lsib", "--lib --faked", 0),
    wrapper("winpty", "", "", 0),
    wrapper("dbus-run-session", "", "--config-file --dbus-daemon", 0),
    wrapper("valgrind", "", "", 0),
    wrapper("arch", "", "", 0),
    wrapper("setarch", "", "", 0),
    wrapper("x86_64", "", "", 0),
    wrapper("i386", "", "", 0),
    wrapper("i686", "", "", 0),
    wrapper("aarch64", "", "", 0),
    wrapper("linux32", "", "", 0),
    wrapper("linux64", "", "", 0),
    wrapper("uname26", "", "", 0),
    wrapper("ld.so", "", "--library-path --preload --audit --argv0", 0),
    wrapper("cross-env", "", "", 0),
    wrapper("shx", "", "", 0),
    wrapper("watchexec", "wefisdo", "--watch --exts --filter --ignore --signal --debounce", 0),
    wrapper("tini", "p", "", 0),
    wrapper("dumb-init", "r", "--rewrite", 0),
    wrapper("chronic", "", "", 0),
    wrapper("aws-vault", "d", "--duration", 2),
    wrapper("env", "CSu", "--chdir --unset --split-string", 0),
];

/// A program whose subcommand runs the words after it.
struct Runner {
    name: &'static str,
    /// The subcommands.
    subcommands: &'static str,
    /// The letters of its options that have a value.
    letters: &'static str,
    /// Its long options that have a value in the next word.
    long: &'static str,
}

const fn runner(
    name: &'static str,
    subcommands: &'static str,
    letters: &'static str,
    long: &'static str,
) -> Runner {
    Runner { name, subcommands, letters, long }
}

const RUNNERS: [Runner; 21] = [
    runner("poetry", "run", "CP", "--directory --project"),
    runner(
        "uv",
        "run",
        "p",
        "--with --python --extra --group --package --env-file --with-requirements --directory --project --index-url",
    ),
    runner("pipenv", "run", "", "--python"),
    runner("pdm", "run", "p", "--project --venv"),
    runner("hatch", "run", "ep", "--env --project"),
    runner("rye", "run", "p", "--pyproject"),
    runner("bundle", "exec", "", "--gemfile"),
    runner("pnpm", "exec dlx", "FC", "--filter --dir --package"),
    runner("yarn", "exec dlx", "p", "--cwd --package"),
    runner("npm", "exec x", "wp", "--workspace --prefix --package"),
    runner("mise", "exec x", "C", "--cd"),
    runner("asdf", "exec", "", ""),
    runner("conda", "run", "np", "--name --prefix --cwd"),
    runner("mamba", "run", "np", "--name --prefix --cwd"),
    runner("micromamba", "run", "np", "--name --prefix --cwd"),
    runner("pixi", "run", "e", "--environment --manifest-path"),
    runner("devbox", "run", "ec", "--env --config"),
    runner("perf", "stat record", "eopCtr", "--event --output --pid"),
    runner("doppler", "run", "pc", "--project --config --token"),
    runner("op", "run", "", "--env-file --account"),
    runner("podman", "unshare", "", ""),
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
    if let Some(runner) = RUNNERS.iter().find(|it| it.name == name) {
        let [sub, rest @ ..] = Options::of(args, runner.letters, runner.long).rest else { return None };
        if !is_in(runner.subcommands, &sub.text) {
            return None;
        }
        // `npm exec -c 'SCRIPT'`, and `pnpm -c exec 'SCRIPT'`.
        if matches!(name, "npm" | "pnpm") {
            found.script = script_of(args);
            if found.script.is_some() {
                return Some(found);
            }
        }
        let rest = Options::of(rest, runner.letters, runner.long).rest;
        let tools = rest.iter().take_while(|it| name == "mise" && (it.text.contains('@') || it.text == "--"));
        found.words = rest.get(tools.count()..)?.to_vec();
        return (!found.words.is_empty()).then_some(found);
    }
    // The loader starts the program in its words.
    let is_loader = name.starts_with("ld-linux") || name.starts_with("ld-musl");
    let wrapper = WRAPPERS.iter().find(|it| it.name == if is_loader { "ld.so" } else { name })?;
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
    let options = Options::of(own, wrapper.letters, wrapper.long);
    if name == "nice" && options.read.is_empty() && args.is_empty() {
        return None;
    }
    found.directory = match name {
        "sudo" => options.value('D', "--chdir"),
        "env" => options.value('C', "--chdir"),
        _ => None,
    };
    if matches!(name, "strace" | "ltrace" | "time" | "gtime") {
        found.output = options.value('o', "--output").filter(|it| !it.starts_with('|') && !it.is_empty());
    }
    if matches!(name, "sudo" | "doas") && options.read.iter().any(|(it, _)| *it == "-l" || *it == "-v") {
        return None;
    }
    let mut rest = if splits.is_some() { behind } else { options.rest.get(wrapper.own..)? };
    // The name of a machine, such as `$(uname -m)`.
    if let ("setarch", [first, more @ ..]) = (name, rest)
        && !first.is_plain()
    {
        rest = more;
    }
    if name == "env" {
        found.script = options.value('S', "--split-string").map(|it| spaced(&it));
    }
    if name == "npx" {
        found.script = script_of(args);
        if found.script.is_some() {
            return Some(found);
        }
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
