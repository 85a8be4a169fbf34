-- digest.lua: if a digest is due, move the counts for it into an entry of the outbox.
--
-- If posts cannot be edited (every is 0), one post reports all counts at the end of the interval. Otherwise the post is
-- enqueued a third of `every` after the first count, so that its notification on a phone shows more than "1 event".
-- Later calls add new counts to the totals after each `every`, and enqueue an edit with the totals, or change one that
-- is not sent yet. The call at the end of the interval closes the digest. Later counts belong to the next digest. A
-- call that comes too early changes nothing, so that any replica may call.
--
-- KEYS[1] digest   (rw) hash. Counted: since, last (microseconds), noted (how many events), and counts
--                  "d:<category>:<severity>:<status>:<level>" of drops, "x:<category>:<severity>:<status>" of expired
--                  messages, "t:<title>". Older versions wrote "d:" and "x:" without status and level.
--                  Open: open (since when), id, post (its number), edit (the number of the last edit), moved (when
--                  counts were last moved), from (when its report begins), totals (JSON)
-- KEYS[2] told     (r)  sorted set of the channel's categories by their last admission
-- KEYS[3] extras   (w)  sorted set of the numbers of extras
-- KEYS[4] entries  (rw) hash of entries
-- KEYS[5] posted   (w)  hash of posted messages, so that an edit finds the post
-- KEYS[6] aged     (w)  sorted set of their numbers, score = time of the last change
-- KEYS[7] due      (w)  sorted set of the work of channels (see due.lua)
--
-- ARGV[1] channel  the beginning of the digest's id
-- ARGV[2] interval, microseconds
-- ARGV[3] every, microseconds; 0 = one post at the end
-- ARGV[4] minimum, how many events it must report
--
-- Reply: how many events were moved; 0 = nothing was due
--
-- Example:
--   redis-cli --eval lua/digest.lua 'relay:{demo}:digest:demo' 'relay:{demo}:told:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' relay:due , \
--     demo 1800000000 30000000 1

local digest, last_admitted, extras, entries, posted, aged = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local due = KEYS[7]
local channel, interval, every, minimum = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local call, ceil, min = redis.call, math.ceil, math.min

if not interval or interval <= 0 or not every or not minimum then
  return redis.error_reply('ARG a channel, an interval above 0, every and a minimum are needed')
end

--- @include parts/int
--- @include parts/clock
--- @include parts/digest_due
--- @include parts/digest/counts
--- @include parts/due/work
--- @include parts/due/now
--- @include parts/digest/post

-- A wrong type fails before any write.
for _, set in ipairs({ last_admitted, extras, aged, due }) do call('ZCARD', set) end
for _, hash in ipairs({ entries, posted }) do call('HLEN', hash) end
local counts, state = read_digest()
local amount = tonumber(state.noted or 0)
local is_open = state.open ~= nil
local ends = is_open and now >= tonumber(state.open) + interval
local due_at = digest_due_at(state)
if not due_at or due_at > now then return 0 end
if not is_open and amount < minimum then -- too little to report
  call('DEL', digest)
  return 0
end

delete_counts(counts)
local from = state.from or state.since
local totals = add_totals(state, counts)
local body = {
  id = state.id or channel .. ':' .. from, from = from, last = state.last or state.moved, counts = totals,
  closed = ends or every == 0,
}
local silent = silent_categories(totals, tonumber(from) - interval)
if #silent > 0 then body.silent = silent end
if is_open then edit_post(state, body) else add_post(state, body) end

if every == 0 or ends then
  call('DEL', digest)
else
  keep_open(state, body)
end
return amount
