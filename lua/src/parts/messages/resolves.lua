-- part messages/resolves: an alert is resolved, or fires again.

-- mark marks an alert in a message as resolved, or as firing again.
local function mark(message, fingerprint, is_over)
  for _, alert in ipairs(message.events or {}) do
    if alert.f == fingerprint then alert.r = is_over and now_text or nil end
  end
  if message.members and message.members[fingerprint] then
    message.members[fingerprint] = is_over and floor(now / 1000000) or 0
  end
end

-- end_alert marks an alert as resolved in all messages that report it, except in the last one if a resolve takes
-- its place. If the message can be edited, its name stays, so that an alert that fires again is found.
local function end_alert(number, message, fingerprint, is_replaced)
  local numbers, seen_numbers, at = { number }, {}, 1
  if is_replaced then numbers = { unpack(message.before or {}) } end
  while numbers[at] and at <= 2 * max_earlier do
    local one = numbers[at]
    local found = not seen_numbers[one] and load_message(one)
    seen_numbers[one], at = true, at + 1
    if found and state_in(found, fingerprint) == 'firing' then
      mark(found, fingerprint, true)
      if can_edit(found) then edit(one, found, now) else change(one, found) end
    end
    for _, earlier in ipairs(found and found.before or {}) do numbers[#numbers + 1] = earlier end
  end
  if not can_edit(message) then point('f:' .. fingerprint) end
end

-- end_counted counts an alert as resolved of which a message knows only the number.
local function end_counted(number, message, fingerprint)
  if (message.more or 0) == 0 then return end
  message.more, message.over = message.more - 1, (message.over or 0) + 1
  point('f:' .. fingerprint)
  edit(number, message, now)
end

editor.end_alert = end_alert
