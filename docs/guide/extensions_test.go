package guide_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// The code between the marks is that of extensions.md.

var errFramerate = errors.New("a frame rate is one byte")

// begin guide
type framerates struct { // the feature on a client
	newest byte
	told   bool
	packet uint64 // the packet that told it
}

type framerate struct { // and with each session on the server
	newest int
	packet uint64 // the newest packet that told it
}

func RegisterFramerate(protocol *netcode.Protocol) { // on both sides
	extend.OfProtocol(protocol).Extend(extend.Extension{
		Name: "framerate", ToServer: extend.FreeSection,
		Client: framerateEnds{}, Server: framerateEnds{},
	})
}

type framerateEnds struct{} // a program links only the methods of the ends that it makes

func (framerateEnds) Client(extend.Client) extend.ClientHooks {
	f := &framerates{}
	again := func() { f.told = false } // to a new server
	return extend.ClientHooks{State: f, Opened: again, Section: &extend.ClientSection{
		Due: func(bool) bool { return !f.told },
		Write: func(room []byte, packet uint64) int {
			if len(room) == 0 || f.told {
				return 0
			}
			room[0], f.told, f.packet = f.newest, true, packet
			return 1
		},
		Lost: func(packet uint64) { // any packet, also one without the section
			if packet == f.packet {
				f.told = false
			}
		},
	}}
}

func (framerateEnds) Server(extend.Server) extend.ServerHooks {
	return extend.ServerHooks{
		Opened: func(extend.Session) any { return &framerate{} },
		Section: &extend.ServerSection{
			Check: func(_ extend.Session, payload []byte) error {
				if len(payload) != 1 {
					return errFramerate // what no honest client sends ends its connection
				}
				return nil
			},
			Take: func(c extend.Session, packet uint64, payload []byte) {
				if f, ok := extend.ExtensionOf[*framerate](c); ok && packet >= f.packet { // an older packet may come later
					f.packet, f.newest = packet, int(payload[0])
				}
			},
		},
	}
}

func SetFramerate(client *netcode.Client, rate int) { // what games call on a client
	if f, ok := extend.ExtensionOf[*framerates](client); ok {
		now := byte(min(rate, 255))
		f.newest, f.told = now, f.told && now == f.newest
	}
}

func FramerateOf(server *netcode.Server, client netcode.ClientID) int { // and on the server
	if f, ok := extend.ExtensionOf[*framerate](extend.OfServer(server).Session(client)); ok {
		return f.newest
	}
	return 0
}

// end guide

// The feature of the page works, over a link that loses packets, and keeps nothing of a client that is gone.
func TestGuideExtensions(t *testing.T) {
	protocol := netcode.NewProtocol()
	netcode.Replicate[Position](protocol)
	RegisterFramerate(protocol)
	n := nettest.New(t, nettest.Config{Protocol: protocol, Clients: 2, Seed: 1, Link: transport.Link{Delay: 50 * time.Millisecond, Loss: 0.2}})
	n.Run(2 * time.Second)
	for i, rate := range []int{60, 144, 30} {
		SetFramerate(n.Clients[0].Client, rate)
		SetFramerate(n.Clients[1].Client, 1000)
		n.Run(2 * time.Second)
		require.Equal(t, rate, FramerateOf(n.Server.Server, n.Clients[0].ID()), "change %d", i)
		require.Equal(t, 255, FramerateOf(n.Server.Server, n.Clients[1].ID()))
	}
	state, _ := extend.ExtensionOf[*framerates](n.Clients[0].Client)
	for range 4 * 60 { // Packets without the section are lost too: nothing is told again.
		n.Step()
		require.True(t, state.told)
	}
	gone := n.Clients[0].ID()
	n.Clients[0].Close()
	n.Run(2 * time.Second)
	require.Nil(t, extend.OfServer(n.Server).Session(gone))
	require.Zero(t, FramerateOf(n.Server.Server, gone))
}

// The newest rate is known in the end, over a link that reorders packets, and after a reconnection.
func TestGuideExtensionsKnowTheNewest(t *testing.T) {
	for seed := range uint64(40) {
		protocol := netcode.NewProtocol()
		RegisterFramerate(protocol)
		n := nettest.New(t, nettest.Config{Protocol: protocol, Clients: 1, Seed: seed, Link: transport.Link{Delay: 60 * time.Millisecond, Reorder: 0.3}})
		n.RunUntil(5*time.Second, n.Connected)
		n.Run(time.Second)
		for i := range 30 {
			SetFramerate(n.Clients[0].Client, 30+i)
			n.Step()
		}
		n.Run(3 * time.Second)
		require.Equal(t, 59, FramerateOf(n.Server.Server, n.Clients[0].ID()), "seed %d", seed)
		require.NoError(t, n.Clients[0].Connect(n.Address()))
		n.Run(3 * time.Second)
		require.Equal(t, 59, FramerateOf(n.Server.Server, n.Clients[0].ID()), "seed %d, again", seed)
	}
}
