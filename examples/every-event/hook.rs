use hookbox_sdk::prelude::*;

struct EveryEvent;

impl Hook for EveryEvent {
    fn manifest() -> Manifest {
        let manifest = Manifest::new("every-event", "0.1.0", "Answers every event.")
            .answers([Give::Inject, Give::Modify, Give::FollowUp, Give::Callback]);
        Event::ALL.into_iter().fold(manifest, Manifest::on)
    }

    fn session_start(_cx: &Context, _event: &SessionStart) -> Result<Answer, Error> {
        Ok(Answer::pass().inject("Use `just test`."))
    }

    fn session_end(cx: &Context, event: &SessionEnd) -> Result<Answer, Error> {
        hookbox_sdk::info!("{} ended: {:?}", cx.conversation_id, event.reason);
        Ok(Answer::pass())
    }

    fn user_message_send(_cx: &Context, event: &UserMessage) -> Result<Answer, Error> {
        let has_key = event.message.contains("PRIVATE KEY");
        Ok(if has_key { Answer::block("The message has a private key.") } else { Answer::pass() })
    }

    fn before_tool_call(_cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let publishes = call.command.as_deref().is_some_and(|line| line.starts_with("npm publish"));
        Ok(if publishes { Answer::ask("This publishes a package.") } else { Answer::pass() })
    }

    fn after_tool_call(_cx: &Context, result: &ToolResult) -> Result<Answer, Error> {
        let answer = Answer::pass();
        Ok(if result.success == Some(false) { answer.inject("Read the error first.") } else { answer })
    }

    fn on_error(_cx: &Context, event: &ErrorEvent) -> Result<Answer, Error> {
        Ok(Answer::modify(format!("{} (see docs/errors.md)", event.message)))
    }

    fn after_turn(_cx: &Context, event: &AfterTurn) -> Result<Answer, Error> {
        let is_full = event.usage.and_then(|usage| usage.ratio()).is_some_and(|used| used > 0.8);
        Ok(if is_full { Answer::callback("compact") } else { Answer::pass() })
    }

    fn turn_end(_cx: &Context, event: &TurnEnd) -> Result<Answer, Error> {
        let asks = event.response.as_deref().is_some_and(|text| text.ends_with('?'));
        Ok(if asks { Answer::pass().warn("The agent asks.") } else { Answer::pass() })
    }

    fn agent_stop(_cx: &Context, event: &AgentStop) -> Result<Answer, Error> {
        Ok(if event.follow_ups == 0 { Answer::follow_up(["Run the tests."]) } else { Answer::pass() })
    }

    fn pre_compact(_cx: &Context, _event: &PreCompact) -> Result<Answer, Error> {
        Ok(Answer::pass().inject("Keep the open questions."))
    }

    fn post_compact(_cx: &Context, _event: &PostCompact) -> Result<Answer, Error> {
        Ok(Answer::pass().inject("Read TODO.md again."))
    }

    fn on_budget_exceeded(_cx: &Context, _event: &BudgetExceeded) -> Result<Answer, Error> {
        Ok(Answer::block("The budget is spent."))
    }
}

hookbox_sdk::export_hook!(EveryEvent);
