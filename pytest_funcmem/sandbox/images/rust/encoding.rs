//! The canonical encodings of values, as JSON for the host and as Rust source for people.

pub enum Encoding {
    Null,
    Bool(bool),
    Int(i128),
    Unsigned(u128),
    Float(String),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Encoding>),
    Tuple(Vec<Encoding>),
    Set(Vec<Encoding>),
    Map(Vec<(Encoding, Encoding)>),
    Object(String, Vec<(String, Encoding)>),
    Value(String, String),
    Iterator(String, Vec<Encoding>),
    Opaque(String),
    Unchanged,
}

const EXACT: i128 = 1 << 53;
const MOST_BYTES: usize = 200_000;

impl Encoding {
    /// JSON of a whole value; one that is too large is cut, with a digest of all of it.
    pub fn json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        if out.len() <= MOST_BYTES {
            return out;
        }
        let mut cut = String::from("[\"cut\",\"value\",");
        cut.push_str(&format!("{},\"{:032x}\",", out.len(), digest(out.as_bytes())));
        let preview: String = out.chars().take(100).collect();
        write_text(&preview, &mut cut);
        cut.push(']');
        cut
    }

    fn write(&self, out: &mut String) {
        match self {
            Encoding::Null => out.push_str("null"),
            Encoding::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Encoding::Int(value) if -EXACT <= *value && *value <= EXACT => out.push_str(&value.to_string()),
            Encoding::Int(value) => {
                let sign = if *value < 0 { "-" } else { "" };
                out.push_str(&format!("[\"int\",\"{}{:x}\"]", sign, value.unsigned_abs()))
            }
            Encoding::Unsigned(value) if *value <= EXACT as u128 => out.push_str(&value.to_string()),
            Encoding::Unsigned(value) => out.push_str(&format!("[\"int\",\"{:x}\"]", value)),
            Encoding::Float(text) => tagged("float", &[text], out),
            Encoding::Text(text) => write_text(text, out),
            Encoding::Bytes(bytes) => {
                let text: String = bytes.iter().map(|&byte| byte as char).collect();
                tagged("bytes", &[&text], out)
            }
            Encoding::List(items) => sequence("list", items, out),
            Encoding::Tuple(items) => sequence("tuple", items, out),
            Encoding::Set(items) => {
                let mut texts: Vec<String> = items.iter().map(part).collect();
                texts.sort();
                out.push_str("[\"set\",[");
                out.push_str(&texts.join(","));
                out.push_str("]]");
            }
            Encoding::Map(pairs) => {
                let mut texts: Vec<String> =
                    pairs.iter().map(|(key, value)| format!("[{},{}]", part(key), part(value))).collect();
                texts.sort();
                out.push_str("[\"dict\",[");
                out.push_str(&texts.join(","));
                out.push_str("]]");
            }
            Encoding::Object(name, fields) => {
                out.push_str("[\"object\",");
                write_text(name, out);
                out.push_str(",[");
                for (place, (field, value)) in fields.iter().enumerate() {
                    if place > 0 {
                        out.push(',');
                    }
                    out.push('[');
                    write_text(field, out);
                    out.push(',');
                    value.write(out);
                    out.push(']');
                }
                out.push_str("],null]");
            }
            Encoding::Value(name, text) => tagged("value", &[name, text], out),
            Encoding::Iterator(name, items) => {
                out.push_str("[\"iterator\",");
                write_text(name, out);
                out.push_str(",[");
                separated(items, out);
                out.push_str("],null]");
            }
            Encoding::Opaque(name) => tagged("opaque", &[name], out),
            Encoding::Unchanged => out.push_str("[\"unchanged\"]"),
        }
    }

    /// What a person can read: the value much as Rust source would make it.
    pub fn source(&self) -> String {
        let mut out = String::new();
        self.show(&mut out, 0);
        if out.chars().count() > 400 {
            let start: String = out.chars().take(399).collect();
            return start + "…";
        }
        out
    }

    fn show(&self, out: &mut String, depth: usize) {
        if depth > 12 || out.len() > 1000 {
            out.push('…');
            return;
        }
        match self {
            Encoding::Null => out.push_str("()"),
            Encoding::Bool(value) => out.push_str(&value.to_string()),
            Encoding::Int(value) => out.push_str(&value.to_string()),
            Encoding::Unsigned(value) => out.push_str(&value.to_string()),
            Encoding::Float(text) => out.push_str(text),
            Encoding::Text(text) => out.push_str(&format!("{:?}", text)),
            Encoding::Bytes(bytes) => {
                let text: String = bytes.iter().flat_map(|&byte| std::ascii::escape_default(byte)).map(char::from).collect();
                out.push_str(&format!("b\"{}\"", text))
            }
            Encoding::List(items) => shown_items("[", items, "]", out, depth),
            Encoding::Set(items) => shown_items("{", items, "}", out, depth),
            Encoding::Tuple(items) => shown_items("(", items, ")", out, depth),
            Encoding::Iterator(name, items) => {
                out.push_str(name);
                shown_items("[", items, "]", out, depth)
            }
            Encoding::Map(pairs) => {
                out.push('{');
                for (place, (key, value)) in pairs.iter().enumerate() {
                    if place > 0 {
                        out.push_str(", ");
                    }
                    key.show(out, depth + 1);
                    out.push_str(": ");
                    value.show(out, depth + 1);
                }
                out.push('}');
            }
            Encoding::Object(name, fields) => {
                out.push_str(name);
                if fields.is_empty() {
                    return;
                }
                let is_tuple = fields[0].0.as_bytes()[0].is_ascii_digit();
                out.push_str(if is_tuple { "(" } else { " { " });
                for (place, (field, value)) in fields.iter().enumerate() {
                    if place > 0 {
                        out.push_str(", ");
                    }
                    if !is_tuple {
                        out.push_str(field);
                        out.push_str(": ");
                    }
                    value.show(out, depth + 1);
                }
                out.push_str(if is_tuple { ")" } else { " }" });
            }
            Encoding::Value(name, text) => out.push_str(&format!("{}({})", name, text)),
            Encoding::Opaque(name) => out.push_str(&format!("<{}>", name)),
            Encoding::Unchanged => out.push_str("<unchanged>"),
        }
    }
}

fn part(value: &Encoding) -> String {
    let mut out = String::new();
    value.write(&mut out);
    out
}

fn shown_items(open: &str, items: &[Encoding], close: &str, out: &mut String, depth: usize) {
    out.push_str(open);
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push_str(", ");
        }
        item.show(out, depth + 1);
    }
    out.push_str(close);
}

fn separated(items: &[Encoding], out: &mut String) {
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        item.write(out);
    }
}

fn sequence(tag: &str, items: &[Encoding], out: &mut String) {
    out.push_str(&format!("[\"{}\",[", tag));
    separated(items, out);
    out.push_str("]]");
}

fn tagged(tag: &str, texts: &[&str], out: &mut String) {
    out.push_str(&format!("[\"{}\"", tag));
    for text in texts {
        out.push(',');
        write_text(text, out);
    }
    out.push(']');
}

/// A JSON string in ASCII.
pub fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            ' '..='~' => out.push(character),
            _ => {
                let mut units = [0u16; 2];
                for unit in character.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{:04x}", unit));
                }
            }
        }
    }
    out.push('"');
}

/// FNV-1a in 128 bits.
pub fn digest(bytes: &[u8]) -> u128 {
    let mut state: u128 = 0x6c62272e07bb014262b821756295c58d;
    for &byte in bytes {
        state ^= byte as u128;
        state = state.wrapping_mul(0x0000000001000000000000000000013b);
    }
    state
}
