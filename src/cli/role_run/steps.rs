//! The steps of a run: the graph, with the state, time and calls of each step.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::colors::{Colors, DIM, GREEN, RED, YELLOW, millis};
use crate::reconcile::{StepReport, StepState};

/// Writes the steps. Inner steps follow their outer step.
pub(super) fn write(out: &mut impl Write, steps: &[StepReport], paint: &Colors) -> io::Result<()> {
    let mut lines = Vec::new();
    collect_lines(steps, 0, &mut lines);
    let width = |text: fn(&Line<'_>) -> usize| lines.iter().map(text).max().unwrap_or_default();
    let (names, needs) = (
        width(|line| line.name.chars().count()),
        width(|line| line.needs.chars().count()),
    );
    for Line {
        name,
        needs: on,
        step,
    } in &lines
    {
        let state = paint.paint(color(step.state), &format!("{:<10}", step.state.as_str()));
        let calls = format!(
            "{} call{}",
            step.calls,
            if step.calls == 1 { "" } else { "s" }
        );
        let cost = paint.paint(DIM, &format!("{:>9}  {calls:>9}", millis(step.took)));
        let line = format!(
            "{name:names$}  {state}  {cost}  {on:needs$}  {}",
            step.message
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

struct Line<'a> {
    name: String,
    needs: String,
    step: &'a StepReport,
}

fn collect_lines<'a>(steps: &'a [StepReport], depth: usize, lines: &mut Vec<Line<'a>>) {
    // Steps run in another order than that of the file.
    let mut steps: Vec<&StepReport> = steps.iter().collect();
    steps.sort_by_key(|step| step.number);
    for step in steps {
        let indent = "    ".repeat(depth);
        let needs = if step.needs.is_empty() {
            String::new()
        } else {
            format!("← {}", step.needs.join(", "))
        };
        lines.push(Line {
            name: format!("{indent}{:>2} {} ({})", step.number, step.name, step.action),
            needs,
            step,
        });
        collect_lines(&step.steps, depth + 1, lines);
    }
}

fn color(state: StepState) -> &'static str {
    match state {
        StepState::Done => GREEN,
        StepState::Skipped | StepState::Unselected => DIM,
        StepState::Waiting | StepState::Blocked => YELLOW,
        StepState::Failed => RED,
    }
}

/// Converts the steps to JSON.
pub(super) fn to_json(steps: &[StepReport]) -> Value {
    let step = |step: &StepReport| {
        json!({
            "name": &*step.name,
            "action": step.action,
            "place": step.location.to_string(),
            "number": step.number,
            "of": step.of,
            "needs": step.needs.iter().map(|need| &**need).collect::<Vec<_>>(),
            "state": step.state,
            "message": step.message,
            "atMs": step.at.as_secs_f64() * 1000.0,
            "tookMs": step.took.as_secs_f64() * 1000.0,
            "calls": step.calls,
            "steps": to_json(&step.steps),
        })
    };
    steps.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::pipeline::SourceLocation;

    fn step(name: &str, number: usize, state: StepState, steps: Vec<StepReport>) -> StepReport {
        StepReport {
            name: name.into(),
            action: "apply",
            location: SourceLocation {
                file: "web/tasks/main.yaml".into(),
                line: number,
                column: 3,
            },
            number,
            of: 2,
            needs: (1..number).map(|_| "config".into()).collect(),
            state,
            message: if state == StepState::Waiting {
                "ConfigMap x".into()
            } else {
                "".into()
            },
            at: Duration::ZERO,
            took: Duration::from_micros(1500),
            calls: number,
            writes: 0..0,
            steps,
        }
    }

    #[test]
    fn steps_stand_in_the_order_of_the_file_with_those_in_them_below() {
        let inner = step("inner", 1, StepState::Done, vec![]);
        let steps = [
            step("primary", 2, StepState::Waiting, vec![]),
            step("config", 1, StepState::Done, vec![inner]),
        ];
        let mut out = Vec::new();
        write(&mut out, &steps, &Colors { enabled: false }).unwrap();
        let expected = concat!(
            " 1 config (apply)     done           1.5 ms     1 call\n",
            "     1 inner (apply)  done           1.5 ms     1 call\n",
            " 2 primary (apply)    waiting        1.5 ms    2 calls  ← config  ConfigMap x\n",
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let json = to_json(&steps);
        assert_eq!(json[0]["place"], "web/tasks/main.yaml:2:3");
        assert_eq!(json[1]["steps"][0]["state"], "done");
    }
}
