//! What an agent may do unasked: one table for every agent program.

/// What the person allows agents to do (`--allow`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AllowLevel {
    /// Edit files in its folder.
    Edits,
    /// Also run commands in its folder.
    Commands,
    /// Everything: the program's own checks are off.
    All,
}

impl AllowLevel {
    /// All of them, the least first.
    pub const ALL: [Self; 3] = [Self::Edits, Self::Commands, Self::All];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Edits => "edits",
            Self::Commands => "commands",
            Self::All => "all",
        }
    }

    /// The value of a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|allow| allow.as_str() == word)
    }
}

/// Where something would happen, seen from the agent's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetLocation {
    /// Inside it.
    Inside,
    /// Outside, or nobody can tell.
    Outside,
}

/// What an agent asks leave for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalRequest {
    /// To change files.
    Edit {
        /// Which, as the agent named them.
        paths: Vec<String>,
        /// Where they all are.
        location: TargetLocation,
    },
    /// To run a command.
    Command {
        /// The command line.
        command: String,
        /// Where it would run. Outside also: without the program's sandbox.
        location: TargetLocation,
    },
    /// To use a tool of an MCP server.
    Tool {
        /// The server's name.
        server: String,
        /// The tool's name.
        tool: String,
    },
    /// Anything else, in words.
    Other {
        /// The words.
        what: String,
    },
}

/// The policy's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Yes.
    Granted,
    /// Only the person can say.
    NeedsPerson,
}

/// The name of our own MCP server, whose tools need no leave.
pub const OWN_SERVER: &str = "omx";

/// Whether an agent may do what it asks for.
pub fn permission_for(allow: AllowLevel, ask: &ApprovalRequest) -> Permission {
    let granted = match (allow, ask) {
        (AllowLevel::All, _) => true,
        (_, ApprovalRequest::Tool { server, .. }) => server == OWN_SERVER,
        (_, ApprovalRequest::Edit { location: reach, .. }) => *reach == TargetLocation::Inside,
        (AllowLevel::Commands, ApprovalRequest::Command { location: reach, .. }) => {
            *reach == TargetLocation::Inside
        }
        (AllowLevel::Edits, ApprovalRequest::Command { .. })
        | (_, ApprovalRequest::Other { .. }) => false,
    };
    if granted { Permission::Granted } else { Permission::NeedsPerson }
}
