-- part credential: read how long a Slack credential stays paused, and why.
local function credential_pause()
  local paused_until = tonumber(call('HGET', pause, 'until') or 0)
  if paused_until <= now then return 0, '' end
  return paused_until - now, call('HGET', pause, 'reason') or ''
end
