package predict

import "testing"

func FuzzReadRest(f *testing.F) {
	f.Add([]byte{1, 0, 1, 0})
	f.Add([]byte{1, 0, 2, 5, 7})
	f.Add([]byte{1, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F})
	f.Fuzz(func(t *testing.T, payload []byte) {
		last, count := int64(-1), 0
		err := readRest(payload, func(_ uint16, index uint32) {
			if int64(index) <= last {
				t.Fatalf("index %d after %d", index, last)
			}
			last = int64(index)
			count++
		})
		if err == nil && (count == 0 || count > restAtMost) {
			t.Fatalf("%d entities", count)
		}
	})
}
