//! Who owns the answers after an overflow, when the prompt had attachments? (rule F1)

use opencode_wire::{History, Translator};
use receipts::{Observation, Owner, Status, Thread};

/// The prompt is replayed with a text in the place of each of its media, as 1.18.33 does it, and
/// another prompt was queued while the summary was made.
const HISTORY: &str = r#"[
  {"info": {"id": "msg_p", "role": "user", "time": {"created": 1}}, "parts": [
    {"type": "text", "text": "what is in these?"},
    {"type": "file", "mime": "image/png", "filename": "cat.png", "url": "data:image/png;base64,"},
    {"type": "file", "mime": "application/pdf", "url": "data:application/pdf;base64,"}]},
  {"info": {"id": "msg_a", "role": "assistant", "parentID": "msg_p",
    "time": {"created": 2, "completed": 3}}, "parts": []},
  {"info": {"id": "msg_c", "role": "user", "time": {"created": 4}}, "parts": [
    {"type": "compaction", "auto": true, "overflow": true}]},
  {"info": {"id": "msg_s", "role": "assistant", "parentID": "msg_c", "summary": true,
    "finish": "stop", "time": {"created": 5, "completed": 9}}, "parts": [
    {"type": "step-start"}, {"type": "text", "text": "a summary"}]},
  {"info": {"id": "msg_q", "role": "user", "time": {"created": 7}}, "parts": [
    {"type": "text", "text": "and hurry"}]},
  {"info": {"id": "msg_r", "role": "user", "time": {"created": 10}}, "parts": [
    {"type": "text", "text": "what is in these?"},
    {"type": "text", "text": "[Attached image/png: cat.png]"},
    {"type": "text", "text": "[Attached application/pdf: file]"}]},
  {"info": {"id": "msg_b", "role": "assistant", "parentID": "msg_r", "finish": "stop",
    "time": {"created": 11, "completed": 12}}, "parts": [
    {"type": "step-start"}, {"type": "text", "text": "a cat and a paper"}]}
]"#;

#[test]
fn f1_a_replay_without_its_media_belongs_to_the_request() {
    let history = History::decode(HISTORY).unwrap();
    let translator = Translator::new("ses_1".to_owned().try_into().unwrap(), None);
    let mut thread = Thread::new("ses_1".to_owned().try_into().unwrap());
    for raw in history.snapshots.iter().flatten() {
        thread.observe(translator.raw(raw));
    }
    thread.observe(Observation::Owner(Owner::Idle));
    let receipts = thread.receipts();
    let told: Vec<_> = receipts
        .iter()
        .map(|receipt| {
            let ids = |ids: &[receipts::MessageId]| {
                ids.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>().join(" ")
            };
            let status = receipt.completion.status;
            (receipt.turn.as_str(), status, ids(&receipt.answers), ids(&receipt.generated))
        })
        .collect();
    let expected = [
        ("msg_p", Status::Completed, "msg_a msg_s msg_b".to_owned(), "msg_c msg_r".to_owned()),
        ("msg_q", Status::Absorbed, String::new(), String::new()),
    ];
    assert_eq!(told, expected);
    assert_eq!(receipts[1].completion.absorbed_by.as_ref().unwrap().as_str(), "msg_p");
}
