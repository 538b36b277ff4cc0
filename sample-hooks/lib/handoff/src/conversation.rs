//! The text of the user and the agent in a conversation.

use std::fmt;

use hookbox_sdk::Document;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The largest conversation that is read as a whole, in bytes; of a larger one only the latest messages are
/// read. The host lets a component copy 4 MiB a call.
const WHOLE: u64 = 2 * 1024 * 1024;

/// The text that is read of a larger conversation, in bytes.
const LATEST: usize = 1024 * 1024;

/// The number of messages that are read of a larger conversation.
const MESSAGES: usize = 1000;

/// The beginnings of messages that are a tool's call or result, as kodelet and the reference agent write them.
const TOOLS: [&str; 4] = ["Using tool: ", "Tool result:", "\u{1f527} Using tool: ", "\u{1f504} Tool result:"];

/// The texts, oldest first.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The texts of the user and the agent.
    pub texts: Vec<String>,
    /// The size of the conversation, in bytes of JSON.
    pub size: u64,
    /// True if the beginning was left out, because it is too large.
    pub cut: bool,
}

/// Returns the text of the user and the agent in these messages: their `content`, or the `text` of its
/// blocks. The output of tools is left out, and so is anything that is not a message.
pub fn said(messages: &Document) -> Said {
    let size = messages.size();
    if size <= WHOLE {
        let texts = messages.parse::<Texts>().map(|texts| texts.0).unwrap_or_default();
        return Said { texts, size, cut: false };
    }
    let mut texts = Vec::new();
    let mut taken = 0;
    let count = count(messages);
    for number in (count.saturating_sub(MESSAGES)..count).rev() {
        let Ok(Some(Text(Some(text)))) = messages.get::<Text>(&format!("/{number}")) else { continue };
        taken += text.len();
        if taken > LATEST {
            break;
        }
        texts.push(text);
    }
    texts.reverse();
    Said { texts, size, cut: true }
}

/// Returns the number of messages: a document only tells whether an index exists.
fn count(messages: &Document) -> usize {
    let there =
        |number: usize| messages.get::<IgnoredAny>(&format!("/{number}/role")).ok().flatten().is_some();
    let mut high = 1;
    while high < 1 << 24 && there(high - 1) {
        high *= 2;
    }
    let mut low = high / 2;
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        if there(middle - 1) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The texts of a list of messages. Nothing else is kept: a list of a million nothings takes no memory.
#[derive(Default)]
struct Texts(Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Texts, A::Error> {
                let mut texts = Vec::new();
                while let Some(Text(text)) = list.next_element()? {
                    texts.extend(text);
                }
                Ok(Texts(texts))
            }
        }

        deserializer.deserialize_seq(List)
    }
}

/// The text of a message of the user or the agent.
struct Text(Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Message)
    }
}

/// The value of `content`, or a block of it: a text, or blocks with a `text`.
struct Content(String);

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Blocks)
    }
}

/// Other values count as empty.
macro_rules! nothing {
    ($nothing:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($nothing)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($nothing)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($nothing)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($nothing)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($nothing)
        }
    };
}

struct Message;

impl<'de> Visitor<'de> for Message {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    nothing!(Text(None));

    fn visit_str<E>(self, _: &str) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Text, A::Error> {
        let (mut speaks, mut text) = (false, None);
        while let Some(name) = fields.next_key::<String>()? {
            match name.as_str() {
                "role" => speaks = matches!(fields.next_value::<Content>()?.0.as_str(), "user" | "assistant"),
                "content" => text = Some(fields.next_value::<Content>()?.0),
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        let is_tool = |text: &str| TOOLS.iter().any(|beginning| text.starts_with(beginning));
        Ok(Text(text.filter(|text| speaks && !text.is_empty() && !is_tool(text))))
    }
}

struct Blocks;

impl<'de> Visitor<'de> for Blocks {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or blocks")
    }

    nothing!(Content(String::new()));

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Content, E> {
        Ok(Content(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content, A::Error> {
        let mut all = String::new();
        while let Some(Block(text)) = list.next_element()? {
            if !all.is_empty() && !text.is_empty() {
                all.push('\n');
            }
            all.push_str(&text);
        }
        Ok(Content(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Content, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Content(String::new()))
    }
}

/// The text of a block of the type `text`, or of none.
struct Block(String);

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneBlock)
    }
}

struct OneBlock;

impl<'de> Visitor<'de> for OneBlock {
    type Value = Block;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a block")
    }

    nothing!(Block(String::new()));

    fn visit_str<E>(self, text: &str) -> Result<Block, E> {
        Ok(Block(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Block, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Block(String::new()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Block, A::Error> {
        let (mut is_text, mut text) = (true, String::new());
        while let Some(name) = fields.next_key::<String>()? {
            match name.as_str() {
                "type" => is_text = fields.next_value::<Content>()?.0 == "text",
                "text" => text = fields.next_value::<Content>()?.0,
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Block(if is_text { text } else { String::new() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_was_said_is_found_in_every_form_of_a_message() {
        let messages = json!([
            {"role": "user", "content": "one"},
            {"content": "two", "role": "assistant"},
            {"role": "assistant", "content": [{"type": "text", "text": "three"}, {"type": "tool_use", "text": "no"}, {"text": "four"}, "five", 5, [], null]},
            {"role": "user", "content": [{"type": "tool_result", "content": "no"}]},
            {"role": "tool", "content": "no"}, {"role": "system", "content": "no"},
            {"role": "assistant", "content": "Using tool: bash with input: {}"}, {"role": "user", "content": "Tool result:\nno"},
            {"role": "assistant", "content": "🔧 Using tool: bash with input: {}"}, {"role": "assistant", "content": "🔄 Tool result:\nno"},
            {"role": "user"}, {"role": "user", "content": null}, {"role": 5, "content": {"text": "no"}}, {}, [], 5, null, true, "no", 0.5,
        ]);
        let found = said(&messages.clone().into());
        assert_eq!(found.texts, ["one", "two", "three\nfour\nfive"]);
        assert_eq!(found.size, messages.to_string().len() as u64);
        for odd in [Value::Null, json!({}), json!("text"), json!(5)] {
            assert_eq!(said(&odd.into()).texts, [""; 0]);
        }
    }

    #[test]
    fn of_a_large_conversation_the_latest_is_read() {
        for (count, length) in [(30, 100_000), (3000, 1000), (1, 3_000_000)] {
            let messages: Vec<Value> = (0..count)
                .map(|n| json!({"role": "user", "content": format!("{n} {}", "x".repeat(length))}))
                .collect();
            let found = said(&Value::from(messages).into());
            assert!(found.cut && found.texts.iter().map(String::len).sum::<usize>() <= LATEST);
            if count > 1 {
                let last = found.texts.last().unwrap();
                assert!(last.starts_with(&format!("{} ", count - 1)), "{}", last.get(..20).unwrap());
                assert!(found.texts.len() > 9);
            }
        }
    }

    #[test]
    fn the_messages_of_a_document_are_counted() {
        for expected in [0, 1, 2, 3, 4, 7, 8, 9, 100] {
            let messages: Vec<Value> = (0..expected).map(|_| json!({"role": "user"})).collect();
            assert_eq!(count(&Value::from(messages).into()), expected);
        }
    }
}
