//! Real components with something wrong in them.

use crate::random::Noise;

/// So many damaged forms of a component, by name.
pub(crate) fn of(name: &str, good: &[u8], count: u64) -> Vec<(String, Vec<u8>)> {
    (0..count).map(|seed| (format!("{name}-{seed:03}"), damaged(good, seed))).collect()
}

fn damaged(good: &[u8], seed: u64) -> Vec<u8> {
    let mut noise = Noise::new(seed);
    let mut bytes = good.to_vec();
    // The header is checked before anything else; what matters comes after it.
    let mut place = |bytes: &[u8]| 8 + noise.below(bytes.len().saturating_sub(9).max(1));
    match seed % 5 {
        0 => bytes.truncate(place(good)),
        1 => swap_sections(&mut bytes, &mut noise),
        2 => {
            let (from, to) = (place(good), place(good));
            let piece = bytes[from..good.len().min(from + 16)].to_vec();
            bytes.splice(to..to, piece);
        }
        // A few bits; in code or data, the component still loads.
        _ => {
            for _ in 0..=seed % 3 {
                let at = place(good);
                bytes[at] ^= 1 << (at % 8);
            }
        }
    }
    bytes
}

/// Swaps two sections of the component.
fn swap_sections(bytes: &mut Vec<u8>, noise: &mut Noise) {
    let sections = sections(bytes);
    if sections.len() < 2 {
        return;
    }
    let first = noise.below(sections.len() - 1);
    let second = first + 1 + noise.below(sections.len() - first - 1);
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.swap(first, second);
    let body: Vec<u8> = order.iter().flat_map(|&index| bytes[sections[index].clone()].to_vec()).collect();
    bytes.truncate(8);
    bytes.extend(body);
}

/// Returns the ranges of the sections of a component: an id, a length in LEB128, the content.
fn sections(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut at = 8;
    while at < bytes.len() {
        let (mut length, mut shift, mut next) = (0_usize, 0, at + 1);
        while let Some(&byte) = bytes.get(next) {
            length |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            next += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let end = (next + length).min(bytes.len());
        found.push(at..end);
        at = end;
    }
    found
}
