//! Programs, and the shells among them.

use super::machine::{Awaited, Feed, Machine, size};
use super::{Arg, Mode, Place, Redirection, Run, Sort, Unread, wrappers};
use crate::programs::{Guess, value_of};
use crate::{ShellWords, is_in};

/// Options of many interpreters whose value is code.
const EVALUATES: &str = "-e -c -E -eval --eval -exec --execute -ex --expression";

/// The lines for `xargs -I` that are followed.
const MAX_GIVEN: usize = 16;

impl Machine<'_> {
    /// Follows a program.
    pub(crate) fn program(&mut self, name: &str, run: Run, feed: &Feed) -> Option<String> {
        if let Some(wrapped) = wrappers::unwrapped(&run) {
            let texts: Vec<&str> = wrapped.words.iter().map(|it| it.text.as_str()).collect();
            let is_read = wrapped.assignments.is_empty() || crate::use_of(&texts) == crate::Use::Reads;
            for (name, value) in &wrapped.assignments {
                self.names_program(name, value, !is_read, feed);
            }
            let mut assignments = run.assignments;
            assignments.extend(wrapped.assignments.iter().cloned());
            if let Some(file) = &wrapped.output {
                let target = Arg::plain(file.as_str());
                let redirections = vec![Redirection { descriptor: 1, mode: Mode::Write, target }];
                self.push(Run { redirections, ..Run::default() }, feed);
            }
            let inner =
                Run { words: wrapped.words, assignments, redirections: run.redirections, ..Run::default() };
            let directory = wrapped.directory.map(Arg::plain);
            let is_of_shell = matches!(name, "command" | "builtin" | "time" | "noglob" | "nocorrect");
            return self.via(name, |it| {
                let before = (it.scope.directory.clone(), it.scope.left.clone());
                if directory.is_some() {
                    it.enter(directory.as_ref(), true);
                    it.scope.left.clear();
                }
                let output = it.with(&wrapped.assignments, |it| match wrapped.script {
                    Some(script) => it.script_fed(&script, feed),
                    None => it.call(inner, feed),
                });
                if directory.is_some() || !is_of_shell {
                    (it.scope.directory, it.scope.left) = before;
                }
                output
            });
        }
        // `git-push` is `git push`.
        if let Some(sub) = name.strip_prefix("git-") {
            let words = [Arg::plain("git"), Arg::plain(sub)].into_iter().chain(run.args().iter().cloned());
            return self.program("git", Run { words: words.collect(), ..run }, feed);
        }
        match name {
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "mksh" | "ash" | "fish" | "rbash" | "csh" | "tcsh" => {
                self.shell(name, run, feed)
            }
            "xargs" => self.xargs(run, feed),
            "find" | "fd" => self.find(run, feed),
            _ => {
                let before = self.reading.runs.len();
                if let Some(output) = self.inside(name, &run, feed) {
                    return output;
                }
                let is_read = self.reading.runs.len() > before;
                let output = self.output(name, &run, feed);
                let output = output.filter(|it| self.charge(it.len()));
                let script =
                    run.words.first().filter(|it| it.text.contains('/')).and_then(|it| self.file(&it.text));
                let words = run.words.clone();
                let at = self.push(run, feed);
                self.copied(name, &words, feed);
                self.makes(name, &words);
                if let Some(text) = script {
                    self.started(&text, words, at, feed);
                    return None;
                }
                if !self.language(name, &words, at, feed) && !is_read {
                    self.guesses(name, &words, at, feed);
                }
                output
            }
        }
    }

    /// Follows the words of a program that may be commands, or code.
    pub(crate) fn guesses(&mut self, name: &str, words: &[Arg], at: usize, feed: &Feed) {
        if self.is_guess {
            return;
        }
        let texts: Vec<&str> = words.iter().map(|it| it.text.as_str()).collect();
        for guess in super::programs::guesses(&texts) {
            let rest = match guess {
                Guess::Script(text) => {
                    self.guess(|it| drop(it.in_shell(name, text, None, &Feed::default())));
                    continue;
                }
                // `-Dexec.executable=rm -Dexec.args='-rf src'`
                Guess::Words(at, first) if texts.get(at) != Some(&first) => {
                    let values =
                        texts.iter().skip(at + 1).flat_map(|it| value_of(it).split_ascii_whitespace());
                    std::iter::once(first).chain(values).map(Arg::plain).collect()
                }
                Guess::Words(at, _) => words.get(at..).unwrap_or_default().to_vec(),
            };
            if !self.charge(size(&rest)) {
                return;
            }
            self.guess(|it| {
                it.via(name, |it| it.apart(|it| drop(it.call(Run { words: rest, ..Run::default() }, feed))))
            });
        }
        for (option, code) in texts.iter().zip(texts.iter().skip(1)) {
            if is_in(EVALUATES, option) && code.contains(['"', '\'']) {
                self.guess(|it| it.code(name, code, at));
            }
        }
    }

    /// Follows something that may be no command: what is not understood there is no news.
    pub(crate) fn guess(&mut self, follow: impl FnOnce(&mut Self)) {
        let (unread, is_guess) = (self.reading.unread.clone(), std::mem::replace(&mut self.is_guess, true));
        follow(self);
        (self.reading.unread, self.is_guess) = (unread, is_guess);
    }

    /// Follows what a program starts.
    pub(crate) fn via<T>(&mut self, name: &str, follow: impl FnOnce(&mut Self) -> T) -> T {
        self.via.push(name.to_owned());
        let found = follow(self);
        self.via.pop();
        found
    }

    /// Follows a file that is started as a program.
    fn started(&mut self, text: &str, words: Vec<Arg>, at: usize, feed: &Feed) {
        let line = text.lines().next().unwrap_or_default();
        let mut program =
            line.strip_prefix("#!").unwrap_or("sh").split_ascii_whitespace().map(crate::base_name);
        let program = program.find(|it| *it != "env" && !it.starts_with('-')).unwrap_or("sh").to_owned();
        if program.ends_with("sh") {
            self.in_shell(&program, text, Some(words), feed);
        } else {
            self.code(&program, text, at);
        }
    }

    /// Remembers the directories that a command makes.
    fn makes(&mut self, name: &str, words: &[Arg]) {
        let is_sure = !self.is_doubtful && !self.is_guess && self.place == Place::Here;
        if name == "mkdir" && is_sure {
            let named = crate::operands(words.get(1..).unwrap_or_default(), "-m --mode");
            named.into_iter().filter(|it| it.is_plain()).for_each(|it| self.make(&it.text));
        }
    }

    /// Remembers a directory that the line surely makes.
    pub(crate) fn make(&mut self, path: &str) {
        let path = self.path(path);
        if self.charge(path.len()) {
            self.made.insert(path);
        }
    }

    /// Remembers the text of a file that is copied or moved.
    fn copied(&mut self, name: &str, words: &[Arg], feed: &Feed) {
        let letters = if name == "install" { "mog" } else { "" };
        let options =
            wrappers::Options::of(words.get(1..).unwrap_or_default(), letters, "--mode --owner --group");
        let files: Vec<&Arg> = options.rest.iter().filter(|it| !it.text.starts_with('-')).collect();
        if let ("cp" | "mv" | "install", [from, to]) = (name, files.as_slice()) {
            let known = match crate::is_terminal(&from.text) {
                true => feed.text.clone().map(Some),
                false => self.files.get(&self.path(&from.text)).cloned(),
            };
            if let Some(text) = known {
                self.write(&to.text, text, false);
            }
        }
    }

    /// Follows a script in a shell of its own.
    pub(crate) fn in_shell(
        &mut self,
        name: &str,
        text: &str,
        words: Option<Vec<Arg>>,
        feed: &Feed,
    ) -> Option<String> {
        self.via(name, |it| {
            it.apart(|it| {
                if words.is_some() {
                    it.scope.parameters = words;
                }
                it.script_fed(text, feed)
            })
        })
    }

    /// Follows a shell: the script in its words, in a file, or in its input.
    fn shell(&mut self, name: &str, run: Run, feed: &Feed) -> Option<String> {
        let args = run.args().to_vec();
        let texts: Vec<&str> = args.iter().map(|it| it.text.as_str()).collect();
        let words = ShellWords::of(&texts);
        let operands = args.get(args.len() - words.operands.len()..).unwrap_or_default().to_vec();
        let starts = self.starts_with(name, &run);
        self.push(run, feed);
        let own = |operands: &[Arg]| Some([&[Arg::plain(name)], operands].concat());
        for file in starts {
            // The shell expands the value, and reads the file of that name.
            self.in_shell(name, &format!(". {file}"), own(&[]), &Feed::default());
        }
        if words.only_checks() {
            return None;
        }
        if words.letters.contains('c') || name == "fish" && texts.contains(&"--command") {
            let (script, rest) = operands.split_first()?;
            if script.sort == Sort::Input {
                self.reading.miss(Unread::Script);
                return None;
            }
            let mut parameters = rest.to_vec();
            if parameters.is_empty() {
                parameters.push(Arg::plain(name));
            }
            return self.in_shell(name, &script.text, Some(parameters), feed);
        }
        if !words.runs_input() {
            let file = operands.first()?;
            match self.file(&file.text) {
                Some(text) => return self.in_shell(name, &text, Some(operands.clone()), feed),
                None if file.text.starts_with("/dev/fd/") || file.sort == Sort::Input => {
                    self.reading.miss(Unread::Script);
                }
                None => {}
            }
            // A named pipe is written behind its reader.
            let path = self.path(&file.text);
            self.awaited.push((path, Awaited::Shell(name.to_owned())));
            return None;
        }
        // The rest of the script is the input of its commands.
        let given = Feed { is_given: true, ..Feed::default() };
        match feed.text.clone() {
            Some(text) => self.in_shell(name, &text, own(&operands), &given),
            None => {
                if !feed.from.is_empty() {
                    self.reading.miss(Unread::Script);
                    let sources = self.reading.runs.get(feed.from.clone()).unwrap_or_default();
                    let length = sources.iter().map(|it| size(&it.words)).sum();
                    if !self.charge(length) {
                        return None;
                    }
                    let sources = self.reading.runs.get(feed.from.clone()).unwrap_or_default();
                    let mut script: String = sources.iter().filter_map(super::outputs::pieces).collect();
                    script.push_str(
                        feed.before.as_deref().filter(|it| self.charge(it.len())).unwrap_or_default(),
                    );
                    self.in_shell(name, &script, own(&operands), &given);
                }
                None
            }
        }
    }

    /// Returns the values of the variables that name a script for the start of a shell.
    fn starts_with(&self, name: &str, run: &Run) -> Vec<String> {
        let variable = if name == "bash" { "BASH_ENV" } else { "ENV" };
        let own = run.assignments.iter().rfind(|(it, _)| it == variable).map(|(_, value)| value);
        let value = own.or_else(|| self.scope.variables.get(variable).and_then(|it| it.first()));
        let start = run.words.windows(2).find_map(|it| match it {
            [option, file] if matches!(option.text.trim_start_matches('-'), "rcfile" | "init-file") => {
                Some(file)
            }
            _ => None,
        });
        value.into_iter().chain(start).map(|it| it.text.clone()).filter(|it| !it.is_empty()).collect()
    }

    fn xargs(&mut self, run: Run, feed: &Feed) -> Option<String> {
        let options = wrappers::Options::of(
            run.args(),
            "aEILnPsd",
            "--arg-file --max-args --max-procs --delimiter --replace --max-lines",
        );
        let from_file = options.value('a', "--arg-file").map(|it| Feed {
            is_given: !crate::is_terminal(&it),
            text: self.file(&it),
            ..Feed::default()
        });
        let feed = from_file.as_ref().unwrap_or(feed);
        let replaced = options
            .value('I', "--replace")
            .or_else(|| options.read.iter().any(|(it, _)| *it == "-i").then(|| "{}".to_owned()));
        let mut words = options.rest.to_vec();
        if words.is_empty() {
            words.push(Arg::plain("echo"));
        }
        let text = feed.text.as_deref().filter(|it| it.len() < 4096);
        let replaced = replaced.filter(|it| !it.is_empty());
        // With `-I`, `-0` and `-d` a blank does not end one.
        let is_given_end = |it: &str| it.starts_with("--delimiter") || it == "--null" || it.starts_with("-d");
        let has_end = replaced.is_some()
            || options
                .read
                .iter()
                .any(|(it, _)| is_given_end(it) || !it.starts_with("--") && it.contains('0'));
        let is_end = |it: char| matches!(it, '\n' | '\0') || !has_end && it.is_whitespace();
        let given: Vec<Arg> = match text {
            Some(text) => {
                text.split(is_end).map(str::trim).filter(|it| !it.is_empty()).map(Arg::plain).collect()
            }
            None => vec![Arg { text: "{}".to_owned(), sort: Sort::Input }],
        };
        let feed = Feed { text: None, ..feed.clone() };
        let Some(replaced) = replaced else {
            let count =
                options.value('n', "--max-args").and_then(|it| it.trim_start_matches('=').parse().ok());
            let parts: Vec<&[Arg]> = given.chunks(count.unwrap_or(usize::MAX).max(1)).collect();
            if parts.len() > MAX_GIVEN {
                self.reading.miss(Unread::Values);
            }
            // Without input the command runs once.
            let none = [given.get(..0).unwrap_or_default()];
            let parts = if parts.is_empty() { none.as_slice() } else { &parts };
            for given in parts.iter().take(MAX_GIVEN) {
                let words = [words.as_slice(), given].concat();
                let inner = Run { words, redirections: run.redirections.clone(), ..Run::default() };
                self.via("xargs", |it| it.call(inner, &feed));
            }
            return None;
        };
        if given.len() > MAX_GIVEN {
            self.reading.miss(Unread::Values);
        }
        for value in given.into_iter().take(MAX_GIVEN) {
            let mut words = words.clone();
            for word in words.iter_mut().filter(|it| it.text.contains(&replaced)) {
                word.sort = if word.is_plain() { value.sort } else { word.sort };
                word.text = self.replaced(&word.text, &replaced, &value.text)?;
                // A script is read, with the text in its place.
                if word.sort == Sort::Input && word.text.contains(char::is_whitespace) {
                    word.sort = Sort::Plain;
                }
            }
            let inner = Run { words, redirections: run.redirections.clone(), ..Run::default() };
            self.via("xargs", |it| it.call(inner, &feed));
        }
        None
    }

    /// Returns a text with another one in the places of a third, unless that is too long.
    pub(crate) fn replaced(&mut self, text: &str, from: &str, to: &str) -> Option<String> {
        let count = text.matches(from).count();
        self.charge(text.len() + count.saturating_mul(to.len())).then(|| text.replace(from, to))
    }

    /// Follows `find` and the programs that it starts.
    fn find(&mut self, run: Run, feed: &Feed) -> Option<String> {
        let args = run.args().to_vec();
        let name = run.program().unwrap_or("find").to_owned();
        let at = self.push(run, feed);
        let mut rest = args.as_slice();
        let is_fd = name == "fd";
        let starts = |it: &Arg| {
            crate::executes(&it.text)
                || is_fd && matches!(it.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch")
        };
        while let Some(place) = rest.iter().position(starts) {
            rest = rest.get(place + 1..).unwrap_or_default();
            let end = rest.iter().position(|it| matches!(it.text.as_str(), ";" | "+")).unwrap_or(rest.len());
            let mut words = rest.get(..end).unwrap_or_default().to_vec();
            rest = rest.get(end..).unwrap_or_default();
            let has_place = words.iter().any(|it| it.text.contains("{}"));
            for word in words.iter_mut().filter(|it| it.text.contains("{}")) {
                let is_script = word.text.contains(char::is_whitespace);
                word.sort = if is_script { Sort::Plain } else { Sort::Input };
            }
            if is_fd && !has_place {
                words.push(Arg { text: "{}".to_owned(), sort: Sort::Input });
            }
            if words.is_empty() {
                continue;
            }
            let feed = Feed { from: at..at + 1, is_given: feed.is_given, ..Feed::default() };
            self.via(&name, |it| it.call(Run { words, ..Run::default() }, &feed));
        }
        None
    }

    /// Follows commands in another place.
    pub(crate) fn at<T>(&mut self, place: Place, follow: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.place, place);
        let found = self.apart(|it| {
            it.scope.directory = Some("~".to_owned());
            follow(it)
        });
        self.place = before;
        found
    }
}
