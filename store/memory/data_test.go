package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store/memory"
)

func TestValuesExpire(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	data := memory.NewData(memory.DataOptions{Now: func() time.Time { return now }})
	data.Do(func(tx *memory.Tx) {
		memory.Value[memory.Counts](tx, "a").Add("n", 1)
		memory.Value[memory.Counts](tx, "kept").Add("n", 1)
		tx.Expire("a", time.Minute)
	})
	look := func(key string) (n int64) {
		data.Do(func(tx *memory.Tx) { n = memory.Look[memory.Counts](tx, key).All()["n"] })
		return n
	}
	now = now.Add(time.Minute - time.Microsecond)
	require.Equal(t, int64(1), look("a"))
	now = now.Add(time.Microsecond)
	require.Zero(t, look("a"))
	require.Equal(t, int64(1), look("kept"))
	now = now.Add(time.Hour)
	require.Equal(t, int64(1), look("kept"), "what has no end is never swept away")
	data.Do(func(tx *memory.Tx) { tx.Delete("kept") })
	require.Zero(t, look("kept"))
}

func TestAFasterClock(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	data := memory.NewData(memory.DataOptions{Now: func() time.Time { return now }, Speed: 20})
	at := func() (t time.Time) {
		data.Do(func(tx *memory.Tx) { t = tx.Time })
		return t
	}
	begin := at()
	now = now.Add(3 * time.Second)
	require.Equal(t, time.Minute, at().Sub(begin))
	require.Equal(t, 3*time.Second, data.Wall(time.Minute))
}

func TestOutbox(t *testing.T) {
	t.Parallel()
	var none *memory.Queue
	require.Nil(t, none.Head())
	require.Nil(t, none.Due(1))
	found, _ := none.Find(1)
	require.Nil(t, found)
	none.Remove(1)
	box := &memory.Queue{Seq: 3, Entries: []memory.Entry{{Number: 1}, {Number: 2}, {Number: 3}}}
	box.Remove(2)
	require.Equal(t, int64(1), box.Head().Number)
	found, extra := box.Find(3)
	require.Equal(t, int64(3), found.Number)
	require.False(t, extra)
	require.Equal(t, int64(4), box.Put(10, 20, "edit", nil))
	require.Equal(t, int64(5), box.Put(10, 15, "digest", nil))
	require.Nil(t, box.Due(14))
	require.Equal(t, int64(5), box.Due(15).Number, "by when they are due")
	box.Postpone(5, 30)
	require.Equal(t, int64(4), box.Due(30).Number)
	_, extra = box.Find(4)
	require.True(t, extra)
}
