//! One walk over the prompt: candidates are weighed as they come, the first in
//! the order of modes.md 5.4 decides.

use omx_kernel::Mode;

use crate::address;
use crate::call::{self, Row};
use crate::context::Before;
use crate::decision::{Candidate, Decision, How, Keywords, Present, Start, Verdict, Why, Word};
use crate::explain::{NoNotes, Notes};
use crate::inline;
use crate::only::{Only, only};
use crate::phrases::{self, Found};
use crate::scan::{Ground, Lead, Piece, Pieces};
use crate::text::trim;
use crate::words::PRIORITY;

/// Lines with calls, and phrases, that are weighed; a prompt with more says
/// nothing that these do not.
const MOST_ROWS: usize = 64;
const MOST_PHRASES: usize = 256;

/// This many different modes called on lines of their own are a list of modes.
const A_LIST: u32 = 3;

/// Words of cancel so far down a prompt are part of what it tells, unless they
/// have a line of their own.
const LATE: usize = 400;

/// What the prompt means.
pub fn decide<'a>(text: &'a str, keywords: Keywords, present: Present) -> Decision<'a> {
    Walk::over(text, NoNotes).decision(keywords, present)
}

/// A line whose calls count.
struct Taken {
    modes: Vec<Mode>,
    how: How,
    /// Where the line begins, where its task does, and where that ends.
    line: usize,
    task: usize,
    end: usize,
}

pub(crate) struct Walk<'a, N> {
    text: &'a str,
    pub(crate) notes: N,
    before: Before<'a>,
    /// Nothing but text of programs stands before.
    leading: bool,
    rows: Vec<Taken>,
    /// Lines that begin with a name, so far.
    looked: usize,
    cancelled: bool,
    /// Modes that have a line of their own, as one bit for each.
    listed: u16,
    /// Why the line before did not count, if it was announced as an example.
    announced: Option<Why>,
    /// Phrases that count, as one bit for each mode.
    phrases: u16,
    weighed: usize,
    pub(crate) exploring: bool,
    /// The prompt's only line, while it has one.
    only_line: Option<&'a str>,
    lines: usize,
}

impl<'a, N: Notes<'a>> Walk<'a, N> {
    pub(crate) fn over(text: &'a str, notes: N) -> Self {
        let mut walk = Self {
            text,
            notes,
            before: Before::default(),
            leading: true,
            rows: Vec::new(),
            looked: 0,
            cancelled: false,
            listed: 0,
            announced: None,
            phrases: 0,
            weighed: 0,
            exploring: false,
            only_line: None,
            lines: 0,
        };
        for piece in Pieces::of(text) {
            match piece.ground {
                Ground::Prose => walk.prose(piece),
                Ground::Code => walk.foreign(piece, Why::Code),
                Ground::Quote => walk.foreign(piece, Why::Quoted),
                Ground::Injected => walk.foreign(piece, Why::Injected),
            }
        }
        walk
    }

    fn prose(&mut self, piece: Piece<'a>) {
        if trim(piece.text).is_empty() {
            self.before.saw(piece.text);
            self.announced = None;
            return;
        }
        let row = (piece.lead == Lead::LineStart).then(|| self.row(piece)).flatten();
        let called = match row {
            Some((row, how)) => self.weigh(piece, row, how),
            None => {
                self.announced = None;
                0
            }
        };
        self.phrases_of(piece, called);
        self.before.saw(piece.text);
        self.leading = false;
        self.lines += 1;
        self.only_line = Some(piece.text);
    }

    /// The names this line begins with, if it does.
    fn row(&mut self, piece: Piece<'a>) -> Option<(Row<'a>, How)> {
        if self.looked >= MOST_ROWS {
            return None;
        }
        if let Some(row) = call::row(piece.text) {
            self.looked += 1;
            return Some((row, How::Call));
        }
        if !self.leading {
            return None;
        }
        Some((address::leading(piece.text, self.after(piece))?, How::Address))
    }

    fn after(&self, piece: Piece<'a>) -> &'a str {
        &self.text[piece.at + piece.text.len()..]
    }

    /// Weighs the names a line begins with; gives how far they go.
    fn weigh(&mut self, piece: Piece<'a>, row: Row<'a>, how: How) -> usize {
        let length = piece.text.len() - row.rest.len();
        let talk = only(row.rest).filter(|_| row.objection != Some(Why::Joined));
        let around = self.before.objection(piece.text, row.rest, self.after(piece));
        let objection = match talk {
            // "ralph cancel" is about the run there is.
            Some(Only::Stop) => around,
            _ => row.objection.or(around),
        }
        .or(self.announced);
        // What was announced goes on until something else is said.
        self.announced = objection.filter(|why| *why == Why::Announced);
        self.list(&row, how);
        let verdict = objection.map_or(Verdict::Counts, Verdict::Not);
        for call in &row.calls {
            let at = piece.at + call.at;
            self.notes.note(Candidate { word: call.word, how, text: call.text, at, verdict });
        }
        if objection.is_some() {
            return length;
        }
        let cancels = row.calls.iter().any(|call| call.word == Word::Cancel);
        if cancels || talk == Some(Only::Stop) {
            self.cancelled = true;
        }
        self.end_task(piece.at);
        let modes = row.calls.iter().filter_map(|call| match call.word {
            Word::Mode(mode) => Some(mode),
            Word::Cancel => None,
        });
        let task = piece.at + length;
        self.rows.push(Taken {
            modes: modes.collect(),
            how,
            line: piece.at,
            task,
            end: self.text.len(),
        });
        length
    }

    /// Notes that a line of its own is about a mode, as in a list of modes.
    fn list(&mut self, row: &Row<'a>, how: How) {
        let told = how == How::Call && !trim(row.rest).is_empty();
        if let Some(Word::Mode(mode)) = row.calls.first().map(|call| call.word).filter(|_| told) {
            self.listed |= 1 << mode as u16;
        }
    }

    /// The task of the call before ends here.
    fn end_task(&mut self, at: usize) {
        if let Some(row) = self.rows.last_mut().filter(|row| row.end == self.text.len()) {
            row.end = at;
        }
    }

    /// Weighs the phrases of a line, behind the names it begins with.
    fn phrases_of(&mut self, piece: Piece<'a>, from: usize) {
        if self.weighed >= MOST_PHRASES {
            return;
        }
        if N::WANTED {
            let text = &piece.text[from..];
            let mut calls = Vec::new();
            call::inside(text, |word, at, end| calls.push((word, at, end)));
            let covers = inline::covers(text);
            for (word, at, end) in calls {
                let cover = covers.iter().find(|(from, to, _)| (*from..*to).contains(&at));
                let why = match cover {
                    Some((_, _, kind)) if kind.is_code() => Why::Code,
                    Some(_) => Why::Quoted,
                    None => Why::NotAtLineStart,
                };
                self.tell(piece, word, (from + at, from + end), why, How::Call);
            }
        }
        let text = piece.text;
        let mut found = Vec::new();
        phrases::each(text, MOST_PHRASES - self.weighed, |what, at, end| {
            if at >= from {
                found.push((what, at, end));
            }
        });
        for (what, at, end) in found {
            self.weighed += 1;
            let Found::Phrase(word, verdict) = what else {
                self.exploring = true;
                continue;
            };
            let late = word == Word::Cancel && piece.at > LATE && trim(text).len() != end - at;
            let verdict = match verdict {
                Verdict::Counts if late => Verdict::Not(Why::Mention),
                verdict => verdict,
            };
            let candidate = Candidate {
                word,
                how: How::Phrase,
                text: &text[at..end],
                at: piece.at + at,
                verdict,
            };
            self.notes.note(candidate);
            match (word, verdict) {
                (_, Verdict::Not(_)) => {}
                (Word::Cancel, Verdict::Counts) => self.cancelled = true,
                (Word::Mode(mode), Verdict::Counts) => self.phrases |= 1 << mode as u16,
            }
        }
    }

    fn tell(&mut self, piece: Piece<'a>, word: Word, place: (usize, usize), why: Why, how: How) {
        let text = &piece.text[place.0..place.1];
        let at = piece.at + place.0;
        self.notes.note(Candidate { word, how, text, at, verdict: Verdict::Not(why) });
    }

    /// A piece that is no prose counts for nothing; only an explanation looks into it.
    fn foreign(&mut self, piece: Piece<'a>, why: Why) {
        self.before.saw_foreign();
        if why == Why::Injected {
            self.end_task(piece.at);
        } else {
            self.leading = false;
            self.lines += 1;
            self.only_line = None;
        }
        if N::WANTED {
            let mut seen = Vec::new();
            call::inside(piece.text, |word, at, end| seen.push((word, at, end, How::Call)));
            phrases::each(piece.text, MOST_PHRASES, |what, at, end| {
                if let Found::Phrase(word, _) = what {
                    seen.push((word, at, end, How::Phrase));
                }
            });
            for (word, at, end, how) in seen.into_iter().take(MOST_PHRASES) {
                self.tell(piece, word, (at, end), why, how);
            }
        }
    }

    pub(crate) fn decision(&self, keywords: Keywords, present: Present) -> Decision<'a> {
        if self.cancelled {
            return Decision::Cancel;
        }
        if let Some(line) = self.only_line.filter(|_| self.lines == 1) {
            match (only(line), present) {
                (Some(Only::Stop), Present::Active) => return Decision::Cancel,
                (Some(Only::GoOn), Present::Blocked) => return Decision::Resume,
                // "ralph cancel" suggests nothing.
                (Some(Only::Stop), _) => return Decision::Nothing,
                _ => {}
            }
        }
        if let Some(start) = self.called() {
            return Decision::Start(start);
        }
        if keywords == Keywords::Off || self.exploring || present == Present::Active {
            return Decision::Nothing;
        }
        let has = |mode: Mode| self.phrases & (1 << mode as u16) != 0;
        let Some(mode) = PRIORITY.into_iter().find(|mode| has(*mode)) else {
            return Decision::Nothing;
        };
        match keywords {
            Keywords::Phrases => Decision::Start(Start {
                mode,
                linked: linked(mode, has),
                task: trim(self.text),
                how: How::Phrase,
            }),
            Keywords::Explicit | Keywords::Off => Decision::Suggest(mode),
        }
    }

    /// What the calls that count start.
    fn called(&self) -> Option<Start<'a>> {
        if self.listed.count_ones() >= A_LIST {
            return None;
        }
        let has = |mode: Mode| self.rows.iter().any(|row| row.modes.contains(&mode));
        let mode = PRIORITY.into_iter().find(|mode| has(*mode))?;
        let row = self.rows.iter().find(|row| row.modes.contains(&mode))?;
        let task = |row: &Taken| trim(&self.text[row.task..row.end]);
        let own = [row].into_iter().chain(&self.rows).map(task).find(|task| !task.is_empty());
        let before = || self.rows.first().map_or("", |row| trim(&self.text[..row.line]));
        Some(Start {
            mode,
            linked: linked(mode, has),
            task: own.unwrap_or_else(before),
            how: row.how,
        })
    }
}

/// What starts together with this mode (modes.md 5.4).
fn linked(mode: Mode, called: impl Fn(Mode) -> bool) -> Vec<Mode> {
    let companions: &[Mode] = match mode {
        Mode::Ralph => &[Mode::Team, Mode::Ultrawork, Mode::Ecomode],
        _ => &[],
    };
    companions.iter().copied().filter(|mode| called(*mode)).collect()
}
