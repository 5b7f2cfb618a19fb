//! Statements that lose data.

/// Whether a text holds a statement that drops, empties, or changes all rows of a table, or empties a store.
pub(crate) fn destroys(text: &str) -> bool {
    // `EXECUTE 'DROP TABLE x'` within a block, `redis.call('flushall')` of a script.
    let calls = |text: &String| ["FLUSHALL", "FLUSHDB"].iter().any(|call| text.eq_ignore_ascii_case(call));
    if quoted_behind(text, "EXECUTE").iter().any(|text| read(text, false))
        || quoted_behind(text, "call").iter().any(calls)
    {
        return true;
    }
    let lines = text.lines().map(without_client).collect::<Vec<_>>().join("\n");
    // Which of the two a database does is its own.
    read(&lines, false) || (lines.contains("\\'") || lines.contains("\\\"")) && read(&lines, true)
}

fn read(text: &str, escapes: bool) -> bool {
    let bare = bare(text, escapes, true).replace("\\G", ";");
    let empties = |line: &str| matches!(first(line), "FLUSHALL" | "FLUSHDB");
    // Statements behind lines of a client; of blocks within blocks the first ones.
    let behind = |text| {
        let all = std::iter::successors(behind_client(text), |text| behind_client(text));
        all.filter(|text| first(text) == "BEGIN" || spans(text)).take(64)
    };
    // What only changes rows is taken back with its transaction; tables of a session end with it.
    let is_taken_back = is_taken_back(&bare);
    let temporary = temporary(&bare);
    let drops_of = |name: &str| bare.split(';').filter(|text| drops(text) == Some(name)).count();
    let counts = |text: &str| {
        let changes = matches!(first(text), "DELETE" | "UPDATE");
        // What is dropped once more is another table of that name.
        let of_session = || drops(text).is_some_and(|name| temporary.contains(&name) && drops_of(name) == 1);
        statement(text) && !(is_taken_back && changes) && !of_session()
    };
    bare.lines().any(empties) || bare.split(';').any(|text| counts(text) || behind(text).any(counts))
}

/// Whether all is one transaction that ends with `ROLLBACK`.
fn is_taken_back(bare: &str) -> bool {
    let statements = bare.split(';').map(str::trim).filter(|text| !text.is_empty());
    let firsts: Vec<&str> = statements.map(first).collect();
    let begins = |word: &str| matches!(word, "BEGIN" | "START");
    let [begin, inner @ .., "ROLLBACK"] = &firsts[..] else { return false };
    // Some databases commit where a table is made, and `PREPARE` ends a transaction.
    const STAYS: [&str; 8] =
        ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "SAVEPOINT", "EXPLAIN", "VALUES"];
    begins(begin) && inner.iter().all(|word| STAYS.contains(word))
}

/// The tables that `CREATE TEMP TABLE` makes.
fn temporary(bare: &str) -> Vec<&str> {
    let made = bare.split(';').filter_map(|text| {
        let mut words = text.split_whitespace();
        let is_made = words.next() == Some("CREATE") && matches!(words.next(), Some("TEMP" | "TEMPORARY"));
        let mut words = words.skip_while(|word| matches!(*word, "TABLE" | "IF" | "NOT" | "EXISTS"));
        words.next().filter(|_| is_made)
    });
    made.map(|name| name.split('(').next().unwrap_or_default()).collect()
}

/// The one table that a statement drops.
fn drops(text: &str) -> Option<&str> {
    let mut words = text.split_whitespace();
    let is_drop = words.next() == Some("DROP") && words.next() == Some("TABLE");
    let mut words = words.skip_while(|word| matches!(*word, "IF" | "EXISTS"));
    words.next().filter(|_| is_drop && words.next().is_none())
}

/// A line without what is for the client: `\set x 1`, `.mode column`, a lone `GO`.
fn without_client(line: &str) -> &str {
    let own = line.trim();
    let is_command =
        |front: char| own.strip_prefix(front).is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    match own {
        _ if own.starts_with('\\') => own.rsplit_once("\\\\").map_or(";", |(_, behind)| behind),
        _ if is_command('.') && !own.contains('(') => ";",
        _ if own == "/" || own.eq_ignore_ascii_case("go") => ";",
        _ => line,
    }
}

/// What stands behind a line that begins no statement of several lines: `USE app`, `SET PAGESIZE 0`.
fn behind_client(text: &str) -> Option<&str> {
    text.trim_start().split_once('\n').map(|(_, behind)| behind).filter(|_| !spans(text))
}

/// Whether a statement begins that may have several lines.
fn spans(text: &str) -> bool {
    const SPANS: [&str; 19] = [
        "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "CREATE", "ALTER", "DROP", "EXPLAIN", "MERGE",
        "GRANT", "REVOKE", "ANALYZE", "TRUNCATE", "REPLACE", "COPY", "COMMENT", "VALUES", "UPSERT",
    ];
    SPANS.contains(&first(text))
}

fn first(text: &str) -> &str {
    text.trim_start().split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default()
}

/// The words of statements, in capitals.
pub(crate) fn words(text: &str) -> Vec<String> {
    let bare = bare(text, false, true);
    let words = bare.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The files that statements of SQLite name which they open or write: `attach 'x'`, `vacuum into 'x'`, `writefile('x', …)`.
pub(crate) fn named_files(text: &str) -> Vec<String> {
    let parts: Vec<&str> = text.split(['\'', '"']).collect();
    let named = parts.windows(2).step_by(2).filter(|pair| {
        let before = pair[0].trim_end_matches([' ', '\t', '\n', '(']).to_ascii_uppercase();
        let last = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        matches!(last, "ATTACH" | "DATABASE" | "WRITEFILE") || last == "INTO" && before.contains("VACUUM")
    });
    named.map(|pair| pair[1].to_owned()).collect()
}

/// What `COPY … TO PROGRAM 'command'` and `FROM PROGRAM` start.
pub(crate) fn programs(text: &str) -> Vec<String> {
    quoted_behind(text, "PROGRAM")
}

/// The texts between quotes that stand right behind a word.
fn quoted_behind(text: &str, word: &str) -> Vec<String> {
    let parts: Vec<&str> = text.split('\'').collect();
    let is_behind = |pair: &&[&str]| {
        let before = pair[0].trim_end_matches([' ', '\t', '\n', '(']);
        let last = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        last.eq_ignore_ascii_case(word)
    };
    parts.windows(2).filter(is_behind).map(|pair| pair[1].to_owned()).collect()
}

/// The text in capitals without comments and texts between quotes; `\'` ends such a text, or `escapes` a sign of it.
fn bare(text: &str, escapes: bool, mut dollars: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut names = true;
    while let Some(c) = rest.chars().next() {
        let line = || rest.find('\n').unwrap_or(rest.len());
        let begins = || out.trim_end_matches([' ', '\t']).ends_with(['\n', ';']) || out.trim().is_empty();
        let skipped = if rest.starts_with("/*") {
            out.push(' ');
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("--") || c == '#' && begins() {
            out.push(' ');
            line()
        } else if c == '#' || rest.starts_with("//") && !out.ends_with(':') {
            // A comment or an operator: no text begins in it.
            out.push_str(&rest[..line()].replace(['\'', '"'], " ").to_ascii_uppercase());
            line()
        } else if c == '\'' {
            out.push_str(" '' ");
            closing(rest, c, escapes).unwrap_or(rest.len())
        } else if c == '"' && names {
            // A name, or a text.
            let end = closing(rest, c, escapes);
            names = end.is_some();
            let within = &rest[1..end.map_or(1, |end| end - 1)];
            out.push('"');
            out.push_str(
                &within.replace(|c: char| !c.is_alphanumeric() && c != '_', " ").to_ascii_uppercase(),
            );
            out.push('"');
            end.unwrap_or(1)
        } else if let Some(tag) = tag(rest).filter(|_| dollars) {
            // A quote that begins in `$$…$$` ends in it.
            let within = &rest[tag.len()..];
            let end = within.find(tag);
            dollars = end.is_some();
            let end = end.unwrap_or(0);
            out.push(if out.trim_end().ends_with("DO") { ';' } else { ' ' });
            out.push_str(&bare(&within[..end], escapes, false));
            end + if dollars { 2 * tag.len() } else { tag.len() }
        } else {
            out.push(c.to_ascii_uppercase());
            c.len_utf8()
        };
        rest = &rest[skipped..];
    }
    out
}

/// `$$` or `$tag$` where a text begins with it.
fn tag(text: &str) -> Option<&str> {
    let end = text.strip_prefix('$')?.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    text.get(..end + 2).filter(|tag| tag.ends_with('$'))
}

/// Where a text ends that begins with this quote.
fn closing(text: &str, quote: char, escapes: bool) -> Option<usize> {
    let mut signs = text.char_indices().skip(1);
    while let Some((at, sign)) = signs.next() {
        match sign {
            '\\' if escapes => drop(signs.next()),
            _ if sign == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// `ALTER TABLE x DELETE WHERE …`, also with `ON CLUSTER y` between; not `ON DELETE CASCADE`, `GRANT DELETE`.
fn deletes_by_alter(words: &[&str]) -> bool {
    let Some(at) = words.iter().position(|word| *word == "DELETE") else { return false };
    let is_first = matches!(at, 3 | 4) && !matches!(words[at - 1], "ON" | "COLUMN" | "TO");
    words.get(1) == Some(&"TABLE") && (is_first || at > 5 && words[at - 2] == "CLUSTER")
}

fn statement(text: &str) -> bool {
    let words: Vec<&str> = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .collect();
    let has = |word: &str| words.contains(&word);
    let at = match words.first() {
        // What the named queries are for.
        Some(&"WITH") => words.iter().position(|word| matches!(*word, "DELETE" | "UPDATE")).unwrap_or(1),
        first => usize::from(matches!(first, Some(&("BEGIN" | "EXPLAIN" | "ANALYZE")))),
    };
    if words.first() == Some(&"EXPLAIN") && words.get(1) != Some(&"ANALYZE") {
        return false;
    }
    let at = if words.get(1) == Some(&"ANALYZE") { 2 } else { at };
    let things = [
        "TABLE", "DATABASE", "SCHEMA", "VIEW", "ROLE", "USER", "KEYSPACE", "COLLECTION", "SEQUENCE",
        "MATERIALIZED", "OWNED", "TYPE", "TABLESPACE", "FUNCTION", "EXTENSION",
    ];
    match words.get(at).copied() {
        Some("DROP") => words.get(at + 1).is_some_and(|thing| things.contains(thing)),
        Some("TRUNCATE") => words.len() > at + 1,
        Some("DELETE") => has("FROM") && !conditional(&words[at..]),
        Some("UPDATE") => has("SET") && !conditional(&words[at..]),
        Some("FLUSHALL" | "FLUSHDB") => true,
        // `ALTER TABLE x DELETE WHERE 1`, `ALTER TABLE x DROP PARTITION p`.
        Some("ALTER") if has("PARTITION") => has("DROP"),
        Some("ALTER") => deletes_by_alter(&words[at..]) && !conditional(&words[at..]),
        // `MATCH (n) DETACH DELETE n`.
        Some("MATCH") => has("DELETE") && !has("WHERE") && !text.contains(['{', ':']),
        _ => document(text),
    }
}

/// A condition that is not always true.
fn conditional(words: &[&str]) -> bool {
    let Some(at) = words.iter().position(|word| *word == "WHERE") else { return false };
    // Numbers and texts that are compared with each other are the same for each row.
    let is_constant = |word: &&str| *word == "TRUE" || word.bytes().all(|byte| byte.is_ascii_digit());
    // `WHERE id IS NOT NULL`.
    let is_any =
        matches!(words[at + 1..], [name, "IS", "NOT", "NULL"] if name == "ID" || name.ends_with("_ID"));
    !is_any && !words[at + 1..].iter().all(is_constant)
}

/// Calls of a store of documents.
fn document(text: &str) -> bool {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    [
        "DROPDATABASE(", ".DROP(", ".DELETEMANY({})", ".REMOVE({})", ".DELETEMANY()", ".REMOVE()",
        ".UPDATEMANY({},",
    ]
    .iter()
    .any(|call| text.contains(call))
        // Of a model of Rails, without a condition.
        || [".DELETE_ALL", ".DESTROY_ALL"].iter().any(|call| text.contains(call))
            && ![".WHERE(", ".FIND("].iter().any(|call| text.contains(call))
}

#[cfg(test)]
mod tests {
    use super::destroys;

    #[test]
    fn what_loses_all_rows_is_told_from_what_does_not() {
        for text in [
            "begin; delete from users; create table y(a int); rollback",
            "begin; delete from users; prepare transaction 'a'; rollback",
            "create temp table t(a int); drop table t; drop table t",
            "alter table db.t on cluster c delete where 1",
            "drop table x",
            "SELECT 1; TRUNCATE x",
            "DELETE FROM x",
            "update x set a = 1",
            "DROP/**/TABLE x",
            "db.x.drop()",
            "delete from x where 1=1",
            "-- don't\ndrop table x",
            "# don't\ndrop table x",
            "select 1; # don't\ndrop table x",
            "insert into x values (\"it's\"); drop table x",
            "insert into x values ('it\\'s'); drop table x",
            "insert into x values (\"it\\\"s '\"); drop table x",
            "select 'c:\\'; drop table x",
            "truncate \"x\"",
            "select E'it\\'s'; drop table x",
            "select $$it's$$; drop table x",
            "select $a$it's$a$; drop table x",
            "do $$ begin delete from x; end $$",
            "// don't\ndb.dropDatabase()",
            "select $1, 'a'; drop table x",
            "\\set x it's\ndrop table x",
            "select 1\nGO\ndrop table x\nGO",
            "USE a\nSET b 0\ndelete from x",
            ".mode column\n.headers on\ndelete from x",
            "SELECT 1\nflushdb",
            "select 1\\G\ndrop table x",
            "db.x\n  .drop()",
            "\\pset x \\\\ drop table x",
            "delimiter //\ndrop table x //",
            "if exists (select 1)\ndrop table x",
            "begin; drop table x; rollback",
            "begin; delete from x; commit; begin; select 1; rollback",
            "begin; delete from x; rollback to a; commit",
            "do $$ begin execute 'drop table x'; end $$",
            "return redis.call('flushall')",
            "alter table x delete where 1",
            "alter table x drop partition p0",
            "match (n) detach delete n",
            "delete from x where id is not null",
            "create temp table y as select 1; drop table x",
            "create temp table y as select 1; drop table y, x",
        ] {
            assert!(destroys(text), "{text}");
        }
        for text in [
            "alter table o add constraint f foreign key (u) references users(id) on delete cascade",
            "alter default privileges in schema public grant select, delete on tables to app",
            "alter table t rename column delete to gone",
            "select 'drop table x'",
            "-- drop table x\nselect 1",
            "delete from x where id = 1",
            "EXPLAIN DELETE FROM x",
            "db.x.find()",
            "alter table x drop column y",
            "# drop table x\nselect 1",
            "select \"a; drop table x\"",
            "select \"it's\", 'drop table x'",
            "\\d x\nselect 1",
            "insert into x values (1) on conflict do\nupdate set a = 1",
            "create trigger t before\ndelete on x execute function drop_table()",
            "merge into x using y on a = b when matched then\nupdate set a = 1",
            "explain\ndelete from x",
            "set a 1\nselect 1",
            "begin; delete from x; rollback;",
            "alter table x delete where id = 1",
            "match (n {id: 1}) delete n",
            "delete from x where note is not null",
            "execute 'select 1'",
            "create temp table y as select 1; drop table y;",
            "create temporary table if not exists y(a int); drop table if exists y",
        ] {
            assert!(!destroys(text), "{text}");
        }
    }
}
