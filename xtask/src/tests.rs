//! Runs the tests: those of the README, also beside busy processes, and those that need more than the toolchain.

use std::error::Error;
use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{Tree, cargo, run};

/// The number of busy threads, each as much work for the machine as a busy process.
const BUSY: usize = 8;

impl Tree {
    /// Runs the README's command for tests. Under load, other work takes half of the machine, so that a test fails that
    /// measures wall time.
    pub(super) fn test(&self, under_load: bool) -> Result<(), Box<dyn Error>> {
        let tests = |more: &[&str]| {
            let mut command = cargo();
            run(command.current_dir(&self.root).args(["test", "--workspace"]).args(more), "pass the tests")
        };
        tests(&["--no-run"])?;
        let is_over = AtomicBool::new(!under_load);
        thread::scope(|scope| {
            for _ in 0..BUSY {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        hint::spin_loop();
                    }
                });
            }
            let done = tests(&[]);
            is_over.store(true, Ordering::Relaxed);
            done
        })
    }

    /// Runs all tests. A tool that is missing on this machine is a failure.
    pub(super) fn test_all(&self, under_load: bool) -> Result<(), Box<dyn Error>> {
        self.tools()?;
        self.test(under_load)?;
        let mut command = cargo();
        command.current_dir(&self.root).args(["test", "--workspace", "--lib", "--bins", "--tests"]);
        run(command.args(["--", "--ignored"]), "pass the tests that need other tools")
    }
}
