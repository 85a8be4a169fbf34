-- digest.lua: have a digest posted, where one is due: move what was noted into an entry of the outbox.
--
-- At the interval's end, one post says it all. Or, where a post can be edited (every > 0), it comes a third of
-- every after the first note, so that what a phone shows of it says more than "1 event"; later calls, every so
-- often, move what is new into the totals, and enqueue an edit with the absolute totals, in place of one that is
-- not sent yet; the call at the interval's end closes the digest. What is noted later goes to the next one. Calls
-- that come too early change nothing, so that any replica may call.
--
-- KEYS[1] digest   hash. Noted: since, last (microseconds), noted (how much), and counts
--                  "d:<category>:<severity>" of what was dropped, "x:..." of what expired, "t:<title>".
--                  Open: open (since when), id, post (its number), edit (the number of the last edit), moved (when),
--                  from (what it tells of begins there), totals (JSON)
-- KEYS[2] told     sorted set of the channel's categories by their last admission
-- KEYS[3] extras   sorted set of the numbers of extras
-- KEYS[4] entries  hash of entries
-- KEYS[5] posted   hash of records, so that an edit finds the post
-- KEYS[6] aged     sorted set of the records by their age
--
-- ARGV[1] channel  the beginning of the digest's id
-- ARGV[2] interval, microseconds
-- ARGV[3] every, microseconds; 0 = one post at the end
-- ARGV[4] minimum, how much there must be to tell
--
-- Reply: how much was moved; 0 = nothing was due
--
-- By hand:
--   redis-cli --eval lua/digest.lua 'relay:{demo}:digest:demo' 'relay:{demo}:told:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' , demo 1800000000 30000000 1

local digest, told, extras, entries, posted, aged = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local channel, interval, every, minimum = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local digest_ms = 5356800000 -- 62 days: twice the longest interval
local call = redis.call

local function int(x) return string.format('%.0f', x) end

if not interval or interval <= 0 or not every or not minimum then
  return redis.error_reply('ARG a channel, an interval above 0, every and a minimum are needed')
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

for _, set in ipairs({ told, extras, aged }) do call('ZCARD', set) end -- another type fails here, and not half-way
for _, hash in ipairs({ entries, posted }) do call('HLEN', hash) end
local flat, noted, state = call('HGETALL', digest), {}, {}
for i = 1, #flat, 2 do
  local field = flat[i]
  if string.match(field, '^[dxt]:') then
    noted[field] = tonumber(flat[i + 1])
  else
    state[field] = flat[i + 1]
  end
end
local open, since, amount = tonumber(state.open), tonumber(state.since), tonumber(state.noted or 0)
local ends = open and now >= open + interval
if open then
  if not ends and not (since and now >= tonumber(state.moved) + every) then return 0 end
elseif not since or now < since + interval and not (every > 0 and amount >= minimum and now >= since + every / 3) then
  return 0
end

-- Too little to tell of, and nothing that it could be added to.
if not open and amount < minimum then
  call('DEL', digest)
  return 0
end
local fields = { 'since', 'last', 'noted' }
for field in pairs(noted) do fields[#fields + 1] = field end
for from = 1, #fields, 1000 do call('HDEL', digest, unpack(fields, from, math.min(from + 999, #fields))) end

local totals, from = noted, state.from or state.since
if open and state.totals then
  totals = cjson.decode(state.totals)
  for field, n in pairs(noted) do totals[field] = (totals[field] or 0) + n end
end

local silent, looked = {}, {}
for field in pairs(totals) do
  local category = string.match(field, '^[dx]:([^:]*):')
  if category and not looked[category] then
    looked[category] = true
    local at = tonumber(call('ZSCORE', told, category) or 0)
    if at <= tonumber(from) - interval then silent[#silent + 1] = category end
  end
end
table.sort(silent)

local id = state.id or channel .. ':' .. from
local closed = (ends or every == 0) and true or false
local body = { id = id, from = from, last = state.last or state.moved, counts = totals, closed = closed }
if #silent > 0 then body.silent = silent end

-- An entry that nobody began to send is written anew; else there is a further one.
local function unsent(name)
  return name and call('HEXISTS', entries, name) == 1 and call('HEXISTS', entries, name .. ':sent') == 0
end
local function put(kind)
  local name = int(call('HINCRBY', entries, 'seq', 1))
  body.post = state.post or name
  call('HSET', entries, name, int(now) .. ' ' .. kind .. ' ' .. cjson.encode(body))
  call('ZADD', extras, int(now), name)
  return name
end
if open then
  body.post = state.post
  local rewritten = unsent(state.post) and state.post or unsent(state.edit) and state.edit
  if rewritten then
    local kind = rewritten == state.post and 'digest' or 'digest-edit'
    call('HSET', entries, rewritten, int(now) .. ' ' .. kind .. ' ' .. cjson.encode(body))
  else
    state.edit = put('digest-edit')
  end
else
  state.post = put('digest')
  if every > 0 then
    local record = cjson.encode({ at = int(now) })
    call('HINCRBY', posted, 'bytes', #record)
    call('HSET', posted, state.post, record)
    call('ZADD', aged, int(now), state.post)
  end
end

if every == 0 or ends then
  call('DEL', digest)
else
  call('HSET', digest, 'open', int(open or now), 'id', id, 'post', state.post, 'moved', int(now), 'from', from,
    'totals', cjson.encode(totals))
  if state.edit then call('HSET', digest, 'edit', state.edit) end
  call('PEXPIRE', digest, digest_ms)
end
return amount
