//! `hookbox trust` and `hookbox untrust`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use hookbox::capability::Capability;
use hookbox::escape;
use hookbox::manager::{Entry, Manager};
use hookbox::trust::{Record, Scope};

use crate::error::{InputError, say};
use crate::{approval, human, named, options, output};

/// Trust a repository's hook, and grant permissions.
///
/// Trust is for the hook's current contents. A component is granted the permissions that it asks for. Shows the hook, and asks on the terminal. For a plugin (ORG/REPO) all hooks are shown, with one question;
/// that grants nothing.
#[derive(Args, Debug)]
pub(crate) struct Trust {
    /// The hook's full name, the path of its file, or a plugin.
    #[arg(value_name = "NAME|PATH|ORG/REPO", value_parser = named::hook(), hide_possible_values = true)]
    hook: String,
    /// Grant only this right, such as read:$REPO; may be given several times [default: all that it asks for].
    #[arg(long, value_name = "RIGHT", conflicts_with = "no_grants")]
    grant: Vec<Capability>,
    /// Grant nothing.
    #[arg(long)]
    no_grants: bool,
    /// Replace the hooks of the same name that you have or trust; without this, all of them run.
    #[arg(long)]
    replace: bool,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
    /// Print the record as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    find: options::Find,
}

impl Trust {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.find.locate.enter_for(&self.hook)?;
        human::required(&self.find.locate, &[], !self.yes)?;
        let manager = self.find.manager_for_one().await?;
        if let Some(hooks) = approval::find_plugin(&manager, &self.hook)? {
            return self.plugin(&manager, &hooks);
        }
        let hook = &approval::find(&manager, &self.hook)?;
        approval::showable(hook)?;
        let file = &approval::trust_file(&manager)?;
        let digest = approval::digest(hook)?;
        let asked = hook.asked();
        let current = hook.found.record.as_ref().filter(|it| it.digest == digest);
        let needs_trust = hook.found.needs_trust;
        let is_trusted = !needs_trust || current.is_some_and(|record| record.trusted);
        let replaces = self.replaces(hook, current);
        let replaces_more = replaces.iter().any(|it| current.is_none_or(|now| !now.replaces.contains(it)));
        // It shows all rights that the hook asks for; those that were taken back are granted again.
        let grants_more = asked.iter().any(|it| current.is_some_and(|now| !now.grants.contains(it)));
        let chosen = !self.grant.is_empty() || self.no_grants || replaces_more || grants_more;
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
        approval::show_namesakes(hook, &replaces);
        let question = match replaces.is_empty() {
            true => "Trust it?",
            false => "Trust it, and let it take the place of what is shown?",
        };
        approval::confirm(question, self.yes)?;
        let record = Record { replaces, ..approval::record(hook, digest, asked, grants)? };
        approval::update(file, |records| records.insert(record.clone()))?;
        if self.json {
            return output::json(&record);
        }
        let granted = approval::list(&record.grants);
        output::line(&format!("trusted {} {} (granted: {granted})", escape(&hook.name, 200), record.digest))
    }
}

impl Trust {
    /// Returns the hooks that this one replaces: the shown ones if the user wants that, and those of the
    /// current record.
    fn replaces(&self, hook: &Entry, current: Option<&Record>) -> Vec<(Scope, PathBuf)> {
        let before = |key: &(Scope, PathBuf)| current.is_some_and(|record| record.replaces.contains(key));
        let keys = hook.found.namesakes.iter().map(|it| it.key.clone());
        keys.filter(|key| self.replace || before(key)).collect()
    }

    /// Trusts all hooks of a plugin. What was granted to these bytes stays, unless it is to be taken away.
    fn plugin(&self, manager: &Manager, hooks: &[Entry]) -> anyhow::Result<ExitCode> {
        let name = escape(&self.hook, 200);
        if !self.grant.is_empty() {
            let what = format!("{name}: expected one hook for --grant, found a plugin");
            let hint = "trust it without --grant, then grant to each hook: hookbox grants add NAME RIGHT";
            return Err(InputError::new(what, hint).into());
        }
        let file = &approval::trust_file(manager)?;
        let mut records = Vec::new();
        for hook in hooks {
            approval::showable(hook)?;
            let digest = approval::digest(hook)?;
            let current = hook.found.record.as_ref().filter(|it| it.digest == digest && it.trusted);
            let granted = current.map(|it| it.grants.clone()).unwrap_or_default();
            let replaces = self.replaces(hook, current);
            let is_kept = current.is_some_and(|it| replaces.iter().all(|key| it.replaces.contains(key)));
            if is_kept && (granted.is_empty() || !self.no_grants) {
                continue;
            }
            let grants = if self.no_grants { Vec::new() } else { granted };
            let asked = hook.asked();
            approval::show(hook, &digest, &asked, &grants);
            approval::show_namesakes(hook, &replaces);
            records.push(Record { replaces, ..approval::record(hook, digest, asked, grants)? });
        }
        if !records.is_empty() {
            let replace = match records.iter().any(|record| !record.replaces.is_empty()) {
                true => ", and let them take the place of what is shown",
                false => "",
            };
            approval::confirm(&format!("Trust these hooks of {name}{replace}?"), self.yes)?;
            approval::update(file, |held| records.iter().for_each(|it| held.insert(it.clone())))?;
        }
        if self.json {
            return output::json(&records);
        }
        if records.is_empty() {
            say(format_args!("{name}: has no hook that you could trust and have not trusted already"));
        }
        for record in &records {
            let granted = approval::list(&record.grants);
            let hook = escape(&record.name, 200);
            output::line(&format!("trusted {hook} {} (granted: {granted})", record.digest))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Revoke trust and grants of a hook or a plugin.
///
/// Works also if the files are gone.
#[derive(Args, Debug)]
pub(crate) struct Untrust {
    /// The hook's full name, the path of its file, or a plugin.
    #[arg(value_name = "NAME|PATH|ORG/REPO", value_parser = named::hook(), hide_possible_values = true)]
    hook: String,
    /// Print the removed records as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    find: options::Find,
}

impl Untrust {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.find.locate.enter_for(&self.hook)?;
        human::required(&self.find.locate, &[], false)?;
        let manager = self.find.manager().await?;
        let file = &approval::trust_file(&manager)?;
        let held = approval::read(file)?;
        let found = approval::find_record(&manager, &held, &self.hook);
        let (is_one, taken) = match found {
            Ok(record) => (true, vec![record]),
            Err(error) => match approval::records_of_plugin(&manager, &held, &self.hook) {
                records if records.is_empty() => return Err(error.into()),
                records => (false, records),
            },
        };
        approval::update(file, |records| {
            for record in &taken {
                records.remove(&record.scope, &record.path);
            }
        })?;
        match taken.as_slice() {
            [record] if self.json && is_one => return output::json(record),
            records if self.json => return output::json(&records),
            _ => {}
        }
        for record in &taken {
            output::line(&format!("took back trust and grants of {}", escape(&record.name, 200)))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
