//! `hookbox new`.

use std::fmt::Display;
use std::io::{BufRead, Write};
use std::process::ExitCode;

use clap::Args;
use hookbox::{EventName, escape};
use hookbox_authoring::project::{self, CreateError, Language, Name};
use hookbox_system::text;

use crate::error::{InputError, hint};
use crate::named::{self, Named};
use crate::{approval, given, output};

/// Start a hook: a project that builds, with tests.
///
/// It makes the directory NAME, with the sources of the SDK. At a terminal it asks for what is not given. For
/// before_tool_call the hook is a guard that blocks a forced push; for another event it logs the event, and
/// rules warn.
#[derive(Args, Debug)]
pub(crate) struct New {
    /// The name: lower-case letters, digits and hyphens.
    name: Option<String>,
    /// The language: rust (rs), python (py), typescript (ts, js), rules or script.
    #[arg(short, long, value_name = "LANGUAGE", value_parser = language(), hide_possible_values = true)]
    lang: Option<Language>,
    /// The event, such as after_turn.
    #[arg(
        short, long, value_name = "EVENT", value_parser = named::event(), hide_possible_values = true,
        default_value = "before_tool_call"
    )]
    event: String,
}

impl New {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let event = event(&self.event)?;
        if (self.name.is_none() || self.lang.is_none()) && !approval::has_terminal() {
            let missing = if self.name.is_none() { "a name" } else { "a language" };
            let usage = "hookbox new NAME --lang rust|python|typescript|rules|script";
            return Err(InputError::new(format!("expected {missing}, found none"), usage).into());
        }
        let name = match self.name {
            Some(text) => name(&text)?,
            None => ask_terminal("Name of the hook", name)?,
        };
        let language = match self.lang {
            Some(language) => language,
            None => {
                let question = format!("Language ({})", Language::ALL.map(Language::as_str).join(", "));
                ask_terminal(&question, str::parse::<Language>)?
            }
        };
        let parent = std::env::current_dir()?;
        match project::create(&parent, &name, language, &event) {
            Ok(_) => {}
            Err(error @ CreateError::Exists { .. }) => {
                return Err(InputError::new(error.to_string(), "choose another name").into());
            }
            Err(error) => return Err(error.into()),
        }
        output::line(&format!("created {name}/"))?;
        hint(format_args!("cd {name} && {}hookbox build", install(language)));
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the command that installs the tools of a new project, before `hookbox build`.
fn install(language: Language) -> &'static str {
    match language {
        Language::Python => "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt && ",
        Language::TypeScript => "npm install && ",
        Language::Rust | Language::Rules | Language::Script => "",
    }
}

/// Parses a language.
fn language() -> Named<Language> {
    Named::new(
        |text| text.parse().map_err(|unknown: project::UnknownLanguage| unknown.to_string()),
        || Language::ALL.map(|it| it.as_str().to_owned()).to_vec(),
    )
}

/// Reads a name.
fn name(text: &str) -> Result<Name, InputError> {
    text.parse()
        .map_err(|error| InputError::new(format!("{}: {error}", escape(text, 80)), "choose another name"))
}

/// Reads the name of an event that all SDKs know.
fn event(name: &str) -> Result<EventName, InputError> {
    let known = name.parse().ok().filter(|it| EventName::ALL.contains(it));
    known.ok_or_else(|| {
        let what = format!("{}: expected the name of an event", escape(name, 80));
        let nearest = text::nearest(name, EventName::ALL.iter().map(EventName::as_str));
        InputError::new(what, given::meant_event(nearest))
    })
}

/// Asks on the terminal.
fn ask_terminal<T, E: Display>(question: &str, read: impl Fn(&str) -> Result<T, E>) -> Result<T, InputError> {
    ask(question, read, &mut std::io::stdin().lock(), &mut anstream::stderr())
}

/// Asks until there is an answer that can be read. Its end means no.
fn ask<T, E: Display>(
    question: &str,
    read: impl Fn(&str) -> Result<T, E>,
    from: &mut impl BufRead,
    to: &mut impl Write,
) -> Result<T, InputError> {
    loop {
        // If the question cannot be written, the user cannot answer, and ends the program.
        let _ = write!(to, "{question}: ").and_then(|()| to.flush());
        let mut answer = String::new();
        if !from.read_line(&mut answer).is_ok_and(|read| read > 0) {
            return Err(InputError::declined());
        }
        match read(answer.trim()) {
            Ok(value) => return Ok(value),
            Err(error) => {
                let _ = writeln!(to, "{error}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for a name and a language, and returns them with what was written.
    fn dialog(typed: &str) -> (Result<(Name, Language), String>, String) {
        let (mut from, mut to) = (typed.as_bytes(), Vec::new());
        let mut answers = || {
            let name = ask("Name", name, &mut from, &mut to)?;
            Ok::<_, InputError>((name, ask("Language", str::parse::<Language>, &mut from, &mut to)?))
        };
        let answered = answers().map_err(|error| error.to_string());
        (answered, String::from_utf8(to).unwrap())
    }

    #[test]
    fn a_question_is_asked_until_its_answer_can_be_read() {
        let (answered, written) = dialog("My Guard\n  my-guard \nperl\nrules\n");
        assert_eq!(answered, Ok(("my-guard".parse().unwrap(), Language::Rules)));
        assert!(written.starts_with("Name: My Guard: expected lower-case letters"), "{written}");
        assert!(written.contains("Language: expected a language: rust, python"), "{written}");
        assert_eq!(written.matches("Name: ").count(), 2, "{written}");
    }

    #[test]
    fn the_end_of_the_answers_changes_nothing() {
        for typed in ["", "my-guard\n", "my-guard\nperl"] {
            assert_eq!(dialog(typed).0, Err("nothing was changed".to_owned()), "{typed:?}");
        }
    }
}
