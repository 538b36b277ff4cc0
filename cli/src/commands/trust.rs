//! `hookbox trust`.

use std::process::ExitCode;

use clap::Args;
use hookbox::Digest;
use hookbox::capability::Capability;
use hookbox::discovery::Approvable;
use hookbox::text::escape;
use hookbox::trust::Record;

use crate::error::{InputError, say};
use crate::{approval, options, output};

/// Trust a hook that a repository brought, for the bytes that it has now; a component is granted what it asks for.
///
/// Shows what the hook is, and asks on the terminal.
#[derive(Args, Debug)]
pub(crate) struct Trust {
    /// The hook's full name, or the path of its file.
    #[arg(value_name = "NAME|PATH")]
    hook: String,
    /// Grant only this right, such as read:$REPO; may be given several times [default: all that it asks for].
    #[arg(long, value_name = "RIGHT", conflicts_with = "no_grants")]
    grant: Vec<Capability>,
    /// Grant nothing.
    #[arg(long)]
    no_grants: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    /// Print what was recorded as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

impl Trust {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        approval::not_from_a_hook()?;
        self.locate.enter()?;
        let manager = self.locate.manager().await?;
        let hook = &approval::find(&manager, &self.hook)?;
        approval::showable(hook)?;
        let file = &approval::trust_file(&manager)?;
        let digest = approval::digest(hook)?;
        let asked = approval::asked(hook);
        let current = hook.record.as_ref().filter(|it| it.digest == digest);
        let needs_trust = hook.needs_trust;
        let is_trusted = !needs_trust || current.is_some_and(|record| record.trusted);
        let chosen = !self.grant.is_empty() || self.no_grants;
        if is_trusted
            && !chosen
            && (!needs_trust || current.is_some())
            && (current.is_some() || asked.is_empty())
        {
            let why = if needs_trust { "is trusted already" } else { "is yours, and runs already" };
            say(format_args!("{} {why}", escape(&hook.name, 200)));
            return match current.filter(|_| self.json) {
                Some(record) => output::json(record),
                None => Ok(ExitCode::SUCCESS),
            };
        }
        let grants = match () {
            () if self.no_grants => Vec::new(),
            () if !self.grant.is_empty() => self.grant.clone(),
            () => asked.clone(),
        };
        approval::grantable(&manager, hook, &grants)?;
        approval::show(hook, &digest, &asked, &grants);
        approval::confirm("Trust it?", self.yes)?;
        let record = record(hook, digest, asked, grants)?;
        approval::update(file, |records| records.insert(record.clone()))?;
        if self.json {
            return output::json(&record);
        }
        let granted = approval::list(&record.grants);
        output::line(&format!("trusted {} {} (granted: {granted})", escape(&hook.name, 200), record.digest))
    }
}

/// What is recorded of a hook that is trusted.
pub(crate) fn record(
    hook: &Approvable,
    digest: Digest,
    asked: Vec<Capability>,
    grants: Vec<Capability>,
) -> Result<Record, InputError> {
    let (place, path) = approval::key(hook)?;
    let (name, kind, when) = (hook.name.clone(), hook.kind, approval::now());
    Ok(Record { place, name, path, kind, digest, trusted: true, grants, asked, when })
}
