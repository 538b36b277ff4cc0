//! Runs the tests: those of the README, also beside busy processes, and those that need more than the toolchain.

use std::error::Error;
use std::hint;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{Tree, cargo, run};

/// The number of busy threads, each as much work for the machine as a busy process.
const BUSY: usize = 8;

/// The work beside the tests, so that a test fails that measures wall time.
pub(super) enum Load<'a> {
    /// None.
    Idle,
    /// Busy threads.
    Busy,
    /// A program that has to succeed, with eight jobs of cargo.
    Beside(&'a str),
}

impl<'a> Load<'a> {
    /// Reads the options of a command line.
    pub(super) fn of(args: &[&'a str]) -> Result<Self, Box<dyn Error>> {
        match args {
            [] => Ok(Self::Idle),
            ["--under-load"] => Ok(Self::Busy),
            ["--beside", program] => Ok(Self::Beside(program)),
            _ => Err("expected no option, --under-load, or --beside PROGRAM".into()),
        }
    }

    /// Works until the tests are over, or the program is.
    fn work(&self, are_over: &AtomicBool) -> io::Result<bool> {
        match self {
            Self::Idle => {}
            Self::Busy => thread::scope(|scope| {
                for _ in 0..BUSY {
                    scope.spawn(|| {
                        while !are_over.load(Ordering::Relaxed) {
                            hint::spin_loop();
                        }
                    });
                }
            }),
            Self::Beside(program) => {
                let done = Command::new(program).env("CARGO_BUILD_JOBS", BUSY.to_string()).output()?;
                io::stderr().write_all(&[done.stdout, done.stderr].concat())?;
                return Ok(done.status.success());
            }
        }
        Ok(true)
    }
}

impl Tree {
    /// Runs the README's command for tests. The load begins when everything is compiled: a cargo beside it would keep it
    /// waiting for the target directory.
    pub(super) fn test(&self, load: &Load<'_>) -> Result<(), Box<dyn Error>> {
        let mut command = cargo();
        command.current_dir(&self.root).args(["test", "--workspace"]);
        // One line says that everything is compiled. What is said to people goes to the standard error, as always.
        command.arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
        let mut tests = command.spawn().map_err(|error| format!("failed to start the tests: {error}"))?;
        let output = tests.stdout.take().ok_or("the tests have no output")?;
        let are_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let mut beside = None;
            let copied = copy(output, || beside = Some(scope.spawn(|| load.work(&are_over))));
            let have_passed = tests.wait()?.success();
            are_over.store(true, Ordering::Relaxed);
            copied?;
            let is_done = beside.is_none_or(|it| matches!(it.join(), Ok(Ok(true))));
            match (have_passed, is_done) {
                (true, true) => Ok(()),
                (false, _) => Err("failed to pass the tests".into()),
                (true, false) => Err("the program beside the tests failed".into()),
            }
        })
    }

    /// Runs all tests. A tool that is missing on this machine is a failure.
    pub(super) fn test_all(&self, load: &Load<'_>) -> Result<(), Box<dyn Error>> {
        self.tools()?;
        self.test(load)?;
        let mut command = cargo();
        command.current_dir(&self.root).args(["test", "--workspace", "--lib", "--bins", "--tests"]);
        run(command.args(["--", "--ignored"]), "pass the tests that need other tools")
    }
}

/// Copies the output of tests, without the messages of cargo, and says when everything is compiled.
fn copy(output: ChildStdout, mut is_compiled: impl FnMut()) -> io::Result<()> {
    let (mut lines, mut line) = (BufReader::new(output), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        if line.starts_with(br#"{"reason":"build-finished","success":true"#) {
            is_compiled();
        } else if !line.starts_with(br#"{"reason":""#) {
            io::stdout().write_all(&line)?;
        }
        line.clear();
    }
    Ok(())
}
