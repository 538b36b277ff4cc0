//! Finds text that speaks to a model.

use super::{Place, is};
use crate::read::gap;
use crate::score::Kind;

/// The words for models that mean nothing else.
const SURE: &str = "ai ais llm llms assistant assistants chatgpt chatbot chatbots";

/// The names of products, which manuals list.
const PRODUCTS: &str = "copilot claude codex gemini gpt";

/// The words that other things have as well, such as an agent of a build.
const VAGUE: &str = "agent agents model models bot bots";

/// Returns the weight of a text that speaks to a model: 3 if it says so, 1 if it may mean something else.
pub(super) fn judge(place: &Place<'_>, word: &str) -> Option<(Kind, u8)> {
    if matches!(word, "when" | "while" | "if") && place.word(1) == "you" {
        let reads = "summarise summarize review read process reviewing summarising summarizing";
        let is_this = is(place.word(2), reads) && is(place.word(3), "this the");
        return is_this.then_some((Kind::Address, 2));
    }
    if word == "by" && is(place.word(-1), "processed read summarized summarised handled") {
        return place.has(3, SURE).then_some((Kind::Address, 2));
    }
    if word == "whichever" {
        let is_model = is(place.word(1), SURE) || is(place.word(1), VAGUE);
        return is_model.then_some((Kind::Address, 2));
    }
    let is_name = |it: &str| is(it, SURE) || is(it, PRODUCTS) || is(it, VAGUE);
    if !is_name(word) || is_name(place.word(-1)) {
        return None;
    }
    // The last word of the name: `ai coding agents`.
    let more = (1..4).take_while(|by| {
        let it = place.word(*by);
        place.gap(*by) & (gap::CLAUSE | gap::OTHER) == 0
            && (is_name(it) || is(it, "coding reviewers reviewer language system systems"))
    });
    let last = more.last().unwrap_or(0);
    let is_sure = (0..=last).any(|by| is(place.word(by), SURE)) || place.word(-1) == "language";
    weight(place, last, is_sure).map(|it| (Kind::Address, it))
}

fn weight(place: &Place<'_>, last: isize, is_sure: bool) -> Option<u8> {
    let mut first = 0;
    while first > -4 && is(place.word(first - 1), "the any all an a every coding language large our") {
        first -= 1;
    }
    let (before, earlier) = (place.word(first - 1), place.word(first - 2));
    let next = place.word(last + 1);
    let (end, start) = (place.gap(last + 1), place.gap(first));
    let is_called = end & (gap::COLON | gap::COMMA) != 0;
    if is(before, "dear hey attention hello hi") || place.gap(0) & gap::AT != 0 {
        return Some(if is_sure { 3 } else { 2 });
    }
    let notes = "note notes message notice instruction instructions reminder request attention command task \
        important prompt hint todo";
    if is(before, "to for") && is(earlier, notes) {
        return Some(3);
    }
    let begins = place.gap(first - 1) & gap::CLAUSE != 0;
    if before == "to" && begins && (is_called || is(next, "reading reviewing that who processing")) {
        return Some(3);
    }
    if before == "are" && earlier == "you" && is(place.word(first - 3), "if since because as") {
        return Some(3);
    }
    if before == "as" && begins && is_sure && (last + 1..last + 4).any(|by| place.word(by) == "you") {
        return Some(3);
    }
    let is_note = is(next, "instruction instructions note notice directive");
    if is_note && place.gap(last + 2) & gap::COLON != 0 {
        return Some(if is_sure { 3 } else { 2 });
    }
    let plural = place.word(last).ends_with('s');
    if is_called && start & gap::CLAUSE != 0 {
        return Some(if is_sure || plural { 2 } else { 1 });
    }
    let here = Place { words: place.words, at: place.at.saturating_add_signed(last) };
    if here.has(1, "reading processing reviewing") && here.word(2) == "this" {
        return Some(2);
    }
    let is_ordered =
        here.has(7, "must should shall") || here.has(7, "instructed required requested") && here.has(8, "to");
    is_ordered.then_some(if is_sure { 2 } else { 1 })
}
