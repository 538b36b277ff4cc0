//! Reads the commands of a text into its tree.

use std::cell::Cell;
use std::rc::Rc;

use super::tree::{Assign, List, Node, Pipeline, Stage, Word};

/// The depth of commands in commands. A level takes less than 4 KiB of stack, and a component has 512 KiB.
const MAX_DEPTH: usize = 40;

/// The bytes that are looked at or copied for each byte of a text. Ordinary texts take less than a dozen.
const WORK_PER_BYTE: usize = 64;

/// The bytes that are looked at or copied for any text.
const MIN_WORK: usize = 1 << 16;

/// One more than the length of the longest keyword.
const MAX_KEYWORD: usize = 9;

/// The bytes in which the end of an index is searched.
const MAX_INDEX: usize = 4096;

/// Words that end the commands before them.
const ENDS: [&str; 8] = ["then", "elif", "else", "fi", "do", "done", "esac", "}"];

/// A here-document whose text begins behind the line.
pub(crate) struct Pending {
    pub(crate) document: usize,
    pub(crate) delimiter: String,
    pub(crate) is_quoted: bool,
    pub(crate) strips_tabs: bool,
}

/// The state of a reader.
#[derive(Default)]
pub(crate) struct Parser<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
    pub(crate) depth: usize,
    /// The texts of the here-documents.
    pub(crate) documents: Vec<Rc<Word>>,
    pub(crate) pending: Vec<Pending>,
    pub(crate) errors: usize,
    /// True if a part was not read because of a limit.
    pub(crate) is_cut: bool,
    /// The number of bytes that were searched ahead.
    pub(crate) searched: usize,
    /// The number of open quotes.
    pub(crate) reopened: usize,
    /// The number of substitutions around this place.
    pub(crate) substitutions: usize,
    /// The number of bytes that were looked at or copied.
    pub(crate) work: Cell<usize>,
    /// The number at which the rest is given up.
    pub(crate) max_work: usize,
}

/// A tree and what is known about its reading.
pub(crate) struct Tree {
    pub(crate) list: List,
    pub(crate) documents: Vec<Rc<Word>>,
    pub(crate) has_errors: bool,
    pub(crate) is_cut: bool,
    /// The number of bytes that were looked at or copied.
    pub(crate) work: usize,
}

/// Reads a text. Its here-documents follow those that were read before.
pub(crate) fn parse(text: &str, documents: Vec<Rc<Word>>) -> Tree {
    let mut parser = Parser::new(text.as_bytes(), 0);
    parser.documents = documents;
    let mut list = List::default();
    loop {
        list.pipelines.extend(parser.list().pipelines);
        if parser.at >= parser.bytes.len() || parser.is_cut {
            break;
        }
        // Something that begins no command, such as `)` or `done`.
        parser.error();
        parser.at += 1;
    }
    if !parser.pending.is_empty() {
        parser.bodies();
        parser.errors += usize::from(!parser.pending.is_empty());
    }
    let (has_errors, is_cut, work) = (parser.errors > 0, parser.is_cut, parser.work.get());
    Tree { list, documents: parser.documents, has_errors, is_cut, work }
}

impl<'a> Parser<'a> {
    pub(crate) fn new(bytes: &'a [u8], depth: usize) -> Self {
        let max_work = bytes.len().saturating_mul(WORK_PER_BYTE) + MIN_WORK;
        Self { bytes, depth, max_work, ..Self::default() }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.count(1);
        self.bytes.get(self.at).copied()
    }

    pub(crate) fn starts(&self, text: &[u8]) -> bool {
        self.bytes.get(self.at..).is_some_and(|it| it.starts_with(text))
    }

    pub(crate) fn eat(&mut self, text: &[u8]) -> bool {
        let found = self.starts(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// Counts bytes that are looked at or copied.
    pub(crate) fn count(&self, bytes: usize) {
        self.work.set(self.work.get().saturating_add(bytes));
    }

    /// Gives up the rest if the text took too much work.
    pub(crate) fn is_worn(&mut self) -> bool {
        let is_worn = self.work.get() > self.max_work;
        if is_worn {
            self.is_cut = true;
            self.at = self.bytes.len();
        }
        is_worn
    }

    pub(crate) fn error(&mut self) {
        self.errors += 1;
    }

    /// Enters a level, or gives up the rest.
    pub(crate) fn deeper(&mut self) -> bool {
        if self.is_worn() {
            return false;
        }
        if self.depth >= MAX_DEPTH {
            self.is_cut = true;
            self.at = self.bytes.len();
            return false;
        }
        self.depth += 1;
        true
    }

    /// Skips spaces, comments and continued lines.
    pub(crate) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.starts(b"\\\n") => self.at += 2,
                Some(b'#') => {
                    while self.peek().is_some_and(|it| it != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips spaces and lines.
    pub(crate) fn lines(&mut self) {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return;
            }
            self.at += 1;
            self.bodies();
        }
    }

    /// Returns the keyword here, without reading it.
    pub(crate) fn keyword(&self) -> &'a str {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.count(MAX_KEYWORD);
        let end = rest.iter().take(MAX_KEYWORD).take_while(|it| !b" \t\n;&|()<>".contains(it)).count();
        rest.get(..end).and_then(|it| std::str::from_utf8(it).ok()).unwrap_or_default()
    }

    pub(crate) fn eat_keyword(&mut self, word: &str) -> bool {
        let found = self.keyword() == word;
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Reads a keyword that must come, after lines.
    pub(crate) fn expect(&mut self, word: &str) {
        self.lines();
        if !self.eat_keyword(word) {
            self.error();
        }
    }

    /// Reads pipelines up to something that does not begin one.
    pub(crate) fn list(&mut self) -> List {
        let mut list = List::default();
        if !self.deeper() {
            return list;
        }
        let (mut after_failure, mut after_success) = (false, false);
        // `&&` and `||` need a command behind them.
        let mut is_due = false;
        loop {
            self.lines();
            let Some(byte) = self.peek() else { break };
            if byte == b')' || byte == b';' || byte == b'&' || byte == b'|' || ENDS.contains(&self.keyword())
            {
                break;
            }
            let before = self.at;
            let mut pipeline = self.pipeline();
            (pipeline.after_failure, pipeline.after_success) = (after_failure, after_success);
            is_due = false;
            (after_failure, after_success) = (false, false);
            self.blanks();
            if self.eat(b"&&") {
                (is_due, after_success) = (true, true);
            } else if self.eat(b"||") {
                (is_due, after_failure) = (true, true);
            } else if self.starts(b";;") || self.starts(b";&") {
                list.pipelines.push(pipeline);
                break;
            } else if self.eat(b";") {
            } else if self.peek() == Some(b'&') {
                self.at += 1;
                pipeline.background = true;
            } else if self.peek() != Some(b'\n') {
                list.pipelines.push(pipeline);
                if self.peek().is_none_or(|it| it == b')') || self.at == before {
                    break;
                }
                // `( … ) x`: two commands without a sign between them.
                if !ENDS.contains(&self.keyword()) {
                    self.error();
                }
                continue;
            }
            list.pipelines.push(pipeline);
        }
        if is_due {
            self.error();
        }
        self.depth = self.depth.saturating_sub(1);
        list
    }

    /// Reads a list that must have a command.
    pub(crate) fn body(&mut self) -> List {
        let list = self.list();
        if list.pipelines.is_empty() {
            self.error();
        }
        list
    }

    fn pipeline(&mut self) -> Pipeline {
        let (mut stages, mut is_negated) = (Vec::new(), false);
        loop {
            self.blanks();
            while stages.is_empty() {
                if self.eat_keyword("!") {
                    is_negated = !is_negated;
                } else if !self.eat_keyword("time") {
                    break;
                }
                self.blanks();
                for option in ["-p", "--"] {
                    self.eat_keyword(option);
                    self.blanks();
                }
            }
            stages.extend(self.stage());
            self.blanks();
            if self.starts(b"||") || !self.eat(b"|") {
                break;
            }
            self.eat(b"&");
            self.lines();
            let ends = self.peek().is_none_or(|it| b");&|".contains(&it)) || ENDS.contains(&self.keyword());
            if ends {
                self.error();
                break;
            }
        }
        Pipeline { stages, is_negated, ..Pipeline::default() }
    }

    /// Reads a command with its redirections.
    pub(crate) fn stage(&mut self) -> Option<Stage> {
        if self.keyword() == "coproc" && !self.coprocess() {
            return self.simple();
        }
        let node = match self.keyword() {
            _ if self.starts(b"((") && self.closes_arithmetic(2) => {
                self.at += 2;
                let parts = self.arithmetic();
                Node::Test(vec![Word { parts }])
            }
            _ if self.eat(b"(") => {
                let body = self.body();
                self.close(b")");
                Node::Subshell(body)
            }
            "{" => {
                self.at += 1;
                let body = self.body();
                self.expect("}");
                Node::Group(body)
            }
            "if" => self.conditions(),
            word @ ("while" | "until") => {
                self.at += word.len();
                let condition = self.body();
                Node::Loop(condition, self.do_body())
            }
            word @ ("for" | "select") => {
                self.at += word.len();
                self.each()
            }
            "case" => {
                self.at += 4;
                self.case()
            }
            "[[" => {
                self.at += 2;
                self.test()
            }
            "function" => {
                self.at += 8;
                self.blanks();
                let name = self.word().map(|it| it.bare().unwrap_or_default().to_owned()).unwrap_or_default();
                self.blanks();
                if self.eat(b"(") {
                    self.blanks();
                    self.close(b")");
                }
                return self.function(name);
            }
            _ => return self.simple(),
        };
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            let Some(redirect) = self.redirect() else { break };
            redirects.push(redirect);
        }
        Some(Stage { node, redirects })
    }

    pub(crate) fn close(&mut self, byte: &[u8]) {
        self.lines();
        if !self.eat(byte) {
            self.error();
        }
    }

    fn simple(&mut self) -> Option<Stage> {
        let (mut assigns, mut words, mut redirects) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect() {
                redirects.push(redirect);
                continue;
            }
            if words.is_empty()
                && let Some(assign) = self.assign()
            {
                assigns.push(assign);
                continue;
            }
            // The arrays of `declare -a x=(…)`.
            let Some(word) = self.word() else {
                if self.peek() == Some(b'(') && words.len() == 1 && assigns.is_empty() && redirects.is_empty()
                {
                    let name = words.pop().and_then(|it: Word| it.bare().map(str::to_owned));
                    self.at += 1;
                    self.blanks();
                    self.close(b")");
                    return self.function(name.unwrap_or_default());
                }
                break;
            };
            if self.peek() == Some(b'(')
                && word.bare().is_some_and(|it| it.ends_with('='))
                && words.first().and_then(Word::bare).is_some_and(super::is_declaration)
            {
                self.at += 1;
                let name = word.bare().unwrap_or_default().trim_end_matches('=');
                let (name, appends) = name.strip_suffix('+').map_or((name, false), |it| (it, true));
                let name = name.to_owned();
                assigns.push(Assign { name, index: None, appends, values: self.array(), is_array: true });
                continue;
            }
            words.push(word);
        }
        if assigns.is_empty() && words.is_empty() && redirects.is_empty() {
            self.error();
            return None;
        }
        Some(Stage { node: Node::Simple { assigns, words }, redirects })
    }

    /// Reads `NAME=value`, if that is here.
    fn assign(&mut self) -> Option<Assign> {
        let rest = self.bytes.get(self.at..)?;
        let end = rest.iter().position(|it| !it.is_ascii_alphanumeric() && *it != b'_');
        self.count(end.unwrap_or(rest.len()));
        let end = end?;
        let name = std::str::from_utf8(rest.get(..end)?).ok().filter(|it| super::is_name(it))?;
        let (mut after, mut index) = (end, None);
        if rest.get(after) == Some(&b'[') {
            // The bracket before the sign of the assignment: the index may have others.
            let is_end = |it: &[u8]| matches!(it, [b']', b'=', ..] | [b']', b'+', b'=', ..]);
            let close = rest
                .windows(2)
                .take(MAX_INDEX)
                .zip(0..)
                .find_map(|(_, at)| rest.get(at..).filter(|it| is_end(it)).map(|_| at))?;
            index = rest.get(end + 1..close);
            after = close + 1;
        }
        let appends = rest.get(after) == Some(&b'+');
        after += usize::from(appends);
        if rest.get(after) != Some(&b'=') {
            return None;
        }
        self.at += after + 1;
        let index = index.map(|it| self.document(it, false));
        let name = name.to_owned();
        if self.eat(b"(") {
            return Some(Assign { name, index, appends, values: self.array(), is_array: true });
        }
        let value = self.word().unwrap_or_default();
        Some(Assign { name, index, appends, values: vec![value], is_array: false })
    }

    /// Reads the rest of `(a b)`.
    fn array(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        loop {
            self.lines();
            let Some(word) = self.word() else { break };
            words.push(word);
        }
        self.close(b")");
        words
    }
}
