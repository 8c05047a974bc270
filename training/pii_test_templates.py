"""Texts with made-up personal data for measuring, written apart from pii_templates.py: other sentences, other names, other
makers of values. Training never reads this file.

`make(kind, rng)` returns (text, [(start, end, type)]) with at least one span of the type.
"""
import string

FIRST = "Abigail Benedict Cordelia Desmond Eudora Fergus Gwendolyn Horatio Isolde Jerome Kirsten Leopold Marguerite Nigel Octavia Percival Quentin Rosalind Sebastian Tabitha Ulrich Violet Winston Yolanda Zachary Bogdan Ludmila Reinhold Sigrid Takumi Hana Xiulan Jianguo Sunita Vikram Amara Obinna Rashida Faisal Concepción Ignacio Renata Thiago Maurits Femke Vasilis Katerina Gulsen Baris Ciara Declan".split()
LAST = "Abernathy Blackwood Carrington Delacroix Eastwood Fairbanks Grimaldi Hawthorne Ibsen Jankowski Kensington Lindqvist Montgomery Nakagawa Oppenheimer Pritchard Quigley Rutherford Stavropoulos Thackeray Underwood Vandenberg Wentworth Xiong Yamazaki Zimmerman Achterberg Bhattacharya Chukwu Dlamini Espinoza Fujimoto Gutierrez Hashimoto Iyer Jensen Kruger Lombardi Mukherjee Nkrumah".split()
PLACES = "Edinburgh Manchester Antwerp Rotterdam Stuttgart Salzburg Florence Seville Granada Coimbra Bordeaux Toulouse Gdansk Ljubljana Zagreb Sarajevo Thessaloniki Izmir Alexandria Kampala Lusaka Durban Chennai Kolkata Lahore Colombo Surabaya Cebu Taipei Shenzhen Busan Kyoto Brisbane Perth Wellington Calgary Halifax Baltimore Memphis Nashville Tucson Guadalajara Medellín Asunción Bolivia Nepal Belgium Austria Ukraine Romania Bulgaria Tunisia Ethiopia Tanzania Philippines Malaysia Israel Kuwait Jamaica Cuba Wisconsin Nebraska Alberta Normandy Sicily".split()
GROUPS = ["Hooli", "Stark Industries", "Wayne Enterprises", "Umbrella Corporation", "Soylent Corp", "Cyberdyne Systems", "Tyrell Corporation", "Massive Dynamic", "Dunder Mifflin", "Vandelay Industries", "Barclays", "Unilever", "Volkswagen", "Nintendo", "Lufthansa", "Vodafone",
          "Cornell University", "King's College", "Mercy Hospital", "Greenpeace", "Oxfam", "Interpol", "the European Commission", "Adobe", "Intel", "Pepsi", "Danone", "Bayer AG", "Kellogg & Partners LLP", "Northgate Credit Union", "Silver Fern Dairy Ltd", "Bright Path Academy"]
PEOPLES = ["Austrian", "Belgian", "Swiss", "Croatian", "Slovak", "Ukrainian", "Georgian", "Armenian", "Tunisian", "Ghanaian", "Ethiopian", "Malaysian", "Indonesian", "Nepalese", "Mongolian", "Bolivian", "Venezuelan", "Jamaican", "Icelandic", "Finnish", "Anglican", "Presbyterian", "Catholic", "Buddhist", "Jewish", "Muslim", "Hindu", "Liberal", "Democrats", "Japanese", "Polish", "Mexican"]
CALLED = ["Mr.", "Mrs.", "Ms.", "Dr.", "Miss", "Prof.", "Mr", "Mrs", "Dr", "Sir", "Professor"]
ROADS = ["{n} Birchwood Close", "{n} Larkspur Lane", "{n} Old Mill Road, Flat {m}", "{n} West 45th Street, Apt {m}B", "{n} Juniper Avenue, Springfield, IL {z}", "{n} Harbor View Blvd, Suite {m}", "Rosenweg {m}, {z} Mainz", "{m} rue des Lilas, {z} Nantes", "Calle del Sol {m}, {z} Murcia", "Via Dante {m}", "{n} Pelican Point Dr", "{n} Sycamore St\nDayton, OH {z}", "P.O. Box {n}, Eugene, OR {z}", "{m} Abbots Way"]
HOSTS = ["tulip", "granite", "pepper", "walnut", "juniper", "cactus", "basil", "thunder", "pumpkin", "violin"]


def num(rng, n):
    return "".join(rng.choice(string.digits) for _ in range(n))


def check(number):
    """The digit that makes a card number pass Luhn."""
    odd = sum(int(c) for c in number[-2::-2])
    even = sum(sum(divmod(2 * int(c), 10)) for c in number[-1::-2])
    return str((10 - (odd + even) % 10) % 10)


def card(rng):
    n = rng.choice(["4", "53"])
    n += num(rng, 15 - len(n))
    n += check(n)
    return rng.choice([n, f"{n[:4]} {n[4:8]} {n[8:12]} {n[12:]}", f"{n[:4]}-{n[4:8]}-{n[8:12]}-{n[12:]}"])


def iban(rng):
    country, size = rng.choice([("DE", 18), ("FR", 23), ("ES", 20), ("PT", 21), ("PL", 24), ("CH", 17)])
    body = num(rng, size)
    value = 98 - int(body + str(int(country[0], 36)) + str(int(country[1], 36)) + "00") % 97
    return rng.choice([f"{country}{value:02d}{body}", f"{country}{value:02d} " + " ".join(body[i:i + 4] for i in range(0, size, 4))])


VALUES = {
    "PERSON": lambda r: r.choice([f"{r.choice(FIRST)} {r.choice(LAST)}", f"{r.choice(FIRST)} {r.choice(LAST)}", r.choice(FIRST), f"{r.choice(FIRST)} {r.choice('ABCDEFGH')}. {r.choice(LAST)}"]),
    "AGE": lambda r: r.choice([str(r.randint(3, 97)), f"{r.randint(18, 90)} years old", f"{r.randint(18, 90)}-year-old"]),
    "CREDIT_CARD": card, "IBAN_CODE": iban,
    "DATE_TIME": lambda r: r.choice([f"{r.randint(1, 28)} {r.choice(['Jan', 'Feb', 'August', 'October', 'December'])} {r.randint(1950, 2029)}", f"{r.randint(1, 12)}/{r.randint(1, 28)}/{r.randint(1950, 2029)}", f"{r.randint(1990, 2029)}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}",
                                     f"{r.choice(['March', 'June', 'September'])} {r.randint(1, 28)}", f"{r.randint(1, 11)}:{r.randint(10, 59)} pm", "this Friday", "next Tuesday", "last month", f"the {r.randint(4, 30)}th of May"]),
    "DOMAIN_NAME": lambda r: r.choice([f"{r.choice(HOSTS)}-{r.choice(HOSTS)}.{r.choice(['com', 'eu', 'org', 'net'])}", f"www.{r.choice(HOSTS)}shop.{r.choice(['co.uk', 'com', 'at'])}", f"{r.choice(HOSTS)}{r.randint(1, 99)}.{r.choice(['io', 'ch', 'info'])}"]),
    "EMAIL_ADDRESS": lambda r: f"{r.choice(FIRST).lower()}{r.choice(['.', '_', ''])}{r.choice(LAST).lower()}@{r.choice(HOSTS)}{r.choice(['mail', 'corp', ''])}.{r.choice(['com', 'org', 'eu'])}".replace("ó", "o"),
    "GPE": lambda r: r.choice(PLACES),
    "IP_ADDRESS": lambda r: r.choice([".".join(str(r.randint(1, 254)) for _ in range(4)), ".".join(str(r.randint(1, 254)) for _ in range(4)), ":".join(f"{r.randint(4096, 65535):x}" for _ in range(8))]),
    "NRP": lambda r: r.choice(PEOPLES), "ORGANIZATION": lambda r: r.choice(GROUPS), "TITLE": lambda r: r.choice(CALLED),
    "PHONE_NUMBER": lambda r: r.choice([f"({num(r, 3)}) 555-0{num(r, 3)}", f"+44 161 496 0{num(r, 3)}", f"+1 {r.randint(212, 989)}-555-0{num(r, 3)}", f"0{r.randint(30, 99)} {num(r, 4)} {num(r, 4)}", f"+61 491 570 {num(r, 3)}", f"+49 {r.randint(151, 179)} {num(r, 7)}", f"{r.randint(212, 989)}.555.0{num(r, 3)}"]),
    "STREET_ADDRESS": lambda r: r.choice(ROADS).format(n=r.randint(2, 9800), m=r.randint(2, 90), z=num(r, 5)),
    "US_DRIVER_LICENSE": lambda r: r.choice([r.choice(string.ascii_uppercase) + num(r, 7), num(r, 8), r.choice(string.ascii_uppercase) + num(r, 12), num(r, 9), r.choice("ABCDEFGH") + r.choice("KLMNOP") + num(r, 6)]),
    "US_SSN": lambda r: f"{r.randint(100, 665)}-{r.randint(10, 99)}-{r.randint(1000, 9999)}",
    "ZIP_CODE": lambda r: r.choice([num(r, 5), num(r, 5), f"{num(r, 5)}-{num(r, 4)}"]),
}
LINES = {
    "PERSON": ["The parcel is for [PERSON], who will sign for it.", "Could you ask [PERSON] to review my draft?", "[PERSON] told me that the heating is broken.", "Write a birthday poem for my colleague [PERSON]."],
    "AGE": ["The applicant is [AGE] and lives alone.", "What sport suits somebody who is [AGE]?", "Our dog sitter, [AGE], starts on Monday.", "Patient: male, age [AGE], smoker."],
    "CREDIT_CARD": ["Why was [CREDIT_CARD] declined at the till?", "Please bill the order to [CREDIT_CARD].", "The number on the front reads [CREDIT_CARD]", "Somebody used [CREDIT_CARD] without my permission."],
    "DATE_TIME": ["The lease ends on [DATE_TIME].", "Remind me about the dentist [DATE_TIME].", "The photo was taken on [DATE_TIME] by [PERSON].", "We opened the account on [DATE_TIME]."],
    "DOMAIN_NAME": ["Is [DOMAIN_NAME] a phishing site?", "The certificate of [DOMAIN_NAME] has expired.", "I ordered shoes from [DOMAIN_NAME] and nothing came.", "Please block [DOMAIN_NAME] on the school network."],
    "EMAIL_ADDRESS": ["Forward the contract to [EMAIL_ADDRESS] today.", "My login is [EMAIL_ADDRESS] but the reset link never arrives.", "Contact: [EMAIL_ADDRESS]", "Add [EMAIL_ADDRESS] to the mailing list."],
    "GPE": ["How long is the train ride to [GPE]?", "We are opening a second shop in [GPE].", "Which vaccines do I need for [GPE]?", "My parents moved to [GPE] after the war."],
    "IBAN_CODE": ["The refund should go to [IBAN_CODE].", "Is [IBAN_CODE] the right account for the deposit?", "Beneficiary account [IBAN_CODE], reference 77.", "I mistyped my account, it should be [IBAN_CODE]."],
    "IP_ADDRESS": ["Too many failed logins came from [IP_ADDRESS].", "The printer answers at [IP_ADDRESS].", "Trace the route to [IP_ADDRESS] for me.", "Our gateway has the address [IP_ADDRESS]."],
    "NRP": ["Her grandmother was [NRP].", "I would like to learn about [NRP] wedding customs.", "The [NRP] minister resigned.", "Most of the neighbours are [NRP]."],
    "ORGANIZATION": ["I have an interview at [ORGANIZATION] soon.", "Draft a complaint to [ORGANIZATION] about the late delivery.", "Does [ORGANIZATION] pay its interns?", "She left [ORGANIZATION] to study law."],
    "PHONE_NUMBER": ["Ring the plumber at [PHONE_NUMBER] please.", "Who keeps calling me from [PHONE_NUMBER]?", "Emergency contact: [PHONE_NUMBER]", "Leave a message on [PHONE_NUMBER] if nobody answers."],
    "STREET_ADDRESS": ["The burglary took place at [STREET_ADDRESS].", "Pick me up at [STREET_ADDRESS] please.", "Bill to: [STREET_ADDRESS]", "We rent a flat at [STREET_ADDRESS]."],
    "TITLE": ["Is [TITLE] [PERSON] in the office today?", "Kind regards,\n[TITLE] [PERSON]", "I have an appointment with [TITLE] [PERSON] this week.", "Please thank [TITLE] [PERSON] for the flowers."],
    "US_DRIVER_LICENSE": ["The officer wrote down my driver's license [US_DRIVER_LICENSE].", "Rental agreement, driver license number [US_DRIVER_LICENSE], two drivers.", "I need to renew license [US_DRIVER_LICENSE] at the DMV.", "Driver: [PERSON], DL [US_DRIVER_LICENSE]"],
    "US_SSN": ["HR needs my social security number, which is [US_SSN].", "On line 4 enter SSN [US_SSN].", "Did I just text [US_SSN] to a scammer?", "Taxpayer [PERSON], social [US_SSN]"],
    "ZIP_CODE": ["Find a pharmacy near zip code [ZIP_CODE].", "The form wants a ZIP and mine is [ZIP_CODE].", "Shipping costs to [ZIP_CODE]?", "Which county has the postal code [ZIP_CODE]?"],
}


def make(kind, rng):
    rest, text, spans = rng.choice(LINES[kind]), "", []
    while "[" in rest:
        before, _, tail = rest.partition("[")
        name, _, rest = tail.partition("]")
        value = VALUES[name](rng)
        text += before
        spans.append((len(text), len(text) + len(value), name))
        text += value
    return text + rest, spans
