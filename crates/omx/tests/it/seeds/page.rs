//! docs/seeds.md is correct: what it names exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const DOCUMENTS: [&str; 4] = ["000", "001", "002", "003"];

/// A row of a table: one statement.
struct Statement {
    /// Where the row is, for messages.
    at: String,
    number: String,
    text: String,
    implemented: String,
    tests: String,
    difference: String,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of one document's page, in their order.
fn statements(document: &str) -> Vec<Statement> {
    let name = format!("docs/seeds/{document}.md");
    let page = fs::read_to_string(workspace().join(&name)).unwrap();
    let start = format!("| {document}.");
    let mut found = Vec::new();
    for (line, row) in page.lines().enumerate().filter(|(_, row)| row.starts_with(&start)) {
        let at = format!("{name}:{}", line + 1);
        let cells: Vec<&str> = row.trim().trim_matches('|').split(" | ").map(str::trim).collect();
        let [number, text, implemented, tests, difference] = cells[..] else {
            panic!("{at}: {} cells instead of 5", cells.len());
        };
        found.push(Statement {
            at,
            number: number.to_owned(),
            text: text.to_owned(),
            implemented: implemented.to_owned(),
            tests: tests.to_owned(),
            difference: difference.to_owned(),
        });
    }
    found
}

/// The parts of a cell between backticks.
fn names(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The place of a number within its document.
fn place(number: &str) -> u32 {
    number.split_once('.').unwrap().1.parse().unwrap_or_else(|error| panic!("{number}: {error}"))
}

/// Whether a source file has a test of this name.
fn has_test(source: &str, name: &str) -> bool {
    let start = format!("fn {name}(");
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    lines.iter().enumerate().any(|(at, line)| {
        line.starts_with(&start)
            && lines[..at]
                .iter()
                .rev()
                .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
                .any(|line| *line == "#[test]")
    })
}

#[test]
fn seeds_every_statement_names_code_and_tests_that_exist() {
    let root = workspace();
    let mut wrong = Vec::new();
    for row in DOCUMENTS.iter().flat_map(|document| statements(document)) {
        let mut complain = |what: String| wrong.push(format!("{}: {what}", row.at));
        if row.text.is_empty() || row.difference.is_empty() {
            complain("an empty cell".to_owned());
        }
        let (code, tests) = (names(&row.implemented), names(&row.tests));
        if code.is_empty() {
            complain("no place in the code".to_owned());
        }
        if tests.is_empty() {
            complain("no test".to_owned());
        }
        for path in code.into_iter().filter(|path| !root.join(path).exists()) {
            complain(format!("{path} does not exist"));
        }
        for test in tests {
            let Some((path, name)) = test.split_once("::") else {
                complain(format!("{test} is not FILE::TEST"));
                continue;
            };
            match fs::read_to_string(root.join(path)) {
                Ok(source) if has_test(&source, name) => {}
                Ok(_) => complain(format!("{path} has no test {name}")),
                Err(error) => complain(format!("{path}: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn seeds_statements_are_numbered_in_the_order_of_their_document() {
    let index = fs::read_to_string(workspace().join("docs/seeds.md")).unwrap();
    for document in DOCUMENTS {
        let rows = statements(document);
        assert!(rows.len() > 20, "{document} has only {} rows", rows.len());
        let numbers: Vec<u32> = rows.iter().map(|row| place(&row.number)).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{document}: {numbers:?}");
        assert!(index.contains(&format!("(seeds/{document}.md)")), "{document} is not listed");
        // A statement is in a table or in the list of the index, never in both.
        let listed: BTreeSet<u32> = index
            .lines()
            .filter_map(|line| line.strip_prefix(&format!("- {document}.")))
            .map(|rest| rest.split(' ').next().unwrap().parse().unwrap())
            .collect();
        assert!(numbers.iter().all(|number| !listed.contains(number)), "{document}: {listed:?}");
    }
}
