/* Reads the two forms of a moment; the days before a date are counted in years of 365 and leap days. */
#include "config/bind/date.h"

static bool read_number(struct sr_bytes text, size_t at, size_t n, int least, int most, int *out)
{
    int value = 0;
    for (size_t i = at; i < at + n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        value = 10 * value + (text.p[i] - '0');
    }
    *out = value;
    return value >= least && value <= most;
}

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

/* Days from 1970 to the first of this month. */
static int64_t days_before(int year, int month)
{
    int past = year - 1;
    int64_t days = (int64_t)(year - 1970) * 365 + past / 4 - past / 100 + past / 400 - 477;
    for (int i = 1; i < month; i++)
        days += days_of(year, i);
    return days;
}

bool sr_date_read(struct sr_bytes text, int64_t *out)
{
    int year, month, day, hour = 0, minute = 0, second = 0;
    if ((text.n != 10 && text.n != 20) || text.p[4] != '-' || text.p[7] != '-' ||
        !read_number(text, 0, 4, 1970, 9999, &year) || !read_number(text, 5, 2, 1, 12, &month) ||
        !read_number(text, 8, 2, 1, days_of(year, month), &day))
        return false;
    if (text.n == 20 &&
        (text.p[10] != 'T' || text.p[13] != ':' || text.p[16] != ':' || text.p[19] != 'Z' ||
         !read_number(text, 11, 2, 0, 23, &hour) || !read_number(text, 14, 2, 0, 59, &minute) ||
         !read_number(text, 17, 2, 0, 59, &second)))
        return false;
    *out = ((days_before(year, month) + day - 1) * 24 + hour) * 3600 + minute * 60 + second;
    return true;
}
