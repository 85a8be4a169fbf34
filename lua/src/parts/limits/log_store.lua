-- part limits/log_store: write the new units of a log. Members with a score below 0 are the windows that used it
-- within 24 h: "keep:<longest window>:<largest limit>", score = time of the last use, negated. Units are kept as
-- long as any of these windows counts them. Of the units that only another window counts, the newest are kept:
-- twice its limit, so that enough remain after refunds.
local max_old = 32 -- units that no longer count before they are removed
local renew_us = 3600000000 -- 1 h: how old the mark of a window's last use may be
local last_keep, last_largest, own_mark

local function store_log(level)
  local key, members, keep, most, is_fresh = level.key, level.members, level.keep, 0, false
  if keep ~= last_keep or level.largest ~= last_largest then
    last_keep, last_largest, own_mark = keep, level.largest, 'keep:' .. int(keep) .. ':' .. int(level.largest)
  end
  local marks = call('ZRANGEBYSCORE', key, '-inf', '(0', 'WITHSCORES')
  for i = 1, #marks, 2 do
    local used_at = -tonumber(marks[i + 1])
    if marks[i] == own_mark then
      is_fresh = used_at > now - renew_us and used_at <= now
    elseif used_at <= now - remember_us then
      call('ZREM', key, marks[i])
    else
      local per, limit = string.match(marks[i], '^keep:(%d+):(%d+)$')
      keep, most = max(keep, tonumber(per)), max(most, 2 * tonumber(limit))
    end
  end
  if level.old - #marks / 2 > max_old then -- what is old includes the marks
    call('ZREMRANGEBYSCORE', key, 0, ago(keep))
    if keep > level.keep then
      local from = call('ZCOUNT', key, '-inf', '(0')
      local over = min(call('ZCOUNT', key, 0, ago(level.keep)), call('ZCARD', key) - from - most)
      if over > 0 then call('ZREMRANGEBYRANK', key, from, from + over - 1) end
    end
  end
  if not is_fresh then members[#members + 1], members[#members + 2] = int(-now), own_mark end
  for from = 1, #members, max_args do
    call('ZADD', key, unpack(members, from, min(from + max_args - 1, #members)))
  end
  keep_us(key, keep)
end
