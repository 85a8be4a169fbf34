-- refund.lua: refund the units of an event whose message certainly never appeared in Slack. The id stays remembered, so
-- that the event is not admitted again. A repeated call changes nothing. If events are delayed, they may fit now: the
-- channel becomes due.
--
-- KEYS[1] seen     (r)  sorted set of admitted ids, score = time
-- KEYS[2] refunds  (rw) sorted set of refunded ids, score = time
-- KEYS[3] delayed  (r)  sorted set of the numbers of delayed events
-- KEYS[4] due      (w)  sorted set of the work of channels (see due.lua)
-- KEYS[5..] limit  (rw) the levels at which the event used its units
--
-- ARGV[1] id
-- ARGV[2] units
-- ARGV[3] how long an admission and a refund are remembered, microseconds
-- then for each level: strategy and option, as in lua/admit.lua. A backlog has nothing to refund: it shrinks when the
--   entry leaves the outbox.
--
-- Reply: 1 refunded, 0 refunded before, or the id is unknown
--
-- Example:
--   redis-cli --eval lua/refund.lua 'relay:{demo}:seen:demo' 'relay:{demo}:refunds:demo' 'relay:{demo}:delayed:demo' \
--     relay:due 'relay:{demo}:limit:sliding-log:channel' , event-1 1 3600000000 sliding-log 0

local seen, refunds, delayed, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, event_units, remember = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local keys_before_levels = 4
local call, floor, ceil, max, min = redis.call, math.floor, math.ceil, math.max, math.min

if not event_units or event_units < 1 or not remember or remember <= 0 then
  return redis.error_reply('ARG units of 1 or more and a time above 0 are needed')
end
local levels = {}
for i = 1, #KEYS - keys_before_levels do
  local strategy, option = ARGV[2 * i + 2], tonumber(ARGV[2 * i + 3])
  if not option then return redis.error_reply('ARG level ' .. i .. ' needs a strategy and an option') end
  levels[i] = {
    key = KEYS[keys_before_levels + i], name = strategy, option = option, is_log = strategy == 'sliding-log',
  }
end

--- @include parts/int
--- @include parts/clock
--- @include parts/due/work
--- @include parts/due/now
local now_text = int(now)
local event_at = tonumber(call('ZSCORE', seen, id) or 0)
if event_at <= now - remember then event_at = 0 end -- forgotten, and not removed yet
if tonumber(call('ZSCORE', refunds, id) or 0) > now - remember then return 0 end

--- @include parts/limits/constants
--- @include parts/limits/log_refund
local strategies = {}
--- @include parts/limits/strategies

for _, set in ipairs({ delayed, due }) do call('ZCARD', set) end
for i, level in ipairs(levels) do -- a wrong type fails before any write
  level.strategy = strategies[level.name]
  if level.is_log then
    call('ZCARD', level.key)
  elseif not level.strategy then
    return redis.error_reply('ARG level ' .. i .. ' has an unknown strategy')
  elseif not level.strategy.is_backlog then
    call('HLEN', level.key)
  end
end

local given_back = 0
for _, level in ipairs(levels) do
  if level.is_log then
    given_back = given_back + refund_log(level)
  elseif event_at > 0 then
    given_back = given_back + level.strategy.refund(level, event_units, event_at)
  end
end
if given_back == 0 then return 0 end
if call('ZCARD', delayed) > 0 then look_now('promote', delayed) end
call('ZADD', refunds, now_text, id)
call('ZREMRANGEBYSCORE', refunds, '-inf', int(now - remember))
call('PEXPIRE', refunds, int(ceil(remember / 1000)))
return 1
