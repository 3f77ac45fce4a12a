package netcode_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/transport"
)

// A value that a developer prints says what it is about, in one line.
func TestValuesPrintInWords(t *testing.T) {
	p := protocol()
	require.Regexp(t, `^protocol of \d+ components and \d+ messages, open$`, fmt.Sprint(p))
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{}).Client
	s := r.Server.Server
	id := netcode.NetworkID{Index: 12, Generation: 3}
	for want, value := range map[string]any{
		`client 3`:                         netcode.To(3),
		`the server`:                       netcode.ToServer(),
		`all`:                              netcode.ToAll(),
		`all but client 2`:                 netcode.ToAllBut(2),
		`clients \[1 2\]`:                  netcode.ToMany([]netcode.ClientID{1, 2}),
		`the owner of 12v3`:                netcode.ToOwner(id),
		`the seers of 12v3`:                netcode.ToSeers(id),
		`itself`:                           netcode.ToSelf(),
		`nobody`:                           netcode.Recipient{},
		`server of 1 clients at tick \d+`:  s,
		`client 1, Connected, at tick \d+`: c,
		`session of client 1 at \S+`:       extend.OfServer(s).Session(1),
		`protocol of \d+ components and \d+ messages, [0-9a-f]{16}`: p,
		`a client at .* with a payload of 2 bytes, user "ann"`:      &netcode.Approval{Address: transport.Addr{}, Payload: []byte("hi"), User: "ann"},
	} {
		require.Regexp(t, "^"+want+"$", fmt.Sprint(value))
		require.Regexp(t, "^"+want+"$", fmt.Sprintf("%v", value))
	}
}
