//! The answer of a native hook as an outcome.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::dialect::fields::{Fields, PayloadError};
use crate::dialect::hook_output::HookOutput;
use crate::dialect::reply::{Reply, malformed};
use crate::dialect::{base_coat, borrowed};
use crate::event::{EventName, Message};
use crate::hook::HookError;
use crate::outcome::{Action, Callback, Outcome};
use hookbox_system::{json, text};

/// The keys that have an effect at some event.
const KEYS: &str =
    "blocked reason input output error follow_up_messages result messages callback callback_args";

/// Returns whether `blocked` has an effect at this event. After a tool call it has none in kodelet, while
/// Base Coat's `block` has.
pub(super) fn knows_blocked(event: &EventName) -> bool {
    event.allows().block && *event != EventName::AfterToolCall
}

/// Reads the standard output of a native hook that ended with status 0.
///
/// Blank output is a pass. An object with an `action` is a Base Coat envelope; else kodelet's result fields
/// count, each at its events. `"blocked": true` (or `"action": "block"`) blocks also beside a field of a
/// wrong type, an unreadable field (half an emoji, a number beyond every float), and another field of the
/// same name. The output at turn_end is ignored. A block or a question in another agent's words counts too,
/// with a note.
///
/// # Errors
///
/// `malformed_output` for anything but exactly one JSON object, for a wrong type, for an unknown `result` or
/// one that the event does not have, and for a mutate without messages or a callback without a name.
pub fn outcome(event: &EventName, stdout: &[u8]) -> Result<Outcome, HookError> {
    if *event == EventName::TurnEnd {
        return Ok(Outcome::pass());
    }
    // kodelet refuses it, unlike the agents in JavaScript.
    if String::from_utf8_lossy(stdout).trim().starts_with('\u{feff}') {
        return Err(malformed("printed a byte order mark before its answer"));
    }
    let Some(printed) = HookOutput::object(stdout, blocks)? else {
        return Ok(Outcome::pass());
    };
    let HookOutput { mut object, faults, malformed: wrong, .. } = printed;
    let blocked = object.get("blocked") == Some(&Value::Bool(true)) && knows_blocked(event);
    let mut acts = object.get("action").is_some_and(|action| action == "block");
    let is_other = |name: &str| !matches!(name, "blocked" | "action");
    let borrowed = if blocked || acts { None } else { borrowed::take(&mut object, is_other) };
    if borrowed.as_ref().is_some_and(|it| it.blocks(event)) {
        object.insert("action".to_owned(), "block".into());
        acts = true;
    }
    if let Some(wrong) = wrong.filter(|_| !blocked && !acts) {
        return Err(wrong);
    }
    if let Some(key) = misspelt_block(&object).filter(|_| !blocked && !acts && knows_blocked(event)) {
        let key = text::escape(key, 40);
        return Err(malformed(format!("answered wrongly: \"{key}\": true, expected \"blocked\": true")));
    }
    let mut outcome = if object.contains_key("action") && (!blocked || acts) {
        drop_mirrored(&mut object);
        base_coat::outcome(event, object)?
    } else {
        fields(Reply::new(event, object, blocked))?
    };
    outcome.noticed.splice(0..0, faults);
    if let Some(borrowed) = borrowed {
        borrowed.apply(event, &mut outcome);
    }
    Ok(outcome)
}

/// Returns a key that is set to true, and that nearly says `blocked`: its writer has decided, and must not be passed over.
fn misspelt_block(object: &Map<String, Value>) -> Option<&str> {
    let is_near = |key: &str| {
        let plain = text::prefix(key, 16).replace(['_', '-'], "").to_ascii_lowercase();
        key != "blocked" && plain.starts_with('b') && text::distance(&plain, "blocked") <= 2
            || matches!(plain.as_str(), "isblocked" | "blocks" | "deny" | "denied" | "reject" | "rejected")
    };
    object
        .iter()
        .find(|(key, value)| **value == Value::Bool(true) && is_near(key))
        .map(|(key, _)| key.as_str())
}

/// Returns whether this field alone is a block.
fn blocks(name: &str, raw: &RawValue) -> bool {
    let is_own =
        (name == "blocked" && raw.get() == "true") || (name == "action" && json::value(raw) == "block");
    is_own || borrowed::blocks(name, raw)
}

/// Removes kodelet's fields that repeat the envelope. [`super::answer`] writes both, for hosts that only have
/// kodelet's fields.
fn drop_mirrored(object: &mut Map<String, Value>) {
    let blocks = object.get("action").is_some_and(|action| action == "block");
    if object.get("blocked") == Some(&Value::Bool(blocks)) {
        object.shift_remove("blocked");
    }
    for (name, envelope) in
        [("input", "modifiedInput"), ("output", "modifiedOutput"), ("error", "modifiedOutput")]
    {
        if object.contains_key(name) && object.get(name) == object.get(envelope) {
            object.shift_remove(name);
        }
    }
}

/// Reads kodelet's result fields.
fn fields(mut reply: Reply) -> Result<Outcome, HookError> {
    let mut outcome = Outcome::pass();
    let mut block = None;
    if knows_blocked(&reply.event) {
        let blocked = reply.read(|fields| fields.flag("blocked"))?;
        let reason = reply.text("reason")?.unwrap_or_default();
        block = (blocked == Some(true)).then_some(Action::Block(reason));
    }
    let change = match reply.event {
        EventName::BeforeToolCall => reply.any("input").map(Action::Modify),
        EventName::AfterToolCall => reply.any("output").map(Action::Modify),
        EventName::OnError => reply.text("error")?.map(|text| Action::Modify(text.into())),
        EventName::AfterTurn | EventName::AgentStop | EventName::OnBudgetExceeded => {
            match (turned(&mut reply), &block) {
                (Err(error), Some(_)) => {
                    reply.warn(format!("{}: not used", error.message));
                    None
                }
                (turn, _) => Some(turn?),
            }
        }
        _ => None,
    };
    if reply.event == EventName::AgentStop {
        outcome.follow_ups = reply.read(|fields| fields.texts("follow_up_messages"))?.unwrap_or_default();
    }
    match (block, change) {
        (Some(block), Some(Action::Callback(callback))) => {
            outcome.action = block;
            outcome.callback = Some(callback);
        }
        (Some(block), change) => {
            // A blocked event is not changed.
            outcome.action = block;
            if matches!(change, Some(Action::Modify(_))) {
                reply.warn("\"input\" has no effect beside \"blocked\": true");
            }
        }
        (None, change) => outcome.action = change.unwrap_or_default(),
    }
    Ok(reply.finish(outcome, KEYS))
}

/// `result` with its fields. The types of all of them are checked, whatever the result.
fn turned(reply: &mut Reply) -> Result<Action, HookError> {
    let allows = reply.event.allows();
    let result = reply.text("result")?.unwrap_or_default();
    let messages = if allows.mutate { reply.read(messages)? } else { None };
    let name = reply.text("callback")?.filter(|name| !name.is_empty());
    let args = reply.read(args)?;
    for (is_given, field, needed) in [
        (messages.is_some(), "messages", "mutate"),
        (name.is_some(), "callback", "callback"),
        (args.is_some(), "callback_args", "callback"),
    ] {
        if is_given && result != needed {
            reply.warn(format!("\"{field}\" has no effect without \"result\": \"{needed}\""));
        }
    }
    match result.as_str() {
        "mutate" if allows.mutate => match messages {
            Some(messages) if !messages.is_empty() => Ok(Action::Mutate(messages)),
            _ => Err(malformed("answered \"result\": \"mutate\" without messages")),
        },
        "callback" => match name {
            Some(name) => Ok(Action::Callback(Callback { name, args: args.unwrap_or_default() })),
            None => Err(malformed("answered \"result\": \"callback\" without the name of a callback")),
        },
        "" => Ok(Action::Pass),
        "continue" if allows.follow_up => Ok(Action::Pass),
        other => {
            let shown = text::escape(other, 40);
            Err(malformed(format!("answered \"result\": \"{shown}\", which {} does not have", reply.event)))
        }
    }
}

fn messages(fields: &mut Fields) -> Result<Option<Vec<Message>>, PayloadError> {
    let Some(Value::Array(items)) = fields.array("messages")? else { return Ok(None) };
    let messages = items.iter().enumerate().map(|(at, item)| {
        fields.message("messages", at, item).map(|(role, content)| Message::new(role, content))
    });
    messages.collect::<Result<_, _>>().map(Some)
}

fn args(fields: &mut Fields) -> Result<Option<Vec<(String, String)>>, PayloadError> {
    let Some(object) = fields.object("callback_args")? else { return Ok(None) };
    let args = object.into_iter().map(|(name, value)| match value {
        Value::String(text) => Ok((name, text)),
        other => Err(fields.error(&format!("callback_args.{name}"), "a string", &other)),
    });
    args.collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::Cause;
    use EventName::*;
    use serde_json::json;

    fn callback(name: &str, args: &[(&str, &str)]) -> Outcome {
        let args = args.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Action::Callback(Callback { name: name.to_owned(), args }).into()
    }

    #[test]
    fn a_near_miss_of_a_block_fails_the_hook() {
        for text in [
            r#"{"block":true}"#,
            r#"{"Blocked":true}"#,
            r#"{"is_blocked":true,"reason":"r"}"#,
            r#"{"deny":true}"#,
        ] {
            let error = outcome(&BeforeToolCall, text.as_bytes()).unwrap_err();
            assert_eq!(error.cause, Cause::MalformedOutput, "{text}");
            assert!(error.message.contains("expected \"blocked\": true"), "{text}: {}", error.message);
        }
        for text in [r#"{"block":false}"#, r#"{"note":true}"#, r#"{"blocked":true,"block":true}"#] {
            assert!(outcome(&BeforeToolCall, text.as_bytes()).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_a_hook_prints_is_read_as_kodelet_reads_it() {
        let mutate = || Outcome::from(Action::Mutate(vec![Message::user("s")]));
        for (event, stdout, want) in [
            (BeforeToolCall, "", Outcome::pass()),
            (BeforeToolCall, " \n\t\r\n", Outcome::pass()),
            (BeforeToolCall, "{}", Outcome::pass()),
            (BeforeToolCall, r#"{"blocked":false,"reason":null}"#, Outcome::pass()),
            (BeforeToolCall, "{\"blocked\":true,\"reason\":\"r\"}\n\n", Outcome::block("r")),
            (BeforeToolCall, r#"{"blocked":true}"#, Outcome::block("")),
            (BeforeToolCall, r#"{"input":{"timeout":5}}"#, Outcome::modify(json!({"timeout": 5}))),
            (BeforeToolCall, r#"{"input":"str"}"#, Outcome::modify("str")),
            (BeforeToolCall, r#"{"input":null}"#, Outcome::pass()),
            (UserMessageSend, r#"{"blocked":true,"reason":"r"}"#, Outcome::block("r")),
            (AfterToolCall, r#"{"output":{"success":true}}"#, Outcome::modify(json!({"success": true}))),
            (AfterToolCall, r#"{"output":null}"#, Outcome::pass()),
            (OnError, r#"{"error":"e"}"#, Outcome::modify("e")),
            (PreCompact, r#"{"blocked":true,"reason":"r"}"#, Outcome::block("r")),
            (AgentStop, r#"{"follow_up_messages":["m"]}"#, Outcome::follow_up("m")),
            (AgentStop, r#"{"result":"continue","follow_up_messages":["m"]}"#, Outcome::follow_up("m")),
            (AgentStop, r#"{"follow_up_messages":[]}"#, Outcome::pass()),
            (AfterTurn, r#"{"result":"mutate","messages":[{"role":"user","content":"s"}]}"#, mutate()),
            (
                AgentStop,
                r#"{"result":"mutate","messages":[{"role":"user","content":"s"}],"follow_up_messages":["m"]}"#,
                Outcome { follow_ups: vec!["m".into()], ..mutate() },
            ),
            (AfterTurn, r#"{"result":"callback","callback":"compact"}"#, callback("compact", &[])),
            (
                OnBudgetExceeded,
                r#"{"result":"callback","callback":"rotate","callback_args":{"b":"1","a":"2"}}"#,
                callback("rotate", &[("b", "1"), ("a", "2")]),
            ),
            (
                OnBudgetExceeded,
                r#"{"blocked":true,"reason":"full","result":"callback","callback":"rotate"}"#,
                Outcome::block("full").and_callback(Callback { name: "rotate".into(), args: Vec::new() }),
            ),
            (TurnEnd, "notjson", Outcome::pass()),
            (TurnEnd, r#"{"blocked":true}"#, Outcome::pass()),
            (BeforeToolCall, r#"{"action":"block","reason":"r"}"#, Outcome::block("r")),
            (AfterToolCall, r#"{"action":"block","reason":"r"}"#, Outcome::block("r")),
            (SessionStart, r#"{"action":"injectContext","additionalContext":["c"]}"#, Outcome::inject("c")),
        ] {
            assert_eq!(outcome(&event, stdout.as_bytes()), Ok(want), "{event} {stdout}");
        }
    }

    #[test]
    fn a_block_holds_beside_a_wrong_type() {
        for (event, stdout, want) in [
            (
                BeforeToolCall,
                r#"{"blocked":true,"reason":5}"#,
                "\"reason\" must be a string, found 5: not used",
            ),
            (
                OnBudgetExceeded,
                r#"{"blocked":true,"callback_args":[]}"#,
                "\"callback_args\" must be an object, found an array: not used",
            ),
            (BeforeToolCall, r#"{"blocked":true,"action":5}"#, "unknown key \"action\""),
            (BeforeToolCall, r#"{"blocked":true,"action":"passThrough"}"#, "unknown key \"action\""),
            (
                BeforeToolCall,
                r#"{"blocked":true,"input":{"a":1}}"#,
                "\"input\" has no effect beside \"blocked\": true",
            ),
            (
                OnBudgetExceeded,
                r#"{"blocked":true,"callback":"rotate"}"#,
                "\"callback\" has no effect without \"result\": \"callback\"",
            ),
            (
                BeforeToolCall,
                r#"{"action":"block","modifiedInput":{"a":1}}"#,
                "\"modifiedInput\" has no effect beside a block",
            ),
        ] {
            let want = Outcome { noticed: vec![want.to_owned()], ..Outcome::block("") };
            assert_eq!(outcome(&event, stdout.as_bytes()), Ok(want), "{stdout}");
        }
        // A turn that is wrong beside a block is wrong beside a block.
        let odd = br#"{"blocked":true,"result":"unheard of"}"#;
        assert!(matches!(outcome(&OnBudgetExceeded, odd).map(|o| o.action), Ok(Action::Block(_))));
    }

    #[test]
    fn a_block_holds_beside_what_cannot_be_read() {
        let deep = format!(r#"{{"blocked":true,"input":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        for (event, stdout, reason, want) in [
            (
                BeforeToolCall,
                &br#"{"blocked":true,"reason":"no \ud83d"}"#[..],
                "no \u{fffd}",
                "\"reason\" cannot be read: unexpected end of hex escape: read as far as it goes",
            ),
            (
                BeforeToolCall,
                br#"{"n":1e999,"blocked":true}"#,
                "",
                "\"n\" cannot be read: number out of range: not used",
            ),
            (
                BeforeToolCall,
                deep.as_bytes(),
                "",
                "\"input\" cannot be read: nested more than 120 levels deep: not used",
            ),
            (
                BeforeToolCall,
                b"{\"blocked\":true,\"reason\":\"\xff\"}",
                "\u{fffd}",
                "printed what is not UTF-8, at byte 26",
            ),
            (
                BeforeToolCall,
                br#"{"blocked":true,"blocked":false}"#,
                "",
                "\"blocked\" is there more than once: the one that blocks counts",
            ),
            (
                BeforeToolCall,
                br#"{"blocked":5,"blocked":true,"blocked":null}"#,
                "",
                "\"blocked\" is there more than once: the one that blocks counts",
            ),
            (
                AfterToolCall,
                br#"{"action":"block","reason":"r","modifiedOutput":1e999}"#,
                "r",
                "\"modifiedOutput\" cannot be read: number out of range: not used",
            ),
            (
                BeforeToolCall,
                br#"{"action":"block","action":"passThrough"}"#,
                "",
                "\"action\" is there more than once: the one that blocks counts",
            ),
        ] {
            let want = Outcome { noticed: vec![want.to_owned()], ..Outcome::block(reason) };
            assert_eq!(outcome(&event, stdout), Ok(want), "{}", String::from_utf8_lossy(stdout));
        }
        let many: String = (0..100).map(|n| format!(r#""k{n}":1e999,"#)).collect();
        let found = outcome(&PreCompact, format!(r#"{{{many}"blocked":true}}"#).as_bytes()).unwrap();
        assert_eq!((found.action, found.noticed.len()), (Action::Block(String::new()), 21));
        assert_eq!(found.noticed[20], "80 more fields that cannot be read");
    }

    #[test]
    fn what_cannot_be_read_is_malformed_without_a_block() {
        for (event, stdout, want) in [
            (
                BeforeToolCall,
                r#"{"reason":"\ud83d"}"#,
                "\"reason\" cannot be read: unexpected end of hex escape",
            ),
            (BeforeToolCall, r#"{"blocked":false,"n":1e999}"#, "\"n\" cannot be read: number out of range"),
            (SessionStart, r#"{"blocked":true,"n":1e999}"#, "\"n\" cannot be read: number out of range"),
            (
                AfterToolCall,
                r#"{"action":"passThrough","\u001b":1e999}"#,
                "\"\\u{1b}\" cannot be read: number out of range",
            ),
        ] {
            let error = outcome(&event, stdout.as_bytes()).unwrap_err();
            let want = (Cause::MalformedOutput, format!("answered wrongly: {want}"));
            assert_eq!((error.cause, error.message), want, "{stdout}");
        }
    }

    #[test]
    fn what_has_no_effect_is_a_warning() {
        for (event, stdout, want) in [
            (BeforeToolCall, r#"{"output":1}"#, vec!["\"output\" has no effect at before_tool_call"]),
            (UserMessageSend, r#"{"message":"x"}"#, vec!["unknown key \"message\""]),
            (
                AfterToolCall,
                r#"{"blocked":true,"reason":"x"}"#,
                vec![
                    "\"blocked\": true has no effect at after_tool_call: not applied",
                    "\"reason\" has no effect at after_tool_call",
                ],
            ),
            (
                AgentStop,
                r#"{"messages":[]}"#,
                vec!["\"messages\" has no effect without \"result\": \"mutate\""],
            ),
            (SessionStart, r#"{"\u001b[2J":1}"#, vec!["unknown key \"\\u{1b}[2J\""]),
        ] {
            let found = outcome(&event, stdout.as_bytes()).unwrap();
            assert_eq!(
                (found.action, found.noticed),
                (Action::Pass, want.iter().map(|w| (*w).to_owned()).collect())
            );
        }
        let many: Map<_, _> = (0..1000).map(|n| (format!("k{n}"), json!(1))).collect();
        let found = outcome(&SessionEnd, Value::Object(many).to_string().as_bytes()).unwrap();
        assert_eq!(found.noticed.last().map(String::as_str), Some("980 more unknown keys"));
    }

    #[test]
    fn what_is_no_answer_is_malformed() {
        for (event, stdout) in [
            (BeforeToolCall, &b"oops"[..]),
            (BeforeToolCall, b"\xef\xbb\xbf{\"blocked\":true}"),
            (BeforeToolCall, b"{\"blocked\":true}\n{\"blocked\":true}"),
            (BeforeToolCall, b"[{\"blocked\":true}]"),
            (BeforeToolCall, b"{\"blocked\":true"),
            (BeforeToolCall, b"{\"blocked\":false,\"reason\":\"\xff\"}"),
            (BeforeToolCall, b"{\"blocked\":\"true\"}"),
            (BeforeToolCall, b"{\"blocked\":1}"),
            (BeforeToolCall, b"{\"reason\":5}"),
            (BeforeToolCall, b"{\"action\":\"nope\"}"),
            (AgentStop, b"{\"follow_up_messages\":[\"a\",5]}"),
            (AgentStop, b"{\"result\":\"restart\"}"),
            (AgentStop, b"{\"result\":\"mutate\"}"),
            (AgentStop, b"{\"result\":\"mutate\",\"messages\":[]}"),
            (AgentStop, b"{\"result\":\"mutate\",\"messages\":[{\"role\":\"user\"}]}"),
            (AgentStop, b"{\"result\":\"mutate\",\"messages\":[\"x\"]}"),
            (AgentStop, b"{\"result\":\"mutate\",\"messages\":[{\"role\":\"wizard\",\"content\":\"s\"}]}"),
            (AfterTurn, b"{\"result\":\"mutate\",\"messages\":[{\"role\":\"tool\",\"content\":\"s\"}]}"),
            (AfterTurn, b"{\"result\":\"continue\"}"),
            (AfterTurn, b"{\"result\":\"callback\"}"),
            (AfterTurn, b"{\"result\":\"callback\",\"callback\":\"c\",\"callback_args\":{\"a\":1}}"),
            (
                OnBudgetExceeded,
                b"{\"result\":\"mutate\",\"messages\":[{\"role\":\"user\",\"content\":\"s\"}]}",
            ),
            (OnError, b"{\"error\":{}}"),
        ] {
            let error = outcome(&event, stdout).unwrap_err();
            assert_eq!(error.cause, Cause::MalformedOutput, "{}", String::from_utf8_lossy(stdout));
        }
        let deep = [b"{\"input\":".as_slice(), &b"[".repeat(100_000)].concat();
        assert_eq!(outcome(&BeforeToolCall, &deep).unwrap_err().cause, Cause::MalformedOutput);
        let message = outcome(&BeforeToolCall, b"\x1b[31moops").unwrap_err().message;
        assert_eq!(
            message,
            "printed what is not one JSON object: expected value at line 1 column 1: \\u{1b}[31moops"
        );
    }
}
