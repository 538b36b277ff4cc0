//! The programs that wait for commands, and the words with which they do not.

use crate::{ShellWords, is_in, is_terminal};

/// Shells.
pub(super) const SHELLS: &str =
    "sh bash zsh dash ksh mksh ash fish csh tcsh yash rbash nu elvish xonsh pwsh powershell";

/// Programs that run their first operand, or wait for code without one: their names, the options with code or a file, and
/// the options with another value. With one of the options in the last field they wait in any case.
const LANGUAGES: [(&str, &str, &str, &str); 12] = [
    ("python python2 python3 pypy pypy3 ipython", "-c -m --version -V --help -h", "-W -X -Q", "-i"),
    (
        "node nodejs",
        "-e -p -c -v -h --eval --print --check --version --help --test --run",
        "-r -C --require --import",
        "-i",
    ),
    ("perl", "-e -E -v -V -h --version", "-I -M -m", "-d"),
    ("ruby jruby", "-e -v -h --version --help", "-I -r -C", ""),
    ("php", "-r -f -S -m -i -v -h --version --run --file --server", "-c -d", "-a"),
    ("lua luajit", "-e -v", "-l", "-i"),
    ("R r", "-e -f --file CMD --version --help", "", ""),
    ("psql", "-c -f -l -V --command --file --list --version --help", "-h -p -U -d -v -P -F -R -o", ""),
    ("mysql mariadb", "-e -V --execute --version --help", "-h -P -u -D -S", ""),
    (
        "julia octave racket guile tclsh swift ocaml scala",
        "-e -E -v --eval --version --help",
        "-L --project",
        "-i",
    ),
    ("deno bun", "--version --help -V -h", "", "repl"),
    ("mongosh mongo", "--eval --version --help", "--host --port -u -p", "--shell"),
];

/// Programs that wait, unless one of these options is given.
const ALWAYS: [(&str, &str); 7] = [
    (
        "irb pry ghci iex jshell utop bpython ptpython erl sbcl clj rlwrap gdb lldb",
        "--version --help -e -batch --batch -b",
    ),
    ("vi vim nvim view ed ex", "-es -Es --headless --version"),
    ("emacs", "--batch --version"),
    ("telnet rlogin mosh login newgrp ftp sftp lftp", "-b -c --version"),
    ("at batch", "-f -l -d -c"),
    ("nix-shell", "--run --command"),
    (
        "tmux screen zellij",
        "-d -dm -dmS -X -ls -V ls list-sessions list-panes send-keys capture-pane kill-session kill-server has-session",
    ),
];

/// Programs that run one of their later words, and are not followed by the reader.
pub(super) const STARTERS: &str =
    "bwrap proot socat expect heroku fly flyctl kubectl oc rlwrap script docker-compose";

/// Options of `ssh` with a value.
const SSH_VALUES: &str = "-p -i -o -l -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w -B";

/// Subcommands that open a shell, each after its program.
const OPENERS: [(&str, &str); 7] = [
    ("poetry", "shell"),
    ("pipenv", "shell"),
    ("hatch", "shell"),
    ("rails", "console"),
    ("rails", "c"),
    ("django-admin", "shell"),
    ("manage.py", "shell"),
];

/// Options of `docker run` and its like with a value.
const CONTAINER_VALUES: &str = "-v -e -p -w -u -h --name --network --net --platform --entrypoint --env --volume --workdir \
    --user --mount --hostname --env-file --label -l --cpus --memory -m --publish --gpus --add-host --cap-add --device --pull";

/// Modules of Python that wait for code.
const MODULES: [&str; 7] = ["pdb", "code", "IPython", "ipdb", "asyncio", "idlelib", "ptpython"];

/// Filters that read their standard input if they have fewer operands than this.
const FILTERS: [(&str, usize); 9] = [
    ("cat", 1),
    ("tee", usize::MAX),
    ("tr", usize::MAX),
    ("dd", 1),
    ("head", 1),
    ("tail", 1),
    ("sed", 2),
    ("grep", 2),
    ("awk", 2),
];

/// Returns the words of a command that are no options, without the values of these options. Everything after `--` is one.
fn operands<'w>(words: &[&'w str], values: &str) -> Vec<&'w str> {
    let (mut found, mut skip, mut only) = (Vec::new(), false, false);
    for word in words {
        if std::mem::take(&mut skip) {
            continue;
        }
        match *word {
            "--" if !only => only = true,
            option if !only && option.len() > 1 && option.starts_with('-') => {
                let last = option.get(option.len() - 1..).filter(|_| !option.starts_with("--"));
                skip = is_in(values, option) || last.is_some_and(|last| is_in(values, &format!("-{last}")));
            }
            operand => found.push(operand),
        }
    }
    found
}

/// Returns true if one of these options is among the words. A letter may be among others.
pub(super) fn has(words: &[&str], options: &str) -> bool {
    options.split_ascii_whitespace().any(|option| {
        let letter = option.strip_prefix('-').filter(|it| it.len() == 1);
        words.iter().any(|word| match letter {
            Some(letter) => {
                word.strip_prefix('-').is_some_and(|it| !it.starts_with('-') && it.contains(letter))
            }
            None => word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')),
        })
    })
}

/// Returns true if a program without a script waits for commands: none of its words is one, or one is the terminal.
fn is_bare(operands: &[&str]) -> bool {
    operands.first().is_none_or(|first| *first == "-" || is_terminal(first))
}

/// Returns true if a shell with these words waits for commands.
fn shell_waits(words: &[&str]) -> bool {
    let shell = ShellWords::of(words);
    shell.runs_input() && !has(&shell.names, "--version --help -Command -File")
}

/// Returns true if a login on another machine has no command.
fn ssh_waits(words: &[&str]) -> bool {
    !has(words, "-N -V -G -Q") && operands(words, SSH_VALUES).len() == 1
}

/// Returns the name of a program without its version.
fn without_version(program: &str) -> &str {
    program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// Returns true if this program runs code that it reads.
pub(super) fn is_interpreter(program: &str) -> bool {
    let names = LANGUAGES.iter().map(|it| it.0).chain([SHELLS]);
    names.into_iter().any(|list| is_in(list, program) || is_in(list, without_version(program)))
}

/// Returns the script that an interpreter with these words would run; `None` for code in its words, for a module, and for a
/// program that is no interpreter.
pub(super) fn script<'w>(program: &str, words: &[&'w str]) -> Option<&'w str> {
    let name = without_version(program);
    let (runs, values) = if is_in(SHELLS, program) {
        ("-c", "-o -O --rcfile --init-file")
    } else {
        let language = LANGUAGES.iter().find(|it| is_in(it.0, program) || is_in(it.0, name))?;
        (language.1, language.2)
    };
    let options: Vec<&str> = words.iter().copied().take_while(|word| word.starts_with('-')).collect();
    let first = operands(words, values).first().copied()?;
    (!has(&options, runs)).then_some(first)
}

/// Returns true if this program with these words waits for commands at its standard input.
pub(super) fn waits(program: &str, words: &[&str]) -> bool {
    let name = without_version(program);
    let is_named = |list: &str| is_in(list, program) || is_in(list, name);
    if is_in(SHELLS, program) {
        return shell_waits(words);
    }
    if let Some((_, runs, values, always)) = LANGUAGES.iter().find(|it| is_named(it.0)) {
        let module = words.iter().position(|word| *word == "-m").and_then(|at| words.get(at + 1));
        let operands = operands(words, values);
        return operands.first().is_some_and(|it| is_in(always, it))
            || words.iter().take_while(|it| it.starts_with('-')).any(|it| is_in(always, it))
            || module.is_some_and(|it| MODULES.contains(it))
            || !has(words, runs) && is_bare(&operands) && program != "bun"
            || !has(words, runs) && is_in("psql mysql mariadb mongosh mongo", name);
    }
    if let Some((_, options)) = ALWAYS.iter().find(|it| is_in(it.0, program)) {
        return !words.iter().any(|word| is_in(options, word));
    }
    let first = operands(words, "").first().copied().unwrap_or_default();
    if OPENERS.iter().any(|(of, opener)| *of == program && *opener == first) {
        return true;
    }
    match program {
        "ssh" => ssh_waits(words),
        "sqlite3" => {
            !has(words, "-version -help -batch --version") && operands(words, "-cmd -init").len() < 2
        }
        "su" | "runuser" => !has(words, "-c --command"),
        "sudo" | "doas" => {
            has(words, "-s -i --shell --login") && operands(words, "-u -g -C -D -h -p").is_empty()
        }
        "script" => !has(words, "-c --command"),
        "chroot" | "unshare" | "nsenter" => {
            operands(words, "-t -S -G").len() <= usize::from(program == "chroot")
        }
        "xargs" | "parallel" => !has(words, "-a --arg-file") && !words.contains(&":::"),
        "crontab" | "make" => words.contains(&"-"),
        "docker" | "podman" | "nerdctl" if first == "run" => {
            has(words, "-i --interactive") && operands(words, CONTAINER_VALUES).len() == 2
        }
        "source" | "." | "eval" => words.iter().any(|word| is_terminal(word)),
        _ => false,
    }
}

/// Returns true if a filter passes its standard input on.
pub(super) fn passes_on(program: &str, words: &[&str]) -> bool {
    let filter = FILTERS.iter().find(|(name, _)| *name == program);
    filter.is_some_and(|(_, least)| {
        let operands = operands(words, "-n -c -e -f");
        operands.len() < *least && operands.iter().all(|it| !it.starts_with("if="))
            || operands.iter().any(|word| *word == "-" || is_terminal(word))
    })
}
