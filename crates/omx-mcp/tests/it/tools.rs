//! Tools that do what a test tells them to.

use std::collections::BTreeMap;
use std::sync::{Condvar, LazyLock, Mutex};
use std::time::Duration;

use omx_kernel::Value;
use omx_mcp::{McpTool, ToolAnnotations, ToolGroup, ToolScheduling};
use omx_ops::CallProgress;

/// What happens in the tools, by the name of the gate a call was given.
#[derive(Default)]
pub struct ToolGate {
    /// Calls that have begun.
    pub begun: usize,
    /// Calls that have seen that they were cancelled.
    pub cancelled: usize,
    is_open: bool,
}

static GATES: LazyLock<Mutex<BTreeMap<String, ToolGate>>> = LazyLock::new(Default::default);
static CHANGED: Condvar = Condvar::new();

fn change(name: &str, change: impl FnOnce(&mut ToolGate)) {
    change(GATES.lock().unwrap().entry(name.to_owned()).or_default());
    CHANGED.notify_all();
}

/// Lets the calls at this gate finish.
pub fn open(name: &str) {
    change(name, |gate| gate.is_open = true);
}

/// Waits until the gate is in that state.
pub fn await_gate(name: &str, is_there: impl Fn(&ToolGate) -> bool) {
    let mut gates = GATES.lock().unwrap();
    while !is_there(gates.entry(name.to_owned()).or_default()) {
        let waited = CHANGED.wait_timeout(gates, Duration::from_secs(60)).unwrap();
        assert!(!waited.1.timed_out(), "nothing happened at {name}");
        gates = waited.0;
    }
}

const fn tool(
    name: &'static str,
    pace: ToolScheduling,
    run: fn(&omx_ops::Context<'_>, omx_ops::RequestFields) -> Result<Value, omx_kernel::Refusal>,
) -> McpTool {
    McpTool {
        name,
        group: ToolGroup::State,
        description: "A tool of the tests",
        annotations: ToolAnnotations::READS,
        pace,
        schema: || Value::object(Vec::new()),
        run,
    }
}

pub static TEST_TOOLS: [McpTool; 3] = [
    // Waits until its gate opens or it is cancelled.
    tool("wait", ToolScheduling::Waits, |context, input| {
        let name = input.text("gate")?.unwrap_or_default().to_owned();
        change(&name, |gate| gate.begun += 1);
        loop {
            if context.caller.is_cancelled() {
                change(&name, |gate| gate.cancelled += 1);
                return Ok(Value::string("stopped"));
            }
            let gates = GATES.lock().unwrap();
            if gates.get(&name).is_some_and(|gate| gate.is_open) {
                return Ok(Value::record([("gate", Value::string(&name))]));
            }
            drop(CHANGED.wait_timeout(gates, Duration::from_millis(5)).unwrap());
        }
    }),
    // Reports progress 1, 2, 2 and 3.
    tool("steps", ToolScheduling::Waits, |context, _| {
        for done in [1, 2, 2, 3] {
            let message = &format!("step {done}");
            context.caller.report_progress(CallProgress { done, total: Some(3), message });
        }
        Ok(Value::record([("steps", Value::integer(3))]))
    }),
    tool("quick", ToolScheduling::Quick, |_, _| Ok(Value::record([("ok", Value::bool(true))]))),
];
