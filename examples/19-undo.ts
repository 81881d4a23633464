// A destructive tool with undo runs without approval, and a person can undo its effect: once, on record.
import assert from 'node:assert/strict';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { z } from 'zod';

const rows = new Map([
  ['1', 'rye'],
  ['2', 'salt'],
]);
const deleteRow = defineTool({
  name: 'delete_row',
  input: z.object({ id: z.string() }),
  resourceKeys: ({ id }) => [`row:${id}`], // the resource that a later call may change
  run: ({ id }) => {
    const text = rows.get(id) ?? '';
    rows.delete(id);
    return { id, text };
  },
  undo: ({ id }, { text }) => {
    rows.set(id, text);
    return { restored: id };
  },
  undoWithinMs: 3_600_000,
});
const setRow = defineTool({
  name: 'set_row',
  input: z.object({ id: z.string(), text: z.string() }),
  resourceKeys: ({ id }) => [`row:${id}`],
  run: ({ id, text }) => ({ rows: rows.set(id, text).size }),
});

const runtime = createRuntime({ tools: [deleteRow, setRow] });
const turn = runtime.turn({ sessionId: 'bakery' });

const outcome = await turn.call({ id: 'd1', name: 'delete_row', arguments: { id: '1' } });
assert(outcome.type === 'ToolExecutionResult');
assert(outcome.undo?.until !== undefined);
console.log(outcome.modelNote);
assert.equal(rows.has('1'), false);

const undone = await runtime.calls.undo(
  { sessionId: 'bakery', callId: 'd1' },
  { by: 'Ada', reason: 'that was the rye' },
);
assert(undone.type === 'ToolExecutionResult');
assert.deepEqual(undone.output, { restored: '1' });
assert.equal(rows.get('1'), 'rye');

const refused = async (callId: string): Promise<string> => {
  try {
    await runtime.calls.undo({ sessionId: 'bakery', callId }, { by: 'Ada' });
  } catch (error) {
    assert(isQuittanceError(error));
    console.log(`${error.code}: ${error.message}`);
    return error.code;
  }
  return 'nothing';
};

// Only once.
assert.equal(await refused('d1'), 'undo.spent');

// Not after a later write to the same resource.
await turn.call({ id: 'd2', name: 'delete_row', arguments: { id: '2' } });
await turn.call({ id: 's1', name: 'set_row', arguments: { id: '2', text: 'cumin' } });
assert.equal(await refused('d2'), 'undo.conflict');
assert.equal(rows.get('2'), 'cumin');

// Not for a tool without undo.
assert.equal(await refused('s1'), 'undo.unavailable');

// The undo is a separate call, and the first call names it.
const [first, undoing] = await runtime.calls.list({ sessionId: 'bakery' });
assert.equal(first?.undone?.by.name, 'Ada');
console.log(undoing?.toolName);
