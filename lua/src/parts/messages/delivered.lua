-- part messages/delivered: messages that were posted while this server was unavailable.

-- end_alert_since marks an alert as resolved at a time. A firing after that time is another alert.
function editor.end_alert_since(fingerprint, at)
  local number, message = find('f:' .. fingerprint)
  if number and tonumber(message.at or 0) <= at then end_alert(number, message, fingerprint) end
end

-- remember_delivered stores a posted message. If it is unknown where it is, an older message of the same alert
-- stays the newest one, provided that it can be edited or replied to.
function editor.remember_delivered(event, outage, at)
  local number, category, fingerprint = event.number, event.category, event.fingerprint
  local is_last_of_category = options.overflow == 'merge' and outage.ts
  if fingerprint == '' and not is_last_of_category then return end
  local _, last = find('f:' .. fingerprint)
  if last and not is_unreachable(last) and (not outage.ts or tonumber(last.at or 0) > at) then return end
  local alert = { f = fingerprint ~= '' and fingerprint or nil, p = outage.ts and payload_of(event.entry) or nil }
  local message = {
    category = category, at = int(at), events = { alert }, shown = true, ts = outage.ts, channel = outage.channel,
  }
  if fingerprint ~= '' then follow(number, message, fingerprint) end
  change(number, message)
  if is_last_of_category then point('c:' .. category, number) end
end
