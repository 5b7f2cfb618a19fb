//! The work that a text causes grows no faster than the text, up to its bound: allocations and their bytes are counted,
//! never the clock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use allocation_counter::measure;
use lineside_commands::{Shell, Surroundings, analyse};

/// Parts that are repeated; a `@` in one is another number each time.
const PARTS: &[&str] = &[
    "a;",
    "a@ b ",
    "$x",
    "\"$x\"",
    "${x#a}",
    "$(a)",
    "`a`",
    "{a,b} ",
    "'a'",
    "\\a",
    "a&&",
    "a|",
    ">a@ ",
    "<a@ ",
    "rm -rf a@/../b;",
    "x=$x$x;",
    "*?[a]",
    "[",
    "[a",
    "/*",
    "/**/a",
    "~/ ",
    "[[ a ]];",
    "(( a ));",
    "for i in a;do b;done;",
    "case a in b) c;;esac;",
    "f(){ a;};f;",
    "echo a|sh;",
    "eval 'a';",
    "bash -c 'a';",
    "find -exec a {} \\;",
    "a=(b);",
    "rm $(echo a@) ",
    "${x:-",
    "if a;then b;fi;",
    "{ a;};",
    "! ",
    "export a=b;",
    "a@=b;",
    "a\n",
    "# a\n",
    "((",
    "a=${a}b;",
    "${a//b/c}",
    "a{1..9}",
    "python3 -c 'import os;os.system(\"a\")';",
    "cd a@;rm b;",
    "cat <<A\nx\nA\n",
    "a&",
    "tar -xf a -C b;",
    "psql -c 'DELETE FROM a;';",
    "while a;do b;done;",
    "git commit -m 'x';",
    "f(){ f|f&};f;",
    "$(<a)",
    "<(a)",
    "a 2>&1;",
    "echo x|xargs rm;",
    "日",
    "'",
    "\"",
    "eval eval ",
];

/// What stands around the parts.
const AROUND: &[(&str, &str)] =
    &[("", ""), ("echo \"", "\""), ("rm $(echo ", ")"), ("bash -c '", "'"), ("rm -rf ", "")];

fn work(part: &str, (front, end): (&str, &str), length: usize) -> u64 {
    let mut text = front.to_owned();
    let mut number = 0;
    while text.len() + part.len() + end.len() < length {
        text.push_str(&part.replace('@', &number.to_string()));
        number += 1;
    }
    text.push_str(end);
    let state = Surroundings::new("/proj", "/home/dev");
    let counted = measure(|| {
        analyse(&text, Shell::Bash, &state);
    });
    // A byte of a large copy is a small step, and vectors grow by doubling.
    counted.count_total + counted.bytes_total / 1024
}

#[test]
fn work_grows_no_faster_than_the_text() {
    // What is prepared once is no part of the work.
    work("rm a;", ("", ""), 100);
    let mut worse = Vec::new();
    for (number, part) in PARTS.iter().enumerate() {
        let around = AROUND[number % AROUND.len()];
        let [a, b] = [16 * 1024, 48 * 1024].map(|length| work(part, around, length));
        // Some room for what a text has once.
        if b > a * 5 + 10_000 {
            worse.push(format!("{part:?} within {around:?}: {a} and {b}"));
        }
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}

#[test]
fn files_of_the_command_that_are_copied_many_times_are_bounded() {
    let state = Surroundings::new("/proj", "/home/dev");
    let [a, b] = [1, 4].map(|times| {
        let files: String = (0..60 * times).map(|number| format!(">d/{number};")).collect();
        let text = format!("{files}cp -r {}x/", "d ".repeat(200 * times));
        measure(|| drop(analyse(&text, Shell::Bash, &state))).count_total
    });
    assert!(b < a * 6, "{a} and {b}");
}

#[test]
fn what_code_touches_in_folders_that_it_may_be_in_is_bounded() {
    let state = Surroundings::new("/proj", "/home/dev");
    let is_cut = |opens: usize| {
        let folders = "if x: os.chdir('a')\n".repeat(16);
        let text = format!("python3 -c \"import os\n{folders}{}\"", "open('b')\n".repeat(opens));
        analyse(&text, Shell::Bash, &state).is_cut
    };
    assert!(!is_cut(20));
    assert!(is_cut(3000));
}

#[test]
fn a_text_that_is_run_once_more_goes_on_expanding_up_to_its_bound() {
    let bytes = |times: usize| {
        let text = format!("x='{}'; eval $x", "$x".repeat(times));
        measure(|| drop(analyse(&text, Shell::Bash, &Surroundings::new("/proj", "/home/dev")))).bytes_total
    };
    let (few, many) = (bytes(5_000), bytes(20_000));
    assert!(many < 8 * few, "{few} {many}");
}
