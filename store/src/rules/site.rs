//! Sites: which addresses may be shared, and their one form (forks.md, "Workspace").

use crate::refusal::{Refusal, SITE_NOTE_MOST, UrlFault};

/// The most bytes an address may have.
const URL_MOST: usize = 2_048;
/// The schemes, with the port that need not be said.
const SCHEMES: [(&str, &str); 2] = [("https", "443"), ("http", "80")];

/// An address that may be shared, in the one form in which equal ones are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteUrl(String);

impl SiteUrl {
    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether an address may be shared: `http` or `https`, with a host, and without a user or a password in it. Scheme and host
/// are lower-cased, the usual port goes, and an empty path becomes `/`.
///
/// # Errors
/// [`Refusal::BadUrl`], which never repeats a password.
pub fn can_share(given: &str) -> Result<SiteUrl, Refusal> {
    let given = given.trim();
    let bad = |fault| Refusal::BadUrl { url: shown(given), fault };
    let (scheme, rest) = given.split_once("://").ok_or_else(|| bad(UrlFault::Scheme))?;
    let scheme = scheme.to_ascii_lowercase();
    let (_, usual) = SCHEMES.iter().find(|(known, _)| *known == scheme).ok_or_else(|| bad(UrlFault::Scheme))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err(bad(UrlFault::Credentials));
    }
    if given.len() > URL_MOST {
        return Err(bad(UrlFault::TooLong));
    }
    // A browser reads a backslash as a slash, so what it opens would not be what is shown.
    if given.chars().any(|c| c.is_whitespace() || c.is_control() || "\\\"<>^`{|}".contains(c)) {
        return Err(bad(UrlFault::Characters));
    }
    let authority = authority.to_lowercase();
    let (host, port) = host_and_port(&authority).ok_or_else(|| bad(UrlFault::Host))?;
    let port = port.filter(|port| port != usual).map(|port| format!(":{port}")).unwrap_or_default();
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok(SiteUrl(format!("{scheme}://{host}{port}{slash}{path}")))
}

/// The host and the port of an authority without a user; none when it has no host or no port that can be one.
fn host_and_port(authority: &str) -> Option<(&str, Option<&str>)> {
    let after_literal = authority.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match authority[after_literal..].split_once(':') {
        Some((before, port)) => (&authority[..after_literal + before.len()], Some(port)),
        None => (authority, None),
    };
    let is_literal = host.starts_with('[') && host.ends_with(']') && host.len() > 4;
    let is_name = host.chars().all(|c| c.is_alphanumeric() || "-._~%".contains(c)) && host.chars().any(char::is_alphanumeric);
    let inside = |c: char| c.is_ascii_hexdigit() || ":.".contains(c);
    let is_host = if is_literal { host[1..host.len() - 1].chars().all(inside) } else { is_name };
    let port = port.filter(|port| !port.is_empty());
    let is_port = port.is_none_or(|port| port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok());
    (is_host && is_port).then_some((host, port))
}

/// An address as it may be repeated: without what stands before an `@` in its authority.
fn shown(given: &str) -> String {
    let start = given.find("://").map_or(0, |at| at + 3);
    let end = given[start..].find(['/', '?', '#']).map_or(given.len(), |at| start + at);
    match given[start..end].rfind('@') {
        Some(at) => format!("{}…{}", &given[..start], &given[start + at..]),
        None => given.to_owned(),
    }
}

/// A note that may stand beside a site, on one line.
///
/// # Errors
/// It is too long.
pub fn can_note_site(note: &str) -> Result<String, Refusal> {
    let note = note.split_whitespace().collect::<Vec<_>>().join(" ");
    if note.len() > SITE_NOTE_MOST { Err(Refusal::LongSiteNote { length: note.len() }) } else { Ok(note) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_addresses_have_one_form() {
        for (given, form) in [
            ("https://example.org", "https://example.org/"),
            (" HTTPS://Example.ORG:443/A?b#c ", "https://example.org/A?b#c"),
            ("http://example.org:80", "http://example.org/"),
            ("http://localhost:8080/x", "http://localhost:8080/x"),
            ("https://example.org?q=a@b", "https://example.org/?q=a@b"),
            ("http://[::1]:3000/", "http://[::1]:3000/"),
            ("https://münchen.example/", "https://münchen.example/"),
        ] {
            assert_eq!(can_share(given).unwrap().as_str(), form, "{given}");
        }
    }

    #[test]
    fn what_is_no_address_of_a_site_has_its_own_fault() {
        let long = format!("https://example.org/{}", "x".repeat(URL_MOST));
        for (given, fault) in [
            ("", UrlFault::Scheme),
            ("example.org", UrlFault::Scheme),
            ("ftp://example.org", UrlFault::Scheme),
            ("javascript://example.org/%0aalert(1)", UrlFault::Scheme),
            ("file:///etc/passwd", UrlFault::Scheme),
            ("https://ada:secret@example.org/", UrlFault::Credentials),
            ("https://token@example.org/", UrlFault::Credentials),
            ("https://good.example\\@bad.example/", UrlFault::Credentials),
            ("https://good.example\\bad", UrlFault::Characters),
            ("https://example.org/a b", UrlFault::Characters),
            ("https://example.org/\u{1b}[2J", UrlFault::Characters),
            ("https://", UrlFault::Host),
            ("https://:80/", UrlFault::Host),
            ("https://.../", UrlFault::Host),
            ("https://example.org:99999/", UrlFault::Host),
            ("https://example.org:http/", UrlFault::Host),
            (&long, UrlFault::TooLong),
        ] {
            let refusal = can_share(given).unwrap_err();
            assert!(matches!(&refusal, Refusal::BadUrl { fault: found, .. } if *found == fault), "{given}: {refusal}");
            assert!(!refusal.to_string().contains("secret"), "{refusal}");
        }
    }

    #[test]
    fn a_note_is_one_line_of_a_bounded_length() {
        assert_eq!(can_note_site(" the\n board ").unwrap(), "the board");
        assert!(matches!(can_note_site(&"x".repeat(SITE_NOTE_MOST + 1)), Err(Refusal::LongSiteNote { .. })));
    }

    proptest! {
        #[test]
        fn an_address_is_its_own_address_and_never_has_a_user(given in "(https?|HTTP)://[a-zA-Z0-9.:@/?#%\\[\\]-]{0,40}") {
            let Ok(url) = can_share(&given) else { return Ok(()) };
            prop_assert_eq!(&can_share(url.as_str()).unwrap(), &url);
            let authority = url.as_str().split('/').nth(2).unwrap();
            prop_assert!(!authority.is_empty() && !authority.contains('@'), "{}", url.as_str());
        }
    }
}
