//! Logging in: a password with every request, or a token of a token service (distribution,
//! `docs/spec/auth/token.md` and `oauth.md`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{StatusCode, Url};
use serde::Deserialize;

use super::challenge::Challenge;
use super::credentials::Login;
use super::transport::Transport;
use crate::PluginError;
use hookbox::escape;
use hookbox_system::limits;

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

/// Answers the challenges of a registry with a value for `Authorization`; `None` if the credentials are
/// missing or refused. Without credentials this asks a token service for an anonymous token.
pub(super) async fn answer(
    transport: &Transport,
    challenges: &[Challenge],
    login: Option<&Login>,
    scope: &str,
) -> Result<Option<HeaderValue>, PluginError> {
    let bearer = challenges.iter().find_map(|challenge| match challenge {
        Challenge::Bearer { realm, service } => Some((realm, service.as_deref())),
        Challenge::Basic => None,
    });
    if let Some((realm, service)) = bearer {
        return token(transport, realm, service, login, scope).await;
    }
    Ok(match login {
        Some(Login::Password(user, password)) if challenges.contains(&Challenge::Basic) => {
            basic(user, password)
        }
        _ => None,
    })
}

async fn token(
    transport: &Transport,
    realm: &str,
    service: Option<&str>,
    login: Option<&Login>,
    scope: &str,
) -> Result<Option<HeaderValue>, PluginError> {
    let url = realm.parse::<Url>().ok().filter(|realm| transport.may_follow(&transport.root, realm));
    let mut url = url.ok_or_else(|| {
        transport.failed(format!("expected a token service with https, found \"{}\"", escape(realm, 200)))
    })?;
    let mut fields = vec![("scope", scope)];
    fields.extend(service.map(|service| ("service", service)));
    let request = match login {
        Some(Login::Identity(token)) => {
            fields.extend([
                ("grant_type", "refresh_token"),
                ("client_id", "hookbox"),
                ("refresh_token", token),
            ]);
            let mut form = url.clone();
            form.query_pairs_mut().clear().extend_pairs(fields);
            let body = form.query().unwrap_or_default().to_owned();
            let kind = "application/x-www-form-urlencoded";
            transport.client.post(url).header(CONTENT_TYPE, kind).body(body)
        }
        login => {
            url.query_pairs_mut().extend_pairs(fields);
            let request = transport.client.get(url);
            match login {
                Some(Login::Password(user, password)) => match basic(user, password) {
                    Some(basic) => request.header(AUTHORIZATION, basic),
                    None => return Ok(None),
                },
                _ => request,
            }
        }
    };
    let response = transport.send(request, transport.timeouts.read).await?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Ok(None),
        status => return Err(transport.failed(format!("expected a token, found HTTP {}", status.as_u16()))),
    }
    let text = transport.read(response, limits::FILE, "a token").await?;
    let token: Option<Token> = serde_json::from_slice(&text).ok();
    match token.and_then(|it| it.token.or(it.access_token)) {
        Some(token) => Ok(secret(&format!("Bearer {token}"))),
        None => Err(transport.failed("expected a token, found something else")),
    }
}

fn basic(user: &str, password: &str) -> Option<HeaderValue> {
    secret(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

/// Makes a header value that is never shown; `None` if no header can have it.
fn secret(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}
