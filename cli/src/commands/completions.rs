//! `hookbox completions`.

use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

/// Write completions for a shell.
///
/// For example: hookbox completions bash > ~/.local/share/bash-completion/completions/hookbox
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::help::command(), "hookbox", &mut script);
        crate::output::line(String::from_utf8_lossy(&script).trim_end())
    }
}
