//! Follows lists of commands.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::tree::{List, Mode, Node, Pipeline, Redirect, Stage, Word};
use super::{Arg, Known, Place, Reading, Redirection, Run, Sort, Unread};

/// The commands that are followed.
const MAX_STEPS: usize = 3000;

/// The scripts in scripts.
const MAX_SCRIPTS: usize = 10;

/// The scripts with substitutions that are two such scripts deep. `sh -c "$(a)"` runs `a`, and its script is `$(a)` again as
/// long as nobody knows what `a` prints: each level doubles the work.
const MAX_COMPUTED: usize = 100;

/// The functions and lists that are followed into each other.
const MAX_NESTING: usize = 60;

/// The texts that are read, in bytes, with those that are read again.
const MAX_TEXT: usize = 2 << 20;

/// The bytes that are copied while a line is followed: texts of words, variables and files. A component has 64 MiB.
const MAX_WORK: usize = 8 << 20;

/// The size of a word, a variable or a command without its texts, in bytes.
pub(crate) const SIZE: usize = 64;

/// The words of `for` that are followed.
const MAX_EACH: usize = 24;

/// The input of a command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feed {
    /// The commands that feed it.
    pub(crate) from: Range<usize>,
    /// True if it is not the input of the line.
    pub(crate) is_given: bool,
    /// The text, if it is known.
    pub(crate) text: Option<Rc<str>>,
    /// The last known text in the pipe before, if this one is not known: `head -1` may pass it on.
    pub(crate) before: Option<Rc<str>>,
}

/// A reader of a file, a named pipe or `>(…)`.
#[derive(Clone, Debug)]
pub(crate) enum Awaited {
    /// A shell, whose script is the text.
    Shell(String),
    /// Commands, whose input is the text.
    List(Rc<List>),
}

/// The variables, directory and parameters of a shell. A shell of its own has a copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) variables: Rc<Variables>,
    pub(crate) parameters: Option<Vec<Arg>>,
    pub(crate) directory: Option<String>,
    /// Other directories that it may be in.
    pub(crate) elsewhere: Vec<String>,
    /// The functions that it surely has.
    pub(crate) functions: Rc<BTreeSet<String>>,
    /// The directories that it is in if the last command failed.
    pub(crate) left: Vec<String>,
}

/// The values of variables.
pub(crate) type Variables = BTreeMap<String, Vec<Arg>>;

/// Values that variables had before, if they had any.
pub(crate) type Earlier = Vec<(String, Option<Vec<Arg>>)>;

impl Scope {
    /// Returns the number of bytes that a copy has. The variables are copied only when one of them changes.
    fn size(&self) -> usize {
        let directories = self.directory.iter().chain(&self.elsewhere).chain(&self.left).map(String::len);
        self.parameters.as_deref().map_or(0, size) + directories.sum::<usize>()
    }
}

/// Returns the number of bytes that a copy of these arguments has.
pub(crate) fn size(args: &[Arg]) -> usize {
    args.iter().map(|it| it.text.len() + SIZE).sum()
}

/// The state of a shell.
#[derive(Default)]
pub(crate) struct Machine<'k> {
    pub(crate) known: Known<'k>,
    pub(crate) reading: Reading,
    pub(crate) scope: Scope,
    /// The functions and aliases of all shells of the line: each adds a reading of its name, and takes none away.
    pub(crate) functions: BTreeMap<String, Vec<Rc<Stage>>>,
    pub(crate) aliases: BTreeMap<String, BTreeSet<String>>,
    /// The files that the line writes; `None` if their text is unknown.
    pub(crate) files: BTreeMap<String, Option<Rc<str>>>,
    /// The directories that the line surely makes.
    pub(crate) made: BTreeSet<String>,
    /// True while commands are followed that may not run.
    pub(crate) is_doubtful: bool,
    /// The last command that must have succeeded before those that are followed.
    pub(crate) needs: Option<usize>,
    /// The variables of the functions that are running, as they were before.
    pub(crate) locals: Earlier,
    /// The readers of texts that the line may write later.
    pub(crate) awaited: Vec<(String, Awaited)>,
    /// The files of descriptors above 2.
    pub(crate) descriptors: BTreeMap<u32, String>,
    /// True while words are followed that may be no command.
    pub(crate) is_guess: bool,
    /// True while unknown variables count as empty.
    pub(crate) is_empty: bool,
    pub(crate) documents: Vec<Rc<Word>>,
    pub(crate) place: Place,
    pub(crate) via: Vec<String>,
    /// The words of the line that are being followed.
    pub(crate) whole: Arc<[Arg]>,
    /// The commands in the substitutions of those words.
    pub(crate) inner: Range<usize>,
    /// The input of the command whose words are expanded: its substitutions have the same.
    pub(crate) input: Feed,
    /// Those that read what the next command prints, in `>(…)`.
    pub(crate) readers: Vec<Range<usize>>,
    pub(crate) scripts: usize,
    /// The number of scripts with substitutions around this one, and of all that are deep in others.
    computed: (usize, usize),
    /// The scripts that run at the end of this one.
    pub(crate) traps: Vec<String>,
    pub(crate) nesting: usize,
    /// The functions that are running, with the number of times that each started itself.
    pub(crate) calls: Vec<(Rc<Stage>, usize)>,
    steps: usize,
    text: usize,
    /// The bytes that were copied.
    pub(crate) work: usize,
    /// The bytes that the reader looked at.
    pub(crate) read: usize,
}

impl<'k> Machine<'k> {
    pub(crate) fn new(known: &'k Known<'k>) -> Self {
        let scope = Scope { directory: Some(known.cwd.unwrap_or(".").to_owned()), ..Scope::default() };
        Self { known: *known, scope, ..Self::default() }
    }

    /// Follows a text, and returns its output if that is known.
    pub(crate) fn script(&mut self, text: &str) -> Option<String> {
        self.script_fed(text, &Feed::default())
    }

    /// Follows a text as a shell of its own does, which runs its traps at the end.
    pub(crate) fn script_fed(&mut self, text: &str, feed: &Feed) -> Option<String> {
        let outer = std::mem::take(&mut self.traps);
        let output = self.script_within(text, feed);
        for text in std::mem::replace(&mut self.traps, outer) {
            self.script(&text);
        }
        output
    }

    /// Follows a text in this shell.
    pub(crate) fn script_within(&mut self, text: &str, feed: &Feed) -> Option<String> {
        self.text += text.len();
        let is_computed = text.contains("$(") || text.contains('`');
        let is_deep = is_computed && self.computed.0 > 1;
        self.computed.1 += usize::from(is_deep);
        let is_left_out = is_deep && self.computed.1 > MAX_COMPUTED;
        if is_left_out || self.scripts >= MAX_SCRIPTS || self.text > MAX_TEXT || !self.charge(text.len()) {
            self.reading.miss(Unread::Limit);
            return None;
        }
        self.scripts += 1;
        self.computed.0 += usize::from(is_computed);
        let documents = std::mem::take(&mut self.documents);
        let tree = super::parse::parse(text, documents);
        self.documents = tree.documents;
        self.read += tree.work;
        if tree.has_errors {
            self.reading.miss(Unread::Syntax);
        }
        if tree.is_cut {
            self.reading.miss(Unread::Limit);
        }
        let output = self.list(&tree.list, feed);
        self.scripts -= 1;
        self.computed.0 -= usize::from(is_computed);
        output
    }

    /// Counts a command, and returns false if there were too many.
    pub(crate) fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            self.reading.miss(Unread::Limit);
        }
        self.charge(SIZE) && self.steps <= MAX_STEPS
    }

    /// Counts bytes that are copied, and returns false if there were too many.
    pub(crate) fn charge(&mut self, bytes: usize) -> bool {
        if self.work <= MAX_WORK {
            self.work = self.work.saturating_add(bytes).min(MAX_WORK + 1);
        }
        if self.work > MAX_WORK {
            self.reading.miss(Unread::Limit);
        }
        self.work <= MAX_WORK
    }

    /// Returns the variables, to change them.
    pub(crate) fn variables(&mut self) -> &mut Variables {
        if Rc::strong_count(&self.scope.variables) > 1 {
            let sizes = self.scope.variables.iter().map(|(name, values)| name.len() + SIZE + size(values));
            let copied = sizes.sum();
            if !self.charge(copied) {
                self.scope.variables = Rc::default();
            }
        }
        Rc::make_mut(&mut self.scope.variables)
    }

    /// Follows something with these variables. Returns its result, and leaves the variables as they were.
    pub(crate) fn with<T>(&mut self, set: &[(String, Arg)], follow: impl FnOnce(&mut Self) -> T) -> T {
        self.charge(set.iter().map(|(name, it)| name.len() + it.text.len() + SIZE).sum());
        let set = set
            .iter()
            .map(|(name, it)| (name.clone(), self.variables().insert(name.clone(), vec![it.clone()])));
        let earlier = set.collect();
        let found = follow(self);
        self.restore(earlier);
        found
    }

    /// Gives variables their earlier values.
    pub(crate) fn restore(&mut self, earlier: Earlier) {
        for (name, values) in earlier.into_iter().rev() {
            match values {
                Some(values) => drop(self.variables().insert(name, values)),
                None => drop(self.variables().remove(&name)),
            }
        }
    }

    /// Returns a copy of the variables, directory and parameters; without them if there was too much work.
    pub(crate) fn copied_scope(&mut self) -> Scope {
        let size = self.scope.size();
        if self.charge(size) { self.scope.clone() } else { Scope::default() }
    }

    /// Follows something in this shell, if it is not too deep.
    pub(crate) fn nested(&mut self, follow: impl FnOnce(&mut Self) -> Option<String>) -> Option<String> {
        if self.nesting >= MAX_NESTING {
            self.reading.miss(Unread::Limit);
            return None;
        }
        self.nesting += 1;
        let output = follow(self);
        self.nesting -= 1;
        output
    }

    pub(crate) fn list(&mut self, list: &List, feed: &Feed) -> Option<String> {
        self.nested(|it| it.pipelines(list, feed))
    }

    fn pipelines(&mut self, list: &List, feed: &Feed) -> Option<String> {
        let mut output = Some(String::new());
        for chain in list.pipelines.chunk_by(|_, next| next.after_success || next.after_failure) {
            self.settle();
            if chain.last().is_some_and(|it| it.background) {
                self.doubt(true, |it| it.apart(|it| it.chain(chain, feed, &mut output)));
            } else {
                self.chain(chain, feed, &mut output);
            }
        }
        output
    }

    /// Follows a pipeline, and adds what it prints.
    pub(crate) fn printed_by(&mut self, pipeline: &Pipeline, feed: &Feed, output: &mut Option<String>) {
        let awaited = self.awaited.len();
        let printed = self.pipeline(pipeline, feed);
        if !pipeline.background {
            // A shell that has ended reads no file any more.
            let of_shells = |it: &(String, Awaited)| matches!(it.1, Awaited::Shell(_));
            let mut at = 0;
            self.awaited.retain(|it| {
                at += 1;
                at <= awaited || !of_shells(it)
            });
        }
        match (output.as_mut(), printed) {
            (Some(all), Some(printed))
                if all.len() + printed.len() < MAX_TEXT && self.charge(printed.len()) =>
            {
                all.push_str(&printed);
            }
            _ => *output = None,
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, feed: &Feed) -> Option<String> {
        if let [stage] = pipeline.stages.as_slice() {
            return self.stage(stage, feed);
        }
        let mut feed = feed.clone();
        for (at, stage) in pipeline.stages.iter().enumerate() {
            let before = self.reading.runs.len();
            let scope = self.copied_scope();
            let output = self.stage(stage, &feed);
            let inner = std::mem::replace(&mut self.scope, scope);
            // In zsh the last one is followed in the shell itself.
            if at + 1 == pipeline.stages.len() {
                self.meet_values(&inner);
            }
            let from = before..self.reading.runs.len();
            let before = feed.text.take().or(feed.before.take()).filter(|_| output.is_none());
            feed = Feed { from, is_given: true, text: output.map(Rc::from), before };
        }
        feed.text.map(|it| it.to_string())
    }

    /// Follows a body in a shell of its own.
    pub(crate) fn apart<T>(&mut self, follow: impl FnOnce(&mut Self) -> T) -> T {
        let scope = self.copied_scope();
        let found = follow(self);
        self.scope = scope;
        found
    }

    pub(crate) fn stage(&mut self, stage: &Stage, feed: &Feed) -> Option<String> {
        let outer = std::mem::replace(&mut self.input, feed.clone());
        let output = self.stage_fed(stage, feed);
        self.input = outer;
        output
    }

    fn stage_fed(&mut self, stage: &Stage, feed: &Feed) -> Option<String> {
        if let Node::Simple { assigns, words } = &stage.node {
            return self.simple(assigns, words, &stage.redirects, feed);
        }
        if !self.step() {
            return None;
        }
        let fed = (!stage.redirects.is_empty()).then(|| {
            let before = self.reading.runs.len();
            let redirections = self.redirections(&stage.redirects);
            let inner = before..self.reading.runs.len();
            let mut fed = self.fed(&redirections, feed);
            // `done < <(find)`, and `done <<< "$(find)"`
            if !inner.is_empty() && redirections.iter().any(|it| matches!(it.mode, Mode::Read | Mode::Text)) {
                fed.from = inner;
            }
            let words = Vec::new();
            self.push(Run { words, redirections, ..Run::default() }, feed);
            fed
        });
        let output = self.compound(&stage.node, fed.as_ref().unwrap_or(feed));
        if stage.redirects.is_empty() {
            return output;
        }
        let redirections = self.reading.runs.iter().rev().find(|it| it.words.is_empty());
        let redirections = redirections.map(|it| it.redirections.clone()).unwrap_or_default();
        self.written(&redirections, output)
    }

    fn compound(&mut self, node: &Node, feed: &Feed) -> Option<String> {
        match node {
            Node::Simple { .. } => None,
            Node::Group(list) => self.list(list, feed),
            Node::Subshell(list) => self.apart(|it| it.list(list, feed)),
            Node::If(arms) => {
                let bodies = arms.iter();
                let mut outputs = Vec::new();
                let mut ends = Vec::new();
                for (condition, body) in bodies {
                    self.list(condition, feed);
                    if condition.pipelines.is_empty() {
                        self.settle();
                    }
                    let (end, output) = self.branch(body, feed);
                    outputs.push(output);
                    ends.push(end);
                }
                let has_else = arms.last().is_some_and(|(condition, _)| condition.pipelines.is_empty());
                self.meet(ends, has_else);
                outputs.into_iter().find(|it| it.as_ref().is_none_or(|it| !it.is_empty())).flatten()
            }
            Node::Loop(condition, body) => {
                self.list(condition, feed);
                let (end, _) = self.branch(body, feed);
                self.meet(vec![end], false);
                None
            }
            Node::For { name, words, body } => {
                let mut values = match words {
                    Some(words) => words.iter().flat_map(|it| self.expand(it)).collect::<Vec<_>>(),
                    None => match &self.scope.parameters {
                        Some(parameters) => parameters.get(1..).unwrap_or_default().to_vec(),
                        None => vec![unknown("$@")],
                    },
                };
                if values.len() > MAX_EACH {
                    self.reading.miss(Unread::Values);
                    values.truncate(MAX_EACH);
                }
                for mut value in values {
                    if value.sort == Sort::Unknown && value.text.contains(['(', '`']) {
                        value.sort = Sort::Input;
                    }
                    self.variables().insert(name.clone(), vec![value]);
                    self.list(body, feed);
                }
                None
            }
            Node::Case { word, arms } => {
                self.expand(word);
                let mut ends = Vec::new();
                for (patterns, body) in arms {
                    patterns.iter().for_each(|it| drop(self.expand(it)));
                    ends.push(self.branch(body, feed).0);
                }
                self.meet(ends, false);
                None
            }
            Node::Function { name, body } => {
                if !self.is_doubtful && self.charge(self.scope.functions.len() * SIZE) {
                    Rc::make_mut(&mut self.scope.functions).insert(name.clone());
                }
                let known = self.functions.entry(name.clone()).or_default();
                if !known.iter().any(|it| Rc::ptr_eq(it, body)) {
                    known.push(Rc::clone(body));
                }
                // Bash and zsh call it for a program that does not exist.
                if super::is_in("command_not_found_handle command_not_found_handler", name) {
                    self.stage(body, feed);
                }
                Some(String::new())
            }
            Node::Test(words) => {
                let words: Vec<Arg> = words.iter().map(|it| self.join(it)).collect();
                let reads_numbers = |it: &Arg| super::is_in("-eq -ne -lt -le -gt -ge -v", &it.text);
                let has_numbers = words.iter().any(reads_numbers);
                for word in words {
                    self.evaluate(&word.text);
                    if has_numbers {
                        self.index(&word.text);
                    }
                }
                Some(String::new())
            }
        }
    }

    /// Expands redirections.
    pub(crate) fn redirections(&mut self, redirects: &[Redirect]) -> Vec<Redirection> {
        let mut found = Vec::new();
        for redirect in redirects {
            let document = redirect.document.and_then(|it| self.documents.get(it).cloned());
            let target = match document {
                Some(word) => self.join(&word),
                None => {
                    let mut target = self.join(&redirect.target);
                    if redirect.mode == Mode::Text {
                        target.text.push('\n');
                    }
                    target
                }
            };
            let default = u32::from(matches!(redirect.mode, Mode::Write | Mode::Append | Mode::Copy));
            let descriptor = redirect.descriptor.unwrap_or(default);
            found.push(Redirection { descriptor, mode: redirect.mode, target });
        }
        found
    }

    /// Returns the input of a command with these redirections.
    pub(crate) fn fed(&mut self, redirections: &[Redirection], feed: &Feed) -> Feed {
        let mut feed = feed.clone();
        for redirection in redirections {
            match redirection.mode {
                Mode::Text if redirection.target.sort != Sort::Pattern => {
                    let is_kept = self.charge(redirection.target.text.len());
                    feed.text = is_kept.then(|| redirection.target.text.as_str().into());
                    feed.is_given = true;
                }
                Mode::Read | Mode::Both if redirection.descriptor == 0 => {
                    feed.text = self.file(&redirection.target.text);
                    feed.is_given = !crate::is_terminal(&redirection.target.text);
                }
                Mode::Copy if redirection.descriptor == 0 => {
                    feed.is_given &= redirection.target.text != "0";
                    if let Some(path) = self.copied_from(redirection) {
                        feed.text = self.file(&path);
                        feed.is_given = true;
                    }
                }
                _ => {}
            }
        }
        feed
    }

    /// Returns the text of a file that is known.
    pub(crate) fn file(&self, path: &str) -> Option<Rc<str>> {
        let path = self.path(path);
        match self.files.get(&path) {
            Some(text) => text.clone(),
            None => self.known.lookup.and_then(|lookup| lookup(&path)).map(Rc::from),
        }
    }

    /// Writes the output to the files of these redirections. Returns what is left of it.
    pub(crate) fn written(&mut self, redirections: &[Redirection], output: Option<String>) -> Option<String> {
        let mut output = output;
        for redirection in redirections.iter().filter(|it| it.descriptor == 1) {
            let path = match redirection.mode {
                Mode::Write | Mode::Append => Some(redirection.target.text.clone()),
                Mode::Copy => self.copied_from(redirection),
                Mode::Read | Mode::Both | Mode::Text => None,
            };
            if let Some(path) = path {
                let text = output.replace(String::new()).map(Rc::from);
                self.write(&path, text, redirection.mode == Mode::Append);
            }
        }
        output
    }

    /// Returns the file of the descriptor that a redirection copies.
    fn copied_from(&self, redirection: &Redirection) -> Option<String> {
        self.descriptors.get(&redirection.target.text.parse().ok()?).cloned()
    }

    /// Writes a file.
    pub(crate) fn write(&mut self, path: &str, text: Option<Rc<str>>, appends: bool) {
        let path = self.path(path);
        // If the command may not run, the earlier text remains as well.
        let keeps = self.is_doubtful;
        let before = if appends || keeps { self.file(&path) } else { None };
        let text = match (before, text) {
            (before @ Some(_), None) if keeps => before,
            (Some(before), Some(text)) if keeps && *before == *text => Some(text),
            (Some(before), Some(text))
                if before.len() + text.len() < MAX_TEXT / 8 && self.charge(before.len() + text.len()) =>
            {
                let end = if keeps && !before.ends_with('\n') { "\n" } else { "" };
                Some(format!("{before}{end}{text}").into())
            }
            (_, text) => text,
        };
        let readers =
            self.awaited.iter().filter(|it| it.0 == path).map(|it| it.1.clone()).collect::<Vec<_>>();
        self.awaited.retain(|it| it.0 != path);
        self.files.insert(path, text.clone());
        for (reader, text) in readers.into_iter().zip(std::iter::repeat(text)) {
            let Some(text) = text else { continue };
            match reader {
                Awaited::Shell(name) => {
                    let words = vec![Arg::plain(name.as_str())];
                    self.in_shell(&name, &text, Some(words), &Feed::default());
                }
                Awaited::List(list) => {
                    let feed = Feed { is_given: true, text: Some(text), ..Feed::default() };
                    self.apart(|it| it.list(&list, &feed));
                }
            }
        }
    }

    /// Adds a command. Returns its place.
    pub(crate) fn push(&mut self, run: Run, feed: &Feed) -> usize {
        let at = self.reading.runs.len();
        let place = self.scope.directory.as_ref().map_or(0, String::len)
            + self.scope.elsewhere.iter().map(|it| it.len() + SIZE).sum::<usize>()
            + self.via.iter().map(|it| it.len() + SIZE).sum::<usize>();
        let is_kept = self.charge(place + feed.from.len() * size_of::<usize>());
        let from = if is_kept { feed.from.clone() } else { 0..0 };
        let run = Run {
            needs: self.needs,
            is_sure: self.nesting == 1 && self.via.is_empty() && !self.is_doubtful && !self.is_guess,
            directory: self.scope.directory.clone(),
            elsewhere: self.scope.elsewhere.clone(),
            is_fed: feed.is_given,
            place: self.place,
            via: self.via.clone(),
            inner: self.inner.clone(),
            whole: Arc::clone(&self.whole),
            input: from.collect(),
            ..run
        };
        self.reading.runs.push(run);
        for range in std::mem::take(&mut self.readers) {
            let readers = self.reading.runs.get_mut(range).into_iter().flatten();
            readers.filter(|it| it.input.is_empty()).for_each(|it| it.input.push(at));
        }
        at
    }
}

/// Makes an argument that is unknown.
pub(crate) fn unknown(text: &str) -> Arg {
    Arg { text: text.to_owned(), sort: Sort::Unknown }
}
