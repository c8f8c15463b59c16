"""How long a page takes from a slider's key to the redrawn chart, beside a bare Streamlit page with the same chart.

    python benchmarks/latency.py --page compose --slider "Noise multiplier"
    python benchmarks/latency.py --page compose --controls Data --slider "Clipping quantile"

The bare page holds one slider and the tested page's own figure, read from its drawn chart; the slider scales the
figure, so that every key changes it. Keys alternate between the two pages in one Chromium, so that whatever else the
machine does slows both alike. Times are taken inside the page: from the key's event to the first frame after Plotly
has drawn a changed chart: any trace, axis range, line or word of it.
Printed are medians, 95th percentiles and the ratio of the medians; ``--at-most 1.5`` makes a
larger ratio an error.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from playwright.sync_api import Locator, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.driver import (  # noqa: E402
    CHROMIUM_FLAGS,
    chart_data,
    find_chromium,
    main_area,
    no_traceback,
    open_page,
    running_app,
    wait_idle,
)

BARE_PAGE = """
import json

import numpy as np
import plotly.graph_objects as go
import streamlit as st


@st.cache_data
def figure():
    with open({dump!r}) as file:
        return json.load(file)


scale = st.slider("Scale", 1, 1000, 500)
spec = figure()
traces = [
    {{**trace, "y": scale / 500 * np.array(trace["y"], dtype=float)}} if trace.get("numeric") else trace
    for trace in spec["data"]
]
traces = [{{key: value for key, value in trace.items() if key != "numeric"}} for trace in traces]
st.plotly_chart(go.Figure(data=traces, layout=spec["layout"], skip_invalid=True), width="stretch", key="chart")
"""

# Waits for the next key, then for the first frame after a drawing of a changed chart, and gives the milliseconds
# between. All that the page sent is compared, less what Plotly writes into it by itself (names with "_", uid).
# The chart's element is looked up anew each frame: the app may replace it.
TIMER = """
([index, limit]) => {
  const plot = () => document.querySelectorAll('[data-testid="stMain"] .js-plotly-plot')[index];
  const sent = layout => [layout?.annotations, layout?.shapes, layout?.xaxis?.range, layout?.yaxis?.range];
  const values = () => JSON.stringify([plot()?.data ?? [], sent(plot()?.layout)], (key, value) =>
    key.startsWith('_') || key === 'uid' ? undefined : ArrayBuffer.isView(value) ? Array.from(value) : value);
  const before = values();
  window.__redrawn = new Promise((resolve, reject) => {
    window.addEventListener('keydown', () => {
      const start = performance.now();
      let drawn = false, listening = null;
      const look = now => {
        const current = plot();
        if (drawn) return resolve(now - start);
        if (current && current !== listening) {
          listening?.removeAllListeners?.('plotly_afterplot');
          const replaced = listening !== null;
          listening = current;
          current.on('plotly_afterplot', () => { if (values() !== before) drawn = true; });
          if (replaced && values() !== before) drawn = true;
        }
        if (performance.now() - start > limit) return reject(new Error('the chart did not change'));
        requestAnimationFrame(look);
      };
      look(start);
    }, {once: true, capture: true});
  });
}
"""


class Watched(NamedTuple):
    page: Page
    slider: Locator
    chart: int

    def press(self, *, limit_ms: float = 20_000) -> float:
        """Press an arrow key on the slider, up or (at its end) down; milliseconds until the chart has changed."""
        value, end = (float(self.slider.get_attribute(name) or "nan") for name in ("value", "max"))
        value = float(self.slider.input_value() or value)
        if self.slider.evaluate("thumb => thumb !== document.activeElement"):
            self.slider.focus()
        self.page.evaluate(TIMER, [self.chart, limit_ms])
        self.page.keyboard.press("ArrowLeft" if value >= end else "ArrowRight")
        elapsed = float(self.page.evaluate("() => window.__redrawn"))
        wait_idle(self.page, settle_ms=150)
        return elapsed


def bare_page(folder: Path, figure: dict[str, list[dict[str, object]]]) -> Path:
    """Write the bare page and its figure; traces of numbers are marked, for only these can be scaled."""
    for trace in figure["data"]:
        values = trace.get("y")
        trace["numeric"] = isinstance(values, list) and all(v is None or isinstance(v, int | float) for v in values)
    (folder / "figure.json").write_text(json.dumps(figure))
    script = folder / "bare.py"
    script.write_text(BARE_PAGE.format(dump=str(folder / "figure.json")))
    return script


def report(name: str, times: list[float]) -> None:
    quick, slow = min(times), float(np.percentile(times, 95))
    print(f"{name:20} median {statistics.median(times):6.0f} ms   p95 {slow:6.0f} ms   fastest {quick:6.0f} ms")


def measure(arguments: argparse.Namespace, folder: Path) -> float:
    """Print both pages' times and return the ratio of their medians."""
    executable = find_chromium()
    if executable is None:
        sys.exit("no Chromium found: install one, or name it in DPVIZ_CHROMIUM")
    with sync_playwright() as playwright, running_app(ROOT / "app.py", folder / "app.log") as app:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM_FLAGS))
        size = {"width": 1280, "height": 800}
        tested = chromium.new_context(base_url=app, viewport=size).new_page()
        open_page(tested, f"{arguments.page}?{arguments.query}")
        no_traceback(tested)
        if arguments.controls:
            main_area(tested).get_by_test_id("stButtonGroup").get_by_text(arguments.controls, exact=True).first.click()
            wait_idle(tested)
        script = bare_page(folder, chart_data(tested, arguments.chart))
        with running_app(script, folder / "bare.log") as bare_app:
            bare = chromium.new_context(base_url=bare_app, viewport=size).new_page()
            open_page(bare)
            no_traceback(bare)
            watched = {
                arguments.page or "first page": Watched(
                    tested, main_area(tested).get_by_role("slider", name=arguments.slider).first, arguments.chart
                ),
                "bare Streamlit": Watched(bare, main_area(bare).get_by_role("slider"), 0),
            }
            times: dict[str, list[float]] = {name: [] for name in watched}
            for turn in range(arguments.warm_up + arguments.presses):
                for name, one in watched.items():
                    elapsed = one.press()
                    if turn >= arguments.warm_up:
                        times[name].append(elapsed)
            for one in watched.values():
                no_traceback(one.page)
        chromium.close()
    for name, measured in times.items():
        report(name, measured)
    ours, theirs = (statistics.median(measured) for measured in times.values())
    print(f"ratio of medians {ours / theirs:.2f} over {arguments.presses} keys each")
    return ours / theirs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", default="", help="the page's path, as in its address; default: the first page")
    parser.add_argument("--query", default="", help='query parameters, as in "sigma=2&steps=1000"')
    parser.add_argument("--slider", required=True, help="the slider's label, or a part of it")
    parser.add_argument("--controls", default="", help="the group of controls that holds the slider, if not the first")
    parser.add_argument("--chart", type=int, default=0, help="which of the page's charts, counted from 0")
    parser.add_argument("--presses", type=int, default=40)
    parser.add_argument("--warm-up", type=int, default=3, help="first keys on each page that are not counted")
    parser.add_argument("--at-most", type=float, default=float("inf"), help="exit with an error above this ratio")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ratio = measure(arguments, Path(folder))
    if ratio > arguments.at_most:
        sys.exit(f"ratio {ratio:.2f} is above {arguments.at_most}")


if __name__ == "__main__":
    main()
