/* Months by the civil calendar (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"). */
#include "router/limit/period.h"

#define DAY_MS UINT64_C(86400000)
/* 1970-01-01 was a Thursday. */
#define DAYS_FROM_MONDAY 3

uint64_t sr_limit_unit_ms(enum sr_limit_unit unit)
{
    static const uint64_t ms[] = {1000, 60000, 3600000, DAY_MS, 7 * DAY_MS, 30 * DAY_MS};
    return ms[unit];
}

const char *sr_limit_unit_name(enum sr_limit_unit unit)
{
    static const char *const names[] = {"second", "minute", "hour", "day", "week", "month"};
    return names[unit];
}

/* Days since 1970 of the first of a month; `month` from 1, 13 is the next year's first. */
static uint64_t days_of(uint64_t year, uint64_t month)
{
    if (month > 12) {
        year++;
        month -= 12;
    }
    uint64_t y = month <= 2 ? year - 1 : year;
    uint64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5;
    uint64_t era = y / 400, of_era = y % 400;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void month_of(uint64_t days, uint64_t *year, uint64_t *month)
{
    uint64_t z = days + 719468, era = z / 146097, day = z % 146097;
    uint64_t of_era = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    uint64_t of_year = day - (365 * of_era + of_era / 4 - of_era / 100), part = (5 * of_year + 2) / 153;
    *month = part < 10 ? part + 3 : part - 9;
    *year = of_era + era * 400 + (*month <= 2);
}

void sr_limit_period(enum sr_limit_unit unit, uint64_t now_ms, uint64_t *begins_ms, uint64_t *ends_ms)
{
    uint64_t days = now_ms / DAY_MS, next = days + 1, year, month;
    if (unit == SR_UNIT_WEEK) {
        days -= (days + DAYS_FROM_MONDAY) % 7 < days ? (days + DAYS_FROM_MONDAY) % 7 : days;
        next = days + 7;
    } else if (unit == SR_UNIT_MONTH) {
        month_of(days, &year, &month);
        days = days_of(year, month);
        next = days_of(year, month + 1);
    }
    *begins_ms = days * DAY_MS;
    *ends_ms = next * DAY_MS;
}
