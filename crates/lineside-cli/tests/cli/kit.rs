//! `lineside kit`: a kit that is printed makes a hook warm.

use crate::stage::{Stage, shell};

#[test]
fn a_kit_that_is_printed_makes_a_hook_warm() {
    let stage = Stage::new();
    let kit = stage.run(&["kit", "python"], "");
    assert_eq!(kit.code, Some(0));
    let script = "from lineside_hook import hook, serve\n@hook\ndef check(event):\n    \
        return {'decision': 'deny', 'reason': 'no'}\nserve()\n";
    stage.hook("h", "trigger: before_tool\nmode: worker", "exec python3 \"$(dirname \"$0\")/hook.py\"");
    stage.file("project/.agents/hooks/h/scripts/hook.py", script);
    stage.file("project/.agents/hooks/h/scripts/lineside_hook.py", &kit.out);
    let said = stage.run(&["run", "--project", "."], shell("ls"));
    assert_eq!(said.field("verdict"), ["block"]);
}

#[test]
fn a_language_without_a_kit_is_refused_and_those_with_one_are_named() {
    let said = Stage::new().run(&["kit", "cobol"], "");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("python") && said.err.contains("node"), "{}", said.err);
}

#[test]
fn a_client_is_one_file_and_a_language_without_one_is_told_which_have_one() {
    let stage = Stage::new();
    let client = stage.run(&["kit", "typescript", "--client"], "");
    assert_eq!(client.code, Some(0), "{client:?}");
    assert!(
        client.out.contains("export class Client") && !client.out.contains(" from './"),
        "{}",
        client.out
    );
    let client = stage.run(&["kit", "python", "--client"], "");
    assert_eq!(client.code, Some(0), "{client:?}");
    assert!(client.out.contains("\nclass Client") && !client.out.contains("\nfrom ."), "{}", client.out);
    let none = stage.run(&["kit", "node", "--client"], "");
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(
        none.err.contains("there is no client for node") && none.err.contains("`typescript --client`"),
        "{none:?}"
    );
    let hook = stage.run(&["kit", "typescript"], "");
    assert!(hook.err.contains("`node`"), "{hook:?}");
}
