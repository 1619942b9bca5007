//! Which routes does the scripted model have?

use std::{io, sync::Arc};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};

use super::{
    ask::{Delivery, Request},
    book::{Book, Call, Entered},
    play::Player,
    script::{Gate, Refusal, Reply},
    served::{Ending, Served},
    wire::{self, Head},
};

/// The models on offer; every other name is answered too.
const MODELS: [&str; 2] = ["m1", "small"];

/// Serves `listener` until the future is dropped.
pub(super) async fn serve(listener: std::net::TcpListener, book: Arc<Book>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let routes = Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/v1/models", get(models))
        .route("/served", get(served))
        .route("/release/{gate}", post(release))
        .layer(DefaultBodyLimit::disable())
        .with_state(book);
    axum::serve(listener, routes).await
}

async fn complete(State(book): State<Arc<Book>>, headers: HeaderMap, body: Bytes) -> Response {
    let request = match serde_json::from_slice::<Request>(&body) {
        Ok(request) => request,
        Err(error) => {
            let body = wire::error_body(&format!("the request is no chat completion: {error}"));
            return with_type(StatusCode::BAD_REQUEST, "application/json", body.into());
        }
    };
    let session = headers.get("x-session-id").and_then(|value| value.to_str().ok());
    let Entered { call, asked, reply } = book.enter(request, session.map(str::to_owned));
    match reply {
        Reply::Refuse(refusal) => refuse(&book, call, refusal),
        Reply::Stream(steps) => {
            let head = |object| Head {
                id: format!("chatcmpl-{}", call.number()),
                object,
                created: 0,
                model: asked.model,
            };
            match asked.delivery {
                Delivery::Stream => {
                    let head = head("chat.completion.chunk");
                    let body = Player::new(book, call, head, steps).stream();
                    with_type(StatusCode::OK, "text/event-stream", body)
                }
                Delivery::Whole => {
                    let head = head("chat.completion");
                    let body = Player::new(book, call, head, steps).whole().await;
                    with_type(StatusCode::OK, "application/json", body)
                }
            }
        }
    }
}

fn refuse(book: &Book, call: Call, refusal: Refusal) -> Response {
    book.count_bytes(call, refusal.body.len());
    book.ended(call, Ending::Refused);
    let status = StatusCode::from_u16(refusal.status).expect("a script's status is 100 to 999");
    let mut response = with_type(status, "application/json", refusal.body.into());
    for (name, value) in refusal.headers {
        let name = name.parse::<HeaderName>().expect("a script's header has a proper name");
        let value = HeaderValue::from_str(&value).expect("a script's header has a proper value");
        response.headers_mut().insert(name, value);
    }
    response
}

fn with_type(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    (status, [(header::CONTENT_TYPE, content_type)], body).into_response()
}

async fn models() -> Response {
    with_type(StatusCode::OK, "application/json", wire::models_body(&MODELS).into())
}

async fn served(State(book): State<Arc<Book>>) -> Json<Vec<Served>> {
    Json(book.served())
}

async fn release(State(book): State<Arc<Book>>, Path(gate): Path<String>) -> StatusCode {
    book.open(Gate::new(&gate));
    StatusCode::NO_CONTENT
}
