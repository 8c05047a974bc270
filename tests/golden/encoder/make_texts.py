#!/usr/bin/env python3
"""Writes texts.txt: 1,000 short texts in ten languages, one a line, a hundred of each.

A text is one of ten beginnings and one of ten endings of its language; every seventh is a longer one of several
texts, so that lengths differ. Needs nothing but Python.
"""
import pathlib

PARTS = {
    "en": ("How do I|Can you tell me how to|Please help me to|I would like to|What is the best way to|"
           "Is it possible to|My colleague asked me to|Write a short guide on how to|Why should anyone|We have to",
           "sort a list of names in Python|file a tax return for a small bakery|calm a crying baby at night|"
           "integrate x squared from 0 to 3|translate this contract into plain words|train for a half marathon|"
           "restore a deleted table from yesterday's backup|explain photosynthesis to a child|"
           "cancel my flight to Oslo and get the money back|choose between copper and aluminium wire"),
    "de": ("Wie kann ich|Erkläre mir bitte, wie man es schafft,|Hilf mir dabei,|Ich möchte gern|"
           "Was ist der beste Weg,|Ist es möglich,|Mein Chef will von mir wissen, wie es gelingt,|"
           "Schreibe eine Anleitung, um|Warum sollte man versuchen,|Wir müssen lernen,",
           "eine Liste von Namen in Python zu sortieren|eine Steuererklärung für eine Bäckerei abzugeben|"
           "ein weinendes Baby nachts zu beruhigen|das Integral von x² von 0 bis 3 zu berechnen|"
           "diesen Vertrag in einfache Worte zu fassen|sich auf einen Halbmarathon vorzubereiten|"
           "eine gelöschte Tabelle aus der Sicherung zurückzuholen|einem Kind die Photosynthese zu erklären|"
           "meinen Flug nach Oslo zu stornieren|zwischen Kupfer- und Aluminiumdraht zu wählen"),
    "fr": ("Comment puis-je|Peux-tu m'expliquer comment|Aide-moi à|Je voudrais|Quelle est la meilleure façon de|"
           "Est-il possible de|Mon voisin me demande de|Écris un petit guide pour|Pourquoi devrait-on|Il nous faut",
           "trier une liste de noms en Python|déclarer les impôts d'une boulangerie|calmer un bébé qui pleure la nuit|"
           "intégrer x au carré de 0 à 3|traduire ce contrat en mots simples|préparer un semi-marathon|"
           "restaurer une table effacée hier|expliquer la photosynthèse à un enfant|"
           "annuler mon vol pour Oslo|choisir entre le cuivre et l'aluminium"),
    "es": ("¿Cómo puedo|¿Me explicas cómo|Ayúdame a|Me gustaría|¿Cuál es la mejor manera de|¿Es posible|"
           "Mi jefa me ha pedido|Escribe una guía breve para|¿Por qué alguien debería|Tenemos que",
           "ordenar una lista de nombres en Python|presentar los impuestos de una panadería|"
           "calmar a un bebé que llora de noche|integrar x al cuadrado de 0 a 3|"
           "resumir este contrato con palabras sencillas|entrenar para una media maratón|"
           "recuperar una tabla borrada ayer|explicar la fotosíntesis a un niño|"
           "cancelar mi vuelo a Oslo|elegir entre cobre y aluminio"),
    "ru": ("Как мне|Объясни, пожалуйста, как|Помоги мне|Я хочу|Как лучше всего|Можно ли|Начальник просит меня|"
           "Напиши краткое руководство, как|Зачем кому-то|Нам нужно",
           "отсортировать список имён на Python|подать налоговую декларацию для пекарни|"
           "успокоить плачущего ребёнка ночью|вычислить интеграл от x² от 0 до 3|"
           "пересказать этот договор простыми словами|подготовиться к полумарафону|"
           "восстановить удалённую таблицу из копии|объяснить ребёнку фотосинтез|"
           "отменить мой рейс в Осло|выбрать между медью и алюминием"),
    "ar": ("كيف يمكنني|اشرح لي كيف يمكن|ساعدني على|أريد|ما أفضل طريقة من أجل|هل من الممكن|طلب مني زميلي|"
           "اكتب دليلا قصيرا عن|لماذا يجب على المرء|علينا",
           "ترتيب قائمة أسماء في بايثون|تقديم إقرار ضريبي لمخبز صغير|تهدئة طفل يبكي ليلا|"
           "حساب تكامل مربع س من 0 إلى 3|تبسيط هذا العقد بكلمات سهلة|التدرب على نصف ماراثون|"
           "استعادة جدول محذوف من نسخة الأمس|شرح التمثيل الضوئي لطفل|إلغاء رحلتي إلى أوسلو|"
           "الاختيار بين النحاس والألومنيوم"),
    "hi": ("मैं कैसे|कृपया बताइए कि कैसे|मेरी मदद कीजिए:|मैं चाहता हूँ:|सबसे अच्छा तरीका क्या है:|क्या यह संभव है:|"
           "मेरे साथी ने कहा:|एक छोटी मार्गदर्शिका लिखिए:|कोई क्यों|हमें सीखना है:",
           "पायथन में नामों की सूची को क्रम में लगाना|छोटी बेकरी का कर विवरण भरना|रात में रोते बच्चे को शांत करना|"
           "0 से 3 तक x वर्ग का समाकलन करना|इस अनुबंध को सरल शब्दों में लिखना|हाफ मैराथन की तैयारी करना|"
           "कल की प्रति से हटाई गई तालिका वापस लाना|बच्चे को प्रकाश संश्लेषण समझाना|ओस्लो की उड़ान रद्द करना|"
           "ताँबे और एल्युमिनियम में से चुनना"),
    "zh": ("我怎样才能|请告诉我如何|帮我|我想要|最好的办法是怎么|有没有可能|同事让我|写一份简短的指南，说明如何|为什么有人会|我们必须",
           "用Python给名单排序|为一家小面包店报税|在夜里哄哭闹的婴儿|计算x的平方从0到3的积分|把这份合同改写成简单的话|"
           "准备半程马拉松|从昨天的备份恢复被删除的表|给孩子解释光合作用|取消去奥斯陆的航班并退款|在铜线和铝线之间做选择"),
    "ja": ("どうすれば私は|教えてください、どのように|手伝ってください。|私がしたいのは|一番良い方法は何ですか。|可能でしょうか。|"
           "同僚に頼まれました。|短い手引きを書いてください。|なぜ人は|私たちがすべきことは",
           "Pythonで名前の一覧を並べ替える|小さなパン屋の確定申告をする|夜に泣く赤ちゃんをあやす|xの二乗を0から3まで積分する|"
           "この契約書をやさしい言葉にする|ハーフマラソンの練習をする|昨日のバックアップから表を戻す|子どもに光合成を説明する|"
           "オスロ行きの便を取り消す|銅線とアルミ線のどちらかを選ぶ"),
    "ko": ("어떻게 하면|알려 주세요, 어떻게|도와주세요.|저는 이렇게 하고 싶습니다.|가장 좋은 방법은 무엇인가요?|가능한가요?|"
           "동료가 부탁했습니다.|짧은 안내서를 써 주세요.|왜 사람들은|우리는 해야 합니다.",
           "파이썬으로 이름 목록을 정렬하기|작은 빵집의 세금 신고를 하기|밤에 우는 아기를 달래기|x 제곱을 0부터 3까지 적분하기|"
           "이 계약서를 쉬운 말로 바꾸기|하프 마라톤을 준비하기|어제 백업에서 삭제된 표를 복구하기|아이에게 광합성을 설명하기|"
           "오슬로행 비행기를 취소하기|구리선과 알루미늄선 중에서 고르기"),
}


def main():
    texts = []
    for language in PARTS:
        begins, ends = (part.split("|") for part in PARTS[language])
        assert len(begins) == len(ends) == 10, language
        texts += [f"{begin} {end}" for begin in begins for end in ends]
    for i in range(0, len(texts), 7):
        texts[i] = ". ".join(texts[(i + 37 * k) % len(texts)] for k in range(2 + i % 17))
    path = pathlib.Path(__file__).parent / "texts.txt"
    path.write_text("".join(text + "\n" for text in texts), encoding="utf-8")


if __name__ == "__main__":
    main()
