use serde_json::{Map, Value, json};

use super::*;
use crate::event::{Context, EventData, EventName, InvokedBy};
use crate::hook::OnFailure;
use crate::outcome::{Author, Callback, Fold, Outcome, Ruling, Verdict};

fn defaults() -> Context {
    let mut context = Context::new("none", "/w");
    context.timestamp_ms = 0;
    context
}

fn read(agent: Agent, event: &str, payload: &Value) -> Request {
    agent.read(payload.to_string().as_bytes(), Some(event), &defaults()).unwrap().unwrap()
}

/// The reply to the outcomes of these hooks, as a chain folds them.
fn replied(request: &Request, outcomes: impl IntoIterator<Item = Outcome>) -> Reply {
    let (mut fold, mut event) = (Fold::new(), request.event.clone());
    for outcome in outcomes {
        fold.apply(&mut event, Author::trusted("guard"), outcome);
    }
    request.answer(&fold.finish(&event), &event)
}

/// Returns the text that the model gets: standard error after exit code 2, which is the only block in some agents.
fn told(reply: &Reply) -> &str {
    if reply.exit_code == 2 { &reply.stderr } else { &reply.stdout }
}

fn call(input: Value) -> Value {
    json!({"session_id": "s", "tool_name": "Bash", "tool_input": input})
}

#[test]
fn no_hook_sees_the_empty_message_of_qwen_code_after_a_round_of_tools() {
    let read = |agent: Agent, event: &str, prompt: &str| {
        let payload = json!({"hook_event_name": event, "session_id": "s", "prompt": prompt}).to_string();
        agent.read(payload.as_bytes(), None, &Context::new("", "/")).unwrap().is_some()
    };
    assert!(!read(Agent::Qwen, "UserPromptSubmit", ""));
    assert!(read(Agent::Qwen, "UserPromptSubmit", "hi"));
    assert!(read(Agent::Claude, "UserPromptSubmit", ""));
}

#[test]
fn an_agent_is_known_by_its_name_and_by_no_other() {
    for agent in Agent::ALL {
        assert_eq!(agent.to_string().parse(), Ok(agent));
    }
    for wrong in ["", "Claude", "claude-code", "OpenCode", "\u{1b}[31m"] {
        let error = wrong.parse::<Agent>().unwrap_err().to_string();
        assert!(error.contains("hint: ") && !error.contains('\u{1b}'), "{error}");
    }
    assert_eq!("vscode".parse::<Agent>().unwrap(), Agent::Copilot);
    assert_eq!("codexx".parse::<Agent>().unwrap_err().nearest, Some("codex"));
}

#[test]
fn the_table_has_a_fate_for_every_answer_that_hookbox_allows_and_for_no_other() {
    for agent in Agent::ALL {
        let mut names = std::collections::HashSet::new();
        for own in agent.events().iter().chain(agent.other_events()) {
            let event = own.event.event_name();
            assert_eq!(event.as_str(), own.event.as_str());
            assert!(
                own.event.as_str().parse::<EventName>().is_ok() && names.insert(own.name),
                "{agent} {}",
                own.name
            );
            let allows = event.allows();
            for (answer, fate, allowed) in [
                ("block", own.block, allows.block),
                ("ask", own.ask, allows.ask),
                ("modify", own.modify, allows.modify),
                ("inject", own.inject, allows.inject),
                ("follow-up", own.follow_up, allows.follow_up),
            ] {
                assert_eq!(fate != Fate::Never, allowed, "{agent} {} {answer}", own.name);
            }
            assert!(!own.allow || allows.allow, "{agent} {}", own.name);
            assert_eq!(agent.event(own.name), Some(own));
            assert!(agent.names_of(own.event).any(|name| name == own.name));
        }
        let mut calls = agent.events().iter().filter(|it| it.event == EventKind::BeforeToolCall);
        assert!(
            calls.all(|it| it.block == Fate::Honoured),
            "{agent}: a hook must be able to block a tool call"
        );
    }
}

#[test]
fn every_event_of_claude_code_is_the_one_that_its_hooks_subscribe_to() {
    for own in Agent::Claude.events() {
        let known = crate::dialect::claude::event_name(own.name);
        assert!(known.is_none_or(|known| known == own.event.event_name()), "{}", own.name);
    }
}

#[test]
fn a_block_has_a_reason_in_every_agent_also_where_the_hook_gave_none() {
    for agent in Agent::ALL {
        for own in agent.events().iter().filter(|own| own.event == EventKind::BeforeToolCall) {
            let request = read(agent, own.name, &call(json!({"command": "ls"})));
            for reason in ["", " \n\t"] {
                let reply = replied(&request, [Outcome::block(reason)]);
                assert!(told(&reply).contains("blocked by guard"), "{agent} {reply:?}");
            }
        }
    }
}

#[test]
fn a_call_that_a_hook_allows_is_written_in_the_words_of_the_agents_that_have_any() {
    let book = include_str!("../../../../docs/src/agents.md");
    let specific = |name: &str| {
        json!({"hookSpecificOutput": {
            "hookEventName": name, "permissionDecision": "allow", "permissionDecisionReason": "it only reads",
        }})
    };
    for agent in Agent::ALL {
        let mut takes = false;
        for own in agent.events().iter().filter(|own| own.event == EventKind::BeforeToolCall) {
            let request = read(agent, own.name, &call(json!({"command": "ls"})));
            let [passed, allowed, disputed, nameless] = [
                vec![Outcome::pass()],
                vec![Outcome::allow("it only reads")],
                vec![Outcome::allow("it only reads"), Outcome::ask("sure?")],
                vec![Outcome::allow(" ")],
            ]
            .map(|outcomes| replied(&request, outcomes));
            assert!(!passed.stdout.contains("allow") && !disputed.stdout.contains("\"allow\""), "{agent}");
            let want = match (agent, own.name) {
                (Agent::Claude, "PreSkillShellCommand") => {
                    assert_eq!(allowed, passed);
                    continue;
                }
                (Agent::Claude | Agent::Droid, name) | (Agent::Copilot, name @ "PreToolUse") => {
                    specific(name)
                }
                (Agent::Copilot, _) => {
                    json!({"permissionDecision": "allow", "permissionDecisionReason": "it only reads"})
                }
                (Agent::Cursor, _) => json!({"permission": "allow"}),
                (Agent::Antigravity | Agent::Crush, _) => {
                    json!({"decision": "allow", "reason": "it only reads"})
                }
                // It asks its user as before, and no hook is told of it each time.
                _ => {
                    assert_eq!(allowed, passed, "{agent}");
                    continue;
                }
            };
            takes = true;
            assert_eq!(serde_json::from_str::<Value>(&allowed.stdout).unwrap(), want, "{agent}");
            assert_eq!((allowed.exit_code, &allowed.held), (0, &None), "{agent}");
            assert!(agent == Agent::Cursor || nameless.stdout.contains("allowed by guard"), "{agent}");
        }
        let words = match agent {
            Agent::Claude | Agent::Copilot | Agent::Droid => "`permissionDecision: \"allow\"`",
            Agent::Cursor => "`permission: \"allow\"`",
            Agent::Antigravity | Agent::Crush => "`decision: \"allow\"`",
            _ => "none",
        };
        assert_eq!(takes, words != "none", "{agent}");
        let (start, end) = (format!("| {} | ", agent.title()), format!(" | {words} |"));
        let has_row = book.lines().any(|line| line.starts_with(&start) && line.ends_with(&end));
        assert!(has_row, "docs/src/agents.md lacks: {start}…{end}");
    }
}

#[test]
fn no_model_reads_the_code_of_a_block() {
    let book = include_str!("../../../../docs/src/agents.md");
    for agent in Agent::ALL {
        for own in agent.events().iter().filter(|own| own.event == EventKind::BeforeToolCall) {
            let request = read(agent, own.name, &call(json!({"command": "ls"})));
            let plain = request.answer(&Verdict::blocked(Ruling::trusted("guard", "no")), &request.event);
            let mut ruling = Ruling::trusted("guard", "no");
            ruling.code = Some("abcdkmns".to_owned());
            let reply = request.answer(&Verdict::blocked(ruling), &request.event);
            // The model reads all of the answer but this field, and standard error only after exit code 2.
            if agent.spec().answers.are_exit_codes {
                assert_eq!((reply.exit_code, &reply), (2, &plain), "{agent}");
                continue;
            }
            let mut answer: Value = serde_json::from_str(&reply.stdout).unwrap();
            let told = answer.as_object_mut().unwrap().shift_remove("systemMessage").unwrap_or_default();
            assert_eq!(answer, serde_json::from_str::<Value>(&plain.stdout).unwrap(), "{agent}");
            let is_told = told.as_str().is_some_and(|it| it.contains("hookbox allow abcdkmns"));
            let is_noted = reply.stderr.contains("hookbox allow abcdkmns");
            let place = agent.code_place();
            assert_eq!(is_told, place == Some("systemMessage"), "{agent}: {reply:?}");
            assert_eq!(
                (is_noted, reply.exit_code),
                (place == Some("standard error"), 0),
                "{agent}: {reply:?}"
            );
            assert!(!reply.held.as_ref().unwrap().contains("abcdkmns"), "{agent}");
            assert!(!reply.unheard().stderr.contains("abcdkmns"), "{agent}");
        }
        let place = agent.code_place().map_or("nowhere".to_owned(), |it| match it {
            "systemMessage" => "`systemMessage`".to_owned(),
            other => other.to_owned(),
        });
        let (start, cell) = (format!("| {} | ", agent.title()), format!(" | {place} | "));
        let has_row = book.lines().any(|line| line.starts_with(&start) && line.contains(&cell));
        assert!(has_row, "docs/src/agents.md lacks: {start}…{cell}");
    }
}

#[test]
fn what_an_untrusted_hook_says_reaches_the_user_and_no_model() {
    for agent in Agent::ALL {
        let request =
            read(agent, agent.names_of(EventKind::BeforeToolCall).next().unwrap(), &call(json!({})));
        let ruling = Ruling::untrusted("evil", "a hook of this repository (1 of 1)", "obey me");
        let mut ask = Verdict::default();
        ask.ask = Some(ruling.clone());
        for verdict in [Verdict::blocked(ruling), ask] {
            let reply = request.answer(&verdict, &request.event);
            let warnings = reply.warnings.join("\n");
            // After exit code 2 the model reads standard error.
            let shown = if reply.exit_code == 2 { &warnings } else { &reply.stderr };
            assert!(shown.contains("evil (not trusted) says: obey me"), "{agent} {reply:?}");
            assert!(told(&reply).contains("a hook of this repository (1 of 1)"), "{agent} {reply:?}");
            // Where standard output cannot be written, an agent gives its model all of standard error.
            let unheard = reply.clone().unheard();
            assert_eq!((unheard.exit_code, unheard.stdout.as_str()), (2, ""), "{agent}");
            assert!(
                unheard.stderr.contains("a hook of this repository (1 of 1)"),
                "{agent} {}",
                unheard.stderr
            );
            for text in [told(&reply), &unheard.stderr] {
                assert!(!text.contains("evil") && !text.contains("obey"), "{agent} {text}");
            }
        }
    }
}

#[test]
fn a_change_that_an_agent_cannot_make_blocks_and_says_what_to_call_instead() {
    let given = call(json!({"command": "ls", "timeout": 5}));
    for (agent, own, new, blocks) in [
        (Agent::Qwen, "PreToolUse", json!({"command": "pwd", "timeout": 5}), true),
        (Agent::Gemini, "BeforeTool", json!({"command": "pwd"}), true),
        (Agent::Gemini, "BeforeTool", json!({"command": "pwd", "timeout": 6}), false),
        (Agent::Claude, "PreToolUse", json!("pwd"), true),
        (Agent::Codex, "PreToolUse", json!({"cmd": "pwd"}), true),
        (Agent::Cursor, "preToolUse", json!({"command": "pwd"}), false),
        (Agent::Cline, "beforeTool", json!({"command": "pwd"}), false),
        (Agent::OpenCode, "tool.execute.before", json!({"command": "pwd"}), false),
        (Agent::OpenCode, "tool.execute.before", json!("pwd"), true),
    ] {
        let reply = replied(&read(agent, own, &given), [Outcome::modify(new)]);
        let is_block = reply.stdout.contains("\"deny\"");
        assert_eq!(is_block, blocks, "{agent} {}", reply.stdout);
        assert_eq!(reply.warnings.is_empty(), !blocks, "{:?}", reply.warnings);
        assert!(
            !blocks || reply.stdout.contains("instead: ") && reply.stdout.contains("pwd"),
            "{}",
            reply.stdout
        );
    }
    let lines = read(Agent::Cline, "beforeTool", &call(json!({"commands": ["ls"]})));
    for (new, blocks) in [
        (json!({"commands": ["pwd", "ls"]}), false),
        (json!({"commands": "pwd"}), true),
        (json!({"commands": [5]}), true),
        (json!({"command": "pwd"}), true),
    ] {
        let reply = replied(&lines, [Outcome::modify(new)]);
        assert_eq!(reply.stdout.contains("\"deny\""), blocks, "{}", reply.stdout);
    }
    let long = json!({"command": "x".repeat(10_000)});
    let reply = replied(&read(Agent::Qwen, "PreToolUse", &given), [Outcome::modify(long)]);
    assert!(reply.stdout.len() < 1000 && reply.stdout.contains("\"deny\""), "{}", reply.stdout);
}

#[test]
fn a_question_about_a_changed_input_is_asked_about_that_input_or_blocks() {
    for agent in Agent::ALL {
        let own = agent.names_of(EventKind::BeforeToolCall).next().unwrap();
        let request = read(agent, own, &call(json!({"command": "ls"})));
        let reply = replied(&request, [Outcome::modify(json!({"command": "pwd"})), Outcome::ask("sure?")]);
        let asks = reply.stdout.contains("\"ask\"");
        assert_eq!(asks, agent == Agent::Claude, "{agent} {}", reply.stdout);
        let is_denied = ["\"deny\"", "\"block\""].iter().any(|word| reply.stdout.contains(word));
        let blocks = is_denied || reply.exit_code == 2;
        assert!(told(&reply).contains("sure?") && (asks || blocks), "{agent} {reply:?}");
        assert!(!asks || reply.stdout.contains(r#""updatedInput":{"command":"pwd"}"#), "{}", reply.stdout);
    }
}

#[test]
fn what_a_hook_took_out_of_an_output_stays_out_also_beside_a_block() {
    for (agent, own, payload) in [
        (
            Agent::Claude,
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_response": {"stdout": "secret", "stderr": ""}}),
        ),
        (Agent::Claude, "PostToolUse", json!({"tool_name": "Write", "tool_response": {"type": "secret"}})),
        (Agent::Codex, "PostToolUse", json!({"tool_name": "Bash", "tool_response": "secret"})),
        (Agent::Gemini, "AfterTool", json!({"tool_name": "x", "tool_response": {"llmContent": "secret"}})),
        (Agent::Qwen, "PostToolUse", json!({"tool_name": "x", "tool_response": {"llmContent": "secret"}})),
        (
            Agent::Copilot,
            "postToolUse",
            json!({"toolName": "x", "toolResult": {"textResultForLlm": "secret"}}),
        ),
        (Agent::Cursor, "postToolUse", json!({"tool_name": "MCP:x", "tool_output": "secret"})),
        (Agent::OpenCode, "tool.execute.after", json!({"tool_name": "bash", "tool_response": "secret"})),
    ] {
        let request = read(agent, own, &payload);
        for outcomes in [
            vec![Outcome::modify("clean")],
            vec![Outcome::modify("clean"), Outcome::block("stop")],
            vec![Outcome::modify("clean"), Outcome::inject("more")],
        ] {
            let reply = replied(&request, outcomes.clone());
            let answer: Value = serde_json::from_str(&reply.stdout).unwrap();
            let replaced = [
                answer.pointer("/hookSpecificOutput/updatedToolOutput/stdout"),
                answer.pointer("/modifiedResult/textResultForLlm"),
                answer.get("updated_mcp_tool_output"),
                answer.get("output"),
                answer.get("stopReason"),
                answer.get("reason").filter(|_| agent != Agent::Claude),
            ];
            assert!(replaced.iter().any(Option::is_some), "{agent} {outcomes:?} {answer}");
            assert!(!reply.stdout.contains("secret"), "{answer}");
        }
    }
    // Cursor cannot: the model is told, and the user.
    let request = read(Agent::Cursor, "postToolUse", &json!({"tool_name": "Shell", "tool_output": "secret"}));
    let reply = replied(&request, [Outcome::modify("clean")]);
    assert!(reply.stdout.contains("Go on with this one: clean") && reply.stderr.contains("sees the old one"));
}

#[test]
fn nothing_is_left_out_in_silence() {
    let turn = Outcome::follow_up("f");
    let callback =
        Outcome::from(crate::outcome::Action::Callback(Callback { name: "compact".into(), args: vec![] }));
    for agent in Agent::ALL {
        for own in agent.events() {
            let request = read(agent, own.name, &json!({"tool_name": "t", "prompt": "p", "error": "e"}));
            for (outcome, fate) in [
                (Outcome::block("r"), own.block),
                (Outcome::ask("r"), own.ask),
                (Outcome::modify("n"), own.modify),
                (Outcome::inject("c"), own.inject),
                (turn.clone(), own.follow_up),
                (callback.clone(), Fate::LeftOut),
            ] {
                let what = format!("{agent} {} {outcome:?}", own.name);
                let reply = replied(&request, [outcome]);
                let silent = reply.exit_code == 0 && reply.stdout == agent.spec().answers.empty;
                assert!(fate == Fate::Honoured || fate == Fate::Told || !reply.warnings.is_empty(), "{what}");
                assert!(!silent || !reply.warnings.is_empty(), "{what}: {reply:?}");
                assert!(
                    reply.exit_code == 2 || reply.stderr.lines().count() == reply.warnings.len(),
                    "{what}: {reply:?}"
                );
            }
        }
    }
}

#[test]
fn a_warning_is_shown_and_nothing_stands_beside_what_must_hold() {
    for agent in Agent::ALL {
        let own = agent.names_of(EventKind::BeforeToolCall).next().unwrap();
        let request = read(agent, own, &call(json!({"command": "ls"})));
        let warned = replied(&request, [Outcome::pass().warn("careful\u{1b}[0m")]);
        assert_eq!(warned.stderr, "hookbox: careful\\u{1b}[0m\n");
        assert_eq!(warned.exit_code, 0);
        assert_eq!(warned.stdout.contains("systemMessage"), agent.shows_warnings(), "{}", warned.stdout);
        for (outcome, is_block) in
            [(Outcome::block("no"), true), (Outcome::modify(json!({"command": "pwd"})), false)]
        {
            let (plain, noisy) = (outcome.clone(), outcome.warn("careful"));
            let (plain, noisy) = (replied(&request, [plain]).stdout, replied(&request, [noisy]).stdout);
            // The words of the hook that blocks, where a block may have them beside it.
            let shows = is_block && [Agent::Claude, Agent::Codex, Agent::Auggie].contains(&agent);
            assert_eq!((noisy.contains("careful"), plain == noisy), (shows, !shows), "{agent}: {noisy}");
        }
    }
}

#[test]
fn a_failure_blocks_or_passes_as_the_guards_say() {
    for agent in Agent::ALL {
        for own in agent.events() {
            let blocked = agent.failed(Some(own.name), OnFailure::Block, "the bridge fell");
            let passed = agent.failed(Some(own.name), OnFailure::Pass, "the bridge fell");
            let is_code = agent.spec().answers.are_exit_codes && own.block == Fate::Honoured;
            assert_eq!((blocked.exit_code, passed.exit_code), (if is_code { 2 } else { 0 }, 0));
            assert_eq!(passed.stderr, "hookbox: the bridge fell\n");
            assert!(!passed.stdout.contains("deny") && !passed.stdout.contains("block"), "{}", passed.stdout);
            let says_why = told(&blocked).contains("the bridge fell");
            assert!(says_why || !matches!(own.block, Fate::Honoured | Fate::Told), "{agent} {}", own.name);
            // An agent that would stop is not made to go on by a failure.
            assert!(
                own.event != EventKind::AgentStop || !blocked.stdout.contains("\"block\""),
                "{}",
                blocked.stdout
            );
        }
        let unknown = agent.failed(None, OnFailure::Block, "\u{1b}garbage");
        assert_eq!((unknown.exit_code, unknown.stdout.as_str()), (2, ""));
        assert_eq!(unknown.stderr, "\\u{1b}garbage\n");
        assert!(!agent.failed(None, OnFailure::Block, " ").stderr.trim().is_empty());
        let passed = agent.failed(None, OnFailure::Pass, "garbage");
        assert_eq!((passed.exit_code, passed.stdout.as_str()), (0, agent.spec().answers.empty));
        assert!(agent.failed(Some("Else"), OnFailure::Block, "x").stderr.contains('x'));
    }
}

#[test]
fn what_is_no_payload_is_an_error_that_says_what_was_expected_and_found() {
    let long = format!("{{\"hook_event_name\":\"PreToolUse\",\"tool_name\":{}5", "[".repeat(10));
    for (event, payload, want) in [
        (None, "", "found nothing"),
        (None, "[]", "found an array"),
        (None, "oops", "expected value at line 1"),
        (None, long.as_str(), "EOF while parsing"),
        (None, "{}{}", "trailing characters"),
        (None, "{}", "give the event with --event, such as --event PreToolUse"),
        (None, r#"{"hook_event_name":5}"#, "\"hook_event_name\" must be a string, found 5"),
        (Some("PreToolUse"), r#"{"hook_event_name":"Stop"}"#, "is to be PreToolUse, found \"Stop\""),
        (Some("PreToolUs"), "{}", "did you mean PreToolUse?"),
        (None, r#"{"hook_event_name":"PreToolUs"}"#, "did you mean PreToolUse?"),
        (None, r#"{"hook_event_name":"before_tool_call"}"#, "unknown event \"before_tool_call\""),
        (Some("PreToolUse"), "{}", "\"tool_name\" must be a string, found null"),
        (Some("PreToolUse"), r#"{"tool_name":["x"]}"#, "\"tool_name\" must be a string, found an array"),
        (Some("Stop"), r#"{"session_id":5}"#, "\"session_id\" must be a string, found 5"),
        (Some("Stop"), r#"{"cwd":{}}"#, "\"cwd\" must be a string, found an object"),
        (Some("UserPromptSubmit"), r#"{"prompt":true}"#, "\"prompt\" must be a string, found true"),
    ] {
        let error = Agent::Claude.read(payload.as_bytes(), event, &defaults()).unwrap_err().to_string();
        assert!(error.contains(want) && error.contains("hint: "), "{payload}: {error}");
    }
}

#[test]
fn the_event_of_a_payload_that_cannot_be_read_is_still_known_where_it_says_it() {
    let name =
        |agent: Agent, payload: &str, given| agent.event_of(payload.as_bytes(), given).map(|own| own.name);
    let wrong = r#"{"hook_event_name":"Stop","session_id":5}"#;
    assert!(Agent::Claude.read(wrong.as_bytes(), None, &defaults()).is_err());
    assert_eq!(name(Agent::Claude, wrong, None), Some("Stop"));
    assert_eq!(name(Agent::Claude, wrong, Some("PreToolUse")), Some("Stop"));
    assert_eq!(name(Agent::Copilot, "{", Some("preToolUse")), Some("preToolUse"));
    assert_eq!(name(Agent::Copilot, r#"{"hookName":5}"#, None), None);
    assert_eq!(name(Agent::Codex, "", Some("\u{1b}")), None);
}

#[test]
fn an_event_that_hookbox_knows_nothing_about_reaches_the_hooks_as_the_agent_sent_it() {
    for (agent, name, event) in [
        (Agent::Claude, "ConfigChange", "config_change"),
        (Agent::Claude, "InstructionsLoaded", "instructions_loaded"),
        (Agent::Qwen, "TodoCreated", "todo_created"),
        (Agent::Codex, "Interrupt", "interrupt"),
        (Agent::Gemini, "BeforeModel", "before_model"),
        (Agent::Copilot, "subagentStart", "subagent_start"),
        (Agent::Cursor, "beforeTabFileRead", "before_tab_file_read"),
        (Agent::Kimi, "TaskStarted", "task_started"),
    ] {
        let payload = json!({"session_id": "s", "cwd": "/w", "source": "local_settings", "tool_name": 5});
        let request = read(agent, name, &payload);
        let data = json!({"source": "local_settings", "tool_name": 5}).as_object().cloned().unwrap();
        assert_eq!(request.event.data, EventData::Other { name: event.to_owned(), data }, "{agent}");
        let reply = replied(&request, [Outcome::block("not now")]);
        if request.own.block == Fate::Honoured {
            let said = (reply.exit_code, reply.stdout.as_str(), reply.stderr.as_str());
            assert_eq!(said, (2, "", "not now\n"), "{agent}");
        } else {
            assert_eq!((reply.exit_code, &reply.held), (0, &None), "{agent}");
            assert!(reply.stderr.contains("not now") || reply.stderr.contains("block"), "{agent} {reply:?}");
        }
    }
}

#[test]
fn an_event_that_hookbox_does_not_serve_is_answered_by_nothing() {
    for (agent, event, payload) in [
        (Agent::Cursor, None, json!({"hook_event_name": "beforeShellExecution"})),
        (Agent::Cursor, Some("afterFileEdit"), json!({"hook_event_name": "afterFileEdit", "tool_name": 5})),
        (Agent::Claude, None, json!({"hook_event_name": "WorktreeCreate"})),
    ] {
        assert_eq!(agent.read(payload.to_string().as_bytes(), event, &defaults()), Ok(None));
    }
    assert_eq!(Agent::Codex.nothing(), Reply::default());
    assert_eq!(Agent::Cursor.nothing().stdout, "{}\n");
}

#[test]
fn odd_input_of_a_tool_reaches_the_hooks_as_it_stands() {
    for (input, want) in [
        (r#""{\"command\": \"ls\"}""#, json!({"command": "ls"})),
        (r#""{\"command\": \"ls""#, json!("{\"command\": \"ls")),
        (r#"["ls", 5]"#, json!(["ls", 5])),
        (r#"{"command": "rm", "n": [NaN, Infinity]}"#, json!({"command": "rm", "n": ["NaN", "Infinity"]})),
        (r#""{\"command\": \"rm\", \"n\": -Infinity}""#, json!({"command": "rm", "n": "-Infinity"})),
        (r#"{"command": "\ud800 rm", "n": 1e999}"#, json!({"command": "\u{fffd} rm", "n": "1e999"})),
        ("null", Value::Null),
    ] {
        let payload = format!(r#"{{"tool_name": "Bash", "tool_input": {input}}}"#);
        for agent in Agent::ALL {
            let own = agent.names_of(EventKind::BeforeToolCall).next();
            let request = agent.read(payload.as_bytes(), own, &defaults()).unwrap().unwrap();
            assert_eq!(request.event.tool_call().unwrap().input.value(), &want, "{agent} {input}");
        }
    }
}

#[test]
fn what_is_not_needed_is_not_used_where_it_is_odd() {
    let payload = json!({
        "tool_name": "x", "timestamp": "tomorrow", "transcript_path": 5, "permission_mode": [], "agent_id": {},
        "tool_use_id": 7, "duration_ms": -1, "workspace_roots": "x",
    });
    let request = read(Agent::Claude, "PostToolUse", &payload);
    assert_eq!((request.notes.len(), request.event.context.timestamp_ms), (7, 0), "{:?}", request.notes);
    assert_eq!(
        (request.event.context.cwd.as_str(), request.event.context.invoked_by),
        ("/w", InvokedBy::Main)
    );
}

#[test]
fn a_subagent_is_told_from_the_agent_that_started_it() {
    let request = read(Agent::Claude, "SubagentStop", &json!({"stop_hook_active": true}));
    assert_eq!(request.event.context.invoked_by, InvokedBy::Subagent);
    assert!(matches!(request.event.data, EventData::AgentStop(ref stop) if stop.follow_ups == 1));
    let request = read(Agent::Codex, "PreToolUse", &json!({"tool_name": "Bash", "agent_id": "a"}));
    assert_eq!(request.event.context.invoked_by, InvokedBy::Subagent);
}

#[test]
fn cursor_gets_no_more_text_than_it_takes_and_never_an_allow() {
    let request = read(Agent::Cursor, "sessionStart", &json!({}));
    let reply =
        replied(&request, [Outcome::inject("\u{e9}".repeat(8000)), Outcome::inject("x".repeat(9000))]);
    let answer: Value = serde_json::from_str(&reply.stdout).unwrap();
    assert!(answer["additional_context"].as_str().unwrap().chars().count() <= 10_000);
    let request = read(Agent::Cursor, "preToolUse", &call(json!({"command": "ls"})));
    let reply = replied(&request, [Outcome::modify(json!({"command": "pwd"}))]);
    assert_eq!(reply.stdout, "{\"updated_input\":{\"command\":\"pwd\"}}\n");
}

#[test]
fn the_plugin_in_opencode_gets_one_object_with_what_is_to_be_done() {
    let own = |name: &str| Agent::OpenCode.event(name).unwrap().name;
    let message = json!({"prompt": "deploy"});
    let output = json!({"tool_name": "bash", "tool_response": "secret", "exit_status": 1});
    for (event, payload, outcome, want) in [
        ("tool.execute.before", call(json!({})), Outcome::pass(), "{}"),
        (
            "tool.execute.before",
            call(json!({})),
            Outcome::block("no"),
            r#"{"decision":"deny","reason":"no"}"#,
        ),
        ("tool.execute.before", call(json!({})), Outcome::modify(json!({"a": 1})), r#"{"input":{"a":1}}"#),
        ("tool.execute.before", call(json!({})), Outcome::inject("mind"), r#"{"context":"mind"}"#),
        ("chat.message", message.clone(), Outcome::modify("test"), r#"{"message":"test"}"#),
        ("chat.message", message, Outcome::block("no"), r#"{"decision":"deny","reason":"no"}"#),
        ("tool.execute.after", output.clone(), Outcome::modify("clean"), r#"{"output":"clean"}"#),
        ("tool.execute.after", output, Outcome::block("no"), r#"{"decision":"deny","reason":"no"}"#),
        ("session.idle", json!({}), Outcome::follow_up("go on"), r#"{"follow_up":"go on"}"#),
    ] {
        let reply = replied(&read(Agent::OpenCode, own(event), &payload), [outcome]);
        assert_eq!((reply.exit_code, reply.stdout.as_str()), (0, format!("{want}\n").as_str()), "{event}");
    }
    let failed = json!({"tool_name": "bash", "tool_response": "", "exit_status": 1});
    let request = read(Agent::OpenCode, "tool.execute.after", &failed);
    let EventData::AfterToolCall(result) = &request.event.data else { panic!("{request:?}") };
    assert_eq!((result.success, result.exit_status), (Some(false), Some(1)));
}

/// VS Code's agent runs the files of Copilot CLI. These are its payloads, after its source code and its page on hooks.
#[test]
fn the_agent_of_vs_code_gets_the_answers_that_it_reads() {
    let payload = |event: &str, more: Value| {
        let mut payload = json!({
            "timestamp": "2026-02-09T10:30:00.000Z", "hook_event_name": event, "session_id": "s",
            "transcript_path": "/tmp/t.json", "cwd": "/srv/shop",
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    };
    let call = json!({
        "tool_name": "run_in_terminal", "tool_use_id": "tool-123",
        "tool_input": {"command": "rm -rf build", "explanation": "clean", "goal": "clean", "isBackground": false},
    });
    let request = read(Agent::Copilot, "PreToolUse", &payload("PreToolUse", call.clone()));
    let EventData::BeforeToolCall(found) = &request.event.data else { panic!("{request:?}") };
    assert_eq!(hookbox_calls::kind_of(&found.name), crate::event::ToolKind::Shell);
    assert_eq!(found.input.value()["command"], "rm -rf build");
    let mut result = call;
    result["tool_response"] = json!("secret");
    let own = |event: &str, fields: Value| {
        let mut own = json!({"hookEventName": event});
        own.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        own
    };
    let after = || payload("PostToolUse", result.clone());
    for (event, payload, outcome, want) in [
        (
            "PreToolUse",
            payload("PreToolUse", result.clone()),
            Outcome::block("no"),
            json!({"hookSpecificOutput": own("PreToolUse", json!({"permissionDecision": "deny", "permissionDecisionReason": "no"}))}),
        ),
        (
            "PreToolUse",
            payload("PreToolUse", result.clone()),
            Outcome::inject("mind"),
            json!({"hookSpecificOutput": own("PreToolUse", json!({"additionalContext": "mind"}))}),
        ),
        (
            "SessionStart",
            payload("SessionStart", json!({"source": "new"})),
            Outcome::inject("mind"),
            json!({"hookSpecificOutput": own("SessionStart", json!({"additionalContext": "mind"}))}),
        ),
        ("PostToolUse", after(), Outcome::block("no"), json!({"decision": "block", "reason": "no"})),
        (
            "PostToolUse",
            after(),
            Outcome::modify("clean"),
            json!({"hookSpecificOutput": own("PostToolUse", json!({"additionalContext": "clean"}))}),
        ),
        (
            "PostToolUse",
            after(),
            Outcome::inject("mind"),
            json!({"hookSpecificOutput": own("PostToolUse", json!({"additionalContext": "mind"}))}),
        ),
        (
            "Stop",
            payload("Stop", json!({"stop_hook_active": false})),
            Outcome::follow_up("go on"),
            json!({"hookSpecificOutput": own("Stop", json!({"decision": "block", "reason": "go on"}))}),
        ),
    ] {
        let reply =
            replied(&read(Agent::Copilot, Agent::Copilot.event(event).unwrap().name, &payload), [outcome]);
        let answer: Value = serde_json::from_str(&reply.stdout).unwrap();
        for (name, value) in want.as_object().unwrap() {
            assert_eq!(answer.get(name), Some(value), "{event}: {answer}");
        }
    }
}

#[test]
fn an_input_that_the_agent_would_take_for_another_is_not_taken() {
    let was = json!({"command": "ls", "timeout": 5});
    let less = json!({"command": "pwd"});
    for (agent, new, want) in [
        (Agent::Gemini, &less, false),
        (Agent::Gemini, &json!({"command": "pwd", "timeout": 5, "x": 1}), true),
        (Agent::Codex, &less, true),
        (Agent::Codex, &json!({"cmd": "pwd"}), false),
        (Agent::Claude, &less, true),
        (Agent::Claude, &json!("pwd"), false),
        (Agent::Cursor, &Value::Null, false),
    ] {
        let takes =
            |new: &Map<String, Value>| (agent.spec().answers.takes_input)(was.as_object().unwrap(), new);
        assert_eq!(new.as_object().is_some_and(takes), want, "{agent} {new}");
    }
}

#[test]
fn a_failed_command_is_seen_as_failed_by_the_status_in_its_text() {
    let shell = |tool: &str, key: &str, output: Value| json!({"session_id": "s", "tool_name": tool, "tool_input": {"command": "false"}, key: output});
    let copilot = |code: u8| {
        let text = format!("bad\n<shellId: 0 completed with exit code {code}>");
        json!({"sessionId": "s", "toolName": "bash", "toolArgs": {"command": "false"},
            "toolResult": {"resultType": "success", "textResultForLlm": text}})
    };
    let lines = |code: &str| json!({"llmContent": format!("Output: bad\n{code}Process Group PGID: 1")});
    let codex = |code: u8| json!(format!("Exit code: {code}\nWall time: 0.1 seconds\nOutput:\nbad\n"));
    let (run, response) = ("run_shell_command", "tool_response");
    for (agent, event, payload, success, status) in [
        (Agent::Gemini, "AfterTool", shell(run, response, lines("Exit Code: 3\n")), Some(false), Some(3)),
        (Agent::Gemini, "AfterTool", shell(run, response, lines("")), None, None),
        (Agent::Gemini, "AfterTool", shell("read_file", response, lines("Exit Code: 3\n")), None, None),
        (
            Agent::Qwen,
            "PostToolUse",
            shell(run, response, lines("Exit Code: 3\nSignal: (none)\n")),
            Some(false),
            Some(3),
        ),
        (Agent::Qwen, "PostToolUse", shell(run, response, lines("Exit Code: 0\n")), Some(true), Some(0)),
        (Agent::Codex, "PostToolUse", shell("Bash", response, codex(3)), Some(false), Some(3)),
        (Agent::Codex, "PostToolUse", shell("Bash", response, codex(0)), Some(true), Some(0)),
        (Agent::Codex, "PostToolUse", shell("Bash", response, json!("bad\n")), None, None),
        (Agent::Copilot, "postToolUse", copilot(3), Some(false), Some(3)),
        (Agent::Copilot, "postToolUse", copilot(0), Some(true), Some(0)),
        // Its output is the command's own alone.
        (
            Agent::Claude,
            "PostToolUse",
            shell("Bash", response, json!({"stdout": "Exit Code: 3"})),
            Some(true),
            None,
        ),
    ] {
        let EventData::AfterToolCall(result) = read(agent, event, &payload).event.data else {
            panic!("{event}")
        };
        assert_eq!((result.success, result.exit_status), (success, status), "{agent} {payload}");
    }
}
