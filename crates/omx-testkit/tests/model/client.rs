//! The smallest client that can ask the scripted model something.

use std::io::{Read, Write};
use std::net::TcpStream;

use omx_testkit::model::ModelServer;
use serde_json::Value;

/// An answer of the server.
#[derive(Debug)]
pub struct HttpReply {
    pub status: u16,
    pub head: String,
    pub body: String,
    /// Whether the body came to its end.
    pub whole: bool,
}

impl HttpReply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The events of a stream: name and data.
    pub fn events(&self) -> Vec<(String, Value)> {
        let blocks = self.body.split("\n\n").filter(|block| !block.is_empty());
        blocks
            .map(|block| {
                let field = |name| block.lines().find_map(|line| line.strip_prefix(name));
                let data = serde_json::from_str(field("data: ").unwrap()).unwrap();
                (field("event: ").unwrap_or_default().to_owned(), data)
            })
            .collect()
    }

    /// The names of the events of a stream.
    pub fn names(&self) -> Vec<String> {
        self.events().into_iter().map(|(name, _)| name).collect()
    }

    pub fn has_header(&self, line: &str) -> bool {
        self.head.lines().any(|one| one.eq_ignore_ascii_case(line))
    }
}

/// Sends a request.
pub fn post(server: &ModelServer, path: &str, body: &Value) -> HttpReply {
    ask_with(server, "POST", path, "", body)
}

/// Sends a request with more header lines.
pub fn ask_with(
    server: &ModelServer,
    method: &str,
    path: &str,
    headers: &str,
    body: &Value,
) -> HttpReply {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let length = format!("content-length: {}\r\n", body.len());
    raw(server, &format!("{method} {path} HTTP/1.1\r\n{headers}{length}\r\n{body}"))
}

/// Sends bytes as they are.
pub fn raw(server: &ModelServer, request: &str) -> HttpReply {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut all = Vec::new();
    // A connection that breaks has given what it has given.
    let _ = stream.read_to_end(&mut all);
    let all = String::from_utf8(all).unwrap();
    let (head, rest) = all.split_once("\r\n\r\n").unwrap_or((&all, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let chunked = head.contains("transfer-encoding: chunked");
    let (body, whole) = if chunked { unchunked(rest) } else { (rest.to_owned(), status != 0) };
    HttpReply { status, head: head.to_owned(), body, whole }
}

fn unchunked(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    (body, false)
}
