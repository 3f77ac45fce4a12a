package live

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

const (
	// mostFound is the maximum number of entities in an answer.
	mostFound = 100
	// mostLooked is the maximum number of entities examined per frame.
	mostLooked = 2000
	// mostSeers is the maximum number of clients listed for each entity.
	mostSeers = 32
)

// question is a search for entities, which the loop answers.
type question struct {
	search search
	client netcode.ClientID // The chosen client; 0: none.
	next   uint32           // Next index to examine.
	answer Entities
	done   chan Entities // Buffered, so that the loop never blocks.
}

// Entities is the result of a search.
type Entities struct {
	Tick  int64    `json:"tick"`  // Tick of the values.
	Found []Entity `json:"found"` // Sorted by id.
	More  bool     `json:"more"`  // There are more results than listed.
}

// Entity is an entity as the server has captured it.
type Entity struct {
	ID         string      `json:"id"`         // Index and generation, such as 12v3.
	Owner      uint32      `json:"owner"`      // Owning client; 0: none.
	Components []Component `json:"components"` // Sorted by row.
	Seers      []Seer      `json:"seers"`      // Clients that may see it; only the first mostSeers.
	SeenBy     int         `json:"seen_by"`    // Number of all clients that may see it.
	Why        []string    `json:"why"`        // Policies by which the chosen client sees it; empty: it does not.
	Weight     float64     `json:"weight"`     // Priority for the chosen client; 1 is normal.
	Score      float64     `json:"score"`      // Score accumulated while the entity waits to be sent, in units of normal priority.
}

// Component is one row of an entity.
type Component struct {
	Name  string `json:"name"`  // Wire name.
	Value string `json:"value"` // Its fields as text.
	Since int64  `json:"since"` // Tick of its last change.
	Held  *Held  `json:"held"`  // Version at the chosen client; nil: none is acknowledged.
}

// Held is the version of a row that a client has acknowledged. The client may already have a newer one.
type Held struct {
	Value string `json:"value"` // Its fields as text; empty: older than the server's history.
	Tick  int64  `json:"tick"`  // Tick of the version.
}

// Seer is a client that sees an entity.
type Seer struct {
	Client uint32 `json:"client"` // ID of the client.
	Since  int64  `json:"since"`  // Tick since which it sees the entity.
	Held   bool   `json:"held"`   // It has acknowledged some state of the entity.
	Lacks  bool   `json:"lacks"`  // It has not acknowledged the newest state.
	Hidden int    `json:"hidden"` // Number of components hidden from it.
}

// search is a conjunction of conditions on entities.
type search struct {
	index, generation int64 // -1: any.
	owner             int64
	component         string // Part of a component's name, in lower case.
	seenBy            uint32
}

// parseSearch parses words: an id such as 12 or 12v3, owner:5, seen:5, and a part of a component's name.
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

// answer continues the current question. It examines a limited number of entities per frame.
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
			return // Continues in the next frame.
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

// matches reports whether an entity meets the conditions of a search.
func (i *Inspector) matches(id netcode.NetworkID, s *search) bool {
	store := i.server.Store()
	if s.generation >= 0 && int64(id.Generation) != s.generation || s.owner >= 0 && int64(store.Owner(id)) != s.owner {
		return false
	}
	if s.seenBy != 0 {
		if c := extend.OfServer(i.server).Session(netcode.ClientID(s.seenBy)); c == nil || c.View() == nil || !c.View().Visible(id) {
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

// held describes the version of a row at a client.
func held(view *snapshot.View, id netcode.NetworkID, row int, plan *quantize.Plan) *Held {
	lanes, at, ok := view.AckedRow(id, row)
	if !ok {
		return nil
	}
	h := &Held{Tick: int64(at)}
	if lanes != nil {
		h.Value = string(plan.AppendValues(nil, lanes))
	}
	return h
}

// entity describes an entity for the chosen client.
func (i *Inspector) entity(id netcode.NetworkID, chosen netcode.ClientID) Entity {
	store := i.server.Store()
	e := Entity{ID: id.String(), Owner: uint32(store.Owner(id)), Components: []Component{}, Seers: []Seer{}}
	mask, view := store.Mask(id), (*snapshot.View)(nil)
	if c := extend.OfServer(i.server).Session(chosen); c != nil {
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
		view := extend.OfServer(i.server).Session(client).View()
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
