//! The arguments that words make.

use std::borrow::Cow;
use std::rc::Rc;

use super::machine::{Awaited, Feed, Machine, SIZE, size, unknown};
use super::tree::{Parameter, Part, Word};
use super::wrappers::Options;
use super::{Arg, Sort};

/// The longest text of a word.
const MAX_WORD: usize = 1 << 18;

/// Stands for a part of a word while its braces are read: the last private plane has no letters of its own.
const PLACE: u32 = 0x10_0000;

/// The arguments that are being made of a word.
#[derive(Default)]
struct Making {
    done: Vec<Arg>,
    text: String,
    sort: Sort,
    /// True if there is an argument, even an empty one.
    begun: bool,
    /// The letters of `IFS` that end a word of a value, beside blanks.
    separators: String,
    /// The bytes that were copied.
    work: usize,
}

impl Making {
    fn add(&mut self, text: &str, sort: Sort) {
        self.work += text.len();
        if self.text.len() + text.len() <= MAX_WORD {
            self.text.push_str(text);
        } else {
            self.sort = Sort::Unknown;
        }
        self.sort = match (self.sort, sort) {
            (Sort::Unknown, _) | (_, Sort::Unknown) => Sort::Unknown,
            (Sort::Input, _) | (_, Sort::Input) => Sort::Input,
            (Sort::Pattern, _) | (_, Sort::Pattern) => Sort::Pattern,
            _ => Sort::Plain,
        };
        self.begun = true;
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.begun) {
            let (text, sort) = (std::mem::take(&mut self.text), std::mem::take(&mut self.sort));
            self.work += SIZE;
            self.done.push(Arg { text, sort });
        }
    }

    /// Adds a value. Without quotes its spaces separate arguments.
    fn value(&mut self, value: &Arg, is_quoted: bool) {
        if is_quoted {
            return self.add(&value.text, value.sort);
        }
        let separators = std::mem::take(&mut self.separators);
        let is_end = |it: char| it.is_ascii_whitespace() || separators.contains(it);
        if !value.text.contains(is_end) || matches!(value.sort, Sort::Unknown | Sort::Input) {
            if !value.text.is_empty() {
                self.add(&value.text, globbed(value));
            }
            self.separators = separators;
            return;
        }
        if value.text.starts_with(is_end) {
            self.end();
        }
        let mut is_first = true;
        for piece in value.text.split(is_end).filter(|it| !it.is_empty()) {
            if !is_first {
                self.end();
            }
            is_first = false;
            self.add(piece, globbed(&Arg { text: piece.to_owned(), sort: value.sort }));
        }
        if value.text.ends_with(is_end) {
            self.end();
        }
        self.separators = separators;
    }
}

/// Returns true for a pattern: a set begins with `[` and has a `]` behind it.
fn is_glob(text: &str) -> bool {
    let is_set = |(_, set): (&str, &str)| set.contains(']');
    let is_group = |(before, _): (&str, &str)| before.ends_with(['@', '+', '!']);
    text.contains(['*', '?'])
        || text.split_once('[').is_some_and(is_set)
        || text.split_once('(').is_some_and(is_group)
}

fn globbed(value: &Arg) -> Sort {
    if value.is_plain() && is_glob(&value.text) { Sort::Pattern } else { value.sort }
}

impl Machine<'_> {
    /// Returns the arguments that a word makes.
    pub(crate) fn expand(&mut self, word: &Word) -> Vec<Arg> {
        let mut found = Vec::with_capacity(1);
        match word.parts.as_slice() {
            [Part::Bare(text)] if !text.contains(['~', '{', '*', '?', '[', '(']) => {
                self.charge(text.len() + SIZE);
                found.push(Arg::plain(text.as_str()));
            }
            [Part::Quoted(text)] => {
                self.charge(text.len() + SIZE);
                found.push(Arg::plain(text.as_str()));
            }
            parts if parts.iter().any(|it| matches!(it, Part::Bare(text) if text.contains('{'))) => {
                for parts in braced(parts) {
                    self.fields(&parts, &mut found);
                }
            }
            parts => self.fields(parts, &mut found),
        }
        found
    }

    fn fields(&mut self, parts: &[Part], found: &mut Vec<Arg>) {
        let mut making = Making { separators: self.separators(), ..Making::default() };
        self.parts(parts, &mut making, false);
        making.end();
        self.charge(making.work);
        found.append(&mut making.done);
    }

    /// Returns the letters that end a word of a value, beside blanks. Whether `IFS` is still set is not always known.
    pub(crate) fn separators(&self) -> String {
        let value = self.scope.variables.get("IFS").and_then(|it| it.first());
        value.filter(|it| it.is_plain()).map(|it| it.text.clone()).unwrap_or_default()
    }

    /// Returns the one argument that a word makes where there is no splitting.
    pub(crate) fn join(&mut self, word: &Word) -> Arg {
        let mut making = Making::default();
        self.parts(&word.parts, &mut making, true);
        making.begun = true;
        making.end();
        self.charge(making.work);
        making.done.pop().unwrap_or_default()
    }

    fn parts(&mut self, parts: &[Part], making: &mut Making, is_joined: bool) {
        // A set may have quotes in it: `["r"]m`.
        let last_set = parts.iter().rposition(|it| matches!(it, Part::Bare(text) if text.contains(']')));
        for (at, part) in parts.iter().enumerate() {
            if !self.charge(std::mem::take(&mut making.work)) {
                making.add("", Sort::Unknown);
                break;
            }
            match part {
                Part::Bare(text) => {
                    let home = text
                        .strip_prefix('~')
                        .filter(|it| at == 0 && (it.starts_with('/') || it.is_empty() && parts.len() == 1));
                    let is_pattern = is_glob(text) || text.contains('[') && last_set > Some(at);
                    let sort = if is_pattern && !is_joined { Sort::Pattern } else { Sort::Plain };
                    let old = text
                        .strip_prefix("~-")
                        .filter(|it| at == 0 && (it.is_empty() || it.starts_with('/')));
                    match home {
                        _ if let Some(rest) = old => {
                            let place = self.variable("OLDPWD", None).and_then(|it| it.into_iter().next());
                            making.value(&place.unwrap_or_else(|| unknown("$OLDPWD")), true);
                            making.add(rest, sort);
                        }
                        Some(rest) => {
                            making.add(self.known.home.unwrap_or("~"), sort);
                            making.add(rest, sort);
                        }
                        None => making.add(text, sort),
                    }
                }
                Part::Quoted(text) => making.add(text, Sort::Plain),
                Part::Parameter(parameter, is_quoted) => {
                    let is_quoted = *is_quoted || is_joined;
                    let values = self.parameter(parameter);
                    let is_list =
                        matches!(parameter.name.as_str(), "@" | "*") || parameter.name.ends_with(']');
                    if is_quoted && !is_list {
                        making.begun = true;
                    }
                    let next = parts.get(at + 1);
                    for (at, value) in values.iter().enumerate() {
                        let braced = next.and_then(|next| with_braces(value, next));
                        let value = braced.as_ref().unwrap_or(value);
                        if at > 0 {
                            if is_joined { making.add(" ", Sort::Plain) } else { making.end() }
                        }
                        making.value(value, is_quoted);
                    }
                }
                Part::Substitution(list, raw, is_quoted) => {
                    let before = self.reading.runs.len();
                    let feed = self.input.clone();
                    let output = self.apart(|it| it.list(list, &feed));
                    let value = match output {
                        Some(text) => Arg::plain(text.trim_end_matches('\n')),
                        None => self.printed(before).unwrap_or_else(|| unknown(raw)),
                    };
                    making.value(&value, *is_quoted || is_joined);
                    making.begun |= *is_quoted;
                }
                Part::Process(list, is_read) => {
                    let before = self.reading.runs.len();
                    let feed = if *is_read { self.input.clone() } else { Feed::default() };
                    let output = self.apart(|it| it.list(list, &feed));
                    let path = format!("/dev/fd/{}", 63 + self.files.len());
                    if *is_read {
                        self.files.insert(path.clone(), output.map(Into::into));
                    } else {
                        self.readers.push(before..self.reading.runs.len());
                        self.files.insert(path.clone(), None);
                        self.awaited.push((path.clone(), Awaited::List(Rc::clone(list))));
                    }
                    making.add(&path, Sort::Plain);
                }
                Part::Arithmetic(parts) => {
                    let mut inner = Making::default();
                    self.parts(parts, &mut inner, true);
                    self.charge(inner.work);
                    self.evaluate(&inner.text);
                    making.add("0", Sort::Plain);
                }
            }
        }
    }

    /// Returns what a substitution prints, by the last of its commands, the first of which has this place.
    fn printed(&mut self, from: usize) -> Option<Arg> {
        let [run] = self.reading.runs.get(from..)? else { return None };
        let texts = run.texts();
        match (run.program()?, texts.get(1..).unwrap_or_default()) {
            ("mktemp", _) => {
                let options = Options::of(run.args(), "p", "--suffix");
                let template = options.rest.first().map(|it| it.text.as_str());
                let in_tmp = template.is_none() || options.read.iter().any(|(it, _)| it.contains('t'));
                let place = options.value('p', "--tmpdir").filter(|it| !it.is_empty());
                let place = place.unwrap_or_else(|| if in_tmp { "/tmp" } else { "." }.to_owned());
                let path = crate::join_path(&place, template.unwrap_or("tmp.XXXXXXXXXX"));
                self.make(&path);
                Some(Arg::plain(path))
            }
            ("pwd", _) => run.directory.clone().map(Arg::plain),
            ("which" | "command" | "type", [.., name]) => {
                let is_path = name.contains('/');
                Some(Arg::plain(if is_path { (*name).to_owned() } else { format!("/usr/bin/{name}") }))
            }
            ("date" | "nproc" | "id" | "uname" | "hostname" | "whoami", _) => Some(unknown(texts.first()?)),
            ("realpath" | "readlink", [.., path]) => run.words.last().filter(|it| it.text == **path).cloned(),
            ("basename", [path, ..]) if run.words.get(1)?.is_plain() => {
                Some(Arg::plain(crate::base_name(path)))
            }
            ("dirname", [path, ..]) if run.words.get(1)?.is_plain() => Some(Arg::plain(
                path.rsplit_once('/').map_or(".", |(dir, _)| if dir.is_empty() { "/" } else { dir }),
            )),
            _ => None,
        }
    }

    /// Returns the value of a variable that the line did not set.
    pub(crate) fn initial(&self, name: &str) -> Option<Arg> {
        let known = self.known.variables.iter().find(|(known, _)| *known == name);
        if let Some((_, value)) = known {
            return Some(Arg::plain(*value));
        }
        let text = match name {
            "HOME" => Cow::Borrowed(self.known.home.unwrap_or("~")),
            "PWD" => return Some(self.scope.directory.clone().map_or_else(|| unknown("$PWD"), Arg::plain)),
            "TMPDIR" | "TMP" | "TEMP" | "RUNNER_TEMP" => Cow::Borrowed("/tmp"),
            "IFS" => Cow::Borrowed(" "),
            "SHELL" | "BASH" => Cow::Borrowed("/bin/bash"),
            "$" | "RANDOM" | "?" | "!" | "BASHPID" | "SECONDS" | "EPOCHSECONDS" | "PPID" | "LINENO" => {
                Cow::Borrowed("0")
            }
            _ => return None,
        };
        Some(Arg::plain(text))
    }

    /// Returns the name that `declare -n` gave to a variable, or its own.
    pub(crate) fn referred(&self, name: &str) -> String {
        let reference = self.scope.variables.get(&format!("&{name}")).and_then(|it| it.first());
        reference.map_or(name, |it| it.text.as_str()).to_owned()
    }

    /// Returns the values of a variable: all of them, the one with this index, or the first.
    fn variable(&mut self, name: &str, index: Option<&str>) -> Option<Vec<Arg>> {
        let name = &*self.referred(name);
        if let Some(values) = self.scope.variables.get(name) {
            let chosen = match index.map(str::parse::<usize>) {
                None => values.get(..1),
                Some(Ok(at)) => values.get(at..=at),
                Some(Err(_)) => Some(values.as_slice()),
            };
            let chosen = chosen.unwrap_or_default();
            self.work = self.work.saturating_add(size(chosen));
            return Some(chosen.to_vec());
        }
        if let Some(parameters) = &self.scope.parameters {
            match name {
                "@" | "*" => {
                    let all = parameters.get(1..).unwrap_or_default();
                    self.work = self.work.saturating_add(size(all));
                    return Some(all.to_vec());
                }
                "#" => return Some(vec![Arg::plain(parameters.len().saturating_sub(1).to_string())]),
                name => {
                    if let Ok(at) = name.parse::<usize>() {
                        return Some(parameters.get(at).cloned().into_iter().collect());
                    }
                }
            }
        }
        // The line of a tool has no parameters.
        let is_parameter = || matches!(name, "@" | "*") || name.parse::<u32>().is_ok_and(|it| it > 0);
        if self.scope.parameters.is_none() && self.via.is_empty() && is_parameter() {
            return Some(Vec::new());
        }
        self.initial(name).map(|it| vec![it])
    }

    /// Follows what bash runs when it evaluates a text as a number: the substitutions in an index, also in the value of a
    /// variable that the text names.
    pub(crate) fn evaluate(&mut self, text: &str) {
        let is_in_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let names: Vec<&str> = text.split(|it| !is_in_name(it)).filter(|it| super::is_name(it)).collect();
        for name in names {
            let values = self.scope.variables.get(name).into_iter().flatten();
            let values: Vec<String> = values.map(|it| it.text.clone()).collect();
            values.iter().for_each(|it| self.index(it));
        }
    }

    /// Follows the substitutions in the index of a name.
    pub(crate) fn index(&mut self, text: &str) {
        if let Some((_, index)) = text.split_once('[') {
            self.substitutions(index);
        }
    }

    /// Follows the substitutions in a text that a shell expands once more.
    pub(crate) fn substitutions(&mut self, text: &str) {
        if text.contains("$(") || text.contains('`') {
            self.script(&format!(": \"{}\"", text.replace('"', "\\\"")));
        }
    }

    fn parameter(&mut self, parameter: &Parameter) -> Vec<Arg> {
        let Parameter { name, place, operator, operand } = parameter;
        let (plain, index) = match name.split_once('[') {
            Some((plain, index)) => (plain, Some(index.trim_end_matches(']'))),
            None => (name.as_str(), None),
        };
        // `${!x}` is the variable that `x` names.
        let named = plain.strip_prefix('!').and_then(|it| self.variable(it, None));
        let named = named.and_then(|it| it.into_iter().next());
        if let Some(named) = &named {
            self.index(&named.text);
        }
        let named = named.filter(|it| it.is_plain() && operator.is_empty());
        if !place.parts.is_empty() {
            let place = self.join(place).text;
            self.evaluate(&place);
        }
        let value = self.variable(named.as_ref().map_or(plain, |it| it.text.as_str()), index);
        let shown =
            || if operator.is_empty() { format!("${plain}") } else { format!("${{{name}{operator}…}}") };
        let is_empty =
            value.as_ref().is_some_and(|it| it.iter().all(|it| it.text.is_empty() && it.is_plain()));
        match operator.as_str() {
            "" if self.is_empty => value.unwrap_or_default(),
            "" => value.unwrap_or_else(|| vec![unknown(&shown())]),
            ":-" | "-" | ":=" | "=" => {
                let default = self.join(operand);
                let value = match value {
                    Some(value) if !is_empty => value,
                    _ => vec![default],
                };
                if operator.contains('=') {
                    self.assign(plain, value.clone());
                }
                value
            }
            ":?" | "?" => {
                self.join(operand);
                match value {
                    Some(value) if !is_empty => value,
                    _ => vec![unknown(&format!("${{{plain}:?}}"))],
                }
            }
            ":+" | "+" => {
                let other = self.join(operand);
                if is_empty || value.is_none() && self.is_empty { Vec::new() } else { vec![other] }
            }
            "%" | "%%" | "#" | "##" => {
                let affix = self.join(operand);
                match value.as_deref() {
                    Some([value]) if value.is_plain() && affix.is_plain() && !is_glob(&affix.text) => {
                        let text = value.text.as_str();
                        let rest = if operator.starts_with('%') {
                            text.strip_suffix(affix.text.as_str())
                        } else {
                            text.strip_prefix(affix.text.as_str())
                        };
                        vec![Arg::plain(rest.unwrap_or(text))]
                    }
                    _ => vec![unknown(&shown())],
                }
            }
            operator => {
                let operand = self.join(operand);
                match operator {
                    ":" => self.evaluate(&operand.text),
                    "@" if operand.text == "P" => {
                        value.iter().flatten().for_each(|it| self.substitutions(&it.text));
                    }
                    _ => {}
                }
                let edited = match value.as_deref() {
                    Some([value]) if value.is_plain() && operand.is_plain() && !is_glob(&operand.text) => {
                        super::parameters::edited(&value.text, operator, &operand.text)
                    }
                    _ => None,
                };
                // A number tells that it is a part of the value.
                let numbers = |it: char| it.is_ascii_digit() || matches!(it, ':' | ' ' | '-');
                let written = match operator {
                    ":" if operand.text.len() < 32 && operand.text.chars().all(numbers) => {
                        format!("${{{name}:{}}}", operand.text)
                    }
                    _ => shown(),
                };
                vec![edited.map_or_else(|| unknown(&written), Arg::plain)]
            }
        }
    }
}

/// Returns an unknown variable in braces, if the text behind it would else be a part of its name.
fn with_braces(value: &Arg, next: &Part) -> Option<Arg> {
    let (Part::Bare(next) | Part::Quoted(next)) = next else { return None };
    let name = value.text.strip_prefix('$').filter(|it| value.sort == Sort::Unknown && super::is_name(it))?;
    let goes_on = next.starts_with(|it: char| it.is_ascii_alphanumeric() || it == '_');
    goes_on.then(|| unknown(&format!("${{{name}}}")))
}

/// Returns the rows of parts that the braces in a word make.
fn braced(parts: &[Part]) -> Vec<Vec<Part>> {
    if let [Part::Bare(text)] = parts {
        return crate::braces::braces(text).into_iter().map(|it| vec![Part::Bare(it)]).collect();
    }
    let mut text = String::new();
    for (at, part) in parts.iter().enumerate() {
        match part {
            Part::Bare(bare) => text.push_str(bare),
            _ => text.extend(u32::try_from(at).ok().and_then(|it| char::from_u32(PLACE + it))),
        }
    }
    let row = |text: String| {
        let mut row = Vec::new();
        let mut bare = String::new();
        for letter in text.chars() {
            let place =
                u32::from(letter).checked_sub(PLACE).and_then(|it| parts.get(usize::try_from(it).ok()?));
            let Some(part) = place else {
                bare.push(letter);
                continue;
            };
            if !bare.is_empty() {
                row.push(Part::Bare(std::mem::take(&mut bare)));
            }
            row.push(part.clone());
        }
        if !bare.is_empty() {
            row.push(Part::Bare(bare));
        }
        row
    };
    crate::braces::braces(&text).into_iter().map(row).collect()
}
