/** The search over arguments, outputs, ids and users, and conditions on arguments. */
import assert from 'node:assert/strict';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { CallQuery } from '../../ledger/call-query.ts';
import type { OpenLedger } from '../../ledger/ledger.ts';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { findCalls } from '../../ledger/reads.ts';

const start = 1_700_000_000_000;

async function idsOf(ledger: OpenLedger, query: CallQuery): Promise<string[]> {
  return (await findCalls(ledger, query)).rows.map(({ callId }) => callId);
}

const calls: readonly (readonly [
  id: string,
  more: { sessionId: string; userId: string; toolName: string; input: JsonObject; output: JsonValue },
])[] = [
  [
    'first',
    {
      sessionId: 'ticket-42',
      userId: 'ines',
      toolName: 'refund',
      input: { order: 'A-1001', cents: 1_200, card: '[REDACTED]', to: { name: 'Ada Byron' } },
      output: { receipt: 'R/7 paid', lines: [{ sku: 'rye' }] },
    },
  ],
  [
    'second',
    {
      sessionId: 'ticket-43',
      userId: 'omar',
      toolName: 'refund',
      input: { order: 'A-1002', cents: 90_000, express: true, lines: [{ sku: 'oat' }, { sku: 'salt' }] },
      output: 'Zürich 東京',
    },
  ],
  [
    'third',
    {
      sessionId: 'ticket-42',
      userId: 'omar',
      toolName: 'send_mail',
      input: {
        to: 'ada@example.com',
        cents: -5,
        loaf: 'ryebread',
        odd: 'it\'s "quoted" \\ & | ! ( ) : * % <b>',
      },
      output: null,
    },
  ],
];

async function appendCalls(ledger: OpenLedger): Promise<void> {
  let at = start;
  for (const [id, more] of calls) {
    const call = new SampleCall(id, { ...more, at: (at += 1_000) });
    // One in a single entry, the others in two: stores read them in different ways.
    for (const entry of id === 'first' ? [call.whole()] : [call.begin(), call.end()])
      await ledger.append(entry);
  }
}

export const searchChecks: readonly Check[] = [
  [
    'a search finds words of arguments, outputs, ids and users, and conditions on arguments',
    async ({ ledger }) => {
      await appendCalls(ledger);
      const answers: readonly [CallQuery, readonly string[]][] = [
        [{ text: 'a-1001' }, ['first']],
        [{ text: '1001' }, ['first']],
        [{ text: 'BYRON' }, ['first']],
        [{ text: 'byr' }, ['first']],
        [{ text: 'byr ' }, []], // a complete word
        [{ text: 'yron' }, []],
        [{ text: 'ada' }, ['third', 'first']],
        [{ text: 'sen' }, ['third']],
        [{ text: 'rye' }, ['first']], // not "ryebread": a call has the whole word
        [{ text: 'ada example' }, ['third']],
        [{ text: 'rye' }, ['first']],
        [{ text: 'r/7' }, ['first']],
        [{ text: 'zürich' }, ['second']],
        [{ text: '京' }, ['second']],
        [{ text: 'omar refund' }, ['second']],
        [{ text: 'ticket 42' }, ['third', 'first']],
        [{ text: 'redacted' }, []],
        [{ text: 'quoted' }, ['third']],
        [{ text: `'"\\&|!():*%` }, []],
        [{ text: 'args.cents=1200' }, ['first']],
        [{ text: 'args.cents=1200.0' }, ['first']],
        [{ text: 'args.cents!=1200' }, ['third', 'second']],
        [{ text: 'args.cents>1200' }, ['second']],
        [{ text: 'args.cents>=1200' }, ['second', 'first']],
        [{ text: 'args.cents<0' }, ['third']],
        [{ text: 'args.cents<=1200' }, ['third', 'first']],
        [{ text: 'args.cents>-6 args.cents<1201' }, ['third', 'first']],
        [{ text: 'args.cents>x' }, []],
        [{ text: 'args.order=a-1002' }, ['second']],
        [{ text: 'args.to.name="Ada Byron"' }, ['first']],
        [{ text: 'args.to=ada@example.com' }, ['third']],
        [{ text: 'args.express=true' }, ['second']],
        [{ text: 'args.lines.sku=salt' }, ['second']],
        [{ text: 'args.lines[1].sku=salt' }, ['second']],
        [{ text: 'args.nothing=1' }, []],
        [{ text: `args.odd="it's" ` }, []],
        [{ text: 'refund args.cents>100', userId: 'ines' }, ['first']],
        [{ text: 'refund', sessionId: 'ticket-43' }, ['second']],
        [{ text: 'omar', toolName: 'send_mail' }, ['third']],
        [{ text: 'omar', since: start + 2_500 }, ['third']],
        [{ text: 'omar', until: start + 2_500 }, ['second']],
        [{ text: 'omar', outcome: 'ToolDenied' }, []],
        [{ idStart: 'fi' }, ['first']],
        [{ idStart: 'irst' }, []],
        [{ idStart: 't', sessionId: 'ticket-42' }, ['third']],
      ];
      for (const [query, ids] of answers)
        assert.deepEqual(await idsOf(ledger, query), ids, JSON.stringify(query));
    },
  ],
  [
    'a list shows the first arguments in short form',
    async ({ ledger }) => {
      await appendCalls(ledger);
      await ledger.append(
        new SampleCall('long', {
          input: { text: 'x'.repeat(5_000), many: Array.from({ length: 900 }, String) },
        }).whole(),
      );
      const { rows } = await findCalls(ledger, {});
      const shown = new Map(rows.map(({ callId, args }) => [callId, args]));
      assert.deepEqual(shown.get('first'), {
        order: 'A-1001',
        cents: 1_200,
        card: '[REDACTED]',
        'to.name': 'Ada Byron',
      });
      assert.deepEqual(shown.get('second')?.['lines.sku'], ['oat', 'salt']);
      assert.ok(JSON.stringify(shown.get('long')).length < 1_000);
    },
  ],
  [
    'pages of a search have no gaps and no repeats, and a bounded search continues',
    async ({ ledger }) => {
      for (let n = 0; n < 30; n++)
        await ledger.append(
          // Times in another order than the appends.
          new SampleCall(`c${n}`, { input: { n, word: 'common' }, at: start - (n % 7) * 1_000 }).whole(),
        );
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await findCalls(ledger, { text: 'common args.n>=0', limit: 4, cursor, scan: 9 });
        found.push(...page.rows.map(({ callId }) => callId));
        cursor = page.next;
      } while (cursor !== undefined);
      assert.deepEqual(
        found,
        Array.from({ length: 30 }, (_, n) => `c${29 - n}`),
      );
    },
  ],
  [
    'erased arguments and dropped sessions are no longer found',
    async ({ ledger }) => {
      await appendCalls(ledger);
      assert.deepEqual(await idsOf(ledger, { text: 'ada' }), ['third', 'first']);
      await ledger.erase({ sessionId: 'ticket-42', by: 'ada', reason: 'asked to' });
      for (const text of ['ada', 'byron', 'rye', '1001', 'args.cents>0 1200', 'args.order=a-1001'])
        assert.deepEqual(await idsOf(ledger, { text }), [], text);
      assert.deepEqual(await idsOf(ledger, { text: 'first' }), ['first']);
      await ledger.dropSession({ sessionId: 'ticket-43', by: 'ada', reason: 'asked to' });
      for (const text of ['second', 'zürich', 'args.cents>5000'])
        assert.deepEqual(await idsOf(ledger, { text }), []);
    },
  ],
];
