//! Are known layouts read, others refused, and failures never empty?

use std::{fs, path::Path};

use harness::ReachError;
use receipts::{MessageId, ThreadId};
use rusqlite::Connection;
use tempfile::TempDir;

use super::Database;

const LAYOUT: &str = "
    CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT,
        title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
        time_updated INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
        time_updated INTEGER, data TEXT);
    INSERT INTO session VALUES ('ses_1', 'p', NULL, '/repo', 't', '1.18.33', 5, 6),
        ('ses_2', 'p', 'ses_1', '/repo', 'child', '1.18.33', 7, 8);
    INSERT INTO message VALUES
        ('msg_b', 'ses_1', 10, 10, '{\"role\":\"user\"}'),
        ('msg_a', 'ses_1', 20, 20, '{\"role\":\"assistant\"}'),
        ('msg_c', 'ses_1', 20, 20, 'no json'),
        ('msg_d', 'ses_1', 30, 30, '{}'),
        ('msg_x', 'ses_2', 1, 1, '{}');
    INSERT INTO part VALUES ('prt_2', 'msg_b', 'ses_1', 1, 1, '{\"type\":\"text\"}'),
        ('prt_1', 'msg_b', 'ses_1', 2, 2, '{\"type\":\"file\"}');
";

fn database(sql: &str) -> (TempDir, Result<Database, ReachError>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode.db");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let database = Database::open(&path);
    (folder, database)
}

fn thread(id: &str) -> ThreadId {
    ThreadId::new(id).unwrap()
}

/// A message as its id and JSON.
fn found(message: super::StoredMessage) -> (String, Option<String>) {
    (message.id, message.json.map(|json| json.get().to_owned()))
}

#[test]
fn messages_come_in_the_servers_order_and_shape_page_by_page() {
    let (_folder, database) = database(LAYOUT);
    let database = database.unwrap();
    let mut pages = Vec::new();
    let mut before = None;
    loop {
        let page = database.page(&thread("ses_1"), before.as_ref(), 2).unwrap();
        pages.push(page.messages.into_iter().map(found).collect::<Vec<_>>());
        before = page.older;
        if before.is_none() {
            break;
        }
    }
    let message = |id: &str, json: &str| (id.to_owned(), Some(json.to_owned()));
    let expected = [
        vec![
            ("msg_c".to_owned(), None),
            message("msg_d", r#"{"info":{"id":"msg_d","sessionID":"ses_1"},"parts":[]}"#),
        ],
        vec![
            message(
                "msg_b",
                concat!(
                    r#"{"info":{"id":"msg_b","sessionID":"ses_1","role":"user"},"parts":["#,
                    r#"{"id":"prt_1","sessionID":"ses_1","messageID":"msg_b","type":"file"},"#,
                    r#"{"id":"prt_2","sessionID":"ses_1","messageID":"msg_b","type":"text"}]}"#
                ),
            ),
            message(
                "msg_a",
                r#"{"info":{"id":"msg_a","sessionID":"ses_1","role":"assistant"},"parts":[]}"#,
            ),
        ],
    ];
    assert_eq!(pages, expected);
}

#[test]
fn single_rows_are_read() {
    let (_folder, database) = database(LAYOUT);
    let database = database.unwrap();
    let message = |id: &str| database.message(&thread("ses_1"), &MessageId::new(id).unwrap());
    let expected = r#"{"info":{"id":"msg_d","sessionID":"ses_1"},"parts":[]}"#;
    let found = message("msg_d").unwrap().map(found);
    assert_eq!(found, Some(("msg_d".to_owned(), Some(expected.to_owned()))));
    assert!(message("msg_x").unwrap().is_none(), "it belongs to another session");
    let child = r#"{"id":"ses_2","parentID":"ses_1","directory":"/repo","title":"child","version":"1.18.33","time":{"created":7}}"#;
    let session = database.session(&thread("ses_2")).unwrap().unwrap();
    assert_eq!(session.get(), child);
    let children = database.children(&thread("ses_1")).unwrap();
    assert_eq!(children.iter().map(|json| json.get()).collect::<Vec<_>>(), [child]);
    assert!(database.session(&thread("ses_3")).unwrap().is_none());
}

#[test]
fn other_layouts_are_refused_with_words() {
    let newer = format!("{LAYOUT} CREATE TABLE session_v2 (id TEXT);");
    let cases = [
        (
            newer.as_str(),
            "it was written by OpenCode 2.x, whose tables are not known; only those of 1.x are read",
        ),
        ("CREATE TABLE session (id TEXT);", "it has no table message, as OpenCode 1.x has"),
    ];
    for (sql, expected) in cases {
        let (_folder, database) = database(sql);
        let Err(ReachError::Unsupported { why, .. }) = database else {
            panic!("{database:?}");
        };
        assert_eq!(why, expected);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Database::open(&folder.path().join("none.db")).unwrap_err();
    assert!(matches!(missing, ReachError::Unreachable { .. }), "{missing}");
    let noise = folder.path().join("noise.db");
    fs::write(&noise, [7_u8; 5000]).unwrap();
    let error = Database::open(Path::new(&noise)).unwrap_err();
    assert!(matches!(error, ReachError::Protocol { .. }), "{error}");
}
