//! Texts that are easily read in a way that bash does not.

use super::*;

#[test]
fn the_escapes_of_a_quote_are_those_of_bash() {
    for (text, word) in [
        ("ls\\nsudo \\x78", "ls\nsudo x"),
        ("r\\155", "rm"),
        ("\\563udo", "sudo"),
        ("\\x{73}udo", "sudo"),
        ("\\x{173}udo", "sudo"),
        ("\\u0073\\U00000075do", "sudo"),
        ("ls\\cJrm", "ls\nrm"),
        ("it\\'s \\9", "it's \\9"),
        // Without a digit it is no escape.
        ("\\xyz\\u", "\\xyz\\u"),
        // A zero ends the text.
        ("rm\\0x\\'y", "rm"),
        ("rm\\x{}y", "rm"),
        ("rm\\u0000y", "rm"),
        ("rm\\c@y", "rm"),
    ] {
        assert_eq!(seen(&format!("$'{text}'"))[0], word, "{text}");
    }
}

#[test]
fn a_command_that_bash_runs_is_a_command() {
    let mut missed = Vec::new();
    for text in [
        "for d do rm x; done",
        "for do do rm x; done",
        "for d\ndo rm x; done",
        "select d do rm x; done",
        "while read do; do rm x; done",
        // Comments.
        ": `# note`; rm x",
        ": $(# note )\nrm x)",
        "a=(\n# don't\n1)\nrm x # '",
        "a=(# don't\n1)\nrm x # '",
        "a=(\\ #'\n')\nrm x # '",
        // Backquotes.
        "echo `echo \\`rm x\\``",
        "echo `echo \\`echo \\\\\\`rm x\\\\\\`\\``",
        "echo \"`echo \\\"\\`rm x\\`\\\"`\"",
        "echo `cat <<E\na\nE`\nrm x",
        // `<<` is a number's.
        "((i=1<<2))\nrm x",
        "(( i = (1<<2) <<3 ))\nrm x",
        "echo $((1<<2))\nrm x",
        "echo $(((1<<2)))\nrm x",
        "echo $[1<<2]\nrm x",
        "echo $((1 + $(rm x)))",
        "for ((i=1<<2; i<5; i++)); do\necho; done\nrm x",
        "for ((i=1<<2; i<5; i++)) do\nrm x\ndone",
        "if ((1<<2)); then\nrm x; fi",
        "(( '((' ))\nrm x\n))",
        "((cat <<E\n'\nE\n); rm x)",
        "echo ${a:-$b<<E}\nrm x",
        "echo ${a/\\}/<<E}\nrm x",
        "echo \"${a:-\"<<E\"}\"\nrm x",
        "echo \"${a:-'\"'}\"; rm x # '",
        // The end of a here-document.
        "cat <<EOF\nEO\\\nF\nrm x",
        "cat <<-E\n\tE\\\n\nrm x",
        "cat <<E\nx\\\\\nE\nrm x",
        "echo $(cat <<E\na\nE)\nrm x",
        "echo $(cat <<E\na\nE ); rm x",
        "echo $(cat <<E\na\nE;rm x;\\\n\\\n)",
        // A substitution without a subshell, since bash 5.3.
        "echo ${ rm x; }",
        "echo \"${ { ls; }; rm x; }\"",
        "echo ${| ls; }\nrm x",
        // The brackets of patterns.
        "echo $(case a in a) rm x;; esac)",
        "echo $(case a in (a) rm x;; esac)",
        "echo $(case a in b|a) rm x;; esac)",
        "echo $(case if in if) rm x;; esac)",
        "echo $(case esac in (esac) rm x;; esac)",
        "echo $(case esac in a|esac) rm x;; esac)",
        "echo $(case a in @(a|b)) rm x;; esac)",
        "echo $(case a in b) ls;;& a) rm x;; esac)",
        "echo $(case a\nin\nb) ls;;\na) rm x;; esac)",
        "echo $(case a in esac); rm x",
        "case in in in) rm x;; esac",
        "case a in a) in; rm x;; esac",
        "'case' a in; rm x",
    ] {
        if seen(text).iter().all(|words| words != "rm x") {
            missed.push((text, seen(text)));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a_text_that_bash_does_not_run_is_not_a_command() {
    for text in [
        "cat <<E\nrm x\nE",
        "cat <<'E'\nE\\\n\nrm x\nE",
        "cat <<E\nE)\nrm x\nE",
        "while test a do rm x; do :; done",
        "echo ${a:-;rm x;}",
        "echo \"${a:-;rm x;}\"",
        "case a in rm x) ls;; esac",
        "echo \"`echo \\\"; rm x;\\\"`\"",
    ] {
        assert!(seen(text).iter().all(|words| words != "rm x"), "{text}: {:?}", seen(text));
    }
}

#[test]
fn a_text_that_is_not_read_whole_is_known() {
    let nested = |begin: &str, end: &str, times: usize| begin.repeat(times) + "rm x" + &end.repeat(times);
    for (text, is_unread) in [
        (nested("$(echo ", ")", 8), false),
        (nested("$(echo ", ")", 60), true),
        (nested("${a:-", "}", 60), true),
        (nested("echo \"$(", ")\"", 60), true),
        (nested("cat <<E\n$(", ")\nE\n", 60), true),
        (nested("( ", ")", 30), false),
        (nested("( ", ")", 60), true),
        (nested("((", "))", 10_000), false),
        (nested("((", " ) )", 2_000), true),
    ] {
        assert_eq!(runs(&text, &Known::default()).unread.contains(&Unread::Limit), is_unread, "{text:.60}");
    }
}

#[test]
fn a_row_of_tokens_has_no_spaces_and_no_comments() {
    let word = |text: &str| Token::Word(text.to_owned());
    assert_eq!(tokens(":() { :|:& };: # x"), tokens(":(){:|:&};:"));
    assert_eq!(
        tokens("a 'b c'|\"d\"\ne").unwrap(),
        [word("a"), word("b c"), Token::Operator('|'), word("d"), Token::Operator(';'), word("e")]
    );
    assert_ne!(tokens("':(){:|:&};:'"), tokens(":(){:|:&};:"));
}

#[test]
fn a_command_knows_what_feeds_it() {
    for (line, command, sources) in [
        ("a | sh", "sh", vec!["a"]),
        ("a |\n  sh", "sh", vec!["a"]),
        ("a |\n# why\n\nsh", "sh", vec!["a"]),
        ("a |& b log | sh -s", "sh -s", vec!["b"]),
        ("a; sh", "sh", vec![]),
        ("a || sh", "sh", vec![]),
        ("a &\nsh", "sh", vec![]),
        ("(a; b) | sh", "sh", vec!["a", "b"]),
        ("a | (b; sh)", "sh", vec!["a"]),
        ("a | { b y | { c; sh; }; }", "sh", vec!["b"]),
        ("a | { b; { sh; }; }", "sh", vec!["a"]),
        ("{ a; } | { sh; } | c", "c", vec!["sh"]),
        ("a | if b; then sh; fi", "sh", vec!["a"]),
        ("a | while b; do c; done; sh", "sh", vec![]),
        ("while read x; do sh; done < <(a)", "sh", vec!["a"]),
        ("while read x; do sh; done <<< \"$(a)\"", "sh", vec!["a"]),
        ("sh <(a)", "sh /dev/fd/63", vec!["a"]),
        ("sh < <(a)", "sh", vec!["a"]),
        ("sh -c \"$(a)\"", "sh -c $(a)", vec!["a"]),
        ("sh <<< \"$(a)\"", "sh", vec!["a"]),
        ("sh <<E\n$(a)\nE\n", "sh", vec!["a"]),
        ("sh -c \"${x:-$(a)}\"", "sh -c $(a)", vec!["a"]),
        ("a > >(sh)", "sh", vec!["a"]),
        ("a | b $(sh)", "sh", vec!["a"]),
        ("a | b <(sh)", "sh", vec!["a"]),
        ("a | x=$(sh)", "sh", vec!["a"]),
        ("a | for x in `sh`; do b; done", "sh", vec!["a"]),
        ("a | { b; c \"$(sh)\"; }", "sh", vec!["a"]),
        ("a | b; c $(sh)", "sh", vec![]),
    ] {
        let reading = runs(line, &Known::default());
        let run = reading.runs.iter().find(|it| it.texts().join(" ") == command);
        let fed = run.map(|run| run.input.iter().copied().chain(run.inner.clone()));
        let found: Option<Vec<&str>> = fed.map(|it| it.filter_map(|at| reading.runs[at].program()).collect());
        assert_eq!(found, Some(sources), "{line}: {:?}", seen(line));
    }
}

#[test]
fn a_command_knows_which_one_must_succeed_before_it() {
    for (line, needs, is_sure) in [
        ("a && x", vec!["a"], false),
        ("a && b | c && d && x", vec!["d", "a"], false),
        ("a && x || b", vec!["a"], false),
        ("a && { b; x; }", vec!["a"], false),
        ("a && sh -c 'b && x'", vec!["b", "a"], false),
        ("sh -c 'a && x'", vec!["a"], false),
        ("a; x", vec![], true),
        ("a || x", vec![], false),
        ("a || b && x", vec![], false),
        ("! a && x", vec![], false),
        ("a & x", vec![], true),
        ("sh -c a && x", vec![], false),
        ("a() { b; }; a && x", vec![], false),
        ("alias a=b; a && x", vec![], false),
        ("for i in 1; do x; done", vec![], false),
        ("if a; then x; fi", vec![], false),
        ("x() { x; }; x", vec![], false),
        ("x &", vec![], false),
    ] {
        let reading = runs(line, &Known::default());
        let run = reading.runs.iter().rfind(|it| it.program() == Some("x")).unwrap();
        let earlier = std::iter::successors(run.needs, |at| reading.runs[*at].needs);
        let found: Vec<&str> = earlier.filter_map(|at| reading.runs[at].program()).collect();
        assert_eq!((found, run.is_sure), (needs, is_sure), "{line}");
    }
}

#[test]
fn a_carriage_return_is_a_letter_and_may_be_a_part_of_a_line_end() {
    for text in [
        "cat <<E\r\nx\r\nE\r\nrm x",
        "cat > f <<'EOF'\r\nhello\r\nEOF\r\nrm x",
        "cat > f <<'EOF'\r\nhello\r\nEOF\nrm x",
        "ls \r#; rm x",
        "echo x\r#y; rm x",
        "for i in \r ; do rm x; done",
        "for i in a\r\ndo\r\nrm x\r\ndone\r\n",
        "ls\r\nrm x\r\n",
        "ls\rrm x; rm x",
        // Bash leaves this letter out of a script that it does not find in its arguments.
        "r\0m x",
        "{x}>a b[0]=1 rm x",
        "coproc $y rm x",
        "y='a[$(rm x)]'; echo ${!y}",
        "y='a[$(rm x)]'; echo ${!y:-z}",
        "y='a[$(rm x)]'; declare -n r=$y; echo $r",
    ] {
        assert!(seen(text).iter().any(|words| words == "rm x"), "{text:?}: {:?}", seen(text));
    }
    // Neither reading has a command that is not in the text.
    for text in ["cat <<E\r\nrm x\r\nE\r\n", "echo 'a\r\nrm x\r\n'", "ls # a\r\n"] {
        assert!(seen(text).iter().all(|words| words != "rm x"), "{text:?}: {:?}", seen(text));
    }
}
