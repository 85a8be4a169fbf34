-- part batch/enqueue: append an admitted event to the outbox, and note its admission.
if entry ~= '' then
  waiting[#waiting + 1], waiting[#waiting + 2] = number, now_text .. ' ' .. entry
  places[#places + 1], places[#places + 2] = number, number
end
if fairness then fairness.add_admission(route[CATEGORY]) end
if messages then
  event.number = number
  messages.remember(event)
end
