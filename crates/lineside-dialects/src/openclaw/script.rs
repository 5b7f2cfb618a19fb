//! The texts of the worker: what Node runs. Who starts it is another crate's business.

use lineside_core::worker::WorkerScript;

/// The worker, as it ships with this version of the runtime.
pub const SCRIPT: WorkerScript = WorkerScript {
    entry: "worker.mjs",
    files: &[
        ("worker.mjs", include_str!("worker.mjs")),
        ("worker/wire.mjs", include_str!("worker/wire.mjs")),
        ("worker/seal.mjs", include_str!("worker/seal.mjs")),
        ("worker/text.mjs", include_str!("worker/text.mjs")),
        ("worker/modules.mjs", include_str!("worker/modules.mjs")),
        ("worker/resolver.mjs", include_str!("worker/resolver.mjs")),
        ("worker/runtime.mjs", include_str!("worker/runtime.mjs")),
        ("worker/typescript.mjs", include_str!("worker/typescript.mjs")),
        ("worker/sdk.cjs", include_str!("worker/sdk.cjs")),
        ("worker/catalogue.mjs", include_str!("worker/catalogue.mjs")),
        ("worker/api.mjs", include_str!("worker/api.mjs")),
        ("worker/packs.mjs", include_str!("worker/packs.mjs")),
        ("worker/registry.mjs", include_str!("worker/registry.mjs")),
        ("worker/answers.mjs", include_str!("worker/answers.mjs")),
    ],
};
