package replica

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// maxText bounds the text of a replica's windows, in bytes: some 60,000 classes of one window each.
const maxText = 1 << 20

// textVersion begins a text. A text that begins otherwise is of a later version, and read as one without windows.
const textVersion = '1'

// hashOf stands for a class in a text.
func hashOf(class string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(class))
	return h.Sum64()
}

// encodeWindows returns the text of windows by class, and how many classes had no room in it. The text has, for each class,
// its hash, the number of windows, and of each window the limit and the length in microseconds.
func encodeWindows(all map[string][]ratelimit.Window) (text string, leftOut int) {
	b := []byte{textVersion}
	for _, class := range slices.Sorted(maps.Keys(all)) {
		one := binary.BigEndian.AppendUint64(nil, hashOf(class))
		one = binary.AppendVarint(one, int64(len(all[class])))
		for _, w := range all[class] {
			one = binary.AppendVarint(binary.AppendVarint(one, w.Limit), w.Per.Microseconds())
		}
		if len(b)+len(one) > maxText {
			leftOut++
			continue
		}
		b = append(b, one...)
	}
	return string(b), leftOut
}

// decodeWindows returns the windows in a text, by the hash of their class. What is not valid is left out.
func decodeWindows(text string) map[uint64][]ratelimit.Window {
	all := map[uint64][]ratelimit.Window{}
	if text == "" || text[0] != textVersion {
		return all
	}
	b := []byte(text[1:])
	number := func() int64 {
		n, size := binary.Varint(b)
		if size <= 0 {
			b = nil
			return 0
		}
		b = b[size:]
		return n
	}
	for len(b) > 8 {
		class := binary.BigEndian.Uint64(b)
		b = b[8:]
		for n := number(); n > 0 && len(b) > 0; n-- {
			limit, per := number(), number()
			if limit > 0 && per > 0 && per <= math.MaxInt64/int64(time.Microsecond) {
				all[class] = append(all[class], ratelimit.Window{Limit: limit, Per: store.Microseconds(per)})
			}
		}
	}
	return all
}
