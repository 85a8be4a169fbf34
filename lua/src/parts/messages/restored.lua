-- part messages/restored: keep the messages of what was admitted while this server was away.
local function open_editor() return open_archive().editor() end

-- remember_waiting keeps the message of an event that still waits.
function messages.remember_waiting(event, at)
  local number = event.number
  admitted[event.category] = true
  entered[number], is_queued[number] = #waiting, true
  if event.status ~= 'resolved' and event.fingerprint ~= '' or options.overflow == 'merge' then
    open_archive()
    archive.remember_new(number, event, int(at))
  end
end

-- remember_delivered keeps the message of an event that was delivered.
function messages.remember_delivered(event, past, at)
  admitted[event.category] = true
  if event.status == 'resolved' or event.status == 'update' then return end
  open_editor().remember_delivered(event, past, at)
end

function messages.end_alert_since(fingerprint, at) open_editor().end_alert_since(fingerprint, at) end

messages.check_types, messages.store = check_kept, store_kept
function messages.finish()
  if archive then archive.finish() end
end
