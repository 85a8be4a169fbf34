-- part messages/waiting: an event that waited for a slot, and is asked for again.

-- is_still_waiting: the number may have been given again since it was listed, where this server came back older
-- than it was.
function editor.is_still_waiting(event)
  local number = event.delayed
  return call('ZSCORE', delayed, number .. ' ' .. event.category)
    and payload_of(call('HGET', entries, number) or '') == event.entry
end

-- has_waited_too_long returns whether an event is older than what may wait.
function editor.has_waited_too_long(event)
  local at = tonumber(string.match(call('HGET', entries, event.delayed) or '', '^%d+') or 0)
  return now - at > options.age
end

-- leave takes an event out of the queue.
function editor.leave(event)
  moved[#moved + 1] = { number = event.delayed, category = event.category, has_left = true }
  if is_group(event) and load_message(event.delayed) then forget(event.delayed) end
end

-- adopt has a message that waited for a slot as a group stand for what it reports.
function editor.adopt(event, message)
  local number = event.number
  forget(event.delayed)
  message.at = now_text
  for _, alert in ipairs(message.events) do
    if alert.f then follow(number, message, alert.f) end
  end
  for fingerprint in pairs(message.members or {}) do follow(number, message, fingerprint) end
  if message.bundle then point('b:' .. message.bundle, number) end
  keep(number, event, message)
end
