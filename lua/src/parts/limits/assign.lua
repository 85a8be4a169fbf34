-- part limits/assign: give each level its strategy; a level without one is a sliding log.
for i = 1, #levels do
  local level = levels[i]
  local name = level.spec[1]
  if name ~= 'sliding-log' then
    level.strategy = strategies[name]
    level.option = level.spec[2]
    if not level.strategy then return redis.error_reply('ARG level ' .. i .. ' has an unknown strategy') end
    if name == 'gcra' or name == 'gate' then
      local burst = name == 'gate' and 1 or level.option
      level.most = function(w) return min(level.spec[w], 1) * burst end
    end
  end
end
