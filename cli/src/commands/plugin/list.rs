//! `hookbox plugin list`.

use std::process::ExitCode;

use clap::Args;
use hookbox::escape;

use super::locations::Environment;
use super::row;
use crate::error::hint;
use crate::{options, output};

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
        let header = ["NAME", "LOCATION", "SKILLS", "RECIPES", "HOOKS"];
        let lines = header.map(|name| "-".repeat(name.len())).to_vec();
        let cells = rows.iter().map(|row| {
            let (skills, recipes, hooks) = row.counts();
            // Two roots may have plugins of the same name.
            let same = |it: &&row::Row| it.name == row.name && it.location == row.location;
            let location = match rows.iter().filter(same).count() {
                0 | 1 => row.location.to_owned(),
                _ => format!("{} ({})", row.location, escape(&row.root, 200)),
            };
            vec![escape(&row.name, 200), location, skills, recipes, hooks]
        });
        output::line(&output::table(&header, std::iter::once(lines).chain(cells)))
    }
}
