//! Every word that the rule knows, in lowercase and with a plain apostrophe, as
//! [`crate::text::eq_word`] expects.

use omx_kernel::Mode;

use crate::decision::CallTarget;

/// Names that can be called. A name comes before its own prefixes.
pub const NAMES: [(&str, CallTarget); 14] = [
    ("autopilot", CallTarget::Mode(Mode::Autopilot)),
    ("ralplan", CallTarget::Mode(Mode::Ralplan)),
    ("ralph", CallTarget::Mode(Mode::Ralph)),
    ("plan-consensus", CallTarget::Mode(Mode::Ralplan)),
    ("code-review", CallTarget::Mode(Mode::CodeReview)),
    ("ultrapilot", CallTarget::Mode(Mode::Ultrapilot)),
    ("ultrawork", CallTarget::Mode(Mode::Ultrawork)),
    ("ultraqa", CallTarget::Mode(Mode::Ultraqa)),
    ("ecomode", CallTarget::Mode(Mode::Ecomode)),
    ("pipeline", CallTarget::Mode(Mode::Pipeline)),
    ("swarm", CallTarget::Mode(Mode::Swarm)),
    ("team", CallTarget::Mode(Mode::Team)),
    ("ulw", CallTarget::Mode(Mode::Ultrawork)),
    ("cancel", CallTarget::Cancel),
];

/// The precedence of modes (modes.md 5.4). Cancel precedes all of them.
pub const PRIORITY: [Mode; 11] = [
    Mode::Autopilot,
    Mode::Ralph,
    Mode::Team,
    Mode::Ralplan,
    Mode::CodeReview,
    Mode::Ultraqa,
    Mode::Pipeline,
    Mode::Ultrapilot,
    Mode::Swarm,
    Mode::Ultrawork,
    Mode::Ecomode,
];

/// A phrase of hosts.md 3.
#[derive(Debug)]
pub struct Phrase {
    /// What it calls.
    pub target: CallTarget,
    /// Its words.
    pub words: &'static [&'static str],
    /// Whether it is a name or part of a request.
    pub kind: PhraseKind,
}

/// The kind of a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhraseKind {
    /// A name, which a person can also talk about.
    Name,
    /// The words of a request.
    Speech,
}

const fn name(mode: Mode, words: &'static [&'static str]) -> Phrase {
    Phrase { target: CallTarget::Mode(mode), words, kind: PhraseKind::Name }
}

const fn speech(mode: Mode, words: &'static [&'static str]) -> Phrase {
    Phrase { target: CallTarget::Mode(mode), words, kind: PhraseKind::Speech }
}

/// The phrases of modes, in the order of [`PRIORITY`].
pub const PHRASES: [Phrase; 25] = [
    name(Mode::Autopilot, &["autopilot"]),
    name(Mode::Autopilot, &["auto", "pilot"]),
    name(Mode::Autopilot, &["autonomous"]),
    speech(Mode::Autopilot, &["build", "me"]),
    speech(Mode::Autopilot, &["create", "me"]),
    speech(Mode::Autopilot, &["make", "me"]),
    speech(Mode::Autopilot, &["i", "want", "a"]),
    speech(Mode::Autopilot, &["i", "want", "an"]),
    speech(Mode::Autopilot, &["handle", "it", "all"]),
    speech(Mode::Autopilot, &["full", "auto"]),
    name(Mode::Ralph, &["ralph"]),
    speech(Mode::Ralph, &["don't", "stop", "until"]),
    speech(Mode::Ralph, &["do", "not", "stop", "until"]),
    speech(Mode::Ralph, &["keep", "going", "until"]),
    speech(Mode::Ralph, &["must", "complete"]),
    name(Mode::Ralplan, &["ralplan"]),
    speech(Mode::Ralplan, &["consensus", "plan"]),
    name(Mode::Ultraqa, &["ultraqa"]),
    speech(Mode::Ultraqa, &["until", "the", "tests", "pass"]),
    name(Mode::Ultrawork, &["ultrawork"]),
    name(Mode::Ultrawork, &["ulw"]),
    name(Mode::Ecomode, &["ecomode"]),
    name(Mode::Ecomode, &["eco", "mode"]),
    speech(Mode::Ecomode, &["save", "tokens"]),
    speech(Mode::Ecomode, &["budget", "mode"]),
];

/// Single words that cancel.
pub const CANCEL_WORDS: &str = "cancelomx stopomx cancelomc stopomc";

/// Phrases of several words that cancel.
pub const CANCEL_PHRASES: [&[&str]; 3] =
    [&["stop", "omx"], &["cancel", "omx"], &["cancel", "the", "run"]];

/// Phrases of a person who only wants to explore.
pub const EXPLORING: [&[&str]; 7] = [
    &["just", "explain"],
    &["draft", "only"],
    &["only", "draft"],
    &["what", "would", "you", "suggest"],
    &["what", "do", "you", "suggest"],
    &["brainstorm"],
    &["brainstorming"],
];

/// Elements in which hosts wrap their own text.
pub const WRAPPERS: [&str; 22] = [
    "system-reminder",
    "system",
    "task-notification",
    "command-name",
    "command-message",
    "command-args",
    "command-contents",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "user-prompt-submit-hook",
    "user-memory-input",
    "environment_context",
    "user_instructions",
    "turn_aborted",
    "subagent_notification",
    "session-restore",
    "tool_result",
    "omx-context",
];

/// Starts of bracketed lines that omx, a related program or a host inserts.
pub const BRACKETED: [&str; 20] = [
    "[omx",
    "[omc",
    "[magic keyword",
    "[ralph ",
    "[autopilot ",
    "[ultrawork ",
    "[ultraqa ",
    "[team ",
    "[swarm ",
    "[pipeline ",
    "[ultrapilot ",
    "[ultragoal ",
    "[ralplan ",
    "[ecomode ",
    "[mode",
    "[tool error",
    "[request interrupted",
    "[session restore",
    "[system",
    "[hook",
];

/// Starts of lines that a host inserts before the text of a hook or a command.
pub const PREAMBLES: [&str; 12] = [
    "stop hook feedback",
    "stop hook error",
    "stop hook blocking",
    "userpromptsubmit hook",
    "sessionstart hook",
    "sessionstart:",
    "pretooluse hook",
    "pretooluse:",
    "posttooluse hook",
    "posttooluse:",
    "hook feedback",
    "caveat: the messages below were generated",
];

/// Starts of a host's summary of an earlier conversation.
pub const SUMMARIES: [&str; 3] = [
    "this session is being continued from a previous conversation",
    "another language model started to solve this problem",
    "your task is to create a detailed summary of the conversation",
];

/// Words after a name that make it the subject or object of a sentence.
pub const SUBJECT_OF: &str = "\
    is isn't was wasn't are aren't were weren't be been does doesn't did didn't has hasn't had \
    hadn't can't cannot couldn't will won't would wouldn't should shouldn't may might must keeps \
    kept seems works fails crashes hangs hung loops stops starts runs ran gets got goes went \
    says said means needs wants takes took makes made broke breaks asks writes wrote ignores \
    deletes finishes exits dies comes came gives gave returns skips refuses restarts continues \
    remains stays stands appears behaves lets allows requires spawns launches supports waits \
    thinks claims forgets forgot plans executes implements verifies lost left ate eats not nor \
    vs versus or than mode skill command keyword working running looping hanging stuck being \
    doing getting going there ist war wird läuft lief geht ging funktioniert bleibt stoppt hängt \
    startet macht oder soll kann nicht est était ne n'est fait marche fonctionne peut ou es está \
    fue hace funciona puede sigue o se è non funziona é não foi это не был работает завис \
    зависает падает или запускается \
    responds redirects displays renders throws accepts expects sends serves prints produces \
    creates opens closes leads contains includes loads leaks triggers activates resolves yields \
    consumes burns spends deadlocks segfaults panics ends kills drops loses misses shows answers \
    times reports sits sat began begins fell falls";

/// The same in scripts that use no spaces or put particles after a name.
pub const SUBJECT_SCRIPTS: &[&str] = &[
    "是",
    "不",
    "没",
    "沒",
    "为什么",
    "為什麼",
    "为何",
    "怎么",
    "怎麼",
    "什么",
    "什麼",
    "和",
    "跟",
    "还是",
    "還是",
    "模式",
    "命令",
    "とは",
    "という",
    "って",
    "モード",
    "コマンド",
    "모드",
];

/// Japanese particles after a name. They count if no kana follows.
pub const KANA_PARTICLES: &[char] = &['は', 'が', 'の', 'も', 'を', 'と', 'で'];

/// Korean particles after a name, separated by a space.
pub const HANGUL_PARTICLES: &str = "은 는 이 가 을 를 의 도 란 이란 와 과 로";

/// Adverbs after a name: the next word shows whether it is a statement.
pub const ADVERBS: &str = "\
    always never still just only also sometimes often already actually again now then simply \
    really usually suddenly apparently too even basically";

/// Words that cannot end a sentence: the next line continues it.
pub const OPEN_ENDED: &str = "\
    the a an to of with without like use using run running that whether if and or not don't \
    doesn't didn't never called named typed type typing say said saying says about via by as \
    than vs is was are were does did when why how what which for in on at from into its their my \
    your our this these between because wrote write entered enter tried try ran invoke call \
    calling mention mentions e.g der die das mit ohne nicht kein und oder ob le la les avec sans \
    pas et ou que el con sin y и или не без что \
    writes types runs enters tries sends sent posts invoked somebody someone nobody people";

/// Those of [`OPEN_ENDED`] that can end a sentence after all.
pub const CLOSING_TOO: &str = "on in for at by to of from about with into is was are were did does not \
    this these that";

/// Headings of problem reports.
pub const REPORT_HEADINGS: [&str; 13] = [
    "steps to reproduce",
    "to reproduce",
    "reproduction",
    "repro",
    "expected",
    "actual",
    "describe the bug",
    "bug report",
    "environment",
    "what happened",
    "observed",
    "version",
    "logs",
];

/// Headers of a pasted mail.
pub const MAIL_HEADERS: [&str; 6] = ["from:", "to:", "date:", "subject:", "sent:", "cc:"];

/// Starts of a text that reports what happened after a call.
pub const LOOKING_BACK: [&str; 9] = [
    "and nothing",
    "but nothing",
    "and it ",
    "but it ",
    "that's what",
    "that is what",
    "this is what",
    "^",
    "which ",
];

/// Words before a colon that introduce a task, not an example.
pub const LEADING_IN: &str =
    "task now then next so todo please go do ok okay aufgabe tâche tarea 任务 задача";

/// Words after a name and "no" that say what the mode does not do.
pub const NO_LONGER: &str = "longer such es está fue ha hace se me funciona para termina arranca \
    responde va puede sirve";

/// Words after several names that make a statement about all of them.
pub const OF_BOTH: &str = "both each all differ share need have";

/// Things that can have a mode's name: `$pipeline variable`, `/team page`.
pub const NAMED_THINGS: &str = "variable var parameter endpoint route page handler syntax prefix \
    token option flag call calls function object property";

/// Placeholders of a task.
pub const TASK_PLACES: [&str; 9] =
    ["TASK", "PROMPT", "ARGS", "TEXT", "OPTIONS", "NAME", "GOAL", "DESCRIPTION", "ARGUMENTS"];

/// First words of a question, with or without a question mark.
pub const WONDERING: &str = "what what's why how how's when where who which whose";

/// First words of a question that ends with a question mark.
pub const ASKING: &str = "\
    what what's whats why how how's when where who which whose is isn't are aren't was were does \
    doesn't do did didn't has have should can could would will may am wie warum wieso wann \
    welche welcher kann ist comment pourquoi quoi quel quelle qué que cómo como por cuál che \
    come perché что как почему зачем какой";

/// First words of a request in the form of a question.
pub const REQUESTS: &str = "please pls bitte kannst könntest würdest peux pourrais pouvez puedes \
    podrías puoi potresti pode poderia можешь пожалуйста";

/// The same in scripts without spaces.
pub const REQUEST_SCRIPTS: [&str; 5] = ["请", "請", "能不能", "能否", "可以"];

/// Verbs that ask for an answer, not for work.
pub const TELLING: &str = "explain tell describe clarify say";

/// Words that refer to the mode in a question about it.
pub const ITSELF: &str = "it this that these those you i mode command skill keyword";

/// Words before a phrase that negate it.
pub const NEGATIONS: &str = "\
    not no don't never without avoid disable doesn't didn't won't can't cannot shouldn't isn't \
    wasn't stop cancel abort kill quit skip instead remove rather except nor neither nicht kein \
    keine keinen ohne pas sans sin senza non nunca não sem не без";

/// Words directly before a name that make it a mention.
pub const ABOUT: &str = "\
    about called named word words keyword term name explain describe document rename mention \
    mentions mentioned says said typed type typing like of our my their his her from s an a \
    vs versus between than read why how what when which is was if whether because that ask told \
    tell thank thanks hi hello";

/// Words directly after a name that make it part of another name.
pub const THING: &str = "\
    keyword skill hook hooks plugin code file files state script parser module docs \
    documentation command prompt function class test feature bug issue error vehicle vehicles \
    car cars agents agent system systems driving robot robots drone drones software section page \
    button app";
