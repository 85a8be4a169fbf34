-- part levels: check the levels of the plan. The windows of a level are pairs in its spec: spec[w] = limit and
-- spec[w + 1] = per for w = FIRST, FIRST + 2, ...; level.used[w] is how many units it holds. A route is as in the
-- plan: the places of its levels are route[FIRST], route[FIRST + 1], ...
local CATEGORY, HEADROOM, CATEGORY_LEVEL = 1, 2, 3 -- places in a route
local levels = {}
local needs_strategies = false

for i = 1, #level_specs do
  local spec = level_specs[i]
  local level = {
    spec = spec, key = KEYS[keys_before_levels + i], is_shadow = spec[3] == 1,
    keep = 0, largest = 0, -- its longest window, its largest limit
    used = false, pending = 0, members = false, -- units: in its windows, of this batch; members of a log to add
    closed = 0, closed_by = FIRST, old = math.huge, scores = {},
  }
  if #spec < FIRST + 1 or #spec % 2 == 0 then
    return redis.error_reply('ARG level ' .. i .. ' needs a strategy, an option, shadow, and its windows')
  end
  for w = FIRST, #spec, 2 do
    local limit, per = tonumber(spec[w]), tonumber(spec[w + 1])
    if not limit or not per or limit < 0 or per <= 0 then
      return redis.error_reply('ARG level ' .. i .. ' needs a limit of 0 or more and a window above 0')
    end
    if per > level.keep then level.keep = per end
    if limit > level.largest then level.largest = limit end
  end
  if spec[1] ~= 'sliding-log' then needs_strategies = true end
  levels[i] = level
end
