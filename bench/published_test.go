package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shortened is the first seconds of a motion.
type shortened struct {
	motion
	left int
}

func (s *shortened) next() ([]body, bool, error) {
	if s.left--; s.left < 0 {
		return nil, false, nil
	}
	return s.motion.next()
}

// Every published scene can be recorded, and the recording is its motion, value for value.
func TestAPublishedSceneIsRecorded(t *testing.T) {
	for _, s := range append(publishedScenes(), asteroidScene()) {
		file := filepath.Join(t.TempDir(), s.name+".trace.gz")
		require.NoError(t, writeMotion(file, &shortened{s.motion(), 20}))
		recorded, err := openRecording(file)
		require.NoError(t, err)
		own := s.motion()
		require.Equal(t, own.hz(), recorded.hz())
		for range 20 {
			want, _, err := own.next()
			require.NoError(t, err)
			got, more, err := recorded.next()
			require.NoError(t, err)
			require.True(t, more)
			require.Equal(t, want, got)
		}
		_, more, err := recorded.next()
		require.NoError(t, err)
		require.False(t, more)
	}
}

// The decoder of every published scene is verified, and Wander takes at most 40 kB/s without delay, as against 96 to 461 of others.
func TestPublishedScenesAreVerified(t *testing.T) {
	for _, s := range publishedScenes() {
		r, err := s.measure(&shortened{s.motion(), sceneFrames(wanderHz, 2)}, lossPoint{}, false)
		require.NoError(t, err, s.name)
		require.Less(t, *r.Ratio, 0.6, "of bit-packing")
		if s.must > 0 {
			require.True(t, *r.OK, "%s takes %.1f kB/s, and at most %.1f are promised", s.name, r.Value, s.must)
		}
	}
	// Exact floats go on turning: the asteroids took 0.61 of their floats at this delay.
	r, err := asteroidScene().measure(&shortened{newAsteroids(), sceneFrames(asteroidsHz, 2)}, lossPoint{roundTrip: 100 * time.Millisecond}, true)
	require.NoError(t, err)
	require.Less(t, *r.Ratio, 0.36)
	_, err = asteroidScene().measure(&shortened{newAsteroids(), 100}, lossPoint{}, false)
	require.ErrorContains(t, err, "are not measured")
}

// A wrong value in a body is noticed: of its position, its rotation or its scale.
func TestAPublishedSceneNoticesAWrongValue(t *testing.T) {
	s := transformScene()
	b, err := newDressedRun(&shortened{s.motion(), 100}, lossPoint{}.link(), nil, s.dress(false))
	require.NoError(t, err)
	require.NoError(t, b.join())
	for range 3 {
		require.NoError(t, b.move())
		require.NoError(t, b.compareFrame())
	}
	for _, change := range []func(b *body){
		func(b *body) { b.position[2] += .002 }, func(b *body) { b.orientation = turned(b.orientation, [3]float64{1, 0, 0}, .01) }, func(b *body) { b.velocity[1] += .002 },
	} {
		at := &b.history[int64(b.client.Replica().Tick())%digestsKept].bodies[7]
		was := *at
		change(at)
		require.Error(t, b.compareWorlds(b.client.Replica().Tick()))
		*at = was
		require.NoError(t, b.compareWorlds(b.client.Replica().Tick()))
	}
}

// The hundred players all run, each sees all of them, and a wrong world is noticed.
func TestTheHundredPlayersMeet(t *testing.T) {
	h, err := newHundred(lossPoint{roundTrip: 100 * time.Millisecond})
	require.NoError(t, err)
	for n := range 40 {
		h.frame(n)
	}
	require.Empty(t, h.faults)
	require.NoError(t, h.compareViews())
	require.Equal(t, hundredCount, h.server.Store().Len())
	h.history[int64(h.players[5].client.Replica().Tick())%digestsKept].digest++
	require.Error(t, h.compareViews())
}
