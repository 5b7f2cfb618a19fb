//! Writes to a log until it is killed, and says after each flush how much of it is committed.

use std::io::Write as _;
use std::path::Path;

use lineside_core::Timestamp;
use lineside_log::{Happened, Log, Options, Record};

fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    let Ok(log) = Log::open(Path::new(&path), Options::default()) else { return };
    let mut out = std::io::stdout();
    for number in 1_u64.. {
        let mut happened = Happened::new(Timestamp::UNIX_EPOCH, "step");
        happened.detail = number.to_string();
        log.offer(Record::Happened(Box::new(happened)));
        if number % 50 == 0 {
            log.flush();
            if writeln!(out, "{}", log.state().written).and_then(|()| out.flush()).is_err() {
                return;
            }
        }
    }
}
