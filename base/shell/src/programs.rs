//! The effects of known programs. Every word of an unknown program counts, so that a program that is missing here costs a
//! question and weakens no guard.

use crate::{base_name, is_in};

/// The effect of a program on the files that its words name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The program only reads the files, and runs none of its words.
    Reads,
    /// The program may change the files, and runs none of its words.
    Keeps,
    /// The program runs its words as a shell does.
    Shell,
    /// Unknown.
    Any,
}

/// Programs by their effect. With one of the options or first words in the last field, the effect is unknown.
const KNOWN: [(Use, &str, &str); 12] = [
    (
        Use::Reads,
        "cat ls head tail grep egrep fgrep zgrep ag stat wc diff cmp comm jq echo test [ [[ pwd which \
        type du cut tr nl od hexdump base64 md5sum sha1sum sha256sum shasum cksum realpath readlink \
        basename dirname column fold mkdir paste rev tac strings seq date id whoami hostname uname \
        printenv ps pgrep df free uptime sleep jobs true false : exit return break continue wait shift \
        unset shopt ulimit umask local export declare typeset readonly read set getopts times popd pushd \
        cd for select case let expr cal nproc dirs Get-Content Get-ChildItem Select-String pbcopy \
        wl-copy xclip lsof lsblk tee printf bd",
        "",
    ),
    (Use::Reads, "mapfile readarray man", "-C -P -H --pager"),
    (Use::Reads, "sort", "-o --output --compress-program -T"),
    (Use::Reads, "tree less more bat", "-o -O --log-file --pager"),
    (Use::Reads, "rg file yq", "--pre --hostname-bin -C --compile -i --in-place --inplace"),
    (Use::Reads, "fd fdfind", "-x -X --exec --exec-batch"),
    (
        Use::Keeps,
        "cp mv rm rmdir ln touch truncate chmod chown chgrp dd shred unlink trash mdbook patch gzip \
        gunzip zstd unzip black ruff prettier eslint mdformat apply_patch applypatch wget",
        "",
    ),
    (
        Use::Keeps,
        "tar zip install",
        "-I -F -T --checkpoint-action --to-command --strip-program --info-script",
    ),
    (Use::Keeps, "make gmake ninja cmake rsync scp", "-f --file --makefile --eval -E -P -e --rsh -S -o"),
    (Use::Keeps, "pip pip3 pipx npm pnpm yarn brew apt apt-get apk dnf go rustup", "run exec dlx x -exec -o"),
    (Use::Keeps, "cargo conda poetry uv gem pacman snap bun", "run r exec tool x --config"),
    (
        Use::Shell,
        "sh bash zsh dash ksh ash fish csh tcsh eval su watch parallel script trap source . alias",
        "",
    ),
];

/// Subcommands of git that change no file that they name, and others that run none of their words.
const GIT_READS: &str = "diff status log show add commit blame ls-files ls-tree ls-remote grep rev-parse rev-list \
    branch remote fetch push tag check-ignore shortlog describe merge-base cat-file name-rev reflog notes";
const GIT_KEEPS: &str = "checkout switch merge stash reset restore rm mv clone init worktree cherry-pick revert pull \
    clean apply am";

/// Options with which git runs more, or writes.
const GIT_RUNS: &str =
    "--output --ext-diff -O --open-files-in-pager --upload-pack --receive-pack --exec --template";

/// Subcommands of GitHub's program that only send requests.
const HUB_READS: &str = "issue pr release run api gist label search workflow auth";

/// Options with which curl writes a file, or reads more options from one. Their beginnings are the same.
const CURL_WRITES: &str = "--alt-svc --config --cookie-jar --dump-header --etag-save --hsts --libcurl --output \
    --output-dir --remote-header-name --remote-name --remote-name-all --ssl-sessions --stderr --trace --trace-ascii";

/// Returns true if one of these options is among the words: alone, with its value, or (one letter) among others.
fn has(words: &[&str], options: &str) -> bool {
    options.split_ascii_whitespace().filter(|it| it.starts_with('-')).any(|option| {
        let letter = option.strip_prefix('-').filter(|it| it.len() == 1);
        words.iter().any(|word| match (letter, word.strip_prefix(option)) {
            (Some(letter), _) => word.starts_with('-') && !word.starts_with("--") && word.contains(letter),
            (None, Some(rest)) => rest.is_empty() || rest.starts_with('='),
            (None, None) => false,
        })
    })
}

/// Returns the name and the value of `NAME=value` before a program.
pub fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let name = name.split(['[', '+']).next().unwrap_or(name);
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, value))
}

/// Skips programs that only run the words after their own options, such as `sudo`.
fn unwrapped<'a, 'w>(mut words: &'a [&'w str]) -> &'a [&'w str] {
    loop {
        words = match words {
            ["command", rest @ ..] if !describes(rest) => {
                let options = rest.iter().take_while(|word| word.starts_with('-')).count();
                rest.get(options..).unwrap_or_default()
            }
            ["sudo" | "doas" | "nohup" | "time" | "env", rest @ ..]
                if rest.first().is_some_and(|it| !it.starts_with('-')) =>
            {
                rest
            }
            ["timeout", time, rest @ ..] if time.starts_with(|c: char| c.is_ascii_digit()) => rest,
            ["xargs", rest @ ..] => {
                let values = |option: &str| usize::from(matches!(option, "-n" | "-I" | "-L" | "-P" | "-d"));
                let mut rest = rest;
                while let [option, more @ ..] = rest
                    && option.starts_with('-')
                    && !matches!(*option, "-a" | "-E")
                {
                    rest = more.get(values(option)..).unwrap_or_default();
                }
                rest
            }
            [first, rest @ ..] if assignment(first).is_some_and(|(_, value)| is_harmless(value)) => rest,
            _ => return words,
        };
    }
}

/// Returns true if `command` with these words only tells where a program is.
fn describes(words: &[&str]) -> bool {
    let mut options = words.iter().take_while(|word| word.starts_with('-') && **word != "--");
    options.any(|word| word.contains(['v', 'V']))
}

/// Returns true if no program runs the value of this variable.
fn is_harmless(value: &str) -> bool {
    value.bytes().all(|it| it.is_ascii_alphanumeric() || b"_.,:@%+-".contains(&it))
}

/// The use that the program of a command makes of its words.
pub fn use_of(words: &[&str]) -> Use {
    if words.iter().all(|word| assignment(word).is_some()) {
        return Use::Reads;
    }
    let words = unwrapped(words);
    let Some((program, words)) = words.split_first() else { return Use::Reads };
    let sub = words.iter().copied().find(|word| !word.starts_with('-')).unwrap_or_default();
    let only = |reads: bool, or: Use| if reads { Use::Reads } else { or };
    match base_name(program) {
        "git" => git(words),
        "gh" | "glab" => {
            let fetches = words.iter().any(|it| matches!(*it, "clone" | "download" | "checkout"));
            only(is_in(HUB_READS, sub) && !fetches, if fetches { Use::Keeps } else { Use::Any })
        }
        "curl" => {
            let is_option = |word: &&&str| word.starts_with("--");
            let mut options = words.iter().filter(is_option);
            let writes = options.any(|it| CURL_WRITES.split(' ').any(|option| option.starts_with(it)));
            only(!writes && !has(words, "-o -O -K -D -c -J"), Use::Keeps)
        }
        "command" => only(describes(words), Use::Any),
        "uniq" | "xxd" => {
            let operands = words.iter().filter(|it| **it == "-" || !it.starts_with('-'));
            only(operands.count() < 2, Use::Keeps)
        }
        "sed" | "gsed" => sed(words),
        "find" => find(words),
        "awk" | "gawk" | "mawk" => {
            let odd = ["system", ">", "|", "getline", "@", "-i", "-f", "-l", "-E"];
            only(!words.iter().any(|word| odd.iter().any(|odd| word.contains(odd))), Use::Any)
        }
        "python" | "python3" if matches!(words, ["-m", "json.tool", rest @ ..] if rest.len() < 2) => {
            Use::Reads
        }
        name => {
            let known = KNOWN.iter().find(|(_, names, _)| is_in(names, name));
            let (used, _, more) = known.unwrap_or(&(Use::Any, "", ""));
            if has(words, more) || is_in(more, sub) { Use::Any } else { *used }
        }
    }
}

fn git(words: &[&str]) -> Use {
    let words = match words {
        ["-C", _, rest @ ..] | ["--no-pager" | "-P", rest @ ..] => rest,
        words => words,
    };
    let Some((sub, words)) = words.split_first() else { return Use::Reads };
    let is_message = matches!(*sub, "commit" | "tag" | "notes" | "add");
    if !is_message && (has(words, GIT_RUNS) || words.iter().any(|word| word.starts_with("ext::"))) {
        Use::Any
    } else if is_in(GIT_READS, sub) {
        Use::Reads
    } else if is_in(GIT_KEEPS, sub) && !has(words, "-c --config") {
        Use::Keeps
    } else {
        Use::Any
    }
}

/// Returns the effect of `find` and of each program that it runs.
fn find(words: &[&str]) -> Use {
    let writes =
        words.iter().any(|word| *word == "-delete" || word.starts_with("-fprint") || *word == "-fls");
    let starts = words.iter().enumerate().filter(|(_, word)| executes(word));
    let mut used = if writes { Use::Keeps } else { Use::Reads };
    for (at, _) in starts {
        let rest = words.get(at + 1..).unwrap_or_default();
        let end = rest.iter().position(|word| matches!(*word, ";" | "+")).unwrap_or(rest.len());
        let started = rest.get(..end).unwrap_or_default();
        // Each level of a `find` in a `find` would read the rest of the line again.
        if started.iter().any(|word| executes(word)) {
            return Use::Any;
        }
        match use_of(started) {
            Use::Reads => {}
            Use::Keeps if used == Use::Reads => used = Use::Keeps,
            Use::Keeps => {}
            more => return more,
        }
    }
    used
}

/// Programs that are looked for behind a pattern such as `/bin/r?`.
const BEHIND_PATTERNS: &str = "rm rmdir unlink shred dd truncate mv cp chmod chown ln tee git sh bash dash zsh sudo env find \
    xargs curl wget nc cat base64 kill pkill killall python3 python perl node docker kubectl ssh scp rsync mkfs";

/// Programs with subcommands that have the names of other programs, and programs whose words are code, texts or addresses.
const WITH_OWN_WORDS: &str = "git gh glab curl sed gsed find gfind bfs awk gawk mawk docker podman nerdctl docker-compose \
    kubectl oc helm lxc incus nomad ssh mosh autossh aws gcloud gsutil az s3cmd mc rclone hdfs hadoop terraform tofu pulumi \
    vault svn hg jj dvc pass chezmoi pm2 tldr whatis whereis apropos info unalias hookbox explainshell \
    shellcheck shfmt pygmentize highlight silicon logger notify-send wall say zenity whiptail dialog \
    llm ollama aichat";

/// Options with a text for people.
const MESSAGES: &str =
    "-m -b -t --message --body --title --note --notes --description --subject --comment --text --summary";

/// Returns true if a text is a program that does harm or starts others, with more words behind it.
pub(crate) fn is_command(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    words.next().is_some_and(is_dangerous) && words.next().is_some()
}

/// Returns true for a program that does harm or starts others.
pub(crate) fn is_dangerous(word: &str) -> bool {
    is_in(BEHIND_PATTERNS, base_name(word))
}

/// A word of a program that may be a command.
pub(crate) enum Guess<'a> {
    /// The value is a script.
    Script(&'a str),
    /// The words from this place on are a program and its words; this is the program, or the value of the first word.
    Words(usize, &'a str),
}

/// Returns the words of a program that may be commands: values that are, and words that name a program behind one that no
/// table has.
pub(crate) fn guesses<'a>(words: &[&'a str]) -> Vec<Guess<'a>> {
    let Some((program, args)) = words.split_first() else { return Vec::new() };
    let name = base_name(program);
    if use_of(words) == Use::Reads || is_in(WITH_OWN_WORDS, name) {
        return Vec::new();
    }
    let is_unknown = !KNOWN.iter().any(|(_, names, _)| is_in(names, name));
    let guess = |(at, word): (usize, &&'a str)| {
        let value = value_of(word);
        if at.checked_sub(1).and_then(|it| args.get(it)).is_some_and(|it| is_in(MESSAGES, it)) {
            None
        } else if is_command(value) {
            Some(Guess::Script(value))
        } else {
            (is_unknown && is_dangerous(value) && at + 2 < words.len()).then_some(Guess::Words(at + 1, value))
        }
    };
    args.iter().enumerate().filter_map(guess).take(MAX_GUESSES).collect()
}

/// The words of a program that are followed as commands.
const MAX_GUESSES: usize = 8;

/// Returns the value of `--option=VALUE` and `KEY=["VALUE"]`, and of another word itself.
pub(crate) fn value_of(word: &str) -> &str {
    let value = word.split_once('=').filter(|(key, _)| !key.contains(char::is_whitespace));
    value.map_or(word, |(_, value)| value.trim_matches(['"', '\'', '[', ']', '=', '!']))
}

/// Returns the programs whose names a pattern fits. Without a letter it fits too many: `***` begins a line of a patch, and
/// `/*` a comment.
pub(crate) fn named_by(pattern: &str) -> impl Iterator<Item = &'static str> {
    let has_letter = pattern.contains(|it: char| it.is_ascii_alphanumeric());
    let names = BEHIND_PATTERNS.split_ascii_whitespace().filter(move |_| has_letter);
    // `@(rm|ls)` has the names that `{rm,ls,}` has.
    let braces = pattern.replace("@(", "{").replace("+(", "{").replace('|', ",").replace(')', ",}");
    let patterns = crate::braces::braces(if pattern.contains('(') { &braces } else { pattern });
    names.filter(move |name| patterns.iter().any(|it| fits(it.as_bytes(), name.as_bytes()))).take(8)
}

/// Returns true if a name fits a pattern of a shell.
pub fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut wanted, mut left) = (pattern, name);
    // The pattern behind the last star, and the name from which it was tried last.
    let mut star: Option<(&[u8], &[u8])> = None;
    loop {
        let next = match (wanted, left) {
            ([], []) => return true,
            ([b'*', rest @ ..], _) => {
                star = Some((rest, left));
                Some((rest, left))
            }
            (_, [letter, rest @ ..]) => behind_letter(wanted, *letter).map(|wanted| (wanted, rest)),
            _ => None,
        };
        (wanted, left) = match (next, star) {
            (Some(next), _) => next,
            (None, Some((behind, [_, rest @ ..]))) => {
                star = Some((behind, rest));
                (behind, rest)
            }
            (None, _) => return false,
        };
    }
}

/// Returns a pattern behind what fits this letter.
fn behind_letter(pattern: &[u8], letter: u8) -> Option<&[u8]> {
    match pattern {
        [b'?', rest @ ..] => Some(rest),
        [b'[', rest @ ..] => {
            let end = rest.iter().skip(1).position(|it| *it == b']')? + 1;
            let (set, rest) = (rest.get(..end)?, rest.get(end + 1..)?);
            let is_not = matches!(set.first(), Some(b'!' | b'^'));
            let set = set.get(usize::from(is_not)..)?;
            let in_range = set.windows(3).any(|it| matches!(it, [a, b'-', b] if (a..=b).contains(&&letter)));
            ((set.contains(&letter) || in_range) != is_not).then_some(rest)
        }
        [first, rest @ ..] if *first == letter => Some(rest),
        _ => None,
    }
}

/// Returns true if `find` runs the words after this one.
pub fn executes(word: &str) -> bool {
    matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir")
}

/// Returns the effect of `sed`, whose script can write files and run programs. `1,20p`, `/x/d` and `s/a/b/g` do not.
fn sed(words: &[&str]) -> Use {
    let mut others = words.iter().filter(|word| !matches!(**word, "-n" | "-E" | "-r" | "-s" | "-e" | "-u"));
    let in_place = words.iter().any(|word| word.starts_with("-i") || word.starts_with("--in-place"));
    let script = others.find(|word| !word.starts_with('-')).copied().unwrap_or_default();
    let letter = |c: char| c.is_ascii_digit() || "$,pqd! ~+gI".contains(c);
    let by = script.strip_prefix('s').and_then(|it| it.chars().next()).unwrap_or('/');
    let parts: Vec<&str> = script.split(by).collect();
    let is_plain = match parts.as_slice() {
        [one] => one.chars().all(|c| letter(c) || c == ';'),
        ["", _, end] | ["s", _, _, end] | ["", _, ",", _, end] => end.chars().all(letter),
        _ => false,
    };
    match (is_plain, in_place || others.any(|word| word.starts_with('-'))) {
        (false, _) => Use::Any,
        (true, false) => Use::Reads,
        (true, true) => Use::Keeps,
    }
}

/// Returns the places of programs in a command whose words are only read: the program's, those of programs that run it, and
/// those that `find` runs. `None` if any word may be a program.
fn program_places(words: &[&str]) -> Option<Vec<usize>> {
    if matches!(use_of(words), Use::Shell | Use::Any) {
        return None;
    }
    let program = |from: usize| {
        let rest = words.get(from..).unwrap_or_default();
        from..=from + rest.len() - unwrapped(rest).len()
    };
    let started = words.iter().enumerate().filter(|(_, word)| executes(word)).map(|(at, _)| at + 1);
    Some(started.chain([0]).flat_map(program).collect())
}

/// Returns the places in a command at which a program may start whose name, with or without its directory, is wanted.
/// Behind a program that is not known any word may be a program, and a path only if it is one of programs.
pub fn program_starts(words: &[&str], is_wanted: impl Fn(&str) -> bool) -> Vec<usize> {
    let places = program_places(words);
    let is_first = |at: usize| words.iter().take(at).all(|word| assignment(word).is_some());
    let starts = |(at, word): &(usize, &&str)| {
        let is_program = || places.is_some() || is_first(*at) || word.contains("bin/");
        places.as_ref().is_none_or(|places| places.contains(at))
            && (is_wanted(word) || is_wanted(base_name(word)) && is_program())
    };
    words.iter().enumerate().filter(starts).map(|(at, _)| at).collect()
}
