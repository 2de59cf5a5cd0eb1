"""Source rows in the published layouts, written for these tests."""

from __future__ import annotations

from typing import Any

GSM8K: list[dict[str, Any]] = [
    {
        "question": "Mina packs 14 boxes with 6 apples in each. She sells 30 apples. How many apples are left?",
        "answer": "She packs 14*6=<<14*6=84>>84 apples.\nShe has 84-30=<<84-30=54>>54 left.\n#### 54",
    },
    {
        "question": "A choir of 80 singers has 45% women. How many singers are not women?",
        "answer": "80*.45=<<80*.45=36>>36 are women.\nSo 80-36=<<80-36=44>>44 are not.\n#### 44",
    },
    {  # a final step that is not annotated
        "question": "Ropes cost $12 and hooks cost $7. How many dollars do 3 ropes and 5 hooks cost?",
        "answer": "Ropes cost 12*3=$<<12*3=36>>36.\nHooks cost 7*5=$<<7*5=35>>35.\nTogether $36 + $35 = $71.\n#### 71",
    },
    {  # solved by algebra: the annotation asserts
        "question": "A brother is twice as old as his sister. Together they are 48. How old is the brother?",
        "answer": "3x=48\nx=<<16=16>>16\nThe brother is 2*16=<<2*16=32>>32.\n#### 32",
    },
    {  # ends elsewhere
        "question": "A pump moves 15 liters a minute. How many liters does it move in 9 minutes?",
        "answer": "It moves 15*9=<<15*9=135>>135 liters.\n#### 145",
    },
    {  # a wrong annotation
        "question": "A shelf holds 8 books and a crate holds 17. How many books are that?",
        "answer": "8+17=<<8+17=26>>26\n#### 26",
    },
]

KOR_GSM8K: list[dict[str, Any]] = [
    {
        "question": "A farm keeps 35 hens. Each hen lays 4 eggs and 26 eggs are sold. How many eggs are left?",
        "answer": "35*4=<<35*4=140>>140\n140-26=<<140-26=114>>114\n#### 114",
        "kor_question": "농장에서 암탉 35마리를 기릅니다. 암탉마다 달걀을 4개씩 낳고 그중 26개를 팔았습니다. 남은 달걀은 몇 개입니까?",
        "kor_answer": "35*4=140, 140-26=114",
        "answer_s": "114",
    },
    {  # the answer stands below the Korean question
        "question": "A library lends 52 books on Monday and 19 more on Friday than on Monday. How many on Friday?",
        "answer": "52+19=<<52+19=71>>71\n#### 71",
        "kor_question": "도서관에서 월요일에 책 52권을 빌려주고 금요일에는 월요일보다 19권 더 빌려주었습니다. 금요일에는 몇 권입니까? \n\n답: 71권입니다.",
        "kor_answer": "52+19=71",
        "answer_s": "71",
    },
    {  # the answer stands there without a label
        "question": "It was 6 degrees. It fell by 15 degrees at night and rose by 4 degrees. How many degrees was it then?",
        "answer": "6 - 15 = -9\n-9 + 4 = -5\n#### -5",
        "kor_question": "기온이 6도였습니다. 밤새 15도 떨어졌다가 4도 올랐습니다. 그때 기온은 몇 도였습니까? \n\n그때 기온은 -5도였습니다.",
        "kor_answer": "",
        "answer_s": "-5",
    },
]

TABMWP: dict[str, dict[str, Any]] = {
    "101": {
        "question": "How much money does Rami need to buy 3 lanterns and 2 tents?",
        "choices": None,
        "answer": "1,173.50",
        "unit": "$",
        "table_title": None,
        "table": "stove | $88.00\nlantern | $24.50\ntent | $550.00",
        "solution": "Find the cost of 3 lanterns.\n\n$24.50 × 3 = $73.50\n\nFind the cost of 2 tents.\n\n$550.00 × 2 = $1,100.00\n\nNow find the total.\n\n$73.50 + $1,100.00 = $1,173.50",
        "ques_type": "free_text",
        "ans_type": "decimal_number",
    },
    "102": {
        "question": "A guide noted how many climbers came each day. What is the range of the numbers?",
        "choices": None,
        "answer": "27",
        "unit": None,
        "table_title": "Climbers",
        "table": "Day | Climbers\nMonday | 14\nTuesday | 41\nWednesday | 22",
        "solution": "The greatest number is 41.\n\nThe least number is 14.\n\n41 − 14 = 27",
        "ques_type": "free_text",
        "ans_type": "integer_number",
    },
    "103": {
        "question": "What fraction of the stamps are from Peru? Simplify your answer.",
        "choices": None,
        "answer": "11/56",
        "unit": None,
        "table_title": "Stamps",
        "table": "Country | Stamps\nPeru | 55\nChile | 225",
        "solution": "55 + 225 = 280\n\n\\frac{55}{280} → \\frac{11}{56}",
        "ques_type": "free_text",
        "ans_type": "decimal_number",
    },
    "104": {
        "question": "Which day had more climbers?",
        "choices": ["Monday", "Tuesday"],
        "answer": "Tuesday",
        "unit": None,
        "table_title": "Climbers",
        "table": "Day | Climbers\nMonday | 14\nTuesday | 41",
        "solution": "41 is more than 14.",
        "ques_type": "multi_choice",
        "ans_type": "extractive_text",
    },
}

SCIBENCH: list[dict[str, Any]] = [
    {
        "problem_text": "A cart rolls 18 m in 4.0 s at constant speed. What is its speed?",
        "answer_latex": " 4.5",
        "answer_number": "+4.5",
        "unit": " m/s",
        "source": "fund",
        "problemid": " 2.1",
        "comment": " ",
    },
    {
        "problem_text": "Find \frac{1}{4} of a day in hours.",  # the eaten backslash-f is a form feed here
        "answer_latex": "6",
        "answer_number": "6",
        "unit": "h",
        "source": "diff",
        "problemid": " 1.7",
        "comment": "",
    },
]

MMLU_PRO: list[dict[str, Any]] = [
    {
        "question_id": 11,
        "question": "What mass of salt is dissolved in 250 mL of a solution of 80 g/L?",
        "options": ["20 g", "25 g", "32 g", "40 g"],
        "answer": "A",
        "answer_index": 0,
        "category": "chemistry",
        "src": "x",
    },
    {
        "question_id": 12,
        "question": "Which of the following layers routes packets?",
        "options": ["Session layer", "Network layer"],
        "answer": "B",
        "answer_index": 1,
        "category": "computer science",
        "src": "x",
    },
]

HRM8K = (
    "question,original,answer\n"
    '"서점에 책이 120권 있습니다. 45권을 팔면 몇 권이 남습니까?","A shop has 120 books and sells 45. How many are left?",75\n'
)
