//! `hookbox man`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueHint};

use crate::{help, output};

/// Write man pages.
///
/// Prints the page of the program, or writes the pages of all commands. For example:
/// hookbox man --write ~/.local/share/man/man1
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Write a page for each command into this directory.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    write: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let command = help::command();
        if let Some(directory) = &self.write {
            return write(&command, directory);
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        output::line(String::from_utf8_lossy(&page).trim_end())
    }
}

fn write(command: &clap::Command, directory: &Path) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("failed to create {}", directory.display()))?;
    clap_mangen::generate_to(command.clone(), directory)
        .with_context(|| format!("failed to write into {}", directory.display()))?;
    output::line(&format!("wrote the man pages into {}", directory.display()))
}
