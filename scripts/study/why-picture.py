#!/usr/bin/env python3
"""Draws docs/why.png from the records of `graymark why`: where the time of the mean transaction goes, and each
experiment with its bound, gain and interval.

    scripts/study/why-picture.py DIR PICTURE.png

DIR is what --out named. Needs Chromium (CHROMIUM=/path/to/it).
"""

import glob
import html
import json
import os
import shutil
import subprocess
import sys
import tempfile

PARTS = [
    ("driver_queue", "driver's queue", "#999999"),
    ("client_cpu", "client on CPU", "#56b4e9"),
    ("client_cpu_wait", "client waits for a CPU", "#a6d8f5"),
    ("network", "network and wake-up", "#d0e2ec"),
    ("server_cpu", "server on CPU", "#0072b2"),
    ("server_cpu_wait", "server waits for a CPU", "#5b8db8"),
    ("log", "log write and flush", "#009e73"),
    ("row_locks", "row locks", "#d55e00"),
    ("other_locks", "other locks", "#e69f00"),
    ("page_reads", "page reads", "#cc79a7"),
    ("other_waits", "other waits", "#8c6d31"),
    ("not_attributed", "not attributed", "#cccccc"),
]
STYLE = """body { font: 15px 'DejaVu Sans', sans-serif; color: #1b1b24; margin: 28px; width: 1130px; background: #fff }
h2 { font-size: 19px; margin: 0 0 10px } .keys { display: grid; grid-template-columns: repeat(5, 1fr); row-gap: 6px }
.keys i { display: inline-block; width: 13px; height: 13px; margin-right: 7px } .bars { margin: 14px 0 34px }
.bar { display: flex; align-items: center; height: 34px } .bar b { font-weight: 400; width: 136px }
.bar span { height: 25px } .bar em { font-style: normal; margin-left: 9px }
table { border-collapse: collapse; width: 100%; font-size: 14px } th { text-align: right; font-weight: 400; color: #5a5a66 }
td { border-top: 1px solid #ddd; padding: 7px 8px; text-align: right } th { padding: 5px 8px }
th, td:not(:first-child) { white-space: nowrap }
th:first-child, td:first-child, th:last-child { text-align: left } small { color: #a02a1a }"""


def percent(value):
    return "" if value is None else f"{value:+.0f} %"


def bars(waterfall):
    rows = [("All types", waterfall["all"])]
    # In the order of the standard, as far as it has them.
    order = ["new_order", "payment", "order_status", "delivery", "stock_level"]
    types = sorted(waterfall["types"].items(), key=lambda pair: order.index(pair[0]) if pair[0] in order else 9)
    rows += [(name.replace("_", "-").title(), of) for name, of in types]
    longest = max(of["response_us"] for _, of in rows)
    for name, of in rows:
        spans = "".join(
            f'<span style="width:{900 * of["parts"].get(key, 0) / longest:.1f}px;background:{colour}"></span>'
            for key, _, colour in PARTS
        )
        yield f'<div class="bar"><b>{name}</b>{spans}<em>{of["response_us"]:,.0f} µs</em></div>'


def drawn(tried, low, high):
    """The gain with its interval, and the bounds as dashes, on a scale from low to high percent."""
    at = lambda value: 330 * (min(max(value, low), high) - low) / (high - low)
    gain = tried["gain"]
    shown = gain["low_percent"] > 0, gain["high_percent"] < 0
    colour = "#009e73" if shown[0] else "#d55e00" if shown[1] else "#888"
    lines = [f'<line x1="{at(0):.1f}" x2="{at(0):.1f}" y1="2" y2="20" stroke="#bbb"/>']
    for key in ("least_percent", "bound_percent"):
        if key in tried:
            x = at(tried[key])
            lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="1" y2="21" stroke="#000" stroke-width="2" '
                         'stroke-dasharray="3 2"/>')
    lines.append(f'<line x1="{at(gain["low_percent"]):.1f}" x2="{at(gain["high_percent"]):.1f}" y1="11" y2="11" '
                 f'stroke="{colour}" stroke-width="3"/><circle cx="{at(gain["percent"]):.1f}" cy="11" r="5" '
                 f'fill="{colour}"/>')
    return f'<svg width="334" height="22">{"".join(lines)}</svg>'


def table(experiments):
    values = [0.0]
    for tried in experiments:
        values += [tried["gain"]["low_percent"], tried["gain"]["high_percent"], tried.get("bound_percent", 0)]
        values.append(tried.get("least_percent", 0))
    low, high = min(values) - 3, min(max(values), 120) + 3
    for tried in experiments:
        gain, never = tried["gain"], tried.get("never_in_earnest")
        what = html.escape(tried["what"]) + (f" <small>(not for production: {html.escape(never)})</small>" if never else "")
        bound = " to ".join(percent(tried[key]) for key in ("least_percent", "bound_percent") if key in tried)
        interval = f'{gain["low_percent"]:+.0f} to {percent(gain["high_percent"])}'
        yield (f'<tr><td>{what}</td><td>{bound}</td><td>{gain["percent"]:+.1f} %</td><td>{interval}</td>'
               f"<td>{drawn(tried, low, high)}</td></tr>")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    place, picture = sys.argv[1:]
    with open(os.path.join(place, "why.json"), encoding="utf-8") as file:
        why = json.load(file)
    with open(sorted(glob.glob(os.path.join(place, "base", "*", "summary.json")))[0], encoding="utf-8") as file:
        waterfall = json.load(file)["waterfall"]
    used = [part for part in PARTS if any(of["parts"].get(part[0], 0) > 0 for of in [waterfall["all"]])]
    keys = "".join(f'<div><i style="background:{colour}"></i>{name}</div>' for _, name, colour in used)
    page = f"""<!doctype html><meta charset="utf-8"><style>{STYLE}</style>
<h2>Where the time of the mean transaction goes</h2><div class="keys">{keys}</div>
<div class="bars">{"".join(bars(waterfall))}</div>
<h2>One change at a time, in alternating runs: its bound, and what it gained</h2>
<table><tr><th>change</th><th>bound</th><th>gain</th><th>95 % interval</th><th>gain and interval; bounds dashed</th></tr>
{"".join(table(why["experiments"]))}</table>"""
    height = 250 + 34 * len(waterfall["types"]) + 41 * len(why["experiments"])
    browser = os.environ.get("CHROMIUM") or next(
        filter(None, map(shutil.which, ["chromium-headless-shell", "chromium"])), None)
    if browser is None:
        sys.exit("Chromium is not here: apt-get install chromium-headless-shell")
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "why.html")
        with open(source, "w", encoding="utf-8") as file:
            file.write(page)
        subprocess.run([browser, "--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size=1186,{height}",
                        f"--screenshot={os.path.abspath(picture)}", f"file://{source}"],
                       check=True, stderr=subprocess.DEVNULL)


main()
