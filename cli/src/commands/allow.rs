//! `hookbox allow`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use hookbox::escape;
use hookbox::trust::{AllowError, Allowance, AllowanceFile, BlockedCall, Code, Pending, Term, now_ms};
use serde_json::{Value, json};

use crate::error::{InputError, hint, say};
use crate::{approval, human, options, output};

/// Let a tool call through that a guard blocked.
///
/// Shows the call, and asks on the terminal. The call has to come again: with the same tool, input, directory and session. Without a code, lists the blocked calls of the last 10 minutes.
#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "options of a command line")]
pub(crate) struct Allow {
    /// The code of the blocked call.
    #[arg(conflicts_with_all = ["list", "all"])]
    code: Option<String>,
    /// Let it through once [default].
    #[arg(long, group = "term", requires = "code")]
    once: bool,
    /// Let it through for this time, such as 10m or 1h.
    #[arg(long = "for", value_name = "D", value_parser = options::long_duration, group = "term", requires = "code")]
    time: Option<Duration>,
    /// Let it through from now on, in any session and directory.
    #[arg(long, group = "term", requires = "code")]
    always: bool,
    /// With --always: only in this directory of the agent.
    #[arg(long, requires = "always")]
    here: bool,
    /// List what is allowed.
    #[arg(long, conflicts_with = "term")]
    list: bool,
    /// Take back what is allowed: give the code, or --all.
    #[arg(long, conflicts_with_all = ["term", "list"])]
    remove: bool,
    /// With --remove: everything.
    #[arg(long, requires = "remove")]
    all: bool,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

impl Allow {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        self.locate.enter()?;
        // A list is for the user's eyes as well. It and the question that follows need no question before.
        human::required(&self.locate, &[], !self.yes && !self.remove)?;
        if !self.list && !self.remove {
            human::needs_a_terminal(&self.locate)?;
        }
        let file = AllowanceFile::new(self.locate.data()?);
        match &self.code {
            _ if self.list => self.show_allowed(&file),
            Some(code) if self.remove => self.remove(&file, Some(&read(code)?)),
            None if self.remove && self.all => self.remove(&file, None),
            None if self.remove => {
                Err(InputError::new("expected a code or --all after --remove", "see `hookbox allow --list`")
                    .into())
            }
            Some(code) => self.allow(&file, &read(code)?),
            None => self.show_blocked(&file),
        }
    }

    fn term(&self) -> Term {
        match self.time {
            Some(time) => Term::For(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            None if self.always && self.here => Term::AlwaysHere,
            None if self.always => Term::Always,
            None => Term::Once,
        }
    }

    fn allow(&self, file: &AllowanceFile, code: &Code) -> anyhow::Result<ExitCode> {
        let term = self.term();
        let held = approval::read(file)?;
        let pending = held.allowable(code, term, now_ms()).map_err(|error| refused(error, code))?;
        // The agent may work elsewhere than here.
        human::required_in(&self.locate, Path::new(&pending.call.directory), &[], !self.yes)?;
        show(pending);
        approval::confirm(&format!("Let this through {}?", words(term)), self.yes)?;
        let granted = approval::update(file, |all| all.grant(code, term, now_ms()))?;
        let granted = granted.map_err(|error| refused(error, code))?;
        if self.json {
            return output::json(&as_json(&granted));
        }
        output::text(&format!("allowed {}: {}", words(term), escape(&granted.call.tool, 200)))
    }

    fn remove(&self, file: &AllowanceFile, code: Option<&Code>) -> anyhow::Result<ExitCode> {
        let removed: Vec<Allowance> = match code {
            Some(code) => {
                let removed = approval::update(file, |all| all.remove(code))?;
                let unknown =
                    || InputError::new(format!("{code}: allows nothing"), "see `hookbox allow --list`");
                vec![removed.ok_or_else(unknown)?]
            }
            None => approval::update(file, |all| std::mem::take(&mut all.granted))?,
        };
        let text = |it: &Allowance| format!("revoked {}: {}", it.code, escape(&it.call.tool, 200));
        output::rows(self.json, &removed, as_json, text)
    }

    fn show_blocked(&self, file: &AllowanceFile) -> anyhow::Result<ExitCode> {
        let mut held = approval::read(file)?;
        held.prune(now_ms());
        held.pending.reverse();
        if held.pending.is_empty() && !self.json {
            hint("no call was blocked in the last 10 minutes that you could allow");
            return Ok(ExitCode::SUCCESS);
        }
        let row = |it: &Pending| row(&it.code, &it.call, &it.shown, it.when());
        self.table("BLOCKED", &held.pending, pending_json, row)
    }

    fn show_allowed(&self, file: &AllowanceFile) -> anyhow::Result<ExitCode> {
        let mut held = approval::read(file)?;
        held.prune(now_ms());
        if held.granted.is_empty() && !self.json {
            hint("nothing is allowed; see `hookbox allow --help`");
            return Ok(ExitCode::SUCCESS);
        }
        let row = |it: &Allowance| row(&it.code, &it.call, &it.shown, until(it));
        self.table("ALLOWED", &held.granted, as_json, row)
    }

    /// Prints a table of calls. A narrow terminal leaves the directory out.
    fn table<T>(
        &self,
        when: &str,
        calls: &[T],
        json: fn(&T) -> Value,
        row: impl Fn(&T) -> Vec<String>,
    ) -> anyhow::Result<ExitCode> {
        if self.json {
            return output::json(&calls.iter().map(json).collect::<Vec<_>>());
        }
        let header = ["CODE", "TOOL", "INPUT", "GUARD", "DIRECTORY", when];
        output::line(&output::fitting(&header, &["DIRECTORY"], calls.iter().map(row)))
    }
}

/// Reads a code.
fn read(text: &str) -> Result<Code, InputError> {
    text.parse().map_err(|error| {
        InputError::new(
            format!("{}: {error}", escape(text, 80)),
            "see the codes of blocked calls: hookbox allow",
        )
    })
}

/// Describes a call that cannot be allowed.
fn refused(error: AllowError, code: &Code) -> InputError {
    let hint = match error {
        AllowError::FailedGuard => format!("repair the guard, or: hookbox allow {code}"),
        AllowError::Managed => format!("hookbox allow {code}"),
        AllowError::Time => "give a time such as 10m or 1h, or --always".to_owned(),
        AllowError::Full => "take some back: hookbox allow --list, hookbox allow --remove CODE".to_owned(),
        _ => "see the codes of blocked calls: hookbox allow".to_owned(),
    };
    InputError::new(format!("{code}: {error}"), hint)
}

/// Shows what would run, whole, on standard error.
fn show(pending: &Pending) {
    let BlockedCall { tool, directory, session, guard, digest, cause, .. } = &pending.call;
    let field = |name: &str, value: &str| say(format_args!("  {name:<10} {value}"));
    say(format_args!("{} {}", escape(tool, 1024), approval::whole(&pending.shown)));
    let digest = digest.as_ref().map_or_else(|| "no digest".to_owned(), ToString::to_string);
    let failed = cause.map(|cause| format!(", which failed: {cause}")).unwrap_or_default();
    field("blocked by", &format!("{} ({digest}){failed}", escape(guard, 200)));
    field("because", &escape(&pending.reason, 4096));
    field("directory", &escape(directory, 4096));
    field("session", &session.as_ref().map_or_else(|| "none".to_owned(), |it| escape(it, 200)));
    field("when", &pending.when());
}

/// Returns the term in words, to be read after "let this through".
fn words(term: Term) -> String {
    match term {
        Term::Once => "once".to_owned(),
        Term::For(time) => match (time / 3_600_000, time / 60_000) {
            (hours @ 1.., _) if time % 3_600_000 == 0 => format!("for {hours}h"),
            (_, minutes @ 1..) if time % 60_000 == 0 => format!("for {minutes}m"),
            _ => format!("for {}", hookbox_system::units::show_duration(Duration::from_millis(time))),
        },
        Term::AlwaysHere => "always, in this directory".to_owned(),
        Term::Always => "always, in any directory".to_owned(),
    }
}

/// Returns the time that is left of an allowance, in words.
fn until(allowance: &Allowance) -> String {
    let once = if allowance.term == Term::Once { "once, " } else { "" };
    match allowance.until() {
        Some(until) => format!("{once}until {until}"),
        None => words(allowance.term),
    }
}

fn row(code: &Code, call: &BlockedCall, shown: &str, when: String) -> Vec<String> {
    let texts = [(&call.tool[..], 40), (shown, 60), (&call.guard, 200), (&call.directory, 200)];
    let texts = texts.into_iter().map(|(text, most)| escape(text, most));
    std::iter::once(code.to_string()).chain(texts).chain([when]).collect()
}

/// Returns a call in a documented form.
fn call_json(code: &Code, call: &BlockedCall, shown: &str) -> Value {
    let input = serde_json::from_str(shown).unwrap_or_else(|_| Value::from(shown));
    json!({
        "code": code, "tool": call.tool, "input": input, "directory": call.directory, "session": call.session,
        "guard": call.guard, "digest": call.digest, "cause": call.cause,
    })
}

fn pending_json(it: &Pending) -> Value {
    let more = json!({ "reason": it.reason, "when": it.when() });
    output::joined(call_json(&it.code, &it.call, &it.shown), more)
}

fn as_json(it: &Allowance) -> Value {
    let (term, here) = match it.term {
        Term::Once => ("once", true),
        Term::For(_) => ("for", true),
        Term::AlwaysHere => ("always", true),
        Term::Always => ("always", false),
    };
    let more = json!({ "term": term, "here": here, "when": it.when(), "until": it.until() });
    output::joined(call_json(&it.code, &it.call, &it.shown), more)
}
