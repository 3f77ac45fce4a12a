package live

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/predict"
)

// Snapshot is the set of figures published at one moment, as JSON for the page. It does not change after publishing.
type Snapshot struct {
	Number   uint64    `json:"number"`   // Counts snapshots; a slow page misses some, and has their bandwidth and log in the next one.
	At       float64   `json:"at"`       // Seconds on the server's clock.
	Tick     int64     `json:"tick"`     // Newest network tick.
	Rate     int       `json:"rate"`     // Network ticks per second.
	Entities int       `json:"entities"` // Number of living entities.
	Times    TickTimes `json:"times"`    // Of the ticks of the last second.

	Ticks     []tickTime         `json:"ticks"`     // Since the previous snapshot.
	Clients   []Client           `json:"clients"`   // Connected clients, in order of connection.
	Missing   int                `json:"missing"`   // Connected clients without a row yet; they follow in a later snapshot.
	Bandwidth Bandwidth          `json:"bandwidth"` // Since the previous snapshot.
	Counters  []Counter          `json:"counters"`  // Counters of Stats that changed since somebody looks.
	Figures   map[string]float64 `json:"figures"`   // The game's figures.
	Following uint32             `json:"following"` // Client whose packets are listed.
	Packets   []Packet           `json:"packets"`   // Since the previous snapshot.
	Log       []string           `json:"log"`       // Since the previous snapshot: errors, connects and disconnects.
}

// TickTimes is the duration of ticks, in nanoseconds.
type TickTimes struct {
	P50 time.Duration `json:"p50"` // Median.
	P99 time.Duration `json:"p99"` // 99th percentile.
	// Processor is the mean processor time of the whole process per tick. Waiting for a processor does not count. 0: unknown.
	Processor time.Duration `json:"processor"`
}

// tickTime is the phases of one tick, in microseconds.
type tickTime struct {
	Tick   int64              `json:"tick"`
	Phases [NumPhases]float64 `json:"phases"`
}

// Client is one row of the table of clients.
type Client struct {
	ID       uint32  `json:"id"`       // At the server.
	Identity string  `json:"identity"` // From Approval.Accept; empty: none.
	Address  string  `json:"address"`  // Address of the client; "host" for the player in the server's process.
	RTT      float64 `json:"rtt"`      // Milliseconds.
	Jitter   float64 `json:"jitter"`   // Milliseconds.
	Loss     float64 `json:"loss"`     // Share of recent packets to the client that were lost.
	Sent     uint64  `json:"sent"`     // Bytes to it since it connected.
	Received uint64  `json:"received"` // Bytes from it.
	Waiting  int     `json:"waiting"`  // Bytes of messages that wait to be sent.
	Rate     int     `json:"rate"`     // Bytes per second that congestion control allows; 0: no controller.
	Reason   string  `json:"reason"`   // Reason for Rate.
	Queue    float64 `json:"queue"`    // Estimated wait in the queue of the line, in milliseconds.
	Known    int     `json:"known"`    // Entities with state that it acknowledged.
	Unacked  int     `json:"unacked"`  // Entities whose newest state is in flight to it.
	Synced   bool    `json:"synced"`   // It has all newest state.

	Inputs   input.Stats       `json:"inputs"`   // Taken, Late and Stood; zero without package input.
	Predicts *predict.Reported `json:"predicts"` // The client's own report; nil without predict.Report.
}

// Counter is one counter of Stats.
type Counter struct {
	Name  string `json:"name"`  // Path in netcode.Stats.
	Value uint64 `json:"value"` // Present value.
	Moved int64  `json:"moved"` // Change since the previous snapshot.
}

// Bandwidth tells which parts datagrams consist of. The sum of Parts is 8 × Out.
type Bandwidth struct {
	Out       uint64            `json:"out"`        // Bytes to all clients, including handshakes.
	In        uint64            `json:"in"`         // Bytes received from anybody.
	OutPieces uint64            `json:"out_pieces"` // Datagrams sent.
	InPieces  uint64            `json:"in_pieces"`  // Datagrams received.
	Parts     map[string]uint64 `json:"parts"`      // Bits of Out by component and coding, by message, and the rest by reason.
	Fields    map[string]uint64 `json:"fields"`     // The bits of components in Parts, split by field.
	Entities  map[string]uint64 `json:"entities"`   // Bits of Out by entity, such as 12v3: those with most, and the rest together.
	Owners    map[string]uint64 `json:"owners"`     // Bits of Out by the owner of the entity: server, or client 3.
}

// Packet is one datagram of the followed client.
type Packet struct {
	At       float64 `json:"at"`       // Seconds on the server's clock.
	Out      bool    `json:"out"`      // Sent to the client; otherwise received from it.
	Sequence uint64  `json:"sequence"` // Low 16 bits of the packet number.
	Bytes    int     `json:"bytes"`    // Size of the datagram.
	Content  string  `json:"content"`  // If sent: the parts and their bits.
	Acked    []int   `json:"acked"`    // If received: the sequences that it acknowledges.
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()/10) / 100 }

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// snapshot reads the server. The loop calls it.
func (i *Inspector) snapshot(now time.Duration) *Snapshot {
	s := i.server
	i.number++
	all := &Snapshot{
		Number: i.number,
		At:     now.Seconds(), Tick: int64(s.Tick()), Rate: s.TickRate(), Entities: s.Store().Len(), Times: i.percentiles(),
		Ticks: list(i.ticks), Counters: i.moved(), Figures: map[string]float64{},
		Following: i.follow.Load(), Log: list(i.log),
	}
	all.Clients, all.Missing = i.clients()
	all.Bandwidth, all.Packets = i.tap.take()
	all.Packets = list(all.Packets)
	if all.Bandwidth.Fields == nil {
		all.Bandwidth.Fields = map[string]uint64{}
	}
	i.ticks, i.log = nil, nil
	for _, f := range i.figures {
		all.Figures[f.name] = f.of()
	}
	return all
}

// behind returns the snapshot with the sums and the log of one that its page missed.
func (s *Snapshot) behind(missed *Snapshot) *Snapshot {
	all := *s
	b, m := &all.Bandwidth, &missed.Bandwidth
	b.Out, b.In, b.OutPieces, b.InPieces = b.Out+m.Out, b.In+m.In, b.OutPieces+m.OutPieces, b.InPieces+m.InPieces
	b.Parts, b.Fields, b.Owners = sumOf(b.Parts, m.Parts), sumOf(b.Fields, m.Fields), sumOf(b.Owners, m.Owners)
	b.Entities = sumOf(b.Entities, m.Entities)
	joinEntities(b.Entities)
	log := slices.Concat(missed.Log, s.Log)
	all.Log = log[max(len(log)-mostLog, 0):]
	return &all
}

// sumOf returns the sum of bits by name. It changes neither map: other pages have them.
func sumOf(a, b map[string]uint64) map[string]uint64 {
	sum := maps.Clone(a)
	for name, bits := range b {
		addBits(&sum, name, bits)
	}
	return sum
}

// list replaces nil by an empty slice, which is [] in JSON instead of null.
func list[T any](of []T) []T {
	if of == nil {
		return []T{}
	}
	return of
}

// percentiles returns the tick times of the last second.
func (i *Inspector) percentiles() TickTimes {
	n := len(i.window)
	if n == 0 {
		return TickTimes{}
	}
	sorted := slices.Sorted(slices.Values(i.window))
	return TickTimes{P50: sorted[(n-1)/2], P99: sorted[(n-1)*99/100], Processor: (i.used[n-1] - i.used[0]) / time.Duration(max(n-1, 1))}
}

// clients returns the rows of the table and the number of clients without one.
func (i *Inspector) clients() (rows []Client, missing int) {
	rows = []Client{}
	for id := range i.server.Clients {
		if row, ok := i.rows[id]; ok {
			rows = append(rows, row)
		} else {
			missing++
		}
	}
	return rows, missing
}

// refresh updates rows of the table until a deadline, at least one, and continues with other clients in the next frame. A row
// costs a look at each entity.
func (i *Inspector) refresh(until time.Duration) {
	if i.rows == nil {
		i.rows = map[netcode.ClientID]Client{}
	}
	const rounds = 4                       // Ticks until all rows are updated.
	ids := slices.Sorted(i.server.Clients) // Sorted: a client that reconnects keeps its id but is last in Clients.
	next, _ := slices.BinarySearch(ids, i.refreshed+1)
	for n := range min(len(ids)/rounds+1, len(ids)) {
		id := ids[(next+n)%len(ids)]
		i.refreshed, i.rows[id] = id, i.row(id)
		if i.now() >= until {
			return
		}
	}
}

// row describes a client.
func (i *Inspector) row(id netcode.ClientID) Client {
	c, _ := i.server.ClientStats(id)
	row := Client{
		ID: uint32(id), Identity: i.server.Identity(id), Address: c.Address.String(), RTT: millis(c.RTT), Jitter: millis(c.Jitter), Loss: c.Loss,
		Sent: c.Packets.BytesSent, Received: c.Packets.BytesReceived, Waiting: c.Waiting,
		Rate: c.Line.Rate, Reason: c.Line.Reason.String(), Queue: millis(c.Line.Queue),
		Known: c.Known, Unacked: c.Unacked, Synced: c.Synced,
	}
	if !c.Address.IsValid() {
		row.Address = "host"
	}
	row.Inputs, _ = input.ClientStats(i.server, id)
	if report, ok := predict.ReportOf(i.server, id); ok {
		row.Predicts = &report
	}
	return row
}

// counters is the counters of Stats by the paths of their fields.
type counters []Counter

// countersOf returns all counters of Stats, in order.
func countersOf(stats netcode.Stats) (all counters) {
	return appendCounters(nil, "", reflect.ValueOf(stats))
}

func appendCounters(all counters, path string, v reflect.Value) counters {
	for n := range v.NumField() {
		name, f := path+v.Type().Field(n).Name, v.Field(n)
		if f.Kind() == reflect.Struct {
			all = appendCounters(all, name+".", f)
		} else {
			all = append(all, Counter{Name: name, Value: f.Uint()})
		}
	}
	return all
}

// moved returns the counters that changed since somebody looks.
func (i *Inspector) moved() []Counter {
	now, list := countersOf(i.server.Stats()), []Counter{}
	if i.before == nil {
		i.before = slices.Clone(now)
		for n := range i.before {
			i.before[n].Moved = int64(i.before[n].Value) // The value at the start.
		}
	}
	for n := range now {
		b := &i.before[n]
		if now[n].Value != uint64(b.Moved) {
			list = append(list, Counter{now[n].Name, now[n].Value, int64(now[n].Value - b.Value)})
		}
		b.Value = now[n].Value
	}
	return list
}
