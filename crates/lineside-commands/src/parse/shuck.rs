//! The parser of `shuck`, whose tree no other file knows.

use std::cell::{Cell, RefCell};

use shuck_ast::{
    ArithmeticForCommand, ArrayElem, Assignment as Set, AssignmentValue, BinaryOp, BuiltinCommand,
    Command as Tree, CompoundCommand, DeclOperand, Redirect as Red, RedirectKind, RedirectTarget, Span, Stmt,
    StmtSeq, StmtTerminator, Word,
};
use shuck_parser::ShellDialect;
use shuck_parser::parser::{ParseDiagnostic, Parser};

use super::endings::{ends_earlier, unclosed, unclosed_of_lines};
use super::joined::joined;
use super::{Assigned, Assignment, Command, Parse, Parsed, Redirect, Redirection, Statement, Statements};
use crate::{Shell, limits};

/// `shuck-parser` behind our limits.
pub(crate) struct Shuck;

impl Parse for Shuck {
    fn parse<'t>(&self, text: &'t str, shell: Shell) -> Parsed<'t> {
        if let Some(limit) = limits::exceeded(text) {
            return Parsed { error: Some(limit.to_owned()), is_unread: true, ..Parsed::default() };
        }
        let error = match whole(text, shell) {
            Ok(statements) => return Parsed { statements, ..Parsed::default() },
            Err(error) => error,
        };
        // What lacks its end is read by no shell.
        let message = &error.message;
        let lacks = |end: &str| message.contains(&format!("expected '{end}'")) && !text.contains(end);
        let is_open = message.contains("unterminated") && !message.contains("arithmetic")
            || ["fi", "esac", "done"].into_iter().any(lacks);
        let is_unread = !is_open;
        // The shell runs each line before it reads the next, so those in front of the error have run.
        let mut end = error.at.min(text.len());
        for _ in 0..limits::RETRIES {
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let Some(line) = text[..end].rfind('\n') else { break };
            if let Ok(statements) = whole(&text[..line], shell) {
                return Parsed { statements, error: Some(error.message), is_unread };
            }
            end = line;
        }
        Parsed { statements: Vec::new(), error: Some(error.message), is_unread }
    }
}

struct Broken {
    at: usize,
    message: String,
}

fn whole(text: &str, shell: Shell) -> Result<Statements<'_>, Broken> {
    let dialect = match shell {
        Shell::Zsh => ShellDialect::Zsh,
        Shell::Sh => ShellDialect::Posix,
        _ => ShellDialect::Bash,
    };
    // The text of the same length with another sign for each brace that a word opens and does not close: the parser takes all
    // that is behind it for that word.
    let Ok(mut closed) = joined(text) else {
        return Err(Broken { at: 0, message: "the end of a here-document is named in two lines".to_owned() });
    };
    let mut has_failed = false;
    for _ in 0..limits::RETRIES {
        let read = closed.as_deref().unwrap_or(text);
        let mut result = Parser::with_dialect(read, dialect).parse();
        if !result.is_ok()
            && let Some(read) = short_functions(read)
        {
            result = Parser::with_dialect(&read, dialect).parse();
        }
        if !result.is_ok() {
            let open = unclosed_of_lines(read);
            if open.is_empty() || std::mem::replace(&mut has_failed, true) {
                return Err(broken(result.diagnostics.into_iter().next()));
            }
            let closed = closed.get_or_insert_with(|| text.to_owned());
            open.into_iter().for_each(|at| closed.replace_range(at..=at, "_"));
            continue;
        }
        let lower = Lower { text, read, open: RefCell::default(), ends: Cell::default() };
        let statements = lower.list(&result.file.body);
        let open = lower.open.take();
        if open.is_empty() {
            let is_none = |at| Broken { at, message: "what is no word is taken for one".to_owned() };
            return lower.ends.get().map_or(Ok(statements), |at| Err(is_none(at)));
        }
        let closed = closed.get_or_insert_with(|| text.to_owned());
        open.into_iter().for_each(|at| closed.replace_range(at..=at, "_"));
    }
    Err(Broken { at: 0, message: "a word opens braces that it does not close".to_owned() })
}

fn broken(first: Option<ParseDiagnostic>) -> Broken {
    let at = first.as_ref().map_or(0, |first| first.span.start.offset());
    Broken { at, message: first.map_or_else(|| "it does not parse".into(), |first| first.message) }
}

/// The text of the same length with `name()` for each `function name (`, which the parser does not know.
fn short_functions(text: &str) -> Option<String> {
    let mut out = text.to_owned();
    for (at, word) in text.match_indices("function ") {
        let rest = &text[at + word.len()..];
        let name = rest.trim_start().split([' ', '\t', '\n', '(']).next().unwrap_or_default();
        let behind = rest.trim_start()[name.len()..].trim_start();
        if !name.is_empty() && behind.starts_with('(') && !behind[1..].trim_start().starts_with(')') {
            let end = at + word.len() + (rest.len() - rest.trim_start().len()) + name.len();
            let short = format!("{name}()");
            out.replace_range(at..end, &format!("{short:0$}", end - at));
        }
    }
    (out != text).then_some(out)
}

struct Lower<'t, 'r> {
    text: &'t str,
    /// What was parsed in its place.
    read: &'r str,
    /// Where braces stand that words open and do not close.
    open: RefCell<Vec<usize>>,
    /// Where a word begins that ends earlier for a shell.
    ends: Cell<Option<usize>>,
}

impl<'t> Lower<'t, '_> {
    fn slice(&self, span: Span) -> &'t str {
        // The span of `(( a ); ( b ))` ends one sign behind the text.
        let end = span.end.offset().min(self.text.len());
        self.text.get(span.start.offset()..end).unwrap_or_default()
    }

    /// The body of a function with its redirections; the parentheses of `f() ( … )` belong to it, though its span begins
    /// behind the first.
    fn body(&self, body: &Stmt) -> &'t str {
        let start = body.span.start.offset();
        // A lone list needs its braces only where what stands behind them belongs to it.
        let opened = match &body.command {
            Tree::Compound(CompoundCommand::Subshell(_)) => Some('('),
            Tree::Compound(CompoundCommand::BraceGroup(_)) if !body.redirects.is_empty() => Some('{'),
            _ => None,
        };
        let open = opened.and_then(|sign| self.text.get(..start)?.rfind(sign));
        let ends = body.redirects.iter().map(|redirect| self.end_of(redirect));
        let end = ends.fold(body.span.end.offset(), usize::max).min(self.text.len());
        self.text.get(open.unwrap_or(start)..end).unwrap_or_default()
    }

    /// Where a redirection ends: that of a document behind the line that closes it.
    fn end_of(&self, redirect: &Red) -> usize {
        match &redirect.target {
            RedirectTarget::Word(_) => redirect.span.end.offset(),
            RedirectTarget::Heredoc(document) => {
                let at = document.body.span.end.offset().min(self.text.len());
                at + self.text[at..].find('\n').unwrap_or(self.text.len() - at)
            }
        }
    }

    fn word(&self, word: &Word) -> &'t str {
        self.whole(self.of_word(word.span), word.span)
    }

    /// Notes where it begins, if a shell takes it for more than one word.
    fn whole(&self, word: &'t str, span: Span) -> &'t str {
        if self.ends.get().is_none() && ends_earlier(word) {
            self.ends.set(Some(span.start.offset()));
        }
        word
    }

    fn of_word(&self, span: Span) -> &'t str {
        let from = span.start.offset();
        let read = self.read.get(from..span.end.offset().min(self.read.len())).unwrap_or_default();
        if read.contains('{') {
            self.open.borrow_mut().extend(unclosed(read).into_iter().map(|at| from + at));
        }
        self.slice(span)
    }

    fn words<'w>(&self, words: impl IntoIterator<Item = &'w Word>) -> Vec<&'t str> {
        words.into_iter().map(|word| self.word(word)).filter(|word| !word.is_empty()).collect()
    }

    fn list(&self, list: &StmtSeq) -> Statements<'t> {
        list.iter().map(|statement| self.statement(statement)).collect()
    }

    fn boxed(&self, statement: &Stmt) -> Box<Statement<'t>> {
        Box::new(self.statement(statement))
    }

    fn statement(&self, statement: &Stmt) -> Statement<'t> {
        let mut redirections: Vec<_> =
            statement.redirects.iter().filter_map(|r| self.redirection(r)).collect();
        let command = match &statement.command {
            Tree::Simple(simple) => {
                let mut words = self.words(std::iter::once(&simple.name).chain(&simple.args));
                // `exec 3<<<text`: a number that touches a here-string is its descriptor, not a word.
                for (redirect, lowered) in statement.redirects.iter().zip(&mut redirections) {
                    let last = simple
                        .args
                        .iter()
                        .find(|word| word.span.end.offset() == redirect.span.start.offset());
                    if let (None, Some(last)) = (redirect.fd, last)
                        && let Ok(number) = self.word(last).parse()
                    {
                        lowered.descriptor = Some(number);
                        words.retain(|word| !std::ptr::eq(*word, self.word(last)));
                    }
                }
                Command::Simple { assignments: self.assignments(&simple.assignments), words }
            }
            Tree::Builtin(builtin) => self.builtin(builtin),
            Tree::Decl(decl) => {
                let mut words = vec![self.slice(decl.variant_span)];
                words.extend(decl.operands.iter().map(|operand| match operand {
                    DeclOperand::Flag(word) | DeclOperand::Dynamic(word) => self.word(word),
                    DeclOperand::Name(name) => self.slice(name.span),
                    DeclOperand::Assignment(assignment) => self.of_word(assignment.span),
                }));
                Command::Simple { assignments: self.assignments(&decl.assignments), words }
            }
            Tree::Binary(binary) => {
                let (left, right) = (self.boxed(&binary.left), self.boxed(&binary.right));
                match binary.op {
                    BinaryOp::And => Command::And(left, right),
                    BinaryOp::Or => Command::Or(left, right),
                    BinaryOp::Pipe | BinaryOp::PipeAll => Command::Pipe(left, right),
                }
            }
            Tree::Compound(compound) => self.compound(compound, statement.span),
            Tree::Function(function) => Command::Function {
                names: function.header.entries.iter().map(|entry| self.word(&entry.word)).collect(),
                body: self.body(&function.body),
            },
            Tree::AnonymousFunction(function) => Command::Group(vec![self.statement(&function.body)]),
        };
        let background = matches!(statement.terminator, Some(StmtTerminator::Background(_)));
        Statement { command, redirections, background }
    }

    fn builtin(&self, builtin: &BuiltinCommand) -> Command<'t> {
        let (name, first, rest, set) = match builtin {
            BuiltinCommand::Break(c) => ("break", &c.depth, &c.extra_args, &c.assignments),
            BuiltinCommand::Continue(c) => ("continue", &c.depth, &c.extra_args, &c.assignments),
            BuiltinCommand::Return(c) => ("return", &c.code, &c.extra_args, &c.assignments),
            BuiltinCommand::Exit(c) => ("exit", &c.code, &c.extra_args, &c.assignments),
        };
        let mut words = vec![name];
        words.extend(self.words(first.iter().chain(rest)));
        Command::Simple { assignments: self.assignments(set), words }
    }

    fn compound(&self, compound: &CompoundCommand, span: Span) -> Command<'t> {
        match compound {
            CompoundCommand::If(c) => {
                let mut branches = vec![(self.list(&c.condition), self.list(&c.then_branch))];
                branches.extend(c.elif_branches.iter().map(|(a, b)| (self.list(a), self.list(b))));
                Command::If { branches, otherwise: c.else_branch.as_ref().map(|list| self.list(list)) }
            }
            CompoundCommand::For(c) => Command::For {
                names: c.targets.iter().map(|target| self.word(&target.word)).collect(),
                words: c.words.as_ref().map(|words| self.words(words)),
                body: self.list(&c.body),
            },
            CompoundCommand::Foreach(c) => Command::For {
                names: vec![self.slice(c.variable_span)],
                words: Some(self.words(&c.words)),
                body: self.list(&c.body),
            },
            CompoundCommand::Select(c) => Command::Select {
                name: self.slice(c.variable_span),
                words: self.words(&c.words),
                body: self.list(&c.body),
            },
            CompoundCommand::Repeat(c) => Command::Loop {
                texts: vec![self.word(&c.count)],
                condition: Vec::new(),
                body: self.list(&c.body),
            },
            CompoundCommand::ArithmeticFor(c) => self.arithmetic_for(c),
            CompoundCommand::While(c) => Command::Loop {
                texts: Vec::new(),
                condition: self.list(&c.condition),
                body: self.list(&c.body),
            },
            CompoundCommand::Until(c) => Command::Loop {
                texts: Vec::new(),
                condition: self.list(&c.condition),
                body: self.list(&c.body),
            },
            CompoundCommand::Case(c) => Command::Case {
                word: self.word(&c.word),
                arms: c
                    .cases
                    .iter()
                    .map(|arm| {
                        (arm.patterns.iter().map(|p| self.of_word(p.span)).collect(), self.list(&arm.body))
                    })
                    .collect(),
            },
            CompoundCommand::Subshell(list) => Command::Subshell(self.list(list)),
            CompoundCommand::BraceGroup(list) => Command::Group(self.list(list)),
            CompoundCommand::Arithmetic(c) => Command::Text(self.slice(c.span)),
            CompoundCommand::Conditional(_) => Command::Text(self.slice(span)),
            CompoundCommand::Time(c) => Command::Group(c.command.iter().map(|s| self.statement(s)).collect()),
            CompoundCommand::Coproc(c) => Command::Subshell(vec![self.statement(&c.body)]),
            CompoundCommand::Always(c) => {
                let mut all = self.list(&c.body);
                all.extend(self.list(&c.always_body));
                Command::Group(all)
            }
        }
    }

    fn arithmetic_for(&self, c: &ArithmeticForCommand) -> Command<'t> {
        let texts = [c.init_span, c.condition_span, c.step_span];
        Command::Loop {
            texts: texts.into_iter().flatten().map(|span| self.slice(span)).collect(),
            condition: Vec::new(),
            body: self.list(&c.body),
        }
    }

    fn assignments(&self, all: &[Set]) -> Vec<Assignment<'t>> {
        all.iter()
            .map(|set| {
                let name = self.slice(set.target.name_span);
                Assignment {
                    name,
                    index: set.target.subscript.as_deref().map(|index| self.slice(index.span())),
                    append: set.append,
                    value: match &set.value {
                        AssignmentValue::Scalar(word) => Assigned::Word(self.word(word)),
                        AssignmentValue::Compound(list) => Assigned::List(
                            list.elements.iter().map(|element| self.element(element)).collect(),
                        ),
                    },
                }
            })
            .collect()
    }

    /// An element of a list, with its key in brackets where it has one: the tree has it without the first of them.
    fn element(&self, element: &ArrayElem) -> &'t str {
        let inner = self.whole(self.slice(element.span()), element.span());
        if matches!(element, ArrayElem::Sequential(_)) {
            return inner;
        }
        let start = inner.as_ptr() as usize - self.text.as_ptr() as usize;
        start.checked_sub(1).and_then(|from| self.text.get(from..start + inner.len())).unwrap_or(inner)
    }

    fn redirection(&self, redirect: &Red) -> Option<Redirection<'t>> {
        let target = match &redirect.target {
            RedirectTarget::Word(word) => self.word(word),
            RedirectTarget::Heredoc(document) => {
                self.of_word(document.delimiter.span);
                let kind = Redirect::Document {
                    body: self.slice(document.body.span),
                    // Of `<<A <<B`, the second counts as quoted in the tree.
                    expands: self.slice(document.delimiter.span) == document.delimiter.cooked.as_str(),
                    strips: document.delimiter.strip_tabs,
                };
                return Some(Redirection { descriptor: number(redirect.fd), kind });
            }
        };
        let kind = match redirect.kind {
            RedirectKind::Output | RedirectKind::Clobber => Redirect::Out(target),
            RedirectKind::Append => Redirect::Append(target),
            RedirectKind::OutputBoth => Redirect::Both(target),
            RedirectKind::Input => Redirect::In(target),
            RedirectKind::ReadWrite => Redirect::InOut(target),
            RedirectKind::HereString => Redirect::Text(target),
            RedirectKind::DupOutput | RedirectKind::DupInput => {
                let whole = self.slice(redirect.span);
                let target = whole.rsplit_once('&').map_or(target, |(_, target)| target.trim());
                let input = redirect.kind == RedirectKind::DupInput;
                if input || target.ends_with('-') || target.parse::<u32>().is_ok() {
                    Redirect::Duplicate { target, input }
                } else {
                    Redirect::Both(target)
                }
            }
            RedirectKind::HereDoc | RedirectKind::HereDocStrip => return None,
        };
        Some(Redirection { descriptor: number(redirect.fd), kind })
    }
}

fn number(descriptor: Option<i32>) -> Option<u32> {
    descriptor.and_then(|number| u32::try_from(number).ok())
}
