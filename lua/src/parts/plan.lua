-- part plan: decode and check the plan. MODE is that of the script. Nothing is written before every event is
-- decided.
local seen = KEYS[1]
local keys_before_levels = 7 -- KEYS[keys_before_levels + i] is level i
local call, floor, ceil, max, min = redis.call, math.floor, math.ceil, math.max, math.min

local decoded, plan = pcall(cjson.decode, ARGV[1] or '')
if not decoded or type(plan) ~= 'table' or #KEYS < keys_before_levels then
  return redis.error_reply('ARG seven keys and a plan in JSON are needed')
end
local dedupe, level_specs, routes, fair, options = plan[2], plan[3], plan[4], plan[5], plan[8]
if plan[1] ~= MODE or type(dedupe) ~= 'number' or dedupe <= 0 or not level_specs or not routes then
  return redis.error_reply('ARG the plan needs the mode ' .. MODE .. ', a dedupe time above 0, levels and routes')
end
if fair and next(fair) == nil then fair = nil end
local is_learning = fair and fair.floor

local keys_to_levels = keys_before_levels + #level_specs
local keys_to_mode = keys_to_levels + (is_learning and 2 or 0) + (MODE == 'restore' and 2 or 0)
if #KEYS ~= keys_to_mode + (options and 7 or 0) then
  return redis.error_reply('ARG the number of keys does not fit the levels')
end
local width = (options and 11 or 4) + (MODE == 'restore' and 1 or 0) -- values of an event
if #ARGV <= width or #ARGV % width ~= 1 then
  return redis.error_reply('ARG an event needs id, units, route, entry, with options seven more, to restore its result')
end
