/* Looks back from the end for a space. */
#include "base/cut.h"

#include <string.h>

#define MARK     " ..."
#define WORD_MAX 60 /* a longer word is cut inside */

void sr_cut_message(char *text, size_t size, int n)
{
    if (n < 0 || (size_t)n < size || size < sizeof MARK + WORD_MAX)
        return;
    size_t room = size - sizeof MARK, end = room;
    while (end > room - WORD_MAX && text[end] != ' ')
        end--;
    if (text[end] != ' ')
        end = room;
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == ','))
        end--;
    memcpy(text + end, MARK, sizeof MARK);
}
