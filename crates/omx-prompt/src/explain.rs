//! The same walk with everything told: every candidate, and why it did not count.

use crate::decide::Walk;
use crate::decision::{
    Candidate, Decision, Explanation, How, Keywords, Present, Verdict, Why, Word,
};

/// What the prompt means, with every candidate in it and its verdict.
pub fn explain<'a>(text: &'a str, keywords: Keywords, present: Present) -> Explanation<'a> {
    let walk = Walk::over(text, Vec::new());
    let decision = walk.decision(keywords, present);
    let mut candidates = walk.notes;
    candidates.sort_by_key(|candidate| candidate.at);
    candidates.dedup_by_key(|candidate| (candidate.at, candidate.word));
    let whys = Losing { decision: &decision, keywords, present, exploring: walk.exploring };
    for candidate in &mut candidates {
        if candidate.verdict == Verdict::Counts
            && let Some(why) = whys.of(candidate)
        {
            candidate.verdict = Verdict::Not(why);
        }
    }
    Explanation { decision, candidates }
}

/// Why a candidate that is none of the talk did not decide.
struct Losing<'d, 'a> {
    decision: &'d Decision<'a>,
    keywords: Keywords,
    present: Present,
    exploring: bool,
}

impl Losing<'_, '_> {
    fn of(&self, candidate: &Candidate<'_>) -> Option<Why> {
        let wins = match (self.decision, candidate.word) {
            (Decision::Cancel, Word::Cancel) => true,
            (Decision::Start(start), Word::Mode(mode)) => {
                start.mode == mode || start.linked.contains(&mode)
            }
            (Decision::Suggest(suggested), Word::Mode(mode)) => *suggested == mode,
            _ => false,
        };
        match () {
            () if wins => None,
            () if candidate.how != How::Phrase => Some(Why::Outranked),
            () if self.keywords == Keywords::Off => Some(Why::Configured),
            () if self.exploring => Some(Why::Exploring),
            () if self.present == Present::Active => Some(Why::Busy),
            () => Some(Why::Outranked),
        }
    }
}

/// Where candidates are told to.
pub(crate) trait Notes<'a> {
    /// Whether anybody listens.
    const WANTED: bool;
    fn note(&mut self, candidate: Candidate<'a>);
}

pub(crate) struct NoNotes;

impl<'a> Notes<'a> for NoNotes {
    const WANTED: bool = false;
    fn note(&mut self, _: Candidate<'a>) {}
}

impl<'a> Notes<'a> for Vec<Candidate<'a>> {
    const WANTED: bool = true;
    fn note(&mut self, candidate: Candidate<'a>) {
        self.push(candidate);
    }
}
