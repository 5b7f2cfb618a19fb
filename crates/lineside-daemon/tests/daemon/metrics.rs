//! What the daemon counts, read by a strict reader of the text format of Prometheus, version 0.0.4.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use http_body_util::BodyExt as _;
use hyper::Method;
use lineside::core::Strength;
use lineside::json::json;

use crate::house::{House, json_request};

/// How many hooks have figures of their own.
const HOOKS: usize = 256;

struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

#[derive(Default)]
struct Scrape {
    /// By name, which kind each family is.
    families: BTreeMap<String, String>,
    samples: Vec<Sample>,
}

fn is_name(text: &str) -> bool {
    let is_of_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    text.chars().all(is_of_name) && !text.starts_with(|char: char| char.is_ascii_digit()) && !text.is_empty()
}

impl Scrape {
    /// # Panics
    /// Where a server would refuse it: a line of another form, a sample outside of its family, one that is there twice, a
    /// histogram that does not add up.
    fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'));
        let (mut all, mut family) = (Self::default(), String::new());
        let mut helped = BTreeSet::new();
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, _) = help.split_once(' ').unwrap();
                assert!(is_name(name) && helped.insert(name.to_owned()), "{line}");
                name.clone_into(&mut family);
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert!(name == family && ["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                assert!(all.families.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
            } else {
                let sample = Sample::read(line);
                let parts: &[&str] =
                    if all.families[&family] == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                assert!(parts.iter().any(|part| sample.name == format!("{family}{part}")), "{line}");
                all.samples.push(sample);
            }
        }
        let mut seen = BTreeSet::new();
        for sample in &all.samples {
            assert!(seen.insert((&sample.name, &sample.labels)), "{} is there twice", sample.name);
        }
        all
    }

    fn of(&self, name: &str, labels: &[(&str, &str)]) -> Vec<&Sample> {
        let has = |sample: &Sample, (label, value): &(&str, &str)| {
            sample.labels.get(*label).is_some_and(|known| known == value)
        };
        let fits = |sample: &&Sample| sample.name == name && labels.iter().all(|label| has(sample, label));
        self.samples.iter().filter(fits).collect()
    }

    fn figure(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let found = self.of(name, labels);
        assert_eq!(found.len(), 1, "{name} {labels:?}");
        found[0].value
    }

    /// How many a histogram has, of each value of a label.
    fn counts(&self, name: &str, label: &str) -> BTreeMap<String, f64> {
        let mut buckets: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        for sample in self.of(&format!("{name}_bucket"), &[]) {
            let bound = match &*sample.labels["le"] {
                "+Inf" => f64::INFINITY,
                bound => bound.parse().unwrap(),
            };
            buckets.entry(sample.labels[label].clone()).or_default().push((bound, sample.value));
        }
        let checked = buckets.into_iter().map(|(value, buckets)| {
            assert!(buckets.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1), "{buckets:?}");
            let (bound, all) = buckets.last().copied().unwrap();
            assert!(bound.is_infinite() && buckets.len() > 10, "{buckets:?}");
            let count = self.figure(&format!("{name}_count"), &[(label, &value)]);
            assert!(
                count.total_cmp(&all).is_eq()
                    && self.figure(&format!("{name}_sum"), &[(label, &value)]) >= 0.0
            );
            (value, all)
        });
        checked.collect()
    }
}

impl Sample {
    fn read(line: &str) -> Self {
        let end = line.find(['{', ' ']).unwrap();
        let (name, mut rest) = line.split_at(end);
        assert!(is_name(name), "{line}");
        let mut labels = BTreeMap::new();
        if let Some(first) = rest.strip_prefix('{') {
            rest = first;
            loop {
                let (label, value) = rest.split_once("=\"").unwrap();
                assert!(is_name(label), "{line}");
                let (mut text, mut chars) = (String::new(), value.char_indices());
                let end = loop {
                    match chars.next().unwrap() {
                        (at, '"') => break at + 1,
                        (_, '\\') => text.push(match chars.next().unwrap().1 {
                            'n' => '\n',
                            escaped @ ('"' | '\\') => escaped,
                            other => panic!("\\{other} in {line}"),
                        }),
                        (_, other) => text.push(other),
                    }
                };
                assert!(labels.insert(label.to_owned(), text).is_none(), "{line}");
                rest = &value[end..];
                match rest.strip_prefix(',') {
                    Some(more) => rest = more,
                    None => break,
                }
            }
            rest = rest.strip_prefix('}').unwrap_or_else(|| panic!("{line}"));
        }
        let value = rest.strip_prefix(' ').unwrap().parse().unwrap();
        Self { name: name.to_owned(), labels, value }
    }
}

async fn scrape(house: &House) -> Scrape {
    let answer = house.request(json_request(Method::GET, "/v1/metrics", Vec::new())).await;
    assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4");
    let text = answer.into_body().collect().await.unwrap().to_bytes();
    Scrape::read(std::str::from_utf8(&text).unwrap())
}

async fn call(house: &House, command: &str) {
    let event = json!({"point": "before_tool", "session": "s",
        "payload": {"tool_name": "Shell", "tool_input": {"command": command}}});
    assert_eq!(house.post("/v1/events?open=true", &event).await.0, 200);
}

#[tokio::test]
async fn decisions_hooks_and_jobs_are_counted_and_each_histogram_adds_up() {
    let house = House::hooked(
        "hooks:\n  - {name: no-rm, on: before_tool, match: {runs: rm}, verdict: block, reason: 'no'}\n  \
         - {name: broken, on: before_tool, command: exit 7, on_failure: continue}\n",
    )
    .await;
    for command in ["ls", "rm x", "ls"] {
        call(&house, command).await;
    }
    let scrape = scrape(&house).await;
    let decisions = |verdict: Strength| {
        let labels = [("point", "before_tool"), ("verdict", verdict.as_str())];
        scrape.figure("lineside_decisions_total", &labels).round()
    };
    assert_eq!(Strength::ALL.map(decisions), [2.0, 0.0, 0.0, 1.0, 0.0]);
    let blocked = [("hook", "no-rm"), ("verdict", "block")];
    assert_eq!(scrape.figure("lineside_hook_answers_total", &blocked).round(), 1.0);
    // It was not asked about the call that was refused before.
    assert_eq!(scrape.figure("lineside_hook_failed_total", &[("hook", "broken")]).round(), 2.0);
    let decided = scrape.counts("lineside_decision_seconds", "point");
    assert_eq!(decided, [("before_tool".to_owned(), 3.0)].into());
    let hooks = scrape.counts("lineside_hook_seconds", "hook");
    assert_eq!(hooks, [("broken".to_owned(), 2.0), ("no-rm".to_owned(), 1.0)].into());
    house.server.end().await;
}

#[tokio::test]
async fn ten_times_as_many_hooks_as_have_figures_share_those_of_the_others_and_their_names_are_escaped() {
    let mut hooks = "hooks:\n".to_owned();
    for number in 0..10 * HOOKS {
        writeln!(
            hooks,
            "  - {{name: 'a \"quoted\" \\name{number}', on: before_tool, match: {{runs: rm}}, verdict: ask, reason: r}}"
        )
        .unwrap();
    }
    let house = House::hooked(&hooks).await;
    call(&house, "rm x").await;
    let scrape = scrape(&house).await;
    let asked = scrape.of("lineside_hook_answers_total", &[("verdict", "ask")]);
    let asked: BTreeMap<_, _> =
        asked.into_iter().map(|sample| (sample.labels["hook"].as_str(), sample.value)).collect();
    assert_eq!(asked.len(), HOOKS + 1, "{:?}", asked.keys().take(3).collect::<Vec<_>>());
    assert_eq!(asked["other"].round(), (9 * HOOKS) as f64);
    let is_known = |name: &&str| name.starts_with("a \"quoted\" \\name") || *name == "other";
    assert!(asked.keys().all(is_known), "{:?}", asked.keys().next());
    assert_eq!(scrape.counts("lineside_hook_seconds", "hook").len(), HOOKS + 1);
    house.server.end().await;
}

#[tokio::test]
async fn every_metric_of_the_page_and_of_the_dashboard_for_grafana_is_there() {
    let house = House::new().await;
    call(&house, "ls").await;
    let scrape = scrape(&house).await;
    let texts =
        [include_str!("../../../../docs/telemetry.md"), include_str!("../../../../docs/grafana.json")];
    for text in texts {
        let is_of_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let names = text.split(|char| !is_of_name(char)).filter(|word| word.starts_with("lineside_"));
        let names: BTreeSet<_> = names.map(|name| name.strip_suffix("_bucket").unwrap_or(name)).collect();
        assert!(names.len() > 8, "{names:?}");
        for name in names {
            assert!(scrape.families.contains_key(name), "{name}: {:?}", scrape.families.keys());
        }
    }
    for name in scrape.families.keys() {
        assert!(texts[0].contains(&format!("`{name}`")), "the page has no {name}");
    }
    let dashboard: lineside::json::Value = lineside::json::from_str(texts[1]).unwrap();
    assert!(dashboard["panels"].as_array().is_some_and(|panels| panels.len() > 5));
    house.server.end().await;
}
