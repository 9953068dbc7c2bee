//! `state`: takes a request from flags, a file or standard input, and prints JSON.

use std::fs::File;
use std::io::{self, Read};

use omx_kernel::{Dialect, Refusal, RefusalCode, Value};
use omx_ops::{RequestFields, parse_fields};
use omx_store::MAX_DOCUMENT_BYTES;

use super::{set_flags, with_context};
use crate::cli::GlobalArgs;
use crate::cli_state::{StateInput, StateOperation};
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::relayed_call::{RelayedCall, relay_of_agent};

/// Runs a state operation.
pub fn run(operation: StateOperation, global: &GlobalArgs, by_name: Dialect) -> Exit {
    use StateOperation::{Clear, GetStatus, ListActive, Read, Write};
    let (Read(args) | Write(args) | Clear(args) | ListActive(args) | GetStatus(args)) = &operation;
    let format = Format::from_flag(args.json);
    with_context(global, by_name, format, |context| {
        let fields = request(args)?;
        let tool = match &operation {
            Write(_) => Some("state_write"),
            Clear(_) => Some("state_clear"),
            Read(_) | ListActive(_) | GetStatus(_) => None,
        };
        if let (Some(tool), Some(relay)) = (tool, relay_of_agent(global)?) {
            let relayed = RelayedCall { tool, arguments: Value::object(fields.into_fields()) };
            let print = |value: &Value| output::value(value, format);
            return relayed.send(&relay).map(|answer| answer.print(format, print));
        }
        let value = match operation {
            Read(_) => omx_ops::state_read(context, &fields.try_into()?),
            Write(_) => omx_ops::state_write(context, fields.try_into()?),
            Clear(_) => omx_ops::state_clear(context, &fields.try_into()?),
            ListActive(_) => omx_ops::state_list_active(context, &fields.try_into()?),
            GetStatus(_) => omx_ops::state_get_status(context, &fields.try_into()?),
        }?;
        Ok(output::value(&value, format))
    })
}

fn request(args: &StateInput) -> Result<RequestFields, Refusal> {
    let mut input = match (&args.input, &args.input_file) {
        (Some(text), _) if text == "-" => parse_fields(&read_all(io::stdin(), "standard input")?)?,
        (Some(text), _) => parse_fields(text)?,
        (None, Some(path)) => {
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| unreadable(&name, &error))?;
            parse_fields(&read_all(file, &name)?)?
        }
        (None, None) => RequestFields::default(),
    };
    let flags = [("mode", args.mode.as_ref()), ("session_id", args.session_id.as_ref())];
    set_flags(&mut input, &flags)?;
    Ok(input)
}

/// Reads a request. One byte more than allowed is enough to refuse it.
fn read_all(source: impl Read, name: &str) -> Result<String, Refusal> {
    let mut bytes = Vec::new();
    source
        .take(MAX_DOCUMENT_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(name, &error))?;
    if bytes.len() > MAX_DOCUMENT_BYTES {
        let why = format!("the input has more than {MAX_DOCUMENT_BYTES} bytes");
        return Err(Refusal::new(RefusalCode::TooLarge, why));
    }
    String::from_utf8(bytes).map_err(|_| Refusal::invalid_input(format!("{name} is not UTF-8")))
}

fn unreadable(name: &str, error: &io::Error) -> Refusal {
    Refusal::new(RefusalCode::Io, format!("cannot read {name}: {error}"))
}
