-- refund.lua: give back what an event spent, because it provably never reached its channel. The id stays
-- remembered: the event itself is not admitted again. A repeat changes nothing.
--
-- KEYS[1] seen     sorted set of admitted ids, score = when
-- KEYS[2] refunds  sorted set of refunded ids, score = when
-- KEYS[3..] the levels that the event spent from
--
-- ARGV[1] id
-- ARGV[2] units
-- ARGV[3] how long a refund is remembered, microseconds
-- then for each level: strategy, option, number of windows, and for each window: limit, length in
--   microseconds, as in lua/admit.lua. A backlog has nothing to give back: it shrinks when the entry is settled.
--
-- Reply: 1 given back, 0 given back before, or nothing is known of the id
--
-- By hand:
--   redis-cli --eval lua/refund.lua 'relay:{demo}:seen:demo' 'relay:{demo}:refunds:demo' \
--     'relay:{demo}:limit:sliding-log:channel' , event-1 1 3600000000 sliding-log 0 1 10 60000000

local seen, refunds = KEYS[1], KEYS[2]
local id, units, remember = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local before_levels = 2
local page = 1000
local call = redis.call

local function int(x) return string.format('%.0f', x) end

if not units or units < 1 or not remember or remember <= 0 then
  return redis.error_reply('ARG units of 1 or more and a time above 0 are needed')
end
local levels, at = {}, 4
for i = 1, #KEYS - before_levels do
  local level = { key = KEYS[before_levels + i], strategy = ARGV[at], option = tonumber(ARGV[at + 1]) }
  local windows = tonumber(ARGV[at + 2])
  if not level.option or not windows then
    return redis.error_reply('ARG level ' .. i .. ' needs a strategy, an option and its windows')
  end
  for w = 1, windows do
    local limit, per = tonumber(ARGV[at + 1 + 2 * w]), tonumber(ARGV[at + 2 + 2 * w])
    if not limit or not per then return redis.error_reply('ARG each window needs a limit and a length') end
  end
  at = at + 3 + 2 * windows
  levels[i] = level
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local admitted_at = tonumber(call('ZSCORE', seen, id) or 0)
if call('ZSCORE', refunds, id) then return 0 end
for _, level in ipairs(levels) do -- another type fails here, and not half-way
  if level.strategy == 'sliding-log' then
    call('ZCARD', level.key)
  elseif string.sub(level.strategy, 1, 7) ~= 'backlog' then
    call('HLEN', level.key)
  end
end

-- A log knows its entries by the id. They are where the id was admitted, unless the clock was stepped since.
local function remove(level)
  local prefix, found = id .. ':', 0
  local function sweep(members)
    for _, member in ipairs(members) do
      if string.sub(member, 1, #prefix) == prefix then found = found + call('ZREM', level.key, member) end
    end
  end
  if admitted_at > 0 then sweep(call('ZRANGEBYSCORE', level.key, int(admitted_at), int(admitted_at))) end
  local from = 0
  while found == 0 do
    local members = call('ZRANGE', level.key, from, from + page - 1)
    if #members == 0 then break end
    sweep(members)
    from = from + page
  end
  return found
end

-- A hash counts in windows, its own and those of replicas with another configuration.
local function lower(level)
  local flat, state = call('HGETALL', level.key), {}
  for i = 1, #flat, 2 do state[flat[i]] = tonumber(flat[i + 1]) end
  if admitted_at < (state.since or now) then return 0 end
  if level.strategy == 'sliding-buckets' then
    local ends = int((math.floor(admitted_at / level.option) + 1) * level.option)
    if (state[ends] or 0) > 0 then call('HSET', level.key, ends, int(math.max(0, state[ends] - units))) end
    return 1
  end
  for field, value in pairs(state) do
    local per, drain, which = string.match(field, '^(%d+)/?(%d*):(%a+)$')
    per, drain = tonumber(per), tonumber(drain)
    local start, left = per and state[int(per) .. ':at'] or 0, math.max(0, value - units)
    if which == 'n' and admitted_at >= start and admitted_at < start + per then
      -- A window that began with a unit goes on counting one there, or what remains would be in two windows' time.
      local at_start = state[int(per) .. ':f']
      if at_start and admitted_at == start then
        at_start = math.max(0, at_start - units)
        if at_start == 0 and left > 0 then at_start, left = 1, left + 1 end
        call('HSET', level.key, int(per) .. ':f', int(at_start))
      end
      call('HSET', level.key, field, int(left))
    elseif which == 'p' and admitted_at >= start - per and admitted_at < start then
      call('HSET', level.key, field, int(left))
    elseif which == 'tat' and drain and now - admitted_at < units * drain and value > now then
      call('HSET', level.key, field, int(math.max(now, value - units * drain))) -- none of it can have drained otherwise
    end
  end
  return 1
end

local given = 0
for _, level in ipairs(levels) do
  if level.strategy == 'sliding-log' then
    given = given + remove(level)
  elseif admitted_at > 0 and string.sub(level.strategy, 1, 7) == 'backlog' then
    given = given + 1
  elseif admitted_at > 0 then
    given = given + lower(level)
  end
end
if given == 0 then return 0 end
call('ZADD', refunds, int(now), id)
call('ZREMRANGEBYSCORE', refunds, '-inf', int(now - remember))
call('PEXPIRE', refunds, int(math.ceil(remember / 1000)))
return 1
