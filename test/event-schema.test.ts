/** The schema of events says what events are: all there can be fit it, and nothing else does. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import schema from '../schema/events.schema.json' with { type: 'json' };
import { eventTable } from '../src/ledger/formats/v1/event-table.ts';
import { anyEvent } from './arbitrary-event.ts';

const ajv = new Ajv2020({ strict: false });
const validate = ajv.compile(schema);
const typesOf = (one: object): unknown =>
  (one as { properties: { type: { const?: string } } }).properties.type.const;

describe('the schema of events', () => {
  it('has every type there is, and one for those of hosts', () => {
    const named = new Set(schema.anyOf.map(typesOf));
    const known = new Set(Object.keys(eventTable));
    expect(new Set([...named].filter((type) => type !== undefined))).toEqual(known);
    expect(named.has(undefined)).toBe(true);
  });

  it('fits every event there can be, as JSON', () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const json: unknown = JSON.parse(JSON.stringify(event));
        expect([json, validate(json)]).toEqual([json, true]);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    [
      'without what it must say',
      { type: 'tool.started', id: 'e', sessionId: 's', turnId: 't', callId: 'c', at: 1 },
    ],
    ['of a type nobody knows', { type: 'tool.exploded', id: 'e', sessionId: 's', turnId: 't', at: 1 }],
    [
      'with a field of another type',
      { type: 'turn.ended', id: 'e', sessionId: 's', turnId: 't', at: 'now', why: 'asked' },
    ],
    [
      'with a word that is none',
      { type: 'turn.ended', id: 'e', sessionId: 's', turnId: 't', at: 1, why: 'bored' },
    ],
  ])('refuses one %s', (_, event) => {
    expect(validate(event)).toBe(false);
  });

  it('takes an event of a host', () => {
    const event = {
      type: 'order.flagged',
      id: 'e',
      sessionId: 's',
      turnId: 't',
      at: 1,
      by: 'flag',
      data: { n: 1 },
    };
    expect(validate(event)).toBe(true);
  });
});
