//! Changes that need a human: of trust, of grants, of plugins, and of the agents' configuration.

use std::path::PathBuf;

use hookbox::bridge::above::{Sign, sign};
use hookbox::discovery;
use hookbox::private_dir;
use hookbox::text::{escape, shell_word};

use crate::error::{InputError, Refused};
use crate::{approval, options};

/// Refuses what an agent asks for. Where one has a session open beside this process, somebody has to answer on the
/// terminal: here, unless the command asks a question of its own (`asks`).
///
/// `files` are changed beside trust, plugins and their lock files. After [`options::Locate::enter`].
pub(crate) fn required(locate: &options::Locate, files: &[PathBuf], asks: bool) -> anyhow::Result<()> {
    approval::not_from_a_hook()?;
    let options = locate.discovery()?;
    let data = private_dir::default_data(options.home.as_deref());
    let project = discovery::repository(&options).unwrap_or_else(|| options.cwd.clone());
    let mut changes = files.to_vec();
    changes.extend(data.clone());
    for base in options.home.iter().chain([&project]) {
        let plugins = options.roots.iter().map(|root| base.join(root).join("plugins"));
        changes.extend(plugins.chain([base.clone()]));
    }
    let sign = sign(&options.cwd, data.as_deref(), &changes);
    match sign {
        None => Ok(()),
        Some(Sign::Beside(_)) if approval::has_terminal() => {
            let question = "An agent has a session open here. Do you do this, and not the agent?";
            if asks || approval::ask(question) {
                return Ok(());
            }
            Err(InputError::new("not confirmed: nothing was changed", "answer y").into())
        }
        Some(sign) => {
            let hint = format!("open a terminal outside of the agent and run: {}", command_line());
            Err(Refused(InputError::new(format!("this needs a human: {sign}"), hint)).into())
        }
    }
}

/// What a human types to do the same, and to be asked.
fn command_line() -> String {
    let words = std::env::args_os().skip(1).filter(|word| word != "--yes");
    let words: Vec<String> = words.map(|word| shell_word(&word.to_string_lossy())).collect();
    escape(&format!("hookbox {}", words.join(" ")), 1000)
}
