//! Fetching a plugin, showing it, asking for consent, and installing it.

use std::path::Path;

use clap::Args;
use hookbox::discovery::{ManagedDir, PluginPolicy};
use hookbox::{Digest, escape, shown_path};
use hookbox_plugins::registry::PublicKey;
use hookbox_plugins::{Accepted, Decision, Locked, PluginError, PluginErrorKind, Plugins, Preview, Request};
use hookbox_system::text::shell_word;

use super::locations::Environment;
use super::row::{self, Row};
use crate::approval;
use crate::error::{InputError, hint, say, warn, warn_with_hint};
use crate::interrupt::{Interrupted, unless_interrupted};
use crate::progress::Progress;

/// Fetches a plugin. A signal ends this, and removes what was fetched.
pub(super) async fn fetch<'p>(
    request: Request,
    env: &Environment<'_>,
    plugins: &'p Plugins,
) -> anyhow::Result<Preview<'p>> {
    let allowed = |source: Option<&str>, digest: Option<&Digest>| {
        let policy = ManagedDir::of_system();
        let refused = PluginPolicy::read(&policy)
            .map_or_else(|problem| Some(problem.to_string()), |it| it.refusal(source, digest));
        let hint = format!("it is in {}: ask your administrator", policy.settings_file().display());
        refused.map_or(Ok(()), |what| Err(InputError::refused(what, hint)))
    };
    allowed(Some(&request.source.text(plugins.base())), None)?;
    let progress = Progress::new(&request.name.to_string());
    let preview = unless_interrupted(request.prepare(plugins, &env.runtime, &progress)).await??;
    allowed(None, Some(&preview.locked.tree))?;
    preview.warning.iter().for_each(warn);
    Ok(preview)
}

/// Describes a plugin on standard error: its origin, its contents, and the rights that its hooks ask for.
pub(super) fn show(preview: &Preview<'_>) {
    let (name, contents) = (preview.name().to_string(), &preview.contents);
    say(&name);
    say(format_args!("  source  {}", preview.source));
    if let Some(commit) = &preview.locked.commit {
        say(format_args!("  is      commit {commit}"));
    } else if let Some(manifest) = &preview.locked.manifest {
        say(format_args!("  is      manifest {manifest}"));
    }
    say(format_args!("  skills  {}", row::list(&contents.skills)));
    say(format_args!("  recipes {}", row::list(&contents.recipes)));
    say(format_args!("  hooks   {}", row::counts(contents)));
    if !contents.others.is_empty() {
        say(format_args!("  others  {}", row::list(&contents.others)));
    }
    contents.hooks.iter().flat_map(|it| row::hook_lines(it, false)).for_each(say);
    if contents.enabled().any(|it| !it.kind.is_one_file()) {
        say("  once they are trusted, native hooks and commands run with all your rights");
        say("  trust covers the installed files; in a repository, a new file beside them ends it");
    }
    row::problems(&name, contents);
    if preview.is_signed {
        say("  signed  by the key that was given");
    }
}

/// Installs a plugin and records the user's decision.
pub(super) async fn install(
    preview: Preview<'_>,
    env: &Environment<'_>,
    plugins: &Plugins,
    decision: Option<Decision>,
) -> anyhow::Result<Row> {
    let name = preview.name().to_string();
    let accepted = preview.accept(decision.as_ref(), env.manager()).await.inspect_err(|error| {
        let kind = error.downcast_ref::<PluginError>().map(|it| &it.kind);
        if matches!(kind, Some(PluginErrorKind::Untrusted(_) | PluginErrorKind::Trust(_))) {
            say(format_args!("{name} is installed, and nothing of it was trusted"));
        }
    });
    let Accepted { installed, contents, manager, trusted, forgotten, warnings } = accepted?;
    warnings.iter().for_each(|it| warn_with_hint(it, it.hint.as_ref()));
    for record in &trusted {
        let granted = if record.asked.is_empty() && record.grants.is_empty() {
            String::new()
        } else {
            format!(" (granted: {})", approval::list(&record.grants))
        };
        say(format_args!("trusted {}{granted}", escape(&record.name, 200)));
    }
    row::forgotten(&forgotten);
    let row = row::of(plugins, &installed, &contents, &manager)?;
    advise(&row, decision.is_some_and(|it| it.grant));
    Ok(row)
}

/// Prints the next steps for hooks that are not trusted or lack grants.
fn advise(row: &Row, granted: bool) {
    let name = &row.name;
    let untrusted: Vec<&str> = row.untrusted().collect();
    if !untrusted.is_empty() {
        say(format_args!(
            "{name}: {} of its hooks are not trusted, and run only as far as that allows",
            untrusted.len()
        ));
        hint(format_args!(
            "look at them with `hookbox plugin show {name}`, then `hookbox trust {name}`, or one by one: {}",
            untrusted.iter().take(20).map(|it| escape(&shell_word(it), 300)).collect::<Vec<_>>().join(" ")
        ));
    }
    if granted {
        return;
    }
    for (hook, missing) in row.without_grants() {
        let rights: Vec<String> = missing.iter().map(|right| shell_word(&right.to_string())).collect();
        let line = format!("hookbox grants add {} {}", shell_word(hook), rights.join(" "));
        hint(format_args!(
            "{} asks for what it does not have until you grant it: {}",
            escape(hook, 200),
            escape(&line, 4096)
        ));
    }
}

/// Returns the text that `add` and `update` print for a plugin.
pub(super) fn summary(verb: &str, row: &Row) -> String {
    let (skills, recipes, hooks) = row.counts();
    format!("{verb} {}:\n  Skills:  {skills}\n  Recipes: {recipes}\n  Hooks:   {hooks}", row.name)
}

/// The consent on the command line.
#[derive(Args, Debug)]
pub(super) struct Consent {
    /// Grant the shown rights that the hooks ask for; together with a yes on the terminal, or with --yes.
    #[arg(long = "grant-all", alias = "grant", conflicts_with = "no_trust")]
    pub(super) grant: bool,
    /// Trust the hooks that are shown, without a question; this grants nothing.
    #[arg(short, long, conflicts_with = "no_trust")]
    yes: bool,
    /// Trust nothing, and do not ask.
    #[arg(long)]
    no_trust: bool,
}

impl Consent {
    /// Returns true if the user has to be asked.
    pub(super) fn asks(&self) -> bool {
        !self.yes && !self.no_trust
    }

    /// Returns true if the user trusts what is shown. Asks on the terminal; without one, and without `--yes`,
    /// the answer is no.
    pub(super) async fn ask(&self, question: String) -> Result<bool, Interrupted> {
        if !self.asks() {
            return Ok(self.yes);
        }
        if !approval::has_terminal() {
            say("there is no terminal to ask on: nothing is trusted (--yes trusts what is shown)");
            return Ok(false);
        }
        // On another thread, so that a signal ends the wait.
        let asked = async { tokio::task::spawn_blocking(move || approval::ask(&question)).await };
        Ok(unless_interrupted(asked).await?.unwrap_or(false))
    }
}

/// The options for fetching.
#[derive(Clone, Default)]
pub(super) struct FetchOptions {
    /// True if registries are used without TLS.
    plain_http: bool,
    /// The key to verify signatures with.
    key: Option<PublicKey>,
}

impl FetchOptions {
    /// Reads the key from this file.
    pub(super) fn new(plain_http: bool, key: Option<&Path>) -> anyhow::Result<Self> {
        let Some(file) = key else { return Ok(Self { plain_http, key: None }) };
        let wrong = |what: String| {
            let what = format!("--key {}: {what}", shown_path(file));
            InputError::new(what, "give the public key in PEM, such as cosign.pub")
        };
        let text = String::from_utf8(crate::input::text(file)?)
            .map_err(|_| wrong("expected PEM, found no text".to_owned()))?;
        let key = PublicKey::from_pem(&text).map_err(|error| wrong(error.to_string()))?;
        Ok(Self { plain_http, key: Some(key) })
    }

    /// Applies the options to a request.
    pub(super) fn apply(&self, mut request: Request) -> Result<Request, PluginError> {
        request.plain_http = self.plain_http;
        request.verify(self.key.as_ref())
    }

    /// Applies the options to a request for one of all plugins that the lock file names. One that was installed without a
    /// key is not verified.
    pub(super) fn apply_to_one_of_all(
        &self,
        request: Request,
        locked: &Locked,
    ) -> Result<Request, PluginError> {
        if self.key.is_none() || locked.key.is_some() {
            return self.apply(request);
        }
        let source = request.source.shown();
        warn(format_args!("{source}: is not verified: it was installed without a key"));
        Self { key: None, ..self.clone() }.apply(request)
    }
}
