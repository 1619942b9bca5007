//! Does the parser keep to the standard, wherever the bytes are cut?

use proptest::{collection::vec, prelude::*};

use super::{SseError, SseEvent, SseParser};

fn event(data: &str) -> SseEvent {
    SseEvent { event: "message".to_owned(), data: data.to_owned(), id: String::new() }
}

fn parse(stream: &[u8]) -> Vec<SseEvent> {
    let mut out = Vec::new();
    SseParser::new(usize::MAX).feed(stream, &mut out).unwrap();
    out
}

fn check(stream: &str, expected: &[SseEvent]) {
    assert_eq!(parse(stream.as_bytes()), expected, "{stream:?}");
}

#[test]
fn the_examples_of_the_standard_are_read() {
    check("data: YHOO\ndata: +2\ndata: 10\n\n", &[event("YHOO\n+2\n10")]);
    let first = SseEvent { id: "1".to_owned(), ..event("first event") };
    check(
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
        &[first, event("second event")],
    );
    // An event whose data is the empty string is dispatched by nobody who follows the algorithm
    // step by step: an empty data buffer ends it.
    check("data\n\ndata\ndata\n\ndata:\n", &[event("\n")]);
    check("data:test\n\ndata: test\n\n", &[event("test"), event("test")]);
}

#[test]
fn every_line_end_and_a_byte_order_mark_are_read() {
    check("\u{feff}data: a\r\rdata: b\r\n\r\ndata: c\n\n", &[event("a"), event("b"), event("c")]);
    check("\u{feff}\u{feff}data: a\n\n", &[]);
}

#[test]
fn fields_other_than_data_are_read() {
    let named = SseEvent { event: "tick".to_owned(), ..event("x") };
    check("event: tick\ndata: x\n\ndata: y\n\n", &[named, event("y")]);
    check("event: tick\n\ndata: y\n\n", &[event("y")]);
    check("id: a\0b\ndata: y\nunknown: z\n\n", &[event("y")]);
    let mut parser = SseParser::new(100);
    parser
        .feed(b"retry: 25\nretry: 1x\nretry:\nretry: 99999999999999999999\n", &mut Vec::new())
        .unwrap();
    assert_eq!(parser.retry_ms(), Some(25));
}

#[test]
fn an_event_that_grows_beyond_the_limit_is_an_error() {
    let too_large = Err(SseError::TooLarge { max: 64 });
    let mut one_line = SseParser::new(64);
    assert_eq!(one_line.feed(&[b'x'; 65], &mut Vec::new()), too_large);
    let mut many_lines = SseParser::new(64);
    let results: Vec<_> =
        (0..20).map(|_| many_lines.feed(b"data: 12345\n", &mut Vec::new())).collect();
    assert_eq!(results.iter().position(|result| *result == too_large), Some(10));
    let mut small = SseParser::new(64);
    let mut out = Vec::new();
    for _ in 0..1000 {
        small.feed(b"data: 12345\n\n", &mut out).unwrap();
    }
    assert_eq!(out.len(), 1000);
}

/// Streams in which everything happens that the standard speaks of.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("data: ".to_owned()),
        Just("data".to_owned()),
        Just("event: e".to_owned()),
        Just("id: 7".to_owned()),
        Just(": comment".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("\r".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\n\n".to_owned()),
        "[ :a-zé€😀]{0,6}",
    ];
    let bytes = prop_oneof![9 => piece.prop_map(String::into_bytes), 1 => vec(any::<u8>(), 0..4)];
    vec(bytes, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn wherever_the_bytes_are_cut_the_events_are_the_same(
        stream in stream(),
        cuts in vec(0_usize..200, 0..20),
    ) {
        let mut parser = SseParser::new(usize::MAX);
        let mut found = Vec::new();
        let mut rest = &stream[..];
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            parser.feed(piece, &mut found).unwrap();
            rest = after;
        }
        parser.feed(rest, &mut found).unwrap();
        prop_assert_eq!(found, parse(&stream));
        let mut bytewise = Vec::new();
        let mut parser = SseParser::new(usize::MAX);
        for byte in &stream {
            parser.feed(std::slice::from_ref(byte), &mut bytewise).unwrap();
        }
        prop_assert_eq!(bytewise, parse(&stream));
    }

    #[test]
    fn data_comes_back_as_it_was_written(lines in vec("[^\r\n]{0,20}", 1..5)) {
        let stream: String = lines.iter().map(|line| format!("data: {line}\r\n")).collect();
        let data = lines.join("\n");
        let expected = if data.is_empty() { vec![] } else { vec![event(&data)] };
        prop_assert_eq!(parse((stream + "\r\n").as_bytes()), expected);
    }
}
