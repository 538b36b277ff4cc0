//! Trust and grants, as the commands share them: finding a hook, showing it, asking.

mod find;
mod show;

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use hookbox::Digest;
use hookbox::capability::Capability;
use hookbox::escape;
use hookbox::hook::{Kind, Origin};
use hookbox::manager::Entry;
use hookbox::manager::Manager;
use hookbox::trust::{Contents, PrivateFile, PrivateFileError, PrivateFileErrorKind, TrustFile};

pub(crate) use self::find::{find, find_plugin, find_record, records_of_plugin};
pub(crate) use self::show::{answers, line, list, means, show, show_namesakes, showable, whole};

use crate::error::InputError;

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
        let problem = problems.iter().find(|it| it.message.contains("nothing is trusted"));
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
    let (right, path) = (escape(&right.to_string(), 1024), escape(&path.to_string_lossy(), 1024));
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

#[cfg(test)]
mod tests {
    use super::is_yes;

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
}
