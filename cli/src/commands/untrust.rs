//! `hookbox untrust`.

use std::process::ExitCode;

use clap::Args;
use hookbox::escape;

use crate::{approval, human, named, options, output};

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
