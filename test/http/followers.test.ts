import { alterLedger } from '../alter-ledger.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { FeedEntry, FeedPage } from '@quittance/server';
import { createManualClock } from 'quittance/testing';
import { Followers } from '../../packages/server/src/http/followers.ts';
import { TokenFile, tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import type { TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';
import { lastPosition } from '../../packages/quittance/src/ledger/reads.ts';

let app: TestServer;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

type Message = { readonly type: string; readonly id: number; readonly data: FeedEntry };

/** Reads messages until there are enough. */
async function* follow(
  path: string,
  headers: Readonly<Record<string, string>> = {},
): AsyncGenerator<Message> {
  const stop = new AbortController();
  const response = await fetch(app.server.url + path, {
    headers: { authorization: `Bearer ${app.tokens.viewer}`, ...headers },
    signal: stop.signal,
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  let rest = '';
  try {
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      rest += piece;
      for (let end; (end = rest.indexOf('\n\n')) !== -1; rest = rest.slice(end + 2)) {
        const found = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/.exec(rest.slice(0, end));
        if (found !== null)
          yield { id: Number(found[1]), type: found[2] ?? '', data: JSON.parse(found[3] ?? '') as FeedEntry };
      }
    }
  } finally {
    stop.abort();
  }
}

async function take(
  messages: AsyncGenerator<Message>,
  isEnough: (all: readonly Message[]) => boolean,
): Promise<Message[]> {
  const all: Message[] = [];
  for await (const message of messages) {
    all.push(message);
    if (isEnough(all)) break;
  }
  return all;
}

const note = (id: string, sessionId = 's1', text = id): Promise<unknown> =>
  app.runtime.turn({ sessionId }).call({ id, name: 'read_note', arguments: { id: text } });

const callsIn = (messages: readonly Message[]): Set<string> =>
  new Set(
    messages.flatMap(({ type, data }) =>
      (type === 'entry' ? data.events : []).flatMap((event) =>
        'callId' in event && event.callId !== undefined ? [event.callId] : [],
      ),
    ),
  );

/** Waits for a condition, not for a fixed time. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries++) {
    if (tries > 5_000) throw new Error('It never came to that.');
    await sleep(20);
  }
}

describe('a follower of the ledger', () => {
  test('gets everything once and in order, old and new, and can tell that nothing is missing', async () => {
    app = await startServer();
    await note('a');
    const following = take(follow('/v1/events'), (all) => callsIn(all).has('c'));
    await note('b');
    await note('c');
    const messages = await following;
    expect(callsIn(messages)).toEqual(new Set(['a', 'b', 'c']));
    for (const [index, { id, data }] of messages.entries()) {
      expect(data.position).toBe(id);
      expect(data.previous).toBe(index === 0 ? 0 : messages[index - 1]?.id);
    }
  });

  test('continues after the position it names, in a header or in the address', async () => {
    app = await startServer();
    for (const id of ['a', 'b', 'c']) await note(id);
    const all = await take(follow('/v1/events'), (seen) => callsIn(seen).has('c'));
    const second = all[1]?.id ?? 0;
    const byHeader = await take(follow('/v1/events', { 'last-event-id': String(second) }), (seen) =>
      callsIn(seen).has('c'),
    );
    const byAddress = await take(follow(`/v1/events?after=${second}`), (seen) => callsIn(seen).has('c'));
    expect(byHeader).toEqual(all.slice(2));
    expect(byAddress).toEqual(byHeader);
  });

  test('gets only what it asked for, and still learns its position', async () => {
    app = await startServer({ limits: { heartbeatMs: 50 } });
    await note('mine', 'mine');
    const following = take(follow('/v1/events?sessionId=mine&type=tool.'), (all) =>
      all.some(({ type }) => type === 'position'),
    );
    await note('other', 'other');
    const messages = await following;
    const entries = messages.filter(({ type }) => type === 'entry');
    expect(callsIn(entries)).toEqual(new Set(['mine']));
    expect(entries.every(({ data }) => data.events.every(({ type }) => type.startsWith('tool.')))).toBe(true);
    expect(messages.at(-1)?.data.position).toBe(await lastPosition(app.ledger));
  });

  test('gets only new entries on request', async () => {
    app = await startServer();
    await note('old');
    const messages = follow('/v1/events?after=now');
    const following = take(messages, (all) => callsIn(all).has('new'));
    await until(async () => /quittance_http_followers 1$/m.test((await app.get<string>('/metrics')).body));
    await note('new');
    expect(callsIn(await following)).toEqual(new Set(['new']));
  });

  test('from now on gets its position at once, so that nothing is missed if it is cut off before the first entry', async () => {
    app = await startServer();
    await note('old');
    for (const more of ['', '&sessionId=s1&type=tool.']) {
      const now = await lastPosition(app.ledger);
      const [place] = await take(follow(`/v1/events?after=now${more}`), (all) => all.length === 1);
      expect(place).toEqual({ id: now, type: 'position', data: { position: now, previous: now } });
      // Cut off here: it would miss what comes before it reconnects.
      const missed = `missed${more}`;
      await note(missed);
      const again = await take(
        follow(`/v1/events?after=now${more}`, { 'last-event-id': String(place?.id) }),
        (all) => callsIn(all).has(missed),
      );
      expect(again[0]?.data.previous).toBe(now);
      expect(callsIn(again)).toEqual(new Set([missed]));
    }
  });

  test('does not get an erased text, although another follower got it before', async () => {
    app = await startServer();
    await note('a', 's1', 'to be forgotten');
    const isErased = (all: readonly Message[]): boolean =>
      all.some(({ data }) => data.events.some(({ type }) => type === 'body.erased'));
    const seen: Message[] = [];
    const following = take(follow('/v1/events'), (all) => {
      seen.splice(0, seen.length, ...all);
      return callsIn(all).has('b');
    });
    await until(() => callsIn(seen).has('a'));
    await app.ledger.erase({ sessionId: 's1', reason: 'asked for', by: 'ada' });
    await until(() => isErased(seen));
    // The first one still follows, so the shared cache still exists.
    const later = await take(follow('/v1/events'), isErased);
    expect(JSON.stringify(seen)).toContain('to be forgotten');
    expect(JSON.stringify(later)).not.toContain('to be forgotten');
    await note('b');
    await following;
  });

  test('is disconnected when the server closes', async () => {
    app = await startServer();
    await note('a');
    const messages = follow('/v1/events');
    await messages.next();
    await app.server.close();
    const rest: Message[] = [];
    for await (const message of messages) rest.push(message);
    expect(rest.every(({ type }) => type === 'entry')).toBe(true);
  });

  test('is refused beyond the maximum number', async () => {
    app = await startServer({ limits: { followers: 1 } });
    await note('a');
    const messages = follow('/v1/events');
    await messages.next();
    expect((await app.get('/v1/events')).status).toBe(429);
    const page = await app.get('/v1/events?limit=1', 'viewer', { accept: 'application/json' });
    expect(page.status).toBe(200);
    await messages.return(undefined);
    await until(async () => {
      const stop = new AbortController();
      const { status } = await fetch(`${app.server.url}/v1/events`, {
        headers: { authorization: `Bearer ${app.tokens.viewer}` },
        signal: stop.signal,
      });
      stop.abort();
      return status === 200;
    });
  });

  test('gets nothing from the moment its token is revoked or expires', async () => {
    const clock = createManualClock(1_000_000);
    app = await startServer({}, clock);
    const file = new TokenFile(tokenFilePath(app.ledgerPath), () => clock.now());
    const revoked = file.create({ name: 'revoked', role: 'viewer' }).token;
    const over = file.create({ name: 'over', role: 'viewer', expiresInMs: 60_000 }).token;
    await note('a');
    const followers = [revoked, over, app.tokens.viewer].map((token) =>
      follow('/v1/events', { authorization: `Bearer ${token}` }),
    );
    const [byRevoked, byOver, byViewer] = followers.map((messages) =>
      take(messages, (all) => callsIn(all).has('c')).catch(() => 'cut'),
    );
    await until(async () => /quittance_http_followers 3$/m.test((await app.get<string>('/metrics')).body));
    file.revoke('revoked');
    await note('b');
    expect(await byRevoked).toBe('cut');
    clock.advance(60_000);
    await note('c');
    expect(await byOver).toBe('cut');
    expect(callsIn((await byViewer) as Message[])).toEqual(new Set(['a', 'b', 'c']));
  });

  test('is disconnected within moments while nothing is written, also if the token file becomes unreadable', async () => {
    app = await startServer();
    const path = tokenFilePath(app.ledgerPath);
    const file = new TokenFile(path, Date.now);
    const revoked = file.create({ name: 'revoked', role: 'viewer' }).token;
    const [byRevoked, byViewer] = [revoked, app.tokens.viewer].map((token) =>
      take(follow('/v1/events?after=now', { authorization: `Bearer ${token}` }), () => false).catch(
        () => 'cut',
      ),
    );
    await until(async () => /quittance_http_followers 2$/m.test((await app.get<string>('/metrics')).body));
    file.revoke('revoked');
    expect(await byRevoked).toBe('cut');
    const kept = readFileSync(path);
    writeFileSync(path, '{"version": 1, "tokens": [');
    expect(await byViewer).toBe('cut');
    writeFileSync(path, kept);
    expect((await app.get('/v1/me')).status).toBe(200);
  });

  test('with a narrow filter on a long ledger delays no one else', async () => {
    app = await startServer();
    const turn = app.runtime.turn({ sessionId: 'many' });
    await Promise.all(
      Array.from({ length: 2_000 }, (_, n) =>
        turn.call({ id: `m${n}`, name: 'read_note', arguments: { id: String(n) } }),
      ),
    );
    await note('mine', 'mine');
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    const readAt: number[] = [];
    const readEntries = app.ledger.readEntries.bind(app.ledger);
    app.ledger.readEntries = (query) => {
      readAt.push(turns);
      return readEntries(query);
    };
    count();
    await take(follow('/v1/events?sessionId=mine'), (all) => all.length > 0);
    isDone = true;
    // Other requests ran between any two pieces. What follows the awaited message is read at once.
    expect(readAt.length).toBeGreaterThan(5);
    expect(new Set(readAt).size).toBeGreaterThanOrEqual(readAt.length - 1);
  });
});

/** A client that sends the given text and reads nothing unless told to. */
function dial(text: string): Promise<{ readonly socket: Socket; readonly closed: Promise<void> }> {
  return new Promise((resolve, reject) => {
    const socket = connect(app.server.port, '127.0.0.1', () => {
      socket.write(text);
      resolve({ socket, closed });
    });
    socket.pause();
    sockets.push(socket);
    const closed = new Promise<void>((done) => {
      socket.on('close', () => done());
      socket.on('error', () => done());
    });
    socket.once('error', reject);
  });
}

describe('slow clients', () => {
  test('that never finish the head of a request are cut off, and others are served meanwhile', async () => {
    app = await startServer({ limits: { timeouts: { headersMs: 300, requestMs: 600 } } });
    const slow = await Promise.all(
      Array.from({ length: 50 }, () =>
        dial(`GET /v1/calls HTTP/1.1\r\nHost: 127.0.0.1:${app.server.port}\r\nX-A: `),
      ),
    );
    const drip = setInterval(() => {
      for (const { socket } of slow) if (socket.writable) socket.write('a');
    }, 50);
    expect((await app.get('/v1/calls')).status).toBe(200);
    for (const { socket } of slow) socket.resume();
    await Promise.all(slow.map(({ closed }) => closed));
    clearInterval(drip);
  });

  test('that never finish a body are cut off', async () => {
    app = await startServer({ limits: { timeouts: { headersMs: 300, requestMs: 600 } } });
    const head = `POST /v1/calls HTTP/1.1\r\nHost: 127.0.0.1:${app.server.port}\r\nAuthorization: Bearer ${app.tokens.operator}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`;
    const { socket, closed } = await dial(head);
    socket.resume();
    await expect(closed).resolves.toBeUndefined();
  });

  test('that follow the ledger and stop reading are cut off, and cost the server one piece', async () => {
    // Long enough for the reader below on a busy machine.
    app = await startServer({ limits: { heartbeatMs: 100, stallMs: 3_000 } });
    const get = `GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:${app.server.port}\r\nAuthorization: Bearer ${app.tokens.viewer}\r\n\r\n`;
    const stuck = await Promise.all(Array.from({ length: 5 }, () => dial(get)));
    const reader = follow('/v1/events');
    await note('first');
    const followers = async (): Promise<number> =>
      Number(/^quittance_http_followers (\d+)$/m.exec((await app.get<string>('/metrics')).body)?.[1]);
    // More than the buffers of any system hold.
    const large = 'x'.repeat(200_000);
    let count = 0;
    await until(async () => {
      await note(`large-${count++}`, 'large', large);
      return /followers_cut_total [1-9]/.test((await app.get<string>('/metrics')).body);
    });
    for (const { socket } of stuck) socket.resume();
    await Promise.all(stuck.map(({ closed }) => closed));
    // A client that reads loses nothing.
    const last = await lastPosition(app.ledger);
    const messages = await take(reader, (all) => all.at(-1)?.id === last);
    for (const [index, { data }] of messages.entries())
      expect(data.previous).toBe(index === 0 ? 0 : messages[index - 1]?.id);
    await until(async () => (await followers()) === 0);
  });

  test('that follow the ledger and stop reading hold only a few pieces of it, however much there is', async () => {
    app = await startServer();
    const large = 'x'.repeat(100_000);
    for (let n = 0; n < 20; n++) await note(`large-${n}`, 'large', large + String(n));
    let made = 0;
    const followers = new Followers(
      app.ledger,
      { heartbeatMs: 60_000, stallMs: 60_000, most: 100 },
      { revision: () => '', now: () => 0 },
    );
    const readEntries = app.ledger.readEntries.bind(app.ledger);
    app.ledger.readEntries = (query) => {
      made++;
      return readEntries(query);
    };
    const pass = { isGood: () => true, expiresAt: undefined };
    const readers = Array.from({ length: 50 }, () => followers.follow(0, {}, pass, undefined).getReader());
    // Each takes one piece, and nothing after that.
    await Promise.all(readers.map((reader) => reader.read()));
    const pieces = await Promise.all(readers.map((reader) => reader.read()));
    for (const { value } of pieces) expect(value).toBe(pieces[0]?.value);
    // There are two megabytes. Each client holds a piece of limited size, and one read of the ledger serves
    // all of them.
    expect(pieces[0]?.value?.byteLength).toBeLessThan(600_000);
    expect(made).toBeLessThan(20);
    followers.close();
    await Promise.all(readers.map((reader) => reader.cancel()));
  });

  test('learn about an entry that is too large to send, and continue after it', async () => {
    app = await startServer();
    await note('first');
    const before = await lastPosition(app.ledger);
    await note('huge', 'large', 'x'.repeat(1_200_000));
    await note('last');
    const { body } = await app.get<FeedPage>(`/v1/events?after=${before}`, 'viewer', {
      accept: 'application/json',
    });
    expect(body.entries.length).toBeGreaterThan(1);
    const followers = new Followers(
      app.ledger,
      { heartbeatMs: 60_000, stallMs: 60_000, most: 100 },
      { revision: () => '', now: () => 0 },
    );
    const pass = { isGood: () => true, expiresAt: undefined };
    for (const filter of [{}, { type: 'tool.' }]) {
      const reader = followers.follow(before, filter, pass, undefined).getReader();
      let text = '';
      while (!text.includes('"last"')) text += new TextDecoder().decode((await reader.read()).value);
      expect(text).toMatch(
        /event: large\ndata: \{"position":\d+,"sessionId":"[^"]+","bytes":\d{7},"previous":\d+\}/,
      );
      expect(text.length).toBeLessThan(100_000);
      await reader.cancel();
    }
    followers.close();
  });

  test('that meet an unreadable entry are removed, and another failure does not affect the others', async () => {
    app = await startServer();
    await note('first');
    let isBroken = true;
    let waits = 0;
    const ledger = alterLedger(app.ledger, {
      readEntries: (query) => {
        if (isBroken) throw new Error('The disk is gone.');
        return app.ledger.readEntries(query);
      },
      whenChanged: (awaited, signal) =>
        ++waits === 1
          ? Promise.reject(new Error('The disk is gone.'))
          : app.ledger.whenChanged(awaited, signal),
    });
    const followers = new Followers(
      ledger,
      { heartbeatMs: 20, stallMs: 60_000, most: 100 },
      { revision: () => '', now: () => 0 },
    );
    const pass = { isGood: () => true, expiresAt: undefined };
    let cuts = 0;
    const failing = followers.follow(0, {}, pass, () => cuts++).getReader();
    await failing.read();
    await expect(failing.read()).rejects.toThrow('The disk is gone.');
    expect([followers.count, cuts]).toEqual([0, 1]);
    isBroken = false;
    const reader = followers.follow(await lastPosition(app.ledger), {}, pass, undefined).getReader();
    await reader.read();
    await until(() => waits > 1);
    await reader.cancel();
    followers.close();
  });

  test('that send more than allowed are asked to wait', async () => {
    app = await startServer({ limits: { rate: { perSecond: 1, burst: 3 } } });
    const answers = [];
    for (let n = 0; n < 5; n++) answers.push(await app.get('/v1/me', 'viewer'));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
    expect(answers.at(-1)?.headers.get('retry-after')).toBe('1');
    expect((await app.get('/v1/me', 'admin')).status).toBe(200);
  });
});
