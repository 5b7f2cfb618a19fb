//! The payloads as interfaces of TypeScript.

use std::fmt::Write as _;

use super::declarations::{Field, parts, points};

const HEAD: &str = "// The payloads of the points, as the crate `lineside-points` declares them. Made by its example `payloads`; a test keeps it\n\
// current.\n";

/// What stands behind the payloads.
const TAIL: &str = "
/** The name of a point of the catalogue. */
export type PointName = keyof Payloads;

/** The payload of a point; of one that a vendor has declared, `x.<vendor>.<point>`, any object. */
export type PayloadOf<P extends string> = P extends PointName ? Payloads[P] : Record<string, unknown>;

/** What may be amended at a point. */
export type AmendmentOf<P extends string> = P extends PointName
  ? Partial<Pick<Payloads[P], (typeof AMENDABLE)[P][number] & keyof Payloads[P]>>
  : Record<string, unknown>;

/** A point whose events a gate can refuse. */
export type GatedPoint = Exclude<PointName, `on_${string}`>;
";

pub(crate) fn types() -> String {
    let mut text = HEAD.to_owned();
    let (parts, words) = parts();
    for list in &words {
        let known: Vec<String> = list.words.iter().map(|word| format!("'{word}'")).collect();
        write!(text, "\n/** {} The program may have a word of its own. */\n", list.about).unwrap();
        writeln!(text, "export type {} = {} | (string & {{}});", list.name, known.join(" | ")).unwrap();
    }
    for part in &parts {
        interface(&mut text, &part.about, &part.name, &part.fields);
        if part.is_open {
            text.push_str(
                "  /** What else the program counts, as it says it. */\n  [figure: string]: unknown;\n",
            );
        }
        text.push_str("}\n");
    }
    let points = points();
    for point in &points {
        interface(&mut text, &point.about, &point.kind, &point.fields);
        text.push_str("}\n");
    }
    text.push_str(
        "\n/** The payload of each point, by the name of the point. */\nexport interface Payloads {\n",
    );
    for point in &points {
        writeln!(text, "  {}: {};", point.name, point.kind).unwrap();
    }
    text.push_str(
        "}\n\n/** The fields of each point that a hook may amend. */\nexport const AMENDABLE = {\n",
    );
    for point in &points {
        let fields: Vec<String> = point.amendable.iter().map(|field| format!("'{field}'")).collect();
        writeln!(text, "  {}: [{}],", point.name, fields.join(", ")).unwrap();
    }
    text.push_str("} as const satisfies { [P in keyof Payloads]: readonly (keyof Payloads[P])[] };\n");
    text.push_str(TAIL);
    text
}

fn interface(text: &mut String, about: &str, name: &str, fields: &[Field]) {
    write!(text, "\n/** {about} */\nexport interface {name} {{\n").unwrap();
    for Field { name, kind, required, about } in fields {
        let mark = if *required { "" } else { "?" };
        write!(text, "  /** {about} */\n  {name}{mark}: {};\n", of(kind)).unwrap();
    }
}

/// What a type of Rust is in TypeScript. What a program gives as it likes has to be looked at before it is used.
fn of(kind: &str) -> String {
    match kind {
        "String" => "string".to_owned(),
        "bool" => "boolean".to_owned(),
        "u16" | "u64" => "number".to_owned(),
        "Value" => "unknown".to_owned(),
        "SessionStart" | "CompactKind" | "Usage" | "ToolCall" | "ChangedFile" => kind.to_owned(),
        list if list.starts_with("Vec<") => {
            format!("{}[]", of(list.trim_start_matches("Vec<").trim_end_matches('>')))
        }
        other => panic!("what is {other} in TypeScript?"),
    }
}
