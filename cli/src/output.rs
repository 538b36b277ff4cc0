//! Writing data: JSON and tables on standard output, and files that the user named.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use comfy_table::{Cell, Color, ColumnConstraint, ContentArrangement, Table};
use hookbox::shown_path;
use hookbox_system::files::NewFile;
use serde::Serialize;
use serde_json::Value;

use crate::error::{InputError, is_coloured};
use crate::screen;

/// Writes one line to standard output. A reader that has ended (`| head`) is not an error.
pub(crate) fn line(text: &str) -> anyhow::Result<ExitCode> {
    next_line(text).map(|_| ExitCode::SUCCESS)
}

/// Writes one of many lines to standard output. Returns false if its reader has ended.
pub(crate) fn next_line(text: &str) -> anyhow::Result<bool> {
    // Not through `anstream`: it removes control characters, and data must stay unchanged.
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        written => Ok(written.is_ok()),
    }
}

/// Writes a text for a person to standard output, in lines that fit the terminal.
pub(crate) fn text(text: &str) -> anyhow::Result<ExitCode> {
    line(&screen::for_stdout(text))
}

/// True after `--verbose`: long lists are shown whole.
static IS_VERBOSE: AtomicBool = AtomicBool::new(false);

/// Shows long lists whole from now on.
pub(crate) fn be_verbose() {
    IS_VERBOSE.store(true, Ordering::Relaxed);
}

/// Returns true if long lists are shown whole.
pub(crate) fn is_verbose() -> bool {
    IS_VERBOSE.load(Ordering::Relaxed)
}

/// Writes a value as JSON, one line; indented on a terminal. Control characters in strings are escaped, which
/// does not change the value.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<ExitCode> {
    let text = if std::io::stdout().is_terminal() {
        serde_json::to_string_pretty(value)?
    } else {
        serde_json::to_string(value)?
    };
    line(&hookbox_system::text::escape_json(&text))
}

/// Writes rows: as JSON one array, as text a line for each.
pub(crate) fn rows<R>(
    as_json: bool,
    rows: &[R],
    json: impl Fn(&R) -> Value,
    text: impl Fn(&R) -> String,
) -> anyhow::Result<ExitCode> {
    if as_json {
        return self::json(&rows.iter().map(json).collect::<Vec<_>>());
    }
    rows.iter().try_for_each(|row| line(&text(row)).map(drop))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns an object with the keys of another one behind its own.
pub(crate) fn joined(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// Formats a table without borders. It fits the terminal; in a pipe it has any width.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    fitting(header, &[], rows)
}

/// Formats a table that leaves out columns if the terminal is too narrow: the first of `spare` first.
pub(crate) fn fitting(
    header: &[&str],
    spare: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let rows: Vec<_> = rows.into_iter().collect();
    let width = screen::width(&mut Table::new()).and_then(|it| u16::try_from(it).ok());
    fit(header, spare, &rows, width, is_coloured(&std::io::stdout()))
}

/// Formats a table of any width.
pub(crate) fn wide(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<_> = rows.into_iter().collect();
    fit(header, &[], &rows, None, is_coloured(&std::io::stdout()))
}

fn fit(
    header: &[&str],
    spare: &[&str],
    rows: &[Vec<String>],
    width: Option<u16>,
    is_coloured: bool,
) -> String {
    let left_out = (0..=spare.len()).map(|number| spare.get(..number).unwrap_or_default());
    let tables = left_out.map(|left_out| build(header, left_out, rows, is_coloured));
    let needed = |table: &Table| table.column_max_content_widths().iter().map(|it| it + GAP).sum::<u16>();
    let mut narrowest = Table::new();
    for mut table in tables {
        if width.is_none_or(|width| needed(&table) <= width + GAP) {
            narrowest = table;
            break;
        }
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(width.unwrap_or(u16::MAX));
        // A name in pieces cannot be copied.
        if let Some(name) = table.column_mut(0) {
            name.set_constraint(ColumnConstraint::ContentWidth);
        }
        narrowest = table;
    }
    narrowest.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// The columns between two cells.
const GAP: u16 = 2;

fn build(header: &[&str], left_out: &[&str], rows: &[Vec<String>], is_coloured: bool) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    if is_coloured {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let is_kept = |title: &&&str| !left_out.contains(*title);
    table.set_header(header.iter().filter(is_kept).copied());
    for row in rows {
        let cells = header.iter().zip(row).filter(|(title, _)| is_kept(title));
        table.add_row(cells.map(|(title, text)| {
            let colour = (*title == "STATUS").then(|| colour(text)).flatten().filter(|_| is_coloured);
            colour.map_or_else(|| Cell::new(text), |colour| Cell::new(text).fg(colour))
        }));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    table
}

/// Returns the color of a status.
fn colour(status: &str) -> Option<Color> {
    match status {
        "active" | "current" | "passed" => Some(Color::Green),
        "invalid" | "changed" | "missing" | "failed" => Some(Color::Red),
        "untrusted" | "lacks grants" | "updated" => Some(Color::Yellow),
        _ => None,
    }
}

/// Writes a file that the user named. Until it is whole, an older file of this name stays.
///
/// # Errors
///
/// If the path is one of a directory, a device or a link, or cannot be written; and those of `fill`.
pub(crate) fn file<T>(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&File) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let path = std::path::absolute(path)?;
    let shown = || shown_path(&path);
    let (parent, name) = path.parent().zip(path.file_name()).filter(|_| !path.is_dir()).ok_or_else(|| {
        InputError::new(format!("{}: expected a file, found a directory", shown()), "name a file")
    })?;
    if std::fs::symlink_metadata(&path).is_ok_and(|about| !about.is_file()) {
        let what = format!("{}: expected a regular file, found something else", shown());
        return Err(InputError::new(what, "name a new file").into());
    }
    let dir = Dir::open_ambient_dir(parent, ambient_authority()).map_err(|error| {
        InputError::new(format!("{}: cannot be written: {error}", shown()), "give a directory that exists")
    })?;
    NewFile::sweep(&dir, Path::new(name));
    let cannot = || format!("{}: cannot be written", shown());
    let new = NewFile::create(&dir, Path::new(name), mode).with_context(cannot)?;
    let filled = fill(new.file())?;
    new.replace().with_context(cannot)?;
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_table_leaves_out_the_spare_columns_and_breaks_no_name() {
        let header = ["NAME", "KIND", "STATUS", "EVENTS"];
        let row =
            |name: &str| [name, "component", "active", "before_tool_call +6"].map(str::to_owned).to_vec();
        let rows = [row("budget-rotate.wasm"), row("builtin:self-protection")];
        let table = |width| fit(&header, &["KIND", "EVENTS"], &rows, width, false);
        let titles = |text: &str| text.lines().next().unwrap().split_whitespace().count();
        for (width, columns) in
            [(None, 4), (Some(100), 4), (Some(63), 4), (Some(62), 3), (Some(40), 2), (Some(20), 2)]
        {
            let text = table(width);
            assert_eq!(titles(&text), columns, "{width:?}\n{text}");
            assert!(text.contains("builtin:self-protection"), "{width:?}\n{text}");
            let is_wide = |line: &str| width.is_some_and(|width| line.len() > usize::from(width));
            assert!(columns == 2 || !text.lines().any(is_wide), "{width:?}\n{text}");
        }
        assert_eq!(table(Some(62)).lines().count(), 3);
        assert!(fit(&header, &[], &rows, None, true).contains("\u{1b}["));
    }
}
