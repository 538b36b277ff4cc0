//! The schema of a hook's settings, which the SDK of its language derives.

/// The custom section of a component that has the schema.
const SECTION: &[u8] = b"hookbox:settings";

/// The longest output that is read as a schema, in bytes. hookbox itself takes no longer one.
pub(super) const MAX: u64 = 64 << 10;

/// Appends the section with this schema to a component; nothing if there is no schema.
pub(super) fn append(component: &mut Vec<u8>, schema: &[u8]) {
    let schema = schema.trim_ascii();
    if schema.is_empty() {
        return;
    }
    let mut section = Vec::new();
    length(&mut section, SECTION.len());
    section.extend_from_slice(SECTION);
    section.extend_from_slice(schema);
    // A custom section.
    component.push(0);
    length(component, section.len());
    component.append(&mut section);
}

/// Writes a length as WebAssembly does: seven bits a byte, the lowest first.
fn length(to: &mut Vec<u8>, mut value: usize) {
    loop {
        let low = u8::try_from(value & 0x7F).unwrap_or_default();
        value >>= 7;
        to.push(if value > 0 { low | 0x80 } else { low });
        if value == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_a_section_at_the_end() {
        let mut component = b"\0asm\x0d\0\x01\0".to_vec();
        let before = component.clone();
        append(&mut component, b" \n");
        assert_eq!(component, before);
        append(&mut component, b"{}\n");
        assert_eq!(component[before.len()..], *b"\0\x13\x10hookbox:settings{}");

        let mut long = Vec::new();
        append(&mut long, &[b'x'; 300]);
        // 317 is 2 * 128 + 61.
        assert_eq!((&long[..3], long.len()), (&[0, 0x80 | 61, 2][..], 3 + 317));
    }
}
