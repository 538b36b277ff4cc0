//! Measures the guards with labelled commands: `cargo xtask corpus`.

use std::error::Error;
use std::process::Command;

use super::{Tree, cargo, run};

/// The presets of the guards.
const PRESETS: [&str; 3] = ["relaxed", "standard", "strict"];

impl Tree {
    /// Runs the program that measures, in the workspace of the guards: their crates stay out of this one's lock.
    pub(super) fn corpus(&self, args: &[&str]) -> Result<(), Box<dyn Error>> {
        let (preset, mut args) = split(args)?;
        if let Some(at) = args.iter().position(|it| *it == "--components") {
            args.remove(at);
            let count = if at < args.len() { args.remove(at) } else { "" };
            self.generated_components(count, &args)?;
        }
        let generate = args.iter().position(|it| *it == "--generate");
        let count = generate.map(|at| args.get(at + 1).copied().unwrap_or_default().to_owned());
        // The directory of the peer follows its option.
        let peer = if let Some(at) = args.iter().position(|it| *it == "--peer") {
            args.remove(at);
            Some(self.safety_net()?)
        } else {
            None
        };
        let mut command = self.rates(count.is_some());
        command.args(args);
        if let Some(peer) = peer {
            command.arg("--peer").arg(peer);
        }
        if let Some(preset) = preset {
            command.env("HOOKBOX_SETTINGS", format!("{{\"preset\":\"{preset}\"}}"));
        }
        run(&mut command, "measure the guards")?;
        match count {
            Some(count) => self.beside_bash(&count),
            None => Ok(()),
        }
    }

    /// Compares the reader of shell lines with bash, by this many generated lines.
    fn beside_bash(&self, count: &str) -> Result<(), Box<dyn Error>> {
        let mut command = cargo();
        command.current_dir(&self.root).env("HOOKBOX_SHELL_LINES", count);
        command.args(["test", "--quiet", "--package", "hookbox-shell", "--lib", "beside_bash"]);
        command.args(["--", "--nocapture"]);
        run(&mut command, "read lines like bash")
    }

    /// Returns the command that starts the program of the rates, in a fast build or not.
    fn rates(&self, is_fast: bool) -> Command {
        let mut command = cargo();
        // The directory of `--dir` is relative to that of the user.
        command.args(["run", "--quiet", "--manifest-path"]).arg(self.root.join("guards/Cargo.toml"));
        command.arg("--target-dir").arg(self.guests());
        command.args(if is_fast { &["--profile", "generate"][..] } else { &[] });
        command.args(["--package", "rates", "--"]);
        command.env_remove("CARGO_TARGET_DIR").env_remove("HOOKBOX_SETTINGS");
        command
    }

    /// Sends the first generated lines through the guards as components.
    fn generated_components(&self, count: &str, args: &[&str]) -> Result<(), Box<dyn Error>> {
        self.components("guards", "guards")?;
        let file = self.target.join("generated-lines.jsonl");
        let mut command = self.rates(true);
        command.args(["--generate", count]).arg("--into").arg(&file);
        if let [.., "--seed", seed] | ["--seed", seed, ..] = args {
            command.args(["--seed", seed]);
        }
        run(&mut command, "generate lines")?;
        let mut program = self.bench_program(&["guard-lines"])?;
        run(program.arg(&file), "ask the guards as components")
    }
}

/// Takes the preset out of the arguments; `None` is the default of the guards.
fn split<'a>(args: &[&'a str]) -> Result<(Option<&'a str>, Vec<&'a str>), String> {
    let (mut preset, mut rest) = (None, Vec::new());
    let mut args = args.iter().copied();
    while let Some(arg) = args.next() {
        if arg != "--preset" {
            rest.push(arg);
            continue;
        }
        let name = args.next().unwrap_or_default();
        if !PRESETS.contains(&name) {
            return Err(format!("unknown preset {name:?}\nhint: one of {}", PRESETS.join(", ")));
        }
        preset = Some(name).filter(|it| *it != "standard");
    }
    Ok((preset, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_is_taken_out_of_the_arguments() {
        assert_eq!(split(&["--misses"]).unwrap(), (None, vec!["--misses"]));
        assert_eq!(split(&["--preset", "strict", "--misses"]).unwrap(), (Some("strict"), vec!["--misses"]));
        assert_eq!(split(&["--preset", "standard"]).unwrap(), (None, vec![]));
        assert!(split(&["--preset", "x\"y"]).is_err());
        assert!(split(&["--preset"]).is_err());
    }
}
