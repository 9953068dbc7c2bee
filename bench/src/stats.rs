//! Medians. A median over interleaved runs survives a neighbour's build on a
//! small machine; a mean does not.

use crate::measure::RunSample;

/// A program of a millisecond is run so many times for each run of one of
/// hundreds: a single hiccup of the machine is several times its own length.
pub const TIMES: usize = 3;

/// The middle value; `NaN` of nothing.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.len() % 2, sorted.get(middle)) {
        (_, None) => f64::NAN,
        (1, Some(value)) => *value,
        (_, Some(value)) => f64::midpoint(sorted[middle - 1], *value),
    }
}

/// What a series of process runs comes to.
#[derive(Clone, Copy, Debug)]
pub struct RunSummary {
    /// Median wall time, ms.
    pub wall: f64,
    /// Shortest wall time, ms. A limit in milliseconds is one of the program: whatever else
    /// the machine does only adds to it.
    pub best: f64,
    /// Median CPU time (user and system), ms.
    pub cpu: f64,
    /// Largest resident set seen, MiB.
    pub rss: f64,
}

impl RunSummary {
    /// Summarises the runs.
    #[must_use]
    pub fn from_samples(samples: &[RunSample]) -> Self {
        let column = |take: fn(&RunSample) -> f64| samples.iter().map(take).collect::<Vec<_>>();
        Self {
            wall: median(&column(|sample| sample.wall)),
            best: column(|sample| sample.wall).into_iter().fold(f64::INFINITY, f64::min),
            cpu: median(&column(|sample| sample.cpu)),
            rss: column(|sample| sample.rss).into_iter().fold(0.0, f64::max),
        }
    }

    /// As a table cell.
    #[must_use]
    pub fn cell(&self) -> String {
        format!("{} ms, CPU {} ms, {:.1} MiB", figure(self.wall), figure(self.cpu), self.rss)
    }
}

/// A number with three or so significant digits.
#[must_use]
pub fn figure(value: f64) -> String {
    if value.is_nan() {
        "?".to_owned()
    } else if value >= 100.0 {
        grouped(value)
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A whole number with commas.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{figure, median};

    #[test]
    fn the_middle() {
        assert!((median(&[9.0, 1.0, 5.0]) - 5.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 100.0]) - 3.0).abs() < 1e-9);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn readable_numbers() {
        assert_eq!(figure(0.816), "0.82");
        assert_eq!(figure(41.25), "41.2");
        assert_eq!(figure(10_000.0), "10,000");
        assert_eq!(figure(123.0), "123");
        assert_eq!(figure(1_234_567.0), "1,234,567");
    }
}
