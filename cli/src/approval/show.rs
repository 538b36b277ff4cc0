//! Showing a hook, its command line and its rights.

use std::path::PathBuf;

use hookbox::capability::Capability;
use hookbox::escape;
use hookbox::event::EventName;
use hookbox::hook::Kind;
use hookbox::manager::Entry;
use hookbox::trust::Scope;
use hookbox::{Digest, OnFailure};

use crate::error::{InputError, say};

const MAX_LINE: usize = Entry::MAX_LINE;

/// The longest run of spaces that is shown. A longer one is counted, so that it pushes nothing out of sight.
const MAX_SPACES: usize = 8;

/// Checks that the command line of the hook can be shown whole.
pub(crate) fn showable(hook: &Entry) -> Result<(), InputError> {
    match hook.found.runs.as_ref().map_or(0, String::len) {
        0..=MAX_LINE => Ok(()),
        len => {
            let name = escape(&hook.name, 200);
            let what = format!(
                "{name}: cannot be trusted: expected a command line of at most {MAX_LINE} bytes, found {len}"
            );
            Err(InputError::new(what, "put it into a script, and name the script in the command line"))
        }
    }
}

/// Shows a command line in one line: whole, or cut if it is too long to be trusted.
pub(crate) fn line(runs: &str) -> String {
    if runs.len() > MAX_LINE { escape(runs, MAX_LINE) } else { whole(runs) }
}

/// Shows a whole command line or input in one line. Line breaks and tabs are escaped, and many spaces are counted.
pub(crate) fn whole(line: &str) -> String {
    // A letter without ink hides the text after it as well as a space.
    let is_blank = |c: char| {
        (c.is_whitespace() && !c.is_control())
            || matches!(c, '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
    };
    let mut out = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let after = rest.trim_start_matches(is_blank);
        let (blank, _) = rest.split_at(rest.len() - after.len());
        match blank.chars().count() {
            count if count > MAX_SPACES => out.push_str(&format!(" … ({count} spaces) … ")),
            _ => out.push_str(blank),
        }
        let (text, next) = after.split_at(after.find(is_blank).unwrap_or(after.len()));
        out.push_str(&escape(text, usize::MAX));
        rest = next;
    }
    out
}

/// Shows rights in one line.
pub(crate) fn list(rights: &[Capability]) -> String {
    if rights.is_empty() {
        return "nothing".to_owned();
    }
    let rights: Vec<String> = rights.iter().map(|right| escape(&right.to_string(), 1024)).collect();
    rights.join(" ")
}

/// Shows a hook on standard error.
pub(crate) fn show(hook: &Entry, digest: &Digest, asked: &[Capability], grants: &[Capability]) {
    say(format_args!("{} ({}, {})", escape(&hook.name, 200), hook.kind.as_str(), hook.tier.as_str()));
    if let Some(path) = &hook.path {
        say(format_args!("  file    {}", escape(&path.to_string_lossy(), 4096)));
    }
    if let Some(runs) = &hook.found.runs {
        say(format_args!("  runs    {}", whole(runs)));
    }
    say(format_args!("  digest  {digest}"));
    match &hook.found.manifest {
        Some(manifest) => {
            let asked = manifest.subscriptions.iter().map(|it| EventName::as_str(&it.event));
            let declared = hook.found.events.iter().map(EventName::as_str);
            let events: Vec<&str> =
                if hook.found.events.is_empty() { asked.collect() } else { declared.collect() };
            say(format_args!("  says    {}", escape(&manifest.description, 300)));
            say(format_args!("  events  {}", events.join(" ")));
            say(format_args!("  answers {}", answers(&manifest.answers.names())));
        }
        None if hook.found.needs_trust => {
            let events = hook.found.events.iter().map(EventName::as_str).collect::<Vec<_>>().join(" ");
            if !events.is_empty() {
                say(format_args!("  events  {events}"));
            }
            say("  runs with all your rights, with every file in its directory");
            for path in hook.names() {
                say(format_args!("  with    {}", escape(&path.to_string_lossy(), 1024)));
            }
            if hook.kind != Kind::Native {
                say(
                    "  not all files that it uses can be known: trust does not end when another file changes",
                );
            }
        }
        None => say("  runs with all your rights"),
    }
    for (key, text) in [("matcher", &hook.found.matcher), ("if     ", &hook.found.condition)] {
        if let Some(text) = text {
            say(format_args!("  {key} {}", whole(text)));
        }
    }
    if !hook.found.tools.is_empty() {
        say(format_args!("  tools   {}", escape(&hook.found.tools.join(" "), 1024)));
    }
    if hook.observe {
        say("  only observes");
    }
    if hook.on_failure == OnFailure::Block {
        say("  blocks if it fails");
    }
    for (key, value) in hook.found.repository_settings() {
        say(format_args!("  set to  {} = {}", escape(key, 200), whole(value)));
    }
    for right in asked {
        say(format_args!("  asks to {}", means(right)));
    }
    for right in grants {
        say(format_args!("  granted {}: {}", escape(&right.to_string(), 1024), means(right)));
    }
    if hook.found.manifest.is_some() && grants.is_empty() {
        say("  granted nothing");
    }
}

/// Shows the hooks of the same name: those that this hook replaces, and those that run beside it.
pub(crate) fn show_namesakes(hook: &Entry, replaces: &[(Scope, PathBuf)]) {
    for it in &hook.found.namesakes {
        let blocks = if it.on_failure == Some(OnFailure::Block) { ", blocks if it fails" } else { "" };
        let shown =
            format!("{} ({}{blocks})", escape(&it.reference.to_string_lossy(), 4096), it.tier.as_str());
        if replaces.contains(&it.key) {
            say(format_args!("  takes the place of {shown}, which does not run then"));
        } else {
            say(format_args!("  has the name of {shown}: both run, unless you give --replace"));
        }
    }
}

/// Lists the answers of a component in one line: those of every hook, and these.
pub(crate) fn answers(declared: &[&str]) -> String {
    [&["pass", "block", "ask", "warn"], declared].concat().join(" ")
}

/// Explains a right.
pub(crate) fn means(right: &Capability) -> String {
    escape(&right.explain(), 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::find;
    use crate::approval::find::tests::found;

    #[test]
    fn a_command_line_is_shown_whole() {
        let far = format!("true{};rm x", " ".repeat(4_000));
        let filled = format!("true{}rm", "\u{2800}".repeat(9));
        let long = "x".repeat(4_096);
        for (line, want) in [
            ("sh x", "sh x"),
            ("sh        x", "sh        x"),
            (&far, "true … (4000 spaces) … ;rm x"),
            (&filled, "true … (9 spaces) … rm"),
            ("true\n\n\n\n\n\n\n\n\n\nrm\u{1b}[2K", "true\\n\\n\\n\\n\\n\\n\\n\\n\\n\\nrm\\u{1b}[2K"),
            (&long, &long),
        ] {
            assert_eq!(whole(line), want);
        }
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_to_read_cannot_be_trusted() {
        for (len, is_fine) in [(4_096, true), (4_097, false)] {
            let (_temp, manager) = found(&format!("[{{\"command\": \"{}\"}}]", "x".repeat(len))).await;
            let hook = find(&manager, "hooks.json#PreToolUse[0]").unwrap();
            assert_eq!(showable(&hook).is_ok(), is_fine, "{len}");
        }
    }
}
