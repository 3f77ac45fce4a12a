package record

import (
	"errors"
	"io"

	"github.com/arche-netcode/netcode/tick"
)

// index returns where the chunks of a file are. Of all but the last it reads the heads, and steps over what is packed: a head tells where the
// next one is. So damage within a chunk shows when the chunk is played. The last chunk, which may be cut off, is read. If a head is wrong, so
// may be those before it: the whole file is read. It tells of damage in what it reads.
func (r *Reader) index(file io.ReadSeeker, tell func(error)) ([]chunkPlace, error) {
	index, err := r.heads(file)
	if err != nil {
		return nil, err
	}
	rest := chunkPlace{first: tick.None + 1, offset: r.in.offset}
	if last := len(index) - 1; last >= 0 {
		rest.offset, index = index[last].offset, index[:last] // A length beyond the file shows here.
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

// heads goes from head to head until the end of the file. It returns nothing if one is wrong.
func (r *Reader) heads(file io.ReadSeeker) (index []chunkPlace, err error) {
	var fixed [chunkFixed]byte
	judge := Reader{} // The ticks of a chunk come behind those of the one before.
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
			return nil, nil // places tells the fault.
		}
		index = append(index, chunkPlace{h.first, h.last, at})
		judge.end, at = h.last, at+chunkFixed+int64(h.stored)
	}
}
