"""Words that people and tool authors use for the same thing, written by hand.

Rule 1: a line is one idea; a word of it stands in for the others at a reduced weight.
Rule 2: a word may be on several lines; the lines are not joined through it.
Rule 3: the table comes from general knowledge of what tools do, never from labelled questions.
"""

from typing import Final

from osiris.core.compass_text import stem

IDEAS: Final = """
search find lookup query discover seek browse explore
find locate
get fetch retrieve obtain
read view open
list show display enumerate
create make generate build produce
add insert append
write compose draft
delete remove erase clear
update edit modify change adjust
send deliver submit
publish post share
compare comparison versus difference
convert conversion transform
translate translation translator language multilingual bilingual
learn practice study vocabulary
calculate compute calculator calculation
math mathematics mathematical arithmetic algebra equation formula numerical
solve solution solver
analyze analysis analytics insight evaluate assess examine
check verify validate inspect
summarize summary summarise abstract digest condense key takeaway
recommend suggest recommendation suggestion advice advise tip guidance idea
explain explanation clarify understand
define definition meaning dictionary
download save export
upload import attach
run execute launch
shell terminal command bash
reserve reservation book booking
schedule appointment calendar meeting agenda event
buy purchase shop shopping order
shop store ecommerce retail product merchandise item
sell seller sale marketplace
price cost pricing fee quote cheap affordable
discount coupon deal promo offer bargain cashback sale
image picture photo photograph visual pic
photo photography photographer camera
draw drawing sketch illustration art artwork paint painting artist
museum gallery art exhibition
design designer logo graphic creative
icon svg vector
video clip youtube footage
movie film cinema actor director
tv television show series episode stream streaming
anime manga comic
song music track album artist playlist lyric melody band spotify
concert festival gig live ticket
instrument guitar piano chord
audio sound recording
voice speech speak spoken
podcast episode listen
transcript transcribe transcription caption subtitle
book novel ebook literature author reading
story fiction narrative tale storytelling
poem poetry poet verse
joke humor funny meme comedy
quote inspirational motivation motivational
news headline article press journalism media
weather forecast temperature climate rain humidity wind snow
air quality pollution aqi
map location place address geographic geolocation coordinate
nearby near around local closest
direction route navigation drive itinerary
distance mile kilometer
geocode latitude longitude coordinate
travel trip vacation tour tourism itinerary holiday visit destination traveler
flight airline airplane plane airport fly aviation airfare
hotel accommodation lodging stay hostel airbnb room
train railway rail station
bus transit transport transportation commute metro subway
taxi cab ride rideshare uber
car vehicle auto automobile automotive
parking carpark garage
fuel gas petrol gasoline
electric ev charging battery
restaurant dining eat dine cuisine food
food grocery ingredient eat
recipe cook cooking meal dish ingredient cuisine chef dinner
nutrition calorie diet nutritional nutrient macro vitamin
wine drink beverage beer cocktail alcohol
coffee tea cafe
health healthcare medical medicine doctor
patient disease symptom diagnosis hospital clinical doctor
drug medication medicine pharmacy pharmaceutical prescription
dental dentist tooth
therapy therapist mental counseling psychology emotional stress anxiety
meditation mindfulness sleep relax
fitness workout exercise gym
job career employment vacancy hiring position work occupation
recruit recruitment recruiter hire hiring candidate talent
resume cv
interview job
skill expertise talent expert professional freelancer
salary wage pay income compensation
company business corporate firm enterprise organization
startup founder entrepreneur venture
client customer lead crm sale
stock equity share ticker market
trade trading trader
invest investment investor portfolio fund etf
finance financial money economic economy
bank banking account
crypto cryptocurrency bitcoin coin token blockchain ethereum defi wallet
nft collectible
currency exchange forex rate dollar
budget expense spending saving
tax accounting accountant invoice bookkeeping
payment pay checkout transaction
loan mortgage credit debt
insurance policy coverage
earnings revenue profit income dividend
law legal lawyer attorney court litigation
contract agreement clause
patent trademark intellectual
compliance regulation regulatory gdpr
property estate realty house home apartment rent rental housing listing
furniture interior decor room
renovation repair maintenance contractor
email mail inbox gmail
sms text message
chat conversation message messaging
call phone telephone dial
contact person people
social media twitter tweet instagram facebook linkedin tiktok
hashtag caption post
influencer creator follower
reddit forum community discussion
ad ads advertise advertisement advertising marketing campaign promotion
seo keyword ranking backlink
brand branding slogan tagline
website site web webpage page url link internet online
scrape scraper crawl extract extraction
link url shorten shortener
domain dns hostname whois registrar
browser navigate click
app application mobile
code coding program programming programmer software developer development
javascript python typescript java
repository repo github git gitlab
commit branch pull merge
bug debug error issue
issue ticket jira
test testing unit
deploy deployment server cloud hosting
docker container kubernetes
api endpoint
database sql table schema query
data dataset statistic statistical
chart graph plot visualization visualize
diagram flowchart mermaid uml mindmap
spreadsheet excel sheet csv workbook xlsx
document doc file
word docx document
pdf document
presentation slide powerpoint ppt pptx slideshow deck
file path filesystem
folder directory
note memo notebook notion
task todo checklist reminder productivity
remind reminder alarm alert notification
project management plan planner planning
goal habit track tracker
time clock timezone date
paper research academic scholar scholarly scientific arxiv publication journal literature
citation cite reference bibliography
science scientific scientist
physics chemistry biology
chemical compound molecule
gene genome protein dna variant
trial clinical study
learn learning education educational course lesson tutorial teach curriculum
student school classroom
teacher tutor instructor tutoring
university college campus admission
exam quiz trivia question test flashcard
game gaming gamer play player puzzle
chess
adventure rpg roleplay character
sport football soccer basketball baseball match team league score
golf tennis cricket
athlete player
bet betting odds gambling
gift present
kid child children toddler baby parent parenting
family ancestor genealogy
pet dog cat animal
plant garden gardening flower
farm farming agriculture crop
fashion clothes clothing outfit wear apparel style dress shoe
beauty makeup skin skincare cosmetic hair
horoscope astrology zodiac tarot fortune
bible christian religion religious church faith scripture
quran islam islamic muslim prayer
dream interpretation
history historical past
country nation
city town
population demographic census
government politics political congress senate election policy vote politician
crime police criminal
user account member profile
password login authentication credential
security vulnerability threat malware cybersecurity phishing
privacy policy
prompt chatgpt gpt llm
ai artificial intelligence
model machine learning neural
detect detection recognize recognition identify
color colour palette
font typography
qr barcode qrcode
random dice
name naming
grammar spelling proofread correct correction
rewrite paraphrase rephrase reword
plagiarism detector
essay article blog content copywriting copy
count number total amount quantity
recent latest newest current
popular trending trend trendy hot best top
rank ranking leaderboard
review rating feedback opinion
sentiment emotion mood
date dating relationship partner
wedding party celebration birthday
energy electricity power solar
carbon emission sustainability environment environmental
space astronomy planet star nasa satellite
earthquake disaster flood
ship vessel boat marine
package parcel delivery shipping shipment courier
supply logistics inventory warehouse
memory remember
wiki wikipedia encyclopedia knowledge
screenshot capture
merge combine join concatenate
split divide
area circle triangle geometry
integral derivative calculus
convert unit measurement
velocity speed acceleration
smart home light thermostat device
automation automate workflow zapier
3d model cad
"""


def _table(ideas: str) -> dict[str, tuple[str, ...]]:
    near: dict[str, set[str]] = {}
    for idea in ideas.strip().splitlines():
        stems = {stem(word) for word in idea.split()}
        for each in stems:
            near.setdefault(each, set()).update(stems - {each})
    return {each: tuple(sorted(others)) for each, others in near.items()}


SYNONYMS: Final = _table(IDEAS)  # stem -> the stems that may stand for it
