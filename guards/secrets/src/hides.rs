//! Commands that read a file of secrets, and print none of them.

use crate::places::is_secret_path;
use crate::programs::copies_to_container;

/// Returns true for a program that prints some of its lines, and changes none.
pub(crate) fn keeps_lines(program: &str) -> bool {
    matches!(program, "cat" | "grep" | "egrep" | "fgrep" | "sort" | "uniq" | "head" | "tail")
}

/// Returns true if a program prints counts or names of files, or nothing.
pub(crate) fn hides_all(program: &str, words: &[&str]) -> bool {
    match program {
        "wc" | "true" => true,
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" => {
            words.iter().take_while(|it| **it != "--").any(|it| match it.strip_prefix("--") {
                Some(name) => matches!(name, "count" | "quiet" | "silent" | "files-with-matches"),
                // Letters behind one with a value are that value.
                None => it.strip_prefix('-').is_some_and(|it| {
                    it.chars().take_while(|it| !"efABCmdDgtTj".contains(*it)).any(|it| "cql".contains(it))
                }),
            })
        }
        _ => false,
    }
}

/// Returns true if a program prints the names of variables without their values.
pub(crate) fn hides_values(program: &str, words: &[&str]) -> bool {
    match program {
        "cut" => {
            let text =
                words.iter().filter(|it| it.starts_with('-') || it.len() < 4).copied().collect::<String>();
            let text = text.replace("--delimiter=", "-d").replace("--fields=", "-f").replace(['\'', '"'], "");
            matches!(text.as_str(), "-d=-f1" | "-f1-d=" | "-s-d=-f1" | "-d=-f1-s" | "-sd=-f1")
        }
        "sed" => {
            let scripts: Vec<&&str> = words.iter().filter(|it| it.starts_with("s") && it.len() > 2).collect();
            let is_one = scripts.len() == 1
                && !words.iter().any(|it| matches!(*it, "-f" | "-s") || it.starts_with("--"))
                && words.iter().filter(|it| !it.starts_with('-')).count() < 3;
            is_one && scripts.first().is_some_and(|it| erases_values(it))
        }
        "grep" | "egrep" => {
            words.iter().any(|it| it.starts_with('-') && !it.starts_with("--") && it.contains('o'))
                && words.iter().any(|it| {
                    let rest = it.strip_prefix('^').unwrap_or(it);
                    matches!(
                        rest,
                        "[^=]*" | "[^=]+" | "[^=]\\+" | "[A-Z_]*" | "[A-Z_]+" | "[A-Z0-9_]*" | "[A-Z0-9_]+"
                    ) && it.starts_with('^')
                })
        }
        "awk" | "gawk" | "mawk" => {
            let is_split = words.iter().any(|it| matches!(*it, "-F=" | "="));
            is_split
                && words.iter().any(|it| matches!(it.replace(' ', "").as_str(), "{print$1}" | "{print$1;}"))
        }
        _ => false,
    }
}

/// Returns true for a script of `sed` that replaces everything behind the first `=` with a text.
fn erases_values(script: &str) -> bool {
    let Some(rest) = script.strip_prefix('s') else { return false };
    let Some(mark) = rest.chars().next().filter(|it| !it.is_alphanumeric() && *it != '=') else {
        return false;
    };
    let pieces: Vec<&str> = rest.split(mark).collect();
    let ["", pattern, new, flags] = pieces.as_slice() else { return false };
    let is_text = !new.contains(['&', '\\', '\n']);
    matches!(*pattern, "=.*" | "=.*$" | "=.\\+" | "=.\\+$")
        && is_text
        && matches!(*flags, "" | "g" | "p" | "gp")
}

/// Returns true if a program puts a file of variables where programs read it, and keeps its name guarded.
pub(crate) fn copies_for_programs(program: &str, words: &[&str]) -> bool {
    let is_container = copies_to_container(program, words);
    if !is_container && !matches!(program, "cp" | "ln" | "mv" | "install") {
        return false;
    }
    let operands: Vec<&str> = words.iter().copied().filter(|it| !it.starts_with('-')).collect();
    let Some((target, sources)) = operands.split_last() else { return false };
    let target = if is_container { target.rsplit(':').next().unwrap_or(target) } else { target };
    let is_known = sources.iter().all(|it| !it.contains(['$', '`', '*']));
    is_known
        && !sources.is_empty()
        && (is_secret_path(target) || matches!(target, "." | ".." | "./" | "../"))
        && !target.contains(['$', '`', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_prints_names_or_counts_only() {
        for (line, expected) in [
            ("grep -c . .env", [true, false]),
            ("grep -qE ^KEY= .env", [true, false]),
            ("grep --quiet KEY .env", [true, false]),
            ("grep -e cql .env", [false, false]),
            ("grep -ecql .env", [false, false]),
            ("grep KEY .env", [false, false]),
            ("grep -- -c .env", [false, false]),
            ("wc -l .env", [true, false]),
            ("cut -d= -f1 .env", [false, true]),
            ("cut -d = -f 1 .env", [false, true]),
            ("cut -d= -f2 .env", [false, false]),
            ("cut -d= -f1- .env", [false, false]),
            ("cut -f1 .env", [false, false]),
            ("sed s/=.*/=***/ .env", [false, true]),
            ("sed -E s|=.*|=x|g .env", [false, true]),
            ("sed s/=.*/&/ .env", [false, false]),
            ("sed s/a=.*/x/ .env", [false, false]),
            ("sed -n 1p .env", [false, false]),
            ("sed s/=.*// .env -e p", [false, false]),
            ("grep -o ^[^=]* .env", [false, true]),
            ("grep -o [^=]* .env", [false, false]),
            ("awk -F= {print$1} .env", [false, true]),
            ("awk -F= {print$2} .env", [false, false]),
            ("cat .env", [false, false]),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let (program, rest) = words.split_first().unwrap();
            assert_eq!([hides_all(program, rest), hides_values(program, rest)], expected, "{line}");
        }
    }
}
