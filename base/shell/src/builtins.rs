//! Simple commands, and the builtins that change a shell.

use std::rc::Rc;
use std::sync::Arc;

use super::machine::{Feed, Machine, SIZE, size, unknown};
use super::tree::{Assign, Mode, Node, Part, Redirect, Stage, Word};
use super::wrappers::{is_in, quoted};
use super::{Arg, Run, Sort, Unread, powershell};

/// The programs that start each other in one command.
const MAX_VIA: usize = 16;

/// Variables with the command that a program or the shell starts.
const PROGRAMS: &str = "PAGER MANPAGER GIT_PAGER SYSTEMD_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR SUDO_EDITOR \
    FCEDIT GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_ASKPASS SSH_ASKPASS RSYNC_RSH \
    LESSOPEN LESSCLOSE BROWSER PROMPT_COMMAND";

/// Variables with options, each with its program.
const OPTIONS: [(&str, &str); 4] =
    [("TAR_OPTIONS", "tar"), ("MAKEFLAGS", "make"), ("PERL5OPT", "perl"), ("PERL5DB", "perl")];

/// Builtins that evaluate the index of a name in their words.
const INDEXES: &str =
    "let test [ printf read unset declare typeset export local readonly mapfile readarray wait";

/// Builtins that change the shell whatever their words are.
const BUILTINS: &str = "cd pushd chdir popd export declare typeset local readonly unset shift mapfile readarray read alias \
    hash eval";

/// Returns an element of an array without its place: `[0]=x`.
fn without_index(element: Arg) -> Arg {
    let value = element.text.strip_prefix('[').and_then(|it| it.split_once("]="));
    value.map(|(_, value)| Arg::plain(value)).unwrap_or(element)
}

/// Returns true for `${x:+y}`, which is nothing if the variable is not set.
fn is_alternative(part: &Part) -> bool {
    matches!(part, Part::Parameter(it, _) if it.operator.ends_with('+'))
}

/// Returns a command as the line has it.
fn whole(assignments: &[(String, Arg)], words: &[Arg]) -> Arc<[Arg]> {
    let set =
        |(name, value): &(String, Arg)| Arg { text: format!("{name}={}", value.text), sort: value.sort };
    assignments.iter().map(set).chain(words.iter().cloned()).collect()
}

impl Machine<'_> {
    /// Follows a simple command. Returns its output if that is known.
    pub(crate) fn simple(
        &mut self,
        assigns: &[Assign],
        words: &[Word],
        redirects: &[Redirect],
        feed: &Feed,
    ) -> Option<String> {
        if !self.step() {
            return None;
        }
        let before = self.reading.runs.len();
        let mut assignments = Vec::new();
        for assign in assigns {
            if let Some(index) = &assign.index {
                let text = self.join(index).text;
                self.evaluate(&text);
            }
            let values: Vec<Arg> = match assign.values.as_slice() {
                [value] if !assign.is_array => vec![self.join(value)],
                values => values.iter().flat_map(|it| self.expand(it)).map(without_index).collect(),
            };
            if words.is_empty() || assign.is_array {
                // The commands in its substitutions set a variable.
                if self.reading.runs.len() > before {
                    assignments.push((assign.name.clone(), values.first().cloned().unwrap_or_default()));
                } else if let [value] = values.as_slice() {
                    self.names_program(&assign.name, value, false, feed);
                }
                self.set(&assign.name, values, assign.appends, assign.is_array);
            } else {
                assignments.push((assign.name.clone(), values.into_iter().next().unwrap_or_default()));
            }
        }
        let parts = words;
        let declares = parts.first().and_then(Word::bare).is_some_and(super::is_declaration);
        let is_assignment =
            |it: &Word| matches!(it.parts.first(), Some(Part::Bare(it)) if crate::assignment(it).is_some());
        let words = words.iter().flat_map(|it| match declares && is_assignment(it) {
            true => vec![self.join(it)],
            false => self.expand(it),
        });
        let words: Vec<Arg> = words.collect();
        let redirections = self.redirections(redirects);
        let inner = before..self.reading.runs.len();
        let whole = whole(&assignments, &words);
        self.charge(size(&whole));
        let around = (std::mem::replace(&mut self.whole, whole), std::mem::replace(&mut self.inner, inner));
        let texts: Vec<&str> = words.iter().map(|it| it.text.as_str()).collect();
        let is_read =
            assignments.is_empty() || words.is_empty() || crate::use_of(&texts) == crate::Use::Reads;
        for (name, value) in &assignments {
            self.names_program(name, value, !is_read, feed);
        }
        self.without_unknown(parts, &words, feed);
        let set = if words.is_empty() { Vec::new() } else { assignments.clone() };
        let run = Run { words, assignments, redirections, ..Run::default() };
        let output = self.with(&set, |it| it.expanded(run, feed));
        (self.whole, self.inner) = around;
        output
    }

    /// Follows a command with its words and redirections.
    fn expanded(&mut self, run: Run, feed: &Feed) -> Option<String> {
        let redirections = run.redirections.clone();
        if run.words.is_empty() {
            if !redirections.is_empty() || !run.assignments.is_empty() {
                self.push(run, feed);
                self.written(&redirections, Some(String::new()));
            }
            return Some(String::new());
        }
        // Those of `exec` alone stay open, and nothing reads the others later.
        for redirection in redirections.iter().filter(|it| it.descriptor > 2 && it.mode != Mode::Copy) {
            let mut path = redirection.target.text.clone();
            if redirection.mode == Mode::Text {
                path = format!("/dev/fd/{}", redirection.descriptor);
                self.files.insert(path.clone(), Some(redirection.target.text.as_str().into()));
            }
            self.descriptors.insert(redirection.descriptor, path);
        }
        let fed = if redirections.is_empty() { None } else { Some(self.fed(&redirections, feed)) };
        let feed = fed.as_ref().unwrap_or(feed);
        let output = self.call(run, feed);
        self.written(&redirections, output)
    }

    /// Follows a command whose program begins with variables that nobody set, as if they were empty: `$SUDO rm x` and
    /// `${x}rm y`.
    fn without_unknown(&mut self, parts: &[Word], words: &[Arg], feed: &Feed) {
        let is_unknown = |it: &Arg| it.sort == Sort::Unknown && !it.text.contains(['(', '`']);
        let mut other = Vec::new();
        // An unknown variable is one word.
        let is_empty = |it: &Word| it.parts.iter().any(is_alternative);
        let leading = words.iter().zip(parts).take_while(|(word, part)| is_unknown(word) || is_empty(part));
        let mut count = 0;
        for (_, part) in leading {
            self.is_empty = true;
            other = self.expand(part);
            self.is_empty = false;
            count += 1;
            if !other.is_empty() {
                break;
            }
        }
        other.extend(words.iter().skip(count).cloned());
        let is_other = other.first() != words.first();
        if is_other && other.first().is_some_and(|it| it.is_plain() && !it.text.is_empty()) {
            self.call(Run { words: other, ..Run::default() }, feed);
        }
    }

    /// Follows the command in a variable that names a program, such as `PAGER`, or that looks like one and is given to a
    /// program. One word is a program without arguments, and does nothing by itself.
    pub(crate) fn names_program(&mut self, name: &str, value: &Arg, is_given: bool, feed: &Feed) {
        let text = value.text.as_str();
        if matches!(name, "PS0" | "PS1" | "PS2" | "PS4") {
            self.substitutions(text);
        }
        let is_command = text.trim().contains(char::is_whitespace) && value.sort != Sort::Unknown;
        if is_command && is_in(PROGRAMS, name) {
            self.in_shell(name, text, None, feed);
        } else if is_given && super::programs::is_command(text) {
            self.guess(|it| drop(it.in_shell(name, text, None, feed)));
        } else if let Some((_, program)) = OPTIONS.iter().find(|it| it.0 == name && is_command) {
            match *program {
                // The command follows.
                "perl" => self.guess(|it| it.code(program, text, it.reading.runs.len())),
                _ => drop(self.in_shell(name, &format!("{program} {text}"), None, feed)),
            }
        }
    }

    fn set(&mut self, name: &str, values: Vec<Arg>, appends: bool, is_array: bool) {
        let mut values = values;
        if appends {
            let before = self.variables().remove(name).unwrap_or_default();
            self.charge(size(&before));
            values = match (before.as_slice(), values.as_slice()) {
                _ if is_array => before.into_iter().chain(values).collect(),
                ([before], [value]) if before.text.len() < 1 << 16 => {
                    let sort = if before.is_plain() { value.sort } else { before.sort };
                    vec![Arg { text: format!("{}{}", before.text, value.text), sort }]
                }
                _ => values,
            };
        }
        self.assign(name, values);
    }

    /// Sets a variable, unless there was too much work.
    pub(crate) fn assign(&mut self, name: &str, values: Vec<Arg>) {
        let name = &*self.referred(name);
        if self.charge(name.len() + size(&values)) {
            self.variables().insert(name.to_owned(), values);
        }
    }

    /// Follows a command whose words are known.
    pub(crate) fn call(&mut self, run: Run, feed: &Feed) -> Option<String> {
        let in_powershell = self.via.iter().any(|it| powershell::is_powershell(it));
        let run = powershell::translated(&run, in_powershell, feed.is_given).unwrap_or(run);
        let Some(name) = run.program().map(str::to_owned) else {
            self.reading.miss(Unread::Program);
            // `sudo $X rm`: the variable may be empty.
            let unknown = run.words.iter().take_while(|it| it.sort == Sort::Unknown).count();
            let rest = run.words.get(unknown..).unwrap_or_default();
            if unknown > 0 && !rest.is_empty() && !self.via.is_empty() && self.charge(size(rest)) {
                self.call(Run { words: rest.to_vec(), ..Run::default() }, feed);
            }
            let pattern = run.words.first().filter(|it| it.sort == Sort::Pattern);
            let pattern = pattern.map_or("", |it| crate::base_name(&it.text));
            for name in super::programs::named_by(pattern) {
                let words = std::iter::once(Arg::plain(name)).chain(run.args().iter().cloned()).collect();
                self.call(Run { words, ..Run::default() }, feed);
            }
            self.push(run, feed);
            return None;
        };
        if self.via.len() >= MAX_VIA {
            self.reading.miss(Unread::Limit);
            return None;
        }
        // A file system may ignore case.
        let lower = name.to_ascii_lowercase();
        if lower != name && super::programs::named_by(&lower).next().is_some() {
            let words = std::iter::once(Arg::plain(&lower)).chain(run.args().iter().cloned()).collect();
            self.call(Run { words, ..run.clone() }, feed);
        }
        let first = run.words.first().map_or("", |it| it.text.as_str());
        let mut bodies = self.functions.get(first).cloned().unwrap_or_default();
        bodies.retain(|it| !self.is_running(it));
        // Within itself it is the program.
        let texts = if first.contains('/') { None } else { self.aliases.remove(first) };
        if bodies.is_empty() && texts.is_none() {
            return self.own(&name, run, feed);
        }
        let count = self.calls.len();
        self.calls.extend(bodies.iter().map(|it| (Rc::clone(it), 0)));
        // A wrapper, another shell, or this one if the definition does not count, starts the program of this name.
        let is_own = texts.is_none() && self.via.is_empty() && self.scope.functions.contains(first);
        let outer = self.copied_scope();
        let is_guess = self.is_guess;
        self.is_guess |= self.via.is_empty();
        if !is_own {
            self.doubt(true, |it| it.own(&name, run.clone(), feed));
        }
        self.is_guess = is_guess;
        let mut program = std::mem::replace(&mut self.scope, outer);
        let is_set = !Rc::ptr_eq(&program.variables, &self.scope.variables);
        program.variables = if is_set { program.variables } else { Rc::default() };
        let moved = program.directory.clone().filter(|it| Some(it) != self.scope.directory.as_ref());
        let mut output = None;
        for body in &bodies {
            output = self.function(body, run.words.clone(), feed);
        }
        for text in texts.iter().flatten() {
            let words = run.args().iter().map(|it| quoted(&it.text));
            let line: String = std::iter::once(text.clone()).chain(words).collect::<Vec<_>>().join(" ");
            output = self.script_fed(&line, feed);
        }
        self.calls.truncate(count);
        if let Some(texts) = texts {
            self.aliases.insert(first.to_owned(), texts);
        }
        if is_set {
            self.meet_values(&program);
        }
        if moved != self.scope.directory {
            self.may_be_in(moved);
        }
        output
    }

    /// Follows the builtin or the program of a name.
    fn own(&mut self, name: &str, run: Run, feed: &Feed) -> Option<String> {
        let is_path = run.words.first().is_some_and(|it| it.text.contains('/'));
        match if is_path { None } else { self.builtin(name, &run, feed) } {
            Some(output) => output,
            None => self.program(name, run, feed),
        }
    }

    /// Returns true if a function is running, and counts how often it starts itself. Another body under the same name is
    /// another function.
    fn is_running(&mut self, body: &Rc<Stage>) -> bool {
        let Some((_, count)) = self.calls.iter_mut().find(|(it, _)| Rc::ptr_eq(it, body)) else {
            return false;
        };
        *count += 1;
        let is_many =
            |list: &super::tree::List| list.pipelines.iter().any(|it| it.background || it.stages.len() > 1);
        let forks = matches!(&body.node, Node::Group(list) | Node::Subshell(list) if is_many(list));
        self.reading.multiplies |= forks && *count > 1;
        true
    }

    fn function(&mut self, body: &Rc<Stage>, words: Vec<Arg>, feed: &Feed) -> Option<String> {
        let (parameters, locals) = (self.scope.parameters.replace(words), self.locals.len());
        let list = super::tree::List {
            pipelines: vec![super::tree::Pipeline {
                stages: vec![Stage::clone(body)],
                ..super::tree::Pipeline::default()
            }],
        };
        let output = self.list(&list, feed);
        self.scope.parameters = parameters;
        let earlier = self.locals.split_off(locals.min(self.locals.len()));
        self.restore(earlier);
        output
    }

    /// Follows a builtin. Returns `None` if the command is not one that changes the shell.
    fn builtin(&mut self, name: &str, run: &Run, feed: &Feed) -> Option<Option<String>> {
        let args = run.args();
        if is_in(INDEXES, name) {
            for arg in args {
                let is_element = arg.text.split_once('[').is_some_and(|(it, _)| super::is_name(it));
                if name == "let" {
                    self.evaluate(&arg.text);
                }
                if is_element || name == "let" {
                    self.index(&arg.text);
                }
            }
        }
        if is_in(BUILTINS, name) {
            self.push(run.clone(), feed);
        }
        match name {
            "cd" | "pushd" | "chdir" => {
                let is_option = |it: &&Arg| it.text.starts_with(['-', '+']) && it.text != "-";
                let is_odd =
                    args.iter().any(|it| is_option(&it) && !matches!(it.text.as_str(), "--" | "-P" | "-L"));
                let targets: Vec<&Arg> = args.iter().filter(|it| !is_option(it)).collect();
                // Without a directory it takes one from its list, and with `-n` it goes nowhere.
                if name == "pushd" && (is_odd || targets.is_empty()) {
                    self.wander();
                } else {
                    self.enter(targets.first().copied(), !is_odd && targets.len() < 2);
                }
            }
            "popd" => {
                self.wander();
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                let has = |letter| args.iter().any(|it| it.text.starts_with('-') && it.text.contains(letter));
                let is_local = !self.calls.is_empty() && !matches!(name, "export" | "readonly") && !has('g');
                for arg in args.iter().filter(|it| !it.text.starts_with('-')) {
                    let name = crate::assignment(&arg.text).map_or(arg.text.as_str(), |(name, _)| name);
                    let earlier = self.scope.variables.get(name).filter(|_| is_local).cloned();
                    if is_local && self.charge(SIZE + size(earlier.as_deref().unwrap_or_default())) {
                        self.locals.push((name.to_owned(), earlier));
                    }
                    if let Some((name, value)) = crate::assignment(&arg.text) {
                        let value = Arg { text: value.to_owned(), sort: arg.sort };
                        if has('i') {
                            self.evaluate(&value.text);
                        }
                        self.names_program(name, &value, true, feed);
                        if has('n') {
                            self.index(&value.text);
                        }
                        // `&` is in no name.
                        let name = if has('n') { format!("&{name}") } else { name.to_owned() };
                        self.assign(&name, vec![value]);
                    }
                }
            }
            "unset" => {
                for arg in args.iter().filter(|it| !it.text.starts_with('-')) {
                    Rc::make_mut(&mut self.scope.functions).remove(&arg.text);
                    self.assign(&arg.text, vec![Arg::plain("")]);
                }
            }
            "set" => {
                // The name is one that no variable has.
                if let Some(first) =
                    args.first().filter(|it| it.text.contains('e') && !it.text.starts_with("--"))
                {
                    self.assign("-e", vec![Arg::plain(if first.text.starts_with('-') { "on" } else { "" })]);
                }
                let at = args.iter().position(|it| it.text == "--")?;
                self.push(run.clone(), feed);
                let mut parameters = args.get(at..).unwrap_or_default().to_vec();
                parameters.iter_mut().take(1).for_each(|it| it.text = "sh".to_owned());
                self.scope.parameters = Some(parameters);
            }
            "shift" => {
                let count = args.first().and_then(|it| it.text.parse::<usize>().ok()).unwrap_or(1);
                let moved = self.scope.parameters.as_ref().map_or(0, |it| size_of_val(it.as_slice()));
                if self.charge(moved)
                    && let Some(parameters) = &mut self.scope.parameters
                {
                    let end = parameters.len().min(count + 1);
                    parameters.drain(1.min(end)..end);
                }
            }
            "mapfile" | "readarray" if args.iter().any(|it| it.text.starts_with("-C")) => {
                let script = super::wrappers::Options::of(args, "dnOsuCc", "").value('C', "");
                return Some(self.script_fed(&script.unwrap_or_default(), feed));
            }
            "mapfile" | "readarray"
                if feed.text.as_ref().is_some_and(|it| self.charge(it.len() + it.lines().count() * SIZE)) =>
            {
                let name = args.iter().rev().map(|it| it.text.as_str()).find(|it| super::is_name(it));
                let lines = feed.text.as_deref().unwrap_or_default().lines().map(Arg::plain).collect();
                self.variables().insert(name.unwrap_or("MAPFILE").to_owned(), lines);
            }
            "read" | "mapfile" | "readarray" => {
                // Each line of a loop's input is a value.
                if let (Some(text), "read", Some(last)) = (feed.text.as_deref(), name, args.last()) {
                    text.lines().for_each(|it| self.may_be(&last.text, it));
                }
                let known = feed.text.as_deref().filter(|it| it.lines().nth(1).is_none() && name == "read");
                let is_list = args.iter().any(|it| it.text.starts_with('-') && it.text.contains('a'));
                let names = args.iter().filter(|it| super::is_name(&it.text));
                let own = run.assignments.iter().find(|(it, _)| it == "IFS").map(|(_, it)| it.text.clone());
                let separators = own.unwrap_or_else(|| self.separators());
                let is_end = |it: char| it.is_whitespace() || separators.contains(it);
                for arg in names {
                    let values = match known.filter(|it| self.charge(it.len())) {
                        Some(text) if is_list => {
                            text.split(is_end).filter(|it| !it.is_empty()).map(Arg::plain).collect()
                        }
                        Some(text) => vec![Arg::plain(text.trim_end_matches('\n'))],
                        None => vec![Arg { text: format!("${}", arg.text), sort: Sort::Input }],
                    };
                    self.assign(&arg.text, values);
                }
            }
            "alias" => {
                for arg in args {
                    if let Some((name, value)) = arg.text.split_once('=') {
                        self.aliases.entry(name.to_owned()).or_default().insert(value.to_owned());
                    }
                }
            }
            // `hash -p FILE NAME`
            "hash" => {
                if let [option, file, name, ..] = args
                    && option.text == "-p"
                {
                    self.aliases.entry(name.text.clone()).or_default().insert(file.text.clone());
                }
            }
            "eval" => {
                let words = args.iter().map(|it| it.text.as_str());
                let line = words.skip_while(|it| *it == "--").collect::<Vec<_>>().join(" ");
                return Some(self.script_within(&line, feed));
            }
            "trap" => {
                let text = args.iter().find(|it| !it.text.starts_with('-'))?;
                let text = text.text.clone();
                self.push(run.clone(), feed);
                // With the values that the variables have then.
                let at_end = |it: &Arg| matches!(it.text.as_str(), "EXIT" | "0" | "SIGEXIT");
                if args.iter().skip(1).any(at_end) {
                    self.traps.push(text);
                } else {
                    self.script(&text);
                }
            }
            "source" | "." => {
                let text = args.first().and_then(|it| match crate::is_terminal(&it.text) {
                    true => feed.text.clone(),
                    false => self.file(&it.text),
                });
                if text.is_none() && args.first().is_some_and(|it| it.text.starts_with("/dev/fd/")) {
                    self.reading.miss(Unread::Script);
                }
                let text = text?;
                self.push(run.clone(), feed);
                return Some(self.script_within(&text, feed));
            }
            "printf" if args.first().is_some_and(|it| it.text == "-v") => {
                self.push(run.clone(), feed);
                let words = args.get(2..).unwrap_or_default();
                let value = super::outputs::printf(words).map_or_else(|| unknown("$(printf)"), Arg::plain);
                let name = args.get(1).map(|it| it.text.clone()).unwrap_or_default();
                self.assign(&name, vec![value]);
            }
            _ => return None,
        }
        Some(Some(String::new()))
    }

    /// Goes to a directory that is not known.
    fn wander(&mut self) {
        let before = self.scope.directory.take();
        self.may_be_in(before);
    }

    /// Changes the directory, which may fail unless the words are usual and the directory is surely there.
    pub(crate) fn enter(&mut self, target: Option<&Arg>, is_usual: bool) {
        let before = self.scope.directory.clone();
        // Each of its names is looked at.
        if !self.charge(before.as_ref().map_or(0, |it| it.len() * 8)) {
            return;
        }
        let is_back = target.is_some_and(|it| it.text == "-");
        self.scope.directory = match target {
            None => Some(self.known.home.unwrap_or("~").to_owned()),
            Some(_) if is_back => {
                let before = self.scope.variables.get("OLDPWD").and_then(|it| it.first());
                before.filter(|it| it.is_plain()).map(|it| it.text.clone())
            }
            Some(arg) if arg.is_plain() => match &before {
                None if !arg.text.starts_with(['/', '~']) => None,
                _ => Some(self.path(&arg.text)),
            },
            Some(arg) => {
                let place = self.path(&arg.text);
                self.may_be_in(Some(place));
                None
            }
        };
        let is_there = self.scope.directory.as_deref().is_some_and(|now| {
            let (below, before) = (format!("{now}/"), before.as_deref().unwrap_or_default());
            let made = self.made.range(below.clone()..).next();
            is_back
                || matches!(now, "/" | "/tmp" | "/var/tmp" | "~")
                || before == now
                || self.made.contains(now)
                || made.into_iter().map(String::as_str).chain([before]).any(|it| it.starts_with(&below))
        });
        if !(is_usual && (is_there || target.is_none())) {
            self.may_have_left(before.clone());
        }
        let before = before.map_or_else(|| unknown("$OLDPWD"), Arg::plain);
        self.variables().insert("OLDPWD".to_owned(), vec![before]);
    }

    /// Returns a path from the directory of the line, without `.` and `..` as far as they can be left out.
    pub(crate) fn path(&self, path: &str) -> String {
        super::join_path(self.scope.directory.as_deref().unwrap_or("$PWD"), path)
    }
}
