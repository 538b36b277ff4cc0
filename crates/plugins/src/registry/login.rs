//! Answering a registry that asks who calls: a password with every request, or a token from a token service
//! (distribution, `docs/spec/auth/token.md` and `oauth.md`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{StatusCode, Url};
use serde::Deserialize;

use super::challenge::Challenge;
use super::connection::Connection;
use super::credentials::Login;
use crate::PluginError;
use hookbox::internal::text::escape;

/// How large the answer of a token service may be, in bytes. Tokens have some thousand.
const MAX_TOKEN: u64 = 256 << 10;

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

/// What proves who calls, in the form that the registry asks for. Without credentials a token service is asked for the
/// token of anybody.
pub(super) async fn answer(
    connection: &Connection,
    challenges: &[Challenge],
    login: Option<&Login>,
) -> Result<HeaderValue, PluginError> {
    let bearer = challenges.iter().find_map(|challenge| match challenge {
        Challenge::Bearer { realm, service } => Some((realm, service.as_deref())),
        Challenge::Basic => None,
    });
    if let Some((realm, service)) = bearer {
        return token(connection, realm, service, login).await;
    }
    match login {
        Some(Login::Password(user, password)) if challenges.contains(&Challenge::Basic) => {
            secret(connection, &basic(user, password))
        }
        _ => Err(connection.denied()),
    }
}

async fn token(
    connection: &Connection,
    realm: &str,
    service: Option<&str>,
    login: Option<&Login>,
) -> Result<HeaderValue, PluginError> {
    let realm = realm.parse::<Url>().ok().filter(|realm| connection.may_follow(realm)).ok_or_else(|| {
        let found = escape(realm, 200);
        connection.failed(format!("expected a token service with https, found \"{found}\""))
    })?;
    let scope = connection.scope();
    let mut wanted = vec![("scope", scope.as_str())];
    wanted.extend(service.map(|service| ("service", service)));
    let request = match login {
        Some(Login::Identity(token)) => {
            let fields = [
                ("grant_type", "refresh_token"),
                ("client_id", "hookbox"),
                ("refresh_token", token.as_str()),
            ];
            let mut form = realm.clone();
            form.query_pairs_mut().clear().extend_pairs(wanted).extend_pairs(fields);
            let body = form.query().unwrap_or_default().to_owned();
            let kind = "application/x-www-form-urlencoded";
            connection.client().post(realm).header(CONTENT_TYPE, kind).body(body)
        }
        login => {
            let mut realm = realm;
            realm.query_pairs_mut().extend_pairs(wanted);
            let request = connection.client().get(realm);
            match login {
                Some(Login::Password(user, password)) => {
                    request.header(AUTHORIZATION, secret(connection, &basic(user, password))?)
                }
                _ => request,
            }
        }
    };
    let response = connection.deliver(request, connection.timeouts().read).await?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            return Err(connection.denied());
        }
        status => {
            return Err(connection.failed(format!("expected a token, found HTTP {}", status.as_u16())));
        }
    }
    let text = connection.read(response, MAX_TOKEN, "a token").await?;
    let token: Option<Token> = serde_json::from_slice(&text).ok();
    let token = token.and_then(|it| it.token.or(it.access_token));
    let token = token.ok_or_else(|| connection.failed("expected a token, found something else"))?;
    secret(connection, &format!("Bearer {token}"))
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// A header that is never shown.
fn secret(connection: &Connection, value: &str) -> Result<HeaderValue, PluginError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| connection.denied())?;
    value.set_sensitive(true);
    Ok(value)
}
