//! The files that a command uses.

use crate::tree::Mode;
use crate::wrappers::is_in;
use crate::{Arg, Run};

/// The use of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// It is read.
    Reads,
    /// It is made, replaced or changed.
    Writes,
    /// It is removed.
    Removes,
    /// It goes to another place.
    Moves,
}

impl FileUse {
    /// Returns the name, such as `reads`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Removes => "removes",
            Self::Moves => "moves",
        }
    }
}

/// A file that a command uses, as its words name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedFile<'a> {
    /// The path.
    pub path: &'a str,
    /// The use.
    pub usage: FileUse,
    /// True if the path is a pattern for names of files.
    pub is_pattern: bool,
}

/// Programs by what they do with their operands, with their options that have a value.
const OPERANDS: [(FileUse, &str, &str); 6] = [
    (
        FileUse::Reads,
        "cat less more bat nl tac od xxd hexdump strings base64 wc uniq source . ls stat file diff cmp md5sum sha1sum \
         sha256sum",
        "",
    ),
    (FileUse::Reads, "head tail", "-n -c"),
    (FileUse::Reads, "cut sort", "-d -f -c -k -t -o"),
    (FileUse::Removes, "rm rmdir unlink shred srm trash rimraf", ""),
    (FileUse::Writes, "tee touch truncate mkdir", "-s -d -m -r -t"),
    // The last operand is the target.
    (FileUse::Moves, "mv", "-S"),
];

/// Programs that read all operands but the last, which they write.
const COPIES: &str = "cp install ln rsync scp";

/// Programs whose first operand is a pattern or a script.
const SCRIPTED: &str = "grep egrep fgrep zgrep rg ag sed perl awk gawk jq yq";

/// The lines of a patch for `apply_patch` that name a file.
const PATCH_LINES: [(&str, FileUse); 4] = [
    ("*** Add File:", FileUse::Writes),
    ("*** Update File:", FileUse::Writes),
    ("*** Delete File:", FileUse::Removes),
    (MOVE, FileUse::Writes),
];

/// The line behind that of a file that a patch moves.
const MOVE: &str = "*** Move to:";

/// Returns the files that a patch for `apply_patch` names.
pub fn patched(text: &str) -> impl Iterator<Item = &str> {
    used_in_patch(text).map(|it| it.path)
}

/// Returns the files that a patch for `apply_patch` names, with their use.
pub fn used_in_patch(text: &str) -> impl Iterator<Item = UsedFile<'_>> {
    let files = text.lines().map(str::trim).filter_map(|line| {
        let mut heads = PATCH_LINES.iter();
        heads.find_map(|(head, usage)| Some((line.strip_prefix(head)?.trim(), *head, *usage)))
    });
    let mut files = files.peekable();
    std::iter::from_fn(move || {
        let (path, _, usage) = files.next()?;
        let is_moved = files.peek().is_some_and(|(_, head, _)| *head == MOVE);
        Some(UsedFile { path, usage: if is_moved { FileUse::Moves } else { usage }, is_pattern: false })
    })
}

/// Returns the arguments that are no options, and all that follow `--`.
pub fn operands<'a>(args: &'a [Arg], with_value: &str) -> Vec<&'a Arg> {
    let (mut found, mut is_end, mut rest) = (Vec::new(), false, args);
    while let [first, more @ ..] = rest {
        rest = more;
        let text = first.text.as_str();
        if is_end || !text.starts_with('-') || text == "-" {
            found.push(first);
        } else if text == "--" {
            is_end = true;
        } else if is_in(with_value, text) {
            rest = more.get(1..).unwrap_or_default();
        }
    }
    found
}

/// Returns the subcommand of git, its arguments and the directory that `-C` names.
pub fn git_parts(args: &[Arg]) -> Option<(&str, &[Arg], Option<&Arg>)> {
    let (mut rest, mut directory) = (args, None);
    while let [first, more @ ..] = rest {
        let text = first.text.as_str();
        rest = more;
        match text {
            "-C" => {
                directory = more.first();
                rest = more.get(1..)?;
            }
            "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--config-env" => {
                rest = more.get(1..)?
            }
            _ if text.starts_with('-') => {}
            _ => return Some((text, rest, directory)),
        }
    }
    None
}

/// Returns true for short options with this letter among them.
pub fn is_short(word: &str, letter: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

/// Returns the directory into which a program unpacks an archive, whose files may have any names; `.` is its own. `None` for
/// any other command.
pub fn unpacks(program: &str, args: &[Arg]) -> Option<Arg> {
    let has =
        |letters: &[char]| letters.iter().any(|letter| args.iter().any(|it| is_short(&it.text, *letter)));
    let first = args.first().map_or("", |it| it.text.as_str());
    let (unpacks, options) = match program {
        "tar" => {
            let is_long = |it: &Arg| matches!(it.text.as_str(), "--extract" | "--get");
            let is_bare = !first.starts_with('-') && first.contains('x');
            (is_bare || has(&['x']) || args.iter().any(is_long), "-C --directory")
        }
        "unzip" => (!has(&['l', 'p', 't', 'v', 'Z']), "-d"),
        "7z" => (matches!(first, "x" | "e"), "-o"),
        "cpio" => (has(&['i']) || args.iter().any(|it| it.text == "--extract"), "-D --directory"),
        _ => return None,
    };
    let named = |(at, arg): (usize, &Arg)| {
        let text = arg.text.as_str();
        // `unzip -oqd DIR`
        let is_group = program == "unzip" && is_short(text, 'd') && text.ends_with('d');
        if is_in(options, text) || is_group {
            return args.get(at + 1).cloned();
        }
        let joined = options.split(' ').find_map(|option| {
            let value = text.strip_prefix(option)?;
            if option.starts_with("--") { value.strip_prefix('=') } else { Some(value) }
        });
        joined.map(|it| Arg { text: it.to_owned(), sort: arg.sort })
    };
    unpacks.then(|| args.iter().enumerate().find_map(named).unwrap_or_else(|| Arg::plain(".")))
}

/// Returns the name of the file that an address has.
fn of_address(word: &str) -> Option<&str> {
    let (_, place) = word.split_once("://")?;
    let path = place.split(['?', '#']).next().unwrap_or(place);
    path.rsplit_once('/').map(|(_, name)| name).filter(|name| !name.is_empty())
}

fn used(usage: FileUse, arg: &Arg) -> UsedFile<'_> {
    UsedFile { path: &arg.text, usage, is_pattern: arg.sort == crate::Sort::Pattern }
}

impl Run {
    /// Returns the files that the command writes, as its words name them.
    pub fn writes(&self) -> impl Iterator<Item = &str> {
        self.files().into_iter().filter(|it| it.usage == FileUse::Writes).map(|it| it.path)
    }

    /// Returns the files that the command uses, as its words name them: the targets of its redirections, the operands of
    /// programs that are known, and the files of a patch that it is given. Paths in a script of another language are not
    /// among them.
    pub fn files(&self) -> Vec<UsedFile<'_>> {
        let redirected = self.redirections.iter().filter_map(|it| {
            let usage = match it.mode {
                Mode::Write | Mode::Append | Mode::Both => FileUse::Writes,
                Mode::Read => FileUse::Reads,
                Mode::Text | Mode::Copy => return None,
            };
            Some(used(usage, &it.target))
        });
        let mut files: Vec<UsedFile<'_>> = redirected.collect();
        let args = self.args();
        let texts = || args.iter().map(|it: &Arg| it.text.as_str());
        let written = |path| UsedFile { path, usage: FileUse::Writes, is_pattern: false };
        let program = self.program().unwrap_or_default();
        match program {
            "dd" => files.extend(texts().filter_map(|it| match it.split_once('=')? {
                ("of", path) => Some(written(path)),
                ("if", path) => Some(UsedFile { usage: FileUse::Reads, ..written(path) }),
                _ => None,
            })),
            // A file is named by its address.
            "curl" if texts().any(|it| it.starts_with("--remote-name") || is_short(it, 'O')) => {
                files.extend(texts().filter_map(of_address).map(written));
            }
            "curl" => files.extend(after(args, "-o --output")),
            "wget" if texts().any(|it| it.starts_with("--output-document") || is_short(it, 'O')) => {
                files.extend(after(args, "-O --output-document"));
            }
            "wget" => files.extend(texts().filter_map(of_address).map(written)),
            "apply_patch" | "applypatch" => {
                let given = self.redirections.iter().filter(|it| it.mode == Mode::Text);
                let given = given.map(|it| it.target.text.as_str());
                files.extend(texts().chain(given).flat_map(used_in_patch));
            }
            _ => files.extend(of_operands(program, args)),
        }
        files
    }
}

/// Returns the files in the values of these options.
fn after<'a>(args: &'a [Arg], options: &str) -> Vec<UsedFile<'a>> {
    let pairs = args.windows(2).filter_map(|it| match it {
        [option, value] if is_in(options, &option.text) => Some(used(FileUse::Writes, value)),
        _ => None,
    });
    pairs.collect()
}

/// Returns the files among the operands of a program.
fn of_operands<'a>(program: &str, args: &'a [Arg]) -> Vec<UsedFile<'a>> {
    let of = |usage, operands: &[&'a Arg]| operands.iter().map(|it| used(usage, it)).collect();
    if is_in(SCRIPTED, program) {
        let is_changed = matches!(program, "sed" | "perl")
            && args.iter().any(|it| it.text.starts_with("-i") || it.text.starts_with("--in-place"));
        let operands = operands(args, "-A -B -C -m -g");
        // The first one is the script, also as the value of `-e`.
        let files = operands.get(1..).unwrap_or_default();
        return of(if is_changed { FileUse::Writes } else { FileUse::Reads }, files);
    }
    let row = OPERANDS.iter().find(|it| is_in(it.1, program));
    let (usage, with_value) = match row {
        Some((usage, _, with_value)) => (*usage, *with_value),
        None if is_in(COPIES, program) => (FileUse::Reads, "-S -m -o -g -e"),
        None => return Vec::new(),
    };
    let operands = operands(args, with_value);
    let goes_on = matches!(usage, FileUse::Moves) || row.is_none();
    let target = args.iter().position(|it| matches!(it.text.as_str(), "-t" | "--target-directory"));
    match (goes_on, target, operands.as_slice()) {
        (false, ..) => of(usage, &operands),
        // The target is among the operands, because `-t` has no value in the list.
        (true, Some(at), all) => {
            let target = args.get(at + 1);
            let is_target = |it: &Arg| target.is_some_and(|target| std::ptr::eq(target, it));
            all.iter().map(|it| used(if is_target(it) { FileUse::Writes } else { usage }, it)).collect()
        }
        (true, None, [sources @ .., target]) => {
            let mut files: Vec<UsedFile<'a>> = of(usage, sources);
            files.push(used(FileUse::Writes, target));
            files
        }
        (true, None, []) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Known, runs};

    #[test]
    fn an_archive_is_unpacked_into_a_directory() {
        for (line, want) in [
            ("tar xzf a.tgz", Some(".")),
            ("tar -xvf a.tar -C ~/x", Some("~/x")),
            ("tar --extract --directory=/ -f a.tar", Some("/")),
            ("bsdtar -xf a -C/srv", Some("/srv")),
            ("tar czf a.tgz -C src x", None),
            ("tar tf a.tar", None),
            ("unzip -oqd /srv a.zip", Some("/srv")),
            ("unzip -l a.zip -d /srv", None),
            ("7z x a.7z -o/srv", Some("/srv")),
            ("7z a a.7z x", None),
            ("cpio -idm -D ~ < a.cpio", Some("~")),
            ("find . | cpio -o -D ~", None),
            ("cp x /srv", None),
        ] {
            let run = &runs(line, &Known::default()).runs[0];
            let into = super::unpacks(run.program().unwrap(), run.args());
            // The reader has no home directory here.
            assert_eq!(into.map(|it| it.text).as_deref(), want, "{line}");
        }
    }

    #[test]
    fn a_command_uses_what_its_words_and_its_patch_name() {
        let patch = "*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+x\n*** Update File: a b\n*** Move to: c\n\
                     *** Delete File: d\n*** End Patch";
        let of_patch = &["writes .git/hooks/pre-commit", "moves a b", "writes c", "removes d"][..];
        for (line, want) in [
            ("echo x > a >> b 2>&1 < c", &["writes a", "writes b", "reads c"][..]),
            ("tee -a a b", &["writes a", "writes b"]),
            ("cp -r a b c", &["reads a", "reads b", "writes c"]),
            ("mv -t c a b", &["writes c", "moves a", "moves b"]),
            ("mv a b", &["moves a", "writes b"]),
            ("rm -rf -- a -b *.c", &["removes a", "removes -b", "removes *.c*"]),
            ("cat a | head -n 5 b", &["reads a", "reads b"]),
            ("sed -i s/a/b/ f", &["writes f"]),
            ("sed s/a/b/ f", &["reads f"]),
            ("grep -rn x src", &["reads src"]),
            ("dd if=a of=b bs=1", &["reads a", "writes b"]),
            ("curl -sSLO https://example.com/a/tool?x=1", &["writes tool"]),
            ("curl -o a https://example.com/a/tool", &["writes a"]),
            ("curl https://example.com/a/tool", &[]),
            ("wget -q https://example.com/tool", &["writes tool"]),
            ("wget -qO- https://example.com/tool", &[]),
            ("unknown a b", &[]),
            (&format!("apply_patch <<'EOF'\n{patch}\nEOF"), of_patch),
            (&format!("apply_patch '{patch}'"), of_patch),
            (&format!("cd x && apply_patch <<EOF\n{patch}\nEOF"), of_patch),
            (&format!("cat <<'EOF'\n{patch}\nEOF"), &[]),
        ] {
            let reading = runs(line, &Known::default());
            let files = reading.runs.iter().flat_map(|run| run.files());
            let found: Vec<String> = files
                .map(|it| {
                    format!("{} {}{}", it.usage.as_str(), it.path, if it.is_pattern { "*" } else { "" })
                })
                .collect();
            assert_eq!(found, want, "{line}");
        }
    }
}
