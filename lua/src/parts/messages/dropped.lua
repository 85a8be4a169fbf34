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
