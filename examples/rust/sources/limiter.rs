//! How many requests a client may make in a window of time.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// Requests of one client in the window that runs.
pub struct Window {
    started: u64,
    count: u32,
}

/// Counts requests by client.
pub struct RateLimiter {
    limit: u32,
    window_s: u64,
    clients: HashMap<String, Window>,
    refused: u64,
}

impl RateLimiter {
    /// Count a request; gives how many are left, or how many seconds to wait.
    pub fn check(&mut self, client: &str) -> Result<u32, u64> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|d| d.as_secs()).unwrap_or(0);
        let window = self.clients.entry(client.to_string()).or_insert(Window { started: now, count: 0 });
        let age = now.saturating_sub(window.started);
        if age >= self.window_s {
            window.started = now;
            window.count = 0;
        }
        if window.count >= self.limit {
            self.refused = self.refused.wrapping_add(1);
            return Err(self.window_s.saturating_sub(now.saturating_sub(window.started)));
        }
        window.count += 1;
        Ok(self.limit - window.count)
    }
}
