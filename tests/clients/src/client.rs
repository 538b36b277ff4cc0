//! A client: hookbox is installed for it, and it runs in a place of its own.

mod list;

use std::process::Command;
use std::{env, fs, io};

use serde_json::{Value, json};

pub(crate) use self::list::{ALL, node_package};
use crate::api::{self, Wish};
use crate::mock::Mock;
use crate::place::Place;

/// An agent that people use.
pub(crate) struct Client {
    /// Its name, as `hookbox bridge` takes it.
    pub(crate) name: &'static str,
    /// Its package on npm, or behind `pypi:` on PyPI.
    pub(crate) package: &'static str,
    pub(crate) version: &'static str,
    /// Its configuration besides hooks: the address of the model, no questions, no telemetry.
    configure: fn(&Place, Trust) -> io::Result<()>,
    command: fn(&Place, Trust) -> Command,
    /// The arguments with which it asks its user about no tool, if a hook can spare that question.
    pub(crate) frees: &'static [&'static str],
    /// A file of a repository, and the text in it that switches the user's hooks off.
    pub(crate) switch: Option<(&'static str, &'static str)>,
    /// True if it runs a tool although the program of its hook command is missing.
    pub(crate) runs_unguarded: bool,
    /// Records the trust that its user gives to the hooks, if the client asks for it.
    pub(crate) trust: Option<fn(&Place) -> io::Result<()>>,
    /// The directory of its session files in the home, if its model's answers come from a file, and not from the mock model.
    pub(crate) scripted: Option<&'static str>,
    /// The version of node that it needs, if it does not run with older ones.
    pub(crate) node: Option<&'static str>,
    /// True if a hook may change the input of a tool; otherwise a change is a block.
    pub(crate) changes_input: bool,
    /// True if it waits for the hooks after a tool call.
    pub(crate) waits_for_output: bool,
    /// True if a hook may give the model text at the start of a session.
    pub(crate) injects_at_start: bool,
    /// Whether it shows the user a hook's warning when it runs without a terminal. For one that does not, the warnings are
    /// kept in a file.
    pub(crate) shows_warnings: bool,
}

/// The user's trust in the hooks and the folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The client is told not to ask for it.
    Bypassed,
    /// The user has given it.
    Given,
    /// The user has not given it.
    Missing,
}

/// The way in which hookbox is installed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Installation {
    /// In the system's configuration, not the user's.
    pub(crate) is_of_system: bool,
    pub(crate) is_strict: bool,
    /// The program is removed afterwards.
    pub(crate) is_gone: bool,
    /// It is not installed at all.
    pub(crate) is_absent: bool,
}

impl Installation {
    fn level(self) -> &'static str {
        if self.is_of_system { "--system" } else { "--user" }
    }
}

impl Client {
    /// Returns the name and the value of the line in the input of its shell tool.
    pub(crate) fn line(&self, line: &str) -> (&'static str, Value) {
        if self.name == "cline" { ("commands", json!([line])) } else { ("command", json!(line)) }
    }

    /// Returns a field beside the line in the input of its shell tool, with a value. Droid cannot remove a field, and Vibe
    /// and Auggie need their own.
    pub(crate) fn field_beside(&self) -> (&'static str, Value) {
        match self.name {
            "droid" => ("summary", json!("run it")),
            "vibe" => ("timeout_seconds", json!(60)),
            "auggie" => ("max_wait_seconds", json!(60)),
            _ => ("description", json!("run it")),
        }
    }

    /// Returns true if hooks answer the user's message when it runs without a terminal.
    pub(crate) fn shows_messages(&self) -> bool {
        !["droid", "vibe", "auggie", "grok"].contains(&self.name)
    }

    /// Gives it the answers of its model, if they come from a file.
    pub(crate) fn give_script(&self, place: &Place, wish: &Wish) -> io::Result<()> {
        match self.scripted {
            Some(_) => place.home_file("answers.jsonl", &api::gemini::script("Bash", wish)),
            None => Ok(()),
        }
    }

    /// Lets the mock model see the session files of a client whose model's answers come from a file.
    pub(crate) fn show_session(&self, place: &Place, model: &Mock) -> io::Result<()> {
        let mut waiting: Vec<_> =
            self.scripted.iter().map(|directory| place.home().join(directory)).collect();
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                for entry in fs::read_dir(path)? {
                    waiting.push(entry?.path());
                }
                continue;
            }
            for line in fs::read_to_string(&path).unwrap_or_default().lines() {
                model.see(&path.to_string_lossy(), serde_json::from_str(line).unwrap_or_default());
            }
        }
        Ok(())
    }

    /// Returns true if it waits for the hooks after a tool call. Qoder tells of a failed one by another event, whose hooks
    /// cannot change the output.
    pub(crate) fn waits_after(&self, has_failed: bool) -> bool {
        self.waits_for_output && !(has_failed && self.name == "qoder")
    }

    /// Returns true if it has a configuration of the system's, which a repository cannot switch off.
    pub(crate) fn has_system(&self) -> bool {
        !["opencode", "kimi", "cline", "pi", "kilo", "vibe", "openhands", "grok", "qoder"]
            .contains(&self.name)
    }

    /// The client of that name.
    pub(crate) fn named(name: &str) -> Option<&'static Client> {
        ALL.iter().find(|client| client.name == name)
    }

    /// Writes its configuration into the home of a place, the hooks by `hookbox install`.
    pub(crate) fn configure(&self, place: &Place, trust: Trust, installed: Installation) -> io::Result<()> {
        (self.configure)(place, trust)?;
        if installed.is_absent {
            return Ok(());
        }
        let program = place.program(self.shows_warnings && !installed.is_gone)?;
        let mut args = vec!["install", self.name, installed.level()];
        args.extend(installed.is_strict.then_some("--strict"));
        // Each case has guards of its own.
        if installed.level() == "--user" {
            args.extend(["--guards", "none"]);
        }
        self.hookbox(&[&args[..], &["--program", &program.to_string_lossy()]].concat(), place)?;
        if installed.is_gone {
            fs::remove_file(program)?;
        }
        if self.name == "cline" {
            // It compiles the components, as the user was told to do: Cline waits 3 s.
            self.doctor(place, trust)?;
        }
        match self.trust {
            Some(give) if trust == Trust::Given => give(place),
            _ => Ok(()),
        }
    }

    /// Takes back what [`Client::configure`] wrote outside the place.
    pub(crate) fn restore(&self, place: &Place, installed: Installation) -> io::Result<()> {
        if installed.is_of_system {
            self.hookbox(&["uninstall", self.name, installed.level()], place)?;
        }
        Ok(())
    }

    /// Runs hookbox in a place.
    pub(crate) fn hookbox(&self, args: &[&str], place: &Place) -> io::Result<()> {
        let mut command = Command::new(&place.hookbox);
        command.args(args);
        self.surround(&mut command, place, Trust::Bypassed);
        let output = command.output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(format!("hookbox {}: {}", args.join(" "), said.trim())));
        }
        Ok(())
    }

    /// Returns the status and the subject of every finding of `hookbox doctor`.
    pub(crate) fn doctor(&self, place: &Place, trust: Trust) -> io::Result<Vec<(String, String)>> {
        let mut doctor = Command::new(&place.hookbox);
        doctor.args(["doctor", self.name, "--json"]);
        self.surround(&mut doctor, place, trust);
        let found: Value = serde_json::from_slice(&doctor.output()?.stdout)?;
        let findings = found.pointer("/0/findings").and_then(Value::as_array).cloned().unwrap_or_default();
        let text = |it: &Value, key: &str| it.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(findings.iter().map(|it| (text(it, "status"), text(it, "about"))).collect())
    }

    /// The command that makes it work on one message. Its own questions have no answer, because nobody is there.
    pub(crate) fn command(&self, place: &Place, trust: Trust, asks: bool) -> Command {
        let mut command = (self.command)(place, trust);
        command.args(if asks { &[][..] } else { self.frees });
        self.surround(&mut command, place, trust);
        command
    }

    /// Lets a command see the place, and nothing of the user's: no proxy, no key, no configuration.
    fn surround(&self, command: &mut Command, place: &Place, trust: Trust) {
        command.current_dir(place.work()).env_clear();
        let path = env::var_os("PATH").unwrap_or_default();
        command.env("PATH", path).env("HOME", place.home()).env("TMPDIR", place.tmp());
        command.env("TERM", "dumb").env("LANG", "C.UTF-8").env("NO_PROXY", "127.0.0.1").env("CI", "1");
        for (name, value) in list::variables(self.name, place, trust) {
            command.env(name, value);
        }
    }
}
