"""The languages of attacks_grammar.py: {name: Language}."""
import attacks_east_asia
import attacks_further
import attacks_germanic_slavic
import attacks_more
import attacks_romance
import attacks_small
import attacks_west_asia
from attacks_grammar import Language

MODULES = [attacks_romance, attacks_germanic_slavic, attacks_east_asia, attacks_west_asia, attacks_more, attacks_further, attacks_small]
LANGUAGES = {name: Language(name, text) for module in MODULES for name, text in module.TEXTS.items()}
