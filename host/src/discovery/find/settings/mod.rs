//! `hookbox.toml`: the settings of the hooks of one root, and of all hooks together.
//!
//! Each key is read on its own: one wrong value is one problem, and the rest of the table counts. A guard must
//! not lose its `on_failure = "block"` to a typing error two lines below.

mod hook_table;
mod reader;
mod top;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use toml::de::{DeTable, DeValue};

pub(crate) use self::hook_table::Table;
use self::reader::{Fault, Reader};
pub(crate) use self::top::Top;
use crate::discovery::problem::Problem;
use hookbox_system::files::{self, FileAccess};
use hookbox_system::text;

/// The name of the file in a root.
pub(crate) const FILE: &str = "hookbox.toml";

/// A settings file beyond this size is not read.
const MAX_FILE: u64 = 1 << 20;

/// The number of tables of a file that are used: as many as a repository may have hooks.
const MAX_TABLES: usize = super::limits::MAX_OF_REPOSITORY;

/// The tables of one file, by hook name.
pub(crate) type Tables = BTreeMap<String, Table>;

/// The contents of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct File {
    /// The keys beside the tables of hooks.
    pub(crate) top: Top,
    pub(crate) tables: Tables,
}

/// A settings file that cannot be read as a whole.
pub(crate) struct Broken {
    pub(crate) why: String,
    /// The part that could be read.
    pub(crate) rest: Box<File>,
}

/// Reads the settings file of a root. A root without a file has no settings. A broken file is a problem,
/// and the settings of `since` stay in force, if there are any.
pub(crate) fn read(
    access: &FileAccess,
    path: &Path,
    since: Option<&str>,
    problems: &mut Vec<Problem>,
) -> Result<File, Broken> {
    let follows = since.map_or_else(
        || "no settings apply here".to_owned(),
        |since| format!("the settings of {since} stay in force"),
    );
    let mut broken = |why: String| {
        let problem = Problem::new(path, format!("{why}: {follows}"));
        problems.push(if since.is_none() { problem.hiding(access) } else { problem });
        Err(Broken { why, rest: Box::default() })
    };
    let bytes = match access.read_if_exists(path, MAX_FILE) {
        None => return Ok(File::default()),
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => return broken(files::explain(&error)),
    };
    let Ok(text) = str::from_utf8(&bytes) else {
        return broken("is not UTF-8 text".to_owned());
    };
    let Parsed { mut file, faults, broken: why } = parse(text);
    file.tables.values_mut().for_each(|table| path.clone_into(&mut table.file));
    if let (Some(why), Some(_)) = (&why, since) {
        return broken(why.clone());
    }
    problems.extend(faults.into_iter().map(|fault| {
        let problem = Problem::new(path, format!("line {}: {}", fault.line, fault.message));
        let problem = if why.is_some() { problem.hiding(access) } else { problem };
        Problem { hook: fault.hook, ..problem }
    }));
    match why {
        None => Ok(file),
        Some(why) => Err(Broken { why, rest: Box::new(file) }),
    }
}

/// The result of parsing a settings file.
struct Parsed {
    file: File,
    faults: Vec<Fault>,
    /// The reason why tables are missing: the file as a whole is broken.
    broken: Option<String>,
}

fn parse(text: &str) -> Parsed {
    let mut reader = Reader::new(text);
    let mut file = File::default();
    match DeTable::parse(text) {
        Err(error) => {
            let at = error.span().unwrap_or_default();
            reader.breaks(&at, format!("is not TOML: {}", text::escape(error.message(), 200)));
            reader.fault(at, format!("is not TOML: {}: no settings of this file apply", error.message()));
        }
        Ok(document) => {
            for (key, value) in document.get_ref() {
                match (key.get_ref().as_ref(), value.get_ref()) {
                    ("hooks", DeValue::Table(hooks)) => {
                        if hooks.len() > MAX_TABLES {
                            let more = hooks.len() - MAX_TABLES;
                            let message = format!(
                                "has more than {MAX_TABLES} tables of hooks: only the first {MAX_TABLES} by name \
                                 are used, and {more} are left out"
                            );
                            reader
                                .breaks(&value.span(), format!("has more than {MAX_TABLES} tables of hooks"));
                            reader.fault(value.span(), message);
                        }
                        for (name, table) in hooks.iter().take(MAX_TABLES) {
                            let name = name.get_ref().as_ref();
                            if let Some(table) = reader.table(name, table) {
                                file.tables.insert(name.to_owned(), table);
                            }
                        }
                    }
                    ("hooks", _) => {
                        reader.breaks(&value.span(), "hooks is not a table".to_owned());
                        reader.wrong_type("hooks", "a table for each hook", value);
                    }
                    (other, _) => {
                        let line = reader.line(&key.span());
                        if !reader.top(&mut file.top, other, line, value) {
                            reader.unknown(key.span(), other, Top::KEYS);
                        }
                    }
                }
            }
        }
    }
    let broken = reader.broken.take();
    Parsed { file, faults: reader.finish(), broken }
}
