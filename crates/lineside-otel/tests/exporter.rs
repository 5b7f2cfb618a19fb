//! What a collector receives, decoded by the types of the protocol.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Signals};
use lineside_core::json::json;
use lineside_core::{Agent, Traceparent, Verdict};
use lineside_otel::{Exporter, Settings};
use lineside_points::{AfterTool, BeforeTool};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// The paths and the bodies of requests.
type Posts = Vec<(String, Vec<u8>)>;

/// A collector that takes whatever it is sent but what it refuses.
struct Collector {
    url: String,
    taken: Arc<Mutex<Posts>>,
}

impl Collector {
    fn new() -> Self {
        Self::that_refuses(|_| false)
    }

    /// A collector for which a request is malformed that has one of these bodies.
    fn that_refuses(refuses: fn(&[u8]) -> bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let taken: Arc<Mutex<Posts>> = Arc::default();
        let takes = Arc::clone(&taken);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (mut heard, mut piece) = (Vec::new(), [0; 4096]);
                let (head, from, to) = loop {
                    let read = stream.read(&mut piece).unwrap();
                    assert!(read > 0);
                    heard.extend_from_slice(&piece[..read]);
                    let Some(end) = heard.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
                    let head = String::from_utf8(heard[..end].to_vec()).unwrap();
                    let length = head.to_ascii_lowercase();
                    let length = length.lines().find_map(|line| line.strip_prefix("content-length: "));
                    let length: usize = length.unwrap().parse().unwrap();
                    break (head, end + 4, end + 4 + length);
                };
                while heard.len() < to {
                    let read = stream.read(&mut piece).unwrap();
                    assert!(read > 0);
                    heard.extend_from_slice(&piece[..read]);
                }
                assert!(head.contains("x-team: a b"), "{head}");
                let path = head.split(' ').nth(1).unwrap().to_owned();
                let status = if refuses(&heard[from..to]) {
                    "400 Bad Request"
                } else {
                    takes.lock().unwrap().push((path, heard[from..to].to_vec()));
                    "200 OK"
                };
                let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        Self { url, taken }
    }

    fn bodies(&self, wanted: &str) -> Vec<Vec<u8>> {
        let taken = self.taken.lock().unwrap();
        taken.iter().filter(|(path, _)| path == wanted).map(|(_, body)| body.clone()).collect()
    }

    fn spans(&self) -> Vec<Span> {
        let requests = self.bodies("/v1/traces").into_iter();
        let requests = requests.map(|body| ExportTraceServiceRequest::decode(&*body).unwrap());
        let resources = requests.flat_map(|request| request.resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }

    fn logs(&self) -> Vec<LogRecord> {
        let requests = self.bodies("/v1/logs").into_iter();
        let requests = requests.map(|body| ExportLogsServiceRequest::decode(&*body).unwrap());
        let resources = requests.flat_map(|request| request.resource_logs);
        resources.flat_map(|resource| resource.scope_logs).flat_map(|scope| scope.log_records).collect()
    }

    fn metrics(&self) -> Vec<String> {
        let requests = self.bodies("/v1/metrics").into_iter();
        let requests = requests.map(|body| ExportMetricsServiceRequest::decode(&*body).unwrap());
        let resources = requests.flat_map(|request| request.resource_metrics);
        let metrics = resources.flat_map(|resource| resource.scope_metrics).flat_map(|scope| scope.metrics);
        metrics.map(|metric| metric.name).collect()
    }
}

fn exporter(url: &str, more: &[(&str, &str)]) -> Exporter {
    let mut variables: BTreeMap<&str, &str> = more.iter().copied().collect();
    variables.insert("OTEL_EXPORTER_OTLP_ENDPOINT", url);
    variables.insert("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a%20b");
    Exporter::start(&Settings::read(|name| variables.get(name).copied()).unwrap().unwrap()).unwrap()
}

fn hear(exporter: &Exporter, bus: &Bus, signals: &mut Signals) {
    while let Some(watched) = signals.try_next() {
        match watched {
            Watched::Signal(signal) => exporter.hear(&signal, bus.wall_clock(), |session| {
                Some(bus.find(session.as_str())?.source().clone())
            }),
            Watched::Lost(lost) => exporter.lose(lost),
        }
    }
}

/// The context that a daemon gives a session.
fn context(session: &str, above: Option<Traceparent>) -> Traceparent {
    above.unwrap_or(Traceparent { trace: 0xabc, span: 0, sampled: true }).of_session(session)
}

fn call(id: &str, command: &str) -> BeforeTool {
    let mut call = BeforeTool::new("Shell", json!({"command": command}));
    call.tool_call_id = Some(id.to_owned());
    call
}

/// The names of a span and of those above it.
fn chain<'s>(spans: &'s [Span], span: &'s Span) -> Vec<&'s str> {
    let above = spans.iter().find(|above| above.span_id == span.parent_span_id);
    let mut names = vec![span.name.as_str()];
    names.extend(above.into_iter().flat_map(|above| {
        assert_eq!(above.trace_id, span.trace_id, "{} below {}", span.name, above.name);
        chain(spans, above)
    }));
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_are_below_decisions_below_tools_below_the_sessions_of_programs_below_one_another() {
    let (bus, collector) = (Bus::new(), Collector::new());
    let mut signals = bus.signals();
    let exporter = exporter(&collector.url, &[]);
    // A program that has a span itself, and the agent of another program below its session.
    let given = Traceparent::read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
    let main = bus.session("main").agent(Agent::main("main")).host("claude").traceparent(given.to_string());
    let main = main.open().await.unwrap();
    let child = main.subagent("child").agent(Agent::subagent("reviewer")).host("codex");
    let child = child.traceparent(context("child", Some(given)).to_string()).open().await.unwrap();
    let alone = bus.session("alone").traceparent(context("alone", None).to_string()).open().await.unwrap();
    let gate = main.intercept::<BeforeTool>("no-rm");
    gate.gate(async |call, _cx| match call.command().as_deref() {
        Some("rm secret-file") => Verdict::block("not secret-file"),
        _ => Verdict::Continue,
    })
    .unwrap();
    drop(main.event(call("1", "ls secret-file")).turn(3).publish().await.unwrap());
    let mut after = AfterTool::new("Shell", json!("secret-file"));
    after.tool_call_id = Some("1".to_owned());
    drop(main.event(after).turn(3).publish().await.unwrap());
    drop(child.publish(call("2", "rm secret-file")).await.unwrap());
    drop(alone.publish(call("3", "ls")).await.unwrap());
    for session in [child, main, alone] {
        session.close().await;
    }
    hear(&exporter, &bus, &mut signals);
    assert!(exporter.send().await);
    let exporter = tokio::task::spawn_blocking(move || {
        exporter.flush_metrics();
        exporter
    });
    let exporter = exporter.await.unwrap();

    let spans = collector.spans();
    let chains: Vec<Vec<&str>> = spans.iter().map(|span| chain(&spans, span)).collect();
    let has =
        |wanted: &[&str]| assert!(chains.iter().any(|chain| chain == wanted), "{wanted:?}: {chains:#?}");
    let of_main = ["execute_tool Shell", "turn 3", "invoke_agent main"];
    has(&[&["hook no-rm", "decide before_tool"][..], &of_main].concat());
    has(&[&["decide after_tool"][..], &of_main].concat());
    let of_child = ["execute_tool Shell", "invoke_agent reviewer", "invoke_agent main"];
    has(&[&["hook no-rm", "decide before_tool"][..], &of_child].concat());
    let of_root = spans.iter().filter(|span| span.name.starts_with("invoke_agent")).collect::<Vec<_>>();
    let main = of_root.iter().find(|span| span.name == "invoke_agent main" && span.parent_span_id.len() == 8);
    let main = main.expect("it is below the span of its program");
    assert_eq!(main.parent_span_id, given.span.to_be_bytes());
    assert_eq!(main.trace_id, given.trace.to_be_bytes());
    let alone = of_root.iter().find(|span| span.trace_id == 0xabc_u128.to_be_bytes()).unwrap();
    assert!(alone.parent_span_id.iter().all(|byte| *byte == 0), "{alone:?}");
    assert_eq!(alone.span_id, context("alone", None).span.to_be_bytes(), "its processes are below it");
    let refused: Vec<_> =
        spans.iter().filter(|span| span.status.as_ref().is_some_and(|status| status.code == 2)).collect();
    assert_eq!(refused.iter().map(|span| span.name.as_str()).collect::<Vec<_>>(), ["execute_tool Shell"]);
    let keys: Vec<_> = refused[0].attributes.iter().map(|pair| pair.key.as_str()).collect();
    assert!(keys.contains(&"gen_ai.tool.name") && keys.contains(&"gen_ai.operation.name"), "{keys:?}");

    let logs = collector.logs();
    let [refusal] = &logs[..] else { panic!("{logs:?}") };
    let text = refusal.body.as_ref().and_then(|body| body.value.clone());
    let Some(any_value::Value::StringValue(text)) = text else { panic!("{refusal:?}") };
    assert_eq!(text, "before_tool Shell: block by no-rm");
    assert!(spans.iter().any(|span| span.span_id == refusal.span_id && span.name == "decide before_tool"));
    let metrics = collector.metrics();
    for name in ["lineside.decision.duration", "lineside.hook.duration"] {
        assert!(metrics.iter().any(|metric| metric == name), "{metrics:?}");
    }
    // No payload and no reason, in whatever it was sent.
    for (path, body) in collector.taken.lock().unwrap().iter() {
        assert!(!body.windows(11).any(|part| part == b"secret-file"), "{path}");
    }
    assert_eq!((exporter.loss().lost, exporter.waiting()), (0, 0));
    assert_eq!(exporter.loss().sent, spans.len() as u64 + 1);
}

#[tokio::test]
async fn what_no_collector_takes_is_kept_within_a_bound_and_what_tools_are_called_with_is_sent_when_asked_for()
 {
    /// How many spans wait at most, and twice as many as that are made.
    const ROOM: u64 = 8_192;
    const CALLS: u64 = 8_192;
    let (bus, collector) = (Bus::new(), Collector::new());
    let mut signals = bus.signals();
    let content =
        [("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"), ("OTEL_METRICS_EXPORTER", "none")];
    let away = TcpListener::bind("127.0.0.1:0").map(|listener| listener.local_addr().unwrap()).unwrap();
    let kept = exporter(&format!("http://{away}"), &content[1..]);
    let shown = exporter(&collector.url, &content);
    let session = bus.session("s").traceparent(context("s", None).to_string()).open().await.unwrap();
    session.intercept::<BeforeTool>("g").gate(async |_call, _cx| Verdict::Continue).unwrap();
    for number in 0..CALLS {
        drop(session.publish(call(&number.to_string(), "make token=abcdef1234567890")).await.unwrap());
        while let Some(Watched::Signal(signal)) = signals.try_next() {
            let source = |_: &_| Some(session.source().clone());
            kept.hear(&signal, bus.wall_clock(), source);
            if number == 0 {
                shown.hear(&signal, bus.wall_clock(), source);
            }
        }
    }
    assert!(!kept.send().await);
    let loss = kept.loss();
    // A decision and a hook of each: of calls that do not end few are followed.
    assert_eq!((kept.waiting() as u64, loss.lost, loss.sent), (ROOM, 2 * CALLS - ROOM, 0));
    let trouble = loss.trouble.expect("it is named");
    assert!(trouble.contains("refused"), "{trouble}");
    drop(session.publish(AfterTool::new("Shell", json!("x"))).await.unwrap());
    let mut after = AfterTool::new("Shell", json!("x"));
    after.tool_call_id = Some("0".to_owned());
    drop(session.publish(after).await.unwrap());
    while let Some(Watched::Signal(signal)) = signals.try_next() {
        shown.hear(&signal, bus.wall_clock(), |_| None);
    }
    assert!(shown.send().await);
    let spans = collector.spans();
    let tool = spans.iter().find(|span| span.name == "execute_tool Shell").unwrap();
    let arguments = tool.attributes.iter().find(|pair| pair.key == "gen_ai.tool.call.arguments").unwrap();
    let value = arguments.value.as_ref().and_then(|value| value.value.clone());
    let Some(any_value::Value::StringValue(text)) = value else { panic!("{arguments:?}") };
    assert!(text.contains("make token=[redacted]"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_collector_refuses_holds_up_nothing_else_and_is_counted() {
    let bus = Bus::new();
    let collector = Collector::that_refuses(|body| body.windows(9).any(|part| part == b"malformed"));
    let mut signals = bus.signals();
    let exporter = exporter(&collector.url, &[]);
    let session = bus.session("s").traceparent(context("s", None).to_string()).open().await.unwrap();
    for number in 0..300 {
        let mut call = call(&number.to_string(), "ls");
        if number % 100 == 50 {
            call.tool_name = "malformed".to_owned();
        }
        drop(session.publish(call.clone()).await.unwrap());
        let mut after = AfterTool::new(call.tool_name, json!("ok"));
        after.tool_call_id = call.tool_call_id;
        drop(session.publish(after).await.unwrap());
    }
    session.close().await;
    hear(&exporter, &bus, &mut signals);
    let exporter = Arc::new(exporter);
    // Where a daemon does it: in a task.
    let sends = Arc::clone(&exporter);
    assert!(tokio::spawn(async move { sends.send().await }).await.unwrap(), "{:?}", exporter.loss());
    let spans = collector.spans();
    let tools = spans.iter().filter(|span| span.name == "execute_tool Shell").count();
    let loss = exporter.loss();
    assert_eq!((tools, exporter.waiting(), loss.lost, loss.trouble), (297, 0, 3, None));
    assert_eq!(loss.sent, spans.len() as u64 + collector.logs().len() as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_refuses_everything_is_not_asked_about_each() {
    let bus = Bus::new();
    let collector = Collector::that_refuses(|_| true);
    let mut signals = bus.signals();
    let exporter = exporter(&collector.url, &[]);
    let session = bus.session("s").traceparent(context("s", None).to_string()).open().await.unwrap();
    for number in 0..300 {
        drop(session.publish(call(&number.to_string(), "ls")).await.unwrap());
    }
    session.close().await;
    hear(&exporter, &bus, &mut signals);
    let waiting = exporter.waiting();
    assert!(!exporter.send().await);
    let loss = exporter.loss();
    assert_eq!((loss.sent, loss.lost, exporter.waiting()), (0, 64, waiting - 64));
    assert!(loss.trouble.is_some_and(|why| why.contains("400")));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_names_that_an_agent_gives_as_much_is_sent_as_the_log_keeps() {
    let (bus, collector) = (Bus::new(), Collector::new());
    let mut signals = bus.signals();
    let exporter =
        exporter(&collector.url, &[("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")]);
    let session = bus.session("s").traceparent(context("s", None).to_string()).open().await.unwrap();
    let long = "n".repeat(1 << 20);
    let mut call = call(&long, &long);
    call.tool_name.clone_from(&long);
    drop(session.publish(call).await.unwrap());
    let mut after = AfterTool::new(long.clone(), json!("ok"));
    after.tool_call_id = Some(long);
    drop(session.publish(after).await.unwrap());
    session.close().await;
    hear(&exporter, &bus, &mut signals);
    assert!(exporter.send().await);
    let spans = collector.spans();
    let tool = spans.iter().find(|span| span.name.starts_with("execute_tool")).unwrap();
    assert_eq!(tool.name, format!("execute_tool {}", "n".repeat(512)));
    assert!(tool.end_time_unix_nano > 0 && tool.attributes.iter().all(|one| one.key != "lineside.end"));
    let all: usize = collector.bodies("/v1/traces").iter().map(Vec::len).sum();
    assert!(all < 8 << 10, "{all} bytes");
}
