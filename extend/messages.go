package extend

import (
	"reflect"

	"github.com/arche-netcode/netcode/internal/door"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Posted is a message of game code to clients, for extensions: ServerHooks.Posted gets it, and Server.Post sends one. Exactly one of
// All, Seers and Clients is set; none is for a message of a client (ServerHooks.Handled, Session.Say).
type Posted struct {
	All     bool            // To every client but But.
	But     wire.ClientID   // 0 leaves nobody out.
	Seers   wire.NetworkID  // To every client that may see this entity.
	Clients []wire.ClientID // To these.

	message.Message        // Type, Stage, Channel, NotBefore and Entity, as the client gets them.
	AtOnce          bool   // The option AtOnce.
	AfterAll        bool   // The option AfterAllState.
	Body            []byte // As it is encoded, with all entities that it names.
}

// ReadPosted returns the value of a message that an extension was given, with the entities that it names as they were sent. ok is false if it is
// of another type than T, or has no body.
func ReadPosted[T any](end message.Endpoint, m *Posted) (v T, ok bool) {
	reader, ok := door.Of(end).(interface {
		Decoding() (*message.Registry, *message.Scratch)
	})
	if !ok || m.Body == nil {
		return v, false
	}
	types, scratch := reader.Decoding()
	of, codec := message.TypeOf[T](types)
	if of == nil || of.ID() != m.Type {
		return v, false
	}
	ok = codec.Decode(scratch, m.Body, &v)
	return v, ok
}

// RawMessage is a message type of an extension whose bodies are bytes that the extension reads itself. The server sends it to
// single clients, about entities. Protocol.HandleRaw registers it.
type RawMessage struct {
	Name    string       // The wire name.
	Marker  reflect.Type // Stands for it among the Go types of messages: an unexported type of the extension.
	Channel wire.Channel // A reliable one.
	Stage   tick.Stage   // Of the client's frame, in which Handle runs.

	// Check judges a body that came, without any effect. A body that is not legal ends the connection as malformed.
	Check func(body []byte) bool
	// Handle takes a body that was checked. Its message is about an entity and came on Channel. An error ends the connection as
	// malformed.
	Handle func(ctx *message.Context, body []byte) error
	// Dump appends a body for people, legal or not.
	Dump func(dst, body []byte) []byte
	// Blank makes a body without effect, in as many bytes: it was sent, may be sent again, and its entity left the client's sight.
	Blank func(body []byte)
}

// Raw is a registered RawMessage.
type Raw interface {
	// Send sends a body about an entity to a client. It keeps nothing of body. The errors are those of netcode.Send; after each
	// nothing was sent.
	Send(to Session, about wire.NetworkID, body []byte) error
	// Recall takes back the messages that wait on the channel for a client about entities which it does not see any more. Of the
	// others of this type amend takes out what the client must not learn any more: it works in place, and returns the new length,
	// which is not larger. The kernel takes back messages by itself in each frame, without amend.
	Recall(to Session, amend func(body []byte) int)
}
