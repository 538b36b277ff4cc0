//! Compound commands.

use std::rc::Rc;

use super::parse::Parser;
use super::tree::{List, Node, Pipeline, Stage, Word};

impl Parser<'_> {
    pub(crate) fn function(&mut self, name: String) -> Option<Stage> {
        self.lines();
        if !self.deeper() {
            return None;
        }
        if !self.begins_compound() {
            self.error();
        }
        let body = self.stage();
        self.depth = self.depth.saturating_sub(1);
        Some(Stage { node: Node::Function { name, body: Rc::new(body?) }, redirects: Vec::new() })
    }

    fn begins_compound(&self) -> bool {
        self.peek() == Some(b'(')
            || ["{", "if", "while", "until", "for", "select", "case", "[["].contains(&self.keyword())
    }

    /// Reads `coproc` and the name before a compound command. Before other commands it is the name of a wrapper.
    pub(crate) fn coprocess(&mut self) -> bool {
        let start = self.at;
        self.eat_keyword("coproc");
        self.blanks();
        if !self.begins_compound() {
            while self.peek().is_some_and(|it| it.is_ascii_alphanumeric() || it == b'_') {
                self.at += 1;
            }
            self.blanks();
        }
        let is_compound = self.at > start + "coproc".len() && self.begins_compound();
        self.at = if is_compound { self.at } else { start };
        is_compound
    }

    pub(crate) fn conditions(&mut self) -> Node {
        self.at += 2;
        let mut arms = vec![];
        loop {
            let condition = self.body();
            self.expect("then");
            arms.push((condition, self.body()));
            self.lines();
            if !self.eat_keyword("elif") {
                break;
            }
        }
        if self.eat_keyword("else") {
            arms.push((List::default(), self.body()));
        }
        self.expect("fi");
        Node::If(arms)
    }

    pub(crate) fn do_body(&mut self) -> List {
        self.expect("do");
        let body = self.body();
        self.expect("done");
        body
    }

    /// Reads the commands of a loop: in braces, or between `do` and `done`.
    fn loop_body(&mut self) -> List {
        if self.keyword() != "{" {
            return self.do_body();
        }
        self.at += 1;
        let body = self.body();
        self.expect("}");
        body
    }

    pub(crate) fn each(&mut self) -> Node {
        self.blanks();
        if self.eat(b"((") {
            let parts = self.arithmetic();
            self.blanks();
            self.eat(b";");
            self.lines();
            let body = self.loop_body();
            let condition = Node::Test(vec![Word { parts }]);
            let stage = Stage { node: condition, redirects: Vec::new() };
            let pipeline = Pipeline { stages: vec![stage], ..Pipeline::default() };
            return Node::Loop(List { pipelines: vec![pipeline] }, body);
        }
        let name = self.word().and_then(|it| it.bare().map(str::to_owned));
        if !name.as_ref().is_some_and(|it| super::is_name(it)) {
            self.error();
        }
        self.lines();
        let mut words = None;
        if self.eat_keyword("in") {
            let mut found = Vec::new();
            loop {
                self.blanks();
                let Some(word) = self.word() else { break };
                found.push(word);
            }
            words = Some(found);
            if self.peek() != Some(b';') && self.peek() != Some(b'\n') {
                self.error();
            }
        }
        self.blanks();
        self.eat(b";");
        self.lines();
        let body = self.loop_body();
        Node::For { name: name.unwrap_or_default(), words, body }
    }

    pub(crate) fn case(&mut self) -> Node {
        self.blanks();
        let word = self.word().unwrap_or_else(|| {
            self.error();
            Word::default()
        });
        self.expect("in");
        let mut arms = Vec::new();
        loop {
            self.lines();
            if self.eat_keyword("esac") || self.peek().is_none() {
                break;
            }
            self.eat(b"(");
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                match self.word() {
                    Some(pattern) => patterns.push(pattern),
                    // Only zsh reads `a|)`.
                    None => self.error(),
                }
                self.blanks();
                if !self.eat(b"|") {
                    break;
                }
            }
            if patterns.is_empty() || !self.eat(b")") {
                self.error();
                self.at += 1;
                continue;
            }
            let body = self.list();
            arms.push((patterns, body));
            self.lines();
            if !(self.eat(b";;&") || self.eat(b";;") || self.eat(b";&")) {
                self.expect("esac");
                return Node::Case { word, arms };
            }
        }
        if !self.bytes.get(..self.at).is_some_and(|it| it.ends_with(b"esac")) {
            self.error();
        }
        Node::Case { word, arms }
    }

    /// Reads the rest of `[[ … ]]`.
    pub(crate) fn test(&mut self) -> Node {
        let mut words = Vec::new();
        loop {
            self.lines();
            if self.keyword() == "]]" {
                self.at += 2;
                break;
            }
            let Some(word) = self.word() else {
                // The operators of the expression, and of patterns.
                match self.peek() {
                    Some(b'(' | b')' | b'<' | b'>' | b'|' | b'&') => self.at += 1,
                    _ => {
                        self.error();
                        break;
                    }
                }
                continue;
            };
            words.push(word);
        }
        if words.is_empty() {
            self.error();
        }
        Node::Test(words)
    }
}
