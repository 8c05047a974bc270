#!/usr/bin/env python3
"""What sentence-transformers says of a few questions and sentences, for tests/integration/test_embeddings.py.

usage: make_similarities.py FOLDER-OF-all-MiniLM-L6-v2   (needs sentence-transformers; writes similarities.json)
"""
import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
from sentence_transformers import SentenceTransformer  # noqa: E402

GROUPS = [
    ("How do I reset my password?",
     ["I forgot my password and cannot log in.", "The invoice of March has not been paid.", "My cat sleeps all day."]),
    ("Solve the equation x^2 - 5x + 6 = 0.",
     ["What are the roots of a quadratic polynomial?", "Translate this letter into French.",
      "Which wine goes with fish?"]),
    ("The server answers with 503 since the deployment.",
     ["After the release our service is unavailable.", "Photosynthesis turns light into sugar.",
      "Book a table for two at eight."]),
    ("Wie setze ich mein Passwort zurück?",
     ["Passwort vergessen, was nun?", "Das Wetter wird morgen schön.", "Ein Rezept für Apfelkuchen."]),
    ("Write a poem about autumn.",
     ["Verses on falling leaves and cold mornings.", "def add(a, b): return a + b", "The GDP grew by two percent."]),
    ("for (int i = 0; i < n; i++) sum += a[i];",
     ["A loop that adds up the elements of an array.", "Flights to Lisbon in May", "Symptoms of a migraine"]),
]


def main():
    model = SentenceTransformer(sys.argv[1], device="cpu")
    out = []
    for query, sentences in GROUPS:
        vectors = model.encode([query, *sentences], normalize_embeddings=True)
        out.append({"query": query, "sentences": sentences,
                    "similarities": [round(float(vectors[0] @ v), 6) for v in vectors[1:]]})
    path = pathlib.Path(__file__).resolve().parent / "similarities.json"
    path.write_text(json.dumps(out, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
