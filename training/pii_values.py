"""Made-up values of the 17 types of personal data, for pii_templates.py: one maker per type, from word lists and from syllables.

Spans follow presidio's rows: AGE is the number alone, TITLE a form of address with its dot or an occupation, DATE_TIME a
date, a time, a weekday or a year (never "last week"), STREET_ADDRESS everything from the house number to the post code (on a postal
label by itself HOUSE, ROAD, UNIT, POST, CITY, CODE, STATE and COUNTRY, each alone).
Card numbers pass Luhn and IBANs their checksum because real ones do. This file knows no sentences.
"""
import string

FIRST = """James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth Sofia Mateo Lucía Diego Camila Hiroshi Yuki Kenji Sakura Wei Li Na Chen Mei Jun Min-ji
Ji-hoon Seo-yeon Aisha Omar Fatima Yusuf Layla Hassan Priya Arjun Ananya Rahul Deepika Ivan Olga Dmitri Natasha Svetlana Pierre Chloé Antoine Margaux Luca Giulia Marco
Francesca Hans Greta Jürgen Anke Lars Ingrid Bjørn Astrid Kwame Ama Chidi Ngozi Thabo Zanele João Ana Rafael Beatriz Piotr Agnieszka Tomasz Zofia Eleni Nikos Dimitra Mehmet
Elif Emre Zeynep Sean Aoife Liam Niamh Thi Minh Linh Anh Siti Budi Dewi Putu Tariq Noor Zara Ibrahim Esther Ruth Samuel Daniel Grace Emily Noah Olivia Ethan Ava Mia Logan
Dorothy Walter Harold Agnes Ruby Oscar Felix Hugo Clara Nora Vera Ivy Hazel Otis Silas Jasper Imani Malik DeShawn Keisha Tyrone Latoya Xochitl Itzel Kai Leilani Mahalia
Wanjiru Njoroge Achieng Otieno Babajide Folasade Adaeze Emeka Tunde Yetunde Kofi Akosua Abena Sipho Lerato Nomvula Tendai Rudo Tapiwa Chipo Mwangi Amina Hamisi Juma Abebe
Tigist Selam Dawit Hirut Bekele Mamadou Fatoumata Ousmane Aïssatou Moussa Khady Rania Samir Nadia Khalid Salma Youssef Amal Karim Hala Zainab Mustafa Reza Parisa Farhad
Shirin Darius Nasrin Gulnara Bakhyt Aigerim Timur Aliya Nurlan Giorgi Nino Levan Tamar Ketevan Armen Anahit Tigran Narek Hasmik Levon Ilham Aysel Vugar Leyla Bogdan Oksana
Taras Yulia Mykola Halyna Kateryna Andriy Boris Galina Yegor Ludmila Arkady Zoya Radmila Miloš Jelena Dragan Vesna Goran Snežana Zlatko Ivana Mirela Adnan Emina Blerim
Arta Besnik Drita Petr Jana Václav Zdeněk Markéta Bohumil Alena Ján Zuzana Katarína Gábor Ildikó Zoltán Réka Balázs Eszter Ion Mihai Ileana Radu Ioana Georgi Desislava
Plamen Tsvetana Jānis Ilze Māris Liga Jonas Rūta Vytautas Giedrė Toomas Kadri Urmas Liis Matti Aino Eero Kaisa Tuomas Sini Jukka Pirjo Sven Maj-Britt Göran Birgitta Håkan
Solveig Ragnhild Torbjørn Sigrún Þóra Gunnar Freyja Snorri Søren Mette Kirsten Jesper Pernille Joost Femke Sander Marieke Bram Lotte Dirk Wouter Anouk Thijs Fleur Étienne
Océane Benoît Élodie Thibault Manon Gaëlle Yves Solange Rémy Aurélie Iker Amaia Jordi Montserrat Nuria Joaquín Pilar Rocío Álvaro Ximena Facundo Guadalupe Ignacio Paloma
Anselmo Thiago Larissa Caio Iara Vinícius Inês Gonçalo Leonor Duarte Alessio Ginevra Tommaso Beatrice Lorenzo Ludovica Salvatore Concetta Ulrich Heike Wolfgang Sabine
Rüdiger Gisela Detlef Ute Torsten Maike Saoirse Cillian Oisín Gráinne Eoghan Rhys Cerys Gwyn Angharad Ewan Morag Hamish Fiona Ravi Sunita Vikram Lakshmi Suresh Meera Ganesh
Kavitha Harpreet Gurdeep Jaspreet Farooq Shabnam Nazia Imran Bilal Saima Rajitha Dilshan Nirmala Tashi Pema Dorji Sonam Thant Aung Khin Somchai Siriporn Anong Niran Sokha
Channary Vuong Thuy Khanh Hien Rizal Ligaya Jomar Maricel Agus Wulan Ketut Hadi Ratna Tomoko Haruto Aoi Ren Takashi Naoko Shigeru Michiko Xiaoming Jing Fang Guowei Yifan
Ruolan Ming-Hao Shu-fen Eun-ji Hyun-woo Soo-jin Dong-hyun Batbayar Oyunaa Altan Temuulen Tane Aroha Wiremu Sione Mele Losa Tavita Kiri Ariel Noa Yael Avi Shira Moshe Rivka
Winona Dakota Chayton Aiyana Inuk Nukka Blessing Precious Gift Sunny Summer April June May August Will Mark Rose Bill Grant Hope Faith Joy Chase Hunter Frank Art Pat""".split()
LAST = """Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson Thomas Taylor Moore Jackson Martin Lee Perez Thompson
White Harris Sanchez Clark Ramirez Lewis Robinson Walker Young Allen King Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Tanaka Suzuki Sato Yamamoto Wang Zhang Liu
Chen Yang Huang Kim Park Choi Jung Singh Kumar Patel Sharma Gupta Khan Ahmed Hussein Ali Haddad Rahman Ivanov Petrova Smirnov Kuznetsov Dubois Lefèvre Moreau Laurent Rossi Ferrari
Bianchi Esposito Müller Schmidt Schneider Weber Hoffmann Larsen Hansen Johansson Nilsson Virtanen Okafor Mensah Adeyemi Ndlovu Silva Santos Oliveira Costa Kowalski Nowak Wiśniewski
Papadopoulos Yılmaz Demir Kaya O'Brien Murphy Kelly Walsh Tran Pham Le Wijaya Santoso MacDonald Fraser Sinclair Beaumont Whitfield Ashworth Pemberton Holloway Calloway Stone Frost
Abara Diallo Traoré Nakamura Ortega Vargas Castillo Mendoza Novak Horvat Dvořák Popescu Ionescu Kovács Nagy Szabó Kamau Wambui Odhiambo Mutua Balogun Eze Nwosu Obi Chukwu Ogunleye
Asante Boateng Owusu Dlamini Khumalo Nkosi Mokoena Moyo Sibanda Chirwa Banda Phiri Tembo Mulenga Tesfaye Gebremariam Haile Getachew Kone Coulibaly Keita Ba Ndiaye Sow Cissé Sarr
Benali Bouzid Khelifi Mansour El-Sayed Abdallah Farouk Nasser Hamdan Qureshi Malik Chaudhry Siddiqui Mirza Karimi Hosseini Ahmadi Rezaei Tehrani Nazarbayev Akhmetov Bekov Ismailov
Aliyev Mammadov Gasimov Kapanadze Beridze Lomidze Petrosyan Sargsyan Hakobyan Grigoryan Shevchenko Kovalenko Bondarenko Tkachuk Melnyk Volkov Lebedev Sokolova Morozov Orlova Fedorov
Jovanović Petrović Nikolić Kovačević Babić Horvatić Hadžić Begić Hoxha Krasniqi Gashi Svoboda Černý Procházka Kučera Horák Balog Varga Tóth Kiss Fekete Dumitru Stan Munteanu Dimitrov
Georgieva Stoyanov Bērziņš Kalniņš Ozols Kazlauskas Petrauskas Tamm Saar Mägi Korhonen Nieminen Mäkinen Laine Heikkinen Lindqvist Bergström Sjöberg Ekström Lundgren Haugen Solberg Dahl
Bakken Jónsdóttir Sigurðsson Þorsteinsson Nielsen Pedersen Sørensen Kjær Møller Jansen Visser Smit Bakker Mulder Dijkstra Hoekstra Peeters Claes Mertens Vandenberghe Lambert Girard
Rousseau Mercier Chevalier Gauthier Bouchard Tremblay Gagnon Etxeberria Aguirre Puig Ferrer Soler Iglesias Navarro Rivas Quispe Mamani Huamán Fuentes Cárdenas Restrepo Zapata Arango
Bustamante Carvalho Teixeira Almeida Nogueira Figueiredo Pacheco Greco Marchetti Lombardi Ricci De Luca Colombo Caruso Bruno Vogel Krause Lehmann Zimmermann Köhler Schäfer Böhm Huber
Gruber Steiner Brunner Keller Ryan Byrne Gallagher Doyle Kavanagh Evans Griffiths Llewellyn Pritchard Campbell McLeod Buchanan Drummond Iyer Nair Menon Reddy Rao Chatterjee Banerjee Das
Bose Mukherjee Joshi Kulkarni Deshmukh Gill Sandhu Dhillon Perera Fernando Jayawardena Thapa Gurung Shrestha Tamang Win Htun Saetang Chaiyasit Sok Chea Vo Dang Bui Hoang Reyes Bautista
Dela-Cruz Villanueva Santiago Siregar Nasution Hutapea Watanabe Kobayashi Ito Saito Matsumoto Inoue Hayashi Mori Zhao Wu Zhou Xu Sun Guo Lin Hsu Tsai Wong Cheung Leung Yoon Jang Lim
Han Kang Bat-Erdene Ganbold Tui Fonoti Tuilagi Ngata Parata Cohen Levi Mizrahi Peretz Friedman Goldberg Katz Rosenthal Begay Tsosie Blackhorse Stark Day March Banks Price Field Bush Rivers
Love Church Bishop Carpenter Mason Cook Gardner Page Ford Dean West North Wood Hubbard Valentine Murray Glover Ruiz Armstrong Reynolds Williamson Drake Shepherd Owens Duran Reed Barnett
Melton Hoffman Willis Fernandez Craig Palmer Quinn Mitchell Hodge Cantrell Whitaker Stokes Mcclain Mcdowell Hendricks Gentry Bartlett Pruitt Lowery Velasquez Gallegos Pacelli Hatfield""".split()
PARTICLES = ["van der", "van", "de la", "de", "von", "di", "bin", "al", "ter", "dos", "El", "Mac", "St.", "O'", "ben", "af", "della"]
NATIVE = [n for line in """山田太郎|佐藤花子|鈴木一郎|高橋美咲|田中健|渡辺直美|王伟|李娜|张敏|刘洋|陈静|김민준|이서연|박지훈|최유진|정하은|Иван Петров|Ольга Смирнова|Дмитрий Кузнецов
Анна Волкова|Тарас Шевчук|محمد علي|فاطمة حسن|أحمد منصور|ليلى خوري|Γιώργος Παπαδόπουλος|Μαρία Νικολάου|דוד כהן|रवि शर्मा|สมชาย ใจดี""".split("\n") for n in line.split("|")]
CITIES = """London Paris Berlin Madrid Rome Vienna Lisbon Dublin Oslo Stockholm Helsinki Warsaw Prague Budapest Athens Istanbul Cairo Nairobi Lagos Accra Johannesburg Mumbai Delhi
Bangalore Karachi Dhaka Jakarta Manila Bangkok Hanoi Singapore Tokyo Osaka Seoul Beijing Shanghai Sydney Melbourne Auckland Toronto Vancouver Montreal Chicago Boston Seattle Denver Austin
Houston Miami Atlanta Phoenix Portland Detroit Lima Bogotá Santiago Quito Caracas Montevideo Recife Córdoba Valencia Porto Lyon Marseille Hamburg Munich Cologne Zürich Geneva Turin
Naples Bergen Gothenburg Tampere Kraków Brno Tirana Sofia Bucharest Kyiv Tbilisi Baku Almaty Tehran Baghdad Amman Doha Dubai Muscat Tunis Algiers Rabat Dakar Goiânia Poznań Gdańsk Łódź
Szczecin Plzeň Olomouc Košice Szeged Pécs Debrecen Timișoara Cluj Plovdiv Varna Niš Subotica Split Zadar Mostar Bitola Shkodër Volos Patras Larnaca Limassol Izmir Antalya Trabzon Kars
Haifa Nazareth Aleppo Homs Tripoli Sidon Basra Mosul Isfahan Shiraz Tabriz Herat Kandahar Peshawar Multan Sylhet Chittagong Patna Nagpur Kochi Madurai Jaipur Bhopal Galle Kandy Pokhara
Thimphu Mandalay Bago Chiang-Mai Udon Vientiane Pakse Hue Dalat Cebu Davao Bandung Surabaya Medan Makassar Kuching Ipoh Kobe Nagoya Sapporo Fukuoka Sendai Busan Daegu Incheon Wuhan Chengdu
Harbin Xiamen Lanzhou Kunming Taichung Tainan Ulaanbaatar Osh Bishkek Samarkand Ashgabat Dushanbe Kazan Omsk Perm Tomsk Irkutsk Yakutsk Odesa Lviv Kharkiv Minsk Brest Vilnius Kaunas Riga
Liepāja Tallinn Tartu Turku Espoo Oulu Rovaniemi Umeå Malmö Uppsala Örebro Trondheim Stavanger Tromsø Aarhus Odense Aalborg Esbjerg Reykjavík Akureyri Flateyri Cork Galway Limerick Sligo
Swansea Cardiff Dundee Inverness Leeds Hull Norwich Exeter Truro Ghent Bruges Liège Namur Utrecht Groningen Leiden Breda Delft Nantes Rennes Brest Dijon Nancy Toulon Grasse Béziers Pau
Girona Murcia Cádiz Burgos León Vigo Braga Coimbra Évora Faro Bari Lecce Trento Perugia Siena Pisa Ragusa Graz Linz Villach Bern Basel Lugano Chur Weimar Kassel Bremen Lübeck Rostock Jena
Bamberg Trier Kumasi Tamale Abuja Kano Ibadan Enugu Douala Yaoundé Libreville Luanda Huambo Lusaka Ndola Harare Bulawayo Gaborone Windhoek Maseru Durban Polokwane Maputo Beira Blantyre
Lilongwe Kampala Gulu Kigali Bujumbura Arusha Dodoma Mombasa Kisumu Addis-Ababa Asmara Mogadishu Djibouti Khartoum Ouagadougou Bamako Niamey Conakry Freetown Monrovia Lomé Cotonou Oran
Constantine Sfax Fez Agadir Luxor Aswan Arequipa Cusco Iquitos Cuenca Guayaquil Medellín Cali Barranquilla Maracaibo Valparaíso Concepción Rosario Mendoza Salta Asunción Sucre Cochabamba
Curitiba Manaus Belém Fortaleza Natal Managua Tegucigalpa Chihuahua Oaxaca Mérida Puebla Halifax Winnipeg Regina Moncton Saskatoon Boise Tulsa Omaha Fresno Tucson Reno Spokane Duluth
Milwaukee Toledo Macon Savannah Mobile Reading Bath Nice Split Orange Hobart Darwin Cairns Dunedin Nelson Napier Suva Apia Nuuk Erwetegem Runkelen Hunderdorf Barzheim Bassersdorf Eckenroth
Alcalalí Calino Okoia Letaba Bakone Kissousa Milford Turkovice Kalatsova Highveld Lycksele Grimstad Mohács Jevícko""".replace("-", " ").split("\n")
CITIES = [c for line in CITIES for c in line.split()] + """New York|Los Angeles|San Francisco|Mexico City|Buenos Aires|São Paulo|Rio de Janeiro|Cape Town|Hong Kong|Kuala Lumpur|Ho Chi Minh City|Tel Aviv
Salt Lake City|Tiarno Di Sopra|Tomas Gomensoro|Store Merløse|København V|Villafranca del Cid|Oklahoma City|Mill Village|St Hyacinthe|San Juan|Upton Scudamore|Sankt Lorenzen|Las Cruces
Baton Rouge|Port Elizabeth|Churton Park|Stoke-on-Trent|Newcastle upon Tyne|Bad Homburg|Aix-en-Provence|Saint-Dié|L'Aquila|Reggio Emilia|Ponta Delgada|La Paz|El Alto|Puerto Montt|Nova Gorica
Banská Bystrica|Novi Sad|Stara Zagora|Bielsko-Biała|Santa Cruz|Dar es Salaam|Phnom Penh|Nha Trang|Quezon City|Alice Springs|Palmerston North|Banja Luka|Vila Nova de Gaia|Casal das Cheiras
Den Haag|'s-Hertogenbosch|Sint-Niklaas|Frankfurt am Main|Le Mans|Uue-Saaluse|Dusino San Michele|Cite Essanaouber|White River|Elk Grove|Twin Falls|Little Rock|Green Bay|Cedar Rapids""".replace("\n", "|").split("|")
# Small towns, as their inhabitants write them.
CITIES += """Altmünster|Amstetten|Bludenz|Eisenstadt|Gmunden|Kufstein|Mistelbach|Zell am See|Oberwart|Wörgl|Aalst|Durbuy|Kortrijk|La Louvière|Mechelen|Ottignies|Tongeren|Oud-Turnhout|Blagoevgrad|Gabrovo|Kardzhali|Veliko Tarnovo|Sliven|Čakovec|Đakovo|Šibenik|Vukovar|Požega
Kutná Hora|Český Krumlov|Žďár nad Sázavou|Ústí nad Labem|Třebíč|Písek|Frýdek-Místek|Horsens|Nykøbing Falster|Ringsted|Ølgod|Sæby|Hjørring|Haapsalu|Põlva|Võru|Jõgeva|Hämeenlinna|Iisalmi|Kouvola|Pietarsaari|Äänekoski|Savonlinna|Vaasa|Annecy|Bar-le-Duc|Carcassonne|Digne-les-Bains|Épinal
Foix|Guéret|Lons-le-Saunier|Mende|Nevers|Quimper|Rodez|Saint-Brieuc|Tulle|Vesoul|Villefranche-sur-Saône|Ansbach|Bad Kreuznach|Cuxhaven|Düren|Eichstätt|Görlitz|Heide|Itzehoe|Kempten|Lüdenscheid|Neumünster|Oer-Erkenschwick|Pirna|Quedlinburg|Schwäbisch Hall|Suhl|Titisee-Neustadt|Wittenberge|Zwickau
Drama|Kavala|Nafplio|Rethymno|Xanthi|Békéscsaba|Eger|Hódmezővásárhely|Kaposvár|Nyíregyháza|Zalaegerszeg|Húsavík|Ísafjörður|Selfoss|Athlone|Ballina|Dungarvan|Ennis|Letterkenny|Mullingar|Tralee|Alghero|Bassano del Grappa|Caltanissetta|Crotone|Domodossola|Foligno|Grosseto|Isernia|Lodi|Matera
Nuoro|Oristano|Pordenone|Rovigo|San Benedetto del Tronto|Teramo|Varese|Cēsis|Jūrmala|Rēzekne|Valmiera|Alytus|Marijampolė|Šiauliai|Utena|Esch-sur-Alzette|Ettelbruck|Alkmaar|Bergen op Zoom|Deventer|Emmen|Gouda|Hoogeveen|Kampen|Leeuwarden|Oss|Roermond|Sneek|Terneuzen|Zwolle|Alta|Bodø
Gjøvik|Hammerfest|Kongsberg|Mosjøen|Røros|Sandefjord|Ålesund|Bełchatów|Chełm|Elbląg|Giżycko|Jelenia Góra|Krosno|Łomża|Nowy Sącz|Ostrów Wielkopolski|Piła|Rzeszów|Słupsk|Tarnów|Zamość|Zielona Góra|Aveiro|Beja|Castelo Branco|Guarda|Póvoa de Varzim|Santarém|Viana do Castelo|Vila Real|Alba Iulia
Bistrița|Buzău|Drobeta-Turnu Severin|Iași|Piatra Neamț|Râmnicu Vâlcea|Sibiu|Târgu Mureș|Čačak|Kragujevac|Leskovac|Sombor|Užice|Zrenjanin|Komárno|Liptovský Mikuláš|Michalovce|Prešov|Trenčín|Celje|Kranj|Murska Sobota|Ptuj|Velenje|Albacete|Alcalá de Henares|Badajoz|Ciudad Real|Elche|Figueres
Huesca|Jaén|Lugo|Mondoñedo|Ourense|Palencia|Sant Cugat del Vallès|Teruel|Úbeda|Zamora|Borås|Eskilstuna|Gävle|Härnösand|Jönköping|Kiruna|Luleå|Norrköping|Skövde|Växjö|Ystad|Östersund|Aarau|Biel|Delémont|Frauenfeld|La Chaux-de-Fonds|Schaffhausen|Sion|Vevey|Winterthur|Zug|Aberystwyth|Barnsley
Berwick-upon-Tweed|Bury St Edmunds|Chipping Norton|Dunfermline|Ely|Frome|Great Yarmouth|Hay-on-Wye|Kirkwall|Llandudno|Market Harborough|Nuneaton|Oban|Penzance|Ross-on-Wye|Skegness|Stornoway|Tewkesbury|Ullapool|Whitby|Yeovil|Bila Tserkva|Chernivtsi|Drohobych|Ivano-Frankivsk|Kropyvnytskyi|Uzhhorod
Zhytomyr|Arkhangelsk|Kostroma|Magnitogorsk|Petrozavodsk|Stavropol|Tula|Vladikavkaz|Gori|Kutaisi|Gyumri|Vanadzor|Ganja|Sumqayit|Aktobe|Karaganda|Pavlodar|Bukhara|Fergana|Khiva|Adıyaman|Balıkesir|Çanakkale|Diyarbakır|Eskişehir|Gümüşhane|Iğdır|Kırşehir|Muğla|Nevşehir|Şanlıurfa|Zonguldak|Zahle
Latakia|Irbid|Karak|Kirkuk|Najaf|Al Hofuf|Tabuk|Salalah|Al Ain|Ibb|Mukalla|Kashan|Qazvin|Zahedan|Ghazni|Mazar-i-Sharif|Abbottabad|Bahawalpur|Gujranwala|Sukkur|Aligarh|Belagavi|Coimbatore|Darjeeling|Guntur|Hubballi|Jamnagar|Kozhikode|Ludhiana|Mysuru|Nashik|Puducherry|Raipur|Siliguri|Thrissur|Udaipur
Vijayawada|Warangal|Barisal|Cox's Bazar|Rangpur|Anuradhapura|Jaffna|Matara|Biratnagar|Paro|Mawlamyine|Chiang Rai|Hat Yai|Khon Kaen|Nakhon Ratchasima|Battambang|Siem Reap|Luang Prabang|Can Tho|Da Nang|Hai Phong|Quy Nhon|Vung Tau|Johor Bahru|Kota Kinabalu|Seremban|Balikpapan|Denpasar|Malang|Pontianak
Yogyakarta|Baguio|Cagayan de Oro|Iloilo City|Zamboanga|Akita|Beppu|Hakodate|Himeji|Kagoshima|Matsuyama|Nagano|Niigata|Takamatsu|Utsunomiya|Andong|Cheongju|Gangneung|Jeonju|Mokpo|Suwon|Anqing|Baotou|Changsha|Datong|Foshan|Guilin|Hefei|Jinan|Luoyang|Ningbo|Qingdao|Suzhou|Urumqi|Yichang|Hualien|Hsinchu
Darkhan|Ballarat|Broken Hill|Coffs Harbour|Dubbo|Geraldton|Kalgoorlie|Mount Isa|Toowoomba|Wagga Wagga|Gisborne|Invercargill|Timaru|Whangārei|Lautoka|Béjaïa|Tlemcen|Annaba|El Jadida|Meknès|Ouarzazate|Bizerte|Gabès|Misrata|Asyut|Damanhur|Port Said|Axum|Dire Dawa|Hawassa|Eldoret|Kakamega|Nakuru|Nyeri
Jinja|Mbale|Mbarara|Moshi|Mwanza|Zanzibar City|Huye|Musanze|Bukavu|Goma|Lubumbashi|Kisangani|Kitwe|Livingstone|Gweru|Mutare|Francistown|Maun|Swakopmund|Bloemfontein|East London|Mbombela|Pietermaritzburg|Stellenbosch|Nampula|Antsirabe|Toamasina|Port Louis|Abeokuta|Benin City|Calabar|Ilorin|Jos|Onitsha
Port Harcourt|Cape Coast|Sunyani|Bouaké|Yamoussoukro|Saint-Louis|Thiès|Ziguinchor|Bo|Bafoussam|Garoua|Pointe-Noire|Barrie|Charlottetown|Fredericton|Kelowna|Lethbridge|Medicine Hat|Moose Jaw|Prince George|Rimouski|Sault Ste. Marie|Thunder Bay|Trois-Rivières|Val-d'Or|Whitehorse|Abilene|Bar Harbor|Bozeman
Casper|Dubuque|Eau Claire|Fort Wayne|Grand Rapids|Hattiesburg|Idaho Falls|Jonesboro|Kalamazoo|La Crosse|Muncie|North Platte|Ogden|Pocatello|Rapid City|Sioux Falls|Terre Haute|Utica|Walla Walla|Yakima|Zanesville|Schenectady|Poughkeepsie|Chattanooga|Tallahassee|Amarillo|Lubbock|Bakersfield|Chula Vista
Aguascalientes|Cuernavaca|Hermosillo|Morelia|San Luis Potosí|Tuxtla Gutiérrez|Zacatecas|Antigua Guatemala|Quetzaltenango|San Pedro Sula|Santa Ana|Estelí|Liberia|Puntarenas|David|Camagüey|Holguín|Santiago de los Caballeros|Cap-Haïtien|Montego Bay|Bucaramanga|Ibagué|Pasto|Popayán|Villavicencio|Barquisimeto
Ciudad Bolívar|Ambato|Loja|Riobamba|Ayacucho|Cajamarca|Chiclayo|Huancayo|Trujillo|Oruro|Potosí|Tarija|Antofagasta|Chillán|Punta Arenas|Temuco|Bahía Blanca|Comodoro Rivadavia|Mar del Plata|Neuquén|San Miguel de Tucumán|Ushuaia|Encarnación|Paysandú|Salto|Aracaju|Blumenau|Campina Grande|Feira de Santana
Florianópolis|Juiz de Fora|Londrina|Maceió|Niterói|Ouro Preto|Porto Alegre|Ribeirão Preto|São José dos Campos|Uberlândia|Vitória da Conquista|Santiago de Compostela|Hradec Králové|Jastrzębie-Zdrój|Castel San Pietro Terme|Neustadt an der Weinstraße|Saint-Germain-en-Laye|Weston-super-Mare|Bad Tölz""".replace("\n", "|").split("|")
FAR = "ΠΑΦΟΣ|ΕΓΚΩΜΗ|ΒΙΚΛΑ|ΑΛΑΣΣΑ|ΟΝΙΣΙΑ|Θεσσαλονίκη|Москва|Казань|Новосибирск|Київ|Одеса|София|東京|大阪|京都|札幌|北京|上海|广州|成都|서울|부산|대구|القاهرة|الرياض|بغداد|תל אביב|दिल्ली|กรุงเทพ".split("|")
COUNTRIES = """France|Germany|Spain|Italy|Portugal|Ireland|Norway|Sweden|Finland|Denmark|Poland|Hungary|Greece|Turkey|Egypt|Kenya|Nigeria|Ghana|India|Pakistan|Bangladesh|Indonesia|Thailand
Vietnam|Japan|China|Australia|Canada|Mexico|Brazil|Argentina|Chile|Peru|Colombia|Ecuador|Uruguay|Iran|Iraq|Jordan|Qatar|Morocco|Senegal|Iceland|Malta|Cyprus|Latvia|Estonia|Croatia|Serbia
United States|USA|UK|United Kingdom|South Korea|New Zealand|South Africa|Saudi Arabia|the Netherlands|Czech Republic|Sri Lanka|Costa Rica|Hong Kong|Puerto Rico|Albania|Andorra|Angola|Armenia
Austria|Azerbaijan|Bahrain|Barbados|Belarus|Belgium|Belize|Benin|Bhutan|Bolivia|Botswana|Brunei|Bulgaria|Burkina Faso|Burundi|Cambodia|Cameroon|Cape Verde|Chad|Comoros|Cuba|Djibouti|Dominica
El Salvador|Eritrea|Ethiopia|Fiji|Gabon|Gambia|Georgia|Greenland|Grenada|Guatemala|Guinea|Guyana|Haiti|Honduras|Israel|Jamaica|Kazakhstan|Kiribati|Kosovo|Kuwait|Laos|Lebanon|Lesotho|Liberia
Libya|Liechtenstein|Lithuania|Luxembourg|Macao|Madagascar|Malawi|Malaysia|Maldives|Mali|Marshall Islands|Mauritius|Moldova|Monaco|Mongolia|Montenegro|Mozambique|Myanmar|Namibia|Nepal|Nicaragua
Niger|North Macedonia|Oman|Panama|Paraguay|Philippines|Romania|Russia|Rwanda|Samoa|San Marino|Sierra Leone|Singapore|Slovakia|Slovenia|Somalia|Sudan|Suriname|Switzerland|Syria|Taiwan|Tajikistan
Tanzania|Togo|Tonga|Trinidad and Tobago|Tunisia|Turkmenistan|Tuvalu|U.S.|Uganda|Ukraine|United Arab Emirates|Uzbekistan|Vanuatu|Venezuela|Yemen|Zambia|Zimbabwe""".replace("\n", "|").split("|")
COUNTRIES += """Holland|Great Britain|England|Northern Ireland|Republic of Ireland|United States of America|U.S.A.|US|U.K.|UAE|DR Congo|Democratic Republic of the Congo|Ivory Coast|Côte d'Ivoire|Central African Republic|Equatorial Guinea|Guinea-Bissau|São Tomé and Príncipe|Seychelles|Mauritania|South Sudan|Eswatini
Swaziland|Timor-Leste|East Timor|Papua New Guinea|Solomon Islands|Palau|Nauru|Micronesia|Bahamas|the Bahamas|Saint Lucia|St. Kitts and Nevis|Antigua and Barbuda|Dominican Republic|Honduras|Paraguay|Algeria|Afghanistan|Kyrgyzstan|Turkmenistan|North Korea|Palestine|Vatican City|Bosnia|Bosnia and Herzegovina
Czechia|Türkiye|Burma|Persia|Deutschland|Österreich|Schweiz|Suisse|España|Italia|Brasil|México|Perú|Polska|Česko|Magyarország|Suomi|Sverige|Norge|Danmark|Nederland|België|Belgique|Ísland|Éire|Hrvatska|Srbija|Slovenija|Slovensko|România|Shqipëria|Eesti|Latvija|Lietuva|Россия|Україна|България|Ελλάδα|日本|中国|대한민국|भारत
Maroc|Tunisie|Algérie|Cameroun|Panamá|República Dominicana|Gibraltar|Guernsey|Jersey|Isle of Man|Faroe Islands|Bermuda|Aruba|Curaçao|Guam|French Polynesia|New Caledonia|Réunion|Martinique|Guadeloupe|Cayman Islands|Falkland Islands|Cook Islands|American Samoa|Western Sahara|Svalbard & Jan Mayen Islands""".replace("\n", "|").split("|")
STATES = """California|Texas|Ohio|Oregon|Nevada|Florida|Bavaria|Ontario|Queensland|Tuscany|Kerala|Catalonia|Andalusia|Brittany|Scotland|Hokkaido|New South Wales|North Carolina|Alberta|Quebec|Manitoba
Victoria|Tasmania|Gujarat|Punjab|Bihar|Tamil Nadu|Sindh|Saxony|Hesse|Tyrol|Lombardy|Sicily|Normandy|Alsace|Galicia|Navarre|Silesia|Moravia|Transylvania|Wales|Cornwall|Yorkshire|Jalisco|Sonora|Yucatán
Bahia|Minas Gerais|Antioquia|Michoacán|Virginia|Washington|Montana|Idaho|Utah|Kansas|Alaska|Hawaii|Maine|Vermont|Delaware|Upper Austria|Lapland|Jutland|Ile-de-France|Île-de-France|Occitanie|Baden-Württemberg|Lower Saxony|Nordrhein-Westfalen|Thuringia|Brandenburg|Carinthia|Styria|Ticino|Valais|Piedmont|Veneto|Puglia|Emilia-Romagna|Aragón|Extremadura|Castilla-La Mancha|Asturias|Murcia|Alentejo|Algarve|Friesland|Zeeland|Gelderland|Flanders|Wallonia
Skåne|Dalarna|Vestland|Troms|Mazovia|Podlasie|Bohemia|Moldova|Dobruja|Crete|Thessaly|Anatolia|Cappadocia|County Cork|Co. Mayo|Kent|Essex|Devon|Norfolk|Cumbria|Shropshire|Fife|Gwynedd|Antrim|Surrey|Lancashire|West Midlands|Nova Scotia|Newfoundland|New Brunswick|Saskatchewan|British Columbia|Yukon|Nunavut
South Australia|Western Australia|Northern Territory|Otago|Waikato|Karnataka|Maharashtra|Rajasthan|Uttar Pradesh|West Bengal|Odisha|Assam|Telangana|Goa|Balochistan|Guangdong|Zhejiang|Fujian|Shandong|Xinjiang|Inner Mongolia|Gyeonggi|Jeolla|Okinawa|Kyushu|Aichi|Shikoku|West Java|Bali|Sabah|Sarawak|Luzon|Mindanao
Lagos State|Kaduna|Ogun|Ashanti|Oromia|Amhara|Tigray|KwaZulu-Natal|Western Cape|Free State|Rivers State|Darfur|Kurdistan|Sinai|Chiapas|Veracruz|Nuevo León|Quintana Roo|Sinaloa|Cundinamarca|Patagonia|Mato Grosso|Paraná|Pernambuco|Ceará|Rio Grande do Sul|Santa Catarina|Amazonas|Louisiana|Mississippi|Alabama
Arkansas|Tennessee|Kentucky|Wisconsin|Minnesota|Illinois|Indiana|Missouri|Oklahoma|Nebraska|Wyoming|Connecticut|New Hampshire|New Jersey|New Mexico|West Virginia|South Dakota|Rhode Island|Massachusetts|Pennsylvania|Maryland|Georgia|Colorado|Arizona|Michigan|South Carolina|Gauteng|Limpopo|Sichuan|Hunan|Yunnan|Siberia""".replace("\n", "|").split("|")
STREETS = """Main|Oak|Pine|Maple|Cedar|Elm|Washington|Lake|Hill|Park|Walnut|River|Church|Spring|Mill|Bridge|Station|Victoria|Queen|King|High|Green|Meadow|Sunset|Franklin|Highland|Chestnut|Willow|Harbour|Canal|Orchard|Abbey
St Marys|Redbud|Halsey|Bond|Martin Luther King|Old Mill|Ridge|Fairview|Jefferson|Birch|Rissik|Magnolia|Cottonwood|Tanner|Lower Quay|Foundry|Hawthorn|Pleasant|Union|Market|Wentworth|1st|2nd|5th|42nd|Boundary""".replace("\n", "|").split("|")
KINDS = "Street St St. Avenue Ave Road Rd Lane Drive Dr Boulevard Blvd Court Place Way Terrace Crescent Square Parkway Close Trail Pass Mews Bypass Ridge Highway Alley Loop Walk Greens Fort Union Radial".split()
FOREIGN = """Rue de la {n}|Calle {n}|{n}straße|{n}strasse|{n} Strasse|Via {n}|Avenida {n}|Rua {n}|Rua do {n}|{n}gatan|{n}vägen|{n}vej|{n}gade|{n}veien|{n}vænget|{n} utca|{n} u.|Plaza {n}|Boulevard {n}|{n}laan|{n}straat|ul. {n}|{n}katu|{n}tie
{n}weg|{n}gasse|{n} Caddesi|{n} Sokak|ulice {n}|{n}ova|{n} tér|estrada {n}|Largo {n}|Viale {n}|Corso {n}|Paseo {n}|rue {n}|avenue {n}|Chemin de {n}|Jalan {n}|{n} iela|{n} tänav|{n}gata|Str. {n}|Rruga {n}|bul. {n}|Odos {n}|{n} Marg""".replace("\n", "|").split("|")
FOREIGN_NAMES = """Victoire|Mayor|Goethe|Garibaldi|Libertad|Flores|Stor|Linden|Haupt|Petőfi|Roma|Republique|Kirch|Berg|Skol|Wilhelmina|Długa|Koski|Schiller|Östby|Magasins|Passauer|Villacher|Jesionowa|Arenque|Bramstrup|Lodskov
Rosen|Mühlen|Bahnhof|Garten|Eichen|San Martín|Cervantes|Independencia|Mazzini|Dante|Verdi|Pasteur|Gambetta|Jaurès|Kossuth|Dózsa|Mickiewicza|Polna|Krótka|Atatürk|Cumhuriyet|Nuova del Campo|Praia|Forno|Kesä|Myllý|Præste""".replace("\n", "|").split("|")
WHOLE_STREETS = """Am Alten Markt|An der Stadtmauer|Unter den Eichen|Hinter der Kirche|Zum Weiher|Lange Reihe|Neuer Wall|Schulgasse|Obere Dorfstraße|Kaiserallee|Rosenhügel|Place du Marché|Impasse des Lilas|Quai des Brumes|Allée des Tilleuls|Passage du Puits|Cours Saint-Louis|Route de Genève|Montée du Château|Square des Ormes
Calle de los Olivos|Camino Viejo|Avenida del Puerto|Plaza de la Constitución|Ronda de San Pedro|Paseo Marítimo|Carrer de Mallorca|Travesía del Horno|Glorieta del Sol|Calzada Norte|Carrera 15|Calle 72|Privada Jacarandas|Blvd. Las Palmas|Jirón Unión|Pasaje Los Aromos|Rua das Amoreiras|Travessa da Fonte|Alameda Santos|Praça da República
Beco do Gato|Rodovia BR-101|Via Appia Nuova|Piazza Duomo|Vicolo Stretto|Lungomare Colombo|Contrada San Rocco|Strada Provinciale 12|Salita del Carmine|Prinsengracht|Nieuwe Binnenweg|Achter de Dom|Oude Markt|Dorpsplein|Kerkpad|Steenweg op Gent|Havnegade|Søndre Ringvej|Nørrebakken|Åvej|Kirkestræde|Storgata|Nedre Slottsgate
Fjellveien|Bryggen|Drottninggatan|Stora Nygatan|Björkallén|Hamntorget|Norra Vallen|Mannerheimintie|Karjalankatu|Rantapolku|Puistotie|Kauppatori|Laugavegur|Hverfisgata|Pärnu maantee|Brīvības bulvāris|Gedimino pr.|Marszałkowska|Plac Wolności|Aleja Róż|os. Słoneczne|Rynek Główny|Nowy Świat|Na Příkopě|Václavské náměstí
nám. Míru|Hlavná ulica|Obchodná|Andrássy út|Fő tér|Kossuth Lajos utca|Rákóczi köz|Bulevardul Unirii|Strada Florilor|Calea Victoriei|Piața Mare|Aleea Teilor|Knez Mihailova|Trg Slobode|Ulica grada Vukovara|Obala kralja Petra|Slovenska cesta|Bul. Vitosha|ul. Hristo Botev|Rr. e Durrësit|Ermou|Leoforos Kifisias|Odos Egnatia
İstiklal Cad.|Bağdat Caddesi|Gül Sokağı|Barbaros Bulvarı|ul. Lenina|Nevsky prospekt|Sadovaya ulitsa|prospekt Mira|pereulok Gogolya|vul. Khreshchatyk|prosp. Shevchenka|Rustaveli Avenue|Abovyan St|Nizami küç.|Dizengoff St|Rehov Herzl|Sharia Talaat Harb|King Fahd Road|Hamdan bin Mohammed Street|Rue Mohammed V|Avenue Bourguiba
Valiasr St|Shahrah-e-Faisal|MG Road|4th Cross, 2nd Main|Sector 17|Linking Road|Gandhi Nagar|Lal Bagh Lane|Galle Road|Thamel Marg|Soi 11|Sukhumvit Road|Jalan Ampang|Jl. Sudirman|Jl. Melati|Lorong Chuan|Orchard Boulevard|Phố Huế|Đường Lê Lợi|Nguyễn Trãi|Rizal Ave|Nathan Road|Zhongshan Road|Nanjing West Road|Jianguo Lu|Heping Dong Lu
Teheran-ro|Sejong-daero|Bukchon-ro 5-gil|Sakura-dori|2-chome Ginza|Chuo 3-chome|Awolowo Road|Herbert Macaulay Way|Ring Road East|Kenyatta Avenue|Moi Avenue|Bole Road|Samora Machel Ave|Voortrekker St|Kloof Street|Kerkstraat|Boulevard de la Corniche|Avenue Cheikh Anta Diop|County Road 12|State Route 9|Highway 61|Farm to Market Road 20|Rural Route 2
Old Post Road|Ocean Parkway|Peachtree Hollow|Deer Run|Coyote Trail|Bayou Bend|Quarry Cove|Chapel Row|The Shambles|Gasworks Yard|Saltmarket|Seven Dials|Cowgate|Heol y Bont|Sráid na Trá|Bothar Mor|Pier Head|Back Lane|Thorny Croft|Nethergate|Lower Marsh|Rose Hill Gardens|Whalley Range|Karangahape Rd|Tui Grove|Bondi Parade""".replace("\n", "|").split("|")
ORGS_A = """Northwind Acme Globex Initech Vertex Sunrise Redwood Silverline Quantum Evergreen Atlas Pinnacle Lumen Cobalt Meridian Granite Falcon Zenith Orchid Kestrel Halcyon Nimbus Crestview Ironwood Bluebird Oakridge Starling
Tidewater Solstice Lucid Adaptive Persint Propublica Verdafero Exversion Nielsen Corelogic Keystone Lighthouse Beacon Anchor Summit Horizon Catalyst Compass Harvest Mosaic Prism Spectrum Trident Vanguard Liberty Pioneer Arrow
Citadel Ember Fathom Grove Juniper Lattice Marlin Onyx Parallax Ripple Sable Thicket Umbra Willow Zephyr Locavore Sunlight""".split()
LEGAL = """Ltd|Ltd.|Inc|Inc.|GmbH|LLC|Corp|Corp.|Group|Holdings|AG|S.A.|PLC|plc|S.p.A.|S.r.l.|B.V.|N.V.|Oy|AB|A/S|ASA|SE|KG|Sp. z o.o.|s.r.o.|Kft.|d.o.o.|SARL|SAS|Lda.|S.L.|Pty Ltd|Pvt. Ltd.|Co., Ltd.|K.K.|Bhd|PT|& Sons|& Co.|and Sons|Corporation|Company|LLP|A.Ş.""".split("|")
TRADES = "Bank Logistics Foods Pharma Systems Insurance Airlines Software Partners Media Energy Motors Labs Consulting Capital Analytics Mutual Securities Telecom Steel Shipping Textiles Robotics Therapeutics Technologies Advisors Realty Press Records Studios Networks Solutions Ventures Publishing Brewery Dental Travel Security Health Petroleum".split()
ORGS = """United Nations|Red Cross|Microsoft|Toyota|Siemens|Nestlé|IKEA|Harvard University|Stanford|Deutsche Bank|HSBC|Pfizer|Samsung|NASA|UNICEF|the World Bank|Spotify|Netflix|Memorial Hospital|St. Mary's Hospital|Lincoln High School
City Council|Ministry of Health|Amazon|Walmart|Boeing|Airbus|Sony|FIFA|BBC|CNN|Reuters|Tesla|Uber|SAP|Deloitte|Allianz|Merrill Lynch|Amazon Web Services|Google|Apple|Facebook|IBM|Oracle|Intel|Volkswagen|BMW|Renault|Fiat|Ericsson|Nokia|Maersk
Shell|BP|Total|Petrobras|Vale|Tata Motors|Infosys|Alibaba|Tencent|Huawei|Honda|Nintendo|Hyundai|Qantas|Lufthansa|Air France|KLM|Ryanair|Emirates|Coca-Cola|Starbucks|McDonald's|Nike|Adidas|Zara|H&M|Vodafone|Orange|AT&T|Verizon|FedEx|DHL|UPS|WHO
European Commission|NATO|Interpol|Greenpeace|Amnesty International|Oxfam|Médecins Sans Frontières|the Guardian|Le Monde|Der Spiegel|El País|The New York Times|Ministry of Defence|Department of Justice|Federal Reserve|Supreme Court|IMF|FBI|CIA|IRS|NHS
Real Madrid|Manchester United|Juventus|Boca Juniors|Ajax|the Rolling Stones|Radiohead|Metallica|Chemical Abstracts Service|Boston Consulting Group|State Farm Insurance|Think Computer Corporation|3 Round Stones Inc|6Sigma|Labour Party|Green Party
Rotary Club|Boy Scouts|Salvation Army|Sierra Club|Wells Fargo|JPMorgan Chase|Goldman Sachs|Santander|BNP Paribas|UBS|ING|Barclays|Lloyds|Mayo Clinic|Max Planck Society|MIT|Yale|Caltech|ETH Zürich|Kaiser Permanente|Airbnb|Stripe|PayPal|Visa""".replace("\n", "|").split("|")
ORGS += """Twitter|YouTube|Instagram|TikTok|Snapchat|WhatsApp|Telegram|Reddit|LinkedIn|Pinterest|Twitch|Discord|Zoom|Slack|Dropbox|GitHub|GitLab|Mozilla|Wikipedia|Yahoo|eBay|Etsy|Shopify|Klarna|Revolut|Monzo|Venmo|Lyft|Bolt|Grab|Gojek|DoorDash|Deliveroo|Just Eat|Booking.com|Expedia|Tripadvisor|Hulu|Disney|Warner Bros|Universal
Paramount|HBO|NBC|ABC|CBS|Fox News|MSNBC|ESPN|Sky News|ITV|Al Jazeera|Bloomberg|Forbes|Time|Vogue|The Economist|Financial Times|The Washington Post|Los Angeles Times|USA Today|Daily Mail|The Times of India|Asahi Shimbun|La Repubblica|Le Figaro|Die Zeit|Associated Press|AFP|dpa|Xinhua|NFL|NBA|MLB|NHL|UEFA|IOC|Formula 1|Ferrari
Lakers|Celtics|Yankees|Red Sox|Cowboys|Patriots|Packers|Arsenal|Chelsea|Liverpool|Everton|Celtic|Rangers|Barcelona|Atlético Madrid|Bayern Munich|Borussia Dortmund|AC Milan|Inter|Roma|PSG|Benfica|Flamengo|Corinthians|River Plate|Galatasaray|Fenerbahçe|Oxford|Cambridge|Princeton|UCLA|NYU|LSE|Sorbonne|Tsinghua University|University of Tokyo
Congress|Senate|House of Commons|Parliament|Bundestag|Knesset|Pentagon|White House|Kremlin|Scotland Yard|NYPD|LAPD|Homeland Security|EPA|FDA|CDC|SEC|FCC|NSA|MI5|Europol|OPEC|ASEAN|African Union|European Central Bank|World Trade Organization|UNESCO|UNHCR|World Food Programme|Doctors Without Borders|Human Rights Watch|WWF|PETA|ACLU|NRA
Tesco|Sainsbury's|Aldi|Lidl|Carrefour|Costco|Target|Best Buy|Home Depot|Macy's|Sephora|Gap|Uniqlo|Primark|Burger King|KFC|Subway|Domino's|Dunkin'|Chipotle|Pepsi|Heineken|Unilever|Procter & Gamble|Danone|Kraft Heinz|Mars|Ferrero|L'Oréal|Bayer|BASF|Novartis|Roche|Moderna|AstraZeneca|Johnson & Johnson|GSK|Merck|Sanofi
T-Mobile|Comcast|Telefónica|Deutsche Telekom|BT|Cisco|HP|Dell|Lenovo|Asus|LG|Panasonic|Canon|Nikon|Philips|Bosch|Philips|General Electric|General Motors|Ford|Chrysler|Peugeot|Škoda|Volvo|Mazda|Subaru|Kia|Porsche|Audi|Rolls-Royce|Lockheed Martin|Raytheon|SpaceX|Blue Origin|Delta|United Airlines|American Airlines|easyJet|British Airways|Iberia
Morgan Stanley|Citigroup|Bank of America|American Express|Mastercard|Credit Suisse|Société Générale|UniCredit|Rabobank|Nordea|Danske Bank|BBVA|KPMG|PwC|Ernst & Young|McKinsey|Accenture|Bain|Berkshire Hathaway|BlackRock|Vanguard|AXA|Zurich|Aetna|GEICO|Rio Tinto|Glencore|ExxonMobil|Chevron|Gazprom|Aramco|Equinor|Eni|Repsol""".replace("\n", "|").split("|")
ORGS += """株式会社山川製作所|東海信用金庫|北浜大学|みどり病院|日の出運輸|有限会社さくら堂|华宇科技有限公司|东方建材集团|海宁大学|第三人民医院|新月传媒|光明银行|한빛전자|주식회사 누리소프트|새봄병원|동해대학교|푸른은행|ООО «Северный ветер»|АО «Луч»|Банк «Якорь»|Завод «Прогресс»|Городская больница № 4|ТОВ «Світанок»|Университет Приморья
شركة النخيل للتجارة|بنك الواحة|جامعة المنار|مستشفى الشفاء|Τράπεζα Αιγαίου|Πανεπιστήμιο Ιονίων|Εταιρεία Ήλιος ΑΕ|בנק הגליל|אוניברסיטת הנגב|सूर्य उद्योग लिमिटेड|बैंक ऑफ़ गंगा|บริษัท ดอกบัว จำกัด|โรงพยาบาลสายธาร|Công ty TNHH Hoa Sen Việt|PT Angin Timur Tbk|Yıldızlı Gıda A.Ş.|Zakłady Mięsne Dębina|Młyn Pod Lipą|Pivovar Hora s.r.o.|Állami Nyomda Zrt.""".replace("\n", "|").split("|")
ORG_KINDS = ["{} University", "{} College", "{} General Hospital", "{} Clinic", "{} Institute", "{} Foundation", "{} Times", "{} Herald", "{} Tribune", "{} Post", "Radio {}", "{} Rovers", "{} United", "FC {}", "{} FC", "{} High School", "{} Academy", "{} Police Department", "{} City Council",
             "{} Chamber of Commerce", "{} Symphony", "Museum of {}", "Bank of {}", "Hotel {}", "{} Society", "{} Association", "{} Union", "Friends of {}", "The {}s", "{} Airport Authority", "{} Credit Union", "{} Public Library", "{} & Daughters", "{} Brothers", "Café {}", "Studio {}", "Ministry of {} Affairs"]
# Parts of made-up organisation names; company() and institution() put them together.
CHUNKS = """bright clear swift north deep blue green loop grid spark trail field stack wave light mint plum fern moss peak tide drift bolt flux core node byte code link path bridge gate port dock anchor sail wind rain
sun moon star dawn dusk glow fire ash coal iron steel gold silver brass clay sand salt sugar honey pepper basil thyme clover daisy lotus poppy heron crane finch robin raven otter badger fox wolf bear moose bison lynx
hare pony colt lamb goat cargo truck wheel pedal motor pilot rocket comet lunar solar astro aero hydro geo bio agri medi cura vita nutri derma neuro cardio opti audi vox tele info data fin pay coin cash ledger tax
audit claim trust vault guard shield safe secure lock key cyber logic quant metric scale rank score chart map scout hunter seeker finder maker builder crafter forge works smith mill loom thread stitch fabric cotton
wool velvet denim tailor style chic bloom petal root seed crop farm barn yard house home nest den loft attic tower castle villa manor plaza market shop store cart basket parcel crate box pack ship freight haul move
talk chat voice echo buzz ping note memo draft paper print ink quill page book read learn teach tutor campus quest game play joy happy lucky merry cozy fresh crisp pure clean soap wash bath spa yoga fit gym run sport""".split()
TAILS = """ly ify io ia ex ix ora era ent ster able ware wise hub lab labs kit box bay base bot byte flow force fox genie gate grid hive hood jet land lane lane line loop mate mind nest path pay peak pod point press pulse rise
scape scout sense shift sphere spot spring stack stream tap tree verse view vine wave way well wire wood works yard zen zone ium ity ado eo oo ara ova iva ento ella etta ino iq us um ulo ance adia opia onic ics ism
tronic tron gen zyme pharm cell thera dyne plex max pro one plus up co quo ify mondo vista terra aqua nova villa arium orama eria ette ency ency ible ling let ock ow er ers ery""".split()
HEADS = ["i", "e", "my", "go", "we", "un", "re", "co", "u", "x", "z", "all", "any", "ever", "neo", "omni", "trans", "inter", "uni", "open", "hyper", "micro", "nano", "eco", "bio", "poly", "pan", "meta"]
LATIN = [a + b for a in "Ver Val Alt Cor Lum Nov Sol Aur Vir Tal Fid Prob Cel Mag Amb Civ Dom Sal Ver Clar Just Serv Temp Un Vig Ax Acc Alp Ast Cent Den Eq Ex Fort Gran Hel Int Jun Lat Med Nav Oct Pac Quin Reg Sen Ter Ult Ven".split()
         for b in "entis idia antis ora igo eus ium aris icus onia atum era ivo anta encia alia entra axis itas odis erra ecta inus uent iant isto".split()]
BRANDS = """Adaptive|Maple Door|Walk Better|Second Breakfast|Tall Order|Plainspoken|Kindling|Proper Cloth|Good Measure|Slow Morning|Bright Side|Open Hand|Common Thread|Small Hours|Even Keel|Steady|Notion of Sleep|Loud and Clear|Paper Crane|Wild Oats|Daily Bread
Blank Slate|Clean Sweep|Double Knot|First Light|Long Story|Odd Socks|Quiet Room|Red Kite|Soft Landing|Three Wishes|Warm Hands|Yellow Brick|Absolute|Assured|Balance|Breathe|Candid|Clarity|Complete|Confide|Curious|Dwell|Earnest|Elevate|Emerge|Engage
Essential|Evolve|Flourish|Foundry|Gather|Genuine|Gusto|Handsome|Humble|Imagine|Insight|Journey|Keepsake|Landmark|Legacy|Lively|Method|Momentum|Nourish|Outlook|Pattern|Perch|Presto|Proof|Radiant|Reason|Relay|Remedy|Respond|Retreat|Roam|Route|Sage
Savvy|Sensible|Signal|Simple|Sincere|Spruce|Stride|Sturdy|Table|Tailwind|Tempo|Thrive|Together|Tonic|Touchstone|True|Upstart|Valiant|Venture|Virtue|Vivid|Wander|Welcome|Wellspring|Whisk|Wonder|Yonder|Better Half|Cold Brew|Corner Office
Field Day|Fine Print|Fresh Start|Glass House|Half Moon|Hard Hat|Hello Dinner|High Water|Home Stretch|Inside Out|Iron Lung|Last Mile|Left Bank|Life Raft|Magic Carpet|Main Sail|Moon Shot|New Leaf|Night Owl|Old Bridge|On Deck|Outer Edge|Over Easy
Pocket Change|Rain Check|Rock Bottom|Salt Water|Side Door|Silent Partner|Spare Room|Square One|Still Life|Sun Porch|Tea Leaf|Tin Roof|Top Shelf|Turning Point|Upper Deck|Velvet Rope|Wax Seal|White Glove|Wide Awake|Wise Owl|Work in Progress|Eat Well|Grow Green
Sleep Tight|Think Twice|Travel Light|Build Kind|Drive Easy|Move Mountains|Pay Less|Ride On|Save Smart|Sell Fast|Ship It|Sing Out|Speak Up|Stay Put|Trust Fall|Feed the Hungry|Meals for Many|Hands Across Borders|Keep Rivers Clean|Bikes not Bombs|Code for Kids
Right to Roam|Shelter Now|Water for Life|Parents United|Coffee and Kin|Flour & Salt|The Daily Grind|The Corner Shop|The Green Room|The Paper Mill|The Learning Tree|The Old Forge|The Blue Door|The Sleep Company|The Good Egg|The Knowledge House""".replace("\n", "|").split("|")
FIELDS = """Labs Systems Partners Group Holdings Health Data Analytics Capital Logistics Consulting Ventures Media Studios Software Solutions Technologies Interactive Digital Networks Robotics Biotech Genomics Diagnostics Therapeutics Pharmaceuticals
Instruments Materials Chemicals Plastics Paper Packaging Foods Beverages Dairy Bakery Coffee Wines Farms Organics Seeds Fisheries Forestry Timber Mining Minerals Metals Steelworks Foundry Tools Machinery Automotive Motors Mobility Aerospace Aviation Airways
Airlines Cargo Freight Shipping Ferries Rail Transport Couriers Express Storage Properties Estates Realty Homes Construction Builders Engineering Architects Interiors Furniture Lighting Textiles Apparel Footwear Jewellers Cosmetics Pharmacy Opticians Dental
Veterinary Insurance Assurance Underwriters Bank Bancorp Savings Finance Financial Investments Securities Asset-Management Wealth Advisors Brokers Exchange Accountants Audit Recruitment Staffing Talent Training Learning Education Publishing Press News Gazette
Broadcasting Radio Television Pictures Films Entertainment Records Music Games Toys Sports Fitness Travel Tours Holidays Hotels Resorts Catering Kitchens Brewery Distillers Energy Power Gas Petroleum Solar Renewables Water Utilities Waste Recycling Telecom
Wireless Mobile Cloud Security Intelligence Research Sciences Imaging Optics Semiconductors Electronics Devices Components Controls Automation Industries Enterprises International Worldwide Global Trading Imports Supplies Wholesale Retail Stores""".replace("-", " ").split("\n")
FIELDS = [f for line in FIELDS for f in line.split()] + ["Asset Management", "Wealth Management", "Property Services", "Payment Services", "Data Systems", "Life Sciences", "Public Affairs", "Machine Works", "Legal Services", "Home Care", "Human Capital", "Credit Bureau", "Market Research", "Weather Services",
          "Open Data", "Health Analytics", "Energy Partners", "Capital Partners", "Real Estate", "Law Group", "Food Group", "Medical Group", "Media House", "Design Studio", "Software House", "Travel Agency", "Auto Parts", "Building Supply", "Oil and Gas", "Research Group", "Data Cooperative"]
BODIES = """University of {c}|{c} University|{c} State University|{l} University|{c} Technical University|{l} College|St. {f}'s College|{c} Business School|{c} School of Economics|{l} School of Law|{c} Community College|{c} High School|{l} Primary School|{l} Academy|{c} Conservatory
{c} General Hospital|{l} Memorial Hospital|St. {f}'s Hospital|{c} Children's Hospital|{l} Clinic|{c} Medical Center|{l} Hospice|{c} Health Board|Royal {c} Infirmary|{c} Blood Bank|{l} Cancer Center|{c} Ambulance Service
Department of {t}|Ministry of {t}|Office of {t}|Bureau of {t}|Agency for {t}|National Institute of {t}|Federal Office for {t}|{c} Department of {t}|State Committee on {t}|Council for {t}|Commission on {t}|Center for {t}|Institute for {t} Research|Society for {t}
{c} City Council|City of {c} Public Works|{c} County Court|{c} Police|{c} Fire Department|{c} Port Authority|{c} Water Board|{c} Transit|{c} Chamber of Commerce|{c} Stock Exchange|{c} Airport|{c} Public Library|{c} Museum of Art|{c} Zoo|{c} Opera|{c} Philharmonic
{l} Foundation|{f} {l} Foundation|{l} Family Trust|{c} Community Foundation|Association of {t} Workers|International {t} Federation|Union of {t}|{c} Teachers Union|{c} Relief Fund|Friends of the {c} Library|{c} Historical Society|Save the {w}s|Movement for {t}
FC {c}|{c} FC|{c} United|{c} City|AC {c}|SC {c}|{c} Rovers|{c} Athletic|{c} {w}s|Dynamo {c}|Real {c}|Sporting {c}|{c} Wanderers|{c} Rugby Club|{c} Sailing Club|Bank of {c}|{c} Savings Bank|First National Bank of {c}|{c} Credit Union|{l} Bank|Banco de {c}|Sparkasse {c}
Air {c}|{c} Airways|{c} Airlines|{c} Railways|{c} Electric|{c} Times|{c} Daily News|The {c} Observer|The {c} Courier|Radio {c}|{c} TV|Hotel {l}|The {l} Hotel|Universidad de {c}|Université de {c}|Universität {c}|Università di {c}|Uniwersytet {c}|Stadtwerke {c}|Klinikum {c}
Gemeinde {c}|Ayuntamiento de {c}|Mairie de {c}|Comune di {c}|Hospital San {f}|Clínica {l}|Fundación {l}|Fondation {l}|Fondazione {l}|Stiftung {l}|Banca {l}|Banque {l}|Transportes {l}|Autohaus {l}|Bäckerei {l}|Boulangerie {l}|Trattoria da {f}|Bar {l}|Casa {l}|Maison {l}
Grupo {l}|Groupe {l}|Gruppe {l}|Grupa {l}|Party of {t}|{w} Party|People's {w} Party|Democratic {w} Alliance|The {w} Collective|The {w} Project|The {w} Initiative|{w} Cooperative|{w} Society|Alliance for {t}|Campaign for {t}|Order of the {w}|Church of St. {f}""".replace("\n", "|").split("|")
TOPICS = """Health|Education|Labor|Labour|Energy|Transportation|Transport|Agriculture|Defense|Finance|Justice|Commerce|the Interior|Foreign Affairs|the Environment|Housing|Veterans Affairs|Social Welfare|Public Health|Food Safety|Fisheries|Tourism|Culture|Sport|Water Resources|Civil Aviation
Statistics|Standards|Aging|Mental Health|Climate Policy|Higher Education|Marine Biology|Urban Design|Consumer Protection|Data Protection|Road Safety|Rural Development|Digital Rights|Open Science|Peace|Human Rights|Animal Welfare|Patents|Revenue|Immigration|Forestry|Mines|Nuclear Safety""".replace("\n", "|").split("|")

NRP = """American British French German Italian Spanish Portuguese Dutch Swedish Norwegian Finnish Polish Russian Ukrainian Turkish Greek Egyptian Nigerian Kenyan Indian Pakistani Chinese Japanese Korean Vietnamese Thai
Filipino Australian Canadian Mexican Brazilian Argentine Chilean Colombian Iranian Iraqi Syrian Israeli Lebanese Moroccan Ethiopian Irish Scottish Welsh Danish Hungarian Czech Romanian Bulgarian Serbian Catholic Protestant Muslim
Jewish Hindu Buddhist Sikh Mormon Baptist Lutheran Methodist Republican Democrat Conservative Labour Socialist Christian Sunni Shia Orthodox Quaker Kurdish Basque Catalan Roma Maori Hispanic Latino Peruvian Cuban English Slovenian Slovak
Croatian Icelandic Estonian Latvian Lithuanian Belarusian Georgian Armenian Azerbaijani Kazakh Uzbek Afghan Mongolian Tibetan Nepali Bangladeshi Burmese Cambodian Lao Malay Malaysian Indonesian Singaporean Taiwanese Bruneian Samoan
Tongan Fijian Hawaiian Jamaican Haitian Dominican Panamanian Honduran Guatemalan Salvadoran Belizian Bolivian Paraguayan Uruguayan Venezuelan Ecuadorian Ghanaian Senegalese Malian Ivorian Cameroonian Congolese Angolan Zambian Zimbabwean
Namibian Ugandan Rwandan Tanzanian Somali Eritrean Sudanese Libyan Tunisian Algerian Yemeni Omani Qatari Kuwaiti Saudi Jordanian Palestinian Cypriot Maltese Albanian Bosnian Macedonian Montenegrin Moldovan Austrian Swiss Belgian Flemish
Greenlander Sami Cherokee Navajo Inuit Yoruba Igbo Hausa Zulu Xhosa Berber Arab Persian Punjabi Tamil Bengali Amish Anglican Presbyterian Evangelical Pentecostal Jain Zoroastrian Taoist Shinto Bahá'í Atheist Agnostic Communist Liberal
Libertarian Marxist Anarchist Tory Whig Trotskyist Maronite Coptic Druze Alawite Hasidic Sephardic Ashkenazi Rastafarian Creole Cajun Breton Cornish Galician Sicilian Bavarian Silesian European African Asian Caribbean Scandinavian""".split()
NRP_MORE = """Afro-American|African American|Asian American|Native American|South African|New Zealander|Sri Lankan|Costa Rican|Puerto Rican|North Korean|South Korean|East German|Hong Konger|Burkinabé|Beninese|Togolese|Gambian|Guinean|Liberian|Sierra Leonean|Nigerien|Chadian|Gabonese|Burundian|Malawian|Mozambican|Malagasy|Mauritian|Mauritanian
Batswana|Basotho|Swazi|Djiboutian|Comorian|Seychellois|Cape Verdean|Emirati|Bahraini|Turkmen|Kyrgyz|Tajik|Uyghur|Chechen|Tatar|Ossetian|Abkhaz|Crimean|Transnistrian|Kosovar|Luxembourgish|Monégasque|Andorran|Liechtensteiner|Faroese|Manx|Sardinian|Corsican|Walloon|Frisian|Occitan|Castilian|Andalusian|Valencian|Asturian|Tyrolean
Moravian|Ruthenian|Sorbian|Vlach|Papuan|Micronesian|Palauan|Marshallese|Nauruan|Tuvaluan|Aboriginal|Polynesian|Melanesian|Guyanese|Surinamese|Barbadian|Bahamian|Trinidadian|Grenadian|Bermudian|Quechua|Aymara|Guarani|Mapuche|Maya|Métis|Mohawk|Sioux|Lakota|Apache|Hopi|Choctaw|Yupik|Tlingit|Ashanti|Fulani|Tuareg|Wolof
Amhara|Oromo|Tigrayan|Kikuyu|Luo|Maasai|Shona|Ndebele|Tutsi|Hutu|Gujarati|Marathi|Telugu|Malayali|Sindhi|Pashtun|Baloch|Hazara|Sinhalese|Karen|Hmong|Javanese|Sundanese|Balinese|Tagalog|Cantonese|Hakka|Ainu|Okinawan|Han Chinese|Roman Catholic|Greek Orthodox|Eastern Orthodox|Seventh-day Adventist|Jehovah's Witness|Unitarian
Calvinist|Huguenot|Mennonite|Hutterite|Salafi|Ismaili|Ahmadi|Sufi|Shi'ite|Wahhabi|Yazidi|Zen|Hare Krishna|Wiccan|Pagan|Scientologist|Secular|Humanist|Vaishnava|Lingayat|Reform Jewish|Haredi|Ultra-Orthodox|Born-again Christian|Social Democrat|Christian Democrat|Liberal Democrat|Green|Peronist|Gaullist|Zionist|Islamist|Leninist
Maoist|Fascist|Nazi|Loyalist|Unionist|Sinn Féin|Labourite|Centrist|Progressive|Nationalist|Separatist|Royalist|Federalist|Feminist|Democratic|GOP|Nordic|Balkan|Slavic|Baltic|Iberian|Gallic|Hellenic|Levantine|Maghrebi|Latin American|South Asian|East Asian|West African|North African|Middle Eastern|Anglo-Saxon|Anglo-Irish|Franco-Algerian
Sino-American|Italian-American|Irish American|British Asian|French-Canadian|Mexican-American|Scots|Lebanese-Brazilian|Soviet|Yugoslav|Czechoslovak|Ottoman|Prussian|Byzantine""".replace("\n", "|").split("|")
PLURALS = "Kiwis Aussies Yanks Sikhs Jains Sufis Copts Druze Zulus Yorubas Igbos Tamils Punjabis Pashtuns Tibetans Uyghurs Chechens Basques Catalans Bretons Walloons Flemings Venezuelans Colombians Argentines Bolivians Ecuadorians Hondurans Jamaicans Fijians Tongans Indonesians Malaysians Singaporeans Iranians Iraqis Syrians Jordanians Saudis Yemenis Libyans Tunisians Algerians Ethiopians Somalis Eritreans Ugandans Rwandans Zambians Zimbabweans Angolans Maltese Cypriots Albanians Bosnians Slovenes Macedonians Georgians Armenians Kazakhs Mennonites Presbyterians Pentecostals Marxists Trotskyists Nationalists Maoists Americans Germans Italians Russians Swedes Danes Finns Poles Turks Greeks Spaniards Brits Scots Irishmen Dutchmen Canadians Mexicans Brazilians Indians Pakistanis Koreans Australians Kenyans Nigerians Ghanaians Israelis Palestinians Kurds Arabs Berbers Catholics Protestants Muslims Jews Hindus Buddhists Sikhs Mormons Baptists Lutherans Methodists Quakers Republicans Democrats Socialists Communists Liberals Christians Sunnis Shiites Hungarians Serbs Croats Czechs Slovaks Bulgarians Romanians Ukrainians Afghans Uzbeks Mongolians Filipinos Thais Latinos Hispanics Cubans Haitians Chileans Peruvians Icelanders Estonians Latvians Belgians Austrians Norwegians Egyptians Moroccans Cambodians Samoans Atheists Anglicans Evangelicals Tories Marxists".split()
TITLES = ["Mr.", "Mr", "Mrs.", "Mrs", "Ms.", "Ms", "Miss", "Dr.", "Dr", "Prof.", "Professor", "Sir", "Madam", "Lady", "Rev.", "Capt.", "Sgt.", "Lord", "Dame", "Herr", "Frau", "Señor", "Monsieur", "Mr.", "Mrs.", "Ms.", "Dr.", "Miss",
          "Lt.", "Col.", "Gen.", "Maj.", "Neural", "Hon.", "Father", "Sister", "Rabbi", "Imam", "Sheikh", "Mme", "Mlle", "Sra.", "Sr.", "Don", "Doña", "Signora", "Sig.", "Mx.", "Senator", "Councillor", "Sergeant", "Captain", "Lieutenant", "Dr. med.", "Fr."]
# Forms of address that are names or words too; apart, because TITLES also tells forms of address from names.
FORMS_MORE = ["Sri", "Smt.", "Shri", "Mstr.", "Master", "Esq.", "Messrs.", "Mesdames", "Ma'am", "Ustad", "Maestro", "Cpl.", "Pte.", "Pvt.", "Adm.", "Cmdr.", "Brig.", "Ens.", "Det.", "Insp.", "Supt.", "PC", "Officer", "Detective", "Constable", "Gov.", "Sen.", "Rep.", "Pres.", "Amb.", "Ambassador", "Baron", "Baroness",
          "Count", "Countess", "Duke", "Duchess", "Prince", "Princess", "Queen", "King", "Pastor", "Bishop", "Archbishop", "Cardinal", "Msgr.", "Brother", "Br.", "Sr", "Haji", "Pandit", "Colonel", "Major", "General", "Admiral", "Commander", "Corporal", "Private", "Assoc. Prof.", "Asst. Prof.", "Prof. Dr.", "Dr.-Ing.", "Dipl.-Ing.", "Ing.", "Mag.",
          "Dott.", "Dott.ssa", "Avv.", "Arch.", "Geom.", "Sig.ra", "Srta.", "Sra", "Señora", "Señorita", "Senhor", "Senhora", "Dra.", "Lic.", "Me", "Madame", "Mademoiselle", "M.", "Maître", "Hr.", "Fru", "Fröken", "Dhr.", "Mevr.", "Mw.", "Pan", "Pani", "Paní", "Gospodin", "Gospođa", "Domnul", "Doamna", "Kyria", "Kyrios", "Bay", "Bayan", "Encik", "Puan", "Bapak", "Ibu", "Bà", "Ông", "Khun", "MR", "MRS", "DR"]
JOBS = """Civil drafter|Publicist|Passenger booking clerk|Maxillofacial surgeon|Gas furnace installer|Cinematographer|Singer|Technical writer|Surgical technologist|Packager|Platemaker|Midwife|Biomedical engineer|Fumigator|Dairy scientist|X-ray technician
Software engineer|Senior accountant|Head of Sales|Marketing manager|Chief Financial Officer|CFO|CEO|CTO|Managing director|Vice President|Regional manager|Office manager|Receptionist|Paralegal|Tax attorney|Notary|Bookkeeper|Actuary|Underwriter|Bank teller
Loan officer|Financial analyst|Data scientist|Database administrator|Network technician|Help desk analyst|Product owner|UX designer|Art director|Copywriter|Proofreader|Editor-in-chief|Reporter|Photographer|Sound engineer|Stagehand|Choreographer|Violinist
Conductor|Sculptor|Goldsmith|Watchmaker|Locksmith|Plumber|Electrician|Welder|Roofer|Bricklayer|Carpenter|Tile setter|Crane operator|Forklift driver|Truck driver|Bus driver|Train dispatcher|Air traffic controller|Flight attendant|Airline pilot|Ship's cook
Deck officer|Harbor master|Fisherman|Beekeeper|Forester|Agronomist|Veterinarian|Vet technician|Dental hygienist|Orthodontist|Cardiologist|Radiologist|Anesthetist|Pediatric nurse|Registered nurse|Paramedic|Pharmacist|Physical therapist|Speech therapist
Clinical psychologist|Social worker|Kindergarten teacher|Music teacher|School principal|Librarian|Archivist|Museum curator|Associate professor|Postdoctoral researcher|Lab technician|Chemist|Geologist|Hydrologist|Surveyor|Urban planner|Landscape architect
Structural engineer|Mining engineer|Process engineer|Quality inspector|Warehouse clerk|Purchasing agent|Customs broker|Travel agent|Tour guide|Hotel concierge|Pastry chef|Sous chef|Bartender|Baker|Butcher|Sommelier|Barista|Hairdresser|Tailor|Upholsterer
Shoe repairer|Florist|Gardener|Window cleaner|Security guard|Firefighter|Police detective|Probation officer|Court reporter|Legal secretary|Mail carrier|Telephone operator|Insurance adjuster|Claims examiner|Real estate agent|Property manager|Auctioneer
Personal trainer|Referee|Lifeguard|Interpreter|Translator|Statistician|Economist|Political scientist|Press secretary|Speechwriter|Fundraising coordinator|Parking attendant|Elevator mechanic|Boiler operator|Wind turbine technician|Textile cutter|Sawmill worker
Meteorologist|Astronomer|Marine biologist|Zookeeper|Taxidermist|Puppeteer|Stunt performer|Film editor|Game designer|Rolling machine operator|Outside order clerk|Railroad switch operator|Immunology technologist|Time and attendance clerk""".replace("\n", "|").split("|")
JOBS += """Accountant|Actor|Administrator|Advocate|Anchor|Anthropologist|Architect|Arborist|Artist|Attorney|Bailiff|Banker|Barber|Biologist|Blacksmith|Boatbuilder|Bodyguard|Broker|Builder|Buyer|Caddie|Caretaker|Cashier|Caterer|Chauffeur|Chef|Chiropractor|Cleaner|Clerk|Coach|Coder|Columnist|Comedian|Commissioner|Composer
Consultant|Contractor|Cook|Copy editor|Coroner|Councilman|Counselor|Courier|Craftsman|Critic|Croupier|Curator|Dancer|Dealer|Dentist|Designer|Detective|Developer|Dietitian|Diplomat|Director|DJ|Doctor|Doorman|Draughtsman|Dressmaker|Driver|Ecologist|Economics teacher|Editor|Embalmer|Engineer|Engraver|Entomologist|Entrepreneur
Envoy|Estate agent|Farmer|Farmhand|Ferry captain|Fishmonger|Foreman|Fundraiser|Furniture restorer|Gamekeeper|Geneticist|Glazier|Goalkeeper|Governor|Grocer|Gynecologist|Handyman|Historian|Housekeeper|Illustrator|Inspector|Intern|Investigator|IT support technician|Janitor|Jeweller|Jockey|Joiner|Journalist|Neural
Junior developer|Lawyer|Lecturer|Lighting technician|Linguist|Linesman|Logistics coordinator|Machinist|Magistrate|Maid|Make-up artist|Mathematician|Mayor|Mechanic|Mediator|Midfielder|Milliner|Minister of Finance|Model|Montessori teacher|Mortician|Musician|Nanny|Neurologist|Novelist|Nun|Nurse|Nutritionist
Occupational therapist|Optician|Organist|Painter|Park ranger|Pastor|Pathologist|Pest controller|Pharmacologist|Philosopher|Physician|Physicist|Pianist|Piano tuner|Pilot|Plasterer|Playwright|Poet|Police constable|Policeman|Porter|Potter|Priest|Prime Minister|Printer|Private investigator|Producer|Professor of History|Programmer
Prosecutor|Psychiatrist|Psychotherapist|Publisher|Quantity surveyor|Rancher|Rapper|Retail buyer|Retired teacher|Rigger|Sailor|Salesman|Saleswoman|Scaffolder|Scientist|Screenwriter|Seamstress|Secretary|Secretary General|Secretary of State|Senior nurse|Set designer|Shepherd|Sheriff|Shop assistant|Shopkeeper|Soldier|Solicitor
Songwriter|Spokesperson|Spokeswoman|Steelworker|Stockbroker|Stonemason|Striker|Student nurse|Stylist|Surgeon|Swim coach|Systems analyst|Tanner|Tattoo artist|Taxi driver|Teacher|Teaching assistant|Telemarketer|Tester|Toxicologist|Trader|Train driver|Trainee|Treasurer|Tutor|TV presenter|Typist|Umpire|Urologist|Usher|Vicar
Vice Chancellor|Violin maker|Virologist|Waiter|Waitress|Warden|Weaver|Web developer|Wedding planner|Winemaker|Writer|Yoga instructor|Youth worker|COO|CIO|CISO|CMO|VP|SVP Engineering|EVP|HR|HR Business Partner|PA|QA|QA lead|SRE|PhD student|GP|RN|MP|MEP|Engineer, civil|Nurse, adult|Teacher, music|Designer, textile|Engineer, petroleum
Surveyor, land|Psychologist, sport|Scientist, soil|Officer, customs|Manager, sales|Therapist, art|Producer, radio|Accountant, chartered|Editor, film|Pilot, airline|Technician, dental""".replace("\n", "|").split("|")
RANKS = "Senior Junior Lead Chief Deputy Assistant Associate Principal Head Acting Interim Trainee Staff Executive Regional National Global Night Freelance Certified Licensed Apprentice Retired Former Part-time".split()
AREAS = """Sales|Marketing|Finance|Legal|Operations|Product|Software|Data|Security|Network|Cloud|Research|Clinical|Medical|Dental|Laboratory|Nursing|Safety|Quality|Production|Plant|Maintenance|Electrical|Mechanical|Chemical|Marine|Railway|Aviation|Tax|Audit|Payroll|Credit|Risk|Compliance|Procurement|Supply Chain|Inventory|Fleet|Customer Service
Customer Success|Human Resources|Recruiting|Training|Communications|Media|Content|Brand|Social Media|Event|Travel|Hotel|Kitchen|Banquet|Grounds|Facilities|Property|Lease|Construction|Site|Bridge|Energy|Solar|Water|Waste|Forest|Crop|Dairy|School|Library|Museum|Program|Project|Grant|Policy|Community|Youth|Housing|Claims|Insurance|Branch|Mortgage
Investment|Portfolio|Machine Learning|Database|Systems|Test|Integration|Web|Mobile|Graphics|Sound|Costume|Textile|Furniture|Import|Export|Customs|Court|Prison|Parish|Field|Service|Support|Radio|Animal Care|Emergency|Intensive Care|Infection Control|Speech|Family|Trade|Account""".replace("\n", "|").split("|")
ROLES = """Manager|Engineer|Analyst|Officer|Director|Coordinator|Specialist|Supervisor|Technician|Assistant|Administrator|Consultant|Advisor|Adviser|Planner|Inspector|Operator|Clerk|Agent|Representative|Associate|Scientist|Executive|Auditor|Controller|Buyer|Trainer|Instructor|Worker|Nurse|Editor|Designer|Developer|Architect|Strategist
Liaison|Partner|Lead|Intern|Secretary|Attendant|Foreman|Mechanic|Estimator|Scheduler|Facilitator|Investigator|Therapist|Counsel|Steward""".replace("\n", "|").split("|")
WORDS = "meadow lantern harbor pixel quartz delta mirror cobalt ferry sparrow copper willow amber ridge summit orbit cedar maple ember frost river stone cloud nova polar insurance credit optical landscaping travel market visual theater instant listings deals tutor recipe garden".split()
TLDS = "com org net io co.uk de fr es it edu gov info biz us ca com.au nl app dev se jp co me shop ch at be pl cz hu si com.br co.za uy com.cy com.pt com.ee fi dk no in tech xyz".split()
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
STATE_CODES = "CA NY TX OH OR NV FL WA IL MA CO GA AZ NC PA MI VA NJ MN WI AL AK AR CT DE ID IN IA KS KY LA ME MD MS MO MT NE NH NM ND OK RI SC SD TN UT VT WV WY AP VR SO".split()
MAIL = ["gmail.com", "yahoo.com", "outlook.com", "example.com", "hotmail.com", "web.de", "orange.fr", "mail.ru", "proton.me", "icloud.com", "dayrep.com", "rhyta.com", "cuvox.de", "teleworm.us"]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
ONSETS = "b br c ch d dr f fl g gr h j k kr l m n p pr r s sh st t tr v w z k t r l m s v n kl sv zh gl".split()
VOWELS = "a e i o u a e i o ai ei ou ia ea oo á é ö ü ã ø".split()
CODAS = ["", "", "", "n", "r", "l", "s", "m", "t", "k", "nd", "rk", "ss", "x", "ng"]
PLACE_ENDS = "ville ton burg dorf stad by heim ovo ice ów grad pur abad stan town field ham bury ino ano ella ousa iku ara essa inge vik sund fjord nes hof lund holm borg vár falva ești owice ichi naga shima dong zhou yang oko umbe".split()
LAST_ENDS = "son sen ov ova ski ez es i ini escu ic čić oğlu yan dze shvili ko uk enko berg mann er el ert aux ard in en ama oto ura ani ari ullah wala ey by well worth".split()
ORG_ENDS = "ify ly io ia ex ix ora era ent ant afero publica data metrics gov stat tech soft cat zilla wise link scope base works com cast trend vera idia orin ellis core nexis istorm aire".split()


def digits(rng, n):
    return "".join(rng.choice(string.digits) for _ in range(n))


def some(rng, chance, text):
    return text if rng.random() < chance else ""


def syllables(rng, n):
    return "".join(rng.choice(ONSETS) + rng.choice(VOWELS) + (rng.choice(CODAS) if rng.random() < .5 else "") for _ in range(n))


def pattern(rng, form):
    """`form` with # as a digit and ? as a capital letter."""
    return "".join(rng.choice(string.digits) if c == "#" else rng.choice(string.ascii_uppercase) if c == "?" else c for c in form)


def luhn(number):
    total = 0
    for i, c in enumerate(reversed(number)):
        d = int(c)
        if i % 2 == 0:
            d = d * 2 - 9 * (d > 4)
        total += d
    return str(-total % 10)


def CREDIT_CARD(rng):
    kind, length = rng.choice([("4", 16), ("4", 16), ("4", 13), ("51", 16), ("52", 16), ("54", 16), ("55", 16), ("2221", 16), ("34", 15), ("37", 15), ("6011", 16), ("65", 16), ("3528", 16), ("3598", 16), ("30", 14), ("36", 14), ("2131", 15), ("1800", 15), ("5018", 12), ("6759", 12)])
    n = kind + digits(rng, length - 1 - len(kind))
    n += luhn(n)
    if rng.random() < .55 or length < 14:
        return n
    groups = [4, 6, length - 10] if length < 16 else [4, 4, 4, 4]
    out, at = [], 0
    for g in groups:
        out.append(n[at:at + g])
        at += g
    return rng.choice([" ", "-"]).join(out)


IBANS = {"GB": ("4a14n", 22), "DE": ("18n", 22), "FR": ("23n", 27), "ES": ("20n", 24), "NL": ("4a10n", 18), "IT": ("1a22n", 27), "CH": ("17n", 21), "PL": ("24n", 28), "SE": ("20n", 24), "BE": ("12n", 16), "AT": ("16n", 20), "NO": ("11n", 15), "DK": ("14n", 18), "IE": ("4a14n", 22), "PT": ("21n", 25)}


def IBAN_CODE(rng):
    country = rng.choice(list(IBANS) + ["GB"] * 5)
    form = IBANS[country][0]
    letters = int(form.split("a")[0]) if "a" in form else 0
    body = "".join(rng.choice(string.ascii_uppercase) for _ in range(letters)) + digits(rng, int(form.split("a")[-1][:-1]))
    value = int("".join(str(int(c, 36)) for c in body + country + "00"))
    iban = f"{country}{98 - value % 97:02d}{body}"
    return " ".join(iban[i:i + 4] for i in range(0, len(iban), 4)) if rng.random() < .3 else iban


def FIRST_NAME(rng):
    name = rng.choice(FIRST) if rng.random() < .85 else syllables(rng, 2).capitalize() + rng.choice(["", "a", "o", "us", "ina", "ek"])
    return name.lower() if rng.random() < .05 else name


def LAST_NAME(rng):
    name = rng.choice(LAST) if rng.random() < .75 else (syllables(rng, rng.choice([1, 1, 2])) + rng.choice(LAST_ENDS)).capitalize()
    return f"{rng.choice(PARTICLES)} {name}" if rng.random() < .05 else name


def FULL_NAME(rng):
    first, last = FIRST_NAME(rng), LAST_NAME(rng)
    letter = rng.choice(string.ascii_uppercase)
    name = rng.choices([f"{first} {last}", f"{first} {letter}. {last}", f"{first} {letter} {last}", f"{first} {FIRST_NAME(rng)} {last}", f"{first[0]}. {last}", f"{first} {last}-{LAST_NAME(rng)}", f"{first} {last} {LAST_NAME(rng)}", f"{letter}.{first[0]}. {last}"],
                       [14, 1.5, .5, 1, .6, .6, .8, .3])[0]
    return rng.choices([name, name.lower(), name.upper()], [30, 2, 1])[0]


def PERSON(rng):
    kind = rng.random()
    if kind < .03:
        return rng.choice(NATIVE)
    return FULL_NAME(rng) if kind < .68 else FIRST_NAME(rng) if kind < .88 else LAST_NAME(rng) if kind < .97 else f"{LAST_NAME(rng)}, {FIRST_NAME(rng)}"


def AGE(rng):
    if rng.random() < .02:
        return rng.choice(["100", "101", "102", "103", "104", "107", "110", "thirteen", "nineteen", "twelve", "seventeen", "fifteen", "ten", "2 1/2", "3½", "one hundred", "forty four", "sixty five", "twenty two", "Eighteen", "Twenty-one", "Thirty"])
    n = rng.randint(1, 99) if rng.random() < .8 else rng.randint(18, 80)
    if rng.random() > .04:
        return str(n)
    return f"{rng.choice(TENS)}-{rng.choice(ONES)}" if rng.random() < .7 else rng.choice(["eleven", "fourteen", "sixteen", "eighteen", *TENS, *ONES])


def YEAR(rng):
    return str(rng.randint(1890, 2032))


SPELT = {"es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre", "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre", "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
         "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre", "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro", "nl": "januari februari maart april mei juni juli augustus september oktober november december",
         "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia", "sv": "januari februari mars april maj juni juli augusti september oktober november december", "tr": "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
         "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря", "cs": "ledna února března dubna května června července srpna září října listopadu prosince", "fi": "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta lokakuuta marraskuuta joulukuuta",
         "hu": "január február március április május június július augusztus szeptember október november december", "id": "Januari Februari Maret April Mei Juni Juli Agustus September Oktober November Desember"}
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third".split()


def nth(n):
    return f"{n}{'th' if 10 < n % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def written_date(rng):
    """A date in words, in short, or in another language."""
    y, m, d = rng.randint(1900, 2030), rng.randint(1, 12), rng.randint(1, 28)
    month, day = MONTHS[m - 1], rng.choice(DAYS)
    short = rng.choice([month[:3], month[:3] + ".", month[:3].upper(), month[:3].lower()])
    if rng.random() < .2:
        tongue = rng.choice(list(SPELT))
        there = SPELT[tongue].split()[m - 1]
        return {"es": f"{d} de {there} de {y}", "pt": f"{d} de {there} de {y}", "de": f"{d}. {there} {y}", "cs": f"{d}. {there} {y}", "fi": f"{d}. {there} {y}", "hu": f"{y}. {there} {d}."}.get(tongue, f"{d} {there} {y}")
    return rng.choice([f"{nth(d)} {month} {y}", f"{month} {nth(d)}", f"{month} {nth(d)}, {y}", f"{nth(d)} of {month}, {y}", f"the {nth(d)} of {month}", f"{day}, {nth(d)} {month}", f"{day} {month} {nth(d)}, {y}", f"{day[:3]}, {d} {short} {y}", f"{day[:3]} {short} {d}", f"{d} {short} '{y % 100:02d}", f"{short} '{y % 100:02d}",
                       f"{d:02d}{short}{y}", f"{d:02d}-{short}-{y % 100:02d}", f"{m:02d}/{y}", f"{y}-{m:02d}", f"{m}/{d}", f"{y}{m:02d}{d:02d}", f"{y}. {m}. {d}.", f"{d}. {m}. {y}", f"{d}.{m}.", f"{d} {m:02d} {y}", f"{month.lower()} {d}", f"{month.lower()} {d} {y}", f"{d} {month.upper()} {y}", f"{month}, {y}", f"{month} of {y}", f"{month} the {ORDINALS[d % 23]}",
                       f"the {ORDINALS[d % 23]} of {month}", f"{ORDINALS[d % 23].capitalize()} of {month} {y}", f"{y} {month[:3]} {d}", f"{day}, {m}/{d}/{y}", f"{month} {d} {y}", f"{month}", f"{day} the {nth(d)}", f"{y}年{m}月{d}日", f"{y}년 {m}월 {d}일", f"{y}/{m}/{d}", f"{y}.{m:02d}.{d:02d}", f"{month[:3]}-{y % 100:02d}", f"{month} {d} at {rng.randint(1, 12)}:{rng.randint(10, 59)} pm", f"{m:02d}-{d:02d}-{y}"])


def DATE(rng):
    if rng.random() < .3:
        return written_date(rng)
    y, m, d = rng.randint(1930, 2030), rng.randint(1, 12), rng.randint(1, 28)
    month = MONTHS[m - 1]
    return rng.choice([f"{y}-{m:02d}-{d:02d}", f"{m}/{d}/{y}", f"{m}/{d}/{y}", f"{d:02d}.{m:02d}.{y}", f"{d}.{m}.{y % 100:02d}", f"{d:02d}/{m:02d}/{y}", f"{d:02d}-{m:02d}-{y}", f"{y}/{m:02d}/{d:02d}", f"{month} {d}, {y}", f"{d} {month} {y}", f"{month[:3]} {d}, {y}", f"{d} {month[:3]} {y}", f"{d}-{month[:3]}-{y}",
                       f"{month} {y}", f"{month} {d}", f"{d} {month}", f"{month[:3]}. {d}", f"{nth(d)} of {month}", f"the {nth(d)} of {month} {y}", f"{m:02d}/{d:02d}/{y % 100:02d}", f"{rng.choice(DAYS)}, {month} {d}", f"{rng.choice(DAYS)} {d} {month} {y}", f"{month[:3]} {y}"])


def TIME(rng):
    h, mi = rng.randint(0, 23), rng.randint(0, 59)
    if rng.random() < .25:
        hours = "one two three four five six seven eight nine ten eleven twelve".split()
        word, zone = hours[h % 12], rng.choice(["CET", "GMT", "UTC", "EST", "PST", "IST", "BST", "JST", "Z", "ET"])
        return rng.choice(["noon", "midnight", f"half past {word}", f"quarter to {word}", f"quarter past {word}", f"{word} o'clock", f"{word} thirty", f"{h:02d}{mi:02d}", f"{h:02d}{mi:02d} hours", f"{h % 12 + 1}.{mi:02d}pm", f"{h}.{mi:02d}", f"{h}.{mi:02d} Uhr", f"{h} Uhr", f"{h}h", f"{h}h{mi:02d}", f"{h % 12 + 1} A.M.", f"{h % 12 + 1} P.M.", f"{h % 12 + 1}AM",
                           f"{h:02d}:{mi:02d} {zone}", f"{h % 12 + 1}:{mi:02d} p.m.", f"{h % 12 + 1}:{mi:02d} a.m. {zone}", f"{h:02d}:{mi:02d}:{mi:02d}.{rng.randint(0, 999):03d}", f"kl. {h:02d}.{mi:02d}", f"{h}点", f"{h}時{mi}分", f"{word} in the morning", f"{word} pm"])
    return rng.choice([f"{h}:{mi:02d}", f"{h:02d}:{mi:02d}:{rng.randint(0, 59):02d}", f"{h % 12 + 1} pm", f"{h % 12 + 1}pm", f"{h % 12 + 1}:{mi:02d} am", f"{h % 12 + 1}:{mi:02d}PM", f"{h % 12 + 1} o'clock", f"{h:02d}h{mi:02d}", f"{h % 12 + 1} a.m."])


def STAMP(rng):
    day = f"{rng.randint(1970, 2026)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
    at = f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}"
    return rng.choice([f"{day} {at}:{rng.randint(0, 59):02d}", f"{day} {at}", f"{day}T{at}:00Z", f"{day}T{at}:07+02:00"])


def DAY(rng):
    return rng.choice(DAYS) if rng.random() < .85 else rng.choice(DAYS)[:3]


def DATE_TIME(rng):
    return rng.choices([DATE, STAMP, YEAR, TIME, DAY], [9, 3, 3, 2.5, 3])[0](rng)


def DOMAIN_NAME(rng):
    a, b = rng.sample(WORDS, 2)
    host = rng.choice([a + b, f"{a}-{b}", a, f"{a}{rng.randint(1, 99)}", rng.choice(ORGS_A).lower(), a.capitalize() + b.capitalize(), a.capitalize() + b.capitalize(), syllables(rng, 2)]).encode("ascii", "ignore").decode() or a
    tld = rng.choice(TLDS)
    return rng.choice([f"{host}.{tld}", f"{host}.{tld}", f"www.{host}.{tld}", f"{rng.choice(['shop', 'mail', 'api', 'blog', 'intranet', 'dev'])}.{host}.{tld}", f"https://www.{host}.{tld}/", f"http://www.{host}.{tld}/", f"https://{host}.{tld}/", f"http://{host}.{tld}/{b}", f"https://{host}.{tld}"])


def EMAIL_ADDRESS(rng):
    first, last = (w.lower().encode("ascii", "ignore").decode().replace("'", "").replace(" ", "") or "max" for w in (FIRST_NAME(rng), LAST_NAME(rng)))
    user = rng.choice([f"{first}.{last}", f"{first}{rng.randint(1, 999)}", f"{first[0]}{last}", f"{last}_{first}", first, f"{first}+{rng.choice(WORDS)}", "info", "support", f"{first}-{last}", first.capitalize() + last.capitalize(), first.capitalize() + last.capitalize()])
    host = rng.choice(MAIL) if rng.random() < .5 else f"{rng.choice(WORDS)}{rng.choice(WORDS)}.{rng.choice(TLDS)}"
    return f"{user}@{host}"


def CITY(rng):
    kind = rng.random()
    if kind < .04:
        return rng.choice(FAR)
    place = rng.choice(CITIES) if kind < .6 else (syllables(rng, rng.choice([1, 1, 2])) + rng.choice(PLACE_ENDS)).capitalize() if kind < .85 else syllables(rng, rng.choice([2, 2, 3])).capitalize()
    if kind >= .6 and rng.random() < .2:
        place = f"{rng.choice(['Saint', 'Bad', 'Upper', 'Nova', 'San', 'Sankt', 'Great', 'New', 'Villa', 'Le', 'Port', 'Nether', 'Puerto'])} {place}"
    return rng.choices([place, place.upper(), place.lower()], [86, 12, 2])[0]


def COUNTRY(rng):
    place = rng.choice(COUNTRIES)
    return rng.choices([place, place.upper(), place.lower()], [91, 6, 3])[0]


def GPE(rng):
    return rng.choices([CITY(rng), COUNTRY(rng), rng.choice(STATES)], [7, 4, 1.3])[0]


def IP_ADDRESS(rng):
    if rng.random() < .3:
        parts = [f"{rng.randint(0, 65535):x}" for _ in range(8)]
        return rng.choice([":".join(parts), ":".join(parts), ":".join(parts[:3]) + "::" + parts[4], "2001:db8::" + parts[1], "fe80::" + ":".join(parts[:4])])
    return ".".join(str(rng.randint(0, 255)) for _ in range(4))


def older_names(rng):
    coined = (syllables(rng, rng.choice([1, 2, 2])) + rng.choice(ORG_ENDS)).capitalize()
    a, b, c = LAST_NAME(rng), rng.choice(LAST), rng.choice(LAST)
    camel = syllables(rng, 1).capitalize() + rng.choice(["Data", "Cloud", "Soft", "Works", "Labs", "Pay", "Med", "Web", "Bank", "Net", "AI", "Stack"])
    return rng.choices([lambda: rng.choice(ORGS), lambda: coined, lambda: f"{coined} {rng.choice(LEGAL + TRADES)}", lambda: camel, lambda: f"{rng.choice(ORGS_A)} {rng.choice(LEGAL + TRADES)}", lambda: f"{rng.choice(ORGS_A)} {rng.choice(TRADES)} {rng.choice(LEGAL)}", lambda: rng.choice(ORGS_A),
                        lambda: f"{a} {rng.choice(LEGAL + TRADES)}", lambda: f"{a}, {b} and {c}", lambda: f"{a}-{b}", lambda: f"{a} & {b}", lambda: rng.choice(ORG_KINDS).format(rng.choice([a, coined, rng.choice(ORGS_A), rng.choice(CITIES)])), lambda: "".join(rng.choice(string.ascii_uppercase) for _ in range(rng.choice([3, 3, 4]))),
                        lambda: f"{rng.choice(['Blue', 'Golden', 'First', 'North', 'Royal', 'National', 'Global', 'Open', 'Red'])} {rng.choice(WORDS).capitalize()} {rng.choice(TRADES)}"],
                       [5, 3, 2, 1.5, 2, 1, 1, 2, 1.5, 1.2, .7, 3, .5, 1])[0]()


def misspelt(rng, word):
    """A word as start-ups spell it: a vowel short, a letter doubled or exchanged."""
    how = rng.randrange(7)
    if how == 0 and len(word) > 4 and word[-2] in "aeo":
        return word[:-2] + word[-1]
    if how == 1:
        return word.replace("c", "k").replace("s", "z", 1)
    if how == 2:
        return word.replace("i", "y", 1).replace("ght", "te")
    if how == 3:
        return word[:-1] + word[-1] * 2
    if how == 4:
        return word.replace("ks", "x").replace("ck", "q").replace("ph", "f").replace("oo", "u")
    if how == 5 and len(word) > 4:
        return word[0] + word[1:].translate(str.maketrans("", "", "aeiou"))
    return word + rng.choice(["r", "z", "x", "d", "h", "rr", "xx", "oo", "ii"])


def coined(rng):
    """One invented word, as companies call themselves."""
    a, b, tail = rng.choice(CHUNKS), rng.choice(CHUNKS), rng.choice(TAILS)
    A, B = a.capitalize(), b.capitalize()
    made = syllables(rng, rng.choice([1, 2, 2, 3])).capitalize()
    number = rng.choice(["1", "2", "3", "4", "5", "7", "8", "9", "10", "11", "12", "21", "24", "33", "42", "54", "99", "101", "247", "360", "365", "404", "500", "1000"])
    return rng.choices([A + b, A + tail, A + B, rng.choice(HEADS) + A, rng.choice(HEADS).capitalize() + (a if rng.random() < .6 else A), rng.choice(LATIN), misspelt(rng, a + (b if rng.random() < .4 else "")).capitalize(), misspelt(rng, a).capitalize() + tail, made, made + rng.choice(TAILS + ORG_ENDS),
                        rng.choice([number + A, A + number, f"{A} {number}", f"{number} {B}s"]), f"{A}-{B}", f"{A}.{rng.choice(['com', 'io', 'ai', 'org', 'net', 'co'])}", rng.choice(["My", "Go", "Open", "Data", "Net", "Health", "Smart", "Pay"]) + A, A + rng.choice(["Data", "AI", "IQ", "HQ", "OS", "DB", "Hub", "Med", "Tech", "Pay", "Go", "Now", "Soft"]),
                        f"{rng.choice(string.ascii_uppercase)}{rng.choice(['-', '', '.'])}{A}", a[:rng.choice([3, 4])].capitalize() + b[:rng.choice([3, 4])] + rng.choice(["", "co", "ex", "tec", "sa", "o", "a"])],
                       [7, 6, 4, 1.2, 1.2, 4, 3, 1.5, 4, 3, 2, 1, 1.2, 1, 1.5, .6, 2])[0]


def company(rng):
    core = rng.choices([coined, lambda r: r.choice(BRANDS), LAST_NAME, lambda r: r.choice(ORGS_A), lambda r: f"{r.choice(CHUNKS).capitalize()} {r.choice(CHUNKS).capitalize()}", CITY], [8, 3.5, 2.5, 1.2, 2, .7])[0](rng)
    a, b, c, field, legal = rng.choice(LAST), rng.choice(LAST), rng.choice(LAST), rng.choice(FIELDS), rng.choice(LEGAL + ["Inc", "LLC", "Ltd", "PLC", "GmbH", "S.A.", "AG", "Oy", "AB", "BV"])
    comma, letters = rng.choice([" ", " ", " ", ", "]), "".join(rng.choice(string.ascii_uppercase) for _ in range(rng.choice([2, 3, 3, 4])))
    comma = " " if legal[0] in "&a" else comma
    return rng.choices([core, f"{core} {field}", f"{core}{comma}{legal}", f"{core} {field}{comma}{legal}", f"{core} {field} {rng.choice(FIELDS)}", f"{core} & {rng.choice(CHUNKS).capitalize()}", f"{a} and Sons", f"{a} {rng.choice(['&', 'and', '+'])} {b}", f"{a}-{b}", f"{a}, {b} & {c}", f"{a} {b} {field}", f"{a} & Co",
                        f"The {core} {rng.choice(['Company', 'Group', 'Agency', 'Trust', 'Collective', 'Project', 'Network', 'Store', 'Bureau'])}", f"{rng.choice(['Grupo', 'Groupe', 'Studio', 'Atelier', 'Maison', 'Team', 'House of', 'Club'])} {core}", f"{FIRST_NAME(rng)}'s {field}", f"{a} {rng.choice(['Brothers', 'Bros.', 'Bros', 'Sisters', '& Daughters', 'Family'])}",
                        f"{core} {rng.choice(['Europe', 'North America', 'Asia', 'UK', 'USA', 'Deutschland', 'France', 'Italia', 'Nordic', 'India', 'Africa', 'Latin America', 'MENA'])}", f"{letters} {field}", f"{letters}{rng.choice(['', ' ', '-'])}{rng.randint(1, 99)}", f"{letters[0]}&{letters[1]}{rng.choice(['', ' ' + field])}", f"{core} by {coined(rng)}", f"{core} ({letters})", f"{core}{rng.choice([' Club', ' Coffee', ' Kids', ' Bikes', ' Pizza', ' Books', ' Hair', ' Nails', ' Yoga', ' Church', ' Magazine', ' Podcast', ' Festival', ' Orchestra', ' Army', ' Brigade', ' Scouts'])}",
                        f"{rng.choice(['National', 'General', 'Allied', 'United', 'Consolidated', 'American', 'Pacific', 'Atlantic', 'Euro', 'Trans', 'Universal', 'Premier'])} {field}"],
                       [13, 7, 4, 2.5, 1, 1, 1, 1.5, 1.5, 1, .8, .6, 1, .6, .6, .7, .6, 1, .4, .5, .2, .3, 1, 1.2])[0]


def institution(rng):
    return rng.choice(BODIES).format(c=rng.choice(CITIES) if rng.random() < .7 else CITY(rng), l=rng.choice(LAST), f=rng.choice(FIRST), t=rng.choice(TOPICS), w=rng.choice([w for w in CHUNKS if w[-1] not in "sxyh"]).capitalize())


def ORGANIZATION(rng):
    name = rng.choices([older_names, company, institution], [4, 7, 2.2])[0](rng)
    return rng.choices([name, name.lower(), name.upper()], [30, 1.6, 1.2])[0]


PHONES = """(###) 555-####|###-555-####|###-###-####|+1 ### 555 ####|+1-###-###-####|###.###.####|+44 20 7946 ####|+44 7700 900###|020 7946 ####|0#### ######|+33 6 ## ## ## ##|01 ## ## ## ##|01.##.##.##.##|+49 30 ########|0151 ########|+91 9#### #####|+81 3-####-####|03-####-####
+34 6## ### ###|9## ### ###|+86 13#########|##########|001-###-###-####|001-###-555-####x###|(##) ####-####|### ### ####|0##-#######|+39 06 #### ####|3## #######|(###)###-####x####|(###)###-####x###|+1-###-###-####x####|###-###-####x#####|###.###.####x##|### ####|## ## ## ##|(###) ####-###|(##) ###-###
0### ### ## ##|+90 5## ### ## ##|## ######|0#-########|040 ### ####|08# #### ####|+31 6 ########|06-########|+46 70-### ## ##|070-### ## ##|+47 ### ## ###|+45 ## ## ## ##|+358 40 #######|+48 ### ### ###|###-###-###|+420 ### ### ###|+7 (9##) ###-##-##|8 9## ### ## ##|+55 11 9####-####|+52 55 #### ####
+54 11 ####-####|+61 4## ### ###|04## ### ###|+64 21 ### ###|+27 82 ### ####|+234 80# ### ####|+254 7## ######|+20 10 #### ####|+971 50 ### ####|+966 5# ### ####|+972 5#-###-####|+82 10-####-####|010-####-####|+65 #### ####|+63 9## ### ####|+62 8##-####-####|+66 8# ### ####|+84 9# ### ## ##
+92 3## #######|+880 1###-######|1-800-###-####|800 ### ###|(0##) ### ## ##|+41 44 ### ## ##|+43 1 #######|+32 4## ## ## ##|+351 9## ### ###|+353 8# ### ####|+30 69# ### ####|+36 30 ### ####|+40 7## ### ###|###-#### ext. ###|0049 ### #######|###-##-##|#######""".replace("\n", "|").split("|")


def PHONE_NUMBER(rng):
    return pattern(rng, rng.choice(PHONES))


def STREET(rng):
    n = rng.choice([rng.randint(1, 200), rng.randint(1, 9999)])
    if rng.random() < .55:
        street = rng.choice(WHOLE_STREETS) if rng.random() < .35 else rng.choice(FOREIGN).format(n=rng.choice(FOREIGN_NAMES) if rng.random() < .6 else LAST_NAME(rng))
        return rng.choice([f"{street} {n % 300}", f"{street} {n % 300}", f"{n % 300} {street}", f"{n:02d} {street} {n % 97}", f"{street} {n % 60}{rng.choice('abcd')}"])
    name = rng.choice(STREETS) if rng.random() < .6 else LAST_NAME(rng)
    return f"{some(rng, .1, digits(rng, 3) + ' ')}{n} {some(rng, .12, rng.choice(['N', 'S', 'E', 'W', 'North', 'West']) + ' ')}{name} {rng.choice(KINDS)}"


def ROAD(rng):
    """A street without a house number."""
    if rng.random() < .2:
        return rng.choice(WHOLE_STREETS)
    return f"{LAST_NAME(rng) if rng.random() < .5 else rng.choice(STREETS)} {rng.choice(KINDS[:12])}" if rng.random() < .6 else rng.choice(FOREIGN).format(n=rng.choice(FOREIGN_NAMES))


def HOUSE(rng):
    """A house number alone."""
    n = rng.choice([rng.randint(1, 99), rng.randint(1, 400), rng.randint(1, 9999)])
    return rng.choices([str(n), f"{n}{rng.choice('abcdABC')}", f"{n}/{rng.randint(1, 40)}", f"{n}-{n + 2}", f"{n} bis", f"No. {n}", f"Nr {n}", f"{n:03d}"], [20, 1.5, 1, .7, .2, .5, .2, .6])[0]


def UNIT(rng):
    """What stands beside the street: a flat, a floor, a suite, a box."""
    n = rng.choice([rng.randint(1, 60), rng.randint(100, 999)])
    return rng.choice(["Apt. #", "Apt #", "Apt. #", "Suite #", "Suite #", "Ste #", "Ste. #", "Unit #", "Flat #", "# #", "#, 2nd Floor", "Floor #", "Room #", "Bldg #", "Building #", "Lot #", "Door #", "Block #", "Top #", "Stiege #", "Apto. #", "Piso #", "Appt #", "Bât. #", "Int. #", "lok. #", "m. #", "as #", "D:#", "kat #",
                       "kv. #", "Level #", "Shop #", "Penthouse #", "Trlr #", "P.O. Box #", "PO Box #", "Postfach #", "BP #", "Box #"]).replace("#", str(n)) + some(rng, .08, rng.choice("ABCD"))


def POST(rng):
    """A post code as it stands on an envelope."""
    return pattern(rng, rng.choices(["#####", "#####-####", "####", "######", "?## #??", "??# #??", "??## #??", "?#? #?#", "### ##", "##-###", "#####-###", "###-####", "#### ??", "?-####", "??-####", "LV-####", "CP #####", "###"], [9, 1.5, 4, 1.2, .6, .6, .6, 1, 1, .8, .5, .5, .6, .3, .2, .1, .2, .3])[0])


def STATE(rng):
    return rng.choice(STATES)


def CODE(rng):
    """A state or province in two or three letters."""
    return rng.choice(STATE_CODES if rng.random() < .8 else "ON QC BC AB MB NS NSW VIC QLD WA TAS ACT RJ SP MG RS BA MI RM TO PA BO DL MH KA".split())


def STREET_ADDRESS(rng):
    kind = rng.random()
    if kind < .05:
        a, s, post = rng.choice(["APO", "FPO", "DPO"]), rng.choice(["AA", "AE", "AP"]), digits(rng, 5)
        return rng.choice([f"PSC {digits(rng, 4)}, Box {digits(rng, 4)}", f"Unit {digits(rng, 4)} Box {digits(rng, 4)}", f"{rng.choice(['USNS', 'USS', 'USNV', 'USCGC'])} {LAST_NAME(rng)}"]) + f"\n{a} {s} {post}"
    if kind < .09:
        return f"the corner of {STREET(rng)} and {ROAD(rng)}"
    if kind < .11:
        return f"{rng.choice(['P.O. Box', 'PO Box', 'Postfach', 'Apartado'])} {rng.randint(1, 9999)}"
    if kind < .16:
        return ROAD(rng)
    base, post = STREET(rng), rng.choice([digits(rng, 5), digits(rng, 4), digits(rng, 5), pattern(rng, "?## #??")])
    unit = some(rng, .4, rng.choice([f"Apt. {rng.randint(1, 999)}", f"Suite {rng.randint(1, 999)}", f"#{rng.randint(1, 90)}", f"Unit {rng.randint(1, 40)}", f"Flat {rng.randint(1, 20)}", f"Apt {rng.randint(1, 90)}{rng.choice('ABC')}", f"{rng.randint(2, 9)}th floor"]))
    if rng.random() < .35:
        return base + some(rng, unit != "", rng.choice([" ", ", "]) + unit)
    city, code, country = CITY(rng), rng.choice(STATE_CODES), rng.choice(COUNTRIES)
    unit = unit and rng.choice([" ", ", ", "\n "]) + unit
    return base + unit + rng.choice([f", {city}, {code} {post}", f"\n{city}, {code} {post}", f", {city}", f"\n {city}\n {country} {post}", f", {city}, {country}", f", {city}, {country} {post}", f" {city} {country} {post}", f"\n{city}\n, {code}\n {post}", f", {post} {city}", f"\n{post} {city}", f" {city} {country}"])


def US_DRIVER_LICENSE(rng):
    return pattern(rng, rng.choice("#######|########|#########|#########|?#######|?########|??######|?############|?##-##-####|?###-####-####|### ### ###|?######|##???####|?####-#####-#####|#########|?##############|####-##-####|??######?|##########|?#?#?|#######?|?###########|########?|######??|?#####|############".split("|")))


def US_SSN(rng):
    a = rng.choice([i for i in (rng.randint(1, 665), rng.randint(667, 899))])
    form = f"{a:03d}-{rng.randint(1, 99):02d}-{rng.randint(1, 9999):04d}"
    return rng.choices([form, form.replace("-", " "), form.replace("-", "")], [8, 1, 1])[0]


def ZIP_CODE(rng):
    return pattern(rng, rng.choices(["#####", "#####-####", "####", "######", "???# #??"[1:], "?## #??", "?#? #?#", "### ##", "##-###", "#####-###", "### ####", "???-####"[1:], "#### ??", "###", "?-####", "###-####"], [8, 2, 2.5, 1, 1, 1, 1, .7, .5, .6, .2, .2, .5, .4, .2, .4])[0])


def NRP_(rng):
    if rng.random() < .15:
        return rng.choice(NRP_MORE)
    return rng.choice(NRP) if rng.random() < .93 else rng.choice(NRP).lower()


def NRPS(rng):
    return rng.choice(PLURALS)


def TITLE(rng):
    return rng.choice(TITLES if rng.random() < .75 else FORMS_MORE)


def JOB(rng):
    area, role = rng.choice(AREAS), rng.choice(ROLES)
    job = rng.choices([rng.choice(JOBS), f"{area} {role}", f"{rng.choice(RANKS)} {area} {role}", f"{rng.choice(RANKS)} {rng.choice(JOBS[:250])}", f"{rng.choice(['Head', 'Director', 'VP', 'Vice President', 'Chief', 'Manager', 'Secretary'])} of {area}", f"{role}, {area}", f"{rng.choice(['President', 'Chairman', 'Chairwoman', 'Founder', 'Owner', 'Partner', 'Co-founder'])}{rng.choice(['', '', ' and CEO', ' & CEO', ' Emeritus'])}"],
                      [12, 3, 1.2, .8, .8, .4, .5])[0]
    if rng.random() < .06:
        return job.lower() if len(job) > 4 else job
    return job if rng.random() < .6 else job if job.isupper() else job[0].lower() + job[1:]


MAKERS = {"PERSON": PERSON, "AGE": AGE, "CREDIT_CARD": CREDIT_CARD, "DATE_TIME": DATE_TIME, "DOMAIN_NAME": DOMAIN_NAME, "EMAIL_ADDRESS": EMAIL_ADDRESS, "GPE": GPE, "IBAN_CODE": IBAN_CODE, "IP_ADDRESS": IP_ADDRESS, "NRP": NRP_,
          "ORGANIZATION": ORGANIZATION, "PHONE_NUMBER": PHONE_NUMBER, "STREET_ADDRESS": STREET_ADDRESS, "TITLE": TITLE, "US_DRIVER_LICENSE": US_DRIVER_LICENSE, "US_SSN": US_SSN, "ZIP_CODE": ZIP_CODE}
# Narrower makers that templates may ask for: name -> (type, maker).
NARROW = {"FULL": ("PERSON", FULL_NAME), "FIRST": ("PERSON", FIRST_NAME), "LAST": ("PERSON", LAST_NAME), "JOB": ("TITLE", JOB), "YEAR": ("DATE_TIME", YEAR), "DATE": ("DATE_TIME", DATE), "TIME": ("DATE_TIME", TIME), "STAMP": ("DATE_TIME", STAMP), "DAY": ("DATE_TIME", DAY),
          "CITY": ("GPE", CITY), "COUNTRY": ("GPE", COUNTRY), "STREET": ("STREET_ADDRESS", STREET), "ROAD": ("STREET_ADDRESS", ROAD), "HOUSE": ("STREET_ADDRESS", HOUSE), "UNIT": ("STREET_ADDRESS", UNIT), "POST": ("STREET_ADDRESS", POST), "STATE": ("GPE", STATE), "CODE": ("GPE", CODE), "NRPS": ("NRP", NRPS)}
TYPES = sorted(MAKERS)
LABELS = ["O"] + [f"{p}-{t}" for t in TYPES for p in "BI"]
