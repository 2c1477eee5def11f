package gateway

import (
	"errors"
	"time"

	"example.com/gateway/audit"
)

// ErrEmpty says that nothing is left to take.
var ErrEmpty = errors.New("bucket is empty")

// Bucket lets a number of calls through, and fills up again with time.
type Bucket struct {
	tokens   float64
	capacity float64
	rate     float64
	last     time.Time
	trail    *audit.Trail
}

// Take takes tokens out of the bucket; it gives how many are left.
func (b *Bucket) Take(count float64) (float64, error) {
	now := time.Now()
	elapsed := now.Sub(b.last).Seconds()
	if elapsed > 0 {
		b.tokens += elapsed * b.rate
		if b.tokens > b.capacity {
			b.tokens = b.capacity
		}
		b.last = now
	}
	if count <= 0 {
		return b.tokens, nil
	}
	if b.tokens < count {
		b.trail.Refused(count)
		return b.tokens, ErrEmpty
	}
	b.tokens -= count
	return b.tokens, nil
}
