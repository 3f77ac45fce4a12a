package line

import (
	"cmp"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/inspect"
)

// Counts counts the bytes that a client receives, by component.
type Counts struct {
	client *netcode.Client
	all    *inspect.Attribution
	before map[string]float64
}

// Count is one line.
type Count struct {
	Name  string
	Bytes float64 // Since the last call of Since.
}

// NewCounts makes the counts of a client. Give Add to Line.Seen.
func NewCounts(c *netcode.Client) *Counts {
	return &Counts{client: c, all: inspect.New(c.Protocol()), before: map[string]float64{}}
}

// Add counts a datagram, before the client receives it: it is coded against what the client has.
func (c *Counts) Add(datagram []byte) { c.all.Add(c.client, datagram) }

// Since returns what has come since the last call, the most first.
func (c *Counts) Since() (list []Count) {
	add := func(name string, now float64) {
		if since := now - c.before[name]; since > 0 {
			list = append(list, Count{name, since})
		}
		c.before[name] = now
	}
	for _, row := range c.all.State.Components {
		add(row.Name, float64(row.Spawn+row.Whole+row.Delta)/8)
	}
	messages := c.all.Messages
	for _, t := range c.all.Types {
		messages += t.Bytes
	}
	add("messages", float64(messages))
	add("all", float64(c.all.Bytes))
	slices.SortFunc(list, func(a, b Count) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return list
}
