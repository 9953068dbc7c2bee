//! Review verdicts: what counts as clean, which findings are open, and whether the same
//! finding comes back.

use crate::value::Value;

/// How often the same finding or failure may occur before it ends the run.
pub const SAME_FINDING_LIMIT: usize = 3;

/// A reviewer's judgment of code or a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Recommendation {
    /// Acceptable as it is.
    Approve,
    /// Acceptable with small corrections.
    Comment,
    /// Not acceptable yet.
    RequestChanges,
}

impl Recommendation {
    /// Every value, the best first.
    pub const ALL: [Self; 3] = [Self::Approve, Self::Comment, Self::RequestChanges];

    /// The value in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "APPROVE",
            Self::Comment => "COMMENT",
            Self::RequestChanges => "REQUEST CHANGES",
        }
    }

    /// Parses the value in a document.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.as_str() == word)
    }
}

/// An architect's judgment of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArchitecturalStatus {
    /// Sound.
    Clear,
    /// Works today, with a risk that should be removed.
    Watch,
    /// Must not be merged.
    Block,
}

impl ArchitecturalStatus {
    /// Every value, the best first.
    pub const ALL: [Self; 3] = [Self::Clear, Self::Watch, Self::Block];

    /// The value in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Clear => "CLEAR",
            Self::Watch => "WATCH",
            Self::Block => "BLOCK",
        }
    }

    /// Parses the value in a document.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.as_str() == word)
    }
}

/// The `review_verdict` of a document.
#[derive(Clone, Copy, Debug)]
pub struct ReviewVerdict<'a>(&'a Value);

impl<'a> ReviewVerdict<'a> {
    /// Wraps the value of `review_verdict` if it is an object.
    pub fn from_value(value: Option<&'a Value>) -> Option<Self> {
        value.filter(|value| value.as_object().is_some()).map(Self)
    }

    fn text(self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    fn recommendation(self) -> Option<Recommendation> {
        self.text("recommendation").and_then(Recommendation::parse)
    }

    fn architectural_status(self) -> Option<ArchitecturalStatus> {
        self.text("architectural_status").and_then(ArchitecturalStatus::parse)
    }

    /// Whether both review lanes have given a valid judgment.
    pub fn has_both_lanes(self) -> bool {
        self.recommendation().is_some() && self.architectural_status().is_some()
    }

    /// The number of unresolved findings.
    pub fn open_findings(self) -> usize {
        let is_resolved = |finding: &Value| {
            finding.get("resolved").and_then(Value::as_bool) == Some(true)
                || matches!(
                    finding.get("status").and_then(Value::as_str),
                    Some("resolved" | "closed" | "fixed")
                )
        };
        let findings = self.0.get("findings").and_then(Value::as_array).unwrap_or_default();
        findings.iter().filter(|finding| !is_resolved(finding)).count()
    }

    /// Whether the judgments and findings are clean, whatever the field `clean` says.
    pub fn is_clean(self) -> bool {
        self.recommendation() == Some(Recommendation::Approve)
            && self.architectural_status() == Some(ArchitecturalStatus::Clear)
            && self.open_findings() == 0
    }

    /// The verdict's own field `clean`.
    pub fn says_clean(self) -> Option<bool> {
        self.0.get("clean").and_then(Value::as_bool)
    }

    /// The fingerprint of the findings' titles and files, normalized and sorted; of the
    /// given reason if there are no findings.
    pub fn fingerprint(self, reason: &str) -> String {
        let findings = self.0.get("findings").and_then(Value::as_array).unwrap_or_default();
        let mut parts: Vec<String> = findings
            .iter()
            .map(|finding| {
                let field = |name| finding.get(name).and_then(Value::as_str).unwrap_or_default();
                let title = finding.as_str().unwrap_or_else(|| field("title"));
                format!("{}|{}", normalize(title), field("file").trim())
            })
            .collect();
        if parts.is_empty() {
            parts.push(normalize(reason));
        }
        fingerprint(parts)
    }
}

/// The fingerprint of a failed check: its command and what failed. A check that passed or
/// names no failure has none, so that different failures are never mistaken for one.
pub fn check_fingerprint(check: &Value) -> Option<String> {
    let mut parts = failure_parts(check);
    if parts.is_empty() {
        return None;
    }
    let command = check.get("command").and_then(Value::as_str).unwrap_or_default();
    parts.push(normalize(command));
    Some(fingerprint(parts))
}

/// What failed in a check, a verification or an audit, as far as it says.
fn failure_parts(check: &Value) -> Vec<String> {
    let passed = check.get("exit_code").and_then(Value::as_u64) == Some(0)
        || check.get("passed").and_then(Value::as_bool) == Some(true);
    if passed {
        return Vec::new();
    }
    let text = |value: &Value, name: &str| {
        value.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
    };
    let list = |name: &str| check.get(name).and_then(Value::as_array).unwrap_or_default();
    let mut parts: Vec<String> =
        ["failure", "summary", "output", "error"].map(|name| normalize(&text(check, name))).into();
    for item in list("failures").iter().chain(list("findings")) {
        let title = ["title", "name", "message"].into_iter().map(|name| text(item, name));
        let title = item.as_str().map(str::to_owned).into_iter().chain(title);
        let title = title.into_iter().find(|title| !title.is_empty()).unwrap_or_default();
        parts.push(format!("{} {}", normalize(&title), text(item, "file")).trim().to_owned());
    }
    for item in list("checklist") {
        if item.get("done").and_then(Value::as_bool) == Some(false) {
            parts.push(normalize(&text(item, "item")));
        }
    }
    for item in list("checks").iter().chain(list("evidence")) {
        if item.as_object().is_some() {
            parts.extend(failure_parts(item));
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn fingerprint(mut parts: Vec<String>) -> String {
    parts.sort();
    parts.dedup();
    format!("{:016x}", fnv1a(&parts.join("\n")))
}

/// Lowercases, replaces numbers by `#` and folds white space, so that line numbers and
/// timings do not make a repeated failure look new.
pub(crate) fn normalize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        let mut in_number = false;
        for character in word.chars() {
            if !character.is_ascii_digit() {
                out.extend(character.to_lowercase());
            } else if !in_number {
                out.push('#');
            }
            in_number = character.is_ascii_digit();
        }
    }
    out
}

/// The FNV-1a hash: short and stable across releases. It protects no secret.
pub fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(recommendation: &str, status: &str, titles: &[&str]) -> Value {
        let findings =
            titles.iter().map(|title| Value::record([("title", Value::string(title))])).collect();
        Value::record([
            ("recommendation", Value::string(recommendation)),
            ("architectural_status", Value::string(status)),
            ("findings", Value::array(findings)),
        ])
    }

    #[test]
    fn modes_2_5_clean_only_for_approve_with_clear_and_no_open_finding() {
        for recommendation in ["APPROVE", "COMMENT", "REQUEST CHANGES"] {
            for status in ["CLEAR", "WATCH", "BLOCK"] {
                for titles in [&[][..], &["x"]] {
                    let value = verdict(recommendation, status, titles);
                    let clean =
                        recommendation == "APPROVE" && status == "CLEAR" && titles.is_empty();
                    let verdict = ReviewVerdict::from_value(Some(&value)).unwrap();
                    assert_eq!(verdict.is_clean(), clean);
                    assert!(verdict.has_both_lanes());
                }
            }
        }
        let one_lane = Value::record([("recommendation", Value::string("APPROVE"))]);
        assert!(!ReviewVerdict::from_value(Some(&one_lane)).unwrap().is_clean());
    }

    #[test]
    fn modes_2_2_a_fingerprint_ignores_order_case_and_numbers() {
        let one = verdict("COMMENT", "CLEAR", &["Leak in line 12", "No test"]);
        let same = verdict("COMMENT", "WATCH", &["no  test", "leak in LINE 140"]);
        let other = verdict("COMMENT", "CLEAR", &["No test"]);
        let print =
            |value: &Value| ReviewVerdict::from_value(Some(value)).unwrap().fingerprint("r");
        assert_eq!(print(&one), print(&same));
        assert_ne!(print(&one), print(&other));
    }
}
