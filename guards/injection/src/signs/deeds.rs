//! Finds what an order asks for: secrets, commands, silence.

use super::{Place, is};
use crate::read::gap;
use crate::score::Kind;

/// Words for secrets.
const SECRETS: &str = "env environ token tokens key keys password passwords credential credentials secret \
    secrets id_rsa ssh authorized_keys bashrc conversation mailbox private antivirus environment history \
    netrc kube gnupg memory";

/// Finds a deed that an order may ask for.
pub(super) fn judge(place: &Place<'_>, word: &str) -> Option<(Kind, u8)> {
    let sign = match word {
        "run" | "execute" | "call" | "invoke" | "launch" if !place.is_denied() => run(place)?,
        "send" | "email" | "post" | "upload" | "forward" | "paste" | "exfiltrate" | "leak" | "put"
        | "push" | "pushed" | "read" | "open" | "output" | "append" | "copy" | "print" | "transmit"
        | "share" | "search" | "write" | "enter" | "cat" | "replace" | "list" | "reveal" | "show"
            if place.has(9, SECRETS) && !place.is_denied() =>
        {
            (Kind::Send, 2)
        }
        "delete" | "remove" | "drop" | "wipe" | "erase"
            if place.has(
                4,
                "repository repo tests files table tables branch database directory mail home everything",
            ) =>
        {
            (Kind::Destroy, 2)
        }
        "force" if place.word(1) == "push" => (Kind::Destroy, 2),
        "disable" | "deactivate" | "turn"
            if (word != "turn" || place.has(1, "off"))
                && place.has(
                    6,
                    "safety hooks hook guard guards antivirus confirmations sandbox protections filters",
                ) =>
        {
            (Kind::Disable, 2)
        }
        "include" if place.has(4, "link image url") && !place.is_denied() => (Kind::Send, 2),
        "curl" | "wget" if place.is_order() && !place.is_denied() => (Kind::Run, 2),
        "no" if place.word(1) == "verify" => (Kind::Disable, 2),
        _ => return None,
    };
    Some(sign)
}

fn run(place: &Place<'_>) -> Option<(Kind, u8)> {
    // From the net, or to it: an honest text seldom asks a model for that.
    if place.has(9, "curl wget powershell iwr") {
        return Some((Kind::Run, 3));
    }
    place
        .has(7, "command commands script scripts tool query following sh ps1 file rm whatever")
        .then_some((Kind::Run, 2))
}

/// Finds an order to hide something from the user, or not to ask.
pub(super) fn hides(place: &Place<'_>, word: &str) -> Option<(Kind, u8)> {
    const PEOPLE: &str = "user users operator human owner developer maintainer anyone";
    const IT: &str = "this it that these";
    let is_about = |place: &Place<'_>, list: &str| place.next(5).any(|it| is(it, PEOPLE) || is(it, list));
    let sign = match word {
        "tell" | "inform" | "notify" | "alert" if place.is_denied() && is_about(place, "") => {
            (Kind::Conceal, 2)
        }
        "mention" | "show" | "reveal" | "disclose" | "report" if place.is_denied() && is_about(place, IT) => {
            (Kind::Conceal, 2)
        }
        "hide" | "conceal" | "keep" if place.next(6).any(|it| it == "from") && place.has(8, PEOPLE) => {
            (Kind::Conceal, 2)
        }
        "keep" if place.word(1) == "quiet" => (Kind::Conceal, 2),
        "hide" if place.word(1) == "that" && place.word(2) == "you" => (Kind::Conceal, 2),
        "secretly" | "silently" | "covertly" => (Kind::Conceal, 2),
        "without" if place.has(2, "asking confirmation confirming permission approval telling informing") => {
            (Kind::NoQuestion, 2)
        }
        "skip" | "bypass" if place.has(3, "confirmation confirmations approval approvals") => {
            (Kind::NoQuestion, 2)
        }
        "ask" if place.is_denied() && place.has(3, PEOPLE) => (Kind::NoQuestion, 2),
        "granted" | "approved" | "authorized" | "authorised"
            if place.word(-1) == "has" && is(place.word(-2), "user operator") =>
        {
            (Kind::NoQuestion, 2)
        }
        _ => return None,
    };
    // Two clauses are two things.
    (place.gap(1) & gap::STOP == 0 || word.ends_with("ly")).then_some(sign)
}
