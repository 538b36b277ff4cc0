//! The guards that are measured.

use hookbox_sdk::{Action, Answer, Context, Error, Hook, ToolCall, ToolResult, json};

use crate::corpus::Line;

/// A guard.
pub(crate) struct Guard {
    /// Its name.
    pub(crate) name: &'static str,
    /// Answers a line.
    pub(crate) answer: fn(&Line) -> Result<Answer, Error>,
}

impl Guard {
    /// Returns true if it stops or marks a line.
    pub(crate) fn acts(&self, line: &Line) -> Result<bool, Error> {
        let answer = (self.answer)(line)?;
        // A question does not stop a command.
        Ok(if line.is_output { marks(&answer) } else { matches!(answer.action, Action::Block(_)) })
    }
}

/// Every guard, in the order of the table's columns.
pub(crate) const GUARDS: [Guard; 5] = [
    Guard { name: "destructive", answer: answer::<destructive::Guard> },
    Guard { name: "git", answer: answer::<git::Guard> },
    Guard { name: "injection", answer: answer::<injection::Injection> },
    Guard { name: "secrets", answer: answer::<secrets::SecretsGuard> },
    Guard { name: "supply-chain", answer: answer::<supply_chain::SupplyChain> },
];

/// Returns the answer of a guard to this command, or to this output.
fn answer<H: Hook>(line: &Line) -> Result<Answer, Error> {
    let context = Context { cwd: "/home/dev/app".to_owned(), ..Context::default() };
    if line.is_output {
        let result = ToolResult::new(ToolCall::new(line.tool.as_str(), json!({})), json!(line.text));
        return H::after_tool_call(&context, &result);
    }
    let call = ToolCall::new(line.tool.as_str(), json!({ "command": line.text }));
    H::before_tool_call(&context, &call)
}

fn marks(answer: &Answer) -> bool {
    answer.action != Action::Pass || !answer.context.is_empty() || !answer.warnings.is_empty()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    #[test]
    fn no_guard_fails_on_a_piece_of_a_line() {
        let lines = crate::corpus::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")).unwrap();
        for (at, mut line) in lines.into_iter().enumerate() {
            // Another place in each line.
            let places: Vec<usize> = line.text.char_indices().map(|(place, _)| place).collect();
            let place = places[at * 7 % places.len()];
            let end = line.text.split_off(place);
            for text in [end, line.text.clone()] {
                line.text = text;
                for guard in &GUARDS {
                    guard.acts(&line).unwrap();
                }
            }
        }
    }

    /// A guard that finds nothing with the strictest settings reads no others.
    #[test]
    fn a_stricter_preset_stops_whatever_a_looser_one_stops() {
        use hookbox_judge::{Preset, Rule, Settings, judge};
        let lines = crate::corpus::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")).unwrap();
        for line in lines.iter().filter(|it| !it.is_output) {
            for rule in [destructive::rule as Rule, git::rule] {
                let stops = [Preset::Relaxed, Preset::Standard, Preset::Strict].map(|preset| {
                    let settings = Settings { preset, ..Settings::default() };
                    judge(&line.text, Some("/home/dev/app"), &settings, rule).is_some()
                });
                assert!(stops.is_sorted(), "{stops:?} {}", line.text);
            }
        }
    }

    #[test]
    fn every_command_of_a_next_step_passes_every_guard() {
        let lines = crate::corpus::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")).unwrap();
        let mut found = BTreeMap::new();
        for line in lines.iter().filter(|it| !it.is_output) {
            for guard in &GUARDS {
                let answer = (guard.answer)(line).unwrap();
                if let Some((_, safer)) = answer.metadata.into_iter().find(|(key, _)| key == "safer") {
                    found.insert(safer.as_str().unwrap().to_owned(), (guard.name, line.text.clone()));
                }
            }
        }
        assert!(found.len() > 50, "{}", found.len());
        let mut stopped = Vec::new();
        for (safer, (by, dangerous)) in found {
            let line = Line {
                category: "safer".to_owned(),
                tool: "bash".to_owned(),
                text: safer,
                is_output: false,
                label: crate::corpus::Label::Safe,
            };
            for guard in GUARDS.iter().filter(|it| it.acts(&line).unwrap()) {
                stopped.push(format!("{} of {by} for {dangerous:?}, by {}", line.text, guard.name));
            }
        }
        assert!(stopped.is_empty(), "{}", stopped.join("\n"));
    }
}
