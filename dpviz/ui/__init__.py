"""The Streamlit code beside app.py and pages/.

What stands where: `page` (look, sides, headline, side bar), `panel` (the controls beside a chart, of `controls` and
`own_controls`), `plots` (the chart), `details` (what stands below), `present` (barer ways to show all this); `render`
puts a question's page together, `home`, `train` and `runs` their own.

What is set: `state` (a value a field), `history` (link, undo, presets, pins), `registry` (every field and preset).
What is computed: `answers` (each once, slow parts beside the page), `sources` and `measuring` (samples).
The server: `launch`, `server`, `access` (who may use it), `browser` (what it fetches beside pages), `boundary`
(what breaks).
"""
