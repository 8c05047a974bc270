"""The sources that are left out of training together, in five groups, and which of them the adapters of models/neural know."""
GROUPS = [
    ["jailbreak-inthewild", "jailbreak-inthewild-2023-12", "gptfuzz", "jailbreak-pyrit", "benign-prompts", "benign-security-docs", "intent-banking77", "tools-metatool"],
    ["injection-hackaprompt", "jailbreak-short", "llmguard-tests", "benign-gpteacher", "benign-llmwarden", "chat-rag-opensourceguide", "pii-ner-tweets"],
    ["injection-yanismiraoui", "multilingual-override", "benign-lobe-agents", "benign-prompts-zh", "domain-longfact", "korean-questions", "feedback-weak-nlupp"],
    ["injection-tool-output", "injection-piarena", "composed-injections", "jailbreak-bipia", "benign-t0-tasks", "benign-long-joined", "chat-agent-taubench", "domain-mmlu-pro"],
    ["jailbreak-evalsafety", "jailbreak-jailjudge", "jailbreak-nested-fiction", "adaptive-attacks", "injection-handwritten", "benign-coconot", "benign-followbench",
     "benign-multilingual", "benign-real-users", "longdocs"],
]
# sources that the adapters of the neural classifier were trained on
OLD = {"jailbreak-inthewild", "gptfuzz", "jailbreak-short", "llmguard-tests", "adaptive-attacks", "composed-injections", "multilingual-override", "jailbreak-bipia",
       "benign-prompts", "benign-real-users", "intent-banking77", "tools-metatool", "chat-rag-opensourceguide", "pii-ner-tweets", "domain-longfact",
       "korean-questions", "feedback-weak-nlupp", "chat-agent-taubench", "domain-mmlu-pro", "longdocs"}
