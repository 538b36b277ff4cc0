//! A reading of shell text: its simple commands, with the commands that stand in substitutions.
//!
//! It is made for texts from outside: one pass, no recursion without a limit, and it says where it is not sure
//! ([`Script::odd`]).

/// How deep substitutions may stand in each other.
const MAX_DEPTH: usize = 16;

/// A word without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Its letters; a substitution stands in it as it was written.
    pub(super) text: String,
    /// Whether a substitution is part of it.
    pub(super) substitutes: bool,
}

/// A simple command.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// Assignments, the program, arguments.
    pub(super) words: Vec<Word>,
    /// Files that its output goes to.
    pub(super) outputs: Vec<Word>,
    /// What it reads: here-documents and here-strings.
    pub(super) texts: Vec<String>,
    /// Whether it reads what another command prints.
    pub(super) piped: bool,
    /// Whether it begins a list of its own: nothing before it feeds it.
    pub(super) fresh: bool,
}

/// A piece of shell text.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Its commands; those of a substitution stand beside the one that it belongs to.
    pub(super) commands: Vec<Command>,
    /// Whether it was not understood to its end: a quote or a document that is not closed, too many levels.
    pub(super) odd: bool,
}

/// Reads a text.
pub(super) fn read(text: &str) -> Script {
    let mut reader = Reader { bytes: text.as_bytes(), at: 0, depth: 0, script: Script::default() };
    while reader.at < reader.bytes.len() {
        let before = reader.at;
        reader.list(None);
        if reader.at == before {
            reader.at += 1;
        }
    }
    reader.script
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    script: Script,
}

/// A here-document whose body comes after the line.
struct Pending {
    command: usize,
    delimiter: String,
    strips_tabs: bool,
    expands: bool,
}

/// Where the words of a list go.
#[derive(Default)]
struct List {
    /// The command that is being read, by its place.
    command: Option<usize>,
    word: Option<(Vec<u8>, bool)>,
    /// Whether the word that comes next is where output goes.
    output: bool,
    /// Whether it is one that is only read.
    skip: bool,
    piped: bool,
    groups: usize,
    fresh: bool,
    pending: Vec<Pending>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn raw(&self, start: usize) -> &[u8] {
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    /// Reads commands to the end of the text, or to the byte that closes a substitution, which it takes.
    fn list(&mut self, close: Option<u8>) {
        let mut list = List { fresh: true, ..List::default() };
        let mut closed = close.is_none();
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b')' if close == Some(b')') && list.groups == 0 => {
                    closed = true;
                    break;
                }
                b'`' if close == Some(b'`') => {
                    closed = true;
                    break;
                }
                b'\\' => match self.peek() {
                    Some(b'\n') => self.at += 1,
                    Some(escaped) => {
                        self.at += 1;
                        list.push(escaped);
                    }
                    None => {}
                },
                b'\'' => self.single_quotes(&mut list),
                b'"' => self.double_quotes(&mut list),
                // `$'…'` and `$"…"` are quotes as well.
                b'$' if matches!(self.peek(), Some(b'\'' | b'"')) => {}
                b'$' if self.peek() == Some(b'(') => {
                    self.at += 1;
                    self.substitution(&mut list, 2, b')');
                }
                b'`' => self.substitution(&mut list, 1, b'`'),
                b'#' if list.word.is_none() => self.comment(),
                b'<' | b'>' => self.redirection(byte, &mut list),
                b'&' if self.peek() == Some(b'>') => {
                    list.end_word(&mut self.script);
                    self.at += 1;
                    self.eat(b'>');
                    list.output = true;
                }
                b'\n' => {
                    list.end_command(&mut self.script, false);
                    self.bodies(&mut list);
                }
                b';' => list.end_command(&mut self.script, false),
                b'&' => {
                    self.eat(b'&');
                    list.end_command(&mut self.script, false);
                }
                b'|' => {
                    let pipe = !self.eat(b'|');
                    self.eat(b'&');
                    list.end_command(&mut self.script, pipe);
                }
                b'(' => {
                    list.end_group_word(&mut self.script);
                    list.groups += 1;
                }
                b')' => {
                    list.end_group_word(&mut self.script);
                    list.groups = list.groups.saturating_sub(1);
                }
                byte if byte.is_ascii_whitespace() => list.end_word(&mut self.script),
                byte => list.push(byte),
            }
        }
        list.end_command(&mut self.script, false);
        self.script.odd |= !closed || !list.pending.is_empty();
    }

    /// What stands between single quotes.
    fn single_quotes(&mut self, list: &mut List) {
        list.word.get_or_insert_default();
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == b'\'' {
                return;
            }
            list.push(byte);
        }
        self.script.odd = true;
    }

    fn double_quotes(&mut self, list: &mut List) {
        list.word.get_or_insert_default();
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => return,
                b'\\' => match self.peek() {
                    Some(b'\n') => self.at += 1,
                    Some(escaped @ (b'"' | b'\\' | b'$' | b'`')) => {
                        self.at += 1;
                        list.push(escaped);
                    }
                    _ => list.push(b'\\'),
                },
                b'$' if self.peek() == Some(b'(') => {
                    self.at += 1;
                    self.substitution(list, 2, b')');
                }
                b'`' => self.substitution(list, 1, b'`'),
                byte => list.push(byte),
            }
        }
        self.script.odd = true;
    }

    /// `$(…)`, `` `…` `` and their like, behind their beginning, which has this many bytes.
    fn substitution(&mut self, list: &mut List, beginning: usize, close: u8) {
        let start = self.at.saturating_sub(beginning);
        if self.depth >= MAX_DEPTH {
            self.script.odd = true;
            return;
        }
        self.depth += 1;
        self.list(Some(close));
        self.depth -= 1;
        let raw = self.raw(start).to_vec();
        let (word, substitutes) = list.word.get_or_insert_default();
        word.extend(raw);
        *substitutes = true;
    }

    fn comment(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// What follows `<` or `>`.
    fn redirection(&mut self, byte: u8, list: &mut List) {
        if list.word.as_ref().is_some_and(|(word, _)| word.iter().all(u8::is_ascii_digit)) {
            // The number of a file descriptor.
            list.word = None;
        }
        list.end_word(&mut self.script);
        if self.peek() == Some(b'(') {
            self.at += 1;
            return self.substitution(list, 2, b')');
        }
        if byte == b'>' {
            let _ = self.eat(b'>') || self.eat(b'|') || self.eat(b'&');
            list.output = true;
            return;
        }
        if self.eat(b'>') {
            list.output = true;
        } else if self.eat(b'<') {
            if self.eat(b'<') {
                self.here_string(list);
            } else {
                self.here_document(list);
            }
        } else {
            self.eat(b'&');
            list.skip = true;
        }
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// One word, apart from the list that it stands in.
    fn word(&mut self) -> (String, bool) {
        self.blanks();
        let start = self.at;
        let mut apart = List::default();
        while let Some(byte) = self.peek() {
            match byte {
                b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                byte if byte.is_ascii_whitespace() => break,
                _ => self.at += 1,
            }
            match byte {
                b'\'' => self.single_quotes(&mut apart),
                b'"' => self.double_quotes(&mut apart),
                b'\\' => {
                    if let Some(escaped) = self.peek() {
                        self.at += 1;
                        apart.push(escaped);
                    }
                }
                byte => apart.push(byte),
            }
        }
        let is_quoted = self.raw(start).iter().any(|byte| matches!(byte, b'\'' | b'"' | b'\\'));
        let (word, _) = apart.word.unwrap_or_default();
        (String::from_utf8_lossy(&word).into_owned(), is_quoted)
    }

    fn here_string(&mut self, list: &mut List) {
        let (text, _) = self.word();
        let command = list.command(&mut self.script);
        if let Some(command) = self.script.commands.get_mut(command) {
            command.texts.push(text);
        }
    }

    fn here_document(&mut self, list: &mut List) {
        let strips_tabs = self.eat(b'-');
        let (delimiter, is_quoted) = self.word();
        let command = list.command(&mut self.script);
        list.pending.push(Pending { command, delimiter, strips_tabs, expands: !is_quoted });
    }

    /// The bodies of the here-documents that the line which has just ended announced.
    fn bodies(&mut self, list: &mut List) {
        for Pending { command, delimiter, strips_tabs, expands } in std::mem::take(&mut list.pending) {
            let start = self.at;
            let mut end = None;
            while end.is_none() && self.at < self.bytes.len() {
                let begin = self.at;
                while self.peek().is_some_and(|byte| byte != b'\n') {
                    self.at += 1;
                }
                let mut line = self.raw(begin);
                while strips_tabs && line.first() == Some(&b'\t') {
                    line = line.get(1..).unwrap_or_default();
                }
                if line == delimiter.as_bytes() {
                    end = Some(begin);
                }
                self.at += 1;
            }
            self.at = self.at.min(self.bytes.len());
            self.script.odd |= end.is_none();
            let body = self.bytes.get(start..end.unwrap_or(self.at)).unwrap_or_default();
            if expands {
                self.expand(body);
            }
            if let Some(command) = self.script.commands.get_mut(command) {
                command.texts.push(String::from_utf8_lossy(body).into_owned());
            }
        }
    }

    /// The substitutions in a here-document.
    fn expand(&mut self, body: &[u8]) {
        if self.depth >= MAX_DEPTH {
            self.script.odd = true;
            return;
        }
        let script = std::mem::take(&mut self.script);
        let mut inner = Reader { bytes: body, at: 0, depth: self.depth + 1, script };
        let mut words = List::default();
        while let Some(byte) = inner.peek() {
            inner.at += 1;
            match byte {
                b'\\' => inner.at += 1,
                b'$' if inner.eat(b'(') => inner.substitution(&mut words, 2, b')'),
                b'`' => inner.substitution(&mut words, 1, b'`'),
                _ => {}
            }
        }
        self.script = inner.script;
    }
}

impl List {
    fn push(&mut self, byte: u8) {
        self.word.get_or_insert_default().0.push(byte);
    }

    /// The place of the command that is being read.
    fn command(&mut self, script: &mut Script) -> usize {
        *self.command.get_or_insert_with(|| {
            script.commands.push(Command { piped: self.piped, fresh: self.fresh, ..Command::default() });
            script.commands.len() - 1
        })
    }

    fn end_word(&mut self, script: &mut Script) {
        let Some((word, substitutes)) = self.word.take() else { return };
        let word = Word { text: String::from_utf8_lossy(&word).into_owned(), substitutes };
        if std::mem::take(&mut self.skip) {
            return;
        }
        // A brace opens or closes a group where a command begins.
        if self.command.is_none() && matches!(word.text.as_str(), "{" | "}") {
            if word.text == "{" {
                self.groups += 1;
            } else {
                self.groups = self.groups.saturating_sub(1);
            }
            return;
        }
        let output = std::mem::take(&mut self.output);
        let command = self.command(script);
        let Some(command) = script.commands.get_mut(command) else { return };
        if output {
            command.outputs.push(word);
        } else {
            command.words.push(word);
        }
    }

    fn end_group_word(&mut self, script: &mut Script) {
        let piped = self.piped && self.command.is_none() && self.word.is_none();
        self.end_command(script, piped);
    }

    fn end_command(&mut self, script: &mut Script, pipe: bool) {
        self.end_word(script);
        self.command = None;
        self.output = false;
        self.skip = false;
        self.piped = pipe;
        self.fresh = !pipe && self.groups == 0;
    }
}
