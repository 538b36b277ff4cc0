//! Writing data: JSON and tables on standard output.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use comfy_table::{ContentArrangement, Table};
use serde::Serialize;

/// Writes one line to standard output. A reader that has ended (`| head`) is not an error.
pub(crate) fn line(text: &str) -> anyhow::Result<ExitCode> {
    // Not through `anstream`: it removes control characters, and data must stay unchanged.
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Writes a value as JSON, one line; indented on a terminal. Control characters in strings are escaped, which
/// does not change the value.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<ExitCode> {
    let text = if std::io::stdout().is_terminal() {
        serde_json::to_string_pretty(value)?
    } else {
        serde_json::to_string(value)?
    };
    line(&hookbox::internal::text::escape_json(&text))
}

/// Formats a table without borders. It fits the terminal; in a pipe it has any width.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    // A terminal with an unknown width reports 0.
    if std::io::stdout().is_terminal() && table.width().is_some_and(|width| width > 0) {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table.set_header(header.to_vec());
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
