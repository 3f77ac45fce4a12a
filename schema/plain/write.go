package plain

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/arche-netcode/netcode/schema"
)

// Words returns the plain variant of a lock's protocol as lines of words (docs/plain.md, section 1). Other kinds of entries than
// components, inputs and messages count for the hash alone. The error names a field of a kind that thin clients do not know.
func Words(lock *schema.Lock) (string, error) {
	var b strings.Builder
	whole, hashes := fnv.New64a(), []byte(nil)
	for i := range lock.Entries {
		text := lock.Entries[i].Text()
		if i == 0 {
			limits, _, _ := strings.Cut(text, ";tables:")
			text = limits + ";plain}"
		}
		_, _ = whole.Write([]byte(text + "\n"))
		one := fnv.New32a()
		_, _ = one.Write([]byte(text))
		hashes = binary.LittleEndian.AppendUint32(hashes, one.Sum32())
	}
	count := binary.LittleEndian.AppendUint16(nil, uint16(len(lock.Entries)))
	hashes = append(count, hashes[:min(len(hashes), 4*mostHashes)]...)
	fmt.Fprintf(&b, "hash%s\nentries%s\n", decimals(binary.LittleEndian.AppendUint64(nil, whole.Sum64())), decimals(hashes))
	for i := range lock.Entries {
		if err := entry(&b, &lock.Entries[i]); err != nil {
			return "", fmt.Errorf("plain: %s: %w", &lock.Entries[i], err)
		}
	}
	return b.String(), nil
}

// mostHashes is the most hashes of entries that a Hello has.
const mostHashes = 117

// decimals returns bytes as decimal words, with a space before each.
func decimals(bytes []byte) string {
	var b strings.Builder
	for _, v := range bytes {
		fmt.Fprintf(&b, " %d", v)
	}
	return b.String()
}

// entry writes the lines of a component, an input or a message.
func entry(b *strings.Builder, e *schema.Entry) error {
	name := e.Name
	switch e.Kind {
	case "component":
		if of, is := strings.CutPrefix(e.Behind, " of "); is { // a distance band: its row is one of that component
			name = of
		}
		fmt.Fprintf(b, "component %s\n", name)
	case "input":
		fmt.Fprintf(b, "input %s\n", name)
	case "message":
		channel, err := channelOf(e.Behind)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "message %s %d\n", name, channel)
	default:
		return nil
	}
	if len(e.Fields) > 0 && (e.Fields[0] == "raw" || e.Fields[0] == "serialized") {
		b.WriteString("field body bytes 0 0 0 0\n")
		return nil
	}
	for _, text := range e.Fields {
		if err := field(b, "field", text); err != nil {
			return err
		}
	}
	return nil
}

// channelOf returns the channel byte of a message, out of "[both ways;ReliableOrdered 3]".
func channelOf(behind string) (int, error) {
	for i, mode := range []string{"Unreliable", "UnreliableSequenced", "Reliable", "ReliableOrdered"} {
		if _, rest, found := strings.Cut(behind, ";"+mode+" "); found {
			number, err := strconv.Atoi(rest[:strings.IndexAny(rest+"]", ";]")])
			return i<<6 | number, err
		}
	}
	return 0, fmt.Errorf("a message without a delivery: %q", behind)
}
