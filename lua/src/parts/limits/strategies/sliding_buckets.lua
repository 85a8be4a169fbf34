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
