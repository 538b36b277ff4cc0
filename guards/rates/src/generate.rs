//! Asks the guards about generated lines: no line may make a guard panic, fail, or take long.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::corpus::{Label, Line};
use crate::guards::{GUARDS, Guard};
use crate::lines::{Numbers, line};

/// The seed of the lines. Another one makes others.
pub(crate) const SEED: u64 = 19;

/// The time of one answer that counts as a timeout: several times what the slowest of a million generated lines takes.
const LIMIT: Duration = Duration::from_secs(1);

/// The tries of a line that seems slow. After the first one the time of the processor counts, and the fastest of them:
/// a busy machine is slow without the guard's fault.
const TRIES: usize = 3;

/// The lines that a thread takes at once.
const SLICE: u64 = 1000;

/// The failures that are shown.
const SHOWN: usize = 20;

/// What happened with the lines.
#[derive(Debug, Default)]
struct Counts {
    lines: u64,
    stopped: u64,
    panics: u64,
    errors: u64,
    timeouts: u64,
    longest: Duration,
    /// The guard and the line of the longest answer.
    slowest: String,
    /// The first failures, as text.
    shown: Vec<String>,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.stopped += other.stopped;
        self.panics += other.panics;
        self.errors += other.errors;
        self.timeouts += other.timeouts;
        if other.longest > self.longest {
            (self.longest, self.slowest) = (other.longest, other.slowest);
        }
        self.shown.extend(other.shown);
        self.shown.truncate(SHOWN);
    }

    fn failures(&self) -> u64 {
        self.panics + self.errors + self.timeouts
    }
}

/// Asks every guard about so many lines, and prints what happened.
pub(crate) fn judge(count: u64, seed: u64, corpus: &[Line]) -> Result<(), String> {
    let texts: Vec<&str> = corpus.iter().map(|it| it.text.as_str()).collect();
    // A caught panic is counted, and its message would be in the way.
    std::panic::set_hook(Box::new(|_| {}));
    let (next, all) = (AtomicU64::new(0), Mutex::new(Counts::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(SLICE, Ordering::Relaxed);
                    if from >= count {
                        break;
                    }
                    let found = slice(from..(from + SLICE).min(count), seed, &texts);
                    if let Ok(mut all) = all.lock() {
                        all.add(found);
                    }
                }
            });
        }
    });
    let all = all.into_inner().map_err(|_| "a thread has failed")?;
    if all.lines != count {
        return Err(format!("only {} of {count} lines were asked about", all.lines));
    }
    println!(
        "{} lines of seed {seed}: {} panics, {} errors, {} timeouts over {} ms; {} stopped or marked; the slowest answer took {:.1} ms ({}); {:.0} s",
        all.lines,
        all.panics,
        all.errors,
        all.timeouts,
        LIMIT.as_millis(),
        all.stopped,
        all.longest.as_secs_f64() * 1e3,
        all.slowest,
        started.elapsed().as_secs_f64()
    );
    all.shown.iter().for_each(|it| println!("{it}"));
    if all.failures() > 0 { Err(format!("{} failures", all.failures())) } else { Ok(()) }
}

fn slice(places: std::ops::Range<u64>, seed: u64, corpus: &[&str]) -> Counts {
    let mut counts = Counts::default();
    for at in places {
        let text = line(&mut Numbers::of(seed, at), corpus);
        counts.lines += 1;
        let mut line = Line {
            category: String::new(),
            tool: "bash".to_owned(),
            text,
            is_output: false,
            label: Label::Safe,
        };
        let mut is_stopped = false;
        for guard in &GUARDS {
            // This one reads what tools return, which may be any text.
            line.is_output = guard.name == "injection";
            is_stopped |= ask(guard, &line, at, &mut counts);
        }
        counts.stopped += u64::from(is_stopped);
    }
    counts
}

/// Asks a guard about a line, and returns true if it stops or marks it.
fn ask(guard: &Guard, line: &Line, at: u64, counts: &mut Counts) -> bool {
    let (mut fastest, mut found) = (Duration::MAX, None);
    for attempt in 0..TRIES {
        let before = (attempt > 0).then(processor).flatten();
        let started = Instant::now();
        found = Some(catch_unwind(AssertUnwindSafe(|| guard.acts(line))));
        fastest = fastest.min(match attempt {
            0 => started.elapsed(),
            // A system that does not tell it knows no slow answers.
            _ => before.and_then(|before| processor()?.checked_sub(before)).unwrap_or_default(),
        });
        if fastest < LIMIT {
            break;
        }
    }
    if fastest > counts.longest {
        counts.longest = fastest;
        counts.slowest = format!("{}, line {at}", guard.name);
    }
    let mut failed = |count: fn(&mut Counts) -> &mut u64, what: &str| {
        *count(counts) += 1;
        if counts.shown.len() < SHOWN {
            let text: String = line.text.chars().take(200).collect();
            counts.shown.push(format!("{}: {what}, line {at}: {text:?}", guard.name));
        }
    };
    if fastest >= LIMIT {
        failed(|it| &mut it.timeouts, "too slow");
    }
    match found {
        Some(Ok(Ok(acts))) => acts,
        Some(Ok(Err(error))) => {
            failed(|it| &mut it.errors, &format!("error {error}"));
            false
        }
        _ => {
            failed(|it| &mut it.panics, "panic");
            false
        }
    }
}

/// Returns the time that this thread has run on a processor, where the system tells it.
fn processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Writes lines into a file, one JSON text each, for those who ask the guards as components.
pub(crate) fn write(count: u64, seed: u64, corpus: &[Line], path: &Path) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let texts: Vec<&str> = corpus.iter().map(|it| it.text.as_str()).collect();
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).map_err(fail)?);
    for at in 0..count {
        let text = line(&mut Numbers::of(seed, at), &texts);
        writeln!(file, "{}", hookbox_sdk::json!(text)).map_err(fail)?;
    }
    file.flush().map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(text: &str) -> Line {
        Line {
            category: String::new(),
            tool: "bash".to_owned(),
            text: text.to_owned(),
            is_output: false,
            label: Label::Safe,
        }
    }

    #[test]
    fn a_panic_and_an_error_are_counted() {
        fn panics(_: &Line) -> Result<hookbox_sdk::Answer, hookbox_sdk::Error> {
            std::panic::resume_unwind(Box::new("x"))
        }
        fn fails(_: &Line) -> Result<hookbox_sdk::Answer, hookbox_sdk::Error> {
            Err(hookbox_sdk::Error::new("x"))
        }
        let mut counts = Counts::default();
        assert!(!ask(&Guard { name: "a", answer: panics }, &line_of("ls"), 0, &mut counts));
        assert!(!ask(&Guard { name: "b", answer: fails }, &line_of("ls"), 1, &mut counts));
        assert_eq!((counts.panics, counts.errors, counts.failures()), (1, 1, 2));
        assert_eq!(counts.shown.len(), 2);
    }

    #[test]
    fn no_guard_fails_on_generated_lines() {
        let corpus = crate::corpus::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")).unwrap();
        let texts: Vec<&str> = corpus.iter().map(|it| it.text.as_str()).collect();
        let counts = slice(0..1000, SEED, &texts);
        // The time of a debug build on a busy machine says nothing.
        assert_eq!((counts.lines, counts.panics, counts.errors), (1000, 0, 0), "{:?}", counts.shown);
        assert!(counts.stopped > 20, "{}", counts.stopped);
    }
}
