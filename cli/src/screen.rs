//! Texts for a person, in lines that fit the terminal.

use std::fmt::Write as _;

use comfy_table::Table;

/// Returns a text in lines that fit the terminal of standard output.
pub(crate) fn for_stdout(text: &str) -> String {
    wrapped(text, width(&mut Table::new()))
}

/// Returns a text in lines that fit the terminal of standard error.
pub(crate) fn for_stderr(text: &str) -> String {
    wrapped(text, width(Table::new().use_stderr()))
}

/// Returns the width of the terminal; `None` in a pipe, and if the terminal does not know it.
pub(crate) fn width(table: &mut Table) -> Option<usize> {
    table.width().filter(|width| *width > 0).map(usize::from)
}

/// Breaks the lines of a text at blanks, so that they fit this width. A line continues in its last column. No word is cut.
fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    text.split('\n').map(|line| wrapped_line(line, width)).collect::<Vec<_>>().join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    let column = last_column(line, width);
    let (mut lines, mut used, mut is_begun) = (String::new(), 0, false);
    for word in line.split(' ') {
        let length = columns(word);
        if used > column && used + 1 + length > width {
            lines.truncate(lines.trim_end_matches(' ').len());
            let _ = write!(lines, "\n{:column$}", "");
            (used, is_begun) = (column, false);
        }
        if is_begun {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += length;
        // A gap at the end of a line moves nothing on the next one.
        is_begun = !(word.is_empty() && used == column && column > 0);
    }
    lines
}

/// Returns the column in which a line continues: behind the last two blanks of its first half, or two further than it begins.
fn last_column(line: &str, width: usize) -> usize {
    let plain = anstream::adapter::strip_str(line).to_string();
    let begin = plain.chars().take_while(|it| *it == ' ').count();
    let half: String = plain.chars().take(width / 2).collect();
    let gap = half.trim_end().rfind("  ").and_then(|at| half.get(..at + 2));
    gap.map(|it| it.chars().count()).filter(|at| *at > begin).unwrap_or((begin + 2).min(width / 2))
}

/// Returns the number of columns of a word, without its colors.
fn columns(word: &str) -> usize {
    anstream::adapter::strip_str(word).map(|it| it.chars().count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_in_its_last_column_and_no_word_is_cut() {
        for (text, width, want) in [
            ("", Some(20), ""),
            ("one two three", Some(80), "one two three"),
            ("one two three", Some(10), "one two\n  three"),
            ("  one two three", Some(12), "  one two\n    three"),
            ("  a  one two three", Some(14), "  a  one two\n     three"),
            ("  a  \u{1b}[1mone\u{1b}[0m two three", Some(14), "  a  \u{1b}[1mone\u{1b}[0m two\n     three"),
            ("one /a/path/that/is/long two", Some(14), "one\n  /a/path/that/is/long\n  two"),
            ("one two\nthree four", Some(8), "one two\nthree\n  four"),
            ("one two   three", Some(8), "one two\n  three"),
            ("one  two three", None, "one  two three"),
        ] {
            assert_eq!(wrapped(text, width), want, "{text:?} {width:?}");
        }
    }
}
