"""Texts that we wrote for the small heads: frames with fillers. A group is one frame, so that folds never have
the same frame on both sides."""
import itertools

TOPICS = ["a rainy morning", "two robots", "our summer trip", "a lost dog", "the last train", "an old lighthouse"]
CODE = ["a binary search tree", "a REST endpoint", "a login form", "a CSV file", "quicksort", "a websocket client"]
PIECES = ["this paragraph", "my cover letter", "the following e-mail", "these notes", "this product description"]
THINGS = ["that", "the second part", "this step", "your last point", "the formula", "the part about the loop"]
ANSWERS = ["answer", "result", "number", "date", "explanation", "code", "summary", "translation"]
FACTS = ["the capital of Australia", "the height of Mount Everest", "the boiling point of mercury",
         "the population of Brazil", "the author of War and Peace", "the speed of light", "the first Moon landing",
         "the treaty of Westphalia", "photosynthesis", "the inflation rate of 1980", "vitamin D", "the Nobel Prize of 1921"]
PEOPLE = ["Marie Curie", "Napoleon", "Ada Lovelace", "Nelson Mandela", "Alan Turing", "Cleopatra"]

NO_FACT = [
    ("Write a short story about {}.", TOPICS), ("Write a poem about {}", TOPICS), ("Compose a song about {}.", TOPICS),
    ("Tell me a joke about {}", TOPICS), ("Invent a fairy tale with {}", TOPICS), ("Give me a funny caption for {}", TOPICS),
    ("Write a Python function for {}", CODE), ("Implement {} in Java", CODE), ("Refactor the code of {}", CODE),
    ("Fix the bug in {}", CODE), ("Write unit tests for {}", CODE), ("How do I implement {} in Rust?", CODE),
    ("Debug this error in my {}", CODE), ("Rewrite {} in a friendlier tone", PIECES), ("Shorten {}", PIECES),
    ("Translate {} into German", PIECES), ("Correct the grammar of {}", PIECES), ("Summarize {} in two sentences", PIECES),
    ("What do you think about {}?", TOPICS), ("Which do you like more, tea or {}?", TOPICS),
    ("Help me brainstorm names for {}", TOPICS), ("Make a packing list for {}", TOPICS),
    ("Schreibe ein Gedicht über {}", TOPICS), ("Escribe un cuento sobre {}", TOPICS), ("Écris une chanson sur {}", TOPICS),
    ("Let's play a game about {}", TOPICS), ("Act as a travel guide and greet me, we talk about {}", TOPICS),
    ("Solve 3x + {} = 21", ["4", "5", "7", "11"]), ("What is {} plus 17?", ["12", "8", "33"]),
    ("Plan my week around {}", TOPICS), ("Reply politely to this e-mail about {}", TOPICS),
]
FACT = [
    ("What is {}?", FACTS), ("Is it true what they say about {}?", FACTS), ("Who was {}?", PEOPLE),
    ("When was {} born?", PEOPLE), ("When did {} die, and where?", PEOPLE), ("Verify this claim about {}", FACTS),
    ("Fact check: {}", FACTS), ("Give me sources about {}", FACTS), ("Tell me about the history of {}", FACTS),
    ("How does {} work, with references?", FACTS), ("What year was {}?", FACTS), ("Was ist {}?", FACTS),
    ("¿Cuándo nació {}?", PEOPLE), ("Quelle est {} ?", FACTS), ("How many people know {}, according to studies?", FACTS),
    ("Explain {} and cite your sources", FACTS), ("Did {} win the Nobel Prize?", PEOPLE), ("Which country has {}?", FACTS),
]
FEEDBACK = {
    "satisfied": [
        ("Thanks, {}", ["that helps", "perfect", "this is exactly what I needed", "that works", "got it"]),
        ("Thank you so much, {}", ["great answer", "that solved it", "very clear", "you are a star"]),
        ("{}, thank you!", ["Great", "Perfect", "Awesome", "That worked", "Excellent explanation", "Very helpful"]),
        ("That {} worked", ["solution", "fix", "command", "approach"]),
        ("{}. Exactly what I was looking for.", ["Yes", "Great", "Nice"]), ("Great {}", ANSWERS), ("I like this {}", ANSWERS),
        ("Now it {}", ["works, thanks", "makes sense, thanks", "is clear, thank you"]), ("Perfect{}", ["", "!", ", I love it"]),
        ("Danke, {}", ["das hilft mir", "perfekt", "das hat funktioniert"]), ("Gracias, {}", ["muy útil", "perfecto"]),
        ("Merci, {}", ["c'est parfait", "très clair"]), ("{}", ["谢谢，很有帮助", "太好了，谢谢", "ありがとう、完璧です"]),
        ("That is a good {}", ANSWERS), ("Well done, {}", ["that is right", "correct answer"]),
        ("You are right, {}", ["that was it", "the problem is solved"]), ("Wonderful, {}", ["that is all I needed", "problem solved"]),
    ],
    "need_clarification": [
        ("Can you explain {} again?", THINGS), ("I don't understand {}", THINGS), ("What do you mean by {}?", THINGS),
        ("Could you clarify {}?", THINGS), ("I am confused about {}", THINGS), ("Please explain {} more simply", THINGS),
        ("Can you give me an example of {}?", THINGS), ("Sorry, I didn't get {}", THINGS), ("Huh? {}", ["What does that mean?", "Say it again"]),
        ("Can you say that in simpler words{}", ["?", ", please?", " for a beginner?"]), ("Could you elaborate on {}?", THINGS),
        ("Can you go into more detail on {}?", THINGS), ("{} is not clear to me", ["Your answer", "This", "The last step"]),
        ("Ich verstehe {} nicht", ["das", "den zweiten Schritt", "die Formel"]), ("No entiendo {}", ["eso", "la fórmula"]),
        ("Je ne comprends pas {}", ["cela", "la formule"]), ("{}", ["我不明白，请再解释一下", "能详细说明一下吗？", "よく分かりません、もう一度説明してください"]),
        ("Break {} down step by step for me, I'm lost", THINGS), ("How exactly does {} follow?", THINGS), ("Why does {} hold?", THINGS),
    ],
    "wrong_answer": [
        ("That {} is wrong", ANSWERS), ("No, the {} is incorrect", ANSWERS), ("Your {} is not correct", ANSWERS),
        ("You made a mistake in the {}", ANSWERS), ("This is wrong, {}", ["check again", "please fix it", "it should be 42"]),
        ("That's not right, {}", ["the capital is Canberra", "it is 1969", "try again", "the sum is 12"]),
        ("The {} doesn't work", ["code", "command", "link", "solution", "regex"]), ("Your code {}", ["throws an error", "does not compile", "still fails"]),
        ("You got the {} wrong", ANSWERS), ("Incorrect. {}", ["The answer is 7.", "Check your sources.", "Please correct it."]),
        ("That is a hallucination, {}", ["this function does not exist", "there is no such paper"]),
        ("No, {}", ["that's false", "this is not true", "you are mistaken"]), ("I think you are mistaken about the {}", ANSWERS),
        ("Das ist falsch, {}", ["prüf das nochmal", "die Antwort stimmt nicht"]), ("Eso es incorrecto, {}", ["revísalo", "la respuesta está mal"]),
        ("C'est faux, {}", ["vérifie encore", "la réponse est incorrecte"]), ("{}", ["答案不对", "你说错了，请更正", "その答えは間違っています"]),
        ("It still gives the wrong {}", ANSWERS), ("There is an error in your {}", ANSWERS), ("You contradict yourself in the {}", ANSWERS),
    ],
    "want_different": [
        ("Give me another {}", ["option", "version", "suggestion", "idea", "example", "approach"]), ("Show me a different {}", ["approach", "solution", "version", "style"]),
        ("Can you try another {}?", ["way", "approach", "tone", "style"]), ("Do you have an alternative {}", ["?", "to this?", "solution?"]),
        ("I'd prefer {}", ["something else", "a different approach", "a shorter version", "another style"]), ("Something else{}", ["", ", please", "!"]),
        ("Any other {}?", ["ideas", "options", "suggestions", "recommendations"]), ("Make it {} instead", ["shorter", "funnier", "more formal", "a table"]),
        ("Not what I wanted, give me {}", ["another one", "a different one", "other options"]), ("Regenerate {}", ["the answer", "this", "it with another style"]),
        ("Try again with {}", ["a different approach", "another idea", "other words"]), ("What else {}?", ["could I do", "do you suggest", "is there"]),
        ("Gib mir {}", ["eine andere Idee", "eine Alternative", "einen anderen Vorschlag"]), ("Dame {}", ["otra opción", "otra idea"]),
        ("Propose-moi {}", ["autre chose", "une autre version"]), ("{}", ["换一个", "再给我一个不同的方案", "別の案をください"]),
        ("I don't like this {}, another one please", ["one", "version", "style", "name"]), ("Can I get {} option?", ["a second", "a different", "one more"]),
    ],
    "none": [
        ("What is {}?", FACTS), ("Who was {}?", PEOPLE), ("Write a poem about {}", TOPICS), ("Write a Python function for {}", CODE),
        ("Translate {} into German", PIECES), ("How do I implement {}?", CODE), ("Tell me about {}", FACTS), ("Plan a trip to {}", ["Rome", "Kyoto", "Lima"]),
        ("Next question: what is {}?", FACTS), ("Now summarize {}", PIECES), ("And {}?", ["how about Sydney", "what about France", "the second one"]),
        ("Yes, {}", ["on Monday", "for two people", "the blue one"]), ("My name is {}", ["Anna", "Tom", "Li"]), ("Add {} to it", ["a title", "error handling", "a test"]),
        ("Continue {}", ["", "with chapter two", "the story"]), ("Compare {} with the other one", FACTS[:5]), ("Was ist {}?", FACTS), ("帮我写一个{}", ["故事", "函数"]),
        ("Is {} safe to eat?", ["raw fish", "this mushroom", "cold rice"]), ("Calculate {}", ["17 * 23", "the area of a circle of radius 4"]),
        ("Which one is {}?", ["faster", "cheaper", "older"]), ("What is the wrong side of {}?", ["the road in Japan", "a coin"]),
        ("How do I correct {} in Word?", ["spelling", "a typo"]), ("What are alternatives to {}?", ["butter", "plastic", "Kubernetes"]),
    ],
}


def spread(frames, label):
    """(text, label, group) of every frame with every filler."""
    return [(frame.format(filler).strip(), label, f"{label}/{i}")
            for i, (frame, fillers) in enumerate(frames) for filler in fillers]


def feedback():
    return list(itertools.chain.from_iterable(spread(frames, label) for label, frames in FEEDBACK.items()))


def fact_check():
    return spread(FACT, "needs_fact_check") + spread(NO_FACT, "no_fact_check_needed")
