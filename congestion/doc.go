// Package congestion controls the send rate of one direction of a connection. It finds how many bytes a second the line takes
// without a long queue. A [Controller] is told of sent and acknowledged packets and of the end of each tick. Its [State] has the
// rate, the [Reason] for it and the estimates. A [Group] coordinates the controllers of one address. The package does not know
// the contents of packets, does no I/O and reads no clock.
//
// The package's words:
//
//   - line: the bottleneck link of the path, with its queue
//   - train: the packets that were sent at one time, usually one tick
//   - age: time since the newest byte that arrived was sent, if its train had been spread evenly over the tick
//   - standing delay: the least age of the newest samples (standing RTT of Copa)
//   - base delay: the least age without a queue
//   - queue: standing delay minus base delay; the wait in the queue of the line
//   - pulse: some ticks above the rate, then a trough below it
//   - drain: a phase in which the rate stays below the estimate of the line until the queue is empty
//
// The controller is delay-based: only a queue lowers the rate for long. It combines published methods:
//
//   - start: short pulses show how fast the line is at least, as packet trains do (Dovrolis, INFOCOM 2001), and let their queue drain.
//     The rate becomes what the line took. An initial window limits the first round trip (RFC 3390)
//   - delay: a queue lowers the rate below the delivered rate (Google congestion control, draft-ietf-rmcat-gcc-02). The queue is
//     measured by the standing delay (Copa, NSDI 2018) above a base delay with a history (LEDBAT, RFC 6817)
//   - jitter: jitter makes single samples late, a queue makes all of them late. The filter is a run of late samples so long that
//     jitter causes it three times in a thousand. A queue that vanishes too soon, or a short one that stays, was none: the decrease is undone (Eifel, RFC 4015)
//   - growth: slow around the newest estimate of the line. If no queue shows above it, pulses; then doubled each round trip (velocity
//     of Copa)
//   - competing: if a long queue stays although the rate falls, another sender fills it. A window then grows each round trip up to a
//     share of the line, and falls at losses (TCP mode of Copa, RFC 5681). A periodic check ends this if the queue drains
//   - loss without a queue: lowers the rate once; if it persists, it is learned as normal for the line
//   - silence: halves the rate (RFC 8085, section 3.1.1)
//   - several clients of one address: drain together a queue that all of them see, and approach equal rates (Congestion Manager,
//     RFC 3124)
//   - application-limited: while less is sent than the rate allows, the delivered rate is no estimate of the line (RFC 7661)
//
// # Constants
//
// Constants without a source were chosen on simulated lines (ADR 40). Rates include the 28 bytes of IP and UDP.
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
//	least                120, >= 4    ms, late samples          a queue is at least so many in a row
//	mostFilter           3            times least
//	threshold            4 + tick/4   ms, and the jitter        a delay above it is late
//	mostNoise            20           ms, or a tick
//	noiseAge, lateAge    512, 64      samples
//	chance               0.01         probability
//	enough               2048         bytes late or lost
//	pulseTime            50           ms, >= 2 ticks
//	startQueue           58           ms
//	leastExcess          20           ms
//	drainTime            250          ms
//	growth               0.1          of the rate a second, at growthRate
//	growthRate           16384        bytes a second
//	farther              7            round trips
//	calm                 800          ms
//	keepBase             10           s                         LEDBAT (RFC 6817) keeps minutes
//	keepFloor            60           s
//	patience             1.5          s
//	longPatience         2            s
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
//   - start.go: pulses find the rate of an unknown line
//   - path.go: measures delay, delivery and loss
//   - group.go: the clients of one address
package congestion
