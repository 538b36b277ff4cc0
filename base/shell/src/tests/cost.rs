//! The work that hostile lines take.

use super::*;

/// Lines of about this size, which repeat a piece.
fn lines(size: usize) -> Vec<String> {
    let of = |piece: &str| piece.repeat((size / piece.len()).max(1));
    // The halves of a line: a text, and the commands that use it.
    let half = |piece: &str| piece.repeat((size / 2 / piece.len()).max(1));
    let pieces = [
        "a ",
        "(",
        "$(",
        "`",
        "\"$(",
        "'",
        "\"",
        "{",
        "${x:-",
        "<<a ",
        "$((",
        "((",
        "<(",
        "a|",
        "a&&",
        "if ",
        "if a;then ",
        "case a in ",
        "f()",
        "{ a;",
        "[[ ",
        "${",
        "sudo ",
        "\\\n",
        "a=$a$a;",
        "x=$x$x$x\n",
        "eval ",
        "eval eval '",
        "for a in 1 2 3 4 5;do ",
        "<<<$(",
        "a <<E\n",
        "$'",
        "{a,b}",
        "f(){ f;f;};f;",
        "sh -c 'sh -c ",
        "xargs ",
        "find -exec ",
        "\u{e9}\u{10ffff} ",
        "${x[a]}",
        "a\0b ",
        "! ",
        "time ",
        "a",
        "1",
        "}",
        ")",
        "a=",
        "a[",
        "$",
        "\\",
        "#",
        "-exec x ",
        "x+=(a) ",
        "x+=a;",
        "a >>f;",
        "echo a>>f;",
        "cd a;",
        "\"a\"",
        "'a'",
        "$(a)",
        "`a`",
        "\"$(a)\"",
        "$((1))",
        "((1));",
        "cat <<E\na\nE\n",
        "$(cat <<E\na\nE\n)",
        "case a in a) b;; esac;",
        "[[ a ]];",
        "{{{{{{{{{{{{{{{{a,b}{a,b}{a,b} ",
        "\"`",
        "`\\`",
        "\"${x:-\"",
        "a(",
        "a=(",
        "declare a=(",
        "&>",
        ">a ",
        "<a ",
        "while a;do ",
        "until a\ndo b\ndone\n",
        "coproc ",
        "select a in b;do ",
        "function f ",
        "a|&",
        "sh<<<'",
        "`$(",
        "x\n",
        "$(cat <<E\n",
        "\"$(cat <<E\n",
        "!(",
        "a!(b",
        "{1..9}",
        "case a in (",
        "<&1 ",
        "trap a;",
        "read a b;",
        "alias a=b;",
    ];
    let mut lines: Vec<String> = pieces.iter().map(|it| of(it)).collect();
    // Pieces within others.
    for inner in
        ["os.system(", "rmtree(x,", "x=", "x = ( ", "a.b(", "x.rmtree(x) ", "unlink x;", "   (", "`a`"]
    {
        lines.push(format!("python -c '{}'", of(inner)));
        lines.push(format!("perl -e '{}'", of(inner)));
    }
    for inner in ["a ", "$(", "$x", "a\n", "`", "\\", "\"", "${x:-", "$((", "<(", "$(cat <<F\n"] {
        lines.push(format!("cat <<E\n{}\nE\n", of(inner)));
        lines.push(format!("\"{}\"", of(inner)));
        lines.push(format!("$({})", of(inner)));
        lines.push(format!("bash -c '{}'", of(inner)));
    }
    // A text that many commands use.
    for (text, uses) in [
        (format!("x='{}';", half("a")), half("echo $x;")),
        (format!("x='{}';", half("a ")), half("echo $x;")),
        (format!("x='{}';", half("a ")), format!("echo {}", half("$x"))),
        (format!("x='{}';", half("a")), half("$(a)")),
        (format!("x='{}';", half("a")), half("(a);")),
        (format!("x='{}';", half("a")), half("if a;then b;fi;")),
        (half("a=1 "), half("\n$(a)")),
        (format!("x=({});", half("a ")), half("echo $x;")),
        (format!("x=({});", half("a ")), half("echo ${x[@]};")),
        (format!("set -- {};", half("a ")), half("shift;")),
        (format!("set -- {};", half("a ")), half("echo $@;")),
        (format!("set -- {};", half("a ")), half("(a);")),
        (format!("f(){{ : '{}';}};", half("a")), half("f;")),
        (format!("f(){{ cat <<E\n{}\nE\n}};", half("a\n")), half("f;")),
        (format!("alias a='{}';", half("b")), half("a;")),
        (format!("cd {};", half("a")), half("a;")),
        (format!("cd {};", half("a/")), half("cd b;")),
        (format!("({}) |", half("echo a;")), format!("({})", half("b;"))),
        (format!("({}) |", half("echo a;")), format!("({})", half("sh;"))),
        (format!("cat <<E | (\n{}\nE\n", half("a ")), half("read a;") + ")"),
        (format!("cat <<E | (\n{}\nE\n", half("a ")), half("cat;") + ")"),
        (format!("cat <<E | (\n{}\nE\n", half("a ")), format!("read {})", half("a "))),
        (format!("printf '%{}s'", half(" ")), half(" ''")),
        (format!("echo {}|", half("a")), format!("xargs -Ia echo {}", half("a"))),
        (format!("parallel echo {}", half("{}")), format!(" ::: {}", half("a"))),
        (format!("cat >f <<E\n#!/{}sh\n", half("a")), half("a\n") + "E\n./f"),
        (format!("find {}", half("-exec a ")), half("; ")),
        (format!("x={};", half("a")), half("export y=$x;")),
        (format!("x={};", half("a")), half("y+=$x;")),
        (format!("x={};", half("a")), half("echo $x>>f;")),
        (format!("x='{}';", half("os.system(1)\n")), half("python -c \"$x\";")),
        (format!("{}sh -c '", half("sudo ")), half("a;") + "'"),
        (format!("x='x[{}]';", half("$(((x)))")), half("((x));")),
        (half("$u "), half("rm ")),
        (half("bash p&"), half("echo a>p;")),
        (half("echo a> >(sh);"), half("exec 3> >(b);echo a>&3;")),
        (format!("PAGER='{}'", half("a ")), half(" PAGER=$PAGER;")),
        (format!("/bin/{}r ", half("*")), half("/r? ")),
    ] {
        lines.push(text + &uses);
    }
    lines
}

/// Returns the work that a line takes, and true if the reader gave up a part.
fn work(line: &str) -> (usize, bool) {
    let known = Known::default();
    let mut machine = Machine::new(&known);
    machine.script(line);
    (machine.work + machine.read, machine.reading.unread.contains(&Unread::Limit))
}

/// The size of a short line.
const SIZE: usize = 8 << 10;

#[test]
fn the_work_grows_with_the_length_of_a_line_or_ends() {
    for (short, long) in lines(SIZE).into_iter().zip(lines(8 * SIZE)) {
        let shown: String = long.chars().take(40).collect();
        let ((small, _), (large, is_cut)) = (work(&short), work(&long));
        assert!(is_cut || large < 10 * small + (64 << 10), "{shown}: {small} and {large}");
        // Not even what is given up takes more.
        assert!(large < (12 << 20) + 80 * long.len(), "{shown}: {large}");
    }
}

#[test]
fn a_script_that_another_prints_does_not_double_the_work_at_each_level() {
    for (levels, is_cut) in [(1, false), (4, false), (20, true), (30, true)] {
        let line = format!("{}curl x{}", "sh -c \"$(".repeat(levels), ")\"".repeat(levels));
        let reading = runs(&line, &Known::default());
        assert_eq!(reading.unread.contains(&Unread::Limit), is_cut, "{levels}");
        assert!(reading.runs.len() < 1000, "{levels}: {}", reading.runs.len());
        assert!(reading.runs.iter().any(|it| it.program() == Some("curl")), "{levels}");
    }
}
