//! Finds what each change of a file is about, and makes a switch of it: an expression that does as before unless the
//! change is on.
//!
//! `a < b` becomes `(if crate::__mutant(7) { (a) <= (b) } else { a < b })`. Which change is on is left to the function
//! of [`super::tree`].

use std::ops::Range;

use proc_macro2::LineColumn;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::change::{Change, Genre};

/// The text that stands before and after a range of a file, with the number of the change that each piece is of.
#[derive(Debug)]
pub(super) struct Switch {
    pub(super) range: Range<usize>,
    pub(super) before: Vec<Piece>,
    pub(super) after: &'static str,
}

#[derive(Debug)]
pub(super) struct Piece {
    pub(super) text: String,
    /// None for what belongs to all of them.
    pub(super) change: Option<usize>,
}

/// What a file comes to.
#[derive(Debug, Default)]
pub(super) struct Switches {
    pub(super) switches: Vec<Switch>,
    /// Those that can never compile.
    pub(super) unviable: Vec<usize>,
}

/// The switches for these changes of a file. A change without one cannot be switched while a program runs: it is of a
/// constant, or of a function that returns `impl Trait`.
///
/// # Errors
///
/// Fails where the file does not parse.
pub(super) fn switches(text: &str, changes: &[(usize, &Change)]) -> syn::Result<Switches> {
    let file = syn::parse_file(text)?;
    let mut finder = Finder { text, changes, constants: 0, found: Switches::default() };
    finder.visit_file(&file);
    Ok(finder.found)
}

struct Finder<'a> {
    text: &'a str,
    changes: &'a [(usize, &'a Change)],
    /// How many constants, types and constant functions are around the present place.
    constants: usize,
    found: Switches,
}

/// Asks whether a change is on.
fn asks(change: usize) -> String {
    format!("crate::__mutant({change})")
}

impl<'a> Finder<'a> {
    fn text_of(&self, part: &impl Spanned) -> &'a str {
        &self.text[part.span().byte_range()]
    }

    /// The changes of a genre that begin there; none within a constant.
    fn at(&self, start: LineColumn, genre: Genre) -> Vec<(usize, &'a Change)> {
        let is_here = |change: &Change| {
            let place = change.span.start;
            (place.line, place.column, change.genre) == (start.line, start.column + 1, genre)
        };
        let changes = if self.constants > 0 { &[] } else { self.changes };
        changes.iter().filter(|(_, change)| is_here(change)).copied().collect()
    }

    fn push(&mut self, range: Range<usize>, before: Vec<Piece>, after: &'static str) {
        if before.iter().any(|piece| piece.change.is_some()) {
            self.found.switches.push(Switch { range, before, after });
        }
    }

    /// Switches between an expression and other ones. Of a field `label` stands before all of them.
    fn push_other(
        &mut self,
        range: Range<usize>,
        label: &str,
        others: impl Iterator<Item = (usize, String)>,
    ) {
        let mut before = vec![Piece { text: format!("{label}("), change: None }];
        before.extend(others.into_iter().map(|(change, other)| Piece {
            text: format!("if {} {{ {other} }} else ", asks(change)),
            change: Some(change),
        }));
        before.push(Piece { text: "{ (".to_owned(), change: None });
        self.push(range, before, ") })");
    }

    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let Some(first) = block.stmts.first() else { return };
        if returns_what_has_no_name(&signature.output) {
            return;
        }
        let start = first.span();
        let before = self.at(start.start(), Genre::FnValue).into_iter().map(|(number, change)| Piece {
            text: format!("if {} {{ return {}; }} ", asks(number), change.replacement),
            change: Some(number),
        });
        let (at, before) = (start.byte_range().start, before.collect());
        self.push(at..at, before, "");
    }

    fn within_constant(&mut self, is_constant: bool, inside: impl FnOnce(&mut Self)) {
        self.constants += usize::from(is_constant);
        inside(self);
        self.constants -= usize::from(is_constant);
    }
}

/// Whether `impl Trait` is in what a function returns, which then has one type alone.
fn returns_what_has_no_name(output: &syn::ReturnType) -> bool {
    struct Search(bool);
    impl Visit<'_> for Search {
        fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut search = Search(false);
    search.visit_return_type(output);
    search.0
}

/// Whether `let` is among the operands of `&&`.
fn has_let(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(both) => has_let(&both.left) || has_let(&both.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.within_constant(true, |finder| visit::visit_item_const(finder, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.within_constant(true, |finder| visit::visit_impl_item_const(finder, item));
    }

    fn visit_trait_item_const(&mut self, item: &'ast syn::TraitItemConst) {
        self.within_constant(true, |finder| visit::visit_trait_item_const(finder, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.within_constant(true, |finder| visit::visit_item_static(finder, item));
    }

    fn visit_expr_const(&mut self, block: &'ast syn::ExprConst) {
        self.within_constant(true, |finder| visit::visit_expr_const(finder, block));
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.within_constant(true, |finder| visit::visit_variant(finder, variant));
    }

    fn visit_type(&mut self, item: &'ast syn::Type) {
        self.within_constant(true, |finder| visit::visit_type(finder, item));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.within_constant(item.sig.constness.is_some(), |finder| {
            finder.body(&item.sig, &item.block);
            visit::visit_item_fn(finder, item);
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.within_constant(item.sig.constness.is_some(), |finder| {
            finder.body(&item.sig, &item.block);
            visit::visit_impl_item_fn(finder, item);
        });
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.body(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_expr_binary(&mut self, both: &'ast syn::ExprBinary) {
        let changes = self.at(both.op.span().start(), Genre::BinaryOperator);
        if has_let(&both.left) || has_let(&both.right) {
            // `let` is an operand of `&&` alone.
            self.found.unviable.extend(changes.iter().map(|(number, _)| *number));
        } else {
            let (left, right) = (self.text_of(&both.left), self.text_of(&both.right));
            let others = changes
                .into_iter()
                .map(|(number, change)| (number, format!("(({left}) {} ({right}))", change.replacement)));
            self.push_other(both.span().byte_range(), "", others);
        }
        visit::visit_expr_binary(self, both);
    }

    fn visit_expr_unary(&mut self, one: &'ast syn::ExprUnary) {
        let operand = self.text_of(&one.expr);
        let changes = self.at(one.op.span().start(), Genre::UnaryOperator);
        let others = changes.into_iter().map(|(number, _)| (number, format!("({operand})")));
        self.push_other(one.span().byte_range(), "", others);
        visit::visit_expr_unary(self, one);
    }

    fn visit_expr_struct(&mut self, whole: &'ast syn::ExprStruct) {
        if let Some(rest) = &whole.rest {
            let (rest, name) = (self.text_of(rest), self.text_of(&whole.path));
            for field in &whole.fields {
                let member = self.text_of(&field.member);
                let label = if field.colon_token.is_none() { format!("{member}: ") } else { String::new() };
                let changes = self.at(field.span().start(), Genre::StructField);
                let others = changes
                    .into_iter()
                    .map(|(number, _)| (number, format!("let rest: {name} = {rest}; rest.{member}")));
                self.push_other(field.expr.span().byte_range(), &label, others);
            }
        }
        visit::visit_expr_struct(self, whole);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let deleted = self.at(arm.span().start(), Genre::MatchArm);
        let deleted = deleted.into_iter().map(|(number, _)| number);
        match &arm.guard {
            None => {
                let before = deleted
                    .map(|change| Piece { text: format!(" if !{}", asks(change)), change: Some(change) });
                let (at, before) = (arm.pat.span().byte_range().end, before.collect());
                self.push(at..at, before, "");
            }
            Some((_, guard)) if !has_let(guard) => {
                let changes = self.at(guard.span().start(), Genre::MatchArmGuard);
                let (on, off): (Vec<_>, Vec<_>) =
                    changes.into_iter().partition(|(_, change)| change.replacement.trim() == "true");
                let off = off.into_iter().map(|(number, _)| number).chain(deleted);
                let on = on
                    .into_iter()
                    .map(|(number, _)| Piece { text: format!("{} || ", asks(number)), change: Some(number) });
                let off =
                    off.map(|number| Piece { text: format!("!{} && ", asks(number)), change: Some(number) });
                let mut before: Vec<Piece> = off.collect();
                before.push(Piece { text: "(".to_owned(), change: None });
                before.extend(on);
                before.push(Piece { text: "(".to_owned(), change: None });
                self.push(guard.span().byte_range(), before, "))");
            }
            Some(_) => {}
        }
        visit::visit_arm(self, arm);
    }
}
