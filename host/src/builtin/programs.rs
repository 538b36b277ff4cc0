//! What the programs of a shell line do: which word is the program, and whether it only reads.

use super::shell::Word;

/// Words that stand before the program that runs, and words of the shell's grammar that stand before a command.
const WRAPPERS: [&str; 27] = [
    "env", "sudo", "doas", "command", "builtin", "exec", "nohup", "time", "nice", "ionice", "timeout",
    "stdbuf", "setsid", "xargs", "parallel", "watch", "if", "then", "elif", "else", "while", "until", "do",
    "!", "chroot", "busybox", "su",
];

/// Programs that run text among their arguments, or what they read, as a script.
const SHELLS: [&str; 14] = [
    "sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "eval", "su", "watch", "parallel", "script", "trap",
    "source",
];

/// Programs whose arguments or input are code in another language.
const INTERPRETERS: [&str; 22] = [
    "python",
    "python2",
    "python3",
    "node",
    "nodejs",
    "deno",
    "bun",
    "perl",
    "ruby",
    "php",
    "lua",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "sed",
    "gsed",
    "osascript",
    "tclsh",
    "ed",
    "ex",
    "vim",
];

/// Programs that apply a patch from their input.
const PATCHERS: [&str; 4] = ["apply_patch", "applypatch", "patch", "git"];

/// Programs that change no file that they name.
const READERS: [&str; 50] = [
    "cat",
    "ls",
    "head",
    "tail",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "less",
    "more",
    "stat",
    "wc",
    "diff",
    "cmp",
    "comm",
    "file",
    "jq",
    "echo",
    "printf",
    "test",
    "[",
    "[[",
    "true",
    "false",
    ":",
    "pwd",
    "which",
    "type",
    "tree",
    "du",
    "bat",
    "sort",
    "cut",
    "tr",
    "nl",
    "od",
    "hexdump",
    "md5sum",
    "sha256sum",
    "shasum",
    "realpath",
    "readlink",
    "basename",
    "dirname",
    "column",
    "fold",
    "mkdir",
    "Get-Content",
    "Get-ChildItem",
];

/// Options with which a reader does more than read; each also in the form `--option=value`.
const WRITING_OPTIONS: [(&str, &[&str]); 5] = [
    ("sort", &["-o", "--output", "--compress-program"]),
    ("tree", &["-o"]),
    ("less", &["-o", "-O", "--log-file"]),
    ("rg", &["--pre"]),
    ("file", &["-C"]),
];

/// What of git leaves the files of the work tree alone.
const GIT_READS: [&str; 17] = [
    "diff",
    "status",
    "log",
    "show",
    "add",
    "commit",
    "blame",
    "ls-files",
    "grep",
    "rev-parse",
    "branch",
    "remote",
    "fetch",
    "push",
    "tag",
    "check-ignore",
    "shortlog",
];

/// What of hookbox anybody may run.
const HOOKBOX_READS: [&str; 9] =
    ["list", "run", "exec", "inspect", "explain", "demo", "help", "bridge", "doctor"];

/// What of hookbox only the user may run.
pub(super) const PRIVILEGED: [&str; 6] = ["trust", "untrust", "grants", "plugin", "install", "uninstall"];

/// Commands of the shell after which a path that they name may come back under another name: all that follows is
/// looked at more closely.
const CARRIERS: [&str; 13] = [
    "cd", "pushd", "popd", "for", "select", "case", "export", "declare", "local", "readonly", "typeset",
    "set", "read",
];

/// The last part of a path.
pub(super) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_in(list: &[&str], name: &str) -> bool {
    list.iter().any(|it| it.eq_ignore_ascii_case(name))
}

/// Whether a word is `NAME=value` before a program.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// The places of the words that may be the program: the first one, and behind `sudo -u root`, `env A=b`,
/// `find … -exec` what these run. Where it is not clear whether a word is the argument of an option, it and the
/// next one count.
pub(super) fn starts(words: &[Word]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut looks = true;
    let mut is_wrapped = false;
    let mut after_option = false;
    let mut finds = false;
    for (at, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        if !looks {
            looks = finds && matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir");
            (is_wrapped, after_option) = (false, false);
            continue;
        }
        if is_assignment(text) {
            continue;
        }
        if is_wrapped && text.starts_with('-') {
            after_option = true;
            continue;
        }
        if is_wrapped && text.starts_with(|c: char| c.is_ascii_digit()) {
            // How long, how nice.
            continue;
        }
        starts.push(at);
        let name = base_name(text);
        finds |= matches!(name, "find" | "fd");
        if is_in(&WRAPPERS, name) {
            is_wrapped = true;
            after_option = false;
        } else if after_option {
            after_option = false;
        } else {
            looks = false;
        }
    }
    starts
}

/// A program with its arguments.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    name: &'a str,
    arguments: &'a [Word],
}

impl<'a> Call<'a> {
    /// The call that begins with the first of these words.
    pub(super) fn new(words: &'a [Word]) -> Option<Self> {
        let (first, arguments) = words.split_first()?;
        Some(Self { name: base_name(&first.text), arguments })
    }

    /// The program's name, without its directory.
    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    /// Its arguments.
    pub(super) fn words(&self) -> impl Iterator<Item = &'a str> {
        self.arguments.iter().map(|word| word.text.as_str())
    }

    pub(super) fn is_shell(&self) -> bool {
        is_in(&SHELLS, self.name)
    }

    pub(super) fn is_interpreter(&self) -> bool {
        let name = self.name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        self.is_shell() || is_in(&INTERPRETERS, name) || is_in(&INTERPRETERS, self.name)
    }

    pub(super) fn is_patcher(&self) -> bool {
        is_in(&PATCHERS, self.name)
    }

    pub(super) fn is_carrier(&self) -> bool {
        CARRIERS.contains(&self.name)
    }

    pub(super) fn is_named(&self, names: &[&str]) -> bool {
        names.contains(&self.name)
    }

    pub(super) fn is_wrapper(&self) -> bool {
        is_in(&WRAPPERS, self.name)
    }

    /// The subcommand of hookbox that only the user may run, if this runs one.
    pub(super) fn privileged(&self, program: &Word) -> Option<&'static str> {
        let named = self.name.strip_suffix(".exe").unwrap_or(self.name);
        // `$(which hookbox) trust`: a program that a substitution names.
        let is_hookbox = named.eq_ignore_ascii_case("hookbox")
            || program.substitutes && program.text.to_ascii_lowercase().contains("hookbox");
        is_hookbox
            .then(|| self.subcommands().find_map(|word| PRIVILEGED.into_iter().find(|it| *it == word)))?
    }

    /// The first argument that is no option; behind an option also the one after it, which may be its argument.
    fn subcommands(&self) -> impl Iterator<Item = &'a str> {
        let mut after_option = false;
        let mut over = false;
        self.arguments.iter().filter_map(move |word| {
            let text = word.text.as_str();
            if over {
                return None;
            }
            if text.starts_with('-') {
                after_option = !text.contains('=');
                return None;
            }
            over = !std::mem::take(&mut after_option);
            Some(text)
        })
    }

    /// Whether it changes no file that it names.
    pub(super) fn only_reads(&self) -> bool {
        let has = |options: &[&str]| {
            self.arguments.iter().any(|word| {
                options.iter().any(|option| match word.text.strip_prefix(option) {
                    Some(rest) => rest.is_empty() || rest.starts_with('=') || !option.starts_with("--"),
                    None => false,
                })
            })
        };
        match self.name {
            "find" | "fd" => !has(&[
                "-delete",
                "-exec",
                "-execdir",
                "-ok",
                "-okdir",
                "-fprint",
                "-fls",
                "-x",
                "-X",
                "--exec",
                "--exec-batch",
            ]),
            "sed" | "gsed" => self.sed_prints(),
            "git" => {
                let mut words = self.arguments.iter().map(|word| word.text.as_str());
                let subcommand = words.find(|word| !matches!(*word, "--no-pager" | "-P"));
                subcommand.is_some_and(|word| GIT_READS.contains(&word)) && !has(&["--output", "--ext-diff"])
            }
            "hookbox" => {
                let first = self.subcommands().next();
                first.is_none_or(|word| HOOKBOX_READS.contains(&word))
            }
            name => {
                let options = WRITING_OPTIONS.iter().find(|(program, _)| *program == name);
                is_in(&READERS, name) && !options.is_some_and(|(_, options)| has(options))
            }
        }
    }

    /// `sed -n 1,20p FILE` and its like: a script of sed can write and run as well.
    fn sed_prints(&self) -> bool {
        let mut arguments = self.arguments.iter().map(|word| word.text.as_str());
        let script = arguments.find(|word| !matches!(*word, "-n" | "-E" | "-r" | "-s" | "-e"));
        script.is_some_and(|script| script.chars().all(|c| c.is_ascii_digit() || "$,;pq! ~+".contains(c)))
            && arguments.all(|word| !word.starts_with('-'))
    }
}
