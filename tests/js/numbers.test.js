// What a person types, and where a slider stands.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { numberIn, readings } from "./readings.js";
import { stepped, Stops } from "./slider.js";

const { typed } = JSON.parse(readFileSync("cases.json"));

test("every text is read as Python reads it", () => {
  for (const [text, wanted] of typed) assert.deepEqual(readings(text), wanted, text);
});

test("a number alone is one, and what may mean two or none is not", () => {
  for (const [text, number] of [["0,5", 0.5], ["−3", -3], ["10 000,5", 10000.5], ["1e-5", 1e-5]]) assert.equal(numberIn(text), number);
  for (const text of ["1.000", "", "text", "1/2", "1,2,3"]) assert.ok(Number.isNaN(numberIn(text)), text);
});

const LOG = new Stops(["0.1", "0.2", "0.5", "1", "10", "1000"], false);
const LINEAR = new Stops(["0", "1", "2", "4"], false);

test("a value stands between its stops, and is read there again", () => {
  for (const stops of [LOG, LINEAR]) {
    stops.numbers.forEach((number, k) => assert.equal(stops.positionOf(number), k));
    for (let place = 0.05; place < stops.last; place += 0.1) {
      const text = stops.textAt(place);
      assert.ok(Math.abs(stops.positionOf(Number(text)) - place) < 0.02, `${place}: ${text}`);
    }
  }
  assert.equal(LOG.positionOf(100), 4.5, "in the middle by its logarithm");
  assert.equal(LINEAR.positionOf(0.25), 0.25);
});

test("beyond the stops a value stands at their ends", () => {
  assert.equal(LOG.positionOf(0.001), 0);
  assert.equal(LOG.positionOf(1e9), LOG.last);
});

test("a stop without a number is the last one, and nothing lies between it and the one before", () => {
  const best = new Stops(["2", "4", "best"], true);
  assert.equal(best.positionOf(NaN), 2);
  assert.equal(best.textAt(1.4), "4");
  assert.equal(best.textAt(1.6), "best");
  assert.equal(best.positionOf(3), 0.5849625007211562);
});

test("whole numbers stay whole", () => {
  const whole = new Stops(["1", "10", "100"], true);
  for (let place = 0; place <= 2; place += 0.1) assert.match(whole.textAt(place), /^[0-9]+$/);
});

test("around a place between stops lie tenths, within the slider", () => {
  assert.deepEqual(LOG.around(2), []);
  const around = LINEAR.around(0.3);
  assert.equal(around[0], "0");
  assert.ok(around.includes("0.5"));
  assert.ok(around.every((text) => Number(text) >= 0 && Number(text) <= 4));
  assert.equal(new Set(around).size, around.length);
});

test("an arrow key moves by one unit of the last digit", () => {
  const steps = [[1.25, 1, "1.26"], [1.25, -10, "1.15"], [0.1, 1, "0.2"], [1e-5, 1, "0.00002"], [7, 1, "8"]];
  for (const [value, by, text] of steps) assert.equal(Number(stepped(value, by, false)), Number(text));
  assert.equal(stepped(600, 10, true), "610");
});
