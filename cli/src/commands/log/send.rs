//! `hookbox log send`.

use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use hookbox::discovery;
use hookbox::telemetry::RecordSender;
use hookbox_journal::journal::{Sent, send};
use tokio::sync::oneshot;

use crate::error::{InputError, hint, warn};
use crate::interrupt::unless_interrupted;
use crate::{options, output};

/// The time between two looks at the journal.
const PAUSE: Duration = Duration::from_secs(5);

/// The longest time between two attempts to reach a collector that is away.
const LONGEST: Duration = Duration::from_secs(300);

/// Send the records that were not sent yet to your collector.
///
/// Each record becomes a log record of OpenTelemetry. The collector is `collector` of `[journal]` in your hookbox.toml, or
/// OTEL_EXPORTER_OTLP_LOGS_ENDPOINT. With `collector`, hookbox sends them by itself, at most once a minute.
#[derive(Args, Debug)]
pub(super) struct Send {
    /// Send also each new record, until you end it.
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    locate: options::Locate,
}

impl Send {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let directory = super::directory(&self.locate)?;
        let collector = discovery::collector(&self.locate.discovery()?).map_err(|problem| {
            InputError::new(format!("cannot tell the collector: {problem}"), "mend your hookbox.toml")
        })?;
        let (tell, told) = oneshot::channel();
        // Not a task: the client blocks, and the end of a runtime waits for tasks that block.
        let work = move || drop(tell.send(sends(&directory, collector.as_deref(), self.follow)));
        thread::Builder::new().name("hookbox-send".to_owned()).spawn(work)?;
        unless_interrupted(told).await?.context("sending has ended")??;
        Ok(ExitCode::SUCCESS)
    }
}

fn sends(directory: &Path, collector: Option<&str>, follows: bool) -> anyhow::Result<()> {
    let made = RecordSender::new(collector, "hookbox");
    let made = made.map_err(|error| InputError::new(error.to_string(), error.hint()))?;
    let sender = made.ok_or_else(|| {
        InputError::new("no collector is named", "set collector in [journal] of your hookbox.toml")
    })?;
    let mut pause = PAUSE;
    loop {
        match send(directory, &sender) {
            Ok(sent) => {
                pause = PAUSE;
                tells(sent, follows)?;
            }
            Err(error) if follows => {
                warn(error);
                pause = (pause * 2).min(LONGEST);
            }
            Err(error) => return Err(error.into()),
        }
        if !follows {
            return Ok(());
        }
        thread::sleep(pause);
    }
}

fn tells(sent: Option<Sent>, follows: bool) -> anyhow::Result<()> {
    let Some(Sent { records, refused, why, left_out, has_lost, .. }) = sent else {
        if !follows {
            warn("another process is sending the records");
        }
        return Ok(());
    };
    if refused > 0 {
        warn(format_args!("{refused} records were refused: {}", why.unwrap_or_default()));
    }
    if left_out > 0 {
        warn(format_args!(
            "lines that are no whole records, or were changed, and that are not sent: {left_out}"
        ));
        hint("hookbox log verify");
    }
    if has_lost {
        warn("the journal has removed records that were not sent");
        hint("raise max_size or keep_days in [journal] of your hookbox.toml");
    }
    if records > 0 || !follows {
        output::line(&format!("sent {records} records"))?;
    }
    Ok(())
}
