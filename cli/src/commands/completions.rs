//! `hookbox completions`.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{Arg, Args, Command};
use clap_complete::Shell;
use hookbox::discovery;
use hookbox_system::text::shell_word;

use crate::named::HOOKS;
use crate::{help, options, output};

/// The command substitution that a script has for the names of hooks.
const ASK_FOR_HOOKS: &str = "(hookbox completions --hooks 2>/dev/null)";

/// Write completions for a shell.
///
/// For example: hookbox completions bash > ~/.local/share/bash-completion/completions/hookbox
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(required_unless_present = "hooks")]
    shell: Option<Shell>,
    /// Print the names of the hooks here, one a line.
    #[arg(long, hide = true, conflicts_with = "shell")]
    hooks: bool,
}

impl Completions {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.shell {
            Some(shell) => output::line(script(shell).trim_end()),
            None => names(&options::Locate::default()),
        }
    }
}

/// Returns the script that completes the command line of this program.
fn script(shell: Shell) -> String {
    let mut command = help::command();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "hookbox", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Fish {
        // clap completes only the options there.
        fish_arguments(&command, &mut Vec::new(), &mut script);
        // In double quotes fish leaves it to the completion; `$(…)` would run when the script is read.
        return script.replace(HOOKS, ASK_FOR_HOOKS);
    }
    script.replace(HOOKS, &format!("${ASK_FOR_HOOKS}"))
}

/// Adds the lines that complete the arguments of each command in fish.
fn fish_arguments<'c>(command: &'c Command, above: &mut Vec<&'c str>, script: &mut String) {
    let condition = match above.as_slice() {
        [name] => format!("__fish_hookbox_using_subcommand {name}"),
        [group, name] => {
            format!("__fish_hookbox_using_subcommand {group}; and __fish_seen_subcommand_from {name}")
        }
        _ => String::new(),
    };
    let arguments = command.get_positionals().filter(|_| !condition.is_empty());
    for names in arguments.map(completed).filter(|names| !names.is_empty()) {
        let _ = writeln!(script, "complete -c hookbox -n \"{condition}\" -f -a \"{}\"", names.join(" "));
    }
    for subcommand in command.get_subcommands() {
        above.push(subcommand.get_name());
        fish_arguments(subcommand, above, script);
        above.pop();
    }
}

/// Returns the names that a shell completes for an argument.
fn completed(argument: &Arg) -> Vec<String> {
    argument.get_possible_values().iter().map(|it| it.get_name().to_owned()).collect()
}

/// Prints the names of the hooks that are found here, one a line.
///
/// A repository chooses the names of its hooks, and shells evaluate the words that they offer. A name that
/// would need quotes is left out.
fn names(locate: &options::Locate) -> anyhow::Result<ExitCode> {
    let is_plain = |name: &String| shell_word(name) == *name && !name.starts_with('-');
    for name in discovery::names(&locate.discovery()?).iter().filter(|name| is_plain(name)) {
        output::line(name)?;
    }
    Ok(ExitCode::SUCCESS)
}
