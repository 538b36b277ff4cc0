//! An exception that a rule does not have yet. It is tried before anybody is told to write it.

use std::path::PathBuf;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::hook::homes;
use super::read::Lines;
use super::rule::{Answer, Rule};
use super::view::View;
use super::{MAX_FILE, Rules};
use crate::event::Event;
use hookbox_system::toml_value::{inline, to_json};

/// An exception for one rule of a file, which was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// The exception as TOML. Not escaped.
    pub unless: String,
    /// The line of the file with all exceptions of the rule, as TOML. Not escaped.
    pub row: String,
    /// True if the rule has exceptions. The line has them, and replaces them.
    pub replaces: bool,
}

/// Returns the exception for the rule at this line, as it has to be written. `None` if the file would not be valid with
/// it, or would still block, ask about or fail to judge the event.
pub fn exception(
    file: &[u8],
    line: usize,
    unless: &Value,
    event: &Event,
    home: Option<PathBuf>,
) -> Option<Exception> {
    // The file may have changed since it was read.
    let text = str::from_utf8(file).ok().filter(|it| it.len() as u64 <= MAX_FILE)?;
    let (exception, changed) = add(text, line, unless)?;
    let rules = Rules::read(changed.as_bytes()).ok()?;
    let homes = homes(home);
    let view = View::new(event, &homes);
    // The counter of a rule is not asked: it may be reached the next time.
    let lets_pass = |rule: &Rule| match rule.matches(&view) {
        Ok(None) => true,
        Ok(Some(_)) => !matches!(rule.answer, Answer::Block | Answer::Ask),
        Err(_) => false,
    };
    rules.rules().iter().all(lets_pass).then_some(exception)
}

/// Adds an exception to the rule at this line. Returns it with the text of the file that has it.
fn add(text: &str, line: usize, unless: &Value) -> Option<(Exception, String)> {
    let lines = Lines::of(text);
    let document = DeTable::parse(text).ok()?;
    let DeValue::Array(rules) = document.get_ref().get("rule")?.get_ref() else { return None };
    let rule = rules.iter().find(|it| lines.line(&it.span()) == line)?;
    let DeValue::Table(table) = rule.get_ref() else { return None };
    let old = table.get("unless");
    let mut all = match old.map(|it| to_json(it.get_ref())) {
        Some(Value::Array(all)) => all,
        one => one.into_iter().collect(),
    };
    all.push(unless.clone());
    let value = match all.as_slice() {
        [one] => inline(one)?,
        _ => inline(&Value::Array(all))?,
    };
    let row = format!("unless = {value}");
    let (at, added) = match old {
        Some(old) => (old.span(), value),
        None => {
            let start = rule.span().start;
            let header = text.get(start..).filter(|it| it.starts_with("[["))?.lines().next()?;
            let end = start + header.len();
            (end..end, format!("\n{row}"))
        }
    };
    let (before, behind) = (text.get(..at.start)?, text.get(at.end..)?);
    // Exceptions in tables of their own, such as `[rule.unless]`, are not one value of the text.
    if old.is_some() && !before.trim_end().ends_with('=') {
        return None;
    }
    let exception = Exception { unless: inline(unless)?, row, replaces: old.is_some() };
    Some((exception, format!("{before}{added}{behind}")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::event::{Context, EventData, ToolCall};
    use crate::facts;

    const RULE: &str = "answer = \"block\"\nreason = \"No.\"\ncommand = \"git push\"\n";

    fn event(line: &str) -> Event {
        let mut call = ToolCall::new("bash", json!({ "command": line }));
        call.facts = Arc::new(facts::of(&call.name, &call.input, "/p".as_ref(), None));
        Event { context: Context::new("c", "/p").into(), data: EventData::BeforeToolCall(call) }
    }

    fn tried(file: &str, line: usize) -> Option<Exception> {
        let unless = json!({ "command": "git push -f" });
        exception(file.as_bytes(), line, &unless, &event("git push -f"), None)
    }

    #[test]
    fn an_exception_joins_those_that_a_rule_has() {
        let new = "{ command = \"git push -f\" }";
        let two = format!("unless = [{{ command = \"a\" }}, {new}]");
        for (head, tail, replaces, row) in [
            ("[[rule]]", "", false, format!("unless = {new}")),
            ("[[rule]] # a comment", "", false, format!("unless = {new}")),
            ("[[rule]]", "unless = { command = \"a\" }\n", true, two.clone()),
            ("[[rule]]", "unless=[{ command = 'a' }]", true, two.clone()),
            ("[[rule]]", "unless = [ # why\n  { command = \"a\" },\n]\n", true, two.clone()),
        ] {
            let found = tried(&format!("# x\n{head}\n{RULE}{tail}"), 2);
            let wanted = Exception { unless: new.to_owned(), row, replaces };
            assert_eq!(found, Some(wanted), "{head} {tail}");
        }
    }

    #[test]
    fn an_exception_that_does_not_help_is_not_one() {
        for (file, line) in [
            // Another rule of the file still blocks.
            (format!("[[rule]]\n{RULE}[[rule]]\nname = \"b\"\n{RULE}"), 1),
            // It counts, and may block the next time.
            (format!("[[rule]]\n{RULE}[[rule]]\ncount = {{ times = 2, within = \"1m\" }}\n{RULE}"), 1),
            // An example of the file would fail.
            (format!("[[rule]]\n{RULE}must_match = \"git push -f\"\n"), 1),
            // The exceptions are in a table of their own.
            (format!("[[rule]]\n{RULE}[rule.unless]\ncommand = \"a\"\n"), 1),
            (format!("[[rule]]\n{RULE}[[rule.unless]]\ncommand = \"a\"\n"), 1),
            (format!("[[rule]]\n{RULE}unless.command = \"a\"\n"), 1),
            // The file has changed.
            (format!("\n[[rule]]\n{RULE}"), 1),
            ("not TOML".to_owned(), 1),
            (String::new(), 1),
        ] {
            assert_eq!(tried(&file, line), None, "{file}");
        }
    }

    #[test]
    fn a_rule_in_the_middle_of_a_file_gets_the_exception() {
        let first = RULE.replace("git push", "make");
        let file = format!("[[rule]]\n{first}\n[[rule]]\n{RULE}\n[[rule]]\nname = \"c\"\n{first}");
        assert!(tried(&file, 6).is_some());
        assert_eq!(tried(&file, 1), None);
    }
}
