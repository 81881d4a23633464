import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyToolResult } from '../../../../test/arbitrary-outcome.ts';
import { isTerminalResult, isToolMadeResult, parseToolResult, toolResult } from './outcome.ts';

describe('isTerminalResult', () => {
  const states = [true, false, undefined] as const;
  const rows = states.flatMap((terminal) =>
    states.flatMap((success) =>
      states.map((needsFollowup) => ({
        terminal,
        success,
        needsFollowup,
        expected: terminal === true || (success === false && needsFollowup !== true),
      })),
    ),
  );

  test.each(rows)(
    'terminal $terminal, success $success, needsFollowup $needsFollowup: $expected',
    ({ terminal, success, needsFollowup, expected }) => {
      const fields = Object.entries({ terminal, success, needsFollowup }).filter(
        ([, value]) => value !== undefined,
      );
      expect(isTerminalResult(Object.fromEntries(fields))).toBe(expected);
      expect(isTerminalResult({ terminal, success, needsFollowup })).toBe(expected);
    },
  );

  test.each([
    ['no object', null],
    ['text', 'terminal'],
    ['a number', 0],
    ['a function', Object.assign(() => 1, { terminal: true })],
    ['text that says true', { success: true, terminal: 'true' }],
    ['one that says true', { success: true, terminal: 1 }],
    ['text that says false', { success: 'false' }],
    ['zero that says false', { success: 0 }],
    ['an inherited field', Object.create({ terminal: true })],
    [
      'a getter that throws',
      {
        get terminal(): boolean {
          throw new Error('boom');
        },
      },
    ],
  ])('%s is not terminal', (_, junk) => {
    expect(isTerminalResult(junk)).toBe(false);
  });

  test('only `true` requests a follow-up', () => {
    expect(isTerminalResult({ success: false, needsFollowup: 'true' })).toBe(true);
    expect(isTerminalResult({ success: false, needsFollowup: 1 })).toBe(true);
  });

  test('never throws', () => {
    fc.assert(fc.property(fc.anything(), (junk) => typeof isTerminalResult(junk) === 'boolean'));
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(isTerminalResult(proxy)).toBe(false);
  });
});

describe('a tool result', () => {
  test('a tool result from the tool is recognized', () => {
    const made = toolResult({ success: true, terminal: true, message: 'Done.' });
    expect(isToolMadeResult(made)).toBe(true);
    expect(made).toEqual({ success: true, terminal: true, message: 'Done.' });
  });

  test('is recognized when another copy of the package made it', () => {
    const other = Object.defineProperty({ success: true }, Symbol.for('quittance.tool-result'), {
      value: true,
    });
    expect(isToolMadeResult(other)).toBe(true);
  });

  test.each([
    ['a look-alike', { success: true, terminal: true }],
    ['what came through JSON', JSON.parse(JSON.stringify(toolResult({ success: true })))],
    ['a spread of one', { ...toolResult({ success: true }), terminal: true }],
    ['a structured clone', structuredClone(toolResult({ success: true }))],
    ['what inherits from one', Object.create(toolResult({ success: true }))],
    ['the mark alone', Object.defineProperty({}, Symbol.for('quittance.tool-result'), { value: true })],
    ['null', null],
    ['text', 'success'],
  ])('%s is not one from the tool', (_, value) => {
    expect(isToolMadeResult(value)).toBe(false);
  });

  test('JSON text never makes one', () => {
    fc.assert(fc.property(fc.json(), (text) => !isToolMadeResult(JSON.parse(text))));
    expect(isToolMadeResult(JSON.parse('{"success":true,"Symbol(quittance.tool-result)":true}'))).toBe(false);
  });

  test('is a copy of its source', () => {
    const data = { list: [1] };
    const made = toolResult({ success: true, data });
    data.list.push(2);
    expect(made).toEqual({ success: true, data: { list: [1] } });
  });

  test('keeps unknown fields byte for byte', () => {
    fc.assert(
      fc.property(anyToolResult, (result) => {
        expect(JSON.stringify(parseToolResult(result))).toBe(JSON.stringify(result));
        expect(JSON.stringify(toolResult(result))).toBe(JSON.stringify(result));
      }),
    );
  });

  test('drops undefined fields', () => {
    expect(Object.keys(parseToolResult({ success: true, message: undefined }))).toEqual(['success']);
  });

  test.each([
    [null, 'A tool result must be an object with a boolean "success", found null.'],
    [[], 'A tool result must be an object with a boolean "success", found an array.'],
    [{}, '"success" of a tool result must be a boolean, found nothing.'],
    [{ success: 'true' }, '"success" of a tool result must be a boolean, found text of 4 characters.'],
    [Object.create({ success: true }), '"success" of a tool result must be a boolean, found nothing.'],
    [{ success: true, terminal: 1 }, '"terminal" of a tool result must be a boolean, found number 1.'],
    [
      { success: true, needsFollowup: null },
      '"needsFollowup" of a tool result must be a boolean, found null.',
    ],
    [{ success: true, nextAction: {} }, '"nextAction" of a tool result must be a string, found an object.'],
    [{ success: true, message: 7 }, '"message" of a tool result must be a string, found number 7.'],
    [{ success: false, error: false }, '"error" of a tool result must be a string, found boolean false.'],
    [{ success: true, data: [1] }, '"data" of a tool result must be an object, found an array.'],
    [{ success: true, extra: Number.NaN }, 'A tool result must be JSON; at $.extra: NaN has no JSON form.'],
  ])('%j is refused with the name of the wrong field', (value, message) => {
    expect(() => parseToolResult(value)).toThrow(new TypeError(message));
  });
});
