/** Lists and decides held calls at a server. The decision carries the identity that the server verified. */
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import type { Context, Given } from '../command.ts';
import { confirmationToJson } from '../confirmation-columns.ts';
import type { Deciding } from '../deciding.ts';
import { confirmSeen } from '../deciding.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { decidedLines } from '../decided-lines.ts';
import { confirmationOf } from '../proof.ts';
import { safeJson } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';
import type { ServerClient } from './server-client.ts';
import { connectTo } from './server-client.ts';

/** The held calls, from all pages. */
export async function readPending(client: ServerClient, given: Given): Promise<readonly ConfirmationView[]> {
  const found: ConfirmationView[] = [];
  let cursor: string | undefined;
  do {
    const query = new URLSearchParams({ status: 'pending', limit: '200' });
    const [sessionId, toolName] = [given.text('session'), given.text('tool')];
    if (sessionId !== undefined) query.set('sessionId', sessionId);
    if (toolName !== undefined) query.set('toolName', toolName);
    if (cursor !== undefined) query.set('cursor', cursor);
    const page = await client.get(`/v1/confirmations?${query.toString()}`);
    const { rows, next } = isJsonObject(page) ? page : ({} as JsonObject);
    for (const row of Array.isArray(rows) ? (rows as readonly JsonValue[]) : []) found.push(toView(row));
    cursor = typeof next === 'string' ? next : undefined;
  } while (cursor !== undefined);
  return found.filter(({ status }) => status === 'pending');
}

export async function decideOnServer(
  given: Given,
  context: Context,
  deciding: Deciding,
  server: string,
): Promise<ExitCode> {
  const [typed = ''] = given.args;
  const isConfirmed = confirmationOf(context);
  const client = connectTo(given, context, server);
  const view = await find(client, typed, given);
  const { decision, lines } = deciding.decide(given, view, context);
  const question = { view, ambiguous: false };
  if (!(await confirmSeen(given, context, deciding, question, lines, context.now(), isConfirmed))) {
    await context.out.print('No decision was recorded.');
    return exitCodes.bad;
  }
  const [reason, revision] = [given.text('reason'), given.count('revision') ?? view.preview?.revision];
  const body = {
    ...decision,
    inputDigest: view.inputDigest,
    ...(reason !== undefined && { reason }),
    ...(revision !== undefined && { revision }),
  } as unknown as JsonValue; // plain data
  const path = `/v1/confirmations/${encodeURIComponent(view.confirmationId)}/decision`;
  const decided = toView(await client.post(path, body));
  if (given.has('json')) await context.out.print(safeJson(confirmationToJson(decided)));
  else for (const line of decidedLines(decided, deciding.done)) await context.out.say(line);
  return exitCodes.good;
}

/** By its id, the beginning of it, or the id of its call. */
async function find(client: ServerClient, typed: string, given: Given): Promise<ConfirmationView> {
  const wanted = typed.replace(/…$/, '');
  const all = await readPending(client, given);
  const found = all.filter(
    ({ confirmationId, callId }) => confirmationId.startsWith(wanted) || callId === typed,
  );
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first;
  const list = `quittance pending --server ${client.server}`;
  if (first === undefined)
    throw new UsageError(`No held call fits ${JSON.stringify(typed)}.`, [list], exitCodes.bad);
  throw new UsageError(`Several held calls fit ${JSON.stringify(typed)}.`, [list], exitCodes.bad);
}

/** The server answers with what its types say. */
const toView = (value: JsonValue): ConfirmationView => value as unknown as ConfirmationView;
