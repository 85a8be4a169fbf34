-- part restore/write_down: write what happened to an event: its message waits, was posted, or is a dead letter.
local dead_letters = {}

-- restore_waiting puts an event into the outbox, with the state of its attempts.
local function restore_waiting(number, entry, outage, at)
  waiting[#waiting + 1], waiting[#waiting + 2] = number, int(at) .. ' ' .. entry
  places[#places + 1], places[#places + 2] = number, number
  if messages then messages.remember(event, int(at)) end
  local fields = {
    attempts = outage.attempts, faults = outage.faults, looked = outage.looked, name = outage.name,
    sent = outage.sent and now - outage.sent, tried = outage.tried and now - outage.tried, again = outage.again and '1',
  }
  for field, value in pairs(fields) do
    if value then
      waiting[#waiting + 1] = number .. ':' .. field
      waiting[#waiting + 1] = type(value) == 'number' and int(value) or value
    end
  end
end

local function write_down(number, entry, outage, result)
  local at = now - (outage.age or 0)
  if messages then
    event.number = number
    if event.status == 'resolved' and event.fingerprint ~= '' then messages.end_alert_since(event.fingerprint, at) end
  end
  if not result then
    restore_waiting(number, entry, outage, at)
  elseif result == 'failed' then
    dead_letters[#dead_letters + 1] = {
      number = number, entry = int(at) .. ' ' .. entry, reason = outage.reason, answer = outage.answer,
      attempts = int(outage.attempts or 0), keep = outage.keep or 1,
    }
  elseif messages and result == 'delivered' then
    messages.remember_delivered(event, outage, at)
  end
end
