-- part messages/alerts: the alerts that a message reports. A message is followed until all of them are resolved.
-- Those that it lists have "f" (fingerprint) and "r" (when resolved) in its events. The others are its members:
-- fingerprint = when resolved, in seconds, 0 = firing. Of alerts beyond these, only the number is known: "more",
-- and "over" of those that are resolved.
local max_earlier = 16 -- earlier messages of the same alerts, which are changed too when these are resolved

-- state_in returns how a message reports an alert: nil (it does not), "firing" or "over" (resolved).
local function state_in(message, fingerprint)
  local events = message.events
  for i = 1, events and #events or 0 do
    local alert = events[i]
    if alert.f == fingerprint then return alert.r and 'over' or 'firing' end
  end
  local over_at = message.members and message.members[fingerprint]
  if over_at then return over_at > 0 and 'over' or 'firing' end
end

--- @include parts/messages/firing

-- add_earlier notes in a message that an earlier one reports the same alert.
local function add_earlier(message, earlier_number)
  local before = message.before or {}
  message.before = before
  for _, number in ipairs(before) do
    if number == earlier_number then return end
  end
  before[#before + 1] = earlier_number
  if #before > max_earlier then table.remove(before, 1) end
end

-- follow makes a message the newest one of an alert, and notes in it an earlier message that reports the alert as
-- firing.
local function follow(number, message, fingerprint)
  local last, earlier = find('f:' .. fingerprint)
  if last and last ~= number and state_in(earlier, fingerprint) == 'firing' then add_earlier(message, last) end
  point('f:' .. fingerprint, number)
end

local function new_message(category, entry_payload, status, fingerprint)
  local alert = { p = entry_payload }
  if fingerprint ~= '' and status ~= 'resolved' then alert.f = fingerprint end
  return { category = category, at = now_text, events = { alert } }
end

-- count_alerts is how many events a message reports.
local function count_alerts(message)
  local n = #(message.events or {}) + (message.over or 0) + (message.more or 0)
  for _ in pairs(message.members or {}) do n = n + 1 end
  return n
end
