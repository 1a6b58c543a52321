//! `process_*` metrics, read from `/proc` at each scrape; absent where there is no `/proc`.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Reads this process's own figures.
#[derive(Debug)]
pub(super) struct Process;

/// `USER_HZ`, the unit of times in `/proc/self/stat`: 100 on every architecture of Linux that Kubernetes
/// runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// The size of a page, the unit of memory in `/proc/self/stat`: 4 KiB except on a few arm64 kernels.
const PAGE_BYTES: i64 = 4096;

#[derive(Debug, PartialEq)]
struct Stat {
    cpu_seconds: f64,
    start_seconds_after_boot: f64,
    virtual_bytes: i64,
    resident_bytes: i64,
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(stat) = fs::read_to_string("/proc/self/stat")
            .ok()
            .and_then(|text| parse(&text))
        else {
            return Ok(());
        };
        let cpu = ConstCounter::new(stat.cpu_seconds);
        let about = "User and system CPU time spent in seconds";
        let metric =
            encoder.encode_descriptor("process_cpu_seconds", about, None, cpu.metric_type())?;
        cpu.encode(metric)?;
        gauge(
            &mut encoder,
            "process_resident_memory_bytes",
            "Resident memory size in bytes",
            stat.resident_bytes,
        )?;
        gauge(
            &mut encoder,
            "process_virtual_memory_bytes",
            "Virtual memory size in bytes",
            stat.virtual_bytes,
        )?;
        if let Some(boot) = boot_time() {
            let since = ConstGauge::new(boot + stat.start_seconds_after_boot);
            let metric = encoder.encode_descriptor(
                "process_start_time_seconds",
                "Start time of the process since the Unix epoch in seconds",
                None,
                since.metric_type(),
            )?;
            since.encode(metric)?;
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            let open = i64::try_from(open.count()).unwrap_or(i64::MAX);
            gauge(
                &mut encoder,
                "process_open_fds",
                "Number of open file descriptors",
                open,
            )?;
        }
        Ok(())
    }
}

fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    about: &str,
    value: i64,
) -> Result<(), fmt::Error> {
    let gauge = ConstGauge::new(value);
    let metric = encoder.encode_descriptor(name, about, None, gauge.metric_type())?;
    gauge.encode(metric)
}

/// The fields after the program's name, which may hold spaces and parentheses (proc(5)).
fn parse(stat: &str) -> Option<Stat> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // proc(5) counts from 1 and the first one here is its field 3.
    let number = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    let integer = |field: usize| fields.get(field - 3)?.parse::<i64>().ok();
    Some(Stat {
        cpu_seconds: (number(14)? + number(15)?) / TICKS_PER_SECOND,
        start_seconds_after_boot: number(22)? / TICKS_PER_SECOND,
        virtual_bytes: integer(23)?,
        resident_bytes: integer(24)? * PAGE_BYTES,
    })
}

fn boot_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let text = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 150 50 13 14 15 16 17 18 900 4000 25 20";
        assert_eq!(
            parse(text),
            Some(Stat {
                cpu_seconds: 2.0,
                start_seconds_after_boot: 9.0,
                virtual_bytes: 4000,
                resident_bytes: 25 * PAGE_BYTES,
            })
        );
    }

    #[test]
    fn invalid_stat_lines_are_ignored() {
        for text in ["", "7 (a) S", "7 (a) S 1 2 x"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
