//! Counts what the guards do, and writes it as a table.

use std::fmt::Write as _;

use hookbox_sdk::Error;

use crate::corpus::{Label, Line};
use crate::guards::{GUARDS, Guard};

/// The answers to the lines of a category.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The lines, by label: danger, safe.
    pub(crate) lines: [usize; 2],
    /// The lines that each one stopped, by label.
    pub(crate) stopped: Vec<[usize; 2]>,
}

impl Row {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Adds a line, and who stopped it.
    pub(crate) fn add(&mut self, label: Label, acted: &[bool]) {
        let column = usize::from(label == Label::Safe);
        self.stopped.resize(acted.len(), [0; 2]);
        for (pair, by) in self.stopped.iter_mut().chain([&mut self.lines]).zip(acted.iter().chain([&true])) {
            if let Some(count) = pair.get_mut(column) {
                *count += usize::from(*by);
            }
        }
    }

    fn write(&self, out: &mut String) {
        let (name, [danger, safe]) = (&self.name, self.lines);
        let Some(([stopped, wrong], by_guard)) = self.stopped.split_first() else { return };
        let (right, false_alarms) = (rate(*stopped, danger), rate(*wrong, safe));
        let _ =
            write!(out, "| {name} | {danger} | {stopped} | {right} | {safe} | {wrong} | {false_alarms} |");
        for [danger, safe] in by_guard {
            let _ = write!(out, " {danger} + {safe} |");
        }
        out.push('\n');
    }
}

/// Returns the row of a category, which follows those before it.
pub(crate) fn row_of<'r>(rows: &'r mut Vec<Row>, category: &str) -> &'r mut Row {
    match rows.pop_if(|row| row.name == category) {
        Some(row) => rows.push_mut(row),
        None => rows.push_mut(Row::new(category)),
    }
}

/// Returns a share in percent, with one digit that is not rounded up to 100.
pub(crate) fn rate(part: usize, whole: usize) -> String {
    match (part * 1000).checked_div(whole) {
        Some(thousandths) => format!("{}.{} %", thousandths / 10, thousandths % 10),
        None => "–".to_owned(),
    }
}

/// The rates of a corpus.
pub(crate) struct Rates {
    /// The table, in Markdown.
    pub(crate) table: String,
    /// The wrong answers, one a line.
    pub(crate) misses: Vec<String>,
}

/// Asks every guard about every line.
pub(crate) fn measure(lines: &[Line]) -> Result<Rates, Error> {
    let (mut rows, mut total, mut misses) = (Vec::<Row>::new(), Row::new("**all**"), Vec::new());
    for line in lines {
        let ask = |guard: &Guard| guard.acts(line).map_err(|error| error.within(guard.name));
        let acted = GUARDS.iter().map(ask).collect::<Result<Vec<bool>, Error>>()?;
        let all: Vec<bool> = [acted.contains(&true)].into_iter().chain(acted.iter().copied()).collect();
        row_of(&mut rows, &line.category).add(line.label, &all);
        total.add(line.label, &all);
        if acted.contains(&true) != (line.label == Label::Danger) {
            misses.push(miss(line, &acted));
        }
    }
    let names: Vec<&str> = GUARDS.iter().map(|guard| guard.name).collect();
    let mut table = format!(
        "| category | dangerous | stopped | rate | safe | stopped | rate | {} |\n|{}\n",
        names.join(" | "),
        " --- |".repeat(7 + names.len())
    );
    rows.iter().chain([&total]).for_each(|row| row.write(&mut table));
    Ok(Rates { table, misses })
}

/// Returns a wrong answer as text. The line is quoted, because it may have line breaks or characters of control.
fn miss(line: &Line, acted: &[bool]) -> String {
    let by: Vec<&str> = GUARDS.iter().zip(acted).filter(|(_, by)| **by).map(|(it, _)| it.name).collect();
    let what = if by.is_empty() { "missed".to_owned() } else { format!("stopped by {}", by.join(", ")) };
    format!("{}: {what}: {:?}", line.category, line.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_never_rounded_up() {
        for (part, whole, expected) in
            [(1999, 2000, "99.9 %"), (5, 5, "100.0 %"), (0, 3, "0.0 %"), (0, 0, "–"), (1, 3, "33.3 %")]
        {
            assert_eq!(rate(part, whole), expected);
        }
    }

    #[test]
    fn lines_are_counted_by_category_and_label() {
        let line = |category: &str, text: &str, label| Line {
            category: category.to_owned(),
            tool: "bash".to_owned(),
            text: text.to_owned(),
            is_output: false,
            label,
        };
        let lines = [
            line("a", "ls", Label::Safe),
            line("a", "cat .env", Label::Danger),
            line("b", "cat \x1b[1m.env", Label::Danger),
            line("b", "ls -la", Label::Danger),
        ];
        let rates = measure(&lines).unwrap();
        assert!(rates.table.contains("| a | 1 | 1 | 100.0 % | 1 | 0 | 0.0 % |"), "{}", rates.table);
        assert!(rates.table.contains("| **all** | 3 |"), "{}", rates.table);
        assert!(rates.misses.contains(&"b: missed: \"ls -la\"".to_owned()), "{:?}", rates.misses);
        assert!(!rates.misses.iter().any(|it| it.contains('\x1b')));
    }
}
