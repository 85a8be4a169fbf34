-- part batch/enqueue: append the event's payload to the outbox.
if entry ~= '' then
  waiting[#waiting + 1], waiting[#waiting + 2] = number, now_text .. ' ' .. entry
  places[#places + 1], places[#places + 2] = number, number
end
