//! Variables that a configuration sets for its hooks.

use super::File;
use crate::agent::Level;
use crate::text;
use hookbox::discovery::document::{Form, Member, at, wrong};
use hookbox_shell::is_in;

/// The largest size of the variables of one file, names and values together, in bytes.
const MAX_ENVIRONMENT: usize = 64 * 1024;

/// Names that only hookbox sets.
const OWN: &str = "HOOKBOX_";

/// Variables by which programs find or load code or configuration, which the user did not trust.
const LEADING: &str = "BASHOPTS BASH_ENV CDPATH CLASSPATH ENV GCONV_PATH GLIBC_TUNABLES HOME IFS \
    JAVA_TOOL_OPTIONS NODE_OPTIONS NODE_PATH PATH PERL5DB PERL5LIB PERL5OPT PERLLIB PS4 PYTHONHOME \
    PYTHONPATH PYTHONSTARTUP RUBYLIB RUBYOPT SHELL SHELLOPTS ZDOTDIR";

/// Prefixes of such variables: the loader's, and the functions that bash imports.
const LEADING_FAMILIES: [&str; 3] = ["LD_", "DYLD_", "BASH_FUNC_"];

impl File<'_> {
    /// Returns the variables of one entry.
    pub(super) fn entry_env(&mut self, member: &Member<'_>) -> Result<Vec<(String, String)>, String> {
        let fault = || wrong("env", "an object with a text for each name", member.value);
        let Some(members) = self.members("env", "an object", member.value, |_| false) else {
            return Err(fault());
        };
        let pair = |it: &Member<'_>| match it.value.form() {
            Form::Text(value) if is_variable(&it.name) && !value.contains('\0') => {
                Some((it.name.clone(), value))
            }
            _ => None,
        };
        let all = members.iter().map(pair).collect::<Option<Vec<_>>>().ok_or_else(fault)?;
        Ok(members.iter().zip(all).filter(|(it, _)| self.may_set(it)).map(|(_, pair)| pair).collect())
    }

    /// Returns the variables that a file sets for all of its agent's hooks. Claude Code takes a number and a
    /// boolean as text.
    pub(super) fn settings_env(&mut self, member: &Member<'_>) -> Vec<(String, String)> {
        let Some(members) =
            self.members("env", "an object with a text for each name", member.value, |_| false)
        else {
            return Vec::new();
        };
        let (mut all, mut size) = (Vec::new(), 0);
        for it in &members {
            let value = match it.value.form() {
                Form::Text(value) => Some(value),
                Form::Number(_) | Form::Boolean(_) => Some(it.value.raw().to_owned()),
                _ => None,
            };
            let value = value.filter(|value| is_variable(&it.name) && !value.contains('\0'));
            let Some(value) = value else {
                let name = text::escape(&it.name, 80);
                let what = wrong(&format!("env.{name}"), "a text for the name of a variable", it.value);
                self.reader.fault(|| format!("{what}; it is left out"));
                continue;
            };
            if !self.may_set(it) {
                continue;
            }
            size += it.name.len() + value.len();
            if size > MAX_ENVIRONMENT {
                let what = format!("env: has more than {MAX_ENVIRONMENT} bytes: the rest is left out");
                self.reader.fault(|| at(it.at, &what));
                break;
            }
            all.push((it.name.clone(), value));
        }
        all
    }

    /// Returns true if this file may set a variable; otherwise adds a fault.
    fn may_set(&mut self, member: &Member<'_>) -> bool {
        let name = member.name.as_str();
        let is_leading = is_in(LEADING, name) || LEADING_FAMILIES.iter().any(|it| name.starts_with(it));
        let why = if name.starts_with(OWN) {
            "is set by hookbox alone"
        } else if is_leading && self.outside.level != Level::User {
            "leads programs to code that you did not trust, so a project cannot set it"
        } else {
            return true;
        };
        let what = format!("env: {} {why}; it is left out", text::escape(name, 80));
        self.reader.fault(|| at(member.at, &what));
        false
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}
