//! Lists of page numbers as people write them: "1-3,7,9-10".

/// Why a list cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub enum RangeError {
    Empty,
    NotANumber(String),
    Backwards(u32, u32),
}

/// Read a list of pages into ranges, joining those that touch.
pub fn parse_ranges(text: &str) -> Result<Vec<(u32, u32)>, RangeError> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => {
                let page = number(part)?;
                (page, page)
            }
        };
        if last < first {
            return Err(RangeError::Backwards(first, last));
        }
        match ranges.last_mut() {
            Some(previous) if first >= previous.0 && first <= previous.1.saturating_add(1) => {
                previous.1 = previous.1.max(last);
            }
            _ => ranges.push((first, last)),
        }
    }
    if ranges.is_empty() {
        return Err(RangeError::Empty);
    }
    Ok(ranges)
}

fn number(text: &str) -> Result<u32, RangeError> {
    text.trim().parse().map_err(|_| RangeError::NotANumber(text.trim().to_string()))
}
