//! Counts the code of hookbox's crates: `cargo xtask lines`.

mod ceilings;
mod modules;
mod packages;
mod source;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use toml_edit::DocumentMut;

use crate::ceilings::FILE;
use crate::packages::{ALL, Kind, Numbers, grouped};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let errors = match args.as_slice() {
        [] => run(false),
        ["--lower"] => run(true),
        _ => {
            eprintln!("usage: cargo xtask lines [--lower]");
            return ExitCode::from(2);
        }
    };
    let errors = errors.unwrap_or_else(|error| vec![error]);
    errors.iter().for_each(|error| eprintln!("error: {error}"));
    if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Counts, and prints the table. Returns a sentence for each number above its ceiling.
fn run(lower: bool) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(FILE).map_err(|error| format!("cannot read {FILE}: {error}"))?;
    let mut document: DocumentMut = text.parse().map_err(|error| format!("cannot read {FILE}: {error}"))?;
    let ceilings = ceilings::read(&document)?;
    let counts = packages::count(Path::new("."))?;
    print!("{}", table(&counts.numbers, &ceilings));
    for (package, modules) in &counts.circles {
        println!("circle in {package}: {modules}");
    }
    let errors = ceilings::errors(&counts.numbers, &ceilings);
    match ceilings::lower(&mut document, &counts.numbers) {
        0 => {}
        _ if lower => {
            fs::write(FILE, document.to_string()).map_err(|error| format!("cannot write {FILE}: {error}"))?;
        }
        1 => println!("1 number is below its ceiling\nhint: cargo xtask lines --lower"),
        lowered => println!("{lowered} numbers are below their ceilings\nhint: cargo xtask lines --lower"),
    }
    Ok(errors)
}

/// Returns the table: the crates of the product and their sum, and the other ones.
fn table(numbers: &Numbers, ceilings: &Numbers) -> String {
    let (mut table, mut names) = (format!("{:17}", ""), format!("{:17}", ""));
    for kind in Kind::ALL {
        table.push_str(&format!("{:>15}", kind.name()));
        names.push_str(&format!("{:>7}{:>8}", "now", "ceiling"));
    }
    table = format!("{table}\n{names}\n");
    let rows: BTreeSet<&str> = numbers.keys().map(|(_, row)| row.as_str()).filter(|it| *it != ALL).collect();
    let (product, beside): (Vec<&str>, Vec<&str>) =
        rows.into_iter().partition(|row| packages::is_product(row));
    let mut add = |name: &str, rows: &[&str]| {
        table.push_str(&format!("{name:17}"));
        for kind in Kind::ALL {
            let sum = |numbers: &Numbers| -> usize {
                rows.iter().filter_map(|row| numbers.get(&(kind, (*row).to_owned()))).sum()
            };
            let (number, ceiling) = (sum(numbers), sum(ceilings));
            // Two crates can use the same name, so these have no sum.
            let is_empty = (number == 0 && ceiling == 0) || (kind == Kind::Internal && rows.len() > 1);
            let cell = |number| if is_empty { String::new() } else { grouped(number) };
            table.push_str(&format!("{:>7}{:>8}", cell(number), cell(ceiling)));
        }
        table.truncate(table.trim_end().len());
        table.push('\n');
    };
    product.iter().for_each(|row| add(row, &[row]));
    add("product", &product);
    beside.iter().for_each(|row| add(row, &[row]));
    add("all, each once", &[ALL]);
    table
}
