package predict

import (
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/wire"
)

// reportText bounds the text of a report, in bytes.
const reportText = 200

// Reported has a client's own figures of its prediction. A server cannot check them: a client may lie.
type Reported struct {
	Stats         // Counts since the client's simulation was made. Only Steps, Replayed, Rollbacks, Mispredictions and Corrected are sent.
	Newest string `json:"newest"` // The newest Misprediction or Explanation as text, at most 200 bytes; empty: none.
}

// Serialize implements wire.Serializable.
func (r *Reported) Serialize(s *wire.Serializer) {
	for _, n := range []*uint64{&r.Steps, &r.Replayed, &r.Rollbacks, &r.Mispredictions, &r.Corrected} {
		s.PackedUint64(n)
	}
	s.String(&r.Newest, reportText)
}

// Report makes clients send their mispredictions to the server, at most once a second: see ReportOf and the page of
// inspect/live. With Explain a report names the system. Call it on both sides. It panics on a frozen protocol.
func Report(p *netcode.Protocol) {
	extend.OfProtocol(p).MustBeOpen("predict.Report", nil)
	extend.OfProtocol(p).Extend(extend.Extension{Name: "predict report", Server: reportEnds{}, Client: reportEnds{}})
	netcode.Handle(p, func(ctx *netcode.Context, m *Reported) {
		if server := netcode.ServerOf(ctx.End); server != nil {
			if r, ok := extend.ExtensionOf[*Reported](extend.OfServer(server).Session(ctx.Sender)); ok {
				*r = *m
			}
		}
	}, netcode.Named("netcode.predict.report"), netcode.Over(netcode.ReliableOrdered), netcode.OnChannel(wire.MaxChannels-1), netcode.FromClient())
}

// reportEnds makes the hooks of both ends.
type reportEnds struct{}

// Server implements extend.ServerSide.
func (reportEnds) Server(extend.Server) extend.ServerHooks {
	return extend.ServerHooks{Opened: func(extend.Session) any { return &Reported{} }}
}

// Client implements extend.ClientSide.
func (reportEnds) Client(with extend.Client) extend.ClientHooks {
	c := netcode.ClientOf(with)
	r := &reporter{client: c}
	return extend.ClientHooks{Opened: func() { r.sent = Reported{} }, BeforeSend: r.send}
}

// ReportOf returns the newest report of a client. ok is false without Report and for an unknown client.
func ReportOf(s *netcode.Server, client netcode.ClientID) (r Reported, ok bool) {
	newest, ok := extend.ExtensionOf[*Reported](extend.OfServer(s).Session(client))
	if ok {
		r = *newest
	}
	return r, ok
}

// reporter sends the reports of a client.
type reporter struct {
	client     *netcode.Client
	simulation *Simulation
	newest     string
	sent       Reported     // The newest report that was sent.
	at         netcode.Tick // The tick of the last attempt to send.
}

// send sends a report if the figures changed and a second has passed since the last attempt.
func (r *reporter) send() {
	state, ok := extend.ExtensionOf[*clientState](r.client)
	if !ok || state.simulation == nil {
		return
	}
	if r.simulation != state.simulation {
		r.simulation = state.simulation
		r.simulation.OnMisprediction(func(m Misprediction) { r.newest = m.String() })
		if r.simulation.traces != nil {
			r.simulation.OnExplanation(func(e Explanation) { r.newest = e.String() })
		}
	}
	now, t := r.client.Time().Tick, Reported{r.simulation.stats, strings.ToValidUTF8(r.newest[:min(len(r.newest), reportText)], "")}
	same := t.Rollbacks == r.sent.Rollbacks && t.Corrected == r.sent.Corrected && t.Mispredictions == r.sent.Mispredictions && t.Newest == r.sent.Newest
	if same || now-r.at < netcode.Tick(r.client.TickRate()) && now >= r.at {
		return
	}
	r.at = now
	if netcode.Send(r.client, netcode.ToServer(), &t) == nil {
		r.sent = t
	}
}
