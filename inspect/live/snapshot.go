package live

import (
	"reflect"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/predict"
)

// Snapshot has the figures that are published at a moment. It is JSON for the page, and does not change once it is published.
type Snapshot struct {
	Number   uint64    `json:"number"`   // Counts them; a page that is slow misses some.
	At       float64   `json:"at"`       // Seconds of the server's clock.
	Tick     int64     `json:"tick"`     // Newest network tick.
	Rate     int       `json:"rate"`     // Network ticks in a second.
	Entities int       `json:"entities"` // Alive.
	Times    TickTimes `json:"times"`    // Of the ticks of the last second.

	Ticks     []tickTime         `json:"ticks"`     // Since the snapshot before.
	Clients   []Client           `json:"clients"`   // Connected ones, in the order in which they came.
	Missing   int                `json:"missing"`   // Connected clients that have no row yet: they are in a later snapshot.
	Bandwidth Bandwidth          `json:"bandwidth"` // Since the snapshot before.
	Counters  []Counter          `json:"counters"`  // Of Stats, those that moved since somebody looks.
	Figures   map[string]float64 `json:"figures"`   // The game's own.
	Following uint32             `json:"following"` // Client whose packets follow.
	Packets   []Packet           `json:"packets"`   // Since the snapshot before.
	Log       []string           `json:"log"`       // Since the snapshot before: errors, and who came and left.
}

// TickTimes tells how long ticks took, in nanoseconds.
type TickTimes struct {
	P50 time.Duration `json:"p50"` // Median.
	P99 time.Duration `json:"p99"` // 99th percentile.
	// Processor is the processor time of the whole process for a tick, the mean: waits for a processor do not count. 0: not known.
	Processor time.Duration `json:"processor"`
}

// tickTime is one tick with its phases, in microseconds.
type tickTime struct {
	Tick   int64              `json:"tick"`
	Phases [NumPhases]float64 `json:"phases"`
}

// Client is one row of the table of clients.
type Client struct {
	ID       uint32  `json:"id"`       // At the server.
	Address  string  `json:"address"`  // Where its packets come from; "host" of the player in the server's process.
	RTT      float64 `json:"rtt"`      // Milliseconds.
	Jitter   float64 `json:"jitter"`   // Milliseconds.
	Loss     float64 `json:"loss"`     // Share of packets to the client that were lost lately.
	Sent     uint64  `json:"sent"`     // Bytes to it since it connected.
	Received uint64  `json:"received"` // Bytes from it.
	Waiting  int     `json:"waiting"`  // Bytes of messages that wait to be sent.
	Rate     int     `json:"rate"`     // Bytes a second that congestion control allows; 0: no controller.
	Reason   string  `json:"reason"`   // Why.
	Queue    float64 `json:"queue"`    // Milliseconds that packets wait in the queue of the line, by the estimate.
	Known    int     `json:"known"`    // Entities that it is proved to hold.
	Unacked  int     `json:"unacked"`  // Entities whose newest state is on its way to it.
	Synced   bool    `json:"synced"`   // It lacks nothing.

	Inputs   input.Stats       `json:"inputs"`   // Taken, Late and Stood; zero without package input.
	Predicts *predict.Reported `json:"predicts"` // By its own report; nil without predict.Report.
}

// Counter is one counter of Stats.
type Counter struct {
	Name  string `json:"name"`  // Path in netcode.Stats.
	Value uint64 `json:"value"` // Now.
	Moved int64  `json:"moved"` // Since the snapshot before.
}

// Bandwidth tells where the bytes of datagrams went. The sum of Parts is 8 times Out.
type Bandwidth struct {
	Out       uint64            `json:"out"`        // Bytes to all clients, handshakes included.
	In        uint64            `json:"in"`         // Bytes that came, from anybody.
	OutPieces uint64            `json:"out_pieces"` // Datagrams.
	InPieces  uint64            `json:"in_pieces"`  // Datagrams.
	Parts     map[string]uint64 `json:"parts"`      // Bits of Out: by component and way, by message, and by what is neither.
	Fields    map[string]uint64 `json:"fields"`     // The bits of components in Parts once more, by field.
}

// Packet is one datagram of the client that is followed.
type Packet struct {
	At       float64 `json:"at"`       // Seconds of the server's clock.
	Out      bool    `json:"out"`      // To the client.
	Sequence uint64  `json:"sequence"` // The low 16 bits of its number.
	Bytes    int     `json:"bytes"`    // Of the datagram.
	Content  string  `json:"content"`  // Of one to the client, with the bits of each part.
	Acked    []int   `json:"acked"`    // Of one from the client: sequences that it acknowledges.
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()/10) / 100 }

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// snapshot reads the server. It belongs to the loop, as the server does.
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

// list makes nil a list, which is [] in JSON and not null.
func list[T any](of []T) []T {
	if of == nil {
		return []T{}
	}
	return of
}

// percentiles are of the ticks of the last second.
func (i *Inspector) percentiles() TickTimes {
	n := len(i.window)
	if n == 0 {
		return TickTimes{}
	}
	sorted := slices.Sorted(slices.Values(i.window))
	return TickTimes{P50: sorted[(n-1)/2], P99: sorted[(n-1)*99/100], Processor: (i.used[n-1] - i.used[0]) / time.Duration(max(n-1, 1))}
}

// clients lists the rows of the table, and counts the clients that have none yet.
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

// refresh makes rows of the table anew, one at least, those of other clients in each frame, until a moment: a row costs a look at each
// entity.
func (i *Inspector) refresh(until time.Duration) {
	if i.rows == nil {
		i.rows = map[netcode.ClientID]Client{}
	}
	const rounds = 4                       // Ticks until all rows are new.
	ids := slices.Sorted(i.server.Clients) // A player who returns has the id of before, and is the last of Clients.
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
		ID: uint32(id), Address: c.Address.String(), RTT: millis(c.RTT), Jitter: millis(c.Jitter), Loss: c.Loss,
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

// counters is Stats by the paths of its fields.
type counters []Counter

// countersOf lists all counters of Stats, in their order.
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

// moved lists the counters that are not as they were when somebody began to look.
func (i *Inspector) moved() []Counter {
	now, list := countersOf(i.server.Stats()), []Counter{}
	if i.before == nil {
		i.before = slices.Clone(now)
		for n := range i.before {
			i.before[n].Moved = int64(i.before[n].Value) // As it was at first.
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
