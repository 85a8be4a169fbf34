-- part digest_due: when to post, edit or close a digest. state has the fields of the digest's hash.

-- digest_due_at returns a time in microseconds, or nil if nothing is counted.
local function digest_due_at(state)
  local since, open = tonumber(state.since), tonumber(state.open)
  if open then return since and min(open + interval, tonumber(state.moved) + every) or open + interval end
  if not since then return nil end
  local is_early = every > 0 and tonumber(state.noted or 0) >= minimum
  return since + (is_early and min(interval, ceil(every / 3)) or interval)
end
