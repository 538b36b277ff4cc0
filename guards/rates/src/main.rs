//! Measures the guards with labelled commands. No command is run.
//!
//! `cargo xtask corpus` starts it.

mod corpus;
mod generate;
mod guards;
mod lines;
mod peer;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask corpus [--dir DIR] [--misses] [--check | --write] [--preset PRESET] [--peer]
       cargo xtask corpus --generate N [--seed N] [--components N]

  --dir DIR        measure with the `.jsonl` files of DIR instead of guards/corpus
  --misses         list every wrong answer
  --write          put the table into guards/README.md
  --check          fail if the table in guards/README.md differs
  --preset PRESET  measure `relaxed`, `standard` (the default) or `strict`
  --peer           ask cc-safety-net about the same commands, and print both; `--write` puts that table into the page
  --generate N     ask the guards about N generated lines, and fail at a panic, an error or a timeout
  --seed N         make other lines
  --into FILE      write the generated lines into FILE, and ask nothing";

/// The lines around the table in the page.
const BEGIN: &str = "<!-- rates: written by `cargo xtask corpus --write` -->\n";
const END: &str = "<!-- end of rates -->\n";

/// The lines around the table of the peer.
const PEER_BEGIN: &str = "<!-- peer: written by `cargo xtask corpus --peer --write` -->\n";
const PEER_END: &str = "<!-- end of peer -->\n";

/// The use of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Print,
    Write,
    Check,
}

#[derive(Debug)]
struct Args {
    dir: Option<PathBuf>,
    misses: bool,
    then: Then,
    /// The directory in which npm has installed the peer.
    peer: Option<PathBuf>,
    /// The number of lines to generate.
    generate: Option<u64>,
    seed: u64,
    /// The file for the generated lines.
    into: Option<PathBuf>,
}

impl Args {
    /// Reads the arguments. xtask makes a setting of the guards from `--preset`, and gives `--peer` its directory.
    fn parse(args: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut found = Self {
            dir: None,
            misses: false,
            then: Then::Print,
            peer: None,
            generate: None,
            seed: generate::SEED,
            into: None,
        };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match (arg.as_str(), found.then) {
                ("--dir", _) => found.dir = Some(args.next()?.into()),
                ("--generate", _) => found.generate = Some(args.next()?.parse().ok()?),
                ("--seed", _) => found.seed = args.next()?.parse().ok()?,
                ("--into", _) => found.into = Some(args.next()?.into()),
                ("--peer", _) => found.peer = Some(args.next()?.into()),
                ("--misses", _) => found.misses = true,
                ("--write", Then::Print) => found.then = Then::Write,
                ("--check", Then::Print) => found.then = Then::Check,
                _ => return None,
            }
        }
        let is_ours = found.dir.is_none() && std::env::var_os("HOOKBOX_SETTINGS").is_none();
        let is_checked = found.then == Then::Check && found.peer.is_some();
        (found.then == Then::Print || is_ours && !is_checked).then_some(found)
    }
}

fn main() -> ExitCode {
    let Some(args) = Args::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let guards = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let dir = args.dir.clone().unwrap_or_else(|| guards.join("corpus"));
    let lines = corpus::read(&dir)?;
    if let Some(count) = args.generate {
        return match &args.into {
            Some(path) => generate::write(count, args.seed, &lines, path),
            None => generate::judge(count, args.seed, &lines),
        };
    }
    let (table, begin, end) = if let Some(peer) = &args.peer {
        let table = peer::compare(&lines, peer)?;
        print!("{table}");
        (table, PEER_BEGIN, PEER_END)
    } else {
        let rates = table::measure(&lines).map_err(|error| error.to_string())?;
        print!("{}", rates.table);
        println!("{} wrong answers", rates.misses.len());
        if args.misses {
            rates.misses.iter().for_each(|miss| println!("{miss}"));
        }
        (rates.table, BEGIN, END)
    };
    if args.then == Then::Print {
        return Ok(());
    }
    let path = guards.join("README.md");
    let page =
        fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let new = placed(&page, &table, begin, end).ok_or("guards/README.md has no place for the table")?;
    match args.then {
        Then::Check if new != page => {
            Err("the rates in guards/README.md are old\nhint: cargo xtask corpus --write".to_owned())
        }
        Then::Write => {
            fs::write(&path, new).map_err(|error| format!("cannot write {}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Returns the page with this table in its place.
fn placed(page: &str, table: &str, begin: &str, end: &str) -> Option<String> {
    let (before, rest) = page.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n{table}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_its_place_in_the_page() {
        let page = format!("a\n{BEGIN}\nold\n\n{END}b\n");
        assert_eq!(
            placed(&page, "| new |\n", BEGIN, END).unwrap(),
            format!("a\n{BEGIN}\n| new |\n\n{END}b\n")
        );
        assert!(placed("no place", "| new |\n", BEGIN, END).is_none());
    }

    #[test]
    fn arguments_are_read() {
        let parse = |line: &str| Args::parse(line.split_whitespace().map(str::to_owned));
        assert_eq!(parse("").unwrap().then, Then::Print);
        assert!(parse("--misses --dir x").unwrap().misses);
        assert_eq!(parse("--generate 20 --seed 3").map(|it| (it.generate, it.seed)), Some((Some(20), 3)));
        assert_eq!(parse("--peer x --write").unwrap().peer, Some(PathBuf::from("x")));
        for wrong in [
            "--dir",
            "--nope",
            "--write --check",
            "--dir x --write",
            "--peer",
            "--peer x --check",
            "--generate",
            "--generate x",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn the_committed_rates_are_those_of_the_guards() {
        let guards = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let rates = table::measure(&corpus::read(&guards.join("corpus")).unwrap()).unwrap();
        let page = fs::read_to_string(guards.join("README.md")).unwrap();
        assert_eq!(
            placed(&page, &rates.table, BEGIN, END).unwrap(),
            page,
            "hint: cargo xtask corpus --write"
        );
    }
}
