//! Where else a command may run, with what values and input.

use crate::*;

#[test]
fn a_command_knows_where_else_it_may_run_and_what_a_variable_may_be() {
    let known = Known { cwd: Some("/w"), home: Some("/home/me"), ..Known::default() };
    for (line, elsewhere) in [
        ("cd a && rm x", vec![]),
        ("cd a; rm x", vec!["/w"]),
        ("cd a && ls; rm x", vec!["/w"]),
        ("cd a || exit 1; rm x", vec![]),
        ("cd a || ls; rm x", vec!["/w"]),
        ("cd a || rm x", vec!["/w"]),
        ("cd a || { echo b; exit 1; }; rm x", vec![]),
        ("cd a || return; rm x", vec!["/w"]),
        ("cd a || cd b; rm x", vec!["/w", "/w/b"]),
        ("a && cd b; rm x", vec!["/w"]),
        ("a && cd b && rm x", vec![]),
        ("cd a && { b; rm x; }", vec![]),
        ("{ cd a; b; } && rm x", vec!["/w"]),
        ("cd a & rm x", vec![]),
        ("a | cd b; rm x", vec![]),
        ("mkdir -p a/b && cd a; rm x", vec![]),
        ("mkdir a && cd a; rm x", vec!["/w"]),
        ("cd ..; rm x", vec![]),
        ("cd a b; rm x", vec!["/w"]),
        ("if cd a; then rm x; fi", vec![]),
        ("if cd a; then :; fi; rm x", vec!["/w"]),
        ("set -e; cd a; rm x", vec![]),
        ("x && cd() { :; }; cd a && rm x", vec!["/w/a"]),
        ("cd a || mkdir a && cd a && rm x", vec!["/w"]),
        ("(cd a); rm x", vec![]),
        ("if a; then cd b; fi; rm x", vec!["/w", "/w/b"]),
        ("cd \"$X/b\" && rm x", vec!["/w/$X/b"]),
        ("command cd a && rm x", vec![]),
    ] {
        let run = runs(line, &known).runs.into_iter().rfind(|it| it.program() == Some("rm")).unwrap();
        assert_eq!(run.elsewhere, elsewhere, "{line}");
    }
    for (line, values) in [
        ("d=x; rm $d", vec![]),
        ("d=x; d=y; rm $d", vec![]),
        ("d=x; a && d=y; rm $d", vec!["x", "y"]),
        ("d=x; a || d=y; rm $d", vec!["x", "y"]),
        ("d=x && a && rm $d", vec![]),
        ("d=x; d=y & rm $d", vec![]),
        ("d=x; d=y | a; rm $d", vec![]),
        ("d=x; a | d=y; rm $d", vec!["x", "y"]),
        ("d=x; f() { local d=y; }; f; rm $d", vec![]),
        ("d=x; f() { d=y; }; f; rm $d", vec![]),
        ("d=x; d=y a; rm $d", vec![]),
        ("set -- x; a && set -- y; rm $1", vec![]),
        ("if a; then d=x; elif b; then d=y; else d=z; fi; rm $d", vec!["x", "z", "y"]),
    ] {
        let reading = runs(line, &known);
        let mut found: Vec<&str> = reading.values.iter().map(|(_, value)| value.as_str()).collect();
        found.sort_unstable();
        let mut values = values;
        values.sort_unstable();
        assert_eq!(found, values, "{line}");
        if line.contains("--") {
            assert_eq!(reading.runs.last().unwrap().words[1].sort, Sort::Unknown, "{line}");
            continue;
        }
        let sort = if values.is_empty() { Sort::Plain } else { Sort::Unknown };
        assert_eq!(reading.runs.last().unwrap().words[1].sort, sort, "{line}");
    }
}

#[test]
fn a_command_knows_if_its_input_is_that_of_the_line() {
    for (line, is_fed) in [
        ("sh", false),
        ("sh < /dev/tty", false),
        ("sh <&0", false),
        ("sh < x", true),
        ("sh <<< x", true),
        ("ls | sh", true),
        ("ls | (sudo sh)", true),
        ("while a; do sh; done < x", true),
        ("bash <<'E'\nsh\nE", true),
        ("bash -c sh", false),
        ("find . -exec sh {} +", false),
        ("xargs sh", false),
        ("ls | xargs sh", true),
    ] {
        let run = runs(line, &Known::default()).runs.into_iter().rfind(|it| it.program() == Some("sh"));
        assert_eq!(run.unwrap().is_fed, is_fed, "{line}");
    }
}
