//! The driver: runs the wanted rows, prints the table, writes the results, and
//! ends with 1 when a required figure was missed. It is started by `compare`,
//! which has already shut it off from the network and cleaned the environment.

use omx_bench::clock;
use omx_bench::error::{BenchResult, WithContext};
use omx_bench::measure::short;
use omx_bench::neighbours::CpuTimes;
use omx_bench::options::BenchOptions;
use omx_bench::report::{self, ResultRow, RowVerdict, TableHead};
use omx_bench::rows::{history, hooks, reads, server, sessions, size, storm, writes};
use omx_bench::systems::ComparedSystems;
use std::path::Path;
use std::process::{Command, ExitCode};

/// A section during which others used more than this share of the machine, in
/// percent, is measured again, so many times in all.
const DISTURBED: u64 = 15;
const ATTEMPTS: usize = 3;

/// A section's rows, what it is about, and how it is measured.
type Section =
    (&'static str, &'static str, fn(&ComparedSystems, usize) -> BenchResult<Vec<ResultRow>>);

const SECTIONS: &[Section] = &[
    ("P1", "a hook with nothing active", hooks::idle),
    ("P2", "the hooks of a turn", hooks::turn),
    ("P3", "hooks that decide", hooks::deciding),
    ("P4", "reading commands", reads::rows),
    ("P5", "`state write`, flushed", writes::rows),
    ("P6", "concurrent writers", storm::rows),
    ("P7", "MCP server", server::rows),
    ("P11", "many sessions", sessions::rows),
    ("P14", "size", |systems, _| size::rows(systems)),
    ("P16", "a long history", history::rows),
];

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether every figure was reached.
fn run() -> BenchResult<bool> {
    let options = BenchOptions::parse(std::env::args().skip(1))?;
    let systems = ComparedSystems::find(&options)?;
    let (mut rows, mut disturbance) = (Vec::new(), Vec::new());
    for (id, about, measure) in SECTIONS {
        if !options.wants(id) {
            continue;
        }
        let attempt = quietest(&systems, || {
            eprintln!("compare: {id}, {about} …");
            measure(&systems, options.runs)
                .unwrap_or_else(|error| vec![ResultRow::failed(id, about, &error)])
        })?;
        disturbance.push(format!("{id} {} %", attempt.others));
        rows.extend(attempt.rows);
    }
    println!("{}", report::table(&rows));
    if let Some(path) = &options.results {
        report::write(path, &head(&options, &disturbance), &rows, &options.work)?;
        eprintln!("compare: written to {}", path.display());
    }
    Ok(!missed(&rows))
}

/// A section's rows and the share of the machine that others used, in percent.
struct Attempt {
    rows: Vec<ResultRow>,
    others: u64,
}

/// Measures until nobody disturbs, `ATTEMPTS` times at most; the least
/// disturbed attempt counts, whatever its figures are.
fn quietest(
    systems: &ComparedSystems,
    measure: impl Fn() -> Vec<ResultRow>,
) -> BenchResult<Attempt> {
    let mut best: Option<Attempt> = None;
    for _ in 0..ATTEMPTS {
        let watch = CpuTimes::start();
        let rows = measure();
        let others = watch.others();
        systems.clear()?;
        if best.as_ref().is_none_or(|best| others < best.others) {
            best = Some(Attempt { rows, others });
        }
        if others <= DISTURBED {
            break;
        }
        eprintln!("compare: other programs used {others} % of the machine meanwhile");
    }
    best.context(|| "nothing was measured")
}

fn missed(rows: &[ResultRow]) -> bool {
    rows.iter().any(|row| matches!(row.verdict, RowVerdict::Missed(_)))
}

fn head(options: &BenchOptions, disturbance: &[String]) -> TableHead {
    let mut notes = vec![
        "All three systems run from one driver, in turns, with a clean environment and a throw-away home, in a network namespace without any connection.".to_owned(),
        "Wall time is from the start of the process to its end, CPU time and memory are the kernel's account of that process (wait4).".to_owned(),
        "The npm packages are installed without their install scripts; OMC then locks with files instead of SQLite.".to_owned(),
        "Every answer is checked; a wrong or refused one counts as a miss.".to_owned(),
        "MCP figures are taken with one native client that keeps 64 calls in flight over pipes and runs on the same processor.".to_owned(),
        format!(
            "Share of the machine that other programs used meanwhile: {}. Above {DISTURBED} % a section is measured again, up to {ATTEMPTS} times in all, and the least disturbed attempt counts.",
            disturbance.join(", ")
        ),
    ];
    if options.helper.is_none() {
        notes.push("OMX cannot write state without a native helper that npm does not ship (OMX_RUNTIME_BINARY was not set). Its `state read`, which is faster than its write, stands in for the ratio of P5 (567 ms was measured once for a write with the helper).".to_owned());
    }
    TableHead {
        date: clock::now(),
        runs: options.runs,
        versions: vec![
            ("omx".to_owned(), version(&options.omx)),
            ("OMX (oh-my-codex)".to_owned(), package(&options.old_omx, "oh-my-codex")),
            (
                "OMC (oh-my-claude-sisyphus)".to_owned(),
                package(&options.old_omc, "oh-my-claude-sisyphus"),
            ),
            ("Node.js".to_owned(), version(&options.node)),
        ],
        notes,
    }
}

/// The last word of what `--version` prints.
fn version(program: &Path) -> String {
    let printed = Command::new(program).arg("--version").output();
    let text = printed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let line = short(&text.unwrap_or_default());
    line.split_whitespace().next_back().unwrap_or("?").to_owned()
}

/// The version in an installed package's manifest.
fn package(installed: &Path, name: &str) -> String {
    let path = installed.join("node_modules").join(name).join("package.json");
    std::fs::read_to_string(path)
        .ok()
        .and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok())
        .and_then(|manifest| manifest["version"].as_str().map(str::to_owned))
        .unwrap_or_else(|| "?".to_owned())
}
