-- Format 1. Every statement reads whole rows, because `checksum` covers all columns before it.
-- Times are milliseconds since the Unix epoch; unsigned numbers are kept bit for bit.

-- The text of every id and word, once. Row 0 is the empty text: "none" in the columns below.
CREATE TABLE name (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE,
    checksum INTEGER NOT NULL
) STRICT;

-- Sessions by the order of their creation. `generation` is null where nobody ever drove.
CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    name INTEGER NOT NULL UNIQUE REFERENCES name (id),
    harness INTEGER NOT NULL REFERENCES name (id),
    created_at INTEGER NOT NULL,
    workdir TEXT,
    title TEXT,
    labels BLOB NOT NULL,
    thread INTEGER NOT NULL REFERENCES name (id),
    input INTEGER NOT NULL REFERENCES name (id),
    capture INTEGER NOT NULL,
    driver_exec INTEGER NOT NULL REFERENCES name (id),
    generation INTEGER,
    provider_generation INTEGER,
    provider_exec INTEGER NOT NULL REFERENCES name (id),
    endpoint TEXT,
    pid INTEGER,
    start_time INTEGER,
    closed_at INTEGER,
    checksum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX session_thread ON session (harness, thread) WHERE thread <> 0;

CREATE TABLE input (
    key INTEGER PRIMARY KEY REFERENCES name (id),
    session INTEGER NOT NULL REFERENCES name (id),
    capture INTEGER NOT NULL,
    at INTEGER NOT NULL,
    prompt TEXT,
    skill TEXT,
    cwd TEXT,
    model TEXT,
    work TEXT,
    labels BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (session, capture)
) STRICT;

-- `outcome`: 0 exited with `code`, 1 killed by the signal `code`, 2 lost; null while it runs.
CREATE TABLE exec (
    id INTEGER PRIMARY KEY REFERENCES name (id),
    parent INTEGER NOT NULL REFERENCES name (id),
    argv BLOB NOT NULL,
    cwd TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    outcome INTEGER,
    code INTEGER,
    checksum INTEGER NOT NULL
) STRICT;

-- `purpose`: 0 prompt, 1 steer. `reply`: 0 expected, 1 not asked.
-- `delivery`: 0 intended, 1 sent, 2 not sent, 3 uncertain; `why` for the last two.
CREATE TABLE intent (
    request INTEGER PRIMARY KEY REFERENCES name (id),
    seq INTEGER NOT NULL,
    session INTEGER NOT NULL REFERENCES name (id),
    thread INTEGER NOT NULL REFERENCES name (id),
    turn INTEGER NOT NULL REFERENCES name (id),
    purpose INTEGER NOT NULL,
    reply INTEGER NOT NULL,
    input INTEGER NOT NULL REFERENCES name (id),
    exec INTEGER NOT NULL REFERENCES name (id),
    generation INTEGER NOT NULL,
    provider_generation INTEGER NOT NULL,
    labels BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    delivery INTEGER NOT NULL,
    why TEXT,
    admitted INTEGER,
    checksum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX intent_turn ON intent (session, thread, turn) WHERE turn <> 0;
CREATE INDEX intent_unseen ON intent (session, seq) WHERE admitted IS NULL;
CREATE INDEX intent_input ON intent (input, seq) WHERE input <> 0;

-- Rows are never deleted, so that `seq` is never used again.
-- `key` is the event's key where it is short, else 16 bytes of its digest.
-- `call` is the model call of a `usage` event, else 0. `form` says how `body` is written: of form 3
-- are facts, and those that begin with the byte 3 say that the turn started another conversation.
CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES name (id),
    thread INTEGER NOT NULL REFERENCES name (id),
    turn INTEGER NOT NULL REFERENCES name (id),
    kind INTEGER NOT NULL REFERENCES name (id),
    key BLOB NOT NULL,
    recorded_at INTEGER NOT NULL,
    evidence INTEGER REFERENCES evidence (id),
    call INTEGER NOT NULL REFERENCES name (id),
    form INTEGER NOT NULL,
    body BLOB NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_identity ON event (session, thread, turn, kind, key);
CREATE INDEX event_session ON event (session);
CREATE INDEX event_call ON event (call) WHERE call <> 0;
CREATE INDEX event_seen ON event (thread, call) WHERE call <> 0;
CREATE INDEX event_start ON event (key) WHERE form = 3 AND substr(body, 1, 1) = x'03';
CREATE INDEX event_child ON event (thread) WHERE form = 3 AND substr(body, 1, 1) = x'03';

-- `state`: 0 open, 1 ended. `first` is the event that showed the turn first.
CREATE TABLE turn (
    first INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES name (id),
    thread INTEGER NOT NULL REFERENCES name (id),
    turn INTEGER NOT NULL REFERENCES name (id),
    state INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (session, thread, turn)
) STRICT;
CREATE INDEX turn_session ON turn (session);
CREATE INDEX turn_open ON turn (session) WHERE state = 0;

-- One row for each model call in the whole store. `cost` is a decimal number of US dollars.
CREATE TABLE call (
    key INTEGER PRIMARY KEY REFERENCES name (id),
    input_tokens INTEGER,
    cache_read INTEGER,
    cache_write INTEGER,
    cache_write_1h INTEGER,
    output INTEGER,
    reasoning INTEGER,
    cost TEXT,
    provider INTEGER REFERENCES name (id),
    model INTEGER REFERENCES name (id),
    at INTEGER,
    seq INTEGER NOT NULL,
    session INTEGER NOT NULL REFERENCES name (id),
    thread INTEGER NOT NULL REFERENCES name (id),
    turn INTEGER NOT NULL REFERENCES name (id),
    input INTEGER NOT NULL REFERENCES name (id),
    exec INTEGER NOT NULL REFERENCES name (id),
    checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX call_turn ON call (session, thread, turn);
CREATE INDEX call_input ON call (input) WHERE input <> 0;
CREATE INDEX call_exec ON call (exec) WHERE exec <> 0;

CREATE TABLE fork (
    child INTEGER PRIMARY KEY REFERENCES name (id),
    parent INTEGER NOT NULL REFERENCES name (id),
    checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX fork_parent ON fork (parent);

-- `state`: 0 unspent, 1 selected, 2 consumed; the last three columns say which turn.
CREATE TABLE selection (
    input INTEGER PRIMARY KEY REFERENCES name (id),
    flow TEXT NOT NULL,
    position INTEGER NOT NULL,
    session INTEGER NOT NULL REFERENCES name (id),
    after INTEGER NOT NULL,
    driver_exec INTEGER NOT NULL REFERENCES name (id),
    generation INTEGER,
    provider_generation INTEGER,
    provider_exec INTEGER NOT NULL REFERENCES name (id),
    endpoint TEXT,
    pid INTEGER,
    start_time INTEGER,
    state INTEGER NOT NULL,
    request INTEGER NOT NULL REFERENCES name (id),
    thread INTEGER NOT NULL REFERENCES name (id),
    turn INTEGER NOT NULL REFERENCES name (id),
    checksum INTEGER NOT NULL
) STRICT;

-- `digest` is the BLAKE3 of the content, `size` its bytes before compression.
CREATE TABLE evidence (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    kept_at INTEGER NOT NULL,
    size INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;

-- The contents that are not pruned, as zstd frames: the only rows that are ever deleted.
CREATE TABLE content (
    evidence INTEGER PRIMARY KEY REFERENCES evidence (id),
    bytes BLOB NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
