-- part limits/log: the sliding log, a sorted set with a member for each unit, score = when it was spent. Every
-- other strategy is a table of functions (limits/strategies); the log has its own, because most levels use it.

-- count_log returns how many units a log has of the last per, those ahead of now included, and how many are
-- older.
local function count_log(key, per)
  local all = call('ZCARD', key)
  if all == 0 then return 0, 0 end
  local old = call('ZCOUNT', key, '-inf', ago(per))
  return all - old, old
end

-- kept_score is the score of the rank-th newest unit that a log contains, from 0.
local function kept_score(level, rank)
  local score = level.scores[rank]
  if not score then
    local text = int(rank)
    score = tonumber(call('ZREVRANGE', level.key, text, text, 'WITHSCORES')[2] or 0)
    level.scores[rank] = score
  end
  return score
end

-- log_score is the score of the rank-th newest unit, those of this batch included. Only units ahead of now, where the
-- clock went back, are newer than those.
local function log_score(level, rank)
  if rank < 0 then return now end
  local before = rank - level.pending
  return max(kept_score(level, rank), before < 0 and now or min(now, kept_score(level, before)))
end

-- log_fits_at returns when units fit into a window of a log. Units that lie too far ahead of now are moved to
-- now; peek only counts them so.
local function log_fits_at(level, w, units, reserved)
  local at = log_score(level, level.spec[w] - units - reserved)
  if at > now + max_step then
    stepped = max(stepped, tonumber(call('ZREVRANGE', level.key, 0, 0, 'WITHSCORES')[2]) - now)
    level.scores, at = {}, now
    local args = {}
    for _, member in ipairs(MODE ~= 'peek' and call('ZRANGEBYSCORE', level.key, '(' .. now_text, '+inf') or {}) do
      args[#args + 1], args[#args + 2] = now_text, member
    end
    for from = 1, #args, max_args do
      call('ZADD', level.key, unpack(args, from, min(from + max_args - 1, #args)))
    end
  end
  return at + level.spec[w + 1]
end
