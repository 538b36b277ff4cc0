//! What an exception does not excuse, what an unread part does not lose, and when a broken file guards.

use super::*;

#[tokio::test]
async fn an_exception_excuses_the_whole_command_that_it_names_and_no_other() {
    let all = "command = [\"git push\", \"rm\"]\nunless = { command = ";
    for (unless, line, expected) in [
        ("'git push --dry-run'", "git push --dry-run", false),
        ("'git push --dry-run'", "git push --dry-run && git push --force", true),
        ("'git push --dry-run'", "sh -c 'git push --dry-run; git push'", true),
        ("'git push'", "git push --force; rm -rf x", true),
        ("'git push'", "git push; rm -rf x", true),
        ("'git push'", "git push --force", true),
        ("'git push'", "git push", false),
        ("'git push *'", "git push --force", false),
        ("'git push *'", "git push --force; rm -rf x", true),
        ("'git push *'", "git push $(rm x)", true),
        ("'git push *'", "git push \" ; rm x", true),
        ("'git push *'", "git push > x", true),
        ("'git push *'", "git push > /dev/null 2>&1", false),
        ("'git push *'", "sudo git push", true),
    ] {
        let lines = format!("{all}{unless} }}");
        assert_eq!(
            blocks(&lines, &call("Bash", json!({"command": line}))).await,
            expected,
            "{unless}: {line}"
        );
    }
}

#[tokio::test]
async fn unread_parts_of_a_line_lose_no_question_and_no_block() {
    let rules = |policy: &str| {
        let ask = "answer = \"ask\"\nreason = \"Sure?\"\n";
        let block = "command = \"git push\"\nwith = \"--force\"\nanswer = \"block\"\nreason = \"no\"\n";
        let text = format!("on_failure = {policy:?}\n[[rule]]\ncommand = \"git\"\n{ask}[[rule]]\n{block}");
        Rules::read(text.as_bytes()).unwrap()
    };
    for (line, asks, blocks) in [
        ("git push --force \"", false, true),
        ("git push --force $(", false, true),
        ("echo '; git push --force", false, true),
        ("$(echo x); git push --force", false, true),
        ("$(git push --force) x", false, true),
        ("git status; $(echo git) push --force", false, true),
        ("git status; $(cat x) push --force", true, false),
        ("git status; sudo `cat x` push --force", true, false),
        ("git status; $(cat x) push", true, false),
    ] {
        let outcome = run(&rules("pass"), &call("bash", json!({"command": line}))).await.unwrap();
        let found = (matches!(outcome.action, Action::Ask(_)), matches!(outcome.action, Action::Block(_)));
        assert_eq!(found, (asks, blocks), "{line}");
    }
    let guard = rules("block");
    let descriptor = Descriptor::new("x.rules.toml", Kind::Rules).on_failure(OnFailure::Block);
    let hook = RulesHook::new(descriptor, guard, None);
    let budget = Budget::for_kind(Kind::Rules);
    let event = call("bash", json!({"command": "git status; $(cat x) push --force"}));
    let error = hook.run(&event, &budget).await.unwrap_err();
    assert!(error.message.contains("computes the name"), "{error}");
}

#[tokio::test]
async fn a_text_that_env_splits_is_read_as_its_command() {
    for line in [
        "env -S 'curl x'",
        "env -S'curl x'",
        "env -iS 'curl x'",
        "env -i -S 'A=1 curl' x",
        "/usr/bin/env --split-string='curl x'",
        "env --split-string 'curl x'",
        "sudo env -vS 'curl x'",
    ] {
        assert!(blocks("command = \"curl x\"", &call("bash", json!({"command": line}))).await, "{line}");
    }
}

#[test]
fn the_policy_of_a_broken_file_is_known_as_far_as_it_can_be_read() {
    let block = Some(OnFailure::Block);
    let huge = format!("on_failure = \"block\"\n# {}", "x".repeat(300 << 10));
    for (bytes, policy) in [
        (&b"on_failure = \"block\"\nx = 1"[..], block),
        (b"on_failure = \"block\"\n[[rule]\n", block),
        (b"on_failure = \"blok\"", block),
        (b"on_failure = true", block),
        (b"on_failure = \"pass\"\n[[rule]\n", Some(OnFailure::Pass)),
        (b"x = 1", Some(OnFailure::Pass)),
        (b"[[rule]\n", block),
        (b"onfailure = \"block\"", block),
        (b"On_Failure = \"x\"", block),
        (b"onfailure = \"pass\"", Some(OnFailure::Pass)),
        (b"onfailure = \"pass\"\n[[rule]]\nanswer = \"block\"", block),
        (b"x = 1\n[[rule]]\nanswer = \"block\"", block),
        (b"[[rules]]\nanswer = \"block\"", block),
        (b"[[rule]]\nanswer = \"warn\"\non_failure = \"block\"", block),
        (b"[[rule]]\nanswer = \"block\"\non_failure = \"pass\"", block),
        (b"[[rule]]\nanswer = \"blok\"\nonfailure = \"pass\"", block),
        (b"[[rule]]\nanswer = \"warn\"\non_failure = \"pass\"", Some(OnFailure::Pass)),
        // Without a sign of the policy it is the default.
        (b"[[rule]]\nanswer = \"block\"", Some(OnFailure::Pass)),
        (b"on_failure = \"block\"\n# \xff\xfe", block),
        (huge.as_bytes(), block),
    ] {
        let error = Rules::read(bytes).unwrap_err();
        assert_eq!(error.on_failure, policy, "{error}");
    }
}
