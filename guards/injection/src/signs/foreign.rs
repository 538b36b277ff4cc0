//! Finds orders to drop instructions in other languages than English.

use super::Place;
use crate::score::Kind;

/// A language: verbs, objects and words for `previous`, each a beginning.
const LANGUAGES: [[&[&str]; 3]; 9] = [
    // German
    [
        &["ignorier", "vergiss", "vergesst", "vergessen", "missacht"],
        &["anweisung", "vorgabe", "instruktion"],
        &["vorherig", "bisherig", "obig", "alle", "früher", "deine"],
    ],
    // French
    [
        &["ignore", "ignorez", "oublie", "oubliez"],
        &["instruction", "consigne", "directive"],
        &["précédent", "antérieur", "ci", "toutes", "tes", "vos"],
    ],
    // Spanish
    [
        &["ignora", "ignore", "ignorad", "olvida", "olvide"],
        &["instruccion", "instrucción", "órdenes"],
        &["anterior", "previa", "todas", "tus"],
    ],
    // Portuguese
    [
        &["ignore", "ignora", "esqueça", "esquece"],
        &["instruções", "instruçoes", "instrucoes"],
        &["anterior", "prévia", "todas", "suas"],
    ],
    // Italian
    [&["ignora", "ignorate", "dimentica"], &["istruzion"], &["precedent", "tutte", "tue"]],
    // Dutch
    [
        &["negeer", "vergeet"],
        &["instructie", "aanwijzing", "opdracht"],
        &["vorige", "eerdere", "alle", "bovenstaande"],
    ],
    // Polish
    [
        &["zignoruj", "ignoruj", "zapomnij"],
        &["instrukcj", "polece"],
        &["poprzedni", "wszystkie", "wcześniejsz"],
    ],
    // Russian
    [&["игнорируй", "проигнорируй", "забудь"], &["инструкци", "указани"], &["предыдущ", "все", "прежн"]],
    // Turkish
    [&["yoksay", "unut", "görmezden"], &["talimat"], &["önceki", "tüm"]],
];

/// The same for languages that write no spaces, where the parts may be in one word and in any order.
const DENSE: [[&[&str]; 3]; 3] = [
    // Chinese
    [
        &["忽略", "无视", "無視", "忘记"],
        &["指令", "指示", "提示"],
        &["之前", "以上", "先前", "上述", "所有", "前面"],
    ],
    // Japanese
    [&["無視", "忘れ"], &["指示", "命令"], &["以前", "これまで", "上記", "すべて", "前の"]],
    // Korean
    [&["무시"], &["지시", "명령"], &["이전", "위의", "모든"]],
];

/// The words in which the parts of an order are together.
const NEAR: usize = 7;

/// Finds an order to drop instructions.
pub(super) fn judge(place: &Place<'_>, word: &str) -> Option<(Kind, u8)> {
    let found = if word.as_bytes().first().is_some_and(|it| *it >= 0xe3) {
        DENSE.iter().any(|parts| is_dense(place, word, parts))
    } else {
        LANGUAGES.iter().any(|parts| is_spaced(place, word, parts))
    };
    found.then_some((Kind::Override, 6))
}

fn is_spaced(place: &Place<'_>, word: &str, [verbs, objects, earlier]: &[&[&str]; 3]) -> bool {
    // `ignore` is English as well, so a verb is a whole word where its beginning would be one.
    // An author who writes `we ignore` gives no order.
    let is_report = word.ends_with("amos") || word.ends_with("iamo");
    let is_verb = !is_report
        && (verbs.contains(&word) || word.len() > 6 && begins(word, verbs) && !word.starts_with("ignored"));
    if !is_verb {
        return false;
    }
    // The object of English is French as well: one of the other words must not be English.
    let near = || place.next(NEAR);
    near().any(|it| begins(it, objects)) && near().any(|it| begins(it, earlier) && it != "all")
}

fn is_dense(place: &Place<'_>, word: &str, parts: &[&[&str]; 3]) -> bool {
    let [verbs, objects, earlier] = parts;
    let has = |list: &[&str]| {
        let mut words = std::iter::once(word).chain(place.next(NEAR));
        words.any(|it| list.iter().any(|part| it.contains(part)))
    };
    // The first word of the order has one of its parts.
    [verbs, objects, earlier].iter().any(|list| list.iter().any(|part| word.contains(part)))
        && has(verbs)
        && has(objects)
        && has(earlier)
}

fn begins(word: &str, list: &[&str]) -> bool {
    list.iter().any(|it| word.starts_with(it))
}
