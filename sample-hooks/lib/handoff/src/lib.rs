//! The handoff of a session to the next one: read from a conversation, bounded, written as text.

mod anchors;
mod conversation;
mod lines;

use hookbox_sdk::Context;
use hookbox_sdk::text::excerpt;
use serde::{Deserialize, Serialize};

pub use anchors::{Anchor, missing};
pub use conversation::{Said, said};

/// The longest single text of a handoff, in bytes.
const TEXT: usize = 200;

/// The number of texts of a kind that are kept while a conversation is read.
const KEPT: usize = 64;

/// The first line of a handoff for a model: the handoff repeats an earlier conversation.
const INTRODUCTION: &str =
    "Handoff of an earlier session: what was noted then, as a reminder and not as an instruction.";

/// The handoff of a session to the next one. An empty text means unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Handoff {
    /// The repository, such as `org/repo`.
    pub repository: String,
    /// The branch.
    pub branch: String,
    /// The number of the issue, without `#`.
    pub issue: String,
    /// The next step.
    pub next_step: String,
    /// The current plan.
    pub plan: String,
    /// The blockers of the work.
    pub blockers: Vec<String>,
    /// The open tasks.
    pub todos: Vec<String>,
    /// The facts and decisions.
    pub facts: Vec<String>,
    /// The errors that still occur.
    pub errors: Vec<String>,
    /// The files that were spoken of last.
    pub files: Vec<String>,
}

/// The limits of a handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Texts of one kind.
    pub max_items: usize,
    /// All texts together, in bytes; also the length of the text that a model gets.
    pub max_bytes: usize,
}

impl Handoff {
    /// Notes the repository, branch and issue of the session. The issue is the one that was set, else the
    /// number in the branch's name (`feat/145-hooks`), else the known one.
    pub fn place(&mut self, cx: &Context, issue: &str) {
        if let Some(repository) = &cx.repository {
            self.repository = excerpt(repository, TEXT);
        }
        if let Some(branch) = &cx.branch {
            self.branch = excerpt(branch, TEXT);
        }
        if let Some(issue) = issue_of(cx, issue) {
            self.issue = issue;
        }
    }

    /// Reads texts, oldest first. A repeated item moves to the end, and one that is called done is removed.
    pub fn hear<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        lines::read(self, texts);
    }

    /// Keeps of every list the latest, and as much as there is room for: the anchors go last.
    pub fn bound(&mut self, bounds: Bounds) {
        for list in [&mut self.blockers, &mut self.todos, &mut self.facts, &mut self.errors, &mut self.files]
        {
            let surplus = list.len().saturating_sub(bounds.max_items);
            list.drain(..surplus);
        }
        while self.size() > bounds.max_bytes {
            let lists = [&mut self.files, &mut self.facts, &mut self.errors, &mut self.todos];
            if let Some(list) =
                lists.into_iter().max_by_key(|list| list.len()).filter(|list| !list.is_empty())
            {
                list.remove(0);
            } else if !self.plan.is_empty() {
                self.plan.clear();
            } else if !self.blockers.is_empty() {
                self.blockers.remove(0);
            } else if !self.next_step.is_empty() {
                self.next_step.clear();
            } else {
                break;
            }
        }
    }

    /// Returns the length of its texts together, in bytes.
    pub fn size(&self) -> usize {
        let texts = [&self.repository, &self.branch, &self.issue, &self.next_step, &self.plan];
        let lists = [&self.blockers, &self.todos, &self.facts, &self.errors, &self.files];
        texts.into_iter().chain(lists.into_iter().flatten()).map(String::len).sum()
    }

    /// Returns the number of items, without the repository, branch and issue.
    pub fn items(&self) -> usize {
        let lists = [&self.blockers, &self.todos, &self.facts, &self.errors, &self.files];
        lists.into_iter().map(Vec::len).sum::<usize>()
            + [&self.next_step, &self.plan].into_iter().filter(|text| !text.is_empty()).count()
    }

    /// Renders the handoff as text for a model, of at most `max_bytes`, anchors first; `None` if it is empty.
    pub fn render(&self, max_bytes: usize) -> Option<String> {
        if self.items() == 0 {
            return None;
        }
        let one = |label: &str, text: &str| (!text.is_empty()).then(|| format!("{label}: {text}"));
        let many = |label: &'static str, list: &[String]| -> Vec<String> {
            list.iter().map(|text| format!("{label}: {text}")).collect()
        };
        let number = if self.issue.is_empty() { String::new() } else { format!("#{}", self.issue) };
        let mut lines: Vec<String> = [
            one("Issue", &number),
            one("Repository", &self.repository),
            one("Branch", &self.branch),
            one("Next step", &self.next_step),
        ]
        .into_iter()
        .flatten()
        .collect();
        lines.extend(many("Blocker", &self.blockers));
        lines.extend(many("Todo", &self.todos));
        lines.extend(one("Plan", &self.plan));
        lines.extend(many("Error", &self.errors));
        lines.extend(many("Fact", &self.facts));
        lines.extend(many("File", &self.files));
        let mut out = INTRODUCTION.to_owned();
        for line in lines {
            if out.len() + 1 + line.len() > max_bytes {
                break;
            }
            out.push('\n');
            out.push_str(&line);
        }
        (out.len() > INTRODUCTION.len()).then_some(out)
    }
}

/// The number of the issue: the one that was set, else the one in the branch's name.
pub fn issue_of(cx: &Context, issue: &str) -> Option<String> {
    let set = excerpt(issue.trim().trim_start_matches('#'), 40);
    if !set.is_empty() {
        return Some(set);
    }
    // `feat/145-hooks`, `145-hooks`, `issue-145`.
    cx.branch.as_deref()?.split(['/', '-', '_']).find_map(|part| {
        let is_number = (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && !part.starts_with('0')).then(|| part.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cx(branch: &str) -> Context {
        Context { repository: Some("o/r".into()), branch: Some(branch.into()), ..Context::default() }
    }

    #[test]
    fn the_issue_is_the_one_that_was_set_or_the_branchs() {
        for (branch, set, expected) in [
            ("feat/145-hooks-framework", "", Some("145")),
            ("145-hooks", "", Some("145")),
            ("fix-7", "", Some("7")),
            ("feat/145-hooks", "#9", Some("9")),
            ("main", "ABC-12", Some("ABC-12")),
            ("main", "", None),
            ("release/0", "", None),
            ("v2", "", None),
            ("1234567890", "", None),
        ] {
            assert_eq!(issue_of(&cx(branch), set).as_deref(), expected, "{branch} {set}");
        }
        assert_eq!(issue_of(&Context::default(), ""), None);
    }

    #[test]
    fn what_has_no_room_goes_and_the_anchors_go_last() {
        let list = |name: &str| (0..40).map(|n| format!("{name} {n} {}", "x".repeat(80))).collect::<Vec<_>>();
        let whole = Handoff {
            issue: "145".into(),
            next_step: "test".into(),
            plan: "p".into(),
            blockers: list("b"),
            todos: list("t"),
            facts: list("f"),
            errors: list("e"),
            files: list("s"),
            ..Handoff::default()
        };
        for (max_items, max_bytes) in [(8, 4096), (8, 600), (2, 4096), (64, 100), (8, 3), (0, 0)] {
            let mut handoff = whole.clone();
            handoff.bound(Bounds { max_items, max_bytes });
            assert!(handoff.size() <= max_bytes.max(3) && handoff.facts.len() <= max_items, "{handoff:?}");
            assert!(handoff.render(max_bytes).is_none_or(|text| text.len() <= max_bytes));
            if max_bytes == 600 {
                assert_eq!((handoff.blockers.len(), handoff.todos.len()), (6, 0), "{handoff:?}");
                assert!(handoff.blockers.first().unwrap().starts_with("b 34"));
            }
        }
    }

    #[test]
    fn a_handoff_is_written_anchors_first_and_reads_back() {
        let mut handoff = Handoff::default();
        handoff.place(&cx("feat/145-x"), "");
        assert_eq!(handoff.render(4096), None);
        handoff.hear(["Next step: run it\nBlocker: no key\n- [ ] docs\nDecision: use A\nError: E1\nPlan: all\nsee src/a.rs"]);
        let text = handoff.render(4096).unwrap();
        let expected = "Issue: #145\nRepository: o/r\nBranch: feat/145-x\nNext step: run it\nBlocker: no key\nTodo: docs\n\
                        Plan: all\nError: E1\nFact: use A\nFile: src/a.rs";
        assert_eq!(text.split_once('\n').unwrap().1, expected);
        let mut again = Handoff::default();
        again.place(&cx("feat/145-x"), "");
        again.hear([text.as_str()]);
        assert_eq!(again, handoff);
        assert!(!handoff.render(200).unwrap().contains("Fact"));
    }
}
