package live

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

const (
	// mostFound bounds the entities of an answer.
	mostFound = 100
	// mostLooked bounds the entities that a question looks at in one frame.
	mostLooked = 2000
	// mostSeers bounds the clients of an answer that are named for each entity.
	mostSeers = 32
)

// question is a search among the entities. The loop answers it.
type question struct {
	search search
	client netcode.ClientID // The one that is chosen; 0: none.
	next   uint32           // Index to look at next.
	answer Entities
	done   chan Entities // Has room for the answer, so that the loop never waits.
}

// Entities is the answer to a search.
type Entities struct {
	Tick  int64    `json:"tick"`  // Of the values.
	Found []Entity `json:"found"` // In the order of ids.
	More  bool     `json:"more"`  // There are more than are listed.
}

// Entity is an entity as the server has captured it.
type Entity struct {
	ID         string      `json:"id"`         // As 12v3: index and generation.
	Owner      uint32      `json:"owner"`      // Client; 0: none.
	Components []Component `json:"components"` // In the order of rows.
	Seers      []Seer      `json:"seers"`      // Clients that may see it, the first of them.
	SeenBy     int         `json:"seen_by"`    // How many these are in all.
	Why        []string    `json:"why"`        // Policies by which the chosen client sees it; empty: it does not.
	Weight     float64     `json:"weight"`     // For the chosen client; 1: that of priority 1.
	Score      float64     `json:"score"`      // That it has accumulated while it waited for room, in weights of priority 1.
}

// Component is one row of an entity.
type Component struct {
	Name  string `json:"name"`  // Wire name.
	Value string `json:"value"` // Its fields, as text.
	Since int64  `json:"since"` // Tick since which it is as it is.
	Held  *Held  `json:"held"`  // At the chosen client; nil: it is not known to have the row.
}

// Held is a row that a client has acknowledged. The client may have a newer one that the server does not know of yet.
type Held struct {
	Value string `json:"value"` // Its fields, as text; empty: it is older than the server's history.
	Tick  int64  `json:"tick"`  // It is as the server's was then.
}

// Seer is a client that sees an entity.
type Seer struct {
	Client uint32 `json:"client"` // Its id.
	Since  int64  `json:"since"`  // Tick since which it sees it.
	Held   bool   `json:"held"`   // It has acknowledged the entity.
	Lacks  bool   `json:"lacks"`  // The newest state is not acknowledged.
	Hidden int    `json:"hidden"` // Components that are hidden from it.
}

// search tells which entities are looked for. All of its conditions hold.
type search struct {
	index, generation int64 // -1: any.
	owner             int64
	component         string // Part of a name, in lower case.
	seenBy            uint32
}

// parseSearch reads words: an id such as 12 or 12v3, owner:5, seen:5, and a part of a component's name.
func parseSearch(text string) (search, error) {
	s := search{index: -1, generation: -1, owner: -1}
	for _, word := range strings.Fields(text) {
		key, value, named := strings.Cut(word, ":")
		n, err := strconv.ParseUint(value, 10, 32)
		switch {
		case named && key == "owner" && err == nil:
			s.owner = int64(n)
		case named && key == "seen" && err == nil:
			s.seenBy = uint32(n)
		case named:
			return s, fmt.Errorf("%q: search by an id such as 12 or 12v3, by owner:CLIENT, seen:CLIENT, or a component's name", word)
		case word[0] >= '0' && word[0] <= '9':
			index, generation, exact := strings.Cut(word, "v")
			at, err := strconv.ParseUint(index, 10, 32)
			if err != nil {
				return s, fmt.Errorf("%q is no id: it is a number, or two with a v between them", word)
			}
			s.index = int64(at)
			if exact {
				g, err := strconv.ParseUint(generation, 10, 32)
				if err != nil {
					return s, fmt.Errorf("%q is no id: it is a number, or two with a v between them", word)
				}
				s.generation = int64(g)
			}
		default:
			s.component = strings.ToLower(word)
		}
	}
	return s, nil
}

// answer works on the question whose turn it is: one frame looks at a bounded number of entities.
func (i *Inspector) answer() {
	if i.question == nil {
		select {
		case i.question = <-i.asks:
			i.question.answer = Entities{Found: []Entity{}}
		default:
			return
		}
	}
	q, looked := i.question, 0
	store := i.server.Store()
	q.answer.Tick = int64(store.Tick())
	if q.search.index >= 0 {
		q.next = uint32(q.search.index)
	}
	for id := range i.from(q.next) {
		if looked++; looked > mostLooked {
			q.next = id.Index
			return // On with the next frame.
		}
		if q.search.index >= 0 && int64(id.Index) != q.search.index {
			break
		}
		if !i.matches(id, &q.search) {
			continue
		}
		if len(q.answer.Found) == mostFound {
			q.answer.More = true
			break
		}
		q.answer.Found = append(q.answer.Found, i.entity(id, q.client))
	}
	q.done <- q.answer
	i.question = nil
}

// from yields the living entities from an index on.
func (i *Inspector) from(index uint32) func(yield func(netcode.NetworkID) bool) {
	return func(yield func(netcode.NetworkID) bool) {
		for id := range i.server.Store().All {
			if id.Index >= index && !yield(id) {
				return
			}
		}
	}
}

// matches tells whether an entity is looked for.
func (i *Inspector) matches(id netcode.NetworkID, s *search) bool {
	store := i.server.Store()
	if s.generation >= 0 && int64(id.Generation) != s.generation || s.owner >= 0 && int64(store.Owner(id)) != s.owner {
		return false
	}
	if s.seenBy != 0 {
		if c := i.server.Session(netcode.ClientID(s.seenBy)); c == nil || c.View() == nil || !c.View().Visible(id) {
			return false
		}
	}
	if s.component == "" {
		return true
	}
	for m := store.Mask(id); !m.IsZero(); m = m.Rest() {
		if strings.Contains(strings.ToLower(store.Schema().Plan(m.Lowest()).Name()), s.component) {
			return true
		}
	}
	return false
}

// held describes a row at a client.
func held(view *snapshot.View, id netcode.NetworkID, row int, plan *quantize.Plan) *Held {
	baselines := view.Baselines()
	at, _ := baselines.NewestAt(id.Index, tick.None)
	rows, _, known := baselines.RecordAt(id.Index, at)
	if !view.Held(id) || !known || !rows.Has(row) {
		return nil
	}
	h := &Held{Tick: int64(at)}
	if lanes, ok := baselines.BaseAt(id.Index, row, at); ok {
		h.Value = string(plan.AppendValues(nil, lanes))
	}
	return h
}

// entity describes an entity.
func (i *Inspector) entity(id netcode.NetworkID, chosen netcode.ClientID) Entity {
	store := i.server.Store()
	e := Entity{ID: id.String(), Owner: uint32(store.Owner(id)), Components: []Component{}, Seers: []Seer{}}
	mask, view := store.Mask(id), (*snapshot.View)(nil)
	if c := i.server.Session(chosen); c != nil {
		view = c.View()
	}
	if e.Why = i.server.Why(chosen, id); view != nil {
		e.Weight, e.Score = view.Ranking(id)
	}
	for m := mask; !m.IsZero(); m = m.Rest() {
		row := m.Lowest()
		plan := store.Schema().Plan(row)
		c := Component{Name: plan.Name(), Value: string(plan.AppendValues(nil, store.Row(id, row))), Since: int64(store.Since(id, row))}
		if view != nil {
			c.Held = held(view, id, row, plan)
		}
		e.Components = append(e.Components, c)
	}
	for client := range i.server.Clients {
		view := i.server.Session(client).View()
		if view == nil || !view.Visible(id) {
			continue
		}
		if e.SeenBy++; len(e.Seers) < mostSeers {
			since, _ := view.Life(id)
			e.Seers = append(e.Seers, Seer{
				Client: uint32(client), Since: int64(since), Held: view.Held(id), Lacks: view.Needs(id, store.Tick()) != tick.None,
				Hidden: mask.Minus(view.Rows(id)).Count(),
			})
		}
	}
	return e
}
