//! `hookbox plugin add`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use crate::interrupt::{Interrupted, unless_interrupted};
use clap::Args;
use hookbox::text::{escape, shell_word};
use hookbox_plugins::{Contents, Locked, PluginError, PluginErrorKind, PluginName, Plugins, Replace, Source};

use super::arrival::{self, Arrived, Wanted, is_interrupt, summary};
use super::consent::{Answer, Consent};
use super::failed;
use super::how::How;
use super::place::{self, Here};
use super::row::Row;
use super::trusting::Said;
use crate::error::{EXIT_FAILED, InputError, complain, say};
use crate::{human, options, output};

/// Install plugins; without a source, exactly those that plugins.lock names.
///
/// Shows what each one holds and asks for, asks on the terminal whether to trust it, and installs it either way.
#[derive(Args, Debug)]
pub(crate) struct Add {
    /// ORG/REPO[@REF], the URL of a git repository, a directory (./DIR), or oci://HOST/ORG/NAME:TAG.
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,
    /// Install into the home directory instead of the repository.
    #[arg(long)]
    global: bool,
    /// Replace a plugin that is there.
    #[arg(long)]
    force: bool,
    /// The branch, tag or commit of a git repository.
    #[arg(long = "ref", value_name = "REF", requires = "sources")]
    reference: Option<String>,
    /// What the plugin is to be called [default: the last two parts of the source].
    #[arg(long, value_name = "ORG/REPO", requires = "sources")]
    name: Option<String>,
    /// Verify cosign's signature of an OCI artifact against this public key.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Speak to registries without TLS.
    #[arg(long)]
    plain_http: bool,
    /// Go on with the next source after an error.
    #[arg(long)]
    continue_on_error: bool,
    /// Print what was installed as JSON: an array of objects.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    locate: options::Locate,
}

/// What was done, and what was not.
#[derive(Default)]
struct Done {
    rows: Vec<Row>,
    failures: usize,
}

impl Add {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.locate.enter()?;
        human::required(&self.locate, &[], self.consent.asks())?;
        let here = Here::new(&self.locate)?;
        let place = here.place(self.global)?;
        let how = How::new(self.plain_http, self.key.as_deref())?;
        let mut done = Done::default();
        let result = if self.sources.is_empty() {
            self.install_locked(&here, &place, &how, &mut done).await
        } else {
            self.install_sources(&here, &place, &how, &mut done).await
        };
        // What was installed before something failed is data as well.
        if self.json && (result.is_ok() || !done.rows.is_empty()) {
            let rows: anyhow::Result<Vec<_>> = done.rows.iter().map(Row::with_origin).collect();
            output::json(&rows?)?;
        }
        result?;
        Ok(if done.failures == 0 { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) })
    }

    async fn install_sources(
        &self,
        here: &Here<'_>,
        place: &place::Place,
        how: &How,
        done: &mut Done,
    ) -> anyhow::Result<()> {
        if self.name.is_some() && self.sources.len() > 1 {
            let what = format!("--name: expected one source, found {}", self.sources.len());
            return Err(InputError::new(what, "add them one by one").into());
        }
        // What is written wrong is found before anything is done.
        let wanted: Vec<anyhow::Result<Wanted>> =
            self.sources.iter().map(|source| self.wanted(here, how, source)).collect();
        let mut list = Vec::new();
        for (wanted, source) in wanted.into_iter().zip(&self.sources) {
            match wanted {
                Err(error) if !self.continue_on_error => return Err(error),
                wanted => list.push((wanted, source)),
            }
        }
        let (plugins, _fresh) = here.first(place)?;
        let plugins = Arc::new(plugins);
        place::repair(&plugins);
        for (wanted, source) in list {
            let installed = async {
                let wanted = wanted?;
                self.is_free(&plugins, &wanted.name)?;
                let before = plugins.lock().map_err(failed)?;
                before.get(&wanted.name).into_iter().for_each(|locked| how.warn_of(locked));
                let arrived = wanted.fetch(here, &plugins, how).await?;
                arrived.show();
                let answer = self.ask(std::slice::from_ref(&arrived)).await?;
                arrived.install(here, &plugins, self.replace(), Some(self.said(answer))).await
            };
            match installed.await {
                Ok(row) => self.installed(row, done)?,
                Err(error) => self.failed(source, or_directory(error, source, here.cwd()), done)?,
            }
        }
        Ok(())
    }

    /// What a source is.
    fn wanted(&self, here: &Here<'_>, how: &How, source: &str) -> anyhow::Result<Wanted> {
        // Only a name has no colon: every other source has a scheme, a host or a leading dot or slash.
        let is_name = !source.contains(':') && !source.starts_with(['.', '/']);
        let hosts = if is_name { here.hosts_of_names(here.cwd())? } else { here.hosts(here.cwd()) };
        let source = Source::parse(source, &hosts);
        let source = source.and_then(|it| it.at(self.reference.as_deref())).map_err(failed)?;
        if source.has_password() {
            let what = format!(
                "{}: expected an address without a password: plugins.lock would hold it",
                source.shown()
            );
            return Err(InputError::new(what, "let git keep it, with a credential helper").into());
        }
        let name = match &self.name {
            Some(name) => place::name(name)?,
            None => source.name().map_err(failed)?,
        };
        let key = how.key(&source, None)?;
        Ok(Wanted { name, source, locked: None, key })
    }

    /// Installs what the lock file names: all of it is fetched and checked before anything is installed.
    async fn install_locked(
        &self,
        here: &Here<'_>,
        place: &place::Place,
        how: &How,
        done: &mut Done,
    ) -> anyhow::Result<()> {
        let found = here.find_first(place)?.filter(|it| it.lock_path().exists());
        let Some(plugins) = found.map(Arc::new) else {
            let what = "expected a source, or a plugins.lock here that names plugins; found neither";
            return Err(InputError::new(
                what,
                "give a source such as org/repo; see `hookbox plugin add --help`",
            )
            .into());
        };
        place::repair(&plugins);
        let lock = plugins.lock().map_err(failed)?;
        if lock.iter().next().is_none() {
            let path = escape(&plugins.lock_path().to_string_lossy(), 4096);
            say(format_args!("{path} names no plugin, so that there is nothing to install"));
        }
        let mut arrived: Vec<Arrived> = Vec::new();
        for locked in lock.iter() {
            match self.missing(here, &plugins, how, locked).await {
                Ok(None) => say(format_args!("{} is installed", locked.name)),
                Ok(Some(wanted)) => match wanted.fetch(here, &plugins, how).await {
                    Ok(it) => arrived.push(it),
                    Err(error) => self.failed(&locked.name.to_string(), error, done)?,
                },
                Err(error) => self.failed(&locked.name.to_string(), error, done)?,
            }
        }
        arrived.iter().for_each(Arrived::show);
        let answer = self.ask(&arrived).await?;
        for plugin in arrived {
            let name = plugin.name.to_string();
            // What stands there was looked at: it is missing, or --force replaces it.
            match plugin.install(here, &plugins, self.replace(), Some(self.said(answer))).await {
                Ok(row) => self.installed(row, done)?,
                Err(error) => self.failed(&name, error, done)?,
            }
        }
        Ok(())
    }

    /// What is to be fetched of what a lock file names: nothing where it is installed as these bytes.
    async fn missing(
        &self,
        here: &Here<'_>,
        plugins: &Plugins,
        how: &How,
        locked: &Locked,
    ) -> anyhow::Result<Option<Wanted>> {
        let installed = hookbox_plugins::installed(plugins).map_err(failed)?;
        if let Some(installed) = installed.iter().find(|it| it.name == locked.name) {
            let now = hookbox_plugins::digest(&installed.path).map_err(failed)?;
            if now == locked.tree {
                let look = Contents::look(&installed.path, &locked.name, &here.runtime);
                let there = Locked { hooks: unless_interrupted(look).await?.locked(), ..locked.clone() };
                return arrival::is_what_was_locked(locked, &there).map(|()| None).map_err(failed);
            }
            if !self.force {
                let what = format!(
                    "is installed with other bytes than plugins.lock says: expected {}, found {now}",
                    locked.tree
                );
                let error = PluginError::new(locked.name.to_string(), PluginErrorKind::Mismatch(what));
                return Err(failed(error.hint("give --force to replace it by what plugins.lock says")));
            }
        }
        // Directories are named from the place.
        let source = Source::parse(&locked.source, &here.hosts(plugins.base()));
        let source = source.and_then(|it| it.at(locked.reference.as_deref())).map_err(failed)?;
        let key = how.key(&source, Some(locked))?;
        Ok(Some(Wanted { name: locked.name.clone(), source, locked: Some(locked.clone()), key }))
    }

    /// Whether a plugin of this name may be installed, before anything is fetched.
    fn is_free(&self, plugins: &Plugins, name: &PluginName) -> anyhow::Result<()> {
        let installed = hookbox_plugins::installed(plugins).map_err(failed)?;
        // Two names that differ by case only are refused, with --force as well.
        let there = installed.iter().find(|it| it.name.folded() == name.folded());
        let Some(there) = there.filter(|it| !self.force || it.name != *name) else { return Ok(()) };
        if there.name != *name {
            let other = &there.name;
            let what = format!(
                "differs from {other}, which is installed, by the case of its letters only: on some systems these are one directory"
            );
            let error = PluginError::new(name.to_string(), PluginErrorKind::Exists(what));
            let hint = format!(
                "replace that one with --name {other} --force, or remove it first: hookbox plugin remove {other}"
            );
            return Err(failed(error.hint(hint)));
        }
        let error =
            PluginError::new(name.to_string(), PluginErrorKind::Exists("is installed already".to_owned()));
        Err(failed(error.hint("give --force to replace it, or see `hookbox plugin update`")))
    }

    /// The answer is about all hooks that were shown.
    fn said(&self, answer: Answer) -> Said<'static> {
        Said { answer, grant: self.consent.grant, besides: &[] }
    }

    fn replace(&self) -> Replace {
        if self.force { Replace::Yes } else { Replace::No }
    }

    /// Asks once whether these are trusted.
    async fn ask(&self, arrived: &[Arrived]) -> Result<Answer, Interrupted> {
        let names: Vec<String> =
            arrived.iter().filter(|it| it.has_hooks()).map(|it| it.name.to_string()).collect();
        if names.is_empty() {
            return Ok(Answer::No);
        }
        let grant = if self.consent.grant { ", and grant what it asks for" } else { "" };
        let question = format!(
            "Trust the hooks of {} as shown{grant}? It is installed either way.",
            names.join(" and ")
        );
        self.consent.ask(question).await
    }

    fn installed(&self, row: Row, done: &mut Done) -> anyhow::Result<()> {
        if !self.json {
            output::line(&summary("Installed", &row))?;
        }
        done.rows.push(row);
        Ok(())
    }

    /// Says what failed and goes on, where the user wants that.
    fn failed(&self, what: &str, error: anyhow::Error, done: &mut Done) -> anyhow::Result<()> {
        if !self.continue_on_error || is_interrupt(&error) {
            return Err(error);
        }
        complain(&error);
        say(format_args!("{} was not installed", escape(what, 1024)));
        done.failures += 1;
        Ok(())
    }
}

/// The same error with one more thing to do, where ORG/REPO was not found and is a directory here.
fn or_directory(error: anyhow::Error, source: &str, cwd: &Path) -> anyhow::Error {
    let is_directory = !source.starts_with(['.', '/']) && !source.contains(':') && cwd.join(source).is_dir();
    match error.downcast::<PluginError>() {
        Ok(error) if is_directory && matches!(error.kind, PluginErrorKind::Fetch(_)) => {
            let path = format!("./{source}");
            let here = format!("the directory of this name is {}", escape(&shell_word(&path), 1024));
            let hint = error.hint.as_ref().map_or(here.clone(), |hint| format!("{hint}; {here}"));
            error.hint(hint).into()
        }
        Ok(error) => error.into(),
        Err(error) => error,
    }
}
