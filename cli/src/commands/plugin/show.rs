//! `hookbox plugin show`.

use std::process::ExitCode;

use clap::Args;
use hookbox::escape;
use hookbox_plugins::Contents;

use super::describe;
use super::locations::{self, Environment};
use super::row;
use crate::{options, output};

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
        describe::problems(&escape(&known.name, 200), &contents);
        let row = row::of(plugins, &known, &contents, &manager)?;
        if self.json {
            return output::json(&row);
        }
        let mut lines = vec![format!("{} ({})", escape(&row.name, 200), row.location)];
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
            field("changed", Some("it is not what was installed any more"));
        }
        let added = describe::list(&details.added);
        field("added", Some(added.as_str()).filter(|_| !details.added.is_empty()));
        field("trusted", Some(if details.trusted { "yes" } else { "no" }));
        field("skills", Some(&describe::list(&contents.skills)));
        field("recipes", Some(&describe::list(&contents.recipes)));
        field("hooks", Some(&describe::counts(&contents)));
        let others = describe::list(&contents.others);
        field("others", Some(others.as_str()).filter(|_| !contents.others.is_empty()));
        for (hook, about) in contents.hooks.iter().zip(&details.hooks) {
            lines.extend(about.lines(hook));
        }
        output::line(&lines.join("\n"))
    }
}
