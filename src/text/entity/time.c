/* Dates, times, weekdays and years. Numeric dates of any common order, and English names. */
#include "text/entity/recognisers.h"

#define MONTHS                                                                                               \
    "january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|" \
    "jun|jul|aug|sep|sept|oct|nov|dec"
#define WEEKDAYS "monday|tuesday|wednesday|thursday|friday|saturday|sunday"

/* The end of a whole word of the list at `at`, in any case; 0 for none. */
static size_t word_end(const struct sr_entity_scan *scan, size_t at, const char *words)
{
    for (const char *word = words; *word;) {
        size_t n = strcspn(word, "|"), k = 0;
        while (k < n && at + k < scan->text.n && sr_ascii_lower(scan->text.p[at + k]) == word[k])
            k++;
        if (k == n && !sr_entity_is_word(sr_entity_at(scan, at + n)))
            return at + n;
        word += n + (word[n] == '|');
    }
    return 0;
}

/* Reads one to `most` digits; returns their number. */
static size_t digits(const struct sr_entity_scan *scan, size_t at, size_t most, unsigned *value)
{
    size_t n = 0;
    *value = 0;
    while (n <= most && sr_entity_is_digit(sr_entity_at(scan, at + n))) {
        *value = *value * 10 + (unsigned)(sr_entity_at(scan, at + n) - '0');
        n++;
    }
    return n > most ? 0 : n;
}

static size_t spaces(const struct sr_entity_scan *scan, size_t at)
{
    size_t n = 0;
    while (n < 3 && (sr_entity_at(scan, at + n) == ' ' || sr_entity_at(scan, at + n) == ','))
        n++;
    return n;
}

/* hh:mm, hh:mm:ss, hh pm: the end, 0 for none. */
static size_t clock_end(const struct sr_entity_scan *scan, size_t at)
{
    unsigned hour, minute, second;
    size_t n = digits(scan, at, 2, &hour), end = at + n;
    if (n == 0 || hour > 24)
        return 0;
    bool colon = sr_entity_at(scan, end) == ':';
    if (colon) {
        if (digits(scan, end + 1, 2, &minute) != 2 || minute > 59)
            return 0;
        end += 3;
        if (sr_entity_at(scan, end) == ':' && digits(scan, end + 1, 2, &second) == 2 && second < 61)
            end += 3;
    }
    size_t gap = sr_entity_at(scan, end) == ' ';
    size_t half = word_end(scan, end + gap, "am|pm|a.m|p.m");
    if (half && hour <= 12)
        return half + (scan->text.p[half - 2] == '.' && sr_entity_at(scan, half) == '.');
    if (sr_entity_at(scan, end) == 'Z')
        end++;
    return colon && !sr_entity_goes_on(scan, end) && sr_entity_at(scan, end) != ':' ? end : 0;
}

/* Extends a date by the time that follows it. */
static size_t with_clock(const struct sr_entity_scan *scan, size_t end)
{
    unsigned char c = sr_entity_at(scan, end);
    size_t later = c == 'T' || c == ' ' ? clock_end(scan, end + 1) : 0;
    return later ? later : end;
}

static bool is_day_and_month(unsigned a, unsigned b)
{
    return a >= 1 && b >= 1 && ((a <= 31 && b <= 12) || (a <= 12 && b <= 31));
}

/* 2021-03-14, 14/03/2021, 3.14.21; both separators are equal. */
static size_t numeric_end(const struct sr_entity_scan *scan, size_t at, float *confidence)
{
    unsigned v[3];
    size_t n[3], end = at;
    unsigned char mark = 0;
    for (int i = 0; i < 3; i++) {
        n[i] = digits(scan, end, 4, &v[i]);
        if (n[i] == 0)
            return 0;
        end += n[i];
        if (i == 2)
            break;
        unsigned char c = sr_entity_at(scan, end++);
        if ((c != '-' && c != '/' && c != '.') || (mark && c != mark))
            return 0;
        mark = c;
    }
    unsigned char next = sr_entity_at(scan, end);
    bool goes_on = (next == mark && sr_entity_is_digit(sr_entity_at(scan, end + 1))) ||
                   (sr_entity_goes_on(scan, end) && next != 'T');
    if (goes_on)
        return 0;
    bool year_first =
        n[0] == 4 && v[0] >= 1000 && v[0] < 2200 && n[1] <= 2 && n[2] <= 2 && is_day_and_month(v[1], v[2]);
    bool year_last = n[0] <= 2 && n[1] <= 2 && (n[2] == 4 ? v[2] >= 1000 && v[2] < 2200 : n[2] == 2) &&
                     is_day_and_month(v[0], v[1]);
    if (!year_first && !year_last)
        return 0;
    *confidence = n[2] == 4 || year_first ? 0.95f : mark == '/' ? 0.85f : 0.5f;
    return with_clock(scan, end);
}

/* Day and year, or either, after the name of a month. `at` is after the name. */
static size_t after_month(const struct sr_entity_scan *scan, size_t at, bool *has_number)
{
    unsigned value, year;
    size_t dot = sr_entity_at(scan, at) == '.', gap = spaces(scan, at + dot), start = at + dot + gap;
    size_t n = gap ? digits(scan, start, 4, &value) : 0;
    *has_number = false;
    if (n == 4 && value >= 1000 && value < 2200) {
        *has_number = true;
        return with_clock(scan, start + n);
    }
    if (n == 0 || n > 2 || value < 1 || value > 31)
        return at;
    size_t end = start + n;
    size_t ordinal = word_end(scan, end, "st|nd|rd|th");
    end = ordinal ? ordinal : end;
    if (sr_entity_goes_on(scan, end))
        return at;
    *has_number = true;
    size_t comma = spaces(scan, end);
    if (comma && digits(scan, end + comma, 4, &year) == 4 && year >= 1000 && year < 2200)
        end += comma + 4;
    return with_clock(scan, end);
}

/* 3 March 2021, 3rd of March. */
static size_t day_first(const struct sr_entity_scan *scan, size_t at)
{
    unsigned day, year;
    size_t n = digits(scan, at, 2, &day), end = at + n;
    if (n == 0 || day < 1 || day > 31)
        return 0;
    size_t ordinal = word_end(scan, end, "st|nd|rd|th");
    end = ordinal ? ordinal : end;
    size_t gap = spaces(scan, end) + (sr_entity_at(scan, end) == '-');
    if (!gap)
        return 0;
    size_t of = word_end(scan, end + gap, "of");
    size_t month = word_end(scan, of ? of + 1 : end + gap, MONTHS);
    if (!month)
        return 0;
    size_t before = spaces(scan, month) + (sr_entity_at(scan, month) == '-');
    if (before && digits(scan, month + before, 4, &year) == 4 && year >= 1000 && year < 2200)
        return with_clock(scan, month + before + 4);
    return with_clock(scan, month);
}

/* A year without a date, where the words before it indicate one. */
static size_t lone_year(const struct sr_entity_scan *scan, size_t at)
{
    unsigned year;
    if (digits(scan, at, 4, &year) != 4 || year < 1800 || year > 2100)
        return 0;
    unsigned char next = sr_entity_at(scan, at + 4);
    if (sr_entity_goes_on(scan, at + 4) ||
        ((next == '.' || next == ',') && sr_entity_is_digit(sr_entity_at(scan, at + 5))))
        return 0;
    return sr_entity_word_before(scan, at, 8, "in|since|from|year|until|by|of|during|after|before|around")
               ? at + 4
               : 0;
}

static size_t at_digit(struct sr_entity_scan *scan, size_t at)
{
    float confidence = 0.9f;
    size_t end = numeric_end(scan, at, &confidence);
    if (!end)
        end = day_first(scan, at);
    if (!end && (end = clock_end(scan, at)))
        confidence = 0.8f;
    if (!end && (end = lone_year(scan, at)))
        confidence = 0.72f;
    if (end)
        sr_entity_found(scan, SR_ENTITY_DATE_TIME, at, end, confidence);
    return end;
}

static bool ends_in_day(const struct sr_entity_scan *scan, size_t at)
{
    size_t end = at;
    while (end - at < 10 && sr_entity_is_alpha(sr_entity_at(scan, end)))
        end++;
    return end - at >= 6 && end - at <= 9 && (scan->text.p[end - 1] | 0x20) == 'y' &&
           (scan->text.p[end - 2] | 0x20) == 'a' && (scan->text.p[end - 3] | 0x20) == 'd';
}

size_t sr_entity_date(struct sr_entity_scan *scan, size_t at)
{
    bool has_number;
    unsigned char c = sr_entity_at(scan, at), before = at ? sr_entity_at(scan, at - 1) : 0;
    if (sr_entity_is_digit(c))
        return before == '.' || before == '-' || before == '/' || before == '$' ? 0 : at_digit(scan, at);
    if (!strchr("JFMASONDTWmtwfs", c))
        return 0;
    bool capital = c >= 'A' && c <= 'Z';
    size_t day = ends_in_day(scan, at) ? word_end(scan, at, WEEKDAYS) : 0;
    if (day) {
        size_t gap = spaces(scan, day), month = gap ? word_end(scan, day + gap, MONTHS) : 0;
        size_t end = month ? after_month(scan, month, &has_number) : day;
        sr_entity_found(scan, SR_ENTITY_DATE_TIME, at, end, 0.75f);
        return end;
    }
    size_t month = capital ? word_end(scan, at, MONTHS) : 0;
    if (!month)
        return 0;
    size_t end = after_month(scan, month, &has_number);
    if (has_number)
        sr_entity_found(scan, SR_ENTITY_DATE_TIME, at, end, 0.9f);
    else if (month - at > 3 && !word_end(scan, at, "may|march|august"))
        sr_entity_found(scan, SR_ENTITY_DATE_TIME, at, month, 0.72f);
    return has_number ? end : month;
}
