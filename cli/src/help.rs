//! The help of the whole program: its commands in groups, with examples.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};
use hookbox_agents::Agent;
use hookbox_system::text;

use crate::Cli;

/// Returns the address of a page of the documentation: a user has the program, and perhaps not the book.
pub(crate) fn page(name: &str) -> String {
    format!("{}/blob/main/docs/src/{name}", env!("CARGO_PKG_REPOSITORY"))
}

/// The commands by the work that they are for. A command of no group is listed last.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Guard an agent", &["setup", "doctor", "guard", "install", "uninstall", "upgrade", "remove"]),
    ("Hooks and plugins", &["list", "allow", "approve", "trust", "untrust", "grants", "plugin", "cache"]),
    ("See what happened", &["log", "replay", "backtest", "report"]),
    ("Write and test hooks", &["new", "build", "run", "explain", "test", "inspect", "compose", "schema"]),
    ("Called by other programs", &["bridge", "mcp", "exec"]),
    ("Shell", &["completions", "man"]),
];

const EXAMPLES: &str = "  hookbox trust no-deploys
  echo '{\"tool_name\":\"bash\",\"tool_input\":{\"command\":\"ls\"}}' | hookbox run before_tool_call";

/// The hints for words that people try, and that are not commands.
const INSTEAD: [(&str, &str); 11] = [
    ("add", "to install a plugin: hookbox plugin add SOURCE; to add a hook, put it into ~/.hookbox/hooks/"),
    ("check", "to check that an agent is guarded: hookbox doctor"),
    ("config", "settings are in ~/.hookbox/hookbox.toml"),
    ("disable", "set enabled = false in [hooks.\"NAME\"] of hookbox.toml"),
    ("enable", "remove enabled = false from [hooks.\"NAME\"] of hookbox.toml"),
    ("init", "to guard the agents of this machine: hookbox setup"),
    ("rm", "to remove a plugin: hookbox plugin remove NAME; from an agent: hookbox uninstall AGENT"),
    ("show", "to show a component: hookbox inspect FILE; a plugin: hookbox plugin show NAME"),
    ("status", "to check that an agent is guarded: hookbox doctor; the hooks: hookbox list"),
    ("update", "to update plugins: hookbox plugin update; hookbox itself: hookbox upgrade"),
    ("why", "to see what each hook answers to a command: hookbox explain COMMAND"),
];

/// Returns the program's command line, with the help that lists its commands in groups.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let style = *command.get_styles().get_header();
    let mut listed = Vec::new();
    let mut text = String::new();
    let width = command.get_subcommands().map(|it| it.get_name().len()).max().unwrap_or_default();
    let mut list = |heading: &str, names: &[&str], listed: &mut Vec<String>| {
        let known = names.iter().filter_map(|name| command.find_subcommand(name));
        let rows: Vec<&Command> = known.filter(|it| !it.is_hide_set()).collect();
        if rows.is_empty() {
            return;
        }
        let _ = writeln!(text, "{style}{heading}:{style:#}");
        for row in rows {
            let about = row.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {:<width$}  {about}", row.get_name());
            listed.push(row.get_name().to_owned());
        }
        text.push('\n');
    };
    for (heading, names) in GROUPS {
        list(heading, names, &mut listed);
    }
    let others: Vec<&str> = command
        .get_subcommands()
        .map(Command::get_name)
        .filter(|it| !listed.iter().any(|name| name == it))
        .collect();
    list("Other commands", &others, &mut Vec::new());
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{text}{style}Options:{style:#}\n{{options}}\
         {{after-help}}\n"
    );
    let agent = Agent::ALL.first().map_or("AGENT", |agent| agent.as_str());
    // A template cannot have braces of its own.
    let examples = format!(
        "{style}Examples:{style:#}\n  hookbox install {agent} && hookbox doctor {agent}\n{EXAMPLES}\n\nDocumentation: {}",
        page("introduction.md")
    );
    command.help_template(template).after_help(examples)
}

/// Returns the command that a command line names, such as `hookbox plugin add`.
pub(crate) fn named_command(words: impl IntoIterator<Item = String>) -> String {
    let mut command = &Cli::command();
    let mut named = "hookbox".to_owned();
    for word in words.into_iter().filter(|word| !word.starts_with('-')) {
        let Some(next) = command.find_subcommand(&word) else { break };
        named = format!("{named} {}", next.get_name());
        command = next;
    }
    named
}

/// Returns the hint for a word that is not a command.
pub(crate) fn instead_of(word: &str) -> String {
    if let Some((_, hint)) = INSTEAD.iter().find(|(tried, _)| *tried == word) {
        return (*hint).to_owned();
    }
    let command = Cli::command();
    let names = command.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name);
    let meant = text::nearest(word, names).map(|name| format!("`hookbox {name}`"));
    text::did_you_mean(meant.as_deref()).unwrap_or_else(|| "see `hookbox --help`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_one_line_of_one_group_in_the_help() {
        let help = command().term_width(80).render_help().to_string();
        assert!(!help.contains("Other commands"), "{help}");
        for subcommand in Cli::command().get_subcommands().filter(|it| !it.is_hide_set()) {
            let line = format!("  {} ", subcommand.get_name());
            assert_eq!(help.lines().filter(|it| it.starts_with(&line)).count(), 1, "{line}\n{help}");
        }
        assert!(help.lines().all(|line| line.len() <= 90), "{help}");
        assert!(help.find("install").unwrap() < help.find("bridge").unwrap(), "{help}");
        assert!(!help.contains("\n\n\n"), "{help}");
    }

    #[test]
    fn a_word_that_is_no_command_gets_the_command_that_was_meant() {
        for (word, want) in [
            ("lsit", "did you mean `hookbox list`?"),
            ("instal", "did you mean `hookbox install`?"),
            ("rm", INSTEAD[6].1),
            ("tset", "did you mean `hookbox test`?"),
            ("expl", "did you mean `hookbox explain`?"),
            ("zebra", "see `hookbox --help`"),
        ] {
            assert_eq!(instead_of(word), want, "{word}");
        }
        // A hint for a word that has become a command is never seen.
        let command = Cli::command();
        assert!(INSTEAD.iter().all(|(word, _)| command.find_subcommand(word).is_none()));
    }

    #[test]
    fn a_wrong_command_line_is_answered_with_the_help_of_its_command() {
        for (words, want) in [
            (&["trust"][..], "hookbox trust"),
            (&["--quiet", "plugin", "add", "trust"], "hookbox plugin add"),
            (&["ls", "--wide"], "hookbox list"),
            (&["--no-such-option"], "hookbox"),
        ] {
            assert_eq!(named_command(words.iter().map(ToString::to_string)), want, "{words:?}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
