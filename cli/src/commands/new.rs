//! `hookbox new`.

use std::fmt::Display;
use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use clap::Args;
use hookbox::internal::text;
use hookbox::{EventName, escape};
use hookbox_authoring::project::{self, CreateError, Language, Name};

use crate::error::{InputError, hint};
use crate::named::{self, Named};
use crate::{approval, output};

/// Start a hook: a project that builds, with tests.
///
/// It makes the directory NAME, with the sources of the SDK. At a terminal it asks for what is not given. For
/// before_tool_call the hook is a guard that blocks a forced push; for another event it logs the event.
#[derive(Args, Debug)]
pub(crate) struct New {
    /// The name: lower-case letters, digits and hyphens.
    name: Option<String>,
    /// The language: rust, python, typescript or script.
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
            let usage = "hookbox new NAME --lang rust|python|typescript|script";
            return Err(InputError::new(format!("expected {missing}, found none"), usage).into());
        }
        let name = match self.name {
            Some(text) => name(&text)?,
            None => ask("Name of the hook", name)?,
        };
        let language = match self.lang {
            Some(language) => language,
            None => ask(&format!("Language ({})", Language::ALL.map(Language::as_str).join(", ")), |text| {
                text.parse::<Language>().map_err(|error| InputError::new(error.to_string(), ""))
            })?,
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
        Language::Rust | Language::Script => "",
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
        let names = EventName::ALL.iter().map(EventName::as_str);
        let nearest = text::nearest(name, names).unwrap_or_default();
        InputError::new(what, format!("did you mean `{nearest}`?"))
    })
}

/// Asks on the terminal until there is an answer that can be read.
fn ask<T, E: Display>(question: &str, read: impl Fn(&str) -> Result<T, E>) -> Result<T, InputError> {
    loop {
        // If the question cannot be written, the user cannot answer, and ends the program.
        let _ = write!(anstream::stderr(), "{question}: ");
        let mut answer = String::new();
        if !std::io::stdin().lock().read_line(&mut answer).is_ok_and(|read| read > 0) {
            return Err(InputError::declined());
        }
        match read(answer.trim()) {
            Ok(value) => return Ok(value),
            Err(error) => crate::error::say(error),
        }
    }
}
