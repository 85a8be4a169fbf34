-- part batch/limits: find out when units fit into a level.
--- @include parts/limits/log
if needs_strategies then
  local strategies = {}
  --- @include parts/limits/strategies
  --- @include parts/limits/assign
end
--- @include parts/limits/fit

if fair then
  --- @include parts/fairness
end
