//! `hookbox untrust`.

use std::process::ExitCode;

use clap::Args;
use hookbox::text::escape;

use crate::{approval, options, output};

/// Take back the trust in a hook and all that was granted to it, also where its file is gone.
#[derive(Args, Debug)]
pub(crate) struct Untrust {
    /// The hook's full name, or the path of its file.
    #[arg(value_name = "NAME|PATH")]
    hook: String,
    /// Print what was taken back as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

impl Untrust {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.locate.enter()?;
        let manager = self.locate.manager().await?;
        let file = &approval::trust_file(&manager)?;
        let record = approval::find_record(&manager, &approval::read(file)?, &self.hook)?;
        approval::update(file, |records| records.remove(&record.place, &record.path))?;
        if self.json {
            return output::json(&record);
        }
        output::line(&format!("took back trust and grants of {}", escape(&record.name, 200)))
    }
}
