r"""Prose with names in it, and texts that look as if they had personal data and have none: for training.

The marks are those of pii_templates.py. PROSE reads like encyclopaedias, news, histories, mails, minutes, requests to a
model; NOTHING has products, theorems, works, measures, versions, code, logs, arithmetic, and names that are things. Names come
from Faker's locales in Latin script, so that many more cultures stand beside pii_values.py's lists.
"""
import functools
import random
import re

from faker import Faker
from faker.providers.address import it_IT

import pii_templates
from pii_values import MAKERS, NARROW, WORDS

LATIN = """cs_CZ da_DK de_AT de_CH de_DE en_AU en_CA en_GB en_IE en_IN en_NZ en_US es_AR es_CL es_CO es_ES es_MX et_EE fi_FI fr_CA fr_CH fr_FR ga_IE hr_HR
hu_HU id_ID it_IT lt_LT lv_LV nl_BE nl_NL no_NO pl_PL pt_BR pt_PT ro_RO sk_SK sl_SI sv_SE sw tr_TR tw_GH vi_VN zu_ZA yo_NG en_NG en_KE""".split()

PROSE = r"""
{FULL} (born {DATE} in {CITY}) is a {NRP} [[painter~footballer~chemist~novelist~cellist~politician~rower~poet~film director~mathematician~activist~chef~botanist~architect~jurist]].
{FULL} (born {DATE}) is a retired {NRP} [[sprinter~goalkeeper~wrestler~swimmer~judge~diplomat]] who [[competed~played~served]] for {COUNTRY} until {YEAR}.
{FULL} ({YEAR}–{YEAR}) was a {NRP} [[naturalist~bishop~engraver~composer~engineer~general~explorer~historian]] known for [[his~her]] [[maps~letters~operas~work on lichens~studies of tides]].
{LAST} was educated at {ORGANIZATION} and moved to {CITY}, where [[he~she]] met {FULL}.
After the death of [[his~her]] father in {YEAR}, {LAST} inherited the estate and sold it to {FULL} of {CITY}.
The film was directed by {FULL} and stars {FULL}, {FULL} and {FULL} in the leading roles.
The album, produced by {FULL}, features guest vocals from {FULL} and {FULL}.
In {YEAR}, {FULL} defeated {FULL} in the final, and {FULL} won the bronze medal.
The species was first described by {LAST} in {YEAR} from specimens collected near {CITY}.
The genus was named in honour of {FULL}, who collected plants in {COUNTRY}.
The novel follows {FIRST}, a young [[widow~clerk~sailor~student]] who leaves {CITY} after a quarrel with her brother {FIRST}.
It was written by {FULL} and first performed at {ORGANIZATION} on {DATE}.
King {FIRST} married {FIRST} of {STATE} in {YEAR}; their son {FIRST} succeeded him.
Under {FIRST} the dynasty reached its height, but his successor {FIRST} lost most of it to {COUNTRY}.
{LAST} and {LAST} published a proof in {YEAR}, which {LAST} later simplified.
The battle was fought near {CITY} between the forces of General {LAST} and those of {FULL}.
{CITY} is a [[village~town~commune~municipality~parish~district]] in {STATE}, {COUNTRY}. At the last census it had §,§§§ inhabitants.
{CITY} lies on the left bank of the river, twelve kilometres from {CITY} and close to the border with {COUNTRY}.
The railway between {CITY} and {CITY} was opened in {YEAR} and electrified in {YEAR}.
The mayor of {CITY}, {FULL}, said the bridge would reopen in {TITLE=spring~autumn}
{FULL} served as [[minister of finance~speaker~governor~ambassador to~envoy to]] {COUNTRY} under {FULL}.
The company was founded in {CITY} by {FULL} and {FULL} and was later acquired by {ORGANIZATION}.
{ORGANIZATION} appointed {FULL} as its new [[chairman~treasurer~head of research~conductor~coach]] on {DATE}.
{FULL} joined {ORGANIZATION} in {YEAR} and left for {ORGANIZATION} [[three years later~the following season~soon after]].
According to {FULL} of {ORGANIZATION}, the results [[are promising~should be read with care~surprised everyone]].
Critics, among them {FULL}, called the play [[dull~brilliant~uneven]]; {FULL} praised its music.
[[His~Her]] students included {FULL}, {FULL} and {FULL}.
She was the daughter of {FULL} and {FULL}, and the sister of the [[poet~painter~banker]] {FULL}.
He is survived by his wife {FIRST}, his sons {FIRST} and {FIRST}, and five grandchildren.
The church of Saint {FIRST} in {CITY} was rebuilt after the fire of {YEAR}.
The episode was written by {FULL}, with {FULL} as the voice of [[the narrator~the owl~the captain]].
{LAST} scored twice before half-time, and {LAST} added a third from a free kick.
{LAST} [[told reporters~replied~argued~testified~wrote]] that {LAST} had never visited {COUNTRY}.
[["I never wanted to leave,"~"We did our best,"~"It was a mistake,"]] {LAST} told {ORGANIZATION} on {DAY}.
The expedition, led by {FULL}, reached {CITY} in {YEAR} and wintered there.
Among the passengers were {FULL}, {FULL} and a merchant from {CITY}.
{FULL}, better known as {FIRST}, grew up in {CITY} with [[her~his]] grandmother.
The theory was developed independently by {FULL} and {FULL}.
A street in {CITY} is named after {FULL}.
{FULL} was elected to the council in {YEAR}, defeating {FULL} of {ORGANIZATION} by nine votes.
{FULL} translated the epic into [[verse~prose]], and {FULL} illustrated the second edition.
{FULL}'s [[paintings~letters~instruments~notebooks]] are kept at {ORGANIZATION} in {CITY}.
In {COUNTRY}, {FULL} is remembered for [[founding a school for girls~draining the marshes~the reform of the courts]].
{NRP} [[forces~traders~settlers~monks]] reached {CITY} in the late [[summer~winter]] and [[built a fort~took the harbour~founded a monastery]].
The {NRP} [[parliament~army~press~economy]] and the {NRP} [[church~government~league]] [[disagreed~signed a treaty~were at odds]].
Relations between {COUNTRY} and {COUNTRY} worsened when {FULL} refused to [[sign~pay~withdraw]].
Write a short biography of {FULL}, the {NRP} [[inventor~pianist~aviator]].
Who was {FULL} and why did {ORGANIZATION} honour [[him~her]]?
What did {FULL} say to {FULL} in [[the last chapter~that interview~the debate]]?
Summarise the argument between {LAST} and {LAST} about [[inflation~free will~light~trade]].
Compare the styles of {FULL} and {FULL}.
Translate this mail to {FIRST} into {NRP}: [[see you soon~the parcel has arrived~thanks for the flowers]].
hi {FIRST}, [[can you send me the slides~are we still on for lunch~did you get my message]]? thx, {FIRST}
Dear {TITLE} {LAST},\n\nthank you for your letter of {DATE}. We will [[look into it~reply in full shortly]].\n\nYours sincerely,\n{FULL}\n{JOB}\n{ORGANIZATION}
Attendees: {FULL}, {FULL}, {FIRST}\nApologies: {FULL}\n[[Minutes taken by~Chair:]] {FIRST}
{FIRST}: did you call {FIRST}?\n{FIRST}: not yet, I'm at {ORGANIZATION}\n{FIRST}: ok
[[assigned to~reviewed by~reported by~cc]] {FULL}
@{FIRST} can you [[look at this~rebase~approve]]? {FIRST} is on leave until {DATE}
My [[sister~cousin~boss~neighbour~landlord~ex]] {FIRST} [[won't pay me back~moved out~is getting married]] [[what should I do~any advice]]?
I need a toast for {FIRST} and {FIRST}, who are getting married in {CITY}.
Patient {FULL}, seen by {TITLE} {LAST} on {DATE} at {ORGANIZATION}, [[complains of~was referred for~denies]] [[headache~a cough~back pain]].
{FULL} v. {ORGANIZATION}, decided {DATE}: the [[appeal is dismissed~claim succeeds in part~order stands]].
The lease between {FULL} (tenant) and {FULL} (landlord) for {STREET} begins on {DATE}.
Ship to {FULL}, {STREET_ADDRESS}; phone {PHONE_NUMBER}.
Emergency contact: {FULL} ({PHONE_NUMBER}), [[mother~husband~colleague]].
{FULL} <{EMAIL_ADDRESS}> wrote on {STAMP}:
Guest {FULL} checks in on {DATE}, room §§§, card {CREDIT_CARD}.
Account holder {FULL}, IBAN {IBAN_CODE}, [[transfer~refund]] of §§§ euros.
Candidate: {FULL}, {AGE}, {NRP}, lives in {CITY}, currently {JOB} at {ORGANIZATION}.
{FULL}, {AGE}, a [[teacher~nurse~bus driver]] from {CITY}, was rescued after [[two nights~nine hours]].
Police are looking for {FULL}, {AGE}, last seen near {STREET} in {CITY}.
The [[captain~referee~coach]], {FULL}, said {LAST} would miss the match against {ORGANIZATION}.
ligne: {FULL}, {CITY}\nposte: {JOB}
[[Le directeur~La ministre~Le peintre]] {FULL} est né à {CITY} en {YEAR}.
{FULL} wurde in {CITY} geboren und arbeitete später bei {ORGANIZATION}.
{FULL} nació en {CITY} y estudió en {ORGANIZATION}.
{FULL} è nato a {CITY} e vive con {FIRST} a {CITY}.
{FULL} nasceu em {CITY}, filho de {FULL}.
{FULL} werd geboren in {CITY} en speelde voor {ORGANIZATION}.
{FULL} urodził się w {CITY}, a zmarł w {CITY} w {YEAR}.
{FULL} doğdu: {CITY}. Babası {FULL}.
{FULL} föddes i {CITY} och gifte sig med {FULL}.
{FULL} sinh ra tại {CITY} và học ở {ORGANIZATION}.
{FULL} lahir di {CITY}; ia menikah dengan {FULL}.
"""

# Nothing in these is personal data.
NOTHING = r"""
What is §§ * §§?|Compute §§ + §§ - §.|15 * 23|§§ × §§ = ?|Evaluate (§§ - §) / §.|Solve §x + §§ = §§§ for x.|Find all primes between §§ and §§.|§§ divided by § is what?|Is §§§ a perfect square?|what's §§% of §§§
If f(x) = §x^2 - §§x + §, find f(§§).|The sequence §, §§, §§, §§§ continues how?|gcd(§§, §§)|§§ mod §|log base § of §§§|A box holds §§ red and §§ blue balls; what is the chance of drawing § red ones?|x = §§, y = §, z = x - y
A train covers §§§ km in § hours. How fast is it?|There are §§ students in the class and § of them are absent.|A rope of §§ metres is cut into § equal parts.|The rectangle is §§ cm long and §§ cm wide.|She has §§ apples and gives away §.|Add §§ g of salt to § litres of water.
Convert §§ degrees to radians.|The matrix has § rows and §§ columns.|Let n = §§§§§ and k = §§.|The mean of §§, §§ and §§ is §§.§.|The answer is §§.|Question §§: choose one.|Step §: mix §§ ml of the solution.|Round §.§§§§ to two places.
The price rose from $§§ to $§§.|Rate it from 1 to §§.|Write §§§ words about rivers.|Give me §§ ideas for a blog.|List the top §§ sorting algorithms.|Explain it in §§ sentences.|Use at most §§§ tokens.|Chapter §§, page §§§, line §.|See section §.§.§ and table §§.
feudal society was built on land and duty.|In feudal society the lords owned the land and the peasants worked it.|The division of labour in industrial society changed family life.|Hunter-gatherer societies share food.|The nobility lost its privileges after the revolution.|The rise of the middle class changed politics.
Trade routes carried silk, spices and ideas between empires.|The treaty ended the war but not the quarrel.|Monks copied manuscripts by hand for centuries.|The printing press made books cheap.|Bronze tools replaced stone tools slowly.|The plague killed a third of the population.
A republic differs from a monarchy in who holds power.|Mercantilism held that wealth is finite.|What caused the fall of the western empire?|Serfs were bound to the land.|The constitution separates the three powers.|Guilds controlled prices in medieval towns.
Bayes' theorem relates conditional probabilities.|State the Pythagorean theorem.|Newton's second law says force is mass times acceleration.|Use Dijkstra's algorithm for the shortest path.|Apply L'Hôpital's rule.|The Gaussian distribution has two parameters.|Euler's number is about 2.718.|Ohm's law links voltage and current.
The Fourier transform of a pulse is a sinc.|Planck's constant is very small.|Compute the Jacobian and the Hessian.|A Turing machine has an infinite tape.|Use the Runge-Kutta method with step §.§.|A Markov chain has no memory.|Boolean algebra has two values.|The Doppler effect shifts the frequency.
The Krebs cycle happens in mitochondria.|Alzheimer's disease affects memory.|A Petri dish holds the culture.|Golgi bodies package proteins.|The Richter scale is logarithmic.|Parkinson's disease causes tremor.|Use Occam's razor.|The Heimlich manoeuvre clears the airway.
Install Python 3.§§ and pip.|Windows §§ needs § GB of memory.|Upgrade from version §.§.§ to §.§§.§.|An RTX §§§§ has §§ GB of memory.|The iPhone §§ and the Galaxy S§§ differ in size.|Model X§§§ comes with a §§§ W motor.|Java, Rust and Go are compiled.|Use React with TypeScript and Tailwind.
Kubernetes restarts the pod when the probe fails.|Docker builds the image in layers.|Postgres keeps old row versions until vacuum.|Excel stops at a million rows.|Photoshop layers can be grouped.|The Kindle battery lasts for weeks.|Bluetooth 5.§ reaches further.|ChatGPT and Claude are language models.
"Pride and Prejudice" is a novel about manners.|The Lord of the Rings has three volumes.|Hamlet hesitates too long.|The Odyssey tells of a journey home.|The Mona Lisa smiles.|Frankenstein is a story about responsibility.|Snow White ate the apple.|Sherlock solves the case.
def add(a, b):\n    return a + b|for i in range(§§):\n    total += i * §|if (count > §§) {\n    return -1;\n}|int main(void)\n{\n    printf("%d\\n", §§);\n    return 0;\n}|const max = Math.max(...values);|SELECT name, COUNT(*) FROM orders GROUP BY name HAVING COUNT(*) > §§;
import numpy as np\nx = np.zeros((§§, §))|struct node { struct node *next; int value; };|let mut v: Vec<u32> = Vec::with_capacity(§§);|func (s *Server) Close() error {\n\treturn s.listener.Close()\n}|#define BUFFER_SIZE §§§§|git rebase -i HEAD~§|npm install --save-dev eslint|assert len(items) == §§
class Person:\n    def __init__(self, name, age):\n        self.name = name\n        self.age = age|public String getFirstName() { return firstName; }|user.address.street = form.street|INSERT INTO t (id, qty) VALUES (§§, §§);|return { status: §§§, body: null };|margin: §§px auto; color: #§§§§§§;|sleep(§§)|timeout_ms: §§§§|retries: §|chmod 644 file.txt
[INFO] worker § started in §§ ms|ERROR: connection refused (code §§§)|cache hit ratio §§.§%|GET /api/v1/items §§§ §§ms|thread §§ took §.§§ s|heap §§§ MB of §§§ MB|build #§§§§ passed|exit status §|retry § of §|p99 = §§ ms, p50 = § ms|segfault at §§§§§§|step §§§/§§§§ loss=§.§§§§ lr=§e-§
{"id": §§§§, "status": "ok", "items": []}|<div class="card"><p>Hello</p></div>|{"temperature": 0.§, "max_tokens": §§§}|width,height\n§§,§§\n§§,§§|a: §\nb: §§|[§§, §§, §§]|0x§§§§|v§.§.§|sha256:§§§§§§§§|ISBN numbers have thirteen digits.|uuid4() gives a random id|order §§§§§§ has shipped|ticket §§§§§|invoice no. §§§§
The committee approved the budget after a long debate.|Clouds form when moist air cools.|Good soil holds water without drowning the roots.|A contract needs offer and acceptance.|The defendant bears the burden of proof here.|Supply and demand set the price.|Enzymes lower the activation energy.|The kidneys filter the blood.
The patient should rest and drink enough water.|A therapist listens more than she speaks.|The theorem holds for every finite group.|Photosynthesis turns light into sugar.|The nurse checks the chart twice.|The doctor will see you soon.|The teacher asked the class to be quiet.|The king moves one square in any direction.
The president of a club has few powers.|A manager plans, a leader inspires.|Ask your lawyer or your accountant.|The professor said the exam is easy.|The judge sets the date of the hearing.|A user clicks the button and the server answers.|The customer is always right.|Our team ships on time.
Act as an interviewer for a software job.|You are a helpful assistant.|Pretend to be a pirate and tell a joke.|I want you to act as a travel guide.|Write a poem about autumn.|Draft a polite refusal.|Explain recursion to a child.|Fix the grammar of this paragraph.|Suggest a name for my bakery.|How do I boil an egg?
May I come in?|Will you mark the place?|Grant me a wish.|Bill the client.|The rose is red.|Hope is not a plan.|Pat the dog gently.|Frank advice is rare.|An art student drew the olive tree.|Faith, hope and charity.|Dawn broke over the lake.|The drew was called off.|Chase the ball.|Rob the bank, says the villain.|A jade vase.|Summer came early.|Just turkey and china plates.|jordan almonds and brazil nuts|polish the table|a swiss roll
Is it better to rent or to buy?|Mix the flour with the butter and bake it for half an hour.|The bus is late again.|Which vitamin helps against scurvy?|He walked home in the rain.|The cat sleeps on the warm stove.|Turn left after the second traffic light.|Light travels faster than sound.|The meeting could have been a mail.|Two heads are better than one.
Black Friday deals are misleading.|The Big Bang was not an explosion.|The Bill of Rights limits the government.|Cold War budgets grew.|The Industrial Revolution began with textiles.|The Renaissance changed painting.|World War II ended long ago.|The Enlightenment praised reason.|The Great Depression raised unemployment.|The Stone Age lasted long.
Keynesian economics favours spending in a slump.|Freudian theory stresses the unconscious.|Marxist critics read it otherwise.|A Kantian would object.|Darwinian selection acts on variation.|Cartesian coordinates use two axes.|Stoic philosophy praises calm.|Romantic poets loved ruins.|Gothic arches carry weight outward.|Platonic solids are five.
The CPU runs at §.§ GHz with §§ cores.|It weighs §§ kg and is §§§ cm tall.|Blood pressure §§§/§§ is normal.|Take §§ mg twice a day.|Boil for §§ minutes at §§§ °C.|pH §.§ at §§ °C|the ratio is §:§|score §-§|odds of § to §|chapter §§|§§ out of §§|size §§|gate §§|platform §|seat §§|level §§|channel §§|top §§|§§ km/h|§§ mph|§§ dB|§§.§ kHz|§§ kcal
"""

# Where Faker's locales give more than a name alone.
TITLED = re.compile(r"^(?:(?:Dr|Mr|Mrs|Ms|Miss|Prof|Ing|Bc|Mgr|Herr|Frau|Sr|Sra|Sig|Dott|dr|ir|Lic|Dipl|Univ|Univ\.Prof|BSc|MSc|PhDr|MUDr|JUDr|RNDr|Pan|pan|pani|Pani|Hj?|Drs?|tt|Tgk|Ir|R|KH|Puti)\b\.?\s*)+", re.I)


@functools.lru_cache(None)
def names(locale):
    """(whole names, first names, last names, cities) of a locale."""
    fake = Faker(locale)
    fake.seed_instance(7)
    whole = [TITLED.sub("", fake.name()).split(",")[0].strip() for _ in range(260)]
    whole = [n for n in whole if " " in n and "(" not in n and len(n) < 40 and not n.endswith(".") and not re.search(r"\b(?:MD|DDS|PhD|CSc|II|III|IV|B\.|S\.|M\.)", n)]
    first, last = [fake.first_name() for _ in range(160)], [fake.last_name() for _ in range(160)]
    # This locale's cities come from a set, in another order every time.
    cities = random.Random(7).sample(sorted(it_IT.Provider.cities), 80) if locale == "it_IT" else [fake.city() for _ in range(80)]
    return whole, first, last, cities


def varied(kind, rng):
    """A value, half of the names from Faker's locales."""
    if rng.random() < .55 and kind in ("FULL", "PERSON", "FIRST", "LAST", "CITY"):
        whole, first, last, cities = names(rng.choice(LATIN))
        return rng.choice({"FULL": whole, "PERSON": whole + first, "FIRST": first, "LAST": last, "CITY": cities}[kind])
    return NARROW[kind][1](rng) if kind in NARROW else MAKERS[kind](rng)


MARK = re.compile(r"\{([A-Z_]+)(?:=([^}]*))?\}|\[\[(.*?)\]\]|§")


def fill(template, rng, value=varied):
    """(text, [(start, end, type)])"""
    out, spans, at = "", [], 0
    template = template.replace("\\n", "\n").replace("\\t", "\t")
    for m in MARK.finditer(template):
        out += template[at:m.start()]
        at = m.end()
        if m.group(1):
            made = rng.choice(m.group(2).split("~")) if m.group(2) else value(m.group(1), rng)
            if not m.group(2):
                spans.append((len(out), len(out) + len(made), NARROW[m.group(1)][0] if m.group(1) in NARROW else m.group(1)))
            out += made
        else:
            out += rng.choice(m.group(3).split("~")) if m.group(3) is not None else str(rng.randint(0 if at < len(template) and m.start() else 1, 9))
    return out + template[at:], spans


LINES = [line for line in PROSE.split("\n") if line]
EMPTY = [t for line in NOTHING.split("\n") for t in line.split("|") if t]


def prose(rng):
    """One to four sentences of one register, or with nothing between them."""
    text, spans = fill(rng.choice(LINES), rng)
    while rng.random() < .45 and len(text) < 500:
        more = fill(rng.choice(LINES), rng) if rng.random() < .6 else nothing(rng, 1)
        text, spans = pii_templates.join((text, spans), more, rng.choice([" ", " ", " ", "\n", "\n\n"]))
    return text, spans


def nothing(rng, most=4):
    """Texts without personal data."""
    count = rng.randint(1, most)
    return rng.choice([" ", "\n", "\n\n"]).join(fill(rng.choice(EMPTY), rng)[0] for _ in range(count)), []


def word(rng):
    return rng.choice(WORDS)


if __name__ == "__main__":
    rng = random.Random(1)
    for _ in range(12):
        print(prose(rng), nothing(rng))
