//! Blocks a forced push, and suggests `--force-with-lease`.

use hookbox_sdk::prelude::*;
use hookbox_shell::{Known, Run, Unread, runs};

/// The hook.
pub struct Guard;

const REASON: &str =
    "A forced push can remove the commits of others. Use `git push --force-with-lease` instead.";

impl Hook for Guard {
    fn manifest() -> Manifest {
        Manifest::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on_tools(Event::BeforeToolCall, ["kind:shell"])
            // Late, so that it judges what other hooks have made of the call.
            .priority(90)
            .on_failure_block()
    }

    fn before_tool_call(_cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let reading = runs(call.command.as_deref().unwrap_or_default(), &Known::default());
        if reading.runs.iter().any(forces) {
            return Ok(Answer::block(REASON));
        }
        if reading.unread.contains(&Unread::Limit) {
            return Err(Error::new("the line has too many commands within commands to be read"));
        }
        Ok(Answer::pass())
    }
}

/// Returns true if a command is `git push` with `--force`, `-f` or `+branch`, unless it is a dry run.
fn forces(run: &Run) -> bool {
    run.program() == Some("git") && is_forced_push(run.texts().get(1..).unwrap_or_default())
}

/// Judges the words behind `git`.
fn is_forced_push(mut words: &[&str]) -> bool {
    loop {
        words = match words {
            ["-C" | "-c" | "--config-env" | "--git-dir" | "--work-tree" | "--namespace", _, rest @ ..] => {
                rest
            }
            [option, rest @ ..] if option.starts_with('-') => rest,
            ["push", rest @ ..] => {
                let options: Vec<&str> = rest.iter().copied().take_while(|word| *word != "--").collect();
                let has = |name: &str, letter: char| {
                    let is_letter = |word: &&str| !word.starts_with("--") && word.contains(letter);
                    options.iter().filter(|word| word.starts_with('-')).any(|it| *it == name || is_letter(it))
                };
                let forced = has("--force", 'f') || rest.iter().any(|word| word.starts_with('+'));
                // A letter `n` among others may be the value of `-o`.
                return forced && !options.iter().any(|it| matches!(*it, "--dry-run" | "-n"));
            }
            _ => return false,
        };
    }
}

hookbox_sdk::export_hook!(Guard);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forced_push_is_blocked_and_another_is_not() {
        for (line, forced) in [
            ("git push --force", true),
            ("git -C x push origin +main", true),
            ("sudo git push -f", true),
            ("git push --force-with-lease", false),
            ("git push && rm -f x", false),
        ] {
            let call = ToolCall::new("bash", json!({ "command": line }));
            let answer = Guard::before_tool_call(&Context::default(), &call).unwrap();
            assert_eq!(answer == Answer::block(REASON), forced, "{line}");
        }
    }

    #[test]
    fn a_line_that_is_not_read_to_its_end_is_a_failure() {
        let line = "$(echo ".repeat(60) + "ls" + &")".repeat(60);
        let call = ToolCall::new("bash", json!({ "command": line }));
        assert!(Guard::before_tool_call(&Context::default(), &call).is_err());
    }
}
