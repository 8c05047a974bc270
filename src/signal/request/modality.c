/*
 * Modality: whether the user asks for a text (AR), an image (DIFFUSION) or both (BOTH), by words.
 *
 * Without words of the configuration it looks for a verb of making near a noun of images, in several
 * languages. It makes no image: a decision sends the request to a model that does.
 */
#include "base/mem.h"
#include "signal/keyword/regex.h"
#include "signal/types.h"
#include "text/terms/match.h"

enum { AR, DIFFUSION, BOTH, LABELS };

/* Confidences of vLLM Semantic Router's words. */
static const float confidences[LABELS] = {0.8f, 0.8f, 0.75f};

#define MAKE "(generate|create|draw|paint|make|render|design|produce|illustrate|sketch|give|show)"

/* Who asks how to do it, or for a program that does it, asks for a text. */
#define ASKED                                                                                                \
    "(?<!how to )(?<!how do i )(?<!how can i )(?<!how do you )(?<!how would i )(?<!how would you )"          \
    "(?<!how should i )(?<!way to )(?<!ways to )(?<!code to )(?<!script to )(?<!function to )"               \
    "(?<!program to )(?<!prompt to )(?<!app to )(?<!tool to )(?<!query to )(?<!command to )"

#define NOUN                                                                                                 \
    "(image|picture|photo|photograph|illustration|drawing|painting|artwork|logo|icon|poster|wallpaper|"      \
    "portrait|sketch|cartoon|avatar|banner|comic)s?\\b"

/* "the big picture" is none, nor is a container's image or what only deals with images. */
#define PICTURE                                                                                              \
    "\\b(?=" NOUN ")(?<!big )(?<!bigger )(?<!clear )(?<!clearer )(?<!full )(?<!overall )(?<!whole )"         \
    "(?<!docker )(?<!container )(?<!disk )(?<!iso )(?<!vm )(?<!system )(?<!boot )(?<!base )" NOUN            \
    "(?!\\s+(classif|caption|process|recogni|galler|upload|file|editor|viewer|tag|url|link|data|class|"      \
    "component|pipeline|thumbnail|model|format|slider|carousel|librar|api\\b|app\\b|hosting|compress|"       \
    "segment|of (how|what|why)\\b))"

static const char *const images[] = {
    "\\b(?=(draw|paint|sketch|illustrate)\\s)" ASKED
    "(draw|paint|sketch|illustrate)\\s+(me\\s+|us\\s+)?(an?|the|some|my|two|three)\\s+(?!conclusion|"
    "distinction|parallel|line|comparison|inference|analogy|picture of how|graph|lesson|point|concept|idea|"
    "difference|principle|argument|proof|plan|outline|solution)",
    "\\b(?=" MAKE "\\b)" ASKED MAKE "\\b(?! (me |us )?(how|why|what|where)\\b)[^.?!\\n]{0,60}" PICTURE,
    "\\b(erstell|erzeug|generier|zeichn|mal|entwirf|mach)(e|en|t|st)?\\b[^.?!\\n]{0,60}"
    "\\b(bild|foto|zeichnung|gemälde|illustration|logo|porträt|poster|skizze)\\w*",
    "\\b(génère|générer|crée|créer|dessine|dessiner|peins|fais)\\b[^.?!\\n]{0,60}"
    "\\b(image|photo|dessin|illustration|peinture|logo|portrait|affiche)s?\\b",
    "\\b(genera|crea|dibuja|pinta|haz)(r|me|nos|rme|rnos|d)?\\b[^.?!\\n]{0,60}"
    "\\b(imagen|foto|dibujo|ilustración|pintura|logo|retrato|cartel)\\w*",
    "(画|绘制|生成|创建|做)[^。？！\\n]{0,20}(图|图片|图像|照片|插画|海报|头像|画像|漫画)|画(一|个|只|张|幅)",
    "(絵|イラスト|画像|写真|ロゴ)[^。？！\\n]{0,12}(描|書|作|生成)",
    "(그림|이미지|사진|일러스트|로고)[^.?!\\n]{0,12}(그려|만들|생성)",
};

/* The text may come after the image, or before it. Words that stand in an image are no text beside it. */
static const char *const texts[] = {
    "\\b(and|then|also|plus|along with|together with|with(?! (a |an |the )?text))\\s+(please\\s+)?(also\\s+)?"
    "(a |an |the |its )?(short |brief |detailed |written )*(explain|describe|write|tell|summari[sz]e|"
    "explanation|description|caption|text|story|poem|summary|article|paragraph|tutorial)",
    "\\b(write|compose|explain|describe|tell|summari[sz]e|translate|answer)\\b[^\\n]{1,200}?"
    "(\\b(and|then|also|plus)|[,;.!?])\\s+(then |now |also |and |please |afterwards,? )*" MAKE "\\b",
    "\\b(und|dazu)\\b[^.?!\\n]{0,30}\\b(erkläre|beschreibe|schreib|erklärung|beschreibung|text)",
    "\\b(schreib|erklär|beschreib|erzähl)\\w*\\b[^\\n]{1,200}?\\b(und|dann|dazu)\\b[^.?!\\n]{0,20}"
    "\\b(erstelle|erzeuge|generiere|zeichne|male|entwirf|mach)",
    "\\b(et|avec)\\b[^.?!\\n]{0,30}\\b(explique|décris|écris|explication|description|texte)",
    "\\b(écris|écrire|explique|décris|raconte)\\b[^\\n]{1,200}?\\b(et|puis|ensuite)\\b[^.?!\\n]{0,20}"
    "\\b(génère|crée|dessine|peins|fais)\\b",
    "\\b(y|con)\\b[^.?!\\n]{0,30}\\b(explica|describe|escribe|explicación|descripción|texto)",
    "\\b(escribe|explica|describe|cuenta)\\b[^\\n]{1,200}?\\b(y|luego|después)\\b[^.?!\\n]{0,20}"
    "\\b(genera|crea|dibuja|pinta|haz)\\b",
    "(并|然后|同时|再)[^。？！\\n]{0,12}(解释|说明|介绍|写|描述)",
    "(写|解释|介绍)[^\\n]{1,60}?(并|然后|同时|再)[^。？！\\n]{0,12}(画|绘制|生成|创建|做)",
};

#define IMAGES (sizeof images / sizeof images[0])
#define TEXTS  (sizeof texts / sizeof texts[0])

/* Words of the configuration, else the expressions. */
struct finder {
    struct sr_matcher *words;
    size_t n_words;
    struct sr_regex *expressions[IMAGES > TEXTS ? IMAGES : TEXTS];
    size_t n_expressions;
};

struct sr_signal_set {
    const struct sr_config_label *rules;
    size_t n;
    struct finder image, both;
};

static void finder_dispose(struct finder *finder)
{
    sr_matcher_free(finder->words);
    for (size_t i = 0; i < finder->n_expressions; i++)
        sr_regex_free(finder->expressions[i]);
}

static void modality_free(struct sr_signal_set *set)
{
    finder_dispose(&set->image);
    finder_dispose(&set->both);
    sr_mem_free(set);
}

static int finder_words(struct finder *finder, const struct sr_strings *words, struct sr_err *err)
{
    struct sr_bytes *literals = sr_mem_calloc(words->count, sizeof *literals);
    if (!literals)
        return SR_ENOMEM;
    for (size_t i = 0; i < words->count; i++)
        literals[i] = sr_bytes_str(words->items[i]);
    finder->n_words = words->count;
    int rc = sr_matcher_new(&finder->words, literals, words->count, false, err);
    sr_mem_free(literals);
    return rc;
}

static int finder_open(struct finder *finder, const struct sr_strings *words, const char *const *expressions,
                       size_t n, struct sr_err *err)
{
    int rc = SR_OK;
    if (words->count)
        return finder_words(finder, words, err);
    for (size_t i = 0; i < n && rc == SR_OK; i++) {
        rc = sr_regex_new(&finder->expressions[i], sr_bytes_str(expressions[i]), false, err);
        finder->n_expressions += rc == SR_OK;
    }
    return rc;
}

static int modality_compile(struct sr_signal_set **out, const struct sr_config *config,
                            struct sr_model_store *models, struct sr_err *err)
{
    struct sr_err why = {0};
    (void)models;
    if (config->n_modalities == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    if (!set)
        return SR_ENOMEM;
    set->rules = config->modalities;
    set->n = config->n_modalities;
    int rc = finder_open(&set->image, &config->global.image_words, images, IMAGES, &why);
    if (rc == SR_OK)
        rc = finder_open(&set->both, &config->global.both_words, texts, TEXTS, &why);
    if (rc) {
        modality_free(set);
        return sr_err_set(err, rc, "global.model_catalog.modules.modality_detector: %s", why.message);
    }
    *out = set;
    return SR_OK;
}

static size_t modality_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *modality_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

static const char *modality_description(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].description;
}

static int find(const struct finder *finder, struct sr_bytes text, struct sr_arena *arena, bool *found)
{
    int rc = SR_OK;
    *found = false;
    if (finder->words) {
        uint32_t *counts = sr_arena_calloc(arena, finder->n_words, sizeof *counts);
        if (!counts)
            return SR_ENOMEM;
        sr_matcher_count(finder->words, text, counts);
        for (size_t i = 0; i < finder->n_words; i++)
            *found |= counts[i] > 0;
    }
    for (size_t i = 0; i < finder->n_expressions && !*found && rc == SR_OK; i++) {
        size_t n = 0;
        rc = sr_regex_count(finder->expressions[i], text, 1, &n);
        *found = n > 0;
    }
    return rc;
}

static int modality_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                        struct sr_arena *arena, struct sr_signal_result *result)
{
    bool image, both = false;
    int rc = find(&set->image, input->text, arena, &image);
    if (rc == SR_OK && image)
        rc = find(&set->both, input->text, arena, &both);
    if (rc)
        return rc;
    result->hits = sr_signal_hits(arena, set->n);
    if (!result->hits)
        return SR_ENOMEM;
    result->n_hits = set->n;
    result->tier = "words";
    int label = !image ? AR : both ? BOTH : DIFFUSION;
    for (size_t i = 0; i < set->n; i++)
        if (set->rules[i].label == label) {
            result->hits[i].matched = true;
            result->hits[i].confidence = confidences[label];
        }
    return SR_OK;
}

const struct sr_signal_ops sr_signal_modality = {
    .name = "modality",
    .header = "x-vsr-matched-modality",
    .header_order = 12,
    .cost_ns_per_kib = 20000,
    .compile = modality_compile,
    .free = modality_free,
    .n_rules = modality_rules,
    .rule_name = modality_name,
    .rule_description = modality_description,
    .run = modality_run,
};
