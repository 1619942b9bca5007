//! Does a real OpenCode run on the scripted model, and do both count the same?

use std::error::Error;

use serde::Deserialize;
use testkit::{
    agents,
    model::{CallKind, Ending, Gate, Key, Model, Reply, Served, Tally, Usage},
    opencode::{Home, OpenCode, PROVIDER, SMALL_MODEL, Setup},
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[derive(Debug, Deserialize)]
struct Session {
    id: String,
}

/// A message, as far as this test compares it.
#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Message {
    info: Info,
    parts: Vec<Part>,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Info {
    User,
    Assistant { finish: Option<String>, structured: Option<Structured> },
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Structured {
    answer: u64,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Part {
    Text {
        text: String,
    },
    StepFinish {
        tokens: Tokens,
    },
    Tool {
        tool: String,
        state: ToolState,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
struct ToolState {
    status: String,
}

/// OpenCode's counts: disjoint, unlike the provider's.
#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Tokens {
    input: u64,
    output: u64,
    reasoning: u64,
    cache: Cache,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Cache {
    read: u64,
}

/// Posts `body` to `route` and returns the answer, which must be a success.
async fn post<T: serde::de::DeserializeOwned>(
    server: &OpenCode,
    route: &str,
    body: String,
) -> Outcome<T> {
    let request = http().post(format!("{}{route}", server.url()));
    read(server, request.header("content-type", "application/json").body(body)).await
}

async fn get<T: serde::de::DeserializeOwned>(server: &OpenCode, route: &str) -> Outcome<T> {
    read(server, http().get(format!("{}{route}", server.url()))).await
}

async fn read<T: serde::de::DeserializeOwned>(
    server: &OpenCode,
    request: reqwest::RequestBuilder,
) -> Outcome<T> {
    let response = request.header("authorization", server.authorization()).send().await?;
    let (status, text) = (response.status(), response.text().await?);
    if !status.is_success() {
        return Err(format!("{status}: {text}").into());
    }
    Ok(serde_json::from_str(&text)?)
}

async fn create_session(server: &OpenCode, body: &str) -> Outcome<String> {
    Ok(post::<Session>(server, "/session", body.to_owned()).await?.id)
}

/// Posts a prompt and waits for its answer; `fields` are further JSON fields of the body.
async fn prompt(server: &OpenCode, session: &str, text: &str, fields: &str) -> Outcome<Message> {
    let text = serde_json::to_string(text)?;
    let body = format!(r#"{{{fields}"parts":[{{"type":"text","text":{text}}}]}}"#);
    post(server, &format!("/session/{session}/message"), body).await
}

fn kinds(calls: &[Served]) -> Vec<(CallKind, Option<Key>, Ending)> {
    let mut kinds: Vec<_> =
        calls.iter().map(|call| (call.asked.kind, call.key.clone(), call.ending)).collect();
    kinds.sort_by_key(|(kind, key, _)| (*kind != CallKind::Title, key.clone()));
    kinds
}

/// The steps' usage that OpenCode has stored, in the words of the model's own tally.
fn stored(messages: &[Message]) -> Tally {
    let steps = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::StepFinish { tokens } => Some(tokens),
        Part::Text { .. } | Part::Tool { .. } | Part::Other => None,
    });
    steps.fold(Tally::default(), |sum, tokens| Tally {
        calls: sum.calls + 1,
        unknown_calls: 0,
        input: sum.input + tokens.input,
        cache_read: sum.cache_read + tokens.cache.read,
        output: sum.output + tokens.output + tokens.reasoning,
        reasoning: sum.reasoning + tokens.reasoning,
    })
}

#[tokio::test]
async fn a_real_opencode_stores_what_the_scripted_model_served() -> Outcome {
    let model = Model::start()?;
    let (tools, value) = (Key::new("tools"), Key::new("value"));
    model.script(
        &tools,
        [
            Reply::tool("bash", r#"{"command":"echo hi","description":"says hi"}"#)
                .tool_calls(Usage::of(100, 20).cached(40)),
            Reply::new().and_reasoning("hm").and_text("done").stop(Usage::of(140, 9).reasoning(4)),
        ],
    );
    model.script(&value, [Reply::structured(r#"{"answer":42}"#).tool_calls(Usage::of(160, 5))]);

    let agent = agents::opencode()?;
    let home = Home::create(&Setup::new(&model.base_url()))?;
    let server = OpenCode::start(&agent, &home)?;
    let session = create_session(&server, "{}").await?;
    let answer = prompt(&server, &session, &tools.prompt("run it"), "").await?;
    assert!(answer.parts.contains(&Part::Text { text: "done".to_owned() }), "{answer:?}");

    let format = r#""format":{"type":"json_schema","schema":{"type":"object","properties":{"answer":{"type":"number"}},"required":["answer"]}},"#;
    // A title comes late, and in its own time; a session that has one asks for none.
    model.until(|calls| calls.iter().all(|call| call.ending != Ending::Open).then_some(())).await;
    let other = create_session(&server, r#"{"title":"named"}"#).await?;
    let answer = prompt(&server, &other, &value.prompt("the answer"), format).await?;
    assert_eq!(
        answer.info,
        Info::Assistant {
            finish: Some("tool-calls".to_owned()),
            structured: Some(Structured { answer: 42 }),
        }
    );

    // The home outlives the server: the next one on it knows the session.
    server.kill()?;
    let server = OpenCode::start(&agent, &home)?;
    let messages: Vec<Message> = get(&server, &format!("/session/{session}/message")).await?;
    let calls = model.served();
    let chats = calls.iter().filter(|call| call.is_chat_of(&tools));
    assert_eq!(stored(&messages), chats.collect::<Tally>());

    let ended = |kind, key: &Key| (kind, Some(key.clone()), Ending::Completed);
    assert_eq!(
        kinds(&calls),
        [
            ended(CallKind::Title, &tools),
            ended(CallKind::Chat, &tools),
            ended(CallKind::Chat, &tools),
            ended(CallKind::Chat, &value),
        ]
    );
    let sessions: Vec<_> = calls.into_iter().filter_map(|call| call.asked.session).collect();
    assert_eq!(sessions, [&session, &session, &session, &other].map(String::clone));
    Ok(())
}

#[tokio::test]
async fn a_compaction_is_told_from_a_step_and_an_abort_from_an_answer() -> Outcome {
    let model = Model::start()?;
    let (full, slow, gate) = (Key::new("full"), Key::new("slow"), Gate::new("never"));
    model.script(&full, [Reply::text("all said").stop(Usage::of(9_500, 50))]);
    model.script(&slow, [Reply::text("half").hold(&gate).stop(Usage::of(1, 1))]);
    model.compaction(&full, [Reply::text("a summary").stop(Usage::of(400, 30))]);

    let home = Home::create(&Setup::new(&model.base_url()))?;
    let server = OpenCode::start(&agents::opencode()?, &home)?;
    let session = create_session(&server, "{}").await?;
    let small = format!(r#""model":{{"providerID":"{PROVIDER}","modelID":"{SMALL_MODEL}"}},"#);
    prompt(&server, &session, &full.prompt("fill the context"), &small).await?;

    let aborting = async {
        model.held_at(&gate).await;
        post::<bool>(&server, &format!("/session/{session}/abort"), String::new()).await
    };
    let slow_prompt = slow.prompt("take your time");
    let (aborted, answer) = tokio::join!(aborting, prompt(&server, &session, &slow_prompt, ""));
    assert!(aborted?);
    answer?;
    model.wait_for_end(&slow, 1).await;

    // The call after the summary carries words of OpenCode's own, and no key.
    let ended = |kind, key: Option<&Key>, ending| (kind, key.cloned(), ending);
    assert_eq!(
        kinds(&model.served()),
        [
            ended(CallKind::Title, Some(&full), Ending::Completed),
            ended(CallKind::Chat, None, Ending::Completed),
            ended(CallKind::Chat, Some(&full), Ending::Completed),
            ended(CallKind::Compaction, Some(&full), Ending::Completed),
            ended(CallKind::Chat, Some(&slow), Ending::ClientGone),
        ]
    );
    Ok(())
}

fn http() -> reqwest::Client {
    // A build of the whole workspace brings TLS, and then somebody has to name the cryptography.
    let _named = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}
