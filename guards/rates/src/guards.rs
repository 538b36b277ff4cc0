//! The guards that are measured.

use hookbox_sdk::{Action, Answer, Context, Error, Hook, ToolCall, ToolResult, json};

use crate::corpus::Line;

/// A guard.
pub(crate) struct Guard {
    /// Its name.
    pub(crate) name: &'static str,
    /// Returns true if it stops or marks a line.
    pub(crate) acts: fn(&Line) -> Result<bool, Error>,
}

/// Every guard, in the order of the table's columns.
pub(crate) const GUARDS: [Guard; 5] = [
    Guard { name: "destructive", acts: acts::<destructive::Guard> },
    Guard { name: "git", acts: acts::<git::Guard> },
    Guard { name: "injection", acts: acts::<injection::Injection> },
    Guard { name: "secrets", acts: acts::<secrets::SecretsGuard> },
    Guard { name: "supply-chain", acts: acts::<supply_chain::SupplyChain> },
];

/// Returns true if a guard stops this command, or marks this output.
fn acts<H: Hook>(line: &Line) -> Result<bool, Error> {
    let context = Context { cwd: "/home/dev/app".to_owned(), ..Context::default() };
    if line.is_output {
        let result = ToolResult::new(ToolCall::new(line.tool.as_str(), json!({})), json!(line.text));
        return H::after_tool_call(&context, &result).map(|it| marks(&it));
    }
    let call = ToolCall::new(line.tool.as_str(), json!({ "command": line.text }));
    // A question does not stop a command.
    H::before_tool_call(&context, &call).map(|it| matches!(it.action, Action::Block(_)))
}

fn marks(answer: &Answer) -> bool {
    answer.action != Action::Pass || !answer.context.is_empty() || !answer.warnings.is_empty()
}

#[cfg(test)]
mod tests {
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
                    (guard.acts)(&line).unwrap();
                }
            }
        }
    }
}
