-- part digest_due: whether a digest must be posted, edited or closed now. state has the fields of the digest's
-- hash.
local function is_digest_due(state)
  local since, open = tonumber(state.since), tonumber(state.open)
  if open then return now >= open + interval or since and now >= tonumber(state.moved) + every end
  if not since then return false end
  local is_early = every > 0 and tonumber(state.noted or 0) >= minimum and now >= since + every / 3
  return is_early or now >= since + interval
end
