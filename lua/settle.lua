-- settle.lua: what became of an entry is known: take it out, and count it.
--
-- Fenced: refused when another sender holds the lease. Repeating it is harmless: an entry that is gone is not
-- counted again.
--
-- KEYS[1] lease    hash: owner, until (microseconds)
-- KEYS[2] outbox   sorted set of the numbers of messages
-- KEYS[3] extras   sorted set of the numbers of extras
-- KEYS[4] entries  hash of entries
-- KEYS[5] ledger   hash of totals: a message counts under its result, an extra under "<kind>:<result>"
-- KEYS[6] posted   hash of records (admit.lua)
-- KEYS[7] aged     sorted set of the records by their age
-- KEYS[8] dead     stream of dead letters: number, entry, reason, answer, attempts
-- KEYS[9] digest   hash of what the next digest will say
-- KEYS[10], [11]   only with copy: extras and entries of the outbox that gets a copy
-- then, optional: backlog, a level of strategy backlog (stream or list), which the entry leaves
--
-- ARGV[1] owner    who claimed it
-- ARGV[2] number   the entry's number
-- ARGV[3] result   delivered, failed, expired, or gone (an extra that has nothing to say any more)
-- ARGV[4] what else, JSON, each optional:
--   channel, ts      where the message is in Slack: kept in its record
--   reason, answer, keep   of a dead letter, and how many the channel keeps; the oldest go first
--   copy             true: put a copy into the outbox of KEYS[10]
--   forget           true: the message certainly never appeared: its record goes
--   at               settle it only if that is when it was admitted: a resolve may have taken its place since
--   noted            what the next digest will say of it: {"x:<category>:<severity>": n, "t:<title>": n}
--
-- Reply: 1 done, 0 gone already, -1 the lease is another sender's (nothing written)
--
-- By hand:
--   redis-cli --eval lua/settle.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:ledger:demo' 'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' \
--     'relay:{demo}:dead:demo' 'relay:{demo}:digest:demo' , me 1 delivered '{"ts":"1700000000.000100"}'

local lease, outbox, extras, entries, ledger, posted, aged, dead, digest =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local owner, number, result = ARGV[1], ARGV[2], ARGV[3]
local max_noted, max_titled = 1000, 300 -- fields of a digest; titles must not crowd out counts
local digest_ms = 5356800000 -- 62 days: twice the longest interval
local call = redis.call

local good, more = pcall(cjson.decode, ARGV[4] or '')
if not good or type(more) ~= 'table' or not result then
  return redis.error_reply('ARG an owner, a number, a result and JSON are needed')
end
if result == 'failed' and (not more.keep or more.keep < 1) then
  return redis.error_reply('ARG the number of dead letters to keep must be 1 or more')
end
local backlog = KEYS[more.copy and 12 or 10]

local function int(x) return string.format('%.0f', x) end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local held_by = call('HGET', lease, 'owner')
if held_by and held_by ~= owner and tonumber(call('HGET', lease, 'until')) > now then return -1 end

if result == 'gone' and call('ZSCORE', outbox, number) then
  return redis.error_reply('ARG a message is never just gone')
end
local entry = call('HGET', entries, number) or ''
if more.at and string.match(entry, '^%d+') ~= more.at then return 0 end
local attempts = call('HGET', entries, number .. ':attempts') or '0'
local kind, payload = string.match(entry, '^%d+ (%S+) (.*)$')
if call('ZREM', outbox, number) == 1 then
  call('HINCRBY', ledger, result, 1)
elseif call('ZREM', extras, number) == 1 then
  call('HINCRBY', ledger, (kind or 'unknown') .. ':' .. result, 1)
else
  return 0
end
call('HDEL', entries, number, number .. ':attempts', number .. ':faults', number .. ':sent', number .. ':tried',
  number .. ':looked', number .. ':again', number .. ':thread')

if result == 'failed' then
  call('XADD', dead, 'MAXLEN', '=', more.keep, '*',
    'number', number, 'entry', entry, 'reason', more.reason or '', 'answer', more.answer or '', 'attempts', attempts)
end
if more.copy and payload then
  local copied = int(call('HINCRBY', KEYS[11], 'seq', 1))
  call('HSET', KEYS[11], copied, int(now) .. ' copy ' .. payload)
  call('ZADD', KEYS[10], int(now), copied)
end

-- What is told of the message later finds it by its record, or finds none.
local text = (more.ts or more.forget or result == 'delivered') and call('HGET', posted, number)
if text then
  local record = cjson.decode(text)
  if more.forget then
    local function unname(name)
      if call('HGET', posted, name) == number then call('HDEL', posted, name) end
    end
    for _, event in ipairs(record.events or {}) do
      if event.f then unname('f:' .. event.f) end
    end
    for fingerprint in pairs(record.members or {}) do unname('f:' .. fingerprint) end
    unname('c:' .. (record.category or ''))
    unname('b:' .. (record.bundle or ''))
    call('HDEL', posted, number)
    call('ZREM', aged, number)
  else
    record.ts, record.channel, record.shown = more.ts, more.channel, true
    call('HSET', posted, number, cjson.encode(record))
  end
end

local noted = 0
for field, n in pairs(more.noted or {}) do
  local title = string.sub(field, 1, 2) == 't:'
  if not title then noted = noted + n end
  if call('HLEN', digest) < (title and max_titled or max_noted) or call('HEXISTS', digest, field) == 1 then
    call('HINCRBY', digest, field, n)
  elseif not title then
    call('HINCRBY', digest, string.sub(field, 1, 2) .. 'other:warning', n)
  end
end
if noted > 0 then
  call('HINCRBY', digest, 'noted', noted)
  call('HSETNX', digest, 'since', int(now))
  call('HSET', digest, 'last', int(now))
  call('PEXPIRE', digest, digest_ms)
end

if backlog then
  if call('TYPE', backlog).ok == 'list' then
    call('LREM', backlog, 1, number)
  else
    call('XDEL', backlog, number .. '-1')
  end
end
return 1
