//! `cargo xtask screenshots`: the pictures of a terminal in the book, and a recording, from the output of the program of the
//! tests with the five guards, in a home directory of its own.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::Tree;

/// The width of the terminal, in letters.
const COLUMNS: usize = 80;

/// The width of a letter of the font, and the height of a line.
const LETTER: (f64, f64) = (8.43, 20.0);

/// The home directory in the pictures.
const HOME: &str = "/home/ada";

/// The code of an allowance, the begin of a row of the journal, the time of a call and the digest of a guard in the pictures.
/// Real ones differ between runs or machines.
const CODE: &str = "snwwskhc";
const RECORD: &str = "zat21knpmc  2026-01-31 09:26:00";
const TIME: &str = "2026-01-31T09:25:12.671Z";
const DIGEST: &str = "sha256:55856798a67c2e4e988a13815271eddd9cc203f2b63b3936ede3189ab07b62f4";

/// The call that is blocked.
const COMMAND: &str = "git push --force";

/// The time between two letters that somebody types, in seconds.
const KEY: f64 = 0.05;

impl Tree {
    /// Writes the pictures and the recording, or compares them with those of the book.
    pub(super) fn screenshots(&self, is_check: bool) -> Result<(), Box<dyn Error>> {
        let images = self.root.join("docs/src/images");
        let stage = Stage::new(self.target.join("debug/hookbox"))?;
        let mut stale = Vec::new();
        for (name, text) in stage.play()? {
            let path = images.join(name);
            if !is_check {
                fs::write(path, text)?;
            } else if fs::read_to_string(path)? != text {
                stale.push(name);
            }
        }
        if stale.is_empty() {
            return Ok(());
        }
        Err(format!("not what the program prints now: {}: run cargo xtask screenshots", stale.join(", "))
            .into())
    }
}

/// A home directory with a client of Claude Code, and the program.
struct Stage {
    program: PathBuf,
    home: PathBuf,
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A temporary directory that stays does no harm.
        let _ = fs::remove_dir_all(&self.home);
    }
}

impl Stage {
    fn new(program: PathBuf) -> Result<Self, Box<dyn Error>> {
        use std::os::unix::fs::PermissionsExt as _;
        if !program.exists() {
            return Err(format!("{}: no program: run cargo build --workspace", program.display()).into());
        }
        let home =
            std::env::temp_dir().canonicalize()?.join(format!("hookbox-screenshots-{}", std::process::id()));
        let client = home.join(".local/bin/claude");
        for directory in [".claude", ".local/bin", "app"] {
            fs::create_dir_all(home.join(directory))?;
        }
        fs::write(&client, "#!/bin/sh\n")?;
        fs::set_permissions(&client, fs::Permissions::from_mode(0o755))?;
        Ok(Self { program, home })
    }

    /// Returns the files with their texts.
    fn play(&self) -> Result<[(&'static str, String); 3], Box<dyn Error>> {
        let mut cast = Cast::default();
        cast.command(
            "hookbox setup --yes --agent claude",
            &self.run(&["setup", "--yes", "--agent", "claude"])?,
            4.0,
        );
        let doctor = format!("\x1b[1m$ hookbox doctor claude\x1b[0m\n{}", self.run(&["doctor", "claude"])?);
        self.event("SessionStart")?;
        let answer = self.event("PreToolUse")?;
        let reason = said(&answer, "/hookSpecificOutput/permissionDecisionReason");
        let message = said(&answer, "/systemMessage");
        let code = message.rsplit(' ').next().unwrap_or_default();
        if reason.is_empty() || code.is_empty() {
            return Err(format!("{COMMAND} was not blocked: {answer}").into());
        }
        let refused = refusal(reason, &message.replace(code, CODE));
        cast.show(&refused, 4.0);
        self.event("SessionEnd")?;
        let allowed = self.run(&["allow", code, "--yes"])?;
        cast.command(&format!("hookbox allow {CODE} --yes"), &allowed, 2.0);
        let answer = self.event("PreToolUse")?;
        let message = said(&answer, "/systemMessage");
        cast.show(&format!("{CALL}  └  PreToolUse:Bash says: {message}\n"), 2.0);
        let log = self.run(&["log", COMMAND])?;
        let rows = log.lines().enumerate().map(|(at, row)| match row.get(RECORD.len()..) {
            Some(rest) if at > 0 => format!("{RECORD}{rest}\n"),
            _ => format!("{row}\n"),
        });
        cast.command(&format!("hookbox log '{COMMAND}'"), &rows.collect::<String>(), 3.0);
        Ok([
            ("blocked.svg", picture("Claude Code: hookbox refuses git push --force", &refused)),
            ("doctor.svg", picture("Terminal: hookbox doctor reports that Claude Code is guarded", &doctor)),
            ("demo.cast", cast.text()),
        ])
    }

    /// Runs the program, and returns its output without what differs between machines and commits.
    fn run(&self, args: &[&str]) -> Result<String, Box<dyn Error>> {
        let mut sh = self.command("sh");
        let output = sh.args(["-c", "exec \"$0\" \"$@\" 2>&1"]).arg(&self.program).args(args).output()?;
        let text = String::from_utf8(output.stdout)?;
        if !output.status.success() {
            return Err(format!("hookbox {}: {text}", args.join(" ")).into());
        }
        let mut text = text.replace(&*self.home.to_string_lossy(), HOME);
        let commit = text.find("hookbox:hook@").and_then(|at| {
            let from = at + text.get(at..)?.find("; ")?;
            Some(from..from + text.get(from..)?.find(')')?)
        });
        text.replace_range(commit.unwrap_or(0..0), "");
        let digest = text.find("sha256:").map(|at| at..at + DIGEST.len());
        if let Some(range) = digest.filter(|it| text.get(it.clone()).is_some()) {
            text.replace_range(range, DIGEST);
        }
        let lines = text.lines().map(|line| match line.strip_prefix("  when ") {
            Some(_) => format!("  when       {TIME}\n"),
            None => format!("{line}\n"),
        });
        Ok(lines.collect())
    }

    /// Sends an event of Claude Code to the bridge, and returns the answer.
    fn event(&self, name: &str) -> Result<Value, Box<dyn Error>> {
        let app = self.home.join("app");
        let payload = json!({
            "hook_event_name": name, "session_id": "1", "cwd": app, "transcript_path": app.join("t.jsonl"),
            "permission_mode": "default", "source": "startup", "reason": "other",
            "tool_name": "Bash", "tool_input": { "command": COMMAND }, "tool_use_id": "1",
        });
        let input = self.home.join("input.json");
        fs::write(&input, payload.to_string())?;
        let mut bridge = self.command(&self.program);
        let output = bridge.args(["bridge", "claude"]).stdin(fs::File::open(&input)?).output()?;
        let answer = String::from_utf8(output.stdout)?;
        Ok(if answer.trim().is_empty() { Value::Null } else { serde_json::from_str(&answer)? })
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.home.join(".local/bin").display());
        command.current_dir(self.home.join("app")).env_clear().env("HOME", &self.home).env("PATH", path);
        command.env("TMPDIR", std::env::temp_dir()).env("TERM", "xterm-256color").env("CLICOLOR_FORCE", "1");
        command
    }
}

/// Returns a text in an answer.
fn said<'a>(answer: &'a Value, pointer: &str) -> &'a str {
    answer.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The call, as Claude Code shows it.
const CALL: &str = "\x1b[1m● Bash\x1b[0m(git push --force)\n";

/// Returns the lines of Claude Code for a call that is refused.
fn refusal(reason: &str, message: &str) -> String {
    let (before, rest) = reason.split_once("Instead: ").unwrap_or((reason, ""));
    let (instead, after) = rest.split_once(" (").unwrap_or((rest, ""));
    format!(
        "> Push the branch.\n\n{CALL}  └  \x1b[31mError: {before}\x1b[32mInstead: {instead}\x1b[31m ({after}\x1b[0m\n  \
         └  PreToolUse:Bash says: \x1b[33m{message}\x1b[0m\n"
    )
}

/// A letter with its color, and true if it is bold.
type Cell = (char, &'static str, bool);

const PLAIN: &str = "#cdd6f4";

/// Reads text with the colors of a terminal, in lines that fit it.
fn screen(text: &str) -> Vec<Vec<Cell>> {
    let (mut color, mut is_bold) = (PLAIN, false);
    let mut lines = Vec::new();
    for line in text.lines() {
        let (mut cells, mut letters) = (Vec::new(), line.chars());
        while let Some(letter) = letters.next() {
            if letter != '\x1b' {
                cells.push((letter, color, is_bold));
                continue;
            }
            let codes: String = letters.by_ref().skip(1).take_while(|it| *it != 'm').collect();
            for code in codes.split(';') {
                match code {
                    "" | "0" => (color, is_bold) = (PLAIN, false),
                    "1" => is_bold = true,
                    "31" => color = "#f38ba8",
                    "32" => color = "#a6e3a1",
                    "33" => color = "#f9e2af",
                    "36" => color = "#94e2d5",
                    _ => {}
                }
            }
        }
        wrap(cells, &mut lines);
    }
    lines
}

/// Breaks a line at spaces. The next ones begin below its last column.
fn wrap(mut cells: Vec<Cell>, lines: &mut Vec<Vec<Cell>>) {
    let is_space = |at: usize| cells.get(at).is_some_and(|it| it.0 == ' ');
    let mut columns =
        (1..COLUMNS / 2).filter(|at| is_space(at - 1) && !is_space(*at) && (*at < 2 || is_space(at - 2)));
    let hang = columns.next_back().unwrap_or_default();
    while cells.len() > COLUMNS {
        let at = (hang + 1..=COLUMNS).rev().find(|at| cells.get(*at).is_some_and(|it| it.0 == ' '));
        let rest = cells.split_off(at.unwrap_or(COLUMNS));
        lines.push(std::mem::take(&mut cells));
        cells = vec![(' ', PLAIN, false); hang];
        cells.extend(rest.into_iter().skip(usize::from(at.is_some())));
    }
    lines.push(cells);
}

/// Draws text with the colors of a terminal as SVG.
fn picture(title: &str, text: &str) -> String {
    let lines = screen(text.trim_end());
    let (width, height) = (COLUMNS as f64 * LETTER.0 + 32.0, lines.len() as f64 * LETTER.1 + 32.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\">\n<title>{title}</title>\n<rect width=\"{width:.0}\" height=\"{height:.0}\" \
         rx=\"8\" fill=\"#1e1e2e\"/>\n<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', \
         monospace\" font-size=\"14\">\n"
    );
    for (row, cells) in lines.iter().enumerate() {
        let y = row as f64 * LETTER.1 + 31.0;
        let mut column = 0;
        for span in cells.chunk_by(|a, b| (a.1, a.2) == (b.1, b.2)) {
            let Some((_, color, is_bold)) = span.first() else { continue };
            let text: String = span.iter().map(|it| it.0).collect();
            let begin = column + span.iter().take_while(|it| it.0 == ' ').count();
            column += span.len();
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            let (x, length) = (begin as f64 * LETTER.0 + 16.0, text.chars().count() as f64 * LETTER.0);
            let weight = if *is_bold { " font-weight=\"bold\"" } else { "" };
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            svg.push_str(&format!(
                "<text x=\"{x:.1}\" y=\"{y:.0}\" fill=\"{color}\"{weight} textLength=\"{length:.1}\" \
                 lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">{text}</text>\n"
            ));
        }
    }
    svg + "</g></svg>\n"
}

/// A recording, in the format of asciinema.
#[derive(Default)]
struct Cast {
    at: f64,
    events: String,
}

impl Cast {
    fn print(&mut self, text: &str) {
        self.events.push_str(&format!("[{:.2}, \"o\", {}]\n", self.at, json!(text)));
    }

    /// Types a command, and shows its output for a time.
    fn command(&mut self, line: &str, output: &str, seconds: f64) {
        self.print("\x1b[1m$ \x1b[0m");
        for letter in line.chars() {
            self.at += KEY;
            self.print(letter.encode_utf8(&mut [0; 4]));
        }
        self.print("\r\n");
        self.show(output, seconds);
    }

    /// Shows text for a time.
    fn show(&mut self, text: &str, seconds: f64) {
        self.at += 0.3;
        self.print(&format!("{}\r\n", text.replace('\n', "\r\n")));
        self.at += seconds;
    }

    fn text(mut self) -> String {
        self.print("");
        let head =
            json!({ "version": 2, "width": COLUMNS, "height": 40, "title": "hookbox guards Claude Code" });
        format!("{head}\n{}", self.events)
    }
}
