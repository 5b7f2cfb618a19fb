//! What has changed since a reader has looked last, as one JSON object: a reader that was away for long gets one frame, and
//! not one for each change.

use std::collections::HashSet;

use lineside_core::json::{Value, json};

use super::{Agent, Model};

impl Model {
    /// The frame for a reader that has seen everything up to a version; of 0 everything that there is.
    ///
    /// Members: `v`, the version; `all`, whether nothing before counts any more; `new`, the agents that came, each as place,
    /// place of the root, depth, session, name, program, project and machine; `gone`, places; `at`, place, state and signs; `only`,
    /// the places that a filter lets through, where there is one; `states`, `events`, `refused`, `lost`, `heard`.
    #[must_use]
    pub fn frame(&self, since: u64, only: Option<&HashSet<String>>) -> String {
        let (mut new, mut gone, mut at) = (Vec::new(), Vec::new(), Vec::new());
        for (place, slot) in self.slots.iter().enumerate() {
            if slot.changed <= since {
                continue;
            }
            let Some(agent) = &slot.agent else {
                gone.push(json!(place));
                continue;
            };
            if slot.born > since {
                new.push(self.description(place, agent));
            }
            at.push(json!([place, agent.state as u8, agent.signs()]));
        }
        let counts = &self.counts;
        let mut frame = json!({
            "v": self.version, "all": since == 0, "new": new, "gone": gone, "at": at,
            "states": counts.states, "events": counts.events, "refused": counts.refused, "lost": counts.lost,
            "heard": self.heard,
        });
        if let (Some(only), Value::Object(frame)) = (only, &mut frame) {
            let fits = |session: &&String| self.places.get(session.as_str());
            let places: Vec<u32> = only.iter().filter_map(|session| fits(&session).copied()).collect();
            frame.insert("only".to_owned(), json!(places));
        }
        frame.to_string()
    }

    fn description(&self, place: usize, agent: &Agent) -> Value {
        let root = self.places.get(&agent.root).copied();
        json!([
            place, root, agent.depth, agent.session, agent.label, agent.host, agent.project, agent.machine
        ])
    }
}
