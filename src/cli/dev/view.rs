//! The view of the running operator: a table that is redrawn on a terminal, otherwise one line per run
//! that changed something.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

use super::screen::{self, Size};
use crate::clock::Clock;
use crate::controller::RunObserver;
use crate::model::{ObjectRef, Outcome, Reason};
use crate::reconcile::Report;

/// Lines of the log that stay in view.
const LINES: usize = 12;

/// A view of one operator. Clones share it.
#[derive(Clone)]
pub(super) struct View {
    shared: Arc<Mutex<ViewState>>,
    clock: Clock,
    drawn: bool,
}

#[derive(Default)]
struct ViewState {
    server: Option<(SocketAddr, PathBuf)>,
    rows: BTreeMap<ObjectRef, Row>,
    lines: VecDeque<String>,
    /// The begin of a line of the log whose end is not written yet.
    unfinished: Vec<u8>,
    /// True if something changed since the last drawing.
    stale: bool,
    /// The size of the terminal at the last drawing.
    drawn: Option<Size>,
}

/// The state of a custom resource, as a row of the table.
struct Row {
    runs: u64,
    /// Of all runs.
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

    /// Returns the writer for log lines that the table would overwrite; `None` if logs can go to stderr.
    pub(super) fn log(&self) -> Option<LogLines> {
        self.drawn.then(|| LogLines(Arc::clone(&self.shared)))
    }

    /// The server can be reached.
    pub(super) fn serving(&self, address: SocketAddr, kubeconfig: &Path) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.server = Some((address, kubeconfig.to_owned()));
        state.stale = true;
        if !self.drawn {
            io::stdout().write_all(server_lines(address, kubeconfig).as_bytes())?;
        }
        Ok(())
    }

    /// Draws the table if there is anything new, or if the terminal is larger or smaller now.
    pub(super) fn draw(&self) -> io::Result<()> {
        if !self.drawn {
            return Ok(());
        }
        let size = Size::of_terminal();
        let mut state = self.shared.lock();
        if !std::mem::take(&mut state.stale) && state.drawn == Some(size) {
            return Ok(());
        }
        let is_first = state.drawn.replace(size).is_none();
        screen::draw(
            &mut io::stdout().lock(),
            &render(&state, size),
            size,
            is_first,
        )
    }
}

impl RunObserver for View {
    fn run_ended(&self, reason: Reason, report: &Report) {
        let object = report.cr.object_ref();
        let mut state = self.shared.lock();
        state.stale = true;
        let word = state_word(report);
        let before = state.rows.remove(&object);
        let as_before = before.as_ref().is_some_and(|row| row.state == word);
        if !report.gone {
            let (runs, writes) = before.map_or((0, 0), |row| (row.runs, row.writes));
            let row = Row {
                runs: runs + 1,
                writes: writes + report.effects.writes.len(),
                state: word,
                message: report
                    .outcome
                    .message()
                    .map_or_else(String::new, ToString::to_string),
                at: self.clock.timestamp(),
                took: report.took,
            };
            state.rows.insert(object.clone(), row);
        }
        let quiet =
            report.outcome == Outcome::Done && report.effects.writes.is_empty() && as_before;
        if !self.drawn && !quiet {
            let at = self.clock.timestamp();
            // If stdout is closed, there is no place to report the error.
            let _ = io::stdout().write_all(line(at, &object, reason, report).as_bytes());
        }
    }
}

fn state_word(report: &Report) -> &'static str {
    if report.gone {
        "gone"
    } else if report.paused {
        "paused"
    } else {
        report.outcome.as_str()
    }
}

fn server_lines(address: SocketAddr, kubeconfig: &Path) -> String {
    format!(
        "Kubernetes API at https://{address}\n  kubectl --kubeconfig {} get all\n",
        kubeconfig.display()
    )
}

fn line(at: Timestamp, object: &ObjectRef, reason: Reason, report: &Report) -> String {
    let writes = crate::cli::format_writes(report.effects.writes.len());
    let mut line = format!(
        "{} {object}: {} ({}, {writes}, {})",
        time(at),
        state_word(report),
        reason.as_str(),
        millis(report.took),
    );
    if let Some(message) = report.outcome.message() {
        // Writing to a string cannot fail.
        let _ = write!(line, ": {message}");
    }
    line.push('\n');
    line
}

/// Returns the lines to draw: the rows, those that are not done first, and the end of the log, as far as
/// they fit.
fn render(state: &ViewState, size: Size) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some((address, kubeconfig)) = &state.server {
        lines.extend(
            server_lines(*address, kubeconfig)
                .lines()
                .map(str::to_owned),
        );
    }
    lines.push(String::new());
    let log: Vec<String> = state
        .lines
        .iter()
        .flat_map(|line| screen::wrapped(line, size.columns))
        .collect();
    let most = LINES.min(size.rows / 3);
    let log = &log[log.len().saturating_sub(most)..];
    // Beside the titles, the line before the log, and that of the cursor.
    let room = size.rows.saturating_sub(lines.len() + log.len() + 3);
    lines.extend(table(&state.rows, room));
    if !log.is_empty() {
        lines.push(String::new());
        lines.extend_from_slice(log);
    }
    lines
}

fn table(rows: &BTreeMap<ObjectRef, Row>, room: usize) -> Vec<String> {
    let titles = [
        "KIND", "OBJECT", "STATE", "RUNS", "WRITES", "LAST RUN", "TOOK", "MESSAGE",
    ];
    let mut shown: Vec<_> = rows.iter().collect();
    if shown.len() > room {
        shown.sort_by_key(|(_, row)| row.state == Outcome::Done.as_str());
        // One line says that there are more.
        shown.truncate(room.saturating_sub(1));
    }
    let more = rows.len() - shown.len();
    let mut cells = vec![titles.map(str::to_owned)];
    cells.extend(shown.into_iter().map(|(object, row)| {
        [
            object.gvk.kind.to_string(),
            match &object.namespace {
                Some(namespace) => format!("{namespace}/{}", object.name),
                None => object.name.to_string(),
            },
            row.state.to_owned(),
            row.runs.to_string(),
            row.writes.to_string(),
            time(row.at),
            millis(row.took),
            row.message.lines().next().unwrap_or_default().to_owned(),
        ]
    }));
    let mut lines = aligned(&cells);
    if more > 0 {
        lines.push(format!("… and {more} more"));
    }
    lines
}

/// Columns as wide as their widest cell.
fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).filter_map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        cells.join("   ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn time(at: Timestamp) -> String {
    at.strftime("%H:%M:%S").to_string()
}

fn millis(took: Duration) -> String {
    format!("{:.1} ms", took.as_secs_f64() * 1000.0)
}

/// Takes the last lines of the log.
#[derive(Clone)]
pub(super) struct LogLines(Arc<Mutex<ViewState>>);

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
    use crate::testing;
    use serde_json::json;

    fn report(outcome: Outcome) -> Report {
        let cr = json!({"metadata": {"name": "a", "namespace": "n", "uid": "u"}});
        Report::new(outcome, &Arc::new(testing::custom_resource(&cr)))
    }

    const SIZE: Size = Size {
        columns: 100,
        rows: 30,
    };

    fn drawn(view: &View, size: Size) -> Vec<String> {
        render(&view.shared.lock(), size)
    }

    #[test]
    fn a_run_is_a_row_until_its_object_is_gone() {
        let view = View::new(true);
        view.run_ended(Reason::Created, &report(Outcome::Done));
        let waiting = Outcome::Waiting {
            on: "Deployment a".into(),
        };
        view.run_ended(Reason::Child, &report(waiting));
        let picture = drawn(&view, SIZE);
        let row = picture.last().unwrap();
        assert!(
            row.starts_with("Web    n/a      waiting   2"),
            "{picture:?}"
        );
        assert!(row.ends_with("Deployment a"), "{picture:?}");
        let mut gone = report(Outcome::Done);
        gone.gone = true;
        view.run_ended(Reason::Deleted, &gone);
        assert!(view.shared.lock().rows.is_empty());
    }

    #[test]
    fn unfinished_objects_are_shown_first_on_a_small_terminal() {
        let view = View::new(true);
        let mut done = report(Outcome::Done);
        for name in ["a", "b", "c", "d"] {
            let cr = json!({"metadata": {"name": name, "namespace": "n", "uid": name}});
            done.cr = Arc::new(testing::custom_resource(&cr));
            view.run_ended(Reason::Created, &done);
        }
        done.outcome = Outcome::Waiting {
            on: "something".into(),
        };
        view.run_ended(Reason::Child, &done);
        let size = Size { rows: 7, ..SIZE };
        let picture = drawn(&view, size);
        assert!(picture[2].contains("n/d"), "{picture:?}");
        assert_eq!(picture.last().unwrap(), "… and 2 more");
        assert!(picture.len() < size.rows, "{picture:?}");
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
