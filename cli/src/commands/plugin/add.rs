//! `hookbox plugin add`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use hookbox::{escape, shown_path};
use hookbox_plugins::{Decision, Hosts, PluginError, PluginErrorKind, Preview, Replace, Request, Source};
use hookbox_system::text::shell_word;

use super::Results;
use super::fetch::{Consent, FetchOptions, fetch, install, show, summary};
use super::locations::{self, Base, Environment};
use super::row::Row;
use crate::error::{InputError, say};
use crate::interrupt::{Interrupted, unless_interrupted};
use crate::{human, options, output};

/// Install plugins; without a source, exactly those that plugins.lock names.
///
/// Shows the contents of each one and the rights that it asks for, asks on the terminal for trust, and
/// installs it either way.
#[derive(Args, Debug)]
pub(crate) struct Add {
    /// ORG/REPO[@REF], the URL of a git repository, a directory (./DIR), or oci://HOST/ORG/NAME:TAG.
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,
    /// Install into the home directory instead of the repository.
    #[arg(short, long, visible_alias = "user")]
    global: bool,
    /// Replace an installed plugin.
    #[arg(long)]
    force: bool,
    /// The branch, tag or commit of a git repository.
    #[arg(long = "ref", value_name = "REF", requires = "sources")]
    reference: Option<String>,
    /// The name of the plugin [default: the last two parts of the source].
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
    /// Print the installed plugins as JSON: an array of objects.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    locate: options::Locate,
}

impl Add {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.locate.enter()?;
        human::required(&self.locate, &[], self.consent.asks())?;
        let env = Environment::new(&self.locate)?;
        let base = env.base(self.global)?;
        let options = FetchOptions::new(self.plain_http, self.key.as_deref())?;
        let mut done = Results::new(self.json);
        let ended = if self.sources.is_empty() {
            self.install_locked(&env, &base, &options, &mut done).await
        } else {
            self.install_sources(&env, &base, &options, &mut done).await
        };
        done.finish(ended)
    }

    async fn install_sources(
        &self,
        env: &Environment<'_>,
        base: &Base,
        options: &FetchOptions,
        done: &mut Results,
    ) -> anyhow::Result<()> {
        if self.name.is_some() && self.sources.len() > 1 {
            let what = format!("--name: expected one source, found {}", self.sources.len());
            return Err(InputError::new(what, "add them one by one").into());
        }
        // All sources are read before the first one is fetched.
        let mut requests = Vec::new();
        for source in &self.sources {
            match self.request(env, options, source) {
                Err(error) if !self.continue_on_error => return Err(error),
                request => requests.push((request, source)),
            }
        }
        let (plugins, _new) = env.first(base)?;
        locations::repair(&plugins);
        for (request, source) in requests {
            let installed = async {
                let preview = fetch(request?, env, &plugins).await?;
                show(&preview);
                let answer = self.ask(std::slice::from_ref(&preview)).await?;
                install(preview, env, &plugins, Some(self.decision(answer))).await
            };
            match installed.await {
                Ok(row) => self.installed(row, done)?,
                Err(error) => self.failed(source, or_directory(error, source, env.cwd()), done)?,
            }
        }
        Ok(())
    }

    /// Reads a source of the command line.
    fn request(
        &self,
        env: &Environment<'_>,
        options: &FetchOptions,
        source: &str,
    ) -> anyhow::Result<Request> {
        // Every source but a name has a colon, or begins with a dot or a slash.
        let is_name = !source.contains(':') && !source.starts_with(['.', '/']);
        let hosts = if is_name { env.hosts_of_names()? } else { Hosts::new(env.cwd()) };
        let source = Source::parse(source, &hosts);
        let source = source.and_then(|it| it.at(self.reference.as_deref()))?;
        let name = self.name.as_deref().map(locations::name).transpose()?;
        let mut request = options.apply(Request::new(source, name)?)?;
        request.replace = self.replace();
        Ok(request)
    }

    /// Installs the plugins of the lock file. All of them are fetched and checked before the first one is
    /// installed.
    async fn install_locked(
        &self,
        env: &Environment<'_>,
        base: &Base,
        options: &FetchOptions,
        done: &mut Results,
    ) -> anyhow::Result<()> {
        let Some(plugins) = env.find_first(base)?.filter(|it| it.lock_path().exists()) else {
            let what = "expected a source, or a plugins.lock here that names plugins; found neither";
            let hint = "give a source such as org/repo; see `hookbox plugin add --help`";
            return Err(InputError::new(what, hint).into());
        };
        locations::repair(&plugins);
        let lock = plugins.lock()?;
        if lock.iter().next().is_none() {
            let path = shown_path(&plugins.lock_path());
            say(format_args!("{path} names no plugin, so that there is nothing to install"));
        }
        let mut all = Vec::new();
        for locked in lock.iter() {
            let fetched = async {
                let restore = Request::restore(&plugins, locked, self.replace(), &env.runtime);
                let Some(request) = unless_interrupted(restore).await?? else { return Ok(None) };
                fetch(options.apply_to_one_of_all(request, locked)?, env, &plugins).await.map(Some)
            };
            match fetched.await {
                Ok(None) => say(format_args!("{} is installed", locked.name)),
                Ok(Some(preview)) => all.push(preview),
                Err(error) => self.failed(&locked.name.to_string(), error, done)?,
            }
        }
        all.iter().for_each(show);
        let answer = self.ask(&all).await?;
        for preview in all {
            let name = preview.name().to_string();
            match install(preview, env, &plugins, Some(self.decision(answer))).await {
                Ok(row) => self.installed(row, done)?,
                Err(error) => self.failed(&name, error, done)?,
            }
        }
        Ok(())
    }

    /// Returns the decision about all hooks that were shown.
    fn decision(&self, trust: bool) -> Decision {
        Decision { trust, grant: self.consent.grant, besides: Vec::new() }
    }

    fn replace(&self) -> Replace {
        if self.force { Replace::Yes } else { Replace::No }
    }

    /// Asks once for trust in the hooks of these plugins.
    async fn ask(&self, previews: &[Preview<'_>]) -> Result<bool, Interrupted> {
        let with_hooks = previews.iter().filter(|it| it.has_hooks());
        let names: Vec<String> = with_hooks.map(|it| it.name().to_string()).collect();
        if names.is_empty() {
            return Ok(false);
        }
        let grant = if self.consent.grant { ", and grant what it asks for" } else { "" };
        let question = format!(
            "Trust the hooks of {} as shown{grant}? It is installed either way.",
            names.join(" and ")
        );
        self.consent.ask(question).await
    }

    fn installed(&self, row: Row, done: &mut Results) -> anyhow::Result<()> {
        if !self.json {
            output::line(&summary("Installed", &row))?;
        }
        done.rows.push(row.with_origin());
        Ok(())
    }

    /// Prints an error and goes on, if the user wants that.
    fn failed(&self, what: &str, error: anyhow::Error, done: &mut Results) -> anyhow::Result<()> {
        let what = format!("{} was not installed", escape(what, 1024));
        done.failed(error, self.continue_on_error, what)
    }
}

/// Adds a hint to the error of a repository ORG/REPO that was not found, if there is a directory of this
/// name.
fn or_directory(error: anyhow::Error, source: &str, cwd: &Path) -> anyhow::Error {
    let is_directory = !source.starts_with(['.', '/']) && !source.contains(':') && cwd.join(source).is_dir();
    match error.downcast::<PluginError>() {
        Ok(error) if is_directory && matches!(error.kind, PluginErrorKind::Fetch(_)) => {
            let path = escape(&shell_word(&format!("./{source}")), 1024);
            let directory = format!("the directory of this name is {path}");
            let hint = match &error.hint {
                Some(hint) => format!("{hint}; {directory}"),
                None => directory,
            };
            error.hint(hint).into()
        }
        Ok(error) => error.into(),
        Err(error) => error,
    }
}
