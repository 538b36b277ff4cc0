//! The matrix of agents and cases in the book: a run of every case writes the rows of its clients.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use hookbox_agents::Agent;

use crate::client::Client;

/// The columns: a heading, and the beginning of the names of its cases. The last one has all others.
const COLUMNS: [(&str, &str); 13] = [
    ("pass", "pass"),
    ("block", "block,"),
    ("change", "modify,"),
    ("text", "inject,"),
    ("patch", "a patch in the shell"),
    ("skill", "a shell line of a skill"),
    ("no guard", "a guard that is gone"),
    ("allow once", "allow-once"),
    ("allow", "allow"),
    ("redact", "redact"),
    ("switch", "switched off"),
    ("no program", "program gone"),
    ("failure", ""),
];

/// Cases that only one client has.
const OWN: [&str; 3] = ["javascript", "open shell", "trust"];

/// The last column: measured with a release, in a run of its own.
const TIME: &str = "added time";

/// The line behind which the table is.
const MARK: &str = "<!-- Written by cargo test-clients --all. -->\n";

/// The results of a client: of each column, the cases that were as expected, and all.
pub(crate) struct Row {
    client: &'static Client,
    cells: [(u32, u32); COLUMNS.len()],
}

impl Row {
    pub(crate) fn new(client: &'static Client) -> Self {
        Self { client, cells: [(0, 0); COLUMNS.len()] }
    }

    /// Adds the result of a case.
    pub(crate) fn add(&mut self, case: &str, is_good: bool) {
        if OWN.iter().any(|own| case.starts_with(own)) {
            return;
        }
        let at = COLUMNS.iter().position(|(_, begin)| case.starts_with(begin));
        if let Some((good, all)) = at.and_then(|at| self.cells.get_mut(at)) {
            *good += u32::from(is_good);
            *all += 1;
        }
    }

    /// Returns the row of the table, with this time.
    fn shown(&self, time: &str) -> String {
        let cell = |(good, all): &(u32, u32)| match (good, all) {
            (_, 0) => "–".to_owned(),
            (good, all) if good == all => "yes".to_owned(),
            (good, all) => format!("{good} of {all}"),
        };
        let mut cells = vec![self.client.version.to_owned()];
        cells.extend(self.cells.iter().map(cell));
        cells.push(time.to_owned());
        line(title(self.client), &cells)
    }

    /// Writes the row into the page of the book. Its time and the rows of other clients stay.
    pub(crate) fn write(&self) -> io::Result<()> {
        let page = fs::read_to_string(file())?;
        let title = title(self.client);
        let time = row_of(&page, title).and_then(|it| it.trim_end_matches(" |").rsplit(" | ").next());
        fs::write(file(), with_row(&page, title, &self.shown(time.unwrap_or("–"))))
    }
}

/// Writes the time that hookbox adds to a call of a client, in milliseconds, into its row.
pub(crate) fn write_time(client: &Client, added: Option<i64>) -> io::Result<()> {
    let page = fs::read_to_string(file())?;
    let time = added.map_or_else(|| "–".to_owned(), |it| format!("{it} ms"));
    fs::write(file(), with_time(&page, title(client), &time))
}

fn with_time(page: &str, title: &str, time: &str) -> String {
    let row = row_of(page, title).and_then(|it| it.trim_end_matches(" |").rsplit_once(" | "));
    row.map_or_else(|| page.to_owned(), |(cells, _)| with_row(page, title, &format!("{cells} | {time} |\n")))
}

fn title(client: &Client) -> &'static str {
    client.name.parse().map_or(client.name, Agent::title)
}

/// Returns the row of an agent in a page.
fn row_of<'p>(page: &'p str, title: &str) -> Option<&'p str> {
    page.lines().find(|line| line.starts_with(&format!("| {title} |")))
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/agents-matrix.md")
}

fn line(title: &str, cells: &[String]) -> String {
    format!("| {title} | {} |\n", cells.join(" | "))
}

/// Returns the page with a row for every agent: this one, those of the page, or that of an agent that was not run.
fn with_row(page: &str, title: &str, row: &str) -> String {
    let (before, table) = page.split_once(MARK).unwrap_or((page, ""));
    let mut headings = vec!["version".to_owned()];
    headings.extend(COLUMNS.iter().map(|(heading, _)| (*heading).to_owned()));
    headings.push(TIME.to_owned());
    let rule = headings.iter().map(|_| "---".to_owned()).collect::<Vec<_>>();
    let mut text = format!("{before}{MARK}\n{}{}", line("agent", &headings), line("---", &rule));
    for agent in Agent::ALL.map(Agent::title) {
        let old = row_of(table, agent);
        text += &match old {
            _ if agent == title => row.to_owned(),
            Some(old) => format!("{old}\n"),
            None => {
                let none = rule.iter().skip(1).map(|_| "–".to_owned());
                line(agent, &std::iter::once("not run".to_owned()).chain(none).collect::<Vec<_>>())
            }
        };
    }
    text
}

/// Returns the median; `None` of nothing.
pub(crate) fn median(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort();
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case;

    #[test]
    fn a_row_counts_each_case_in_one_column_and_leaves_the_other_rows_alone() {
        let codex = Client::named("codex").unwrap();
        let mut row = Row::new(codex);
        for case in case::all() {
            row.add(&case.name, case.name != "block, native");
        }
        assert!(row.cells.iter().all(|(_, all)| *all > 0), "{:?}", row.cells);
        let shown = row.shown("12 ms");
        assert!(shown.starts_with("| Codex | 0.169.0 | yes | 1 of 2 | yes |"), "{shown}");
        assert!(shown.ends_with("| yes | 12 ms |\n"), "{shown}");

        let page = format!("# Title\n\n{MARK}\n| Codex | old |\n| Gemini CLI | kept |\n");
        let page = with_row(&page, "Codex", &shown);
        assert!(page.starts_with(&format!("# Title\n\n{MARK}\n| agent | version | pass |")), "{page}");
        assert!(page.contains(&shown) && page.contains("| Gemini CLI | kept |\n") && !page.contains("old"));
        assert!(page.contains("| Cursor | not run | – |"), "{page}");
        assert_eq!(with_row(&page, "Codex", &shown), page);
        assert!(with_time(&page, "Codex", "9 ms").contains(&shown.replace("12 ms", "9 ms")), "{page}");
        for line in page.lines().filter(|line| line.starts_with("| C")) {
            assert_eq!(line.matches('|').count(), COLUMNS.len() + 4, "{line}");
        }
    }

    #[test]
    fn the_median_is_the_time_in_the_middle() {
        let ms = |all: &[u64]| median(all.iter().copied().map(Duration::from_millis).collect());
        assert_eq!(ms(&[900, 3, 5]), Some(Duration::from_millis(5)));
        assert_eq!(ms(&[]), None);
    }
}
