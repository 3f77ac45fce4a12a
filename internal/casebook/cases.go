package casebook

// Cases is the number of cases in the catalogue.
const Cases = 60

// names returns the faults and attacks of the catalogue by number.
func names() [Cases + 1]string {
	return [...]string{"",
		"payloads cut at each byte, with a tail, shifted", "hostile counts", "edges of varints", "offset + length at the edges of words", "every index, type, stage and flag",
		"an exact fit, one byte more and less", "a Serialize that writes more than its bound", "decompression bombs", "bad scalars in every field", "stale bytes of used buffers",
		"pieces of messages: hostile counts and indexes", "each message in each state", "protocols that drift apart", "handlers that call into the end again", "handlers that panic",
		"wraps of the sequence", "a channel or an entity that is silent for long", "gaps at the mask of acks", "acks of what was not sent, was left out, or is before the start", "acks that never come",
		"acks that cost the most work", "packets that come after they counted as lost", "losses of 0 to 60 %, bursts, reordering, duplicates, damage", "spawn, update and despawn in every order", "an index that is used again while old records are on their way",
		"10 000 despawns in one tick", "a late join in each phase of a tick", "an entity larger than a packet", "a client that loses its baselines", "a reference before its entity",
		"starvation under a short budget", "one flooder among 63", "reliable messages into a full queue", "a dead receiver", "a client that freezes and then bursts",
		"datagrams of no and of one byte", "a flood from forged addresses", "handshakes that stop in the middle", "cookies and tokens that are not good here", "replayed, reflected and misdirected datagrams",
		"a new session from the same address and port", "300 joins at once", "forgeries of one who is not on the path", "a client that writes everything", "an identity in the payload",
		"a hidden world", "sight and ownership that flap", "bad data to be fanned out to others", "visitors without end", "tables with keys of the other end",
		"a flood of the log", "hostile clients over browser transports", "inputs for any tick", "clocks that jump, drift and stand", "wraps of the tick",
		"clients killed in every phase", "a server killed and restarted", "a link that is down, a client that sleeps", "several goroutines under the race detector", "unsafe paths: offsets, aliases",
	}
}
