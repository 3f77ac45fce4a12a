package agones

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// maxAnswer bounds the bytes of an answer, and of one event of a watch.
	maxAnswer = 1 << 20
	// defaultPort is the port of the sidecar without AGONES_SDK_HTTP_PORT.
	defaultPort = "9358"
)

// Error is an answer of the sidecar that is no success.
type Error struct {
	Route   string // Method and path.
	Status  int    // HTTP status.
	Message string // The sidecar's text, at most 200 bytes.
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("agones: %s: status %d: %s", e.Route, e.Status, e.Message)
}

// SDK calls the routes of the sidecar. Its zero value calls the one of this pod. Any goroutine may use it. Each call ends with its context.
type SDK struct {
	URL    string       // "http://localhost:9358"; default: the port of the environment variable AGONES_SDK_HTTP_PORT.
	Client *http.Client // Default: one that follows no redirect and uses no proxy.
}

// Int is an int64 that JSON holds as text, as in the protocol buffers of Agones.
type Int int64

// MarshalJSON implements json.Marshaler.
func (i Int) MarshalJSON() ([]byte, error) {
	return []byte(strconv.Quote(strconv.FormatInt(int64(i), 10))), nil
}

// UnmarshalJSON implements json.Unmarshaler. It takes a number too.
func (i *Int) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64)
	*i = Int(n)
	return err
}

// GameServer is the part of the resource that the sidecar gives.
type GameServer struct {
	ObjectMeta ObjectMeta `json:"object_meta"` // Names and annotations.
	Status     Status     `json:"status"`      // State, address, counters.
}

// ObjectMeta names the resource.
type ObjectMeta struct {
	Name              string            `json:"name"`               // The name in its namespace.
	Namespace         string            `json:"namespace"`          // The namespace.
	UID               string            `json:"uid"`                // Unique for ever.
	DeletionTimestamp Int               `json:"deletion_timestamp"` // Unix seconds; 0: it is not deleted.
	Annotations       map[string]string `json:"annotations"`        // Annotations.
	Labels            map[string]string `json:"labels"`             // Labels.
}

// Status is the state of the resource.
type Status struct {
	State    string             `json:"state"`    // "Ready", "Allocated", "Shutdown" and others.
	Address  string             `json:"address"`  // Of the node, for players.
	Ports    []Port             `json:"ports"`    // Of the node.
	Counters map[string]Counter `json:"counters"` // By name.
	Lists    map[string]List    `json:"lists"`    // By name.
}

// Port is a port of the node that leads to the game.
type Port struct {
	Name string `json:"name"` // As in the Fleet.
	Port int    `json:"port"` // The number.
}

// Counter is a number that an allocation can select by.
type Counter struct {
	Count    Int `json:"count"`    // At present.
	Capacity Int `json:"capacity"` // At most.
}

// List is a list of texts that an allocation can select by.
type List struct {
	Capacity Int      `json:"capacity"` // Values at most.
	Values   []string `json:"values"`   // At present.
}

// Ready says that the server takes players.
func (s *SDK) Ready(ctx context.Context) error { return s.post(ctx, "/ready", nil) }

// Health says that the server lives.
func (s *SDK) Health(ctx context.Context) error { return s.post(ctx, "/health", nil) }

// Allocate makes the server allocate itself, without an allocator.
func (s *SDK) Allocate(ctx context.Context) error { return s.post(ctx, "/allocate", nil) }

// Shutdown lets Agones delete the server.
func (s *SDK) Shutdown(ctx context.Context) error { return s.post(ctx, "/shutdown", nil) }

// Reserve keeps the server from allocations for a time, in whole seconds. 0 is until another state is asked for.
func (s *SDK) Reserve(ctx context.Context, d time.Duration) error {
	return s.post(ctx, "/reserve", map[string]Int{"seconds": Int(d / time.Second)})
}

// GameServer returns the resource.
func (s *SDK) GameServer(ctx context.Context) (*GameServer, error) {
	var g GameServer
	return &g, s.call(ctx, http.MethodGet, "/gameserver", nil, &g)
}

// SetLabel sets the label agones.dev/sdk-KEY.
func (s *SDK) SetLabel(ctx context.Context, key, value string) error {
	return s.call(ctx, http.MethodPut, "/metadata/label", map[string]string{"key": key, "value": value}, nil)
}

// SetAnnotation sets the annotation agones.dev/sdk-KEY.
func (s *SDK) SetAnnotation(ctx context.Context, key, value string) error {
	return s.call(ctx, http.MethodPut, "/metadata/annotation", map[string]string{"key": key, "value": value}, nil)
}

// Counter returns a counter.
func (s *SDK) Counter(ctx context.Context, name string) (c Counter, err error) {
	return c, s.call(ctx, http.MethodGet, "/v1beta1/counters/"+url.PathEscape(name), nil, &c)
}

// SetCounter sets a counter and its capacity.
func (s *SDK) SetCounter(ctx context.Context, name string, c Counter) error {
	return s.call(ctx, http.MethodPatch, "/v1beta1/counters/"+url.PathEscape(name), c, nil)
}

// List returns a list.
func (s *SDK) List(ctx context.Context, name string) (l List, err error) {
	return l, s.call(ctx, http.MethodGet, "/v1beta1/lists/"+url.PathEscape(name), nil, &l)
}

// SetList sets the capacity and the values of a list. Values that the sidecar does not add are none.
func (s *SDK) SetList(ctx context.Context, name string, l List) error {
	if l.Values == nil {
		l.Values = []string{}
	}
	return s.call(ctx, http.MethodPatch, "/v1beta1/lists/"+url.PathEscape(name), l, nil)
}

// AddListValue adds a value to a list.
func (s *SDK) AddListValue(ctx context.Context, name, value string) error {
	return s.post(ctx, "/v1beta1/lists/"+url.PathEscape(name)+":addValue", map[string]string{"value": value})
}

// RemoveListValue removes a value from a list.
func (s *SDK) RemoveListValue(ctx context.Context, name, value string) error {
	return s.post(ctx, "/v1beta1/lists/"+url.PathEscape(name)+":removeValue", map[string]string{"value": value})
}

// SetPlayerCapacity sets the most players of the alpha player tracking.
func (s *SDK) SetPlayerCapacity(ctx context.Context, most int) error {
	return s.call(ctx, http.MethodPut, "/alpha/player/capacity", map[string]Int{"count": Int(most)}, nil)
}

// PlayerConnect adds a player of the alpha player tracking.
func (s *SDK) PlayerConnect(ctx context.Context, id string) error {
	return s.post(ctx, "/alpha/player/connect", map[string]string{"playerID": id})
}

// PlayerDisconnect removes a player of the alpha player tracking.
func (s *SDK) PlayerDisconnect(ctx context.Context, id string) error {
	return s.post(ctx, "/alpha/player/disconnect", map[string]string{"playerID": id})
}

// ConnectedPlayers returns the players of the alpha player tracking.
func (s *SDK) ConnectedPlayers(ctx context.Context) ([]string, error) {
	var list struct {
		List []string `json:"list"`
	}
	return list.List, s.call(ctx, http.MethodGet, "/alpha/player/connected", nil, &list)
}

func (s *SDK) post(ctx context.Context, path string, body any) error {
	if body == nil {
		body = struct{}{}
	}
	return s.call(ctx, http.MethodPost, path, body, nil)
}

// call makes a request with a JSON body and decodes the answer into to; nil: it is not needed.
func (s *SDK) call(ctx context.Context, method, path string, body, to any) error {
	answer, err := s.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return fmt.Errorf("agones: %s %s: %w", method, path, err)
	}
	if len(text) > maxAnswer {
		return fmt.Errorf("agones: %s %s: the answer has more than %d bytes", method, path, maxAnswer)
	}
	if to == nil {
		return nil
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("agones: %s %s: %w", method, path, err)
	}
	return nil
}

// do makes a request. Without an error the status is a success, and the caller closes the body.
func (s *SDK) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.base()+path, in)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	client := s.Client
	if client == nil {
		client = &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true}, // The sidecar may restart; a call is rare.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("agones: the sidecar: %w", err)
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
	_ = answer.Body.Close()
	return nil, &Error{method + " " + path, answer.StatusCode, strings.TrimSpace(string(text))}
}

func (s *SDK) base() string {
	if s.URL != "" {
		return strings.TrimSuffix(s.URL, "/")
	}
	port := os.Getenv("AGONES_SDK_HTTP_PORT")
	if port == "" {
		port = defaultPort
	}
	return "http://localhost:" + port
}
