//! `hookbox approve`.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use hookbox::escape;
use hookbox_agents::bridge::{Approver, ApproverError, Question};

use crate::error::{InputError, note};
use crate::{approval, human, options};

/// Answer the questions of hooks in agents that cannot ask you.
///
/// Stays open in a terminal of your own, shows each call that a hook asks about, and reads y or N. Ctrl-C ends it: then such calls are blocked.
#[derive(Args, Debug)]
pub(crate) struct Approve {
    /// End after one question.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    locate: options::Locate,
}

impl Approve {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.locate.enter()?;
        // Each question is asked on the terminal.
        human::required(&self.locate, &[], true)?;
        human::needs_a_terminal(&self.locate)?;
        let approver = Approver::listen(&self.locate.data()?).map_err(refused)?;
        note("waits for questions of hooks; Ctrl-C ends this");
        // Not through the buffer of `Stdin`: what is read must be what was typed after the question.
        let keys = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        approver.serve(keys, &mut io::stderr(), shown, self.once).await?;
        Ok(ExitCode::SUCCESS)
    }
}

fn refused(error: ApproverError) -> InputError {
    let hint = match &error {
        ApproverError::Busy => "answer in the terminal in which it runs, or end that one",
        _ => "set XDG_DATA_HOME to a directory of your own with a short path",
    };
    InputError::refused(error.to_string(), hint)
}

/// Returns the text of a question: the call is whole.
fn shown(question: &Question) -> String {
    let Question { agent, tool, input, directory, session, hook, is_trusted, reason, time_ms } = question;
    let trusted = if *is_trusted { "" } else { " (not trusted)" };
    let fields = [
        ("asked by", format!("{}{trusted}", escape(hook, 200))),
        ("because", escape(reason, 4096)),
        ("agent", escape(agent, 200)),
        ("directory", escape(directory, 4096)),
        ("session", escape(session, 200)),
        ("time", format!("{} s", Duration::from_millis(*time_ms).as_secs())),
    ];
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("  {name:<10} {value}")).collect();
    format!("{} {}\n{}", escape(tool, 1024), approval::whole(input), fields.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_shown_whole_and_writes_nothing_else_on_the_terminal() {
        let text = |text: &str| format!("{text}\u{1b}[2J\n\u{202e}");
        let question = Question {
            agent: text("Codex"),
            tool: text("Bash"),
            input: format!("{{\"command\":\"{}; rm x\"}}", "true ".repeat(9_000)),
            directory: text("/repo"),
            session: text("s"),
            hook: text("theirs"),
            is_trusted: false,
            reason: text("really?"),
            time_ms: 13_500,
        };
        let shown = shown(&question);
        assert!(shown.contains(&question.input), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
        let rows: Vec<&str> =
            shown.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(rows, ["asked", "because", "agent", "directory", "session", "time"]);
        assert!(shown.contains("(not trusted)") && shown.ends_with("13 s"), "{shown}");
    }
}
