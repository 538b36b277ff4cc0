//! Code in other languages: the scripts that it gives to shells, and its calls that remove files.

use super::aliases::{Aliases, with_names};
use super::literals::{Arguments, arguments, closing, commands, target, targets, values};
use super::machine::{Feed, Machine, unknown};
use super::{Arg, Code, Run, Sort, Unread, is_in, powershell};

/// Programs that run code, the options whose values are code, and true if the first operand is code.
const LANGUAGES: [(&str, &str, bool); 18] = [
    ("tclsh go", "", false),
    ("python pypy ipython expect ex", "-c", false),
    ("php", "-r", false),
    ("ruby lua Rscript osascript groovy jshell yaegi", "-e", false),
    ("perl julia", "-e -E", false),
    ("tsx elixir", "-e --eval", false),
    ("node nodejs", "-e --eval -p --print -pe", false),
    ("bun", "-e --eval -p --print", false),
    ("deno", "eval", false),
    ("pwsh powershell cmd", "", false),
    ("emacs", "--eval -eval", false),
    ("vim nvim", "-c --cmd", false),
    ("awk mawk", "", true),
    ("gawk", "-e", true),
    ("psql", "-c --command", false),
    ("mysql mariadb cqlsh", "-e --execute", false),
    ("mongosh mongo", "--eval", false),
    ("sqlite3", "-cmd", false),
];

/// Clients of databases, which read statements.
const CLIENTS: &str = "psql mysql mariadb sqlite3 mongosh mongo cqlsh";

/// Calls whose text a shell runs, or whose texts are a program and its arguments.
const STARTS: &str = "system popen Popen check_call check_output getoutput getstatusoutput exec execSync spawn spawnSync \
    execFile execFileSync shell_exec passthru proc_open capture2 capture2e capture3 execvp execv execlp execl spawnlp \
    create_subprocess_shell create_subprocess_exec Command CommandContext execa execaSync execaCommand execaCommandSync quietly execute";

/// Calls that remove directories with their contents.
const TREES: &str = "rmtree rm_rf rm_r remove_dir remove_entry remove_entry_secure remove_tree removeSync emptyDirSync \
    emptyDir rimraf rimrafSync remove_dir_all RemoveAll deltree secure_path del delSync";

/// Calls that remove one file, or with an option directories.
const FILES: &str = "unlink unlinkSync rmSync rmdirSync removedirs";

/// Calls that move or link a file, by their path or by their name alone, each with the program that does the same.
const MOVES: [(&str, &str, &str); 2] = [
    (
        "mv",
        "shutil.move os.rename os.renames os.replace rename fs.rename fs.promises.rename File.rename FileUtils.mv \
         FileUtils.move os.Rename Deno.rename",
        "renameSync moveSync",
    ),
    (
        "ln",
        "os.symlink os.link symlink fs.symlink File.symlink FileUtils.ln_s FileUtils.ln_sf os.Symlink Deno.symlink",
        "symlinkSync linkSync symlink_to",
    ),
];

/// The commands in texts of code that are followed.
const MAX_ROWS: usize = 32;

/// Pieces of code that remove many files, or a directory whose name is no argument.
const LOOPS: [&str; 10] = [
    "|File.delete ",
    "| File.delete ",
    "file delete -force",
    "unlink <",
    "unlink glob",
    "array_map('unlink'",
    "array_map(\"unlink\"",
    ".deleteDir()",
    "(delete-directory ",
    "call delete(",
];

/// The longest path of a call, with the spaces behind it, in bytes.
const MAX_PATH: usize = 512;

/// Returns a text of Perl with the rows of words of `qw(a b)` in quotes.
fn with_rows(text: &str) -> std::borrow::Cow<'_, str> {
    let mut found = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("qw") {
        let after_blanks = after.trim_start();
        let open = after_blanks.chars().next().filter(char::is_ascii_punctuation);
        let close = open.map(closing);
        let row =
            open.zip(close).and_then(|(open, close)| after_blanks.strip_prefix(open)?.split_once(close));
        found.push_str(before);
        match row.filter(|_| !before.ends_with(|it: char| it.is_alphanumeric() || "_$@%".contains(it))) {
            Some((words, behind)) => {
                let quoted =
                    words.split_ascii_whitespace().map(|it| format!("'{}'", it.replace('\'', "\\'")));
                found.push_str(&quoted.collect::<Vec<_>>().join(", "));
                rest = behind;
            }
            None => {
                found.push_str("qw");
                rest = after;
            }
        }
    }
    if found.is_empty() { text.into() } else { (found + rest).into() }
}

/// Returns the end of a text.
fn last_bytes(text: &str, count: usize) -> &str {
    (text.len().saturating_sub(count)..text.len()).find_map(|at| text.get(at..)).unwrap_or_default()
}

/// The calls that are looked at in one text.
const MAX_CALLS: usize = 400;

/// Returns the language of a program, such as `python3.12`, with its options.
fn language_of(program: &str) -> Option<(&'static str, &'static str, bool)> {
    let plain = program.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    // The version belongs to the name of `sqlite3`.
    let find = |name: &str| {
        let of = |(names, options, takes_first): &(&'static str, &'static str, bool)| {
            Some((names.split(' ').find(|it| *it == name)?, *options, *takes_first))
        };
        LANGUAGES.iter().find_map(of)
    };
    find(program).or_else(|| find(plain))
}

impl Machine<'_> {
    /// Follows the code that a program is given. Returns false if it runs no code.
    pub(crate) fn language(&mut self, name: &str, words: &[Arg], at: usize, feed: &Feed) -> bool {
        let Some((language, options, takes_first)) = language_of(name) else { return false };
        let args = words.get(1..).unwrap_or_default();
        if powershell::is_powershell(language)
            && let Some(script) = powershell::script(language, args)
        {
            self.code(language, &script, at);
            return true;
        }
        let (mut found, mut operands, mut rest) = (Vec::new(), Vec::new(), args);
        while let [first, more @ ..] = rest {
            rest = more;
            let text = first.text.as_str();
            let joined = options.split_ascii_whitespace().find_map(|it| {
                let value = text.strip_prefix(it)?;
                (it.len() == 2 || value.starts_with('='))
                    .then(|| value.trim_start_matches('='))
                    .filter(|it| !it.is_empty())
            });
            // `-ne` and `-pe` of Perl and Ruby, `-Atc` of psql.
            let is_code = is_in(options, text)
                || text.starts_with('-')
                    && !text.starts_with("--")
                    && options
                        .split(' ')
                        .any(|it| it.len() == 2 && text.ends_with(it.trim_start_matches('-')))
                    && text.len() < 6;
            if is_code {
                found.extend(more.first().cloned());
                rest = more.get(1..).unwrap_or_default();
            } else if let Some(joined) =
                joined.filter(|_| found.is_empty() && !matches!(language, "psql" | "mysql"))
            {
                found.push(Arg { text: joined.to_owned(), sort: first.sort });
            } else if !text.starts_with('-') || text == "-" {
                operands.push(first.clone());
            }
        }
        if takes_first && found.is_empty() {
            let at = operands.iter().position(|it| !it.text.contains('=') || it.text.contains(['{', '(']));
            found.extend(at.and_then(|at| operands.get(at)).cloned());
        }
        // `go run main.go`; its other commands run nothing of a text.
        if language == "go" && operands.drain(..operands.len().min(1)).all(|it| it.text != "run") {
            return true;
        }
        if language == "sqlite3" {
            found.extend(operands.get(1).cloned());
        }
        let reads = operands.is_empty()
            || operands.first().is_some_and(|it| it.text == "-" || it.text == "/dev/stdin")
            || is_in(CLIENTS, language);
        if found.is_empty() && reads {
            if let Some(text) = feed.text.as_deref() {
                found.push(Arg::plain(text));
            } else if !feed.from.is_empty() && operands.is_empty() && args.is_empty() {
                self.reading.miss(Unread::Script);
            }
        }
        if found.is_empty()
            && let Some(text) = operands.first().and_then(|it| self.file(&it.text))
        {
            found.push(Arg::plain(&*text));
        }
        for code in found {
            self.code(language, &code.text, at);
        }
        true
    }

    /// Reads code.
    pub(crate) fn code(&mut self, language: &str, text: &str, at: usize) {
        if !self.charge(text.len()) {
            return;
        }
        let language = language_of(language).map_or(language, |it| it.0).to_owned();
        if is_in(CLIENTS, &language) {
            // The clients start a shell at `\!` and `.shell`.
            let heads = ["\\!", ".shell", ".system", "system "];
            let lines = text.lines().map(str::trim_start);
            self.scripts(
                &language,
                lines.filter_map(|line| heads.iter().find_map(|it| line.strip_prefix(it))),
            );
            self.reading.code.push(Code { language, text: text.to_owned(), run: at });
            return;
        }
        self.reading.code.push(Code { language: language.clone(), text: text.to_owned(), run: at });
        if matches!(language.as_str(), "perl" | "ruby" | "php") {
            self.scripts(&language, text.split('`').skip(1).step_by(2));
        }
        if powershell::is_powershell(&language) {
            self.in_shell(&language, &powershell::as_shell(text), None, &Feed::default());
            return;
        }
        if language.contains("vim") || language == "ex" {
            self.scripts(&language, text.trim_start_matches(':').strip_prefix('!'));
        }
        if let Some(call) = LOOPS.iter().find(|it| text.contains(**it)) {
            let words = vec![Arg::plain("rm"), Arg::plain("-rf"), unknown("…")];
            let run = Run {
                words,
                call: Some((*call).trim_end_matches([' ', '(', '<']).to_owned()),
                ..Run::default()
            };
            self.via(&language, |it| it.push(run, &Feed::default()));
        }
        if matches!(language.as_str(), "tclsh" | "expect") {
            let lines = text.split(['\n', ';', '{']).map(str::trim_start);
            let heads = ["exec ", "spawn ", "system "];
            self.scripts(
                &language,
                lines.filter_map(|line| heads.iter().find_map(|it| line.strip_prefix(it))),
            );
        }
        // `print "rm x" | "sh"`
        if matches!(language.as_str(), "awk" | "gawk" | "mawk") {
            for (before, after) in text.match_indices('|').map(|(at, _)| text.split_at(at)) {
                let after = after.trim_start_matches(['|', '&', ' ']);
                let is_shell = ["\"sh\"", "\"bash\"", "\"/bin/sh\""].iter().any(|it| after.starts_with(it));
                let printed = before.trim_end().strip_suffix('"').and_then(|it| it.rsplit_once('"'));
                if let Some((_, script)) = printed.filter(|_| is_shell) {
                    self.in_shell(&language, script, None, &Feed::default());
                }
            }
        }
        let text = &*with_names(text);
        let text = &*if language == "perl" { with_rows(text) } else { text.into() };
        let aliases = Aliases::of(text, |it| [STARTS, TREES, FILES].iter().any(|list| is_in(list, it)));
        let (mut from, mut followed) = (0, Vec::new());
        for _ in 0..MAX_CALLS {
            let Some(open) = text.get(from..).and_then(|it| it.find(['(', '"', '\''])) else { break };
            let open = from + open;
            from = open + 1;
            let before = last_bytes(text.get(..open).unwrap_or_default(), MAX_PATH).trim_end();
            let is_call = text.get(open..).is_some_and(|it| it.starts_with('('));
            let in_name = |it: char| it.is_ascii_alphanumeric() || "_.:!?$".contains(it);
            let begin = before.rfind(|it| !in_name(it)).map_or(0, |at| {
                at + before.get(at..).and_then(|it| it.chars().next()).map_or(1, char::len_utf8)
            });
            let path = &*aliases.resolved(before.get(begin..).unwrap_or_default());
            let name = path.rsplit(['.', ':']).next().unwrap_or_default().trim_end_matches('!');
            // `getattr(os, 'sys' + 'tem')('rm x')`
            let is_found = is_call && before.ends_with(')') && before.contains("getattr(");
            let is_script = before.ends_with("do shell script") || is_found;
            if name.is_empty() && !is_found
                || !is_script && !is_call && !matches!(language.as_str(), "perl" | "ruby" | "awk" | "gawk")
            {
                continue;
            }
            let is_known = |list: &str| is_in(list, name);
            let runs = is_script
                || is_known(STARTS)
                    && (name != "execute" || path == "os.execute")
                    && (!name.starts_with("Command") || path.starts_with("exec.Command"))
                || matches!(name, "run" | "call")
                    && (path == "run" || path.contains("subprocess") || path.starts_with("sp."));
            let (tree, file) = (
                is_known(TREES),
                is_known(FILES)
                    || is_in(
                        "os.remove os.Remove File.delete FileUtils.rm fs.rm Deno.remove Deno.removeSync rm",
                        path,
                    )
                    || matches!(name, "unlink" | "rmdir"),
            );
            let moves = MOVES.iter().find(|(_, paths, names)| is_in(paths, path) || is_in(names, name));
            if let Some((program, ..)) = moves {
                let (inner, option) = (text.get(open + usize::from(is_call)..), program.strip_prefix("ln"));
                let paths = targets(text, inner.unwrap_or_default(), is_call);
                let words =
                    [Arg::plain(*program)].into_iter().chain(option.map(|_| Arg::plain("-s"))).chain(paths);
                let run = Run { words: words.collect(), call: Some(path.to_owned()), ..Run::default() };
                self.via(&language, |it| it.push(run, &Feed::default()));
                continue;
            }
            if !runs && !tree && !file {
                continue;
            }
            let mut arguments =
                arguments(text.get(open + usize::from(is_call)..).unwrap_or_default(), is_call);
            if !self.charge(text.len() / 8 + arguments.raw.len() * 8) {
                return;
            }
            if runs {
                arguments.fill(text);
                let given = match arguments.literals.is_empty() {
                    true => values(text, arguments.first.trim()).find(|it| !it.literals.is_empty()),
                    false => None,
                };
                let arguments = given.as_ref().unwrap_or(&arguments);
                followed
                    .push(arguments.literals.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" "));
                self.starts(&language, path, name, arguments);
                continue;
            }
            let recursive = tree || arguments.raw.contains("recursive");
            let target = target(text, before, &arguments);
            let flag = if recursive { "-rf" } else { "-f" };
            let words = vec![Arg::plain("rm"), Arg::plain(flag), target];
            let feed = Feed::default();
            self.via(&language, |it| {
                it.push(Run { words, call: Some(path.to_owned()), ..Run::default() }, &feed)
            });
        }
        for row in commands(text).into_iter().take(MAX_ROWS) {
            let line = row.join(" ");
            if followed.iter().any(|it| it.starts_with(&line)) || !self.charge(text.len() / 8 + line.len()) {
                continue;
            }
            let words: Vec<Arg> = row.iter().map(Arg::plain).collect();
            self.guess(|it| match words.as_slice() {
                [script] => drop(it.in_shell(&language, &script.text, None, &Feed::default())),
                _ => drop(it.via(&language, |it| it.call(Run { words, ..Run::default() }, &Feed::default()))),
            });
        }
    }

    /// Follows a call that starts a program.
    fn starts(&mut self, language: &str, path: &str, name: &str, arguments: &Arguments) {
        let Some(first) = arguments.literals.first() else { return };
        let is_list = arguments.literals.iter().any(|it| it.in_list);
        let is_row = arguments.literals.len() > 1
            && (matches!(name, "system" | "spawn" | "exec" | "capture2" | "capture3" | "execlp" | "execl")
                && matches!(language, "perl" | "ruby" | "python")
                || name.starts_with("Command"));
        if is_list && arguments.literals.iter().filter(|it| !it.in_list).count() < 2 || is_row {
            let sort = |plain| if plain { Sort::Plain } else { Sort::Unknown };
            let words =
                arguments.literals.iter().filter(|it| it.in_list || !is_list || it.text == first.text);
            let words: Vec<Arg> =
                words.map(|it| Arg { text: it.text.clone(), sort: sort(it.is_plain) }).collect();
            let run = Run { words, call: Some(path.to_owned()), ..Run::default() };
            self.via(language, |it| it.call(run, &Feed::default()));
        } else {
            let text = first.text.clone();
            self.in_shell(language, &text, None, &Feed::default());
        }
    }
}
