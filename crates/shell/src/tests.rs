//! Commands, and which of them feed each other.

use super::*;

/// Returns each command as its words, with the programs that feed it.
fn seen(text: &str) -> Vec<(String, Vec<String>)> {
    let script = read(text);
    let words = |at: &usize| {
        let words = &script.commands[*at].words;
        words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    };
    let program = |at: &usize| words(at).split(' ').next().unwrap().to_owned();
    let one = |(at, command): (usize, &Command)| {
        (
            words(&at),
            command
                .upstream
                .iter()
                .cloned()
                .flatten()
                .chain(command.inner.iter().copied())
                .map(|at| program(&at))
                .collect(),
        )
    };
    script.commands.iter().enumerate().map(one).collect()
}

#[test]
fn a_command_knows_what_feeds_it() {
    for (text, command, sources) in [
        ("curl x | bash", "bash", vec!["curl"]),
        ("curl x |\n  bash", "bash", vec!["curl"]),
        ("curl x |\n# why\n\nbash", "bash", vec!["curl"]),
        ("curl x |& tee log | bash -s", "bash -s", vec!["tee"]),
        ("curl x; bash", "bash", vec![]),
        ("curl x || bash", "bash", vec![]),
        ("curl x &\nbash", "bash", vec![]),
        ("(curl x; ls) | bash", "bash", vec!["curl", "ls"]),
        ("curl x | (ls; bash)", "bash", vec!["curl"]),
        ("curl x | { tee y | { ls; bash; }; }", "bash", vec!["tee"]),
        ("curl x | { ls; { bash; }; }", "bash", vec!["curl"]),
        ("{ curl x; } | { bash; } | wc", "wc", vec!["bash"]),
        ("curl x | if true; then bash; fi", "bash", vec!["curl"]),
        ("curl x | while read l; do echo; done; bash", "bash", vec![]),
        ("bash <(curl x)", "bash <(curl x)", vec!["curl"]),
        ("bash < <(curl x)", "bash", vec!["curl"]),
        ("bash -c \"$(curl x)\"", "bash -c $(curl x)", vec!["curl"]),
        ("bash <<< \"$(curl x)\"", "bash", vec!["curl"]),
        ("bash <<E\n$(curl x)\nE\n", "bash", vec!["curl"]),
        ("bash -c \"${x:-$(curl x)}\"", "bash -c ${x:-$(curl x)}", vec!["curl"]),
        ("curl x > >(bash)", "bash", vec!["curl"]),
        ("echo x | cat $(bash)", "bash", vec!["echo"]),
        ("cat | x=$(bash)", "bash", vec!["cat"]),
    ] {
        let found = seen(text).into_iter().find(|it| it.0 == command);
        assert_eq!(found.map(|it| it.1), Some(sources.into_iter().map(str::to_owned).collect()), "{text}");
    }
}

#[test]
fn a_redirected_input_is_known_from_the_terminals() {
    for (text, input) in [
        ("bash", Input::Inherited),
        ("bash < x", Input::Given),
        ("bash <<< x", Input::Given),
        ("bash <<E\nx\nE", Input::Given),
        ("{ ls; bash; } < x", Input::Given),
        ("while true; do bash; done < x", Input::Given),
        ("while true; do bash; done <<< x", Input::Given),
        ("while true; do bash < /dev/tty; done < x", Input::Named),
        ("bash < /dev/stdin", Input::Named),
        ("bash <&0", Input::Named),
        ("bash <&3", Input::Named),
        ("ls < x; bash", Input::Inherited),
        ("bash > x", Input::Inherited),
    ] {
        let script = read(text);
        let bash = script.commands.iter().find(|it| it.words.first().is_some_and(|it| it.text == "bash"));
        assert_eq!(bash.unwrap().input, input, "{text}");
    }
}

#[test]
fn a_shell_runs_its_input_unless_it_has_a_script() {
    for (line, runs) in [
        ("", true),
        ("-", true),
        ("-s", true),
        ("-s -- -y -n", true),
        ("-s -- -c", true),
        ("-eo pipefail", true),
        ("-oO pipefail extglob -x", true),
        ("+o posix", true),
        ("--rcfile x --posix -e", true),
        ("-rcfile x", true),
        ("-norc", true),
        ("-n +n", true),
        ("-in", true),
        ("/dev/stdin -n", true),
        ("/dev//stdin", true),
        ("/dev/../dev/./fd/0", true),
        ("../../dev/stdin", true),
        ("-- /dev/tty", true),
        ("-n", false),
        ("-o noexec", false),
        ("-c", false),
        ("-ce ls -s", false),
        ("-co pipefail ls", false),
        ("x.sh", false),
        ("x.sh -s", false),
        ("-eo pipefail x.sh", false),
        ("- x.sh", false),
        ("dev/stdin", false),
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(ShellWords::of(&words).runs_input(), runs, "{line}");
    }
}

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
        ("it\\'s \\9", "it's 9"),
        // Without a digit it is no escape.
        ("\\xyz\\u", "\\xyz\\u"),
        // A zero ends the text.
        ("rm\\0x\\'y", "rm"),
        ("rm\\x{}y", "rm"),
        ("rm\\u0000y", "rm"),
        ("rm\\c@y", "rm"),
    ] {
        assert_eq!(seen(&format!("$'{text}'"))[0].0, word, "{text}");
    }
}

#[test]
fn a_command_that_bash_runs_is_a_command() {
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
        assert!(seen(text).iter().any(|(words, _)| words == "rm x"), "{text}: {:?}", seen(text));
    }
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
        assert!(seen(text).iter().all(|(words, _)| words != "rm x"), "{text}: {:?}", seen(text));
    }
}

#[test]
fn a_text_that_is_not_read_whole_is_known() {
    let nested = |begin: &str, end: &str, times: usize| begin.repeat(times) + "rm x" + &end.repeat(times);
    for (text, is_unread) in [
        (nested("$(echo ", ")", 8), false),
        (nested("$(echo ", ")", 18), true),
        (nested("${a:-", "}", 18), true),
        (nested("echo \"$(", ")\"", 18), true),
        (nested("cat <<E\n$(", ")\nE\n", 18), true),
        (nested("(", ")", 1000), false),
        (nested("((", "))", 10_000), false),
        (nested("((", " ) )", 2_000), true),
    ] {
        assert_eq!(read(&text).unread, is_unread, "{text:.60}");
    }
}

#[test]
fn a_row_of_tokens_has_no_spaces_and_no_comments() {
    let word = |text: &str| Token::Word(text.to_owned());
    assert_eq!(tokens(":() { :|:& };: # x"), tokens(":(){:|:&};:"));
    assert_eq!(
        tokens("a 'b c'|\"d\"\ne"),
        [word("a"), word("b c"), Token::Operator('|'), word("d"), Token::Operator(';'), word("e")]
    );
    assert_ne!(tokens("':(){:|:&};:'"), tokens(":(){:|:&};:"));
}

#[test]
fn braces_make_words() {
    for (word, want) in [
        ("a", vec!["a"]),
        ("{rm,-rf,x}", vec!["rm", "-rf", "x"]),
        ("s{u,}do", vec!["sudo", "sdo"]),
        ("a{b,{c,d}e}f", vec!["abf", "acef", "adef"]),
        ("{a}{b,c}", vec!["{a}b", "{a}c"]),
        ("${a,b}", vec!["${a,b}"]),
        ("{a, b}", vec!["{a, b}"]),
        ("{a,b", vec!["{a,b"]),
    ] {
        assert_eq!(braces(word), want, "{word}");
    }
    assert!(braces(&"{a,b}".repeat(1000)).len() <= 2 * 64, "it is bounded");
}
