-- part claim/digest_due: whether digest.lua has something to do. An open digest is edited, and closed at its end.
local function digest_due()
  if digest_interval == 0 then return false end
  local state = call('HMGET', digest, 'since', 'noted', 'open', 'moved')
  local since, events, open, moved = tonumber(state[1]), tonumber(state[2] or 0), tonumber(state[3]), tonumber(state[4])
  if open then return now >= open + digest_interval or since and now >= moved + digest_every end
  if not since then return false end
  local is_early = digest_every > 0 and events >= digest_minimum and now >= since + digest_every / 3
  return is_early or now >= since + digest_interval
end
