package agones

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// errEnded means that the sidecar ended a watch.
var errEnded = errors.New("agones: the watch ended")

// Watch calls f for each state of the game server that the sidecar sends, until ctx is done, f returns false, or the stream ends.
// It returns nil in the second case only.
func (s *SDK) Watch(ctx context.Context, f func(*GameServer) bool) error {
	answer, err := s.do(ctx, http.MethodGet, "/watch/gameserver", nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return readWatch(answer.Body, f)
}

// readWatch reads a stream of lines.
func readWatch(in io.Reader, f func(*GameServer) bool) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var event struct {
			Result *GameServer `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return fmt.Errorf("agones: the watch: %w", err)
		}
		switch {
		case event.Error != nil:
			return fmt.Errorf("agones: the watch: %.200s", event.Error.Message)
		case event.Result != nil && !f(event.Result):
			return nil
		}
	}
	return errors.Join(errEnded, lines.Err())
}
