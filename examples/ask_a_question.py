"""Ask a question of a page from a notebook: its sentence, table, figure and link. Needs: pip install 'dpviz[ask]'."""

import dpviz

answer = dpviz.ask("compose", noise_multiplier=4.0, sample_rate=0.01, steps=10_000, delta=1e-5)
print(answer.headline)
print(answer.table()[:3])  # the first rows of what the chart shows
answer.figure().write_html("compose.html", include_plotlyjs="cdn")  # or answer.figure().show() in a notebook
print("the same page in the app:", answer.link)

# Questions are named as in the app's links; a wrong setting says what would do.
print(dpviz.ask("success", epsilon=1.0).headline)
