-- part batch/store_levels: write the units that were used.
if last_number or stepped > 0 then
  --- @include parts/limits/log_store

  for i = 1, #levels do
    local level = levels[i]
    if fair then
      local channel = level_specs[1]
      level.keep, level.largest = max(level.keep, channel[FIRST + 1]), max(level.largest, channel[FIRST])
    end
    if level.strategy and (level.pending > 0 or level.is_moved) then
      level.strategy.store(level)
    elseif level.members then
      store_log(level)
    end
  end
end
