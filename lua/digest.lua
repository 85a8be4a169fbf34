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
--
-- Code generated from lua/src/digest.lua by go generate ./lua; DO NOT EDIT.

local digest, last_admitted, extras, entries, posted, aged = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local due = KEYS[7]
local channel, interval, every, minimum = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local call, ceil, min = redis.call, math.ceil, math.min

if not interval or interval <= 0 or not every or not minimum then
  return redis.error_reply('ARG a channel, an interval above 0, every and a minimum are needed')
end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part digest_due: when to post, edit or close a digest. state has the fields of the digest's hash.

-- digest_due_at returns a time in microseconds, or nil if nothing is counted.
local function digest_due_at(state)
  local since, open = tonumber(state.since), tonumber(state.open)
  if open then return since and min(open + interval, tonumber(state.moved) + every) or open + interval end
  if not since then return nil end
  local is_early = every > 0 and tonumber(state.noted or 0) >= minimum
  return since + (is_early and min(interval, ceil(every / 3)) or interval)
end
-- part digest/counts: the counts and totals of the digest.

-- read_digest returns the counts since the last call, and the other fields of the digest.
local function read_digest()
  local flat, counts, state = call('HGETALL', digest), {}, {}
  for i = 1, #flat, 2 do
    local field = flat[i]
    if string.match(field, '^[dxt]:') then
      counts[field] = tonumber(flat[i + 1])
    else
      state[field] = flat[i + 1]
    end
  end
  return counts, state
end

local function delete_counts(counts)
  local page = 1000 -- unpack fails above some thousand
  local fields = { 'since', 'last', 'noted' }
  for field in pairs(counts) do fields[#fields + 1] = field end
  for from = 1, #fields, page do call('HDEL', digest, unpack(fields, from, math.min(from + page - 1, #fields))) end
end

-- add_totals returns all counts of the digest: those of earlier calls and the new ones.
local function add_totals(state, counts)
  if not state.open or not state.totals then return counts end
  local totals = cjson.decode(state.totals)
  for field, n in pairs(counts) do totals[field] = (totals[field] or 0) + n end
  return totals
end

-- silent_categories returns the categories in the counts that have had no admission since a time. If categories may
-- have been forgotten, as those with the oldest admissions are, an unknown one may be as late as the oldest that is
-- known. "other" is no category.
local function silent_categories(counts, since)
  local silent, seen, max_categories, forgotten = {}, { other = true }, 1000, 0
  if call('ZCARD', last_admitted) >= max_categories then
    forgotten = tonumber(call('ZRANGE', last_admitted, 0, 0, 'WITHSCORES')[2])
  end
  for field in pairs(counts) do
    local category = string.match(field, '^[dx]:([^:]*):')
    if category and not seen[category] then
      seen[category] = true
      local at = call('ZSCORE', last_admitted, category)
      if tonumber(at or forgotten) <= since then silent[#silent + 1] = category end
    end
  end
  table.sort(silent)
  return silent
end
-- part due/work: the name of a channel's work in the due index. key is any key of the channel.
local function work_of(work_kind, key)
  return work_kind .. ' ' .. (string.gsub(key, '^relay:{([^}]*)}:%l+:', '%1:'))
end
-- part due/now: let senders look at a channel now, because it may have more to do than before.
local function look_now(work_kind, key) call('ZADD', due, 'LT', int(now), work_of(work_kind, key)) end
-- part digest/post: enqueue the digest's post, or an edit of it.
local digest_ms = 5356800000 -- 62 days: twice the longest interval

local function entry_of(kind, body) return int(now) .. ' ' .. kind .. ' ' .. cjson.encode(body) end

-- enqueue adds an entry, and returns its number.
local function enqueue(kind, post, body)
  local number = int(call('HINCRBY', entries, 'seq', 1))
  body.post = post or number
  call('HSET', entries, number, entry_of(kind, body))
  call('ZADD', extras, int(now), number)
  look_now('send', extras)
  return number
end

-- is_unsent returns whether an entry waits without an attempt.
local function is_unsent(number)
  return number and call('HEXISTS', entries, number) == 1 and call('HEXISTS', entries, number .. ':sent') == 0
end

-- edit_post rewrites an entry that is not sent yet, or adds an edit.
local function edit_post(state, body)
  body.post = state.post
  if is_unsent(state.post) then
    call('HSET', entries, state.post, entry_of('digest', body))
  elseif is_unsent(state.edit) then
    call('HSET', entries, state.edit, entry_of('digest-edit', body))
  else
    state.edit = enqueue('digest-edit', state.post, body)
  end
end

-- add_post enqueues the post. If it can be edited later, it is stored like any other posted message.
local function add_post(state, body)
  state.post = enqueue('digest', state.post, body)
  if every == 0 then return end
  local message = cjson.encode({ at = int(now), from = body.from })
  call('HINCRBY', posted, 'bytes', #message)
  call('HSET', posted, state.post, message)
  call('ZADD', aged, int(now), state.post)
end

local function keep_open(state, body)
  local open = tonumber(state.open) or now
  call('HSET', digest, 'open', int(open), 'id', body.id, 'post', state.post, 'moved', int(now), 'from', body.from,
    'totals', cjson.encode(body.counts))
  if state.edit then call('HSET', digest, 'edit', state.edit) end
  call('PEXPIRE', digest, digest_ms)
end

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
