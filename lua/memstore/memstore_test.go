package memstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/memstore"
)

func TestValuesExpire(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	store := memstore.New(memstore.Options{Now: func() time.Time { return now }})
	store.Do(func(tx *memstore.Tx) {
		memstore.Value[memstore.Counts](tx, "a").Add("n", 1)
		memstore.Value[memstore.Counts](tx, "kept").Add("n", 1)
		tx.Expire("a", time.Minute)
	})
	look := func(key string) (n int64) {
		store.Do(func(tx *memstore.Tx) { n = memstore.Look[memstore.Counts](tx, key).All()["n"] })
		return n
	}
	now = now.Add(time.Minute - time.Microsecond)
	require.Equal(t, int64(1), look("a"))
	now = now.Add(time.Microsecond)
	require.Zero(t, look("a"))
	require.Equal(t, int64(1), look("kept"))
	now = now.Add(time.Hour)
	require.Equal(t, int64(1), look("kept"), "what has no end is never swept away")
	store.Do(func(tx *memstore.Tx) { tx.Delete("kept") })
	require.Zero(t, look("kept"))
}

func TestAFasterClock(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	store := memstore.New(memstore.Options{Now: func() time.Time { return now }, Speed: 20})
	at := func() (t time.Time) {
		store.Do(func(tx *memstore.Tx) { t = tx.Time })
		return t
	}
	begin := at()
	now = now.Add(3 * time.Second)
	require.Equal(t, time.Minute, at().Sub(begin))
	require.Equal(t, 3*time.Second, store.Wall(time.Minute))
}

func TestOutbox(t *testing.T) {
	t.Parallel()
	var none *memstore.Outbox
	require.Nil(t, none.Head())
	require.Nil(t, none.Due(1))
	found, _ := none.Find(1)
	require.Nil(t, found)
	none.Remove(1)
	box := &memstore.Outbox{Seq: 3, Entries: []memstore.Entry{{Number: 1}, {Number: 2}, {Number: 3}}}
	box.Remove(2)
	require.Equal(t, int64(1), box.Head().Number)
	found, extra := box.Find(3)
	require.Equal(t, int64(3), found.Number)
	require.False(t, extra)
	require.Equal(t, []int64{4, 5}, []int64{box.Put(10, 20, "edit", nil), box.Put(10, 15, "digest", nil)})
	require.Nil(t, box.Due(14))
	require.Equal(t, int64(5), box.Due(15).Number, "by when they are due")
	box.Postpone(5, 30)
	require.Equal(t, int64(4), box.Due(30).Number)
	_, extra = box.Find(4)
	require.True(t, extra)
}
