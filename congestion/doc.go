// Package congestion finds the rate of one direction of a connection: how many bytes a second its line takes without a long
// queue. It does not know the contents of packets. A [Controller] is told of sent and arrived packets and of the end of a tick. Its
// [State] has the rate, its [Reason] and the estimates. A [Group] joins the controllers of one address. The package does no I/O and reads
// no clock.
//
// The delay decides: only a queue lowers the rate for long. The parts are published ones:
//
//   - start: slow start from an initial window (RFC 3390, RFC 5681) until the delay grows, as HyStart (RFC 9406) ends it
//   - delay: the growth of the delay above a base, over a least of the newest samples (standing RTT of Copa, NSDI 2018), decreases the
//     rate to below the delivered one (Google congestion control, draft-ietf-rmcat-gcc-02); the base has a history (LEDBAT, RFC 6817)
//   - jitter: jitter makes some samples late, a queue all. A queue is a run of late samples that jitter makes once in a hundred times, by
//     the share of late samples without a queue. A queue that is gone too soon was none: the decrease is undone (Eifel, RFC 4015)
//   - growth: slow around the newest estimate of the line, doubled each round trip where no queue shows above it (velocity of Copa)
//   - competing: where the queue stays though the rate falls, another sender fills it; a window grows each round trip to a share of
//     the line and falls at losses (TCP mode of Copa, RFC 5681), until a check empties the queue
//   - loss without a queue: lowers the rate once. If it stays, it is learned and no congestion
//   - silence: halves the rate (RFC 8085, section 3.1.1)
//   - several clients of one address: empty a queue that all see together, and come to equal rates (Congestion Manager, RFC 3124)
//   - less to send than the rate allows: the delivered rate tells nothing about the line (RFC 7661)
//
// # Constants
//
// Those without a source are own choices, tried on simulated lines (TestLines, ADR 40). Rates count the 28 bytes of IP and UDP.
//
//	constant             value        unit                      source
//	startRate            16384        bytes a second
//	leastRate            3072         bytes a second
//	firstWindow          4380         bytes                     RFC 3390
//	firstRTT             100          ms
//	segment              1500         bytes                     a full packet of TCP
//	gains                2            segments a round trip     RFC 5681 has 1
//	keeps                85           % after a loss            RFC 5681 has 50, Cubic (RFC 9438) 70
//	mostShare            60           % of the line
//	leastPacket          300          bytes
//	leastWindow          300          bytes
//	leastFilter          120, >= 4    ms, late samples          a queue is at least so many in a row
//	mostFilter           3            times leastFilter
//	threshold            4 + tick/4   ms, and the jitter        a delay above it is late
//	mostNoise            20           ms, or a tick
//	noiseAge, lateAge    512, 64      samples
//	chance               0.01         probability
//	enough               2048         bytes late or lost
//	drainTime            250          ms
//	growth               0.1          of the rate a second, at growthRate
//	growthRate           16384        bytes a second
//	farther              7            round trips
//	calm                 800          ms
//	keepBase             10           s                         LEDBAT (RFC 6817) keeps minutes
//	keepFloor            60           s
//	patience             1.5          s
//	checkEvery           6            s
//	relapse              4            s
//	nearer               1/4          of the difference of rates
//	firstSeen, mostSeen  4, 8         queues seen by all
//	stall                3            round trips of silence    RFC 8085, section 3.1.1; then the rate halves each round trip
//	learnLoss            0.5          most loss that is no congestion
//	overflows            0.2          loss beyond the usual, of half a second
//
// # Files
//
//   - controller.go: the phases and the rate
//   - path.go: measures delay, delivery and loss
//   - group.go: the clients of one address
package congestion
