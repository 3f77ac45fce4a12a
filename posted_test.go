package netcode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type (
	postedNews  struct{ N uint8 }
	postedWish  struct{ N uint8 }
	postedQuery struct{ N uint8 }
	postedReply struct{ N uint8 }
)

// Post refuses all that a server does not send by itself: a file may be hostile.
func TestPostRefusesWhatIsNoMessageOfTheServer(t *testing.T) {
	p := NewProtocol()
	Handle[postedNews](p, nil, FromServer())
	Handle[postedWish](p, nil, FromClient())
	Answer[postedQuery, postedReply](p, nil)
	s, err := NewServer(p, Config{})
	require.NoError(t, err)
	post := func(name string, stage tick.Stage, body ...byte) error {
		of := wire.MessageType(0)
		for _, one := range p.types.Messages.Types() {
			if one.Name == name {
				of = one.ID()
			}
		}
		return extend.OfServer(s).Post(&extend.Posted{All: true, Message: message.Message{Type: of, Stage: stage}, Body: body}, nil)
	}
	require.NoError(t, post("postedNews", tick.Update, 1))
	require.ErrorIs(t, post("postedNews", tick.NumStages, 1), errs.ErrPosted)
	require.ErrorIs(t, post("postedNews", tick.Update, 1, 2), errs.ErrPosted)
	for _, name := range []string{"postedWish", "postedQuery", "postedReply", "unknown"} {
		require.ErrorIs(t, post(name, tick.Update, 1), errs.ErrPosted, name)
	}
	far := extend.Posted{All: true, Message: message.Message{Type: p.types.Messages.Types()[0].ID(), NotBefore: 1 << 40}, Body: []byte{1}}
	require.ErrorContains(t, extend.OfServer(s).Post(&far, nil), "the tick is too far ahead")
}
