/** The schema of events describes events exactly: every possible event matches it, and nothing else does. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import schema from '../packages/quittance/schema/events.schema.json' with { type: 'json' };
import { eventTable } from '../packages/quittance/src/ledger/formats/v1/event-table.ts';
import { anyEvent } from './arbitrary-event.ts';

const ajv = new Ajv2020({ strict: false });
const validate = ajv.compile(schema);
const typesOf = (one: object): unknown =>
  (one as { properties: { type: { const?: string } } }).properties.type.const;

describe('the schema of events', () => {
  it('has every built-in type, and one for custom types', () => {
    const named = new Set(schema.anyOf.map(typesOf));
    const known = new Set(Object.keys(eventTable));
    expect(new Set([...named].filter((type) => type !== undefined))).toEqual(known);
    expect(named.has(undefined)).toBe(true);
  });

  it('matches every possible event, as JSON', () => {
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
    ['of an unknown type', { type: 'tool.exploded', id: 'e', sessionId: 's', turnId: 't', at: 1 }],
    [
      'with a field of another type',
      { type: 'turn.ended', id: 'e', sessionId: 's', turnId: 't', at: 'now', why: 'asked' },
    ],
    [
      'with an unknown word',
      { type: 'turn.ended', id: 'e', sessionId: 's', turnId: 't', at: 1, why: 'bored' },
    ],
  ])('refuses one %s', (_, event) => {
    expect(validate(event)).toBe(false);
  });

  it('accepts a custom event', () => {
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
