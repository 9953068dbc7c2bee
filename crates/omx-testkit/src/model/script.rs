//! Scripts: what the model says and does, turn by turn.

use std::time::Duration;

use serde_json::Value;

/// The turns of one scripted model, chosen by `[[script:NAME]]` in a prompt or
/// by phrases of it.
#[derive(Debug, Clone)]
pub struct ModelScript {
    pub(super) name: String,
    pub(super) phrases: Vec<String>,
    pub(super) turns: Vec<ScriptTurn>,
    pub(super) repeats: bool,
    pub(super) toolless: bool,
}

/// One answer of the model: what is in it, and how it arrives.
#[derive(Debug, Clone, Default)]
pub struct ScriptTurn {
    pub(super) blocks: Vec<ReplyBlock>,
    pub(super) failure: Option<ScriptedFailure>,
    pub(super) delay: Duration,
    pub(super) follows: Option<(String, usize)>,
    pub(super) pace: Duration,
    pub(super) usage: ScriptedUsage,
}

/// Token figures of an answer.
#[derive(Debug, Clone, Copy)]
pub struct ScriptedUsage {
    /// Tokens the model read.
    pub input: u64,
    /// Tokens the model wrote.
    pub output: u64,
}

impl Default for ScriptedUsage {
    fn default() -> Self {
        Self { input: 1000, output: 20 }
    }
}

/// One block of an answer, in words of no vendor.
#[derive(Debug, Clone)]
pub(super) enum ReplyBlock {
    Say(String),
    Shell(String),
    Write { path: String, content: String },
    Patch(String),
    Mcp { server: String, tool: String, arguments: Value },
    Call { namespace: Option<String>, name: String, arguments: Value },
    Answer(Value),
}

impl ModelScript {
    /// An empty script.
    pub fn named(name: &str) -> Self {
        let (name, phrases, turns) = (name.to_owned(), Vec::new(), Vec::new());
        Self { name, phrases, turns, repeats: false, toolless: false }
    }

    /// Plays the script for prompts that contain this phrase and all its others. A mark
    /// wins, then the script with the most phrases.
    pub fn when(mut self, phrase: &str) -> Self {
        self.phrases.push(phrase.to_owned());
        self
    }

    /// Adds a turn.
    pub fn turn(mut self, turn: ScriptTurn) -> Self {
        self.turns.push(turn);
        self
    }

    /// A turn that is text.
    pub fn say(self, text: &str) -> Self {
        self.turn(ScriptTurn::new().say(text))
    }

    /// A turn that runs a shell command with the client's own tool.
    pub fn shell(self, command: &str) -> Self {
        self.turn(ScriptTurn::new().shell(command))
    }

    /// A turn that writes a new file with the client's own tool.
    pub fn write(self, path: &str, content: &str) -> Self {
        self.turn(ScriptTurn::new().write(path, content))
    }

    /// A turn that applies a patch (Codex only).
    pub fn patch(self, patch: &str) -> Self {
        self.turn(ScriptTurn::new().patch(patch))
    }

    /// A turn that calls a tool of an MCP server.
    pub fn mcp(self, server: &str, tool: &str, arguments: Value) -> Self {
        self.turn(ScriptTurn::new().mcp(server, tool, arguments))
    }

    /// A turn that calls any tool by its name on the wire.
    pub fn call(self, name: &str, arguments: Value) -> Self {
        self.turn(ScriptTurn::new().call(name, arguments))
    }

    /// A turn that is a structured answer, in the way the client asks for one.
    pub fn answer(self, value: Value) -> Self {
        self.turn(ScriptTurn::new().answer(value))
    }

    /// A turn that never succeeds.
    pub fn fail(self, failure: ScriptedFailure) -> Self {
        self.turn(ScriptTurn::new().failing(failure))
    }

    /// The last turn is given again for every further request.
    pub fn repeating(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// The script also answers requests without tools, which otherwise count
    /// as a client's side requests (titles and the like).
    pub fn without_tools(mut self) -> Self {
        self.toolless = true;
        self
    }

    /// Whether a prompt is meant for it, by its phrases.
    pub(super) fn fits(&self, text: &str) -> bool {
        !self.phrases.is_empty() && self.phrases.iter().all(|phrase| text.contains(phrase))
    }

    /// The turn of this step.
    pub(super) fn at(&self, step: usize) -> Option<&ScriptTurn> {
        self.turns.get(step).or_else(|| self.turns.last().filter(|_| self.repeats))
    }
}

impl ScriptTurn {
    /// A turn with nothing in it yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn block(mut self, block: ReplyBlock) -> Self {
        self.blocks.push(block);
        self
    }

    /// Adds text.
    pub fn say(self, text: &str) -> Self {
        self.block(ReplyBlock::Say(text.to_owned()))
    }

    /// Adds a shell command.
    pub fn shell(self, command: &str) -> Self {
        self.block(ReplyBlock::Shell(command.to_owned()))
    }

    /// Adds the writing of a new file.
    pub fn write(self, path: &str, content: &str) -> Self {
        self.block(ReplyBlock::Write { path: path.to_owned(), content: content.to_owned() })
    }

    /// Adds a patch (Codex only).
    pub fn patch(self, patch: &str) -> Self {
        self.block(ReplyBlock::Patch(patch.to_owned()))
    }

    /// Adds a call of an MCP server's tool.
    pub fn mcp(self, server: &str, tool: &str, arguments: Value) -> Self {
        self.block(ReplyBlock::Mcp { server: server.to_owned(), tool: tool.to_owned(), arguments })
    }

    /// Adds a call of any tool by its name on the wire.
    pub fn call(self, name: &str, arguments: Value) -> Self {
        self.block(ReplyBlock::Call { namespace: None, name: name.to_owned(), arguments })
    }

    /// Adds a call of a tool inside one of Codex's namespaces.
    pub fn call_in(self, namespace: &str, name: &str, arguments: Value) -> Self {
        let namespace = Some(namespace.to_owned());
        self.block(ReplyBlock::Call { namespace, name: name.to_owned(), arguments })
    }

    /// Adds a structured answer.
    pub fn answer(self, value: Value) -> Self {
        self.block(ReplyBlock::Answer(value))
    }

    /// The turn fails this way first, or always.
    pub fn failing(mut self, failure: ScriptedFailure) -> Self {
        self.failure = Some(failure);
        self
    }

    /// Time before the first byte.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Answers only when this turn of another script has been answered, so that
    /// agents at work at the same time meet in one order.
    pub fn following(mut self, script: &str, step: usize) -> Self {
        self.follows = Some((script.to_owned(), step));
        self
    }

    /// Streams text word by word with this time between the words.
    pub fn slowly(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// The token figures of this turn.
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = ScriptedUsage { input, output };
        self
    }
}

/// How a turn fails. Without [`Failure::times`] it fails always.
#[derive(Debug, Clone)]
pub struct ScriptedFailure {
    pub(super) how: FailureMode,
    pub(super) times: Option<u32>,
    pub(super) message: String,
    pub(super) code: Option<String>,
    pub(super) retry_after: Option<u64>,
    pub(super) resets_at: Option<u64>,
    pub(super) headers: Vec<(String, String)>,
}

/// What the client meets.
#[derive(Debug, Clone, Copy)]
pub(super) enum FailureMode {
    Status(u16),
    Cut { events: usize },
}

impl ScriptedFailure {
    fn new(how: FailureMode) -> Self {
        Self {
            how,
            times: None,
            message: "scripted failure".to_owned(),
            code: None,
            retry_after: None,
            resets_at: None,
            headers: Vec::new(),
        }
    }

    /// An error with this HTTP status, in the vendor's form.
    pub fn status(status: u16) -> Self {
        Self::new(FailureMode::Status(status))
    }

    /// The connection breaks after so many events of the stream.
    pub fn cut_after(events: usize) -> Self {
        Self::new(FailureMode::Cut { events })
    }

    /// Fails so many times, counted over all who play this turn, then succeeds.
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// The error's text.
    pub fn message(mut self, message: &str) -> Self {
        self.message = message.to_owned();
        self
    }

    /// The error's type (OpenAI, Anthropic) or status word (Gemini).
    pub fn code(mut self, code: &str) -> Self {
        self.code = Some(code.to_owned());
        self
    }

    /// Seconds to wait, as header `retry-after` (Gemini: also in the body).
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// When the limit ends, in seconds since 1970, where the vendor puts it.
    pub fn resets_at(mut self, epoch: u64) -> Self {
        self.resets_at = Some(epoch);
        self
    }

    /// Any header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}
