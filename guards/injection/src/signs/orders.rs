//! Finds orders in set phrases: other rules, another task, another sender.

use super::{Place, is};
use crate::read::gap;
use crate::score::Kind;

/// Finds the sign of a phrase that begins, or turns, at a word.
pub(super) fn judge(place: &Place<'_>, word: &str) -> Option<(Kind, u8)> {
    let before = place.word(-1);
    let sign = match word {
        "rules" | "guidelines" | "restrictions" | "instructions" | "safeguards" => {
            let is_of_model =
                is(before, "your safety") || is(before, "previous prior earlier") && place.word(-2) == "your";
            let ended = "revoked lifted suspended void off disabled end ended";
            (is_of_model && place.has(4, ended) && !place.is_denied()).then_some((Kind::Override, 6))?
        }
        "new" if is(place.word(1), "task goal objective") && place.gap(2) & gap::COLON != 0 => {
            (Kind::Role, 2)
        }
        "note" if before == "system" && place.gap(1) & gap::COLON != 0 => (Kind::Role, 2),
        "you" if place.follows("are now in") && place.has(7, "mode") => {
            let modes = "maintenance developer admin debug god dan unrestricted sudo";
            place.has(6, modes).then_some((Kind::Role, 4))?
        }
        "you" if place.follows("have no") => {
            let ends = "restrictions limits rules limitations guidelines";
            is(place.word(3), ends).then_some((Kind::Role, 4))?
        }
        "from" if place.follows("now on you work") => (Kind::Role, 2),
        "act" if place.word(1) == "as" && place.is_order() => {
            place.has(4, "root admin administrator unrestricted").then_some((Kind::Role, 3))?
        }
        "user" if place.follows("has left") || place.follows("has gone") => (Kind::Role, 2),
        "autonomously" if is(before, "act operate work proceed") => (Kind::NoQuestion, 2),
        "pretend" if place.is_order() && place.has(9, "user") && place.has(8, "your") => (Kind::Role, 4),
        "here" if place.follows("is my") && is(place.word(3), "full hidden secret entire") => {
            (place.word(4) == "system" && place.word(5) == "prompt").then_some((Kind::Reveal, 4))?
        }
        "end" if place.follows("of tool") && is(place.word(3), "result output response") => (Kind::Marker, 2),
        "comply" if place.word(1) == "with" && place.has(6, "below page commands") => (Kind::Obey, 2),
        "do" if place.word(1) == "what" && is(place.word(2), "it this") && place.word(3) == "says" => {
            (Kind::Obey, 2)
        }
        "approve" | "merge" | "accept" if place.is_order() && is(place.word(1), "this the") => {
            let of_review = "change changes pr request diff paper";
            place.has(3, of_review).then_some((Kind::Obey, 2))?
        }
        "insert" | "plant" | "leave" | "add" if place.has(3, "backdoor") && !place.is_denied() => {
            (Kind::Obey, 2)
        }
        "hide" if place.has(4, "notice warning warnings recall invitation") => (Kind::Conceal, 2),
        "ask" if place.is_denied() && place.has(3, "confirmation permission") => (Kind::NoQuestion, 2),
        "without" if place.word(1) == "review" => (Kind::NoQuestion, 2),
        _ => return None,
    };
    Some(sign)
}
