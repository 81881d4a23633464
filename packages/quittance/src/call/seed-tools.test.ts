/** The source document on tools, row by row. docs/deviations.md lists deliberate deviations. */
import { describe, expect, test } from 'vitest';
import { decideToolMode, toolModeTreatments } from '../tool/mode.ts';
import { parseToolCall } from './tool-call.ts';
import { isTerminalResult, parseToolResult } from './outcome.ts';

const call = { id: 'c_42', name: 'create_event', arguments: { title: 'Lunch' } };
const without = (key: string): object =>
  Object.fromEntries(Object.entries(call).filter(([name]) => name !== key));

describe('ToolCall', () => {
  test('id: a string, required', () => {
    expect(parseToolCall(call).id).toBe('c_42');
    expect(() => parseToolCall(without('id'))).toThrow('id must be a non-empty string');
    expect(() => parseToolCall({ ...call, id: 42 })).toThrow('id must be a non-empty string');
  });

  test('name: a string, required', () => {
    expect(parseToolCall(call).name).toBe('create_event');
    expect(() => parseToolCall(without('name'))).toThrow('name must be a non-empty string');
    expect(() => parseToolCall({ ...call, name: null })).toThrow('name must be a non-empty string');
  });

  test('arguments: an object, required', () => {
    expect(parseToolCall(call).input).toEqual({ ok: true, arguments: { title: 'Lunch' } });
    expect(parseToolCall(without('arguments')).input.ok).toBe(false);
    expect(parseToolCall({ ...call, arguments: 'Lunch' }).input.ok).toBe(false);
  });

  test('additionalProperties is disabled: metadata goes through attrs', () => {
    expect(() => parseToolCall({ ...call, traceId: 't' })).toThrow('{attrs: {…}}');
  });
});

describe('ToolResult', () => {
  test('success: a boolean, required', () => {
    expect(parseToolResult({ success: true }).success).toBe(true);
    expect(() => parseToolResult({ message: 'Done.' })).toThrow(
      '"success" of a tool result must be a boolean',
    );
  });

  test.each([
    ['terminal', true, 'true', 'a boolean'],
    ['needsFollowup', false, 0, 'a boolean'],
    ['nextAction', 'retry', true, 'a string'],
    ['message', 'Event created.', 7, 'a string'],
    ['error', 'Invalid date format', { code: 7 }, 'a string'],
    ['data', { eventId: 'e_777' }, ['e_777'], 'an object'],
  ])('%s: optional, of its type', (field, right, wrong, type) => {
    expect(parseToolResult({ success: true })).not.toHaveProperty(field);
    expect(parseToolResult({ success: true, [field]: right })).toEqual({ success: true, [field]: right });
    expect(() => parseToolResult({ success: true, [field]: wrong })).toThrow(
      `"${field}" of a tool result must be ${type}`,
    );
  });

  test('additionalProperties is enabled', () => {
    const text = '{"success":true,"x_new":{"b":1,"a":[null]},"another":"field"}';
    expect(JSON.stringify(parseToolResult(JSON.parse(text)))).toBe(text);
  });
});

describe('ToolMode', () => {
  test.each([
    ['read', 'Pure inspection (no side effects)', 'Auto-run, no consent'],
    ['safe_write', 'Bounded mutation (e.g. update_event)', 'Auto-run with diff preview'],
    ['destructive', 'Irreversible (delete_, drop_, …)', 'Auto-run, undo affordance'],
    ['local', "Touches the user's machine", 'Requires consent'],
    ['external', 'Calls outside services', 'Auto-run, log'],
  ] as const)('%s: %s: %s', (mode, meaning, treatment) => {
    expect(toolModeTreatments[mode]).toEqual({ meaning, treatment });
  });

  test.each([
    ['get_ | list_ | read_ | search_', ['get_x', 'list_x', 'read_x', 'search_x'], 'read'],
    ['create_ | update_ | add_ | set_', ['create_x', 'update_x', 'add_x', 'set_x'], 'safe_write'],
    ['delete_ | remove_ | archive_ | drop_', ['delete_x', 'remove_x', 'archive_x', 'drop_x'], 'destructive'],
    ['local_ | shell_ | exec_', ['local_x', 'shell_x', 'exec_x'], 'local'],
  ])('%s', (_, names, mode) => {
    expect(names.map(decideToolMode)).toEqual(names.map(() => mode));
  });
});

describe('Completion semantics', () => {
  test('terminal == true is terminal, whatever else is said', () => {
    for (const success of [true, false])
      for (const needsFollowup of [true, false])
        expect(isTerminalResult({ success, terminal: true, needsFollowup })).toBe(true);
  });

  test('success == false and needsFollowup != true is terminal', () => {
    expect(isTerminalResult({ success: false })).toBe(true);
    expect(isTerminalResult({ success: false, needsFollowup: false })).toBe(true);
    expect(isTerminalResult({ success: false, terminal: false })).toBe(true);
    expect(isTerminalResult({ success: false, needsFollowup: true })).toBe(false);
    expect(isTerminalResult({ success: true })).toBe(false);
  });
});

describe('Example pair', () => {
  test('ToolCall', () => {
    const text =
      '{"id":"c_42","name":"create_event","arguments":{"title":"Lunch","start":"2026-05-15T12:00:00Z"}}';
    expect(parseToolCall(JSON.parse(text))).toEqual({
      id: 'c_42',
      name: 'create_event',
      input: { ok: true, arguments: { title: 'Lunch', start: '2026-05-15T12:00:00Z' } },
    });
  });

  test.each([
    ['success', '{"success":true,"message":"Event created.","data":{"eventId":"e_777"}}', false],
    [
      'recoverable failure',
      '{"success":false,"needsFollowup":true,"error":"Invalid date format","message":"Please retry with ISO-8601."}',
      false,
    ],
    ['terminal failure', '{"success":false,"terminal":true,"error":"Calendar service unavailable"}', true],
  ])('ToolResult (%s)', (_, text, terminal) => {
    const result = parseToolResult(JSON.parse(text));
    expect(JSON.stringify(result)).toBe(text);
    expect(isTerminalResult(result)).toBe(terminal);
  });
});
