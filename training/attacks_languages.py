"""The languages of attacks_grammar.py: {name: Language}."""
import attacks_germanic_slavic
import attacks_romance
from attacks_grammar import Language

LANGUAGES = {name: Language(name, text) for module in (attacks_romance, attacks_germanic_slavic) for name, text in module.TEXTS.items()}
