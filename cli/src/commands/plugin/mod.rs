//! `hookbox plugin`: plugins of the repository and of the home directory.

mod add;
mod fetch;
mod locations;
mod publish;
mod remove;
mod row;
mod sync;
mod update;

use std::fmt;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use hookbox::escape;
use hookbox_plugins::Contents;
use serde_json::Value;

use self::locations::Environment;
use crate::error::{EXIT_FAILED, complain, hint, say};
use crate::interrupt::Interrupted;
use crate::{options, output};

/// Install and manage plugins.
///
/// A plugin is a directory with skills, recipes and hooks.
#[derive(Args, Debug)]
pub(crate) struct Plugin {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(add::Add),
    List(List),
    Show(Show),
    Update(update::Update),
    Remove(remove::Remove),
    Publish(publish::Publish),
    Sync(sync::Sync),
}

impl Plugin {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Add(command) => command.run().await,
            Command::List(command) => command.run().await,
            Command::Show(command) => command.run().await,
            Command::Update(command) => command.run().await,
            Command::Remove(command) => command.run().await,
            Command::Publish(command) => command.run().await,
            Command::Sync(command) => command.run().await,
        }
    }
}

/// The results of a command for several plugins.
struct Results {
    as_json: bool,
    rows: Vec<Value>,
    failures: usize,
}

impl Results {
    fn new(as_json: bool) -> Self {
        Self { as_json, rows: Vec::new(), failures: 0 }
    }

    /// Prints an error and goes on with the next plugin, if `goes_on` and no signal ended the work. `what`
    /// tells what was not done.
    fn failed(&mut self, error: anyhow::Error, goes_on: bool, what: impl fmt::Display) -> anyhow::Result<()> {
        if !goes_on || error.is::<Interrupted>() {
            return Err(error);
        }
        complain(&error);
        say(what);
        self.failures += 1;
        Ok(())
    }

    /// Prints the rows as JSON, also those before an error that ended the command.
    fn finish(self, ended: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
        if self.as_json && (ended.is_ok() || !self.rows.is_empty()) {
            output::json(&self.rows)?;
        }
        ended?;
        Ok(if self.failures == 0 { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) })
    }
}

/// List the plugins of the repository and of the home directory.
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Print JSON: an array of objects, one per plugin.
    #[arg(long)]
    json: bool,
    /// Only those of the home directory.
    #[arg(short, long, visible_alias = "user", conflicts_with = "local")]
    global: bool,
    /// Only those of the repository.
    #[arg(long = "project", alias = "local")]
    local: bool,
    #[command(flatten)]
    locate: options::Locate,
}

impl List {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.locate.enter()?;
        let env = Environment::new(&self.locate)?;
        let rows = row::all(&env, env.bases(self.global, self.local)).await?;
        if self.json {
            return output::json(&rows);
        }
        if rows.is_empty() {
            hint("no plugins are installed; see `hookbox plugin add --help`");
            return Ok(ExitCode::SUCCESS);
        }
        let header = ["NAME", "TIER", "SKILLS", "RECIPES", "HOOKS"];
        let cells = rows.iter().map(|row| {
            let (skills, recipes, hooks) = row.counts();
            // Two roots may have plugins of the same name.
            let same = |it: &&row::Row| it.name == row.name && it.location == row.location;
            let tier = match rows.iter().filter(same).count() {
                0 | 1 => row::tier(row.location).to_owned(),
                _ => format!("{} ({})", row::tier(row.location), escape(&row.root, 200)),
            };
            vec![escape(&row.name, 200), tier, skills, recipes, hooks]
        });
        output::line(&output::table(&header, cells))
    }
}

/// Show one plugin with all details.
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The plugin, as ORG/REPO, or as `hookbox plugin list` calls it.
    #[arg(value_name = "NAME")]
    name: String,
    /// Print JSON: an object as in `plugin list --json`.
    #[arg(long)]
    json: bool,
    /// The one of the home directory.
    #[arg(short, long, visible_alias = "user", conflicts_with = "local")]
    global: bool,
    /// The one of the repository.
    #[arg(long = "project", alias = "local")]
    local: bool,
    #[command(flatten)]
    locate: options::Locate,
}

impl Show {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.locate.enter()?;
        let env = Environment::new(&self.locate)?;
        let all = env.all(env.bases(self.global, self.local));
        all.iter().for_each(locations::repair);
        let (plugins, known) = locations::find(&all, &self.name)?;
        if !known.is_here {
            return Err(known.missing(plugins).into());
        }
        let manager = env.manager().await?;
        let contents = Contents::look(&known.path, &known.dir, plugins.location(), &env.runtime).await;
        row::problems(&escape(&known.name, 200), &contents);
        let row = row::of(plugins, &known, &contents, &manager)?;
        if self.json {
            return output::json(&row);
        }
        let mut lines = vec![format!("{} ({})", escape(&row.name, 200), row::tier(row.location))];
        let mut field = |name: &str, value: Option<&str>| {
            lines.extend(value.map(|value| format!("  {name:<10}{}", escape(value, 4096))));
        };
        let details = &row.details;
        field("path", Some(&row.path));
        field("source", Some(details.source.as_deref().unwrap_or("put there by hand, not by hookbox")));
        field("ref", details.reference.as_deref());
        field("commit", details.commit.as_deref());
        field("digest", details.digest.as_deref());
        field("tree", details.tree.as_deref());
        field("installed", details.installed.as_deref());
        if details.changed {
            field("changed", Some("its files differ from the installed ones"));
        }
        let added = row::list(&details.added);
        field("added", Some(added.as_str()).filter(|_| !details.added.is_empty()));
        field("trusted", Some(if details.trusted { "yes" } else { "no" }));
        field("skills", Some(&row::list(&contents.skills)));
        field("recipes", Some(&row::list(&contents.recipes)));
        field("hooks", Some(&row::counts(&contents)));
        let others = row::list(&contents.others);
        field("others", Some(others.as_str()).filter(|_| !contents.others.is_empty()));
        for (hook, about) in contents.hooks.iter().zip(&details.hooks) {
            lines.extend(about.lines(hook));
        }
        output::line(&lines.join("\n"))
    }
}
