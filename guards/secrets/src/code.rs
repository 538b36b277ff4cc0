//! Judges the code of interpreters.

use crate::finding::{Finding, sends, shows, shows_file, shows_variable};
use crate::places::{is_secret_name, is_secret_path};

/// Judges the code of an interpreter: its texts that name files, and the variables that it prints.
pub(crate) fn judge(code: &str, is_printed: bool) -> Option<Finding> {
    let mut texts = code.split(['"', '\'', '`']).skip(1).step_by(2);
    let reads = ["open(", "open ", "read", "File.", "file_get", "Path(", "dotenv_values(", "insert-file"];
    let reads = reads.iter().any(|it| code.contains(it));
    if let Some(path) = texts.find(|it| reads && is_secret_path(it)) {
        return Some(shows_file(path));
    }
    // `node -p process.env`
    let is_whole = is_printed
        && matches!(code.trim().trim_end_matches(';'), "process.env" | "ENV" | "Deno.env.toObject()");
    let all = [
        "dict(os.environ)",
        "print(os.environ)",
        "stringify(process.env)",
        "log(process.env)",
        "ENV.to_h",
        "print %ENV",
        "print_r(getenv())",
        "print_r($_ENV",
    ];
    if is_whole || all.iter().any(|it| code.contains(it)) {
        return Some(match ["post(", "fetch(", "urlopen("].iter().any(|it| code.contains(it)) {
            true => sends("This sends the environment, with its secrets"),
            false => shows("This shows every variable, with its secrets", "env | cut -d= -f1"),
        });
    }
    let prints =
        is_printed || ["print", "console.", "puts", "echo", "write"].iter().any(|it| code.contains(it));
    let after = ["environ[", "environ.get(", "getenv(", "process.env.", "ENV[", "ENV{"];
    let mut rests = after.iter().flat_map(|start| code.split(start).skip(1));
    rests.find_map(|rest| secret_name(rest).filter(|_| prints)).map(shows_variable)
}

/// Returns the name of a secret variable at the beginning of a text, with or without quotes.
fn secret_name(rest: &str) -> Option<&str> {
    let rest = rest.trim_start_matches(['"', '\'', '[', '.']);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    rest.get(..end).filter(|it| is_secret_name(it))
}

/// Judges a program of `awk` or `jq`: the variables of the environment that it prints.
pub(crate) fn of_filter(program: &str, code: &str) -> Option<Finding> {
    let code = code.trim();
    let (start, is_whole) = match program {
        "awk" | "gawk" | "mawk" => ("ENVIRON", code.contains("in ENVIRON") && code.contains("ENVIRON[")),
        "jq" | "gojq" if code.contains("$ENV") => ("$ENV", code == "$ENV"),
        // `.env` is a field.
        "jq" | "gojq" if code.starts_with("env") => ("env", code == "env"),
        _ => return None,
    };
    if is_whole {
        return Some(shows("This shows every variable, with its secrets", "env | cut -d= -f1"));
    }
    code.split(start).skip(1).find_map(secret_name).map(shows_variable)
}
