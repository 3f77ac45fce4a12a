// Package voice tells players who talks: a feature that a game adds beside netcode's own, in about a hundred lines. Each client
// sends how loud its player is, the server tells all clients about all talkers. Both travel in packet sections: only the newest
// level counts, so a lost packet is answered with a newer one.
package voice
