//! What a person sees of the operator at work: on a terminal a table that is drawn anew, else a line per
//! run that did something.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::clock::Clock;
use crate::controller::Observer;
use crate::model::{ObjectRef, Outcome, Reason};
use crate::reconcile::Report;

/// Lines of the log that stay in view.
const LINES: usize = 12;
/// Clears the terminal and goes to its upper left corner.
const CLEAR: &str = "\x1b[H\x1b[2J\x1b[3J";

/// A view of one operator. Clones share it.
#[derive(Clone)]
pub(super) struct View {
    shared: Arc<Mutex<State>>,
    clock: Clock,
    drawn: bool,
}

#[derive(Default)]
struct State {
    server: Option<(SocketAddr, PathBuf)>,
    rows: BTreeMap<ObjectRef, Row>,
    lines: VecDeque<String>,
    /// The begin of a line of the log whose end is not written yet.
    unfinished: Vec<u8>,
    /// Whether there is anything new since the last drawing.
    stale: bool,
}

/// What is known of a custom resource.
struct Row {
    runs: u64,
    writes: usize,
    state: &'static str,
    message: String,
    at: Timestamp,
    took: Duration,
}

impl View {
    /// A table on a terminal (`drawn`), or lines.
    pub(super) fn new(drawn: bool) -> Self {
        Self {
            shared: Arc::default(),
            clock: Clock::system(),
            drawn,
        }
    }

    /// Where the log goes that would be drawn over; `None` where it can go to stderr.
    pub(super) fn log(&self) -> Option<LogLines> {
        self.drawn.then(|| LogLines(Arc::clone(&self.shared)))
    }

    /// The server can be reached.
    pub(super) fn serving(&self, address: SocketAddr, kubeconfig: &Path) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.server = Some((address, kubeconfig.to_owned()));
        state.stale = true;
        if !self.drawn {
            io::stdout().write_all(head(address, kubeconfig).as_bytes())?;
        }
        Ok(())
    }

    /// Draws the table if there is anything new.
    pub(super) fn draw(&self) -> io::Result<()> {
        let mut state = self.shared.lock();
        if !self.drawn || !std::mem::take(&mut state.stale) {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        write!(out, "{CLEAR}{}", picture(&state))?;
        out.flush()
    }
}

impl Observer for View {
    fn ran(&self, reason: Reason, report: &Report) {
        let object = report.cr.object_ref();
        let mut state = self.shared.lock();
        state.stale = true;
        if report.gone {
            state.rows.remove(&object);
        } else {
            let row = Row {
                runs: state.rows.get(&object).map_or(1, |row| row.runs + 1),
                writes: report.writes.len(),
                state: word(report),
                message: report.outcome.message().unwrap_or_default().to_owned(),
                at: self.clock.timestamp(),
                took: report.took,
            };
            state.rows.insert(object.clone(), row);
        }
        let quiet = report.outcome == Outcome::Done && report.writes.is_empty() && !report.gone;
        if !self.drawn && !quiet {
            let at = self.clock.timestamp();
            // A closed stdout leaves nowhere to say so.
            let _ = io::stdout().write_all(line(at, &object, reason, report).as_bytes());
        }
    }
}

fn word(report: &Report) -> &'static str {
    if report.gone {
        "gone"
    } else if report.paused {
        "paused"
    } else {
        report.outcome.as_str()
    }
}

fn head(address: SocketAddr, kubeconfig: &Path) -> String {
    format!(
        "Kubernetes API at https://{address}\n  kubectl --kubeconfig {} get all\n",
        kubeconfig.display()
    )
}

fn line(at: Timestamp, object: &ObjectRef, reason: Reason, report: &Report) -> String {
    let mut line = format!(
        "{} {object}: {} ({}, {} writes, {})",
        time(at),
        word(report),
        reason.as_str(),
        report.writes.len(),
        millis(report.took),
    );
    if let Some(message) = report.outcome.message() {
        // Writing to a string cannot fail.
        let _ = write!(line, ": {message}");
    }
    line.push('\n');
    line
}

fn picture(state: &State) -> String {
    let mut text = String::new();
    if let Some((address, kubeconfig)) = &state.server {
        text += &head(*address, kubeconfig);
    }
    let titles = [
        "OBJECT", "STATE", "RUNS", "WRITES", "LAST RUN", "TOOK", "MESSAGE",
    ];
    let mut rows = vec![titles.map(str::to_owned)];
    rows.extend(state.rows.iter().map(|(object, row)| {
        [
            object.to_string(),
            row.state.to_owned(),
            row.runs.to_string(),
            row.writes.to_string(),
            time(row.at),
            millis(row.took),
            row.message.lines().next().unwrap_or_default().to_owned(),
        ]
    }));
    text.push('\n');
    text += &aligned(&rows);
    if !state.lines.is_empty() {
        text.push('\n');
    }
    for line in &state.lines {
        text += line;
        text.push('\n');
    }
    text
}

/// Columns as wide as their widest cell.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).filter_map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths);
        let line: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text += line.join("   ").trim_end();
        text.push('\n');
    }
    text
}

fn time(at: Timestamp) -> String {
    at.strftime("%H:%M:%S").to_string()
}

fn millis(took: Duration) -> String {
    format!("{:.1} ms", took.as_secs_f64() * 1000.0)
}

/// Takes the last lines of the log.
#[derive(Clone)]
pub(super) struct LogLines(Arc<Mutex<State>>);

impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        state.unfinished.extend_from_slice(bytes);
        while let Some(end) = state.unfinished.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = state.unfinished.drain(..=end).collect();
            if state.lines.len() == LINES {
                state.lines.pop_front();
            }
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            state.lines.push_back(line);
            state.stale = true;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Gvk, Object};
    use serde_json::json;

    fn report(outcome: Outcome) -> Report {
        let gvk = Gvk::new("example.com", "v1", "Web");
        let cr = json!({"metadata": {"name": "a", "namespace": "n", "uid": "u"}});
        Report::new(outcome, &Arc::new(Object::from_value(&gvk, &cr).unwrap()))
    }

    #[test]
    fn a_run_is_a_row_until_its_object_is_gone() {
        let view = View::new(true);
        view.ran(Reason::Created, &report(Outcome::Done));
        let waiting = Outcome::Waiting {
            on: "Deployment a".to_owned(),
        };
        view.ran(Reason::Child, &report(waiting));
        let picture = super::picture(&view.shared.lock());
        let row = picture.lines().last().unwrap();
        assert!(row.contains("waiting   2"), "{picture}");
        assert!(row.ends_with("Deployment a"), "{picture}");
        let mut gone = report(Outcome::Done);
        gone.gone = true;
        view.ran(Reason::Deleted, &gone);
        assert!(view.shared.lock().rows.is_empty());
    }

    #[test]
    fn the_log_keeps_its_last_lines() {
        let view = View::new(true);
        let mut log = view.log().unwrap();
        for number in 0..LINES + 3 {
            writeln!(log, "line {number}").unwrap();
        }
        let state = view.shared.lock();
        assert_eq!(state.lines.len(), LINES);
        assert_eq!(state.lines[0], "line 3");
    }
}
