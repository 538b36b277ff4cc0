//! Removes secrets from a hook's answer before the model reads it and an agent stores it.

use serde_json::Value;

use crate::event::EventName;
use crate::outcome::{Action, Callback, Outcome};
use crate::redact;

/// Removes the secrets from each text of an answer that the model reads or that is stored.
///
/// The input of a tool keeps them: the tool needs what the hook wrote, and the model does not read it.
pub(super) fn clean(event: &EventName, outcome: &mut Outcome) {
    let Outcome { action, callback, follow_ups, context, warnings, .. } = outcome;
    follow_ups.iter_mut().chain(context).chain(warnings).for_each(clean_text);
    match action {
        Action::Block(reason) | Action::Ask(reason) | Action::Allow(reason) => clean_text(reason),
        Action::Mutate(messages) => messages.iter_mut().for_each(|message| clean_text(&mut message.content)),
        Action::Callback(callback) => clean_args(callback),
        Action::Modify(value) if *event != EventName::BeforeToolCall => *value = redact::whole_value(value),
        Action::Modify(_) | Action::Pass => {}
    }
    if let Some(callback) = callback {
        clean_args(callback);
    }
}

/// Removes the secrets from one text.
pub(super) fn clean_text(text: &mut String) {
    if let std::borrow::Cow::Owned(clean) = redact::whole_text(text) {
        *text = clean;
    }
}

/// The arguments of a recipe become text for the model.
fn clean_args(callback: &mut Callback) {
    for (name, value) in &mut callback.args {
        let field =
            Value::Object([(name.clone(), Value::String(std::mem::take(value)))].into_iter().collect());
        if let Value::Object(fields) = redact::whole_value(&field)
            && let Some((_, Value::String(clean))) = fields.into_iter().next()
        {
            *value = clean;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Message;
    use serde_json::json;

    /// A token of no service, in the form of one.
    fn secret() -> String {
        format!("ghp_{}", "a1B2c3D4e5F6".repeat(3))
    }

    #[test]
    fn no_text_for_the_model_keeps_a_secret() {
        let secret = secret();
        let said = format!("log in with {secret}, please");
        let callback =
            |name: &str| Callback { name: "r".into(), args: vec![(name.to_owned(), said.clone())] };
        for (event, mut outcome) in [
            (EventName::SessionStart, Outcome::inject(said.clone()).warn(said.clone())),
            (EventName::BeforeToolCall, Outcome::block(said.clone())),
            (EventName::BeforeToolCall, Outcome::ask(said.clone())),
            (EventName::AgentStop, Outcome::follow_up(said.clone())),
            (EventName::AgentStop, Action::Mutate(vec![Message::user(said.clone())]).into()),
            (EventName::AfterTurn, Action::Callback(callback("note")).into()),
            (EventName::OnBudgetExceeded, Outcome::block("full").and_callback(callback("token"))),
            (EventName::AfterToolCall, Outcome::modify(json!({"output": said.clone(), "success": true}))),
            (EventName::UserMessageSend, Outcome::modify(said.clone())),
            (EventName::OnError, Outcome::modify(said.clone())),
        ] {
            clean(&event, &mut outcome);
            let shown = format!("{outcome:?}");
            assert!(!shown.contains(&secret) && shown.contains("[REDACTED:"), "{event}: {shown}");
        }
    }

    #[test]
    fn the_input_of_a_tool_stays_as_the_hook_wrote_it_and_nothing_else_is_lost() {
        let input =
            Outcome::modify(json!({"command": format!("curl -H 'Authorization: Bearer {}'", secret())}));
        let mut same = input.clone();
        clean(&EventName::BeforeToolCall, &mut same);
        assert_eq!(same, input);

        let mut deep = json!("end");
        for _ in 0..100 {
            deep = json!([deep]);
        }
        let long = "word ".repeat(300_000);
        for value in [deep, json!(long), json!({"tokens": 5, "text": "nothing to hide"})] {
            let mut outcome = Outcome::modify(value.clone());
            clean(&EventName::AfterToolCall, &mut outcome);
            assert_eq!(outcome, Outcome::modify(value));
        }
    }
}
