/**
 * Makes the calls of recorded conversations through the gates: `npm run replay:real -- FOLDER [--contracts FILE]`.
 * The folder contains JSON files with messages of OpenAI or Anthropic, or items of OpenAI's Responses API. No tool
 * runs: its function returns the recorded answer. Prints the outcomes as a table and one line of JSON. Ctrl-C prints
 * the findings so far.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { AnyTool } from 'quittance';
import { createRuntime, defineTool, isQuittanceError, sessionCallId } from 'quittance';
import { contractsFromYaml } from 'quittance/contracts';
import { printTable } from '../table.ts';
import type { Conversation, RecordedCall } from './conversations.ts';
import { readConversations } from './conversations.ts';

const [folder, ...rest] = process.argv.slice(2);
const contractsFile = rest[0] === '--contracts' ? rest[1] : undefined;
const tally = {
  files: 0,
  unreadable: 0,
  conversations: 0,
  reusedIds: 0,
  calls: 0,
  unanswered: 0,
  accepted: 0,
  repeated: 0,
  held: 0,
  refused: {} as Record<string, number>,
  misjudged: 0,
  judged: 0,
  refusedSchemas: 0,
};
let stopped = false;
process.once('SIGINT', () => (stopped = true));

if (folder === undefined || !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
  process.stderr.write(
    `${folder === undefined ? 'Missing folder.' : `There is no folder ${folder}.`} Name a folder of ` +
      'JSON files with messages:\n  npm run replay:real -- conversations --contracts contracts.yaml\n',
  );
  process.exitCode = 2;
} else {
  const contracts = contractsFile === undefined ? undefined : await contractsFromYaml(contractsFile);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.json'),
  );
  process.stderr.write(`Replaying ${files.length} files. Ctrl-C prints the findings so far.\n`);
  for (const name of files.toSorted()) {
    if (stopped) break;
    tally.files++;
    for (const [index, conversation] of readFile(join(folder, name)).entries()) {
      if (stopped) break;
      await replay(conversation, `${name}#${index}`, contracts);
    }
  }
  print();
  contracts?.close();
}

function readFile(path: string): readonly Conversation[] {
  try {
    return readConversations(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    tally.unreadable++;
    return [];
  }
}

async function replay(
  { calls, schemas }: Conversation,
  sessionId: string,
  contracts: Awaited<ReturnType<typeof contractsFromYaml>> | undefined,
): Promise<void> {
  if (calls.length === 0) return;
  tally.conversations++;
  if (calls.some(({ earlier }) => earlier > 0)) tally.reusedIds++;
  const current = new Map<string, RecordedCall>();
  const ran = new Set<string>();
  const tools = [...new Set(calls.map(({ name }) => name))].flatMap((name) =>
    toTool(name, schemas.get(name), (callId) => {
      ran.add(callId);
      return current.get(callId)?.answer?.content ?? null;
    }),
  );
  const runtime = createRuntime({ tools, ...(contracts !== undefined && { contracts }) });
  const turn = runtime.turn({ sessionId });
  for (const call of calls) {
    // Calls on a ledger in memory end at once: without a pause Ctrl-C would be ignored.
    await new Promise((resolve) => setImmediate(resolve));
    if (stopped) break;
    tally.calls++;
    if (call.answer === undefined) tally.unanswered++;
    const id = sessionCallId(call.id, call.earlier);
    if (!current.has(id)) current.set(id, call);
    const isRepeat = ran.has(id);
    const outcome = await turn.call({ id, name: call.name, arguments: call.arguments }, { ifHeld: 'return' });
    if (outcome.type === 'pending') tally.held++;
    else if (outcome.type === 'ToolDenied') count(`${outcome.reason} (${outcome.code})`);
    else if (!ran.has(id)) count('code' in outcome ? `not run (${outcome.code})` : 'not run');
    else if (isRepeat) tally.repeated++;
    else {
      tally.accepted++;
      if (call.answer?.isError === undefined) continue;
      tally.judged++;
      if (call.answer.isError !== (outcome.type === 'ToolFailure')) tally.misjudged++;
    }
  }
  await turn.end({ withdraw: true });
  await runtime.close();
}

function count(why: string): void {
  tally.refused[why] = (tally.refused[why] ?? 0) + 1;
}

/** A refused schema and an invalid tool name are counted, and the calls are made as far as possible. */
function toTool(name: string, schema: unknown, body: (callId: string) => unknown): readonly AnyTool[] {
  const run = (_: unknown, { callId }: { readonly callId: string }): unknown => body(callId);
  try {
    return [defineTool({ name, ...(schema !== undefined && { input: schema as never }), run })];
  } catch (error) {
    if (!isQuittanceError(error)) throw error;
    if (schema === undefined) return [];
    tally.refusedSchemas++;
    return toTool(name, undefined, body);
  }
}

function print(): void {
  const share = (n: number): string =>
    `${tally.calls === 0 ? '0.0' : ((n / tally.calls) * 100).toFixed(1)} %`;
  const row = (what: string, n: number): readonly string[] => [what, String(n), share(n)];
  printTable(
    ['calls', 'number', 'share'],
    [
      row('made', tally.calls),
      row('accepted', tally.accepted),
      row('answered from the record (repeats)', tally.repeated),
      row('held for approval', tally.held),
      ...Object.entries(tally.refused)
        .toSorted(([, a], [, b]) => b - a)
        .map(([why, n]) => row(`refused: ${why}`, n)),
      row('misjudged (the recorded error flag differs)', tally.misjudged),
    ],
  );
  process.stdout.write(`${JSON.stringify({ type: 'replay-real', complete: !stopped, ...tally })}\n`);
}
