//! `hookbox trust`, `hookbox untrust` and `hookbox grants`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use hookbox::capability::Capability;
use hookbox::manager::{Entry, Manager};
use hookbox::trust::{Record, Scope};
use hookbox::{escape, shown_path};
use serde_json::json;

use crate::error::{InputError, hint, say};
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
        output::text(&trusted(&record))
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
        if records.is_empty() && !self.json {
            say(format_args!("{name}: has no hook that you could trust and have not trusted already"));
        }
        output::rows(self.json, &records, |it| json!(it), trusted)
    }
}

fn trusted(record: &Record) -> String {
    let granted = approval::list(&record.grants);
    format!("trusted {} {} (granted: {granted})", escape(&record.name, 200), record.digest)
}

/// Tells that a hook is no longer trusted.
fn taken_back(record: &Record) -> String {
    format!("revoked trust and grants of {}", escape(&record.name, 200))
}

/// Revoke trust and grants of a hook or a plugin.
///
/// Works also if the files are gone.
#[derive(Args, Debug)]
pub(crate) struct Untrust {
    /// The hook's full name, the path of its file, or a plugin.
    #[arg(value_name = "NAME|PATH|ORG/REPO", value_parser = named::hook(), hide_possible_values = true)]
    hook: String,
    #[command(flatten)]
    yes: options::Yes,
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
        let found = approval::find_record(&manager, self.find.locate.home()?, &held, &self.hook);
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
            [record] if self.json && is_one => output::json(record),
            records => output::rows(self.json, records, |it| json!(it), taken_back),
        }
    }
}

/// List trust and grants, or change grants.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Grants {
    #[command(subcommand)]
    change: Option<Change>,
    /// Print JSON: an array of objects, one per hook.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    find: options::Find,
}

#[derive(Debug, Subcommand)]
enum Change {
    /// Grant rights to a component that asks for them, for the bytes that it has now.
    Add {
        /// The hook's full name, or the path of its file.
        #[arg(value_name = "NAME|PATH", value_parser = named::hook(), hide_possible_values = true)]
        hook: String,
        /// The rights, such as read:$REPO or http:https://hooks.slack.com.
        #[arg(value_name = "RIGHT", required = true)]
        rights: Vec<Capability>,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        find: options::Find,
    },
    /// Take rights back; without any named, all of them.
    Remove {
        /// The hook's full name, or the path of its file.
        #[arg(value_name = "NAME|PATH", value_parser = named::hook(), hide_possible_values = true)]
        hook: String,
        /// The rights, as they were granted.
        #[arg(value_name = "RIGHT")]
        rights: Vec<Capability>,
        #[command(flatten)]
        yes: options::Yes,
        #[command(flatten)]
        find: options::Find,
    },
}

impl Grants {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self.change {
            None => show_grants(&self.find, self.json).await,
            Some(Change::Add { hook, rights, yes, find }) => add_grants(&find, &hook, rights, yes).await,
            Some(Change::Remove { hook, rights, find, .. }) => remove_grants(&find, &hook, &rights).await,
        }
    }
}

async fn show_grants(find: &options::Find, as_json: bool) -> anyhow::Result<ExitCode> {
    find.locate.enter()?;
    let manager = find.manager().await?;
    let records = approval::read(&approval::trust_file(&manager)?)?;
    if as_json {
        let rows = records.iter().map(|record| {
            json!({
                "name": record.name, "path": record.path, "place": record.scope, "kind": record.kind,
                "digest": record.digest, "trusted": record.trusted, "asked": record.asked,
                "granted": record.grants, "status": status(&manager, record),
            })
        });
        return output::json(&rows.collect::<Vec<_>>());
    }
    if records.iter().next().is_none() {
        hint("nothing is trusted or granted; see `hookbox trust --help`");
        return Ok(ExitCode::SUCCESS);
    }
    let rows = records.iter().map(|record| {
        vec![
            escape(&record.name, 200),
            match &record.scope {
                Scope::Global => "global".to_owned(),
                Scope::Repository(path) => format!("repo {}", shown_path(path)),
            },
            if record.trusted { "yes" } else { "no" }.to_owned(),
            approval::list(&record.grants),
            status(&manager, record).to_owned(),
        ]
    });
    output::line(&output::table(&["NAME", "TIER", "TRUSTED", "GRANTED", "STATUS"], rows))
}

/// Returns whether a record still fits its hook. In another repository it only checks that the file exists.
fn status(manager: &Manager, record: &Record) -> &'static str {
    let key = (record.scope.clone(), record.path.clone());
    if let Some(hook) = manager.entries().iter().find(|hook| hook.found.key.as_ref() == Some(&key)) {
        return match hook.trust_digest() {
            Ok(Some(digest)) if digest == record.digest => "current",
            _ => "changed",
        };
    }
    // An entry of a file is called by the file's path with `#` and its place after it.
    let entry = record.path.to_str().and_then(|path| path.rsplit_once('#')).map(|(file, _)| Path::new(file));
    let is_there =
        |repo: &Path| [Some(&*record.path), entry].into_iter().flatten().any(|it| repo.join(it).is_file());
    let is_elsewhere = record.scope.repository().is_some_and(is_there);
    if is_elsewhere { "elsewhere" } else { "missing" }
}

async fn add_grants(
    find: &options::Find,
    name: &str,
    rights: Vec<Capability>,
    yes: bool,
) -> anyhow::Result<ExitCode> {
    find.locate.enter_for(name)?;
    human::required(&find.locate, &[], !yes)?;
    let manager = find.manager_for_one().await?;
    let hook = &approval::find(&manager, name)?;
    let file = &approval::trust_file(&manager)?;
    let digest = approval::digest(hook)?;
    let asked = hook.asked();
    let current = hook.found.record.as_ref().filter(|it| it.digest == digest);
    if hook.found.needs_trust && !current.is_some_and(|record| record.trusted) {
        let what = format!("{}: is not trusted, so that nothing can be granted to it", escape(name, 1024));
        return Err(InputError::new(what, "see `hookbox trust --help`").into());
    }
    approval::grantable(&manager, hook, &rights)?;
    approval::show(hook, &digest, &asked, &rights);
    approval::confirm("Grant this?", yes)?;
    let fresh = approval::record(hook, digest.clone(), asked, Vec::new())?;
    let record = approval::update(file, |records| {
        let kept = records.current(&fresh.scope, &fresh.path, &digest).cloned();
        let mut record = Record { when: fresh.when.clone(), ..kept.unwrap_or_else(|| fresh.clone()) };
        record.grants.extend(rights);
        record.grants.sort();
        record.grants.dedup();
        records.insert(record.clone());
        record
    })?;
    output::text(&format!("granted to {}: {}", escape(&record.name, 200), approval::list(&record.grants)))
}

async fn remove_grants(find: &options::Find, name: &str, rights: &[Capability]) -> anyhow::Result<ExitCode> {
    find.locate.enter_for(name)?;
    human::required(&find.locate, &[], false)?;
    let manager = find.manager().await?;
    let file = &approval::trust_file(&manager)?;
    let found = approval::find_record(&manager, find.locate.home()?, &approval::read(file)?, name)?;
    if let Some(right) = rights.iter().find(|right| !found.grants.contains(right)) {
        let what = format!("{}: {right} was not granted", escape(name, 1024));
        let granted = approval::list(&found.grants);
        return Err(InputError::new(what, format!("granted is: {granted}")).into());
    }
    let left = approval::update(file, |records| {
        let mut record = records.get(&found.scope, &found.path)?.clone();
        record.grants.retain(|right| !rights.is_empty() && !rights.contains(right));
        record.when = hookbox::trust::now();
        records.insert(record.clone());
        Some(record.grants)
    })?;
    let left = approval::list(&left.unwrap_or_default());
    output::text(&format!("granted to {}: {left}", escape(&found.name, 200)))
}
