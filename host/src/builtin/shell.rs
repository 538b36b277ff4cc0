//! Reads shell text: its simple commands, with those in substitutions, and which of them feed each other.
//!
//! It reads any text in one pass, with limited recursion, and finds the commands of a text with an error, too
//! ([`Script::odd`]). A parser of the whole grammar (brush-parser 0.4 was tried) returns nothing but an error for an open
//! quote or another shell's syntax, and overflows the stack at a thousand nested substitutions.

/// The depth of nested substitutions.
const MAX_DEPTH: usize = 16;

/// The longest substitution that stays in its word as it was written, in bytes. Its commands are read in any case.
const MAX_RAW: usize = 16 << 10;

/// A word without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The text; variables and substitutions stay as they were written.
    pub(super) text: String,
    /// True if it is a pattern for file names.
    pub(super) glob: bool,
}

/// A simple command.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// Assignments, the program, arguments.
    pub(super) words: Vec<Word>,
    /// The files that its output goes to.
    pub(super) outputs: Vec<Word>,
    /// The here-documents and here-strings.
    pub(super) texts: Vec<String>,
    /// The number that it shares with the commands that it may feed or be fed by: those of its pipeline, its
    /// substitutions, and the compound command whose end has a pipe or a redirection.
    pub(super) flow: usize,
    /// True if it runs only after the previous one succeeded (`&&`).
    pub(super) after: bool,
    /// The number of subshells and substitutions around it.
    pub(super) level: usize,
}

/// A piece of shell text.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// The commands; those of a substitution are beside the one that it belongs to.
    pub(super) commands: Vec<Command>,
    /// True if it was not understood to its end: an open quote or document, or too many levels.
    pub(super) odd: bool,
    flows: usize,
    level: usize,
}

impl Script {
    fn next_flow(&mut self) -> usize {
        self.flows += 1;
        self.flows
    }

    /// Makes the commands from this one on feed each other.
    fn merge(&mut self, from: usize, flow: usize) {
        self.commands.iter_mut().skip(from).for_each(|it| it.flow = flow);
    }
}

/// Reads a text.
pub(super) fn read(text: &str) -> Script {
    let mut reader = Reader { bytes: text.as_bytes(), at: 0, depth: 0, script: Script::default() };
    reader.list(None);
    reader.script
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    script: Script,
}

/// A here-document whose body follows the line.
struct Pending {
    command: usize,
    delimiter: String,
    strips_tabs: bool,
    expands: bool,
}

/// The meaning of the next word.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Word,
    Output,
    /// A file that is only read, or the name of a function.
    Ignored,
}

/// An open compound command.
struct Group {
    end: &'static str,
    /// The first of its commands.
    from: usize,
    flow: usize,
}

/// The state of a list of commands.
#[derive(Default)]
struct List {
    /// The index of the command that is being read.
    command: Option<usize>,
    word: Option<(Vec<u8>, bool)>,
    quoted: bool,
    /// True within the brackets of `a=(b c)`, which count as one word.
    array: bool,
    next: Next,
    flow: usize,
    after: bool,
    groups: Vec<Group>,
    /// The first command of the compound command that has just ended.
    closed: Option<usize>,
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

    /// Reads commands to the end of the text, or to and including the byte that closes a substitution.
    fn list(&mut self, close: Option<u8>) {
        let mut list = List { flow: self.script.next_flow(), ..List::default() };
        let mut closed = close.is_none();
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' if list.word.as_ref().is_some_and(|(word, _)| word.ends_with(b"=")) => list.array = true,
                b')' if list.array => list.array = false,
                byte if list.array && byte.is_ascii_whitespace() => list.push(b' '),
                b')' if close == Some(b')') && !list.groups.iter().any(|it| it.end == ")") => {
                    closed = true;
                    break;
                }
                b'`' if close == Some(b'`') => {
                    closed = true;
                    break;
                }
                b'#' if list.word.is_none() => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                b'<' | b'>' => self.redirection(byte, &mut list),
                b'&' if self.eat(b'>') => {
                    list.end_word(&mut self.script);
                    self.eat(b'>');
                    list.redirect(Next::Output, &mut self.script);
                }
                b'\n' => {
                    list.end_command(&mut self.script, false);
                    self.bodies(&mut list);
                }
                b';' => list.end_command(&mut self.script, false),
                b'&' => {
                    let after = self.eat(b'&');
                    list.end_command(&mut self.script, false);
                    list.after = after;
                }
                b'|' => {
                    let pipe = !self.eat(b'|');
                    self.eat(b'&');
                    list.end_command(&mut self.script, pipe);
                }
                b'(' => {
                    list.end_command(&mut self.script, list.command.is_none() && list.word.is_none());
                    list.open(")", &mut self.script);
                }
                b')' => {
                    list.end_command(&mut self.script, false);
                    list.close(")", &mut self.script);
                }
                byte if byte.is_ascii_whitespace() => list.end_word(&mut self.script),
                byte => self.part(byte, &mut list),
            }
        }
        list.end_command(&mut self.script, false);
        self.script.odd |= !closed || !list.pending.is_empty();
    }

    /// Reads a part of a word that begins with this byte.
    fn part(&mut self, byte: u8, list: &mut List) {
        match byte {
            b'\\' => match self.peek() {
                Some(b'\n') => self.at += 1,
                Some(escaped) => {
                    self.at += 1;
                    list.push(escaped);
                }
                None => {}
            },
            b'\'' => self.single_quotes(list, false),
            b'"' => self.double_quotes(list),
            b'$' if self.eat(b'\'') => self.single_quotes(list, true),
            b'$' if self.peek() == Some(b'"') => {}
            b'$' if self.eat(b'(') => self.substitution(list, 2, b')'),
            b'$' if self.eat(b'{') => {
                // Everything in the braces belongs to the word.
                list.push(b'$');
                list.push(b'{');
                while let Some(byte) = self.peek().filter(|byte| !b"}'\"`$\n".contains(byte)) {
                    self.at += 1;
                    list.push(byte);
                }
            }
            b'`' => self.substitution(list, 1, b'`'),
            byte => {
                list.push(byte);
                if let Some((_, glob)) = &mut list.word {
                    *glob |= matches!(byte, b'*' | b'?' | b'[');
                }
            }
        }
    }

    /// Reads to the closing single quote; with `escapes` as in `$'…'`.
    fn single_quotes(&mut self, list: &mut List, escapes: bool) {
        list.quote();
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\'' => return,
                b'\\' if escapes => self.escape(list),
                byte => list.push(byte),
            }
        }
        self.script.odd = true;
    }

    fn escape(&mut self, list: &mut List) {
        let Some(kind) = self.peek() else { return };
        let (skipped, most, base) = match kind {
            b'x' => (1, 2, 16),
            b'u' => (1, 4, 16),
            b'U' => (1, 8, 16),
            b'0'..=b'7' => (0, 3, 8),
            _ => {
                self.at += 1;
                list.push(if matches!(kind, b'n' | b't' | b'r') { b' ' } else { kind });
                return;
            }
        };
        self.at += skipped;
        let mut value = 0;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|it| char::from(it).to_digit(base)) else { break };
            value = value * base + digit;
            self.at += 1;
        }
        let mut letter = [0; 4];
        let letter = char::from_u32(value).unwrap_or(' ').encode_utf8(&mut letter);
        letter.bytes().for_each(|byte| list.push(byte));
    }

    fn double_quotes(&mut self, list: &mut List) {
        list.quote();
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
                b'$' if self.eat(b'(') => self.substitution(list, 2, b')'),
                b'`' => self.substitution(list, 1, b'`'),
                byte => list.push(byte),
            }
        }
        self.script.odd = true;
    }

    /// Reads the rest of a `$(…)`, `` `…` `` or `<(…)`, after its beginning of this many bytes.
    fn substitution(&mut self, list: &mut List, beginning: usize, close: u8) {
        let start = self.at.saturating_sub(beginning);
        if self.depth >= MAX_DEPTH {
            self.script.odd = true;
            return;
        }
        let from = self.script.commands.len();
        let level = self.script.level;
        self.script.level += 1;
        self.depth += 1;
        self.list(Some(close));
        self.depth -= 1;
        self.script.level = level;
        self.script.merge(from, list.flow);
        let raw = self.bytes.get(start..self.at).filter(|raw| raw.len() <= MAX_RAW);
        list.word.get_or_insert_default().0.extend(raw.unwrap_or(b"$()"));
    }

    /// Reads a redirection after its `<` or `>`.
    fn redirection(&mut self, byte: u8, list: &mut List) {
        if list.word.as_ref().is_some_and(|(word, _)| word.iter().all(u8::is_ascii_digit)) {
            // The number of a file descriptor.
            list.word = None;
        }
        if self.eat(b'(') {
            list.end_word(&mut self.script);
            return self.substitution(list, 2, b')');
        }
        list.end_word(&mut self.script);
        if byte == b'>' {
            let _ = self.eat(b'>') || self.eat(b'|') || self.eat(b'&');
            list.redirect(Next::Output, &mut self.script);
        } else if self.eat(b'>') {
            list.redirect(Next::Output, &mut self.script);
        } else if self.eat(b'<') {
            list.redirect(Next::Word, &mut self.script);
            let is_string = self.eat(b'<');
            let strips_tabs = !is_string && self.eat(b'-');
            let command = list.command(&mut self.script);
            let (text, is_quoted) = self.word(list.flow);
            if !is_string {
                list.pending.push(Pending { command, delimiter: text, strips_tabs, expands: !is_quoted });
            } else if let Some(command) = self.script.commands.get_mut(command) {
                command.texts.push(text);
            }
        } else {
            self.eat(b'&');
            list.redirect(Next::Ignored, &mut self.script);
        }
    }

    /// Reads one word apart from its list. The flag is true if it has quotes.
    fn word(&mut self, flow: usize) -> (String, bool) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let start = self.at;
        let mut apart = List { flow, ..List::default() };
        while let Some(byte) = self.peek().filter(|it| !it.is_ascii_whitespace() && !b";&|<>()".contains(it))
        {
            self.at += 1;
            self.part(byte, &mut apart);
        }
        let raw = self.bytes.get(start..self.at).unwrap_or_default();
        let (word, _) = apart.word.unwrap_or_default();
        (String::from_utf8_lossy(&word).into_owned(), raw.iter().any(|byte| b"'\"\\".contains(byte)))
    }

    /// Reads the bodies of the here-documents of the line that has just ended.
    fn bodies(&mut self, list: &mut List) {
        for Pending { command, delimiter, strips_tabs, expands } in std::mem::take(&mut list.pending) {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let (mut body, mut taken, mut is_closed) = (0, 0, false);
            for line in rest.split_inclusive(|byte| *byte == b'\n') {
                let tabs = line.iter().take_while(|it| strips_tabs && **it == b'\t').count();
                taken += line.len();
                let plain = line.get(tabs..).unwrap_or_default();
                if plain.strip_suffix(b"\n").unwrap_or(plain) == delimiter.as_bytes() {
                    is_closed = true;
                    break;
                }
                body = taken;
            }
            self.at += taken;
            self.script.odd |= !is_closed;
            let body = rest.get(..body).unwrap_or_default();
            let flow = self.script.commands.get(command).map_or(0, |it| it.flow);
            if expands {
                self.expand(body, flow);
            }
            if let Some(command) = self.script.commands.get_mut(command) {
                command.texts.push(String::from_utf8_lossy(body).into_owned());
            }
        }
    }

    /// Reads the substitutions in a here-document.
    fn expand(&mut self, body: &[u8], flow: usize) {
        if self.depth >= MAX_DEPTH {
            self.script.odd = true;
            return;
        }
        let script = std::mem::take(&mut self.script);
        let mut inner = Reader { bytes: body, at: 0, depth: self.depth + 1, script };
        let mut words = List { flow, ..List::default() };
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

    fn quote(&mut self) {
        self.word.get_or_insert_default();
        self.quoted = true;
    }

    /// Returns the index of the command that is being read.
    fn command(&mut self, script: &mut Script) -> usize {
        *self.command.get_or_insert_with(|| {
            let (flow, after, level) = (self.flow, self.after, script.level);
            script.commands.push(Command { flow, after, level, ..Command::default() });
            script.commands.len() - 1
        })
    }

    /// Begins a redirection. After a compound command it applies to all of its commands.
    fn redirect(&mut self, next: Next, script: &mut Script) {
        if let Some(from) = self.closed {
            script.merge(from, self.flow);
        }
        self.next = next;
    }

    fn open(&mut self, end: &'static str, script: &mut Script) {
        script.level += usize::from(end == ")");
        self.groups.push(Group { end, from: script.commands.len(), flow: self.flow });
    }

    fn close(&mut self, end: &str, script: &mut Script) {
        let Some(group) = self.groups.pop_if(|it| it.end == end) else { return };
        script.level = script.level.saturating_sub(usize::from(end == ")"));
        // A pipe leads into the group.
        if script.commands.iter().take(group.from).next_back().is_some_and(|it| it.flow == group.flow) {
            script.merge(group.from, group.flow);
            self.flow = group.flow;
        } else {
            self.flow = script.next_flow();
        }
        self.closed = Some(group.from);
    }

    fn end_word(&mut self, script: &mut Script) {
        let is_quoted = std::mem::take(&mut self.quoted);
        let Some((word, glob)) = self.word.take() else { return };
        let text = String::from_utf8_lossy(&word).into_owned();
        let next = std::mem::take(&mut self.next);
        if next == Next::Ignored && text.starts_with("<(") {
            let command = self.command(script);
            script.commands.get_mut(command).into_iter().for_each(|it| it.texts.push(text.clone()));
        }
        if next == Next::Ignored || (next == Next::Word && !is_quoted && self.is_grammar(&text, script)) {
            return;
        }
        let command = self.command(script);
        let Some(command) = script.commands.get_mut(command) else { return };
        let words = if next == Next::Output { &mut command.outputs } else { &mut command.words };
        words.push(Word { text, glob });
    }

    /// Returns true for a keyword at the beginning of a command, and applies it.
    fn is_grammar(&mut self, word: &str, script: &mut Script) -> bool {
        if self.command.is_some() {
            return false;
        }
        match word {
            "{" => self.open("}", script),
            "if" => self.open("fi", script),
            "while" | "until" => self.open("done", script),
            "for" | "select" | "case" => {
                self.open(if word == "case" { "esac" } else { "done" }, script);
                return false;
            }
            "}" | "fi" | "done" | "esac" => self.close(word, script),
            "function" => self.next = Next::Ignored,
            "then" | "elif" | "else" | "do" | "!" => {}
            _ => return false,
        }
        true
    }

    fn end_command(&mut self, script: &mut Script, pipe: bool) {
        self.end_word(script);
        if pipe {
            if let Some(from) = self.closed {
                script.merge(from, self.flow);
            }
        } else if self.command.is_some() || self.closed.is_some() {
            self.flow = script.next_flow();
        }
        *self = Self {
            flow: self.flow,
            groups: std::mem::take(&mut self.groups),
            pending: std::mem::take(&mut self.pending),
            ..Self::default()
        };
    }
}
