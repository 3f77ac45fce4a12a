package record

import (
	"errors"
	"io"

	"github.com/arche-netcode/netcode/tick"
)

// index returns the positions of a file's chunks. It reads only the heads and skips the compressed bytes: a head has
// the position of the next one. Damage within a chunk is therefore found when the chunk is played. The last chunk is
// read completely, since it may be cut off. After an invalid head the whole file is read, since earlier heads may be
// wrong too. tell is called with damage found.
func (r *Reader) index(file io.ReadSeeker, tell func(error)) ([]chunkPlace, error) {
	index, err := r.heads(file)
	if err != nil {
		return nil, err
	}
	rest := chunkPlace{first: tick.None + 1, offset: r.in.offset}
	if last := len(index) - 1; last >= 0 {
		rest.offset, index = index[last].offset, index[:last] // a length beyond the end of the file is found here
	}
	if r.chunks = len(index); r.chunks > 0 {
		rest.first = index[r.chunks-1].last + 1
	}
	if err := r.enter(file, rest); err != nil {
		return nil, err
	}
	all, err := r.places(tell)
	return append(index, all...), err
}

// heads reads all heads up to the end of the file. It returns nothing if one is invalid.
func (r *Reader) heads(file io.ReadSeeker) (index []chunkPlace, err error) {
	var fixed [chunkFixed]byte
	judge := Reader{} // checks that ticks of chunks ascend
	for at := r.in.offset; ; {
		if _, err := file.Seek(at, io.SeekStart); err != nil {
			return nil, err
		}
		_, err := io.ReadFull(file, fixed[:])
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return index, nil
		}
		if err != nil {
			return nil, err
		}
		h, err := judge.head(fixed[:])
		if err != nil {
			return nil, nil // places reports the fault
		}
		index = append(index, chunkPlace{h.first, h.last, at})
		judge.end, at = h.last, at+chunkFixed+int64(h.stored)
	}
}
