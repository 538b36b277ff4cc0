//! The text of a file without its tests, and its numbers.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, Expr, File, Lit, Meta, Token, Type};

/// Reads the text of a file.
pub(crate) fn parse(text: &str) -> Result<File, String> {
    syn::parse_file(text).map_err(|error| format!("line {}: {error}", error.span().start().line))
}

/// Removes the items that only tests have. A file can be such an item as a whole.
pub(crate) fn remove_tests(file: &mut File) {
    if file.attrs.iter().any(is_test) {
        file.items.clear();
        file.attrs.clear();
    }
    WithoutTests.visit_file_mut(file);
}

struct WithoutTests;

impl VisitMut for WithoutTests {
    fn visit_file_mut(&mut self, file: &mut File) {
        file.items.retain(|it| !has_test(it));
        visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(|it| !has_test(it));
        }
        visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
        block.items.retain(|it| !has_test(it));
        visit_mut::visit_item_impl_mut(self, block);
    }

    fn visit_item_trait_mut(&mut self, item: &mut syn::ItemTrait) {
        item.items.retain(|it| !has_test(it));
        visit_mut::visit_item_trait_mut(self, item);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain(|it| !has_test(it));
        visit_mut::visit_block_mut(self, block);
    }
}

/// Returns true if an attribute before an item or a statement says that only tests have it.
fn has_test(node: &impl ToTokens) -> bool {
    let attributes = |input: ParseStream<'_>| {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<TokenStream>()?;
        Ok(attributes)
    };
    attributes.parse2(node.to_token_stream()).is_ok_and(|it| it.iter().any(is_test))
}

/// Returns true for `#[test]`, `#[tokio::test]`, and a `#[cfg(...)]` that only holds in tests.
fn is_test(attribute: &Attribute) -> bool {
    if attribute.path().is_ident("cfg") {
        return attribute.parse_args::<Meta>().is_ok_and(|it| needs_test(&it));
    }
    attribute.path().segments.last().is_some_and(|it| it.ident == "test")
}

/// Returns true if a condition holds in tests only.
fn needs_test(condition: &Meta) -> bool {
    let Meta::List(list) = condition else {
        return condition.path().is_ident("test") || condition.path().is_ident("doctest");
    };
    let Ok(parts) = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) else {
        return false;
    };
    if list.path.is_ident("all") {
        parts.iter().any(needs_test)
    } else {
        list.path.is_ident("any") && !parts.is_empty() && parts.iter().all(needs_test)
    }
}

/// Counts the lines with code. Blank lines in a text of several lines are none.
pub(crate) fn lines(file: &File, text: &str) -> usize {
    let mut lines = BTreeSet::new();
    add_lines(file.to_token_stream(), &mut lines);
    text.lines().zip(1..).filter(|(line, number)| lines.contains(number) && !line.trim().is_empty()).count()
}

/// Adds the lines of tokens, except those of documentation: `/// text` is the attribute `#[doc = "text"]`.
fn add_lines(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    let mut tokens = tokens.into_iter().peekable();
    let mut sign = None;
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Punct(it) if it.as_char() == '#' => {
                sign = Some(it.span().start().line);
                // The `!` of an attribute for the whole file.
                tokens.next_if(|it| matches!(it, TokenTree::Punct(it) if it.as_char() == '!'));
                continue;
            }
            TokenTree::Group(it) if sign.is_some() && is_documentation(it) => {
                sign = None;
                continue;
            }
            TokenTree::Group(it) => {
                lines.insert(it.span_open().start().line);
                add_lines(it.stream(), lines);
                lines.insert(it.span_close().end().line);
            }
            TokenTree::Literal(it) => lines.extend(it.span().start().line..=it.span().end().line),
            TokenTree::Ident(_) | TokenTree::Punct(_) => lines.extend([token.span().start().line]),
        }
        lines.extend(sign.take());
    }
}

/// Returns true for `[doc = ...]`.
fn is_documentation(group: &Group) -> bool {
    let mut tokens = group.stream().into_iter();
    group.delimiter() == Delimiter::Bracket
        && matches!(tokens.next(), Some(TokenTree::Ident(it)) if it == "doc")
        && matches!(tokens.next(), Some(TokenTree::Punct(it)) if it.as_char() == '=')
}

/// Counts the constants that are a number, a time, or several of them.
pub(crate) fn constants(file: &File) -> usize {
    struct Constants(usize);
    impl Constants {
        fn add(&mut self, ty: &Type, value: &Expr) {
            let is_text = matches!(value, Expr::Lit(it) if matches!(it.lit, Lit::ByteStr(_)));
            self.0 += usize::from(is_numeric(ty) && !is_text);
        }
    }
    impl Visit<'_> for Constants {
        fn visit_item_const(&mut self, it: &syn::ItemConst) {
            self.add(&it.ty, &it.expr);
            visit::visit_item_const(self, it);
        }
        fn visit_impl_item_const(&mut self, it: &syn::ImplItemConst) {
            self.add(&it.ty, &it.expr);
            visit::visit_impl_item_const(self, it);
        }
        fn visit_trait_item_const(&mut self, it: &syn::TraitItemConst) {
            if let Some((_, value)) = &it.default {
                self.add(&it.ty, value);
            }
            visit::visit_trait_item_const(self, it);
        }
    }
    let mut constants = Constants(0);
    constants.visit_file(file);
    constants.0
}

/// Returns true for the type of a number or a time, and for an array, a tuple or an option of them.
fn is_numeric(ty: &Type) -> bool {
    match ty {
        Type::Array(it) => is_numeric(&it.elem),
        Type::Slice(it) => is_numeric(&it.elem),
        Type::Reference(it) => is_numeric(&it.elem),
        Type::Tuple(it) => !it.elems.is_empty() && it.elems.iter().all(is_numeric),
        Type::Path(it) => it.path.segments.last().is_some_and(|segment| match &segment.arguments {
            syn::PathArguments::AngleBracketed(it) => {
                it.args.iter().all(|it| matches!(it, syn::GenericArgument::Type(it) if is_numeric(it)))
            }
            _ => is_number(&segment.ident),
        }),
        _ => false,
    }
}

fn is_number(name: &Ident) -> bool {
    let name = name.to_string();
    let is_primitive = name.strip_prefix(['u', 'i', 'f']).is_some_and(|rest| {
        rest == "size" || (!rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    });
    is_primitive || name == "Duration" || name.starts_with("NonZero")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_tests(text: &str) -> File {
        let mut file = parse(text).unwrap();
        remove_tests(&mut file);
        file
    }

    #[test]
    fn a_line_counts_if_it_has_code_of_the_program() {
        for (text, expected) in [
            ("", 0),
            ("\n\nfn a() {}\n\n", 1),
            ("// a comment\nfn a() {} // and another", 1),
            ("/* a\n\ncomment */ fn a() {\n/* here /* nested */ */\n}", 2),
            ("//! of the file\n\n/// of the item\n/** and\nmore */\nfn a() {}", 1),
            ("#![warn(missing_docs)]\n#[doc = \"text\"]\n#[inline]\nfn a() {}", 3),
            ("#[doc(hidden)]\nfn a() {}", 2),
            ("const A: &str = \"// no comment\";\nconst B: &str = \"/*\";\nfn a() {}", 3),
            ("const A: &str = \"one\n\n// two\";\n", 2),
            ("fn a() {\n    b!(\n        1,\n\n        // no\n        2\n    );\n}", 6),
            ("fn a() {}\n#[test]\nfn b() {\n}\n#[tokio::test]\nasync fn c() {}", 1),
            ("#[cfg(test)]\nmod tests {\n    fn a() {}\n}\nfn b() {}", 1),
            ("#[cfg(test)]\nmod tests;\n#[cfg(test)]\nuse a::{\n    b,\n    c,\n};", 0),
            ("#[cfg(all(unix, test))]\nfn a() {}\n#[cfg(any(test, doctest))]\nfn b() {}", 0),
            ("#[cfg(any(test, unix))]\nfn a() {}\n#[cfg(not(test))]\nfn b() {}", 4),
            ("#![cfg(test)]\nfn a() {}", 0),
            ("struct A;\nimpl A {\n    #[cfg(test)]\n    fn a() {\n    }\n    fn b() {}\n}", 4),
            ("fn a() {\n    #[cfg(test)]\n    let b = 1;\n    #[cfg(test)]\n    use b;\n}", 2),
        ] {
            assert_eq!(lines(&without_tests(text), text), expected, "{text}");
        }
    }

    #[test]
    fn a_constant_counts_if_it_is_a_number() {
        for (text, expected) in [
            ("const A: usize = 1; const B: f64 = 0.5; const C: i128 = 1 << 3;", 3),
            ("const A: Duration = Duration::from_secs(1); const B: std::time::Duration = C;", 2),
            ("const A: [u64; 2] = [1, 2]; const B: &[(u8, u8)] = &[]; const C: Option<u32> = None;", 3),
            ("const A: &str = \"1\"; const B: &[u8] = b\"1\"; const C: [&str; 1] = [\"1\"];", 0),
            ("const A: Budget = Budget { time: 1 }; const B: bool = true; const C: unit = unit;", 0),
            ("impl A { const B: NonZeroU8 = C; } trait D { const E: u8 = 1; const F: u8; }", 2),
            ("fn a() { const B: u8 = 1; } mod c { const D: u8 = 1; }", 2),
            ("#[cfg(test)] mod tests { const A: u8 = 1; }", 0),
        ] {
            assert_eq!(constants(&without_tests(text)), expected, "{text}");
        }
    }
}
