//! Manifests, `package.json`, and the entries that come of them.

use super::{Boundary, Package, read};
use crate::openclaw::samples::Room;

const MANIFEST: &str = "p/openclaw.plugin.json";
const GOOD: &str = "{ id: 'p', configSchema: {} }";

fn package(files: &[(&str, &str)]) -> Option<Package> {
    let room = Room::new(files);
    std::fs::create_dir_all(room.path("p")).unwrap();
    read(&room.path("p"), Boundary::Open)
}

fn faults(files: &[(&str, &str)]) -> Vec<String> {
    match package(files).unwrap().contents {
        Err(faults) => faults,
        Ok(contents) => contents.entries.into_iter().filter_map(|entry| entry.fault).collect(),
    }
}

#[test]
fn a_manifest_says_who_it_is() {
    // OC-6
    let written = "{ // JSON5\n id: ' p ', name: 'P', description: 7, requiresPlugins: ['q', 1], other: 1, configSchema: {}, }";
    let package = package(&[
        (MANIFEST, written),
        ("p/package.json", "{\"version\": \"1.2.3\", \"description\": \"d\", \"main\": \"x\"}"),
        ("p/index.mjs", ""),
        ("p/index.js", ""),
    ])
    .unwrap();
    assert_eq!(package.id.as_deref(), Some("p"));
    let contents = package.contents.unwrap();
    let manifest = contents.manifest;
    let texts = [manifest.name, manifest.version, manifest.description].map(Option::unwrap);
    assert_eq!(texts, ["P", "1.2.3", "d"]);
    assert_eq!(manifest.requires, ["q"]);
    // OC-7
    assert_eq!(contents.entries.len(), 1);
    assert!(contents.entries[0].file.ends_with("index.js"));
}

#[test]
fn faults_of_a_manifest_are_told() {
    // OC-5, OC-6
    assert_eq!(package(&[]), None);
    assert_eq!(package(&[("p/README.md", "")]), None);
    let large = format!("{{ id: 'p', configSchema: {{}}, x: '{}' }}", "x".repeat(1 << 20));
    for (manifest, expected) in [
        (None, "plugin manifest not found: "),
        (Some("{ id: "), "failed to parse plugin manifest: "),
        (Some(large.as_str()), "failed to parse plugin manifest: it is larger than 1048576 bytes"),
        (Some("[]"), "plugin manifest must be an object"),
        (Some("{ id: ' ', configSchema: {} }"), "plugin manifest requires id"),
        (Some("{ id: 'p', configSchema: [] }"), "plugin manifest requires configSchema"),
    ] {
        let files: Vec<_> =
            manifest.map(|text| (MANIFEST, text)).into_iter().chain([("p/index.js", "")]).collect();
        let faults = faults(&files);
        assert!(faults.len() == 1 && faults[0].starts_with(expected), "{faults:?}");
    }
}

#[test]
fn faults_of_package_json_name_the_field() {
    // OC-7
    for (package, expected) in [
        ("{", "failed to parse package.json: "),
        ("{\"openclaw\": []}", "package.json openclaw must be an object"),
        ("{\"openclaw\": {\"extensions\": \"a\"}}", "package.json openclaw.extensions must be an array"),
        ("{\"openclaw\": {\"extensions\": []}}", "package.json openclaw.extensions is empty"),
        (
            "{\"openclaw\": {\"extensions\": [\"a.mjs\", \" \"]}}",
            "package.json openclaw.extensions[1] must be a non-empty string",
        ),
        ("{\"openclaw\": {\"extensions\": [\"gone.mjs\"]}}", "extension entry not found: "),
        (
            "{\"openclaw\": {\"extensions\": [\"a.mjs\"], \"runtimeExtensions\": []}}",
            "package.json openclaw.runtimeExtensions must match openclaw.extensions in length",
        ),
        (
            "{\"openclaw\": {\"extensions\": [\"a.mjs\"], \"runtimeExtensions\": [\"gone.mjs\"]}}",
            "runtime extension entry not found: ",
        ),
        ("{}", "plugin entry not found: "),
    ] {
        let faults = faults(&[(MANIFEST, GOOD), ("p/package.json", package), ("p/a.mjs", "")]);
        assert!(faults.len() == 1 && faults[0].starts_with(expected), "{package}: {faults:?}");
    }
}

#[test]
fn a_range_of_the_api_is_kept() {
    // OC-7
    let range = |range: &str| {
        let package = format!("{{\"openclaw\": {{\"compat\": {{\"pluginApi\": {range}}}}}}}");
        faults(&[(MANIFEST, GOOD), ("p/package.json", &package), ("p/index.js", "")])
    };
    assert_eq!(range("\">=2026.3.24-beta.2\""), Vec::<String>::new());
    let refused = range("\">=2026.10.0\"").remove(0);
    let begins =
        "plugin requires plugin API >=2026.10.0, but this host is 2026.9.6 (openclaw.compat.pluginApi of ";
    assert!(refused.starts_with(begins) && refused.ends_with("/p/package.json)"), "{refused}");
    for other in ["\"latest\"", "7"] {
        let fault = range(other).remove(0);
        assert!(
            fault.starts_with("invalid package plugin API metadata: openclaw.compat.pluginApi of "),
            "{fault}"
        );
        assert!(
            fault.ends_with(&format!("/p/package.json is {other}, which is no range of versions")),
            "{fault}"
        );
    }
}

#[test]
fn several_entries_are_several_plugins() {
    // OC-7, OC-9
    let package = package(&[
        (MANIFEST, GOOD),
        (
            "p/package.json",
            "{\"openclaw\": {\"extensions\": [\"./src/a.ts\", \"b.mjs\"], \"runtimeExtensions\": [\"out/a.js\", \"b.mjs\"]}}",
        ),
        ("p/out/a.js", ""),
        ("p/b.mjs", ""),
    ]);
    let entries = package.unwrap().contents.unwrap().entries;
    let shown: Vec<_> = entries.iter().map(|entry| (entry.id.as_str(), entry.fault.is_none())).collect();
    assert_eq!(shown, [("p/a", true), ("p/b", true)]);
    assert!(entries[0].file.ends_with("p/out/a.js"));
    let collision = "{\"openclaw\": {\"extensions\": [\"x/a.mjs\", \"y/a.mjs\", \"b.mjs\"]}}";
    let faults = faults(&[
        (MANIFEST, GOOD),
        ("p/package.json", collision),
        ("p/x/a.mjs", ""),
        ("p/y/a.mjs", ""),
        ("p/b.mjs", ""),
    ]);
    assert_eq!(faults, ["plugin package entries collide on derived id \"p/a\""; 2]);
}
