//! The four protocols of models: a request to its turns and tools, an answer to what is sent.

use serde_json::{Map, Value, json};

use super::script::{Answer, Call, Turn};

/// A protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Messages of Anthropic.
    Messages,
    /// Responses of OpenAI.
    Responses,
    /// Chat Completions of OpenAI.
    Chat,
    /// The one of Gemini.
    Gemini,
}

/// A tool that a program offers to its model.
pub(super) struct Tool {
    pub(super) name: String,
    /// The group of tools that it is in, where there is one.
    group: Option<String>,
    schema: Value,
}

impl Tool {
    /// The schema of a member of its input.
    pub(super) fn property(&self, name: &str) -> Option<&Value> {
        self.schema.get("properties")?.get(name)
    }

    /// A call of it; members that must be there and are not get a value.
    pub(super) fn call(&self, mut input: Map<String, Value>) -> Call {
        let required = self.schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !input.contains_key(name) {
                let schema = self.property(name).cloned().unwrap_or_default();
                input.insert(name.to_owned(), sample(&schema));
            }
        }
        Call { name: self.name.clone(), group: self.group.clone(), input: input.into() }
    }
}

/// A value that fits a schema.
fn sample(schema: &Value) -> Value {
    if let Some(first) = schema.get("enum").and_then(|all| all.get(0)) {
        return first.clone();
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    match kind.as_str() {
        "boolean" => false.into(),
        "number" | "integer" => 1.into(),
        "array" => json!([]),
        "object" => json!({}),
        _ => "scripted".into(),
    }
}

/// What is sent.
pub(super) enum Reply {
    /// One document.
    Whole(Value),
    /// Events, each with its name where the protocol gives one.
    Events(Vec<(Option<&'static str>, String)>),
}

impl Protocol {
    /// The protocol that is spoken at this path; `None` for what is asked beside a conversation.
    pub(super) fn of(path: &str) -> Option<Self> {
        if path.ends_with("/messages") {
            Some(Self::Messages)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.contains("enerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// The turns of a request, oldest first. Several calls of one answer are one turn of the model.
    pub(super) fn turns(self, body: &Value) -> Vec<Turn> {
        let list = match self {
            Self::Messages | Self::Chat => "messages",
            Self::Gemini => "contents",
            Self::Responses => "input",
        };
        let mut turns: Vec<Turn> = Vec::new();
        for item in body.get(list).and_then(Value::as_array).into_iter().flatten() {
            let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
            let role = item.get("role").and_then(Value::as_str).unwrap_or("user");
            let is_call = matches!(kind, "function_call" | "custom_tool_call" | "local_shell_call");
            let is_models = is_call || matches!(role, "assistant" | "model");
            let goes_on = is_models && self != Self::Chat && turns.last().is_some_and(|last| last.is_models);
            let is_text = is_models || (role == "user" && matches!(kind, "message" | "agent_message"));
            let mut text = String::new();
            if is_text && !is_call {
                let said = ["content", "parts"].iter().find_map(|name| item.get(name));
                texts(said.unwrap_or(&Value::Null), &mut text);
            }
            if !goes_on {
                turns.push(Turn { is_models, text });
            }
        }
        turns
    }

    /// The tools of a request.
    pub(super) fn tools(self, body: &Value) -> Vec<Tool> {
        let mut tools = Vec::new();
        for tool in body.get("tools").and_then(Value::as_array).into_iter().flatten() {
            match self {
                Self::Messages => tools.extend(read(tool, "input_schema", None)),
                Self::Chat => {
                    tools.extend(tool.get("function").and_then(|tool| read(tool, "parameters", None)));
                }
                Self::Gemini => {
                    let all = tool.get("functionDeclarations").and_then(Value::as_array);
                    for tool in all.into_iter().flatten() {
                        let name = if tool.get("parameters").is_some() {
                            "parameters"
                        } else {
                            "parametersJsonSchema"
                        };
                        tools.extend(read(tool, name, None));
                    }
                }
                Self::Responses => match tool.get("tools").and_then(Value::as_array) {
                    Some(all) => {
                        let group = tool.get("name").and_then(Value::as_str);
                        tools.extend(all.iter().filter_map(|tool| read(tool, "parameters", group)));
                    }
                    None => tools.extend(read(tool, "parameters", None)),
                },
            }
        }
        tools
    }

    /// The answer to a request at a path, streamed where it asks for that.
    pub(super) fn reply(self, path: &str, body: &Value, answer: &Answer) -> Reply {
        let is_streamed = body.get("stream") == Some(&Value::Bool(true));
        let model = body.get("model").cloned().unwrap_or_else(|| super::model::NAME.into());
        match self {
            Self::Messages => messages(&model, answer, is_streamed),
            Self::Responses => responses(&model, answer, is_streamed),
            Self::Chat => chat(&model, answer, is_streamed),
            Self::Gemini => gemini(body, answer, path.contains(":stream")),
        }
    }
}

/// The texts in a piece of a conversation.
fn texts(value: &Value, into: &mut String) {
    match value {
        Value::String(text) => {
            into.push_str(text);
            into.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(members) => {
            let is_result = members.contains_key("functionResponse")
                || members.get("type").is_some_and(|kind| kind == "tool_result" || kind == "tool_use");
            // Codex hands the task of a subagent on as if it were encrypted.
            let said = ["text", "encrypted_content"].iter().filter_map(|name| members.get(*name));
            if !is_result {
                said.for_each(|text| texts(text, into));
            }
        }
        _ => {}
    }
}

fn read(tool: &Value, schema: &str, group: Option<&str>) -> Option<Tool> {
    let name = tool.get("name").or_else(|| tool.get("type"))?.as_str()?.to_owned();
    let schema = tool.get(schema).cloned().unwrap_or_default();
    Some(Tool { name, group: group.map(str::to_owned), schema })
}

/// An id that no other one is equal to.
fn id(kind: &str) -> String {
    static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = LAST.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("{kind}_{}_{number}", std::process::id())
}

fn messages(model: &Value, answer: &Answer, is_streamed: bool) -> Reply {
    let (block, start, delta, reason) = match answer {
        Answer::Text(text) => (
            json!({"type": "text", "text": text}),
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": text}),
            "end_turn",
        ),
        Answer::Call(Call { name, input, .. }) => {
            let id = id("toolu");
            (
                json!({"type": "tool_use", "id": id, "name": name, "input": input}),
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input.to_string()}),
                "tool_use",
            )
        }
    };
    let usage = json!({"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0});
    let mut message = json!({"id": id("msg"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage});
    if !is_streamed {
        message["content"] = json!([block]);
        message["stop_reason"] = reason.into();
        return Reply::Whole(message);
    }
    let end = json!({"stop_reason": reason, "stop_sequence": null});
    let events = [
        ("message_start", json!({"message": message})),
        ("content_block_start", json!({"index": 0, "content_block": start})),
        ("content_block_delta", json!({"index": 0, "delta": delta})),
        ("content_block_stop", json!({"index": 0})),
        ("message_delta", json!({"usage": usage, "delta": end})),
        ("message_stop", json!({})),
    ];
    typed(events)
}

/// Events whose name is also in them.
fn typed<const N: usize>(events: [(&'static str, Value); N]) -> Reply {
    let event = |(number, (name, mut data)): (usize, (&'static str, Value))| {
        data["type"] = name.into();
        data["sequence_number"] = number.into();
        (Some(name), data.to_string())
    };
    Reply::Events(events.into_iter().enumerate().map(event).collect())
}

fn responses(model: &Value, answer: &Answer, is_streamed: bool) -> Reply {
    let item = match answer {
        Answer::Text(text) => {
            json!({"type": "message", "id": id("msg"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}]})
        }
        Answer::Call(Call { name, group, input }) => {
            let mut call = json!({"type": "function_call", "id": id("fc"), "call_id": id("call"), "name": name,
                "arguments": input.to_string(), "status": "completed"});
            if let Some(group) = group {
                call["namespace"] = group.as_str().into();
            }
            call
        }
    };
    let mut response = json!({"id": id("resp"), "object": "response", "created_at": 0, "status": "completed",
        "model": model, "output": [item], "parallel_tool_calls": true, "tools": [],
        "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110}});
    if !is_streamed {
        return Reply::Whole(response);
    }
    let done = response.clone();
    response["output"] = json!([]);
    response["status"] = "in_progress".into();
    typed([
        ("response.created", json!({"response": response})),
        ("response.output_item.added", json!({"output_index": 0, "item": item})),
        ("response.output_item.done", json!({"output_index": 0, "item": item})),
        ("response.completed", json!({"response": done})),
    ])
}

fn chat(model: &Value, answer: &Answer, is_streamed: bool) -> Reply {
    let (message, reason) = match answer {
        Answer::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Answer::Call(Call { name, input, .. }) => {
            let function = json!({"name": name, "arguments": input.to_string()});
            let call = json!({"index": 0, "id": id("call"), "type": "function", "function": function});
            (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
        }
    };
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
    let id = id("chatcmpl");
    if !is_streamed {
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        return Reply::Whole(json!({"id": id, "created": 0, "model": model, "object": "chat.completion",
            "usage": usage, "choices": [choice]}));
    }
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({"id": id, "created": 0, "model": model, "object": "chat.completion.chunk",
            "choices": choices, "usage": usage});
        (None, chunk.to_string())
    };
    Reply::Events(vec![
        chunk(json!([{"index": 0, "delta": message, "finish_reason": null}]), Value::Null),
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}]), Value::Null),
        chunk(json!([]), usage),
        (None, "[DONE]".to_owned()),
    ])
}

fn gemini(body: &Value, answer: &Answer, is_streamed: bool) -> Reply {
    let config = body.get("generationConfig");
    let schema = ["responseJsonSchema", "responseSchema"]
        .iter()
        .find_map(|name| config.and_then(|config| config.get(name)));
    let part = match (answer, schema) {
        // A question beside the conversation, whose answer has a shape.
        (Answer::Text(_), Some(schema)) => {
            let shape = Tool { name: String::new(), group: None, schema: schema.clone() };
            json!({"text": shape.call(Map::new()).input.to_string()})
        }
        (Answer::Text(text), None) => json!({"text": text}),
        (Answer::Call(Call { name, input, .. }), _) => json!({"functionCall": {"name": name, "args": input}}),
    };
    let candidate =
        json!({"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"});
    let whole = json!({"candidates": [candidate], "modelVersion": "scripted", "responseId": id("resp"),
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}});
    if is_streamed { Reply::Events(vec![(None, whole.to_string())]) } else { Reply::Whole(whole) }
}
