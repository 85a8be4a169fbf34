-- part digest/counts: the counts and totals of the digest.

-- read_digest returns the counts since the last call, and the other fields of the digest.
local function read_digest()
  local flat, counts, state = call('HGETALL', digest), {}, {}
  for i = 1, #flat, 2 do
    local field = flat[i]
    if string.match(field, '^[dxt]:') then
      counts[field] = tonumber(flat[i + 1])
    else
      state[field] = flat[i + 1]
    end
  end
  return counts, state
end

local function delete_counts(counts)
  local page = 1000 -- unpack fails above some thousand
  local fields = { 'since', 'last', 'noted' }
  for field in pairs(counts) do fields[#fields + 1] = field end
  for from = 1, #fields, page do call('HDEL', digest, unpack(fields, from, math.min(from + page - 1, #fields))) end
end

-- add_totals returns all counts of the digest: those of earlier calls and the new ones.
local function add_totals(state, counts)
  if not state.open or not state.totals then return counts end
  local totals = cjson.decode(state.totals)
  for field, n in pairs(counts) do totals[field] = (totals[field] or 0) + n end
  return totals
end

-- silent_categories returns the categories in the counts that have had no admission since a time. If categories may
-- have been forgotten, as those with the oldest admissions are, an unknown one may be as late as the oldest that is
-- known. "other" is no category.
local function silent_categories(counts, since)
  local silent, seen, max_categories, forgotten = {}, { other = true }, 1000, 0
  if call('ZCARD', last_admitted) >= max_categories then
    forgotten = tonumber(call('ZRANGE', last_admitted, 0, 0, 'WITHSCORES')[2])
  end
  for field in pairs(counts) do
    local category = string.match(field, '^[dx]:([^:]*):')
    if category and not seen[category] then
      seen[category] = true
      local at = call('ZSCORE', last_admitted, category)
      if tonumber(at or forgotten) <= since then silent[#silent + 1] = category end
    end
  end
  table.sort(silent)
  return silent
end
