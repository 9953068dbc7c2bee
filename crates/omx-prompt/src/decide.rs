//! A single pass over the prompt weighs every candidate; the accepted one that comes first
//! in the order of modes.md 5.4 decides.

use omx_kernel::Mode;

use crate::address;
use crate::bare_command::{BareCommand, decide_bare, parse_bare_command};
use crate::call::{self, LeadingCalls};
use crate::cancel;
use crate::decision::{
    CallForm, CallTarget, CancelCall, CancelReach, Candidate, CandidateVerdict, KeywordPolicy,
    ModeStart, PromptDecision, RejectReason, SessionState,
};
use crate::explain::{CandidateSink, DiscardCandidates};
use crate::lexicon::PRIORITY;
use crate::phrases::{self, PhraseMatch};
use crate::preceding::PrecedingText;
use crate::segment::{LinePosition, Segment, SegmentKind, Segments};
use crate::span;
use crate::text::trim;

/// The most call lines and phrases that are weighed, to bound the time for long prompts.
const MAX_CALL_LINES: usize = 64;
const MAX_PHRASES: usize = 256;

/// Calls of this many different modes, each on its own line, are a list of modes.
const MODE_LIST_LINES: u32 = 3;

/// Cancel words this far down a prompt belong to its content, unless they have their own
/// line.
const LATE_CANCEL_BYTES: usize = 400;

/// A prompt that has been read once. What it means depends on the session.
pub struct ScannedPrompt<'a>(PromptScan<'a, DiscardCandidates>);

impl<'a> ScannedPrompt<'a> {
    /// Reads a prompt.
    pub fn new(text: &'a str) -> Self {
        Self(PromptScan::run(text, DiscardCandidates))
    }

    /// Decides what the prompt means in a session.
    pub fn decide(&self, keywords: KeywordPolicy, session: SessionState) -> PromptDecision<'a> {
        self.0.decision(keywords, session)
    }
}

/// A line whose calls are accepted.
struct AcceptedLine {
    modes: Vec<Mode>,
    how: CallForm,
    /// The byte offsets of the line, of its task and of the task's end.
    line: usize,
    task: usize,
    end: usize,
}

pub(crate) struct PromptScan<'a, N> {
    text: &'a str,
    pub(crate) candidates: N,
    preceding: PrecedingText<'a>,
    /// Only text of programs comes before.
    leading: bool,
    accepted: Vec<AcceptedLine>,
    /// How many lines so far start with a name.
    call_lines: usize,
    cancelled: Option<CancelCall>,
    /// Modes with a line of their own, one bit each.
    listed: u16,
    /// Why the previous line was rejected, if it was introduced as an example.
    announced: Option<RejectReason>,
    /// Modes with an accepted phrase, one bit each.
    phrases: u16,
    phrases_weighed: usize,
    pub(crate) exploring: bool,
    /// The prompt's only line, as long as it has just one.
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
            cancelled: None,
            listed: 0,
            announced: None,
            phrases: 0,
            phrases_weighed: 0,
            exploring: false,
            only_line: None,
            lines: 0,
        };
        for segment in Segments::new(text) {
            match segment.kind {
                SegmentKind::Prose => walk.scan_prose(segment),
                SegmentKind::Code => walk.skip_non_prose(segment, RejectReason::Code),
                SegmentKind::Quote => walk.skip_non_prose(segment, RejectReason::Quoted),
                SegmentKind::Injected => walk.skip_non_prose(segment, RejectReason::Injected),
            }
        }
        walk
    }

    fn scan_prose(&mut self, segment: Segment<'a>) {
        if trim(segment.text).is_empty() {
            self.preceding.push_line(segment.text);
            self.announced = None;
            return;
        }
        let row = (segment.position == LinePosition::Start)
            .then(|| self.leading_calls(segment))
            .flatten();
        let called = match row {
            Some((row, how)) => self.weigh_calls(segment, row, how),
            None => {
                self.announced = None;
                0
            }
        };
        self.weigh_phrases(segment, called);
        self.preceding.push_line(segment.text);
        self.leading = false;
        self.lines += 1;
        self.only_line = Some(segment.text);
    }

    /// Parses the names at the start of a line.
    fn leading_calls(&mut self, segment: Segment<'a>) -> Option<(LeadingCalls<'a>, CallForm)> {
        if self.call_lines >= MAX_CALL_LINES {
            return None;
        }
        if let Some(row) = call::parse_leading_calls(segment.text) {
            self.call_lines += 1;
            return Some((row, CallForm::Call));
        }
        if !self.leading {
            return None;
        }
        Some((address::parse_address(segment.text, self.text_after(segment))?, CallForm::Address))
    }

    fn text_after(&self, segment: Segment<'a>) -> &'a str {
        &self.text[segment.at + segment.text.len()..]
    }

    /// Weighs the names at the start of a line. Returns their length.
    fn weigh_calls(&mut self, segment: Segment<'a>, row: LeadingCalls<'a>, how: CallForm) -> usize {
        let length = segment.text.len() - row.rest.len();
        let talk =
            parse_bare_command(row.rest).filter(|_| row.rejection != Some(RejectReason::Joined));
        let around = self.preceding.reject_reason(segment.text, row.rest, self.text_after(segment));
        let rejection = match talk {
            // "ralph cancel" refers to the current run.
            Some(BareCommand::Stop) => around,
            _ => row.rejection.or(around),
        }
        .or(self.announced);
        // The example extends over the lines that follow it directly.
        self.announced = rejection.filter(|reason| *reason == RejectReason::Announced);
        self.note_listed_mode(&row, how);
        let verdict = rejection.map_or(CandidateVerdict::Accepted, CandidateVerdict::Rejected);
        for call in &row.calls {
            let at = segment.at + call.at;
            self.candidates.push_candidate(Candidate {
                target: call.target,
                form: how,
                text: call.text,
                at,
                verdict,
            });
        }
        if rejection.is_some() {
            return length;
        }
        let cancels = row.calls.iter().any(|call| call.target == CallTarget::Cancel);
        if cancels {
            self.cancel(CancelCall { reach: cancel::parse_reach(row.rest), form: how });
        } else if talk == Some(BareCommand::Stop) {
            self.cancel(CancelCall { reach: CancelReach::Session, form: how });
        }
        self.end_task(segment.at);
        let modes = row.calls.iter().filter_map(|call| match call.target {
            CallTarget::Mode(mode) => Some(mode),
            CallTarget::Cancel => None,
        });
        let task = segment.at + length;
        self.accepted.push(AcceptedLine {
            modes: modes.collect(),
            how,
            line: segment.at,
            task,
            end: self.text.len(),
        });
        length
    }

    /// Records a cancel. The first one in the prompt counts.
    fn cancel(&mut self, call: CancelCall) {
        self.cancelled.get_or_insert(call);
    }

    /// Records that a line is about one mode, as in a list of modes.
    fn note_listed_mode(&mut self, row: &LeadingCalls<'a>, how: CallForm) {
        let reported = how == CallForm::Call && !trim(row.rest).is_empty();
        if let Some(CallTarget::Mode(mode)) =
            row.calls.first().map(|call| call.target).filter(|_| reported)
        {
            self.listed |= 1 << mode as u16;
        }
    }

    /// Ends the task of the previous call here.
    fn end_task(&mut self, at: usize) {
        if let Some(row) = self.accepted.last_mut().filter(|row| row.end == self.text.len()) {
            row.end = at;
        }
    }

    /// Weighs the phrases of a line after the names at its start.
    fn weigh_phrases(&mut self, segment: Segment<'a>, from: usize) {
        if self.phrases_weighed >= MAX_PHRASES {
            return;
        }
        if N::COLLECTS {
            let text = &segment.text[from..];
            let mut calls = Vec::new();
            call::for_each_inline_call(text, |word, at, end| calls.push((word, at, end)));
            let covers = span::find_spans(text);
            for (word, at, end) in calls {
                let cover = covers.iter().find(|(from, to, _)| (*from..*to).contains(&at));
                let reason = match cover {
                    Some((_, _, kind)) if kind.is_code() => RejectReason::Code,
                    Some(_) => RejectReason::Quoted,
                    None => RejectReason::NotAtLineStart,
                };
                self.push_rejected(segment, word, (from + at, from + end), reason, CallForm::Call);
            }
        }
        let text = segment.text;
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
                && segment.at > LATE_CANCEL_BYTES
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
                at: segment.at + at,
                verdict,
            };
            self.candidates.push_candidate(candidate);
            match (word, verdict) {
                (_, CandidateVerdict::Rejected(_)) => {}
                (CallTarget::Cancel, CandidateVerdict::Accepted) => {
                    let reach = cancel::parse_reach(&text[end..]);
                    self.cancel(CancelCall { reach, form: CallForm::Phrase });
                }
                (CallTarget::Mode(mode), CandidateVerdict::Accepted) => {
                    self.phrases |= 1 << mode as u16
                }
            }
        }
    }

    fn push_rejected(
        &mut self,
        segment: Segment<'a>,
        word: CallTarget,
        place: (usize, usize),
        reason: RejectReason,
        how: CallForm,
    ) {
        let text = &segment.text[place.0..place.1];
        let at = segment.at + place.0;
        self.candidates.push_candidate(Candidate {
            target: word,
            form: how,
            text,
            at,
            verdict: CandidateVerdict::Rejected(reason),
        });
    }

    /// Skips a segment that is not prose. Only an explanation lists its candidates.
    fn skip_non_prose(&mut self, segment: Segment<'a>, reason: RejectReason) {
        self.preceding.push_non_prose();
        if reason == RejectReason::Injected {
            self.end_task(segment.at);
        } else {
            self.leading = false;
            self.lines += 1;
            self.only_line = None;
        }
        if N::COLLECTS {
            let mut seen = Vec::new();
            call::for_each_inline_call(segment.text, |word, at, end| {
                seen.push((word, at, end, CallForm::Call))
            });
            phrases::for_each_phrase(segment.text, MAX_PHRASES, |what, at, end| {
                if let PhraseMatch::Phrase(word, _) = what {
                    seen.push((word, at, end, CallForm::Phrase));
                }
            });
            for (word, at, end, how) in seen.into_iter().take(MAX_PHRASES) {
                self.push_rejected(segment, word, (at, end), reason, how);
            }
        }
    }

    pub(crate) fn decision(
        &self,
        keywords: KeywordPolicy,
        session: SessionState,
    ) -> PromptDecision<'a> {
        if let Some(call) = self.cancelled {
            return PromptDecision::Cancel(call);
        }
        let only_line = self.only_line.filter(|_| self.lines == 1);
        if let Some(decision) = only_line.and_then(|line| decide_bare(line, session)) {
            return decision;
        }
        if let Some(start) = self.called_mode() {
            return PromptDecision::Start(start);
        }
        if keywords == KeywordPolicy::Off || self.exploring || session == SessionState::Active {
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

    /// Returns what the accepted calls start.
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
        let task = own.unwrap_or_else(before);
        // "/autopilot continue" is a bare call.
        let is_bare = parse_bare_command(task) == Some(BareCommand::Continue);
        Some(ModeStart {
            mode,
            linked: linked_modes(mode, has),
            task: if is_bare { "" } else { task },
            form: row.how,
        })
    }
}

/// Returns the modes that start together with this one (modes.md 5.4).
fn linked_modes(mode: Mode, called: impl Fn(Mode) -> bool) -> Vec<Mode> {
    let companions: &[Mode] = match mode {
        Mode::Ralph => &[Mode::Team, Mode::Ultrawork, Mode::Ecomode],
        _ => &[],
    };
    companions.iter().copied().filter(|mode| called(*mode)).collect()
}
