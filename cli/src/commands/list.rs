//! `hookbox list`.

use std::process::ExitCode;

use crate::interrupt::unless_interrupted;
use clap::Args;
use hookbox::escape;
use hookbox::{EventName, Kind};

use crate::error::{hint, warn, warn_with_hint};
use crate::{options, output};

/// List every hook that was found, in run order, also those that do not run.
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Print JSON: an array of objects, one per hook.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discover: options::Discover,
}

impl List {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.discover.enter()?;
        let manager = unless_interrupted(self.discover.manager()).await??;
        let entries = manager.entries();
        for problem in manager.problems().iter() {
            warn_with_hint(problem, problem.hint.as_ref());
        }
        if let Some(why) = manager.switched_off() {
            warn(why);
        }
        if self.json {
            return output::json(&entries);
        }
        if manager.switched_off().is_none() && entries.iter().all(|entry| entry.kind == Kind::Builtin) {
            hint("no hooks found; put one into .hookbox/hooks/ here or in your home directory");
        }
        if entries.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        let rows = entries.iter().map(|entry| {
            let events: Vec<&str> = entry.events.iter().map(EventName::as_str).collect();
            vec![
                escape(&entry.name, 200),
                entry.kind.as_str().to_owned(),
                if events.is_empty() { "-".to_owned() } else { events.join(" ") },
                entry.priority.to_string(),
                entry.tier.as_str().to_owned(),
                entry.status.as_str().to_owned(),
                if entry.trusted { "yes" } else { "no" }.to_owned(),
                entry.on_failure.as_str().to_owned(),
            ]
        });
        let header = ["NAME", "KIND", "EVENTS", "PRIORITY", "TIER", "STATUS", "TRUSTED", "ON FAILURE"];
        output::line(&output::table(&header, rows))
    }
}
