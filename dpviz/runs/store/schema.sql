CREATE TABLE IF NOT EXISTS owners (
    id TEXT PRIMARY KEY, process TEXT NOT NULL, heartbeat REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, note TEXT NOT NULL,
    target TEXT NOT NULL, settings TEXT NOT NULL, options TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
    created REAL NOT NULL, started REAL, ended REAL, attempt INTEGER NOT NULL, steps INTEGER NOT NULL,
    wish TEXT NOT NULL, granted INTEGER NOT NULL, baseline INTEGER NOT NULL, deleted REAL, imported INTEGER NOT NULL,
    owner TEXT NOT NULL, host TEXT, summary TEXT NOT NULL, anchor TEXT NOT NULL DEFAULT '',
    checksum INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS runs_by_state ON runs (state);
CREATE INDEX IF NOT EXISTS runs_listed ON runs (deleted, baseline, number, state);
CREATE INDEX IF NOT EXISTS runs_by_accuracy ON runs (
    deleted, CASE json_type(summary, '$.test_accuracy') WHEN 'real' THEN json_extract(summary, '$.test_accuracy') END,
    number
);
CREATE TABLE IF NOT EXISTS attempts (
    run TEXT NOT NULL, attempt INTEGER NOT NULL, execution TEXT NOT NULL, worker TEXT NOT NULL, started REAL NOT NULL,
    ended REAL, outcome TEXT NOT NULL, checksum INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, attempt), UNIQUE (run, execution)
);
CREATE TABLE IF NOT EXISTS events (
    run TEXT NOT NULL, attempt INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, step INTEGER NOT NULL,
    time REAL NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run, attempt, seq)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blocks (
    run TEXT NOT NULL, attempt INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    digest BLOB NOT NULL, events BLOB NOT NULL, PRIMARY KEY (run, attempt, first)
);
