-- admit.lua: decide a batch of events of one channel, and commit all or none of each, atomically.
--
-- For every event, in order, each event seeing the ones before it:
--   1. an id that was admitted within the dedupe time is a duplicate: only its count is written;
--   2. with options, it may be folded into a message that exists: a resolve takes the place of its firing that
--      still waits, or marks it resolved; a repeat is counted on it; companions join the first of their bundle;
--   3. every window of every level is checked, by the level's strategy;
--   4. when all fit, the units are taken at every level, the id is remembered, and the payload is appended
--      to the outbox; when one does not fit, no level is touched. Shadow levels report and never refuse;
--   5. with options, what does not fit may wait for a slot, or be counted on its category's last message; what is
--      dropped is recorded, and noted for the digest.
-- All is decided first and written last, once for the whole batch: an error leaves nothing half done.
-- Time is this server's TIME, read once, in microseconds. Where it went back, what was admitted "later" goes
-- on counting, so that no window ever holds more than its limit; what lies more than 5 s ahead is moved to
-- now as soon as it makes a level refuse, so that a step throttles at most one window too long.
--
-- KEYS[1] seen     sorted set of admitted ids, score = when
-- KEYS[2] ledger   hash of totals of the channel
-- KEYS[3] series   hash of counts a category in the current hour, "<category>:admitted" and ":dropped"
-- KEYS[4] outbox   sorted set of entry numbers in order
-- KEYS[5] entries  hash: "seq", "delayed" = bytes that wait for a slot, "<number>" = "<admitted at> <kind> <payload>"
-- KEYS[6] minutes  hash of the same a minute: "<minute since 1970>:a:<category>" admitted, ":d:" dropped
-- KEYS[7..] the levels, by their place from 1. What a key holds depends on the strategy:
--   (a hash also has "since": when its first unit was taken, so that a refund from before a reset is known)
--   (and "last": when its last one was, so that a step of the clock is known; "<...>:u": a window of a replica with
--   another configuration, and when that last used it)
--   sliding-log      sorted set, a member a unit, score = when; exact; and below 0 the windows that use it
--   sliding-buckets  hash: "<end of the bucket>" = units; a bucket counts until its end has left the window;
--                    "keep:<longest window>:<width>" = when it was last used so
--   fixed-window     hash: "<per>:at" = start of the window, "<per>:n" = units in it, "<per>:f" = those at its start
--   sliding-counter  hash: the same, and "<per>:p" = units of the window before, counted in proportion
--   gcra, gate       hash: "<per>/<drain>:tat" = when the bucket is empty again; a unit drains in drain = per / limit
--   backlog-stream   stream of what waits; admits while it holds fewer than the limit
--   backlog-list     list of the same
-- then, only with first_notice auto: known and heard, sorted sets of the channel's categories by their last
--   attempt, and by their last admission
-- then, only in mode "restore": folds, hash: replica = sequence of its last fold; dead, stream of dead letters
-- then, only with options:
--   extras   sorted set of the numbers of edits, score = when due; they are entries too
--   posted   hash: "<number>" = record of a message, JSON (lua/record.go); "f:<fingerprint>", "c:<category>",
--            "b:<bundle> <category>" = number; "bytes" = how long the records are
--   aged     sorted set of the numbers of records, score = when touched
--   drops    stream of what was dropped: event, category, level, used, limit, retry_us, sum = bytes recorded up to it
--   digest   hash of what the next digest will say (digest.lua)
--   told     sorted set of categories by their last admission
--   delayed  sorted set of "<number> <category>": what waits for a slot, in order; they are entries too
--
-- ARGV[1] the plan, JSON: [mode, dedupe, levels, routes, fairness, replica, sequence, options]
--   mode     "admit"; "peek": decide each event by itself and write nothing; "restore": take in what a replica
--            admitted by itself while it could not reach this server, whatever the limits say now, with what became of
--            it (its past). Its units are taken, unless it certainly never appeared; "promote": ask again for what is
--            delayed: it is admitted, or goes on waiting, or is dropped because it waited too long; "force": somebody
--            with the right to has it posted: no level is asked, and none holds its units; it is counted as forced too
--   dedupe   how long an admitted id is remembered, microseconds
--   levels   for each: [strategy, option, shadow, limit, per, limit, per, ...]; per in microseconds;
--            option: bucket width (sliding-buckets), phase or -1 = from the first unit (fixed-window),
--            burst (gcra), otherwise 0; shadow 0 or 1
--   routes   for each: [category, headroom, own, level, ...]; headroom = units of level 1 that this route
--            must leave free; own = the category's level, 0 = none; then the levels, outermost first
--   fairness {} or, about the first window of level 1, the channel: {"slots", "per_category"} are kept for
--            first notices; {"floor"} learns the reserve (auto); {"reserves": [[category, slots, level], ...]}
--   replica, sequence  only in mode "restore": a fold that was taken in before changes nothing
--   options  absent, or {"overflow": "drop", "delay" or "merge", "most": how many may be delayed, "age": for how long,
--            "resolves": "post", "reply" or "edit", "repeats": true = counted on the message, "digest": true,
--            "drops": how many are recorded, "posted": how long a record is kept, "every": the time between two edits
--            of a count, "names": of the levels}; times in microseconds
-- then for each event: id (at most 40 bytes), units, route, entry ("" = nothing to enqueue, else "<kind> <payload>")
--   and with options: bundle (events with the same one become one message; "" = none; one that begins with "@" goes on
--   in further calls), status (firing, resolved, update
--   = it takes the place of what the message of its fingerprint says, or ""), fingerprint ("" = none), severity,
--   title, delayed (only in mode "promote": its number), answers (the fingerprint of the message that it replies to;
--   "" = none)
--   and in mode "restore", last of all: its past, JSON (lua/past.go), with times in microseconds before now; "" = it
--   waits, or where it has no entry, was delivered
--
-- Reply: [now, stepped_us, events, levels]
--   stepped_us how far time went back, where entries had to be moved; else 0
--   events   flat, for each: outcome, refused, shadow, retry_us, window
--     outcome  1 admitted, 2 dropped, 3 duplicate, 4 never (more units than can ever fit), 5 merged, 6 delayed,
--              7 suppressed (dropped: it resolves what was never told), 8 full (dropped: nothing more may wait),
--              9 admitted in the place and for the slot of its firing
--     refused  bit i-1 is set when the event's i-th level refused; shadow the same, for shadow levels
--     retry_us how long until it could fit, microseconds (0 unless dropped)
--     window   the window that refuses longest, of the first level that refused; from 0
--   levels   flat, for each: closed_us, window, and for each window the units used after the batch (-1 = not looked at)
--     closed_us until then one unit can certainly not fit (0 = open, or not known), because of that window, from 0
-- Errors: "ARG ..." for arguments that make no sense; nothing is written then.
--
-- By hand, a channel limit of 10 and a category limit of 3 per 60 s (the space around the comma matters):
--   redis-cli --eval lua/admit.lua 'relay:{demo}:seen:demo' 'relay:{demo}:ledger:demo' \
--     'relay:{demo}:series:demo:0' 'relay:{demo}:outbox:demo' 'relay:{demo}:entries:demo' \
--     'relay:{demo}:minutes:demo:0' \
--     'relay:{demo}:limit:sliding-log:channel' 'relay:{demo}:limit:sliding-log:category:demo:errors' , \
--     '["admit",3600000000,[["sliding-log",0,0,10,60000000],["sliding-log",0,0,3,60000000]],[["errors",0,2,1,2]]]' \
--     event-1 1 1 'message {"title":"disk full"}'
-- answers 1) now 2) 0 3) 1 0 0 0 0 4) 0 0 1 0 0 1: admitted, one unit used at both levels. With ids event-2 to
-- event-10 three pass, seven are dropped.

local seen, ledger, series, outbox, entries, minutes = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local before_levels = 6 -- KEYS[before_levels + i] is level i
local grace_ms = 60000 -- how long an expired level outlives its longest window
local slack_ms = 10000 -- of it, that may have passed before it is renewed
local series_ms = 90000000 -- 25 h: the current hour and the 24 before it
local max_minutes = 6000 -- fields of an hour: what is more is counted into "other"
local drops_ms = 604800000 -- 7 days after the last drop
local max_drop_bytes, max_dead_bytes = 16777216, 8388608 -- what the record of drops holds, and the dead letters
local record_bytes = 256 -- of a record beside its event
local max_delayed_bytes = 8388608 -- what may wait for a slot
local max_posted_bytes = 33554432 -- records of messages
local max_bundle = 65536 -- bytes of the events that a message tells of
local digest_ms = 5356800000 -- 62 days: twice the longest interval
local known_us = 86400000000 -- 24 h: how long a category that is not heard of stays known
local max_categories = 1000
local max_step = 5000000 -- how far entries may lie ahead of now before they are moved
local remember_us = 86400000000 -- 24 h: how long a level keeps what a longer window needs, after its last use
local renew_us = 3600000000 -- 1 h: how old the mark of a window's last use may be
local slack = 32 -- entries of a log that no longer count before they are removed, and admissions before ids are
local backlog_us = 100000 -- nobody knows when a backlog shrinks: look again then
local max_args = 1000 -- unpack fails above some thousand
local first = 4 -- where a level's windows begin in the plan, and a route's levels
local outcomes = { 'admitted', 'dropped' }
local call, floor, ceil, max, min = redis.call, math.floor, math.ceil, math.max, math.min

local format = string.format
local function int(x) return format('%d', x) end

-- Read and check the plan. Nothing is written before every event was read and decided.
local good, plan = pcall(cjson.decode, ARGV[1] or '')
if not good or type(plan) ~= 'table' or #KEYS < before_levels then
  return redis.error_reply('ARG five keys and a plan in JSON are needed')
end
local mode, dedupe, specs, routes, fair = plan[1], plan[2], plan[3], plan[4], plan[5]
local options = plan[8]
local peeking, restoring, promoting = mode == 'peek', mode == 'restore', mode == 'promote' and options
local forcing = mode == 'force'
if mode ~= 'admit' and not peeking and not restoring and not promoting and not forcing
  or type(dedupe) ~= 'number' or dedupe <= 0 or not specs or not routes then
  return redis.error_reply('ARG the plan needs a mode, a dedupe time above 0, levels and routes')
end
if fair and next(fair) == nil then fair = nil end
local learning, after_levels = fair and fair.floor, before_levels + #specs
local known, heard = KEYS[after_levels + 1], KEYS[after_levels + 2] -- where they are used
local after_all = after_levels + (learning and 2 or 0) + (restoring and 2 or 0)
local folds, dead = KEYS[after_all - 1], KEYS[after_all]
local width = (options and 11 or 4) + (restoring and 1 or 0)
if #KEYS ~= after_all + (options and 7 or 0) then
  return redis.error_reply('ARG the number of keys does not fit the levels')
end
if #ARGV <= width or #ARGV % width ~= 1 then
  return redis.error_reply('ARG an event needs id, units, route, entry, with options seven more, to restore its past')
end
if restoring then
  if not plan[6] or not plan[7] then return redis.error_reply('ARG a fold needs a replica and a sequence') end
  if tonumber(call('HGET', folds, plan[6]) or 0) >= plan[7] then return { 0, 0, {}, {} } end
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now_text = int(now)
local outer_per = fair and specs[1][first + 1]
local stepped = 0

-- ago is the text of the time that is per before now.
local last_per, last_ago
local function ago(per)
  if per ~= last_per then last_per, last_ago = per, int(now - per) end
  return last_ago
end

-- expire lets a key live for so long from now on; what lives nearly as long already is let be.
local function expire(key, ms)
  if call('PTTL', key) < ms - slack_ms then call('PEXPIRE', key, int(ms)) end
end

-- within counts what a log holds of the last per, whatever lies ahead of now included, and what is older.
local function within(key, per)
  local all = call('ZCARD', key)
  if all == 0 then return 0, 0 end
  local old = call('ZCOUNT', key, '-inf', ago(per))
  return all - old, old
end

-- edge is the score of the rank-th newest entry of a log, from 0; what this batch took is the newest.
local function edge(level, rank)
  rank = rank - level.pending
  if rank < 0 then return now end
  if level.edge_rank ~= rank then
    local text = int(rank)
    level.edge_rank, level.edge = rank, tonumber(call('ZREVRANGE', level.key, text, text, 'WITHSCORES')[2] or 0)
  end
  return level.edge
end

-- The sliding log is decided in place; every other strategy is a table of functions: load reads a level and
-- sets level.used for each window, fits_at says when units that are too many would fit if nobody else commits,
-- take takes units in this batch's view of the level, and store writes what was taken.
-- The other strategies are made only where a level uses one.
local strategies
local function make_strategies()
  strategies = {}
  -- read is what a hash holds; its times are ago where the clock went back since it was last written.
  local function read(level)
    local flat, state = call('HGETALL', level.key), {}
    for i = 1, #flat, 2 do state[flat[i]] = tonumber(flat[i + 1]) end
    level.since, level.last, level.back = state.since or now, state.last or 0, 0
    if level.last - now > max_step then
      level.back, level.moved = level.last - now, true
      stepped, level.since, level.last = max(stepped, level.back), min(level.since, now), now
    end
    return state
  end

  -- A window that keeps a few numbers in the fields "<name>:<field>" of a hash. Its kind has load, which ends what is
  -- over; used, the units in it; take; and fits_at. Windows of other lengths in the same hash belong to a replica with
  -- another configuration: they count what is taken here as their own would, until 24 h after that replica's last use.
  local blank = { 'at', 'n', 'p', 'f', 'tat', 'u' }
  local function window_of(name)
    local window = { per = tonumber(string.match(name, '^%d+')), drain = tonumber(string.match(name, '/(%d+)$')) }
    for _, field in ipairs(blank) do window[field] = 0 end
    return window
  end
  local function few_numbers(kind)
    local function others(level)
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
        if window.u <= now - remember_us or kind.drains and not window.drain then
          found[name] = nil
        else
          kind.load(level, window)
          kind.take(level, window, level.pending)
        end
      end
      return found
    end
    return {
      load = function(level)
        local state = read(level)
        level.state, level.windows, level.names = state, {}, {}
        for w = first, #level.spec, 2 do
          local name = int(level.spec[w + 1]) .. (kind.drains and '/' .. int(kind.drains(level, w)) or '')
          local window = level.names[name]
          if not window then
            window = { per = level.spec[w + 1], drain = kind.drains and kind.drains(level, w) }
            for _, field in ipairs(blank) do window[field] = field ~= 'u' and state[name .. ':' .. field] or 0 end
            window.own, level.names[name] = true, window
            if kind.adopt and not state[name .. ':tat'] then kind.adopt(level, w, window) end
            kind.load(level, window)
          end
          level.windows[w] = window
          level.used[w] = kind.used(window)
        end
      end,
      fits_at = function(level, w, units) return kind.fits_at(level, w, level.windows[w], units) end,
      take = function(level, units)
        for _, window in pairs(level.names) do kind.take(level, window, units) end
        for w, window in pairs(level.windows) do level.used[w] = kind.used(window) end
      end,
      store = function(level)
        local args, longest = { 'since', int(level.since), 'last', int(max(level.last, now)) }, level.keep
        local function add(name, window)
          if window.n + window.p == 0 then window.at = 0 end -- no window begins before its first unit
          for _, field in ipairs(blank) do
            if window[field] ~= 0 then args[#args + 1], args[#args + 2] = name .. ':' .. field, int(window[field]) end
          end
          longest = max(longest, window.per)
        end
        for name, window in pairs(level.names) do add(name, window) end
        for name, window in pairs(others(level)) do add(name, window) end
        call('DEL', level.key)
        call('HSET', level.key, unpack(args))
        call('PEXPIRE', level.key, int(ceil((kind.keep or 1) * longest / 1000) + grace_ms))
      end,
    }
  end

  local function count_units(_, window, units) window.n = window.n + units end

  strategies['fixed-window'] = few_numbers({
    -- A grid goes on where the last window ended, so that a step of the clock makes no window shorter.
    load = function(level, window)
      local per, phase = window.per, window.own and level.spec[2] or -1
      if level.back > 0 and window.at > now then window.at = now end
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
    take = function(level, window, units)
      window.n = window.n + units
      if window.at == now and (not window.own or level.spec[2] < 0) then window.f = window.f + units end
    end,
    fits_at = function(_, _, window) return window.at + window.per end,
  })

  -- share is the part of the window before that is still inside the rolling one, rounded up.
  strategies['sliding-counter'] = few_numbers({
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
    take = count_units,
    fits_at = function(level, w, window, units)
      local limit, per = level.spec[w], window.per
      local room = limit - units - window.n
      if room >= 0 then return window.at + per - floor(room * per / window.p) end
      return window.at + 2 * per - floor((limit - units) * per / window.n)
    end,
    keep = 2,
  })

  -- One unit drains in per / limit; tat is when all has drained.
  local gcra = few_numbers({
    drains = function(level, w) return level.spec[w] == 0 and 0 or ceil(level.spec[w + 1] / level.spec[w]) end,
    -- A bucket whose limit changed holds the units that it held before, as many as it can.
    adopt = function(level, w, window)
      for field, tat in pairs(level.state) do
        local per, drain = string.match(field, '^(%d+)/?(%d*):tat$')
        local left = tat - level.back - now
        if per and tonumber(per) == window.per and left > 0 then
          drain = tonumber(drain) or window.drain
          local units = drain > 0 and left / drain or 0
          window.tat = max(window.tat, now + level.back + floor(min(units, level.most(w)) * window.drain))
        end
      end
    end,
    load = function(level, window)
      if level.back > 0 then window.tat = window.tat - level.back end
    end,
    used = function(window)
      return window.drain > 0 and window.tat > now and ceil((window.tat - now) / window.drain) or 0
    end,
    take = function(_, window, units)
      if window.drain > 0 then window.tat = max(now, window.tat) + units * window.drain end
    end,
    fits_at = function(level, w, window, units) return window.tat + (units - level.most(w)) * window.drain end,
  })
  strategies['gcra'], strategies['gate'] = gcra, gcra

  -- Buckets are kept as long as the longest window needs them that used them within 24 h, each of which leaves a field
  -- "keep:<longest window>:<width>" = when. What only that one still counts is kept in buckets of its width.
  local function bucket_end(level) return (floor(now / level.spec[2]) + 1) * level.spec[2] end
  strategies['sliding-buckets'] = {
    load = function(level)
      local units, order, state, keep, coarse = {}, {}, read(level), level.keep, nil
      level.others = {}
      for field, used in pairs(state) do
        local per, wide = string.match(field, '^keep:(%d+):(%d+)$')
        if per and min(used, now) > now - remember_us then
          level.others[field] = min(used, now)
          if tonumber(per) > keep then keep, coarse = tonumber(per), tonumber(wide) end
        end
      end
      level.longest = keep
      for field, n in pairs(state) do
        local ends = tonumber(field)
        if ends and level.back > 0 then ends = min(ends, bucket_end(level)) end
        if ends and ends <= now - level.keep and coarse then
          ends = min(ceil(ends / coarse) * coarse, now - level.keep)
        end
        if ends and ends > now - keep then
          if not units[ends] then order[#order + 1] = ends end
          units[ends] = (units[ends] or 0) + n
        end
      end
      table.sort(order)
      level.units, level.order = units, order
      for w = first, #level.spec, 2 do
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
    take = function(level, units)
      local order, ends = level.order, bucket_end(level)
      local last = order[#order]
      if last and last > ends then ends = last end
      if last ~= ends then order[#order + 1] = ends end
      level.units[ends] = (level.units[ends] or 0) + units
      for w = first, #level.spec, 2 do level.used[w] = level.used[w] + units end
    end,
    store = function(level)
      local args = { 'since', int(level.since), 'last', int(max(level.last, now)) }
      level.others['keep:' .. int(level.keep) .. ':' .. int(level.spec[2])] = now
      for field, used in pairs(level.others) do args[#args + 1], args[#args + 2] = field, int(used) end
      for _, ends in ipairs(level.order) do args[#args + 1], args[#args + 2] = int(ends), int(level.units[ends]) end
      call('DEL', level.key)
      for from = 1, #args, max_args do
        call('HSET', level.key, unpack(args, from, min(from + max_args - 1, #args)))
      end
      call('PEXPIRE', level.key, int(ceil(max(level.longest, level.keep) / 1000) + grace_ms))
    end,
  }

  local function backlog(length, add)
    return {
      waits = true,
      load = function(level) level.used[first] = call(length, level.key) end,
      fits_at = function() return now + backlog_us end,
      take = function(level, units, number)
        level.members = level.members or {}
        for _ = 1, units do table.insert(level.members, number) end
        level.used[first] = level.used[first] + units
      end,
      store = function(level)
        for i, number in ipairs(level.members or {}) do add(level.key, number, i) end
      end,
    }
  end
  strategies['backlog-stream'] = backlog('XLEN', function(key, number, i)
    call('XADD', key, number .. '-' .. i, 'at', now_text)
  end)
  strategies['backlog-list'] = backlog('LLEN', function(key, number) call('RPUSH', key, number) end)
end

-- Check the levels.
local levels = {}
for i = 1, #specs do
  local spec = specs[i]
  local level = {
    spec = spec, key = KEYS[before_levels + i], keep = 0, pending = 0, closed = 0, closed_by = first,
    used = false, edge_rank = false,
    edge = 0, members = false, old = math.huge, largest = 0,
  }
  if spec[1] ~= 'sliding-log' then
    if not strategies then make_strategies() end
    level.strategy = strategies[spec[1]]
    if not level.strategy then return redis.error_reply('ARG level ' .. i .. ' has an unknown strategy') end
  end
  if #spec < first + 1 or #spec % 2 == 0 then
    return redis.error_reply('ARG level ' .. i .. ' needs a strategy, an option, shadow, and its windows')
  end
  for w = first, #spec, 2 do
    local limit, per = tonumber(spec[w]), tonumber(spec[w + 1])
    if not limit or not per or limit < 0 or per <= 0 then
      return redis.error_reply('ARG level ' .. i .. ' needs a limit of 0 or more and a window above 0')
    end
    if per > level.keep then level.keep = per end
    if limit > level.largest then level.largest = limit end
  end
  if spec[1] == 'gcra' or spec[1] == 'gate' then
    level.most = function(w) return min(spec[w], 1) * (spec[1] == 'gate' and 1 or spec[2]) end
  end
  levels[i] = level
end

-- log_fits_at is when units fit into a window of a log. Entries that lie too far ahead of now are moved to now.
local function log_fits_at(level, w, units, held)
  local at = edge(level, level.spec[w] - units - held)
  if at > now + max_step then
    stepped = max(stepped, tonumber(call('ZREVRANGE', level.key, 0, 0, 'WITHSCORES')[2]) - now)
    level.edge_rank, at = false, now
    if not peeking then
      local args = {}
      for _, member in ipairs(call('ZRANGEBYSCORE', level.key, '(' .. now_text, '+inf')) do
        args[#args + 1], args[#args + 2] = now_text, member
      end
      for from = 1, #args, max_args do
        call('ZADD', level.key, unpack(args, from, min(from + max_args - 1, #args)))
      end
    end
  end
  return at + level.spec[w + 1]
end

-- check tells when units fit into a level (0 = now), whether they never can, and which window says so. held units of
-- the first window must stay free.
local function check(level, units, held)
  local spec, used, strategy, at, never, by = level.spec, level.used, level.strategy, 0, false, first
  if not used then
    used = {}
    level.used = used
    if strategy then
      strategy.load(level)
    else
      for w = first, #spec, 2 do
        local old
        used[w], old = within(level.key, spec[w + 1])
        if old < level.old then level.old = old end
      end
    end
  end
  for w = first, #spec, 2 do
    local most, hold = level.most and level.most(w) or spec[w], w == first and held or 0
    if units > most then
      never, by = true, w
    elseif used[w] + units + hold > most then
      local fits_at = strategy and strategy.fits_at or log_fits_at
      local fits = fits_at(level, w, units, hold)
      if fits > at then
        at = fits
        if not never then by = w end
      end
      if units == 1 and used[w] >= most then
        if hold > 0 then fits = fits_at(level, w, 1, 0) end
        if fits > level.closed then level.closed, level.closed_by = fits, w end
      end
    end
  end
  return at, never, by
end

-- Fairness is made only where it is used. It answers for a route: what an ordinary event must leave free in
-- the channel, what a first notice must, and from when on the next event of the category would be one.
local function make_fairness()
  local attempted, admitted, known_count, heard_count = {}, {}, nil, nil
  local known_for = max(known_us, outer_per)

  -- in_outer_window is how many units a category has used within the channel's window.
  local function in_outer_window(level)
    level.in_outer = level.in_outer or within(level.key, outer_per)
    return level.in_outer + level.pending
  end

  local function last_heard(category)
    if admitted[category] then return now end
    local at = tonumber(call('ZSCORE', heard, category) or 0)
    return at > now - outer_per and at or nil
  end

  local function learn(category)
    if not known_count then
      known_count = call('ZCOUNT', known, '(' .. ago(known_for), '+inf')
      heard_count = call('ZCOUNT', heard, '(' .. ago(outer_per), '+inf')
    end
    if attempted[category] then return end
    attempted[category] = true
    if tonumber(call('ZSCORE', known, category) or 0) <= now - known_for then known_count = known_count + 1 end
  end

  local fairness = {}

  function fairness.holds(route)
    local category, least = route[1], route[2]
    local reserved = 0
    for _, reserve in ipairs(fair.reserves or {}) do
      if reserve[1] ~= category then
        reserved = reserved + max(0, reserve[2] - in_outer_window(levels[reserve[3]]))
      end
    end
    least = max(least, reserved)
    if learning then
      learn(category)
      local at = last_heard(category)
      if not at then return least, least, now end
      return max(least, known_count - heard_count + max(0, fair.floor - known_count)), least, at + outer_per
    end
    local own = fair.slots and levels[route[3]]
    if not own or in_outer_window(own) < fair.per_category then return least, least, now end
    return max(least, fair.slots), least, edge(own, fair.per_category - 1) + outer_per
  end

  function fairness.admit(category)
    if not learning then return end
    if not last_heard(category) then heard_count = heard_count + 1 end
    admitted[category] = true
  end

  -- What was attempted is known, what was admitted is heard; above the bound the longest silent are forgotten.
  function fairness.store()
    if not known_count then return end
    for category in pairs(attempted) do call('ZADD', known, now_text, category) end
    for category in pairs(admitted) do call('ZADD', heard, now_text, category) end
    call('ZREMRANGEBYSCORE', known, '-inf', ago(known_for))
    call('ZREMRANGEBYSCORE', heard, '-inf', ago(outer_per))
    local over = call('ZCARD', known) - max_categories
    if over > 0 then
      local forgotten = call('ZRANGE', known, 0, over - 1)
      call('ZREM', known, unpack(forgotten))
      call('ZREM', heard, unpack(forgotten))
    end
    expire(known, ceil(known_for / 1000) + grace_ms)
    expire(heard, ceil(outer_per / 1000) + grace_ms)
  end

  return fairness
end
local fairness = fair and make_fairness()

-- What the batch writes at the end.
local number, begun, taken, remembered, waiting, places -- entries: their numbers and what they say; numbers of messages
local received, duplicates, decisions = 0, 0, {}
local results = restoring and { delivered = 0, failed = 0, expired = 0 } -- of what is restored
local buried = restoring and {}
local merged_total, delayed_total, superseded, forced_total = 0, 0, 0, 0
local function begin()
  if number then return end
  number = tonumber(call('HGET', entries, 'seq') or 0)
  begun = number
  taken, remembered, waiting, places = {}, {}, {}, {}
end

-- What a stream of records holds is a difference of sums; trim forgets the oldest, where it is more than most bytes.
local newest_sum, trim
if options or restoring then
  local function field_of(record, name)
    for i = 1, record and #record[2] or 0, 2 do
      if record[2][i] == name then return record[2][i + 1] end
    end
    return ''
  end
  local function sum_of(record) return tonumber(field_of(record, 'sum')) or 0 end
  function newest_sum(key) return sum_of(call('XREVRANGE', key, '+', '-', 'COUNT', '1')[1]) end
  function trim(key, field, most, sum, times)
    for _ = 0, times do
      local oldest = call('XRANGE', key, '-', '+', 'COUNT', '1')[1]
      if not oldest or sum - max(0, sum_of(oldest) - #field_of(oldest, field) - record_bytes) <= most then return end
      call('XDEL', key, oldest[1])
    end
  end
end

-- What was posted and what waits is looked after only with options. All is read here, and written by store.
local told
if options then
  local extras, posted, aged, drops, digest, heard_of, delayed = unpack(KEYS, after_all + 1, after_all + 7)
  local entered, messages, bundles = {}, {}, {} -- by number: its place in waiting; true
  local noted, noted_count, kept, admitted = {}, 0, {}, {}
  local aging, posted_bytes -- records that are too old; how long all are
  local max_noted, max_titled = 1000, 300 -- fields of a digest; titles must not crowd out counts
  local t = {}

  local function payload_of(entry) return string.match(entry, '^%S+ (.*)$') or '' end

  -- The records of messages are read, and their functions made, only where an event concerns them.
  local function make_changes()
    local records, newest, touched, renamed, cleared, rewritten = {}, {}, {}, {}, {}, {}
    local max_events = 10 -- that a message lists
    local max_members = 2000 -- that it follows beyond those; what is more is counted
    local max_before = 16 -- messages that told of the same alerts before, and are told when they are over
    local c = {}

    -- find is the number and the record that a name stands for, if it was not forgotten.
    local function load(n)
      if records[n] == nil then
        local text = call('HGET', posted, n)
        records[n] = text and cjson.decode(text) or false
      end
      return records[n]
    end
    local function find(name)
      local n = newest[name]
      if n == nil then
        n = call('HGET', posted, name) or false
        newest[name] = n
      end
      if n and load(n) then return n, records[n] end
    end
    local function point(name, n) newest[name], renamed[name] = n or false, n or false end
    local function change(n, record) records[n], touched[n], cleared[n] = record, true, nil end

    -- A message is followed until all that it tells of is over: what it lists by "f" and "r" of its events, the others
    -- by the members of its record, fingerprint = when it was over in seconds, 0 = it is not. told_of tells whether a
    -- message tells of an alert: nil, "firing" or "over".
    local function told_of(record, fingerprint)
      for _, event in ipairs(record.events or {}) do
        if event.f == fingerprint then return event.r and 'over' or 'firing' end
      end
      local at = record.members and record.members[fingerprint]
      if at then return at > 0 and 'over' or 'firing' end
    end

    -- follow has a message stand for an alert. One that told of it before, and does not know that it is over, is kept
    -- in mind.
    local function follow(n, record, fingerprint)
      local last, older = find('f:' .. fingerprint)
      if last and last ~= n and told_of(older, fingerprint) == 'firing' then
        local before = record.before or {}
        for _, other in ipairs(before) do
          if other == last then last = nil end
        end
        if last then
          before[#before + 1] = last
          if #before > max_before then table.remove(before, 1) end
        end
        record.before = before
      end
      point('f:' .. fingerprint, n)
    end

    local function new_record(category, payload, status, fingerprint)
      local event = { p = payload }
      if fingerprint ~= '' and status ~= 'resolved' then event.f = fingerprint end
      return { category = category, at = now_text, events = { event } }
    end

    local function size(record)
      local n = #(record.events or {}) + (record.over or 0) + (record.more or 0)
      for _ in pairs(record.members or {}) do n = n + 1 end
      return n
    end

    -- shown is for a message that is to be told of later; thread is the one that it answers, waited its number before,
    -- at its admission (now).
    function c.shown(n, route, status, fingerprint, entry, thread, waited, at)
      if thread and status == 'resolved' then c.rest().close(thread, fingerprint) end
      if thread and (status ~= 'resolved' or options.resolves == 'reply') then
        c.rest().enter(n .. ':thread', thread)
      end
      local record = waited and string.find(entry, '\n', 1, true) and load(waited)
      if record then
        record = c.rest().adopt(n, waited, record)
      elseif status == 'resolved' or fingerprint == '' and options.overflow ~= 'merge' then
        return
      else
        record = new_record(route[1], payload_of(entry), status, fingerprint)
        record.at = at or now_text
        if fingerprint ~= '' then follow(n, record, fingerprint) end
      end
      if options.overflow == 'merge' then point('c:' .. route[1], n) end
      change(n, record)
    end

    -- What becomes of groups, of resolves and repeats, and of what waits for a slot.
    local rest
    local function make_rest()
      local edits, joined, left = {}, {}, {} -- by number: when due; how many
      local queued, queued_bytes
    local unsent = {} -- edits that wait, and nobody began to send: as it was when this began
      local grows = {} -- bundles that wait for a slot
      local r = {}

      local function next_number()
        begin()
        number = number + 1
        return int(number)
      end
      local function remember(id)
        begin()
        taken[id] = true
        remembered[#remembered + 1], remembered[#remembered + 2] = now_text, id
      end
      local function enter(n, entry)
        waiting[#waiting + 1], waiting[#waiting + 2] = n, entry
        entered[n] = #waiting
      end

      -- edit has a message said anew, at a time; an edit that nobody began to send will do.
      local function edit(n, record, at)
        change(n, record)
        local last = record.edit
        if last and unsent[last] == nil then
          unsent[last] = call('HEXISTS', entries, last) == 1 and call('HEXISTS', entries, last .. ':sent') == 0
        end
        local fresh = last and (edits[last] or unsent[last])
        if fresh and tonumber(record.due) <= at then return end
        if not fresh then
          last = next_number()
          enter(last, now_text .. ' edit ' .. n)
        end
        record.edit, record.due, edits[last] = last, int(at), int(at)
      end
      local function later(record) return max(now, tonumber(record.due or 0) + options.every) end

      -- waits tells whether a message is in the outbox and nobody began to send it.
      local function waits(n)
        return messages[n] or call('ZSCORE', outbox, n) and call('HEXISTS', entries, n .. ':sent') == 0
      end
      -- silent tells that a message is in Slack, and nobody knows where: nothing can be said on it.
      local function silent(record) return record.shown and not record.ts end

      -- mark has a record say that an alert is over, or that it fires again.
      local function mark(record, fingerprint, over)
        for _, event in ipairs(record.events or {}) do
          if event.f == fingerprint then event.r = over and now_text or nil end
        end
        if record.members and record.members[fingerprint] then
          record.members[fingerprint] = over and floor(now / 1000000) or 0
        end
      end

      -- fires tells whether anything that a message follows is not over.
      local function fires(record)
        for _, event in ipairs(record.events or {}) do
          if event.f and not event.r then return true end
        end
        for _, at in pairs(record.members or {}) do
          if at == 0 then return true end
        end
        return false
      end

      -- What was told without its text, while this server was away, cannot be said anew.
      local function can_edit(record)
        return options.resolves == 'edit' and not silent(record) and record.events and record.events[1].p
      end

      -- over has all messages that told of an alert say that it is over, but for the last one where its place is taken.
      -- Where they can be edited the name stays, so that what fires again is found.
      local function over(n, record, fingerprint, taken_over)
        local ways, met, at = { n }, {}, 1
        if taken_over then ways = { unpack(record.before or {}) } end
        while ways[at] and at <= 2 * max_before do
          local way = ways[at]
          local found = not met[way] and load(way)
          met[way], at = true, at + 1
          if found then
            if told_of(found, fingerprint) == 'firing' then
              mark(found, fingerprint, true)
              if can_edit(found) then edit(way, found, now) else change(way, found) end
            end
            for _, older in ipairs(found.before or {}) do ways[#ways + 1] = older end
          end
        end
        if not can_edit(record) then point('f:' .. fingerprint) end
      end

      -- add has a record tell of one more, the count-th, and tells whether the message lists it.
      local function add(record, payload, status, fingerprint, count)
        local tell, bytes = status ~= 'resolved' and fingerprint ~= '', #payload
        for _, event in ipairs(record.events) do bytes = bytes + #(event.p or '') end
        if #record.events < max_events and bytes < max_bundle then
          record.events[#record.events + 1] = { p = payload, f = tell and fingerprint or nil }
          return true
        elseif tell and count <= max_events + max_members then
          record.members = record.members or {}
          record.members[fingerprint] = 0
        elseif status == 'resolved' then
          record.over = (record.over or 0) + 1
        else
          record.more = (record.more or 0) + 1
        end
        return false
      end

      local function forget(n) records[n], touched[n], cleared[n] = false, nil, true end

      -- adopt has a message that waited for a slot stand for what was told of it meanwhile.
      local function adopt(n, waited, record)
        forget(waited)
        record.at = now_text
        for _, event in ipairs(record.events) do
          if event.f then follow(n, record, event.f) end
        end
        for fingerprint in pairs(record.members or {}) do follow(n, record, fingerprint) end
        if record.bundle then point('b:' .. record.bundle, n) end
        return record
      end

      -- replace says a message anew in other words: where it waits, or by an edit.
      local function replace(id, n, record, fingerprint, entry)
        for _, event in ipairs(record.events) do
          if event.f == fingerprint then event.p = payload_of(entry) end
        end
        if not waits(n) then
          edit(n, record, now)
        elseif entered[n] then
          waiting[entered[n]] = now_text .. ' ' .. entry
        else
          rewritten[n] = now_text .. ' ' .. entry
        end
        change(n, record)
        remember(id)
        return 5
      end

      -- again is what becomes of a firing: it is counted on the message that tells of it. What was over and fires again
      -- is, too, while anything else there fires; else it is news.
      local function again(id, n, record, fingerprint, entry)
        if not n or not options.repeats or silent(record) then return end
        if promoting and string.find(entry, '\n', 1, true) then return end
        local at = later(record)
        if told_of(record, fingerprint) == 'over' then
          if not fires(record) then return end
          mark(record, fingerprint, false)
          at = now
        end
        record.repeats, record.last = (record.repeats or 0) + 1, now_text
        edit(n, record, at)
        remember(id)
        return 5
      end

      local function say(n, entry)
        if entered[n] then waiting[entered[n]] = entry else rewritten[n] = entry end
      end

      -- before is what becomes of an event because of what was posted before, and the message that it answers; nil = it
      -- is asked of the levels.
      local function before(id, status, fingerprint, entry, answers)
        if answers ~= '' then return nil, (find('f:' .. answers)) end
        if fingerprint == '' or status == '' then return end
        local n, record = find('f:' .. fingerprint)
        if status == 'firing' then return again(id, n, record, fingerprint, entry) end
        if not n or status == 'resolved' and told_of(record, fingerprint) == 'over' then
          return (options.overflow == 'delay' and not promoting and r.queue() > 0) and 6 or 7
        end
        if status == 'update' then
          if silent(record) then return end
          return replace(id, n, record, fingerprint, entry)
        end
        if size(record) == 1 and waits(n) then
          superseded = superseded + 1
          over(n, record, fingerprint, true)
          say(n, now_text .. ' ' .. entry)
          if find('c:' .. record.category) == n then point('c:' .. record.category) end
          point('f:' .. fingerprint)
          if record.bundle then point('b:' .. record.bundle) end
          forget(n)
          remember(id)
          return 1
        end
        if not can_edit(record) then return nil, n end
        over(n, record, fingerprint)
        remember(id)
        return 5
      end

      -- over says that an alert was over at a time: what fires after it is another.
      function r.over(fingerprint, at)
        local n, record = find('f:' .. fingerprint)
        if n and tonumber(record.at or 0) <= at then over(n, record, fingerprint) end
      end

      -- posted is for what was posted while this server was away. Where nobody knows where it is, an older message of
      -- the same alert goes on standing for it, if something can be said on that.
      function r.posted(n, route, fingerprint, entry, at, past)
        admitted[route[1]] = true
        local merges = options.overflow == 'merge' and past.ts
        if fingerprint == '' and not merges then return end
        local _, last = find('f:' .. fingerprint)
        if last and not silent(last) and (not past.ts or tonumber(last.at or 0) > at) then return end
        local event = { f = fingerprint ~= '' and fingerprint or nil, p = past.ts and payload_of(entry) or nil }
        local record = {
          category = route[1], at = int(at), events = { event }, shown = true, ts = past.ts, channel = past.channel,
        }
        if fingerprint ~= '' then follow(n, record, fingerprint) end
        change(n, record)
        if merges then point('c:' .. route[1], n) end
      end

      -- entry_of is what waits under a number, and say says it anew.
      local function entry_of(n)
        return entered[n] and waiting[entered[n]] or rewritten[n] or call('HGET', entries, n) or ''
      end

      -- join folds an event into the message of its bundle.
      local function join(lead, id, status, fingerprint, entry)
        local n, payload, tell = lead.number, payload_of(entry), status ~= 'resolved' and fingerprint ~= ''
        remember(id)
        if cleared[n] and not lead.fresh then -- a resolve took its place
          local named = lead.record.bundle
          lead.record, lead.fresh = new_record(lead.category, payload_of(payload_of(entry_of(n))), 'resolved', ''), true
          lead.record.bundle = named
        end
        local record = lead.record
        if tell and told_of(record, fingerprint) then
          mark(record, fingerprint, false)
        else
          lead.count = lead.count + 1
          if not add(record, payload, status, fingerprint, lead.count) then
            joined[n] = lead
            lead.over = lead.over + (status == 'resolved' and 1 or 0)
          elseif not lead.sent then
            say(n, entry_of(n) .. '\n' .. payload)
          end
        end
        if tell and not lead.delayed then follow(n, record, fingerprint) end
        if status == 'resolved' and fingerprint ~= '' then
          local resolved, told_in = find('f:' .. fingerprint)
          if resolved then over(resolved, told_in, fingerprint) end
        end
        if tell or records[n] or record.events[1].f then
          change(n, record)
          if record.bundle then point('b:' .. record.bundle, n) end
        end
        if lead.sent then edit(n, record, now) end
      end

      -- resume finds the message of a bundle that goes on from an earlier call.
      local function resume(bundle, category)
        if string.sub(bundle, 1, 1) ~= '@' then return end
        local n, record = find('b:' .. bundle .. ' ' .. category)
        if not n then return end
        local lead = {
          outcome = 1, bits = 0, retry_at = now, by = first, number = n, count = size(record), over = record.over or 0,
          category = category, record = record,
          delayed = call('ZSCORE', delayed, n .. ' ' .. category) and true or false,
        }
        lead.sent, grows[n] = not lead.delayed and not waits(n), lead.delayed or nil
        if not lead.sent then say(n, (string.gsub(entry_of(n), '\n%+[%d ]+$', ''))) end
        if lead.count > #record.events then joined[n] = lead end
        bundles[bundle .. ' ' .. category] = lead
        return lead
      end

      -- hold counts an event on the last message of its category; nil where there is none.
      local function hold(id, category, title)
        local n, record = find('c:' .. category)
        if not n or silent(record) then return end
        record.held, record.held_at, record.held_title = (record.held or 0) + 1, now_text, title
        edit(n, record, later(record))
        remember(id)
        return 5
      end

      function r.queue()
        queued = queued or call('ZCARD', delayed)
        return queued
      end

      -- delay lets an event wait for a slot, where the queue is not full.
      local function delay(id, category, entry)
        queued_bytes = queued_bytes or tonumber(call('HGET', entries, 'delayed') or 0)
        if r.queue() >= options.most or queued_bytes >= max_delayed_bytes then return 8 end
        local n = next_number()
        queued, queued_bytes = queued + 1, queued_bytes + #entry
        enter(n, now_text .. ' ' .. entry)
        left[#left + 1] = { n, category }
        remember(id)
        return 6, n
      end

      -- overflow is what becomes of an event that the levels of bits refuse: delayed, merged or dropped, and its
      -- number.
      function r.overflow(bits, id, route, entry, title)
        if options.overflow == 'delay' then return delay(id, route[1], entry) end
        for i = first, #route do
          if options.overflow == 'merge' and route[i] == route[3] and floor(bits / 2 ^ (i - first)) % 2 == 1 then
            return hold(id, route[1], title) or 2
          end
        end
        return 2
      end

      -- fold is what becomes of an event before any level is asked: its outcome (nil = ask), its number, whether that
      -- is because of what was posted before, the message that it answers, and the first of its bundle.
      function r.fold(id, route, entry, bundle, status, fingerprint, title, answers)
        local outcome, thread = before(id, status, fingerprint, entry, answers)
        if forcing and outcome and outcome ~= 1 and outcome ~= 5 then outcome = nil end
        if outcome == 6 then
          local late, n = delay(id, route[1], entry)
          return late, n, true
        end
        local lead = bundles[bundle .. ' ' .. route[1]] or resume(bundle, route[1])
        if outcome then return outcome, nil, true, nil, lead end
        if lead and lead.number then
          join(lead, id, status, fingerprint, entry)
          return 5, nil, false, nil, lead
        elseif lead and lead.outcome == 5 then
          return hold(id, route[1], title) or 2, nil, false, nil, lead
        elseif lead then
          return lead.outcome, nil, false, nil, lead
        elseif options.overflow == 'delay' and not promoting and not forcing and r.queue() > 0 then
          local late, n = delay(id, route[1], entry)
          return late, n, false
        end
        return nil, nil, false, thread
      end

      -- lead notes the first event of a bundle, which the others join, or whose fate they share.
      function r.lead(bundle, route, outcome, bits, retry_at, by, n, entry, status, fingerprint)
        local lead = {
          outcome = outcome, bits = bits, retry_at = retry_at, by = by, number = n, count = 1, over = 0,
          category = route[1], delayed = outcome == 6,
        }
        bundles[bundle .. ' ' .. route[1]] = lead
        if not n then return end
        lead.record = records[n] or new_record(route[1], payload_of(entry), status, fingerprint)
        if string.sub(bundle, 1, 1) ~= '@' then return end
        lead.record.bundle = bundle .. ' ' .. route[1]
        point('b:' .. lead.record.bundle, n)
        change(n, lead.record)
      end

      -- Of what is asked for again: whether it still waits, under a number that may have been given again since it was
      -- listed, where this server came back older than it was; and whether it has waited too long.
      function r.still(n, category, entry)
        return call('ZSCORE', delayed, n .. ' ' .. category) and payload_of(call('HGET', entries, n) or '') == entry
      end
      function r.overdue(n)
        local at = tonumber(string.match(call('HGET', entries, n) or '', '^%d+') or 0)
        return now - at > options.age
      end
      function r.leave(n, category, entry)
        left[#left + 1] = { n, category, true }
        if string.find(entry, '\n', 1, true) and load(n) then forget(n) end
      end

      -- finish writes down how many events a bundle has beyond those that it tells of.
      function r.finish()
        for n, lead in pairs(joined) do
          if not lead.sent then
            local of_them_over = lead.over > 0 and ' ' .. int(lead.over) or ''
            say(n, entry_of(n) .. '\n+' .. int(lead.count - #lead.record.events) .. of_them_over)
          end
        end
      end

      function r.store()
        local bytes = 0
        for n, entry in pairs(rewritten) do
          if grows[n] then bytes = bytes + #entry - #(call('HGET', entries, n) or '') end
          call('HSET', entries, n, entry)
        end
        for n, due in pairs(edits) do call('ZADD', extras, due, n) end
        for _, item in ipairs(left) do
          local length = #(call('HGET', entries, item[1]) or '')
          if item[3] then
            bytes = bytes - length
            call('ZREM', delayed, item[1] .. ' ' .. item[2])
            call('HDEL', entries, item[1])
          else
            bytes = bytes + length
            call('ZADD', delayed, item[1], item[1] .. ' ' .. item[2])
          end
        end
        if bytes ~= 0 then call('HINCRBY', entries, 'delayed', bytes) end
        if bytes < 0 and call('ZCARD', delayed) == 0 then call('HDEL', entries, 'delayed') end
      end

      r.edits, r.enter, r.adopt = edits, enter, adopt
      function r.close(n, fingerprint) over(n, load(n), fingerprint) end
      return r
    end

    function c.rest()
      rest = rest or make_rest()
      return rest
    end

    function c.finish()
      if rest then rest.finish() end
    end

    -- sound fails where a key that is to be written has another type.
    function c.sound()
      if rest and next(rest.edits) then call('ZCARD', extras) end
    end

    -- erase deletes a record and the names that stand for it, and tells how many they were.
    local grown = 0 -- by how many bytes the records did
    local function size_of(n) return #(call('HGET', posted, n) or '') end
    local function erase(n)
      local text = call('HGET', posted, n)
      local record = text and cjson.decode(text) or {}
      local function unname(name)
        if call('HGET', posted, name) == n then call('HDEL', posted, name) end
      end
      for _, event in ipairs(record.events or {}) do
        if event.f then unname('f:' .. event.f) end
      end
      for fingerprint in pairs(record.members or {}) do unname('f:' .. fingerprint) end
      unname('c:' .. (record.category or ''))
      unname('b:' .. (record.bundle or ''))
      grown = grown - #(text or '')
      call('HDEL', posted, n)
      call('ZREM', aged, n)
      return size(record)
    end

    -- Where the records are too long together, the oldest go.
    local function erase_oldest(bytes)
      local names = 0
      while bytes + grown > max_posted_bytes and names < max_members do
        local oldest = call('ZRANGE', aged, 0, 0)[1]
        if not oldest then break end
        names = names + 1 + erase(oldest)
      end
      if grown ~= 0 then call('HSET', posted, 'bytes', int(max(0, bytes + grown))) end
    end

    function c.store(old, bytes)
      if rest then rest.store() end
      for n in pairs(touched) do
        local record = records[n]
        local text = cjson.encode(record)
        grown = grown + #text - size_of(n)
        call('HSET', posted, n, text)
        call('ZADD', aged, now_text, n)
      end
      for name, n in pairs(renamed) do
        if n then call('HSET', posted, name, n) else call('HDEL', posted, name) end
      end
      for n in pairs(cleared) do
        grown = grown - size_of(n)
        call('HDEL', posted, n)
        call('ZREM', aged, n)
        call('HDEL', entries, n .. ':attempts', n .. ':faults', n .. ':name')
      end
      local names = 0
      for _, n in ipairs(old) do
        if names > max_members then break end -- the next call goes on
        if not touched[n] then names = names + erase(n) end
      end
      erase_oldest(bytes)
      if next(touched) then
        expire(posted, ceil(options.posted / 1000) + grace_ms)
        expire(aged, ceil(options.posted / 1000) + grace_ms)
      end
    end
    return c
  end
  local changes
  local function change()
    changes = changes or make_changes()
    return changes
  end

  function t.shown(n, route, status, fingerprint, entry, thread, waited, at)
    admitted[route[1]] = true
    entered[n], messages[n] = #waiting, true
    if thread or waited or status ~= 'resolved' and fingerprint ~= '' or options.overflow == 'merge' then
      change().shown(n, route, status, fingerprint, entry, thread, waited, at)
    end
  end

  function t.heard(route) admitted[route[1]] = true end

  -- fold asks what was told before only where that can matter.
  function t.fold(id, route, entry, bundle, status, fingerprint, title, answers)
    local alone = fingerprint == '' or status == '' or status == 'firing' and not options.repeats
    if alone and bundle == '' and answers == '' and options.overflow ~= 'delay' then return nil, nil, false end
    return change().rest().fold(id, route, entry, bundle, status, fingerprint, title, answers)
  end

  function t.overflow(...)
    if options.overflow == 'drop' then return 2 end
    return change().rest().overflow(...)
  end

  -- drop records what was dropped; what resolves something untold is no loss that a digest would tell of.
  function t.drop(route, severity, title, entry, outcome, bits, retry, by)
    local category = route[1]
    local level = outcome == 7 and 'suppressed' or outcome == 8 and 'full' or outcome == 4 and 'never' or nil
    local used, limit = -1, -1
    for i = first, #route do
      if not level and floor(bits / 2 ^ (i - first)) % 2 == 1 then
        level, used, limit = options.names[route[i]], levels[route[i]].used[by], levels[route[i]].spec[by]
      end
    end
    level = level or 'full'
    kept[#kept + 1] = { category, payload_of(entry), level, retry, used, limit }
    if not options.digest or level == 'suppressed' then return end
    for _, field in ipairs({ 'd:' .. category .. ':' .. severity, 't:' .. title }) do
      noted[field] = (noted[field] or 0) + 1
    end
    noted_count = noted_count + 1
  end

  local function store_drops()
    local record = options.drops > 0 and #kept > 0
    local sum = record and newest_sum(drops)
    for _, drop in ipairs(record and kept or {}) do
      sum = sum + #drop[2] + record_bytes
      call('XADD', drops, 'MAXLEN', '=', int(options.drops), '*', 'event', drop[2], 'category', drop[1],
        'level', drop[3], 'used', int(drop[5]), 'limit', int(drop[6]), 'retry_us', int(drop[4]), 'sum', int(sum))
    end
    if record then
      trim(drops, 'event', max_drop_bytes, sum, 2 * #kept)
      expire(drops, drops_ms)
    end
    if noted_count == 0 then return end
    call('HINCRBY', digest, 'noted', int(noted_count))
    for field, n in pairs(noted) do
      local title = string.sub(field, 1, 2) == 't:'
      if call('HLEN', digest) < (title and max_titled or max_noted) or call('HEXISTS', digest, field) == 1 then
        call('HINCRBY', digest, field, int(n))
      elseif not title then
        call('HINCRBY', digest, 'd:other:warning', n)
      end
    end
    call('HSETNX', digest, 'since', now_text)
    call('HSET', digest, 'last', now_text)
    expire(digest, digest_ms)
  end

  -- sound fails where a key that is to be written has another type.
  function t.sound()
    if changes then changes.sound() end
    if #kept > 0 and options.drops > 0 then call('XLEN', drops) end
    if noted_count > 0 then call('HLEN', digest) end
    if options.digest and next(admitted) then call('ZCARD', heard_of) end
    aging = call('ZRANGEBYSCORE', aged, '-inf', ago(options.posted), 'LIMIT', '0', '100')
    if changes or aging[1] then posted_bytes = tonumber(call('HGET', posted, 'bytes') or 0) end
  end

  function t.finish()
    if changes then changes.finish() end
  end

  function t.store()
    if changes or aging[1] then change().store(aging, posted_bytes) end
    store_drops()
    if not options.digest or next(admitted) == nil then return end
    for category in pairs(admitted) do call('ZADD', heard_of, now_text, category) end
    if call('ZCARD', heard_of) > max_categories then call('ZREMRANGEBYRANK', heard_of, 0, -max_categories - 1) end
    expire(heard_of, 2 * series_ms)
  end

  -- The rest is for what is rare.
  told = setmetatable(t, { __index = function(_, name) return change().rest()[name] end })
end

-- restore writes down what became of an event while this server was away: it waits, with all that is known of its
-- attempts, or it was posted, or it is dead.
local restore
if restoring then
  restore = function(n, route, status, fingerprint, entry, past, ended)
    local at = now - (past.age or 0)
    if told and status == 'resolved' and fingerprint ~= '' then told.over(fingerprint, at) end
    if not ended then
      waiting[#waiting + 1], waiting[#waiting + 2] = n, int(at) .. ' ' .. entry
      places[#places + 1], places[#places + 2] = n, n
      if told then told.shown(n, route, status, fingerprint, entry, nil, nil, int(at)) end
      local fields = { attempts = past.attempts, faults = past.faults, looked = past.looked, name = past.name }
      fields.sent, fields.tried = past.sent and now - past.sent, past.tried and now - past.tried
      fields.again = past.again and '1'
      for field, value in pairs(fields) do
        if value then
          waiting[#waiting + 1] = n .. ':' .. field
          waiting[#waiting + 1] = type(value) == 'number' and int(value) or value
        end
      end
    elseif ended == 'failed' then
      buried[#buried + 1] = { n, int(at) .. ' ' .. entry, past }
    elseif told and ended == 'delivered' and status ~= 'resolved' and status ~= 'update' then
      told.posted(n, route, fingerprint, entry, at, past)
    elseif told and ended == 'delivered' then
      told.heard(route)
    end
  end
end

-- Decide every event: ask all its levels, and take its units where all pass.
for at = 2, #ARGV, width do
  local id, units, route, entry = ARGV[at], tonumber(ARGV[at + 1]), routes[tonumber(ARGV[at + 2])], ARGV[at + 3]
  if not units or units < 1 or not route or id == '' or #id > 40 then
    return redis.error_reply('ARG an event needs an id of 1 to 40 bytes, 1 or more units and a route of the plan')
  end
  local bundle, status, fingerprint, severity, title, waited, answers
  local outcome, bits, shadow, retry_at, never, refused_by = nil, 0, 0, now, false, first
  local place, folded, thread, lead -- its number; see told.fold
  if options then
    bundle, status, fingerprint, severity, title, waited, answers = unpack(ARGV, at + 4, at + 10)
  end
  local past, ended = nil, nil -- of what is restored
  if restoring then
    local text = ARGV[at + width - 1]
    good, past = pcall(cjson.decode, text == '' and '{}' or text)
    if not good or type(past) ~= 'table' or past.result and not results[past.result] then
      return redis.error_reply('ARG a past is JSON, with the result delivered, failed or expired, or none')
    end
    ended = past.result or entry == '' and 'delivered'
  end
  if promoting then
    if not told.still(waited, route[1], entry) then outcome = 3 end
  else
    received = received + 1
    if taken and taken[id] or tonumber(call('ZSCORE', seen, id) or 0) > now - dedupe then
      outcome, duplicates = 3, duplicates + 1
    end
  end
  local handling = told and not peeking and not restoring and not outcome
  if handling then
    outcome, place, folded, thread, lead = told.fold(id, route, entry, bundle, status, fingerprint, title, answers)
    if lead and not folded then bits, retry_at, refused_by = lead.bits, lead.retry_at, lead.by end
  end
  if not outcome then
    local ordinary, least, first_again = route[2], route[2], now
    if fairness and not forcing then ordinary, least, first_again = fairness.holds(route) end
    for i = first, forcing and 0 or #route do
      local level, held = levels[route[i]], route[i] == 1 and ordinary or 0
      local fits_at, cannot, by = check(level, units, held)
      if held > least and fits_at > now then -- sooner, where the category becomes a first notice before
        fits_at = min(fits_at, max(check(level, units, least), first_again))
      end
      if held > 0 and units + route[2] > level.spec[first] then cannot = true end
      if fits_at > now or cannot then
        if level.spec[3] == 1 then
          shadow = shadow + 2 ^ (i - first)
        else
          if bits == 0 then refused_by = by end
          bits, never = bits + 2 ^ (i - first), never or cannot
          if fits_at > retry_at then retry_at = fits_at end
        end
      end
    end
    if restoring then bits, shadow = 0, 0 end
    outcome = bits == 0 and 1 or never and 4 or 2
    if outcome == 2 and promoting then
      outcome = told.overdue(waited) and 8 or 6
    elseif outcome == 2 and handling then
      outcome, place = told.overflow(bits, id, route, entry, title)
    elseif outcome == 1 and ended then
      results[ended] = results[ended] + 1
    end
  end
  if outcome == 1 then
    route.admitted = (route.admitted or 0) + 1
  elseif outcome == 2 or outcome == 4 or outcome >= 7 then
    route.dropped = (route.dropped or 0) + 1
  elseif outcome == 5 then
    merged_total = merged_total + 1
  elseif outcome == 6 and not promoting then
    delayed_total = delayed_total + 1
  end
  if outcome == 1 and not folded and not peeking then
    begin()
    number = number + 1
    local text = int(number)
    local member = id .. ':' .. text .. ':' -- and the unit
    local only = member .. '1'
    local spent = not ended or ended == 'delivered' or past.shown -- what certainly never appeared gives its slot back
    for i = first, forcing and 0 or #route do
      local level = levels[route[i]]
      if spent and (level.spec[3] == 0 or floor(shadow / 2 ^ (i - first)) % 2 == 0) then
        level.pending = level.pending + units
        if level.strategy then
          if not (ended and level.strategy.waits) then -- what was sent waits no more
            level.strategy.take(level, units, text)
          end
        else
          local members, used = level.members or {}, level.used
          level.members = members
          members[#members + 1], members[#members + 2] = now_text, only
          for unit = 2, units do
            members[#members + 1], members[#members + 2] = now_text, member .. unit
          end
          for w = first, #level.spec, 2 do used[w] = used[w] + units end
        end
      end
    end
    taken[id] = true
    remembered[#remembered + 1], remembered[#remembered + 2] = now_text, id
    if entry ~= '' and not restoring then
      waiting[#waiting + 1], waiting[#waiting + 2] = text, now_text .. ' ' .. entry
      places[#places + 1], places[#places + 2] = text, text
    end
    if forcing then forced_total = forced_total + 1 elseif fairness then fairness.admit(route[1]) end
    place = text
    if restoring then
      restore(text, route, status, fingerprint, entry, past, ended)
    elseif told then
      told.shown(text, route, status, fingerprint, entry, thread, promoting and waited)
    end
  end
  if handling then
    if bundle ~= '' and not lead and not folded then
      told.lead(bundle, route, outcome, bits, retry_at, refused_by, place, entry, status, fingerprint)
    end
    if outcome == 2 or outcome == 4 or outcome >= 7 then
      local retry = outcome == 2 and retry_at - now or 0
      told.drop(route, severity, title, entry, outcome, bits, retry, refused_by)
    end
    if promoting and outcome ~= 6 then
      told.leave(waited, route[1], entry)
      delayed_total = delayed_total - 1
    end
  end
  local n = #decisions
  decisions[n + 1], decisions[n + 2], decisions[n + 3] = folded and outcome == 1 and 9 or outcome, bits, shadow
  decisions[n + 4], decisions[n + 5] = outcome == 2 and retry_at - now or 0, (refused_by - first) / 2
end

local states, n = {}, 0
for i = 1, #levels do
  local level = levels[i]
  n = n + 2
  states[n - 1] = level.spec[3] == 0 and level.closed > now and level.closed - now or 0
  states[n] = (level.closed_by - first) / 2
  for w = first, #level.spec, 2 do
    n = n + 1
    states[n] = level.used and level.used[w] or -1
  end
end
local reply = { now, stepped, decisions, states }
if peeking then return reply end

-- A write fails on a key of another type, when others are done: what was not read yet is read now, where it fails.
call('HLEN', series)
call('HLEN', minutes)
if number and #places > 0 then call('ZCARD', outbox) end
if promoting then
  call('HLEN', entries)
  call('ZCARD', seen)
end
if told then told.sound() end
local dead_sum = buried and buried[1] and newest_sum(dead)
if received == 0 then call('HLEN', ledger) end

-- Write. The first write needs memory: where there is none, it is refused, and nothing was written yet.
if received > 0 then call('HINCRBY', ledger, 'received', int(received)) end
if number then call('HSET', entries, 'seq', int(number)) end
if number or stepped > 0 then
  -- store_log keeps what was taken of a log. What lies below 0 are the windows that used it within 24 h: members
  -- "keep:<longest window>:<largest limit>", score = when, negated. Entries stay as long as any of these counts them;
  -- of what only another one counts, the newest are enough, twice its limit so that refunds leave enough.
  local last_keep, last_largest, last_mark
  local function store_log(level)
    local key, members, keep, most, fresh = level.key, level.members, level.keep, 0, false
    if keep ~= last_keep or level.largest ~= last_largest then
      last_keep, last_largest, last_mark = keep, level.largest, 'keep:' .. int(keep) .. ':' .. int(level.largest)
    end
    local marks = call('ZRANGEBYSCORE', key, '-inf', '(0', 'WITHSCORES')
    for i = 1, #marks, 2 do
      local used = -tonumber(marks[i + 1])
      if marks[i] == last_mark then
        fresh = used > now - renew_us and used <= now
      elseif used <= now - remember_us then
        call('ZREM', key, marks[i])
      else
        local per, limit = string.match(marks[i], '^keep:(%d+):(%d+)$')
        keep, most = max(keep, tonumber(per)), max(most, 2 * tonumber(limit))
      end
    end
    if level.old > slack then
      call('ZREMRANGEBYSCORE', key, 0, ago(keep))
      if keep > level.keep then
        local from = call('ZCOUNT', key, '-inf', '(0')
        local over = min(call('ZCOUNT', key, 0, ago(level.keep)), call('ZCARD', key) - from - most)
        if over > 0 then call('ZREMRANGEBYRANK', key, from, from + over - 1) end
      end
    end
    if not fresh then members[#members + 1], members[#members + 2] = int(-now), last_mark end
    for from = 1, #members, max_args do
      call('ZADD', key, unpack(members, from, min(from + max_args - 1, #members)))
    end
    expire(key, ceil(keep / 1000) + grace_ms)
  end

  for i = 1, #levels do
    local level = levels[i]
    if fair then level.keep, level.largest = max(level.keep, outer_per), max(level.largest, specs[1][first]) end
    if level.strategy and (level.pending > 0 or level.moved) then
      level.strategy.store(level)
    elseif level.members then
      store_log(level)
    end
  end
end
if number then
  if told then told.finish() end
  if #places > 0 then call('ZADD', outbox, unpack(places)) end
  for from = 1, #waiting, max_args do
    call('HSET', entries, unpack(waiting, from, min(from + max_args - 1, #waiting)))
  end
  if #remembered > 0 then call('ZADD', seen, unpack(remembered)) end
  if floor(number / slack) > floor(begun / slack) then call('ZREMRANGEBYSCORE', seen, '-inf', ago(dedupe)) end
  expire(seen, ceil(dedupe / 1000) + grace_ms)
end
for _, letter in ipairs(dead_sum and buried or {}) do
  local past = letter[3]
  dead_sum = dead_sum + #letter[2] + record_bytes
  call('XADD', dead, 'MAXLEN', '=', past.keep or 1, '*', 'number', letter[1], 'entry', letter[2],
    'reason', past.reason or '', 'answer', past.answer or '', 'attempts', int(past.attempts or 0), 'sum', int(dead_sum))
end
if dead_sum then trim(dead, 'entry', max_dead_bytes, dead_sum, 2 * #buried) end
if told then told.store() end
if fairness then fairness.store() end

-- Count. A category that is new in this hour gets both its fields, or is counted into "other" when there are
-- too many.
local function count_minute(category, outcome, total)
  local minute = int(floor(now / 60000000)) .. ':' .. string.sub(outcome, 1, 1) .. ':'
  if call('HINCRBY', minutes, minute .. category, int(total)) ~= total then return end
  local fields = call('HLEN', minutes)
  if fields == 1 then call('PEXPIRE', minutes, series_ms) end
  if fields > max_minutes and category ~= 'other' then
    call('HDEL', minutes, minute .. category)
    call('HINCRBY', minutes, minute .. 'other', total)
  end
end
local admitted, dropped = 0, 0
for i = 1, #routes do
  local route = routes[i]
  for _, name in ipairs(outcomes) do
    local total = route[name]
    if total then
      count_minute(route[1], name, total)
      local field = route[1] .. ':' .. name
      if call('HINCRBY', series, field, int(total)) == total then
        local sibling = route[1] .. (name == 'admitted' and ':dropped' or ':admitted')
        if call('HSETNX', series, sibling, 0) == 1 then
          call('PEXPIRE', series, series_ms)
          if route[1] ~= 'other' and call('HLEN', series) > 2 * max_categories then
            call('HDEL', series, field, sibling)
            call('HINCRBY', series, 'other:' .. name, total)
            call('HSETNX', series, name == 'admitted' and 'other:dropped' or 'other:admitted', 0)
          end
        end
      end
    end
  end
  admitted, dropped = admitted + (route.admitted or 0), dropped + (route.dropped or 0)
end
if admitted > 0 then call('HINCRBY', ledger, 'admitted', int(admitted)) end
if dropped > 0 then call('HINCRBY', ledger, 'dropped', int(dropped)) end
if duplicates > 0 then call('HINCRBY', ledger, 'duplicate', int(duplicates)) end
if merged_total > 0 then call('HINCRBY', ledger, 'merged', int(merged_total)) end
if delayed_total ~= 0 then call('HINCRBY', ledger, 'delayed', int(delayed_total)) end
if superseded > 0 then call('HINCRBY', ledger, 'superseded', superseded) end
if forced_total > 0 then call('HINCRBY', ledger, 'forced', forced_total) end
if restoring then
  for result, total in pairs(results) do
    if total > 0 then call('HINCRBY', ledger, result, total) end
  end
  call('HSET', folds, plan[6], int(plan[7]))
  call('PEXPIRE', folds, series_ms)
end
return reply
