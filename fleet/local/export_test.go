package local

import (
	"context"
	"time"
)

// OpenAt opens the supervisor at a URL, which counts as gone after silence.
func OpenAt(ctx context.Context, url string, silence time.Duration) (*Lifecycle, error) {
	return open(ctx, url, silence)
}

// ParseEvent parses a line of events.
var ParseEvent = parseEvent
