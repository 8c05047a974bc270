/* Which questions can share an answer: agreeing and contradicting pairs by reason, and the kept collections.
 */
#include "cache/gate/gate.h"

#include "base/read_file.h"
#include "cache/gate/words.h"
#include "tests/unit/cmocka_all.h"
#include "json/doc.h"

#include <stdio.h>
#include <stdlib.h>

static enum sr_gate_reason check(const char *a, const char *b)
{
    enum sr_gate_reason forth = sr_gate_check(sr_bytes_str(a), sr_bytes_str(b));
    enum sr_gate_reason back = sr_gate_check(sr_bytes_str(b), sr_bytes_str(a));
    assert_int_equal(forth == SR_GATE_AGREES, back == SR_GATE_AGREES);
    return forth;
}

struct pair {
    const char *a, *b;
    enum sr_gate_reason reason;
};

static void each(const struct pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        enum sr_gate_reason reason = check(pairs[i].a, pairs[i].b);
        if (reason != pairs[i].reason)
            fail_msg("`%s` and `%s`: %s, not %s", pairs[i].a, pairs[i].b, sr_gate_reason_names[reason],
                     sr_gate_reason_names[pairs[i].reason]);
    }
}
#define EACH(pairs) each(pairs, sizeof(pairs) / sizeof(pairs)[0])

static void numbers_agree_by_value(void **state)
{
    static const struct pair pairs[] = {
        {"What are two apples worth?", "What are 2 apples worth?", SR_GATE_AGREES},
        {"Is 1,000 enough?", "Is 1000 enough?", SR_GATE_AGREES},
        {"Ist 1.000 genug für die Reise?", "Ist 1000 genug für die Reise?", SR_GATE_AGREES},
        {"Reichen 1,5 Stunden für die Reise?", "Reichen 1.5 Stunden für die Reise?", SR_GATE_AGREES},
        {"Is 1.5 enough for this?", "Is 15 enough for this?", SR_GATE_NUMBER},
        {"Is 1.500 enough for this?", "Is 1500 enough for this?", SR_GATE_NUMBER},
        {"What are twenty five apples worth?", "What are 25 apples worth?", SR_GATE_AGREES},
        {"Write two hundred words", "Write 200 words", SR_GATE_AGREES},
        {"Who was the second king?", "Who was the 2nd king?", SR_GATE_AGREES},
        {"Who was the second king?", "Who was the third king?", SR_GATE_NUMBER},
        {"Is 5 million a lot?", "Is 5,000,000 a lot?", SR_GATE_AGREES},
        {"二十五是多少？", "25是多少？", SR_GATE_AGREES},
        {"三万元够吗？", "30000元够吗？", SR_GATE_AGREES},
        {"两个鸡蛋", "三个鸡蛋", SR_GATE_NUMBER},
        {"How do I use it?", "How do I use 3 of it?", SR_GATE_NUMBER},
    };
    (void)state;
    EACH(pairs);
}

static void units_agree_by_measure(void **state)
{
    static const struct pair pairs[] = {
        {"How long is 1 km?", "How long is 1000 m?", SR_GATE_AGREES},
        {"How long are 5 km?", "How long are 5 kilometres?", SR_GATE_AGREES},
        {"How long are 5km?", "How long are 5 kilometers?", SR_GATE_AGREES},
        {"How long are 5 km?", "How long are 5 miles?", SR_GATE_UNIT},
        {"Is $5 enough?", "Is 5 dollars enough?", SR_GATE_AGREES},
        {"Is $5 enough?", "Is €5 enough?", SR_GATE_UNIT},
        {"Is 20% a lot?", "Is 20 percent a lot?", SR_GATE_AGREES},
        {"Are 90 minutes enough?", "Are 1.5 hours enough?", SR_GATE_AGREES},
        {"5公里有多远？", "5英里有多远？", SR_GATE_UNIT},
    };
    (void)state;
    EACH(pairs);
}

static void dates_agree_in_any_notation(void **state)
{
    static const struct pair pairs[] = {
        {"What happened on March 3, 1998?", "What happened on 1998-03-03?", SR_GATE_AGREES},
        {"What happened on 3 March 1998?", "What happened on March 3rd, 1998?", SR_GATE_AGREES},
        {"Was geschah am 03.03.1998?", "Was geschah am 3. März 1998?", SR_GATE_AGREES},
        {"1998年3月3日发生了什么？", "1998-03-03发生了什么？", SR_GATE_AGREES},
        {"What happened on 2023-04-01?", "What happened on 2023-01-04?", SR_GATE_DATE},
        {"Is it open on Monday?", "Is it open on Tuesday?", SR_GATE_DATE},
        {"Is it open tomorrow?", "Is it open on that day?", SR_GATE_DATE},
        {"Who won in 2014?", "Who won in 2018?", SR_GATE_DATE},
        {"May I smoke?", "may I smoke", SR_GATE_AGREES},
    };
    (void)state;
    EACH(pairs);
}

static void identifiers_and_quotations_are_exact(void **state)
{
    static const struct pair pairs[] = {
        {"Where is order A-10442?", "where is order a-10442", SR_GATE_AGREES},
        {"Where is order A-10442?", "Where is order A-10424?", SR_GATE_IDENTIFIER},
        {"Explain std::map to me", "Explain std::set to me", SR_GATE_IDENTIFIER},
        {"Who owns 10.0.0.1?", "Who owns 10.0.0.7?", SR_GATE_IDENTIFIER},
        {"Open example.com please", "Open example.org please", SR_GATE_IDENTIFIER},
        {"What is in /etc/passwd?", "What is in /etc/shadow?", SR_GATE_IDENTIFIER},
        {"Is plan A better?", "Is plan B better?", SR_GATE_IDENTIFIER},
        {"What does \"break a leg\" mean?", "What does \"break the ice\" mean?", SR_GATE_QUOTED},
        {"What does \"break a leg\" mean?", "What does break a leg mean?", SR_GATE_AGREES},
        {"What does \"Break a leg\" mean?", "What does “break a leg” mean?", SR_GATE_AGREES},
        {"Say \"x\" and \"x\", not x y", "Say \"x\" and \"x y\", not x", SR_GATE_QUOTED},
        {"“画蛇添足”是什么意思？", "“守株待兔”是什么意思？", SR_GATE_QUOTED},
    };
    (void)state;
    EACH(pairs);
}

static void denials_and_opposites_differ(void **state)
{
    static const struct pair pairs[] = {
        {"Should I take it?", "Should I not take it?", SR_GATE_NEGATION},
        {"Why does it work?", "Why doesn't it work?", SR_GATE_NEGATION},
        {"Why doesn’t it work?", "Why does it not work?", SR_GATE_AGREES},
        {"Can I go with a passport?", "Can I go without a passport?", SR_GATE_NEGATION},
        {"Warum geht es nicht?", "Warum geht es?", SR_GATE_NEGATION},
        {"Pourquoi je n'ai pas de carte ?", "Pourquoi j'ai une carte ?", SR_GATE_NEGATION},
        {"Pourquoi je n'ai pas de carte ?", "Pourquoi n'ai-je pas de carte ?", SR_GATE_AGREES},
        {"¿Por qué no funciona?", "¿Por qué funciona?", SR_GATE_NEGATION},
        {"为什么能用？", "为什么不能用？", SR_GATE_NEGATION},
        {"Почему работает?", "Почему не работает?", SR_GATE_NEGATION},
        {"Do all birds fly?", "Do some birds fly?", SR_GATE_QUANTIFIER},
        {"How do I enable sync?", "How do I disable sync?", SR_GATE_POLARITY},
        {"How do I enable sync?", "How can I activate sync?", SR_GATE_AGREES},
        {"Is it compatible?", "Is it incompatible?", SR_GATE_POLARITY},
        {"Wie kann ich das importieren?", "Wie kann ich das exportieren?", SR_GATE_POLARITY},
        {"What is the largest city?", "What is the smallest city?", SR_GATE_COMPARATIVE},
        {"Which cost more than that?", "Which cost less than that?", SR_GATE_COMPARATIVE},
        {"欧洲最大的国家", "欧洲最小的国家", SR_GATE_COMPARATIVE},
    };
    (void)state;
    EACH(pairs);
}

static void small_words_that_change_the_answer_differ(void **state)
{
    static const struct pair pairs[] = {
        /* denials of another kind */
        {"Which plans do not renew?", "Which plans no longer renew?", SR_GATE_NEGATION},
        {"Warum geht das Licht nicht?", "Warum geht das Licht nicht mehr?", SR_GATE_NEGATION},
        {"Pourquoi la lampe ne marche pas ?", "Pourquoi la lampe ne marche plus ?", SR_GATE_NEGATION},
        {"Wir essen Fleisch", "Wir essen kaum Fleisch", SR_GATE_NEGATION},
        {"Why is it not here yet?", "Why is it not here?", SR_GATE_AGREES},
        /* how often, and how many */
        {"Does the bus always stop here?", "Does the bus sometimes stop here?", SR_GATE_QUANTIFIER},
        {"Do plants rarely need light?", "Do plants often need light?", SR_GATE_QUANTIFIER},
        {"Do plants often need light?", "Do plants need light?", SR_GATE_AGREES},
        {"Is all of it taxed?", "Is a quarter of it taxed?", SR_GATE_NUMBER},
        {"Show all payments", "Show recent payments", SR_GATE_WORD},
        {"Which shop has the most parts?", "Which shop has the worst parts?", SR_GATE_WORD},
        {"What are some good hotels?", "What are good hotels?", SR_GATE_AGREES},
        /* who acts, and in which direction */
        {"Wer hat Anna gesehen?", "Wen hat Anna gesehen?", SR_GATE_QUESTION},
        {"Кто любит её?", "Кого любит она?", SR_GATE_QUESTION},
        {"Wohin fährt der Bus?", "Woher fährt der Bus?", SR_GATE_QUESTION},
        {"Куда едет поезд?", "Откуда едет поезд?", SR_GATE_QUESTION},
        {"Wie lange dauert es?", "Wie oft dauert es?", SR_GATE_QUESTION},
        {"Wieviel kostet es?", "Wie viel kostet es?", SR_GATE_AGREES},
        {"卵は何個ですか？いくつですか？", "卵は何個ですか？どのくらいですか？", SR_GATE_AGREES},
        /* words of time that say two things */
        {"上周发生了什么？", "去年发生了什么？", SR_GATE_DATE},
        {"先月の天気は？", "先週の天気は？", SR_GATE_DATE},
        /* what narrows the question */
        {"Is it open on Sunday?", "Is it open until Sunday?", SR_GATE_WORD},
        {"Is it closed on Easter?", "Is it closed the day after Easter?", SR_GATE_WORD},
        {"Who is the mayor?", "Who is the former mayor?", SR_GATE_WORD},
        /* modals of other languages */
        {"Muss der Mieter zahlen?", "Will der Mieter zahlen?", SR_GATE_OBLIGATION},
    };
    (void)state;
    EACH(pairs);
}

static void questions_modals_and_owners_differ(void **state)
{
    static const struct pair pairs[] = {
        {"Who signed it?", "When was it signed?", SR_GATE_QUESTION},
        {"How often do I pay?", "Where do I pay?", SR_GATE_QUESTION},
        {"Can I paint the wall?", "Must I paint the wall?", SR_GATE_OBLIGATION},
        {"Did the price rise?", "Will the price rise?", SR_GATE_OBLIGATION},
        {"What is my address?", "What is your address?", SR_GATE_PERSON},
    };
    (void)state;
    EACH(pairs);
}

static void names_and_roles_differ(void **state)
{
    static const struct pair pairs[] = {
        {"When was Albert Einstein born?", "When was Isaac Newton born?", SR_GATE_NAME},
        {"When was Albert Einstein born?", "when was albert einstein born", SR_GATE_AGREES},
        {"Is Mr Clark in today?", "Is Mr Clarke in today?", SR_GATE_NAME},
        {"Do Americans like Marvel?", "Does an American like Marvel?", SR_GATE_AGREES},
        {"Did Google buy Fitbit?", "Did Fitbit buy Google?", SR_GATE_ROLE},
        {"Did Google buy Fitbit?", "Was Fitbit bought by Google?", SR_GATE_AGREES},
        {"Was Fitbit owned by Google?", "Was Google owned by Fitbit?", SR_GATE_ROLE},
        {"Did the dog bite the man?", "Did the man bite the dog?", SR_GATE_ROLE},
        {"Which trains go from Leeds to York?", "Which trains go to York from Leeds?", SR_GATE_AGREES},
        {"Which trains go from Leeds to York?", "Which trains go from York to Leeds?", SR_GATE_ROLE},
        {"Compare Leeds and York", "Compare York and Leeds", SR_GATE_AGREES},
        {"谷歌收购了腾讯吗？", "腾讯收购了谷歌吗？", SR_GATE_ROLE},
        {"is aspirin safe for dogs", "is ibuprofen safe for dogs", SR_GATE_WORD},
        {"オーストリアの首都は？", "オーストラリアの首都は？", SR_GATE_WORD},
    };
    (void)state;
    EACH(pairs);
}

static void other_wording_agrees(void **state)
{
    static const struct pair pairs[] = {
        {"How do I reset my password?", "how can i reset my password please", SR_GATE_AGREES},
        {"What is the price of this phone?", "How much does this phone cost?", SR_GATE_AGREES},
        {"Where is the nearest lawyer in my town?", "Where is the nearest attorney in my city?",
         SR_GATE_AGREES},
        {"Is the colour of the lorry right?", "Is the color of the truck right?", SR_GATE_AGREES},
        {"Tell me the capital of Austria.", "What is the capital of Austria?", SR_GATE_AGREES},
        {"What's the capital of Austria?", "what is Austria's capital?", SR_GATE_AGREES},
        {"怎么重置密码？", "如何重置密码？", SR_GATE_AGREES},
        {"密码怎么重置？", "如何重置密码？", SR_GATE_AGREES},
        {"Wie setze ich mein Passwort zurück?", "Wie kann ich mein Passwort zurück setzen?", SR_GATE_AGREES},
        {"", "", SR_GATE_AGREES},
        {"\xff\xfe", "\xff\xfe", SR_GATE_AGREES},
    };
    (void)state;
    EACH(pairs);
}

/* Of two languages nothing is known to agree, whichever is asked first. */
static void korean_agrees_with_no_other_language(void **state)
{
    static const struct pair pairs[] = {
        {"려요?", "'il n'a pas?", SR_GATE_WORD},
        {"'il n'a pas?", "려요?", SR_GATE_WORD},
    };
    (void)state;
    EACH(pairs);
}

static void long_texts_agree_when_they_are_equal(void **state)
{
    char *a = malloc(SR_GATE_TEXT_MAX + 2), *b = malloc(SR_GATE_TEXT_MAX + 2);
    (void)state;
    assert_non_null(a);
    assert_non_null(b);
    memset(a, 'a', SR_GATE_TEXT_MAX + 1);
    memset(b, 'a', SR_GATE_TEXT_MAX + 1);
    a[SR_GATE_TEXT_MAX + 1] = b[SR_GATE_TEXT_MAX + 1] = '\0';
    assert_int_equal(check(a, b), SR_GATE_AGREES);
    b[0] = 'b';
    assert_int_equal(check(a, b), SR_GATE_SIZE);
    for (size_t i = 0; i < SR_GATE_TEXT_MAX; i += 2)
        a[i] = b[i] = ' ';
    a[SR_GATE_TEXT_MAX] = b[SR_GATE_TEXT_MAX] = '\0';
    b[1] = 'b';
    assert_int_equal(check(a, b), SR_GATE_SIZE); /* too many words */
    free(a);
    free(b);
}

static void every_word_of_the_table_is_found(void **state)
{
    size_t n = 0;
    (void)state;
    for (size_t i = 0; i < SR_GATE_SLOTS; i++) {
        if (!sr_gate_slots[i])
            continue;
        const struct sr_gate_word *word = &sr_gate_words[sr_gate_slots[i] - 1];
        assert_ptr_equal(sr_gate_find(sr_bytes_str(word->text)), word);
        n++;
    }
    assert_true(n > 3000);
    assert_null(sr_gate_find(SR_LIT("")));
    assert_null(sr_gate_find(SR_LIT("no such word")));
    assert_non_null(sr_gate_find_form(SR_LIT("importing")));
}

/* The share of pairs in a kept file that the gate lets through. */
static double share_that_agrees(const char *name)
{
    struct sr_buf file;
    struct sr_err err = {0};
    char path[512];
    size_t n = 0, agree = 0;
    snprintf(path, sizeof path, SR_SOURCE_DIR "/tests/data/cache/%s", name);
    sr_buf_init(&file, (size_t)8 << 20);
    assert_int_equal(sr_read_file(&file, path, 60000, &err), SR_OK);
    for (struct sr_bytes rest = sr_buf_view(&file); rest.n;) {
        const char *end = memchr(rest.p, '\n', rest.n);
        size_t line = end ? (size_t)(end - rest.p) : rest.n;
        struct sr_doc *doc = NULL;
        assert_int_equal(sr_doc_parse(&doc, sr_bytes_of(rest.p, line), 1 << 16, &err), SR_OK);
        struct sr_bytes a = sr_doc_string(sr_doc_get(sr_doc_root(doc), "a"));
        struct sr_bytes b = sr_doc_string(sr_doc_get(sr_doc_root(doc), "b"));
        enum sr_gate_reason forth = sr_gate_check(a, b);
        assert_int_equal(forth == SR_GATE_AGREES, sr_gate_check(b, a) == SR_GATE_AGREES);
        agree += forth == SR_GATE_AGREES;
        n++;
        sr_doc_free(doc);
        rest = sr_bytes_of(rest.p + line + (end != NULL), rest.n - line - (end != NULL));
    }
    sr_buf_dispose(&file);
    assert_true(n > 100);
    return (double)agree / (double)n;
}

/* What training/figures_cache.py measures with a model's vectors; here every pair counts. */
static void kept_collections(void **state)
{
    (void)state;
    assert_true(share_that_agrees("contradictions.jsonl") < 0.01);
    assert_true(share_that_agrees("paraphrases.jsonl") > 0.55);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_agree_by_value),
        cmocka_unit_test(units_agree_by_measure),
        cmocka_unit_test(dates_agree_in_any_notation),
        cmocka_unit_test(identifiers_and_quotations_are_exact),
        cmocka_unit_test(denials_and_opposites_differ),
        cmocka_unit_test(small_words_that_change_the_answer_differ),
        cmocka_unit_test(questions_modals_and_owners_differ),
        cmocka_unit_test(names_and_roles_differ),
        cmocka_unit_test(other_wording_agrees),
        cmocka_unit_test(korean_agrees_with_no_other_language),
        cmocka_unit_test(long_texts_agree_when_they_are_equal),
        cmocka_unit_test(every_word_of_the_table_is_found),
        cmocka_unit_test(kept_collections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
