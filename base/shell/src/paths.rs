//! Paths, as texts.

/// Names of the terminal and of the standard input.
const TERMINAL: [&str; 6] =
    ["/dev/stdin", "/dev/tty", "/dev/fd/0", "/proc/self/fd/0", "/proc/thread-self/fd/0", "/dev/console"];

/// Returns the last part of a path.
pub fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Returns true if a file is the terminal or the standard input of the line, by any path with this meaning from a root.
pub fn is_terminal(file: &str) -> bool {
    if !file.starts_with(['/', '.']) {
        return false;
    }
    let mut path = Vec::new();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    let path = format!("/{}", path.join("/"));
    TERMINAL.contains(&path.as_str()) || path.starts_with("/dev/pts/")
}

/// Returns a path that is given in a directory, without `.` and `..` as far as they can be left out. A path below the
/// line's directory has no `./` in front.
pub fn join_path(directory: &str, path: &str) -> String {
    let is_whole = path.starts_with('/') || path == "~" || path.starts_with("~/");
    let (head, tail) = if is_whole { ("", path) } else { (directory, path) };
    let is_absolute = if is_whole { path.starts_with('/') } else { directory.starts_with('/') };
    let mut parts: Vec<&str> = Vec::new();
    for part in head.split('/').chain(tail.split('/')) {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                None if is_absolute => {}
                Some(last) if !matches!(*last, ".." | "~") && !last.starts_with('$') => drop(parts.pop()),
                _ => parts.push(".."),
            },
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (is_absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}
