//! The `if` of a hook of Claude Code: the permission rule that a tool call must match.
//!
//! The rule spares processes, and guards nothing: if hookbox cannot tell that a call does not match, the hook runs. A
//! program in another language, such as one of awk, is not read.

use super::matcher::{Expression, compile, has_tool};
use crate::event::{Event, EventData, ToolCall, ToolKind};
use hookbox_shell::{Known, Run, Use, base_name, is_in, runs, use_of};

/// Commands of a shell that change only the shell: a line that is followed does not run them.
const BUILTINS: &str =
    "alias declare eval export local mapfile popd read readarray readonly set shift trap unset";

/// The tool calls for which a hook of Claude Code runs.
#[derive(Clone, Debug)]
pub struct Condition {
    tool: Expression,
    kinds: &'static [ToolKind],
    detail: Detail,
    text: String,
}

#[derive(Clone, Debug)]
enum Detail {
    Any,
    /// The text of one command of a shell line.
    Command(Expression),
    /// A path, absolute or as the call names it.
    Path(Expression),
    /// The host of an address.
    Domain(String),
}

impl Condition {
    /// Reads a permission rule: `Tool`, or `Tool(detail)`. `None` if it is not one. A detail that is not a
    /// command (`Bash`), a path (`Read`, `Edit` …) or `domain:` (`WebFetch`) matches every call of the tool.
    pub fn parse(rule: &str) -> Option<Self> {
        let (tool, detail) = match rule.trim().split_once('(') {
            Some((tool, rest)) => (tool, rest.strip_suffix(')')?.trim()),
            None => (rule.trim(), ""),
        };
        if tool.is_empty() || !tool.chars().all(|c| c.is_ascii_alphanumeric() || "_-*".contains(c)) {
            return None;
        }
        let kinds: &[ToolKind] = match tool {
            "Edit" | "Write" => &[ToolKind::Edit, ToolKind::Write],
            "Read" => &[ToolKind::Read, ToolKind::Search],
            "Bash" => &[ToolKind::Shell],
            _ => &[],
        };
        let detail = match tool {
            _ if matches!(detail, "" | "*") => Detail::Any,
            "Bash" => Detail::Command(command(detail)?),
            "Read" | "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => Detail::Path(path(detail)?),
            "WebFetch" => match detail.strip_prefix("domain:") {
                Some(domain) => Detail::Domain(domain.trim().to_ascii_lowercase()),
                None => Detail::Any,
            },
            _ => Detail::Any,
        };
        let tool = compile(&format!("^(?:{})$", regex::escape(tool).replace(r"\*", ".*"))).ok()?;
        Some(Self { tool, kinds, detail, text: rule.to_owned() })
    }

    /// Returns the rule as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether the hook runs at this event. A rule never matches an event without a tool.
    pub fn is_for(&self, event: &Event) -> bool {
        let Some(call) = event.tool_call() else {
            // Its tool is in the agent's own form.
            return matches!(&event.data, EventData::Other { name, .. } if name == "permission_request");
        };
        let is_named = has_tool(&self.tool, &call.name);
        (is_named || self.kinds.contains(&hookbox_calls::kind_of(&call.name))) && self.has(call)
    }

    fn has(&self, call: &ToolCall) -> bool {
        let text = |pointer: &str| call.input.pointer(pointer).and_then(serde_json::Value::as_str);
        match &self.detail {
            Detail::Any => true,
            Detail::Command(rule) => {
                let line = call.facts.command.as_deref().or_else(|| text("/command"));
                line.is_none_or(|line| has_command(rule, line))
            }
            Detail::Path(rule) => {
                let named = hookbox_calls::named(&call.name, call.input.value());
                let paths: Vec<&str> =
                    call.facts.paths.iter().map(|it| it.path.as_str()).chain(named).collect();
                paths.is_empty() || paths.iter().any(|path| rule.is_match(path))
            }
            Detail::Domain(domain) => text("/url").is_none_or(|url| has_domain(domain, url)),
        }
    }
}

/// Returns true unless no command of the line matches the rule.
fn has_command(rule: &Expression, line: &str) -> bool {
    if line.contains(['$', '`']) || line.contains("<(") || line.contains(">(") || line.contains("<<") {
        return true;
    }
    let reading = runs(line, &Known::default());
    // A name that the line gives to a function or an alias is not that of a program.
    !reading.unread.is_empty()
        || line.split(|c: char| c.is_whitespace() || ";&|(){}".contains(c)).any(|word| is_in(BUILTINS, word))
        || reading.runs.iter().any(|run| is_for(rule, run))
}

/// Returns true unless a command does not match the rule.
fn is_for(rule: &Expression, run: &Run) -> bool {
    let words = run.texts();
    let Some((_, rest)) = words.split_first() else { return false };
    let is_at = |at: usize| {
        let Some((program, rest)) = words.get(at..).and_then(|words| words.split_first()) else {
            return false;
        };
        [*program, base_name(program)].iter().any(|it| rule.is_match(&[&[*it], rest].concat().join(" ")))
    };
    let may_run = || {
        let is_script = |word: &&&str| word.contains(char::is_whitespace);
        (1..words.len()).any(is_at) || rest.iter().filter(is_script).any(|it| has_command(rule, it))
    };
    run.program().is_none()
        // A program that starts another one may be what the rule names.
        || !run.via.is_empty()
        || is_at(0)
        || match use_of(&words) {
            Use::Shell => true,
            // An unknown program may run its words.
            Use::Any => may_run(),
            Use::Reads | Use::Keeps => false,
        }
}

/// Returns true unless an address leads elsewhere, as browsers read it (the WHATWG's URL standard): `\` is `/`, any
/// number of slashes begins a host, and a final dot is not a part of it.
fn has_domain(domain: &str, url: &str) -> bool {
    let url = url.trim_matches(|c: char| c <= ' ').replace(['\t', '\n', '\r'], "").replace('\\', "/");
    let domain = domain.strip_prefix("*.").unwrap_or(domain);
    let leads = |rest: &str| {
        let host = rest.trim_start_matches('/').split(['/', '?', '#']).next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
        // A host in other letters, or with an escape, may be any.
        let is_plain = host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        !is_plain || host == domain || host.ends_with(&format!(".{domain}"))
    };
    // Without a scheme, the first part is the host.
    leads(&url) || url.split_once(':').is_some_and(|(_, rest)| leads(rest))
}

/// Compiles a rule for a command: `*` is any text, and a final ` *` or `:*` also no text.
fn command(detail: &str) -> Option<Expression> {
    let prefix = detail.strip_suffix(":*").or_else(|| detail.strip_suffix(" *"));
    let words: Vec<&str> = prefix.unwrap_or(detail).split_whitespace().collect();
    let fixed = regex::escape(&words.join(" ")).replace(r"\*", ".*");
    let rest = if prefix.is_some() { "(?: .*)?" } else { "" };
    compile(&format!("(?s)^{fixed}{rest}$")).ok()
}

/// Compiles a rule for a path, as in a `.gitignore`. Only `//` begins at the root: the directory of any other
/// rule may be any.
fn path(detail: &str) -> Option<Expression> {
    let (start, rest) = match detail.strip_prefix("//") {
        Some(rest) => ("^/", rest),
        None => ("(?:^|/)", detail.trim_start_matches("~/").trim_start_matches("./").trim_start_matches('/')),
    };
    let glob = regex::escape(rest.trim_end_matches('/'));
    let glob = glob.replace(r"\*\*/", "\u{1}").replace(r"\*\*", ".*").replace(r"\*", "[^/]*");
    let glob = glob.replace(r"\?", "[^/]").replace('\u{1}', "(?:.*/)?");
    compile(&format!("(?s){start}{glob}(?:/.*)?$")).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::event::Context;

    fn at(tool: &str, input: Value) -> Event {
        let context = Arc::new(Context::new("c", "/w"));
        Event { context, data: EventData::BeforeToolCall(ToolCall::new(tool, input)) }
    }

    #[test]
    fn a_rule_is_for_the_commands_that_it_names_and_for_those_that_cannot_be_told() {
        for (rule, line, expected) in [
            ("Bash", "ls", true),
            ("Bash(*)", "ls", true),
            ("Bash(git *)", "git", true),
            ("Bash(git *)", "git push", true),
            ("Bash(git *)", "gitk", false),
            ("Bash(git:*)", "git push --force", true),
            ("Bash(git push)", "git push", true),
            ("Bash(git push)", "git push origin", false),
            ("Bash(git * --force)", "git push  origin --force", true),
            ("Bash(rm *)", "ls && rm -rf x", true),
            ("Bash(rm *)", "ls | tee x; A=1 rm x", true),
            ("Bash(rm *)", "ls -l", false),
            ("Bash(rm *)", "'r'm x", true),
            ("Bash(rm *)", "r\\m x", true),
            ("Bash(rm *)", "echo $(rm x)", true),
            ("Bash(rm *)", "$X x", true),
            ("Bash(rm *)", "/bin/r? x", true),
            ("Bash(rm *)", "sudo rm x", true),
            ("Bash(rm *)", "bash <<E\nrm x\nE", true),
            ("Bash(rm *)", "if true; then rm x; fi", true),
            ("Bash(rm *)", "while rm x; do :; done", true),
            ("Bash(rm *)", "until rm x; do :; done", true),
            ("Bash(rm *)", "select a in b; do rm x; done", true),
            ("Bash(rm *)", "coproc rm x", true),
            ("Bash(rm *)", "bash -c 'rm x'", true),
            ("Bash(rm *)", "eval 'rm x'", true),
            ("Bash(rm *)", "trap 'rm x' EXIT", true),
            ("Bash(rm *)", "find . -exec rm {} +", true),
            ("Bash(rm *)", "/bin/rm x", true),
            ("Bash(rm *)", "source <(echo rm x)", true),
            ("Bash(rm *)", "flock f rm x", true),
            ("Bash(rm *)", "npx -y rimraf rm x", true),
            ("Bash(rm *)", "runuser -c 'rm x'", true),
            ("Bash(rm *)", "fd . -x rm", true),
            ("Bash(rm *)", "unknown --rm x", false),
            ("Bash(rm *)", "{rm,x}", true),
            ("Bash(rm *)", "rm 'x", true),
            ("Bash(rm *)", "find . -name rm", false),
            ("Bash(rm *)", "git commit -m 'rm x; rm y'", false),
            ("Bash(./x *)", "./x y", true),
            ("Bash(a(b) *)", "a(b) c", true),
        ] {
            let condition = Condition::parse(rule).unwrap();
            assert_eq!(condition.is_for(&at("Bash", json!({"command": line}))), expected, "{rule}: {line}");
        }
        let git = Condition::parse("Bash(git *)").unwrap();
        assert!(
            git.is_for(&at("run_shell_command", json!({"command": "git status"}))),
            "another agent's name"
        );
        assert!(git.is_for(&at("Bash", json!({"odd": 1}))), "a line that is not found");
        assert!(!git.is_for(&at("Read", json!({"file_path": "git"}))));
    }

    #[test]
    fn a_rule_is_for_the_paths_the_domain_and_the_tools_that_it_names() {
        for (rule, tool, input, expected) in [
            ("Edit(*.ts)", "Edit", json!({"file_path": "/w/src/a.ts"}), true),
            ("Edit(*.ts)", "Write", json!({"file_path": "a.ts"}), true),
            ("Edit(*.ts)", "Edit", json!({"file_path": "/w/a.tsx"}), false),
            ("Edit(src/**)", "Edit", json!({"file_path": "/w/src/a/b.rs"}), true),
            ("Edit(/src/**/x)", "Edit", json!({"file_path": "/w/src/x"}), true),
            ("Edit(//etc/*)", "Edit", json!({"file_path": "/etc/passwd"}), true),
            ("Edit(//etc/*)", "Edit", json!({"file_path": "/w/etc/passwd"}), false),
            ("Read(~/.ssh)", "Read", json!({"file_path": "/home/a/.ssh/id"}), true),
            ("Read(.env)", "Edit", json!({"file_path": ".env"}), false),
            ("WebFetch(domain:example.com)", "WebFetch", json!({"url": "https://example.com/x"}), true),
            (
                "WebFetch(domain:example.com)",
                "WebFetch",
                json!({"url": "https://a@x.org:1/example.com"}),
                false,
            ),
            ("WebFetch(domain:evil.com)", "WebFetch", json!({"url": "http://evil.com."}), true),
            ("WebFetch(domain:evil.com)", "WebFetch", json!({"url": "http:\\\\evil.com"}), true),
            ("WebFetch(domain:evil.com)", "WebFetch", json!({"url": "http:/evil.com"}), true),
            ("WebFetch(domain:evil.com)", "WebFetch", json!({"url": "http://evil.com\\@good.com/"}), true),
            ("WebFetch(domain:evil.com)", "WebFetch", json!({"url": "http://%65vil.com"}), true),
            ("WebFetch(domain:evil.com)", "WebFetch", json!({"url": "evil.com:80/x"}), true),
            ("WebFetch(domain:evil.com)", "WebFetch", json!({"url": "http://evil.com@good.com/"}), false),
            ("WebFetch(domain:evil.com)", "WebFetch", json!({"url": "http://good.com/?u=evil.com"}), false),
            ("mcp__memory__*", "mcp__memory__read", json!({}), true),
            ("mcp__memory__*", "MCP:read", json!({}), true),
            ("mcp__memory__read", "memory-read", json!({}), true),
            ("mcp__memory__*", "memory_read", json!({}), true),
            ("mcp__memory__*", "other_read", json!({}), false),
            ("mcp__memory__*", "mcp__other__read", json!({}), false),
            ("Agent(Explore)", "Agent", json!({"subagent_type": "Other"}), true),
        ] {
            let condition = Condition::parse(rule).unwrap();
            assert_eq!(condition.is_for(&at(tool, input.clone())), expected, "{rule}: {input}");
        }
        let condition = Condition::parse("Bash").unwrap();
        let context = Arc::new(Context::new("c", "/w"));
        let stop = Event { context, data: EventData::SessionStart { source: None } };
        assert!(!condition.is_for(&stop), "a rule never matches an event without a tool");
        for wrong in ["", "(x)", "Bash(git", "a b", "Bash(x)y"] {
            assert!(Condition::parse(wrong).is_none(), "{wrong}");
        }
    }
}
