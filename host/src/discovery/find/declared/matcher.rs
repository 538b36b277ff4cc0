//! The tools of an entry.

use super::document::{Form, Node};
use super::reader::{MAX_WORDS, Reader, at, wrong};
use crate::event::kind_of_pattern;
use hookbox_system::text;

impl Reader {
    /// Reads the tools of a matcher as a subscription takes them; an empty list means all tools. A matcher
    /// that cannot be read means all tools: a guard that runs too often is noticed, one that never runs is
    /// not.
    pub(super) fn tools(&mut self, value: Node<'_>) -> Vec<String> {
        let expected = "tool names such as \"bash|edit\" or [\"bash\", \"kind:shell\"]";
        let names: Option<Vec<String>> = match value.form() {
            Form::Text(names) if names.len() <= MAX_TEXT => Some(names.split('|').map(trimmed).collect()),
            Form::Array(items) if items.len() <= MAX_WORDS => items
                .into_iter()
                .map(|item| match item.form() {
                    Form::Text(name) => Some(trimmed(&name)),
                    _ => None,
                })
                .collect(),
            _ => None,
        };
        let names = names.filter(|names| names.len() <= MAX_WORDS);
        let Some(names) = names else {
            self.fault(|| format!("{}; it gets all of them", wrong("matcher", expected, value)));
            return Vec::new();
        };
        if names.iter().all(|name| matches!(name.as_str(), "" | "*")) {
            return Vec::new();
        }
        let read: Result<Vec<String>, Option<String>> = names.iter().map(|name| tool(name)).collect();
        read.unwrap_or_else(|why| {
            self.fault(|| {
                let what = match why {
                    Some(why) => at(value.spot(), &format!("matcher: {why}")),
                    None => wrong("matcher", expected, value),
                };
                format!("{what}; it gets all of them")
            });
            Vec::new()
        })
    }
}

/// The size limit of a matcher, in bytes.
const MAX_TEXT: usize = 4096;

fn trimmed(name: &str) -> String {
    name.trim().to_owned()
}

/// Reads a name or a kind in the form in which it is compared.
fn tool(name: &str) -> Result<String, Option<String>> {
    if let Some(kind) = kind_of_pattern(name) {
        let unknown = |nearest: &str| {
            let shown = text::escape(name, 80);
            Some(format!("unknown kind of tool \"{shown}\": the nearest is \"kind:{nearest}\""))
        };
        return kind.map(|kind| format!("kind:{}", kind.as_str())).map_err(unknown);
    }
    // `knd:shell` is not the name of a tool.
    let is_misspelt = name.split_once(':').is_some_and(|(head, tail)| {
        text::distance(&head.trim().to_ascii_lowercase(), "kind") <= 1
            && kind_of_pattern(&format!("kind:{tail}")).is_some_and(|kind| kind.is_ok())
    });
    let is_pattern = name.contains(['*', '^', '$', '(', ')', '[', ']', '\\', '?', '+', ',']);
    if name.is_empty() || is_pattern || is_misspelt || name.contains(char::is_whitespace) {
        return Err(None);
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::document::Document;
    use super::*;

    #[test]
    fn a_kind_is_read_in_any_spelling_and_what_cannot_be_read_is_all_tools() {
        for (text, want, fault) in [
            (r#""bash|kind:shell""#, &["bash", "kind:shell"][..], ""),
            (r#""kind: Shell""#, &["kind:shell"], ""),
            (r#"["Kind:SHELL", " edit "]"#, &["kind:shell", "edit"], ""),
            (r#""*""#, &[], ""),
            (r#""kind:shel""#, &[], "unknown kind of tool \"kind:shel\": the nearest is \"kind:shell\""),
            (r#""kind:""#, &[], "unknown kind of tool"),
            (r#""knd:shell""#, &[], "expected tool names"),
            (r#""bash,edit""#, &[], "expected tool names"),
            (r#""bash edit""#, &[], "expected tool names"),
            (r#""bash|""#, &[], "expected tool names"),
            (r#"["bash", 5]"#, &[], "expected tool names"),
            (r#""server:tool""#, &["server:tool"], ""),
        ] {
            let mut reader = Reader::default();
            assert_eq!(reader.tools(Document::parse(text).unwrap().root()), want, "{text}");
            let faults = reader.finish();
            assert_eq!(faults.len(), usize::from(!fault.is_empty()), "{text}");
            assert!(faults.iter().all(|it| it.message.contains(fault)), "{text}: {faults:?}");
        }
    }
}
