-- part restore/write_down: write down what became of an event: it waits, with all that is known of its attempts, or it
-- was posted, or it is a dead letter.
local dead_letters = {}

-- restore_waiting puts an event into the outbox, with the state of its attempts.
local function restore_waiting(event, past, at)
  local number = event.number
  waiting[#waiting + 1], waiting[#waiting + 2] = number, int(at) .. ' ' .. event.entry
  places[#places + 1], places[#places + 2] = number, number
  if messages then messages.remember_waiting(event, at) end
  local fields = {
    attempts = past.attempts, faults = past.faults, looked = past.looked, name = past.name,
    sent = past.sent and now - past.sent, tried = past.tried and now - past.tried, again = past.again and '1',
  }
  for field, value in pairs(fields) do
    if value then
      waiting[#waiting + 1] = number .. ':' .. field
      waiting[#waiting + 1] = type(value) == 'number' and int(value) or value
    end
  end
end

local function restore_failed(event, past, at)
  dead_letters[#dead_letters + 1] = {
    number = event.number, entry = int(at) .. ' ' .. event.entry, reason = past.reason, answer = past.answer,
    attempts = int(past.attempts or 0), keep = past.keep or 1,
  }
end

local function write_down(event)
  local past, result = event.past, event.result
  local at = now - (past.age or 0)
  if messages and event.status == 'resolved' and event.fingerprint ~= '' then
    messages.end_alert_since(event.fingerprint, at)
  end
  if not result then
    restore_waiting(event, past, at)
  elseif result == 'failed' then
    restore_failed(event, past, at)
  elseif messages and result == 'delivered' then
    messages.remember_delivered(event, past, at)
  end
end
