//! `lineside cluster` where there is none; with others it is tested beside their server.

use crate::daemon::Daemon;
use crate::stage::Stage;

#[test]
fn without_a_cluster_it_says_how_one_is_joined() {
    let stage = Stage::new();
    let said = stage.run(&["cluster"], "");
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.err.contains("`lineside serve` starts one"), "{said:?}");
    let _daemon = Daemon::start(&stage);
    for arguments in [&["cluster"][..], &["cluster", "members", "--json"]] {
        let said = stage.run(arguments, "");
        assert_eq!((said.code, &*said.out), (Some(2), ""), "{said:?}");
        assert!(said.err.contains("in no cluster") && said.err.contains("--nats"), "{said:?}");
    }
}
