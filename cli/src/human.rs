//! Changes that need a human: of trust, of grants, of guards, of plugins, and of the configuration of agents.

use std::path::{Path, PathBuf};

use hookbox::{discovery, escape};
use hookbox_agents::bridge::above::{self, Sign, sign};
use hookbox_system::files::private_dir;
use hookbox_system::text::shell_word;

use crate::error::InputError;
use crate::{approval, options};

/// Refuses a change by an agent. If an agent has a session open beside this process, a human has to answer on
/// the terminal: here, unless the command asks a question of its own (`asks`).
///
/// `files` are changed beside trust, plugins and their lock files. Call it after [`options::Locate::enter`].
pub(crate) fn required(locate: &options::Locate, files: &[PathBuf], asks: bool) -> anyhow::Result<()> {
    required_in(locate, &locate.discovery()?.cwd, files, asks)
}

/// Like [`required`], for a change that concerns agents that work in this directory.
pub(crate) fn required_in(
    locate: &options::Locate,
    directory: &Path,
    files: &[PathBuf],
    asks: bool,
) -> anyhow::Result<()> {
    approval::not_from_a_hook()?;
    locate.note_home();
    let options = locate.discovery()?;
    let data = private_dir::default_data(options.home.as_deref());
    let project = discovery::repository(&options).unwrap_or_else(|| options.cwd.clone());
    let mut changes = files.to_vec();
    changes.extend(data.clone());
    for base in options.home.iter().chain([&project]) {
        let plugins = options.roots.iter().map(|root| base.join(root).join("plugins"));
        changes.extend(plugins.chain([base.clone()]));
    }
    let sign = sign(directory, data.as_deref(), &changes);
    match sign {
        None => Ok(()),
        Some(Sign::Beside(_)) if approval::has_terminal() => {
            let question = "An agent has a session open here. Is it you, and not the agent, who runs this?";
            Ok(approval::confirm(question, asks)?)
        }
        Some(sign) => {
            let hint = format!("open a terminal outside of the agent and run: {}", command_line());
            Err(InputError::refused(format!("this needs a human: {sign}"), hint).into())
        }
    }
}

/// Refuses a command that shows or asks what only a human has a use for, without a terminal. `--yes` does not count. Tests
/// have data of their own.
pub(crate) fn needs_a_terminal(locate: &options::Locate) -> Result<(), InputError> {
    let data = private_dir::default_data(locate.discovery()?.home.as_deref());
    if approval::has_terminal() || data.is_some_and(|data| above::is_temporary(&data)) {
        return Ok(());
    }
    Err(InputError::refused("this needs a human: found no terminal", "run it in a terminal of your own"))
}

/// Returns the command line that a human types for the same change, with its question.
fn command_line() -> String {
    let words = std::env::args_os().skip(1).filter(|word| word != "--yes" && word != "-y");
    let words: Vec<String> = words.map(|word| shell_word(&word.to_string_lossy())).collect();
    escape(&format!("hookbox {}", words.join(" ")), 1000)
}
