-- part messages/restored: messages that were sent while this server was unavailable.

-- remember_delivered stores the message of an event that was delivered.
function messages.remember_delivered(event, outage, at)
  admitted[event.category] = true
  if event.status == 'resolved' or event.status == 'update' then return end
  open_editor().remember_delivered(event, outage, at)
end

function messages.end_alert_since(fingerprint, at) open_editor().end_alert_since(fingerprint, at) end

messages.check_types, messages.store = check_kept, store_kept
