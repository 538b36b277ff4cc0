//! The built-in hooks for the context window, the budget monitor, and the switches that hold for all hooks.

use hookbox::builtin::{ALL, BUDGET, COMPACT_TRIGGER};
use hookbox::dialect::Dialect;
use hookbox::event::AfterTurn;
use hookbox::manager::Manager;
use hookbox::session::{AtThreshold, Decision, GateVerdict, Session, Thresholds, Turn};
use hookbox::{EventName, Outcome, Usage};
use serde_json::{Value, json};

use crate::environment::TestEnvironment;

fn usage(current: u64) -> Usage {
    Usage { current_context_window: current, max_context_window: 100, ..Usage::default() }
}

fn turn(current: u64) -> Value {
    json!({"usage": {"current_context_window": current, "max_context_window": 100}})
}

/// The threshold that a verdict is about, as the hook `seen` noted it.
fn threshold(verdict: &GateVerdict) -> f64 {
    verdict.context[0].parse().unwrap()
}

/// A manager whose one hook says which threshold was crossed, and in which context.
async fn watching() -> Manager {
    let told = |event: hookbox::Event| async move {
        let hookbox::EventData::OnBudgetExceeded { threshold, .. } = event.data else { unreachable!() };
        let budget = event.context.budget.unwrap();
        let window = format!("{}/{}", budget.used_tokens, budget.effective_limit);
        Ok(Outcome::inject(threshold.unwrap().to_string()).warn(window))
    };
    Manager::builder()
        .directories(false)
        .builtins(false)
        .on("seen", EventName::OnBudgetExceeded, told)
        .build()
        .await
}

#[tokio::test]
async fn a_session_fires_once_for_each_threshold_that_it_crosses() {
    let manager = watching().await;
    let session = manager.session("c");
    for (current, crossed) in
        [(10, None), (70, Some(0.7)), (79, None), (80, Some(0.8)), (500, None), (30, None), (95, Some(0.8))]
    {
        let verdict = session.observe_usage(usage(current)).await;
        assert_eq!(verdict.as_ref().map(threshold), crossed, "{current}");
        if let Some(verdict) = verdict {
            assert_eq!(verdict.decision, Decision::Proceed(()));
            assert_eq!(verdict.warnings[0].text, format!("{current}/100"));
        }
    }
}

#[tokio::test]
async fn every_later_event_of_the_session_carries_the_budget_and_a_subagent_has_its_own() {
    let manager = watching().await;
    let session = manager.session("c").repository("org/repo", Some("main".into())).recipe("review");
    let budget = async |session: &Session| {
        let fired = session.fire(hookbox::EventData::SessionStart { source: None }).await;
        fired.event.context.budget.map(|it| (it.used_tokens, it.effective_limit))
    };
    assert_eq!(budget(&session).await, None);
    session.observe_usage(usage(75)).await;
    session.observe_usage(Usage { current_context_window: 90, ..Usage::default() }).await;
    assert_eq!(budget(&session).await, Some((75, 100)), "a window of unknown size changes nothing");
    assert_eq!(budget(&session.clone().mode("plan")).await, Some((75, 100)), "clones share it");

    let newer = AfterTurn { usage: Some(usage(76)), ..AfterTurn::default() };
    let fired = session.fire(hookbox::EventData::AfterTurn(newer)).await;
    assert_eq!(fired.event.budget().unwrap().used_tokens, 76, "an event's own usage is the newest");

    let sub = session.subagent("d");
    let context = sub.context();
    assert_eq!(context.invoked_by.as_str(), "subagent");
    assert_eq!((context.repository.as_deref(), context.branch.as_deref()), (Some("org/repo"), Some("main")));
    assert_eq!(context.recipe_name.as_deref(), Some("review"));
    assert_eq!(budget(&sub).await, None);
    assert_eq!(sub.observe_usage(usage(85)).await.as_ref().map(threshold), Some(0.8));
    assert_eq!(session.observe_usage(usage(80)).await.as_ref().map(threshold), Some(0.8));
    assert_eq!(budget(&session).await, Some((80, 100)));
}

#[tokio::test]
async fn at_the_threshold_a_session_is_compacted_or_rotated_as_the_settings_say() {
    let env = TestEnvironment::new();
    for (at, recipe_of_turn, recipe_of_budget) in
        [("compact", Some("compact"), None), ("rotate", None, Some("rotate"))]
    {
        env.file("home/.hookbox/hookbox.toml", format!("[budget]\nat_threshold = \"{at}\"\n"));
        let manager = env.builder().builtins(true).build().await;
        let session = manager.session("c");
        let warned = session.observe_usage(usage(72)).await.unwrap();
        assert_eq!((warned.callback.as_ref(), warned.warnings.len(), warned.context.len()), (None, 1, 1));
        assert!(warned.warnings[0].text.contains("72 % full: 72 of 100 tokens (threshold 70 %)"));

        let crossed = session.observe_usage(usage(85)).await.unwrap();
        assert_eq!(crossed.callback.as_ref().map(|it| it.name.as_str()), recipe_of_budget, "{at}");
        let after = session.after_turn(AfterTurn { usage: Some(usage(85)), ..AfterTurn::default() }).await;
        let recipe = after.turn.as_ref().map(|turn| match turn {
            Turn::Callback(callback) => callback.name.as_str(),
            Turn::Mutate(_) => "mutate",
        });
        assert_eq!(recipe, recipe_of_turn, "{at}");
    }
}

#[test]
fn a_block_of_large_work_does_not_keep_the_session_from_rotating() {
    let env = TestEnvironment::new();
    env.file("home/.hookbox/hookbox.toml", "[budget]\nat_threshold = \"rotate\"\n");
    let event = json!({"usage": {"current_context_window": 85, "max_context_window": 100}, "threshold": 0.8});
    let exceeded = |hook: &str| {
        env.native("home/.hookbox/hooks/large-work", "on_budget_exceeded", hook);
        env.event(&["on_budget_exceeded"], &event)
    };
    let both =
        json!({"blocked": true, "result": "callback", "callback": "mine", "callback_args": {"a": "b"}});
    for (hook, callback) in [
        (r#"{"blocked":true,"reason":"no more"}"#.to_owned(), "rotate"),
        (r#"{"action":"block","reason":"no more"}"#.to_owned(), "rotate"),
        (both.to_string(), "mine"),
    ] {
        let verdict = exceeded(&format!("echo '{hook}'"));
        assert_eq!((&verdict["blocked"], &verdict["callback"]), (&json!(true), &json!(callback)), "{hook}");
    }
    env.file(
        "home/.hookbox/hookbox.toml",
        "[budget]\nat_threshold = \"rotate\"\n[hooks.large-work]\non_failure = \"block\"\n",
    );
    let failed = exceeded("exit 1");
    assert_eq!((&failed["blocked"], &failed["callback"]), (&json!(true), &json!("rotate")), "{failed}");
}

#[tokio::test]
async fn the_thresholds_are_the_embedders_where_the_user_says_nothing() {
    let env = TestEnvironment::new();
    let own = Thresholds { warn: 0.4, rotate: 0.6, at: AtThreshold::Rotate };
    let manager = |thresholds| env.builder().thresholds(thresholds).build();
    assert_eq!(
        env.builder().build().await.thresholds(),
        Thresholds { warn: 0.7, rotate: 0.8, at: AtThreshold::Compact }
    );
    assert_eq!(manager(own).await.thresholds(), own);
    env.file("home/.kodelet/hookbox.toml", "[budget]\nwarn = 0.2\nrotate = 0.3\n");
    env.file("home/.hookbox/hookbox.toml", "[budget]\nwarn = 0.25\n");
    assert_eq!(manager(own).await.thresholds(), Thresholds { warn: 0.25, rotate: 0.3, ..own });
    env.file("home/.hookbox/hookbox.toml", "\n[budget]\nwarn = 0.9\n");
    let odd = manager(own).await;
    assert_eq!(odd.thresholds(), Thresholds { warn: 0.3, rotate: 0.3, ..own });
    let problem = odd.problems()[0].to_string();
    assert!(
        problem.ends_with("line 2: budget.warn: expected at most rotate (0.3), found 0.9: taken as 0.3"),
        "{problem}"
    );
    env.file("home/.kodelet/hookbox.toml", "");
    env.file("home/.hookbox/hookbox.toml", "[budget]\nrotate = 0.3\n");
    let alone = manager(own).await;
    assert_eq!(alone.thresholds(), Thresholds { warn: 0.3, rotate: 0.3, ..own });
    assert!(alone.problems().is_empty(), "nobody wrote a warn: {:?}", alone.problems());
}

#[tokio::test]
async fn the_settings_of_a_built_in_hook_that_there_is_not_name_those_that_there_are() {
    let env = TestEnvironment::new();
    env.file("home/.hookbox/hookbox.toml", "[hooks.\"builtin:nosuch\"]\nenabled = false\n");
    let problem = env.builder().build().await.problems()[0].clone();
    let problem = format!("{problem}; {}", problem.hint.as_deref().unwrap());
    for known in ALL.iter().map(|builtin| builtin.name).chain(["line 1"]) {
        assert!(problem.contains(known), "{known}: {problem}");
    }
    assert!(!problem.contains("put the hook at"), "{problem}");
}

#[test]
fn they_are_listed_and_the_user_switches_them_off_one_by_one() {
    let env = TestEnvironment::new();
    let rows = |env: &TestEnvironment| -> Vec<(String, String, i64)> {
        let rows = env.list_all(&[]);
        assert!(
            rows.iter().all(|row| (&row["kind"], &row["tier"]) == (&json!("builtin"), &json!("built in")))
        );
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        rows.iter()
            .map(|row| (text(&row["name"]), text(&row["status"]), row["priority"].as_i64().unwrap()))
            .collect()
    };
    let active = |name: &str| (name.to_owned(), "active".to_owned(), 50);
    assert_eq!(rows(&env), ALL.iter().map(|it| active(it.name)).collect::<Vec<_>>());
    let run = |env: &TestEnvironment, current| env.event(&["after_turn"], &turn(current))["callback"].clone();
    assert_eq!((run(&env, 79), run(&env, 80)), (Value::Null, json!("compact")));

    let toml = format!(
        "[hooks.\"{COMPACT_TRIGGER}\"]\npriority = 7\nsettings = {{ threshold = 0.6 }}\n\
         [hooks.\"{BUDGET}\"]\nenabled = false\n"
    );
    // A repository has no say: neither in the built-in hooks nor in what holds for all.
    let ours =
        format!("no_hooks = true\nskip_commands = []\n[budget]\nwarn = 0.1\n{}", toml.replace('7', "1"));
    env.file("repo/.hookbox/hookbox.toml", ours);
    let output = env.hookbox(["list"]);
    for (line, what) in [
        (1, "no_hooks is for the user's own file to say: it is left out"),
        (2, "skip_commands is for the user's own file to say: it is left out"),
        (3, "budget is for the user's own file to say: it is left out"),
        (5, "a repository has no say in a built-in hook: the table is left out"),
    ] {
        assert!(output.stderr.contains(&format!("hookbox.toml: line {line}: {what}")), "{output:#?}");
    }
    assert_eq!((rows(&env).len(), run(&env, 60)), (ALL.len(), Value::Null));
    assert_eq!(env.event(&["after_turn", "--command", "pr"], &turn(90)).get("callback"), None);

    env.file("home/.hookbox/hookbox.toml", &toml);
    let listed = rows(&env);
    assert_eq!(listed[0], (COMPACT_TRIGGER.to_owned(), "active".to_owned(), 7));
    assert_eq!(listed[2], (BUDGET.to_owned(), "disabled".to_owned(), 50));
    assert_eq!((run(&env, 59), run(&env, 60)), (Value::Null, json!("compact")));
    let exceeded =
        json!({"usage": {"current_context_window": 85, "max_context_window": 100}, "threshold": 0.8});
    assert_eq!(env.event(&["on_budget_exceeded"], &exceeded), json!({"blocked": false}));
}

#[test]
fn a_key_that_a_built_in_hook_does_not_have_is_a_problem_that_says_which_work() {
    let env = TestEnvironment::new();
    for (table, want) in [
        (
            "timeout = \"1s\"",
            "line 1: a built-in hook has only enabled, priority and settings: the other keys are left out",
        ),
        (
            "settings = { colour = 1 }",
            "line 1: unknown setting \"colour\", which is left out: expected threshold",
        ),
        (
            "settings = { threshold = 80 }",
            "line 1: settings.threshold: expected a number above 0 and at most 1, found 80",
        ),
        (
            "settings = { threshold = \"high\" }",
            "settings.threshold: expected a number above 0 and at most 1, found high",
        ),
    ] {
        env.file("home/.hookbox/hookbox.toml", format!("[hooks.\"{COMPACT_TRIGGER}\"]\n{table}\n"));
        let output = env.hookbox_with(["run", "after_turn"], turn(80).to_string());
        assert!(output.stderr.contains(want), "{table}: {output:#?}");
        assert_eq!(output.json()["callback"], "compact", "the default applies");
    }
    env.file("home/.hookbox/hookbox.toml", format!("[hooks.\"{BUDGET}\"]\nsettings = {{ warn = 0.5 }}\n"));
    let output = env.hookbox(["list"]);
    assert!(
        output
            .stderr
            .contains("unknown setting \"warn\", which is left out: expected none, it has no settings")
    );
}

#[test]
fn an_agent_that_does_not_compact_is_not_told_to() {
    let env = TestEnvironment::new();
    let mut event = turn(95);
    event["auto_compact_enabled"] = json!(false);
    assert_eq!(env.event(&["after_turn"], &event), json!({}));
    event["auto_compact_enabled"] = json!(true);
    event["auto_compact_threshold"] = json!(0.97);
    assert_eq!(env.event(&["after_turn"], &event), json!({}));
    event["auto_compact_threshold"] = json!(97);
    let verdict = env.event(&["after_turn"], &event);
    assert_eq!(verdict["callback"], "compact");
    assert!(verdict["warnings"][0].as_str().unwrap().contains("found 97: taken as 0.8"), "{verdict}");
}

#[test]
fn what_the_users_hooks_make_of_a_turn_goes_before_the_built_in_hook() {
    let env = TestEnvironment::new();
    let mine = r#"echo '{"result": "callback", "callback": "mine"}'"#;
    env.native("home/.hookbox/hooks/mine", "after_turn", mine);
    let verdict = env.event(&["after_turn"], &turn(90));
    assert_eq!(verdict["callback"], "mine");
    let conflict =
        format!("{COMPACT_TRIGGER} wants to run a recipe, but mine came first: not applied (conflict)");
    assert_eq!(verdict["warnings"], json!([conflict]));
    env.native("home/.hookbox/hooks/mine", "after_turn", &mine.replace("mine", "compact"));
    assert_eq!(env.event(&["after_turn"], &turn(90)), json!({"result": "callback", "callback": "compact"}));
}

#[test]
fn no_hooks_and_the_commands_that_are_skipped_run_nothing_and_say_so() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/guard", "before_tool_call", "echo '{\"blocked\": true}'");
    // A process leaves a trace, even if it is only asked for its events.
    env.native("home/.hookbox/hooks/trace", "turn_end", "touch ran").script(
        "home/.hookbox/hooks/trace",
        &format!("#!/bin/sh\ntouch {}\necho turn_end\n", env.path("ran").display()),
    );
    let call = json!({"tool_name": "bash", "tool_input": {"command": "hookbox trust x"}});
    let nothing = |env: &TestEnvironment, args: &[&str], why: &str| {
        let run = env.hookbox_with([&["run", "before_tool_call"], args].concat(), call.to_string());
        let list = env.hookbox([&["list", "--json"], args].concat());
        assert_eq!((run.json(), list.stdout.as_str()), (json!({"blocked": false}), "[]\n"));
        assert!(list.stderr.contains(why), "{list:#?}");
        assert_eq!(run.stderr.contains(why), !args.contains(&"--no-hooks"), "{run:#?}");
        assert!(!env.path("ran").exists(), "nothing was started");
    };
    let blocked = |env: &TestEnvironment, args: &[&str]| {
        std::fs::remove_file(env.path("ran")).ok();
        let blocked = env.event(&[&["before_tool_call"], args].concat(), &call)["blocked"].clone();
        std::fs::remove_file(env.path("ran")).ok();
        blocked
    };
    nothing(&env, &["--no-hooks"], "no hook runs: hooks are switched off");
    for command in ["commit", "pr"] {
        let why = format!("no hook runs: the command \"{command}\" is one of skip_commands");
        nothing(&env, &["--command", command], &why);
    }
    assert_eq!((blocked(&env, &["--command", "chat"]), blocked(&env, &[])), (json!(true), json!(true)));

    env.file("home/.hookbox/hookbox.toml", "skip_commands = [\"chat\"]\n");
    nothing(&env, &["--command", "chat"], "the command \"chat\" is one of skip_commands");
    assert_eq!(blocked(&env, &["--command", "commit"]), json!(true), "the list replaces the default");

    env.file("home/.hookbox/hookbox.toml", "no_hooks = true\n");
    nothing(&env, &[], "no hook runs: no_hooks is true in ");
    // The first root that says something goes before the others.
    env.file("home/.kodelet/hookbox.toml", "no_hooks = false\n");
    nothing(&env, &[], "no_hooks is true in ");
    env.file("home/.hookbox/hookbox.toml", "no_hooks = \"yes\"\n");
    assert_eq!(blocked(&env, &[]), json!(true), "what cannot be read switches nothing off");
}

#[tokio::test]
async fn an_embedder_switches_built_in_hooks_off_and_all_hooks() {
    let env = TestEnvironment::new();
    let on = |builder: hookbox::manager::Builder| {
        builder.on("mine", EventName::TurnEnd, |_| async { Ok(Outcome::pass().warn("ran")) })
    };
    for directories in [true, false] {
        let names = async |builder: hookbox::manager::Builder| -> Vec<String> {
            let manager = on(builder.directories(directories)).build().await;
            manager.hooks().iter().map(|hook| hook.descriptor().name.clone()).collect()
        };
        let all = [&["mine"][..], &ALL.iter().map(|it| it.name).collect::<Vec<_>>()].concat();
        assert_eq!(names(env.builder().builtins(true)).await, all);
        assert_eq!(names(env.builder()).await, ["mine"]);
        assert_eq!(names(env.builder().no_hooks(true)).await, [""; 0]);
        assert_eq!(names(env.builder().no_hooks(false)).await, ["mine"]);
        assert_eq!(names(env.builder().command("commit")).await, [""; 0]);
        assert_eq!(names(env.builder().command("chat")).await, ["mine"]);
    }
    let off = on(env.builder().no_hooks(true)).build().await;
    assert!(off.switched_off().is_some());
    let noted = off.session("c").turn_end("done", 1).await;
    assert_eq!((noted.warnings.len(), noted.report.hooks.len()), (0, 0));
}

#[test]
fn hooks_are_shown_to_whoever_approves_them_also_where_none_runs() {
    let env = TestEnvironment::new();
    env.file("home/.hookbox/hookbox.toml", "no_hooks = true\n");
    env.native("repo/.hookbox/hooks/theirs", "turn_end", "true");
    let output = env.hookbox(["trust", "theirs", "--yes", "--json"]);
    assert_eq!(output.json()["name"], "theirs", "{output:#?}");
}

#[tokio::test]
async fn the_budget_of_an_envelope_is_what_the_built_in_hooks_judge() {
    let manager = Manager::builder().directories(false).build().await;
    let session = manager.session("c");
    for (name, used, limit, warning, recipe) in [
        ("OnBudgetExceeded", 131, 160, Some("131 of 160 tokens"), None),
        ("after_turn", 90, 100, None, Some("compact")),
        ("after_turn", 79, 100, None, None),
    ] {
        let event: EventName = name.parse().unwrap();
        let envelope = json!({"hook": name, "budget": {"usedTokens": used, "effectiveLimit": limit}});
        let payload = envelope.as_object().unwrap().clone();
        let read = Dialect::BaseCoat.decode(&event, payload, session.context()).unwrap();
        let verdict = session.fire_event(read.event).await.verdict;
        match warning {
            Some(warning) => assert!(verdict.warnings[0].text.contains(warning), "{verdict:?}"),
            None => assert!(verdict.warnings.is_empty(), "{verdict:?}"),
        }
        assert_eq!(verdict.callback.map(|it| it.name).as_deref(), recipe, "{name} {used}");
    }
}
