"""The languages of attacks_grammar.py: {name: Language}."""
import attacks_east_asia
import attacks_further
import attacks_germanic_slavic
import attacks_more
import attacks_romance
import attacks_west_asia
from attacks_grammar import Language

LANGUAGES = {name: Language(name, text) for module in (attacks_romance, attacks_germanic_slavic, attacks_east_asia, attacks_west_asia, attacks_more, attacks_further) for name, text in module.TEXTS.items()}
