-- part messages/event: name the fields of an event for messages. All events use one table in turn, for speed.
if messages then
  event.id, event.route, event.entry = id, route, entry
  event.bundle, event.status, event.fingerprint = ARGV[at + 4], ARGV[at + 5], ARGV[at + 6]
  event.severity, event.title, event.delayed, event.answers = ARGV[at + 7], ARGV[at + 8], ARGV[at + 9], ARGV[at + 10]
  event.outcome, event.number, event.is_attached, event.thread, event.lead = nil, nil, false, nil, nil
end
