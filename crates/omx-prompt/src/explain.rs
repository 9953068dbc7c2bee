//! The same decision with an explanation: every candidate, and why it was rejected.

use crate::decide::PromptScan;
use crate::decision::{
    CallForm, CallTarget, Candidate, CandidateVerdict, KeywordPolicy, PromptDecision,
    PromptExplanation, RejectReason, SessionState,
};

/// Decides what a prompt means, and lists every candidate with its verdict.
pub fn explain<'a>(
    text: &'a str,
    keywords: KeywordPolicy,
    session: SessionState,
) -> PromptExplanation<'a> {
    let walk = PromptScan::run(text, Vec::new());
    let decision = walk.decision(keywords, session);
    let mut candidates = walk.candidates;
    candidates.sort_by_key(|candidate| candidate.at);
    candidates.dedup_by_key(|candidate| (candidate.at, candidate.target));
    let whys = Tiebreak { decision: &decision, keywords, session, exploring: walk.exploring };
    for candidate in &mut candidates {
        if candidate.verdict == CandidateVerdict::Accepted
            && let Some(reason) = whys.reject_reason(candidate)
        {
            candidate.verdict = CandidateVerdict::Rejected(reason);
        }
    }
    PromptExplanation { decision, candidates }
}

/// Finds out why an accepted candidate did not decide.
struct Tiebreak<'d, 'a> {
    decision: &'d PromptDecision<'a>,
    keywords: KeywordPolicy,
    session: SessionState,
    exploring: bool,
}

impl Tiebreak<'_, '_> {
    fn reject_reason(&self, candidate: &Candidate<'_>) -> Option<RejectReason> {
        let wins = match (self.decision, candidate.target) {
            (PromptDecision::Cancel(_), CallTarget::Cancel) => true,
            (PromptDecision::Start(start), CallTarget::Mode(mode)) => {
                start.mode == mode || start.linked.contains(&mode)
            }
            (PromptDecision::Suggest(suggested), CallTarget::Mode(mode)) => *suggested == mode,
            _ => false,
        };
        match () {
            () if wins => None,
            () if candidate.form != CallForm::Phrase => Some(RejectReason::Outranked),
            () if self.keywords == KeywordPolicy::Off => Some(RejectReason::TurnedOff),
            () if self.exploring => Some(RejectReason::Exploring),
            () if self.session == SessionState::Active => Some(RejectReason::Busy),
            () => Some(RejectReason::Outranked),
        }
    }
}

/// Receives the candidates.
pub(crate) trait CandidateSink<'a> {
    /// Whether candidates are kept. If not, the scan skips work that only explains.
    const COLLECTS: bool;
    fn push_candidate(&mut self, candidate: Candidate<'a>);
}

pub(crate) struct DiscardCandidates;

impl<'a> CandidateSink<'a> for DiscardCandidates {
    const COLLECTS: bool = false;
    fn push_candidate(&mut self, _: Candidate<'a>) {}
}

impl<'a> CandidateSink<'a> for Vec<Candidate<'a>> {
    const COLLECTS: bool = true;
    fn push_candidate(&mut self, candidate: Candidate<'a>) {
        self.push(candidate);
    }
}
