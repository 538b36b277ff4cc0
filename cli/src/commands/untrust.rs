//! `hookbox untrust`.

use std::process::ExitCode;

use clap::Args;
use hookbox::escape;
use hookbox::trust::{Record, TrustFile};

use crate::{approval, human, options, output};

/// Remove the trust in a hook, or in all hooks of a plugin, and all grants, also if the files are gone.
#[derive(Args, Debug)]
pub(crate) struct Untrust {
    /// The hook's full name, the path of its file, or a plugin.
    #[arg(value_name = "NAME|PATH|ORG/REPO")]
    hook: String,
    /// Print the removed records as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    find: options::Find,
}

impl Untrust {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.find.locate.enter()?;
        human::required(&self.find.locate, &[], false)?;
        let manager = self.find.manager().await?;
        let file = &approval::trust_file(&manager)?;
        let held = approval::read(file)?;
        let record = match approval::find_record(&manager, &held, &self.hook) {
            Ok(record) => record,
            Err(error) => {
                let records = approval::records_of_plugin(&manager, &held, &self.hook);
                return if records.is_empty() { Err(error.into()) } else { self.plugin(file, &records) };
            }
        };
        approval::update(file, |records| records.remove(&record.scope, &record.path))?;
        if self.json {
            return output::json(&record);
        }
        output::line(&format!("took back trust and grants of {}", escape(&record.name, 200)))
    }

    /// Removes the records of the hooks of a plugin.
    fn plugin(&self, file: &TrustFile, records: &[Record]) -> anyhow::Result<ExitCode> {
        approval::update(file, |held| {
            for record in records {
                held.remove(&record.scope, &record.path);
            }
        })?;
        if self.json {
            return output::json(&records);
        }
        for record in records {
            output::line(&format!("took back trust and grants of {}", escape(&record.name, 200)))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
