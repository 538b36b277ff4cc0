//! `hookbox grants`.

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use hookbox::capability::Capability;
use hookbox::escape;
use hookbox::manager::Manager;
use hookbox::trust::{Record, Scope};
use serde_json::json;

use crate::error::{InputError, hint};
use crate::{approval, human, named, options, output};

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
        find: options::Find,
    },
}

impl Grants {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self.change {
            None => show(&self.find, self.json).await,
            Some(Change::Add { hook, rights, yes, find }) => add(&find, &hook, rights, yes).await,
            Some(Change::Remove { hook, rights, find }) => remove(&find, &hook, &rights).await,
        }
    }
}

async fn show(find: &options::Find, as_json: bool) -> anyhow::Result<ExitCode> {
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
                Scope::Repository(path) => escape(&path.to_string_lossy(), 1024),
            },
            if record.trusted { "yes" } else { "no" }.to_owned(),
            approval::list(&record.grants),
            status(&manager, record).to_owned(),
        ]
    });
    output::line(&output::table(&["NAME", "PLACE", "TRUSTED", "GRANTED", "STATUS"], rows))
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

async fn add(
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
    output::line(&format!("granted to {}: {}", escape(&record.name, 200), approval::list(&record.grants)))
}

async fn remove(find: &options::Find, name: &str, rights: &[Capability]) -> anyhow::Result<ExitCode> {
    find.locate.enter_for(name)?;
    human::required(&find.locate, &[], false)?;
    let manager = find.manager().await?;
    let file = &approval::trust_file(&manager)?;
    let found = approval::find_record(&manager, &approval::read(file)?, name)?;
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
    output::line(&format!("granted to {}: {left}", escape(&found.name, 200)))
}
