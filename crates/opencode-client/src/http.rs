//! How is one request made? One shared client; every wait and size has a limit.
//!
//! No redirect is followed and no proxy is asked: a request goes to the server that was named, or
//! nowhere. Errors name the route, never the credentials.

use std::{fmt, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::StreamExt as _;
use harness::{Place, ReachError};
use opencode_wire::Refusal;
use reqwest::{
    Method, Response, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue},
    redirect, retry,
};
use verbatim::Redactor;

use crate::config::{Config, Credentials, Limits};

/// The header that says where a page goes on.
const NEXT_CURSOR: &str = "x-next-cursor";
/// Shorter than the ten seconds after which the server itself closes an idle connection, so that no
/// write meets a closing one.
const POOL_IDLE: Duration = Duration::from_secs(4);
/// The longest sentence of a server that goes into an error, in characters.
const WHY_CHARS_MAX: usize = 300;

/// A server that can be asked.
#[derive(Debug)]
pub(crate) struct Http {
    client: reqwest::Client,
    base: Url,
    pub(crate) redactor: Redactor,
    pub(crate) limits: Limits,
}

/// A request without its body.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    method: Method,
    segments: Vec<String>,
    query: Vec<(&'static str, String)>,
}

impl Route {
    pub(crate) fn get<'a>(segments: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Method::GET, segments)
    }

    pub(crate) fn post<'a>(segments: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Method::POST, segments)
    }

    fn new<'a>(method: Method, segments: impl IntoIterator<Item = &'a str>) -> Self {
        let segments = segments.into_iter().map(str::to_owned).collect();
        Self { method, segments, query: Vec::new() }
    }

    /// The same with a query parameter, where there is a value.
    pub(crate) fn query(mut self, name: &'static str, value: Option<impl Into<String>>) -> Self {
        self.query.extend(value.map(|value| (name, value.into())));
        self
    }

    /// The route for people; ids are part of it, the query is not.
    pub(crate) fn place(&self) -> Place {
        Place::new(self.to_string())
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.method)?;
        f.write_str(" ")?;
        self.segments.iter().try_for_each(|segment| write!(f, "/{segment}"))
    }
}

/// A successful answer to a read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) body: String,
    /// Where the page goes on.
    pub(crate) next: Option<String>,
}

/// Why a read gave nothing.
#[derive(Debug)]
pub(crate) enum GetError {
    /// It failed.
    Reach(ReachError),
    /// The server cannot write a message in it out again; reads around that message work.
    Poisoned(ReachError),
    /// The answer is larger than is taken; a smaller page may not be.
    TooLarge(ReachError),
}

impl GetError {
    pub(crate) fn into_reach(self) -> ReachError {
        match self {
            Self::Reach(error) | Self::Poisoned(error) | Self::TooLarge(error) => error,
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::Reach(error) => error.is_transient(),
            Self::Poisoned(_) | Self::TooLarge(_) => false,
        }
    }
}

impl From<ReachError> for GetError {
    fn from(error: ReachError) -> Self {
        Self::Reach(error)
    }
}

impl Http {
    /// Checks the address and makes the client; nothing is sent.
    pub(crate) fn new(config: &Config) -> Result<Self, ReachError> {
        let (base, credentials) = address(config)?;
        let place = Place::new(base.as_str());
        let mut headers = HeaderMap::new();
        let mut secrets = Vec::new();
        if let Some(credentials) = &credentials {
            let encoded = STANDARD.encode(credentials.pair());
            let mut value = HeaderValue::try_from(format!("Basic {encoded}"))
                .expect("base64 is a header value");
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
            secrets = vec![credentials.secret().to_owned(), encoded];
        }
        #[cfg(feature = "tls")]
        {
            // One for the whole process; whoever installed another first meant it.
            let _already_there = rustls::crypto::ring::default_provider().install_default();
        }
        let client = reqwest::Client::builder()
            .default_headers(headers)
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .no_proxy()
            .connect_timeout(config.limits.read)
            .pool_idle_timeout(POOL_IDLE)
            .tcp_nodelay(true)
            .build()
            .map_err(|error| ReachError::Unsupported { place, why: error.to_string() })?;
        let mut limits = config.limits.clone();
        limits.page = limits.page.clamp(1, 200);
        Ok(Self { client, base, redactor: Redactor::new(secrets), limits })
    }

    /// The server's root, without credentials.
    pub(crate) fn endpoint(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// The port of a server on this machine.
    pub(crate) fn loopback_port(&self) -> Option<u16> {
        let host = self.base.host_str()?.trim_matches(['[', ']']);
        let is_loopback = host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        is_loopback.then(|| self.base.port_or_known_default()).flatten()
    }

    pub(crate) fn request(&self, route: &Route) -> reqwest::RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(&route.segments);
        }
        if !route.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&route.query);
        }
        self.client.request(route.method.clone(), url)
    }

    /// Reads, and tries again when it fails for a reason that may pass.
    pub(crate) async fn get(&self, route: &Route) -> Result<Answer, GetError> {
        let mut attempt = 1;
        loop {
            match self.get_once(route).await {
                Err(error) if error.is_transient() && attempt < self.limits.read_attempts => {
                    tokio::time::sleep(Duration::from_millis(100) * attempt).await;
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    pub(crate) async fn get_once(&self, route: &Route) -> Result<Answer, GetError> {
        let place = route.place();
        let read = async {
            let response = self.request(route).send().await;
            let response = response.map_err(|error| self.unreachable(&place, &error))?;
            let next = response.headers().get(NEXT_CURSOR);
            let next = next.and_then(|value| value.to_str().ok()).map(str::to_owned);
            let status = response.status();
            let body = self.body(&place, response).await?;
            if status.is_success() {
                return Ok(Answer { body, next });
            }
            let refusal = Refusal::decode(&body);
            let error = self.refused(&place, status, &refusal);
            Err(match refusal.is_poisoned_read() {
                true => GetError::Poisoned(error),
                false => GetError::Reach(error),
            })
        };
        self.within(&place, self.limits.read, read).await?
    }

    /// Opens an event stream; its bytes are read by the caller.
    pub(crate) async fn open_stream(&self, route: &Route) -> Result<Response, ReachError> {
        let place = route.place();
        let open = self.request(route).header(ACCEPT, "text/event-stream").send();
        let response = self.within(&place, self.limits.read, open).await?;
        let response = response.map_err(|error| self.unreachable(&place, &error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = self.within(&place, self.limits.read, self.body(&place, response)).await?;
        let body = body.unwrap_or_default();
        Err(self.refused(&place, status, &Refusal::decode(&body)))
    }

    async fn within<T>(
        &self,
        place: &Place,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, ReachError> {
        tokio::time::timeout(limit, work).await.map_err(|_elapsed| timed_out(place, limit))
    }

    /// Reads a body up to the limit.
    pub(crate) async fn body(&self, place: &Place, response: Response) -> Result<String, GetError> {
        let max = self.limits.body_bytes_max;
        let too_large = || {
            let why = format!("the answer is larger than {max} bytes");
            GetError::TooLarge(ReachError::Protocol { place: place.clone(), why })
        };
        if response.content_length().is_some_and(|length| length > max as u64) {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(piece) = stream.next().await {
            let piece = piece.map_err(|error| self.unreachable(place, &error))?;
            if bytes.len() + piece.len() > max {
                return Err(too_large());
            }
            bytes.extend_from_slice(&piece);
        }
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let why = format!("the answer is not UTF-8 at byte {at}");
            GetError::Reach(ReachError::Protocol { place: place.clone(), why })
        })
    }

    /// What the caller of a refused request can do.
    pub(crate) fn refused(
        &self,
        place: &Place,
        status: StatusCode,
        refusal: &Refusal,
    ) -> ReachError {
        let place = place.clone();
        let why = self.why(refusal);
        match status {
            StatusCode::UNAUTHORIZED => ReachError::Unauthorized { place },
            StatusCode::NOT_FOUND => ReachError::NotFound { place },
            status if status.is_server_error() => {
                ReachError::Failed { place, status: status.as_u16(), why }
            }
            status if status.is_redirection() => {
                let why = "it sends on to another place, and no redirect is followed".to_owned();
                ReachError::Refused { place, status: status.as_u16(), why }
            }
            status => ReachError::Refused { place, status: status.as_u16(), why },
        }
    }

    fn why(&self, refusal: &Refusal) -> String {
        let text = match (&*refusal.name, &*refusal.message) {
            ("", "") => "the server said nothing about it".to_owned(),
            ("", message) => message.to_owned(),
            (name, "") => name.to_owned(),
            (name, message) => format!("{name}: {message}"),
        };
        let text = self.redactor.redact(&text);
        text.chars()
            .take(WHY_CHARS_MAX)
            .map(|letter| match letter {
                '\n' | '\r' => ' ',
                letter => letter,
            })
            .collect()
    }

    /// The innermost cause of a transport error; the outer ones repeat the address.
    pub(crate) fn unreachable(&self, place: &Place, error: &reqwest::Error) -> ReachError {
        let mut cause: &dyn std::error::Error = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        let why = self.redactor.redact(&cause.to_string()).into_owned();
        if error.is_timeout() {
            return timed_out(place, self.limits.read);
        }
        ReachError::Unreachable { place: place.clone(), why }
    }
}

pub(crate) fn timed_out(place: &Place, limit: Duration) -> ReachError {
    let after_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    ReachError::TimedOut { place: place.clone(), after_ms }
}

/// Reads the address and takes the credentials out of it.
fn address(config: &Config) -> Result<(Url, Option<Credentials>), ReachError> {
    let unsupported = |why: &str| {
        // The text is not repeated: it may hold a password.
        let place = Place::new("the server's address");
        ReachError::Unsupported { place, why: why.to_owned() }
    };
    let mut url = Url::parse(&config.url).map_err(|error| unsupported(&error.to_string()))?;
    match url.scheme() {
        "http" => {}
        "https" if cfg!(feature = "tls") => {}
        "https" => return Err(unsupported("this program was built without https")),
        _ => return Err(unsupported("only http and https are spoken")),
    }
    if url.cannot_be_a_base() || url.host_str().is_none() {
        return Err(unsupported("it names no host"));
    }
    let decode = |text: &str| {
        let pairs = format!("v={}", text.replace('+', "%2B"));
        let mut copy = url.clone();
        copy.set_query(Some(&pairs));
        copy.query_pairs().next().map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let in_url = url.password().map(|password| {
        let user = match url.username() {
            "" => crate::config::DEFAULT_USER.to_owned(),
            user => decode(user),
        };
        Credentials::user(&user, &decode(password))
    });
    let credentials = config.credentials.clone().or(in_url);
    // Neither can fail for an address that has a host.
    let _host_is_there = (url.set_username(""), url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    Ok((url, credentials))
}

#[cfg(test)]
mod tests {
    use harness::ReachError;

    use super::{Config, Http, Route};

    #[test]
    fn user_info_becomes_credentials_and_is_never_shown() {
        let config = Config::new("http://me:p%40ss%20word@127.0.0.1:4096/base/?x=1#y");
        let http = Http::new(&config).unwrap();
        assert_eq!(http.endpoint(), "http://127.0.0.1:4096/base");
        assert_eq!(http.redactor.redact("it is p@ss word"), "it is [redacted]");
        assert!(!format!("{http:?}").contains("p@ss"), "{http:?}");
        assert_eq!(http.loopback_port(), Some(4096));
    }

    #[test]
    fn ids_are_encoded_into_the_path() {
        let http = Http::new(&Config::new("http://127.0.0.1:1")).unwrap();
        let route = Route::get(["session", "ses_1", "message", "msg_a/b?c ü"])
            .query("directory", Some("/a b&c"))
            .query("limit", None::<String>);
        let request = http.request(&route).build().unwrap();
        assert_eq!(
            request.url().as_str(),
            "http://127.0.0.1:1/session/ses_1/message/msg_a%2Fb%3Fc%20%C3%BC?directory=%2Fa+b%26c"
        );
        assert_eq!(route.to_string(), "GET /session/ses_1/message/msg_a/b?c ü");
    }

    #[test]
    fn an_address_that_cannot_be_spoken_to_is_refused_without_repeating_it() {
        for url in ["ftp://user:pw@host", "not an address", "http:///", "data:,x"] {
            let error = Http::new(&Config::new(url)).unwrap_err();
            assert!(matches!(&error, ReachError::Unsupported { .. }), "{url}: {error}");
            assert!(!error.to_string().contains("pw"), "{error}");
        }
    }
}
