-- promote.lua: decide delayed events again. Each is admitted, stays delayed, or is dropped because it waited too long.
-- The script reads and writes like admit.lua.
--
-- KEYS[1] seen     (rw) sorted set of admitted ids, score = time
-- KEYS[2] ledger   (w)  hash of totals of the channel
-- KEYS[3] series   (rw) hash of the counts of each category in the current hour
-- KEYS[4] outbox   (rw) sorted set of the numbers of messages in order
-- KEYS[5] entries  (rw) hash of entries
-- KEYS[6] minutes  (rw) hash of the counts of each category and minute
-- KEYS[7] due      (rw) sorted set of the work of channels (see due.lua)
-- KEYS[8..] limit  (rw) the levels, by their place from 1
-- then, only with first_notice auto: known (rw) and heard (rw)
-- then as of lua/admit.lua: extras (rw), posted (rw), aged (rw), drops (rw), digest (rw),
--   told (rw), delayed (rw)
--
-- ARGV[1] the plan, JSON, as of lua/admit.lua, with the mode "promote" and with options
-- then for each event: as of lua/admit.lua, with options; delayed = its number in the queue
--
-- Reply: as of lua/admit.lua; outcome 3: the event is no longer delayed; 6: it still is
--
-- Example:
--   redis-cli --eval lua/promote.lua 'relay:{demo}:seen:demo' 'relay:{demo}:ledger:demo' \
--     'relay:{demo}:series:demo:0' 'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:minutes:demo:0' relay:due 'relay:{demo}:limit:sliding-log:channel' 'relay:{demo}:extras:demo' \
--     'relay:{demo}:posted:demo' 'relay:{demo}:aged:demo' 'relay:{demo}:drops:demo' 'relay:{demo}:digest:demo' \
--     'relay:{demo}:told:demo' 'relay:{demo}:delayed:demo' , \
--     '["promote",3600000000,[["sliding-log",0,0,10,60000000]],[["errors",0,0,1]],{},"",0,\
--     {"overflow":"delay","most":10,"age":3600000000,"resolves":"post","repeats":false,"digest":false,"drops":10,\
--     "posted":3600000000,"every":0,"names":["channel"]}]' \
--     event-1 1 1 'message {"title":"disk full"}' '' '' '' warning '' 1 ''
--
-- Code generated from lua/src/promote.lua by go generate ./lua; DO NOT EDIT.

local MODE = 'promote'

-- part batch/read: read the plan, the time and the levels.
-- part plan: decode and check the plan. MODE is that of the script. Nothing is written before every event is
-- decided.
local seen = KEYS[1]
local keys_before_levels = 7 -- KEYS[keys_before_levels + i] is level i
local call, floor, ceil, max, min = redis.call, math.floor, math.ceil, math.max, math.min

local decoded, plan = pcall(cjson.decode, ARGV[1] or '')
if not decoded or type(plan) ~= 'table' or #KEYS < keys_before_levels then
  return redis.error_reply('ARG seven keys and a plan in JSON are needed')
end
local dedupe, level_specs, routes, fair, options = plan[2], plan[3], plan[4], plan[5], plan[8]
if plan[1] ~= MODE or type(dedupe) ~= 'number' or dedupe <= 0 or not level_specs or not routes then
  return redis.error_reply('ARG the plan needs the mode ' .. MODE .. ', a dedupe time above 0, levels and routes')
end
if fair and next(fair) == nil then fair = nil end
local is_learning = fair and fair.floor

local keys_to_levels = keys_before_levels + #level_specs
local keys_to_mode = keys_to_levels + (is_learning and 2 or 0) + (MODE == 'restore' and 2 or 0)
if #KEYS ~= keys_to_mode + (options and 7 or 0) then
  return redis.error_reply('ARG the number of keys does not fit the levels')
end
local width = (options and 11 or 4) + (MODE == 'restore' and 1 or 0) -- values of an event
if #ARGV <= width or #ARGV % width ~= 1 then
  return redis.error_reply('ARG an event needs id, units, route, entry, with options seven more, to restore its result')
end
-- part clock: now is this server's time, read once, in microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- part outcomes: the outcomes of events, as the reply has them; for each, what it is counted as; and the reasons of
-- drops that no level made.
-- Code generated from store/outcome.go by go generate ./lua; DO NOT EDIT.
local ADMITTED = 1
local DROPPED = 2
local DUPLICATE = 3
local NEVER = 4
local MERGED = 5
local DELAYED = 6
local SUPPRESSED = 7
local FULL = 8
local SUPERSEDING = 9
local MUTED = 10
local COUNTED_AS = {
  [ADMITTED] = 'admitted',
  [DROPPED] = 'dropped',
  [DUPLICATE] = 'duplicate',
  [NEVER] = 'dropped',
  [MERGED] = 'merged',
  [DELAYED] = 'delayed',
  [SUPPRESSED] = 'dropped',
  [FULL] = 'dropped',
  [SUPERSEDING] = 'admitted',
  [MUTED] = 'muted',
}
local REASONS = {
  [NEVER] = 'never',
  [SUPPRESSED] = 'suppressed',
  [FULL] = 'full',
}
-- part int: the text of a whole number. Lua's own conversion loses digits from 10^14 on.
local format = string.format
local function int(x) return format('%d', x) end
-- part expire: keep a key for a time from now on. An expiry that is less than 10 s too early is not renewed.
local slack_ms = 10000

local function expire(key, ms)
  if call('PTTL', key) < ms - slack_ms then call('PEXPIRE', key, int(ms)) end
end
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

-- keep_us keeps a key for so many microseconds, and a grace.
local function keep_us(key, us) expire(key, ceil(us / 1000) + grace_ms) end

local now_text = int(now)
local fairness, messages -- nil unless the plan asks for them
if not options then return redis.error_reply('ARG the plan needs options') end
-- part batch/limits: find out when units fit into a level.
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

if fair then
  -- part fairness: how many units of the channel's window a route must leave free for others.
  local known_us = 86400000000 -- 24 h: how long a category stays known after its last attempt
  local channel_per = levels[1].spec[FIRST + 1]
  local known_for = max(known_us, channel_per)
  local known, admissions = KEYS[keys_to_levels + 1], KEYS[keys_to_levels + 2]
  local attempted, admitted = {}, {} -- categories of this batch
  local known_count, admitted_count

  -- in_channel_window returns how many units a category has used within the channel's window.
  local function in_channel_window(level)
    level.in_channel = level.in_channel or count_log(level.key, channel_per)
    return level.in_channel + level.pending
  end

  local function last_admission(category)
    if admitted[category] then return now end
    local at = tonumber(call('ZSCORE', admissions, category) or 0)
    return at > now - channel_per and at or nil
  end

  -- count_known counts the known categories, and those with an admission within the channel's window.
  local function count_known(category)
    if not known_count then
      known_count = call('ZCOUNT', known, '(' .. ago(known_for), '+inf')
      admitted_count = call('ZCOUNT', admissions, '(' .. ago(channel_per), '+inf')
    end
    if attempted[category] then return end
    attempted[category] = true
    if tonumber(call('ZSCORE', known, category) or 0) <= now - known_for then known_count = known_count + 1 end
  end

  -- reserved_by_others returns how many units are reserved for other categories.
  local function reserved_by_others(category)
    local units = 0
    for _, reserve in ipairs(fair.reserves or {}) do
      local owner, slots, level = reserve[1], reserve[2], levels[reserve[3]]
      if owner ~= category then units = units + max(0, slots - in_channel_window(level)) end
    end
    return units
  end

  fairness = {}

  -- reserves returns how many units an ordinary event of the route must leave free, how many a first notice, and
  -- from when on the next event of the category is one.
  function fairness.reserves(route)
    local category = route[CATEGORY]
    local least = max(route[HEADROOM], reserved_by_others(category))
    if is_learning then
      count_known(category)
      local at = last_admission(category)
      if not at then return least, least, now end
      local silent = known_count - admitted_count + max(0, fair.floor - known_count)
      return max(least, silent), least, at + channel_per
    end
    local own = fair.slots and levels[route[CATEGORY_LEVEL]]
    if not own or in_channel_window(own) < fair.per_category then return least, least, now end
    return max(least, fair.slots), least, log_score(own, fair.per_category - 1) + channel_per
  end

  function fairness.add_admission(category)
    if not is_learning then return end
    if not last_admission(category) then admitted_count = admitted_count + 1 end
    admitted[category] = true
  end

  -- store writes the categories by their last attempt and last admission. Above the bound, those that were silent
  -- longest are forgotten.
  function fairness.store()
    if not known_count then return end
    local max_categories = 1000
    for category in pairs(attempted) do call('ZADD', known, now_text, category) end
    for category in pairs(admitted) do call('ZADD', admissions, now_text, category) end
    call('ZREMRANGEBYSCORE', known, '-inf', ago(known_for))
    call('ZREMRANGEBYSCORE', admissions, '-inf', ago(channel_per))
    local over = call('ZCARD', known) - max_categories
    if over > 0 then
      local forgotten = call('ZRANGE', known, 0, over - 1)
      call('ZREM', known, unpack(forgotten))
      call('ZREM', admissions, unpack(forgotten))
    end
    keep_us(known, known_for)
    keep_us(admissions, channel_per)
  end
end
-- part batch/written: what the batch writes at the end.
local ledger, series, outbox, entries, minutes, due = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
-- part due/work: the name of a channel's work in the due index. key is any key of the channel.
local function work_of(work_kind, key)
  return work_kind .. ' ' .. (string.gsub(key, '^relay:{([^}]*)}:%l+:', '%1:'))
end
-- part due/now: let senders look at a channel now, because it may have more to do than before.
local function look_now(work_kind, key) call('ZADD', due, 'LT', int(now), work_of(work_kind, key)) end
local totals = {} -- of the ledger, by name: by how much each rises
local admitted_by_route, dropped_by_route = {}, {} -- how many events
local last_number, number_before -- of an entry; nil until one is needed
local admitted_ids, remembered -- ids by name; scores and ids
local waiting, places -- fields and values of entries; scores and numbers of messages

-- begin reads the last number. From here on, the batch writes something.
local function begin()
  if last_number then return end
  last_number = tonumber(call('HGET', entries, 'seq') or 0)
  number_before = last_number
  admitted_ids, remembered, waiting, places = {}, {}, {}, {}
end
-- part messages: what a batch means for messages that are posted, or wait. All of it is read while events are
-- decided, and written at the end. The archive (what is kept of messages) and the editor (which changes them) are
-- made only if an event needs them.
-- part messages/batch: the keys and the tables that all parts of messages use.
local extras, posted, aged, drops, digest, last_admitted, delayed =
  unpack(KEYS, keys_to_mode + 1, keys_to_mode + 7)
local entered, is_queued = {}, {} -- by number: its place in waiting; true = a message of this batch
local admitted = {} -- categories
local expired_numbers, posted_bytes -- messages that have expired; the length of all
local archive
-- All events use one table in turn, which has all its fields from the beginning: a table that grows costs more
-- than the rest of a decision.
messages = {
  event = {
    id = '', category = '', entry = '', bundle = '', status = '', fingerprint = '', severity = '', title = '',
    delayed = '', reply_to = '', number = false, thread = false, outcome = 0, refused = 0, retry_at = 0, window = 0,
  },
}

-- payload_of returns what follows the first space of an entry.
local function payload_of(entry)
  local space = string.find(entry, ' ', 1, true)
  return space and string.sub(entry, space + 1) or ''
end
local function make_archive()
  -- part messages/records: the posted messages: each is read once, changed here, and written at the end. A name
  -- stands for the newest message of a fingerprint ("f:"), a category ("c:") or a group ("b:").
  local loaded, newest = {}, {} -- messages by number, numbers by name; false = there is none
  local changed, renamed, deleted = {}, {}, {}

  local function load_message(number)
    if loaded[number] == nil then
      local text = call('HGET', posted, number)
      loaded[number] = text and cjson.decode(text) or false
    end
    return loaded[number]
  end

  -- find returns the number and the message that a name stands for, or nil.
  local function find(name)
    local number = newest[name]
    if number == nil then
      number = call('HGET', posted, name) or false
      newest[name] = number
    end
    if number and load_message(number) then return number, loaded[number] end
  end

  -- point makes a name stand for a message, or for none.
  local function point(name, number) newest[name], renamed[name] = number or false, number or false end

  local function change(number, message) loaded[number], changed[number], deleted[number] = message, true, nil end

  local function forget(number) loaded[number], changed[number], deleted[number] = false, nil, true end
  -- part messages/alerts: the alerts that a message reports. A message is followed until all of them are resolved.
  -- Those that it lists have "f" (fingerprint) and "r" (when resolved) in its events. The others are its members:
  -- fingerprint = when resolved, in seconds, 0 = firing. Of alerts beyond these, only the number is known: "more",
  -- and "over" of those that are resolved.
  local max_earlier = 16 -- earlier messages of the same alerts, which are changed too when these are resolved

  -- state_in returns how a message reports an alert: nil (it does not), "firing" or "over" (resolved).
  local function state_in(message, fingerprint)
    local events = message.events
    for i = 1, events and #events or 0 do
      local alert = events[i]
      if alert.f == fingerprint then return alert.r and 'over' or 'firing' end
    end
    local over_at = message.members and message.members[fingerprint]
    if over_at then return over_at > 0 and 'over' or 'firing' end
  end

  -- part messages/firing: whether any alert of a message is firing. See the part messages/alerts.
  local function is_any_firing(message)
    for _, alert in ipairs(message.events or {}) do
      if alert.f and not alert.r then return true end
    end
    for _, over_at in pairs(message.members or {}) do
      if over_at == 0 then return true end
    end
    return message.members ~= nil and (message.more or 0) > 0
  end

  -- add_earlier notes in a message that an earlier one reports the same alert.
  local function add_earlier(message, earlier_number)
    local before = message.before or {}
    message.before = before
    for _, number in ipairs(before) do
      if number == earlier_number then return end
    end
    before[#before + 1] = earlier_number
    if #before > max_earlier then table.remove(before, 1) end
  end

  -- follow makes a message the newest one of an alert, and notes in it an earlier message that reports the alert as
  -- firing.
  local function follow(number, message, fingerprint)
    local last, earlier = find('f:' .. fingerprint)
    if last and last ~= number and state_in(earlier, fingerprint) == 'firing' then add_earlier(message, last) end
    point('f:' .. fingerprint, number)
  end

  local function new_message(category, entry_payload, status, fingerprint)
    local alert = { p = entry_payload }
    if fingerprint ~= '' and status ~= 'resolved' then alert.f = fingerprint end
    return { category = category, at = now_text, events = { alert } }
  end

  -- count_alerts is how many events a message reports.
  local function count_alerts(message)
    local n = #(message.events or {}) + (message.over or 0) + (message.more or 0)
    for _ in pairs(message.members or {}) do n = n + 1 end
    return n
  end
  -- part messages/remember: keep a message so that later events find it.
  archive = { find = find }

  -- link_thread stores the message that an event replies to. A resolve marks the alert there as resolved.
  local function link_thread(number, event)
    local thread, is_resolve = event.thread, event.status == 'resolved'
    if not thread then return end
    if is_resolve then archive.editor().end_alert(thread, load_message(thread), event.fingerprint) end
    if not is_resolve or options.resolves == 'reply' then archive.editor().enter(number .. ':thread', thread) end
  end

  -- keep stores a message, with overflow merge as the last one of its category.
  local function keep(number, event, message)
    if options.overflow == 'merge' then point('c:' .. event.category, number) end
    change(number, message)
  end

  -- is_group returns whether a delayed event is several, which have a message already.
  local function is_group(event) return string.find(event.entry, '\n', 1, true) ~= nil end

  -- remember keeps what an event posts, if a later event may concern it. at is the text of when it was admitted.
  function archive.remember(event, at)
    local number, status, fingerprint = event.number, event.status, event.fingerprint
    link_thread(number, event)
    local group = MODE == 'promote' and is_group(event) and load_message(event.delayed)
    if group then return archive.editor().adopt(event, group) end
    if status == 'resolved' or fingerprint == '' and options.overflow ~= 'merge' then return end
    local message = new_message(event.category, payload_of(event.entry), status, fingerprint)
    message.at = at
    if fingerprint ~= '' then follow(number, message, fingerprint) end
    keep(number, event, message)
  end
  local editor
  local function make_editor()
    -- part messages/numbers: numbers for more entries, and ids of events without an entry.
    local function next_number()
      begin()
      last_number = last_number + 1
      return int(last_number)
    end

    local function remember_id(id)
      begin()
      admitted_ids[id] = true
      remembered[#remembered + 1], remembered[#remembered + 2] = now_text, id
    end
    -- part messages/edits: edit messages that are in Slack.
    local edits = {} -- by number: when it is due
    local unsent = {} -- whether an edit waits without an attempt, as of the beginning of the batch
    editor = {}

    local function enter(number, entry)
      waiting[#waiting + 1], waiting[#waiting + 2] = number, entry
      entered[number] = #waiting
    end

    -- is_unsent_edit returns whether an edit waits without an attempt.
    local function is_unsent_edit(number)
      if unsent[number] == nil then
        unsent[number] = call('HEXISTS', entries, number) == 1 and call('HEXISTS', entries, number .. ':sent') == 0
      end
      return unsent[number]
    end

    -- edit enqueues an edit of a message for a time, unless an earlier edit without an attempt waits.
    local function edit(number, message, at)
      change(number, message)
      local last = message.edit
      local is_fresh = last and (edits[last] or is_unsent_edit(last))
      if is_fresh and tonumber(message.due) <= at then return end
      if not is_fresh then
        last = next_number()
        enter(last, now_text .. ' edit ' .. number)
      end
      message.edit, message.due, edits[last] = last, int(at), int(at)
    end

    -- is_unreachable returns whether it is unknown where in Slack a message is. It cannot be edited then, or replied
    -- to.
    local function is_unreachable(message) return message.shown and not message.ts end

    -- can_edit returns false for messages whose text is unknown, because they were posted while this server was
    -- unavailable.
    local function can_edit(message)
      return options.resolves == 'edit' and not is_unreachable(message) and message.events and message.events[1].p
    end

    local function store_edits()
      if not next(edits) then return end
      for number, at in pairs(edits) do call('ZADD', extras, at, number) end
      look_now('send', extras)
    end

    editor.enter = enter
    -- part messages/rewrites: change entries that wait in the outbox or are delayed.
    local rewritten = {} -- by number: the new text
    local growing = {} -- by number: true = a delayed group, whose entry may grow

    -- entry_of returns the text of the entry with a number.
    local function entry_of(number)
      return entered[number] and waiting[entered[number]] or rewritten[number] or call('HGET', entries, number) or ''
    end

    local function rewrite(number, entry)
      if entered[number] then waiting[entered[number]] = entry else rewritten[number] = entry end
    end

    -- next_edit returns when the count on a message may be edited next.
    local function next_edit(message) return max(now, tonumber(message.due or 0) + options.every) end

    -- is_waiting returns whether a message is in the outbox without an attempt.
    local function is_waiting(number)
      return is_queued[number] or call('ZSCORE', outbox, number) and call('HEXISTS', entries, number .. ':sent') == 0
    end
    -- part messages/resolves: an alert is resolved, or fires again.

    -- mark marks an alert in a message as resolved, or as firing again.
    local function mark(message, fingerprint, is_over)
      for _, alert in ipairs(message.events or {}) do
        if alert.f == fingerprint then alert.r = is_over and now_text or nil end
      end
      if message.members and message.members[fingerprint] then
        message.members[fingerprint] = is_over and floor(now / 1000000) or 0
      end
    end

    -- end_alert marks an alert as resolved in all messages that report it, except in the last one if a resolve takes
    -- its place. If the message can be edited, its name stays, so that an alert that fires again is found.
    local function end_alert(number, message, fingerprint, is_replaced)
      local numbers, seen_numbers, at = { number }, {}, 1
      if is_replaced then numbers = { unpack(message.before or {}) } end
      while numbers[at] and at <= 2 * max_earlier do
        local one = numbers[at]
        local found = not seen_numbers[one] and load_message(one)
        seen_numbers[one], at = true, at + 1
        if found and state_in(found, fingerprint) == 'firing' then
          mark(found, fingerprint, true)
          if can_edit(found) then edit(one, found, now) else change(one, found) end
        end
        for _, earlier in ipairs(found and found.before or {}) do numbers[#numbers + 1] = earlier end
      end
      if not can_edit(message) then point('f:' .. fingerprint) end
    end

    -- end_counted counts an alert as resolved of which a message knows only the number.
    local function end_counted(number, message, fingerprint)
      if (message.more or 0) == 0 then return end
      message.more, message.over = message.more - 1, (message.over or 0) + 1
      point('f:' .. fingerprint)
      edit(number, message, now)
    end

    editor.end_alert = end_alert
    -- part messages/groups: the events of one bundle become one message. lead is the first of them. The others join
    -- it, or share its outcome. It has outcome, refused, retry_at, window, route, number, category, message,
    -- is_delayed, is_sent and count (events of the group).
    local max_listed, max_members = 10, 2000 -- events that a message lists; alerts that it follows beyond those
    local max_group_bytes = 65536 -- of the events that a message lists
    local groups = {} -- leads by name
    local unlisted = {} -- by number: the lead of a group that grew and has more events than its message lists

    -- has_room returns whether a message can list one more event.
    local function has_room(events, payload)
      if #events >= max_listed then return false end
      local bytes = #payload
      for i = 1, #events do bytes = bytes + #(events[i].p or '') end
      return bytes < max_group_bytes
    end

    -- add makes a message report one more event, and returns whether it lists the event.
    local function add(message, event, payload, count)
      local status, fingerprint = event.status, event.fingerprint
      local is_followed = status ~= 'resolved' and fingerprint ~= ''
      if has_room(message.events, payload) then
        local events = message.events
        events[#events + 1] = { p = payload, f = is_followed and fingerprint or nil }
        return true
      elseif is_followed and count <= max_listed + max_members then
        message.members = message.members or {}
        message.members[fingerprint] = 0
      elseif status == 'resolved' then
        message.over = (message.over or 0) + 1
      else
        message.more = (message.more or 0) + 1
      end
      return false
    end

    -- renew gives a lead a new message, because a resolve took the place of the old one.
    local function renew(lead)
      local group = lead.message.bundle
      local payload = payload_of(payload_of(entry_of(lead.number)))
      lead.message, lead.is_renewed = new_message(lead.category, payload, 'resolved', ''), true
      lead.message.bundle = group
    end

    -- without_count returns an entry without the number of the events that it does not list.
    local function without_count(entry) return (string.gsub(entry, '\n%+[%d ]+$', '')) end

    -- add_to_lead counts an event on the lead's message.
    local function add_to_lead(lead, event)
      local payload = payload_of(event.entry)
      lead.count = lead.count + 1
      if add(lead.message, event, payload, lead.count) and not lead.is_sent then
        rewrite(lead.number, without_count(entry_of(lead.number)) .. '\n' .. payload)
      end
      if lead.count > #lead.message.events then unlisted[lead.number] = lead end
    end

    -- join attaches an event to the message of its group.
    local function join(lead, event)
      local number, fingerprint = lead.number, event.fingerprint
      local is_resolve = event.status == 'resolved'
      local is_followed = not is_resolve and fingerprint ~= ''
      remember_id(event.id)
      if deleted[number] and not lead.is_renewed then renew(lead) end
      local message = lead.message
      if is_followed and state_in(message, fingerprint) then
        mark(message, fingerprint, false)
      else
        add_to_lead(lead, event)
      end
      if is_followed and not lead.is_delayed then follow(number, message, fingerprint) end
      if is_resolve and fingerprint ~= '' then
        local resolved, reported_in = find('f:' .. fingerprint)
        if resolved then end_alert(resolved, reported_in, fingerprint) end
      end
      if is_followed or loaded[number] or message.events[1].f then
        change(number, message)
        if message.bundle then point('b:' .. message.bundle, number) end
      end
      if lead.is_sent then edit(number, message, now) end
    end

    local function is_sender_group(bundle) return string.sub(bundle, 1, 1) == '#' end

    -- outlives_call returns whether later calls may add to a bundle: "@" is a webhook of several calls, "#" a group
    -- of a sender.
    local function outlives_call(bundle) return string.find(bundle, '^[@#]') ~= nil end

    -- may_resume returns whether an event of a later call may join a message. A group has one message as long as one
    -- of its alerts is firing; without options.repeats, a repeat begins another.
    local function may_resume(message, event)
      if not is_sender_group(event.bundle) then return true end
      if is_unreachable(message) or not is_any_firing(message) then return false end
      return options.repeats or event.status ~= 'firing' or state_in(message, event.fingerprint) ~= 'firing'
    end

    -- resume finds the message of a group that continues an earlier call.
    local function resume(event)
      local group = event.bundle
      if not outlives_call(group) then return end
      local number, message = find('b:' .. group)
      if not number or not may_resume(message, event) then return end
      local lead = {
        outcome = ADMITTED, refused = 0, retry_at = now, window = FIRST, number = number, category = message.category,
        count = count_alerts(message), message = message,
        is_delayed = call('ZSCORE', delayed, number .. ' ' .. message.category) and true or false,
      }
      lead.is_sent, growing[number] = not lead.is_delayed and not is_waiting(number), lead.is_delayed or nil
      groups[group] = lead
      return lead
    end

    -- lead_of returns the lead of an event's group: the one that has a message, or the one of the same category that
    -- was refused.
    local function lead_of(event)
      local bundle = event.bundle
      return groups[bundle] or groups[bundle .. ' ' .. event.category]
    end

    -- lead notes the first event of a group.
    function editor.lead(event, route)
      local category, number, bundle = event.category, event.number, event.bundle
      local lead = {
        outcome = event.outcome, refused = event.refused, retry_at = event.retry_at, window = event.window,
        route = route, number = number, category = category, count = 1,
        is_delayed = event.outcome == DELAYED,
      }
      groups[number and bundle or bundle .. ' ' .. category] = lead
      if not number then return end
      lead.message = loaded[number] or new_message(category, payload_of(event.entry), event.status, event.fingerprint)
      if not outlives_call(bundle) then return end
      lead.message.bundle = bundle
      point('b:' .. bundle, number)
      change(number, lead.message)
    end

    -- finish adds to the entry how many events of the group it does not list.
    function editor.finish()
      for number, lead in pairs(unlisted) do
        if not lead.is_sent then
          local message = lead.message
          local over = (message.over or 0) > 0 and ' ' .. int(message.over) or ''
          rewrite(number, without_count(entry_of(number)) .. '\n+' .. int(lead.count - #message.events) .. over)
        end
      end
    end
    -- part messages/count_on_last: count an event without a slot on the last message of its category.
    local function count_on_last(event)
      local number, message = find('c:' .. event.category)
      if not number or is_unreachable(message) then return nil end
      message.held, message.held_at, message.held_title = (message.held or 0) + 1, now_text, event.title
      edit(number, message, next_edit(message))
      remember_id(event.id)
      return MERGED
    end
    -- part messages/queue: the delayed events, in their order.
    local max_delayed_bytes = 8388608
    local moved = {} -- events that join or leave the queue: number, category, has_left
    local queue_length, queue_bytes

    local function length_of_queue()
      queue_length = queue_length or call('ZCARD', delayed)
      return queue_length
    end

    -- delay adds an event to the queue if that is not full. It sets the event's number and returns its outcome.
    local function delay(event)
      queue_bytes = queue_bytes or tonumber(call('HGET', entries, 'delayed') or 0)
      if length_of_queue() >= options.most or queue_bytes >= max_delayed_bytes then return FULL end
      local number = next_number()
      local text = now_text .. ' ' .. event.entry
      queue_length, queue_bytes = queue_length + 1, queue_bytes + #text
      enter(number, text)
      moved[#moved + 1] = { number = number, category = event.category }
      remember_id(event.id)
      event.number = number
      return DELAYED
    end

    -- wait_behind_others delays an event if others are delayed, to keep the order, and returns its outcome.
    local function wait_behind_others(event)
      if MODE == 'admit' and options.overflow == 'delay' and length_of_queue() > 0 then return delay(event) end
    end

    -- without_firing returns the outcome of a resolve or an update whose firing was never posted, but may be delayed.
    -- nil = it is posted, because it is forced.
    local function without_firing(event)
      return wait_behind_others(event) or MODE ~= 'force' and SUPPRESSED or nil
    end

    -- is_refused_by_category returns whether the category level refuses.
    local function is_refused_by_category(route, refused)
      for i = FIRST, #route do
        if route[i] == route[CATEGORY_LEVEL] and floor(refused / 2 ^ (i - FIRST)) % 2 == 1 then return true end
      end
      return false
    end

    -- overflow returns the outcome of an event that levels refuse: delayed, merged or dropped.
    function editor.overflow(event, route, refused)
      if options.overflow == 'delay' then return delay(event) end
      if not is_refused_by_category(route, refused) then return DROPPED end
      return count_on_last(event) or DROPPED
    end

    -- leave removes an event from the queue.
    function editor.leave(event)
      moved[#moved + 1] = { number = event.delayed, category = event.category, has_left = true }
      if is_group(event) and load_message(event.delayed) then forget(event.delayed) end
    end

    -- adopt makes the message of a delayed group the newest one of its alerts.
    function editor.adopt(event, message)
      local number = event.number
      forget(event.delayed)
      message.at = now_text
      for _, alert in ipairs(message.events) do
        if alert.f then follow(number, message, alert.f) end
      end
      for fingerprint in pairs(message.members or {}) do follow(number, message, fingerprint) end
      if message.bundle then point('b:' .. message.bundle, number) end
      keep(number, event, message)
    end
    -- part messages/earlier: decide a resolve, a repeat or an update by the earlier messages.

    -- update replaces the text of an alert in its message: in the outbox, or by an edit.
    local function update(number, message, event)
      for _, alert in ipairs(message.events) do
        if alert.f == event.fingerprint then alert.p = payload_of(event.entry) end
      end
      if is_waiting(number) then
        rewrite(number, now_text .. ' ' .. event.entry)
      else
        edit(number, message, now)
      end
      change(number, message)
      remember_id(event.id)
      return MERGED
    end

    -- is_counted returns whether a message counts the repeats of an alert: by options.repeats, or because somebody
    -- acknowledged the message. An alert that fires again after its resolve is not acknowledged.
    local function is_counted(message, fingerprint)
      return options.repeats or message.ack and state_in(message, fingerprint) ~= 'over'
    end

    -- repeat_firing counts a firing on the message that reports it. An alert that was resolved and fires again is
    -- counted only while another alert of the message is firing. Otherwise nil is returned.
    local function repeat_firing(number, message, event)
      if not number or is_unreachable(message) or not is_counted(message, event.fingerprint) then return nil end
      if MODE == 'promote' and string.find(event.entry, '\n', 1, true) then return nil end
      local at = next_edit(message)
      if state_in(message, event.fingerprint) == 'over' then
        if not is_any_firing(message) then return nil end
        mark(message, event.fingerprint, false)
        at = now
      end
      message.repeats, message.last = (message.repeats or 0) + 1, now_text
      edit(number, message, at)
      remember_id(event.id)
      return MERGED
    end

    -- supersede puts a resolve in the place of its firing, which still waits.
    local function supersede(number, message, event)
      totals.superseded = (totals.superseded or 0) + 1
      end_alert(number, message, event.fingerprint, true)
      rewrite(number, now_text .. ' ' .. event.entry)
      if find('c:' .. message.category) == number then point('c:' .. message.category) end
      point('f:' .. event.fingerprint)
      if message.bundle then point('b:' .. message.bundle) end
      forget(number)
      remember_id(event.id)
      return SUPERSEDING
    end

    -- resolve returns the outcome of a resolve whose firing a message reports, or nil and the message that it replies
    -- to.
    local function resolve(number, message, event)
      if count_alerts(message) == 1 and is_waiting(number) then return supersede(number, message, event) end
      if not can_edit(message) then return nil, number end
      local is_only_counted = not state_in(message, event.fingerprint)
      end_alert(number, message, event.fingerprint)
      if is_only_counted then end_counted(number, message, event.fingerprint) end
      remember_id(event.id)
      return MERGED
    end

    -- by_earlier returns an event's outcome (nil = the levels decide), and the message that it replies to. SUPPRESSED
    -- is a resolve or an update whose firing was never posted; it may be delayed.
    local function by_earlier(event)
      local status, fingerprint = event.status, event.fingerprint
      if event.reply_to ~= '' then return nil, (find('f:' .. event.reply_to)) end
      if fingerprint == '' or status == '' then return nil end
      local number, message = find('f:' .. fingerprint)
      if status == 'firing' then return repeat_firing(number, message, event) end
      if not number or status == 'resolved' and state_in(message, fingerprint) == 'over' then return SUPPRESSED end
      if status ~= 'update' then return resolve(number, message, event) end
      if is_unreachable(message) then return nil end
      return update(number, message, event)
    end
    -- part messages/attach: decide an event before any level is checked: by an earlier message, by its group, or
    -- because others are delayed. attach returns the event's outcome (nil = the levels decide), whether an earlier
    -- message decided it, and the lead of its group. It sets the event's number and thread.

    -- by_group returns the outcome of an event whose group has a lead.
    local function by_group(lead, event)
      if lead.number then
        join(lead, event)
        return MERGED
      elseif lead.outcome == MERGED then
        return count_on_last(event) or DROPPED
      end
      return lead.outcome
    end

    function editor.attach(event)
      local lead = lead_of(event)
      -- An event that resolves the last alert of its group does not end the group within this call.
      if not lead and is_sender_group(event.bundle) then lead = resume(event) end
      local outcome, thread = by_earlier(event)
      if outcome == SUPPRESSED then outcome = without_firing(event) end
      if outcome == DELAYED or outcome == FULL then return outcome, true end
      lead = lead or resume(event)
      if outcome then return outcome, true, lead end
      if lead then return by_group(lead, event), false, lead end
      event.thread = thread
      return wait_behind_others(event), false
    end
    -- part messages/delivered: messages that were posted while this server was unavailable.

    -- end_alert_since marks an alert as resolved at a time. A firing after that time is another alert.
    function editor.end_alert_since(fingerprint, at)
      local number, message = find('f:' .. fingerprint)
      if number and tonumber(message.at or 0) <= at then end_alert(number, message, fingerprint) end
    end

    -- remember_delivered stores a posted message. If it is unknown where it is, an older message of the same alert
    -- stays the newest one, provided that it can be edited or replied to.
    function editor.remember_delivered(event, outage, at)
      local number, category, fingerprint = event.number, event.category, event.fingerprint
      local is_last_of_category = options.overflow == 'merge' and outage.ts
      if fingerprint == '' and not is_last_of_category then return end
      local _, last = find('f:' .. fingerprint)
      if last and not is_unreachable(last) and (not outage.ts or tonumber(last.at or 0) > at) then return end
      local alert = { f = fingerprint ~= '' and fingerprint or nil, p = outage.ts and payload_of(event.entry) or nil }
      local message = {
        category = category, at = int(at), events = { alert }, shown = true, ts = outage.ts, channel = outage.channel,
      }
      if fingerprint ~= '' then follow(number, message, fingerprint) end
      change(number, message)
      if is_last_of_category then point('c:' .. category, number) end
    end
    -- part messages/store_rewrites: write the rewritten entries, the queue and the edits.

    -- store_moved writes the events that joined or left the queue, and returns by how many bytes it grew.
    local function store_moved()
      local bytes = 0
      for _, item in ipairs(moved) do
        local number, member = item.number, item.number .. ' ' .. item.category
        local length = #(call('HGET', entries, number) or '')
        if item.has_left then
          bytes = bytes - length
          call('ZREM', delayed, member)
          call('HDEL', entries, number)
        else
          bytes = bytes + length
          call('ZADD', delayed, number, member)
          look_now('promote', delayed)
        end
      end
      return bytes
    end

    -- check_types fails if a key that will be written has a wrong type.
    function editor.check_types()
      if next(edits) then call('ZCARD', extras) end
      if next(edits) or moved[1] then call('ZCARD', due) end
    end

    function editor.store()
      local bytes = 0
      for number, entry in pairs(rewritten) do
        if growing[number] then bytes = bytes + #entry - #(call('HGET', entries, number) or '') end
        call('HSET', entries, number, entry)
      end
      store_edits()
      bytes = bytes + store_moved()
      if bytes ~= 0 then call('HINCRBY', entries, 'delayed', bytes) end
      if bytes < 0 and call('ZCARD', delayed) == 0 then call('HDEL', entries, 'delayed') end
    end
    return editor
  end
  -- part messages/store: write the posted messages. They are bounded in bytes and in age: the oldest are deleted
  -- first.
  local max_posted_bytes = 33554432
  local max_erased = 2000 -- alerts of messages that one call erases; the next call continues
  local grown = 0 -- by how many bytes

  local function size_of(number) return #(call('HGET', posted, number) or '') end

  -- part posted_names: delete the names that stand for a posted message. Names of newer messages stay.
  local function delete_names(message_number, message)
    local function delete(name)
      if call('HGET', posted, name) == message_number then call('HDEL', posted, name) end
    end
    for _, event in ipairs(message.events or {}) do
      if event.f then delete('f:' .. event.f) end
    end
    for fingerprint in pairs(message.members or {}) do delete('f:' .. fingerprint) end
    delete('c:' .. (message.category or ''))
    delete('b:' .. (message.bundle or ''))
  end

  -- erase deletes a message and its names, and returns how many events it reported.
  local function erase(number)
    local text = call('HGET', posted, number)
    local message = text and cjson.decode(text) or {}
    delete_names(number, message)
    grown = grown - #(text or '')
    call('HDEL', posted, number)
    call('ZREM', aged, number)
    return count_alerts(message)
  end

  local function erase_oldest(bytes)
    local erased = 0
    while bytes + grown > max_posted_bytes and erased < max_erased do
      local oldest = call('ZRANGE', aged, 0, 0)[1]
      if not oldest then break end
      erased = erased + 1 + erase(oldest)
    end
  end

  local function store_changed()
    for number in pairs(changed) do
      local text = cjson.encode(loaded[number])
      grown = grown + #text - size_of(number)
      call('HSET', posted, number, text)
      call('ZADD', aged, now_text, number)
    end
    for name, number in pairs(renamed) do
      if number then call('HSET', posted, name, number) else call('HDEL', posted, name) end
    end
    for number in pairs(deleted) do
      grown = grown - size_of(number)
      call('HDEL', posted, number)
      call('ZREM', aged, number)
      call('HDEL', entries, number .. ':attempts', number .. ':faults', number .. ':name')
    end
  end

  -- store writes all changes. too_old are the numbers of expired messages, bytes is the length of all messages.
  function archive.store(too_old, bytes)
    if editor then editor.store() end
    store_changed()
    local erased = 0
    for _, number in ipairs(too_old) do
      if erased > max_erased then break end
      if not changed[number] then erased = erased + erase(number) end
    end
    erase_oldest(bytes)
    if grown ~= 0 then call('HSET', posted, 'bytes', int(max(0, bytes + grown))) end
    if next(changed) then
      keep_us(posted, options.posted)
      keep_us(aged, options.posted)
    end
  end

  function archive.finish()
    if editor then editor.finish() end
  end

  function archive.check_types()
    if editor then editor.check_types() end
  end

  function archive.editor()
    editor = editor or make_editor()
    return editor
  end
  return archive
end
-- part messages/kept: the posted messages, and for the digest the categories by their last admission.
local function open_archive()
  archive = archive or make_archive()
  return archive
end

local function open_editor() return open_archive().editor() end

function messages.finish()
  if archive then archive.finish() end
end

-- remember notes that an event was admitted, and keeps its message if a later event may concern it. at is the
-- text of when that was, by default now.
function messages.remember(event, at)
  local number = event.number
  admitted[event.category] = true
  entered[number], is_queued[number] = #waiting, true
  local is_firing = event.status ~= 'resolved' and event.fingerprint ~= ''
  if event.thread or is_firing or options.overflow == 'merge' or MODE == 'promote' then
    open_archive().remember(event, at or now_text)
  end
end

local function store_last_admitted()
  local max_categories = 1000
  local keep_ms = 180000000 -- 50 h
  for category in pairs(admitted) do call('ZADD', last_admitted, now_text, category) end
  if call('ZCARD', last_admitted) > max_categories then
    call('ZREMRANGEBYRANK', last_admitted, 0, -max_categories - 1)
  end
  expire(last_admitted, keep_ms)
end

-- check_kept fails if a key that will be written has a wrong type. It reads which messages have expired.
local function check_kept()
  if archive then archive.check_types() end
  if options.digest and next(admitted) then call('ZCARD', last_admitted) end
  expired_numbers = call('ZRANGEBYSCORE', aged, '-inf', ago(options.posted), 'LIMIT', '0', '100')
  if archive or expired_numbers[1] then posted_bytes = tonumber(call('HGET', posted, 'bytes') or 0) end
end

local function store_kept()
  if archive or expired_numbers[1] then open_archive().store(expired_numbers, posted_bytes) end
  if options.digest and next(admitted) then store_last_admitted() end
end
-- part messages/decide: decide about messages, and write them. The archive and the editor are used only if
-- necessary.
-- part messages/dropped: describe drops for the drop log, and count them for the digest.
local dropped, digest_counts = {}, {}

-- drop_of describes why an event was dropped: by its outcome, or by the first level that refuses, of a route.
local function drop_of(event, refusing)
  local drop = {
    event = payload_of(event.entry), category = event.category, level = REASONS[event.outcome], used = '-1',
    limit = '-1', retry_us = '0',
  }
  if drop.level then return drop end
  local i, window = FIRST, event.window
  while floor(event.refused / 2 ^ (i - FIRST)) % 2 == 0 do i = i + 1 end
  local level = levels[refusing[i]]
  drop.level, drop.used, drop.limit = options.names[refusing[i]], int(level.used[window]), int(level.spec[window])
  drop.retry_us = int(event.retry_at - now)
  return drop
end

-- add_drop does not count suppressed resolves for the digest: nothing was lost.
function messages.add_drop(event, refusing)
  local drop = drop_of(event, refusing)
  dropped[#dropped + 1] = drop
  if not options.digest or event.outcome == SUPPRESSED then return end
  local kind = 'd:' .. event.category .. ':' .. event.severity .. ':' .. event.status .. ':' .. drop.level
  local title = 't:' .. event.title
  digest_counts[kind] = (digest_counts[kind] or 0) + 1
  digest_counts[title] = (digest_counts[title] or 0) + 1
end
local may_count -- the result of may_repeat

-- may_repeat returns whether a firing may be counted on the message that reports its alert: by options.repeats, or
-- because somebody acknowledged a message of the channel since these are kept.
local function may_repeat()
  if may_count == nil then may_count = options.repeats or call('HEXISTS', posted, 'acks') == 1 end
  return may_count
end

-- attach returns what the editor's attach returns. It looks for earlier messages only if they can matter.
function messages.attach(event)
  local status, fingerprint = event.status, event.fingerprint
  local is_alone = fingerprint == '' or status == ''
  if not is_alone and status == 'firing' then
    is_alone = not may_repeat() or not open_archive().find('f:' .. fingerprint)
  end
  is_alone = is_alone and event.bundle == '' and event.reply_to == ''
  if is_alone and options.overflow ~= 'delay' then return nil, false end
  return open_editor().attach(event)
end

-- overflow returns the outcome of an event that levels refuse: it may be delayed, or counted on a message.
function messages.overflow(event, route, refused)
  if options.overflow == 'drop' then return DROPPED end
  return open_editor().overflow(event, route, refused)
end

function messages.lead(event, route) open_editor().lead(event, route) end

-- check_types fails if a key that will be written has a wrong type.
function messages.check_types()
  check_kept()
  if #dropped > 0 and options.drops > 0 then call('XLEN', drops) end
  if next(digest_counts) then
    call('HLEN', digest)
    call('ZCARD', due)
  end
end

function messages.store()
  store_kept()
  if #dropped > 0 and options.drops > 0 then
    -- part stream_bytes: bound a stream in bytes. Each item has in "sum" how many bytes were added up to it, so that
    -- what the stream holds is the difference of two sums.
    local item_overhead = 256 -- bytes of an item beside its text

    local function field_of(item, name)
      for i = 1, item and #item[2] or 0, 2 do
        if item[2][i] == name then return item[2][i + 1] end
      end
      return ''
    end

    local function sum_of(item) return tonumber(field_of(item, 'sum')) or 0 end

    local function newest_sum(stream) return sum_of(call('XREVRANGE', stream, '+', '-', 'COUNT', '1')[1]) end

    -- trim deletes the oldest items while the stream holds more than most bytes, so many of them at most. field has
    -- an item's text, and sum is that of the newest.
    local function trim(stream, field, most, sum, items_at_most)
      for _ = 1, items_at_most do
        local oldest = call('XRANGE', stream, '-', '+', 'COUNT', '1')[1]
        if not oldest then return end
        local before = max(0, sum_of(oldest) - #field_of(oldest, field) - item_overhead)
        if sum - before <= most then return end
        call('XDEL', stream, oldest[1])
      end
    end
    -- part drops: add to the drop log, which is bounded in number and in bytes. A drop has event, category, level,
    -- used, limit and retry_us (numbers as text). keep is the size of the drop log.
    local max_drop_bytes = 16777216
    local drops_ms = 604800000 -- 7 days after the last drop

    local function record_drops(list, keep)
      local sum, keep_text = newest_sum(drops), int(keep)
      for _, drop in ipairs(list) do
        sum = sum + #drop.event + item_overhead
        call('XADD', drops, 'MAXLEN', '=', keep_text, '*', 'event', drop.event, 'category', drop.category,
          'level', drop.level, 'used', drop.used, 'limit', drop.limit, 'retry_us', drop.retry_us, 'sum', int(sum))
      end
      trim(drops, 'event', max_drop_bytes, sum, 2 * #list + 1)
      expire(drops, drops_ms)
    end
    record_drops(dropped, options.drops)
  end
  if next(digest_counts) then
    -- part digest_counts: add counts to the next digest. Of drops: "d:<category>:<severity>:<status>:<level>", where
    -- level is the level or the reason that refused. Of expired messages: "x:<category>:<severity>:<status>". Of
    -- both: "t:<title>". The number of fields is bounded, and for titles the bound is lower. Beyond it, events count
    -- under "other", and titles are not stored.
    local function count_for_digest(counts)
      local max_fields, max_fields_for_title = 1000, 300
      local digest_ms = 5356800000 -- 62 days: twice the longest interval
      local events = 0
      for field, n in pairs(counts) do
        local prefix = string.sub(field, 1, 2)
        local is_title = prefix == 't:'
        local most = is_title and max_fields_for_title or max_fields
        if not is_title then events = events + n end
        if call('HLEN', digest) < most or call('HEXISTS', digest, field) == 1 then
          call('HINCRBY', digest, field, int(n))
        elseif not is_title then
          call('HINCRBY', digest, prefix .. 'other:warning', int(n))
        end
      end
      if events <= 0 then return end
      call('HINCRBY', digest, 'noted', int(events))
      if call('HSETNX', digest, 'since', int(now)) == 1 then look_now('send', digest) end
      call('HSET', digest, 'last', int(now))
      expire(digest, digest_ms)
    end
    count_for_digest(digest_counts)
  end
end
-- part messages/promoted: a delayed event that is decided again.

-- is_still_waiting returns whether an event is still delayed. A server that restarted from an older snapshot may
-- have given its number to another event.
function messages.is_still_waiting(event)
  local number = event.delayed
  return call('ZSCORE', delayed, number .. ' ' .. event.category)
    and payload_of(call('HGET', entries, number) or '') == event.entry
end

-- drops_at returns until when an event may be delayed.
function messages.drops_at(event)
  local at = tonumber(string.match(call('HGET', entries, event.delayed) or '', '^%d+') or 0)
  return at + options.age
end

function messages.leave(event) open_editor().leave(event) end
-- part due/at: note when to look at work again. Reading the index first fails if it has a wrong type.
local function read_work(work_kind, key)
  local work = { name = work_of(work_kind, key) }
  work.at = tonumber(call('ZSCORE', due, work.name))
  return work
end

-- look_at notes a time, or nil if there is no work.
local function look_at(work, at)
  if at == work.at then return end
  if at then call('ZADD', due, int(at), work.name) else call('ZREM', due, work.name) end
end
-- part promote/next: when to decide the delayed events next: when the first of those that stay delayed may fit, or has
-- waited too long. If others take their place, that is soon.
local min_wait, max_wait = 100000, 10000000 -- microseconds; limits may be raised, and units refunded
local work = read_work('promote', delayed)
local again_at = now + max_wait

local function store_next()
  local at = call('ZCARD', delayed) > 0 and floor(max(again_at, now + min_wait)) or nil
  look_at(work, at)
end

-- part batch/decisions: the decisions, as the reply has them, and the event that messages are asked about.
local decisions = {}
local event = messages and messages.event
for at = 2, #ARGV, width do
  -- part batch/event: read an event. Its decision is in local variables, for speed.
  local id, units, place, entry = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3]
  local route = routes[place]
  if not units or units < 1 or not route or id == '' or #id > 40 then
    return redis.error_reply('ARG an event needs an id of 1 to 40 bytes, 1 or more units and a route of the plan')
  end
  if messages then
    event.id, event.category, event.entry, event.number, event.thread = id, route[CATEGORY], entry, false, false
    event.bundle, event.status, event.fingerprint, event.severity, event.title, event.delayed, event.reply_to =
      unpack(ARGV, at + 4, at + 10)
  end
  local outcome, refused, shadow, retry_at, window = nil, 0, 0, now, FIRST
  if not messages.is_still_waiting(event) then
    outcome = DUPLICATE
  else
    -- part messages/attached: a message or a group may decide the event before any level is checked.
    local is_attached, lead, refusing = false, nil, route -- refusing is the route whose levels refuse
    if messages then
      outcome, is_attached, lead = messages.attach(event)
      if lead and not is_attached then
        refused, retry_at, window, refusing = lead.refused, lead.retry_at, lead.window, lead.route
      end
    end
    if not outcome then
      -- part batch/ask: check the levels of an event's route: which of them refuse (bit i-1 for the i-th level), until
      -- when, and because of which window. Shadow levels report and never refuse.
      local ordinary, least, first_again, is_never = route[HEADROOM], route[HEADROOM], now, false
      if fairness then ordinary, least, first_again = fairness.reserves(route) end
      for i = FIRST, #route do
        local level, reserved = levels[route[i]], route[i] == 1 and ordinary or 0
        local fits_at, never, by = fit(level, units, reserved)
        if reserved > least and fits_at > now then -- sooner, if the category has a first notice before
          fits_at = min(fits_at, max(fit(level, units, least), first_again))
        end
        if reserved > 0 and units + route[HEADROOM] > level.spec[FIRST] then never = true end
        if (fits_at > now or never) and level.is_shadow then
          shadow = shadow + 2 ^ (i - FIRST)
        elseif fits_at > now or never then
          if refused == 0 then window = by end
          refused, is_never = refused + 2 ^ (i - FIRST), is_never or never
          if fits_at > retry_at then retry_at = fits_at end
        end
      end
      outcome = refused == 0 and ADMITTED or is_never and NEVER or DROPPED
      if outcome == DROPPED then outcome = now > messages.drops_at(event) and FULL or DELAYED end
    end
    if outcome == ADMITTED then
      local is_sent = false
      -- part batch/number: give an admitted event its number, and remember its id.
      begin()
      last_number = last_number + 1
      local number = int(last_number)
      admitted_ids[id] = true
      remembered[#remembered + 1], remembered[#remembered + 2] = now_text, id
      -- part batch/spend: use the event's units at the levels of its route, except at shadow levels that would refuse
      -- it. A message that was sent already is in no backlog.
      local member = id .. ':' .. number .. ':' -- and the unit
      local first_member = member .. '1'
      for i = FIRST, #route do
        local level = levels[route[i]]
        local strategy = level.strategy
        if not level.is_shadow or floor(shadow / 2 ^ (i - FIRST)) % 2 == 0 then
          level.pending = level.pending + units
          if not strategy then
            local members, used = level.members or {}, level.used
            level.members = members
            members[#members + 1], members[#members + 2] = now_text, first_member
            for unit = 2, units do
              members[#members + 1], members[#members + 2] = now_text, member .. unit
            end
            for w = FIRST, #level.spec, 2 do used[w] = used[w] + units end
          elseif not (is_sent and strategy.is_backlog) then
            strategy.spend(level, units, number)
          end
        end
      end
      -- part batch/enqueue: append an admitted event to the outbox, and note its admission.
      if entry ~= '' then
        waiting[#waiting + 1], waiting[#waiting + 2] = number, now_text .. ' ' .. entry
        places[#places + 1], places[#places + 2] = number, number
      end
      if fairness then fairness.add_admission(route[CATEGORY]) end
      if messages then
        event.number = number
        messages.remember(event)
      end
    end
    -- part messages/closed: note the lead of a group, and a drop.
    if messages then
      local is_lead = event.bundle ~= '' and not lead and not is_attached
      local is_dropped = COUNTED_AS[outcome] == 'dropped'
      if is_lead or is_dropped then
        event.outcome, event.refused, event.retry_at, event.window = outcome, refused, retry_at, window
        if is_lead then messages.lead(event, route) end
        if is_dropped then messages.add_drop(event, refusing) end
      end
    end
    if outcome ~= DELAYED then messages.leave(event) end
    totals.delayed = (totals.delayed or 0) - 1 -- DELAYED adds one again
    -- part batch/count: count the outcome.
    local total = COUNTED_AS[outcome]
    if total == 'admitted' then
      admitted_by_route[place] = (admitted_by_route[place] or 0) + 1
    elseif total == 'dropped' then
      dropped_by_route[place] = (dropped_by_route[place] or 0) + 1
    else
      totals[total] = (totals[total] or 0) + 1
    end
  end
  again_at = outcome == DELAYED and min(again_at, retry_at, messages.drops_at(event) + 1) or now
  -- part batch/report: add the decision to the reply.
  local n = #decisions
  decisions[n + 1], decisions[n + 2], decisions[n + 3] = outcome, refused, shadow
  decisions[n + 4], decisions[n + 5] = outcome == DROPPED and retry_at - now or 0, (window - FIRST) / 2
end
for _, hash in ipairs({ entries, ledger }) do call('HLEN', hash) end -- a wrong type fails before any write
call('ZCARD', seen)
-- part batch/write: write what was decided, and make the reply.
-- part batch/states: add to the reply for each level how long it is closed, because of which window, and its
-- units.
local states, count = {}, 0
for i = 1, #levels do
  local level = levels[i]
  count = count + 2
  states[count - 1] = level.closed > now and level.closed - now or 0
  states[count] = (level.closed_by - FIRST) / 2
  for w = FIRST, #level.spec, 2 do
    count = count + 1
    states[count] = level.used and level.used[w] or -1
  end
end
local reply = { now, stepped, decisions, states }

-- part batch/check_types: read the keys that were not read yet, so that a wrong type fails before any write.
call('HLEN', series)
call('HLEN', minutes)
if last_number and #places > 0 then
  call('ZCARD', outbox)
  call('ZCARD', due)
end
if messages then messages.check_types() end

-- The first write needs memory: where there is none, it is refused, and nothing was written yet.
if MODE ~= 'promote' then call('HINCRBY', ledger, 'received', int((#ARGV - 1) / width)) end
if last_number then call('HSET', entries, 'seq', int(last_number)) end
-- part batch/store_levels: write the units that were used.
if last_number or stepped > 0 then
  -- part limits/log_store: write the new units of a log. Members with a score below 0 are the windows that used it
  -- within 24 h: "keep:<longest window>:<largest limit>", score = time of the last use, negated. Units are kept as
  -- long as any of these windows counts them. Of the units that only another window counts, the newest are kept:
  -- twice its limit, so that enough remain after refunds.
  local max_old = 32 -- units that no longer count before they are removed
  local renew_us = 3600000000 -- 1 h: how old the mark of a window's last use may be
  local last_keep, last_largest, own_mark

  local function store_log(level)
    local key, members, keep, most, is_fresh = level.key, level.members, level.keep, 0, false
    if keep ~= last_keep or level.largest ~= last_largest then
      last_keep, last_largest, own_mark = keep, level.largest, 'keep:' .. int(keep) .. ':' .. int(level.largest)
    end
    local marks = call('ZRANGEBYSCORE', key, '-inf', '(0', 'WITHSCORES')
    for i = 1, #marks, 2 do
      local used_at = -tonumber(marks[i + 1])
      if marks[i] == own_mark then
        is_fresh = used_at > now - renew_us and used_at <= now
      elseif used_at <= now - remember_us then
        call('ZREM', key, marks[i])
      else
        local per, limit = string.match(marks[i], '^keep:(%d+):(%d+)$')
        keep, most = max(keep, tonumber(per)), max(most, 2 * tonumber(limit))
      end
    end
    if level.old - #marks / 2 > max_old then -- what is old includes the marks
      call('ZREMRANGEBYSCORE', key, 0, ago(keep))
      if keep > level.keep then
        local from = call('ZCOUNT', key, '-inf', '(0')
        local over = min(call('ZCOUNT', key, 0, ago(level.keep)), call('ZCARD', key) - from - most)
        if over > 0 then call('ZREMRANGEBYRANK', key, from, from + over - 1) end
      end
    end
    if not is_fresh then members[#members + 1], members[#members + 2] = int(-now), own_mark end
    for from = 1, #members, max_args do
      call('ZADD', key, unpack(members, from, min(from + max_args - 1, #members)))
    end
    keep_us(key, keep)
  end

  for i = 1, #levels do
    local level = levels[i]
    if fair then
      local channel = level_specs[1]
      level.keep, level.largest = max(level.keep, channel[FIRST + 1]), max(level.largest, channel[FIRST])
    end
    if level.strategy and (level.pending > 0 or level.is_moved) then
      level.strategy.store(level)
    elseif level.members then
      store_log(level)
    end
  end
end
-- part batch/store_entries: write the entries, their places in the outbox, and the ids.
if last_number then
  local ids_page = 32 -- admissions between two removals of ids that are no longer remembered
  if messages then messages.finish() end
  if #places > 0 then
    call('ZADD', outbox, unpack(places))
    look_now('send', outbox)
  end
  for from = 1, #waiting, max_args do
    call('HSET', entries, unpack(waiting, from, min(from + max_args - 1, #waiting)))
  end
  if #remembered > 0 then call('ZADD', seen, unpack(remembered)) end
  if floor(last_number / ids_page) > floor(number_before / ids_page) then
    call('ZREMRANGEBYSCORE', seen, '-inf', ago(dedupe))
  end
  keep_us(seen, dedupe)
end
if messages then messages.store() end
if fairness then fairness.store() end
-- part counts: count a category's events in the current minute, and in the current hour (series). Both hashes are
-- bounded: what is new when one is full counts under "other". Numbers are passed as text, which costs Redis less
-- than to convert them.
local counts_ms = 90000000 -- 25 h: the current hour and the 24 before it
local minute_text = int(floor(now / 60000000)) -- since 1970

local function count_in_minute(category, total, n)
  local max_fields = 6000
  local minute = minute_text .. (total == 'admitted' and ':a:' or ':d:')
  if call('HINCRBY', minutes, minute .. category, int(n)) ~= n then return end
  local fields = call('HLEN', minutes)
  if fields == 1 then call('PEXPIRE', minutes, counts_ms) end
  if fields > max_fields and category ~= 'other' then
    call('HDEL', minutes, minute .. category)
    call('HINCRBY', minutes, minute .. 'other', int(n))
  end
end

-- count_category counts n events under a total, admitted or dropped. A category that is new in the hour gets both
-- fields.
local function count_category(category, total, n)
  local max_categories = 1000
  count_in_minute(category, total, n)
  local field, sibling = ':admitted', ':dropped'
  if total == 'dropped' then field, sibling = sibling, field end
  if call('HINCRBY', series, category .. field, int(n)) ~= n then return end
  if call('HSETNX', series, category .. sibling, 0) == 0 then return end
  call('PEXPIRE', series, counts_ms)
  if category == 'other' or call('HLEN', series) <= 2 * max_categories then return end
  call('HDEL', series, category .. field, category .. sibling)
  call('HINCRBY', series, 'other' .. field, int(n))
  call('HSETNX', series, 'other' .. sibling, 0)
end
for place, n in pairs(admitted_by_route) do
  totals.admitted = (totals.admitted or 0) + n
  count_category(routes[place][CATEGORY], 'admitted', n)
end
for place, n in pairs(dropped_by_route) do
  totals.dropped = (totals.dropped or 0) + n
  count_category(routes[place][CATEGORY], 'dropped', n)
end
for total, n in pairs(totals) do
  if n ~= 0 then call('HINCRBY', ledger, total, int(n)) end
end
store_next()
return reply
