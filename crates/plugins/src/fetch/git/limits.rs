//! What git itself may use. Who serves a repository says how much git has to keep in memory: how many branches there
//! are, and how large a file becomes of a few bytes. A shell sets the bounds and becomes git, so that they hold from its
//! first moment, for what it starts, and when this process is gone.

use std::process::Command;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

/// Where the shell stands. Git needs one as well.
const SHELL: &str = "/bin/sh";

/// Ends git when its standard input ends, which it does with this process, however that ends. A line says that git has
/// ended before: its number may be another process's then.
const LEASH: &str =
    "exec 3<&0 </dev/null; { read -r line <&3 || kill $$; } >/dev/null 2>&1 & exec \"$@\" 3<&-";

/// What ends a leash.
pub(super) const ENDED: &[u8] = b"\n";

/// How much each process of git may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes of memory that it writes to. Addresses alone are not counted: helpers in Go, Java or .NET keep many.
    pub(super) memory: u64,
    /// Bytes in one file.
    pub(super) file: u64,
    /// Time of processors, in whole seconds.
    pub(super) time: Duration,
}

/// What is on git's standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// Nothing: ours is the leash.
    Leash,
    /// What is said to it. It ends with that.
    Talk,
}

impl Limits {
    /// A git that has these.
    pub(super) fn git(&self, input: Input) -> Command {
        let mut command = Command::new(SHELL);
        command.arg("-c").arg(self.script(input)).args(["sh", "git"]);
        // One object may not take all of it, and on systems that do not count memory it is the bound.
        command.env("GIT_ALLOC_LIMIT", (self.memory / 2).to_string());
        command
    }

    fn script(&self, input: Input) -> String {
        // Units of POSIX, and of all shells for those that it does not have.
        let limits = [
            ("d", Resource::Data, self.memory, 1024),
            ("f", Resource::Fsize, self.file, 512),
            ("t", Resource::Cpu, self.time.as_secs().saturating_add(1), 1),
        ];
        let mut script = String::new();
        for (letter, resource, limit, unit) in limits {
            // What is narrower already stays.
            if getrlimit(resource).current.is_none_or(|there| there > limit) {
                script += &format!("ulimit -{letter} {}; ", limit.div_ceil(unit));
            }
        }
        script
            + match input {
                Input::Leash => LEASH,
                Input::Talk => "exec \"$@\"",
            }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Stdio;

    use super::*;

    const LIMITS: Limits = Limits { memory: 64 << 20, file: 1 << 20, time: Duration::from_millis(2500) };

    /// What the shell says of its bounds when it would become git.
    fn set(before: &str) -> String {
        let script = format!("{before} {}", LIMITS.script(Input::Talk));
        let mut command = Command::new(SHELL);
        command.args(["-c", &script, "sh", SHELL, "-c", "ulimit -d; ulimit -f; ulimit -t; ulimit -Hd"]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_bounds_are_set_before_git_is_there() {
        assert_eq!(set(""), "65536 2048 3 65536");
    }

    #[test]
    fn a_shell_that_sets_no_bounds_becomes_git_all_the_same() {
        // It says so, and goes on: the others hold.
        assert_eq!(set("ulimit -d 32768;").split(' ').skip(1).take(2).collect::<Vec<_>>(), ["2048", "3"]);
    }

    #[test]
    fn git_ends_with_whoever_holds_its_input_and_not_when_it_is_told_that_all_is_well() {
        let mut command = Command::new(SHELL);
        let script = LIMITS.script(Input::Leash);
        // It ends of itself after a minute, which is a failure.
        command.args(["-c", &script, "sh", "sleep", "60"]).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().signal(), Some(15));

        let mut command = Command::new(SHELL);
        command.args(["-c", &script, "sh", SHELL, "-c", "cat; echo done"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(ENDED).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(output.stdout, b"done\n");
    }
}
