-- part messages/earlier: decide a resolve, a repeat or an update by the earlier messages.

-- update replaces the text of an alert in its message: in the outbox, or by an edit.
local function update(number, message, event)
  for _, alert in ipairs(message.events) do
    if alert.f == event.fingerprint then alert.p = payload_of(event.entry) end
  end
  if is_waiting(number) then
    rewrite(number, now_text .. ' ' .. event.entry)
  else
    edit(number, message, now)
  end
  change(number, message)
  remember_id(event.id)
  return MERGED
end

-- is_counted returns whether a message counts the repeats of an alert: by options.repeats, or because somebody
-- acknowledged the message. An alert that fires again after its resolve is not acknowledged.
local function is_counted(message, fingerprint)
  return options.repeats or message.ack and state_in(message, fingerprint) ~= 'over'
end

-- repeat_firing counts a firing on the message that reports it. An alert that was resolved and fires again is
-- counted only while another alert of the message is firing. Otherwise nil is returned.
local function repeat_firing(number, message, event)
  if not number or is_unreachable(message) or not is_counted(message, event.fingerprint) then return nil end
  if MODE == 'promote' and string.find(event.entry, '\n', 1, true) then return nil end
  local at = next_edit(message)
  if state_in(message, event.fingerprint) == 'over' then
    if not is_any_firing(message) then return nil end
    mark(message, event.fingerprint, false)
    at = now
  end
  message.repeats, message.last = (message.repeats or 0) + 1, now_text
  edit(number, message, at)
  remember_id(event.id)
  return MERGED
end

-- supersede puts a resolve in the place of its firing, which still waits.
local function supersede(number, message, event)
  totals.superseded = (totals.superseded or 0) + 1
  end_alert(number, message, event.fingerprint, true)
  rewrite(number, now_text .. ' ' .. event.entry)
  if find('c:' .. message.category) == number then point('c:' .. message.category) end
  point('f:' .. event.fingerprint)
  if message.bundle then point('b:' .. message.bundle) end
  forget(number)
  remember_id(event.id)
  return SUPERSEDING
end

-- resolve returns the outcome of a resolve whose firing a message reports, or nil and the message that it replies
-- to.
local function resolve(number, message, event)
  if count_alerts(message) == 1 and is_waiting(number) then return supersede(number, message, event) end
  if not can_edit(message) then return nil, number end
  local is_only_counted = not state_in(message, event.fingerprint)
  end_alert(number, message, event.fingerprint)
  if is_only_counted then end_counted(number, message, event.fingerprint) end
  remember_id(event.id)
  return MERGED
end

-- by_earlier returns an event's outcome (nil = the levels decide), and the message that it replies to. SUPPRESSED
-- is a resolve or an update whose firing was never posted; it may be delayed.
local function by_earlier(event)
  local status, fingerprint = event.status, event.fingerprint
  if event.reply_to ~= '' then return nil, (find('f:' .. event.reply_to)) end
  if fingerprint == '' or status == '' then return nil end
  local number, message = find('f:' .. fingerprint)
  if status == 'firing' then return repeat_firing(number, message, event) end
  if not number or status == 'resolved' and state_in(message, fingerprint) == 'over' then return SUPPRESSED end
  if status ~= 'update' then return resolve(number, message, event) end
  if is_unreachable(message) then return nil end
  return update(number, message, event)
end
