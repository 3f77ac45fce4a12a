package snapshot

import "math/bits"

// A near N knows most about bodies that hit others; a far N divides the error of rounding of bodies that fly on. A page has one of the
// two distances, by the bits that its own records took. Each page tries the other one now and then, less often where it costs more. Only bytes that were sent to this client
// decide, so nothing that is hidden from it does. Clients try at the same R, so they share the texts of trials as well.

const (
	nearDistance = 1
	farDistance  = 4
	triedEvery   = 16                // values of R
	seldomTried  = 128               // the same, if the other distance costs more
	rarelyTried  = 512               // the same, if it costs gainFar more
	fewRecords   = 16                // records that tell too little
	gainOne      = 8192              // a gain of all bits, in the units of pageDistance.gain
	gainFar      = gainOne * 6 / 100 // from which the far distance is taken
	gainNear     = gainOne / 100     // from which the near one is taken again
	costUnits    = 16                // units of a bit in pageDistance.cost
)

// pageDistance is the least distance from N to R of a page, and what it is chosen by.
type pageDistance struct {
	distance uint8  // the distance for the present R
	far      bool   // farDistance is the one in use
	cost     uint16 // mean bits of a record at the distance in use, in 1/costUnits; 0: none was sent
	gain     int16  // mean part of the bits that the other distance would save
}

// chooseDistance chooses the distance for a new R.
func (g *ackPage) chooseDistance(w uint32) {
	d := &g.pageDistance
	every := uint32(triedEvery)
	switch {
	case !d.far && d.gain < -gainFar:
		every = rarelyTried
	case !d.far && d.gain < -gainNear:
		every = seldomTried
	}
	try := d.cost > 0 && (uint32(g.ref)+w)%every == 0
	if d.distance = nearDistance; d.far != try && !g.preferEven && bits.OnesCount64(g.refOf) >= fewRecords {
		d.distance = farDistance
	}
}

// noteCost notes the bits of n records in a list. If trials of the other distance save enough, it is in use from the next R on.
func (d *pageDistance) noteCost(bits, n int) {
	if n < fewRecords {
		return
	}
	cost := int(min(bits*costUnits/n, 1<<16-1))
	switch was := int(d.cost); {
	case was == 0:
		d.cost = uint16(cost)
	case d.far == (d.distance == farDistance):
		d.cost = uint16(was + (cost-was)/4)
	default:
		saved := max(-gainOne, (was-cost)*gainOne/was)
		least := int16(gainFar)
		if d.far {
			least = gainNear
		}
		if d.gain += int16((saved - int(d.gain)) / 16); d.gain > least {
			d.far, d.gain, d.cost = !d.far, -d.gain, uint16(cost)
		}
	}
}
