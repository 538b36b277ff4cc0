mod strict;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::event::{Context, Event, EventData, ToolCall};
use crate::facts;
use crate::hook::{Budget, Descriptor, Hook as _, HookError, Kind};
use crate::outcome::{Action, Outcome};

/// Reads a file of one rule with these lines.
fn rule(lines: &str) -> Result<Rules, RulesError> {
    Rules::read(format!("[[rule]]\nanswer = \"block\"\nreason = \"no\"\n{lines}\n").as_bytes())
}

fn call(tool: &str, input: Value) -> Event {
    let context = Arc::new(Context::new("c", "/w"));
    let mut call = ToolCall::new(tool, input);
    call.facts = Arc::new(facts::of(&call.name, &call.input, Path::new("/w"), Some(Path::new("/home/ada"))));
    Event { context, data: EventData::BeforeToolCall(call) }
}

async fn run(rules: &Rules, event: &Event) -> Result<Outcome, HookError> {
    let descriptor = Descriptor::new("x.rules.toml", Kind::Rules);
    let hook = RulesHook::new(descriptor, rules.clone(), Some("/home/ada".into()));
    hook.run(event, &Budget::for_kind(Kind::Rules)).await
}

async fn blocks(lines: &str, event: &Event) -> bool {
    let rules = rule(lines).unwrap_or_else(|error| panic!("{lines}: {error}"));
    matches!(run(&rules, event).await.unwrap().action, Action::Block(_))
}

#[tokio::test]
async fn a_rule_matches_commands_by_their_words_wherever_a_shell_runs_them() {
    let push = "command = \"git push\"\nwith = [\"--force\", \"-f\", \"+*\"]\n\
                unless = { command = \"git push\", with = \"--dry-run\" }";
    for (line, expected) in [
        ("git push --force", true),
        ("git push -f", true),
        ("git push origin main --force", true),
        ("git push origin +main", true),
        ("git --no-pager push -uf", true),
        ("sudo git push --force", true),
        ("env GIT_SSH=x git push --force", true),
        ("echo main | xargs git push --force origin", true),
        ("sh -c 'git push --force'", true),
        ("bash -lc \"cd x && git push -f\"", true),
        ("cd x; git push --force", true),
        ("echo $(git push --force)", true),
        ("eval 'git push' '--force'", true),
        ("g\"i\"t 'push' --force", true),
        ("/usr/bin/git push --force", true),
        ("timeout 5 git push --force", true),
        ("find . -name .git -exec git push --force {} +", true),
        ("ssh host git push --force", true),
        ("bash <<E\ngit push -f\nE", true),
        ("{git,push,--force}", true),
        ("git push", false),
        ("git push --force-with-lease", false),
        ("git push --follow-tags", false),
        ("git stash push -f", false),
        ("echo git push --force", false),
        ("git commit -m 'git push --force'", false),
        ("grep -rn 'git push --force' docs", false),
        ("git push --force --dry-run", false),
        // An exception for one command excuses no other.
        ("git push --dry-run && git push --force", true),
        ("git push --force && git push --force --dry-run", true),
    ] {
        assert_eq!(blocks(push, &call("Bash", json!({"command": line}))).await, expected, "{line}");
    }
}

#[tokio::test]
async fn a_rule_matches_by_kind_tool_path_and_field() {
    let write = |path: &str| call("Write", json!({"file_path": path, "content": "x"}));
    let shell = || call("bash", json!({"command": "ls"}));
    for (lines, event, expected) in [
        ("", shell(), true),
        ("kind = \"shell\"", shell(), true),
        ("kind = [\"write\", \"edit\"]", shell(), false),
        ("kind = [\"write\", \"edit\"]", write("a"), true),
        ("tool = \"bash\"", shell(), true),
        ("tool = \"Bash\"", shell(), false),
        ("tool = \"mcp__git__*\"", call("mcp__git__push", json!({})), true),
        ("tool = \"mcp__git__push\"", call("MCP:git:push", json!({})), false),
        ("tool = \"mcp__git__*\"", call("mcp__hub__push", json!({})), false),
        ("path = \".env\"", write(".env"), true),
        ("path = \".env\"", write("/w/a/../.env"), true),
        ("path = \".env\"", write(".env.example"), false),
        ("path = \".env*\"\nunless = { path = \"*.example\" }", write(".env.example"), false),
        ("path = \".env*\"\nunless = { path = \"*.example\" }", write(".env.local"), true),
        ("path = \"~/.ssh\"", write("~/.ssh/config"), true),
        ("path = \"~/.ssh\"", write(".ssh/config"), false),
        ("inside = false", write("/etc/passwd"), true),
        ("inside = false", write("src/a"), false),
        ("inside = false", write("../x"), true),
        ("inside = false", shell(), false),
        ("inside = true\nunless = { path = \"src\" }", write("src/a"), false),
        ("field = { \"/tool_input/content\" = \"^x$\" }", write("a"), true),
        ("field = { \"/tool_input/content\" = \"y\" }", write("a"), false),
        ("field = { \"/tool_input/none\" = \"\" }", write("a"), false),
        ("field = { \"/cwd\" = \"^/w\", \"/tool_name\" = \"Write\" }", write("a"), true),
        ("kind = \"shell\"\nunless = { command = \"ls\" }", shell(), false),
        (
            "kind = \"shell\"\nunless = { command = \"ls\" }",
            call("bash", json!({"command": "ls; rm x"})),
            true,
        ),
        ("kind = \"shell\"\nunless = [{ command = \"ls\" }, { tool = \"x\" }]", shell(), false),
        // Input in an odd shape, and shells by other names.
        ("command = \"rm\"", call("bash", json!({"command": {"x": ["rm a"]}})), true),
        ("command = \"rm\"", call("bash", json!("rm a")), true),
        ("command = \"rm\"", call("mcp__box__run", json!({"command": "rm a"})), true),
        ("command = \"rm\"", call("my_terminal", json!({"cmd": "rm a"})), true),
        ("command = \"rm\"", write("rm"), false),
    ] {
        assert_eq!(blocks(lines, &event).await, expected, "{lines}: {:?}", event.tool_call());
    }
}

#[tokio::test]
async fn a_link_is_known_by_its_own_path_and_by_its_target() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().canonicalize().unwrap();
    std::fs::write(dir.join("secrets"), "").unwrap();
    std::os::unix::fs::symlink("secrets", dir.join(".env")).unwrap();
    std::os::unix::fs::symlink("secrets", dir.join("notes")).unwrap();
    for (glob, name, expected) in [
        (".env", ".env", true),
        ("secrets", ".env", true),
        ("secrets", "notes", true),
        (".env", "notes", false),
    ] {
        let mut call = ToolCall::new("Read", json!({"file_path": name}));
        call.facts = Arc::new(facts::of("Read", &call.input, &dir, None));
        let context = Arc::new(Context::new("c", dir.to_str().unwrap()));
        let event = Event { context, data: EventData::BeforeToolCall(call) };
        assert_eq!(blocks(&format!("path = {glob:?}"), &event).await, expected, "{glob} {name}");
    }
}

#[tokio::test]
async fn the_first_block_counts_and_everything_before_it_is_kept() {
    let rules = Rules::read(
        br#"
        [[rule]]
        answer = "inject"
        reason = "Be brief."
        [[rule]]
        name = "slow"
        command = "sleep"
        answer = "warn"
        reason = "This takes long"
        suggest = "wait"
        [[rule]]
        command = "sleep"
        answer = "ask"
        reason = "Sure?"
        [[rule]]
        command = "rm"
        answer = "block"
        reason = "No."
        suggest = "trash FILE"
        [[rule]]
        command = "rm"
        answer = "block"
        reason = "Never."
        "#,
    )
    .unwrap();
    assert!(rules.manifest().answers.inject);
    let outcome = run(&rules, &call("bash", json!({"command": "sleep 5"}))).await.unwrap();
    assert_eq!(outcome.action, Action::Ask("Sure?".to_owned()));
    assert_eq!(outcome.context, ["Be brief."]);
    assert_eq!(outcome.warnings, ["This takes long. Use `wait` instead."]);
    assert_eq!(
        outcome.metadata["rules"],
        json!([
            {"name": "rule 1", "line": 2, "answer": "inject", "on": "bash", "exception": {"tool": "bash"}},
            {"name": "slow", "line": 5, "answer": "warn", "on": "sleep 5", "exception": {"command": "sleep 5"}},
            {"name": "rule 3", "line": 11, "answer": "ask", "on": "sleep 5", "exception": {"command": "sleep 5"}},
        ])
    );
    let outcome = run(&rules, &call("bash", json!({"command": "sleep 5; rm x"}))).await.unwrap();
    assert_eq!(outcome.action, Action::Block("No. Use `trash FILE` instead.".to_owned()));
    let outcome = run(&rules, &call("read", json!({}))).await.unwrap();
    assert_eq!((outcome.action, outcome.context.len()), (Action::Pass, 1));
}

#[tokio::test]
async fn a_counter_waits_for_its_number_of_events_of_one_session_or_input() {
    let count = |per: &str| {
        rule(&format!("command = \"make\"\ncount = {{ times = 3, within = \"10m\", per = {per:?} }}"))
            .unwrap()
    };
    let event = |session: &str, line: &str, minute: u64| {
        let mut event = call("bash", json!({"command": line}));
        let context = Context::new(session, "/w");
        event.context = Arc::new(Context { timestamp_ms: minute * 60_000, ..context });
        event
    };
    let times =
        [("a", "make x", 1), ("a", "make y", 2), ("b", "make x", 3), ("a", "make x", 4), ("a", "ls", 5)];
    let more = [("a", "make x", 6), ("a", "make x", 30)];
    for (per, expected) in [
        ("all", [false, false, true, true, false, true, false]),
        ("session", [false, false, false, true, false, true, false]),
        ("input", [false, false, false, false, false, true, false]),
    ] {
        let hook = RulesHook::new(Descriptor::new("x", Kind::Rules), count(per), None);
        for ((session, line, minute), expected) in times.iter().chain(&more).zip(expected) {
            let outcome =
                hook.run(&event(session, line, *minute), &Budget::for_kind(Kind::Rules)).await.unwrap();
            let is_block = matches!(outcome.action, Action::Block(_));
            assert_eq!(is_block, expected, "{per} {session} {line} {minute}");
        }
    }
}

#[tokio::test]
async fn a_line_that_is_not_read_to_its_end_is_a_failure_unless_a_rule_blocks_it() {
    let deep = "eval ".repeat(40);
    let rules = rule("command = \"rm\"").unwrap();
    let error = run(&rules, &call("bash", json!({"command": format!("{deep}ls")}))).await.unwrap_err();
    assert!(error.message.contains("too many commands within commands"), "{error}");
    let outcome = run(&rules, &call("bash", json!({"command": format!("rm x; {deep}ls")}))).await.unwrap();
    assert!(matches!(outcome.action, Action::Block(_)));
    let passed = run(&rule("kind = \"write\"\ncommand = \"rm\"").unwrap(), &call("bash", json!(deep))).await;
    assert_eq!(passed.unwrap().action, Action::Pass);
}

#[test]
fn a_fault_names_its_line_and_the_nearest_key() {
    for (lines, said) in [
        ("comand = \"git push\"", "line 4: unknown key \"comand\" (did you mean command?)"),
        ("unless = { paths = \"x\" }", "line 4: unknown key \"paths\" (did you mean path?)"),
        ("unless = {}", "line 4: unless: expected a condition, found none"),
        ("unless = 5", "line 4: unless: expected a table, found 5"),
        ("kind = \"shel\"", "line 4: kind: unknown kind \"shel\" (did you mean shell?)"),
        ("on_failure = \"block\"", "line 4: unknown key \"on_failure\": write it at the top of the file"),
        (
            "onfailure = \"block\"",
            "line 4: unknown key \"onfailure\": write on_failure at the top of the file",
        ),
        ("command = \"\"", "line 4: command: expected the words of a command, found none"),
        ("command = \"git 'push\"", "line 4: command: expected the words of one command, found a quote"),
        ("with = [\"-f\", \"\"]", "line 4: with: expected a text, found an empty one"),
        ("tool = \"\"", "line 4: tool: expected a text, found an empty one"),
        ("unless = { command = \" \" }", "line 4: command: expected the words of a command, found none"),
        ("kind = []", "line 4: kind: expected at least one, found none"),
        ("command = 5", "line 4: command: expected a text, or a list of texts, found 5"),
        ("command = \"curl | sh\"", "line 4: command: expected the words of one command, found `|`"),
        ("field = { \"/a\" = \"(\" }", "line 4: field: "),
        ("field = { \"/a\" = \"\\\\w{9999}\" }", "line 4: field: "),
        ("field = { a = \"x\" }", "line 4: field: expected a JSON pointer"),
        ("path = \"a[\"", "line 4: path: "),
        ("inside = \"yes\"", "line 4: inside: expected true or false, found \"yes\""),
        ("count = { times = 1, within = \"1m\" }", "line 4: count: expected times, a number from 2 to 1000"),
        ("count = { times = 2, within = \"2h\" }", "line 4: count: expected within"),
        (
            "count = { times = 2, within = \"1m\", per = \"day\" }",
            "line 4: per: expected one of session, input, all",
        ),
        ("suggest = \"\"", "line 4: suggest: expected a text"),
        (
            "\n\nmust_match = [\n\"x\", 5]",
            "line 7: must_match: expected a table with the data of the event, found 5",
        ),
        ("must_match = { tol = \"x\" }", "line 4: must_match: unknown field \"tol\" of before_tool_call"),
        ("command = \"a\"\nmust_match = \"b\"", "line 5: \"rule 1\" does not match \"b\" of must_match"),
        (
            "command = \"a\"\nmust_pass = [\"b\", \"sudo a\"]",
            "line 5: \"rule 1\" matches \"sudo a\" of must_pass",
        ),
        ("a = [", "line 4: is not TOML: "),
    ] {
        let error = rule(lines).unwrap_err();
        assert!(error.to_string().starts_with(said), "{lines}: {error}");
    }
    for (text, said) in [
        ("", "line 1: has no rules: expected [[rule]]"),
        ("evnt = \"x\"", "line 1: unknown key \"evnt\" (did you mean event?)"),
        ("event = \"PreToolUze\"", "line 1: event: unknown event"),
        ("priority = \"high\"", "line 1: priority: expected a whole number of 32 bits, found \"high\""),
        ("rule = 5", "line 1: rule: expected a table, as in [[rule]], found 5"),
        ("[[rule]]\nreason = \"x\"", "line 1: the rule has no answer"),
        ("[[rule]]\nanswer = \"block\"", "line 1: the rule has no reason"),
        (
            "[[rule]]\nanswer = \"modify\"\nreason = \"x\"",
            "line 2: answer: expected one of block, ask, warn, inject",
        ),
        (
            "event = \"session_start\"\n[[rule]]\nanswer = \"block\"\nreason = \"x\"",
            "line 2: answer: session_start cannot be blocked",
        ),
        (
            "event = \"turn_end\"\n[[rule]]\nanswer = \"warn\"\nreason = \"x\"\nkind = \"shell\"",
            "line 2: kind: turn_end has no tool call",
        ),
        (
            "[[rule]]\nname = \"a\"\nanswer = \"warn\"\nreason = \"x\"\n[[rule]]\nname = \"a\"\nanswer = \"warn\"\nreason = \"x\"",
            "line 5: name: two rules are called \"a\"",
        ),
    ] {
        let error = Rules::read(text.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with(said), "{text}: {error}");
    }
}

#[test]
fn a_name_that_is_nearly_that_of_a_rules_file_is_known() {
    for (name, expected) in [
        ("x.rule.toml", true),
        ("X.RULES.TOML", true),
        ("x.Rules.toml", true),
        ("x.rules.tml", true),
        ("x.rules.yaml", true),
        ("x-rules.toml", true),
        ("rules.toml", true),
        ("x.rules.toml", false),
        ("x.toml", false),
        ("x.rules.toml.disable", false),
        ("x.tests.json", false),
        ("guard.sh", false),
        ("\u{e9}.\u{e9}.\u{e9}", false),
    ] {
        assert_eq!(is_nearly_rules(name), expected, "{name}");
    }
}

#[test]
fn a_hostile_file_is_refused_at_once() {
    let rule = "[[rule]]\nanswer = \"warn\"\nreason = \"x\"\n";
    let globs = |count: usize| format!("{rule}path = {:?}\n", vec!["a"; count]);
    let regexes: String = (0..65).map(|it| format!("\"/{it}\" = '\\w{{3}}'\n")).collect();
    for (text, said) in [
        (rule.repeat(10_000), "bytes"),
        (rule.repeat(257), "has 257 rules, more than 256"),
        (format!("x = {}{}", "[".repeat(10_000), "]".repeat(10_000)), "line 1: "),
        (format!("x = {}1{}", "{a=".repeat(10_000), "}".repeat(10_000)), "line 1: "),
        (format!("{} = 1", vec!["a"; 10_000].join(".")), "line 1: "),
        (globs(257), "the file has too many globs"),
        (format!("{rule}[rule.field]\n{regexes}"), "the file has too many regular expressions"),
        (format!("{rule}command = 'a'\nmust_pass = {:?}", vec!["x"; 1_025]), "has more than 1024 examples"),
        (format!("{rule}field = {{ \"/a\" = '{}' }}", "(".repeat(4_000)), "field: "),
        (format!("{rule}field = {{ \"/a\" = '{}' }}", "a".repeat(5_000)), "has more than 4096 bytes"),
        (format!("{rule}path = '{}a{}'", "{".repeat(500), "}".repeat(500)), "path: "),
        (format!("{rule}command = 'a'\nmust_match = '{}'", "$(".repeat(20_000)), "cannot be read to its end"),
    ] {
        let error = Rules::read(text.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(said), "{said}: {error:.300}");
    }
    let error = Rules::read(b"\xff\xfe\x00").unwrap_err();
    assert_eq!(error.to_string(), "line 1: is not UTF-8 text");
}

#[tokio::test]
async fn a_pattern_that_backtracks_elsewhere_takes_linear_time() {
    let rules = rule(
        "field = { \"/tool_input/command\" = '(a+)+$' }\nmust_pass = \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"",
    );
    let outcome =
        run(&rules.unwrap(), &call("bash", json!({"command": "a".repeat(100_000) + "b"}))).await.unwrap();
    assert_eq!(outcome.action, Action::Pass);
}

#[test]
fn examples_are_command_lines_messages_calls_and_events() {
    for text in [
        "[[rule]]\nanswer = \"block\"\nreason = \"x\"\npath = \"~/.aws\"\n\
         must_match = { tool = \"Read\", input = { file_path = \"../.aws/credentials\" } }\n\
         must_pass = [{ tool = \"Read\", input = { file_path = \".aws/x\" } }, \"cat x\"]",
        "event = \"user_message_send\"\n[[rule]]\nanswer = \"warn\"\nreason = \"x\"\n\
         field = { \"/message\" = '(?i)password' }\nmust_match = \"My Password is\"\nmust_pass = \"hi\"",
        "event = \"PostToolUse\"\n[[rule]]\nanswer = \"inject\"\nreason = \"x\"\ncommand = \"make\"\n\
         field = { \"/tool_output/error\" = \"E1\" }\n\
         must_match = { tool = \"bash\", input = { command = \"make\" }, output = { error = \"E1\" } }\n\
         must_pass = \"make\"",
        "event = \"session_start\"\n[[rule]]\nanswer = \"inject\"\nreason = \"x\"\n\
         field = { \"/source\" = \"startup\" }\nmust_match = { source = \"startup\" }\nmust_pass = { source = \"resume\" }",
        "[[rule]]\nanswer = \"block\"\nreason = \"x\"\ninside = false\n\
         must_match = { tool = \"Write\", input = { file_path = \"/etc/x\" } }\n\
         must_pass = { tool = \"Write\", input = { file_path = \"x\" } }",
    ] {
        Rules::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    }
}
