//! Where a repository comes from, in one form for all its spellings: two clones of one repository have the same origin however
//! each was cloned. Nothing here asks that place anything.

use gix::{bstr::BStr, url::Scheme};

/// The address of an origin as host and path: without user, password, `.git` and slashes at the end, its host in lower case. A
/// path of this machine stays one. None when it is no address.
///
/// The host is what a connection would go to, so a name before an `@` is never taken for it.
pub fn normalised(address: &[u8]) -> Option<String> {
    let url = gix::url::parse(BStr::new(address.trim_ascii())).ok()?;
    let path = String::from_utf8_lossy(&url.path).into_owned();
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    let Some(host) = url.host().filter(|_| url.scheme != Scheme::File) else { return Some(format!("file:{path}")) };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let usual = match url.scheme {
        Scheme::Ssh => Some(22),
        Scheme::Http => Some(80),
        Scheme::Https => Some(443),
        Scheme::Git => Some(9418),
        _ => None,
    };
    let port = url.port.filter(|port| Some(*port) != usual).map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{host}{port}/{}", path.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, expected: &str) {
        assert_eq!(normalised(address.as_bytes()).as_deref(), Some(expected), "{address}");
    }

    #[test]
    fn every_spelling_of_one_repository_is_one_origin() {
        for same in [
            "https://GitHub.com/ada/app.git",
            "https://github.com/ada/app/",
            "https://ada:secret@github.com/ada/app.git",
            "ssh://git@github.com:22/ada/app.git",
            "git@github.com:ada/app.git",
            "git@github.com:/ada/app",
            "https://github.com:443/ada/app.git/",
        ] {
            check(same, "github.com/ada/app");
        }
    }

    #[test]
    fn g17_a_host_is_what_a_connection_goes_to() {
        check("https://github.com@evil.example/ada/app", "evil.example/ada/app");
        check("https://github.com.evil.example/ada/app", "github.com.evil.example/ada/app");
        check("github.com@evil.example:ada/app", "evil.example/ada/app");
        check("https://evil.example:8443/github.com/ada/app", "evil.example:8443/github.com/ada/app");
        check("https://github.com/Ada/app", "github.com/Ada/app");
    }

    #[test]
    fn a_path_of_this_machine_is_its_own_origin() {
        check("/srv/git/app.git", "file:/srv/git/app");
        check("file:///srv/git/app.git/", "file:/srv/git/app");
    }
}
