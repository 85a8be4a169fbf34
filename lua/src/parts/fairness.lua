-- part fairness: how many units of the channel's window a route must leave free for others.
local known_us = 86400000000 -- 24 h: how long a category stays known after its last attempt
local channel_per = levels[1].spec[FIRST + 1]
local known_for = max(known_us, channel_per)
local known, admissions = KEYS[keys_to_levels + 1], KEYS[keys_to_levels + 2]
local attempted, admitted = {}, {} -- categories of this batch
local known_count, admitted_count

-- in_channel_window returns how many units a category has used within the channel's window.
local function in_channel_window(level)
  level.in_channel = level.in_channel or count_log(level.key, channel_per)
  return level.in_channel + level.pending
end

local function last_admission(category)
  if admitted[category] then return now end
  local at = tonumber(call('ZSCORE', admissions, category) or 0)
  return at > now - channel_per and at or nil
end

-- count_known counts the known categories, and those with an admission within the channel's window.
local function count_known(category)
  if not known_count then
    known_count = call('ZCOUNT', known, '(' .. ago(known_for), '+inf')
    admitted_count = call('ZCOUNT', admissions, '(' .. ago(channel_per), '+inf')
  end
  if attempted[category] then return end
  attempted[category] = true
  if tonumber(call('ZSCORE', known, category) or 0) <= now - known_for then known_count = known_count + 1 end
end

-- reserved_by_others returns how many units are reserved for other categories.
local function reserved_by_others(category)
  local units = 0
  for _, reserve in ipairs(fair.reserves or {}) do
    local owner, slots, level = reserve[1], reserve[2], levels[reserve[3]]
    if owner ~= category then units = units + max(0, slots - in_channel_window(level)) end
  end
  return units
end

fairness = {}

-- reserves returns how many units an ordinary event of the route must leave free, how many a first notice, and
-- from when on the next event of the category is one.
function fairness.reserves(route)
  local category = route[CATEGORY]
  local least = max(route[HEADROOM], reserved_by_others(category))
  if is_learning then
    count_known(category)
    local at = last_admission(category)
    if not at then return least, least, now end
    local silent = known_count - admitted_count + max(0, fair.floor - known_count)
    return max(least, silent), least, at + channel_per
  end
  local own = fair.slots and levels[route[CATEGORY_LEVEL]]
  if not own or in_channel_window(own) < fair.per_category then return least, least, now end
  return max(least, fair.slots), least, log_score(own, fair.per_category - 1) + channel_per
end

function fairness.add_admission(category)
  if not is_learning then return end
  if not last_admission(category) then admitted_count = admitted_count + 1 end
  admitted[category] = true
end

-- store writes the categories by their last attempt and last admission. Above the bound, those that were silent
-- longest are forgotten.
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
  keep_us(known, known_for)
  keep_us(admissions, channel_per)
end
