-- settle.lua: what became of an entry is known: take it out, and count it.
--
-- An entry is named by its number and the time of its admission: a Redis that came back older than it was gives
-- numbers again, and a settlement of what it forgot must not take what has the number now. Where the name does
-- not fit, the entry is gone, and nothing is written. Repeating it is harmless for the same reason.
--
-- Fenced: refused when another sender holds the lease. A lease that ended, or was lost with the data, is no
-- obstacle: the name says which entry is meant, and what is in Slack must be counted however late that is known.
-- All other results are refused where another claim followed the caller's: its attempt may have been posted.
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
-- ARGV[3] at       when the entry was admitted, microseconds, as the claim said; 0 = it is none of the relay's
-- ARGV[4] claims   how often it was claimed by then, the caller's claim included
-- ARGV[5] result   delivered, failed, expired, or gone (an extra that has nothing to say any more)
-- ARGV[6] what else, JSON, each optional:
--   channel, ts      where the message is in Slack: kept in its record
--   reason, answer, keep   of a dead letter, and how many the channel keeps; the oldest go first
--   copy             true: put a copy into the outbox of KEYS[10]
--   forget           true: the message certainly never appeared: its record goes
--   noted            what the next digest will say of it: {"x:<category>:<severity>": n, "t:<title>": n}
--
-- Reply: 1 done, 0 gone, or the number is another entry's (nothing written), -1 another sender holds the lease, or
--   claimed the entry since (nothing written)
--
-- By hand:
--   redis-cli --eval lua/settle.lua 'relay:{demo}:lease:demo' 'relay:{demo}:outbox:demo' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:ledger:demo' 'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' \
--     'relay:{demo}:dead:demo' 'relay:{demo}:digest:demo' , \
--     me 1 1700000000000000 1 delivered '{"ts":"1700000000.000100"}'

local lease, outbox, extras, entries, ledger, posted, aged, dead, digest =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local owner, number, named_at, claims, result = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local max_noted, max_titled = 1000, 300 -- fields of a digest; titles must not crowd out counts
local max_dead_bytes, letter_bytes = 8388608, 256 -- what the dead letters hold; of a letter beside what it says
local digest_ms = 5356800000 -- 62 days: twice the longest interval
local call = redis.call

local good, more = pcall(cjson.decode, ARGV[6] or '')
if not good or type(more) ~= 'table' or not claims then
  return redis.error_reply('ARG an owner, a number, a time, how many claims, a result and JSON are needed')
end
if result == 'failed' and (not more.keep or more.keep < 1) then
  return redis.error_reply('ARG the number of dead letters to keep must be 1 or more')
end
local backlog = KEYS[more.copy and 12 or 10]

local function int(x) return string.format('%.0f', x) end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

for _, set in ipairs({ outbox, extras, aged, more.copy and KEYS[10] or nil }) do call('ZCARD', set) end
for _, hash in ipairs({ entries, ledger, posted, digest, more.copy and KEYS[11] or nil }) do call('HLEN', hash) end
call('XLEN', dead) -- another type fails here, and not half-way
local listed = backlog and call('TYPE', backlog).ok == 'list'
if backlog and not listed then call('XLEN', backlog) end

local held_by = call('HGET', lease, 'owner')
if held_by and held_by ~= owner and tonumber(call('HGET', lease, 'until')) > now then return -1 end

local entry = call('HGET', entries, number) or ''
local at = string.match(entry, '^([1-9]%d*) [^ ]* ') or '0'
if #at > 18 then at = '0' end
local is_message = call('ZSCORE', outbox, number)
if at ~= named_at or not is_message and not call('ZSCORE', extras, number) then return 0 end
if result == 'gone' and is_message then return redis.error_reply('ARG a message is never just gone') end
local attempts = call('HGET', entries, number .. ':attempts') or '0'
if result ~= 'delivered' and (tonumber(attempts) or 0) > claims then return -1 end
local kind, payload = string.match(entry, '^%d+ (%S+) (.*)$')
if call('ZREM', outbox, number) == 1 then
  call('HINCRBY', ledger, result, 1)
else
  call('ZREM', extras, number)
  call('HINCRBY', ledger, (kind or 'unknown') .. ':' .. result, 1)
end
call('HDEL', entries, number, number .. ':attempts', number .. ':faults', number .. ':sent', number .. ':tried',
  number .. ':looked', number .. ':again', number .. ':thread', number .. ':name', number .. ':claim')

if result == 'failed' then
  -- What the dead letters hold is a difference of sums; where it is too much, the oldest go.
  local function field_of(letter, name)
    for i = 1, letter and #letter[2] or 0, 2 do
      if letter[2][i] == name then return letter[2][i + 1] end
    end
    return ''
  end
  local function sum_of(letter) return tonumber(field_of(letter, 'sum')) or 0 end
  local sum = sum_of(call('XREVRANGE', dead, '+', '-', 'COUNT', 1)[1]) + #entry + letter_bytes
  call('XADD', dead, 'MAXLEN', '=', more.keep, '*', 'number', number, 'entry', entry, 'reason', more.reason or '',
    'answer', more.answer or '', 'attempts', attempts, 'sum', int(sum))
  for _ = 1, 8 do
    local oldest = call('XRANGE', dead, '-', '+', 'COUNT', 1)[1]
    local before = math.max(0, sum_of(oldest) - #field_of(oldest, 'entry') - letter_bytes)
    if sum - before <= max_dead_bytes then break end
    call('XDEL', dead, oldest[1])
  end
end
if more.copy and payload then
  local copied = int(call('HINCRBY', KEYS[11], 'seq', 1))
  call('HSET', KEYS[11], copied, int(now) .. ' copy ' .. payload)
  call('ZADD', KEYS[10], int(now), copied)
end

-- What is told of the message later finds it by its record, or finds none. What may have been posted counts as shown.
local text = (more.ts or more.forget or result == 'delivered' or result == 'failed') and call('HGET', posted, number)
if text then
  local record = cjson.decode(text)
  if more.forget then
    local function unname(name)
      if call('HGET', posted, name) == number then call('HDEL', posted, name) end
    end
    call('HINCRBY', posted, 'bytes', -#text)
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
    local known = cjson.encode(record)
    call('HINCRBY', posted, 'bytes', #known - #text)
    call('HSET', posted, number, known)
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
  if listed then
    call('LREM', backlog, 1, number)
  else
    call('XDEL', backlog, number .. '-1')
  end
end
return 1
