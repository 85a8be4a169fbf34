-- part messages/event: name the fields of an event for messages.
if messages then
  event.id, event.category, event.entry, event.number, event.thread = id, route[CATEGORY], entry, false, false
  event.bundle, event.status, event.fingerprint, event.severity, event.title, event.delayed, event.answers =
    unpack(ARGV, at + 4, at + 10)
end
