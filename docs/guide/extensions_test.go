package guide_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// The code between the marks is that of extensions.md.

var errFramerate = errors.New("a frame rate is one byte")

// begin guide
type framerates struct{ newest, told byte } // the feature on a client

type framerate struct{ newest int } // and with each session on the server

func RegisterFramerate(protocol *netcode.Protocol) { // on both sides
	protocol.Extend(netcode.Extension{
		Name: "framerate", ToServer: netcode.FreeSection,
		Client: framerateEnds{}, Server: framerateEnds{},
	})
}

type framerateEnds struct{} // a program links only the methods of the ends that it makes

func (framerateEnds) Client(*netcode.Client) netcode.ClientHooks {
	f := &framerates{}
	return netcode.ClientHooks{State: f, Section: &netcode.ClientSection{
		Due: func(bool) bool { return f.told != f.newest },
		Write: func(room []byte, _ uint64) int {
			if len(room) == 0 || f.told == f.newest {
				return 0
			}
			room[0], f.told = f.newest, f.newest
			return 1
		},
		Lost: func(uint64) { f.told = 0 }, // say it again
	}}
}

func (framerateEnds) Server(*netcode.Server) netcode.ServerHooks {
	return netcode.ServerHooks{
		Opened: func(*netcode.Session) any { return &framerate{} },
		Section: &netcode.ServerSection{
			Check: func(_ *netcode.Session, payload []byte) error {
				if len(payload) != 1 {
					return errFramerate // what no honest client sends ends its connection
				}
				return nil
			},
			Take: func(c *netcode.Session, payload []byte) {
				if f, ok := netcode.ExtensionOf[*framerate](c); ok {
					f.newest = int(payload[0])
				}
			},
		},
	}
}

func SetFramerate(client *netcode.Client, rate int) { // what games call on a client
	if f, ok := netcode.ExtensionOf[*framerates](client); ok {
		f.newest = byte(min(rate, 255))
	}
}

func FramerateOf(server *netcode.Server, client netcode.ClientID) int { // and on the server
	if f, ok := netcode.ExtensionOf[*framerate](server.Session(client)); ok {
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
	gone := n.Clients[0].ID()
	n.Clients[0].Close()
	n.Run(2 * time.Second)
	require.Nil(t, n.Server.Session(gone))
	require.Zero(t, FramerateOf(n.Server.Server, gone))
}
