//! hookbox and what people would use instead, side by side, in one run: `cargo xtask bench`.
//!
//! Two sides of a row take turns, so that their ratio holds also on a noisy machine. The results are in
//! `target/bench/summary.json`, and in a table here.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a bench that cannot run should stop"
)]

mod bare;
mod calls;
mod charts;
mod demo;
mod extism;
mod fleet;
mod growth;
mod guards;
mod past;
mod place;
mod processes;
mod row;
mod spawned;
mod starts;
mod summary;

use std::process::ExitCode;

use self::place::Place;
use self::row::Row;
use self::summary::Summary;

#[global_allocator]
static ALLOCATOR: calls::Counting = calls::Counting;

/// The extent of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// True for a run of less than two minutes, without the network and the packaged program.
    pub(crate) quick: bool,
}

impl Extent {
    /// Returns the number of rounds: all of them, or a tenth.
    pub(crate) fn rounds(self, all: usize) -> usize {
        if self.quick { all.div_ceil(10) } else { all }
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["found-and-called", dir, ..] => {
            starts::found_and_called(dir.as_ref());
            return ExitCode::SUCCESS;
        }
        ["guard-lines", path] => {
            let failures = guards::lines(path.as_ref(), &Place::find());
            return if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        ["fleet", wasmtime, service, component, sessions] => {
            let sessions = sessions.parse().expect("the number of sessions");
            return fleet::run(wasmtime.as_ref(), service.as_ref(), component.as_ref(), sessions);
        }
        ["fleet-demo", dir, wasmtime, service, ray, otlp] => {
            return demo::run(dir.as_ref(), wasmtime.as_ref(), service.as_ref(), ray.as_ref(), otlp.as_ref());
        }
        _ => {}
    }
    if args.iter().any(|it| !["--quick", "--save", "--guards"].contains(it)) {
        eprintln!("usage: cargo xtask bench [--quick] [--save | --guards]");
        return ExitCode::from(2);
    }
    let [only_guards, quick, save] = ["--guards", "--quick", "--save"].map(|it| args.contains(&it));
    let (extent, place) = (Extent { quick }, Place::find());
    let mut summary = Summary::default();
    if only_guards {
        summary.add(guards::rows(extent, &place));
        return ExitCode::SUCCESS;
    }
    for (what, part) in PARTS {
        eprintln!("== {what}");
        summary.add(part(extent, &place));
    }
    eprintln!("== how cost grows");
    let curves = growth::curves(extent, &place);
    summary.add(growth::rows(&curves));
    summary.finish(&place, &curves, quick, save);
    ExitCode::SUCCESS
}

/// Rows that are measured together.
type Part = fn(Extent, &Place) -> Vec<Row>;

const PARTS: [(&str, Part); 7] = [
    ("calls, against the bare engine", calls::rows),
    ("calls, against Extism", extism::rows),
    ("calls, against processes", spawned::rows),
    ("the guards", guards::rows),
    ("calls of the past", past::rows),
    ("starts and memory", starts::rows),
    ("one event as a process", processes::rows),
];
