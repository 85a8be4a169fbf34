-- part messages/dropped: describe drops for the drop log, and count them for the digest.
local dropped, digest_counts = {}, {}

-- drop_of describes why an event was dropped: by its outcome, or by the first level that refuses it.
local function drop_of(event, route)
  local outcome, window = event.outcome, event.window
  local reason = REASONS[outcome]
  local drop = {
    event = payload_of(event.entry), category = event.category, level = reason or 'full', used = '-1',
    limit = '-1', retry_us = int(outcome == DROPPED and event.retry_at - now or 0),
  }
  if reason then return drop end
  for i = FIRST, #route do
    if floor(event.refused / 2 ^ (i - FIRST)) % 2 == 1 then
      local level = levels[route[i]]
      drop.level, drop.used, drop.limit = options.names[route[i]], int(level.used[window]), int(level.spec[window])
      return drop
    end
  end
  return drop
end

-- add_drop does not count suppressed resolves for the digest: nothing was lost.
function messages.add_drop(event, route)
  dropped[#dropped + 1] = drop_of(event, route)
  if not options.digest or event.outcome == SUPPRESSED then return end
  local kind, title = 'd:' .. event.category .. ':' .. event.severity, 't:' .. event.title
  digest_counts[kind] = (digest_counts[kind] or 0) + 1
  digest_counts[title] = (digest_counts[title] or 0) + 1
end
