package supervisor_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/fleet/supervisor"
)

// idle is a supervisor that runs no server.
func idle(t testing.TB, c supervisor.Config) *supervisor.Supervisor {
	if c.Command == nil {
		c.Command = []string{os.Args[0]}
	}
	s, err := supervisor.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// ask makes a request of a host, with headers as "Name: value".
func ask(s http.Handler, method, path, body, from string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr, r.Host = from, "localhost:7070"
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

const here, there = "127.0.0.1:5000", "203.0.113.9:5000"

// Requests that are malformed, too large, of others or of other sites are refused, and say why.
func TestRequestsThatAreRefused(t *testing.T) {
	s := idle(t, supervisor.Config{})
	long := strings.Repeat("x", 65)
	for _, c := range []struct {
		body   string
		status int
		text   string
	}{
		{`{"user":"ann"}`, 503, "no server has room"},
		{``, 400, "one object"}, {`[]`, 400, "one object"}, {`{"user":1}`, 400, "one object"}, {`{"user":"ann"} {}`, 400, "one object"},
		{`{"user":"ann","admin":true}`, 400, "one object"},
		{`{}`, 400, "user has 0 bytes"}, {`{"user":"` + long + `"}`, 400, "user has 65 bytes"},
		{`{"user":"ann","match":"` + long + `"}`, 400, "match has 65 bytes"},
		{`{"user":"ann","ticket":"` + strings.Repeat("x", 331) + `"}`, 400, "ticket has 331 bytes"},
		{`{"user":"ann","data":"` + strings.Repeat("x", 1<<16+1) + `"}`, 400, "data has 65537 bytes"},
		{`{"user":"ann","data":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "too large"},
		{`{"user":"ann","match":"m","data":"d"}`, 400, "data is for a new match"},
		{`{"user":"ann","match":"none"}`, 404, "no such match"},
	} {
		w := ask(s, "POST", "/match", c.body, here)
		require.Equal(t, c.status, w.Code, c.body[:min(40, len(c.body))])
		var answer struct{ Error string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		require.Contains(t, answer.Error, c.text)
		require.Equal(t, c.status == 503, w.Header().Get("Retry-After") != "")
	}
	for _, c := range []struct {
		method, path, from string
		headers            []string
		status             int
	}{
		{"GET", "/servers", here, nil, 200}, {"GET", "/metrics", here, nil, 200}, {"GET", "/", here, nil, 200}, {"GET", "/servers", "[::1]:9", []string{"Host: [::1]:7070"}, 200},
		{"GET", "/match", here, nil, 404}, {"DELETE", "/servers", here, nil, 404}, {"GET", "/../etc/passwd", here, nil, 404},
		{"GET", "/servers", there, nil, 403}, {"GET", "/servers", here, []string{"Host: evil.example"}, 403}, {"GET", "/servers", "nonsense", nil, 403},
		{"GET", "/servers", here, []string{"Origin: http://evil.example"}, 403}, {"GET", "/servers", here, []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"GET", "/servers", here, []string{"Origin: http://localhost:7070", "Sec-Fetch-Site: same-origin"}, 200},
		{"POST", "/match", here, []string{"Content-Type: text/plain"}, 415},
	} {
		require.Equal(t, c.status, ask(s, c.method, c.path, `{"user":"ann"}`, c.from, c.headers...).Code, "%v", c)
	}
}

// With a key others may ask who have it, and nobody who has not.
func TestTheKeyOfBackends(t *testing.T) {
	const key = "0123456789abcdef"
	s := idle(t, supervisor.Config{Bearer: key})
	require.Equal(t, 200, ask(s, "GET", "/servers", "", there, "Authorization: Bearer "+key).Code)
	require.Equal(t, 503, ask(s, "POST", "/match", `{"user":"ann"}`, there, "Authorization: Bearer "+key, "Host: fleet.example").Code)
	basic, _ := http.NewRequest("GET", "/", nil)
	basic.SetBasicAuth("me", key)
	require.Equal(t, 200, ask(s, "GET", "/", "", there, "Authorization: "+basic.Header.Get("Authorization")).Code, "a browser")
	for _, wrong := range []string{"", "Bearer ", "Bearer " + key[1:], "Bearer " + key + "0", key, "bearer"} {
		for _, from := range []string{here, there} {
			w := ask(s, "GET", "/servers", "", from, "Authorization: "+wrong)
			require.Equal(t, 401, w.Code, wrong)
			require.NotContains(t, w.Body.String(), "game")
		}
	}
	require.Equal(t, 403, ask(s, "POST", "/match", "{}", there, "Authorization: Bearer "+key, "Sec-Fetch-Site: cross-site").Code)
	_, err := supervisor.New(supervisor.Config{Command: []string{os.Args[0]}, Bearer: "short"})
	require.ErrorContains(t, err, "at least 16")
}

// A host that asks too often is refused, its neighbours and this machine are not.
func TestRequestsAreLimitedByHost(t *testing.T) {
	const key = "0123456789abcdef"
	s := idle(t, supervisor.Config{Bearer: key, Requests: 20})
	refused := func(from string, n int) (late int) {
		for range n {
			if w := ask(s, "GET", "/servers", "", from, "Authorization: Bearer "+key); w.Code == 429 {
				late++
				require.NotEmpty(t, w.Header().Get("Retry-After"))
			}
		}
		return late
	}
	require.Positive(t, refused("203.0.113.9:1", 2000))
	require.Zero(t, refused("198.51.100.1:1", 5))
	require.Zero(t, refused("127.0.0.1:1", 2000))
	one := 0
	for i := range 2000 { // Addresses of one /64 are one host.
		ip := net.ParseIP("2001:db8::")
		ip[14], ip[15] = byte(i>>8), byte(i)
		one += refused("["+ip.String()+"]:1", 1)
	}
	require.Positive(t, one)
}

// A host has a part of the connections. Where all are used up, the host with most makes room.
func TestConnectionsAreLimitedByHost(t *testing.T) {
	s := idle(t, supervisor.Config{})
	l := &line{conns: make(chan net.Conn, 1<<12)}
	limited := s.Limit(l)
	open := func(ip string) *end {
		c := &end{remote: &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}}
		l.conns <- c
		return c
	}
	for range 100 {
		open("192.0.2.1")
	}
	l.conns <- nil
	alone := 0
	for _, err := limited.Accept(); err == nil; _, err = limited.Accept() {
		alone++
	}
	require.Equal(t, 64, alone, "also where there is room")
	var of [12][]*end
	for host := range of {
		for range 100 {
			of[host] = append(of[host], open(net.IPv4(203, 0, byte(host), 9).String()))
		}
	}
	late := open("198.51.100.7")
	l.conns <- nil
	for _, err := limited.Accept(); err == nil; _, err = limited.Accept() {
	}
	alive := 0
	for _, host := range of {
		n := 0
		for _, c := range host {
			if !c.closed {
				n++
			}
		}
		require.LessOrEqual(t, n, 64)
		require.Positive(t, n, "each host has some")
		alive += n
	}
	require.False(t, late.closed, "a host with nothing gets in")
	require.LessOrEqual(t, alive+1, 512)
	require.Greater(t, alive+1, 512-64)
}

// line is a listener whose connections a test makes; nil ends it.
type line struct{ conns chan net.Conn }

func (l *line) Accept() (net.Conn, error) {
	if c := <-l.conns; c != nil {
		return c, nil
	}
	return nil, io.EOF
}
func (l *line) Close() error   { return nil }
func (l *line) Addr() net.Addr { return nil }

type end struct {
	net.Conn
	remote net.Addr
	closed bool
}

func (e *end) RemoteAddr() net.Addr { return e.remote }
func (e *end) Close() error         { e.closed = true; return nil }

func TestConfigsThatMakeNoSense(t *testing.T) {
	script := t.TempDir() + "/script"
	require.NoError(t, os.WriteFile(script, nil, 0o644))
	for text, c := range map[string]supervisor.Config{
		"Command is empty":             {},
		"1 to 256":                     {Command: []string{"x"}, Servers: 257},
		"1 or more":                    {Command: []string{"x"}, Matches: -1},
		"Config.Listen":                {Command: []string{"x"}, Listen: "nowhere"},
		"give Config.Public (-public)": {Command: []string{"x"}, Listen: ":9000"},
		"at most 56":                   {Command: []string{"x"}, Public: strings.Repeat("x", 57)},
		"65535 ports":                  {Command: []string{"x"}, Listen: "127.0.0.1:65535"},
		"the program":                  {Command: []string{"./no such game"}},
		"not executable":               {Command: []string{script}},
		"executable file not fou":      {Command: []string{"no-such-game"}},
	} {
		_, err := supervisor.New(c)
		require.ErrorContains(t, err, text)
	}
}

// FuzzMatch sends bodies to POST /match: none makes it panic, and each has an answer in JSON.
func FuzzMatch(f *testing.F) {
	for _, seed := range []string{`{"user":"ann"}`, `{"user":"ann","match":"m"}`, `{"user":"ann","data":"\u0000"}`, `[`, "\xff"} {
		f.Add(seed)
	}
	s := idle(f, supervisor.Config{})
	f.Fuzz(func(t *testing.T, body string) {
		w := ask(s, "POST", "/match", body, here)
		require.Contains(t, []int{400, 404, 413, 503}, w.Code)
		require.True(t, json.Valid(w.Body.Bytes()))
	})
}
