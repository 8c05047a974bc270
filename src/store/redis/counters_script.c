/* As limit/window.c counts: parts by their number, of which the last PARTS + 1 are summed. */
#include "store/redis/counters_script.h"

#include "limit/window.h"

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define PARTS      TEXT(SR_WINDOW_PARTS)

#define CLOCK                                                                                                \
    "local t = redis.call('TIME')\n"                                                                         \
    "local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)\n"                                \
    "local function text(n) return string.format('%.0f', n) end\n"

const char sr_redis_counters_take[] =
    CLOCK "local out, all, rows = {1, now}, true, {}\n"
          "for key, most, cost, part, ends in string.gmatch(ARGV[1], '(%S+) (%S+) (%S+) (%S+) (%S+)\\n') do\n"
          "  most, cost, part, ends = tonumber(most), tonumber(cost), tonumber(part), tonumber(ends)\n"
          "  local sum, wait, reset = 0, 0, 0\n"
          "  if ends > 0 then\n"
          "    sum = tonumber(redis.call('GET', key) or '0')\n"
          "    reset = math.max(ends - now, 0)\n"
          "    if sum + cost > most then wait = reset end\n"
          "  else\n"
          "    local newest, fields, parts = math.floor(now / part), redis.call('HGETALL', key), {}\n"
          "    for i = 1, #fields, 2 do\n"
          "      local at = tonumber(fields[i])\n"
          "      if at < newest - " PARTS " then redis.call('HDEL', key, fields[i])\n"
          "      else parts[#parts + 1] = {at, tonumber(fields[i + 1])}; sum = sum + parts[#parts][2] end\n"
          "    end\n"
          "    table.sort(parts, function(a, b) return a[1] < b[1] end)\n"
          "    local left = sum\n"
          "    for _, p in ipairs(parts) do\n"
          "      if left + cost > most then wait = math.max((p[1] + " PARTS " + 1) * part - now, 1) end\n"
          "      left = left - p[2]\n"
          "      reset = math.max((p[1] + " PARTS " + 1) * part - now, 0)\n"
          "    end\n"
          "  end\n"
          "  if cost > most then wait = -1 end\n"
          "  if sum + cost > most then all = false end\n"
          "  rows[#rows + 1] = {key, cost, part, ends}\n"
          "  out[#out + 1] = sum; out[#out + 1] = wait; out[#out + 1] = reset\n"
          "end\n"
          "if not all then out[1] = 0; return out end\n"
          "for _, r in ipairs(rows) do\n"
          "  if r[4] > 0 then\n"
          "    redis.call('INCRBY', r[1], text(r[2])); redis.call('PEXPIREAT', r[1], text(r[4]))\n"
          "  else\n"
          "    redis.call('HINCRBY', r[1], text(math.floor(now / r[3])), text(r[2]))\n"
          "    redis.call('PEXPIRE', r[1], text((" PARTS " + 2) * r[3]))\n"
          "  end\n"
          "end\n"
          "return out\n";

const char sr_redis_counters_change[] = CLOCK
    "for key, part, ends, at, more, less in\n"
    "    string.gmatch(ARGV[1], '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)\\n') do\n"
    "  part, ends, at = tonumber(part), tonumber(ends), tonumber(at)\n"
    "  more, less = tonumber(more), tonumber(less)\n"
    "  if ends > 0 and ends > now then\n"
    "    local had = tonumber(redis.call('GET', key) or '0')\n"
    "    redis.call('SET', key, text(math.max(had - less, 0) + more))\n"
    "    redis.call('PEXPIREAT', key, text(ends))\n"
    "  elseif ends == 0 then\n"
    "    local field = text(math.floor(at / part))\n"
    "    local had = tonumber(redis.call('HGET', key, field) or '0')\n"
    "    if less > 0 and had > 0 then redis.call('HSET', key, field, text(math.max(had - less, 0))) end\n"
    "    if more > 0 then\n"
    "      redis.call('HINCRBY', key, text(math.floor(now / part)), text(more))\n"
    "      redis.call('PEXPIRE', key, text((" PARTS " + 2) * part))\n"
    "    end\n"
    "  end\n"
    "end\n"
    "return 1\n";
