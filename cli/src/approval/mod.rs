//! Trust and grants, as the commands share them: finding a hook, showing it, asking.

mod find;

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

use hookbox::capability::Capability;
use hookbox::event::EventName;
use hookbox::hook::{Kind, Origin};
use hookbox::manager::{Entry, Manager};
use hookbox::trust::{
    Contents, PrivateFile, PrivateFileError, PrivateFileErrorKind, Record, Scope, TrustFile,
};
use hookbox::{Digest, OnFailure, escape, shown_path};

pub(crate) use self::find::{find, find_plugin, find_record, records_of_plugin};
use crate::error::{InputError, say};

/// Refuses a process that a hook started: no hook may change trust.
pub(crate) fn not_from_a_hook() -> Result<(), InputError> {
    if hookbox::native::depth() == 0 {
        return Ok(());
    }
    Err(InputError::new(
        "a hook can neither trust nor grant nor allow nor install",
        "run this command yourself, in a terminal",
    ))
}

/// Returns the trust file.
pub(crate) fn trust_file(manager: &Manager) -> Result<TrustFile, InputError> {
    manager.trust_file().ok_or_else(|| {
        let problems = manager.problems();
        let problem = problems.iter().find(|it| it.is_without_trust);
        let what = problem.map_or_else(
            || "expected a private data directory, found none".to_owned(),
            |problem| problem.to_string(),
        );
        InputError::new(what, "set HOME or XDG_DATA_HOME to a directory of your own, outside the repository")
    })
}

/// Reads a file of trust or of allowances.
pub(crate) fn read<T: Contents>(file: &PrivateFile<T>) -> anyhow::Result<T> {
    file.read().map_err(broken)
}

/// Changes a file of trust or of allowances.
pub(crate) fn update<T: Contents, R>(
    file: &PrivateFile<T>,
    change: impl FnOnce(&mut T) -> R,
) -> anyhow::Result<R> {
    file.update(change).map_err(broken)
}

/// Describes a broken file with a hint; any other error is a failure of the system.
fn broken(error: PrivateFileError) -> anyhow::Error {
    match &error.kind {
        PrivateFileErrorKind::Io(_) | PrivateFileErrorKind::Locked(_) => error.into(),
        _ => InputError::new(error.to_string(), error.advice()).into(),
    }
}

/// Returns the digest that is shown and recorded. It is computed once.
pub(crate) fn digest(hook: &Entry) -> Result<Digest, InputError> {
    let name = escape(&hook.name, 200);
    let hint = "see `hookbox list`";
    if hook.kind.is_one_file() && hook.found.manifest.is_none() {
        let expected = match hook.kind {
            Kind::Rules => "a rules file that can be used",
            _ => "a component that can be used",
        };
        let what = format!("{name}: expected {expected}, found one that is {}", hook.status.as_str());
        return Err(InputError::new(what, hint));
    }
    match hook.trust_digest() {
        Ok(Some(digest)) => Ok(digest),
        Ok(None) => {
            Err(InputError::new(format!("{name}: was not examined ({})", hook.status.as_str()), hint))
        }
        Err(error) => {
            let hint = "move what does not belong to the hook out of its directory";
            Err(InputError::new(format!("{name}: cannot be trusted: {error}"), hint))
        }
    }
}

/// Makes the record of a trusted hook that replaces no other.
pub(crate) fn record(
    hook: &Entry,
    digest: Digest,
    asked: Vec<Capability>,
    grants: Vec<Capability>,
) -> Result<Record, InputError> {
    if hook.tier.origin() == Origin::Managed {
        let what = format!(
            "{}: its trust and permissions are the administrator's to decide",
            escape(&hook.name, 200)
        );
        return Err(InputError::new(what, "ask your administrator"));
    }
    hook.approved(digest, asked, grants).ok_or_else(|| {
        InputError::new("the path of the repository cannot be read", "work in a directory that you may read")
    })
}

/// Checks that the hook can be given these rights.
pub(crate) fn grantable(manager: &Manager, hook: &Entry, rights: &[Capability]) -> Result<(), InputError> {
    let asked = hook.asked();
    for right in rights {
        let shown = escape(&right.to_string(), 1024);
        if *right == Capability::Allow && hook.tier.origin() == Origin::Repo {
            let what =
                format!("allow: {} is a hook of a repository, and none can have it", escape(&hook.name, 200));
            return Err(InputError::new(what, "install the hook in your home directory"));
        }
        // An address of a private network has to be listed, whatever the hook calls it.
        let is_address = matches!(right, Capability::Http(origin) if origin.address().is_some());
        if !is_address && !asked.iter().any(|asked| right.intersect(asked).is_some()) {
            let what = format!("{shown}: {} does not ask for this", escape(&hook.name, 200));
            return Err(InputError::new(what, format!("it asks for: {}", list(&asked))));
        }
        if let Some(error) = never_grantable(manager, right) {
            return Err(error);
        }
    }
    Ok(())
}

/// Returns the reason why no hook may have this right, if there is one.
pub(crate) fn never_grantable(manager: &Manager, right: &Capability) -> Option<InputError> {
    let protected = manager.protected();
    let path = protected.conflict(right)?;
    let (right, path) = (escape(&right.to_string(), 1024), shown_path(path));
    let what = format!("{right}: cannot be granted: with it a hook could write {path}");
    let hint = "grant a directory that contains neither hookbox's own files nor hooks, or --no-grants";
    Some(InputError::new(what, hint))
}

/// Asks on the terminal, unless `yes`.
pub(crate) fn confirm(question: &str, yes: bool) -> Result<(), InputError> {
    if yes {
        return Ok(());
    }
    if !has_terminal() {
        let what = "expected a terminal to ask on, found none";
        return Err(InputError::new(what, "give --yes to do this without a question"));
    }
    if ask(question) {
        return Ok(());
    }
    Err(InputError::declined())
}

/// Returns whether there is a terminal to ask on.
pub(crate) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks on the terminal; anything but a yes is a no.
pub(crate) fn ask(question: &str) -> bool {
    ask_with(question, false)
}

/// Asks on the terminal. `default` is the answer of an empty line.
pub(crate) fn ask_with(question: &str, default: bool) -> bool {
    // If the question cannot be written, the answer is no.
    let choices = if default { "[Y/n]" } else { "[y/N]" };
    let _ = write!(anstream::stderr(), "{question} {choices} ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    // The end of the input is not an empty line.
    read.is_ok_and(|bytes| bytes > 0) && is_yes(&answer, default)
}

/// Reads an answer; anything but a yes and an empty line is a no.
fn is_yes(answer: &str, default: bool) -> bool {
    match answer.trim().to_ascii_lowercase().as_str() {
        "" => default,
        answer => matches!(answer, "y" | "yes"),
    }
}

/// The longest run of spaces that is shown. A longer one is counted, so that it pushes nothing out of sight.
const MAX_SPACES: usize = 8;

/// Checks that the command line of the hook can be shown whole.
pub(crate) fn showable(hook: &Entry) -> Result<(), InputError> {
    match hook.found.runs.as_ref().map_or(0, String::len) {
        0..=Entry::MAX_LINE => Ok(()),
        len => {
            let name = escape(&hook.name, 200);
            let what = format!(
                "{name}: cannot be trusted: expected a command line of at most {} bytes, found {len}",
                Entry::MAX_LINE
            );
            Err(InputError::new(what, "put it into a script, and name the script in the command line"))
        }
    }
}

/// Shows a command line in one line: whole, or cut if it is too long to be trusted.
pub(crate) fn line(runs: &str) -> String {
    if runs.len() > Entry::MAX_LINE { escape(runs, Entry::MAX_LINE) } else { whole(runs) }
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

/// The meaning of an HTTP service for its user.
const SENDS: &str = "  sends its events there, with all that they contain";

/// Shows a hook on standard error.
pub(crate) fn show(hook: &Entry, digest: &Digest, asked: &[Capability], grants: &[Capability]) {
    say(format_args!("{} ({}, {})", escape(&hook.name, 200), hook.kind.as_str(), hook.tier.as_str()));
    if let Some(path) = &hook.path {
        say(format_args!("  file    {}", shown_path(path)));
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
            if hook.kind == Kind::Http {
                say(SENDS);
            } else {
                say("  runs with all your rights, with every file in its directory");
            }
            for path in hook.names() {
                say(format_args!("  with    {}", shown_path(&path)));
            }
            if !matches!(hook.kind, Kind::Native | Kind::Http) {
                say(
                    "  not all files that it uses can be known: trust does not end when another file changes",
                );
            }
        }
        None if hook.kind == Kind::Http => say(SENDS),
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
        let shown = format!("{} ({}{blocks})", shown_path(&it.reference), it.tier.as_str());
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
    use super::{is_yes, *};
    use crate::approval::find;
    use crate::approval::find::tests::found;

    #[test]
    fn an_empty_line_is_the_default_and_anything_unclear_a_no() {
        for (answer, with_no, with_yes) in [
            ("\n", false, true),
            ("Y\n", true, true),
            (" yes \n", true, true),
            ("n\n", false, false),
            ("x", false, false),
        ] {
            assert_eq!((is_yes(answer, false), is_yes(answer, true)), (with_no, with_yes), "{answer}");
        }
    }

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
