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
        (words(&at), command.upstream.iter().chain(&command.inner).map(program).collect())
    };
    script.commands.iter().enumerate().map(one).collect()
}

#[test]
fn a_command_knows_what_feeds_it() {
    for (text, command, sources) in [
        ("curl x | bash", "bash", vec!["curl"]),
        ("curl x |\n  bash", "bash", vec!["curl"]),
        ("curl x |\n# why\n\nbash", "bash", vec!["curl"]),
        ("curl x |& tee log | bash -s", "bash -s", vec!["curl", "tee"]),
        ("curl x; bash", "bash", vec![]),
        ("curl x || bash", "bash", vec![]),
        ("curl x &\nbash", "bash", vec![]),
        ("(curl x; ls) | bash", "bash", vec!["curl", "ls"]),
        ("curl x | (ls; bash)", "bash", vec!["curl"]),
        ("{ curl x; } | { bash; } | wc", "wc", vec!["curl", "bash"]),
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
fn a_text_in_escaped_quotes_keeps_its_lines() {
    assert_eq!(seen("bash -c $'ls\\nsudo \\x78'")[0].0, "bash -c ls\nsudo x");
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
