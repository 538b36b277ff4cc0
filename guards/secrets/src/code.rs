//! Judges the code of interpreters.

use hookbox_shell::base_name;

use crate::finding::{Finding, sends, shows, shows_file, shows_variable};
use crate::places::{is_secret_name, is_secret_path};

/// Interpreters, by the beginnings of their names.
const INTERPRETERS: [&str; 7] = ["python", "node", "ruby", "perl", "php", "deno", "bun"];

pub(crate) fn is_interpreter(program: &str) -> bool {
    INTERPRETERS.iter().any(|it| base_name(program).starts_with(it))
}

/// Judges the code of an interpreter: its texts that name files, and the variables that it prints.
pub(crate) fn judge(code: &str, is_printed: bool) -> Option<Finding> {
    let mut texts = code.split(['"', '\'', '`']).skip(1).step_by(2);
    let reads =
        ["open(", "read", "File.", "file_get", "Path(", "dotenv_values("].iter().any(|it| code.contains(it));
    if let Some(path) = texts.find(|it| reads && is_secret_path(it)) {
        return Some(shows_file(path));
    }
    // `node -p process.env`
    let is_whole = is_printed
        && matches!(code.trim().trim_end_matches(';'), "process.env" | "ENV" | "Deno.env.toObject()");
    let all =
        ["dict(os.environ)", "print(os.environ)", "stringify(process.env)", "log(process.env)", "ENV.to_h"];
    if is_whole || all.iter().any(|it| code.contains(it)) {
        return Some(match ["post(", "fetch(", "urlopen("].iter().any(|it| code.contains(it)) {
            true => sends("This sends the environment, with its secrets"),
            false => shows("This shows every variable, with its secrets", "env | cut -d= -f1"),
        });
    }
    let prints =
        is_printed || ["print", "console.", "puts", "echo", "write"].iter().any(|it| code.contains(it));
    let after = ["environ[", "environ.get(", "getenv(", "process.env.", "ENV["];
    let names = after.iter().flat_map(|start| code.split(start).skip(1)).map(|rest| {
        let rest = rest.trim_start_matches(['"', '\'']);
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    });
    let mut names = names.filter(|it| prints && is_secret_name(it));
    names.next().map(shows_variable)
}
