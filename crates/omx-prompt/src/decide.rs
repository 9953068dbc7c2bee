//! One walk over the prompt: candidates are weighed as they come, the first in
//! the order of modes.md 5.4 decides.

use omx_kernel::Mode;

use crate::address;
use crate::bare_command::{BareCommand, parse_bare_command};
use crate::call::{self, LeadingCalls};
use crate::decision::{
    CallForm, CallTarget, Candidate, CandidateVerdict, KeywordPolicy, ModeStart, PromptDecision,
    RejectReason, SessionState,
};
use crate::explain::{CandidateSink, DiscardCandidates};
use crate::lexicon::PRIORITY;
use crate::phrases::{self, PhraseMatch};
use crate::preceding::PrecedingText;
use crate::segment::{LinePosition, Segment, SegmentKind, Segments};
use crate::span;
use crate::text::trim;

/// Lines with calls, and phrases, that are weighed; a prompt with more says
/// nothing that these do not.
const MAX_CALL_LINES: usize = 64;
const MAX_PHRASES: usize = 256;

/// This many different modes called on lines of their own are a list of modes.
const MODE_LIST_LINES: u32 = 3;

/// Words of cancel so far down a prompt are part of what it tells, unless they
/// have a line of their own.
const LATE_CANCEL_BYTES: usize = 400;

/// What the prompt means.
pub fn decide<'a>(
    text: &'a str,
    keywords: KeywordPolicy,
    present: SessionState,
) -> PromptDecision<'a> {
    PromptScan::run(text, DiscardCandidates).decision(keywords, present)
}

/// A line whose calls count.
struct AcceptedLine {
    modes: Vec<Mode>,
    how: CallForm,
    /// Where the line begins, where its task does, and where that ends.
    line: usize,
    task: usize,
    end: usize,
}

pub(crate) struct PromptScan<'a, N> {
    text: &'a str,
    pub(crate) candidates: N,
    preceding: PrecedingText<'a>,
    /// Nothing but text of programs stands before.
    leading: bool,
    accepted: Vec<AcceptedLine>,
    /// Lines that begin with a name, so far.
    call_lines: usize,
    cancelled: bool,
    /// Modes that have a line of their own, as one bit for each.
    listed: u16,
    /// Why the line before did not count, if it was announced as an example.
    announced: Option<RejectReason>,
    /// Phrases that count, as one bit for each mode.
    phrases: u16,
    phrases_weighed: usize,
    pub(crate) exploring: bool,
    /// The prompt's only line, while it has one.
    only_line: Option<&'a str>,
    lines: usize,
}

impl<'a, N: CandidateSink<'a>> PromptScan<'a, N> {
    pub(crate) fn run(text: &'a str, notes: N) -> Self {
        let mut walk = Self {
            text,
            candidates: notes,
            preceding: PrecedingText::default(),
            leading: true,
            accepted: Vec::new(),
            call_lines: 0,
            cancelled: false,
            listed: 0,
            announced: None,
            phrases: 0,
            phrases_weighed: 0,
            exploring: false,
            only_line: None,
            lines: 0,
        };
        for piece in Segments::new(text) {
            match piece.kind {
                SegmentKind::Prose => walk.scan_prose(piece),
                SegmentKind::Code => walk.skip_non_prose(piece, RejectReason::Code),
                SegmentKind::Quote => walk.skip_non_prose(piece, RejectReason::Quoted),
                SegmentKind::Injected => walk.skip_non_prose(piece, RejectReason::Injected),
            }
        }
        walk
    }

    fn scan_prose(&mut self, piece: Segment<'a>) {
        if trim(piece.text).is_empty() {
            self.preceding.push_line(piece.text);
            self.announced = None;
            return;
        }
        let row =
            (piece.position == LinePosition::Start).then(|| self.leading_calls(piece)).flatten();
        let called = match row {
            Some((row, how)) => self.weigh_calls(piece, row, how),
            None => {
                self.announced = None;
                0
            }
        };
        self.weigh_phrases(piece, called);
        self.preceding.push_line(piece.text);
        self.leading = false;
        self.lines += 1;
        self.only_line = Some(piece.text);
    }

    /// The names this line begins with, if it does.
    fn leading_calls(&mut self, piece: Segment<'a>) -> Option<(LeadingCalls<'a>, CallForm)> {
        if self.call_lines >= MAX_CALL_LINES {
            return None;
        }
        if let Some(row) = call::parse_leading_calls(piece.text) {
            self.call_lines += 1;
            return Some((row, CallForm::Call));
        }
        if !self.leading {
            return None;
        }
        Some((address::parse_address(piece.text, self.text_after(piece))?, CallForm::Address))
    }

    fn text_after(&self, piece: Segment<'a>) -> &'a str {
        &self.text[piece.at + piece.text.len()..]
    }

    /// Weighs the names a line begins with; gives how far they go.
    fn weigh_calls(&mut self, piece: Segment<'a>, row: LeadingCalls<'a>, how: CallForm) -> usize {
        let length = piece.text.len() - row.rest.len();
        let talk =
            parse_bare_command(row.rest).filter(|_| row.rejection != Some(RejectReason::Joined));
        let around = self.preceding.reject_reason(piece.text, row.rest, self.text_after(piece));
        let objection = match talk {
            // "ralph cancel" is about the run there is.
            Some(BareCommand::Stop) => around,
            _ => row.rejection.or(around),
        }
        .or(self.announced);
        // What was announced goes on until something else is said.
        self.announced = objection.filter(|why| *why == RejectReason::Announced);
        self.note_listed_mode(&row, how);
        let verdict = objection.map_or(CandidateVerdict::Accepted, CandidateVerdict::Rejected);
        for call in &row.calls {
            let at = piece.at + call.at;
            self.candidates.push_candidate(Candidate {
                target: call.target,
                form: how,
                text: call.text,
                at,
                verdict,
            });
        }
        if objection.is_some() {
            return length;
        }
        let cancels = row.calls.iter().any(|call| call.target == CallTarget::Cancel);
        if cancels || talk == Some(BareCommand::Stop) {
            self.cancelled = true;
        }
        self.end_task(piece.at);
        let modes = row.calls.iter().filter_map(|call| match call.target {
            CallTarget::Mode(mode) => Some(mode),
            CallTarget::Cancel => None,
        });
        let task = piece.at + length;
        self.accepted.push(AcceptedLine {
            modes: modes.collect(),
            how,
            line: piece.at,
            task,
            end: self.text.len(),
        });
        length
    }

    /// Notes that a line of its own is about a mode, as in a list of modes.
    fn note_listed_mode(&mut self, row: &LeadingCalls<'a>, how: CallForm) {
        let told = how == CallForm::Call && !trim(row.rest).is_empty();
        if let Some(CallTarget::Mode(mode)) =
            row.calls.first().map(|call| call.target).filter(|_| told)
        {
            self.listed |= 1 << mode as u16;
        }
    }

    /// The task of the call before ends here.
    fn end_task(&mut self, at: usize) {
        if let Some(row) = self.accepted.last_mut().filter(|row| row.end == self.text.len()) {
            row.end = at;
        }
    }

    /// Weighs the phrases of a line, behind the names it begins with.
    fn weigh_phrases(&mut self, piece: Segment<'a>, from: usize) {
        if self.phrases_weighed >= MAX_PHRASES {
            return;
        }
        if N::COLLECTS {
            let text = &piece.text[from..];
            let mut calls = Vec::new();
            call::for_each_inline_call(text, |word, at, end| calls.push((word, at, end)));
            let covers = span::find_spans(text);
            for (word, at, end) in calls {
                let cover = covers.iter().find(|(from, to, _)| (*from..*to).contains(&at));
                let why = match cover {
                    Some((_, _, kind)) if kind.is_code() => RejectReason::Code,
                    Some(_) => RejectReason::Quoted,
                    None => RejectReason::NotAtLineStart,
                };
                self.push_rejected(piece, word, (from + at, from + end), why, CallForm::Call);
            }
        }
        let text = piece.text;
        let mut found = Vec::new();
        phrases::for_each_phrase(text, MAX_PHRASES - self.phrases_weighed, |what, at, end| {
            if at >= from {
                found.push((what, at, end));
            }
        });
        for (what, at, end) in found {
            self.phrases_weighed += 1;
            let PhraseMatch::Phrase(word, verdict) = what else {
                self.exploring = true;
                continue;
            };
            let late = word == CallTarget::Cancel
                && piece.at > LATE_CANCEL_BYTES
                && trim(text).len() != end - at;
            let verdict = match verdict {
                CandidateVerdict::Accepted if late => {
                    CandidateVerdict::Rejected(RejectReason::Mention)
                }
                verdict => verdict,
            };
            let candidate = Candidate {
                target: word,
                form: CallForm::Phrase,
                text: &text[at..end],
                at: piece.at + at,
                verdict,
            };
            self.candidates.push_candidate(candidate);
            match (word, verdict) {
                (_, CandidateVerdict::Rejected(_)) => {}
                (CallTarget::Cancel, CandidateVerdict::Accepted) => self.cancelled = true,
                (CallTarget::Mode(mode), CandidateVerdict::Accepted) => {
                    self.phrases |= 1 << mode as u16
                }
            }
        }
    }

    fn push_rejected(
        &mut self,
        piece: Segment<'a>,
        word: CallTarget,
        place: (usize, usize),
        why: RejectReason,
        how: CallForm,
    ) {
        let text = &piece.text[place.0..place.1];
        let at = piece.at + place.0;
        self.candidates.push_candidate(Candidate {
            target: word,
            form: how,
            text,
            at,
            verdict: CandidateVerdict::Rejected(why),
        });
    }

    /// A piece that is no prose counts for nothing; only an explanation looks into it.
    fn skip_non_prose(&mut self, piece: Segment<'a>, why: RejectReason) {
        self.preceding.push_non_prose();
        if why == RejectReason::Injected {
            self.end_task(piece.at);
        } else {
            self.leading = false;
            self.lines += 1;
            self.only_line = None;
        }
        if N::COLLECTS {
            let mut seen = Vec::new();
            call::for_each_inline_call(piece.text, |word, at, end| {
                seen.push((word, at, end, CallForm::Call))
            });
            phrases::for_each_phrase(piece.text, MAX_PHRASES, |what, at, end| {
                if let PhraseMatch::Phrase(word, _) = what {
                    seen.push((word, at, end, CallForm::Phrase));
                }
            });
            for (word, at, end, how) in seen.into_iter().take(MAX_PHRASES) {
                self.push_rejected(piece, word, (at, end), why, how);
            }
        }
    }

    pub(crate) fn decision(
        &self,
        keywords: KeywordPolicy,
        present: SessionState,
    ) -> PromptDecision<'a> {
        if self.cancelled {
            return PromptDecision::Cancel;
        }
        if let Some(line) = self.only_line.filter(|_| self.lines == 1) {
            match (parse_bare_command(line), present) {
                (Some(BareCommand::Stop), SessionState::Active) => return PromptDecision::Cancel,
                (Some(BareCommand::Continue), SessionState::Blocked) => {
                    return PromptDecision::Resume;
                }
                // "ralph cancel" suggests nothing.
                (Some(BareCommand::Stop), _) => return PromptDecision::Nothing,
                _ => {}
            }
        }
        if let Some(start) = self.called_mode() {
            return PromptDecision::Start(start);
        }
        if keywords == KeywordPolicy::Off || self.exploring || present == SessionState::Active {
            return PromptDecision::Nothing;
        }
        let has = |mode: Mode| self.phrases & (1 << mode as u16) != 0;
        let Some(mode) = PRIORITY.into_iter().find(|mode| has(*mode)) else {
            return PromptDecision::Nothing;
        };
        match keywords {
            KeywordPolicy::Phrases => PromptDecision::Start(ModeStart {
                mode,
                linked: linked_modes(mode, has),
                task: trim(self.text),
                form: CallForm::Phrase,
            }),
            KeywordPolicy::Explicit | KeywordPolicy::Off => PromptDecision::Suggest(mode),
        }
    }

    /// What the calls that count start.
    fn called_mode(&self) -> Option<ModeStart<'a>> {
        if self.listed.count_ones() >= MODE_LIST_LINES {
            return None;
        }
        let has = |mode: Mode| self.accepted.iter().any(|row| row.modes.contains(&mode));
        let mode = PRIORITY.into_iter().find(|mode| has(*mode))?;
        let row = self.accepted.iter().find(|row| row.modes.contains(&mode))?;
        let task = |row: &AcceptedLine| trim(&self.text[row.task..row.end]);
        let own = [row].into_iter().chain(&self.accepted).map(task).find(|task| !task.is_empty());
        let before = || self.accepted.first().map_or("", |row| trim(&self.text[..row.line]));
        Some(ModeStart {
            mode,
            linked: linked_modes(mode, has),
            task: own.unwrap_or_else(before),
            form: row.how,
        })
    }
}

/// What starts together with this mode (modes.md 5.4).
fn linked_modes(mode: Mode, called: impl Fn(Mode) -> bool) -> Vec<Mode> {
    let companions: &[Mode] = match mode {
        Mode::Ralph => &[Mode::Team, Mode::Ultrawork, Mode::Ecomode],
        _ => &[],
    };
    companions.iter().copied().filter(|mode| called(*mode)).collect()
}
