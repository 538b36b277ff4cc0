//! The readings of shell lines, made once for all hooks of an event.

use std::sync::{Arc, Mutex};

use hookbox_shell::{Known, Reading, runs};

use hookbox_system::mutex;

/// The number of readings that are kept. Hooks of an event ask for the line of its call, or for a few parts of it.
const MAX_KEPT: usize = 8;

/// The longest line whose reading is kept, in bytes. One line may become many commands.
const MAX_LINE: usize = 64 << 10;

/// The readings of an event. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Readings(Arc<Mutex<Vec<Kept>>>);

struct Kept {
    cwd: String,
    line: String,
    reading: Arc<Reading>,
}

impl Readings {
    /// Returns the commands of a line that begins in this directory.
    pub(crate) fn read(&self, line: &str, cwd: &str) -> Arc<Reading> {
        let found =
            mutex::lock(&self.0).iter().find(|it| it.line == line && it.cwd == cwd).map(Kept::reading);
        if let Some(reading) = found {
            return reading;
        }
        let known = Known { cwd: Some(cwd).filter(|it| it.starts_with('/')), ..Known::default() };
        let reading = Arc::new(runs(line, &known));
        let mut kept = mutex::lock(&self.0);
        if kept.len() < MAX_KEPT && line.len() <= MAX_LINE {
            let (cwd, line) = (cwd.to_owned(), line.to_owned());
            kept.push(Kept { cwd, line, reading: Arc::clone(&reading) });
        }
        reading
    }
}

impl Kept {
    fn reading(&self) -> Arc<Reading> {
        Arc::clone(&self.reading)
    }
}

/// They follow from the line, so they make no difference between two calls.
impl PartialEq for Readings {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Readings {}

debug_by!(Readings);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_once_in_each_directory() {
        let readings = Readings::default();
        let first = readings.read("cd sub; make", "/w");
        assert!(Arc::ptr_eq(&first, &readings.clone().read("cd sub; make", "/w")));
        assert_eq!(first.runs[1].directory.as_deref(), Some("/w/sub"));
        for (cwd, directory) in [("/x", "/x/sub"), ("", "sub"), ("x", "sub")] {
            let other = readings.read("cd sub; make", cwd);
            assert_eq!(other.runs[1].directory.as_deref(), Some(directory), "{cwd:?}");
        }
    }

    #[test]
    fn few_and_short_lines_are_kept() {
        let readings = Readings::default();
        let long = format!("echo {}", "a".repeat(MAX_LINE));
        assert!(!Arc::ptr_eq(&readings.read(&long, "/"), &readings.read(&long, "/")));
        for number in 0..2 * MAX_KEPT {
            readings.read(&number.to_string(), "/");
        }
        assert_eq!(mutex::lock(&readings.0).len(), MAX_KEPT);
    }
}
