import { randomUUID } from 'node:crypto';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import type { Call } from 'quittance/internal/call/call';
import { outcomeToModelContent } from 'quittance/internal/call/model-content';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import { outcomeIsError } from 'quittance/internal/call/outcome';
import { foldStored } from 'quittance/internal/ledger/fold-stored';
import { outcomeLabel } from 'quittance/internal/view/outcome-words';
import type { RepeatedCall } from 'quittance/internal/view/repeat-input';
import { toRepeated, toRepeatInput } from 'quittance/internal/view/repeat-input';
import type { CliCommand, Context, Given } from '../command.ts';
import { jsonOption, makes } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { findCall, shellWord } from '../find-call.ts';
import { readJsonArgument } from '../json-argument.ts';
import { block } from '../page-layout.ts';
import { requireOption } from '../require-option.ts';
import { connectTo, serverOf, serverOption } from '../server/server-client.ts';
import { safeJson, safeSentence, terminalId } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';
import { withRuntime } from '../with-runtime.ts';

const example = '{"order":"A7"}';
const line = `quittance run refund --args '${example}' --runtime quittance.ts`;

export const runCommand: CliCommand = {
  name: 'run',
  summary: 'Call a tool, or make a recorded call again',
  takes: '[<tool>]',
  most: 1,
  about: [
    'The call passes every check and may need approval. The ledger records who requested it. With --again, the arguments and the principal come from the record; --args replaces the arguments. A hidden value must be given again.',
    'Only a process with the tool can run it: name its module with --runtime, or use the server that runs it. Exit code 1: the call did not succeed, or awaits approval.',
  ],
  options: {
    runtime: { value: 'FILE', help: 'Module whose default export creates the runtime', file: true },
    server: serverOption,
    args: { value: 'JSON|@FILE', help: 'Arguments, or a file that contains them; default: none', file: true },
    again: { value: 'CALL', help: 'Make this call again, instead of naming a tool' },
    session: { value: 'ID', help: 'Session of the call to make again' },
    as: {
      value: 'ID',
      help: 'Session of the new call; default: a new one. Limits count the calls of a session',
    },
    json: jsonOption,
  },
  examples: [
    [line, 'call a tool'],
    ['quittance run --again call_7 --runtime quittance.ts', 'make a call again'],
    [
      'quittance run --again call_7 --session ticket-42 --server https://quittance.example.org',
      'on a server',
    ],
  ],
  effect: makes,
  async run(given, context) {
    const again = given.text('again');
    if ((given.args[0] === undefined) === (again === undefined))
      throw new UsageError('Expected a tool, or a call to make again with --again.', [
        line,
        'quittance run --again call_7 --runtime quittance.ts',
      ]);
    const server = serverOf(given, context);
    if (server !== undefined && !given.has('runtime')) return runOnServer(given, context, server);
    const tryThis = [again === undefined ? 'quittance run --help' : `quittance show ${shellWord(again)}`];
    return withRuntime(given, context, { line, refusals: [], tryThis }, async (runtime, ledger) => {
      const found =
        again === undefined ? undefined : await findCall(ledger, again, given.text('session'), 'run --again');
      const stored = found && (await ledger.readCall(found.sessionId, found.callId));
      const request = toRequest(given, stored && foldStored(stored));
      const { sessionId, call, principal, attrs } = request;
      if (!runtime.tools.some(({ name }) => name === call.name))
        throw new UsageError(
          `The runtime has no tool ${JSON.stringify(terminalId(call.name))}.`,
          [`Known tools: ${runtime.tools.map(({ name }) => terminalId(name)).join(', ')}`],
          exitCodes.bad,
        );
      const outcome = await runtime.turn({ sessionId }).call(call, {
        ifHeld: 'return',
        askedBy: context.identity,
        attrs,
        ...(principal !== undefined && { principal }),
      });
      if (outcome.type === 'pending') {
        if (given.has('json')) await context.out.print(safeJson({ ...outcome, sessionId }));
        await context.err.say(held(call.id));
        return exitCodes.bad;
      }
      const content = outcomeToModelContent(outcome);
      return printAnswer({ ...request, outcome, content }, given, context);
    });
  },
};

type Request = {
  readonly sessionId: string;
  readonly call: { readonly id: string; readonly name: string; readonly arguments: JsonObject };
  readonly principal: RepeatedCall['principal'];
  readonly attrs: JsonObject;
};

/** The same request as the console's. */
function toRequest(given: Given, repeated: Call | undefined): Request {
  const typed = given.text('args');
  const args = typed === undefined ? undefined : readJsonArgument(typed, 'args', example);
  if (args !== undefined && !isJsonObject(args))
    throw new UsageError('--args must be a JSON object.', [`--args '${example}'`]);
  const before = repeated && { ...toRepeatInput(repeated), ...toRepeated(repeated) };
  if (args === undefined && before !== undefined && before.missing.length > 0)
    throw new UsageError(
      `The record hides ${before.missing.join(', ')}. Give all arguments with --args.`,
      [`--args '${example}'`],
      exitCodes.bad,
    );
  return {
    sessionId: given.text('as') ?? `cli-${randomUUID().slice(0, 8)}`,
    call: {
      id: `cli_${randomUUID()}`,
      name: repeated?.toolName ?? given.args[0] ?? '',
      arguments: args ?? before?.input ?? {},
    },
    principal: before?.principal,
    attrs: {
      requested_in: 'cli',
      ...(before !== undefined && { repeats: { session_id: before.sessionId, call_id: before.callId } }),
    },
  };
}

const held = (callId: string): string =>
  `Call ${terminalId(callId)} awaits approval: quittance approve ${shellWord(terminalId(callId))}`;

async function printAnswer(
  {
    sessionId,
    call,
    outcome,
    content,
  }: Pick<Request, 'sessionId' | 'call'> & { readonly outcome: ToolOutcome; readonly content: string },
  given: Given,
  { out }: Context,
): Promise<ExitCode> {
  if (given.has('json')) await out.print(safeJson({ sessionId, callId: call.id, outcome, content }));
  else {
    await out.say(
      `Call ${terminalId(call.id)} in session ${terminalId(sessionId)}: ${outcomeLabel(outcome)}. The model would receive:`,
    );
    for (const each of block(safeSentence(content), out)) await out.print(each);
  }
  return outcomeIsError(outcome) ? exitCodes.bad : exitCodes.good;
}

/** As long as the console waits. A slow call goes on. */
const waitMs = 2_000;

/** The server has the tool, and knows who is signed in. */
async function runOnServer(given: Given, context: Context, server: string): Promise<ExitCode> {
  const client = connectTo(given, context, server);
  const again = given.text('again');
  const { principal, ...request } = toRequest(
    given,
    again === undefined ? undefined : await readRepeated(again),
  );
  // Plain data.
  const answer = await client.post('/v1/calls', {
    ...request,
    ...(principal !== undefined && { principal }),
    waitMs,
    claim: false,
  } as unknown as JsonValue);
  const { decision, outcome, content } = isJsonObject(answer) ? answer : ({} as JsonObject);
  if (outcome !== undefined && typeof content === 'string')
    return printAnswer({ ...request, outcome: outcome as unknown as ToolOutcome, content }, given, context);
  if (given.has('json')) await context.out.print(safeJson(answer));
  await context.err.say(
    decision === 'held' ? held(request.call.id) : `Call ${terminalId(request.call.id)} runs on the server.`,
  );
  return exitCodes.bad;

  async function readRepeated(callId: string): Promise<Call> {
    const sessionId = requireOption(given, 'session', 'A server needs the session of the call', line);
    const path = `/v1/sessions/${encodeURIComponent(sessionId)}/calls/${encodeURIComponent(callId)}`;
    const detail = await client.get(path);
    // The answer of the route.
    return (isJsonObject(detail) ? detail['call'] : undefined) as unknown as Call;
  }
}
