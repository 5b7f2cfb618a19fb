//! What a usual command costs, from its text to the verdicts of all policies.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lineside_commands::{Shell, Surroundings, analyse};
use lineside_dialects::native::matching_policies;

const USUAL: &str = r#"cd frontend && npm run build 2>&1 | tail -n 20; git add -A && git commit -m "feat: say \"hello\" in $(date +%F)" && git push origin feature/hello"#;

fn policies(c: &mut Criterion) {
    let state = Surroundings::new("/proj", "/home/dev");
    c.bench_function("commands/usual_all_policies", |b| {
        b.iter(|| {
            let analysis = analyse(black_box(USUAL), Shell::Bash, &state);
            matching_policies(&analysis, &state).len()
        });
    });
}

criterion_group!(benches, policies);
criterion_main!(benches);
