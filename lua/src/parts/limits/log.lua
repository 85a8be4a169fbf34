-- part limits/log: the sliding log, a sorted set with a member for each unit, score = when it was spent. Every other
-- strategy is a table of functions (limits/strategies); the log has its own, because most levels use it.

-- count_log returns how many units a log has of the last per, those ahead of now included, and how many are older.
local function count_log(key, per)
  local all = call('ZCARD', key)
  if all == 0 then return 0, 0 end
  local old = call('ZCOUNT', key, '-inf', ago(per))
  return all - old, old
end

-- log_score is the score of the rank-th newest unit, from 0; what this batch spent is the newest.
local function log_score(level, rank)
  rank = rank - level.pending
  if rank < 0 then return now end
  if level.read_rank ~= rank then
    local text = int(rank)
    level.read_rank = rank
    level.read_score = tonumber(call('ZREVRANGE', level.key, text, text, 'WITHSCORES')[2] or 0)
  end
  return level.read_score
end
