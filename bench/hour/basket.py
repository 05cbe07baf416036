# SPDX-License-Identifier: GPL-2.0-or-later
"""A shop's service: prices baskets, looks up each article in a list. basket.py SECONDS"""
import random
import sys
import time

ARTICLES = [(number * 7919 % 20011, 1 + number % 90) for number in range(2000)]


def price_of(article):
    for number, price in ARTICLES:
        if number == article:  # GUILTY
            return price
    return 0


def total(basket):
    return sum(price_of(article) for article in basket)


def serve(until):
    served = 0
    while time.process_time() < until:
        basket = [random.randrange(20011) for _ in range(5)]
        served += total(basket) > 0
    return served


serve(time.process_time() + float(sys.argv[1]))
