"""Texts with made-up personal data in 17 types, for training; pii_test_templates.py has others, for measuring.

`make(rng)` returns (text, [(start, end, type)]), offsets in characters. All values are invented: card numbers pass Luhn and
IBANs their checksum because real ones do, telephone numbers use reserved ranges where a country has some.
"""
import random
import string

FIRST = """James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth Sofia Mateo Lucía Diego Camila Hiroshi Yuki Kenji Sakura Wei Li Na Chen Mei Jun Min-ji
Ji-hoon Seo-yeon Aisha Omar Fatima Yusuf Layla Hassan Priya Arjun Ananya Rahul Deepika Ivan Olga Dmitri Natasha Svetlana Pierre Chloé Antoine Margaux Luca Giulia Marco
Francesca Hans Greta Jürgen Anke Lars Ingrid Bjørn Astrid Kwame Ama Chidi Ngozi Thabo Zanele João Ana Rafael Beatriz Piotr Agnieszka Tomasz Zofia Eleni Nikos Dimitra Mehmet
Elif Emre Zeynep Sean Aoife Liam Niamh Thi Minh Linh Anh Siti Budi Dewi Putu Tariq Noor Zara Ibrahim Esther Ruth Samuel Daniel Grace Emily Noah Olivia Ethan Ava Mia Logan
Dorothy Walter Harold Agnes Ruby Oscar Felix Hugo Clara Nora Vera Ivy Hazel Otis Silas Jasper Imani Malik DeShawn Keisha Tyrone Latoya Xochitl Itzel Kai Leilani Mahalia""".split()
LAST = """Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson Thomas Taylor Moore Jackson Martin Lee Perez Thompson
White Harris Sanchez Clark Ramirez Lewis Robinson Walker Young Allen King Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Tanaka Suzuki Sato Yamamoto Wang Zhang Liu
Chen Yang Huang Kim Park Choi Jung Singh Kumar Patel Sharma Gupta Khan Ahmed Hussein Ali Haddad Rahman Ivanov Petrova Smirnov Kuznetsov Dubois Lefèvre Moreau Laurent Rossi Ferrari
Bianchi Esposito Müller Schmidt Schneider Weber Hoffmann Larsen Hansen Johansson Nilsson Virtanen Okafor Mensah Adeyemi Ndlovu Silva Santos Oliveira Costa Kowalski Nowak Wiśniewski
Papadopoulos Yılmaz Demir Kaya O'Brien Murphy Kelly Walsh Tran Pham Le Wijaya Santoso MacDonald Fraser Sinclair Beaumont Whitfield Ashworth Pemberton Holloway Calloway Stone Frost
Abara Diallo Traoré Nakamura Ortega Vargas Castillo Mendoza Novak Horvat Dvořák Popescu Ionescu Kovács Nagy Szabó""".split()
CITIES = """London Paris Berlin Madrid Rome Vienna Lisbon Dublin Oslo Stockholm Helsinki Warsaw Prague Budapest Athens Istanbul Cairo Nairobi Lagos Accra Johannesburg Mumbai Delhi
Bangalore Karachi Dhaka Jakarta Manila Bangkok Hanoi Singapore Tokyo Osaka Seoul Beijing Shanghai Sydney Melbourne Auckland Toronto Vancouver Montreal Chicago Boston Seattle Denver Austin
Houston Miami Atlanta Phoenix Portland Detroit Lima Bogotá Santiago Quito Caracas Montevideo Recife Córdoba Valencia Porto Lyon Marseille Hamburg Munich Cologne Zürich Geneva Turin
Naples Bergen Gothenburg Tampere Kraków Brno Tirana Sofia Bucharest Kyiv Tbilisi Baku Almaty Tehran Baghdad Amman Doha Dubai Muscat Tunis Algiers Rabat Dakar""".split() + \
    ["New York", "Los Angeles", "San Francisco", "Mexico City", "Buenos Aires", "São Paulo", "Rio de Janeiro", "Cape Town", "Hong Kong", "Kuala Lumpur", "Ho Chi Minh City", "Tel Aviv", "Salt Lake City"]
COUNTRIES = """France Germany Spain Italy Portugal Ireland Norway Sweden Finland Denmark Poland Hungary Greece Turkey Egypt Kenya Nigeria Ghana India Pakistan Bangladesh Indonesia Thailand
Vietnam Japan China Australia Canada Mexico Brazil Argentina Chile Peru Colombia Ecuador Uruguay Iran Iraq Jordan Qatar Morocco Senegal Iceland Malta Cyprus Latvia Estonia Croatia Serbia""".split() + \
    ["United States", "USA", "UK", "United Kingdom", "South Korea", "New Zealand", "South Africa", "Saudi Arabia", "the Netherlands", "Czech Republic", "Sri Lanka", "Costa Rica", "Hong Kong", "Puerto Rico"]
STATES = ["California", "Texas", "Ohio", "Oregon", "Nevada", "Florida", "Bavaria", "Ontario", "Queensland", "Tuscany", "Kerala", "Catalonia", "Andalusia", "Brittany", "Scotland", "Hokkaido", "New South Wales", "North Carolina"]
STREETS = "Main Oak Pine Maple Cedar Elm Washington Lake Hill Park Walnut River Church Spring Mill Bridge Station Victoria Queen King High Green Meadow Sunset Franklin Highland Chestnut Willow Harbour Canal Orchard Abbey".split()
KINDS = ["Street", "St", "St.", "Avenue", "Ave", "Road", "Rd", "Lane", "Drive", "Dr", "Boulevard", "Blvd", "Court", "Place", "Way", "Terrace", "Crescent", "Square", "Parkway"]
FOREIGN = ["Rue de la {n}", "Calle {n}", "{n}straße", "{n}strasse", "Via {n}", "Avenida {n}", "Rua {n}", "{n}gatan", "{n}vägen", "{n} utca", "Plaza {n}", "Boulevard {n}", "{n}laan", "ul. {n}", "{n}katu", "Kungs{n}gatan"]
FOREIGN_NAMES = ["Victoire", "Mayor", "Goethe", "Garibaldi", "Libertad", "Flores", "Stor", "Linden", "Haupt", "Petőfi", "Roma", "Republique", "Kirch", "Berg", "Skol", "Wilhelmina", "Długa", "Koski", "Schiller"]
ORGS_A = ["Northwind", "Acme", "Globex", "Initech", "Blue Harbor", "Vertex", "Sunrise", "Redwood", "Silverline", "Quantum", "Evergreen", "Atlas", "Pinnacle", "Lumen", "Cobalt", "Meridian", "Granite", "Falcon", "Zenith", "Orchid",
          "Kestrel", "Halcyon", "Nimbus", "Crestview", "Ironwood", "Bluebird", "Oakridge", "Starling", "Tidewater", "Solstice"]
ORGS_B = ["Ltd", "Inc", "Inc.", "GmbH", "LLC", "Corp", "Group", "Holdings", "Bank", "Logistics", "Foods", "Pharma", "Systems", "Insurance", "Airlines", "Software", "Partners", "Media", "Energy", "& Sons", "AG", "S.A.", "Motors", "Labs", "Consulting"]
ORGS = ["United Nations", "Red Cross", "Microsoft", "Toyota", "Siemens", "Nestlé", "IKEA", "Harvard University", "Stanford", "University of Oxford", "Deutsche Bank", "HSBC", "Pfizer", "Samsung", "NASA", "UNICEF", "the World Bank", "Spotify", "Netflix",
        "Memorial Hospital", "St. Mary's Hospital", "Lincoln High School", "City Council", "Ministry of Health", "Amazon", "Walmart", "Boeing", "Airbus", "Sony", "FIFA", "BBC", "CNN", "Reuters", "Tesla", "Uber"]
NRP = """American British French German Italian Spanish Portuguese Dutch Swedish Norwegian Finnish Polish Russian Ukrainian Turkish Greek Egyptian Nigerian Kenyan Indian Pakistani Chinese Japanese Korean Vietnamese Thai
Filipino Australian Canadian Mexican Brazilian Argentine Chilean Colombian Iranian Iraqi Syrian Israeli Lebanese Moroccan Ethiopian Irish Scottish Welsh Danish Hungarian Czech Romanian Bulgarian Serbian Catholic Protestant Muslim
Jewish Hindu Buddhist Sikh Mormon Baptist Lutheran Methodist Republican Democrat Conservative Labour Socialist Christian Sunni Shia Orthodox Quaker Kurdish Basque Catalan Roma Maori Hispanic Latino Peruvian Cuban""".split()
TITLES = ["Mr.", "Mr", "Mrs.", "Mrs", "Ms.", "Ms", "Miss", "Dr.", "Dr", "Prof.", "Professor", "Sir", "Madam", "Lady", "Rev.", "Capt.", "Sgt.", "Lord", "Dame", "Herr", "Frau", "Señor", "Monsieur"]
WORDS = "meadow lantern harbor pixel quartz delta mirror cobalt ferry sparrow copper willow amber ridge summit orbit cedar maple ember frost river stone cloud nova polar".split()
TLDS = ["com", "org", "net", "io", "co.uk", "de", "fr", "es", "it", "edu", "gov", "info", "biz", "us", "ca", "com.au", "nl", "app", "dev", "se", "jp", "co", "me", "shop"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
STATE_CODES = ["CA", "NY", "TX", "OH", "OR", "NV", "FL", "WA", "IL", "MA", "CO", "GA", "AZ", "NC", "PA", "MI", "VA", "NJ", "MN", "WI"]


def digits(rng, n):
    return "".join(rng.choice(string.digits) for _ in range(n))


def luhn(number):
    total = 0
    for i, c in enumerate(reversed(number)):
        d = int(c)
        if i % 2 == 0:
            d = d * 2 - 9 * (d > 4)
        total += d
    return str(-total % 10)


def CREDIT_CARD(rng):
    kind = rng.choice(["4", "51", "52", "55", "34", "37", "6011", "3528", "30"])
    length = {"34": 15, "37": 15, "30": 14}.get(kind, 16)
    n = kind + digits(rng, length - 1 - len(kind))
    n += luhn(n)
    style = rng.random()
    if style < .45:
        return n
    groups = [4, 6, length - 10] if length < 16 else [4, 4, 4, 4]
    out, at = [], 0
    for g in groups:
        out.append(n[at:at + g])
        at += g
    return rng.choice([" ", "-"]).join(out)


IBANS = {"GB": ("4a14n", 22), "DE": ("18n", 22), "FR": ("23n", 27), "ES": ("20n", 24), "NL": ("4a10n", 18), "IT": ("1a22n", 27), "CH": ("17n", 21), "PL": ("24n", 28), "SE": ("20n", 24), "BE": ("12n", 16), "AT": ("16n", 20), "NO": ("11n", 15), "DK": ("14n", 18), "IE": ("4a14n", 22), "PT": ("21n", 25)}


def IBAN_CODE(rng):
    country = rng.choice(list(IBANS))
    form = IBANS[country][0]
    letters = int(form.split("a")[0]) if "a" in form else 0
    body = "".join(rng.choice(string.ascii_uppercase) for _ in range(letters)) + digits(rng, int(form.split("a")[-1][:-1]))
    value = int("".join(str(int(c, 36)) for c in body + country + "00"))
    iban = f"{country}{98 - value % 97:02d}{body}"
    return " ".join(iban[i:i + 4] for i in range(0, len(iban), 4)) if rng.random() < .4 else iban


def PERSON(rng):
    first, last = rng.choice(FIRST), rng.choice(LAST)
    return rng.choices([f"{first} {last}", first, last, f"{first} {rng.choice(string.ascii_uppercase)}. {last}", f"{first} {rng.choice(FIRST)} {last}", f"{last}, {first}", f"{first[0]}. {last}", f"{first} {last}-{rng.choice(LAST)}"],
                       [10, 5, 2, 1.5, 1, .7, .7, .6])[0]


def AGE(rng):
    n = rng.randint(1, 99)
    return rng.choices([str(n), f"{n} years old", f"{n}-year-old", f"{n} years", f"{n} year old", f"{rng.randint(1, 23)} months old", f"{n}yo"], [6, 2, 1, 1, .6, .4, .3])[0]


def DATE_TIME(rng):
    y, m, d = rng.randint(1930, 2030), rng.randint(1, 12), rng.randint(1, 28)
    h, mi = rng.randint(0, 23), rng.randint(0, 59)
    month = MONTHS[m - 1]
    return rng.choice([f"{y}-{m:02d}-{d:02d}", f"{m}/{d}/{y}", f"{d:02d}.{m:02d}.{y}", f"{month} {d}, {y}", f"{d} {month} {y}", f"{month[:3]} {d}", f"{month} {y}", f"{month} {d}", f"{d}th of {month}", f"{h}:{mi:02d}", f"{h % 12 + 1} pm", f"{h % 12 + 1}:{mi:02d} am",
                       rng.choice(DAYS), f"next {rng.choice(DAYS)}", "yesterday", "tomorrow", "last week", f"{rng.choice(DAYS)}, {month} {d}", f"{y}-{m:02d}-{d:02d} {h:02d}:{mi:02d}", f"{y}-{m:02d}-{d:02d}T{h:02d}:{mi:02d}:00Z", str(y), f"{m:02d}/{d:02d}/{y % 100:02d}", f"{m:02d}/{y % 100:02d}", "two days ago", f"the {rng.randint(1, 9) * 10 + 1900}s"])


def DOMAIN_NAME(rng):
    a, b = rng.sample(WORDS, 2)
    host = rng.choice([a + b, f"{a}-{b}", a, f"{a}{rng.randint(1, 99)}", rng.choice(ORGS_A).replace(" ", "").lower()])
    return rng.choices([f"{host}.{rng.choice(TLDS)}", f"www.{host}.{rng.choice(TLDS)}", f"{rng.choice(['shop', 'mail', 'api', 'blog'])}.{host}.{rng.choice(TLDS)}", f"https://www.{host}.{rng.choice(TLDS)}/", f"http://{host}.{rng.choice(TLDS)}/{b}"], [5, 3, 1, 1, .7])[0]


def EMAIL_ADDRESS(rng):
    first, last = (w.lower().encode("ascii", "ignore").decode().replace("'", "") or "max" for w in (rng.choice(FIRST), rng.choice(LAST)))
    user = rng.choice([f"{first}.{last}", f"{first}{rng.randint(1, 999)}", f"{first[0]}{last}", f"{last}_{first}", first, f"{first}+{rng.choice(WORDS)}", "info", "support", f"{first}-{last}"])
    host = rng.choice(["gmail.com", "yahoo.com", "outlook.com", "example.com", "hotmail.com"]) if rng.random() < .4 else f"{rng.choice(WORDS)}{rng.choice(WORDS)}.{rng.choice(TLDS)}"
    return f"{user}@{host}"


def GPE(rng):
    return rng.choices([rng.choice(CITIES), rng.choice(COUNTRIES), rng.choice(STATES), f"{rng.choice(CITIES)}, {rng.choice(COUNTRIES)}"], [6, 5, 2, .5])[0]


def IP_ADDRESS(rng):
    if rng.random() < .25:
        parts = [f"{rng.randint(0, 65535):x}" for _ in range(8)]
        return rng.choice([":".join(parts), ":".join(parts[:3]) + "::" + parts[4], "2001:db8::" + parts[1]])
    return ".".join(str(rng.randint(0, 255)) for _ in range(4))


def ORGANIZATION(rng):
    return rng.choices([f"{rng.choice(ORGS_A)} {rng.choice(ORGS_B)}", rng.choice(ORGS), f"{rng.choice(LAST)} {rng.choice(ORGS_B)}", f"{rng.choice(LAST)}, {rng.choice(LAST)} and {rng.choice(LAST)}", f"{rng.choice(LAST)}-{rng.choice(LAST)}", rng.choice(ORGS_A),
                        f"University of {rng.choice(CITIES)}", f"{rng.choice(CITIES)} {rng.choice(['Hospital', 'General Hospital', 'High School', 'Police Department', 'City Council', 'Times'])}"], [5, 4, 2, .7, .7, 1, .8, .8])[0]


def PHONE_NUMBER(rng):
    a, b = rng.randint(201, 989), rng.randint(100, 9999)
    return rng.choice([f"({a}) 555-{b:04d}", f"{a}-555-{b:04d}", f"+1 {a} 555 {b:04d}", f"+1-{a}-555-{b:04d}", f"{a}.555.{b:04d}", f"+44 20 7946 {b:04d}", f"+44 7700 900{b % 1000:03d}", f"020 7946 {b:04d}", f"+33 6 39 98 {b // 100:02d} {b % 100:02d}", f"01 99 00 {b // 100:02d} {b % 100:02d}",
                       f"+49 30 {digits(rng, 8)}", f"0{rng.randint(151, 179)} {digits(rng, 8)}", f"+91 9{digits(rng, 4)} {digits(rng, 5)}", f"+81 3-{digits(rng, 4)}-{digits(rng, 4)}", f"+34 6{digits(rng, 2)} {digits(rng, 3)} {digits(rng, 3)}", f"+86 13{digits(rng, 9)}", f"{a}555{b:04d}", f"001-{a}-555-{b:04d}x{digits(rng, 3)}",
                       f"({rng.randint(1, 99):02d}) {digits(rng, 4)} {digits(rng, 4)}", f"{digits(rng, 3)} {digits(rng, 3)} {digits(rng, 4)}", f"0{digits(rng, 2)}-{digits(rng, 7)}", f"+39 06 {digits(rng, 4)} {digits(rng, 4)}"])


def STREET_ADDRESS(rng):
    n = rng.randint(1, 9999)
    if rng.random() < .3:
        street = rng.choice(FOREIGN).format(n=rng.choice(FOREIGN_NAMES))
        base = rng.choice([f"{street} {n % 300}", f"{n % 300} {street}", f"{street} {n % 300}, {digits(rng, 5)} {rng.choice(CITIES)}"])
    else:
        base = f"{n} {some(rng, .15, rng.choice(['N', 'S', 'E', 'W', 'North', 'West']) + ' ')}{rng.choice(STREETS)} {rng.choice(KINDS)}"
    base += some(rng, .25, rng.choice([f" Apt. {n % 900}", f", Apt {n % 90}", f" Suite {n % 900}", f" #{n % 90}", f", Unit {n % 40}", f", Flat {n % 20}"]))
    return base + some(rng, .35, rng.choice([f", {rng.choice(CITIES)}, {rng.choice(STATE_CODES)} {digits(rng, 5)}", f"\n{rng.choice(CITIES)}, {rng.choice(STATE_CODES)} {digits(rng, 5)}", f", {rng.choice(CITIES)}", f"\n{rng.choice(CITIES)}\n {rng.choice(COUNTRIES)} {digits(rng, 5)}", f", {rng.choice(CITIES)}, {rng.choice(COUNTRIES)}"]))


def some(rng, chance, text):
    return text if rng.random() < chance else ""


def US_DRIVER_LICENSE(rng):
    form = rng.choice(["#######", "########", "#########", "?#######", "?########", "??######", "?############", "?##-##-####", "?###-####-####", "###-##-####"[:3] + " ### ###", "?######", "##???####", "?####-#####-#####", "#########"])
    return "".join(rng.choice(string.digits) if c == "#" else rng.choice(string.ascii_uppercase) if c == "?" else c for c in form)


def US_SSN(rng):
    a = rng.choice([i for i in (rng.randint(1, 665), rng.randint(667, 899))])
    form = f"{a:03d}-{rng.randint(1, 99):02d}-{rng.randint(1, 9999):04d}"
    return rng.choices([form, form.replace("-", " "), form.replace("-", "")], [8, 1, 1])[0]


def ZIP_CODE(rng):
    return rng.choices([digits(rng, 5), f"{digits(rng, 5)}-{digits(rng, 4)}", rng.choice(["SW1A 1AA", "EC1A 1BB", f"M{rng.randint(1, 40)} {rng.randint(1, 9)}{rng.choice('ABDEFG')}{rng.choice('LNPQR')}", f"{rng.choice('KLMNPV')}{rng.randint(1, 9)}{rng.choice('ABCE')} {rng.randint(1, 9)}{rng.choice('ABCE')}{rng.randint(1, 9)}"]), digits(rng, 4), digits(rng, 6)], [6, 1.5, 1.5, .5, .5])[0]


def NRP_(rng):
    return rng.choice(NRP) + some(rng, .1, "s")


def TITLE(rng):
    return rng.choice(TITLES)


MAKERS = {"PERSON": PERSON, "AGE": AGE, "CREDIT_CARD": CREDIT_CARD, "DATE_TIME": DATE_TIME, "DOMAIN_NAME": DOMAIN_NAME, "EMAIL_ADDRESS": EMAIL_ADDRESS, "GPE": GPE, "IBAN_CODE": IBAN_CODE, "IP_ADDRESS": IP_ADDRESS, "NRP": NRP_,
          "ORGANIZATION": ORGANIZATION, "PHONE_NUMBER": PHONE_NUMBER, "STREET_ADDRESS": STREET_ADDRESS, "TITLE": TITLE, "US_DRIVER_LICENSE": US_DRIVER_LICENSE, "US_SSN": US_SSN, "ZIP_CODE": ZIP_CODE}
TYPES = sorted(MAKERS)
LABELS = ["O"] + [f"{p}-{t}" for t in TYPES for p in "BI"]

TEMPLATES = """
My name is {PERSON} and I live in {GPE}.|I was born on {DATE_TIME} in {GPE}.|{TITLE} {PERSON} works for {ORGANIZATION}.|Please call {PERSON} on {PHONE_NUMBER} before {DATE_TIME}.|My driver's license number is {US_DRIVER_LICENSE}.
Driver license: {US_DRIVER_LICENSE}, issued {DATE_TIME}|DL# {US_DRIVER_LICENSE}|license no. {US_DRIVER_LICENSE} (state of {GPE})|Her driving licence {US_DRIVER_LICENSE} has expired.|Can you check whether DL {US_DRIVER_LICENSE} is valid? It belongs to {PERSON}.
My SSN is {US_SSN}.|Social security number: {US_SSN}|SSN {US_SSN}, name {PERSON}, DOB {DATE_TIME}|I gave them my social {US_SSN} over the phone.|the last form asks for my social security no. and it's {US_SSN}
My zip code is {ZIP_CODE}.|ZIP: {ZIP_CODE}|postal code {ZIP_CODE}|Do you deliver to {ZIP_CODE}?|The weather in {ZIP_CODE} please|I moved from {ZIP_CODE} to {ZIP_CODE} last year|shipping to {STREET_ADDRESS}, zip {ZIP_CODE}
I am {AGE}.|I'm {AGE} years old.|{PERSON}, {AGE}, of {GPE}|My son is {AGE} and my daughter is {AGE}.|A {AGE} {NRP} patient came in on {DATE_TIME}.|age: {AGE}|He turned {AGE} on {DATE_TIME}.|patient {PERSON}, age {AGE}, admitted to {ORGANIZATION}
She is {NRP}.|My wife is {NRP} and I am {NRP}.|{PERSON} is a {NRP} politician.|We met a group of {NRP} students in {GPE}.|Is there a good {NRP} restaurant near {STREET_ADDRESS}?|He converted and is now {NRP}.|the {NRP} community in {GPE}|I speak {NRP} at home|The {NRP} government replied on {DATE_TIME}
My IP is {IP_ADDRESS}.|Server {IP_ADDRESS} is down since {DATE_TIME}.|ping {IP_ADDRESS}|Login from {IP_ADDRESS} by {EMAIL_ADDRESS}|{DATE_TIME} WARN connection from {IP_ADDRESS} refused|ssh root@{IP_ADDRESS} does not work|allow {IP_ADDRESS} and {IP_ADDRESS} through the firewall
Send it to {EMAIL_ADDRESS}.|{EMAIL_ADDRESS}|e-mail: {EMAIL_ADDRESS}, phone: {PHONE_NUMBER}|From: {PERSON} <{EMAIL_ADDRESS}>|You can reach me at {EMAIL_ADDRESS} or {PHONE_NUMBER}.|cc {EMAIL_ADDRESS} please
Visit {DOMAIN_NAME} for details.|Our site {DOMAIN_NAME} is slow.|whois {DOMAIN_NAME}|I bought it on {DOMAIN_NAME} on {DATE_TIME}.|The domain {DOMAIN_NAME} belongs to {ORGANIZATION}.|{ORGANIZATION} ({DOMAIN_NAME})|go to {DOMAIN_NAME} and log in
My card number is {CREDIT_CARD}.|Charge {CREDIT_CARD}, exp {DATE_TIME}.|card: {CREDIT_CARD} name: {PERSON}|I lost my card {CREDIT_CARD} in {GPE}|visa {CREDIT_CARD} please refund|Is {CREDIT_CARD} a valid card?
My IBAN is {IBAN_CODE}.|Transfer 200 euros to {IBAN_CODE}, {PERSON}.|IBAN {IBAN_CODE} at {ORGANIZATION}|pay the rent to {IBAN_CODE} by {DATE_TIME}|account {IBAN_CODE}
I live at {STREET_ADDRESS}.|Deliver to {STREET_ADDRESS}|address: {STREET_ADDRESS}|{PERSON}\n{STREET_ADDRESS}|{ORGANIZATION}\n{STREET_ADDRESS}\n{PHONE_NUMBER}|Our office moved to {STREET_ADDRESS} on {DATE_TIME}.|the accident happened at {STREET_ADDRESS}
Dear {TITLE} {PERSON},|{TITLE} {PERSON} will see you {DATE_TIME}.|Ask {TITLE} {PERSON} of {ORGANIZATION}.|title: {TITLE} first name: {PERSON}|Good morning {TITLE} {PERSON}, how are you?|I spoke to {TITLE} {PERSON} and {TITLE} {PERSON}
tel {PHONE_NUMBER}|Call me: {PHONE_NUMBER}|my number is {PHONE_NUMBER}, text me {DATE_TIME}|Phone: {PHONE_NUMBER} Fax: {PHONE_NUMBER}|whatsapp {PHONE_NUMBER}|{PERSON} ({PHONE_NUMBER})
Is {ORGANIZATION} hiring in {GPE}?|I work at {ORGANIZATION}.|{ORGANIZATION} was founded by {PERSON} in {DATE_TIME}.|I flew from {GPE} to {GPE} with {ORGANIZATION}.|Write an email to {PERSON} from {ORGANIZATION} about the meeting {DATE_TIME}.
Summarise: {PERSON} met {PERSON} in {GPE} on {DATE_TIME} to talk about {ORGANIZATION}.|Book a table for {PERSON} at {DATE_TIME}.|who is {PERSON}?|{PERSON} and {PERSON} got married {DATE_TIME}.|Tell {PERSON} I said hi|How old is {PERSON}?
{"name": "{PERSON}", "email": "{EMAIL_ADDRESS}", "phone": "{PHONE_NUMBER}", "ip": "{IP_ADDRESS}"}|{"ssn": "{US_SSN}", "dob": "{DATE_TIME}", "zip": "{ZIP_CODE}"}|{"customer": {"age": "{AGE}", "city": "{GPE}", "card": "{CREDIT_CARD}"}}|{"driver_license": "{US_DRIVER_LICENSE}", "holder": "{PERSON}"}
name,age,city\n{PERSON},{AGE},{GPE}\n{PERSON},{AGE},{GPE}|{PERSON};{EMAIL_ADDRESS};{IBAN_CODE}|name: {PERSON}\nage: {AGE}\nnationality: {NRP}\nlicense: {US_DRIVER_LICENSE}\nssn: {US_SSN}|<person><name>{PERSON}</name><zip>{ZIP_CODE}</zip></person>
Hola, me llamo {PERSON} y vivo en {GPE}.|Bonjour, je m'appelle {PERSON}, mon adresse est {STREET_ADDRESS}.|Ich heiße {PERSON} und wohne in {GPE}, Tel. {PHONE_NUMBER}.|Mi chiamo {PERSON}, la mia email è {EMAIL_ADDRESS}.|Meu nome é {PERSON} e meu telefone é {PHONE_NUMBER}.|Mijn IBAN is {IBAN_CODE}.
user: hi, I'm {PERSON}\nassistant: How can I help?\nuser: my order went to {STREET_ADDRESS}|To verify you, I need your SSN. - It is {US_SSN}, and my licence is {US_DRIVER_LICENSE}.|Policy holder {TITLE} {PERSON}, {AGE}, {NRP}, licence {US_DRIVER_LICENSE}, lives at {STREET_ADDRESS}, zip {ZIP_CODE}.
I am a {AGE} {NRP} woman from {GPE}|My passport says {NRP}; born {DATE_TIME}|Meeting with {ORGANIZATION} {DATE_TIME} in {GPE}|Ship {ZIP_CODE} to {ZIP_CODE}|Write a cover letter for {PERSON}, {EMAIL_ADDRESS}, applying to {ORGANIZATION}
"""
PLAIN = ["How do I reset my password?", "What is the weather like?", "Explain photosynthesis in simple words.", "Give me 3 ideas for dinner.", "Version 10.2.14 of the library fails with error 0x80070005.", "The order has 24 items and costs 1299.99.", "x = 3.14 * 12 ** 2",
         "In chapter 12 the hero finds the key.", "Room 2041 is on floor 20.", "def add(a, b): return a + b", "It took 45 minutes and 300 calories.", "ISBN 978-3-16-148410-0 is sold out.", "Invoice no 20391 and ticket 88-1204 are closed.", "She may march in the parade.",
         "Will Rose bushes grow in shade?", "Turkey sandwiches with swiss cheese", "The mark on the bill was faint.", "The card is lost and I want to block it.", "What is an IBAN?", "My street is noisy.", "Is the ZIP archive corrupt?", "doctor appointments are hard to get", "The bank of the river"]
LINES = [t for block in TEMPLATES.strip().split("\n") for t in block.split("|")]


def fill(template, rng, makers=MAKERS):
    text, spans = "", []
    rest = template.replace("\\n", "\n")
    while rest:
        at = min((rest.find("{" + t + "}") for t in makers if "{" + t + "}" in rest), default=-1)
        if at < 0:
            return text + rest, spans
        kind, _, tail = rest[at + 1:].partition("}")
        text += rest[:at]
        value = makers[kind](rng)
        spans.append((len(text), len(text) + len(value), kind))
        text, rest = text + value, tail
    return text, spans


def make(rng):
    if rng.random() < 0.08:
        return rng.choice(PLAIN), []
    text, spans = fill(rng.choice(LINES), rng)
    while rng.random() < 0.25:
        glue = rng.choice([" ", "\n", " " + rng.choice(PLAIN) + " "])
        more, others = fill(rng.choice(LINES), rng)
        spans += [(a + len(text + glue), b + len(text + glue), k) for a, b, k in others]
        text += glue + more
    if rng.random() < 0.12:
        text = rng.choice([text.lower, text.upper])() if len(text.lower()) == len(text) == len(text.upper()) else text
    return text, spans
