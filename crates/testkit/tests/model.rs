//! Does the scripted model say on the wire what its scripts say, and count it?

use std::error::Error;

use testkit::model::{
    Asked, CallKind, Count, Delivery, Ending, Finish, Gate, Key, Model, Reply, Served, Step, Tally,
    Then, Usage,
};

type Outcome = Result<(), Box<dyn Error>>;

/// Asks for a streamed answer to `prompt` as OpenCode does.
async fn ask(model: &Model, prompt: &str) -> reqwest::Result<reqwest::Response> {
    ask_with(model, prompt, r#""stream":true,"#).await
}

async fn ask_with(model: &Model, prompt: &str, fields: &str) -> reqwest::Result<reqwest::Response> {
    let prompt = serde_json::to_string(prompt).expect("a text becomes JSON");
    let body = format!(
        r#"{{"model":"m1",{fields}"messages":[{{"role":"system","content":"You help."}},
            {{"role":"user","content":"earlier"}},{{"role":"assistant","content":null}},
            {{"role":"user","content":[{{"type":"text","text":{prompt}}}]}}]}}"#
    );
    // A build of the whole workspace brings TLS, and then somebody has to name the cryptography.
    let _named = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
        .post(format!("{}/chat/completions", model.base_url()))
        .header("content-type", "application/json")
        .header("x-session-id", "ses_1")
        .body(body)
        .send()
        .await
}

/// The record of a call without its times, which are checked here.
fn timeless(mut call: Served) -> Served {
    let ended = call.ended_ms.expect("an ended call has an end");
    assert!(call.started_ms <= ended, "{} is not before {ended}", call.started_ms);
    call.started_ms = 0;
    call.ended_ms = Some(0);
    call
}

#[tokio::test]
async fn a_stream_says_its_script_and_is_counted_whole() -> Outcome {
    let model = Model::start()?;
    let key = Key::new("t1");
    let usage = Usage::of(200, 50).cached(64).reasoning(30);
    model.script(
        &key,
        [Reply::new()
            .and_reasoning("hm")
            .and_text("he")
            .and_text("llo")
            .and_tool("bash", r#"{"command":"ls"}"#)
            .tool_calls(usage.clone())],
    );
    let body = ask(&model, &key.prompt("MARK=a7 say hello")).await?.text().await?;

    let head = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":0,"model":"m1","choices":["#;
    let choice =
        |rest: &str| format!(r#"{head}{{"index":0,"delta":{{"role":"assistant"{rest}}}]}}"#);
    let expected = [
        choice(r#","reasoning_content":"hm"},"finish_reason":null"#),
        choice(r#","content":"he"},"finish_reason":null"#),
        choice(r#","content":"llo"},"finish_reason":null"#),
        choice(
            r#","tool_calls":[{"index":0,"id":"call_chatcmpl-1_0","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]},"finish_reason":null"#,
        ),
        choice(r#"},"finish_reason":"tool_calls""#),
        format!(
            r#"{head}],"usage":{{"prompt_tokens":200,"completion_tokens":50,"total_tokens":250,"prompt_tokens_details":{{"cached_tokens":64}},"completion_tokens_details":{{"reasoning_tokens":30}}}}}}"#
        ),
        "data: [DONE]".to_owned(),
    ];
    assert_eq!(body, expected.map(|event| event + "\n\n").concat());

    let served = model.served();
    assert_eq!(
        served.iter().cloned().map(timeless).collect::<Vec<_>>(),
        [Served {
            sequence: 1,
            key: Some(key.clone()),
            marks: vec!["a7".to_owned()],
            prompt: "KEY=t1 MARK=a7 say hello".to_owned(),
            asked: Asked {
                kind: CallKind::Chat,
                model: "m1".to_owned(),
                delivery: Delivery::Stream,
                messages: 4,
                tools: Vec::new(),
                tool_choice: None,
                session: Some("ses_1".to_owned()),
            },
            status: 200,
            finish: Some(Finish::ToolCalls),
            usage: vec![usage],
            bytes: u64::try_from(body.len())?,
            ending: Ending::Completed,
            started_ms: 0,
            ended_ms: Some(0),
        }]
    );
    assert_eq!(
        served.iter().collect::<Tally>(),
        Tally { calls: 1, unknown_calls: 0, input: 136, cache_read: 64, output: 50, reasoning: 30 }
    );
    let over_http = reqwest::get(format!("{}/served", model.url())).await?.text().await?;
    assert_eq!(serde_json::from_str::<Vec<Served>>(&over_http)?, served);
    Ok(())
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_is_one_object() -> Outcome {
    let model = Model::start()?;
    let key = Key::new("whole");
    let reply = Reply::text("a").and_text("b").step(Step::UsageNull);
    model.script(&key, [reply.finish(Finish::Unknown("weird".to_owned()), Usage::of(3, 2))]);
    let body = ask_with(&model, &key.prompt(""), "").await?.text().await?;
    assert_eq!(
        body,
        r#"{"id":"chatcmpl-1","object":"chat.completion","created":0,"model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":"ab"},"finish_reason":"weird"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#
    );
    assert_eq!(endings(&model), [(200, Ending::Completed)]);
    Ok(())
}

fn endings(model: &Model) -> Vec<(u16, Ending)> {
    model.served().iter().map(|call| (call.status, call.ending)).collect()
}

#[tokio::test]
async fn odd_usage_is_sent_as_scripted_and_tallied_as_unknown_when_it_says_nothing() -> Outcome {
    let model = Model::start()?;
    let key = Key::new("odd");
    let wrong = Usage { total_tokens: Count::Number(999), ..Usage::of(100, 10) };
    model.script(
        &key,
        [
            Reply::text("x").step(Step::Usage(Usage::of(1, 1))).stop(wrong.clone()),
            Reply::text("no usage").step(Step::Finish(Finish::Stop)),
            Reply::text("nulls").stop(Usage::nulls()).step(Step::UsageNull),
        ],
    );
    let mut usage = Vec::new();
    for _ in 0..3 {
        let body = ask(&model, &key.prompt("")).await?.text().await?;
        usage.push(
            body.split_inclusive("\n\n")
                .filter_map(|event| event.split_once(r#""usage":"#))
                .map(|(_, rest)| rest.trim_end().trim_end_matches('}').to_owned())
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(
        usage,
        [
            vec![
                r#"{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2"#.to_owned(),
                r#"{"prompt_tokens":100,"completion_tokens":10,"total_tokens":999"#.to_owned(),
            ],
            vec![],
            vec![
                r#"{"prompt_tokens":null,"completion_tokens":null,"total_tokens":null,"prompt_tokens_details":null,"completion_tokens_details":null"#
                    .to_owned(),
                "null".to_owned(),
            ],
        ]
    );
    let tally = model.served().iter().collect::<Tally>();
    let expected = Tally { calls: 3, unknown_calls: 2, input: 100, output: 10, ..Tally::default() };
    assert_eq!(tally, expected);
    Ok(())
}

#[tokio::test]
async fn a_refusal_carries_its_status_headers_and_body() -> Outcome {
    let model = Model::start()?;
    let key = Key::new("busy");
    model.script(&key, [Reply::refuse(429, "slow down").header("retry-after", "7")]);
    let response = ask(&model, &key.prompt("")).await?;
    let header = response.headers().get("retry-after").map(|value| value.as_bytes().to_vec());
    assert_eq!((response.status().as_u16(), header), (429, Some(b"7".to_vec())));
    assert_eq!(
        response.text().await?,
        r#"{"error":{"message":"slow down","type":"scripted_error"}}"#
    );
    assert_eq!(endings(&model), [(429, Ending::Refused)]);
    Ok(())
}

#[tokio::test]
async fn a_cut_delivers_what_came_before_it_and_breaks_the_connection() -> Outcome {
    let model = Model::start()?;
    let key = Key::new("cut");
    model.script(&key, [Reply::text("half").cut(), Reply::text("all").stop(Usage::of(1, 1)).cut()]);
    for (text, finish, usage) in
        [("half", None, vec![]), ("all", Some(Finish::Stop), vec![Usage::of(1, 1)])]
    {
        let mut response = ask(&model, &key.prompt("")).await?;
        let mut body = Vec::new();
        let broken = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        let call = model.served().pop().expect("the call was served");
        assert!(broken && String::from_utf8(body.clone())?.contains(text));
        assert_eq!(
            (call.finish, call.usage, call.bytes, call.ending),
            (finish, usage, u64::try_from(body.len())?, Ending::Cut)
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_held_stream_goes_on_when_released_and_knows_when_its_client_is_gone() -> Outcome {
    let model = Model::start()?;
    let (key, gate) = (Key::new("slow"), Gate::new("g"));
    let reply = Reply::text("before").hold(&gate).and_text("after").stop(Usage::of(9, 9));
    model.script_then(&key, [reply], Then::Repeat);

    let mut gone = ask(&model, &key.prompt("")).await?;
    assert!(gone.chunk().await?.is_some());
    model.held_at(&gate).await;
    drop(gone);
    let call = model.wait_for_end(&key, 1).await;
    assert_eq!((call.ending, call.usage), (Ending::ClientGone, vec![]));

    let mut stays = ask(&model, &key.prompt("")).await?;
    assert!(stays.chunk().await?.is_some());
    assert_eq!(model.wait_for_call(&key, 2).await.ending, Ending::Open);
    model.held_at(&gate).await;
    model.release(&gate);
    assert!(stays.text().await?.contains("after"));
    let calls = model.served_reaches(2).await;
    assert_eq!(calls.last().map(|call| call.ending), Some(Ending::Completed));
    Ok(())
}

#[tokio::test]
async fn a_script_in_the_prompt_goes_on_within_its_turn() -> Outcome {
    let model = Model::start()?;
    let prompt = concat!(
        r#"Please SCRIPT=[{"stream":[{"tool":{"name":"bash","arguments":"{}"}},{"finish":"tool_calls"}]},"#,
        r#" {"refuse":{"status":500}}, {"stream":["usage_null",{"text":"ok"},"cut"]}] KEY=none"#
    );
    let mut answers = Vec::new();
    for _ in 0..4 {
        let response = ask(&model, prompt).await?;
        let status = response.status().as_u16();
        answers.push((status, response.text().await.is_ok()));
    }
    assert_eq!(answers, [(200, true), (500, true), (200, false), (200, true)]);
    assert!(model.served().iter().all(|call| call.key.is_none()));

    let response = ask(&model, r#"SCRIPT=[{"strem":[]}]"#).await?;
    assert_eq!(response.status().as_u16(), 400);
    assert!(response.text().await?.contains("unknown variant `strem`"));
    Ok(())
}

#[tokio::test]
async fn a_prompt_without_a_key_gets_the_default_reply_and_an_unknown_key_is_told() -> Outcome {
    let model = Model::start()?;
    assert!(ask(&model, "hello").await?.text().await?.contains("default reply"));
    let response = ask(&model, &Key::new("nobody").prompt("")).await?;
    assert_eq!(response.status().as_u16(), 400);
    assert!(response.text().await?.contains("no script has the key nobody"));
    assert_eq!(endings(&model), [(200, Ending::Completed), (400, Ending::Refused)]);
    Ok(())
}
