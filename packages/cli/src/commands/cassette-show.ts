import type { RecordedCall } from 'quittance/internal/replay/cassette';
import { inputOf } from 'quittance/internal/replay/cassette';
import { cassetteFile, readCassetteFile } from '../cassette-file.ts';
import type { CliCommand } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { outcomeLabel } from 'quittance/internal/view/outcome-words';
import { colorOf } from '../outcome-query.ts';
import { terminalId, safeJson } from '../terminal-text.ts';
import type { Row } from '../table.ts';
import { layOutTable } from '../table.ts';
import { contents } from './cassette-export.ts';

export const cassetteShowCommand: CliCommand = {
  name: 'cassette show',
  summary: 'Show the content of a cassette; fails if it does not match its seal',
  takes: '<file>',
  most: 1,
  options: { json: jsonOption },
  examples: [
    ['quittance cassette show ticket-42.json', 'its calls, one per line'],
    ['quittance cassette show ticket-42.json --json | jq .outcome', 'for a program'],
  ],
  effect: reads,
  run: async (given, { out }) => {
    const cassette = await readCassetteFile(cassetteFile(given, 'show'));
    const { sessionId, createdAt, tools, calls } = cassette;
    if (given.has('json')) {
      for (const call of calls) await out.print(safeJson(toJson(call)));
      return exitCodes.good;
    }
    const known = tools.map(
      ({ name, schemaDigest }) =>
        terminalId(name) + (schemaDigest === undefined ? ' (schema not recorded)' : ''),
    );
    await out.print(`session   ${terminalId(sessionId)}`);
    await out.print(`recorded  ${new Date(createdAt).toISOString()}`);
    await out.print(`tools     ${known.join(', ')}`);
    await out.print(`holds     ${contents(cassette)}`);
    await out.print('');
    const rows = calls.map(toRow);
    const table = layOutTable(columns, rows, out.width, out.paint);
    await out.print(table.heading());
    for (const row of rows) await out.print(table.line(row));
    return exitCodes.good;
  },
};

const columns = [
  { title: 'CALL', min: 8, isId: true },
  { title: 'TURN', align: 'right' },
  { title: 'TOOL', min: 8 },
  { title: 'OUTCOME' },
  { title: 'CODE', optional: 1 },
  { title: 'RUNS', align: 'right', optional: 2 },
  { title: 'INPUT', min: 12 },
] as const;

function toRow(call: RecordedCall): Row {
  const word = outcomeLabel(call.outcome);
  return [
    terminalId(call.callId),
    String(call.turn),
    terminalId(call.toolName),
    { text: word, style: colorOf(word) },
    'code' in call.outcome ? call.outcome.code : '',
    String(call.runs.length),
    safeJson(inputOf(call)),
  ];
}

const toJson = (call: RecordedCall): object => ({
  callId: call.callId,
  turn: call.turn,
  toolName: call.toolName,
  input: inputOf(call),
  hidden: call.hidden,
  runs: call.runs.length,
  outcome: call.outcome,
});
