//! A decision with everything that the log has of it, as JSON: for programs, and for a reader on another machine.

use std::time::Duration;

use lineside_core::Strength;
use lineside_core::json::{Map, Value, json};

use crate::look::{Decision, News};
use crate::why::{Considered, Given, Why};

impl Why {
    /// As one JSON object: what `lineside why --json` prints.
    #[must_use]
    pub fn to_json(&self) -> Map {
        let mut object = self.decision.to_json();
        let all = |values: Vec<Value>| Value::Array(values);
        object.insert("hooks".to_owned(), all(self.hooks.iter().map(hook).collect()));
        object.insert("given".to_owned(), all(self.given.iter().map(given).collect()));
        object.insert("since".to_owned(), all(self.since.iter().map(news).collect()));
        object
    }

    /// What [`to_json`](Self::to_json) has made; `None` where it is something else.
    #[must_use]
    pub fn of_json(object: &Map) -> Option<Self> {
        let list = |name: &str| object.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        Some(Self {
            decision: Decision::of_json(object)?,
            hooks: list("hooks").iter().map(hook_of).collect::<Option<_>>()?,
            given: list("given").iter().map(given_of).collect::<Option<_>>()?,
            since: list("since").iter().map(news_of).collect::<Option<_>>()?,
        })
    }
}

fn micros(took: Option<Duration>) -> Option<u64> {
    took.map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX))
}

fn text(object: &Value, name: &str) -> Option<String> {
    object[name].as_str().map(str::to_owned)
}

fn took(object: &Value) -> Option<Duration> {
    object["took_us"].as_u64().map(Duration::from_micros)
}

fn hook(hook: &Considered) -> Value {
    json!({
        "hook": hook.hook, "origin": hook.origin, "dialect": hook.dialect, "layer": hook.layer, "part": hook.part,
        "mode": if hook.is_shadow { "shadow" } else { "enforced" },
        "priority": hook.priority, "what": hook.what, "ran": !hook.is_skipped, "verdict": hook.verdict,
        "failed": hook.failed, "detail": hook.detail, "took_us": micros(hook.took),
    })
}

fn hook_of(object: &Value) -> Option<Considered> {
    Some(Considered {
        hook: text(object, "hook")?,
        origin: text(object, "origin"),
        dialect: text(object, "dialect")?,
        layer: text(object, "layer")?,
        part: text(object, "part")?,
        priority: i32::try_from(object["priority"].as_i64()?).ok()?,
        is_shadow: object["mode"] == json!("shadow"),
        what: text(object, "what")?,
        is_skipped: object["ran"] == json!(false),
        verdict: object["verdict"].as_str().and_then(Strength::named),
        failed: text(object, "failed"),
        detail: text(object, "detail"),
        took: took(object),
    })
}

fn given(given: &Given) -> Value {
    json!({
        "hook": given.hook, "what": given.what, "field": given.field, "before": given.before, "text": given.text,
    })
}

fn given_of(object: &Value) -> Option<Given> {
    let [hook, field, before] = ["hook", "field", "before"].map(|name| text(object, name));
    Some(Given { hook, what: text(object, "what")?, field, before, text: text(object, "text")? })
}

fn news(news: &News) -> Value {
    json!({
        "time": news.time.to_string(), "what": news.what, "hook": news.hook, "job": news.job,
        "took_us": micros(news.took), "detail": news.detail,
    })
}

fn news_of(object: &Value) -> Option<News> {
    Some(News {
        time: text(object, "time")?.parse().ok()?,
        what: text(object, "what")?,
        hook: text(object, "hook"),
        job: object["job"].as_u64(),
        took: took(object),
        detail: text(object, "detail"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read_as_it_was() {
        let decision = json!({
            "id": "01a20bf2-fc2c-79fc-b36d-448e0b4bfe58", "time": "2026-11-24T05:06:43.372Z", "session": "s", "tree": "s",
            "depth": 0, "seq": 4, "agent": "main", "point": "before_tool", "verdict": "block", "took_us": 8_400,
            "payload": {"tool_name": "Shell"}, "changes": 1, "failures": 1, "runs": 2, "shadows": 0,
        });
        let Value::Object(object) = decision else { panic!("it is an object") };
        let considered = |what: &str, is_skipped, verdict| Considered {
            hook: "no-rm".to_owned(),
            origin: Some("hooks.yaml:2".to_owned()),
            dialect: "native".to_owned(),
            layer: "project".to_owned(),
            part: "gate".to_owned(),
            priority: -7,
            is_shadow: is_skipped,
            what: what.to_owned(),
            is_skipped,
            verdict,
            failed: None,
            detail: Some("x".to_owned()),
            took: (!is_skipped).then(|| Duration::from_micros(17)),
        };
        let why = Why {
            decision: Decision::of_json(&object).unwrap(),
            hooks: vec![
                considered("answered", false, Some(Strength::Block)),
                considered("filter", true, None),
            ],
            given: vec![Given {
                hook: None,
                what: "change".to_owned(),
                field: Some("command".to_owned()),
                before: Some("1".to_owned()),
                text: "2".to_owned(),
            }],
            since: vec![News {
                time: "2026-11-24T05:06:43.400Z".parse().unwrap(),
                what: "job_done".to_owned(),
                hook: Some("lint".to_owned()),
                job: Some(3),
                took: Some(Duration::from_millis(2)),
                detail: None,
            }],
        };
        assert_eq!(Why::of_json(&why.to_json()), Some(why.clone()));
        let mut other = why.to_json();
        other.insert("hooks".to_owned(), json!([{}]));
        assert_eq!(Why::of_json(&other), None);
    }
}
