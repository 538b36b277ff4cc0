//! Runs the reference agent on one task in the current directory, with the hooks that are found there.

use anyhow::{Context as _, Result, bail};
use hookbox::manager::{Builder, Manager};
use hookbox::text::escape;
use hookbox_agent::{Agent, OpenAi, Step, Tools};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let Some(task) = std::env::args().nth(1) else { bail!("expected a task, as one argument") };
    let model = OpenAi::from_env().context("expected the URL of a chat endpoint in OPENAI_BASE_URL")?;
    let manager = reporting(Manager::builder()).build().await;
    for problem in manager.problems().iter() {
        eprintln!("warning: {problem}");
    }
    let work = std::env::current_dir()?;
    let session = manager.session(format!("agent-{}", std::process::id())).agent("reference-agent");
    let mut agent = Agent::new(model, Tools::new(&work)?, session, |step| match step {
        Step::Wants(name, input) => eprintln!("tool: {name} {}", escape(input.text(), 200)),
        Step::Warning(text) => eprintln!("warning: {}", escape(text, 500)),
        Step::Because(text) => eprintln!("hooks: {}", escape(&text, 500)),
        Step::Said(_) | Step::Ran(..) | Step::Event(_) => {}
    });
    println!("{}", agent.run(&task).await?);
    Ok(())
}

/// Events are reported where `OTEL_EXPORTER_OTLP_ENDPOINT` says; the end of the session sends what was recorded.
#[cfg(feature = "otel")]
fn reporting(builder: Builder) -> Builder {
    match hookbox::telemetry::Telemetry::from_env("reference-agent") {
        Ok(Some(telemetry)) => builder.telemetry(telemetry),
        Ok(None) => builder,
        Err(error) => {
            eprintln!("warning: {error}");
            builder
        }
    }
}

#[cfg(not(feature = "otel"))]
fn reporting(builder: Builder) -> Builder {
    builder
}
