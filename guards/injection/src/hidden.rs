//! Finds what a reader of a page does not see: characters, comments, and frames of a conversation.

use crate::read::Words;
use crate::score::{Found, Kind, Sign};

/// The invisible characters in a row that can carry a text. Emoji and scripts need three at most.
const MAX_INVISIBLE: usize = 4;

/// The longest part that is taken as hidden, in bytes: one without an end must not hide the rest of a text.
const MAX_SPAN: usize = 4000;

/// Returns the place of characters that carry a text which no reader sees, or show it in another order.
pub(crate) fn characters(text: &str) -> Option<Found> {
    if text.is_ascii() {
        return None;
    }
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if !line.is_ascii()
            && let Some((at, what)) = of_line(line)
        {
            return Some(Found { what, offset: offset + at });
        }
        offset += line.len();
    }
    None
}

fn of_line(line: &str) -> Option<(usize, &'static str)> {
    let (mut run, mut tags, mut is_flag, mut turned) = (0, 0, false, None);
    let mut is_right_to_left = false;
    for (at, letter) in line.char_indices() {
        let is_tag = matches!(letter, '\u{e0000}'..='\u{e007f}');
        // Flags of regions are a black flag with tags.
        is_flag = letter == '\u{1f3f4}' || is_flag && is_tag;
        tags = if is_tag && !is_flag { tags + 1 } else { 0 };
        let is_smuggled = matches!(letter, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
        run = if is_smuggled { run + 1 } else { 0 };
        if tags >= 3 || run >= MAX_INVISIBLE {
            return Some((at, "invisible characters that can carry a text"));
        }
        is_right_to_left |=
            matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}');
        if turned.is_none() && matches!(letter, '\u{202b}' | '\u{202e}' | '\u{2067}') {
            turned = Some(at);
        }
    }
    turned.filter(|_| !is_right_to_left).map(|at| (at, "characters that show text in another order"))
}

/// The frames of conversations, and their weights. Only text about models has them.
const FRAMES: [(&str, u8); 18] = [
    ("<assistant>", 2),
    ("</assistant>", 2),
    ("<|im_start|>", 2),
    ("<|im_end|>", 2),
    ("<|system|>", 2),
    ("<|user|>", 2),
    ("<|assistant|>", 2),
    ("<<sys>>", 2),
    ("<system>", 2),
    ("</system>", 2),
    ("<system-reminder>", 3),
    ("</tool_result>", 3),
    ("</tool_response>", 3),
    ("</function_results>", 3),
    ("[inst]", 2),
    ("[/inst]", 2),
    ("[system]", 2),
    ("{{#system}}", 2),
];

/// Returns the frames of a conversation, and the images whose address has a place for data.
pub(crate) fn markers(text: &str, words: &Words) -> Vec<Sign> {
    let mut found = Vec::new();
    let places = text.bytes().enumerate().filter(|(_, it)| matches!(it, b'<' | b'[' | b'{' | b'!'));
    for (offset, _) in places {
        let rest = text.get(offset..).unwrap_or_default();
        let frame = FRAMES
            .iter()
            .find(|(frame, _)| starts_with(rest, frame))
            .map(|(_, weight)| (Kind::Marker, *weight));
        let image =
            || rest.starts_with("![").then(|| image(rest)).flatten().map(|weight| (Kind::Image, weight));
        if let Some((kind, weight)) = frame.or_else(image) {
            found.push(Sign { kind, weight, at: words.after(offset), offset });
        }
    }
    found
}

/// Returns the weight of a Markdown image whose query is to be filled in.
fn image(text: &str) -> Option<u8> {
    let near = text.get(..text.floor_char_boundary(200))?;
    let (_, address) = near.split_once("](")?;
    let (address, _) = address.split_once(')')?;
    let (host, query) = address.split_once('?')?;
    if !host.starts_with("http") {
        return None;
    }
    let query = query.to_ascii_lowercase();
    let has_place = query.contains(['{', '<', '[', '$']) || query.contains("%7b");
    let data =
        ["conversation", "secret", "token", "key", "password", "history", "summary", "chat", "env", "data"];
    // A badge has a branch or version at such a place.
    has_place.then(|| if data.iter().any(|it| query.contains(it)) { 4 } else { 2 })
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start))
}

/// Returns the parts of a text that a reader of a page does not see, in their order and apart.
pub(crate) fn spans(text: &str) -> Vec<(usize, usize)> {
    let (mut found, mut offset): (Vec<(usize, usize)>, usize) = (Vec::new(), 0);
    while let Some(next) = text.get(offset..).and_then(|it| it.find(['<', '['])) {
        let start = offset + next;
        offset = start + 1;
        let rest = text.get(start..text.floor_char_boundary(start + MAX_SPAN)).unwrap_or_default();
        let begins_line = start == 0 || text.get(..start).is_some_and(|it| it.ends_with('\n'));
        if let Some(length) = hidden(rest, begins_line) {
            found.push((start, start + length));
            offset = start + length.max(1);
        }
    }
    found
}

/// Returns the length of the hidden part with which a text starts.
fn hidden(rest: &str, begins_line: bool) -> Option<usize> {
    if rest.starts_with("<!--") {
        // A comment without an end hides all that follows.
        return Some(rest.find("-->").map_or(rest.len(), |it| it + 3));
    }
    if rest.starts_with('[') {
        if !begins_line {
            return None;
        }
        // A link's definition that nothing uses: the comment of Markdown.
        let line = rest.split('\n').next()?;
        return line.contains("]: #").then_some(line.len());
    }
    if !rest.get(1..2)?.bytes().all(|it| it.is_ascii_alphabetic()) {
        return None;
    }
    // Not beyond the next tag: each part of a text is searched once.
    let end = rest.char_indices().skip(1).find(|(_, it)| matches!(it, '<' | '>'))?;
    let tag = rest.get(..=end.0).filter(|it| it.ends_with('>'))?;
    if !tag.contains('=') && !tag.contains("hidden") {
        return None;
    }
    let plain: String = tag.chars().filter(|it| !it.is_whitespace()).collect::<String>().to_ascii_lowercase();
    if plain.starts_with("<meta") || plain.contains("alt=") || plain.contains("title=") {
        return Some(tag.len());
    }
    let styles = "display:none visibility:hidden font-size:0 opacity:0 hidden> color:#fff color:white";
    if !styles.split(' ').any(|it| plain.contains(it)) {
        return None;
    }
    let end = rest.get(tag.len()..)?.find("</").unwrap_or(rest.len() - tag.len());
    Some(tag.len() + end)
}
