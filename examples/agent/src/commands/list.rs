//! `hookbox-agent list`.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::Args;
use hookbox::escape;
use hookbox_agent::Saved;
use serde_json::{Value, json};

use super::{conversations, print, tell};

/// Show the conversations that are saved, the latest first.
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl List {
    pub(crate) fn run(self) -> Result<()> {
        let saved = conversations(None)?.list()?;
        if self.json {
            return print(&Value::from_iter(saved.iter().map(row)).to_string());
        }
        if saved.is_empty() {
            tell("no conversation is saved");
        }
        for it in &saved {
            let about = match &it.conversation {
                Ok(conversation) => {
                    let title = escape(conversation.title().unwrap_or_default(), 60);
                    format!("{:>4} messages  {title}", conversation.messages.len())
                }
                Err(error) => format!("error: {}", error.kind),
            };
            print(&format!("{:<32}  {}  {about}", it.id, time(it.when)))?;
        }
        Ok(())
    }
}

fn row(it: &Saved) -> Value {
    let saved = time(it.when);
    match &it.conversation {
        Ok(talk) => {
            json!({"id": it.id, "saved": saved, "messages": talk.messages.len(), "title": talk.title()})
        }
        Err(error) => json!({"id": it.id, "saved": saved, "problem": error.kind.to_string()}),
    }
}

fn time(when: SystemTime) -> String {
    let seconds = when.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seconds = i64::try_from(seconds).unwrap_or_default();
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}
