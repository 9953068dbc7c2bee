//! As much of HTTP/1.1 as the clients need: one request a connection, a body
//! with a length or in chunks, an answer at once or as a stream of events.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::Value;

/// A request as it came.
#[derive(Debug)]
pub(super) struct HttpRequest {
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// Reads a request; `None` if the client closed without one.
pub(super) fn read(stream: &TcpStream) -> io::Result<Option<HttpRequest>> {
    let mut reader = BufReader::new(stream);
    let Some(first) = line(&mut reader)? else { return Ok(None) };
    let mut words = first.split_ascii_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, first));
    };
    let mut headers = BTreeMap::new();
    while let Some(text) = line(&mut reader)?.filter(|text| !text.is_empty()) {
        if let Some((name, value)) = text.split_once(':') {
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    if headers.get("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        (&mut &*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = body(&mut reader, &headers)?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    Ok(Some(HttpRequest { method, path, query, headers, body }))
}

fn line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut text = String::new();
    let read = reader.read_line(&mut text)?;
    Ok((read > 0).then(|| text.trim_end_matches(['\r', '\n']).to_owned()))
}

fn body(reader: &mut impl BufRead, headers: &BTreeMap<String, String>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if headers.get("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        loop {
            let size = line(reader)?.unwrap_or_default();
            let size = size.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            reader.by_ref().take(size).read_to_end(&mut body)?;
            line(reader)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = headers.get("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    reader.take(length).read_to_end(&mut body)?;
    Ok(body)
}

/// An error if the client has gone away without waiting for its answer.
pub(super) fn is_there(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false)?;
    match peeked {
        Ok(0) => Err(io::ErrorKind::ConnectionAborted.into()),
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}

/// Answers with JSON, or with nothing at all.
pub(super) fn answer(
    mut stream: &TcpStream,
    status: u16,
    headers: &[(String, String)],
    body: Option<&Value>,
) -> io::Result<()> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut head = format!("HTTP/1.1 {status} Scripted\r\nconnection: close\r\n");
    if !body.is_empty() {
        head.push_str("content-type: application/json\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(head.as_bytes())
}

/// A stream of server-sent events. The body goes in chunks, so that a client
/// can tell a stream that broke from one that ended.
#[derive(Debug)]
pub(super) struct EventStream<'a>(&'a TcpStream);

impl<'a> EventStream<'a> {
    pub fn start(mut stream: &'a TcpStream) -> io::Result<Self> {
        stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
              connection: close\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        Ok(Self(stream))
    }

    pub fn send(&mut self, name: Option<&str>, data: &Value) -> io::Result<()> {
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        let event = format!("{name}data: {data}\n\n");
        self.0.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
    }

    pub fn end(self) -> io::Result<()> {
        (&mut &*self.0).write_all(b"0\r\n\r\n")
    }

    /// Breaks the connection in the middle.
    pub fn cut(self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Both)
    }
}
