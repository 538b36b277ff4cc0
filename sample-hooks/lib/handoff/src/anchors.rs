//! The anchors: facts that must not be lost when a conversation is compacted or handed over.

use crate::Handoff;

/// The longest part of a summary that is read, in bytes.
const SUMMARY: usize = 1024 * 1024;

/// Something that must not be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The label: `Issue`, `Branch`, `Blocker` or `Next step`.
    pub label: &'static str,
    /// The text.
    pub text: String,
}

impl Handoff {
    /// The issue, the branch, the blockers and the next step, as far as they are known.
    pub fn anchors(&self) -> Vec<Anchor> {
        let number = if self.issue.is_empty() { String::new() } else { format!("#{}", self.issue) };
        let one = |label, text: &str| (!text.is_empty()).then(|| Anchor { label, text: text.to_owned() });
        [one("Issue", &number), one("Branch", &self.branch), one("Next step", &self.next_step)]
            .into_iter()
            .chain(self.blockers.iter().map(|blocker| one("Blocker", blocker)))
            .flatten()
            .collect()
    }
}

/// The anchors that a summary has lost.
pub fn missing(anchors: Vec<Anchor>, summary: &str) -> Vec<Anchor> {
    let summary = summary.get(..summary.floor_char_boundary(SUMMARY)).unwrap_or_default();
    let words = words(summary);
    // In words, so that 145 is not found in 1450.
    anchors.into_iter().filter(|anchor| !words.contains(&self::words(&anchor.text))).collect()
}

/// The words of a text, in lower case, each with a space before and behind.
fn words(text: &str) -> String {
    let mut out = " ".to_owned();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        out.extend(word.chars().flat_map(char::to_lowercase));
        out.push(' ');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_survives_where_its_words_stand() {
        let handoff = Handoff {
            issue: "145".into(),
            branch: "feat/145-hooks".into(),
            next_step: "Run `just test`.".into(),
            blockers: vec!["no API key".into(), "CI is red".into()],
            ..Handoff::default()
        };
        for (summary, lost) in [
            ("", &["Issue", "Branch", "Next step", "Blocker", "Blocker"][..]),
            ("Issue 145 on feat/145-hooks. Next: run just test. Blocked: No API key; CI  is\nRED.", &[]),
            ("issue #1450 on feat/1450-hooks2", &["Issue", "Branch", "Next step", "Blocker", "Blocker"]),
            ("feat/145-hooks; CI is red", &["Next step", "Blocker"]),
        ] {
            let found = missing(handoff.anchors(), summary);
            assert_eq!(found.iter().map(|anchor| anchor.label).collect::<Vec<_>>(), lost, "{summary}");
        }
        assert_eq!(missing(Handoff::default().anchors(), ""), []);
    }

    #[test]
    fn a_hostile_summary_is_only_read() {
        let handoff = Handoff { next_step: "漢字 \u{1F600}".into(), ..Handoff::default() };
        for piece in ["漢", "\u{0}", "a ", "\u{1F600}", "İ"] {
            assert_eq!(missing(handoff.anchors(), &piece.repeat(300_000)).len(), 1, "{piece}");
        }
    }
}
