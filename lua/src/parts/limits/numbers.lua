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
