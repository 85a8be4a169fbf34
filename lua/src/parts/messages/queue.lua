-- part messages/queue: the delayed events, in their order.
local max_delayed_bytes = 8388608
local moved = {} -- events that join or leave the queue: number, category, has_left
local queue_length, queue_bytes

local function length_of_queue()
  queue_length = queue_length or call('ZCARD', delayed)
  return queue_length
end

-- delay adds an event to the queue if that is not full. It sets the event's number and returns its outcome.
local function delay(event)
  queue_bytes = queue_bytes or tonumber(call('HGET', entries, 'delayed') or 0)
  if length_of_queue() >= options.most or queue_bytes >= max_delayed_bytes then return FULL end
  local number = next_number()
  local text = now_text .. ' ' .. event.entry
  queue_length, queue_bytes = queue_length + 1, queue_bytes + #text
  enter(number, text)
  moved[#moved + 1] = { number = number, category = event.category }
  remember_id(event.id)
  event.number = number
  return DELAYED
end

-- wait_behind_others delays an event if others are delayed, to keep the order, and returns its outcome.
local function wait_behind_others(event)
  if MODE == 'admit' and options.overflow == 'delay' and length_of_queue() > 0 then return delay(event) end
end

-- without_firing returns the outcome of a resolve or an update whose firing was never posted, but may be delayed.
-- nil = it is posted, because it is forced.
local function without_firing(event)
  return wait_behind_others(event) or MODE ~= 'force' and SUPPRESSED or nil
end

-- is_refused_by_category returns whether the category level refuses.
local function is_refused_by_category(route, refused)
  for i = FIRST, #route do
    if route[i] == route[CATEGORY_LEVEL] and floor(refused / 2 ^ (i - FIRST)) % 2 == 1 then return true end
  end
  return false
end

-- overflow returns the outcome of an event that levels refuse: delayed, merged or dropped.
function editor.overflow(event, route, refused)
  if options.overflow == 'delay' then return delay(event) end
  if not is_refused_by_category(route, refused) then return DROPPED end
  return count_on_last(event) or DROPPED
end

-- leave removes an event from the queue.
function editor.leave(event)
  moved[#moved + 1] = { number = event.delayed, category = event.category, has_left = true }
  if is_group(event) and load_message(event.delayed) then forget(event.delayed) end
end

-- adopt makes the message of a delayed group the newest one of its alerts.
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
