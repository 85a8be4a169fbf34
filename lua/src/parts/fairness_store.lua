-- part fairness_store: note what was admitted, and write the categories by their last attempt and last admission.
-- Above the bound, those that were silent longest are forgotten.
function fairness.add_admission(category)
  if not is_learning then return end
  if not last_admission(category) then admitted_count = admitted_count + 1 end
  admitted[category] = true
end

function fairness.store()
  if not known_count then return end
  local max_categories = 1000
  for category in pairs(attempted) do call('ZADD', known, now_text, category) end
  for category in pairs(admitted) do call('ZADD', admissions, now_text, category) end
  call('ZREMRANGEBYSCORE', known, '-inf', ago(known_for))
  call('ZREMRANGEBYSCORE', admissions, '-inf', ago(channel_per))
  local over = call('ZCARD', known) - max_categories
  if over > 0 then
    local forgotten = call('ZRANGE', known, 0, over - 1)
    call('ZREM', known, unpack(forgotten))
    call('ZREM', admissions, unpack(forgotten))
  end
  expire(known, ceil(known_for / 1000) + grace_ms)
  expire(admissions, ceil(channel_per / 1000) + grace_ms)
end
