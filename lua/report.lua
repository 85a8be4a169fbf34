-- report.lua: return the ledger of a channel and the state of its outbox, and with a level also how full that is, all
-- read at one time. No total is derived from others, so that an imbalance is visible. It writes nothing but the longest
-- window of the level, when that changes: a window that was lengthened under-counts until one full window has passed.
--
-- KEYS[1] ledger   (r)  hash of totals
-- KEYS[2] outbox   (r)  sorted set of entry numbers; all of them are messages
-- KEYS[3] entries  (r)  hash of entries
-- KEYS[4] pause    (r)  hash: until (microseconds), reason, settling (microseconds; claim.lua)
-- then, only with a level:
-- KEYS[5] windows  (rw) hash: level = "<longest window> <when it was lengthened, 0 = not warming>", microseconds
-- KEYS[6] minutes  (r)  hash of the counts in this hour
-- KEYS[7] minutes  (r)  the same of the hour before
-- KEYS[8] limit    (r)  the level
--
-- ARGV    none; with a level: its name, its longest window in microseconds, then as in the plan of lua/admit.lua its
--         strategy, option, shadow, and limit and length of each window
--
-- Reply: [pending, oldest_us, pause_us, pause_reason, [field, count, ...]], with a level also
--   [active, warming_us, retry_us, used, ...]
--   pending      messages in the outbox
--   oldest_us    age of the oldest message, microseconds (0 if none)
--   pause_us     how long the channel stays paused, microseconds (0 if it is not)
--   pause_reason why ("" when it is not); settling = a lookup of an uncertain message is due after it
--   field, count every field of the ledger
--   active       1 if events were admitted or dropped in this hour or in the one before, else 0
--   warming_us   how long the level is still warming (0 if it is not)
--   retry_us     after how long one more event fits the level (0 now, -1 never)
--   used         used slots of each window
--
-- Example:
--   redis-cli --eval lua/report.lua 'relay:{demo}:ledger:demo' 'relay:{demo}:outbox:demo' \
--     'relay:{demo}:entries:demo' 'relay:{demo}:pause:demo'
--
-- Code generated from lua/src/report.lua by go generate ./lua; DO NOT EDIT.

local ledger, outbox, entries, pause = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local windows, minutes, minutes_before = KEYS[5], KEYS[6], KEYS[7]
local keys_before_levels = 7
local level_name, longest = ARGV[1], tonumber(ARGV[2])
local call, floor, ceil, max, min = redis.call, math.floor, math.ceil, math.max, math.min

if windows and (not longest or #KEYS ~= keys_before_levels + 1) then
  return redis.error_reply('ARG a level needs its key, its name and the length of its longest window')
end

-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local oldest = 0
local head = call('ZRANGE', outbox, 0, 0)[1]
if head then
  local entry = call('HGET', entries, head)
  local admitted_at = entry and tonumber(string.match(entry, '^%d+'))
  if admitted_at then oldest = max(0, now - admitted_at) end
end

local paused, reason = 0, ''
local pauses = call('HMGET', pause, 'until', 'settling', 'reason')
local until_us, settling = tonumber(pauses[1] or 0), tonumber(pauses[2] or 0)
if until_us > now then
  paused, reason = until_us - now, pauses[3] or ''
elseif settling > now then
  paused, reason = settling - now, 'settling'
end

local reply = { call('ZCARD', outbox), oldest, paused, reason, call('HGETALL', ledger) }
if not windows then return reply end

local MODE = 'peek' -- nothing is written to the level
local level_specs = { { ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]) } }
for i = 6, #ARGV do table.insert(level_specs[1], tonumber(ARGV[i])) end

-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part limits/constants: what the strategies have in common.
local FIRST = 4 -- where a level's windows begin in its spec, and a route's levels
local grace_ms = 60000 -- how long a level is kept after nothing in it counts any more
-- How long a level keeps what a longer window of another configuration needs, after its last use (24 h), and how
-- far units may lie ahead of now before they are moved to now (5 s).
local remember_us, max_step = 86400000000, 5000000
local max_args = 1000 -- unpack fails above some thousand
local stepped = 0 -- how far the clock went back, if units were moved
-- part levels: check the levels of the plan. The windows of a level are pairs in its spec: spec[w] = limit and
-- spec[w + 1] = per for w = FIRST, FIRST + 2, ...; level.used[w] is how many units it holds. A route is as in the
-- plan: the places of its levels are route[FIRST], route[FIRST + 1], ...
local CATEGORY, HEADROOM, CATEGORY_LEVEL = 1, 2, 3 -- places in a route
local levels = {}
local needs_strategies = false

for i = 1, #level_specs do
  local spec = level_specs[i]
  local level = {
    spec = spec, key = KEYS[keys_before_levels + i], is_shadow = spec[3] == 1,
    keep = 0, largest = 0, -- its longest window, its largest limit
    used = false, pending = 0, members = false, -- units: in its windows, of this batch; members of a log to add
    closed = 0, closed_by = FIRST, old = math.huge, scores = {},
  }
  if #spec < FIRST + 1 or #spec % 2 == 0 then
    return redis.error_reply('ARG level ' .. i .. ' needs a strategy, an option, shadow, and its windows')
  end
  for w = FIRST, #spec, 2 do
    local limit, per = tonumber(spec[w]), tonumber(spec[w + 1])
    if not limit or not per or limit < 0 or per <= 0 then
      return redis.error_reply('ARG level ' .. i .. ' needs a limit of 0 or more and a window above 0')
    end
    if per > level.keep then level.keep = per end
    if limit > level.largest then level.largest = limit end
  end
  if spec[1] ~= 'sliding-log' then needs_strategies = true end
  levels[i] = level
end
-- part ago: the text of the time that is per before now, microseconds.
local last_per, last_ago

local function ago(per)
  if per ~= last_per then last_per, last_ago = per, int(now - per) end
  return last_ago
end
local now_text = int(now)
-- part limits/log: the sliding log, a sorted set with a member for each unit, score = when it was spent. Every
-- other strategy is a table of functions (limits/strategies); the log has its own, because most levels use it.

-- count_log returns how many units a log has of the last per, those ahead of now included, and how many are
-- older.
local function count_log(key, per)
  local all = call('ZCARD', key)
  if all == 0 then return 0, 0 end
  local old = call('ZCOUNT', key, '-inf', ago(per))
  return all - old, old
end

-- kept_score is the score of the rank-th newest unit that a log contains, from 0.
local function kept_score(level, rank)
  local score = level.scores[rank]
  if not score then
    local text = int(rank)
    score = tonumber(call('ZREVRANGE', level.key, text, text, 'WITHSCORES')[2] or 0)
    level.scores[rank] = score
  end
  return score
end

-- log_score is the score of the rank-th newest unit, those of this batch included. Only units ahead of now, where the
-- clock went back, are newer than those.
local function log_score(level, rank)
  if rank < 0 then return now end
  local before = rank - level.pending
  return max(kept_score(level, rank), before < 0 and now or min(now, kept_score(level, before)))
end

-- log_fits_at returns when units fit into a window of a log. Units that lie too far ahead of now are moved to
-- now; peek only counts them so.
local function log_fits_at(level, w, units, reserved)
  local at = log_score(level, level.spec[w] - units - reserved)
  if at > now + max_step then
    stepped = max(stepped, tonumber(call('ZREVRANGE', level.key, 0, 0, 'WITHSCORES')[2]) - now)
    level.scores, at = {}, now
    local args = {}
    for _, member in ipairs(MODE ~= 'peek' and call('ZRANGEBYSCORE', level.key, '(' .. now_text, '+inf') or {}) do
      args[#args + 1], args[#args + 2] = now_text, member
    end
    for from = 1, #args, max_args do
      call('ZADD', level.key, unpack(args, from, min(from + max_args - 1, #args)))
    end
  end
  return at + level.spec[w + 1]
end
if needs_strategies then
  local strategies = {}
  -- part limits/strategies: the strategies other than the sliding log. load reads a level and sets level.used for
  -- each window; fits_at returns when units fit that do not fit now, if nothing else is admitted; spend adds units
  -- for the rest of the batch; store writes them; refund refunds units. Made only if a level uses one.

  -- read_numbers returns the numbers that a hash holds.
  local function read_numbers(key)
    local flat, state = call('HGETALL', key), {}
    for i = 1, #flat, 2 do state[flat[i]] = tonumber(flat[i + 1]) end
    return state
  end

  -- read_hash returns the numbers of a level. If the clock went back since they were written, level.back is by how
  -- much.
  local function read_hash(level)
    local state = read_numbers(level.key)
    level.since, level.last, level.back = state.since or now, state.last or 0, 0
    if level.last - now > max_step then
      level.back, level.is_moved = level.last - now, true
      stepped, level.since, level.last = max(stepped, level.back), min(level.since, now), now
    end
    return state
  end

  -- part limits/numbers: windows that store a few numbers in the fields "<name>:<field>" of a hash. A kind has
  -- load, which begins the current window; used, the units in it; spend; fits_at; and refund. Windows of other
  -- lengths in the same hash belong to a replica with another configuration. They count the units here too, until
  -- 24 h after that replica last used them.
  local fields = { 'at', 'n', 'p', 'f', 'tat', 'u' }

  local function window_of(name)
    local window = { per = tonumber(string.match(name, '^%d+')), drain = tonumber(string.match(name, '/(%d+)$')) }
    for _, field in ipairs(fields) do window[field] = 0 end
    return window
  end

  -- own_window returns a window of this configuration, as the hash has it.
  local function own_window(kind, level, w, name)
    local state = level.state
    local window = { per = level.spec[w + 1], drain = kind.drain_of and kind.drain_of(level, w), is_own = true }
    for _, field in ipairs(fields) do window[field] = field ~= 'u' and state[name .. ':' .. field] or 0 end
    window.is_kept = state[name .. ':' .. kind.main]
    if kind.adopt and not window.is_kept then kind.adopt(level, w, window) end
    kind.load(level, window)
    return window
  end

  -- windows_of_others returns the windows of other configurations by name, with the units of this batch.
  local function windows_of_others(kind, level)
    local found = {}
    for field, value in pairs(level.state) do
      local name, which = string.match(field, '^([%d/]+):(%a+)$')
      if name and not level.names[name] then
        found[name] = found[name] or window_of(name)
        found[name][which] = value
      end
    end
    for name, window in pairs(found) do
      window.u = min(now, window.u > 0 and window.u or level.last)
      if window.u <= now - remember_us or kind.drain_of and not window.drain then
        found[name] = nil
      else
        kind.load(level, window)
        if level.pending > 0 then kind.spend(level, window, level.pending) end -- a drained bucket stays as it is
      end
    end
    return found
  end

  -- load_numbers reads the windows of a level: level.names by name, level.windows by place.
  local function load_numbers(kind, level)
    level.state = read_hash(level)
    level.windows, level.names = {}, {}
    for w = FIRST, #level.spec, 2 do
      local name = int(level.spec[w + 1]) .. (kind.drain_of and '/' .. int(kind.drain_of(level, w)) or '')
      local window = level.names[name] or own_window(kind, level, w, name)
      level.names[name], level.windows[w] = window, window
      level.used[w] = kind.used(window)
    end
  end

  local function store_numbers(kind, level)
    local args, lasts = { 'since', int(level.since), 'last', int(max(level.last, now)) }, level.keep
    local function add(name, window)
      for _, field in ipairs(fields) do
        if window[field] ~= 0 or field == kind.main then
          args[#args + 1], args[#args + 2] = name .. ':' .. field, int(window[field])
        end
      end
      lasts = max(lasts, (kind.counted_windows or 1) * window.per, window.tat - now)
    end
    for name, window in pairs(level.names) do
      if window.is_kept or level.pending > 0 then add(name, window) end -- a window is kept from its first unit on
    end
    for name, window in pairs(windows_of_others(kind, level)) do add(name, window) end
    call('DEL', level.key)
    call('HSET', level.key, unpack(args))
    call('PEXPIRE', level.key, int(ceil(lasts / 1000) + grace_ms))
  end

  -- strategy_of_numbers makes a strategy of a kind of window.
  local function strategy_of_numbers(kind)
    kind.main = kind.drain_of and 'tat' or 'n' -- the field that every window has
    return {
      load = function(level) load_numbers(kind, level) end,
      fits_at = function(level, w, units) return kind.fits_at(level, w, level.windows[w], units) end,
      spend = function(level, units)
        for _, window in pairs(level.names) do kind.spend(level, window, units) end
        for w, window in pairs(level.windows) do level.used[w] = kind.used(window) end
      end,
      store = function(level) store_numbers(kind, level) end,
      -- All windows are refunded, also those of other configurations. Older admissions than the hash are not in it.
      refund = function(level, units, admitted_at)
        local state = read_numbers(level.key)
        if not state.since or admitted_at < state.since then return 0 end
        for field, value in pairs(state) do
          local name, which = string.match(field, '^([%d/]+):(%a+)$')
          if name then
            local window = window_of(name)
            window.name, window.state = name, state
            local left = kind.refund(level, window, which, { value = value, units = units, at = admitted_at })
            if left then call('HSET', level.key, field, int(left)) end
          end
        end
        return 1
      end,
    }
  end
  -- part limits/strategies/backlog: a stream or a list of the waiting messages. It admits while it holds fewer than
  -- the limit. There are no refunds: it shrinks when an entry leaves the outbox. That time is unknown, so a full
  -- backlog is checked again soon.
  local retry_us = 100000

  local function backlog(length, add)
    return {
      is_backlog = true,
      load = function(level) level.used[FIRST] = call(length, level.key) end,
      fits_at = function() return now + retry_us end,
      spend = function(level, units, number)
        level.members = level.members or {}
        for _ = 1, units do table.insert(level.members, number) end
        level.used[FIRST] = level.used[FIRST] + units
      end,
      store = function(level)
        for i, number in ipairs(level.members or {}) do add(level.key, number, i) end
      end,
      refund = function() return 1 end,
    }
  end
  strategies['backlog-stream'] = backlog('XLEN', function(key, number, i)
    call('XADD', key, number .. '-' .. i, 'at', int(now))
  end)
  strategies['backlog-list'] = backlog('LLEN', function(key, number) call('RPUSH', key, number) end)
  -- part limits/strategies/fixed_window: the fixed window. The key is a hash: "<per>:at" = start of the window,
  -- "<per>:n" = units in it, "<per>:f" = those at its start.
  strategies['fixed-window'] = strategy_of_numbers({
    -- The grid continues at the end of the last window, so that a step of the clock makes no window shorter.
    load = function(level, window)
      local per, phase = window.per, window.is_own and level.option or -1
      if level.back > 0 then window.at = window.n > 0 and min(window.at, now) or 0 end -- an empty one begins anew
      local ends = window.at + per
      if ends > now and (window.n > 0 or phase >= 0) then return end
      if phase < 0 then
        window.at = now
      elseif ends + per > now then
        window.at = ends
      else
        window.at = floor((now + phase) / per) * per - phase
      end
      window.n, window.f = 0, 0
    end,
    used = function(window) return window.n end,
    spend = function(level, window, units)
      window.n = window.n + units
      if window.at == now and (not window.is_own or level.option < 0) then window.f = window.f + units end
    end,
    fits_at = function(_, _, window) return window.at + window.per end,
    -- A window keeps at least one unit at its start. Otherwise the remaining units could lie in two windows.
    refund = function(level, window, which, refunded)
      local start, at_start = window.state[window.name .. ':at'] or 0, window.state[window.name .. ':f']
      if which ~= 'n' or refunded.at < start or refunded.at >= start + window.per then return nil end
      local left = max(0, refunded.value - refunded.units)
      if not at_start or refunded.at ~= start then return left end
      at_start = max(0, at_start - refunded.units)
      if at_start == 0 and left > 0 then at_start, left = 1, left + 1 end
      call('HSET', level.key, window.name .. ':f', int(at_start))
      return left
    end,
  })
  -- part limits/strategies/gcra: the generic cell rate algorithm, and the gate, which is one without a burst. The key
  -- is a hash: "<per>/<drain>:tat" = when all has drained. One unit drains in drain = per / limit.
  local gcra = strategy_of_numbers({
    drain_of = function(level, w) return level.spec[w] == 0 and 0 or ceil(level.spec[w + 1] / level.spec[w]) end,
    -- A bucket whose limit changed holds the units that it held before, as many as it can.
    adopt = function(level, w, window)
      for field, tat in pairs(level.state) do
        local per, drain = string.match(field, '^(%d+)/?(%d*):tat$')
        local left = tat - level.back - now
        if per and tonumber(per) == window.per and left > 0 then
          drain = tonumber(drain) or window.drain
          local drains_in = drain > 0 and left * window.drain / drain or 0
          window.tat = max(window.tat, now + level.back + floor(min(drains_in, level.most(w) * window.drain)))
        end
      end
    end,
    load = function(level, window)
      if level.back > 0 then window.tat = window.tat - level.back end
    end,
    used = function(window)
      return window.tat > now and ceil((window.tat - now) / window.drain) or 0
    end,
    spend = function(_, window, units)
      if window.drain > 0 then window.tat = max(now, window.tat) + units * window.drain end
    end,
    fits_at = function(level, w, window, units) return window.tat + (units - level.most(w)) * window.drain end,
    -- Units that had time to drain since their admission are not refunded.
    refund = function(_, window, which, refunded)
      local drained_in = window.drain and refunded.units * window.drain
      if which == 'tat' and drained_in and now - refunded.at < drained_in and refunded.value > now then
        return max(now, refunded.value - drained_in)
      end
    end,
  })
  strategies['gcra'], strategies['gate'] = gcra, gcra
  -- part limits/strategies/sliding_buckets: sliding buckets. The key is a hash: "<end of the bucket>" = units; a bucket
  -- counts until its end has left the window. "keep:<longest window>:<width>" is when a configuration last used the
  -- hash. Buckets are kept for the longest window that was used within 24 h. Buckets that only another configuration
  -- still counts are stored with its width.
  local function bucket_end(at, width_us) return (floor(at / width_us) + 1) * width_us end

  -- read_other_windows sets level.others, the last uses of windows within 24 h, and returns the length of the
  -- longest of them, and its width (nil = none is longer than the level's own).
  local function read_other_windows(level, state)
    local keep, coarse = level.keep, nil
    level.others = {}
    for field, used_at in pairs(state) do
      local per, wide = string.match(field, '^keep:(%d+):(%d+)$')
      if per and min(used_at, now) > now - remember_us then
        level.others[field] = min(used_at, now)
        if tonumber(per) > keep then keep, coarse = tonumber(per), tonumber(wide) end
      end
    end
    return keep, coarse
  end

  -- place_of returns the end of the bucket in which the units under an end are counted.
  local function place_of(level, ends, coarse)
    if level.back > 0 then ends = min(ends, bucket_end(now, level.option)) end
    if ends > now - level.keep or not coarse then return ends end
    return min(ceil(ends / coarse) * coarse, now - level.keep)
  end

  strategies['sliding-buckets'] = {
    load = function(level)
      local units, order, state = {}, {}, read_hash(level)
      local keep, coarse = read_other_windows(level, state)
      for field, n in pairs(state) do
        local ends = tonumber(field)
        if ends then ends = place_of(level, ends, coarse) end
        if ends and ends > now - keep then
          if not units[ends] then order[#order + 1] = ends end
          units[ends] = (units[ends] or 0) + n
        end
      end
      table.sort(order)
      level.longest, level.units, level.order = keep, units, order
      for w = FIRST, #level.spec, 2 do
        level.used[w] = 0
        for _, ends in ipairs(order) do
          if ends > now - level.spec[w + 1] then level.used[w] = level.used[w] + units[ends] end
        end
      end
    end,
    fits_at = function(level, w, units)
      local over, per = level.used[w] + units - level.spec[w], level.spec[w + 1]
      for _, ends in ipairs(level.order) do
        if ends > now - per then over = over - level.units[ends] end
        if over <= 0 then return ends + per end
      end
    end,
    spend = function(level, units)
      local order, ends = level.order, bucket_end(now, level.option)
      local last = order[#order]
      if last and last > ends then ends = last end
      if last ~= ends then order[#order + 1] = ends end
      level.units[ends] = (level.units[ends] or 0) + units
      for w = FIRST, #level.spec, 2 do level.used[w] = level.used[w] + units end
    end,
    store = function(level)
      local args = { 'since', int(level.since), 'last', int(max(level.last, now)) }
      if level.pending > 0 then level.others['keep:' .. int(level.keep) .. ':' .. int(level.option)] = now end
      for field, used_at in pairs(level.others) do args[#args + 1], args[#args + 2] = field, int(used_at) end
      for _, ends in ipairs(level.order) do args[#args + 1], args[#args + 2] = int(ends), int(level.units[ends]) end
      call('DEL', level.key)
      for from = 1, #args, max_args do
        call('HSET', level.key, unpack(args, from, min(from + max_args - 1, #args)))
      end
      local last = level.order[#level.order] or now -- it counts until its end has left the longest window
      call('PEXPIRE', level.key, int(ceil((last - now + max(level.longest, level.keep)) / 1000) + grace_ms))
    end,
    refund = function(level, units, admitted_at)
      local state = read_numbers(level.key)
      if not state.since or admitted_at < state.since then return 0 end
      local ends = int(bucket_end(admitted_at, level.option))
      if (state[ends] or 0) > 0 then call('HSET', level.key, ends, int(max(0, state[ends] - units))) end
      return 1
    end,
  }
  -- part limits/strategies/sliding_counter: the sliding counter, an aligned window and the units of the one before it.
  -- Of these, the share counts that is still inside the rolling window, rounded up. The key is a hash: "<per>:at" =
  -- start of the window, "<per>:n" = units in it, "<per>:p" = units of the window before.
  strategies['sliding-counter'] = strategy_of_numbers({
    load = function(level, window)
      local per = window.per
      local start = floor(now / per) * per
      if level.back > 0 and window.at > start then window.at = start end
      if window.at < start then
        window.p = window.at == start - per and window.n or 0
        window.at, window.n = start, 0
      end
    end,
    used = function(window)
      local rest = window.per - max(0, now - window.at)
      local share = floor(window.p * rest / window.per)
      if share * window.per < window.p * rest then share = share + 1 end
      return share + window.n
    end,
    spend = function(_, window, units) window.n = window.n + units end,
    fits_at = function(level, w, window, units)
      local limit, per = level.spec[w], window.per
      local room = limit - units - window.n
      if room >= 0 then return window.at + per - floor(room * per / window.p) end
      return window.at + 2 * per - floor((limit - units) * per / window.n)
    end,
    refund = function(_, window, which, refunded)
      local start = window.state[window.name .. ':at'] or 0
      local in_window = which == 'n' and refunded.at >= start and refunded.at < start + window.per
      local in_last = which == 'p' and refunded.at >= start - window.per and refunded.at < start
      if in_window or in_last then return max(0, refunded.value - refunded.units) end
    end,
    counted_windows = 2,
  })
  -- part limits/assign: give each level its strategy; a level without one is a sliding log.
  for i = 1, #levels do
    local level = levels[i]
    local name = level.spec[1]
    if name ~= 'sliding-log' then
      level.strategy = strategies[name]
      level.option = level.spec[2]
      if not level.strategy then return redis.error_reply('ARG level ' .. i .. ' has an unknown strategy') end
      if name == 'gcra' or name == 'gate' then
        local burst = name == 'gate' and 1 or level.option
        level.most = function(w) return min(level.spec[w], 1) * burst end
      end
    end
  end
end
-- part limits/fit: when units fit into a level.

-- fit returns when units fit into a level (0 = now), whether they never can, and which window refuses longest.
-- reserved_in_first units of the first window are reserved for others. A level is read once.
local function fit(level, units, reserved_in_first)
  local spec, used, strategy, at, never, by = level.spec, level.used, level.strategy, 0, false, FIRST
  if not used then
    used = {}
    level.used = used
    if strategy then
      strategy.load(level)
    else
      for w = FIRST, #spec, 2 do
        local old
        used[w], old = count_log(level.key, spec[w + 1])
        if old < level.old then level.old = old end
      end
    end
  end
  for w = FIRST, #spec, 2 do
    local most, reserved = level.most and level.most(w) or spec[w], w == FIRST and reserved_in_first or 0
    if units > most then
      never, by = true, w
    elseif used[w] + units + reserved > most then
      local fits_at = strategy and strategy.fits_at or log_fits_at
      local fits = fits_at(level, w, units, reserved)
      if fits > at then
        at = fits
        if not never then by = w end
      end
      if units == 1 and used[w] >= most and not level.is_shadow then
        if reserved > 0 then fits = fits_at(level, w, 1, 0) end
        if fits > level.closed then level.closed, level.closed_by = fits, w end
      end
    end
  end
  return at, never, by
end

local level = levels[1]
local fits_at, never = fit(level, 1, 0)
local retry = 0
if not level.is_shadow then retry = never and -1 or max(0, fits_at - now) end

local stored = call('HGET', windows, level_name) or ''
local known, since = string.match(stored, '^(%d+) (%d+)$')
known, since = tonumber(known or longest), tonumber(since or 0)
if longest > known then since = now end
if since + longest <= now then since = 0 end

local active = (call('HLEN', minutes) > 0 or call('HLEN', minutes_before) > 0) and 1 or 0
local state = { active, since > 0 and since + longest - now or 0, retry }
for w = FIRST, #level.spec, 2 do state[#state + 1] = level.used[w] end
reply[6] = state

local keep_ms = 5356800000 -- 62 days: twice the longest window there is
local text = int(longest) .. ' ' .. int(since)
if text ~= stored then call('HSET', windows, level_name, text) end
if call('PTTL', windows) < keep_ms / 2 then call('PEXPIRE', windows, keep_ms) end
return reply
