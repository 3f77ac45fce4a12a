package netcode

import (
	"time"

	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/registry"
)

// Recipient is the receivers of a message. Its values are made by To, ToMany, ToAll, ToAllBut, ToOwner, ToSeers, ToServer and
// ToSelf; the zero value is nobody.
type Recipient endpoint.Recipient

// To is one client by its id; 0 is the server. The id of the sending end itself is ToSelf.
func To(client ClientID) Recipient { return Recipient(endpoint.To(client)) }

// ToMany is each client of a list, once, even if the list has it twice. The sending end's own id in it is left out, so that a host may use any list as it is. The
// list is read before Send returns and not kept.
func ToMany[S ~[]ClientID](clients S) Recipient { return Recipient(endpoint.ToMany(clients)) }

// ToAll is every connected client.
func ToAll() Recipient { return Recipient(endpoint.ToAllBut(0)) }

// ToAllBut is every connected client but one.
func ToAllBut(client ClientID) Recipient { return Recipient(endpoint.ToAllBut(client)) }

// ToOwner is the client that an entity belongs to (Server.SetOwner), or the server itself if it belongs to no client.
func ToOwner(entity NetworkID) Recipient { return Recipient(endpoint.ToOwner(entity)) }

// ToSeers is every client that may see an entity, by the same rule as its state.
func ToSeers(entity NetworkID) Recipient { return Recipient(endpoint.ToSeers(entity)) }

// ToServer is the server that a client is connected to. On a server it is ToSelf.
func ToServer() Recipient { return To(0) }

// ToSelf is the sending end itself: the message is handled before Send returns if its stage is the present one, later in this frame
// if its stage is still to come, and else in the next frame. So is one to a host's player from its server and the other way,
// whoever else it goes to. Its values are checked and rounded in each stage as those of a message over the network.
func ToSelf() Recipient { return Recipient(endpoint.ToSelf()) }

// NotBefore has the message wait at the receiver until its tick is at least that one, at most 16384 ticks ahead: at a client the
// server's tick as Client.ServerTime has it, if that is later than its own, which a stall may leave behind. An unreliable
// message that waits for too long (Config.DeferredTime), or among too many, is dropped, and so is one on a sequenced channel
// if a newer one was handled meanwhile. A reliable message waits as long as it takes, and on an ordered channel so do those
// behind it: they use up the credit of the sender, and then other reliable messages wait too. That is no stall: no connection
// ends before the newest tick that was asked for has come and Config.ReliableStall has passed after it. Config.ReliableBytes
// limits the messages that wait here meanwhile.
func NotBefore(t Tick) Option { return Option{What: registry.OptionBefore, Before: t} }

// About names the entity that the message is about. The handler finds it as Context.Entity, and does not run before the entity
// exists there. Nobody is sent a message about an entity that it may not see. A message about an entity that has just come is sent
// with the entity, and waits at the client if that comes later, together with messages behind it on an ordered channel. If the
// entity dies or is hidden before, the message is dropped, reliable or not. The end that drops it counts it. Before it was
// sent: the server's Stats().DelayedDropped. At the receiver, because the entity left before the message was handled:
// its Stats().Messages.Undeliverable. At a server, because the client that sent it may not see the entity then:
// Stats().NotVisible.
//
// The handler also finds the entity's state of the frame in which the message was sent, or a later one. A server's message leaves
// with the network tick that captures the frame, and waits at the client until the entity's state of that tick is in the world, if the
// entity changed. A client's message waits likewise for the state of the entity that the client itself writes, and for the tick of its newest input.
// An unreliable message is dropped where that takes longer than Config.DeferredTime, or too many wait; a reliable one is handled
// after that time with the state that there is, and counted as Stats().Messages.StateLate. Components that are sent seldom
// (Every, Rate) or once (Once) are not waited for beyond what the tick captures of them. AtOnce turns this off.
func About(entity NetworkID) Option { return Option{What: registry.OptionEntity, Entity: entity} }

// AtOnce lets a message About an entity overtake the state of its frame: it leaves with the frame and is handled as soon as the entity
// exists at the receiver. Messages about no entity always do.
func AtOnce() Option { return Option{What: registry.OptionAfter, After: uint8(held.AfterNothing)} }

// AfterAllState has the handler run when the receiver has all state that the sender's frame captures and that the receiver may see,
// or later state. The sender keeps the message back until the receiver has acknowledged that state, which takes a round trip, and
// longer under a short budget; messages behind it on an ordered channel wait too. A server's message waits for everything the
// client sees, a client's for everything it writes and for the tick of its newest input. An unreliable message is dropped
// after Config.DeferredTime; a reliable one waits as long as it takes. A component that is sent seldom is waited for as in About, and an
// entity that is too large for a packet is not.
func AfterAllState() Option { return Option{What: registry.OptionAfter, After: uint8(held.AfterAll)} }

// Within gives a Call a deadline in the time of the end that asks; the default is 5 s.
func Within(d time.Duration) Option { return Option{What: registry.OptionWithin, Within: d} }

// String returns the recipient in words, such as "client 3" or "all but client 3".
func (r Recipient) String() string { return endpoint.Recipient(r).String() }
