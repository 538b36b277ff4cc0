//! The results: a table, `summary.json`, the comparison with the baseline, and the files that the docs show.

use std::fmt::Write as _;
use std::fs;

use crate::growth::Curve;
use crate::place::Place;
use crate::row::{Aim, Row};

/// A ratio that is so much worse than the baseline's is a regression.
const REGRESSION: f64 = 1.15;

/// All rows of a run.
#[derive(Default)]
pub(crate) struct Summary {
    rows: Vec<Row>,
}

impl Summary {
    /// Adds rows, and shows them.
    pub(crate) fn add(&mut self, rows: Vec<Row>) {
        for row in rows {
            let theirs = row.theirs.map_or(String::new(), |it| format!(" : {it:.1}"));
            eprintln!("   {}: {:.1}{theirs} {}", row.name, row.ours, row.unit);
            self.rows.push(row);
        }
    }

    /// Prints the table and writes the files.
    pub(crate) fn finish(&self, place: &Place, curves: &[Curve], quick: bool, save: bool) {
        let file = if quick { "baseline-quick.json" } else { "baseline.json" };
        let baseline = place.root.join("bench").join(file);
        let known: Vec<Row> = fs::read_to_string(&baseline)
            .ok()
            .map(|text| serde_json::from_str(&text).unwrap())
            .unwrap_or_default();
        println!("\n{:<43}{:>8}{:>8}{:>7}{:>8}", "", "ours", "theirs", "ratio", "aim");
        let mut worse = Vec::new();
        for row in &self.rows {
            let mark = if row.met == Some(false) { " miss" } else { "" };
            println!(
                "{:<43}{:>8}{:>8}{:>7}{:>8}{mark}",
                row.name,
                number(row.ours),
                row.theirs.map_or(String::new(), number),
                row.ratio.map_or(String::new(), |it| format!("{}×", number(it))),
                row.aim.map_or(String::new(), Aim::shown),
            );
            worse.extend(known.iter().find(|it| it.name == row.name).and_then(|it| regression(it, row)));
        }
        let (met, aims) = (self.count(Some(true)), self.count(Some(true)) + self.count(Some(false)));
        println!("\n{met} of {aims} aims are met.");
        match (known.is_empty(), worse.as_slice()) {
            (true, _) => println!("There is no baseline {file}."),
            (false, []) => println!("No ratio is more than 15 % worse than in {file}."),
            (false, worse) => {
                println!("Worse than in {file} by more than 15 %:");
                worse.iter().for_each(|line| println!("  {line}"));
            }
        }
        let json = serde_json::to_string_pretty(&self.rows).unwrap();
        let directory = place.target.join("bench");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("summary.json"), &json).unwrap();
        println!("{}", directory.join("summary.json").display());
        if save {
            fs::write(&baseline, json + "\n").unwrap();
            if !quick {
                self.write_docs(place, curves);
            }
        }
    }

    fn count(&self, met: Option<bool>) -> usize {
        self.rows.iter().filter(|row| row.met == met).count()
    }

    /// Writes `bench/table.md`, and the charts of the page about performance.
    fn write_docs(&self, place: &Place, curves: &[Curve]) {
        let directory = place.root.join("docs/src/performance");
        fs::create_dir_all(&directory).unwrap();
        let mut table =
            "| measured | hookbox | the other | ratio | aim | |\n| --- | --- | --- | --- | --- | --- |\n"
                .to_owned();
        for row in &self.rows {
            let met = row.met.map_or("", |met| if met { "met" } else { "**missed**" });
            let _ = writeln!(
                table,
                "| {} | {} {} | {} | {} | {} | {met} |",
                row.name,
                number(row.ours),
                row.unit,
                row.theirs.map_or(String::new(), |it| format!("{} {}", number(it), row.unit)),
                row.ratio.map_or(String::new(), |it| format!("{}×", number(it))),
                row.aim.map_or(String::new(), Aim::shown),
            );
        }
        fs::write(place.root.join("bench/table.md"), table).unwrap();
        crate::charts::write(&directory, &self.rows, curves);
    }
}

/// Returns a line about a row whose ratio is much worse than before.
fn regression(before: &Row, now: &Row) -> Option<String> {
    let (before, after) = (before.ratio?, now.ratio?);
    let change = if matches!(now.aim, Some(Aim::TimesFaster(_))) { before / after } else { after / before };
    (change > REGRESSION).then(|| format!("{}: {}× was {}×", now.name, number(after), number(before)))
}

/// Returns a number with three digits or so.
fn number(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}
