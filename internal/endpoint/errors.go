package endpoint

import (
	"errors"
	"fmt"

	"github.com/arche-netcode/netcode/errs"
)

// ErrRecipient is the ErrMisuse of a client that sends to another client.
var ErrRecipient = fmt.Errorf("%w: a client sends to the server or to itself", errs.ErrMisuse)

// Cases of ErrMisuse.
var (
	errNoMessage   = fmt.Errorf("%w: the message is nil", errs.ErrMisuse)
	errWithin      = fmt.Errorf("%w: Within is for Call: a message has no deadline", errs.ErrMisuse)
	errNoEnd       = fmt.Errorf("%w: neither a server nor a client", errs.ErrMisuse)
	errNeedsEntity = fmt.Errorf("%w: the message is for owners only: say About which entity it is", errs.ErrMisuse)
	errOption      = fmt.Errorf("%w: the option is for Replicate, Handle or Answer: a message takes AtStage, Over, OnChannel, NotBefore, About, AtOnce, AfterAllState and Within", errs.ErrMisuse)
	errStage       = fmt.Errorf("%w: no such stage", errs.ErrMisuse)
	errDelivery    = fmt.Errorf("%w: no such mode of delivery or channel: channels are 0 to 63", errs.ErrMisuse)
	errTooFar      = fmt.Errorf("%w: the tick is too far ahead", errs.ErrMisuse)
	errNoContext   = fmt.Errorf("%w: Call needs a context and a function, and one is nil", errs.ErrMisuse)
)

// errZeroEntity is ErrNotVisible for the zero id.
var errZeroEntity = fmt.Errorf("%w: the NetworkID of About is zero: an entity with a components.Replicated has its id at once, by ID of the server's systems", errs.ErrNotVisible)

// Refusals of a question whose function does not run.
var (
	errNobody   = errors.New("nobody answers that here")
	errUnsent   = errors.New("the answer could not be sent")
	errNotOwner = errors.New("the entity does not belong to the caller")
)
