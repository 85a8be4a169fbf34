package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

func TestValuesExpireOnlyAtTheirTime(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	data := NewData(DataOptions{Now: func() time.Time { return now }})
	data.Do(func(tx *Tx) {
		tx.numbers("a")["n"]++
		tx.numbers("kept")["n"]++
		tx.expire("a", time.Minute)
	})
	look := func(key string) (n int64) {
		data.Do(func(tx *Tx) { n = tx.look(key)["n"] })
		return n
	}
	now = now.Add(time.Minute - time.Microsecond)
	require.Equal(t, int64(1), look("a"))
	now = now.Add(time.Microsecond)
	require.Zero(t, look("a"))
	require.Equal(t, int64(1), look("kept"))
	now = now.Add(time.Hour)
	require.Equal(t, int64(1), look("kept"), "a value without an expiry is never swept away")
	data.Do(func(tx *Tx) { tx.remove("kept") })
	require.Zero(t, look("kept"))
}

func TestStoreTimePassesFasterThanWallTime(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	data := NewData(DataOptions{Now: func() time.Time { return now }, Speed: 20})
	at := func() (t time.Time) {
		data.Do(func(tx *Tx) { t = tx.time })
		return t
	}
	begin := at()
	now = now.Add(3 * time.Second)
	require.Equal(t, time.Minute, at().Sub(begin))
	require.Equal(t, 3*time.Second, data.wall(time.Minute))
}

func TestANewQueueIsEmpty(t *testing.T) {
	t.Parallel()
	none := &queue{}
	require.Nil(t, none.head())
	require.Nil(t, none.dueExtra(1))
	found := none.find(1)
	require.Nil(t, found)
	none.remove(1)
}

func TestAQueueFindsAndRemovesByNumber(t *testing.T) {
	t.Parallel()
	outbox := &queue{seq: 3, messages: []entry{{number: 1}, {number: 2}, {number: 3}}}
	outbox.remove(2)
	require.Equal(t, int64(1), outbox.head().number)
	found := outbox.find(3)
	require.Equal(t, int64(3), found.number)
	require.False(t, found.isExtra)
}

func TestExtrasComeByWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	outbox := &queue{seq: 3}
	require.Equal(t, int64(4), outbox.addExtra(10, 20, "edit", nil))
	require.Equal(t, int64(5), outbox.addExtra(10, 15, "digest", nil))
	require.Nil(t, outbox.dueExtra(14))
	require.Equal(t, int64(5), outbox.dueExtra(15).number)
	outbox.postpone(outbox.find(5), 30)
	require.Equal(t, int64(4), outbox.dueExtra(30).number)
	found := outbox.find(4)
	require.True(t, found.isExtra)
}

// Counts of an hour end 25 h after the first of them, however many follow.
func TestCountsOfAnHourExpire(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	data := NewData(DataOptions{Now: func() time.Time { return now }})
	channel := store.Channel{Group: "g", Name: "c"}
	count := func(category string) {
		data.Do(func(tx *Tx) { channelTx{tx, channel.Keys()}.countInSeries(category, store.Admitted, 1) })
	}
	count("one")
	for _, i := range data.values {
		require.Equal(t, now.Add(seriesTTL).UnixMicro(), i.expiresAt)
	}
	require.Len(t, data.values, 2)
	now = now.Add(time.Second)
	count("one")
	for key, i := range data.values {
		require.Equal(t, now.Add(seriesTTL-time.Second).UnixMicro(), i.expiresAt, key)
	}
}

func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	var q queue
	for number := range int64(maxResults + 1) {
		q.keepResult(&entry{number: number}, store.OutageResult{})
	}
	require.Len(t, q.results, maxResults)
}

func TestAChannelHasWorkWhileSomethingIsDue(t *testing.T) {
	t.Parallel()
	now := time.UnixMicro(1_700_000_000_000_000)
	s := New(NewData(DataOptions{Now: func() time.Time { return now }}), Options{})
	channel := store.Channel{Name: "a"}
	require.False(t, s.HasWork(channel))
	require.NoError(t, s.Append(t.Context(), channel, "1", store.KindNotice, []byte("{}")))
	require.True(t, s.HasWork(channel))
	require.False(t, s.HasWork(store.Channel{Name: "b"}))
	claim, err := s.Claim(t.Context(), channel, store.Terms{Pace: store.Pace{Burst: 1}}, false)
	require.NoError(t, err)
	require.False(t, s.HasWork(channel), "it is being sent")
	require.NoError(t, s.Retry(t.Context(), channel, claim.Entry, store.RetryPlan{}))
	require.True(t, s.HasWork(channel))
}
