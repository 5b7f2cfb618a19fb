//! The exporter: what hears signals, and has what becomes of them taken by a collector.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use lineside_bus::Signal;
use lineside_core::envelope::Source;
use lineside_core::exchange::{Addresses, Post, Posted};
use lineside_core::{SessionId, Timestamp};
use lineside_exec::HttpClient;
use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _, Severity};
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{SpanId, TraceFlags, TraceId};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_http::{Bytes, HttpError, Request, Response};
use opentelemetry_otlp::{
    ExporterBuildError, LogExporter, MetricExporter, Protocol, RetryPolicy, SpanExporter,
    WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::{LogBatch, LogExporter as _, SdkLogRecord, SdkLogger, SdkLoggerProvider};
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::runtime::Handle;

use crate::figures::Figures;
use crate::queue::{BATCH, Loss, Queue};
use crate::settings::Settings;
use crate::spans::{Note, Spans};

/// Hears signals, and sends what becomes of them to a collector.
pub struct Exporter {
    spans: Mutex<Spans>,
    loss: Mutex<Loss>,
    figures: Option<(Figures, SdkMeterProvider)>,
    traces: Option<SpanExporter>,
    logs: Option<LogExporter>,
    answer: Arc<Mutex<Answer>>,
    /// What makes records; it sends none.
    logger: SdkLogger,
    scope: InstrumentationScope,
}

/// What became of the last request, which the errors of exporters do not say.
#[derive(Debug, Default)]
struct Answer {
    status: Option<u16>,
    why: Option<String>,
}

/// A batch on its way.
type Exporting<'e> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'e>>;

/// What became of a batch.
enum Settled {
    Taken,
    /// The collector will not take it whenever it is sent.
    Refused,
    /// It may be taken later.
    Later,
}

/// What a collector answers about what it was sent: malformed, too large, of a kind it does not know. Other answers are about
/// the collector itself.
const OF_THE_BATCH: [u16; 4] = [400, 413, 415, 422];

/// How many are given up in one pass at most: a collector that takes nothing at all is not asked about each.
const REFUSED: usize = 64;

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").field("loss", &self.loss()).finish_non_exhaustive()
    }
}

/// Why nothing can be sent.
#[derive(Debug, thiserror::Error)]
#[error("failed to prepare the exporter of OpenTelemetry")]
pub struct StartExporterError(#[from] ExporterBuildError);

impl Exporter {
    /// An exporter by these settings. Metrics are sent by a thread of its own, spans and logs when [`send`](Self::send) is
    /// called.
    ///
    /// # Errors
    /// A URL or a header is none.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O and time.
    pub fn start(settings: &Settings) -> Result<Self, StartExporterError> {
        let http = HttpClient::new().of_type("application/x-protobuf");
        let answer: Arc<Mutex<Answer>> = Arc::default();
        let (runtime, timeout) = (Handle::current(), settings.timeout);
        let carrier = Carrier { http, runtime, timeout, answer: Arc::clone(&answer) };
        let attributes =
            settings.resource.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
        let resource = Resource::builder_empty()
            .with_attributes(attributes)
            .with_attribute(KeyValue::new("telemetry.sdk.language", "rust"))
            .build();
        // What was not taken stays in our own queue.
        macro_rules! exporter {
            ($kind:ident, $url:expr) => {
                $url.as_ref().map(|url| {
                    $kind::builder()
                        .with_http()
                        .with_http_client(carrier.clone())
                        .with_protocol(Protocol::HttpBinary)
                        .with_endpoint(url.clone())
                        .with_headers(settings.headers.clone())
                        .with_timeout(settings.timeout)
                        .with_retry_policy(RetryPolicy::disabled())
                        .build()
                })
            };
        }
        let mut traces = exporter!(SpanExporter, settings.traces).transpose()?;
        let mut logs = exporter!(LogExporter, settings.logs).transpose()?;
        if let Some(traces) = &mut traces {
            traces.set_resource(&resource);
        }
        if let Some(logs) = &mut logs {
            logs.set_resource(&resource);
        }
        let figures = exporter!(MetricExporter, settings.metrics).transpose()?.map(|metrics| {
            let reader = PeriodicReader::builder(metrics).with_interval(settings.interval).build();
            let provider = SdkMeterProvider::builder().with_resource(resource).with_reader(reader).build();
            (Figures::new(&provider.meter("lineside")), provider)
        });
        Ok(Self {
            spans: Mutex::new(Spans::new(settings.content)),
            loss: Mutex::default(),
            figures,
            traces,
            logs,
            answer,
            logger: SdkLoggerProvider::builder().build().logger("lineside"),
            scope: InstrumentationScope::builder("lineside").with_version(env!("CARGO_PKG_VERSION")).build(),
        })
    }

    /// Takes a signal that came at this time. `source` finds what is known of a session that was opened. Never waits for a
    /// collector.
    pub fn hear(
        &self,
        signal: &Signal,
        at: Timestamp,
        source: impl FnOnce(&SessionId) -> Option<Arc<Source>>,
    ) {
        if let Some((figures, _)) = &self.figures {
            figures.hear(signal);
        }
        self.spans().hear(signal, at, source);
    }

    /// So many signals were lost before they came here.
    pub fn lose(&self, signals: u64) {
        self.losing().lost += signals;
    }

    /// What has become of spans and records so far.
    #[must_use]
    pub fn loss(&self) -> Loss {
        let spans = self.spans();
        let lost = spans.spans.lost + spans.notes.lost;
        drop(spans);
        let mut loss = self.losing().clone();
        loss.lost += lost;
        loss
    }

    /// How many spans and records wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let spans = self.spans();
        spans.spans.len() + spans.notes.len()
    }

    /// Has a collector take what there is; whether it has taken all of it. What it does not take stays, as far as there is
    /// room; what it says it will never take is lost. Cancel safe: a batch may be sent twice.
    pub async fn send(&self) -> bool {
        let spans = self.pass(|all| &mut all.spans, |this, spans| Box::pin(this.export_spans(spans)));
        if !spans.await {
            return false;
        }
        self.pass(|all| &mut all.notes, |this, notes| Box::pin(this.export_notes(notes))).await
    }

    async fn export_spans(&self, spans: Vec<SpanData>) -> Result<(), String> {
        match &self.traces {
            Some(traces) => traces.export(spans).await.map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    async fn export_notes(&self, notes: Vec<Note>) -> Result<(), String> {
        let records: Vec<_> = notes.into_iter().map(|note| self.record(note)).collect();
        let batch: Vec<_> = records.iter().map(|record| (record, &self.scope)).collect();
        match &self.logs {
            Some(logs) => logs.export(LogBatch::new(&batch)).await.map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    /// Passes a queue on. A batch that is refused for what it has is sent in smaller ones, until one alone is refused, which is
    /// lost then.
    async fn pass<T: Clone>(
        &self,
        queue: fn(&mut Spans) -> &mut Queue<T>,
        export: for<'e> fn(&'e Self, Vec<T>) -> Exporting<'e>,
    ) -> bool {
        let (mut most, mut refused) = (BATCH, 0);
        loop {
            let (next, lost) = queue(&mut self.spans()).next(most);
            let count = next.len();
            if count == 0 {
                return true;
            }
            let taken = export(self, next).await;
            match self.settled(count, taken) {
                Settled::Taken => {
                    queue(&mut self.spans()).taken(count, lost);
                    most = (2 * most).min(BATCH);
                }
                Settled::Refused if count > 1 => most = count / 2,
                Settled::Refused if refused < REFUSED => {
                    queue(&mut self.spans()).refused(count, lost);
                    refused += 1;
                }
                Settled::Refused | Settled::Later => return false,
            }
        }
    }

    /// Has metrics be sent now. Blocks the thread until they are, or their time is over.
    pub fn flush_metrics(&self) {
        if let Some((_, provider)) = &self.figures
            && let Err(error) = provider.force_flush()
        {
            self.losing().trouble = Some(error.to_string());
        }
    }

    /// Ends the thread of the metrics, which are sent once more. Blocks the thread until then, or their time is over.
    pub fn end(&self) {
        if let Some((_, provider)) = &self.figures
            && let Err(error) = provider.shutdown()
        {
            self.losing().trouble = Some(error.to_string());
        }
    }

    fn settled(&self, count: usize, taken: Result<(), String>) -> Settled {
        let Answer { why, status } =
            std::mem::take(&mut *self.answer.lock().unwrap_or_else(PoisonError::into_inner));
        let mut loss = self.losing();
        loss.trouble = taken.err().map(|error| why.unwrap_or(error));
        match loss.trouble {
            None => {
                loss.sent += count as u64;
                Settled::Taken
            }
            Some(_) if status.is_some_and(|status| OF_THE_BATCH.contains(&status)) => Settled::Refused,
            Some(_) => Settled::Later,
        }
    }

    fn record(&self, note: Note) -> SdkLogRecord {
        let Note { at, is_wrong, text, attributes, of } = note;
        let mut record = self.logger.create_log_record();
        record.set_timestamp(at);
        record.set_observed_timestamp(at);
        let (severity, word) = if is_wrong { (Severity::Warn, "WARN") } else { (Severity::Info, "INFO") };
        record.set_severity_number(severity);
        record.set_severity_text(word);
        record.set_body(AnyValue::from(text));
        record.add_attributes(attributes.into_iter().map(|pair| (pair.key, pair.value.to_string())));
        if let Some((trace, span)) = of {
            record.set_trace_context(TraceId::from(trace), SpanId::from(span), Some(TraceFlags::SAMPLED));
        }
        record
    }

    fn spans(&self) -> MutexGuard<'_, Spans> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn losing(&self) -> MutexGuard<'_, Loss> {
        self.loss.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Carries requests over the client that hooks have as well. The thread of the metrics has no runtime: a request is made
/// in that of the exporter.
#[derive(Clone)]
struct Carrier {
    http: HttpClient,
    runtime: Handle,
    timeout: std::time::Duration,
    answer: Arc<Mutex<Answer>>,
}

impl fmt::Debug for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carrier").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// How much is read of what a collector answers.
const ANSWER: usize = 64 << 10;

#[async_trait]
impl opentelemetry_http::HttpClient for Carrier {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let own = ["content-type", "content-length", "host", "user-agent"];
        let headers = head.headers.iter().filter(|(name, _)| !own.contains(&name.as_str()));
        let headers =
            headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
        let post = Post {
            url: head.uri.to_string(),
            // The settings are those of the machine and of the user, who may name any address.
            addresses: Addresses::Any,
            headers: headers.collect(),
            body: body.to_vec(),
            timeout: self.timeout,
            body_bytes: ANSWER,
        };
        let (http, answer) = (self.http.clone(), &self.answer);
        let why = match self.runtime.spawn(async move { http.post(&post).await }).await? {
            Posted::Answered { status, body, .. } => {
                *answer.lock().unwrap_or_else(PoisonError::into_inner) =
                    Answer { status: Some(status), why: None };
                return Ok(Response::builder().status(status).body(Bytes::from(body.bytes))?);
            }
            Posted::Redirected { status, .. } => {
                format!("the collector answered with status {status}, that it is elsewhere")
            }
            Posted::TimedOut { after } => format!("no answer after {} s", after.as_secs_f32()),
            Posted::Unreachable { why } => why,
        };
        *answer.lock().unwrap_or_else(PoisonError::into_inner) =
            Answer { status: None, why: Some(why.clone()) };
        Err(why.into())
    }
}
