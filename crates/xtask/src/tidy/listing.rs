//! The public items of a source, as text: declarations without bodies, comments and private parts.
//!
//! It is read from the source, so that a stable toolchain and no tool are enough. What macros expand to is not seen;
//! the text that they are called with is listed in its place.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::{
    Attribute, Fields, File, ImplItem, Item, ItemImpl, ItemMacro, ItemStruct, MacroDelimiter, TraitItem,
    Type, Visibility,
};

use super::code;

/// The items of a file. `is_public` says of the name of a type whether implementations of it are listed; a source that
/// does not parse has none.
pub(super) fn items(source: &str, is_public: impl Fn(&str) -> bool) -> Vec<String> {
    let code = without_comments(source);
    let mut listing = Listing { code: &code, is_public, lines: Vec::new() };
    if let Ok(file) = syn::parse_file(&code) {
        listing.list(&file.items);
    }
    listing.lines
}

/// The source without its comments and its tests.
fn without_comments(source: &str) -> String {
    let bare = code::bare(source);
    let kept = code::without_tests(&bare).chars().count();
    let chars = source.chars().zip(bare.chars()).take(kept);
    chars.map(|(char, bare)| if bare == ' ' { ' ' } else { char }).collect()
}

struct Listing<'a, F> {
    code: &'a str,
    is_public: F,
    lines: Vec<String>,
}

impl<F: Fn(&str) -> bool> Listing<'_, F> {
    fn list(&mut self, items: &[Item]) {
        for item in items {
            match (item, declaration(item)) {
                (Item::Impl(item), _) => self.implementation(item),
                (Item::Macro(item), _) => self.call(item),
                (_, Some((visibility, attributes, body))) if is_pub(visibility) => {
                    self.push("", attributes, start(visibility)..body);
                    self.parts(item);
                }
                _ => {}
            }
        }
    }

    fn parts(&mut self, item: &Item) {
        match item {
            Item::Enum(item) => {
                for variant in &item.variants {
                    self.push("    ", &variant.attrs, start(&variant.ident)..end(variant));
                }
            }
            Item::Struct(ItemStruct { fields: Fields::Named(fields), .. }) => {
                for field in fields.named.iter().filter(|field| is_pub(&field.vis)) {
                    self.push("    ", &field.attrs, start(&field.vis)..end(field));
                }
            }
            Item::Trait(item) => item.items.iter().for_each(|member| self.of_trait(member)),
            Item::Mod(item) => {
                self.list(item.content.as_ref().map(|(_, items)| &items[..]).unwrap_or_default());
            }
            _ => {}
        }
    }

    fn of_trait(&mut self, member: &TraitItem) {
        match member {
            TraitItem::Fn(member) => {
                let body = member.default.as_ref().map_or_else(|| start(&member.semi_token), start);
                self.push("    ", &member.attrs, start(&member.sig)..body);
            }
            TraitItem::Const(member) => {
                let body =
                    member.default.as_ref().map_or_else(|| start(&member.semi_token), |(eq, _)| start(eq));
                self.push("    ", &member.attrs, start(&member.const_token)..body);
            }
            TraitItem::Type(member) => {
                self.push("    ", &member.attrs, start(&member.type_token)..start(&member.semi_token));
            }
            _ => {}
        }
    }

    fn implementation(&mut self, item: &ItemImpl) {
        let head = start(&item.impl_token)..start(&item.brace_token.span.open());
        let line = self.lines.len();
        if item.trait_.is_some() {
            if type_name(&item.self_ty).is_some_and(|name| (self.is_public)(&name)) {
                self.push("", &item.attrs, head);
            }
            return;
        }
        for member in &item.items {
            match member {
                ImplItem::Fn(member) if is_pub(&member.vis) => {
                    self.push("    ", &member.attrs, start(&member.vis)..start(&member.block));
                }
                ImplItem::Const(member) if is_pub(&member.vis) => {
                    self.push("    ", &member.attrs, start(&member.vis)..start(&member.eq_token));
                }
                _ => {}
            }
        }
        if self.lines.len() > line {
            self.push("", &item.attrs, head);
            self.lines[line..].rotate_right(1);
        }
    }

    fn call(&mut self, item: &ItemMacro) {
        let MacroDelimiter::Brace(brace) = &item.mac.delimiter else { return };
        let (open, close) = (brace.span.open(), brace.span.close());
        if item.mac.path.is_ident("pin_project") {
            // It declares what it is called with.
            if let Ok(file) = item.mac.parse_body::<File>() {
                self.list(&file.items);
            }
        } else if item.ident.is_none() && !item.mac.path.is_ident("thread_local") {
            self.push("", &item.attrs, start(&item.mac.path)..start(&open));
            let body = self.code[end(&open)..start(&close)].lines().map(collapsed);
            let body: Vec<_> =
                body.filter(|line| !line.is_empty()).map(|line| format!("    {line}")).collect();
            self.lines.extend(body);
        }
    }

    fn push(&mut self, indent: &str, attributes: &[Attribute], head: Range<usize>) {
        let attributes: Vec<String> =
            attributes.iter().map(|attribute| collapsed(&self.code[attribute.span().byte_range()])).collect();
        if attributes.iter().any(|attribute| attribute.contains("cfg(test)")) {
            return;
        }
        let told = |attribute: &&String| {
            ["#[derive", "#[non_exhaustive", "#[cfg", "#[must_use"]
                .iter()
                .any(|start| attribute.starts_with(start))
        };
        let attributes = attributes.iter().filter(told).map(|attribute| match attribute.split_once(" = ") {
            Some(("#[must_use", _)) => "#[must_use] ".to_owned(),
            _ => format!("{attribute} "),
        });
        let attributes: String = attributes.collect();
        self.lines.push(format!("{indent}{attributes}{}", collapsed(&self.code[head])));
    }
}

/// The visibility and the attributes of an item, and where its body or its value begins, or else its end.
fn declaration(item: &Item) -> Option<(&Visibility, &[Attribute], usize)> {
    Some(match item {
        Item::Const(item) => (&item.vis, &item.attrs, start(&item.eq_token)),
        Item::Static(item) => (&item.vis, &item.attrs, start(&item.eq_token)),
        Item::Type(item) => (&item.vis, &item.attrs, start(&item.semi_token)),
        Item::Use(item) => (&item.vis, &item.attrs, start(&item.semi_token)),
        Item::Fn(item) => (&item.vis, &item.attrs, start(&item.block)),
        Item::Enum(item) => (&item.vis, &item.attrs, start(&item.brace_token.span.open())),
        Item::Trait(item) => (&item.vis, &item.attrs, start(&item.brace_token.span.open())),
        Item::Struct(item) => {
            (&item.vis, &item.attrs, item.semi_token.as_ref().map_or_else(|| start(&item.fields), start))
        }
        Item::Mod(item) => {
            let body = item.content.as_ref().map(|(brace, _)| start(&brace.span.open()));
            (&item.vis, &item.attrs, body.unwrap_or_else(|| start(&item.semi)))
        }
        _ => return None,
    })
}

fn is_pub(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn start(part: &impl Spanned) -> usize {
    part.span().byte_range().start
}

fn end(part: &impl Spanned) -> usize {
    part.span().byte_range().end
}

/// The last name of a type before its parameters.
fn type_name(of: &Type) -> Option<String> {
    match of {
        Type::Reference(of) => type_name(&of.elem),
        Type::Path(of) => of.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    }
}

/// The text in one line.
fn collapsed(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace("( ", "(")
        .replace(", )", ")")
        .replace(" )", ")")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(source: &str) -> Vec<String> {
        items(source, |name| name == "Bus")
    }

    #[test]
    fn public_declarations_stand_without_bodies_and_comments() {
        let source = "//! x\nuse a::{B, C};\npub use d::{E, F};\n\n/// A bus.\n#[derive(Clone)]\npub struct Bus {\n    /// Its name.\n    \
            pub name: Option<(u8, u8)>,\n    hidden: Box<dyn Fn(u8, u8) -> u8>,\n    pub last: u8,\n}\n\npub(crate) fn own() { f(\"}\", '}') }\n\nimpl Bus {\n    /// New.\n    #[must_use = \"x\"]\n    \
            pub fn new(\n        name: &str,\n    ) -> Self {\n        Self { name }\n    }\n\n    fn hidden() {}\n}\n\npub const MOST: usize = 3;\n";
        assert_eq!(
            listed(source),
            [
                "pub use d::{E, F}",
                "#[derive(Clone)] pub struct Bus",
                "    pub name: Option<(u8, u8)>",
                "    pub last: u8",
                "impl Bus",
                "    #[must_use] pub fn new(name: &str) -> Self",
                "pub const MOST: usize",
            ]
        );
    }

    #[test]
    fn variants_members_of_traits_and_implementations_of_public_types_are_listed() {
        let source = "pub enum Kind {\n    One,\n    Two { a: u8, b: u8 },\n}\npub trait Run<T> {\n    fn run(&self) -> T {\n        x\n    }\n    fn end(self);\n}\n\
            impl fmt::Debug for Bus {\n    fn fmt() {}\n}\nimpl Drop for Own {}\npoints! {\n    A = \"a\", Gate {}\n}\nmacro_rules! points {\n}\n\n\
            #[cfg(test)]\nmod tests {\n    pub fn x() {}\n}\n";
        assert_eq!(
            listed(source),
            [
                "pub enum Kind", "    One", "    Two { a: u8, b: u8 }", "pub trait Run<T>",
                "    fn run(&self) -> T", "    fn end(self)", "impl fmt::Debug for Bus", "points!",
                "    A = \"a\", Gate {}",
            ]
        );
    }

    #[test]
    fn what_a_macro_projects_is_listed_if_it_is_public() {
        let source = "pin_project! {\n    struct Own {\n        #[pin]\n        a: u8,\n    }\n}\n\
            pin_project! {\n    pub struct Shown {\n        pub a: u8,\n        b: u8,\n    }\n}\n";
        assert_eq!(listed(source), ["pub struct Shown", "    pub a: u8"]);
    }
}
