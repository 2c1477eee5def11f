//! Entity tags of cached pages.

use md5::{Digest, Md5};

/// A page as the cache keeps it.
pub struct Page {
    pub path: String,
    pub body: Vec<u8>,
    pub revision: u32,
    pub weak: bool,
}

/// The tag that a client sends back to ask whether a page has changed.
pub fn entity_tag(page: &Page, salt: &str) -> Result<String, String> {
    if page.path.is_empty() {
        return Err(String::from("a page needs a path"));
    }
    let mut hasher = Md5::new();
    hasher.update(salt.as_bytes());
    hasher.update(page.path.to_lowercase().as_bytes());
    if !page.weak {
        hasher.update(&page.body);
    }
    let digest = hex::encode(hasher.finalize());
    let short = &digest[..16];
    if page.weak {
        Ok(format!("W/\"{}-{}\"", short, page.revision))
    } else {
        Ok(format!("\"{}-{:x}\"", short, page.revision))
    }
}
