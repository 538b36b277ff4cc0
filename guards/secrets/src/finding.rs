//! A use of a secret, and its sentences.

use hookbox_judge::Step;

/// The use that a line makes of secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Risk {
    /// It sends or writes a secret, or puts it into a commit.
    Sends,
    /// It shows a secret to the model.
    Shows,
    /// It uses a file with secrets in another way.
    Touches,
}

/// A use of a secret.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) risk: Risk,
    /// The use, as a sentence without its full stop.
    pub(crate) what: String,
    /// The command of the next step; empty if there is none.
    pub(crate) safer: String,
    /// The next step.
    pub(crate) step: Step,
}

/// The finding for a file whose contents are shown.
pub(crate) fn shows_file(path: &str) -> Finding {
    let safe =
        !path.is_empty() && path.bytes().all(|it| it.is_ascii_alphanumeric() || b"/._-~".contains(&it));
    // Other characters would need quotes, and might be a trap for who copies the command.
    let safer = if safe { format!("ls -l {path}") } else { "ls -la".to_owned() };
    let what = "This shows the contents of a file with secrets".to_owned();
    Finding { risk: Risk::Shows, what, safer, step: Step::Look }
}

/// The finding for a token that would be written.
pub(crate) fn writes_token() -> Finding {
    sends("This has a token or a private key in its text")
}

pub(crate) fn sends(what: &str) -> Finding {
    Finding { risk: Risk::Sends, what: what.to_owned(), safer: String::new(), step: Step::Look }
}

pub(crate) fn shows(what: &str, safer: impl Into<String>) -> Finding {
    Finding { risk: Risk::Shows, what: what.to_owned(), safer: safer.into(), step: Step::Replace }
}

pub(crate) fn shows_variable(name: &str) -> Finding {
    shows("This shows a variable with a secret", format!("test -n \"${{{name}:+set}}\" && echo set"))
}
