//! A small reading of shell text: words, operators, and which command feeds which.

/// A word or an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A word without its quotes.
    Word(String),
    /// One of `| || && ; & ( ) { }`; a newline is `;`, `$(` is `(`.
    Operator(&'static str),
}

/// One simple command.
#[derive(Debug, Default)]
pub(crate) struct Command {
    /// The words.
    pub(crate) words: Vec<String>,
    /// The commands before it in its pipeline, by their place in the script.
    pub(crate) upstream: Vec<usize>,
}

/// A piece of shell text.
#[derive(Debug)]
pub(crate) struct Script {
    /// The tokens.
    pub(crate) tokens: Vec<Token>,
    /// The commands.
    pub(crate) commands: Vec<Command>,
}

/// Programs that run one of their words as a script.
const RUNNERS: [&str; 12] =
    ["sh", "bash", "zsh", "dash", "ksh", "fish", "eval", "ssh", "su", "watch", "parallel", "xargs"];

/// Scripts in scripts are read this deep.
const DEPTH: usize = 4;

/// Returns the line, and the scripts in it: substitutions in quotes and arguments of shells.
pub(crate) fn scripts(line: &str) -> Vec<Script> {
    let mut found = Vec::new();
    let mut waiting = vec![(line.to_owned(), 0)];
    while let Some((text, depth)) = waiting.pop() {
        let (tokens, mut inner) = tokens(&text);
        let script = Script { commands: commands(&tokens), tokens };
        for command in &script.commands {
            let runs = command.words.iter().any(|word| RUNNERS.contains(&base_name(word)));
            let parts = command.words.iter().filter(|word| {
                word.contains('\n')
                    || runs && word.contains(|c: char| c.is_whitespace() || ";|&(`".contains(c))
            });
            inner.extend(parts.cloned());
        }
        if depth < DEPTH {
            waiting.extend(inner.into_iter().map(|text| (text, depth + 1)));
        }
        found.push(script);
    }
    found
}

/// Returns the letters of a line without quotes, escapes and line continuations: a word is in one piece, with
/// any quoting.
pub(crate) fn unquoted(line: &str) -> String {
    let mut letters = String::with_capacity(line.len());
    let mut pieces = line.split(['\'', '"', '\\']);
    letters.extend(pieces.next());
    for piece in pieces {
        letters.push_str(piece.strip_prefix('\n').unwrap_or(piece));
    }
    letters
}

/// The last part of a path.
pub(crate) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Returns the tokens of a text, and the scripts in its double quotes.
pub(crate) fn tokens(text: &str) -> (Vec<Token>, Vec<String>) {
    let mut reader =
        Reader { chars: text.chars().collect(), at: 0, tokens: Vec::new(), word: None, inner: Vec::new() };
    let mut in_backticks = false;
    while let Some(c) = reader.next() {
        match c {
            '\'' => reader.single_quotes(),
            '"' => reader.double_quotes(),
            '\\' => match reader.next() {
                Some('\n') | None => {}
                Some(escaped) => reader.push(escaped),
            },
            '\n' | ';' => reader.operator(";"),
            '|' if reader.eat('|') => reader.operator("||"),
            '|' => {
                reader.eat('&');
                reader.operator("|");
            }
            '&' if reader.eat('&') => reader.operator("&&"),
            // `&>` is a redirection.
            '&' if reader.eat('>') => reader.end_word(),
            '&' => reader.operator("&"),
            '(' => reader.operator("("),
            ')' => reader.operator(")"),
            '$' if reader.eat('(') => reader.operator("("),
            '$' if reader.peek() == Some('{') => reader.parameter(),
            '{' => reader.operator("{"),
            '}' => reader.operator("}"),
            '`' => {
                reader.operator(if in_backticks { ")" } else { "(" });
                in_backticks = !in_backticks;
            }
            '<' | '>' => {
                reader.end_word();
                reader.eat('&');
            }
            '#' if reader.word.is_none() => reader.comment(),
            c if c.is_whitespace() => reader.end_word(),
            c => reader.push(c),
        }
    }
    reader.end_word();
    (reader.tokens, reader.inner)
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    tokens: Vec<Token>,
    word: Option<String>,
    inner: Vec<String>,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    /// Takes this character if it comes next.
    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        self.tokens.extend(self.word.take().map(Token::Word));
    }

    fn operator(&mut self, operator: &'static str) {
        self.end_word();
        self.tokens.push(Token::Operator(operator));
    }

    /// A quote that is never closed, such as the apostrophe of a here-document, is a letter.
    fn single_quotes(&mut self) {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        match rest.iter().position(|c| *c == '\'') {
            Some(length) => {
                let quoted: String = rest.iter().take(length).collect();
                self.word.get_or_insert_default().push_str(&quoted);
                self.at += length + 1;
            }
            None => self.push('\''),
        }
    }

    fn double_quotes(&mut self) {
        let start = self.at;
        let mut quoted = String::new();
        loop {
            match self.next() {
                Some('"') => break,
                Some('\\') => match self.next() {
                    Some('\n') | None => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => quoted.push(c),
                    Some(c) => quoted.extend(['\\', c]),
                },
                Some(c) => quoted.push(c),
                None => {
                    self.at = start;
                    return self.push('"');
                }
            }
        }
        if let Some((_, script)) = quoted.split_once("$(") {
            self.inner.push(script.to_owned());
        }
        if let Some((_, script)) = quoted.split_once('`') {
            self.inner.push(script.to_owned());
        }
        self.word.get_or_insert_default().push_str(&quoted);
    }

    /// `${…}` is part of a word.
    fn parameter(&mut self) {
        self.push('$');
        while let Some(c) = self.next() {
            self.push(c);
            if c == '}' || c == '\n' {
                break;
            }
        }
    }

    fn comment(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }
}

/// An open script, group or substitution.
#[derive(Default)]
struct Frame {
    /// The commands whose output the whole group reads.
    outer: Vec<usize>,
    /// The commands of the current pipeline.
    pipeline: Vec<usize>,
    /// Every command.
    all: Vec<usize>,
}

fn commands(tokens: &[Token]) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut parents: Vec<Frame> = Vec::new();
    let mut frame = Frame::default();
    let mut words: Vec<String> = Vec::new();
    for token in tokens.iter().chain([&Token::Operator(";")]) {
        let operator = match token {
            Token::Word(word) => {
                words.push(word.clone());
                continue;
            }
            Token::Operator(operator) => *operator,
        };
        if !words.is_empty() {
            let upstream = frame.outer.iter().chain(&frame.pipeline).copied().collect();
            frame.pipeline.push(commands.len());
            frame.all.push(commands.len());
            commands.push(Command { words: std::mem::take(&mut words), upstream });
        }
        match operator {
            "|" => {}
            "(" | "{" => {
                let outer = frame.outer.iter().chain(&frame.pipeline).copied().collect();
                parents.push(std::mem::replace(&mut frame, Frame { outer, ..Frame::default() }));
            }
            ")" | "}" => {
                if let Some(mut parent) = parents.pop() {
                    parent.pipeline.extend(&frame.all);
                    parent.all.append(&mut frame.all);
                    frame = parent;
                }
            }
            _ => frame.pipeline.clear(),
        }
    }
    commands
}
